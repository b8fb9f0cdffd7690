"""Reading a cluster's topology: nodes, flavors, what pods and admitted workloads take, and where the pods of jobs stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from governance.model import ClusterPlan
from governance.names import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from governance.nodes import Taint, nodes
from governance.topologymap.model import Amounts, Flavor, Hold, Layout, Node, Toleration
from governance.topologymap.placement import Wish
from governance.units import PODS
from live.kube import Reader
from live.podamounts import amounts_of, pod_amounts

Object = dict[str, Any]
KUEUE: Final = "/apis/kueue.x-k8s.io"
PODSET_LABEL: Final = "kueue.x-k8s.io/podset"
WORKLOAD_ANNOTATION: Final = "kueue.x-k8s.io/workload"
_UNCONSTRAINED: Final = "kueue.x-k8s.io/podset-unconstrained-topology"
_SLICES: Final = "kueue.x-k8s.io/podset-slice-required-topology"
_SLICE_SIZE: Final = "kueue.x-k8s.io/podset-slice-size"
_WITH_TOPOLOGY: Final = (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, _UNCONSTRAINED, _SLICES)
_TAS_LABEL: Final = "kueue.x-k8s.io/tas"
_ENDED: Final = ("Failed", "Succeeded")


class Progress(Protocol):
    """Where progress is shown."""

    def step(self, text: str) -> None: ...


@dataclass(frozen=True)
class Cluster:
    """A running cluster as it was read, all at about the same time."""

    layout: Layout
    pods: tuple[Object, ...]
    """That haven't ended."""
    workloads: tuple[Object, ...]
    """Of Kueue, that haven't ended."""


def read_cluster(reader: Reader, name: str, progress: Progress) -> Cluster:
    """Read everything that a map and its checks need. Raises ApiError, UnreachableError.

    A cluster without Kueue has nodes and pods alone.
    """
    progress.step(f"{name}: reading nodes")
    found = list(reader.pages("/api/v1/nodes"))
    progress.step(f"{name}: reading pods")
    pods = tuple(pod for pod in reader.pages("/api/v1/pods") if pod.get("status", {}).get("phase") not in _ENDED)
    progress.step(f"{name}: reading Kueue's flavors, topologies and workloads")
    version = _version(reader)
    kueue = f"{KUEUE}/{version}"
    flavors = reader.items(f"{kueue}/resourceflavors")
    topologies = reader.items(f"{kueue}/topologies") or reader.items(f"{KUEUE}/v1alpha1/topologies")
    workloads = tuple(one for one in reader.pages(f"{kueue}/workloads") if not has_condition(one, "Finished"))
    levels = {one["metadata"]["name"]: tuple(level["nodeLabel"] for level in one["spec"]["levels"]) for one in topologies}
    live = tuple(_nodes(found, pods))
    hosts = {node.name: node for node in live}
    own = pods_by_workload(pods)
    holds = tuple(hold for one in workloads for hold in _holds(one, own, hosts))
    return Cluster(Layout(name, True, live, tuple(_flavor(one, levels) for one in flavors), holds), pods, workloads)


def declared_layout(cluster: ClusterPlan) -> Layout:
    """A cluster's nodes as its sandbox has them: empty, in blocks that the declaration makes up."""
    specs = nodes(cluster)
    return Layout(
        cluster.name,
        False,
        tuple(
            Node(spec.name, spec.labels, amounts_of(spec.capacity), amounts_of(spec.allocatable), spec.taints) for spec in specs
        ),
        tuple(
            Flavor(
                flavor.name,
                flavor.node_labels,
                flavor.topology.name if flavor.topology else None,
                flavor.topology.levels if flavor.topology else (),
                tuple(Toleration(one.key, "Equal", one.value, one.effect) for one in flavor.tolerations),
            )
            for flavor in sorted(cluster.flavors.values(), key=lambda one: one.name)
        ),
    )


def wish_of(annotations: Mapping[str, str]) -> Wish:
    """The topology request in a pod's annotations."""
    size = annotations.get(_SLICE_SIZE, "")
    return Wish(
        required=annotations.get(REQUIRED_TOPOLOGY),
        preferred=annotations.get(PREFERRED_TOPOLOGY),
        unconstrained=annotations.get(_UNCONSTRAINED) == "true",
        slice_level=annotations.get(_SLICES),
        slice_size=int(size) if size.isdecimal() else 0,
    )


def has_condition(workload: Object, kind: str) -> bool:
    """Whether a condition of an object is True."""
    conditions = workload.get("status", {}).get("conditions") or ()
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)


def pods_by_workload(pods: Iterable[Object]) -> dict[tuple[str, str, str], list[Object]]:
    """Pods by namespace, Workload and pod set, of those that Kueue has started."""
    found: dict[tuple[str, str, str], list[Object]] = {}
    for pod in pods:
        meta = pod["metadata"]
        workload = (meta.get("annotations") or {}).get(WORKLOAD_ANNOTATION)
        if workload:
            key = (meta["namespace"], workload, (meta.get("labels") or {}).get(PODSET_LABEL, ""))
            found.setdefault(key, []).append(pod)
    return found


