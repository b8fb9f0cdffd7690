"""Manifests: what is rendered for a plan, and what never is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from recording import write_project

from components.governance.kueue.manifests import access, admission, chart, cluster, team
from components.render import render
from config.findings import has_errors
from config.load import Project
from governance.model import ClusterPlan
from governance.plan import plan

ROOT = Path(__file__).parents[2]

WORKED_EXAMPLE = """
apiVersion: v1
kind: Namespace
metadata:
  name: hyperpod-ns-research
  labels:
    sagemaker.amazonaws.com/sagemaker-managed-queue: "true"
    sagemaker.amazonaws.com/quota-allocation-id: research
    hyperpod-platform/team: research
    hyperpod-platform/state: active
  annotations: {hyperpod-platform/queue: hyperpod-ns-research-localqueue}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: ml.p5.48xlarge}
spec:
  nodeLabels: {node.kubernetes.io/instance-type: ml.p5.48xlarge}
  topologyName: hyperpod-default
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: hyperpod-default}
spec:
  levels:
  - {nodeLabel: topology.k8s.aws/network-node-layer-1}
  - {nodeLabel: topology.k8s.aws/network-node-layer-2}
  - {nodeLabel: topology.k8s.aws/network-node-layer-3}
  - {nodeLabel: kubernetes.io/hostname}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: hyperpod}
spec: {}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: training-priority}
value: 80
description: training
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: hyperpod-ns-research-clusterqueue
  labels: {hyperpod-platform/team: research}
  annotations: {pulumi.com/waitFor: condition=Active}
spec:
  cohortName: hyperpod
  queueingStrategy: BestEffortFIFO
  stopPolicy: None
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: hyperpod-ns-research}}
  flavorFungibility: {whenCanBorrow: MayStopSearch, whenCanPreempt: TryNextFlavor}
  preemption:
    withinClusterQueue: LowerPriority
    reclaimWithinCohort: Any
    borrowWithinCohort: {policy: Never}
  fairSharing: {weight: "10"}
  resourceGroups:
  - coveredResources: [cpu, memory, nvidia.com/gpu, aws.amazon.com/neurondevice, vpc.amazonaws.com/efa]
    flavors:
    - name: ml.p5.48xlarge
      resources:
      - {name: cpu, nominalQuota: "384", borrowingLimit: "192"}
      - {name: memory, nominalQuota: 4Ti, borrowingLimit: 2Ti}
      - {name: nvidia.com/gpu, nominalQuota: "16", borrowingLimit: "8"}
      - {name: aws.amazon.com/neurondevice, nominalQuota: "0", borrowingLimit: "0"}
      - {name: vpc.amazonaws.com/efa, nominalQuota: "64", borrowingLimit: "32"}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata:
  name: hyperpod-ns-research-localqueue
  namespace: hyperpod-ns-research
  labels: {hyperpod-platform/team: research}
spec: {clusterQueue: hyperpod-ns-research-clusterqueue, stopPolicy: None}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: hyperpod-team-member
  namespace: hyperpod-ns-research
  labels: {hyperpod-platform/team: research}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: hyperpod-team-member}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: hyperpod-ns-research-namespace-level-group}
"""


def planned(root: Path, environment: str, teams: dict[str, str]) -> ClusterPlan:
    """The plan of the only cluster, `main`."""
    found = plan(Project(write_project(root, environment, teams)).load("test"))
    assert not has_errors(found.findings)
    return found.clusters["main"]


def environment(groups: str, governance: str = "{}") -> str:
    return f"clusters: {{main: {{kind: existing, instance_groups: {groups}}}}}\ngovernance: {governance}\n"


def rendered(root: Path, environment_: str, teams: dict[str, str]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(o["kind"], o["metadata"]["name"]): o for o in render(planned(root, environment_, teams))}


P5 = "{h100: {instance_type: ml.p5.48xlarge, count: 4}}"


@pytest.fixture(scope="module")
def local() -> list[dict[str, Any]]:
    """The project's own sandbox environment."""
    (only,) = plan(Project(ROOT).load("local")).clusters.values()
    return render(only)


