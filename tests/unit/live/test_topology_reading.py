"""What a cluster's objects say about its topology. The real Kueue's part is in tests/engine/test_topology_verb.py."""

from __future__ import annotations

from typing import Any

import pytest

from governance.nodes import Taint
from governance.topologymap.model import Hold, Toleration
from governance.topologymap.placement import Wish, verify_all
from live.podamounts import amounts_of, pod_amounts
from live.topology import assigned_domains, read_cluster, wish_of
from live.topologyjobs import namespaces_of, podsets
from sandbox.progress import SilentProgress

HOST, LAYER, GPU = "kubernetes.io/hostname", "topology.k8s.aws/network-node-layer-3", "nvidia.com/gpu"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
KUEUE = "/apis/kueue.x-k8s.io"
Object = dict[str, Any]


class Lists:
    """An API server with given lists."""

    def __init__(self, lists: dict[str, list[Object]], version: str = "v1beta2") -> None:
        self.lists = lists
        self.version = version

    def get(self, path: str) -> Object | None:
        return {"versions": [{"version": self.version}]} if path == KUEUE else None

    def items(self, path: str) -> list[Object]:
        return self.lists.get(path, [])

    def pages(self, path: str) -> list[Object]:
        return self.items(path)


def node(name: str, **spec: Any) -> Object:
    amounts = {"cpu": "8", "memory": "16Gi", GPU: "4", "pods": "10"}
    labels = {HOST: f"host-{name}", "type": "p5", LAYER: "block"}
    status = {
        "capacity": amounts,
        "allocatable": {**amounts, "cpu": "7910m"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}


def pod(name: str, on: str = "", gpus: int = 1, **meta: Any) -> Object:
    spec = {"containers": [{"resources": {"requests": {GPU: str(gpus), "cpu": "500m"}}}]} | ({"nodeName": on} if on else {})
    return {"metadata": {"name": name, "namespace": "ns", **meta}, "spec": spec, "status": {"phase": "Running"}}


def of_job(name: str, on: str, **annotations: str) -> Object:
    found = {REQUIRED: LAYER, "kueue.x-k8s.io/workload": "w", **annotations}
    return pod(name, on, annotations=found, labels={"kueue.x-k8s.io/podset": "main"})


def workload(assignment: Object | None, conditions: list[Object] | None = None, count: int = 3) -> Object:
    usage = {GPU: str(count), "cpu": f"{count * 500}m"}
    one = {"name": "main", "count": count, "flavors": {GPU: "p5", "cpu": "p5"}, "resourceUsage": usage}
    admission = {"podSetAssignments": [one | {"topologyAssignment": assignment}]} if assignment else None
    owner = {"kind": "PyTorchJob", "name": "train", "controller": True}
    return {
        "metadata": {"name": "w", "namespace": "ns", "ownerReferences": [owner]},
        "spec": {"podSets": [{"name": "main", "count": count, "topologyRequest": {"required": LAYER}}]},
        "status": {"conditions": conditions or []} | ({"admission": admission} if admission else {}),
    }


PACKED = {
    "levels": [HOST],
    "slices": [
        {
            "domainCount": 2,
            "valuesPerLevel": [{"individual": {"prefix": "host-", "roots": ["a", "b"]}}],
            "podCounts": {"individual": [2, 1]},
        }
    ],
}
FLAVOR = {
    "metadata": {"name": "p5"},
    "spec": {"nodeLabels": {"type": "p5"}, "topologyName": "net", "tolerations": [{"key": "team", "operator": "Exists"}]},
}
TOPOLOGY = {"metadata": {"name": "net"}, "spec": {"levels": [{"nodeLabel": LAYER}, {"nodeLabel": HOST}]}}


def server(**lists: list[Object]) -> Lists:
    found = {"/api/v1/nodes": lists.get("nodes", [node("a"), node("b")]), "/api/v1/pods": lists.get("pods", [])}
    base = f"{KUEUE}/v1beta2"
    kueue = {"resourceflavors": [FLAVOR], "topologies": [TOPOLOGY], "workloads": lists.get("workloads", [])}
    return Lists(found | {f"{base}/{kind}": items for kind, items in kueue.items()})


def read(source: Lists) -> Any:
    return read_cluster(source, "c", SilentProgress())  # type: ignore[arg-type]


def test_nodes_and_what_their_pods_take() -> None:
    taint = {"key": "team", "value": "x", "effect": "NoSchedule"}
    resident = pod("logs", "a", 0, ownerReferences=[{"kind": "DaemonSet", "name": "logs"}])
    ended = pod("ended", "a") | {"status": {"phase": "Succeeded"}}
    pods = [pod("other", "a", 2), resident, ended, pod("waiting"), of_job("p", "a")]
    source = server(nodes=[node("a", taints=[taint], unschedulable=True), node("b")], pods=pods)
    source.lists["/api/v1/nodes"][1]["status"]["conditions"][0]["status"] = "Unknown"
    a, b = read(source).layout.nodes
    assert (a.hostname, a.cordoned, a.ready, b.ready) == ("host-a", True, True, False)
    assert a.taints == (Taint("team", "x", "NoSchedule"),)
    assert a.allocatable == {"cpu": 7910, "memory": 16 << 30, GPU: 4, "pods": 10}
    assert (a.used[GPU], a.used["cpu"], a.used["pods"]) == (3, 1500, 3)
    assert (a.foreign[GPU], a.foreign["pods"]) == (2, 2), "pods with a topology are counted by their workload"
    assert (a.resident.get("pods"), a.resident[GPU]) == (1, 0)
    assert dict(b.used) == {}


def test_flavors_have_the_levels_of_their_topology() -> None:
    (flavor,) = read(server()).layout.flavors
    assert (flavor.topology, flavor.levels) == ("net", (LAYER, HOST))
    assert flavor.tolerations == (Toleration("team", "Exists"),)
    lost = server()
    lost.lists[f"{KUEUE}/v1beta2/topologies"] = []
    (flavor,) = read(lost).layout.flavors
    assert (flavor.topology, flavor.levels) == (None, ())
    older = Lists({f"{KUEUE}/v1beta1/resourceflavors": [FLAVOR], f"{KUEUE}/v1alpha1/topologies": [TOPOLOGY]}, "v1beta1")
    assert read(older).layout.flavors[0].levels == (LAYER, HOST)
    assert read(Lists({"/api/v1/nodes": [node("a")]})).layout.flavors == (), "a cluster without Kueue"


def test_what_admitted_workloads_keep_and_how_much_of_it_is_bound() -> None:
    kept = read(server(pods=[of_job("p0", "a"), of_job("p1", "b"), of_job("p2", "b")], workloads=[workload(PACKED)])).layout.holds
    per_pod = {GPU: 1, "cpu": 500}
    assert kept == (
        Hold("p5", "ns/w", "main", ("host-a",), per_pod, 2, 1),
        Hold("p5", "ns/w", "main", ("host-b",), per_pod, 1, 1),
    )
    ended = [{"type": "Finished", "status": "True"}]
    assert read(server(workloads=[workload(PACKED, ended)])).layout.holds == ()
    assert read(server(workloads=[workload(None)])).layout.holds == ()


@pytest.mark.parametrize(
    ("assignment", "domains"),
    [
        (PACKED, {("host-a",): 2, ("host-b",): 1}),
        ({"domains": [{"values": ["host-a"], "count": 2}]}, {("host-a",): 2}),
        (
            {
                "slices": [
                    {
                        "domainCount": 2,
                        "valuesPerLevel": [{"universal": "s"}, {"individual": {"roots": ["1", "2"], "suffix": "-b"}}],
                        "podCounts": {"universal": 4},
                    },
                    {
                        "domainCount": 1,
                        "valuesPerLevel": [{"universal": "t"}, {"universal": "u"}],
                        "podCounts": {"individual": [1]},
                    },
                ]
            },
            {("s", "1-b"): 4, ("s", "2-b"): 4, ("t", "u"): 1},
        ),
        ({}, {}),
    ],
)
def test_topology_assignments_are_unpacked(assignment: Object, domains: dict[tuple[str, ...], int]) -> None:
    assert assigned_domains(assignment) == domains


def test_jobs_and_their_pods() -> None:
    loose = pod(
        "bare", "a", annotations={REQUIRED: LAYER}, ownerReferences=[{"kind": "Job", "name": "by-hand", "controller": True}]
    )
    cluster = read(server(pods=[of_job("p1", "a"), of_job("p0", "a"), loose, pod("plain", "b")], workloads=[workload(PACKED)]))
    by_hand, train = podsets(cluster)
    assert (by_hand.job, by_hand.workload, by_hand.asked, by_hand.count) == ("Job by-hand", "", None, 1)
    assert (train.job, train.flavor, train.count, train.asked) == ("PyTorchJob train", "p5", 3, Wish(required=LAYER))
    assert [(one.name, one.node) for one in train.pods] == [("p0", "a"), ("p1", "a")]
    assert [one.job for one in podsets(cluster, "train")] == ["PyTorchJob train"]
    assert [one.job for one in podsets(cluster, "w", ["ns"])] == ["PyTorchJob train"]
    assert podsets(cluster, "train", ["elsewhere"]) == []
    assert [one.job for one in podsets(cluster, "plain")] == ["Pod plain"], "what is named is looked at in any case"
    (verdict,) = verify_all(podsets(cluster, "train"), cluster.layout)
    assert verdict.state == "waiting"


def test_a_job_that_waits_for_admission_is_told_only_when_named() -> None:
    cluster = read(server(workloads=[workload(None)]))
    assert podsets(cluster) == []
    (waiting,) = podsets(cluster, "train")
    assert (waiting.assigned, waiting.pods, waiting.count) == (None, (), 3)


def test_a_teams_namespace_is_found_by_its_labels_or_its_name() -> None:
    spaces = [
        {"metadata": {"name": "hyperpod-ns-nlp"}},
        {"metadata": {"name": "research", "labels": {"hyperpod-platform/team": "nlp"}}},
        {"metadata": {"name": "aws", "labels": {"sagemaker.amazonaws.com/quota-allocation-id": "nlp"}}},
        {"metadata": {"name": "nlp"}},
    ]
    source: Any = Lists({"/api/v1/namespaces": spaces})
    assert namespaces_of(source, "nlp") == ["hyperpod-ns-nlp", "research", "aws"]


def test_requests_of_a_pod_are_those_that_the_scheduler_counts() -> None:
    def container(cpu: str, **more: Any) -> Object:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    assert pod_amounts({"containers": [container("1"), container("500m")]}) == {"cpu": 1500}
    assert pod_amounts({"containers": [container("1")], "initContainers": [container("3"), container("2")]}) == {"cpu": 3000}
    sidecars = [container("2"), container("1", restartPolicy="Always"), container("2")]
    assert pod_amounts({"containers": [container("1")], "initContainers": sidecars}) == {"cpu": 3000}
    assert pod_amounts({"containers": [container("4")], "initContainers": sidecars}) == {"cpu": 5000}
    assert pod_amounts({"containers": [container("1")], "overhead": {"cpu": "250m", "memory": "1Mi"}}) == {
        "cpu": 1250,
        "memory": 1 << 20,
    }
    assert pod_amounts({"containers": [container("1")], "resources": {"requests": {"cpu": "2"}}}) == {"cpu": 2000}
    assert pod_amounts({"containers": [{}]}) == {}
    limited = container("1") | {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", GPU: "4"}}}
    assert pod_amounts({"containers": [limited]}) == {"cpu": 1000, GPU: 4}, "a limit without a request is the request"
    assert amounts_of({"cpu": "0.1", "memory": "1.5Gi", GPU: "1k", "pods": 3}) == {
        "cpu": 100,
        "memory": 3 << 29,
        GPU: 1000,
        "pods": 3,
    }
    assert amounts_of({"cpu": "100u"}) == {"cpu": 1}, "rounded up, as Kueue does"


def test_what_annotations_ask_for() -> None:
    prefix = "kueue.x-k8s.io/podset"
    assert wish_of({REQUIRED: LAYER}) == Wish(required=LAYER)
    slices = {f"{prefix}-slice-required-topology": LAYER, f"{prefix}-slice-size": "4", f"{prefix}-preferred-topology": HOST}
    assert wish_of(slices) == Wish(preferred=HOST, slice_level=LAYER, slice_size=4)
    assert wish_of({f"{prefix}-unconstrained-topology": "true"}) == Wish(unconstrained=True)
    assert wish_of({f"{prefix}-slice-size": "many"}) == Wish()
