"""Every field of a HyperPod cluster: what it takes, and what is said, at its place, of what it doesn't."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args, get_origin

import pytest
from declarations import assert_well_formed, environment, findings, platform
from pydantic import BaseModel

from config.cluster import InstanceGroup
from config.errors import _plain
from config.findings import Severity
from config.hyperpod import HyperPodCluster

ROLE = "arn:aws:iam::111122223333:role/a"
KEY = "arn:aws:kms:us-west-2:111122223333:key/0123"
PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/reserved"
DNS = "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"
MARK = "@@"
BASE: dict[str, Any] = {
    "apiVersion": "hyperpod-platform/v1",
    "clusters": {
        "main": {
            "kind": "hyperpod",
            "account": "111122223333",
            "region": "us-west-2",
            "network": {"availability_zones": ["us-west-2a", "us-west-2b", "us-west-2c"]},
            "eks": {"admins": ["arn:aws:iam::111122223333:role/admin"]},
            "instance_groups": {"g": {"instance_type": "ml.p5.48xlarge", "count": 2, "availability_zone": "us-west-2a"}},
        }
    },
    "governance": {"topology": {"enabled": False}},
}
NOVA = {"instance_type": "ml.p5.48xlarge", "count": 2, "availability_zone": "us-west-2a"}
SYSTEM = {"size_gib": 1200, "throughput": 125}
THEIRS = {"vpc": "vpc-0123456789abcdef0", "subnets": {"us-west-2a": "subnet-0123456789abcdef0"}, "availability_zones": None}
GROUP, RESTRICTED = "instance_groups.g", "restricted_instance_groups.r"
ROLLING = f"{GROUP}.scheduled_update.deployment"
UPDATE = {"schedule": "cron(0 3 ? * SUN *)", "deployment": {"batch": {"percent": 10}}}
LUSTRE = {"dns_name": DNS, "mount_name": "abcdefgh", "availability_zone": "us-west-2a"}
ZFS = {"dns_name": DNS, "availability_zone": "us-west-2a"}

Case = tuple[str, Any, Any, str, str]
FIELDS: list[Case] = [
    # where, what it takes, what it doesn't, the finding's id, in its remedy
    ("account", "012345678901", "1234", "account", "12 digits in quotes"),
    ("account", "012345678901", 111122223333, "string-type", "quote it"),
    ("region", "us-west-2", "us_west_2", "region", "as us-west-2"),
    ("protection", False, "no", "bool-type", "true or false"),
    ("permissions_boundary", "arn:aws:iam::aws:policy/p", "p", "string-pattern-mismatch", "the form is"),
    ("tags", {"Team": "a b"}, {"aws:x": "y"}, "tag", "not beginning with aws:"),
    ("tags", {}, {"a": "ä~"}, "tag", "letters, digits"),
    ("tags", {f"k{n}": "" for n in range(45)}, {f"k{n}": "" for n in range(46)}, "too-long", "at most 45"),
    ("network.availability_zones", ["us-west-2a", "us-west-2b", "us-west-2d"], ["us-west-2a"], "too-short", "at least 3"),
    (
        "network.availability_zones",
        ["us-west-2a", "us-west-2b", "us-west-2d"],
        ["a", "b", "c"],
        "availability-zone",
        "us-west-2a",
    ),
    ("network.cidr", "10.1.0.0/16", "10.1.0.1/16", "cidr", "as 10.0.0.0/16"),
    ("network.cidr", "172.16.0.0/18", "10.0.0.0/8", "cidr", "another size"),
    ("network.cidr", "100.64.0.0/16", "8.8.0.0/16", "cidr", "192.168.0.0/16"),
    ("network.node_cidrs", {"us-west-2a": "10.200.0.0/16"}, {"west": "10.200.0.0/16"}, "availability-zone", "as us-west-2a"),
    ("network.egress", "closed", "open", "literal-error", "known: `closed`"),
    ("network.interface_endpoints", True, 1, "bool-type", "true or false"),
    ("network.flow_log_days", 1, 100, "log-days", "use 90 or 120;"),
    ("network.vpc", "vpc-0123456789abcdef0", "vpc-x", "resource-id", "vpc-0123456789abcdef0"),
    ("network.cidr", "192.168.0.0/18", "127.0.0.0/16", "cidr", "100.64.0.0/10"),
    ("network.subnets", {"us-west-2b": "subnet-0123456789abcdef1"}, {"b": "subnet-0123456789abcdef1"}, "availability-zone", "2a"),
    ("network.subnets.us-west-2a", "subnet-0123456789abcdef1", "vpc-0123456789abcdef0", "resource-id", "subnet-0123"),
    ("network.control_plane_subnets", ["subnet-0123456789abcdef1"], ["x"], "resource-id", "subnet-0123"),
    ("network.security_group", "sg-0123456789abcdef0", "default", "resource-id", "sg-0123"),
    ("eks.existing", None, "a b", "eks-name", "1-100 letters"),
    ("eks.version", "1.32", 1.3, "string-type", 'quote it: "1.3"'),
    ("eks.version", "1.32", "1.3", "eks-version", 'as "1.34"'),
    ("eks.name", "a-b_c", "-a", "eks-name", "the first a letter or digit"),
    ("eks.public_access_from", ["203.0.113.0/24", "2001:db8::/32"], ["0.0.0.0/0"], "public-to-all", "your own networks"),
    ("eks.public_access_from", ["203.0.0.0/9", "2008::/13"], ["128.0.0.0/1"], "public-to-all", "your own networks"),
    ("eks.public_access_from", [], ["here"], "cidr", "as 203.0.113.0/24"),
    ("eks.private_access_from", ["10.0.0.0/16", "100.64.1.0/24"], ["203.0.113.0/24"], "cidr", "use a part of"),
    ("eks.private_access_from", [], ["here"], "cidr", "as 10.0.0.0/16"),
    ("eks.admins", [ROLE], ["root"], "role-arn", "arn:aws:iam::<12 digits>"),
    ("eks.secrets_key", KEY, "alias/a", "kms-key", "arn:aws:kms:"),
    ("eks.log_days", 3653, 3654, "log-days", "use 3653;"),
    ("eks.addons", {"vpc-cni": "v1.20.0-eksbuild.1"}, {"vpc-cni": "1.20"}, "addon-version", "as v1.18.3-eksbuild.1"),
    ("eks.addons", {}, {"vpc": "v1.20.0-eksbuild.1"}, "literal-error", "vpc-cni"),
    ("hyperpod.name", "A-1", "a_b", "cluster-name", "1-63 letters"),
    ("hyperpod.node_recovery", "none", "auto", "literal-error", "`automatic`"),
    ("hyperpod.continuous_provisioning", False, None, "bool-type", "remove the key"),
    ("hyperpod.karpenter", False, "on", "bool-type", "true or false"),
    ("hyperpod.tiered_storage.memory_percent", 0, 101, "less-than-equal", "at most 100"),
    ("hyperpod.execution_role", ROLE, "a", "role-arn", "arn:aws:iam::<12 digits>"),
    ("hyperpod.volume_key", KEY, "a", "kms-key", "arn:aws:kms:"),
    ("hyperpod.lifecycle.folder", "scripts", "", "string-too-short", "at least 1"),
    ("hyperpod.lifecycle.source_uri", "s3://sagemaker-x/y", "s3://x/y", "string-pattern-mismatch", "sagemaker-"),
    ("hyperpod.lifecycle.script", "a.sh", "x" * 129, "string-too-long", "at most 128"),
    ("hyperpod.lifecycle.when", "on_init_complete", "later", "literal-error", "`on_create`"),
    ("hyperpod.lifecycle", {"source_uri": "s3://sagemaker-x"}, {}, "lifecycle-source", "give `folder` or `source_uri`"),
    ("hyperpod.chart.repository", "https://example.com/a.git", "ftp://a", "string-pattern-mismatch", "the form is"),
    ("hyperpod.chart.commit", "0" * 40, "main", "string-pattern-mismatch", "[0-9a-f]{40}"),
    ("hyperpod.chart.folder", "a/b", "/a", "string-pattern-mismatch", "the form is"),
    ("hyperpod.chart.oci", None, "docker://a", "string-pattern-mismatch", "oci://"),
    ("hyperpod.chart", {"oci": "oci://a/b", "version": "1"}, {"oci": "oci://a/b"}, "chart-version", "add `version:`"),
    ("hyperpod.chart", {"path": "teams"}, {"path": "a", "oci": "oci://a/b", "version": "1"}, "chart-source", "keep one"),
    ("hyperpod.chart", {"oci": "oci://a/b", "version": "1"}, {"version": "1"}, "chart-version", "remove it"),
    ("hyperpod.chart", {"path": "teams"}, {"path": "teams", "commit": "0" * 40}, "chart-source", "remove it"),
    ("hyperpod.chart", {"path": "teams"}, {"oci": "oci://a/b", "version": "1", "sha256": "0" * 64}, "chart-digest", "remove"),
    ("hyperpod.chart.version", None, "", "string-too-short", "at least 1"),
    ("hyperpod.chart.path", "teams", "", "string-too-short", "at least 1"),
    ("hyperpod.chart.sha256", "0" * 64, "0", "string-pattern-mismatch", "[0-9a-f]{64}"),
    ("hyperpod.chart.values", {"a": {"b": [1]}}, [], "dict-type", "write a map"),
    ("instance_groups", {"a": {"instance_type": "ml.m5.4xlarge", "count": 0}}, {}, "too-short", "at least 1"),
    (f"{GROUP}.availability_zone", "us-west-2b", "b", "availability-zone", "as us-west-2a"),
    (
        f"{GROUP}.taints",
        [{"key": f"k{n}", "effect": "NoExecute"} for n in range(8)],
        [{"key": "a"}],
        "missing-key",
        "add `effect:`",
    ),
    (f"{GROUP}.flexible_types", ["ml.p5e.48xlarge"], ["ml.p5e"], "instance-type-unknown", "`ml.p5e.48xlarge`"),
    (f"{GROUP}.min_count", 2, -1, "greater-than-equal", "at least 0"),
    (f"{GROUP}.autoscaled", False, "yes!", "bool-type", "true or false"),
    (f"{GROUP}.capacity", "spot", "reserved", "literal-error", "`on_demand`"),
    (f"{GROUP}.training_plan", PLAN, "x" * 60, "string-pattern-mismatch", "training-plan"),
    (f"{GROUP}.threads_per_core", 1, 3, "less-than-equal", "at most 2"),
    (f"{GROUP}.volumes.0.size_gib", 16_384, 16_385, "less-than-equal", "at most 16,384"),
    (f"{GROUP}.volumes.0.root", False, "false", "bool-type", "true or false"),
    (f"{GROUP}.volumes.0.key", KEY, "a", "kms-key", "arn:aws:kms:"),
    (f"{GROUP}.fsx_lustre.0.dns_name", DNS, "fsx", "string-too-short", "at least 16"),
    (f"{GROUP}.fsx_lustre.0.mount_name", "abcdefgh", "abcdefghi", "string-pattern-mismatch", "{1,8}"),
    (f"{GROUP}.fsx_lustre.0.mount_path", "/a/b", "a/b", "string-pattern-mismatch", "the form is"),
    (f"{GROUP}.fsx_lustre.0.availability_zone", "us-west-2a", "2a", "availability-zone", "as us-west-2a"),
    (f"{GROUP}.fsx_openzfs.0.dns_name", DNS, "fsx", "string-too-short", "at least 16"),
    (f"{GROUP}.fsx_openzfs.0.mount_path", "/home", "/../x y", "string-pattern-mismatch", "the form is"),
    (f"{GROUP}.fsx_openzfs.0.availability_zone", "us-west-2a", "2a", "availability-zone", "as us-west-2a"),
    (f"{GROUP}.deep_health_checks", ["instance_stress"], ["stress"], "literal-error", "`instance_stress`"),
    (f"{GROUP}.image", "ami-01234567", "latest", "string-pattern-mismatch", "ami-"),
    (f"{GROUP}.image_release", "1.2.3", "1.2", "string-pattern-mismatch", "the form is"),
    (f"{GROUP}.network_interface", "efa-only", "ena", "literal-error", "`efa"),
    (f"{GROUP}.bootstrap", True, 0, "bool-type", "true or false"),
    (f"{GROUP}.scheduled_update.schedule", "cron(0 3 ? * MON *)", "0 3 * * 1", "cron", "cron(minute hour day"),
    (f"{ROLLING}.batch.instances", None, 0, "greater-than-equal", "at least 1"),
    (f"{ROLLING}.batch.percent", 100, 101, "less-than-equal", "at most 100"),
    (f"{ROLLING}.batch", {"instances": 1}, {"instances": 1, "percent": 1}, "batch-size", "`instances` or `percent`"),
    (f"{ROLLING}.rollback_batch", {"percent": 1}, {}, "batch-size", "`instances` or `percent`"),
    (f"{ROLLING}.wait_seconds", 3600, 3601, "less-than-equal", "at most 3,600"),
    (f"{ROLLING}.rollback_alarms", [f"a{n}" for n in range(10)], [f"a{n}" for n in range(11)], "too-long", "at most 10"),
    (f"{GROUP}.auto_patch.strategy", "when_all_idle", "now", "literal-error", "`when_idle`"),
    (f"{GROUP}.auto_patch.deployment", {"batch": {"instances": 1}}, {}, "missing-key", "add `batch:`"),
    (f"{RESTRICTED}.instance_type", "ml.p5.48xlarge", "p5", "instance-type-unknown", "ml.p5."),
    (f"{RESTRICTED}.count", 6758, 6759, "less-than-equal", "at most 6,758"),
    (f"{RESTRICTED}.availability_zone", "us-west-2a", "a", "availability-zone", "as us-west-2a"),
    (f"{RESTRICTED}.file_system.size_gib", 100_800, 100_801, "less-than-equal", "at most 100,800"),
    (f"{RESTRICTED}.file_system.throughput", 1000, 124, "greater-than-equal", "at least 125"),
    (f"{RESTRICTED}.training_plan", PLAN, "x", "string-too-short", "at least 50"),
    (f"{RESTRICTED}.threads_per_core", 2, 0, "greater-than-equal", "at least 1"),
    (f"{RESTRICTED}.volumes", [{"size_gib": 1}], [{"size": 1}], "unknown-key", "did you mean `size_gib`?"),
    (f"{RESTRICTED}.deep_health_checks", ["instance_connectivity"], ["x"], "literal-error", "`instance_stress`"),
    ("restricted_file_system.size_gib", 1200, 1199, "greater-than-equal", "at least 1,200"),
    ("restricted_file_system.throughput", 125, 124, "greater-than-equal", "at least 125"),
    (f"{RESTRICTED}.file_system.keep", True, "x", "bool-type", "true or false"),
    ("restricted_file_system.keep", False, "false", "bool-type", "true or false"),
    ("task_governance.version", "v1.3.0-eksbuild.2", "1.3", "addon-version", "as v1.18.3-eksbuild.1"),
    ("task_governance.scheduler_name", "the-policy", "-policy", "cluster-name", "letters, digits and hyphens"),
    ("task_governance.scheduler_description", "As it was", "x" * 1025, "string-too-long", "at most 1024 characters"),
    ("kueue.replicas", 2, 0, "greater-than-equal", "at least 1"),
]
AROUND: dict[str, dict[str, Any]] = {
    # what else must be there for a field, by the beginning of its place
    "network.vpc": {"network": THEIRS},
    "network.subnets": {"network": THEIRS},
    "network.control_plane_subnets": {"network": THEIRS},
    "network.security_group": {"network": THEIRS},
    "hyperpod.lifecycle.script": {"hyperpod": {"lifecycle": {"source_uri": "s3://sagemaker-x"}}},
    "hyperpod.lifecycle.when": {"hyperpod": {"lifecycle": {"source_uri": "s3://sagemaker-x"}}},
    f"{GROUP}.volumes": {"instance_groups": {"g": {"volumes": [{"size_gib": 1}]}}},
    f"{GROUP}.fsx_lustre": {"instance_groups": {"g": {"fsx_lustre": [LUSTRE]}}},
    f"{GROUP}.fsx_openzfs": {"instance_groups": {"g": {"fsx_openzfs": [ZFS]}}},
    f"{GROUP}.scheduled_update": {"instance_groups": {"g": {"scheduled_update": UPDATE}}},
    f"{GROUP}.auto_patch": {"instance_groups": {"g": {"auto_patch": {"strategy": "when_idle"}}}},
    f"{RESTRICTED}.file_system": {"restricted_instance_groups": {"r": {**NOVA, "file_system": SYSTEM}}},
    "restricted_instance_groups": {"restricted_instance_groups": {"r": NOVA}},
    "restricted_file_system": {"restricted_instance_groups": {"r": NOVA}, "restricted_file_system": SYSTEM},
}


def declared(field: str, value: Any) -> str:
    """The environment as JSON, which is YAML, with the value at the field's place."""
    data = json.loads(json.dumps(BASE))
    cluster = data["clusters"]["main"]
    for start in sorted(AROUND, key=len):
        if field.startswith(start):
            merge(cluster, AROUND[start])
    *way, last = (int(part) if part.isdigit() else part for part in field.split("."))
    for part in way:
        cluster = cluster[part] if isinstance(cluster, list) else cluster.setdefault(part, {})
    cluster[last] = MARK
    text = json.dumps(data, indent=1)
    # As one line, so that the place is that of the mark.
    return text.replace(json.dumps(MARK), json.dumps(value))


