"""What a topology map is made of.

Amounts are integers in the units that Kueue counts in, so that nothing is rounded twice: milli-vCPU, bytes, devices, pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from config.environment import HOSTNAME
from governance.nodes import Taint

Amounts = Mapping[str, int]
"""By resource name; one that is missing has 0."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node, and what its pods request."""

    name: str
    labels: Mapping[str, str]
    capacity: Amounts
    allocatable: Amounts
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    cordoned: bool = False
    used: Amounts = field(default_factory=dict)
    """By all pods that are bound to it and haven't ended."""
    foreign: Amounts = field(default_factory=dict)
    """Of these, by pods without a topology: Kueue takes them off what the node has."""
    resident: Amounts = field(default_factory=dict)
    """Of these, by pods that stay when all jobs have ended: of DaemonSets, and static ones."""

    @property
    def hostname(self) -> str:
        """What Kueue knows the node by."""
        return self.labels.get(HOSTNAME, self.name)


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of a flavor; an empty key with `Exists` tolerates everything, an empty effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Whether a pod with it may run on a node with the taint."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.operator == "Exists":
            return self.key in ("", taint.key)
        return (self.key, self.value) == (taint.key, taint.value)


@dataclass(frozen=True, slots=True)
class Flavor:
    """A ResourceFlavor with the levels of its topology."""

    name: str
    """Empty for nodes that no flavor has."""
    node_labels: Mapping[str, str]
    topology: str | None
    """Name of the Topology; None where Kueue doesn't look at the network."""
    levels: tuple[str, ...]
    """Node labels, farthest layer first; of the nodes' own labels where there is no topology."""
    tolerations: tuple[Toleration, ...] = ()

    @property
    def by_node(self) -> bool:
        """Whether the nearest level is the node itself."""
        return self.levels[-1:] == (HOSTNAME,)


@dataclass(frozen=True, slots=True)
class Hold:
    """What Kueue keeps in one domain for an admitted workload."""

    flavor: str
    workload: str
    """`namespace/name`."""
    podset: str
    values: tuple[str, ...]
    """The domain: the host name alone where the nearest level is the node, else one value a level."""
    per_pod: Amounts
    """Without the pod itself, which counts as one of `pods`."""
    count: int
    bound: int
    """How many of its pods are bound to nodes there; at most `count`."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A cluster's nodes, flavors, and what admitted workloads keep."""

    cluster: str
    live: bool
    """Read from a running cluster; else as the declaration has it, with blocks that EC2 will choose otherwise."""
    nodes: tuple[Node, ...]
    flavors: tuple[Flavor, ...]
    holds: tuple[Hold, ...] = ()
