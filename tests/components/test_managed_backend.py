"""The managed backend under mocks: what is declared, in which order, what is protected, and what is not there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
import pytest
from recording import Recording, record, write_project

from components.governance import governance_backend
from components.governance.access import role_name
from components.governance.managed.addon import refuse_unsafe_jump
from components.site import CloudSite, Site
from config.load import Project
from governance.access import conflicting_roles, role_groups
from governance.model import ClusterPlan, Plan
from governance.plan import plan

ROLE = "arn:aws:iam::123456789012:role"
ARN = "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl"
CLUSTER = """
clusters:
  main:
    kind: hyperpod
    account: "123456789012"
    region: us-west-2
    network: {availability_zones: [us-west-2a, us-west-2b, us-west-2c]}
    eks: {admins: ["arn:aws:iam::123456789012:role/admin"]}
    hyperpod: {execution_role: "arn:aws:iam::123456789012:role/sagemaker-nodes"}
    task_governance: {version: v1.6.0-eksbuild.1}
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 4, availability_zone: us-west-2a}
governance:
  backend: managed
  priority_classes: {train: {weight: 70}}
"""
TEAMS = {
    "works": f"quota: {{ml.p5.48xlarge: {{instances: 1}}}}\naccess: {{iam_roles: ['{ROLE}/ml/one', '{ROLE}/shared']}}",
    "waits": f"quota: {{ml.p5.48xlarge: {{instances: 1}}}}\nstate: held\naccess: {{iam_roles: ['{ROLE}/shared'], groups: [idp]}}",
    "leaves": "quota: {ml.p5.48xlarge: {accelerators: 1}}\nstate: draining",
}
ADDON, SCHEDULER = "main/task-governance/addon", "main/scheduler/config"
SHARED, OWN = f"main/access-entries/{role_name(f'{ROLE}/shared')}", f"main/access-entries/{role_name(f'{ROLE}/ml/one')}"


def planned(root: Path, teams: Mapping[str, str], environment: str = CLUSTER) -> Plan:
    return plan(Project(write_project(root, environment, teams)).load("test"))


def declared(resolved: Plan, *, cloud: bool = True) -> Recording:
    """The governance of `main`, on a cluster whose nodes are one resource."""

    def program() -> None:
        import pulumi_aws as aws
        import pulumi_aws_native as aws_native
        import pulumi_kubernetes as kubernetes

        nodes = pulumi.CustomResource("test:index:Nodes", "nodes", {})
        apis = CloudSite(aws.Provider("cloud", region="us-west-2"), aws_native.Provider("cloud", region="us-west-2"), "eks", ARN)
        site = Site(kubernetes.Provider("cluster"), apis if cloud else None, [nodes])
        governance_backend(resolved.backend)(resolved.clusters["main"], site)

    return record(program)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return declared(planned(tmp_path_factory.mktemp("managed"), TEAMS))


def test_everything_that_is_declared(run: Recording) -> None:
    """The whole list, so that nothing else is: no Kueue object, no namespace, no queue. AWS owns these."""
    custom = sorted((r.type, r.name) for r in run.registered if r.custom and "provider" not in r.type)
    rbac = "kubernetes:rbac.authorization.k8s.io/v1"
    assert custom == sorted(
        [
            ("test:index:Nodes", "nodes"),
            ("aws:eks/addon:Addon", ADDON),
            ("aws-native:index:ExtensionResource", SCHEDULER),
            *(("aws-native:sagemaker:ComputeQuota", f"main/{team}/quota") for team in TEAMS),
            ("aws:eks/accessEntry:AccessEntry", SHARED),
            ("aws:eks/accessEntry:AccessEntry", OWN),
            (f"{rbac}:ClusterRole", "main/access/member"),
            (f"{rbac}:ClusterRole", "main/access/reader"),
            (f"{rbac}:ClusterRoleBinding", "main/access/reader-binding"),
            *((f"{rbac}:RoleBinding", f"main/{team}/rolebinding") for team in TEAMS),
        ]
    )
    assert all(r.urn in run.finished for r in run.components())


def test_the_order(run: Recording) -> None:
    """Rows 11-15 of AWS's order: add-on after the nodes, configuration, quotas, access."""
    assert run.needs(ADDON) == {"nodes"}
    assert run.needs(SCHEDULER) == {ADDON}
    for team in TEAMS:
        assert {ADDON, SCHEDULER} <= run.needs(f"main/{team}/quota")
        assert f"main/{team}/quota" in run.needs(f"main/{team}/rolebinding")
    assert run.needs(SHARED) == {"main/works/quota", "main/waits/quota"}
    assert run.needs(OWN) == {"main/works/quota"}