def merge(into: dict[str, Any], over: dict[str, Any]) -> None:
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = json.loads(json.dumps(value))


CASES = [pytest.param(*case, id=f"{n}-{case[0]}") for n, case in enumerate(FIELDS)]


@pytest.mark.parametrize(("field", "good", "bad", "id_", "remedy"), CASES)
def test_what_a_field_takes(field: str, good: Any, bad: Any, id_: str, remedy: str) -> None:
    del bad, id_, remedy
    text = declared(field, good)
    elsewhere = ("lifecycle-missing", "zone-unknown", "network-", "restricted-file-system-keep", "account-other", "system-nodes")
    assert [f for f in findings({}, text) if f.severity is Severity.ERROR and not f.id.startswith(elsewhere)] == []
    found: Any = platform({}, text).environment.clusters["main"]
    for part in field.split("."):
        found = found[int(part)] if part.isdigit() else found[part] if isinstance(found, dict) else getattr(found, part)
    assert plain(found) == good or (isinstance(good, dict) and good.items() <= plain(found, unset=False).items())


def plain(value: Any, *, unset: bool = True) -> Any:
    """A value as a file would say it."""
    if isinstance(value, BaseModel):
        return {k: plain(v, unset=unset) for k, v in value if unset or k in value.model_fields_set}
    if isinstance(value, tuple):
        return [plain(item, unset=False) for item in value]
    if isinstance(value, dict):
        return {key: plain(item, unset=False) for key, item in value.items()}
    return value


