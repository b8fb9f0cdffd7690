"""Where a job's pods stand, against the topology that they ask for and against what Kueue assigned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from config.environment import HOSTNAME
from governance.topologymap.fit import least_domains, pods_in
from governance.topologymap.model import Amounts, Layout, Node
from governance.topologymap.tree import Section, sections

State = Literal["ok", "waiting", "astray", "broken"]
"""`astray`: what is required holds, but pods stand elsewhere than Kueue assigned or ask for something else now."""
STATES: tuple[State, ...] = ("ok", "waiting", "astray", "broken")
"""From the best to the worst."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A pod set's topology request; levels are node labels."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool = False
    slice_level: str | None = None
    slice_size: int = 0

    @property
    def binds(self) -> bool:
        """Whether a placement can break it."""
        return self.required is not None or self.slice_level is not None

    def __str__(self) -> str:
        words = []
        if self.required or self.preferred:
            words.append(f"{'required' if self.required else 'preferred'} {self.required or self.preferred}")
        if self.slice_level:
            words.append(f"slices of {self.slice_size} in one {self.slice_level}")
        return ", ".join(words) or ("unconstrained" if self.unconstrained else "no topology")


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod of a pod set that hasn't ended; `node` is empty until it is bound."""

    name: str
    node: str
    wish: Wish


@dataclass(frozen=True, slots=True)
class PodSet:
    """Equal pods of a job. Without a Workload, Kueue has nothing to do with it."""

    job: str
    """Kind and name of what owns the pods: `Job train`."""
    namespace: str
    workload: str
    """Empty without one."""
    name: str
    flavor: str
    count: int
    """Pods that it shall have."""
    asked: Wish | None
    """What Kueue has read when it made the Workload; None without one."""
    per_pod: Amounts
    assigned: Mapping[tuple[str, ...], int] | None
    """Pods by domain of the nearest level, as Kueue assigned them; None without a topology assignment."""
    levels: tuple[str, ...]
    """Of the assignment."""
    pods: tuple[Pod, ...]
    group: str = ""
    """Pod sets of a workload with the same group are to share a domain; empty without one."""

    @property
    def wish(self) -> Wish:
        """What the pods ask for: the strictest where they differ."""
        wishes = {pod.wish for pod in self.pods} or {self.asked or Wish()}
        return max(wishes, key=lambda wish: (wish.required is not None, wish.slice_level is not None, str(wish)))


@dataclass(frozen=True, slots=True)
class Placement:
    """The verdict on one pod set."""

    podset: PodSet
    state: State
    level: str
    """The level that is looked at: as asked for, else the node."""
    domains: Mapping[str, tuple[str, ...]]
    """Pods by domain of that level."""
    least: int | None
    """With a preference: the fewest domains of the level that would have done, with others as they stand. None where unknown."""
    problems: tuple[str, ...]


def verify_all(podsets: Iterable[PodSet], layout: Layout) -> list[Placement]:
    """A placement for each; pods that aren't bound yet break nothing.

    Groups of pod sets that must be in one domain are looked at together, too.
    """
    nodes, by_flavor = {node.name: node for node in layout.nodes}, {one.flavor.name: one for one in sections(layout)}
    found = [_verify(podset, nodes, by_flavor.get(podset.flavor) if podset.flavor else None) for podset in podsets]
    groups: dict[tuple[str, str, str], set[str]] = {}
    for one in found:
        if one.podset.group and one.podset.wish.required:
            groups.setdefault(_group(one.podset), set()).update(one.domains)
    return [_in_group(one, groups.get(_group(one.podset), set())) for one in found]


def _group(podset: PodSet) -> tuple[str, str, str]:
    return (podset.namespace, podset.workload, podset.group)


def _in_group(placement: Placement, domains: set[str]) -> Placement:
    if len(domains) < 2 or not placement.podset.group:
        return placement
    problem = f"the group {placement.podset.group} must be in one {placement.level}, and is in {', '.join(sorted(domains))}"
    return replace(placement, state="broken", problems=(problem, *placement.problems))


