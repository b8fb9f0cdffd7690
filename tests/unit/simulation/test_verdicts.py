"""Verdicts, read from objects that a real Kueue 0.16.6 wrote (recorded.json, see there)."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from live.guards import holds_quota
from simulation.rows import CaseRow
from simulation.verdicts import Reading, borrowed_amounts, borrowing, flavors_of, queue_of, read

MOMENTS: dict[str, Any] = json.loads((Path(__file__).parent / "recorded.json").read_text())
"""Moments of the cases elastic-256 and over-quota: Workloads by name and ClusterQueues by team, less what no verdict reads."""


def moment(name: str) -> Any:
    return copy.deepcopy(MOMENTS[name])


def verdict(found: Any, name: str, team: str) -> Reading:
    queue = found["queues"][team]
    holders = [w for w in found["workloads"].values() if queue_of(w) == queue["metadata"]["name"] and holds_quota(w)]
    return read(found["workloads"].get(name), queue, holders)


def set_condition(workload: Any, kind: str, status: str, reason: str = "Test", message: str = "") -> None:
    kept = [one for one in workload["status"].get("conditions", []) if one["type"] != kind]
    workload["status"]["conditions"] = [*kept, {"type": kind, "status": status, "reason": reason, "message": message}]


@pytest.mark.parametrize(
    ("at", "name", "team", "expected", "words"),
    [
        ("base", "base", "foundation", "admitted", "Quota reserved in ClusterQueue hyperpod-ns-foundation-clusterqueue"),
        ("borrowing", "base", "foundation", "admitted", "Quota reserved"),
        ("borrowing", "elastic", "foundation", "borrowed", "borrows 96 of nvidia.com/gpu in flavor ml.p5.48xlarge"),
        ("reclaimed", "elastic", "foundation", "preempted", "due to reclamation within the cohort"),
        ("reclaimed", "base", "foundation", "admitted", "Quota reserved"),
        ("reclaimed", "serving", "serving", "admitted", "Quota reserved in ClusterQueue hyperpod-ns-serving-clusterqueue"),
        ("given-back", "serving", "serving", "finished", "Reached expected number of succeeded pods"),
        ("given-back", "elastic", "foundation", "borrowed", "borrows 96 of nvidia.com/gpu"),
        ("waiting", "running", "slm", "admitted", "Quota reserved"),
        (
            "waiting",
            "waiting",
            "slm",
            "pending",
            "insufficient unused quota for nvidia.com/gpu in flavor ml.g5.2xlarge, 1 more needed",
        ),
    ],
)
def test_recorded_objects(at: str, name: str, team: str, expected: str, words: str) -> None:
    found = verdict(moment(at), name, team)
    assert found.verdict == expected
    assert words in found.reason


def test_the_reason_of_a_preemption_is_that_of_the_preempted_condition() -> None:
    found = moment("reclaimed")
    conditions = {c["type"]: c for c in found["workloads"]["elastic"]["status"]["conditions"]}
    assert verdict(found, "elastic", "foundation").reason == conditions["Preempted"]["message"]


def test_nothing_is_decided_without_a_workload_or_before_kueue_looked_at_it() -> None:
    found = moment("waiting")
    assert verdict(found, "nobody", "slm").verdict == "undecided"
    found["workloads"]["waiting"]["status"] = {}
    assert verdict(found, "waiting", "slm").verdict == "undecided"


def test_a_preemption_that_is_under_way_is_no_verdict_on_either_side() -> None:
    found = moment("borrowing")
    set_condition(found["workloads"]["elastic"], "Evicted", "True", "Preempted", "Preempted to accommodate a workload")
    assert verdict(found, "elastic", "foundation").verdict == "undecided"
    waiting = moment("waiting")
    message = "couldn't assign flavors to pod set main. Pending the preemption of 1 workload(s)"
    set_condition(waiting["workloads"]["waiting"], "QuotaReserved", "False", "Pending", message)
    assert verdict(waiting, "waiting", "slm").verdict == "undecided"


def test_admitted_counts_only_when_the_queue_has_counted_it() -> None:
    late = moment("borrowing")
    late["queues"] = moment("base")["queues"]
    assert verdict(late, "elastic", "foundation").verdict == "undecided"
    assert "has not counted it yet" in verdict(late, "elastic", "foundation").reason
    early = moment("base")
    early["queues"] = moment("borrowing")["queues"]
    assert verdict(early, "base", "foundation").verdict == "undecided"


def test_quota_without_admission_is_no_verdict() -> None:
    found = moment("base")
    set_condition(found["workloads"]["base"], "Admitted", "False", "Checks")
    assert verdict(found, "base", "foundation").verdict == "undecided"


def test_evictions_for_other_reasons_and_failures_are_told_apart() -> None:
    found = moment("reclaimed")
    set_condition(found["workloads"]["elastic"], "Evicted", "True", "PodsReadyTimeout", "Exceeded the PodsReady timeout")
    assert verdict(found, "elastic", "foundation") == Reading("evicted", "Exceeded the PodsReady timeout")
    set_condition(found["workloads"]["serving"], "Finished", "True", "Failed", "Job has reached the backoff limit")
    assert verdict(found, "serving", "serving") == Reading("failed", "Job has reached the backoff limit")


def swapped_priorities(found: Any) -> None:
    found["workloads"]["base"]["spec"]["priority"] = 1
    found["workloads"]["elastic"]["spec"]["priority"] = 99


def test_of_a_queue_that_borrows_the_lowest_priority_borrows() -> None:
    found = moment("borrowing")
    base, elastic = (found["workloads"][name]["metadata"]["uid"] for name in ("base", "elastic"))
    holders = list(found["workloads"].values())
    assert borrowing(found["queues"]["foundation"], holders) == {elastic}
    swapped_priorities(found)
    # 96 first, then 160 on top: beyond 160 is then the larger one.
    assert borrowing(found["queues"]["foundation"], holders) == {base}


def test_of_equal_priority_the_later_one_borrows() -> None:
    found = moment("borrowing")
    for name, time in (("base", "2026-01-01T10:00:01Z"), ("elastic", "2026-01-01T10:00:00Z")):
        workload = found["workloads"][name]
        workload["spec"]["priority"] = 5
        next(c for c in workload["status"]["conditions"] if c["type"] == "QuotaReserved")["lastTransitionTime"] = time
    holders = list(found["workloads"].values())
    assert borrowing(found["queues"]["foundation"], holders) == {found["workloads"]["base"]["metadata"]["uid"]}


def test_what_finished_pods_gave_back_is_not_borrowed() -> None:
    found = moment("borrowing")
    found["workloads"]["base"]["status"]["reclaimablePods"] = [{"name": "main", "count": 12}]
    assert borrowing(found["queues"]["foundation"], list(found["workloads"].values())) == set()


def test_amounts_of_the_queue_status() -> None:
    found = moment("borrowing")
    amounts = borrowed_amounts(found["queues"]["foundation"])
    assert amounts["ml.p5.48xlarge", "nvidia.com/gpu"] == "96"
    assert borrowed_amounts(moment("base")["queues"]["foundation"]) == {}
    assert flavors_of(found["workloads"]["elastic"]) == {"ml.p5.48xlarge"}
    assert queue_of(moment("reclaimed")["workloads"]["elastic"]) == ""


def test_a_row_as_json_has_exactly_the_documented_keys() -> None:
    row = CaseRow("c", "t", "w", "admitted", "pending", "because", ("n-0", "n-1"))
    assert json.loads(json.dumps(row.as_dict())) == {
        "case": "c",
        "team": "t",
        "workload": "w",
        "expected": "admitted",
        "verdict": "pending",
        "reason": "because",
        "nodes": ["n-0", "n-1"],
    }
    assert not row.as_expected
    assert CaseRow("c", "t", "w", "admitted", "admitted", "", ()).as_expected