@pytest.mark.parametrize(("field", "good", "bad", "id_", "remedy"), CASES)
def test_what_a_field_does_not_take(field: str, good: Any, bad: Any, id_: str, remedy: str) -> None:
    del good
    line = declared(field, MARK).splitlines().index(next(row for row in declared(field, MARK).splitlines() if MARK in row)) + 1
    errors = [f for f in findings({}, declared(field, bad)) if f.severity is Severity.ERROR]
    for finding in errors:
        assert_well_formed(finding)
    assert {(f.id, f.where.file, f.where.line) for f in errors} == {(id_, "environments/dev.yaml", line)}
    assert remedy in errors[0].remedy


def fields_of(model: type[BaseModel]) -> Iterator[str]:
    """All fields of a model and of the models in them, dotted."""
    for name, found in model.model_fields.items():
        inner = [one for option in _plain(found.annotation) for one in _models(option)]
        yield from (f"{name}.{child}" for one in inner for child in fields_of(one))
        if not inner:
            yield name


def _models(option: Any) -> Iterator[type[BaseModel]]:
    if isinstance(option, type) and issubclass(option, BaseModel):
        yield option
    elif get_origin(option) in (dict, tuple):
        for argument in get_args(option):
            for inner in _plain(argument):
                yield from _models(inner)


def test_the_table_names_every_field() -> None:
    named = {".".join(p for p in case[0].split(".") if p not in ("g", "r") and not p.isdigit()) for case in FIELDS}
    others = {"kind"} | {f"instance_groups.{name}" for name in InstanceGroup.model_fields}
    own = ("instance_groups.availability_zone", "instance_groups.taints")
    missing = [
        field
        for field in fields_of(HyperPodCluster)
        if not any(field == name or field.startswith(f"{name}.") for name in named - {"instance_groups"})
        and (field in own or not any(field == other or field.startswith(f"{other}.") for other in others))
        and not field.startswith("kueue.")
    ]
    assert missing == []


def test_an_existing_cluster_takes_none_of_these() -> None:
    (finding,) = findings({}, environment(settings='account: "111122223333"'))
    assert (finding.id, finding.where.line) == ("unknown-key", 7)
