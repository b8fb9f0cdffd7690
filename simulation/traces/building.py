"""From a file's entries to jobs: defaults, repetition, names, and every finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from config.findings import Finding, Where, problem_at
from config.yamlsource import Path_, Places
from simulation.traces.file import MAX_JOBS, Defaults, Entry, TraceFile
from simulation.traces.generator import Drawn, check_loads, drawn, expected
from simulation.traces.model import Job
from simulation.traces.names import Fresh
from simulation.traces.resolve import Resolver, Wrong
from simulation.traces.sound import Numbered

_ALIKE = 10
"""Findings of the same words that are told one by one; the last says how many more there are."""
_INHERITED = ("team", "arrives", "runs_for", "pods", "per_pod", "instance_type", "priority", "topology", "checkpoint")


class Builder:
    """Builds the jobs of one file."""

    def __init__(self, resolver: Resolver, source: Places) -> None:
        self.findings: list[Finding] = []
        self.source = source
        self.unsure: frozenset[str] = frozenset()
        """Defaults of which the file says something that can't be read."""
        self._resolver = resolver
        self._names: dict[str, Where | None] = {}
        self._fresh = Fresh()

    def build(self, entries: Sequence[Numbered], file: TraceFile, seed: int | None) -> list[Job]:
        """All jobs, in the order of the file; of unsound ones only findings, of what could be read of them."""
        number = sum(one.entry.count for one in entries) + (expected(file.generate) if file.generate else 0)
        if number > MAX_JOBS:
            where = self.source.where(("generate",) if file.generate else ("jobs",), key=True)
            message = f"the trace has about {int(number):,} jobs; at most {MAX_JOBS:,} are replayed"
            self.findings.append(problem_at("trace-too-large", where, message, "lower counts, rates, or `over`"))
            return []
        self._names = {one.entry.name: None for one in entries if one.entry.name is not None and one.entry.count == 1}
        jobs = [job for one in entries for job in self._entry(one, file.defaults)]
        if file.generate:
            self.findings += [self._load_finding(one) for one in check_loads(file.generate, self._resolver)]
            if not self.findings:
                places = {team: self.source.where(("generate", "teams", team), key=True) for team in file.generate.teams}
                jobs += [self._drawn(one, places[one.team]) for one in drawn(file.generate, seed)]
        return jobs

    def _entry(self, one: Numbered, defaults: Defaults) -> Iterator[Job]:
        index, entry, unsound = one
        own = entry.model_fields_set
        unsure = unsound | (self.unsure - own)
        said: dict[str, Any] = {n: None if n in unsure else getattr(entry if n in own else defaults, n) for n in _INHERITED}
        path: Path_ = ("jobs", index)
        where = self.source.where(path)
        missing = [name for name in ("team", "per_pod") if said[name] is None and name not in unsure]
        for name in missing:
            message = f"`{name}` is missing in `jobs.{index}`"
            self.findings.append(problem_at("missing-key", where, message, f"add `{name}:`"))
        if entry.every is not None and entry.count == 1 and "count" not in unsound:
            place = self.source.where((*path, "every"), key=True)
            message = "`every` is the time between several jobs, and there is one"
            self.findings.append(problem_at("job-every", place, message, "add `count:`, or remove it"))
        per_pod, wrong = self._held_against_plans(said, unsure)
        self.findings += [self._finding(problem, path, own) for problem in wrong]
        if unsure or missing:
            if entry.name is not None and entry.count == 1 and "count" not in unsound:
                self._declared(index, entry.name, where)
            return
        for turn in range(entry.count):
            yield Job(
                name=self._name(index, turn, entry, said["team"], where),
                team=said["team"],
                arrives=said["arrives"] + turn * (entry.every or 0),
                runs_for=said["runs_for"],
                pods=said["pods"],
                per_pod=per_pod,
                instance_type=said["instance_type"],
                priority=said["priority"],
                topology=said["topology"],
                checkpoint=said["checkpoint"],
                where=where,
            )

    def _held_against_plans(self, said: Mapping[str, Any], unsure: frozenset[str]) -> tuple[Mapping[str, int], list[Wrong]]:
        """What a pod requests, and what is wrong with the job. Pods and topology need a type that is known, or none."""
        resolver, kind = self._resolver, said["instance_type"]
        wrong = [*resolver.team(said["team"]), *resolver.priority(said["priority"]), *resolver.kind(kind)]
        per_pod: Mapping[str, int] = {}
        if "instance_type" not in unsure and (kind is None or kind in resolver.kinds):
            if said["per_pod"] is not None:
                per_pod, found = resolver.pod(said["per_pod"], kind)
                wrong += found
            wrong += resolver.placement(said["topology"], kind)
        return per_pod, wrong

    def _finding(self, wrong: Wrong, path: Path_, own: set[str]) -> Finding:
        """At the job's own word, or at the default's where the job doesn't say it."""
        place = (*path, *wrong.path) if wrong.path[0] in own else ("defaults", *wrong.path)
        return _problem(wrong, self.source.where(place))

    def _load_finding(self, wrong: Wrong) -> Finding:
        """Teams and classes are keys of their maps."""
        key = wrong.path[-2:-1] in ((), ("priorities",))
        return _problem(wrong, self.source.where(("generate", "teams", *wrong.path), key=key))

    def _name(self, index: int, turn: int, entry: Entry, team: str, where: Where) -> str:
        """The declared name, or one that no other job has."""
        if entry.name is not None and entry.count == 1:
            self._declared(index, entry.name, where)
            return entry.name
        base = entry.name or f"{team}-{index + 1}"
        name = f"{base}-{turn + 1}" if entry.count > 1 else base
        return self._free(name, where)

    def _declared(self, index: int, name: str, where: Where) -> None:
        first = self._names[name]
        if first is None:
            self._names[name] = where
            return
        place = self.source.where(("jobs", index, "name"))
        message = f"the job `{name}` stands at {first} already"
        self.findings.append(problem_at("job-twice", place, message, "rename one of the two"))

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
