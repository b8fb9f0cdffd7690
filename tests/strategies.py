"""Hypothesis strategies: environments, teams and whole projects that are free of errors, as plain data.

`projects()` draws the data, `write()` puts it into a folder as files, `planned()` reads and plans it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from config.catalogue import InstanceType, instance_types
from config.load import Platform, Project
from config.vocabulary import LOG_DAYS
from governance.model import Plan
from governance.plan import plan

API_VERSION = "hyperpod-platform/v1"
ENVIRONMENT = "dev"

TYPES = (
    "ml.p5.48xlarge",
    "ml.p5en.48xlarge",
    "ml.p4d.24xlarge",
    "ml.p6-b200.48xlarge",
    "ml.trn1.32xlarge",
    "ml.g5.2xlarge",
    "ml.g5.12xlarge",
    "ml.g6.12xlarge",
    "ml.m5.4xlarge",
    "ml.c5.18xlarge",
)
"""With and without accelerators, network layers, EFA and MIG; two families have two types."""


@dataclass(frozen=True)
class ProjectData:
    """What the files of a project say."""

    environment: dict[str, Any]
    teams: dict[str, dict[str, Any]]


TODAY = date(2026, 11, 21)
"""The day of these projects: what is right today is out of support tomorrow."""


def write(root: Path, environments: Mapping[str, Any], teams: Mapping[str, Any]) -> Project:
    """A project in `root`. Data is written as JSON, which is YAML with every word quoted; text is written as it stands."""
    for folder, files in (("environments", environments), ("teams", teams)):
        (root / folder).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            path = root / folder / f"{name}.yaml"
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                text = content if isinstance(content, str) else json.dumps(content, indent=1, ensure_ascii=False)
                path.write_text(text, encoding="utf-8", newline="")
    return Project(root, TODAY)


def loaded(project: ProjectData) -> Platform:
    """The project's platform, by way of files."""
    with tempfile.TemporaryDirectory() as folder:
        return write(Path(folder), {ENVIRONMENT: project.environment}, project.teams).load(ENVIRONMENT)


def planned(project: ProjectData) -> Plan:
    """The project's plan, by way of files."""
    return plan(loaded(project))


def dns_labels(longest: int = 12) -> st.SearchStrategy[str]:
    """Names of lower-case letters, digits and hyphens."""
    return st.from_regex(rf"[a-z]([a-z0-9-]{{0,{longest - 2}}}[a-z0-9])?", fullmatch=True)


def label_values() -> st.SearchStrategy[str]:
    return st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,20}[A-Za-z0-9])?", fullmatch=True)


def labels(most: int = 3) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(dns_labels().map(lambda name: f"example.com/{name}"), label_values(), max_size=most)


def decimals(most: int = 4000) -> st.SearchStrategy[float]:
    """Amounts of vCPU or GiB with at most three decimals."""
    return st.integers(1, most * 1000).map(lambda n: n / 1000)


def amounts(kinds: Sequence[InstanceType], most: int = 64) -> st.SearchStrategy[dict[str, Any]]:
    """A quota entry that every one of the types can satisfy."""
    fields: dict[str, st.SearchStrategy[Any]] = {
        "instances": st.integers(0, most),
        "vcpu": st.one_of(st.integers(1, most * 16), decimals()),
        "memory_gib": st.one_of(st.integers(1, most * 64), decimals()),
    }
    if all(kind.accelerators for kind in kinds):
        fields["accelerators"] = st.integers(0, most * 8)
    profiles = sorted(set.intersection(*(set(kind.mig_profiles) for kind in kinds)))
    if profiles:
        fields["partitions"] = st.dictionaries(st.sampled_from(profiles), st.integers(1, most), max_size=2)
    return st.fixed_dictionaries({}, optional=fields).filter(
        lambda entry: any(value is not None for key, value in entry.items() if key != "partitions") or entry.get("partitions")
    )