def test_a_binding_is_the_last_and_the_first_to_go(run: Recording) -> None:
    """So a refused removal, which meets the protected binding first, takes neither quota nor access entry with it."""
    assert run.needs("main/works/rolebinding") == {"main/works/quota", "main/access/member", SHARED, OWN}
    assert run.needs("main/waits/rolebinding") == {"main/waits/quota", "main/access/member", SHARED}
    assert run.needs("main/leaves/rolebinding") == {"main/leaves/quota", "main/access/member"}
    bindings = {run.one(f"main/{team}/rolebinding").urn for team in TEAMS}
    assert not any(r.dependencies & bindings for r in run.registered)


def test_nothing_waits_for_a_component(run: Recording) -> None:
    components = {r.urn for r in run.components()}
    assert not any(r.dependencies & components for r in run.registered)


@pytest.mark.parametrize(("team", "protected"), [("works", True), ("waits", True), ("leaves", False)])
def test_a_team_is_protected_until_it_drains(run: Recording, team: str, protected: bool) -> None:
    assert run.one(f"main/{team}/quota").protect is protected
    assert run.one(f"main/{team}/rolebinding").protect is protected


def test_access_can_be_taken_away_at_any_time(run: Recording) -> None:
    assert not any(r.protect for r in run.of("AccessEntry"))


@pytest.mark.parametrize(("team", "state"), [("works", "Enabled"), ("waits", "Disabled"), ("leaves", "Disabled")])
def test_the_activation_state(run: Recording, team: str, state: str) -> None:
    assert run.one(f"main/{team}/quota").inputs["activationState"] == state


def test_the_add_on(run: Recording, tmp_path: Path) -> None:
    addon = run.one(ADDON)
    assert addon.inputs["addonName"] == "amazon-sagemaker-hyperpod-taskgovernance"
    assert addon.inputs["addonVersion"] == "v1.6.0-eksbuild.1"
    assert addon.inputs["clusterName"] == "eks"
    assert addon.inputs["resolveConflictsOnCreate"] == addon.inputs["resolveConflictsOnUpdate"] == "OVERWRITE"
    assert "configurationValues" not in addon.inputs
    assert addon.protect
    assert addon.timeouts
    assert not declared(planned(tmp_path, {})).one(ADDON).protect, "without teams nothing is lost with it"


def test_the_scheduler_configuration(run: Recording) -> None:
    config = run.one(SCHEDULER)
    assert config.inputs["type"] == "AWS::SageMaker::ClusterSchedulerConfig"
    assert config.inputs["properties"]["ClusterArn"] == ARN
    assert config.inputs["properties"]["SchedulerConfig"]["PriorityClasses"] == [{"Name": "train", "Weight": 70}]
    assert config.inputs["createOnly"] == ["Name", "ClusterArn"]
    assert {"properties.Name", "properties.ClusterArn", "#initerror"} <= set(config.replace_on_changes)
    assert config.delete_before_replace
    assert config.timeouts.keys() == {"create", "update", "delete"}


def test_quotas(run: Recording) -> None:
    quota = run.one("main/works/quota")
    assert quota.inputs["clusterArn"] == ARN
    assert quota.inputs["name"] == quota.inputs["computeQuotaTarget"]["teamName"] == "works"
    assert quota.inputs["computeQuotaConfig"]["computeQuotaResources"] == [{"instanceType": "ml.p5.48xlarge", "count": 1}]
    assert run.one("main/leaves/quota").inputs["computeQuotaConfig"]["computeQuotaResources"] == [
        {"instanceType": "ml.p5.48xlarge", "accelerators": 1, "vCpu": 24, "memoryInGiB": 256}
    ]
    for team in TEAMS:
        found = run.one(f"main/{team}/quota")
        assert "#initerror" in found.replace_on_changes, "one that failed to be created is made again"
        assert found.delete_before_replace, "its name and team are taken while the old one is there"
        assert found.timeouts.keys() == {"create", "update", "delete"}


