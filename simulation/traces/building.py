"""From a file's entries to jobs: defaults, repetition, names, and every finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from config.findings import Finding, Where, problem_at
from config.yamlsource import Path_, Places
from simulation.traces.file import MAX_JOBS, Defaults, Entry, TraceFile
from simulation.traces.generator import Drawn, check_loads, drawn, expected
from simulation.traces.model import Job
from simulation.traces.names import Fresh
from simulation.traces.resolve import Resolver, Wrong

_ALIKE = 10
"""Findings of the same words that are told one by one; the last says how many more there are."""
_INHERITED = ("team", "arrives", "runs_for", "pods", "per_pod", "instance_type", "priority", "topology", "checkpoint")


class Builder:
    """Builds the jobs of one file."""

    def __init__(self, resolver: Resolver, source: Places) -> None:
        self.findings: list[Finding] = []
        self._resolver = resolver
        self._source = source
        self._names: dict[str, Where | None] = {}
        self._fresh = Fresh()

    def build(self, entries: Sequence[tuple[int, Entry]], file: TraceFile, seed: int | None) -> list[Job]:
        """All jobs, in the order of the file; `entries` are those that could be read, with their numbers in the file."""
        number = sum(entry.count for _, entry in entries) + (expected(file.generate) if file.generate else 0)
        if number > MAX_JOBS:
            where = self._source.where(("generate",) if file.generate else ("jobs",), key=True)
            message = f"the trace has about {int(number):,} jobs; at most {MAX_JOBS:,} are replayed"
            self.findings.append(problem_at("trace-too-large", where, message, "lower counts, rates, or `over`"))
            return []
        self._names = {entry.name: None for _, entry in entries if entry.name is not None and entry.count == 1}
        jobs = [job for index, entry in entries for job in self._entry(index, entry, file.defaults)]
        if file.generate:
            self.findings += [self._load_finding(one) for one in check_loads(file.generate, self._resolver)]
            if not self.findings:
                places = {team: self._source.where(("generate", "teams", team), key=True) for team in file.generate.teams}
                jobs += [self._drawn(one, places[one.team]) for one in drawn(file.generate, seed)]
        return jobs

    def _entry(self, index: int, entry: Entry, defaults: Defaults) -> Iterator[Job]:
        own = entry.model_fields_set
        said = {name: getattr(entry if name in own else defaults, name) for name in _INHERITED}
        path: Path_ = ("jobs", index)
        before = len(self.findings)
        for name in ("team", "per_pod"):
            if said[name] is None:
                message = f"`{name}` is missing in `jobs.{index}`"
                self.findings.append(problem_at("missing-key", self._source.where(path), message, f"add `{name}:`"))
        if entry.every is not None and entry.count == 1:
            where = self._source.where((*path, "every"), key=True)
            message = "`every` is the time between several jobs, and there is one"
            self.findings.append(problem_at("job-every", where, message, "add `count:`, or remove it"))
        if len(self.findings) > before:
            return
        resolver, kind = self._resolver, said["instance_type"]
        wrong = [*resolver.team(said["team"]), *resolver.priority(said["priority"]), *resolver.kind(kind)]
        per_pod: Mapping[str, int] = {}
        if kind is None or kind in resolver.kinds:
            per_pod, found = resolver.pod(said["per_pod"], kind)
            wrong += [*found, *resolver.placement(said["topology"], kind)]
        self.findings += [self._finding(one, path, own) for one in wrong]
        where = self._source.where(path)
        for turn in range(entry.count):
            yield Job(
                name=self._name(index, turn, entry, said["team"], where),
                team=said["team"],
                arrives=said["arrives"] + turn * (entry.every or 0),
                runs_for=said["runs_for"],
                pods=said["pods"],
                per_pod=per_pod,
                instance_type=kind,
                priority=said["priority"],
                topology=said["topology"],
                checkpoint=said["checkpoint"],
                where=where,
            )

    def _finding(self, wrong: Wrong, path: Path_, own: set[str]) -> Finding:
        """At the job's own word, or at the default's where the job doesn't say it."""
        place = (*path, *wrong.path) if wrong.path[0] in own else ("defaults", *wrong.path)
        return _problem(wrong, self._source.where(place))

    def _load_finding(self, wrong: Wrong) -> Finding:
        """Teams and classes are keys of their maps."""
        key = wrong.path[-2:-1] in ((), ("priorities",))
        return _problem(wrong, self._source.where(("generate", "teams", *wrong.path), key=key))

    def _name(self, index: int, turn: int, entry: Entry, team: str, where: Where) -> str:
        """The declared name, or one that no other job has."""
        if entry.name is not None and entry.count == 1:
            first = self._names[entry.name]
            if first is not None:
                message = f"the job `{entry.name}` stands at {first} already"
                place = self._source.where(("jobs", index, "name"))
                self.findings.append(problem_at("job-twice", place, message, "rename one of the two"))
            else:
                self._names[entry.name] = where
            return entry.name
        base = entry.name or f"{team}-{index + 1}"
        name = f"{base}-{turn + 1}" if entry.count > 1 else base
        return self._free(name, where)

    def _free(self, name: str, where: Where) -> str:
        free = self._fresh.name(name, self._names)
        self._names[free] = where
        return free

    def _drawn(self, one: Drawn, where: Where) -> Job:
        """What was drawn, with what its pods request."""
        per_pod, _ = self._resolver.pod(one.size.per_pod, one.size.instance_type)
        return Job(
            name=self._free(one.name, where),
            team=one.team,
            arrives=one.arrives,
            runs_for=one.runs_for,
            pods=one.size.pods,
            per_pod=per_pod,
            instance_type=one.size.instance_type,
            priority=one.priority,
            topology=one.size.topology,
            checkpoint=one.checkpoint,
            where=where,
        )


def _problem(wrong: Wrong, where: Where) -> Finding:
    return problem_at(wrong.id, where, wrong.message, wrong.remedy)


def few(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, of many that say the same only the first ones."""
    counts: dict[tuple[str, str], int] = {}
    for finding in findings:
        key = (finding.id, finding.message)
        counts[key] = counts.get(key, 0) + 1
    told: dict[tuple[str, str], int] = {}
    result = []
    for finding in findings:
        key = (finding.id, finding.message)
        told[key] = told.get(key, 0) + 1
        if told[key] < _ALIKE or counts[key] == _ALIKE:
            result.append(finding)
        elif told[key] == _ALIKE:
            more = counts[key] - _ALIKE
            result.append(problem_at(finding.id, finding.where, f"{finding.message}; and {more:,} more like it", finding.remedy))
    return result
