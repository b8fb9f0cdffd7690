"""What a replay must never show, whatever the trace: Kueue's promises to teams, checked tick by tick on what it did.

What a preemption frees within a tick goes to whom Kueue looks at next, since its queues are BestEffortFIFO: so order is not
judged in a cohort in which somebody was preempted in the tick. And where Kueue preempts in a circle for ever, somebody always
waits for what is theirs: that is told by the replay itself.

The rules hold for platforms without overcommit. Sources: Kueue's documentation of quota, borrowing and preemption (what a
queue has lent it can always have back where `reclaimWithinCohort` is `Any`), and the plan's own limits.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from governance.model import ClusterPlan, TeamPlan, cells
from governance.quotas import node_resources
from governance.sharing import Cell, Quota, shared
from governance.units import PODS
from simulation.replay.lookups import cohort_roots, roots
from simulation.replay.model import Event, Replay
from simulation.traces.model import Job


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that was broken."""

    rule: str
    """`guarantee`, `fifo`, `priority`, `capacity`, `borrowing-limit`, `lending-limit`, `topology` or `sequence`."""
    at: int
    """The tick after which it was seen first, in seconds of the trace's time."""
    subject: str
    """The job or the team that it is about."""
    message: str
    ticks: int = 1
    """How many ticks in succession it lasted."""


@dataclass(slots=True)
class _State:
    """What runs and what waits after a tick."""

    running: dict[str, Event] = field(default_factory=dict)
    """The admission of each running job."""
    waiting: set[str] = field(default_factory=set)
    over: set[str] = field(default_factory=set)
    arrived: dict[str, int] = field(default_factory=dict)
    """The tick in which each job came."""

    def place(self, name: str) -> str:
        """Where a job is: `new`, `waiting`, `running` or `over`."""
        if name in self.running:
            return "running"
        if name in self.waiting:
            return "waiting"
        return "over" if name in self.over else "new"


def audit(plan: ClusterPlan, jobs: Iterable[Job], replay: Replay) -> list[Violation]:
    """Every broken promise, each once, with how long it lasted; in the order of time."""
    auditor = _Auditor(plan, {job.name: job for job in jobs}, replay.circles)
    found: list[Violation] = []
    lasting: dict[tuple[str, str], Violation] = {}
    for at, group in groupby(replay.events, key=lambda event: event.at):
        now = {(one.rule, one.subject): one for one in auditor.tick(at, list(group))}
        found += [one for key, one in lasting.items() if key not in now]
        lasting = {key: _longer(lasting[key]) if key in lasting else one for key, one in now.items()}
    found += lasting.values()
    return sorted(found, key=lambda one: (one.at, one.rule, one.subject))


def _longer(one: Violation) -> Violation:
    return Violation(one.rule, one.at, one.subject, one.message, one.ticks + 1)


