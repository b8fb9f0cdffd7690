"""The graph of resources that a whole environment registers: dependencies, protection, providers, names."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pulumi
import pytest
from recording import Recording, record, write_project

from components.base import PlatformComponent
from components.program import declare
from components.render import render
from config.load import Project
from governance.plan import plan

ENVIRONMENT = """
clusters:
  main:
    kind: existing
    kueue: {replicas: 2}
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 8}
      l4: {instance_type: ml.g6.12xlarge, count: 4}
      cpu: {instance_type: ml.m5.4xlarge, count: 2}
  edge:
    kind: existing
    context: edge-admin
    kueue: {install: false}
    instance_groups: {l4: {instance_type: ml.g6.12xlarge, count: 2}}
governance:
  priority_classes: {high: {weight: 90, description: Serving}, low: {weight: 10}}
  idle_sharing: true
  departments: {science: {weight: 3}, physics: {parent: science}}
"""
TEAMS = {
    "alpha": (
        "quota: {ml.p5.48xlarge: {instances: 2}, ml.g6.12xlarge: {accelerators: 2}}\n"
        "weight: 10\naccess: {groups: [people]}\nmax_run_time: 1d"
    ),
    "held": "quota: {ml.p5.48xlarge: {instances: 1}}\nweight: 5\nstate: held\ndepartment: physics\nclusters: [main]",
    "leaving": "quota: {ml.g6.12xlarge: {accelerators: 4}}\nweight: 5\nstate: draining\ndefault_queue: true\nclusters: [main]",
    "alone": "quota: {ml.p5.48xlarge: {accelerators: 4}}\nsharing: dont_lend\nclusters: [main]",
    "capped": "quota: {ml.m5.4xlarge: {vcpu: 8}}\nweight: 1\nmax_pods: 20\nclusters: [main]",
}
KUBECONFIG = "apiVersion: v1\nkind: Config\n"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_project(tmp_path_factory.mktemp("graph"), ENVIRONMENT, TEAMS)


@pytest.fixture(scope="module")
def run(root: Path) -> Recording:
    keys = ("kubeconfig-main", "kubeconfig-edge")
    return record(lambda: declare(root), config=dict.fromkeys(keys, KUBECONFIG), secrets=keys)


def test_registers_what_is_rendered_and_nothing_else(run: Recording, root: Path) -> None:
    wanted = plan(Project(root).load("test"))
    for name, cluster in wanted.clusters.items():
        declared = {_key(r.inputs): r.inputs for r in run.objects() if r.name.startswith(f"{name}/") and "chart" not in r.inputs}
        assert declared == {_key(o): o for o in render(cluster)}
    assert run.kinds() == {
        "kubernetes": 2,  # the providers
        "KueueRelease": 1,
        "Release": 1,
        "Foundation": 2,
        "SharedAccess": 2,
        "AdmissionRules": 2,
        "Team": 6,
        "WorkloadPriorityClass": 4,
        "Topology": 4,
        "ResourceFlavor": 5,
        "Cohort": 6,
        "ClusterRole": 4,
        "ClusterRoleBinding": 2,
        "ValidatingAdmissionPolicy": 6,
        "ValidatingAdmissionPolicyBinding": 6,
        "Namespace": 6,
        "ClusterQueue": 6,
        "LocalQueue": 7,
        "RoleBinding": 6,
    }


def _key(o: dict[str, Any]) -> tuple[str, str, str]:
    return (o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"])


def test_urns_are_unique(run: Recording) -> None:
    assert [urn for urn, count in Counter(r.urn for r in run.registered).items() if count > 1] == []


def test_urns_are_unique_where_joined_names_would_not_be(tmp_path: Path) -> None:
    clusters = "clusters:\n" + "".join(
        f"  {name}: {{kind: existing, kueue: {{install: false}}, instance_groups: {{}}}}\n" for name in ("a", "a-b")
    )
    root = write_project(tmp_path, clusters, {"b-c": "clusters: [a]", "c": "clusters: [a-b]", "rules": "", "access": ""})
    keys = ("kubeconfig-a", "kubeconfig-a-b")
    run = record(lambda: declare(root), config=dict.fromkeys(keys, KUBECONFIG), secrets=keys)
    assert len({r.urn for r in run.registered}) == len(run.registered)
    assert len(run.of("Team")) == 6


def test_types_are_those_of_the_plugin(run: Recording) -> None:
    assert {r.type for r in run.objects()} == {
        "kubernetes:core/v1:Namespace",
        "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",
        "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding",
        "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding",
        "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy",
        "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding",
        "kubernetes:helm.sh/v3:Release",
        *(
            f"kubernetes:kueue.x-k8s.io/v1beta2:{kind}"
            for kind in ("Topology", "ResourceFlavor", "Cohort", "WorkloadPriorityClass", "ClusterQueue", "LocalQueue")
        ),
    }
    tokens = {r.type for r in run.components()}
    assert tokens == {f"hyperpod:kueue:{c}" for c in ("KueueRelease", "Foundation", "SharedAccess", "AdmissionRules", "Team")}


# Providers ---------------------------------------------------------------------------------------------------------------------


def test_every_object_goes_through_its_own_clusters_provider(run: Recording) -> None:
    for r in run.objects():
        cluster = r.name.partition("/")[0]
        assert r.provider.endswith(f"pulumi:providers:kubernetes::{cluster}::{cluster}-id"), r.name
    for r in run.components():
        assert set(r.providers) == {"kubernetes"}
    for r in run.registered:
        assert r.type.startswith(("kubernetes:", "hyperpod:", "pulumi:providers:kubernetes"))


def test_providers_are_settled_and_their_kubeconfig_is_secret(run: Recording) -> None:
    providers = {r.name: r.inputs for r in run.registered if r.type == "pulumi:providers:kubernetes"}
    assert set(providers) == {"main", "edge"}
    for name, inputs in providers.items():
        assert inputs["clusterIdentifier"] == f"test/{name}"
        assert inputs["enableServerSideApply"] == "true"
        assert inputs["upsertExistingObjects"] == inputs["enablePatchForce"] == inputs["deleteUnreachable"] == "false"
        assert inputs["kubeconfig"]["value"] == KUBECONFIG  # the envelope of a secret
    assert providers["edge"]["context"] == "edge-admin"
    assert "context" not in providers["main"]


# Order -------------------------------------------------------------------------------------------------------------------------


def test_a_queue_needs_what_it_names(run: Recording) -> None:
    assert run.needs("main/alpha/clusterqueue") == {
        "main/kueue/release",
        "main/rules/hyperpod-flavor-guard-binding",
        "main/flavor/ml.p5.48xlarge",
        "main/flavor/ml.g6.12xlarge",
        "main/cohort/hyperpod",
    }
    assert "main/cohort/physics" in run.needs("main/held/clusterqueue")
    assert not [name for name in run.needs("main/alone/clusterqueue") if "/cohort/" in name]
    assert run.needs("edge/alpha/clusterqueue") == {
        "edge/rules/hyperpod-flavor-guard-binding",
        "edge/flavor/ml.p5.48xlarge",
        "edge/flavor/ml.g6.12xlarge",
        "edge/cohort/hyperpod",
    }


def test_the_order_below_the_queues(run: Recording) -> None:
    assert run.needs("main/flavor/ml.p5.48xlarge") == {"main/kueue/release", "main/topology/hyperpod-default"}
    assert run.needs("edge/flavor/ml.g6.12xlarge") == {"edge/topology/hostname-only"}
    assert run.needs("main/cohort/physics") == {"main/kueue/release", "main/cohort/science"}
    assert run.needs("main/cohort/hyperpod") == {
        "main/kueue/release",
        "main/flavor/ml.m5.4xlarge",
        "main/flavor/ml.g6.12xlarge",
        "main/flavor/ml.p5.48xlarge",
    }
    assert run.needs("main/topology/hyperpod-default") == run.needs("main/class/high-priority") == {"main/kueue/release"}
    assert run.needs("edge/topology/hostname-only") == set()


def test_the_order_above_the_queues(run: Recording) -> None:
    for queue in ("localqueue", "default-localqueue"):
        assert run.needs(f"main/leaving/{queue}") == {"main/leaving/namespace", "main/leaving/clusterqueue"}
    assert run.needs("main/leaving/rolebinding") == {
        "main/leaving/namespace",
        "main/leaving/localqueue",
        "main/leaving/default-localqueue",
        "main/access/member",
    }
    assert run.needs("main/alpha/namespace") == {"main/access/reader-binding"}
    rule = "main/rules/hyperpod-queue-label"
    assert run.needs(f"{rule}-binding") == {rule}


def test_only_bindings_of_members_are_leaves(run: Recording) -> None:
    """The engine finds out about protection when it comes to delete an object, leaves first: an unprotected one goes."""
    needed = {urn for r in run.registered for urn in r.dependencies}
    leaves = {r.name for r in run.objects() if r.urn not in needed}
    assert leaves == {r.name for r in run.of("RoleBinding")}
    assert {r.name for r in run.of("RoleBinding") if not r.protect} == {"main/leaving/rolebinding"}


def test_every_kueue_object_waits_for_kueue_where_it_is_installed(run: Recording) -> None:
    edges = {r.urn: r.dependencies for r in run.registered}

    def reaches(urn: str, goal: str) -> bool:
        return urn == goal or any(reaches(below, goal) for below in edges[urn])

    (release,) = run.of("Release")
    found = [r for r in run.objects() if "kueue" in r.type and r.name.startswith("main/")]
    assert len(found) == 2 + 2 + 3 + 3 + 5 + 6  # classes, topologies, flavors, cohorts, queues of both kinds
    assert [r.name for r in found if not reaches(r.urn, release.urn)] == []


def test_nothing_depends_on_a_component(run: Recording) -> None:
    """Such a dependency would mean all of its children, and cost as many."""
    components = {r.urn for r in run.components()}
    for r in run.registered:
        assert not r.dependencies & components, r.name


# Options -----------------------------------------------------------------------------------------------------------------------


def test_protection_follows_the_state(run: Recording) -> None:
    protected = {r.name for r in run.registered if r.protect}
    keep = [
        f"{c}/{t}" for c, t in (("main", "alpha"), ("edge", "alpha"), ("main", "held"), ("main", "alone"), ("main", "capped"))
    ]
    assert protected == {"main/kueue/release"} | {
        f"{team}/{kind}" for team in keep for kind in ("namespace", "clusterqueue", "rolebinding")
    }


def test_kueue_outlives_the_stack(run: Recording) -> None:
    (release,) = run.of("Release")
    assert [r.name for r in run.registered if r.retain_on_delete] == [release.name]
    assert release.inputs["version"] == "0.16.6"
    assert release.inputs["chart"] == "oci://registry.k8s.io/kueue/charts/kueue"
    assert (release.inputs["atomic"], release.inputs["skipAwait"], release.inputs["createNamespace"]) == (True, False, True)
    assert (release.inputs["name"], release.inputs["namespace"]) == ("kueue", "kueue-system")
    assert release.inputs["timeout"] == 600
    assert release.timeouts == {"create": "600s", "update": "600s", "delete": "600s"}
    assert "kind: Configuration" in release.inputs["values"]["managerConfig"]["controllerManagerConfigYaml"]


def test_only_active_queues_are_awaited(run: Recording) -> None:
    awaited = {r.name for r in run.objects() if "pulumi.com/waitFor" in r.inputs.get("metadata", {}).get("annotations", {})}
    assert awaited == {f"{team}/clusterqueue" for team in ("main/alpha", "edge/alpha", "main/alone", "main/capped")}
    for r in run.of("ClusterQueue"):
        assert r.timeouts == {"create": "5m", "update": "5m", "delete": "15m"}
    for kind in ("ResourceFlavor", "Topology", "Cohort", "Namespace"):
        assert all(r.timeouts == {"delete": "10m"} for r in run.of(kind))


def test_immutable_field_replaces_the_local_queue_and_nothing_else(run: Recording) -> None:
    for r in run.registered:
        local = r.kind == "LocalQueue"
        assert r.replace_on_changes == (("spec.clusterQueue",) if local else ())
        assert r.delete_before_replace is local
        assert r.ignore_changes == ()


def test_every_component_is_completed_once(run: Recording) -> None:
    finished = [urn for urn in run.finished if "pulumi:pulumi:Stack::" not in urn]
    assert sorted(finished) == sorted(r.urn for r in run.components())


def test_children_stand_below_their_component_and_carry_its_name(run: Recording) -> None:
    by_urn = {r.urn: r for r in run.components()}
    for r in run.objects():
        parent = by_urn[r.parent]
        assert r.name.startswith(f"{parent.name}/")
        assert r.aliases == ()
    for component in run.components():
        assert component.parent.endswith("::pulumi:pulumi:Stack::hyperpod-platform-test")


def test_outputs_are_registered_last(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request itself goes out when it can; what counts is that no child is made after the call."""
    children: dict[PlatformComponent, int] = {}

    def register(component: PlatformComponent, outputs: dict[str, Any]) -> None:
        assert component not in children
        children[component] = len(component._childResources)

    monkeypatch.setattr(PlatformComponent, "register_outputs", register)
    keys = ("kubeconfig-main", "kubeconfig-edge")
    run = record(lambda: declare(root), config=dict.fromkeys(keys, KUBECONFIG), secrets=keys)
    assert len(children) == len(run.components())
    assert sum(children.values()) == len(run.objects())
    assert all(count == len(component._childResources) for component, count in children.items())


def test_components_show_the_team_in_the_state(run: Recording) -> None:
    assert run.one("main/held").inputs == {
        "cluster": "main",
        "team": "held",
        "state": "held",
        "namespace": "hyperpod-ns-held",
    }
    assert run.one("main/kueue").inputs == {"cluster": "main", "version": "0.16.6"}


def test_states_of_teams_are_exported(run: Recording) -> None:
    states = {"alpha": "active", "held": "held", "leaving": "draining", "alone": "active", "capped": "active"}
    assert run.outputs["team_states"] == states
    contracts = {(contract["cluster"], contract["team"]) for contract in run.outputs["teams"]}
    assert contracts == {("edge", "alpha"), *(("main", team) for team in TEAMS)}


def test_a_preview_registers_the_same(root: Path, run: Recording) -> None:
    keys = ("kubeconfig-main", "kubeconfig-edge")
    preview = record(lambda: declare(root), config=dict.fromkeys(keys, KUBECONFIG), secrets=keys, preview=True)
    assert {(r.urn, str(r.inputs)) for r in preview.objects()} == {(r.urn, str(r.inputs)) for r in run.objects()}
    assert pulumi.runtime.is_dry_run()
