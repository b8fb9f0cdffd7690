"""Teams on several clusters, and a manager that hands jobs to workers: numbers, names, and what is found wrong."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from declarations import cluster, findings, planned, team
from hypothesis import given
from hypothesis import strategies as st

from governance.contract import job_contracts
from governance.model import ClusterPlan, Plan, TeamPlan
from governance.multikueue import check_name
from governance.nodes import nodes
from governance.units import GPU, PODS

P5 = "ml.p5.48xlarge"
QUOTA = f"quota: {{{P5}: {{accelerators: 8}}}}\n"


def fleet(policy: str = "manager: hub, workers: [east, west]", hub: str = "{}", west: str = "", more: str = "") -> str:
    """Three clusters: a hub, and two with nodes."""
    return f"""\
apiVersion: hyperpod-platform/v1
clusters:
  hub: {{kind: existing, instance_groups: {hub}}}
  east: {{kind: existing, instance_groups: {{h100: {{instance_type: {P5}, count: 2}}}}}}
  west: {{kind: existing, instance_groups: {{h100: {{instance_type: {P5}, count: 4}}}}{west}}}
governance:
  multi_kueue: {{{policy}}}
{more}"""


def gpus(found: TeamPlan) -> int:
    return found.flavors[0].nominal()[GPU]


def by_cluster(plan: Plan, name: str) -> Mapping[str, int]:
    return {found.name: gpus(found.teams[name]) for found in plan.clusters.values() if name in found.teams}


def test_a_quota_of_one_cluster_stands_in_place_of_the_quota() -> None:
    text = QUOTA + f"cluster_quota: {{west: {{{P5}: {{accelerators: 16}}}}}}\n"
    plan = planned({"alpha": team(text)}, fleet().split("governance:")[0])
    assert by_cluster(plan, "alpha") == {"hub": 8, "east": 8, "west": 16}


def test_a_quota_of_one_cluster_replaces_all_entries() -> None:
    text = f"quota: {{p5: {{accelerators: 4}}}}\ncluster_quota: {{west: {{{P5}: {{accelerators: 3}}}}}}\nclusters: [east, west]\n"
    assert by_cluster(planned({"alpha": team(text)}, fleet().split("governance:")[0]), "alpha") == {"east": 4, "west": 3}


def test_extra_quota_comes_on_top_on_every_cluster() -> None:
    extra = f"extra_quota: {{paper: {{quota: {{{P5}: {{accelerators: 1}}}}, until: 2999-01-01, reason: a paper is due}}}}\n"
    text = QUOTA + extra + f"cluster_quota: {{west: {{{P5}: {{accelerators: 2}}}}}}\nclusters: [east, west]\n"
    assert by_cluster(planned({"alpha": team(text)}, fleet().split("governance:")[0]), "alpha") == {"east": 9, "west": 3}


@given(st.integers(0, 16), st.integers(0, 32), st.booleans(), st.integers(1, 9))
def test_a_manager_has_the_sum_of_its_workers(east: int, west: int, both: bool, pods: int) -> None:
    quotas = {"east": east, "west": west} if both else {"west": west}
    entries = ", ".join(f"{name}: {{{P5}: {{accelerators: {amount}}}}}" for name, amount in quotas.items())
    text = f"cluster_quota: {{{entries}}}\nmax_pods: {pods}\nclusters: [{', '.join(quotas)}]\n"
    plan = planned({"alpha": team(text)}, fleet())
    hub = plan.clusters["hub"].teams["alpha"]
    own = [plan.clusters[name].teams["alpha"] for name in quotas]
    for resource in hub.flavors[0].nominal():
        assert hub.flavors[0].nominal()[resource] == sum(one.flavors[0].nominal()[resource] for one in own)
    assert hub.flavors[0].nominal()[PODS] == pods * len(own)
    for cell, largest in hub.largest.items():
        assert largest == max(one.largest[cell] for one in own), "a job runs on one worker"


def test_a_manager_has_its_workers_capacity_and_its_own_nodes() -> None:
    plan = planned({"alpha": team(QUOTA)}, fleet(hub="{cpu: {instance_type: ml.m5.4xlarge, count: 3}}"))
    hub = plan.clusters["hub"]
    assert hub.capacity[P5][GPU] == 48
    assert set(hub.capacity) == set(hub.kinds) == {P5}, "nothing of a team runs on its own"
    assert {node.name for node in nodes(hub)} == {"cpu-000", "cpu-001", "cpu-002"}


def test_names_are_the_same_everywhere() -> None:
    plan = planned({"alpha": team(QUOTA)}, fleet(more="  priority_classes: {high: {weight: 90}}\n"))
    for attribute in ("namespace", "local_queue", "cluster_queue"):
        assert len({getattr(found.teams["alpha"], attribute) for found in plan.clusters.values()}) == 1
    assert len({tuple(one.name for one in found.priority_classes) for found in plan.clusters.values()}) == 1
    flavors = [found.flavors[P5] for found in plan.clusters.values()]
    assert flavors == [flavors[0]] * 3


def test_a_check_for_each_set_of_workers() -> None:
    plan = planned({"alpha": team(QUOTA), "beta": team(QUOTA + "clusters: [west]\n")}, fleet())
    dispatch = plan.clusters["hub"].dispatch
    assert dispatch is not None
    assert [check.workers for check in dispatch.checks] == [("east", "west"), ("west",)]
    assert dispatch.checks[0].name == "multikueue"
    assert {name: found.admission_check for name, found in plan.clusters["hub"].teams.items()} == dispatch.teams
    assert dispatch.workers_of("beta") == ("west",)
    assert [found.admission_check for name in ("east", "west") for found in plan.clusters[name].teams.values()] == [None] * 3
    assert [found.manager_cluster for found in plan.clusters.values()] == ["hub", None, "hub"]


def test_names_of_checks_tell_sets_apart() -> None:
    workers = ("a", "b", "a-b", "c")
    sets = [("a",), ("b",), ("a-b",), ("a", "b"), ("b", "c"), workers]
    assert len({check_name(one, workers) for one in sets}) == len(sets)
    assert check_name(("b", "a"), workers) == check_name(("a", "b"), workers)
    assert all(len(check_name(one, workers)) <= 63 for one in sets)


def test_the_managers_configuration() -> None:
    policy = "manager: hub, workers: [west], dispatcher: incremental, gc_interval: 2m, worker_lost_timeout: 1h, origin: ours"
    plan = planned({}, fleet(f"{policy}, frameworks: [batch/job, jobset.x-k8s.io/jobset]", more="  gang: {}\n"))
    hub = plan.clusters["hub"].manager
    assert hub["multiKueue"] == {
        "gcInterval": "120s",
        "origin": "ours",
        "workerLostTimeout": "3600s",
        "dispatcherName": "kueue.x-k8s.io/multikueue-dispatcher-incremental",
    }
    assert hub["integrations"] == {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset"]}
    assert "waitForPodsReady" not in hub, "the pods are the worker's"
    for name in ("east", "west"):
        assert "multiKueue" not in plan.clusters[name].manager
        assert "waitForPodsReady" in plan.clusters[name].manager
    assert plan.clusters["east"].manager_cluster is None, "neither manager nor worker"


def test_managers_of_two_environments_keep_apart() -> None:
    dispatch = planned({}, fleet()).clusters["hub"].dispatch
    assert dispatch is not None
    assert dispatch.origin == "dev"


def test_contracts_say_where_jobs_run() -> None:
    plan = planned({"alpha": team(QUOTA), "beta": team(QUOTA + "clusters: [west]\n")}, fleet())
    found = {(one["cluster"], one["team"]): one["runs_on"] for one in job_contracts(plan)}
    assert found == {
        ("east", "alpha"): ["east"],
        ("hub", "alpha"): ["east", "west"],
        ("hub", "beta"): ["west"],
        ("west", "alpha"): ["west"],
        ("west", "beta"): ["west"],
    }


def test_without_it_nothing_is_said_of_it() -> None:
    found: ClusterPlan = cluster({"alpha": team(QUOTA)})
    assert (found.dispatch, found.manager_cluster, found.teams["alpha"].admission_check) == (None, None, None)
    assert "multiKueue" not in found.manager


def test_a_manager_repeats_no_finding_of_its_workers() -> None:
    over = team(f"quota: {{{P5}: {{instances: 5}}}}\n")
    assert [f.where.line for f in findings({"alpha": over}, fleet()) if f.id == "overcommit"] == [4, 5]


@pytest.mark.parametrize(
    ("policy", "id_", "line"),
    [
        ("manager: hup, workers: [east]", "cluster-unknown", 7),
        ("manager: hub, workers: [east, wets]", "cluster-unknown", 7),
        ("manager: hub, workers: [east, hub]", "multikueue-manager-worker", 7),
        ("manager: hub, workers: [east], frameworks: [deployment]", "framework-not-dispatched", 7),
        ("manager: hub, workers: []", "too-short", 7),
    ],
)
def test_what_can_not_be(policy: str, id_: str, line: int) -> None:
    found = [f for f in findings({"alpha": team(QUOTA)}, fleet(policy)) if f.id == id_]
    assert [f.where.line for f in found] == [line]
    assert found[0].remedy


def test_the_worker_that_does_not_queue_what_it_gets() -> None:
    found = findings({}, fleet(west=", kueue: {frameworks: [pod]}"))
    assert [(f.id, f.where.line) for f in found if f.id.startswith("multikueue")] == [("multikueue-worker-frameworks", 5)]


def test_teams_are_placed_on_workers() -> None:
    text = QUOTA + f"clusters: [hub, east]\ncluster_quota: {{hub: {{{P5}: {{accelerators: 1}}}}}}\n"
    found = [f for f in findings({"alpha": team(text)}, fleet()) if f.id == "multikueue-manager-team"]
    assert [f.where.line for f in found] == [4, 5]


def test_a_quota_elsewhere_counts_nothing() -> None:
    text = QUOTA + f"clusters: [east]\ncluster_quota: {{west: {{{P5}: {{accelerators: 1}}}}, nowhere: {{}}}}\n"
    found = [
        (f.id, f.where.line)
        for f in findings({"alpha": team(text)}, fleet())
        if f.id in ("cluster-quota-unused", "cluster-unknown")
    ]
    assert found == [("cluster-quota-unused", 5), ("cluster-unknown", 5)]


def test_no_quota_on_one_cluster() -> None:
    text = QUOTA + "cluster_quota: {west: {}}\n"
    (found,) = [f for f in findings({"alpha": team(text)}, fleet()) if f.id == "quota-none"]
    assert "on the cluster `west`" in found.message
    assert found.where.line == 4