def test_bindings_are_in_the_namespace_that_aws_makes(run: Recording) -> None:
    binding = run.one("main/waits/rolebinding").inputs
    assert binding["metadata"]["namespace"] == "hyperpod-ns-waits"
    assert binding["roleRef"]["name"] == run.one("main/access/member").inputs["metadata"]["name"]
    assert [subject["name"] for subject in binding["subjects"]] == ["hyperpod-ns-waits-namespace-level-group", "idp"]


def test_one_access_entry_for_a_role(run: Recording) -> None:
    groups = {r.inputs["principalArn"]: r.inputs["kubernetesGroups"] for r in run.of("AccessEntry")}
    assert groups == {
        f"{ROLE}/shared": ["hyperpod-ns-waits-namespace-level-group", "hyperpod-ns-works-namespace-level-group"],
        f"{ROLE}/ml/one": ["hyperpod-ns-works-namespace-level-group"],
    }
    assert all(r.inputs["type"] == "STANDARD" and r.inputs["clusterName"] == "eks" for r in run.of("AccessEntry"))
    assert not any("policy" in r.type.lower() for r in run.registered), "no access policy of EKS: groups alone give rights"


def test_an_entry_keeps_its_name_whoever_else_comes(run: Recording, tmp_path: Path) -> None:
    more = {**TEAMS, "aaa": f"quota: {{}}\naccess: {{iam_roles: ['{ROLE}/aaa', '{ROLE}/shared']}}"}
    names = {r.inputs["principalArn"]: r.name for r in declared(planned(tmp_path, more)).of("AccessEntry")}
    assert {r.inputs["principalArn"]: r.name for r in run.of("AccessEntry")}.items() <= names.items()
    assert len(set(names.values())) == 3


@pytest.mark.parametrize(
    ("arn", "name"),
    [
        (f"{ROLE}/a", "123456789012/a"),
        (f"{ROLE}/path/to/a", "123456789012/path/to/a"),
        ("arn:aws-cn:iam::210987654321:role/a", "210987654321/a"),
    ],
)
def test_names_of_entries(arn: str, name: str) -> None:
    assert role_name(arn) == name


def rules(run: Recording) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run.one("main/access/member").inputs["rules"]
    return found


def verbs(run: Recording, group: str, resource: str) -> set[str]:
    """What a member may do with it."""
    return {verb for r in rules(run) if group in r["apiGroups"] and resource in r["resources"] for verb in r["verbs"]}


@pytest.mark.parametrize(
    ("group", "resource"),
    [
        ("sagemaker.amazonaws.com", "hyperpodpytorchjobs"),
        ("jobset.x-k8s.io", "jobsets"),
        ("ray.io", "rayjobs"),
        ("ray.io", "rayclusters"),
        ("trainer.kubeflow.org", "trainjobs"),
        ("kubeflow.org", "pytorchjobs"),
        ("kubeflow.org", "mpijobs"),
        ("batch", "jobs"),
    ],
)
def test_members_run_every_kind_of_job(run: Recording, group: str, resource: str) -> None:
    assert {"create", "delete", "get", "list", "watch"} <= verbs(run, group, resource)


@pytest.mark.parametrize(
    ("group", "resource", "may"),
    [
        ("kueue.x-k8s.io", "localqueues", {"get", "list", "watch"}),
        ("kueue.x-k8s.io", "workloads", {"get", "list", "watch"}),
        ("visibility.kueue.x-k8s.io", "localqueues/pendingworkloads", {"get"}),
        ("", "secrets", set()),
        ("rbac.authorization.k8s.io", "roles", set()),
        ("rbac.authorization.k8s.io", "rolebindings", set()),
        ("kueue.x-k8s.io", "clusterqueues", set()),
    ],
)
def test_members_read_their_queues_and_no_secret(run: Recording, group: str, resource: str, may: set[str]) -> None:
    assert verbs(run, group, resource) == may


