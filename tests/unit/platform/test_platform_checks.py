"""Findings on clusters that the platform layer builds: each with its id, file, line and remedy, none where all is well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from declarations import assert_well_formed, findings, hyperpod, ids, project, team
from hypothesis import given
from hypothesis import strategies as st
from strategies import ProjectData, hyperpod_environments, planned

from config.findings import Finding, Severity, has_errors
from governance.plan import review

ERROR, WARNING, ADVICE = Severity.ERROR, Severity.WARNING, Severity.ADVICE
DEV, ALPHA = "environments/dev.yaml", "teams/alpha.yaml"
MANAGED = "governance: {backend: managed}\n"
H100 = "h100: {instance_type: ml.p5.48xlarge, count: 8, availability_zone: us-west-2a"
CPU = "cpu: {instance_type: ml.m5.4xlarge, count: 2"
NOVA = "restricted_instance_groups: {nova: {instance_type: ml.p5.48xlarge, count: 4, availability_zone: us-west-2a"
SYSTEM = "{size_gib: 1200, throughput: 125}"
FSX = (
    "{dns_name: fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com, mount_name: abcdefgh, "
    "mount_path: PATH, availability_zone: ZONE}"
)
ADMIN = "arn:aws:iam::111122223333:role/platform-admin"
OTHER_ACCOUNT, OTHER_REGION = "999988887777", "us-east-1"
EXISTING = (
    "{vpc: vpc-0123456789abcdef0, subnets: {us-west-2a: subnet-0123456789abcdef0}, "
    "control_plane_subnets: [subnet-0123456789abcdef1, subnet-0123456789abcdef2]}"
)


def fsx(zone: str, path: str = "/fsx") -> str:
    return FSX.replace("ZONE", zone).replace("PATH", path)


def key(account: str = "111122223333", region: str = "us-west-2", partition: str = "aws") -> str:
    return f"arn:{partition}:kms:{region}:{account}:key/0123"


def plan_arn(account: str = "111122223333") -> str:
    return f"arn:aws:sagemaker:us-west-2:{account}:training-plan/reserved"


def told(found: list[Finding]) -> list[tuple[str, Severity, str, int]]:
    for finding in found:
        assert_well_formed(finding)
    return [(finding.id, finding.severity, finding.where.file, finding.where.line) for finding in found]


def test_nothing_is_found_where_all_is_well() -> None:
    assert findings({}, hyperpod()) == []
    assert findings({}, hyperpod(MANAGED)) == []


THREE = ", ".join(fsx("us-west-2a", f"/fsx{n}") for n in range(3))
# what the file says, the finding's id and line, in its message, in its remedy
GROUPS: list[tuple[str, str, str, str]] = [
    ("g: {instance_type: ml.p5.48xlrge, count: 1}", "instance-type-unknown", "is not an instance type", "`ml.p5.48xlarge`"),
    (
        "g: {instance_type: ml.m5.4xlarge, count: 1, availability_zone: us-west-2d}",
        "zone-unknown",
        "no zone `us-west-2d`",
        "did you mean `us-west-2",
    ),
    (
        "g: {instance_type: ml.p5.48xlarge, count: 1}",
        "efa-zone",
        "may stand in any of 3",
        "one of us-west-2a, us-west-2b, us-west-2c",
    ),
    ("g: {instance_type: ml.p6e-gb200.36xlarge, count: 0}", "efa-zone", "has EFA", "add `availability_zone:`"),
    (f"{H100}, fsx_lustre: [{fsx('us-west-2b')}]}}", "fsx-zone", "in us-west-2b, its group in us-west-2a", "or move the group"),
    (f"{CPU}, fsx_lustre: [{fsx('us-west-2b')}]}}", "fsx-zone", "in any of 3 zones", "`availability_zone: us-west-2b`"),
    (
        f"{CPU}, fsx_openzfs: [{{dns_name: fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com, availability_zone: us-west-2c}}]}}",
        "fsx-zone",
        "in any of 3 zones",
        "`availability_zone: us-west-2c`",
    ),
    (f"{H100}, taints: [{', '.join(f'{{key: k{n}, effect: NoSchedule}}' for n in range(51))}]}}", "too-long", "", "at most 50"),
    (f"{H100}, labels: {{{', '.join(f'k{n}: v' for n in range(51))}}}}}", "too-long", "", "at most 50"),
    (f"{H100}, partitions: {{mig-1g.5gb: 1}}}}", "mig-profile-type", "mig-1g.5gb", "it has"),
    (f"{CPU}, partitions: {{mig-1g.5gb: 1}}}}", "mig-profile-type", "no MIG profile", "use a type"),
    (f"{H100}, min_count: 9}}", "min-count", "min_count: 9 is more than the group's 8", "at most 8"),
    (f"{H100}, flexible_types: [ml.g5.12xlarge]}}", "flexible-type-devices", "has 4 of nvidia.com/gpu", "a group of its own"),
    (f"{H100}, flexible_types: [ml.trn1.32xlarge]}}", "flexible-type-devices", "neurondevice", "a group of its own"),
    (f"{H100}, flexible_types: [ml.m5.4xlarge]}}", "flexible-type-devices", "no accelerators", "a group of its own"),
    (f"{H100}, flexible_types: [ml.p5.48xlarge]}}", "flexible-type-twice", "already", "remove it"),
    (
        f"{H100}, volumes: [{{root: true}}, {{size_gib: 9}}], fsx_lustre: [{THREE}]}}",
        "storage-too-many",
        "5 volumes and file systems",
        "use fewer",
    ),
    (f"{H100}, volumes: [{{root: true}}, {{root: true}}]}}", "volume-twice", "a second root volume", "keep one"),
    (f"{H100}, volumes: [{{size_gib: 1}}, {{size_gib: 1}}]}}", "volume-twice", "a second volume at /opt/sagemaker", "keep one"),
    (f"{H100}, volumes: [{{root: true, size_gib: 5}}]}}", "volume-root-size", "SageMaker chooses", "remove `size_gib`"),
    (f"{H100}, volumes: [{{}}]}}", "volume-size", "has no size", "add `size_gib:`"),
    (f"{H100}, fsx_lustre: [{fsx('us-west-2a')}, {fsx('us-west-2a')}]}}", "mount-path-twice", "at `/fsx`", "of its own"),
    (f"{H100}, capacity: spot, training_plan: '{plan_arn()}'}}", "capacity-twice", "spot", "remove `capacity`"),
    (f"{H100}, image: ami-01234567, image_release: 1.2.3}}", "image-twice", "ami-01234567", "remove `image`"),
    (f"{H100}, autoscaled: true}}", "autoscaled-by-nobody", "Karpenter is off", "hyperpod.karpenter: true"),
    (f"{CPU}, deep_health_checks: [instance_stress]}}", "deep-health-checks-type", "ml.m5.4xlarge has none", "remove it"),
    (f"{CPU}, network_interface: efa}}", "network-interface-type", "no EFA", "a type with EFA"),
    (f"{H100}, training_plan: '{plan_arn(OTHER_ACCOUNT)}'}}", "account-other", OTHER_ACCOUNT, "111122223333"),
    (f"{H100}, volumes: [{{root: true, key: '{key(OTHER_ACCOUNT)}'}}]}}", "account-other", OTHER_ACCOUNT, "111122223333"),
    (
        f"{H100}, fsx_lustre: [{fsx('us-west-2a').replace('.us-west-2.', '.us-east-1.')}]}}",
        "region-other",
        "is in us-east-1",
        "in us-west-2",
    ),
    (
        f"{H100}, taints: [{', '.join(f'{{key: k{n}, effect: NoSchedule}}' for n in range(9))}]}}",
        "flavor-tolerations",
        "9 taints",
        "fewer taints",
    ),
]


@pytest.mark.parametrize(("group", "id_", "message", "remedy"), GROUPS, ids=[f"{n}-{g[1]}" for n, g in enumerate(GROUPS)])
def test_a_finding_on_a_group(group: str, id_: str, message: str, remedy: str) -> None:
    """The group stands in line 10; findings that concern all groups are told at these."""
    found = findings({}, hyperpod(groups=f"first: {{instance_type: ml.m5.4xlarge, count: 1}}\n{group}"))
    errors = [finding for finding in found if finding.severity is ERROR]
    assert told(errors) == [(id_, ERROR, DEV, 8 if id_ == "flavor-tolerations" else 10)]
    assert message in errors[0].message
    assert remedy in errors[0].remedy


SETTINGS: list[tuple[str, str, int, str, str]] = [
    ("eks: {existing: theirs}", "eks-network", 10, "still to be made", "give network.vpc"),
    ("hyperpod:\n  karpenter: true", "karpenter-unused", 11, "no group to scale", "autoscaled: true"),
    (f"hyperpod: {{name: {'x' * 64}}}", "cluster-name", 10, "has 64 characters; at most 63", "1-63"),
    (f"{NOVA}}}, h100: {{instance_type: ml.m5.4xlarge, count: 1}}}}", "group-twice", 10, "a group `h100` too", "another name"),
    (
        f"{NOVA}, file_system: {SYSTEM}}}}}\nrestricted_file_system: {SYSTEM}",
        "restricted-file-system",
        10,
        "beside the",
        "remove",
    ),
    (f"restricted_file_system: {SYSTEM}", "restricted-file-system", 10, "no restricted group", "remove it"),
    (
        f"{NOVA}, file_system: {{size_gib: 1200, throughput: 125, keep: true}}}}}}",
        "restricted-file-system-keep",
        10,
        "goes with the group",
        "use restricted_file_system",
    ),
    (NOVA.replace("us-west-2a", "us-west-2d") + "}}", "zone-unknown", 10, "no zone `us-west-2d`", "did you mean"),
    (NOVA + ", volumes: [{root: true}, {root: true}]}}", "volume-twice", 10, "a second root volume", "keep one"),
    (
        "restricted_instance_groups:\n  nova:\n    instance_type: ml.p5.48xlarge\n    count: 1",
        "efa-zone",
        11,
        "any of 3",
        "add `availability_zone:`",
    ),
    ("tags: {Team: a, team: b}", "tag-twice", 10, "one to IAM", "keep one"),
    ("tags: {hyperpod-platform/cluster: b}", "tag-reserved", 10, "made for every resource", "another prefix"),
    (f"eks: {{admins: ['{ADMIN}'], secrets_key: '{key(OTHER_ACCOUNT)}'}}", "account-other", 10, OTHER_ACCOUNT, "111122223333"),
    (f"hyperpod: {{volume_key: '{key(region=OTHER_REGION)}'}}", "region-other", 10, OTHER_REGION, "us-west-2"),
    (f"hyperpod: {{volume_key: '{key(partition='aws-cn')}'}}", "partition-other", 10, "aws-cn", "partition aws"),
    (
        f"hyperpod:\n  execution_role: arn:aws:iam::{OTHER_ACCOUNT}:role/r",
        "account-other",
        11,
        f"of the account {OTHER_ACCOUNT}",
        "111122223333",
    ),
    (f"eks: {{admins: ['arn:aws:iam::{OTHER_ACCOUNT}:role/r']}}", "account-other", 10, OTHER_ACCOUNT, "111122223333"),
    (f"permissions_boundary: arn:aws:iam::{OTHER_ACCOUNT}:policy/p", "account-other", 10, OTHER_ACCOUNT, "111122223333"),
    ("hyperpod: {lifecycle: {folder: nowhere}}", "lifecycle-missing", 10, "no folder `nowhere`", "create or correct it"),
    ("hyperpod: {lifecycle: {folder: teams}}", "lifecycle-missing", 10, "no file `teams/on_create.sh`", "another `script`"),
    ("hyperpod: {chart: {path: charts/none}}", "chart-missing", 10, "`charts/none`", "create or correct it"),
]


@pytest.mark.parametrize(
    ("text", "id_", "line", "message", "remedy"), SETTINGS, ids=[f"{n}-{s[1]}" for n, s in enumerate(SETTINGS)]
)
def test_a_finding_on_a_cluster(text: str, id_: str, line: int, message: str, remedy: str) -> None:
    found = findings({}, hyperpod("governance: {topology: {enabled: false}}\n", settings=text))
    assert told(found) == [(id_, ERROR, DEV, line)]
    assert message in found[0].message
    assert remedy in found[0].remedy


@pytest.mark.parametrize("setting", ["public_access_from: [203.0.113.0/24]", "name: ours", f"secrets_key: '{key()}'"])
def test_an_existing_eks_cluster_keeps_its_settings(setting: str) -> None:
    groups = "h100: {instance_type: ml.p5.48xlarge, count: 8}"
    found = findings({}, hyperpod(groups=groups, settings=f"eks:\n  existing: theirs\n  {setting}", network=EXISTING))
    assert told(found) == [("eks-existing", ERROR, DEV, 12)]
    assert "`theirs`" in found[0].message
    assert "or `existing`" in found[0].remedy
    quiet = hyperpod(groups=groups, settings="eks: {existing: theirs, version: '1.32'}", network=EXISTING)
    assert findings({}, quiet) == []


ZONES = "availability_zones: [us-west-2a, us-west-2b, us-west-2c]"
NETWORKS = [
    ("{egress: nat}", "give availability_zones, or vpc and subnets"),
    (f"{{{ZONES}, subnets: {{us-west-2a: subnet-0123456789abcdef0}}}}", "add `vpc:`"),
    ("{vpc: vpc-0123456789abcdef0}", "add `subnets:`"),
    (EXISTING.replace("vpc: ", f"{ZONES}, vpc: "), "remove it, or `vpc`"),
    (f"{{{ZONES}, cidr: 10.0.0.0/28}}", "or larger"),
    (f"{{{ZONES}, cidr: 10.0.0.0/24}}", "or larger"),
    (f"{{{ZONES}, node_cidrs: {{us-west-2d: 10.200.0.0/16}}}}", "add it to availability_zones"),
]


@pytest.mark.parametrize(("network", "remedy"), NETWORKS, ids=[str(n) for n in range(len(NETWORKS))])
def test_a_network_that_can_not_be(network: str, remedy: str) -> None:
    found = findings({}, hyperpod(network=network))
    assert told(found) == [("network-shape", ERROR, DEV, 7)]
    assert remedy in found[0].remedy


def test_a_subnet_that_may_not_hold_its_nodes_is_warned_of() -> None:
    found = findings({}, hyperpod(network=f"{{{ZONES}, cidr: 10.0.0.0/21}}"))
    assert told(found) == [("addresses-few", WARNING, DEV, 7)]
    assert "h100 may take 648 addresses in us-west-2a, whose subnet has 507" in found[0].message
    assert "network.node_cidrs.us-west-2a" in found[0].remedy
    own = f"{{{ZONES}, cidr: 10.0.0.0/21, node_cidrs: {{us-west-2a: 10.9.0.0/16}}}}"
    assert findings({}, hyperpod(network=own)) == []


def test_one_zone_needs_no_pin() -> None:
    groups = f"h100: {{instance_type: ml.p5.48xlarge, count: 8, fsx_lustre: [{fsx('us-west-2a')}]}}"
    assert findings({}, hyperpod(groups=groups, network=EXISTING)) == []
    other = groups.replace("availability_zone: us-west-2a", "availability_zone: us-west-2b")
    assert told(findings({}, hyperpod(groups=other, network=EXISTING))) == [("fsx-zone", ERROR, DEV, 9)]


@pytest.mark.parametrize(
    ("network", "zones"),
    [
        ("{availability_zones: [us-west-2a, us-west-1b, eu-central-1a, us-west-2-lax-1a]}", ["us-west-1b", "eu-central-1a"]),
        (EXISTING.replace("us-west-2a", "us-east-2a"), ["us-east-2a"]),
    ],
)
def test_a_zone_of_another_region(network: str, zones: list[str]) -> None:
    found = findings({}, hyperpod(network=network, groups="cpu: {instance_type: ml.m5.4xlarge, count: 1}"))
    assert told([f for f in found if f.id == "zone-region"]) == [("zone-region", ERROR, DEV, 7)] * len(zones)
    assert sorted(f.message for f in found if f.id == "zone-region") == sorted(
        f"the zone `{zone}` is not in the region us-west-2" for zone in zones
    )


def test_more_groups_than_a_cluster_holds() -> None:
    groups = "\n".join(f"g{n}: {{instance_type: ml.m5.4xlarge, count: 1}}" for n in range(100))
    assert findings({}, hyperpod(groups=groups)) == []
    found = findings({}, hyperpod(groups=groups, settings=f"{NOVA}}}}}"))
    assert told(found) == [("groups-too-many", ERROR, DEV, 109)]
    assert "101 groups" in found[0].message


def test_keys_for_volumes_need_continuous_provisioning() -> None:
    key = "arn:aws:kms:us-west-2:111122223333:key/00000000-0000-0000-0000-000000000000"
    env = hyperpod(
        groups=f"{H100}, volumes: [{{size_gib: 9, key: '{key}'}}]}}",
        settings=f"hyperpod:\n  volume_key: {key}\n  continuous_provisioning: false",
    )
    assert [(i, line) for i, _, _, line in told(findings({}, env))] == [
        ("volume-key-continuous", 9),
        ("volume-key-continuous", 11),
    ]
    assert findings({}, env.replace("provisioning: false", "provisioning: true")) == []


def test_karpenter_needs_continuous_provisioning() -> None:
    env = hyperpod(
        "governance: {topology: {enabled: false}}\n",
        groups=f"{H100}, autoscaled: true}}",
        settings="hyperpod:\n  karpenter: true\n  continuous_provisioning: false",
    )
    assert told(findings({}, env)) == [("karpenter-continuous", ERROR, DEV, 11)]
    assert findings({}, env.replace("provisioning: false", "provisioning: true")) == []


@pytest.mark.parametrize(
    ("governance", "remedy"),
    [
        ("", "set governance.topology.enabled: false, or remove `karpenter`"),
        (MANAGED, "use the kueue backend and set governance.topology.enabled: false, or remove `karpenter`"),
    ],
)
def test_karpenter_beside_topology_aware_placement(governance: str, remedy: str) -> None:
    found = findings({}, hyperpod(governance, groups=f"{H100}, autoscaled: true}}", settings="hyperpod:\n  karpenter: true"))
    assert told(found) == [("karpenter-topology", ERROR, DEV, 11)]
    assert found[0].remedy == remedy
    assert "admits a job only where nodes stand already" in found[0].message


def test_switched_off_hyper_threads_are_warned_of() -> None:
    found = findings({}, hyperpod(groups=f"{H100}, threads_per_core: 1}}"))
    assert told(found) == [("threads-per-core", WARNING, DEV, 9)]
    assert "has 96 vCPUs at most; quotas count 192" in found[0].message
    assert "name vcpu in the teams' quotas" in found[0].remedy
    assert findings({}, hyperpod(groups=f"{H100}, threads_per_core: 2}}")) == []


def test_types_to_fall_back_on_are_warned_of() -> None:
    found = findings({}, hyperpod(groups=f"{H100}, flexible_types: [ml.p5e.48xlarge]}}"))
    assert told(found) == [("flexible-type-queue", WARNING, DEV, 9)]
    assert "a quota of ml.p5e.48xlarge too" in found[0].remedy


MANAGED_CASES: list[tuple[dict[str, Any], str, int, str, str]] = [
    ({"region": "eu-west-3", "network": "{availability_zones: [eu-west-3a, eu-west-3b, eu-west-3c]}",
      "groups": H100.replace("us-west-2a", "eu-west-3a") + "}"}, "governance-region", 6, "not offered in eu-west-3", "eu-west-"),
    ({"settings": f"{NOVA}}}}}"}, "managed-restricted", 10, "restricted instance groups", "use the kueue backend"),
]  # fmt: skip


@pytest.mark.parametrize(("declared", "id_", "line", "message", "remedy"), MANAGED_CASES, ids=[c[1] for c in MANAGED_CASES])
def test_what_task_governance_asks_of_a_cluster(declared: dict[str, Any], id_: str, line: int, message: str, remedy: str) -> None:
    found = findings({}, hyperpod(MANAGED, **declared))
    assert told(found) == [(id_, ERROR, DEV, line)]
    assert message in found[0].message
    assert remedy in found[0].remedy
    assert findings({}, hyperpod(**declared)) == []


WHOLE = "quota: {ml.p5.48xlarge: {instances: 1}}\n"
GPUS = "quota: {ml.p5.48xlarge: {accelerators: 8, vcpu: 8}}\n"
PARTS = "quota: {ml.p5.48xlarge: {partitions: {mig-1g.10gb: 2}}}\n"
VERSIONS: list[tuple[str, str, list[tuple[str, int]]]] = [
    ("task_governance: {version: v1.6.0-eksbuild.1}", GPUS, []),
    ("task_governance: {version: v1.2.2-eksbuild.1}", WHOLE, []),
    ("task_governance: {version: v1.2.2-eksbuild.1}", GPUS, [("addon-fine-grained", 10)]),
    ("task_governance: {version: v1.2.2-eksbuild.1}", PARTS, [("addon-fine-grained", 10), ("addon-mig", 10)]),
    ("task_governance: {version: v1.1.3-eksbuild.1}", WHOLE, [("addon-topology", 10)]),
    ("eks:\n  version: '1.29'", WHOLE, [("addon-kubernetes", 12), ("kubernetes-support", 12)]),
    ("eks:\n  version: '1.30'", WHOLE, [("kubernetes-support", 12)]),
    ("eks:\n  version: '1.32'", WHOLE, []),
]


@pytest.mark.parametrize(("settings", "quota", "expected"), VERSIONS, ids=[str(n) for n in range(len(VERSIONS))])
def test_versions_that_task_governance_needs(settings: str, quota: str, expected: list[tuple[str, int]]) -> None:
    settings = settings.replace("eks:\n", f"eks:\n  admins: ['{ADMIN}']\n")
    env = hyperpod("governance: {backend: managed, overcommit: allow}\n", settings=settings)
    found = [finding for finding in findings({"alpha": team(quota)}, env) if finding.severity is not ADVICE]
    assert told(found) == [(id_, ERROR, DEV, line) for id_, line in expected]
    kueue = findings({"alpha": team(quota)}, env.replace("managed", "kueue"))
    assert not [finding for finding in kueue if finding.id.startswith("addon-")]


@pytest.mark.parametrize(("version", "wrong"), [("v1.16.0-eksbuild.1", True), ("v1.6.1-eksbuild.2", False)])
def test_a_version_without_documentation_is_told(version: str, wrong: bool) -> None:
    found = findings({}, hyperpod(MANAGED, settings=f"task_governance:\n  version: {version}"))
    assert told(found) == [("addon-undocumented", ADVICE, DEV, 11)] * wrong


@pytest.mark.parametrize(
    ("version", "wrong"), [("v1.18.2-eksbuild.9", True), ("v1.9.0-eksbuild.1", True), ("v1.18.3-eksbuild.1", False)]
)
def test_the_oldest_network_plugin(version: str, wrong: bool) -> None:
    found = findings({}, hyperpod(settings=f"eks:\n  admins: ['{ADMIN}']\n  addons:\n    vpc-cni: {version}"))
    assert told(found) == [("vpc-cni-version", ERROR, DEV, 13)] * wrong
    assert all("needs vpc-cni 1.18.3 or newer" in f.message and "pin a newer one" in f.remedy for f in found)


@pytest.mark.parametrize(
    ("settings", "words"),
    [("eks: {admins: ['ROLE']}", "an administrator"), ("hyperpod: {execution_role: 'ROLE'}", "the instances' own role")],
)
def test_a_role_has_one_access_entry(settings: str, words: str) -> None:
    role = "arn:aws:iam::111122223333:role/shared"
    text = team(f"{WHOLE}access:\n  iam_roles:\n    - arn:aws:iam::111122223333:role/own\n    - {role}\n")
    found = findings({"alpha": text}, hyperpod(settings=settings.replace("ROLE", role)))
    assert told(found) == [("iam-role-taken", ERROR, ALPHA, 7)]
    assert words in found[0].message
    assert "another role" in found[0].remedy


def test_taints_are_aws_concern_on_the_managed_backend() -> None:
    taints = ", ".join(f"{{key: k{n}, effect: NoSchedule}}" for n in range(50))
    assert findings({}, hyperpod(MANAGED, groups=f"{H100}, taints: [{taints}]}}\n{CPU}}}")) == []


@pytest.mark.parametrize("policy", ["warn", "forbid"])
def test_a_quota_of_a_type_without_a_group_is_a_mistake_where_groups_are_declared(policy: str) -> None:
    teams = {name: team("quota:\n  ml.p4d.24xlarge: {instances: 1}\nsharing: dont_lend\n") for name in ("alpha", "beta")}
    found = findings(teams, hyperpod(f"governance: {{overcommit: {policy}}}\n"))
    assert told(found) == [("overcommit-no-group", ERROR, ALPHA, 4), ("overcommit-no-group", ERROR, "teams/beta.yaml", 4)]
    assert "add a group (count: 0 while its nodes are still to come)" in found[0].remedy
    assert findings(teams, hyperpod("governance: {overcommit: allow}\n")) == []
    ahead = f"{H100}}}\nfuture: {{instance_type: ml.p4d.24xlarge, count: 0, availability_zone: us-west-2a}}"
    assert ids(findings(teams, hyperpod(groups=ahead))) == ["overcommit"]


def test_a_quota_of_partitions_that_a_type_does_not_have() -> None:
    found = findings({"alpha": team("quota:\n  ml.p5.48xlarge: {partitions: {mig-1g.5gb: 1}}\n")}, hyperpod())
    assert told(found) == [("mig-profile-type", ERROR, ALPHA, 4)]


def test_two_clusters_of_one_name() -> None:
    first = hyperpod(settings=f"hyperpod: {{name: same}}\neks: {{name: same, admins: ['{ADMIN}']}}")
    second = first.partition("clusters:\n")[2].replace("main:", "other:")
    found = findings({}, first + second)
    assert told(found) == [("cluster-name-twice", ERROR, DEV, line) for line in (19, 20)]
    assert all("`same` too" in finding.message for finding in found)
    assert [finding.remedy for finding in found] == ["give it another hyperpod.name", "give it another eks.name"]
    assert findings({}, first + second.replace("111122223333", "444455556666")) == []


def test_everything_is_told_in_one_run() -> None:
    env = hyperpod(
        "governance: {backend: managed, overcommit: forbid}\n",
        groups=f"{H100.replace('2a', '2d')}, min_count: 99, volumes: [{{}}]}}\n{CPU}, deep_health_checks: [instance_stress]}}",
        settings="tags: {A: x, a: y}\nhyperpod: {lifecycle: {folder: nowhere}}",
        region="eu-west-3",
    )
    found = findings({"alpha": team("quota: {ml.g5.2xlarge: {instances: 1}}\ndefault_priority: x\n")}, env)
    assert set(ids(found)) >= {
        *("zone-unknown", "min-count", "volume-size", "deep-health-checks-type", "tag-twice", "zone-region"),
        *("lifecycle-missing", "governance-region", "overcommit-no-group", "priority-class-unknown"),
    }


def test_the_script_of_a_folder_is_looked_for_in_the_projects(tmp_path: Path) -> None:
    made = project(tmp_path, {}, {"dev": hyperpod(settings="hyperpod: {lifecycle: {folder: scripts, script: first.sh}}")})
    (tmp_path / "scripts").mkdir()
    assert ids(review(made, "dev")) == ["lifecycle-missing"]
    (tmp_path / "scripts" / "first.sh").write_text("true\n")
    assert review(made, "dev") == []


@given(st.booleans().flatmap(lambda managed: hyperpod_environments(managed=managed)))
def test_clusters_without_errors_have_a_platform(environment: dict[str, Any]) -> None:
    plan = planned(ProjectData(environment, {}))
    assert not has_errors(plan.findings)
    assert plan.clusters["main"].platform is not None
