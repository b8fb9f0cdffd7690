"""Usage of a cluster as Kueue's objects tell it: amounts, tasks and their times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from html_support import NOW, Recited, answering, queue, workload
from hypothesis import given
from hypothesis import strategies as st

from governance.units import CPU, GPU, MEMORY
from live.connection import Answer
from live.kube import Reader
from live.tasks import Times, by_class, task, times
from live.usage import NoKueueError, Usage, base_units, read_usage

P5 = "ml.p5.48xlarge"


def test_amounts_of_queues_are_told_apart() -> None:
    usage = read_usage(answering(), NOW)
    alpha, beta = usage.queues["hyperpod-ns-alpha-clusterqueue"], usage.queues["hyperpod-ns-beta-clusterqueue"]
    gpus = alpha.cells[P5, GPU]
    assert (gpus.nominal, gpus.used, gpus.borrowed, gpus.own, gpus.idle, gpus.lendable) == (8, 16, 8, 8, 0, 8)
    assert beta.cells[P5, GPU].idle == 12
    assert alpha.cells[P5, CPU].used == 100_500, "milli-vCPU"
    assert (alpha.pending, alpha.reserving, alpha.admitted, alpha.active) == (1, 2, 2, True)


def test_a_lending_limit_and_a_queue_without_a_cohort_bound_what_others_may_have() -> None:
    limited, alone = queue("one", {GPU: ("8", "0", "0")}, P5), queue("two", {GPU: ("8", "0", "0")}, P5, None)
    limited["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["lendingLimit"] = "3"
    alone["status"]["conditions"][0] |= {"status": "False", "message": "stopped"}
    usage = read_usage(Recited(clusterqueues=[limited, alone]), NOW)
    assert usage.queues["hyperpod-ns-one-clusterqueue"].cells[P5, GPU].lendable == 3
    two = usage.queues["hyperpod-ns-two-clusterqueue"]
    assert two.cells[P5, GPU].lendable == 0
    assert (two.active, two.message) == (False, "stopped")


def test_quantities_come_in_base_units_rounded_up() -> None:
    assert base_units(CPU, "1500m") == 1500
    assert base_units(CPU, "2") == 2000
    assert base_units(MEMORY, "2Ti") == 2 * 1024 * 1024
    assert base_units(MEMORY, "1") == 1, "a part of a MiB that is used isn't free"
    assert base_units(GPU, "1k") == 1000


def test_cohorts_know_the_root_that_borrowing_goes_up_to() -> None:
    cohorts = [
        {"metadata": {"name": "root"}, "spec": {}},
        {"metadata": {"name": "one"}, "spec": {"parentName": "root"}},
        {"metadata": {"name": "two"}, "spec": {"parentName": "one"}},
    ]
    usage = read_usage(Recited(cohorts=cohorts), NOW)
    assert usage.root("two") == "root"
    circle = Usage(NOW, {}, parents={"a": "b", "b": "a"})
    assert circle.root("a") in {"a", "b"}


def test_tasks_wait_and_run_as_their_conditions_say() -> None:
    found = {
        "running": workload("alpha", "running", Admitted=("True", "11:00", "")),
        "new": workload("alpha", "new", QuotaReserved=("False", "10:00", "no quota")),
        "done": workload("alpha", "done", Admitted=("True", "10:30", ""), Finished=("True", "11:00", "Succeeded")),
        "bad": workload("alpha", "bad", Admitted=("True", "10:30", ""), Finished=("True", "11:00", "Failed")),
        "again": workload("alpha", "again", Admitted=("False", "11:00", ""), Evicted=("True", "11:00", "Preempted")),
    }
    found["again"]["status"]["accumulatedPastExecutionTimeSeconds"] = 1800
    found["again"]["status"]["schedulingStats"] = {"evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 3}]}
    tasks = {name: task(item, NOW, {}) for name, item in found.items()}
    assert {name: (one.state, one.waited, one.ran) for name, one in tasks.items()} == {
        "running": ("running", 3600, 3600),
        "new": ("pending", 7200, 0),
        "done": ("finished", 1800, 1800),
        "bad": ("failed", 1800, 1800),
        "again": ("pending", 5400, 1800),
    }
    assert tasks["new"].message == "no quota"
    assert (tasks["again"].preempted, tasks["again"].preemptions) == (True, 3)
    assert not tasks["new"].preempted

    (use,) = by_class(tasks.values()).values()
    assert (use.name, use.running, use.pending, use.preempted, use.preemptions, use.finished) == ("high-priority", 1, 2, 1, 3, 2)
    assert use.run == Times(4, 2250, 3600)
    assert use.wait == Times(5, 3960, 7200)


def test_an_evicted_task_that_wasnt_preempted_is_no_preemption() -> None:
    item = workload("alpha", "one", Evicted=("True", "11:00", "PodsReadyTimeout"))
    found = task(item, NOW, {})
    assert (found.state, found.preempted, found.preemptions) == ("pending", False, 0)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_waiting_and_running_make_up_the_time_since_creation(before: int, running: int, past: int) -> None:
    created = datetime(2026, 1, 1, tzinfo=UTC)
    admitted = created + timedelta(seconds=before + past)
    now = admitted + timedelta(seconds=running)
    item: dict[str, Any] = {
        "metadata": {"namespace": "x", "name": "y", "creationTimestamp": created.isoformat()},
        "spec": {},
        "status": {
            "accumulatedPastExecutionTimeSeconds": past,
            "conditions": [{"type": "Admitted", "status": "True", "lastTransitionTime": admitted.isoformat()}],
        },
    }
    found = task(item, now, {})
    assert (found.waited, found.ran) == (before, running + past)


@given(st.lists(st.integers(0, 10**7)))
def test_times_are_between_none_and_the_longest(seconds: list[int]) -> None:
    found = times(seconds)
    assert found.count == len(seconds)
    assert found.longest == max(seconds, default=0)
    assert 0 <= found.average <= found.longest


def test_an_older_kueue_is_read_too() -> None:
    old = queue("alpha", {GPU: ("8", "4", "0")}, P5, None)
    old["spec"]["cohort"] = "hyperpod"
    ranked = workload("alpha", "one", None)
    ranked["spec"]["priorityClassName"] = "high-priority"
    usage = read_usage(Recited("v1beta1", clusterqueues=[old], workloads=[ranked]), NOW)
    assert usage.queues["hyperpod-ns-alpha-clusterqueue"].cohort == "hyperpod"
    assert usage.tasks[0].priority_class == "high-priority"


def test_a_cluster_without_kueue_says_so() -> None:
    with pytest.raises(NoKueueError, match="none of Kueue's API versions"):
        read_usage(Recited("v9"), NOW)


class _Paged:
    """An API server that gives two items at a time."""

    def __init__(self, number: int) -> None:
        self.number, self.asked = number, list[str]()

    def request(self, method: str, path: str) -> Answer:
        self.asked.append(path)
        start = int(path.partition("continue=")[2] or 0)
        stop = min(start + 2, self.number)
        more = {"continue": str(stop)} if stop < self.number else {}
        return Answer({"metadata": more, "items": [{"number": one} for one in range(start, stop)]})


def test_long_lists_are_read_page_by_page() -> None:
    server = _Paged(5)
    found = list(Reader(server).pages("/api/v1/things"))  # type: ignore[arg-type]
    assert [one["number"] for one in found] == [0, 1, 2, 3, 4]
    assert len(server.asked) == 3
    assert all("limit=500" in path for path in server.asked)
    list(Reader(server).pages("/api/v1/things?fieldSelector=a%3Db"))  # type: ignore[arg-type]
    assert server.asked[3] == "/api/v1/things?fieldSelector=a%3Db&limit=500", "a query of its own stays"
