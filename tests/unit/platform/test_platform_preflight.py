"""What a cluster would only show when it is built: nodes for add-ons, labels of nodes, jobs across zones, closed networks."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from declarations import ADMINS, assert_well_formed, findings, hyperpod, team

from config.findings import Finding, Severity
from config.load import Project
from governance.plan import review

ERROR, WARNING, ADVICE = Severity.ERROR, Severity.WARNING, Severity.ADVICE
DEV, ALPHA = "environments/dev.yaml", "teams/alpha.yaml"
ROOT = Path(__file__).parents[3]
TAINT = "taints: [{key: example.com/gpu, effect: NoSchedule}]"
ADMIN = "arn:aws:iam::111122223333:role/platform-admin"
EXISTING = (
    "{vpc: vpc-0123456789abcdef0, subnets: {us-west-2a: subnet-0123456789abcdef0}, "
    "control_plane_subnets: [subnet-0123456789abcdef1, subnet-0123456789abcdef2]}"
)
UNPLACED = "governance: {topology: {enabled: false}}\n"


def told(found: list[Finding]) -> list[tuple[str, Severity, str, int]]:
    for finding in found:
        assert_well_formed(finding)
    return [(finding.id, finding.severity, finding.where.file, finding.where.line) for finding in found]


def h100(settings: str = "count: 8", zone: str = "us-west-2a", name: str = "h100") -> str:
    return f"{name}: {{instance_type: ml.p5.48xlarge, availability_zone: {zone}, {settings}}}"


# Nodes for add-ons --------------------------------------------------------------------------------------------------------------

SYSTEM: list[tuple[str, str | None, str]] = [
    (h100(), None, ""),
    (h100(f"count: 8, {TAINT}"), "system-nodes-none", "all groups are tainted, or have no instance"),
    (h100(f"count: 8, {TAINT.replace('NoSchedule', 'NoExecute')}"), "system-nodes-none", "all groups are tainted"),
    (h100(f"count: 8, {TAINT.replace('NoSchedule', 'PreferNoSchedule')}"), None, ""),
    (h100("count: 0"), "system-nodes-none", "no instance"),
    (f"{h100(f'count: 8, {TAINT}')}\ncpu: {{instance_type: ml.m5.4xlarge, count: 0}}", "system-nodes-none", ""),
    (f"{h100(f'count: 8, {TAINT}')}\ncpu: {{instance_type: ml.m5.large, count: 1}}", None, ""),
    (
        f"{h100(f'count: 8, {TAINT}')}\ncpu: {{instance_type: ml.t3.medium, count: 1}}",
        "system-nodes-small",
        "ask for 5 pods, 0.7 vCPU",
    ),
    (f"{h100(f'count: 8, {TAINT}')}\ncpu: {{instance_type: ml.t3.medium, count: 3}}", None, ""),
]


@pytest.mark.parametrize(("groups", "id_", "words"), SYSTEM, ids=[str(n) for n in range(len(SYSTEM))])
def test_add_ons_need_nodes_without_taints(groups: str, id_: str | None, words: str) -> None:
    """The groups stand in line 9, below their key."""
    found = findings({}, hyperpod(groups=groups))
    severity = ERROR if id_ == "system-nodes-none" else WARNING
    assert told(found) == ([(id_, severity, DEV, 8)] if id_ else [])
    assert all(words in finding.message for finding in found)


@pytest.mark.parametrize(("replicas", "enough"), [(1, True), (2, True), (3, False)])
def test_every_replica_of_kueue_counts(replicas: int, enough: bool) -> None:
    """A node of two vCPUs keeps 1.3 for pods: two controllers and names that resolve, no third one."""
    groups = f"{h100(f'count: 8, {TAINT}')}\ncpu: {{instance_type: ml.m5.large, count: 1}}"
    found = findings({}, hyperpod(groups=groups, settings=f"kueue: {{replicas: {replicas}}}"))
    assert told(found) == ([] if enough else [("system-nodes-small", WARNING, DEV, 8)])
    assert findings({}, hyperpod(groups=groups, settings=f"kueue: {{replicas: {replicas}, install: false}}")) == []


def test_nodes_that_come_when_pods_wait_are_nodes() -> None:
    groups = f"{h100(f'count: 8, {TAINT}')}\ncpu: {{instance_type: ml.m5.4xlarge, count: 0, autoscaled: true}}"
    assert findings({}, hyperpod(UNPLACED, groups=groups, settings="hyperpod: {karpenter: true}")) == []


def test_an_existing_cluster_may_have_other_nodes() -> None:
    settings = f"eks: {{existing: theirs, admins: ['{ADMIN}']}}"
    assert findings({}, hyperpod(groups=h100(f"count: 8, {TAINT}"), settings=settings, network=EXISTING)) == []


# Labels of nodes ----------------------------------------------------------------------------------------------------------------


def levels(*names: str) -> str:
    return f"governance:\n  topology:\n    levels:\n{''.join(f'      - {name}' + chr(10) for name in names)}"


LAYER, HOST = "topology.k8s.aws/network-node-layer-", "kubernetes.io/hostname"
LEVELS: list[tuple[str, tuple[str, ...], list[int], str]] = [
    (h100(), (f"{LAYER}1", f"{LAYER}2", HOST), [], ""),
    (h100(), ("topology.kubernetes.io/zone", f"{LAYER}1", HOST), [], ""),
    (h100(), ("example.com/rack", HOST), [0], "h100 on `main` don't carry the label example.com/rack"),
    (h100("count: 8, labels: {example.com/rack: a}"), ("example.com/rack", HOST), [], ""),
    (
        f"{h100('count: 8, labels: {example.com/rack: a}')}\ncpu: {{instance_type: ml.m5.4xlarge, count: 2}}",
        ("example.com/rack", HOST),
        [0],
        "nodes of cpu on",
    ),
    (h100(), (f"{LAYER}1", f"{LAYER}4", HOST), [1], "no type of the cluster `main` has the network layer"),
    ("cpu: {instance_type: ml.m5.4xlarge, count: 2}", (f"{LAYER}1", HOST), [0], "the level has no effect"),
    (f"{h100()}\ncpu: {{instance_type: ml.m5.4xlarge, count: 2}}", (f"{LAYER}1", HOST), [], ""),
    (h100(), ("topology.k8s.aws/ultraserver-id", HOST), [0], "don't carry"),
    (
        "gb200: {instance_type: ml.p6e-gb200.36xlarge, count: 2, availability_zone: us-west-2a}",
        ("topology.k8s.aws/ultraserver-id", HOST),
        [],
        "",
    ),
]


@pytest.mark.parametrize(("groups", "names", "wrong", "words"), LEVELS, ids=[str(n) for n in range(len(LEVELS))])
def test_levels_that_no_node_carries_are_warned_of(groups: str, names: tuple[str, ...], wrong: list[int], words: str) -> None:
    env = hyperpod(levels(*names), groups=groups)
    first = env.splitlines().index("    levels:") + 2
    found = [finding for finding in findings({}, env) if finding.id != "efa-unknown"]
    assert told(found) == [("topology-level-label", WARNING, DEV, first + index) for index in wrong]
    assert all(words in finding.message for finding in found)
    off = env.replace("  topology:\n", "  topology:\n    enabled: false\n")
    assert [finding.id for finding in findings({}, off) if finding.id != "efa-unknown"] == []


def test_hyperpods_own_levels_are_left_out_by_type_without_a_word() -> None:
    assert findings({}, hyperpod(groups="cpu: {instance_type: ml.m5.4xlarge, count: 2}")) == []


MIG: list[tuple[str, str | None]] = [
    ("partitions: {mig-1g.10gb: 56}", "nobody makes the partitions"),
    ("partitions: {mig-1g.10gb: 56}, labels: {nvidia.com/mig.config: all-1g.10gb}", None),
    ("partitions: {mig-3g.40gb: 16}, labels: {nvidia.com/mig.config: all-1g.10gb}", "has partitions of 3g.40gb"),
    ("partitions: {mig-3g.40gb: 8, mig-4g.40gb: 8}, labels: {nvidia.com/mig.config: mixed-1-3g.40gb-1-4g.40gb}", None),
    ("partitions: {mig-4g.40gb: 8}, labels: {nvidia.com/mig.config: mixed-1-3g.40gb-1-4g.40gb}", "has partitions of 4g.40gb"),
    ("labels: {nvidia.com/mig.config: all-1g.10gb}", "declares no partitions"),
    ("labels: {nvidia.com/mig.config: all-disabled}", None),
    ("partitions: {mig-1g.10gb: 8}, labels: {nvidia.com/mig.config: our-own}", None),
]


@pytest.mark.parametrize(("settings", "words"), MIG, ids=[str(n) for n in range(len(MIG))])
def test_partitions_are_those_of_the_label(settings: str, words: str | None) -> None:
    found = findings({}, hyperpod(groups=h100(f"count: 8, {settings}")))
    assert told(found) == ([("mig-config", WARNING, DEV, 9)] if words else [])
    assert all(str(words) in finding.message for finding in found)


# Zones --------------------------------------------------------------------------------------------------------------------------

TWO_ZONES = f"{h100('count: 4')}\n{h100('count: 4', 'us-west-2b', 'more')}"
QUOTA = "quota: {ml.p5.48xlarge: {instances: 8}}\n"
JOBS: list[tuple[str, str, dict[str, Any], bool]] = [
    ("{instances: 6}", TWO_ZONES, {}, True),
    ("{accelerators: 48}", TWO_ZONES, {}, True),
    ("{instances: 4}", TWO_ZONES, {}, False),
    ("{instances: 6}", TWO_ZONES.replace("us-west-2b", "us-west-2a"), {}, False),
    (
        "{instances: 6}",
        TWO_ZONES.replace("more: {", "more: {autoscaled: true, "),
        {"settings": "hyperpod: {karpenter: true}", "text": UNPLACED},
        False,
    ),
]


@pytest.mark.parametrize(("job", "groups", "declared", "wrong"), JOBS, ids=[str(n) for n in range(len(JOBS))])
def test_a_job_that_only_all_zones_together_hold(job: str, groups: str, declared: dict[str, Any], wrong: bool) -> None:
    text = team(f"{QUOTA}largest_job:\n  ml.p5.48xlarge: {job}\n")
    found = [f for f in findings({"alpha": text}, hyperpod(groups=groups, **declared)) if f.id == "job-spans-zones"]
    assert told(found) == [("job-spans-zones", WARNING, ALPHA, 5)] * wrong
    assert all("(us-west-2a, us-west-2b) has more than 32 for pods" in finding.message for finding in found)


def test_types_without_efa_may_span_zones() -> None:
    groups = "\n".join(
        f"{name}: {{instance_type: ml.g5.2xlarge, count: 4, availability_zone: us-west-2{name}}}" for name in ("a", "b")
    )
    text = team("quota: {ml.g5.2xlarge: {instances: 8}}\nlargest_job: {ml.g5.2xlarge: {instances: 6}}\n")
    assert findings({"alpha": text}, hyperpod(groups=groups)) == []


def test_efa_of_a_type_to_fall_back_on_needs_a_zone_too() -> None:
    group = "g: {instance_type: ml.g5.4xlarge, count: 2, flexible_types: [ml.g5.8xlarge]"
    found = [finding for finding in findings({}, hyperpod(groups=f"{group}}}")) if finding.severity is ERROR]
    assert told(found) == [("efa-zone", ERROR, DEV, 9)]
    assert "ml.g5.8xlarge has EFA" in found[0].message
    pinned = hyperpod(groups=f"{group}, availability_zone: us-west-2a}}")
    assert not [finding for finding in findings({}, pinned) if finding.severity is ERROR]


# Closed networks, backends, administrators --------------------------------------------------------------------------------------

CLOSED = "{availability_zones: [us-west-2a, us-west-2b, us-west-2c], egress: closed}"
MIRRORED = "hyperpod: {chart: {values: {image: mirror}}}"


@pytest.mark.parametrize(
    ("kueue", "governance", "wrong"),
    [
        ("", "", True),
        ("\nkueue: {chart: 'oci://mirror.example.com/kueue'}", "", False),
        ("\nkueue: {install: false}", "", False),
        ("", "governance: {backend: managed}\n", False),
    ],
)
def test_a_closed_network_can_not_pull_kueues_public_image(kueue: str, governance: str, wrong: bool) -> None:
    found = findings({}, hyperpod(governance, settings=MIRRORED + kueue, network=CLOSED))
    assert told(found) == [("closed-kueue", WARNING, DEV, 7)] * wrong
    assert findings({}, hyperpod(governance, settings=MIRRORED + kueue)) == []


@pytest.mark.parametrize(
    ("backend", "section", "wrong"),
    [
        ("managed", "kueue: {replicas: 2}", True),
        ("kueue", "kueue: {replicas: 2}", False),
        ("kueue", "task_governance: {version: v1.6.0-eksbuild.1}", True),
        ("managed", "task_governance: {version: v1.6.0-eksbuild.1}", False),
    ],
)
def test_sections_of_the_other_backend_are_told(backend: str, section: str, wrong: bool) -> None:
    env = hyperpod(f"governance: {{backend: {backend}}}\n", settings=section)
    found = findings({}, env)
    assert told(found) == [("backend-section-unused", ADVICE, DEV, 10)] * wrong
    inherited = "apiVersion: hyperpod-platform/v1\nbase: other\n"
    assert findings({}, inherited, other=env) == []


@pytest.mark.parametrize(("eks", "line"), [("eks: {version: '1.34'}", 10), ("eks:\n  version: '1.34'\n  admins: []", 12)])
def test_a_new_cluster_needs_somebody_who_may_enter(eks: str, line: int) -> None:
    found = findings({}, hyperpod(settings=eks))
    assert told(found) == [("admins-none", ERROR, DEV, line)]
    assert findings({}, hyperpod(settings=f"eks: {ADMINS}")) == []
    assert findings({}, hyperpod(settings="eks: {existing: theirs}", network=EXISTING)) == []


def test_an_administrator_is_not_the_instances_own_role() -> None:
    role = "arn:aws:iam::111122223333:role/nodes"
    settings = f"hyperpod: {{execution_role: {role}}}\neks:\n  admins:\n    - {ADMIN}\n    - {role}"
    assert told(findings({}, hyperpod(settings=settings))) == [("iam-role-taken", ERROR, DEV, 14)]


def test_nothing_is_told_of_an_existing_vpc_but_what_it_says() -> None:
    """`null` takes a base's setting away: it says nothing."""
    base = hyperpod(groups="cpu: {instance_type: ml.m5.4xlarge, count: 2}")
    network = EXISTING.replace("{", "{availability_zones: null, ", 1)
    text = f"apiVersion: hyperpod-platform/v1\nbase: other\nclusters: {{main: {{network: {network}}}}}\n"
    assert findings({}, text, other=base) == []


@pytest.mark.parametrize("environment", ["dev", "staging", "prod", "local"])
def test_the_projects_own_environments_have_none_of_these(environment: str) -> None:
    found = review(Project(ROOT, date(2026, 11, 21)), environment)
    assert {finding.id for finding in found} <= {"overcommit"}
