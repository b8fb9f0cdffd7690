"""Figures of simulations as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from governance.units import CPU
from reports.difftables import Section
from simulation.results.amounts import Measured
from simulation.results.compare import Comparison, Delta, duration
from simulation.results.model import Jobs, Runs, Stuck, Team
from simulation.results.spread import Path, Range, ranges

_MOST = 12
"""Rows of a table of jobs; all of them are in the JSON."""
_COUNTS: tuple[tuple[str, Path], ...] = (
    ("jobs", ("jobs",)),
    ("at once", ("wait", "admitted_at_once")),
    ("waits p50", ("wait", "p50_s")),
    ("p95", ("wait", "p95_s")),
    ("max", ("wait", "max_s")),
    ("finished", ("finished",)),
    ("running", ("running",)),
    ("waiting", ("waiting",)),
    ("never", ("can_never_run",)),
    ("preempted", ("preemptions_suffered",)),
    ("preempts", ("preemptions_caused",)),
)
"""Columns, and where their figures stand."""
_TEAM: tuple[tuple[str, Path], ...] = (
    ("admitted at once", ("wait", "admitted_at_once")),
    ("waits, p50", ("wait", "p50_s")),
    ("waits, p95", ("wait", "p95_s")),
    ("waits, max", ("wait", "max_s")),
    ("waits, mean", ("wait", "mean_s")),
    ("jobs that finish", ("finished",)),
    ("jobs that run at the end", ("running",)),
    ("jobs that wait at the end", ("waiting",)),
    ("jobs that can never run", ("can_never_run",)),
    ("jobs refused", ("refused",)),
    ("preemptions suffered", ("preemptions_suffered",)),
    ("preemptions caused", ("preemptions_caused",)),
)
"""Figures of a comparison, as they are called there."""
_USE: tuple[tuple[str, str], ...] = (
    ("guarantee", "guarantee_amount"),
    ("within", "within_guarantee_h"),
    ("borrowed", "borrowed_h"),
    ("unused", "unused_guarantee_h"),
    ("own used", "guarantee_used_share"),
    ("of contested", "contested_borrowed_share"),
    ("fair share", "fair_share"),
)
_HELD: tuple[tuple[str, str], ...] = (
    ("capacity", "capacity_amount"),
    ("within", "within_guarantee_h"),
    ("borrowed", "borrowed_h"),
    ("idle", "idle_h"),
    ("beyond", "beyond_capacity_h"),
    ("used", "used_share"),
)


def sections(runs: Runs) -> Iterator[Section]:
    """Everything that the runs show."""
    view, first = _View(runs), runs[0]
    names = [name for name, _ in _COUNTS]
    numbers = frozenset((*names, "lost hours"))
    teams = [("teams", team) for team, one in first.teams.items() if one.jobs.jobs]
    rows = [(path[1], *view.counts(path)) for path in teams]
    yield Section("Jobs by team", ("team", *names, "lost hours"), (*rows, ("all teams", *view.counts(("overall",)))), numbers)
    if len(first.classes) > 1:
        rows = [(name, *view.counts(("priority_classes", name))) for name in first.classes]
        yield Section("Jobs by priority class", ("class", *names, "lost hours"), tuple(rows), numbers)
    yield from _compute(view)
    if first.pairs:
        rows = [(pair.by or "(not told)", pair.team, pair.reason or "–", str(pair.times)) for pair in first.pairs[:_MOST]]
        columns = ("for a job of", "a job of", "Kueue's reason", "times")
        yield Section("Who preempts whom", columns, tuple(rows), frozenset(("times",)))
    yield from _stuck("Jobs that can never run", "why", first.never)
    yield from _stuck("Waiting at the end", "Kueue's last word", first.waiting)


def comparison_sections(found: Comparison) -> Iterator[Section]:
    """What differs between the two sides."""
    rows: list[tuple[str, ...]] = []
    teams = dict.fromkeys((*found.before[0].teams, *found.after[0].teams))
    for title, path in (*((team, ("teams", team)) for team in teams), ("all teams", ("overall",))):
        for name, inner in _TEAM:
            delta = found.deltas.get((*path, *inner))
            if delta is not None:
                rows.append((title, name, *_change((*path, *inner), delta)))
    numbers = frozenset(("before", "after", "change"))
    if rows:
        yield Section("What changes for jobs", ("team", "what", "before", "after", "change", ""), tuple(rows), numbers)
    rows = []
    for path, delta in found.deltas.items():
        *where, name = path
        said = {label: title for title, label in (_HELD if where[0] == "compute" else _USE)}
        if "compute" in where and name in said:
            team = "all teams" if where[0] == "compute" else where[1]
            rows.append((team, " ".join(where[-2:]), said[name], *_change(path, delta)))
    if rows:
        columns = ("team", "instance type", "what", "before", "after", "change", "")
        yield Section("What changes in use (hours; shares in %)", columns, tuple(rows), numbers)


class _View:
    """Figures of some runs as cells."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.found = ranges(runs)

    def cell(self, *path: str) -> str:
        return shown(path, self.found.get(path))

    def counts(self, path: Path) -> Iterator[str]:
        """The row of some jobs; waiting times that may be longer in truth begin with ≥."""
        open_ = {name for jobs in _jobs(self.runs, path) for name in jobs.wait.at_least}
        for _, inner in _COUNTS:
            text = self.cell(*path, *inner)
            yield f"≥ {text}" if inner[-1] in open_ else text
        lost = [(where[-1], one) for where, one in self.found.items() if where[:-1] == (*path, "lost_h")]
        yield ", ".join(f"{_range(one, _number)}{' vCPU' if resource == CPU else ''}" for resource, one in lost)


