"""Lending, borrowing, and how far a queue can reach."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import ProjectData, planned, projects

from config.team import Sharing
from governance.model import ClusterPlan
from governance.sharing import Member, Quota, limits, parents_first, potentials
from governance.units import CPU, GPU, percent

CELL = ("flavor", GPU)


@dataclass
class Node:
    """A ClusterQueue or Cohort of Kueue, for one flavor and resource: facts of pkg/cache/scheduler/resource_node.go."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)

    def subtree(self) -> int:
        return self.nominal + sum(child.subtree() - child.local() for child in self.children)

    def local(self) -> int:
        return 0 if self.lending_limit is None else max(0, self.subtree() - self.lending_limit)

    def potential(self) -> int:
        if self.parent is None:
            return self.subtree()
        available = self.local() + self.parent.potential()
        return available if self.borrowing_limit is None else min(self.subtree() + self.borrowing_limit, available)


def tree_of(cohorts: list[Member], queues: list[Member], cell: tuple[str, str]) -> dict[str, Node]:
    """Kueue's own view of the members, by name."""
    nodes = {}
    for member in (*cohorts, *queues):
        quota = member.cells.get(cell, Quota(cell[1], 0))
        nodes[member.name] = Node(quota.nominal, quota.borrowing_limit, quota.lending_limit)
    for member in (*cohorts, *queues):
        if member.parent is not None:
            nodes[member.name].parent = nodes[member.parent]
            nodes[member.parent].children.append(nodes[member.name])
    return nodes


quota_sizes = st.integers(0, 60)
maybe = st.one_of(st.none(), quota_sizes)


@st.composite
def forests(draw: st.DrawFn) -> tuple[list[Member], list[Member]]:
    """Nested cohorts, some with amounts and limits of their own, and queues with any limits, in any place or outside."""
    names = [f"c{n}" for n in range(draw(st.integers(1, 5)))]
    cohorts = []
    for index, name in enumerate(names):
        parent = draw(st.sampled_from([None, *names[:index]])) if index else None
        bounds = (draw(maybe), draw(maybe)) if parent else (None, None)
        cells = {CELL: Quota(GPU, draw(quota_sizes), *bounds)} if draw(st.booleans()) else {}
        cohorts.append(Member(name, parent, cells))
    queues = []
    for number in range(draw(st.integers(0, 8))):
        nominal = draw(quota_sizes)
        lending = draw(st.one_of(st.none(), st.integers(0, nominal)))
        parent = draw(st.sampled_from([None, *names]))
        quota = Quota(GPU, nominal, draw(maybe), lending) if parent else Quota(GPU, nominal)
        queues.append(Member(f"q{number}", parent, {CELL: quota}))
    draw(st.randoms()).shuffle(cohorts)
    return cohorts, queues


@given(forests())
def test_reach_is_kueues(forest: tuple[list[Member], list[Member]]) -> None:
    cohorts, queues = forest
    oracle = tree_of(cohorts, queues, CELL)
    reach = potentials(cohorts, queues)
    assert list(reach) == [queue.name for queue in queues]
    for queue in queues:
        assert reach[queue.name][CELL] == oracle[queue.name].potential()


@given(forests())
def test_reach_is_at_least_the_guarantee_and_at_most_everything(forest: tuple[list[Member], list[Member]]) -> None:
    cohorts, queues = forest
    everything = sum(quota.nominal for member in (*cohorts, *queues) for quota in member.cells.values())
    for name, cells in potentials(cohorts, queues).items():
        nominal = next(queue for queue in queues if queue.name == name).cells[CELL].nominal
        assert nominal <= cells[CELL] <= everything


@pytest.mark.parametrize(
    ("borrowing", "lending", "inside", "outside"),
    [(None, None, 30, 30), (4, None, 14, 30), (None, 3, 30, 23), (0, 0, 10, 20), (100, 100, 30, 30)],
)
def test_limits_of_a_cohort_bound_all_below_it(borrowing: int | None, lending: int | None, inside: int, outside: int) -> None:
    """A department of 10 beside a queue of 20: four of the department's own, six of a queue in it."""
    department = Member("department", "root", {CELL: Quota(GPU, 4, borrowing, lending)})
    queues = [Member("in", "department", {CELL: Quota(GPU, 6)}), Member("beside", "root", {CELL: Quota(GPU, 20)})]
    cohorts = [Member("root", None, {}), department]
    assert potentials(cohorts, queues) == {"in": {CELL: inside}, "beside": {CELL: outside}}
    oracle = tree_of(cohorts, queues, CELL)
    assert (oracle["in"].potential(), oracle["beside"].potential()) == (inside, outside)