@pytest.mark.parametrize("name", ["main/access/member", "main/access/reader"])
def test_no_wildcard_in_any_rule(run: Recording, name: str) -> None:
    for rule in run.one(name).inputs["rules"]:
        assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
        assert "secrets" not in rule["resources"]
        assert not {"impersonate", "bind", "escalate"} & set(rule["verbs"])


def test_the_kueue_backend_declares_the_same_entries(tmp_path: Path) -> None:
    kueue = CLUSTER.replace("managed", "kueue").replace("    instance_groups", "    kueue: {install: false}\n    instance_groups")
    run = declared(planned(tmp_path, TEAMS, kueue))
    assert {r.name for r in run.of("AccessEntry")} == {SHARED, OWN}
    assert {SHARED, OWN} <= run.needs("main/works/rolebinding")
    assert not run.of("ComputeQuota")
    assert not run.of("Addon")


def test_no_entry_where_there_is_no_cloud(tmp_path: Path) -> None:
    kueue = CLUSTER.replace("managed", "kueue").replace("    instance_groups", "    kueue: {install: false}\n    instance_groups")
    run = declared(planned(tmp_path, TEAMS, kueue), cloud=False)
    assert not run.of("AccessEntry")
    assert not run.of("AccessEntries")
    assert run.has("main/works/rolebinding")


def test_the_managed_backend_needs_a_cloud(tmp_path: Path) -> None:
    with pytest.raises(pulumi.RunError, match="needs a HyperPod cluster"):
        declared(planned(tmp_path, TEAMS), cloud=False)


def main_of(root: Path, teams: Mapping[str, str]) -> ClusterPlan:
    return planned(root, teams).clusters["main"]


def test_roles_that_have_an_entry_already(tmp_path: Path) -> None:
    """An administrator's entry and HyperPod's own: a second one would be refused by EKS."""
    access = {
        "one": f"quota: {{}}\naccess: {{iam_roles: ['{ROLE}/admin', '{ROLE}/x']}}",
        "two": f"quota: {{}}\naccess: {{iam_roles: ['{ROLE}/admin']}}",
        "three": f"quota: {{}}\naccess: {{iam_roles: ['{ROLE}/sagemaker-nodes']}}",
    }
    found = main_of(tmp_path, access)
    assert conflicting_roles(found) == {f"{ROLE}/admin": ("one", "two"), f"{ROLE}/sagemaker-nodes": ("three",)}
    assert f"{ROLE}/x" in role_groups(found)


def test_roles_without_conflict(tmp_path: Path) -> None:
    assert conflicting_roles(main_of(tmp_path, TEAMS)) == {}


def update(**sides: Mapping[str, Any] | None) -> pulumi.ResourceHookArgs:
    return pulumi.ResourceHookArgs("urn", "id", ADDON, "aws:eks/addon:Addon", **sides)


def version(name: str) -> dict[str, Any]:
    return {"addonName": "x", "addonVersion": f"{name}-eksbuild.1"}


def test_the_guard_refuses_an_unsafe_update() -> None:
    with pytest.raises(pulumi.RunError, match=r"v1\.3\.0-eksbuild\.1 → v1\.5\.0"):
        refuse_unsafe_jump(update(old_inputs=version("v1.3.0"), old_outputs=version("v1.3.0"), new_inputs=version("v1.5.0")))


def test_the_guard_believes_what_is_installed() -> None:
    """Somebody has crossed the gap by hand, and a refresh has seen it."""
    refuse_unsafe_jump(update(old_inputs=version("v1.3.0"), old_outputs=version("v1.5.0"), new_inputs=version("v1.6.0")))


@pytest.mark.parametrize(
    "sides",
    [
        {"old_inputs": version("v1.5.0"), "new_inputs": version("v1.6.0")},
        {"old_inputs": version("v1.6.0"), "new_inputs": version("v1.6.0")},
        {"old_inputs": None, "new_inputs": version("v1.6.0")},
        {"old_inputs": version("v1.3.0"), "new_inputs": {"addonVersion": pulumi.output.Unknown()}},
        {},
    ],
)
def test_the_guard_lets_other_updates_pass(sides: dict[str, Any]) -> None:
    refuse_unsafe_jump(update(**sides))