def sharing(quota: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Every strategy, with limits that fit the quota."""
    types = [key for key in quota if key in instance_types()]
    absolute = st.sampled_from(TYPES).flatmap(
        lambda name: st.fixed_dictionaries({name: amounts([instance_types()[name]], most=8)})
    )
    lend: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries({}, optional={"lend_limit": st.integers(0, 100)})
    if types:
        whole = st.sampled_from(types).map(lambda name: {"lend": {name: quota[name]}})
        lend = st.one_of(lend, whole)
    borrow = st.one_of(
        st.fixed_dictionaries({}, optional={"borrow_limit": st.integers(0, 10_000)}),
        absolute.map(lambda limits: {"borrow": limits}),
    )
    return st.one_of(
        st.sampled_from(["lend", "dont_lend", "lend_and_borrow"]),
        lend.map(lambda limits: {"strategy": "lend", **limits}),
        st.builds(lambda one, two: {"strategy": "lend_and_borrow", **one, **two}, lend, borrow),
    )


@st.composite
def environments(draw: st.DrawFn, most_clusters: int = 2) -> dict[str, Any]:
    """An environment on the kueue backend."""
    clusters = draw(st.lists(dns_labels(), min_size=1, max_size=most_clusters, unique=True))
    classes = draw(st.dictionaries(dns_labels(), st.fixed_dictionaries({"weight": st.integers(-100, 100)}), max_size=4))
    governance: dict[str, Any] = {
        "priority_classes": classes,
        "idle_sharing": draw(st.booleans()),
        "idle_compute": draw(st.sampled_from(["fair_share", "first_come_first_served"])),
        "overcommit": draw(st.sampled_from(["allow", "warn"])),
        "topology": {"enabled": draw(st.booleans())},
        "departments": draw(departments()),
    }
    if draw(st.booleans()):
        governance["gang"] = {"timeout": "5m"}
    return {
        "apiVersion": API_VERSION,
        "clusters": {name: {"kind": "existing", "instance_groups": draw(instance_groups())} for name in clusters},
        "governance": governance,
    }


@st.composite
def departments(draw: st.DrawFn) -> dict[str, Any]:
    """A forest: each department's parent is one of those before it."""
    names = draw(st.lists(dns_labels().filter(lambda name: name != "hyperpod"), max_size=4, unique=True))
    result: dict[str, Any] = {}
    for index, name in enumerate(names):
        result[name] = {"weight": draw(st.integers(0, 100))}
        if index and draw(st.booleans()):
            result[name]["parent"] = draw(st.sampled_from(names[:index]))
    return result


@st.composite
def instance_groups(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(dns_labels(), max_size=5, unique=True))
    return {name: draw(instance_group()) for name in names}


@st.composite
def instance_group(draw: st.DrawFn) -> dict[str, Any]:
    kind = instance_types()[draw(st.sampled_from(TYPES))]
    group: dict[str, Any] = {"instance_type": kind.name, "count": draw(st.integers(0, 40)), "labels": draw(labels())}
    if draw(st.booleans()):
        group["taints"] = [{"key": "dedicated", "value": draw(st.sampled_from(["ml", "web"])), "effect": "NoSchedule"}]
    if kind.mig_profiles and draw(st.booleans()):
        group["partitions"] = {draw(st.sampled_from(kind.mig_profiles)): draw(st.integers(1, kind.accelerators or 1))}
    group["network"] = {"nodes_per_block": draw(st.integers(1, 6)), "blocks_per_spine": draw(st.integers(1, 3))}
    return group


@st.composite
def quotas(draw: st.DrawFn, environment: Mapping[str, Any], clusters: Iterable[str]) -> dict[str, Any]:
    """Quota by type, and by family or accelerator kind where every cluster has one."""
    held = [{group["instance_type"] for group in environment["clusters"][name]["instance_groups"].values()} for name in clusters]
    quota = {
        name: draw(amounts([instance_types()[name]])) for name in draw(st.lists(st.sampled_from(TYPES), max_size=3, unique=True))
    }
    keys = sorted(
        set.intersection(*({key for name in types for key in _groups_of(instance_types()[name])} for types in held))
        if held
        else set()
    )
    if keys and draw(st.booleans()):
        key = draw(st.sampled_from(keys))
        kinds = [instance_types()[name] for types in held for name in sorted(types) if key in _groups_of(instance_types()[name])]
        quota[key] = draw(amounts(kinds))
    return quota


def _groups_of(kind: InstanceType) -> tuple[str, ...]:
    return (kind.family, kind.accelerator) if kind.accelerator else (kind.family,)


@st.composite
def teams(draw: st.DrawFn, environment: Mapping[str, Any]) -> dict[str, Any]:
    """A team that fits the environment."""
    governance = environment["governance"]
    team: dict[str, Any] = {"apiVersion": API_VERSION, "owners": ["owner@example.com"]}
    clusters = sorted(environment["clusters"])
    if draw(st.booleans()):
        clusters = team["clusters"] = draw(st.lists(st.sampled_from(clusters), min_size=1, unique=True))
    team["quota"] = draw(quotas(environment, clusters))
    team["weight"] = draw(st.integers(0, 100))
    team["sharing"] = draw(sharing(team["quota"]))
    team["preemption"] = draw(st.sampled_from(["lower_priority", "never"]))
    team["state"] = draw(st.sampled_from(["active", "held", "draining"]))
    team["labels"] = draw(labels())
    if governance["priority_classes"] and draw(st.booleans()):
        team["default_priority"] = draw(st.sampled_from(sorted(governance["priority_classes"])))
    if governance["departments"] and draw(st.booleans()):
        team["department"] = draw(st.sampled_from(sorted(governance["departments"])))
    team |= draw(for_a_while())
    own = [key for key in team["quota"] if key in instance_types()]
    if own and draw(st.booleans()):
        team["largest_job"] = {key: team["quota"][key] for key in own}  # what is guaranteed can be had
    if own and draw(st.booleans()):
        team["flavors"] = draw(st.permutations(own))
    team |= draw(
        st.fixed_dictionaries(
            {},
            optional={
                "default_queue": st.booleans(),
                "max_pods": st.integers(1, 1000),
                "max_run_time": st.sampled_from(["90s", "5m", "1d12h"]),
                "description": st.text(st.characters(exclude_categories=["C", "Z"]), max_size=30),
                "access": st.fixed_dictionaries({"groups": st.lists(dns_labels(), max_size=2, unique=True)}),
            },
        )
    )
    return team


def for_a_while() -> st.SearchStrategy[dict[str, Any]]:
    """Quota on top, that counts or has ended; often none."""

    def entry(name: str) -> st.SearchStrategy[dict[str, Any]]:
        quota = st.fixed_dictionaries({name: amounts([instance_types()[name]], most=8)})
        days = st.sampled_from(["2020-02-29", "2026-11-25", "2999-12-31"])
        return st.fixed_dictionaries({"quota": quota, "until": days, "reason": st.just("until the paper is out")})

    entries = st.dictionaries(dns_labels(), st.sampled_from(TYPES).flatmap(entry), min_size=1, max_size=2)
    return st.one_of(st.just({}), st.just({}), entries.map(lambda found: {"extra_quota": found}))


@st.composite
def projects(draw: st.DrawFn, most_teams: int = 6, most_clusters: int = 2) -> ProjectData:
    """An environment with its teams, free of errors; there may be warnings."""
    environment = draw(environments(most_clusters))
    names = draw(st.lists(dns_labels(40), max_size=most_teams, unique=True))
    return ProjectData(environment, {name: draw(teams(environment)) for name in names})


REGION, ACCOUNT = "us-west-2", "111122223333"
ZONES = tuple(f"{REGION}{letter}" for letter in "abcd")


@st.composite
def hyperpod_clusters(draw: st.DrawFn, *, managed: bool = False) -> dict[str, Any]:
    """A cluster of kind hyperpod for the kueue backend (topology off where Karpenter scales it), or for the managed one."""
    zones = draw(st.lists(st.sampled_from(ZONES), min_size=3, max_size=4, unique=True))
    karpenter = not managed and draw(st.booleans())
    names = draw(st.lists(dns_labels(), min_size=1, max_size=4, unique=True))
    groups = {name: draw(hyperpod_group(zones, most_taints=20 if managed else 4)) for name in names}
    if karpenter:
        groups[names[0]]["autoscaled"] = True
    # Add-ons need a node.
    groups[names[-1]] |= {"taints": [], "count": max(1, groups[names[-1]]["count"])}
    cluster: dict[str, Any] = {
        "kind": "hyperpod",
        "account": ACCOUNT,
        "region": REGION,
        "protection": draw(st.booleans()),
        "tags": draw(
            st.dictionaries(st.from_regex(r"[a-z][a-z-]{0,9}", fullmatch=True), st.text("abc XYZ.:/=+-@_1", max_size=9))
        ),
        "network": draw(st.one_of(new_networks(zones), existing_networks(zones))),
        "instance_groups": groups,
    }
    cluster |= draw(st.fixed_dictionaries({"eks": eks_clusters()}, optional={"hyperpod": hyperpod_settings()}))
    if karpenter:
        cluster["hyperpod"] = {**cluster.get("hyperpod", {}), "karpenter": True, "continuous_provisioning": True}
    if not cluster.get("hyperpod", {}).get("continuous_provisioning", True):
        _without_keys(cluster)
    if not managed and draw(st.booleans()):
        cluster |= draw(restricted(zones, set(names)))
    return cluster


def _without_keys(cluster: dict[str, Any]) -> None:
    """Without continuous provisioning, volumes take no key of ours."""
    cluster["hyperpod"].pop("volume_key", None)
    for group in cluster["instance_groups"].values():
        for volume in group.get("volumes", ()):
            volume.pop("key", None)


def new_networks(zones: Sequence[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Networks with room for many nodes."""
    return st.fixed_dictionaries(
        {"availability_zones": st.just(list(zones))},
        optional={
            "cidr": st.integers(16, 31).map(lambda n: f"10.{n}.0.0/16"),
            "egress": st.sampled_from(["nat", "nat_per_zone", "closed"]),
            "interface_endpoints": st.booleans(),
            "flow_log_days": st.sampled_from(LOG_DAYS),
        },
    )


def existing_networks(zones: Sequence[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "vpc": ids("vpc"),
            "subnets": st.lists(ids("subnet"), min_size=len(zones), max_size=len(zones), unique=True).map(
                lambda found: dict(zip(zones, found, strict=True))
            ),
        },
        optional={"security_group": ids("sg")},
    )


def ids(prefix: str) -> st.SearchStrategy[str]:
    """Ids of AWS: `vpc-0123456789abcdef0`."""
    return st.from_regex(rf"{prefix}-0[0-9a-f]{{16}}", fullmatch=True)


def eks_clusters() -> st.SearchStrategy[dict[str, Any]]:
    role = dns_labels().map(lambda name: f"arn:aws:iam::{ACCOUNT}:role/admin-{name}")
    return st.fixed_dictionaries(
        {"admins": st.lists(role, min_size=1, max_size=3, unique=True)},
        optional={
            "version": st.sampled_from(["1.32", "1.33", "1.34"]),
            "name": dns_labels(),
            "public_access_from": st.lists(st.sampled_from(["203.0.113.0/24", "198.51.100.7/32"]), unique=True),
            "secrets_key": key_arns(),
            "log_days": st.sampled_from(LOG_DAYS),
        },
    )


def key_arns() -> st.SearchStrategy[str]:
    return st.uuids().map(lambda found: f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{found}")


def hyperpod_settings() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "name": st.from_regex(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,20}", fullmatch=True).filter(lambda name: len(name) <= 63),
            "node_recovery": st.sampled_from(["automatic", "none"]),
            "continuous_provisioning": st.booleans(),
            "tiered_storage": st.fixed_dictionaries({}, optional={"memory_percent": st.integers(0, 100)}),
            "execution_role": dns_labels().map(lambda name: f"arn:aws:iam::{ACCOUNT}:role/{name}"),
            "lifecycle": st.just({"source_uri": "s3://sagemaker-scripts/on-create", "script": "on_create.sh"}),
            "volume_key": key_arns(),
        },
    )


@st.composite
def hyperpod_group(draw: st.DrawFn, zones: Sequence[str], most_taints: int = 4) -> dict[str, Any]:
    """A group of a HyperPod cluster in one of the zones; with any of its settings that fit together."""
    group: dict[str, Any] = draw(instance_group())
    kind = instance_types()[group["instance_type"]]
    group["count"] = min(group["count"], 8)
    group["taints"] = [{"key": f"taint-{n}", "effect": "NoSchedule"} for n in range(draw(st.integers(0, most_taints)))]
    zone = draw(st.sampled_from(list(zones)))
    if kind.efa or draw(st.booleans()):
        group["availability_zone"] = zone
        group["fsx_lustre"] = draw(lustre(zone))
    optional: dict[str, st.SearchStrategy[Any]] = {
        "min_count": st.integers(0, group["count"]),
        "threads_per_core": st.integers(1, 2),
        "volumes": volumes(),
        "image_release": st.just("1.2.3"),
        "bootstrap": st.booleans(),
        "scheduled_update": st.just({"schedule": "cron(0 3 ? * SUN *)"}),
        "auto_patch": st.sampled_from(["when_idle", "when_all_idle"]).map(lambda word: {"strategy": word}),
    }
    if kind.accelerators:
        checks = st.sampled_from(["instance_stress", "instance_connectivity"])
        optional["deep_health_checks"] = st.lists(checks, max_size=2, unique=True)
    if kind.efa:
        optional["network_interface"] = st.sampled_from(["efa", "efa-only"])
    plan_arn = f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:training-plan/reserved"
    capacity = st.sampled_from([{}, {"capacity": "spot"}, {"capacity": "on_demand"}, {"training_plan": plan_arn}])
    return group | draw(capacity) | draw(st.fixed_dictionaries({}, optional=optional))


def volumes() -> st.SearchStrategy[list[dict[str, Any]]]:
    """A further volume, the root volume with a key, both or none."""
    further = st.lists(st.fixed_dictionaries({"size_gib": st.integers(1, 16_384)}, optional={"key": key_arns()}), max_size=1)
    root = st.lists(st.fixed_dictionaries({"root": st.just(True)}, optional={"key": key_arns()}), max_size=1)
    return st.builds(lambda one, two: [*one, *two], further, root)


def lustre(zone: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    """At most one file system, in the zone."""
    system = st.fixed_dictionaries(
        {
            "dns_name": ids("fs").map(lambda found: f"{found}.fsx.{REGION}.amazonaws.com"),
            "mount_name": st.from_regex(r"[a-z0-9]{8}", fullmatch=True),
            "availability_zone": st.just(zone),
        },
        optional={"mount_path": st.just("/fsx")},
    )
    return st.lists(system, max_size=1)


@st.composite
def restricted(draw: st.DrawFn, zones: Sequence[str], taken: set[str]) -> dict[str, Any]:
    """Restricted groups whose file systems are their own, or shared by all."""
    system = {"size_gib": draw(st.integers(1200, 100_800)), "throughput": draw(st.integers(125, 1000))}
    shared = draw(st.booleans())
    names = draw(st.lists(dns_labels().filter(lambda name: name not in taken), min_size=1, max_size=2, unique=True))
    group = {
        "instance_type": "ml.p5.48xlarge",
        "count": draw(st.integers(0, 4)),
        "availability_zone": draw(st.sampled_from(zones)),
    }
    groups = {name: group if shared else {**group, "file_system": system} for name in names}
    return {"restricted_instance_groups": groups} | ({"restricted_file_system": system} if shared else {})


@st.composite
def hyperpod_environments(draw: st.DrawFn, *, managed: bool = False) -> dict[str, Any]:
    """An environment with one cluster `main` of kind hyperpod."""
    cluster = draw(hyperpod_clusters(managed=managed))
    scaled = cluster.get("hyperpod", {}).get("karpenter", False)
    governance: dict[str, Any] = {"backend": "managed" if managed else "kueue", "idle_sharing": draw(st.booleans())}
    if not managed:
        governance["topology"] = {"enabled": not scaled and draw(st.booleans())}
    return {"apiVersion": API_VERSION, "clusters": {"main": cluster}, "governance": governance}