def test_reach_in_a_chain_of_ten_thousand_cohorts() -> None:
    """No recursion, and no cost beyond their number."""
    cohorts = [Member("c0", None, {CELL: Quota(GPU, 5)})] + [Member(f"c{n}", f"c{n - 1}", {}) for n in range(1, 10_000)]
    queues = [Member("deep", "c9999", {CELL: Quota(GPU, 1)}), Member("top", "c0", {CELL: Quota(GPU, 2, 1, 0)})]
    assert potentials(cohorts, queues) == {"deep": {CELL: 6}, "top": {CELL: 3}}


def members(cluster: ClusterPlan) -> tuple[list[Member], list[Member]]:
    def cells(flavors: Any) -> dict[tuple[str, str], Quota]:
        return {(flavor.flavor, quota.resource): quota for flavor in flavors for quota in flavor.quotas}

    return (
        [Member(cohort.name, cohort.parent, cells(cohort.pool)) for cohort in cluster.cohorts],
        [Member(f"team {team.name}", team.cohort, cells(team.flavors)) for team in cluster.teams.values()],
    )


@given(projects())
def test_the_largest_job_of_every_team_is_kueues(made: ProjectData) -> None:
    for cluster in planned(made).clusters.values():
        cohorts, queues = members(cluster)
        for team in cluster.teams.values():
            assert set(team.largest) == {(flavor.flavor, r) for flavor in team.flavors for r in team.covered}
            for cell, most in team.largest.items():
                assert most == tree_of(cohorts, queues, cell)[f"team {team.name}"].potential()


def test_parents_come_first_and_each_level_is_sorted() -> None:
    assert parents_first({"d": "b", "b": None, "a": None, "c": "a", "e": "c"}) == ["a", "b", "c", "d", "e"]
    assert parents_first({}) == []
    assert parents_first({"a": "b", "b": "a", "c": None}) == ["c"]


@pytest.mark.parametrize(
    ("sharing", "expected"),
    [
        # strategy and limits → (borrowing limit, lending limit) of 3 GPUs
        ({"strategy": "lend"}, (0, None)),
        ({"strategy": "lend_and_borrow"}, (1, None)),
        ({"strategy": "lend_and_borrow", "borrow_limit": 0}, (0, None)),
        ({"strategy": "lend_and_borrow", "borrow_limit": 100}, (3, None)),
        ({"strategy": "lend_and_borrow", "borrow_limit": 250}, (7, None)),
        ({"strategy": "lend", "lend_limit": 50}, (0, 1)),
        ({"strategy": "lend", "lend_limit": 0}, (0, 0)),
        ({"strategy": "lend", "lend_limit": 100}, (0, None)),
        ({"strategy": "dont_lend"}, (0, 0)),
    ],
)
def test_limits_in_a_cohort(sharing: dict[str, Any], expected: tuple[int | None, int | None]) -> None:
    quota = limits(Sharing.model_validate(sharing), GPU, 3, in_cohort=True, borrow=None, lend=None)
    assert (quota.nominal, quota.borrowing_limit, quota.lending_limit) == (3, *expected)


def test_no_limits_outside_a_cohort() -> None:
    """Kueue refuses them there."""
    assert limits(Sharing(strategy="dont_lend"), GPU, 3, in_cohort=False, borrow=None, lend=None) == Quota(GPU, 3)


def test_absolute_limits_stand_in_place_of_percentages() -> None:
    sharing = Sharing.model_validate({"borrow": {"ml.p5.48xlarge": {"accelerators": 4}}})
    assert limits(sharing, GPU, 3, in_cohort=True, borrow={GPU: 4, CPU: 1}, lend=None).borrowing_limit == 4
    assert limits(sharing, "memory", 3, in_cohort=True, borrow={GPU: 4, CPU: 1}, lend=None).borrowing_limit == 0
    assert limits(sharing, GPU, 3, in_cohort=True, borrow=None, lend=None).borrowing_limit == 0
    lending = Sharing.model_validate({"lend": {"ml.p5.48xlarge": {"accelerators": 2}}})
    assert limits(lending, GPU, 3, in_cohort=True, borrow=None, lend={GPU: 2}).lending_limit == 2
    assert limits(lending, GPU, 3, in_cohort=True, borrow=None, lend=None).lending_limit is None


@given(
    st.sampled_from(["lend", "dont_lend", "lend_and_borrow"]), st.integers(0, 10**7), st.integers(0, 10_000), st.integers(0, 100)
)
def test_limits_are_what_kueue_accepts(strategy: Any, nominal: int, borrow: int, lend: int) -> None:
    sharing = Sharing(
        strategy=strategy,
        borrow_limit=borrow if strategy == "lend_and_borrow" else None,
        lend_limit=None if strategy == "dont_lend" else lend,
    )
    quota = limits(sharing, GPU, nominal, in_cohort=True, borrow=None, lend=None)
    assert quota.borrowing_limit is not None
    assert quota.borrowing_limit >= 0
    assert quota.lending_limit is None or 0 <= quota.lending_limit <= nominal
    if strategy == "lend_and_borrow":
        assert quota.borrowing_limit == percent(nominal, borrow)
