"""Cases: small scripts of workloads, each with the verdicts that Kueue is expected to reach.

They stand in `workloads/*.yaml` and are read against a plan, so that a misspelt team, an undeclared priority class or a pod that
fits on no node is told with its line before anything is started. Imports nothing of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from config.files import listing, not_a_map, validated
from config.findings import ConfigError, Finding, Where, by_place, did_you_mean, has_errors, problem_at, quoted
from config.team import InstanceTypeName
from config.vocabulary import Amount, ClassName, LabelKey, Model, Seconds, TeamName, problem
from config.yamlsource import Document, Layered, read
from governance.model import ClusterPlan

WORKLOADS = "workloads"
TRACES = "traces"
"""The folder in it whose files `hpctl simulate` replays."""
DEFAULT_WITHIN = 20
"""Seconds that Kueue has for a verdict. It takes about one; the rest is for busy machines."""
NAME_LIMIT = 30
"""Longest name of a case or a workload: a Job is named `<case>-<workload>`, and its pods' names add to that."""

Expected = Literal["admitted", "borrowed", "pending", "preempted", "finished"]
"""What a case may expect; see `simulation.verdicts` for the meanings."""
RUNNING: tuple[Expected, ...] = ("admitted", "borrowed")
Kind = Literal["job", "deployment", "space"]
"""A Job; a Deployment, as for inference; or a space, the IDE of one person: a Deployment of one pod, as HyperPod's spaces are."""


def _short(value: str) -> str:
    if len(value) > NAME_LIMIT:
        raise problem("name_too_long", f"{quoted(value)} has {len(value)} characters; at most {NAME_LIMIT}", "shorten it")
    return value


ShortName = Annotated[ClassName, BeforeValidator(lambda v: _short(v) if isinstance(v, str) else v)]
"""1–30 lower-case letters, digits and hyphens."""


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else (value,) if isinstance(value, str) else value


WorkloadNames = Annotated[tuple[ShortName, ...], BeforeValidator(_listed)]
"""One workload's name, or a list of them."""
Replicas = Annotated[int, Field(ge=1, le=1000)]
"""1–1,000 pods."""


class PerPod(Model):
    """What one pod asks for. May be written `whole_node`: everything that a node of the instance type can give to pods."""

    whole_node: bool = False
    accelerators: Annotated[int, Field(ge=1, le=1024)] | None = None
    """GPUs or Neuron devices of the instance type."""
    vcpu: Amount | None = None
    memory_gib: Amount | None = None


def _whole_node(value: Any) -> Any:
    return {"whole_node": True} if value == "whole_node" else value


class Placement(Model):
    """Where the pods must, or should if possible, stand together: a level of the instance type's topology."""

    required: LabelKey | None = None
    preferred: LabelKey | None = None


class Elastic(Model):
    """Replica counts that a job may run with, as in a HyperPodPyTorchJob's elastic policy; one of `step` and `values`."""

    min: Replicas
    """Replicas that always run; the job starts with all of them or not at all."""
    max: Replicas
    step: Replicas | None = None
    """How many replicas come or go at once."""
    values: Annotated[tuple[Replicas, ...], BeforeValidator(_listed), Field(max_length=100)] = ()
    """The counts themselves, ascending, from `min` to `max`."""


class Workload(Model):
    """What a team submits, as it would."""

    kind: Kind = "job"
    team: TeamName
    instance_type: InstanceTypeName
    """Becomes the node selector `node.kubernetes.io/instance-type`."""
    pods: Replicas = 1
    """Pods that run side by side, 1–1,000: those of a job run once, a Deployment's without end."""
    per_pod: Annotated[PerPod, BeforeValidator(_whole_node)]
    priority: ClassName | None = None
    """A priority class of the environment; without one the job ranks lowest (value 0)."""
    elastic: Elastic | None = None
    """The job grows into idle quota and shrinks when its owner returns; in place of `pods`."""
    elastic_priority: ClassName | None = None
    """Priority class of what an elastic job runs beyond its base; without one it ranks lowest (value 0)."""
    topology: Placement | None = None
    runs_for: Seconds | None = None
    """How long each pod of a job runs; without it, until a step finishes or deletes the job."""


class Nodes(Model):
    """Nodes of an instance group."""

    group: ShortName
    count: Annotated[int, Field(ge=1, le=100)]


