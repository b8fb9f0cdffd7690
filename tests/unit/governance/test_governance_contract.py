"""The job contract and the rows of `hpctl quotas`."""

from __future__ import annotations

import json

from declarations import cluster, environment, planned, team
from hypothesis import given
from kubernetes.utils import parse_quantity
from strategies import ProjectData, projects
from strategies import planned as planned_project

from governance.contract import job_contract
from governance.summary import team_rows, type_rows
from governance.units import CPU, EFA, GPU, MEMORY, PODS

TEXT = """\
quota:
  ml.p5.48xlarge: {accelerators: 8}
default_priority: training
max_run_time: 2h
access: {groups: [people]}
"""
ENV = environment("governance: {priority_classes: {inference: {weight: 90}, training: {weight: 70}}}\n")


def test_a_contract() -> None:
    found = cluster({"alpha": team(TEXT), "beta": team("quota: {ml.p5.48xlarge: {accelerators: 2}}\nsharing: lend\n")}, ENV)
    expected = {
        "team": "alpha",
        "cluster": "main",
        "namespace": "hyperpod-ns-alpha",
        "queue": "hyperpod-ns-alpha-localqueue",
        "cluster_queue": "hyperpod-ns-alpha-clusterqueue",
        "state": "active",
        "weight": 0,
        "cohort": "hyperpod",
        "queue_label": {"kueue.x-k8s.io/queue-name": "hyperpod-ns-alpha-localqueue"},
        "priority_labels": {
            "inference": {"kueue.x-k8s.io/priority-class": "inference-priority"},
            "training": {"kueue.x-k8s.io/priority-class": "training-priority"},
        },
        "default_priority": "training-priority",
        "topology": {
            "annotation_required": "kueue.x-k8s.io/podset-required-topology",
            "annotation_preferred": "kueue.x-k8s.io/podset-preferred-topology",
            "levels": {
                "ml.p5.48xlarge": [
                    "topology.k8s.aws/network-node-layer-1",
                    "topology.k8s.aws/network-node-layer-2",
                    "topology.k8s.aws/network-node-layer-3",
                    "kubernetes.io/hostname",
                ]
            },
        },
        "quota": [
            {
                "instance_type": "ml.p5.48xlarge",
                "flavor": "ml.p5.48xlarge",
                "guaranteed": {CPU: "192", MEMORY: "2Ti", GPU: "8", EFA: "32"},
                "borrowable": {CPU: "48", MEMORY: "512Gi", GPU: "2", EFA: "8"},
                "largest_job": {CPU: "240", MEMORY: "2560Gi", GPU: "10", EFA: "40"},
            }
        ],
        "max_run_time_seconds": 7200,
        "groups": ["hyperpod-ns-alpha-namespace-level-group", "people"],
    }
    contract = job_contract(found, found.teams["alpha"])
    assert {key: contract.get(key) for key in expected} == expected


def test_a_contract_without_topology_or_classes() -> None:
    found = cluster(
        {"alpha": team("quota: {ml.p5.48xlarge: {accelerators: 8}}\n")}, environment("governance: {topology: {enabled: false}}\n")
    )
    contract = job_contract(found, found.teams["alpha"])
    assert contract["topology"]["levels"] == {}
    assert contract["priority_labels"] == {}
    assert contract["default_priority"] is None


@given(projects())
def test_contracts_are_json_and_agree_with_the_rows(made: ProjectData) -> None:
    resolved = planned_project(made)
    contracts = [job_contract(found, one) for found in resolved.clusters.values() for one in found.teams.values()]
    text = json.dumps(contracts)
    assert json.loads(text) == contracts
    rows = team_rows(resolved)
    entries = [(c["cluster"], c["team"], q) for c in contracts for q in c["quota"]]
    assert [(r.cluster, r.team, r.instance_type) for r in rows] == [(name, one, q["instance_type"]) for name, one, q in entries]
    for row, (_, _, quota) in zip(rows, entries, strict=True):
        shown = row.as_dict()
        assert (shown["guaranteed"], shown["borrowable"], shown["largest_job"]) == (
            quota["guaranteed"],
            quota["borrowable"],
            quota["largest_job"],
        )
        for resource, most in row.largest_job.items():
            assert most == row.guaranteed[resource] + row.borrowable[resource]
            assert row.largest_placeable[resource] <= most
        assert all(parse_quantity(amount) > 0 for amount in quota["largest_job"].values())


@given(projects())
def test_rows_of_types_add_up(made: ProjectData) -> None:
    resolved = planned_project(made)
    for row in type_rows(resolved):
        guaranteed = {
            resource: sum(
                r.guaranteed.get(resource, 0)
                for r in team_rows(resolved)
                if (r.cluster, r.instance_type) == (row.cluster, row.instance_type)
            )
            for resource in {*row.capacity, *row.guaranteed}
        }
        for resource, amount in guaranteed.items():
            held = row.capacity.get(resource, 0)
            assert row.guaranteed.get(resource, 0) == amount
            assert row.unowned.get(resource, 0) == max(0, held - amount)
            assert row.over.get(resource, 0) == max(0, amount - held)
            assert held - amount == row.unowned.get(resource, 0) - row.over.get(resource, 0)
        json.dumps(row.as_dict())


def test_what_others_lend_bounds_what_can_be_borrowed() -> None:
    """The borrowing limit allows 8 more, yet only 3 are lent; and the cluster's nodes hold no more than 16."""
    resolved = planned(
        {
            "alpha": team("quota: {ml.p5.48xlarge: {accelerators: 16}}\nsharing: {borrow_limit: 100}\n"),
            "beta": team("quota: {ml.p5.48xlarge: {accelerators: 8}}\nsharing: {lend: {ml.p5.48xlarge: {accelerators: 3}}}\n"),
        },
        environment("governance: {overcommit: allow}\n", groups="g: {instance_type: ml.p5.48xlarge, count: 2}"),
    )
    (row,) = [row for row in team_rows(resolved) if row.team == "alpha"]
    assert (row.guaranteed[GPU], row.borrowable[GPU], row.largest_job[GPU], row.largest_placeable[GPU]) == (16, 3, 19, 16)
    (kind,) = type_rows(resolved)
    assert (kind.nodes, kind.capacity[GPU], kind.guaranteed[GPU], kind.unowned[GPU], kind.over[GPU]) == (2, 16, 24, 0, 8)


def test_a_cap_on_pods_is_no_part_of_a_types_guarantees() -> None:
    resolved = planned({"alpha": team(TEXT + "max_pods: 4\n")}, ENV)
    assert PODS not in type_rows(resolved)[0].guaranteed
    assert team_rows(resolved)[0].largest_job[PODS] == 4
