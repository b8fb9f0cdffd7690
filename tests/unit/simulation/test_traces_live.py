"""A trace from a running cluster's Workloads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from config.findings import ConfigError
from governance.model import ClusterPlan
from live.usage import NoKueueError
from simulation.traces.live import from_cluster
from simulation.traces.model import Trace
from simulation.traces.podsets import pods_of

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
P5 = {"node.kubernetes.io/instance-type": "ml.p5.48xlarge"}


class Listed:
    """A cluster that has these Workloads, in some version of Kueue's API."""

    def __init__(self, *items: dict[str, Any], version: str | None = "v1beta2") -> None:
        self._items = items
        self._version = version

    def get(self, path: str) -> dict[str, Any] | None:
        assert path == "/apis/kueue.x-k8s.io"
        return None if self._version is None else {"versions": [{"version": self._version}]}

    def items(self, path: str) -> list[dict[str, Any]]:
        raise AssertionError(f"{path} may be long: it is asked for page by page")

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        assert path == f"/apis/kueue.x-k8s.io/{self._version}/workloads"
        yield from self._items


def container(requests: dict[str, str], **other: Any) -> dict[str, Any]:
    return {"name": "main", "resources": {"requests": requests}, **other}


def pod_set(count: int = 1, name: str = "main", request: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    spec.setdefault("containers", [container({"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "2"})])
    made: dict[str, Any] = {"name": name, "count": count, "template": {"spec": spec}}
    return made | ({"topologyRequest": request} if request else {})


def workload(
    name: str, created: str, team: str = "alpha", pod_sets: list[dict[str, Any]] | None = None, spec: Any = None, **since: Any
) -> dict[str, Any]:
    """`since`: times at which conditions became true, as 10:30; with a - in front, at which they became false."""
    conditions = [
        {"type": kind, "status": "False" if time.startswith("-") else "True", "lastTransitionTime": f"2026-11-21T{time[-5:]}:00Z"}
        for kind, time in since.items()
    ]
    return {
        "metadata": {
            "name": name,
            "namespace": f"hyperpod-ns-{team}",
            "creationTimestamp": f"2026-11-21T{created}:00Z",
        },
        "spec": {"podSets": pod_sets or [pod_set()], **(spec or {})},
        "status": {"conditions": conditions},
    }


def trace(cluster: ClusterPlan, *items: dict[str, Any]) -> Trace:
    return from_cluster(Listed(*items), cluster, NOW)


def test_times_come_from_conditions_and_what_is_not_known_is_told(cluster: ClusterPlan) -> None:
    found = trace(
        cluster,
        workload("waits", "11:50", QuotaReserved="-11:50"),
        workload("done", "10:00", Admitted="10:30", Finished="11:10"),
        workload("runs", "10:05", Admitted="10:06"),
        workload("brief", "10:10", Admitted="10:15", Finished="10:35"),
    )
    assert (found.source, found.until, found.seed) == ("cluster main", None, None)
    # Minutes after 10:00, when the oldest was created; two have finished, after 40 and 20 minutes: 30 at the median.
    assert [(job.name, job.arrives // 60, (job.runs_for or 0) // 60) for job in found.jobs] == [
        ("done", 0, 40),
        ("runs", 5, 114),  # more than the median, for so long it has run already
        ("brief", 10, 20),
        ("waits", 110, 30),
    ]
    assert found.notes == ("Workloads not finished, and taken to run for the median of their team's finished ones: 2",)


def test_without_anything_finished_a_time_is_assumed(cluster: ClusterPlan) -> None:
    found = trace(
        cluster,
        workload("one", "10:00", QuotaReserved="-10:00"),
        workload("two", "10:00", spec={"maximumExecutionTimeSeconds": 600}),
    )
    assert [job.runs_for for job in found.jobs] == [3600, 600]
    assert found.notes == ("Workloads not finished, and taken to run for 3600 s: 2",)
    other = trace(cluster, workload("one", "10:00"), workload("b", "10:00", "beta", Admitted="10:00", Finished="10:02"))
    assert [job.runs_for for job in other.jobs] == [120, 120]
    assert other.notes == ("Workloads not finished, and taken to run for the median of all finished ones: 1",)


def test_what_is_left_out_is_told(cluster: ClusterPlan) -> None:
    found = trace(
        cluster,
        workload("kept", "10:00", Admitted="10:00", Finished="10:10", Evicted="-09:00"),
        workload("foreign", "09:00", "nobody"),
        workload("off", "09:00", spec={"active": False}),
        workload("failed", "09:00", Finished="09:10"),
        workload("empty", "09:00", pod_sets=[pod_set(0)]),
    )
    assert [(job.name, job.arrives) for job in found.jobs] == [("kept", 0)]
    assert set(found.notes) == {
        "Workloads left out, for they stand in namespaces of no team: 1",
        "Workloads left out, for they are deactivated: 1",
        "Workloads left out, for they ended without ever running: 1",
        "Workloads left out, for they have no pods: 1",
        "Workloads stopped once before they finished, so that the last run counts alone: 1",
    }


def test_without_a_job_there_is_nothing_to_replay(cluster: ClusterPlan) -> None:
    for items, words in (((), "to replay"), ((workload("foreign", "09:00", "nobody"),), "namespaces of no team: 1)")):
        with pytest.raises(ConfigError) as caught:
            trace(cluster, *items)
        (finding,) = caught.value.findings
        assert (finding.id, str(finding.where)) == ("jobs-none", "--from-cluster")
        assert finding.message.endswith(words)
        assert finding.remedy


def test_an_older_server_is_read_and_one_without_kueue_is_told(cluster: ClusterPlan) -> None:
    old = workload("old", "10:00", spec={"priorityClassName": "high-priority"}, Admitted="10:00", Finished="10:10")
    old["status"]["accumulatedPastExexcutionTimeSeconds"] = 60  # sic, in v1beta1
    found = from_cluster(Listed(old, version="v1beta1"), cluster, NOW)
    assert [(job.name, job.priority) for job in found.jobs] == [("old", "high")]
    assert found.notes == ("Workloads stopped once before they finished, so that the last run counts alone: 1",)
    with pytest.raises(NoKueueError):
        from_cluster(Listed(version=None), cluster, NOW)


def test_what_pods_ask_for_is_read(cluster: ClusterPlan) -> None:
    (job,) = trace(
        cluster,
        workload(
            "job",
            "10:00",
            pod_sets=[
                pod_set(
                    3,
                    request={"required": "topology.k8s.aws/network-node-layer-3"},
                    nodeSelector=P5,
                    containers=[
                        container({"cpu": "1500m", "memory": "1Gi"}, name="a"),
                        {"name": "b", "resources": {"limits": {"nvidia.com/gpu": "4", "cpu": "1"}}},
                    ],
                    initContainers=[
                        container({"cpu": "200m"}, restartPolicy="Always"),
                        container({"memory": "3Gi", "ephemeral-storage": "1Gi"}),
                    ],
                    overhead={"cpu": "100m"},
                )
            ],
            spec={"priorityClassRef": {"name": "high-priority", "kind": "WorkloadPriorityClass"}},
        ),
    ).jobs
    assert (job.pods, job.instance_type, job.priority) == (3, "ml.p5.48xlarge", "high")
    assert job.topology
    assert (job.topology.required, job.topology.preferred) == ("topology.k8s.aws/network-node-layer-3", None)
    assert job.per_pod == {"cpu": 2800, "memory": 3072, "nvidia.com/gpu": 4}


def each(**spec: Any) -> dict[str, int]:
    pods = pods_of({"spec": {"podSets": [pod_set(**spec)]}})
    assert pods
    return dict(pods.each)


def test_what_starts_a_pod_counts_beside_what_stays() -> None:
    stays, first = container({"cpu": "2"}, restartPolicy="Always"), container({"cpu": "8"})
    main = [container({"cpu": "4"})]
    assert each(containers=main, initContainers=[stays, first]) == {"cpu": 10_000}
    assert each(containers=main, initContainers=[first, stays]) == {"cpu": 8000}


def test_amounts_for_the_pod_as_a_whole() -> None:
    asked = {"requests": {"cpu": "3", "memory": "1Gi"}}
    assert each(containers=[{"name": "main"}], resources=asked) == {"cpu": 3000, "memory": 1024}


def test_memory_is_rounded_up_once_a_pod() -> None:
    half = container({"memory": "512Ki"})
    assert each(containers=[half, half]) == {"memory": 1}
    assert each(containers=[half, half, half]) == {"memory": 2}


def test_a_priority_class_of_nobody_is_told(cluster: ClusterPlan) -> None:
    found = trace(cluster, workload("job", "10:00", spec={"priorityClassRef": {"name": "urgent"}}))
    assert found.jobs[0].priority is None
    assert "Workloads without a priority here, for the plan has no class urgent: 1" in found.notes


def test_parts_that_are_alike_are_taken_together_and_of_others_the_largest_counts() -> None:
    alike = pods_of(workload("job", "10:00", pod_sets=[pod_set(1, "master"), pod_set(3, "worker")]))
    assert alike
    assert (alike.count, alike.each["nvidia.com/gpu"], alike.notes) == (4, 2, ())
    head = pod_set(1, "head", containers=[container({"cpu": "32"})])
    ray = pods_of(workload("job", "10:00", pod_sets=[head, pod_set(2, "workers")]))
    assert ray
    assert (ray.count, ray.each["nvidia.com/gpu"]) == (2, 2)
    assert ray.notes == ("of which the largest part counts alone, for their parts differ (parts without accelerators left out)",)


@pytest.mark.parametrize(
    ("values", "wanted"), [(["ml.p5.48xlarge"], "ml.p5.48xlarge"), (["ml.p5.48xlarge", "ml.g6.12xlarge"], None), ([], None)]
)
def test_a_type_may_be_named_by_affinity(values: list[str], wanted: str | None) -> None:
    terms = [{"matchExpressions": [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": values}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    pods = pods_of(workload("job", "10:00", pod_sets=[pod_set(affinity={"nodeAffinity": required})]))
    assert pods
    assert pods.instance_type == wanted


def test_names_are_short_and_none_stands_twice(cluster: ClusterPlan) -> None:
    long = "pytorchjob-" + "x" * 60
    found = trace(
        cluster,
        workload(f"{long}-1", "10:00"),
        workload(f"{long}-2", "10:01"),
        workload("same", "10:02"),
        workload("same", "10:03", "beta"),
        workload("a.b", "10:04"),
    )
    names = [job.name for job in found.jobs]
    assert names == [long[:50], f"{long[:50]}-1", "same", "same-1", "a-b"]
    assert [job.team for job in found.jobs][2:4] == ["alpha", "beta"]