def assigned_domains(assignment: Object) -> dict[tuple[str, ...], int]:
    """Pods by domain, of a topology assignment: of v1beta2, which packs values, or of v1beta1."""
    found: Counter[tuple[str, ...]] = Counter()
    for domain in assignment.get("domains") or ():
        found[tuple(domain["values"])] += domain["count"]
    for part in assignment.get("slices") or ():
        for index in range(part["domainCount"]):
            values = tuple(_value(level, index) for level in part["valuesPerLevel"])
            counts = part["podCounts"]
            found[values] += counts["universal"] if counts.get("universal") is not None else counts["individual"][index]
    return dict(found)


def _value(level: Object, index: int) -> str:
    if level.get("universal") is not None:
        return str(level["universal"])
    each = level["individual"]
    return f"{each.get('prefix', '')}{each['roots'][index]}{each.get('suffix', '')}"


def per_pod_of(assignment: Object) -> Amounts:
    """What one pod of an admitted pod set takes, as Kueue counts it."""
    count = assignment.get("count") or 0
    usage = amounts_of(assignment.get("resourceUsage") or {})
    return {resource: amount // count for resource, amount in usage.items()} if count else {}


def assignments(workload: Object) -> Iterator[Object]:
    """The pod sets of an admitted workload that have a place in a topology."""
    admission = workload.get("status", {}).get("admission") or {}
    yield from (one for one in admission.get("podSetAssignments") or () if one.get("topologyAssignment"))


def _version(reader: Reader) -> str:
    group = reader.get(KUEUE) or {}
    served = {one["version"] for one in group.get("versions") or ()}
    return "v1beta2" if "v1beta2" in served or not served else "v1beta1"


def _flavor(flavor: Object, levels: Mapping[str, tuple[str, ...]]) -> Flavor:
    spec = flavor.get("spec") or {}
    topology = spec.get("topologyName")
    tolerations = tuple(
        Toleration(one.get("key", ""), one.get("operator") or "Equal", one.get("value", ""), one.get("effect", ""))
        for one in spec.get("tolerations") or ()
    )
    known = str(topology) if topology in levels else None
    return Flavor(flavor["metadata"]["name"], spec.get("nodeLabels") or {}, known, levels.get(known or "", ()), tolerations)


def _nodes(found: Iterable[Object], pods: Iterable[Object]) -> Iterator[Node]:
    used, foreign, resident = (dict[str, Counter[str]]() for _ in range(3))
    for pod in pods:
        name = pod["spec"].get("nodeName")
        if name:
            asked = {name: amount for name, amount in pod_amounts(pod["spec"]).items() if amount} | {PODS: 1}
            kinds = ((used, True), (foreign, not _has_topology(pod)), (resident, _stays(pod)))
            for sums in (sums for sums, counts in kinds if counts):
                sums.setdefault(name, Counter()).update(asked)
    for node in sorted(found, key=lambda one: str(one["metadata"]["name"])):
        meta, spec, status = node["metadata"], node.get("spec") or {}, node.get("status") or {}
        name = meta["name"]
        yield Node(
            name,
            meta.get("labels") or {},
            amounts_of(status.get("capacity") or {}),
            amounts_of(status.get("allocatable") or {}),
            tuple(Taint(one["key"], one.get("value", ""), one["effect"]) for one in spec.get("taints") or ()),
            has_condition(node, "Ready"),
            bool(spec.get("unschedulable")),
            used.get(name, {}),
            foreign.get(name, {}),
            resident.get(name, {}),
        )


def _has_topology(pod: Object) -> bool:
    """Whether Kueue counts it by its workload's assignment, and not by the pod."""
    meta = pod["metadata"]
    return _TAS_LABEL in (meta.get("labels") or {}) or any(one in (meta.get("annotations") or {}) for one in _WITH_TOPOLOGY)


def _stays(pod: Object) -> bool:
    """Whether the pod belongs to its node: of a DaemonSet, or static (owned by the Node)."""
    return any(owner.get("kind") in ("DaemonSet", "Node") for owner in pod["metadata"].get("ownerReferences") or ())


def _holds(workload: Object, pods: Mapping[tuple[str, str, str], list[Object]], nodes: Mapping[str, Node]) -> Iterator[Hold]:
    meta = workload["metadata"]
    for one in assignments(workload):
        name, flavors = f"{meta['namespace']}/{meta['name']}", sorted(set((one.get("flavors") or {}).values()))
        levels = one["topologyAssignment"]["levels"]
        own = pods.get((meta["namespace"], meta["name"], one["name"]), ())
        bound = Counter(place(nodes, pod["spec"].get("nodeName"), levels) for pod in own)
        for values, count in assigned_domains(one["topologyAssignment"]).items():
            for flavor in flavors:
                yield Hold(flavor, name, one["name"], values, per_pod_of(one), count, min(count, bound[values]))


def place(nodes: Mapping[str, Node], name: str | None, levels: Iterable[str]) -> tuple[str, ...] | None:
    """A node's domain on the levels of an assignment; None for one that is gone, and for no node."""
    node = nodes.get(name or "")
    if node is None:
        return None
    return tuple(node.hostname if level == "kubernetes.io/hostname" else node.labels.get(level, "") for level in levels)
