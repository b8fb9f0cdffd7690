"""Elastic jobs: the sizes that they may have, and the workloads that they consist of.

HyperPod's training operator makes a base Workload of the fewest replicas and further ones of the rest, of a lower priority. So
a reclaim takes the elastic part alone, and the job grows back when there is room (AWS, elastic training in HyperPod). Plain Kueue
gets the same from one Job for the base and one for each step of growth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from config.findings import Finding, Where, problem_at, quoted
from governance.jobs.kinds import KINDS, Kind
from governance.jobs.model import MOST_PODS, Elasticity, Order, Part

_MOST_PARTS = 64
"""More Jobs than this for one training run are a mistake in the sizes."""
_DIGITS = 9
"""Longer numbers aren't even read: Python refuses very long ones."""


def elastic_parts(name: str, sizes: Sequence[int], priority: str | None, elastic_priority: str | None) -> tuple[Part, ...]:
    """The workloads of an elastic job with these numbers of pods, ascending: a base of the first, then one for each growth.

    The base is named as the job, the others `<name>-elastic-1` and on. Priorities are names of WorkloadPriorityClasses. Pods of
    all parts add up to the last size. Raises ValueError for sizes that don't ascend from 1 or more.
    """
    if not sizes or sizes[0] < 1 or any(low >= high for low, high in pairwise(sizes)):
        raise ValueError(f"sizes must ascend from 1 or more: {list(sizes)}")
    growth = [
        Part(f"{name}-elastic-{number}", high - low, elastic=True, priority=elastic_priority)
        for number, (low, high) in enumerate(pairwise(sizes), 1)
    ]
    return (Part(name, sizes[0], elastic=False, priority=priority), *growth)


def sizes_of(elastic: Elasticity) -> tuple[int, ...]:
    """Numbers of pods that the job may have, ascending; empty where it isn't elastic, or not soundly so."""
    least, most = elastic.least, elastic.most
    if least is None or most is None or not 1 <= least <= most <= MOST_PODS:
        return ()
    if elastic.discrete is not None:
        values = _values(elastic.discrete) or ()
        sizes = {least, *(value for value in values if least <= value <= most)}
        return tuple(sorted(sizes)) if len(sizes) <= _MOST_PARTS else ()
    step = elastic.increment
    if step is None or step < 1 or (most - least) // step >= _MOST_PARTS:
        return ()
    return tuple(range(least, most + 1, step))


def discrete_values(elastic: Elasticity) -> tuple[int, ...]:
    """The discrete sizes as they are given."""
    return _values(elastic.discrete or "") or ()


def _values(text: str) -> tuple[int, ...] | None:
    """None for what is no list of whole numbers that a job can have."""
    parts = [part.strip() for part in text.split(",")]
    readable = all(part.isascii() and part.isdigit() and len(part) <= _DIGITS for part in parts)
    return tuple(int(part) for part in parts) if readable else None


def elastic_findings(order: Order, kind: Kind | None) -> Iterator[Finding]:
    """Rules of an elastic policy (AWS, HyperPodPyTorchJob elasticPolicy; the HyperPod CLI checks them too)."""
    elastic = order.elastic
    if not elastic.asked:
        if order.elastic_priority is not None:
            remedy = "give --min-replicas and --max-replicas, or leave it out"
            yield _wrong("--elastic-priority", "the job isn't elastic", remedy)
        return
    if kind is not None and not kind.elastic:
        names = " or ".join(name for name, one in KINDS.items() if one.elastic)
        yield _wrong("--min-replicas", f"a {kind.kind} can't be elastic", f"use --kind {names}, or leave the elastic options out")
    for option, seconds in elastic.timeouts.items():
        if seconds < 0:
            yield _wrong(option, f"{seconds} seconds lie in the past", "give 0 or more")
    if order.elastic.timeouts and kind is not None and kind.name == "job":
        option = next(iter(elastic.timeouts))
        yield _wrong(
            option, "only HyperPod's training operator keeps to timeouts", "use --kind hyperpodpytorchjob, or leave it out"
        )
    if elastic.least is None or elastic.most is None:
        missing = "--min-replicas" if elastic.least is None else "--max-replicas"
        yield _wrong(missing, f"an elastic job needs {missing}", "give both --min-replicas and --max-replicas")
        return
    yield from _sizes(elastic, elastic.least, elastic.most)
    counted = order.nodes if order.nodes is not None else order.pods
    if counted is not None and counted != elastic.least:
        message = f"{quoted(counted)} pods are asked for, and {quoted(elastic.least)} at least"
        option = "--nodes" if order.nodes is not None else "--pods"
        yield _wrong(option, message, f"an elastic job begins with --min-replicas: leave {option} out")


def _sizes(elastic: Elasticity, least: int, most: int) -> Iterator[Finding]:
    if least < 1:
        yield _wrong("--min-replicas", f"{quoted(least)} pods train nothing", "give 1 or more")
        return
    if least > most:
        message = f"at most {quoted(most)} pods are fewer than the {quoted(least)} at least"
        yield _wrong("--max-replicas", message, "give --max-replicas above")
        return
    if most > MOST_PODS:
        yield _wrong("--max-replicas", f"{quoted(most)} pods are more than a job can have", f"give {MOST_PODS} at most")
        return
    if (elastic.increment is None) == (elastic.discrete is None):
        told = "both" if elastic.increment is not None else "neither"
        message = f"sizes go by --increment or by --discrete; {told} is given"
        yield _wrong("--increment", message, "give one: --increment 2, or --discrete 2,4,8")
        return
    if elastic.increment is not None:
        yield from _increment(elastic.increment, least, most)
    else:
        yield from _discrete(elastic.discrete or "", least, most)


def _increment(step: int, least: int, most: int) -> Iterator[Finding]:
    if not 1 <= step <= MOST_PODS:
        yield _wrong("--increment", f"{quoted(step)} pods are no growth", f"give 1 or more, {MOST_PODS} at most")
    elif (most - least) % step:
        below = most - (most - least) % step
        message = f"from {least} by {step} never reaches {most}"
        yield _wrong("--increment", message, f"set --max-replicas to {below} or {below + step}, or another increment")
    elif (most - least) // step >= _MOST_PARTS:
        message = f"from {least} to {most} by {step} are {(most - least) // step} steps"
        yield _wrong("--increment", message, f"use a larger one: {_MOST_PARTS - 1} steps at most")


def _discrete(text: str, least: int, most: int) -> Iterator[Finding]:
    values = _values(text)
    if values is None:
        yield _wrong("--discrete", f"{quoted(text)} is no list of numbers of pods", "write them with commas: 2,4,8")
        return
    if list(values) != sorted(set(values)):
        ascending = ",".join(map(str, sorted(set(values))))
        yield _wrong("--discrete", f"{quoted(text)} doesn't ascend", f"write {ascending}")
    if len({least, *values}) > _MOST_PARTS:
        message = f"with --min-replicas they are {len({least, *values})} sizes"
        yield _wrong("--discrete", message, f"name fewer: {_MOST_PARTS} sizes at most")
    outside = [value for value in values if not least <= value <= most]
    if outside:
        message = f"{quoted(', '.join(map(str, outside)))} lies outside of {least} to {most}"
        yield _wrong("--discrete", message, "name sizes from --min-replicas to --max-replicas")


def _wrong(option: str, message: str, remedy: str) -> Finding:
    return problem_at("job-elastic", Where(option), message, remedy)
