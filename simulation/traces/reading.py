"""Reading a trace's file, YAML or CSV.

`read_trace(path, root, clusters, seed=None) -> Trace` raises ConfigError with every finding of the file.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from config.files import not_a_map, validated
from config.findings import ConfigError, Finding, Where, by_place, has_errors, printable, problem_at
from config.yamlsource import Layered, read
from governance.model import ClusterPlan
from simulation.traces.building import Builder, few
from simulation.traces.file import Defaults, Generate, TraceFile
from simulation.traces.model import Trace
from simulation.traces.resolve import Resolver
from simulation.traces.sound import Numbered, sound, sound_entries
from simulation.traces.table import TablePlaces, by_column, read_table

MAX_BYTES: Final = 64 << 20
"""Largest file that is read, in bytes."""
ENDINGS: Final = (".yaml", ".yml", ".csv")
_M = TypeVar("_M", bound=BaseModel)


def read_trace(path: Path, root: Path, clusters: Sequence[ClusterPlan], seed: int | None = None) -> Trace:
    """The jobs of a file, as the plans of one cluster understand them: one plan, or those before and after a change.

    What is unknown is wrong only where every plan calls it so. `seed` takes the place of the file's. Raises ConfigError.
    """
    shown = _shown(path, root)
    if path.suffix.lower() not in ENDINGS:
        message = "a trace is YAML or CSV, by the ending of its name"
        raise ConfigError([problem_at("trace-ending", Where(shown), message, f"let it end in one of {', '.join(ENDINGS)}")])
    with _collector_paused():
        return (_csv if path.suffix.lower() == ".csv" else _yaml)(path, shown, clusters, seed)


def _yaml(path: Path, shown: str, clusters: Sequence[ClusterPlan], seed: int | None) -> Trace:
    document, problems = read(path, shown, MAX_BYTES)
    findings = list(problems)
    if not isinstance(document.data, dict):
        raise ConfigError(by_place([*findings, *not_a_map(document, problems)]))
    source = Layered(((document, ()),))
    file, wrong = validated(TraceFile, document.data, source, problems)
    builder = Builder(Resolver(clusters), source)
    if file is None:
        file, builder.unsure = _what_is_sound(document.data)
        return _trace(shown, sound_entries(document.data.get("jobs")), file, builder, [*findings, *wrong], seed)
    if not file.jobs and file.generate is None:
        findings.append(problem_at("jobs-none", source.where(), "there is no job, and no load to draw jobs from", _NO_JOBS))
    return _trace(shown, [Numbered(*one) for one in enumerate(file.jobs)], file, builder, findings, seed)


_NO_JOBS: Final = "list some under `jobs:`, or write `generate:`"


def _csv(path: Path, shown: str, clusters: Sequence[ClusterPlan], seed: int | None) -> Trace:
    table = read_table(path, shown, MAX_BYTES)
    file = TraceFile(apiVersion="hyperpod-platform/v1")
    return _trace(shown, table.entries, file, Builder(Resolver(clusters), table.places), table.findings, seed)


def _trace(
    shown: str,
    entries: Sequence[Numbered],
    file: TraceFile,
    builder: Builder,
    findings: list[Finding],
    seed: int | None,
) -> Trace:
    jobs = builder.build(entries, file, seed)
    findings = [*findings, *builder.findings]
    if has_errors(findings):
        if isinstance(builder.source, TablePlaces):
            findings = [by_column(finding) for finding in findings]
        raise ConfigError(few(by_place(findings)))
    jobs.sort(key=lambda job: job.arrives)
    drawn_by = (file.generate.seed if seed is None else seed) if file.generate else None
    return Trace(shown, tuple(jobs), None, drawn_by).ending(file.until)


def _what_is_sound(data: Mapping[str, Any]) -> tuple[TraceFile, frozenset[str]]:
    """Of a file with mistakes, the defaults and the load, and the names of the defaults that can't be read."""
    defaults, unsure = sound(Defaults, data.get("defaults", {}))
    file = TraceFile(apiVersion="hyperpod-platform/v1", defaults=defaults, generate=_whole(Generate, data.get("generate")))
    return file, unsure


def _whole(model: type[_M], data: Any) -> _M | None:
    try:
        return model.model_validate(data)
    except ValidationError:
        return None


def _shown(path: Path, root: Path) -> str:
    try:
        return printable(path.resolve().relative_to(root.resolve()).as_posix())
    except ValueError:
        return printable(str(path))


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Python's garbage collector looks through all objects again and again while ten thousands of them are made."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
