"""Running cases on a sandbox, and telling what Kueue decided.

Cases are independent: each starts with nothing of another in its queues or on its nodes, and leaves nothing. Jobs carry the label
`hyperpod-platform/case`, so that the next run removes what a killed one has left.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from governance.model import ClusterPlan, Plan
from simulation import fleet
from simulation.cases import Case
from simulation.cluster import Cluster
from simulation.readiness import check_free, check_plan, check_queues
from simulation.rows import CaseRow
from simulation.script import Script

__all__ = ["CaseRow", "run"]


def run(
    plan: Plan,
    cluster: str,
    kubeconfig: Path,
    cases: Sequence[Case],
    on_row: Callable[[CaseRow], None],
    on_step: Callable[[str], None],
) -> list[CaseRow]:
    """Run the cases; a row for each expectation, in the order of the cases.

    Cases that share neither teams nor instance types run side by side. `on_row` gets each row as soon as it is there, `on_step`
    is told in words what happens; neither is called by two threads at once. An expectation that fails only makes its row differ.
    Whatever ends the run, Ctrl-C included, the jobs are removed and the nodes put back first.

    Raises DemoError (a SandboxError) where the cluster is not in the state that cases need: it isn't a sandbox or doesn't answer,
    the plan's queues aren't there, or others use their quota.
    """
    found = check_plan(plan, cluster)
    with Cluster(kubeconfig) as live:
        check_queues(live, found, cases)
        stage = _Stage(found, live, on_row, on_step)
        try:
            stage.clean()
            stage.play(lanes(cases))
        except BaseException:
            stage.clean()  # before a word is said: whom we speak to may be what failed
            raise
    return [row for case in cases for row in stage.rows[case.name]]


def lanes(cases: Sequence[Case]) -> list[list[Case]]:
    """Cases that must not run at the same time, together: those that share a team or an instance type, also by way of a third."""
    found: list[list[Case]] = []
    for case in cases:
        near = [lane for lane in found if any(_touch(case, other) for other in lane)]
        found = [lane for lane in found if lane not in near]
        found.append([*(other for lane in near for other in lane), case])
    return found


def _touch(one: Case, other: Case) -> bool:
    return not (one.teams.isdisjoint(other.teams) and one.instance_types.isdisjoint(other.instance_types))


class _Stage:
    """What the cases of one run share."""

    def __init__(
        self, plan: ClusterPlan, live: Cluster, on_row: Callable[[CaseRow], None], on_step: Callable[[str], None]
    ) -> None:
        self.rows: defaultdict[str, list[CaseRow]] = defaultdict(list)
        self._plan = plan
        self._live = live
        self._on_row = on_row
        self._on_step = on_step
        self._speaking = threading.Lock()

    def on_row(self, row: CaseRow) -> None:
        with self._speaking:
            self.rows[row.case].append(row)
            self._on_row(row)

    def on_step(self, text: str) -> None:
        with self._speaking:
            self._on_step(text)

    def play(self, found: Sequence[Sequence[Case]]) -> None:
        """Run the lanes side by side; the first failure calls the others off."""
        with ThreadPoolExecutor(max(1, len(found))) as pool:
            running = [pool.submit(self._lane, lane) for lane in found]
            try:
                for one in as_completed(running):
                    one.result()
            except BaseException:
                self._live.call_off()
                raise

    def _lane(self, cases: Sequence[Case]) -> None:
        for case in cases:
            check_free(self._live, self._plan, case)
            Script(case, self._plan, self._live, self.on_row, self.on_step).run()
            self._live.clear(case.name)
            if case.groups:
                fleet.restore(self._live, self._plan, case.groups)

    def clean(self) -> None:
        """Remove all jobs of cases and put back all nodes, whichever run has started or changed them."""
        self._live.clear()
        fleet.restore(self._live, self._plan, self._plan.groups)
