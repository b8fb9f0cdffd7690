"""With the declaration, remedies name the file, the place and the field, and doing what they say is enough by the plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from components.render import render
from config.load import Project
from governance.plan import plan
from governance.sharing import Cell
from live.why.declared import Declared
from live.why.explain import explain
from live.why.model import Answer, Remedy
from live.why.quotas import quotas_of
from live.why.snapshot import Snapshot, by_name
from tests.why_objects import GPU, NOW, Object, of, pending, workload

ENVIRONMENT = """apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    kubeconfig: k
    kueue: {install: false}
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 8}
governance:
  backend: kueue
  topology: {enabled: false}
"""
HEAD = "apiVersion: hyperpod-platform/v1\nowners: [a@example.com]\n"
KIND = "ml.p5.48xlarge"
LENDER = "quota: {ml.p5.48xlarge: {instances: 4}}\n"


def project(folder: Path, alpha: str, environment: str = ENVIRONMENT) -> Declared:
    """Team alpha as given, beside lender, which owns 32 GPUs."""
    for name, text in (
        ("environments/main.yaml", environment),
        ("teams/alpha.yaml", HEAD + alpha),
        ("teams/lender.yaml", HEAD + LENDER),
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    platform = Project(folder).load("main")
    return Declared(platform, plan(platform).clusters["main"])


def live(declared: Declared, *workloads: Object) -> Snapshot:
    """The cluster as the declaration renders it, with alpha's workloads."""
    of_kind: dict[str, list[Any]] = {}
    for item in render(declared.cluster):
        if item["kind"] == "Namespace":  # the API server's own label
            item["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = item["metadata"]["name"]
        of_kind.setdefault(item["kind"], []).append(item)
    named = {
        "cluster_queues": "ClusterQueue",
        "local_queues": "LocalQueue",
        "cohorts": "Cohort",
        "flavors": "ResourceFlavor",
        "namespaces": "Namespace",
        "classes": "WorkloadPriorityClass",
        "topologies": "Topology",
    }
    team = declared.cluster.teams["alpha"]
    for one in workloads:
        one["metadata"]["namespace"], one["spec"]["queueName"] = team.namespace, team.local_queue
        if "admission" in one["status"]:
            one["status"]["admission"]["clusterQueue"] = team.cluster_queue
            one["status"]["admission"]["podSetAssignments"][0]["flavors"] = {GPU: team.flavors[0].flavor}
    known: dict[str, Any] = {name: by_name(of_kind.get(kind, [])) for name, kind in named.items()}
    return Snapshot(**known, workloads=by_name(workloads), now=NOW)


def why(declared: Declared, one: Object, *others: Object) -> Answer:
    return explain(live(declared, one, *others), of(one), declared, lambda space, name: [])


def changes(found: Answer) -> dict[str, Remedy]:
    return {one.field: one for one in found.causes[0].remedies if one.action == "change"}


@pytest.mark.parametrize(
    ("alpha", "field", "value", "line"),
    [
        ("quota:\n  ml.p5.48xlarge: {instances: 1}\nsharing: dont_lend\n", f"quota.{KIND}", "instances: 3", 4),
        ("sharing: dont_lend\nquota:\n  ml.p5.48xlarge: {accelerators: 8}\n", f"quota.{KIND}", "accelerators: 24", 5),
        ("sharing: dont_lend\nquota:\n  p5: {accelerators: 8}\n", "quota.p5", "accelerators: 24", 5),
    ],
)
def test_a_larger_quota_is_enough(tmp_path: Path, alpha: str, field: str, value: str, line: int) -> None:
    declared = project(tmp_path, alpha)
    wants = workload("j", 8, pods=2, conditions=(pending(),))
    found = why(declared, wants, workload("a", 8, held=True))
    assert (found.team, str(found.causes[0].reason)) == ("alpha", "never-fits")
    (change,) = changes(found).values()
    assert (change.file, change.field, change.value, change.checked) == ("teams/alpha.yaml", field, value, True)
    assert f"teams/alpha.yaml:{line}:" in change.text
    # The plan of the changed file is what says that it is enough.
    key, amount = value.split(": ")
    text = alpha.replace(f"{key}: {1 if key == 'instances' else 8}", f"{key}: {amount}")
    assert text != alpha
    again = project(tmp_path, text)
    snapshot = live(again, workload("a", 8, held=True))
    assert room(again, snapshot) >= 16


def room(declared: Declared, snapshot: Snapshot) -> int:
    team = declared.cluster.teams["alpha"]
    cell: Cell = (team.flavors[0].flavor, GPU)
    return quotas_of(snapshot).free(team.cluster_queue)[cell]


def test_a_larger_borrow_limit_is_enough(tmp_path: Path) -> None:
    alpha = "quota: {ml.p5.48xlarge: {accelerators: 8}}\nsharing: {borrow_limit: 50}\n"
    declared = project(tmp_path, alpha)
    found = why(declared, workload("j", 8, conditions=(pending(),)), workload("a", 8, held=True))
    assert str(found.causes[0].reason) == "borrow-limit"
    change = changes(found)["sharing.borrow_limit"]
    assert (change.file, change.value, change.checked) == ("teams/alpha.yaml", "100", True)
    again = project(tmp_path, alpha.replace("50", change.value))
    assert room(again, live(again, workload("a", 8, held=True))) == 8
    less = project(tmp_path, alpha.replace("50", str(int(change.value) - 1)))
    assert room(less, live(less, workload("a", 8, held=True))) == 7, "nothing less is enough"


def test_no_borrow_limit_helps_where_nobody_has_that_much(tmp_path: Path) -> None:
    declared = project(tmp_path, "quota: {ml.p5.48xlarge: {accelerators: 8}}\nsharing: {borrow_limit: 50}\n")
    found = why(declared, workload("j", 8, pods=6, conditions=(pending(),)))
    assert str(found.causes[0].reason) == "never-fits"
    (change,) = changes(found).values()
    assert (change.field, change.value, change.checked) == (f"quota.{KIND}", "accelerators: 48", False), "there are 40 in all"
    assert "guarantees are then 16 nvidia.com/gpu above the cluster's capacity" in change.text


def test_a_held_team_is_activated_in_its_file(tmp_path: Path) -> None:
    declared = project(tmp_path, "quota: {ml.p5.48xlarge: {accelerators: 8}}\nstate: held\n")
    found = why(declared, workload("j", 8, conditions=(pending(),)))
    assert str(found.causes[0].reason) == "queue-held"
    (change,) = changes(found).values()
    assert (change.file, change.field, change.value) == ("teams/alpha.yaml", "state", "active")
    assert "set state of team alpha from held to active (teams/alpha.yaml:4:" in change.text


def test_the_declaration_says_whether_shares_count(tmp_path: Path) -> None:
    declared = project(tmp_path, "quota: {ml.p5.48xlarge: {accelerators: 8}}\nsharing: {borrow_limit: 500}\n")
    found = why(declared, workload("j", 8, pods=4, conditions=(pending(),)), workload("a", 8, pods=2, held=True))
    assert str(found.causes[0].reason) == "cohort-quota"
    assert found.causes[0].shortages[0].could_borrow == 24