class _Auditor:
    def __init__(self, plan: ClusterPlan, jobs: Mapping[str, Job], circles: Mapping[str, int]) -> None:
        self._plan = plan
        self._jobs = jobs
        self._roots = roots(plan)
        self._circles = {self._roots[jobs[name].team]: at for name, at in circles.items()}
        """The first tick of a circle, by root cohort."""
        self._priority = {one.declared: one.value for one in plan.priority_classes}
        self._quotas = {name: cells(team.flavors) for name, team in plan.teams.items()}
        self._flavors = {kind: flavor.name for kind, flavor in plan.flavors.items()}
        self._kinds = {flavor.name: kind for kind, flavor in plan.flavors.items()}
        self._levels = {flavor.name: flavor.topology.levels for flavor in plan.flavors.values() if flavor.topology}
        self._in_parts = {job.instance_type for job in jobs.values() if not self._whole_nodes(job)}
        """Types of which jobs ask for parts of nodes; None: any type."""
        self._state = _State()

    def tick(self, at: int, events: Sequence[Event]) -> Iterator[Violation]:
        """What is wrong after the events of one tick."""
        before = frozenset(self._state.waiting)
        for event in events:
            yield from self._apply(event)
        used = self._usage(self._state.running)
        yield from self._limits(at, used)
        yield from self._guarantees(at)
        admitted = {event.job for event in events if event.kind == "admitted"} & self._state.running.keys()
        unrest = {self._roots[self._jobs[event.job].team] for event in events if event.kind == "preempted"}
        orderly = {name for name in admitted if self._roots[self._jobs[name].team] not in unrest}
        yield from self._fifo(at, before, orderly)
        yield from self._ranks(at, before, orderly)
        for name in sorted(admitted):
            yield from self._topology(at, self._jobs[name], self._state.running[name])

    # -- what happened ---------------------------------------------------------------------------------------------------

    def _apply(self, event: Event) -> Iterator[Violation]:
        """Follow one event; one that can't come next is a broken promise of the replay's own."""
        state, name = self._state, event.job
        place = state.place(name)
        if place not in _COMES_AFTER[event.kind]:
            yield Violation("sequence", event.at, name, f"`{name}` was {event.kind} while it was {place}")
        state.arrived.setdefault(name, event.at)
        state.running.pop(name, None)
        state.waiting.discard(name)
        if event.kind == "admitted":
            state.running[name] = event
        elif event.kind in ("arrived", "preempted"):
            state.waiting.add(name)
        else:
            state.over.add(name)

    def _usage(self, running: Mapping[str, Event]) -> dict[str, dict[Cell, int]]:
        """By team."""
        used: dict[str, dict[Cell, int]] = {team: defaultdict(int) for team in self._plan.teams}
        for name, event in running.items():
            of_team = used[self._jobs[name].team]
            for cell, amount in event.usage.items():
                of_team[cell] += amount
        return used

    # -- limits ----------------------------------------------------------------------------------------------------------

    def _limits(self, at: int, used: Mapping[str, Mapping[Cell, int]]) -> Iterator[Violation]:
        total: dict[Cell, int] = defaultdict(int)
        for team, amounts in used.items():
            for cell, amount in amounts.items():
                total[cell] += amount
                quota = self._quotas[team].get(cell, Quota(cell[1], 0, 0))
                most = self._plan.teams[team].largest.get(cell, 0)
                if amount > most:
                    message = f"{team} uses {amount} of {cell[1]} in {cell[0]}; {most} is the most that it may"
                    yield Violation("borrowing-limit", at, f"{team} {cell}", message)
                elif quota.borrowing_limit is not None and amount > quota.nominal + quota.borrowing_limit:
                    message = f"{team} uses {amount} of {cell[1]} in {cell[0]}: more than quota and borrowing limit"
                    yield Violation("borrowing-limit", at, f"{team} {cell}", message)
        for cell, amount in total.items():
            held = self._plan.capacity.get(self._kinds.get(cell[0], ""), {}).get(cell[1], 0)
            if cell[1] != PODS and amount > held:
                yield Violation("capacity", at, str(cell), f"{amount} of {cell[1]} in {cell[0]} are in use, of {held}")
        yield from self._lending(at, used, total)

    def _lending(self, at: int, used: Mapping[str, Mapping[Cell, int]], total: Iterable[Cell]) -> Iterator[Violation]:
        """What a team doesn't lend stays free for it, whoever else wants it."""
        for cell in total:
            if cell[1] == PODS:
                continue
            for names, pooled in self._sharing(cell):
                quotas = {team: self._quotas[team][cell] for team in names}
                there = pooled + sum(quota.nominal for quota in quotas.values())
                taken = sum(max(used[team].get(cell, 0), quota.nominal - shared(quota)) for team, quota in quotas.items())
                if taken > there:
                    message = f"of {cell[1]} in {cell[0]}, {taken - there} are used that their owner doesn't lend"
                    yield Violation("lending-limit", at, f"{' '.join(names)} {cell}", message)

    def _sharing(self, cell: Cell) -> Iterator[tuple[list[str], int]]:
        """Teams that share a cell with each other, and what of it their cohorts hold beside."""
        above = cohort_roots(self._plan)
        pools: dict[str, int] = defaultdict(int)
        for cohort in self._plan.cohorts:
            if (quota := cells(cohort.pool).get(cell)) is not None:
                pools[above[cohort.name]] += quota.nominal
        together: dict[str, list[str]] = defaultdict(list)
        for name, quotas in self._quotas.items():
            if cell in quotas:
                cohort_of = self._plan.teams[name].cohort
                together[f"team {name}" if cohort_of is None else above[cohort_of]].append(name)
        for root, names in sorted(together.items()):
            yield names, pools[root]

    # -- promises to those who wait --------------------------------------------------------------------------------------

    def _guarantees(self, at: int) -> Iterator[Violation]:
        """Jobs that wait though they fit into their team's quota beside what ranks at least as high in its queue."""
        waiting: dict[tuple[str, int], list[Job]] = defaultdict(list)
        for name in sorted(self._state.waiting):
            job = self._jobs[name]
            waiting[(job.team, self._rank(job))].append(job)
        running: dict[str, list[str]] = defaultdict(list)
        for name in self._state.running:
            running[self._jobs[name].team].append(name)
        for (owner, rank), jobs in waiting.items():
            team = self._plan.teams.get(owner)
            if team is None or team.state != "active" or at >= self._circles.get(self._roots[owner], at + 1):
                continue
            stays = [n for n in running[owner] if team.within_queue == "Never" or self._rank(self._jobs[n]) >= rank]
            kept: Counter[Cell] = Counter()
            for name in stays:
                kept.update(self._state.running[name].usage)
            for job in jobs:
                if self._fits(job, team, kept) and not self._may_not_fit(job):
                    message = (
                        f"`{job.name}` waits though it fits into the guarantee of {owner} beside what ranks at least as high"
                    )
                    yield Violation("guarantee", at, job.name, message)

    def _fits(self, job: Job, team: TeamPlan, kept: Mapping[Cell, int]) -> bool:
        wanted, quotas = self._wanted(job, team), self._quotas[team.name]
        return wanted is not None and all(
            cell in quotas and kept.get(cell, 0) + amount <= quotas[cell].nominal for cell, amount in wanted.items()
        )

    def _wanted(self, job: Job, team: TeamPlan) -> dict[Cell, int] | None:
        """What the job takes of its queue; None where that is Kueue's choice of a flavor."""
        kind = job.instance_type or (team.flavors[0].instance_type if len(team.flavors) == 1 else None)
        if kind is None or kind not in self._flavors:
            return None
        requests = job.requests() | ({PODS: job.pods} if PODS in team.covered else {})
        return {(self._flavors[kind], resource): amount for resource, amount in requests.items() if amount}

    def _may_not_fit(self, job: Job) -> bool:
        """Whether nodes, not quota, may be in the way: a block that must be free as a whole, or nodes that are free in part."""
        kind = job.instance_type
        if kind is None or self._flavors[kind] not in self._levels:
            return False
        if job.topology is not None and job.topology.required is not None:
            return True
        return not self._in_parts.isdisjoint((kind, None))

    def _whole_nodes(self, job: Job) -> bool:
        kind = self._plan.kinds.get(job.instance_type or "")
        if kind is None or kind.resource is None:
            return False
        return job.per_pod.get(kind.resource, 0) == node_resources(kind, {})[kind.resource]

    def _rank(self, job: Job) -> int:
        return self._priority.get(job.priority or "", 0)

    def _fifo(self, at: int, before: frozenset[str], admitted: Iterable[str]) -> Iterator[Violation]:
        """A job waits on though one just like it, which came in a later tick, was admitted."""
        came = self._state.arrived
        earlier: dict[tuple[object, ...], int] = {}
        for name in self._state.waiting & before:
            like = _like(self._jobs[name])
            earlier[like] = min(came[name], earlier.get(like, came[name]))
        for name in sorted(admitted):
            if earlier.get(_like(self._jobs[name]), came[name]) < came[name]:
                yield Violation("fifo", at, name, f"`{name}` was admitted before one just like it that came earlier")

    def _ranks(self, at: int, before: frozenset[str], admitted: Iterable[str]) -> Iterator[Violation]:
        """A job waits on though one of a lower rank, otherwise just like it, was admitted."""
        waiting: dict[tuple[object, ...], int] = {}
        for name in self._state.waiting & before:
            job = self._jobs[name]
            waiting[_alike(job)] = max(self._rank(job), waiting.get(_alike(job), self._rank(job)))
        for name in sorted(admitted):
            rank = self._rank(self._jobs[name])
            if waiting.get(_alike(self._jobs[name]), rank) > rank:
                yield Violation("priority", at, name, f"`{name}` was admitted before one just like it of a higher rank")

    # -- topology --------------------------------------------------------------------------------------------------------

    def _topology(self, at: int, job: Job, admission: Event) -> Iterator[Violation]:
        """All pods of a job with a required level stand in one domain of it."""
        level = job.topology.required if job.topology else None
        if level is None:
            return
        if not admission.domains or level not in admission.levels:
            yield Violation("topology", at, job.name, f"`{job.name}` was admitted without a domain of {level}")
            return
        end = admission.levels.index(level) + 1
        blocks = {domain[:end] for domain in admission.domains}
        if len(blocks) > 1:
            yield Violation("topology", at, job.name, f"`{job.name}` needs one domain of {level} and stands in {len(blocks)}")


def _like(job: Job) -> tuple[object, ...]:
    """Jobs that are alike here can take each other's place."""
    return (job.priority, *_alike(job))


def _alike(job: Job) -> tuple[object, ...]:
    """The same but for their rank."""
    return (job.team, job.instance_type, job.pods, tuple(sorted(job.per_pod.items())), job.topology)


_COMES_AFTER: dict[str, tuple[str, ...]] = {
    "arrived": ("new",),
    "refused": ("new", "waiting"),
    "admitted": ("waiting",),
    "preempted": ("running",),
    "finished": ("running",),
}