class Step(Model):
    """One thing that happens: one of the keys below. An expectation may have `expect` and `replicas`, and takes the options."""

    submit: WorkloadNames = ()
    expect: dict[ShortName, Expected] = Field(default_factory=dict)
    """Verdicts by workload; the step ends as soon as all are reached. That of an elastic job is its base's."""
    replicas: dict[ShortName, Annotated[int, Field(ge=0, le=1000)]] = Field(default_factory=dict)
    """How many replicas run, by elastic job or Deployment: with quota, and each with a node."""
    within: Seconds = DEFAULT_WITHIN
    """How long Kueue may take for them, default 20 s."""
    one_domain: LabelKey | None = None
    """A node label that all nodes of each workload expected here must share, as read from the live nodes."""
    together: LabelKey | None = None
    """A node label that all nodes of all workloads expected here must share: `kubernetes.io/hostname` for one node."""
    scale: dict[ShortName, Annotated[int, Field(ge=0, le=1000)]] = Field(default_factory=dict)
    """Deployments get this many replicas."""
    finish: WorkloadNames = ()
    """The pods end well, as if training were done."""
    delete: WorkloadNames = ()
    """The workloads are deleted by their team."""
    add_nodes: Nodes | None = None
    remove_nodes: Nodes | None = None

    @property
    def expects(self) -> bool:
        return bool(self.expect or self.replicas)


ACTIONS = ("submit", "expect", "scale", "finish", "delete", "add_nodes", "remove_nodes")
EXPECTED = ("expect", "replicas")
OPTIONS = ("within", "one_domain", "together")


class Case(Model):
    """A script that stands for itself: it starts on a cluster without workloads of its own and leaves none."""

    name: ShortName
    title: Annotated[str, Field(max_length=200)] = ""
    """What the case shows, in one sentence."""
    workloads: Annotated[dict[ShortName, Workload], Field(min_length=1)]
    steps: Annotated[tuple[Step, ...], BeforeValidator(_listed), Field(min_length=1)]

    @property
    def groups(self) -> set[str]:
        """Instance groups whose nodes the case changes."""
        return {nodes.group for step in self.steps for nodes in (step.add_nodes, step.remove_nodes) if nodes}

    @property
    def teams(self) -> set[str]:
        """Teams that submit something."""
        return {workload.team for workload in self.workloads.values()}

    @property
    def instance_types(self) -> set[str]:
        """Types on whose nodes the case plays."""
        return {workload.instance_type for workload in self.workloads.values()}


class CaseFile(Model):
    """A file of `workloads/`."""

    apiVersion: Literal["hyperpod-platform/v1"]  # noqa: N815 - the field's own spelling
    cases: Annotated[tuple[Case, ...], BeforeValidator(_listed), Field(min_length=1)]


def load_cases(root: Path, cluster: ClusterPlan, only: Sequence[str] | None = None) -> list[Case]:
    """All cases of `workloads/*.yaml` in the order of files and lines, or those named by `only`.

    Raises ConfigError with every finding of every file, measured against the cluster's plan.
    """
    from simulation.checks import case_findings

    files, findings = listing(root / WORKLOADS, WORKLOADS, apart=TRACES)
    cases: list[Case] = []
    first: dict[str, Where] = {}
    for path in files.values():
        document, problems = read(path, path.relative_to(root).as_posix())
        findings.extend(problems)
        for index, case in enumerate(_read(document, problems, findings)):
            source = Layered(((document, ("cases", index)),))
            findings.extend(_repeated(case.name, source.where(("name",)), first))
            findings.extend(case_findings(case, cluster, source))
            cases.append(case)
    if not cases and not findings:
        findings.append(problem_at("cases-none", Where(WORKLOADS), "there is no case", f"write one in {WORKLOADS}/demo.yaml"))
    if has_errors(findings):
        raise ConfigError(by_place(findings))
    return cases if only is None else _selected(cases, only)


def _read(document: Document, problems: list[Finding], findings: list[Finding]) -> Iterable[Case]:
    if not isinstance(document.data, dict):
        findings.extend(not_a_map(document, problems))
        return ()
    file, wrong = validated(CaseFile, document.data, Layered(((document, ()),)), problems)
    findings.extend(wrong)
    return file.cases if file is not None else ()


def _repeated(name: str, where: Where, first: dict[str, Where]) -> Iterator[Finding]:
    if name in first:
        yield problem_at("case-twice", where, f"the case `{name}` stands at {first[name]} already", "rename one of the two")
    first.setdefault(name, where)


def _selected(cases: list[Case], only: Sequence[str]) -> list[Case]:
    known = [case.name for case in cases]
    unknown = [
        problem_at(
            "case-unknown", Where(WORKLOADS), f"there is no case {quoted(name)}", did_you_mean(name, known) or "name another"
        )
        for name in dict.fromkeys(only)
        if name not in known
    ]
    if unknown:
        raise ConfigError(unknown)
    return [case for case in cases if case.name in only]