def _jobs(runs: Runs, path: Path) -> Iterator[Jobs]:
    for figures in runs:
        if path[0] == "overall":
            yield figures.overall
        elif path[0] == "teams" and path[1] in figures.teams:
            yield figures.teams[path[1]].jobs
        elif path[0] == "priority_classes" and path[1] in figures.classes:
            yield figures.classes[path[1]]


def _compute(view: _View) -> Iterator[Section]:
    first = view.runs[0]
    held = [one for one, figures in first.held.items() if figures.capacity or figures.within or figures.borrowed]
    rows = [(*one, *(view.cell("compute", *one, label) for _, label in _HELD)) for one in held]
    names = tuple(name for name, _ in _HELD)
    yield Section("Nodes (hours)", ("instance type", "resource", *names), tuple(rows), frozenset(names))
    used = [(one, team) for one in first.held for team, figures in first.teams.items() if _matters(figures, one)]
    rows = [(*one, team, *(view.cell("teams", team, "compute", *one, label) for _, label in _USE)) for one, team in used]
    names = tuple(name for name, _ in _USE)
    yield Section(
        "Guarantees and borrowing (hours)", ("instance type", "resource", "team", *names), tuple(rows), frozenset(names)
    )


def _matters(team: Team, one: Measured) -> bool:
    """Whether a team's use of a type is worth a row: not of those that have no jobs in the trace."""
    return one in team.use and team.jobs.jobs > 0


def _stuck(title: str, why: str, found: Iterable[Stuck]) -> Iterator[Section]:
    """By reason, the most frequent first."""
    jobs = list(found)
    counted = Counter((stuck.team, stuck.why) for stuck in jobs)
    example = {(stuck.team, stuck.why): stuck.job for stuck in reversed(jobs)}
    rows = [(team, str(number), example[team, words], words or "–") for (team, words), number in counted.most_common(_MOST)]
    if len(counted) > _MOST:
        rows.append(("…", str(sum(number for _, number in counted.most_common()[_MOST:])), "", "for other reasons: see --json"))
    if rows:
        yield Section(title, ("team", "jobs", "as", why), tuple(rows), frozenset(("jobs",)))


def _change(path: Path, delta: Delta) -> tuple[str, str, str, str]:
    sign = "+" if delta.change > 0 else "−"
    change = f"{sign}{_by(path)(abs(delta.change))}" if delta.change else "0"
    return shown(path, delta.before), shown(path, delta.after), change, "" if delta.certain else "within the spread"


def shown(path: Path, value: Range | None) -> str:
    """A figure of several runs: the median, and from least to most where they differ."""
    return "–" if value is None else _range(value, _by(path))


def _range(value: Range, words: Callable[[float], str]) -> str:
    return words(value.median) if value.same else f"{words(value.median)} ({words(value.least)}–{words(value.most)})"


def _by(path: Path) -> Callable[[float], str]:
    name = path[-1]
    return _short if name.endswith("_s") else _percent if name.endswith("_share") else _number


def _short(seconds: float) -> str:
    """As `duration`, for cells: `4h1m`."""
    return duration(seconds).replace("min", "m").replace(" ", "")


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _number(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")
