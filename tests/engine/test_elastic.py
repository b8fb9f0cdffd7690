"""Elastic training on a real Kueue: a reclaim takes the elastic part alone, as much as it needs, and the job grows back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from demo_support import Demo, booted, rows_of

from simulation.cases import Case

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1200)]
TRAINING = {
    "team": "foundation",
    "instance_type": "ml.p5.48xlarge",
    "per_pod": "whole_node",
    "priority": "training",
    "elastic_priority": "experimentation",
}


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    with booted("elastic") as one:
        yield one


class Pods:
    """Notes the pods of the training job's base whenever a step begins."""

    def __init__(self, demo: Demo, case: str) -> None:
        self.seen: list[frozenset[tuple[str, int]]] = []
        """UIDs and restarts."""
        self._demo = demo
        self._case = case

    def __call__(self, step: str) -> None:
        if step.startswith(f"{self._case}: serving is") or step == f"{self._case}: serving submits serving":
            found = [(pod["metadata"]["uid"], restarts(pod)) for pod in self.now()]
            self.seen.append(frozenset(found))

    def now(self) -> list[dict[str, Any]]:
        query = {"labelSelector": f"batch.kubernetes.io/job-name={self._case}-training"}
        found: list[dict[str, Any]] = self._demo.api.request("GET", "/api/v1/pods", query=query).body["items"]
        return found


def restarts(pod: dict[str, Any]) -> int:
    return sum(int(one["restartCount"]) for one in pod["status"].get("containerStatuses", []))


def test_of_256_gpus_inference_takes_96_back_in_two_waves(demo: Demo) -> None:
    pods = Pods(demo, "elastic-256")
    rows = demo.run(demo.cases("elastic-256"), pods)
    assert all(row.as_expected for row in rows), rows
    counts = [row.verdict for row in rows_of(rows, "elastic-256", "training")[1:]]
    assert counts == ["32 replicas", "28 replicas", "20 replicas", "32 replicas"]
    (_, _, first, second, _) = rows_of(rows, "elastic-256", "training")
    assert first.reason.startswith("28 of 32 pods run; 1 of 3 steps wait: Preempted to accommodate")
    assert second.reason.startswith("20 of 32 pods run; 3 of 3 steps wait: Preempted to accommodate")
    assert "due to reclamation within the cohort" in first.reason
    (four, twelve) = rows_of(rows, "elastic-256", "serving")
    assert (len(four.nodes), len(twelve.nodes)) == (4, 12)

    assert len(pods.seen) == 3, "before each wave, and before the way back"
    assert len(set(pods.seen)) == 1, "the base's pods are the same all along"
    assert len(pods.seen[0]) == 20
    assert {count for _, count in pods.seen[0]} == {0}
    demo.assert_clean()


def test_a_job_of_listed_counts_trains_with_one_of_them_and_ends_as_one(demo: Demo) -> None:
    case = Case.model_validate(
        {
            "name": "listed",
            "workloads": {
                "training": {**TRAINING, "elastic": {"min": 20, "max": 32, "values": [20, 22, 32]}},
                "serving": {
                    "kind": "deployment",
                    "team": "serving",
                    "instance_type": "ml.p5.48xlarge",
                    "per_pod": "whole_node",
                    "priority": "inference",
                },
            },
            "steps": [
                {"submit": "training"},
                {"replicas": {"training": 32}},
                {"submit": "serving"},
                {"expect": {"serving": "admitted"}},
                {"scale": {"serving": 3}},
                {"replicas": {"training": 22, "serving": 3}},
                {"finish": "training"},
                {"expect": {"training": "finished"}},
            ],
        }
    )
    rows = demo.run([case])
    assert all(row.as_expected for row in rows), rows
    demo.assert_clean()
