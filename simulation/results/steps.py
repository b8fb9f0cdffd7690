"""Amounts that change at moments and stay between them: exact sums of amount × time, in integers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

Steps = list[tuple[int, int]]
"""From each moment on, an amount; before the first moment 0. Moments ascend."""


def steps(changes: Iterable[tuple[int, int]]) -> Steps:
    """The running sum of changes at moments."""
    at: dict[int, int] = {}
    for moment, change in changes:
        at[moment] = at.get(moment, 0) + change
    result: Steps = []
    amount = 0
    for moment in sorted(at):
        if at[moment]:
            amount += at[moment]
            result.append((moment, amount))
    return result


def integral(of: Steps, until: int, value: Callable[[int], int] = lambda amount: amount) -> int:
    """Sum of `value(amount)` × seconds from 0 to `until`; the amount is 0 before the first moment."""
    return sum((end - start) * value(amount) for start, end, amount in spans(of, until))


def spans(of: Steps, until: int) -> Iterator[tuple[int, int, int]]:
    """Start, end and amount, without gaps from 0 to `until`; empty spans are left out."""
    for (start, amount), (end, _) in pairwise([(0, 0), *of, (until, 0)]):
        if min(end, until) > start:
            yield start, min(end, until), amount


def joined(one: Steps, other: Steps, until: int) -> Iterator[tuple[int, int, int]]:
    """Seconds and both amounts, for each span in which neither changes."""
    moments = sorted({0, until, *(m for m, _ in one if m < until), *(m for m, _ in other if m < until)})
    first, second, a, b = 0, 0, 0, 0
    for start, end in pairwise(moments):
        while first < len(one) and one[first][0] <= start:
            a, first = one[first][1], first + 1
        while second < len(other) and other[second][0] <= start:
            b, second = other[second][1], second + 1
        yield end - start, a, b
