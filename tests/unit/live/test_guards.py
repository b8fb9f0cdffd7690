"""What a running cluster forbids, said before anything is touched. The real cluster's part is in tests/engine/test_stack.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from config.load import Platform, Project
from governance.contract import job_contract
from governance.model import ClusterPlan, Plan
from governance.plan import plan
from live.guards import QUEUES, flavor_findings, removal_findings, replacement_findings

ENVIRONMENT = """
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    kubeconfig: k
    instance_groups: {h100: {instance_type: ml.p5.48xlarge, count: 4}}
"""
TEAM = "apiVersion: hyperpod-platform/v1\nowners: [a@example.com]\nquota: {ml.p5.48xlarge: {accelerators: 8}}\n"


class Lists:
    """A source with given lists."""

    def __init__(self, lists: dict[str, list[dict[str, Any]]]) -> None:
        self.lists = lists

    def items(self, path: str) -> list[dict[str, Any]]:
        return self.lists.get(path, [])


@pytest.fixture
def declared(tmp_path: Path) -> tuple[Platform, ClusterPlan]:
    for file, text in (("environments/dev.yaml", ENVIRONMENT), ("teams/nlp.yaml", TEAM)):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    platform = Project(tmp_path).load("dev")
    return platform, plan(platform).clusters["main"]


def queue(name: str, flavor: str, total: str) -> dict[str, Any]:
    reserved = [{"name": flavor, "resources": [{"name": "nvidia.com/gpu", "total": total}, {"name": "cpu", "total": "0"}]}]
    return {"metadata": {"name": name}, "status": {"flavorsReservation": reserved}}


@pytest.mark.parametrize(
    ("flavor", "total", "refused"),
    [
        ("ml.p5.48xlarge-abc123", "8", True),
        ("ml.p5.48xlarge-abc123", "0", False),  # nothing runs on it
        ("ml.p5.48xlarge", "8", False),  # the plan keeps it
    ],
)
def test_a_flavor_in_use_must_stay(declared: tuple[Platform, ClusterPlan], flavor: str, total: str, refused: bool) -> None:
    source = Lists({QUEUES: [queue("hyperpod-ns-nlp-clusterqueue", flavor, total)]})
    findings = list(flavor_findings(*declared, source))
    assert [finding.id for finding in findings] == (["flavor-in-use"] if refused else [])
    for finding in findings:
        assert finding.where.file == "teams/nlp.yaml"
        assert finding.where.line == 3
        assert "8 nvidia.com/gpu" in finding.message
        assert "0 cpu" not in finding.message
        assert "state: draining" in finding.remedy


def test_queues_of_others_are_not_judged(declared: tuple[Platform, ClusterPlan]) -> None:
    assert list(flavor_findings(*declared, Lists({QUEUES: [queue("somebody-elses", "own", "8")]}))) == []


def removing(declared: tuple[Platform, ClusterPlan]) -> tuple[Platform, Plan]:
    return declared[0], plan(declared[0])


def contract(declared: tuple[Platform, ClusterPlan], team: str, state: str) -> dict[str, Any]:
    _, cluster = declared
    found = job_contract(cluster, cluster.teams["nlp"])
    return {**found, "team": team, "namespace": f"hyperpod-ns-{team}", "state": state}


@pytest.mark.parametrize("state", ["active", "held"])
def test_a_team_that_was_not_drained_can_not_go(declared: tuple[Platform, ClusterPlan], state: str) -> None:
    (finding,) = removal_findings([contract(declared, "gone", state)], *removing(declared), {"main": Lists({})})
    assert (finding.id, finding.where.file) == ("team-not-drained", "teams/gone.yaml")
    assert state in finding.message
    assert "state: draining" in finding.remedy


def workload(name: str, **conditions: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"conditions": [{"type": t, "status": s} for t, s in conditions.items()]}}


def test_a_drained_team_that_still_runs_can_not_go_yet(declared: tuple[Platform, ClusterPlan]) -> None:
    path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/hyperpod-ns-gone/workloads"
    listed = [
        workload("runs", QuotaReserved="True"),
        workload("waits", QuotaReserved="False"),
        workload("done", QuotaReserved="True", Finished="True"),
    ]
    (finding,) = removal_findings([contract(declared, "gone", "draining")], *removing(declared), {"main": Lists({path: listed})})
    assert finding.id == "team-still-runs"
    assert "runs" in finding.message
    assert "waits" not in finding.message
    assert "done" not in finding.message


def test_a_team_on_a_cluster_that_does_not_answer_can_not_go(declared: tuple[Platform, ClusterPlan]) -> None:
    (finding,) = removal_findings([contract(declared, "gone", "draining")], *removing(declared), {})
    assert (finding.id, finding.where.file) == ("cluster-unseen", "teams/gone.yaml")
    assert "on main can't be seen" in finding.message


def test_a_drained_team_may_go_and_one_that_stays_is_not_judged(declared: tuple[Platform, ClusterPlan]) -> None:
    last = [contract(declared, "gone", "draining"), contract(declared, "nlp", "active")]
    assert list(removal_findings(last, *removing(declared), {"main": Lists({})})) == []


HYPERPOD = """
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: hyperpod
    account: "111122223333"
    region: us-west-2
    protection: PROTECTION
    network: {availability_zones: [us-west-2a, us-west-2b, us-west-2c]}
    hyperpod:
      name: ml-two
    instance_groups: {cpu: {instance_type: ml.m5.4xlarge, count: 2}}
"""
LAST = {"hyperpod_name": "ml-one", "eks_name": "prod-main", "region": "us-west-2", "account": "111122223333"}


@pytest.mark.parametrize(
    ("protection", "last", "refused"),
    [
        ("true", LAST, ["cluster `main`: name ml-one → ml-two would delete the cluster with all that runs on it"]),
        ("false", LAST, []),
        ("true", {**LAST, "hyperpod_name": "ml-two"}, []),
        ("true", {}, []),  # outputs of an older version
        (
            "true",
            {**LAST, "hyperpod_name": "ml-two", "region": "us-east-1"},
            ["cluster `main`: region us-east-1 → us-west-2 would delete the cluster with all that runs on it"],
        ),
    ],
)
def test_a_protected_cluster_is_not_replaced(tmp_path: Path, protection: str, last: dict[str, str], refused: list[str]) -> None:
    (tmp_path / "environments").mkdir()
    (tmp_path / "teams").mkdir()
    (tmp_path / "environments/prod.yaml").write_text(HYPERPOD.replace("PROTECTION", protection))
    platform = Project(tmp_path).load("prod")
    found = list(replacement_findings({"main": last, "gone": LAST}, platform, plan(platform)))
    assert [finding.message for finding in found] == refused
    for finding in found:
        assert finding.id == "cluster-replaced"
        assert finding.where.file == "environments/prod.yaml"
        assert finding.where.line == (11 if "name" in finding.message.split("→", maxsplit=1)[0] else 7)
        assert "protection: false" in finding.remedy