def test_worked_example(tmp_path: Path) -> None:
    governance = "{priority_classes: {training: {weight: 80, description: training}}}"
    teams = {"research": "quota: {ml.p5.48xlarge: {instances: 2}}\nweight: 10"}
    found = rendered(tmp_path, environment(P5, governance), teams)
    for expected in yaml.safe_load_all(WORKED_EXAMPLE):
        assert found.pop((expected["kind"], expected["metadata"]["name"])) == expected
    assert {kind for kind, _ in found} == {
        "ClusterRole",
        "ClusterRoleBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }


def test_objects_are_plain_json(local: list[dict[str, Any]]) -> None:
    assert json.loads(json.dumps(local)) == local


def test_one_version_of_kueue_and_no_secret(local: list[dict[str, Any]]) -> None:
    versions = {o["apiVersion"] for o in local}
    assert {v for v in versions if "kueue" in v} == {"kueue.x-k8s.io/v1beta2"}
    assert not [v for v in versions if "alpha" in v or "v1beta1" in v]
    assert not [o for o in local if o["kind"] == "Secret"]


def test_objects_are_distinct_and_follow_what_they_name(local: list[dict[str, Any]]) -> None:
    keys = [(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for o in local]
    assert len(set(keys)) == len(keys)
    seen: set[tuple[str, str]] = set()
    for o in local:
        for needed in _named_by(o):
            assert needed in seen, f"{o['kind']} {o['metadata']['name']} comes before {needed}"
        seen.add((o["kind"], o["metadata"]["name"]))


def _named_by(o: dict[str, Any]) -> list[tuple[str, str]]:
    spec, needed = o.get("spec", {}), []
    if "namespace" in o["metadata"]:
        needed.append(("Namespace", o["metadata"]["namespace"]))
    needed += [("Topology", spec["topologyName"])] if "topologyName" in spec else []
    needed += [("Cohort", spec[field]) for field in ("cohortName", "parentName") if field in spec]
    needed += [("ClusterQueue", spec["clusterQueue"])] if "clusterQueue" in spec else []
    needed += [("ValidatingAdmissionPolicy", spec["policyName"])] if "policyName" in spec else []
    needed += [(o["roleRef"]["kind"], o["roleRef"]["name"])] if "roleRef" in o else []
    needed += [("ResourceFlavor", f["name"]) for group in spec.get("resourceGroups", ()) for f in group["flavors"]]
    return needed


def test_a_team_costs_four_objects(local: list[dict[str, Any]], tmp_path: Path) -> None:
    mine = [o["kind"] for o in local if "hyperpod-ns-nlp" in (o["metadata"].get("namespace"), o["metadata"]["name"])]
    mine += [o["kind"] for o in local if o["metadata"]["name"] == "hyperpod-ns-nlp-clusterqueue"]
    assert sorted(mine) == ["ClusterQueue", "LocalQueue", "Namespace", "RoleBinding"]
    one = len(render(planned(tmp_path / "1", environment(P5), {"a": "weight: 1"})))
    two = len(render(planned(tmp_path / "2", environment(P5), {"a": "weight: 1", "b": "weight: 1"})))
    assert two - one == 4


def test_resources_stand_in_covered_order_for_every_flavor(tmp_path: Path) -> None:
    groups = "{h100: {instance_type: ml.p5.48xlarge, count: 4}, cpu: {instance_type: ml.m5.4xlarge, count: 2}}"
    teams = {"capped": "quota: {ml.p5.48xlarge: {accelerators: 4}, ml.m5.4xlarge: {vcpu: 8}}\nmax_pods: 30"}
    (group,) = rendered(tmp_path, environment(groups), teams)["ClusterQueue", "hyperpod-ns-capped-clusterqueue"]["spec"][
        "resourceGroups"
    ]
    assert group["coveredResources"][-1] == "pods"
    assert [f["name"] for f in group["flavors"]] == ["ml.m5.4xlarge", "ml.p5.48xlarge"]  # CPU types first
    for flavor in group["flavors"]:
        assert [r["name"] for r in flavor["resources"]] == group["coveredResources"]
        assert flavor["resources"][-1] == {"name": "pods", "nominalQuota": "30", "borrowingLimit": "0", "lendingLimit": "0"}


def test_a_team_that_does_not_lend_has_no_cohort_and_no_limits(tmp_path: Path) -> None:
    teams = {"alone": "quota: {ml.p5.48xlarge: {instances: 1}}\nsharing: dont_lend"}
    spec = rendered(tmp_path, environment(P5), teams)["ClusterQueue", "hyperpod-ns-alone-clusterqueue"]["spec"]
    assert "cohortName" not in spec
    assert spec["preemption"]["reclaimWithinCohort"] == "Never"
    assert spec["preemption"]["borrowWithinCohort"] == {"policy": "Never"}
    cells = [cell for flavor in spec["resourceGroups"][0]["flavors"] for cell in flavor["resources"]]
    assert all(set(cell) == {"name", "nominalQuota"} for cell in cells)


def test_lending_limit(tmp_path: Path) -> None:
    teams = {"keeps": "quota: {ml.p5.48xlarge: {accelerators: 8}}\nsharing: {strategy: lend, lend_limit: 25}"}
    spec = rendered(tmp_path, environment(P5), teams)["ClusterQueue", "hyperpod-ns-keeps-clusterqueue"]["spec"]
    gpu = spec["resourceGroups"][0]["flavors"][0]["resources"][2]
    assert gpu == {"name": "nvidia.com/gpu", "nominalQuota": "8", "borrowingLimit": "0", "lendingLimit": "2"}


def test_a_team_without_quota_has_a_queue_without_groups(tmp_path: Path) -> None:
    spec = rendered(tmp_path, environment(P5), {"guest": "weight: 1"})["ClusterQueue", "hyperpod-ns-guest-clusterqueue"]["spec"]
    assert "resourceGroups" not in spec


@pytest.mark.parametrize(
    ("state", "policy", "awaited"), [("active", "None", True), ("held", "Hold", False), ("draining", "HoldAndDrain", False)]
)
def test_state(tmp_path: Path, state: str, policy: str, awaited: bool) -> None:
    queue = rendered(tmp_path, environment(P5), {"a": f"state: {state}"})["ClusterQueue", "hyperpod-ns-a-clusterqueue"]
    assert queue["spec"]["stopPolicy"] == policy
    assert queue["metadata"].get("annotations", {}) == ({"pulumi.com/waitFor": "condition=Active"} if awaited else {})


def test_idle_pool_and_departments(tmp_path: Path) -> None:
    governance = "{idle_sharing: true, departments: {science: {weight: 3}, physics: {parent: science}}}"
    teams = {"a": "quota: {ml.p5.48xlarge: {accelerators: 8}}\ndepartment: physics"}
    found = rendered(tmp_path, environment(P5, governance), teams)
    root = found["Cohort", "hyperpod"]["spec"]
    assert set(root) == {"resourceGroups"}
    (group,) = root["resourceGroups"]
    pool = {cell["name"]: cell for cell in group["flavors"][0]["resources"]}
    assert pool["nvidia.com/gpu"] == {"name": "nvidia.com/gpu", "nominalQuota": "24"}
    assert found["Cohort", "science"]["spec"] == {"parentName": "hyperpod", "fairSharing": {"weight": "3"}}
    assert found["Cohort", "physics"]["spec"] == {"parentName": "science", "fairSharing": {"weight": "1"}}
    assert found["ClusterQueue", "hyperpod-ns-a-clusterqueue"]["spec"]["cohortName"] == "physics"


def test_flavor_tolerates_its_nodes_taints(tmp_path: Path) -> None:
    groups = "{h100: {instance_type: ml.p5.48xlarge, count: 1, taints: [{key: gpu, value: 'yes', effect: NoSchedule}]}}"
    found = rendered(tmp_path, environment(groups), {})
    ((_, name),) = [key for key in found if key[0] == "ResourceFlavor"]
    assert name.startswith("ml.p5.48xlarge-")  # another spec, another name
    assert found["ResourceFlavor", name]["spec"]["tolerations"] == [
        {"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}
    ]


def test_without_topology_flavors_name_none(tmp_path: Path) -> None:
    found = rendered(tmp_path, environment(P5, "{topology: {enabled: false}}"), {})
    assert not [key for key in found if key[0] == "Topology"]
    assert all("topologyName" not in o["spec"] for (kind, _), o in found.items() if kind == "ResourceFlavor")


def test_default_queue_own_names_and_run_time(tmp_path: Path) -> None:
    text = "default_queue: true\nmax_run_time: 1h\nnames: {namespace: old, cluster_queue: old.queue, local_queue: lq}"
    found = rendered(tmp_path, environment(P5), {"a": text})
    namespace = found["Namespace", "old"]
    assert namespace["metadata"]["annotations"] == {
        "hyperpod-platform/queue": "lq",
        "hyperpod-platform/max-run-time-seconds": "3600",
    }
    for name in ("lq", "default"):
        assert found["LocalQueue", name]["spec"]["clusterQueue"] == "old.queue"
        assert found["LocalQueue", name]["metadata"]["namespace"] == "old"
    selector = found["ClusterQueue", "old.queue"]["spec"]["namespaceSelector"]
    assert selector == {"matchLabels": {"kubernetes.io/metadata.name": "old"}}


def test_priority_class_without_description(tmp_path: Path) -> None:
    found = rendered(tmp_path, environment(P5, "{priority_classes: {low: {weight: -5}}}"), {})
    assert found["WorkloadPriorityClass", "low-priority"] == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": "low-priority"},
        "value": -5,
    }


# Access ------------------------------------------------------------------------------------------------------------------------

CHANGE = {"create", "update", "patch", "delete", "deletecollection"}


def granted(role: dict[str, Any]) -> dict[tuple[str, str], set[str]]:
    """Verbs by API group and resource."""
    found: dict[tuple[str, str], set[str]] = {}
    for rule in role["rules"]:
        assert set(rule) == {"apiGroups", "resources", "verbs"}
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                found.setdefault((group, resource), set()).update(rule["verbs"])
    return found


@pytest.mark.parametrize("role", [access.member_role(), access.reader_role()])
def test_no_wildcard_and_no_way_up(role: dict[str, Any]) -> None:
    for (group, resource), verbs in granted(role).items():
        assert "*" not in group + resource
        assert not verbs & {"*", "escalate", "bind", "impersonate"}
        assert "secret" not in resource
        assert group not in ("rbac.authorization.k8s.io", "admissionregistration.k8s.io")


def test_members_run_jobs_and_only_watch_queues() -> None:
    may = granted(access.member_role())
    for job in (
        ("batch", "jobs"),
        ("apps", "deployments"),
        ("kubeflow.org", "pytorchjobs"),
        ("ray.io", "rayjobs"),
        ("jobset.x-k8s.io", "jobsets"),
        ("trainer.kubeflow.org", "trainjobs"),
        ("sagemaker.amazonaws.com", "hyperpodpytorchjobs"),
        ("workspace.jupyter.org", "workspaces"),
    ):
        assert may[job] >= {"create", "get", "list", "watch", "delete", "patch", "update"}, job
    assert may["", "pods"] & {"patch", "update"} == set()  # the scheduling gate is Kueue's
    assert may["kueue.x-k8s.io", "workloads"] == may["kueue.x-k8s.io", "localqueues"] == {"get", "list", "watch"}
    assert may["visibility.kueue.x-k8s.io", "localqueues/pendingworkloads"] == {"get"}
    assert may["", "serviceaccounts"] == {"get", "list"}
    assert may["", "persistentvolumeclaims"] == {"get", "list", "watch"}


def test_readers_change_nothing() -> None:
    may = granted(access.reader_role())
    assert not any(verbs & CHANGE for verbs in may.values())
    kinds = {resource for group, resource in may if group == "kueue.x-k8s.io"}
    assert kinds == {"clusterqueues", "cohorts", "resourceflavors", "topologies", "workloadpriorityclasses"}


def test_one_binding_of_readers_for_all_teams(tmp_path: Path) -> None:
    teams = {"a": "access: {groups: [shared, extra]}", "b": "access: {groups: [shared]}"}
    binding = access.reader_binding(planned(tmp_path, environment(P5), teams))
    assert binding is not None
    assert [s["name"] for s in binding["subjects"]] == [
        "extra",
        "hyperpod-ns-a-namespace-level-group",
        "hyperpod-ns-b-namespace-level-group",
        "shared",
    ]
    assert access.reader_binding(planned(tmp_path / "none", environment(P5), {})) is None


def test_team_groups_are_its_members(tmp_path: Path) -> None:
    only = planned(tmp_path, environment(P5), {"a": "access: {groups: [people]}"}).teams["a"]
    binding = team.role_binding(only)
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": access.MEMBER}
    assert [s["name"] for s in binding["subjects"]] == ["hyperpod-ns-a-namespace-level-group", "people"]
    assert {s["kind"] for s in binding["subjects"]} == {"Group"}


# Admission ---------------------------------------------------------------------------------------------------------------------


def rule_names(cluster_plan: ClusterPlan) -> list[str]:
    found = admission.rules(cluster_plan)
    assert all(b["spec"] == {"policyName": p["metadata"]["name"], "validationActions": ["Deny"]} for p, b in found)
    return [policy["metadata"]["name"] for policy, _ in found]


def test_rules_are_declared_where_they_are_wanted(tmp_path: Path) -> None:
    plain = planned(tmp_path / "1", environment(P5), {"a": "weight: 1"})
    assert rule_names(plain) == ["hyperpod-flavor-guard", "hyperpod-queue-label"]
    lax = planned(tmp_path / "2", environment(P5, "{enforce_queue_label: false}"), {"a": "weight: 1"})
    assert rule_names(lax) == ["hyperpod-flavor-guard"]
    timed = planned(tmp_path / "3", environment(P5), {"a": "max_run_time: 2h"})
    assert rule_names(timed) == ["hyperpod-flavor-guard", "hyperpod-queue-label", "hyperpod-max-run-time"]


@pytest.mark.parametrize("policy", [admission.queue_label_rule(), admission.max_run_time_rule(), admission.flavor_guard()])
def test_rules_fail_closed(policy: dict[str, Any]) -> None:
    assert policy["spec"]["failurePolicy"] == "Fail"
    for rule in policy["spec"]["matchConstraints"]["resourceRules"]:
        assert "*" not in rule["apiGroups"] + rule["resources"] + rule["operations"]


@pytest.mark.parametrize("policy", [admission.queue_label_rule(), admission.max_run_time_rule()])
def test_rules_on_work_concern_team_namespaces_only(policy: dict[str, Any]) -> None:
    assert policy["spec"]["matchConstraints"]["namespaceSelector"] == {
        "matchLabels": {"sagemaker.amazonaws.com/sagemaker-managed-queue": "true"},
        "matchExpressions": [{"key": "hyperpod-platform/team", "operator": "Exists"}],
    }


def matched(policy: dict[str, Any]) -> set[tuple[str, str]]:
    rules = policy["spec"]["matchConstraints"]["resourceRules"]
    return {(group, resource) for rule in rules for group in rule["apiGroups"] for resource in rule["resources"]}


def test_whatever_a_member_may_start_needs_the_label() -> None:
    rules = matched(admission.queue_label_rule())
    startable = {
        cell
        for cell, verbs in granted(access.member_role()).items()
        if "create" in verbs and "/" not in cell[1] and cell[1] not in ("configmaps", "services")
    }
    assert startable <= rules
    # What ends, ends in time; what serves has no end.
    assert rules - matched(admission.max_run_time_rule()) == {
        ("apps", "daemonsets"),
        ("apps", "deployments"),
        ("apps", "replicasets"),
        ("apps", "statefulsets"),
        ("leaderworkerset.x-k8s.io", "leaderworkersets"),
        ("ray.io", "rayservices"),
        ("workspace.jupyter.org", "workspaces"),
    }


def test_the_guard_looks_at_queues_that_change() -> None:
    (rule,) = admission.flavor_guard()["spec"]["matchConstraints"]["resourceRules"]
    assert (rule["apiGroups"], rule["resources"], rule["operations"]) == (["kueue.x-k8s.io"], ["clusterqueues"], ["UPDATE"])


# Chart -------------------------------------------------------------------------------------------------------------------------


def test_chart_values(tmp_path: Path) -> None:
    text = environment(P5).replace("kind: existing,", "kind: existing, kueue: {replicas: 2},")
    only = planned(tmp_path, text, {})
    values = chart.values(only)
    assert values["controllerManager"]["replicas"] == 2
    assert values["controllerManager"]["podDisruptionBudget"]["enabled"] is True
    assert yaml.safe_load(values["managerConfig"]["controllerManagerConfigYaml"]) == only.manager
    single = chart.values(planned(tmp_path / "one", environment(P5), {}))
    assert single["controllerManager"]["podDisruptionBudget"]["enabled"] is False


def test_rendering_imports_no_pulumi() -> None:
    code = (
        "import sys; from pathlib import Path; from config.load import Project; from governance.plan import plan; "
        "from components.render import render; p = plan(Project(Path('.')).load('local')); "
        "assert render(p.clusters['local']); "
        "assert not {'pulumi', 'pulumi_kubernetes', 'grpc', 'kubernetes'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_cohort_without_parent_has_no_weight(tmp_path: Path) -> None:
    only = planned(tmp_path, environment(P5), {})
    assert cluster.cohort(only.cohorts[0], only.covered)["spec"] == {}