def _verify(podset: PodSet, nodes: Mapping[str, Node], section: Section | None) -> Placement:
    wish = podset.wish
    level = wish.required or wish.preferred or wish.slice_level or HOSTNAME
    levels = section.flavor.levels if section else ()
    bound = [pod for pod in podset.pods if pod.node]
    broken = list(_broken(podset, wish, bound, nodes, levels))
    astray = list(_astray(podset, wish, bound, nodes))
    state: State = "broken" if broken else "astray" if astray else "ok" if len(bound) >= podset.count else "waiting"
    domains: dict[str, list[str]] = {}
    for pod in bound:
        domains.setdefault(_value(nodes.get(pod.node), level, levels) or "", []).append(pod.name)
    least = _least(podset, section, level, len(domains)) if section and wish.preferred else None
    found = {value: tuple(sorted(names)) for value, names in sorted(domains.items())}
    return Placement(podset, state, level, found, least, (*broken, *astray))


def _value(node: Node | None, level: str, levels: tuple[str, ...]) -> str | None:
    """The domain of a node; blocks of equal names under different parents are different ones. None without the label."""
    if node is None:
        return None
    path = levels[: levels.index(level) + 1] if level in levels else (level,)
    values = [node.hostname if one == HOSTNAME else node.labels.get(one) for one in path]
    if HOSTNAME in path:
        return node.hostname
    return "/".join(value for value in values if value) if all(values) else None


def _broken(podset: PodSet, wish: Wish, bound: list[Pod], nodes: Mapping[str, Node], levels: tuple[str, ...]) -> Iterator[str]:
    for level in dict.fromkeys(filter(None, (wish.required, wish.slice_level))):
        for name in sorted({pod.node for pod in bound if _value(nodes.get(pod.node), level, levels) is None}):
            yield f"node {name} {'lacks the label ' + level if name in nodes else 'is gone'}, so it is in no block"
    if wish.required:
        spread = Counter(_value(nodes.get(pod.node), wish.required, levels) or "no block" for pod in bound)
        if len(spread) > 1:
            yield f"{wish.required} must be one, and is {len(spread)}: {_words(spread)}"
    if wish.slice_level and wish.slice_size and len(bound) == podset.count:
        spread = Counter(_value(nodes.get(pod.node), wish.slice_level, levels) or "no block" for pod in bound)
        torn = Counter({value: count for value, count in spread.items() if count % wish.slice_size})
        if torn:
            yield f"slices of {wish.slice_size} must each be in one {wish.slice_level}, and these aren't whole: {_words(torn)}"


def _astray(podset: PodSet, wish: Wish, bound: list[Pod], nodes: Mapping[str, Node]) -> Iterator[str]:
    if podset.asked is not None and podset.pods and _plain(wish) != _plain(podset.asked):
        yield f"the pods ask for {wish} now; Kueue placed them for {podset.asked}"
    if podset.assigned is None:
        if podset.asked is None and wish.binds:
            yield "there is no Workload: Kueue didn't place these pods"
        return
    standing = Counter(_place(nodes.get(pod.node), podset.levels) or (pod.node,) for pod in bound)
    for values, count in sorted(standing.items()):
        if count > podset.assigned.get(values, 0):
            yield f"{count} on {'/'.join(values)}, where Kueue assigned {podset.assigned.get(values, 0)}"


def _plain(wish: Wish) -> Wish:
    """Kueue writes `unconstrained` to pods that ask for nothing."""
    return Wish() if wish == Wish(unconstrained=True) else replace(wish, unconstrained=False)


def _place(node: Node | None, levels: tuple[str, ...]) -> tuple[str, ...] | None:
    if node is None:
        return None
    return tuple(node.hostname if level == HOSTNAME else node.labels.get(level, "") for level in levels)


def _words(spread: Counter[str]) -> str:
    return ", ".join(f"{value} ({count} pod{'s' * (count > 1)})" for value, count in sorted(spread.items()))


def _least(podset: PodSet, section: Section, level: str, domains: int) -> int | None:
    """With what this pod set holds given back, and all others as they are."""
    if domains < 2 or not podset.per_pod or podset.assigned is None:
        return domains if domains == 1 else None
    own = (f"{podset.namespace}/{podset.workload}", podset.name)
    without = replace(section, holds=tuple(hold for hold in section.holds if (hold.workload, hold.podset) != own))
    bound = sum(bool(pod.node) for pod in podset.pods)
    return least_domains((pods_in(without, domain, podset.per_pod) for domain in without.level(level)), bound)
