"""Looking for drift in a stack: its state through the engine, its clusters by the ways that the last deployment has left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from config.load import Platform
from config.stack import layers_of
from governance.choice import chosen
from governance.model import Plan
from live.connection import UnreachableError, connect
from live.drift.elsewhere import elsewhere
from live.drift.look import Sources, look
from live.drift.model import PlatformChange, Report
from live.drift.state import deployed, live_resources, name_of
from live.kube import Reader
from live.sagemaker import Governance, client, read_governance
from sandbox.deploy import Deployment, attach, known_kubeconfigs
from sandbox.engine import Engine
from sandbox.engine import Progress as Event

_CHANGES: Final = frozenset({"update", "delete"})
"""What a refresh does to the state."""
_TAGS: Final = ("tags", "properties.Tags")
"""Properties of quotas and scheduler configurations that SageMaker's Describe calls leave out."""


class Progress(Protocol):
    """Where progress is shown."""

    def step(self, text: str) -> None: ...
    def update(self, done: int, total: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to look at."""

    cluster: str | None = None
    """One cluster; None for all."""
    with_state: bool = True
    platform: bool = False
    """Whether Pulumi shall look at the rest of the stack's resources."""


@dataclass(frozen=True, slots=True)
class _Last:
    """The last deployment. Empty where there is none, and where nobody asked for it."""

    deployment: Deployment | None
    exported: Mapping[str, Any]
    outputs: Mapping[str, Any]


def look_at_stack(root: Path, stack: str, platform: Platform, plan: Plan, wanted: Wanted, progress: Progress) -> Report:
    """Compare a stack's clusters. Raises ConfigError for a cluster that there isn't, SandboxError and EngineError."""
    last = _last(root, stack, platform, plan, progress) if wanted.with_state else _Last(None, {}, {})
    state = deployed(last.exported) if wanted.with_state else None
    clusters = chosen({*plan.clusters, *(state or {})}, wanted.cluster)
    known = state is None or _holds_anything(last.exported)
    report = Report(stack, platform.name, plan.backend, deployed=known, with_state=wanted.with_state)
    if "governance" not in layers_of(root, stack):
        report = replace(report, notes=("the stack declares the platform alone, which --platform looks at",))
    elif report.deployed:
        sources = _sources(known_kubeconfigs(root, stack, platform), plan, last, root, platform)
        seen = {name: look(plan, state, name, sources, progress) for name in clusters}
        report = replace(
            report,
            compared={name: one.compared for name, one in seen.items() if one.compared},
            findings=tuple(finding for one in seen.values() for finding in one.findings),
            failures=tuple(failure for one in seen.values() for failure in one.failures),
            notes=tuple(note for one in seen.values() for note in one.notes),
        )
    if wanted.platform and last.deployment is not None and last.exported:
        with last.deployment.engine() as engine:
            report = replace(report, platform=platform_changes(engine, last.exported, progress))
    return report


def _last(root: Path, stack: str, platform: Platform, plan: Plan, progress: Progress) -> _Last:
    progress.step("asking Pulumi for the last deployment")
    deployment = attach(root, stack, platform, plan, progress)
    if deployment is None:
        return _Last(None, {}, {})
    engine = deployment.engine()
    exported = engine.state()
    return _Last(deployment, exported, engine.outputs() if exported else {})


def _holds_anything(exported: Mapping[str, Any]) -> bool:
    """Whether there is a state, with more in it than what every run of a program leaves: the stack itself and its providers."""
    resources = (exported.get("deployment") or {}).get("resources") or ()
    return any(one.get("custom") and not str(one.get("type")).startswith("pulumi:providers:") for one in resources)


def _sources(files: Mapping[str, Path], plan: Plan, last: _Last, root: Path, platform: Platform) -> Sources:
    def kubernetes(cluster: str) -> Reader:
        if last.deployment is not None:
            way = last.deployment.way(cluster, last.outputs)
        elif cluster in files:
            way = str(files[cluster])
        else:
            raise UnreachableError(f"without Pulumi's state, nothing says how cluster `{cluster}` is reached")
        declared = plan.clusters.get(cluster)
        return Reader(connect(way, (declared.declared.context or "") if declared else "", ""))

    def sagemaker(cluster: str) -> Governance:
        facts = last.outputs.get("platform", {}).get(cluster, {})
        built = plan.clusters[cluster].platform if cluster in plan.clusters else None
        region = facts.get("region") or (built.declared.region if built else "")
        name = facts.get("hyperpod_arn") or (built.names.hyperpod if built else "")
        if not region or not name:
            raise UnreachableError(f"neither the declaration nor the stack's outputs name the HyperPod cluster of `{cluster}`")
        return read_governance(client(region), name)

    return Sources(kubernetes, sagemaker, elsewhere(root, platform))


def platform_changes(engine: Engine, exported: Mapping[str, Any], progress: Progress) -> tuple[PlatformChange, ...]:
    """What a refresh would change in the state, but for what is compared one by one; of that, tags alone.

    The engine leaves out what the program tells it to ignore: counts of autoscaled groups.
    """
    compared = {str(resource["urn"]) for resource in live_resources(exported)}
    types = {str(resource["urn"]): str(resource["type"]) for resource in exported["deployment"].get("resources") or ()}
    changes: dict[str, PlatformChange] = {}
    done = 0

    def on_event(event: Event) -> None:
        nonlocal done
        if event.what == "done":
            done += 1
            progress.update(done, len(types))
            known = event.urn in compared
            paths = tuple(path for path in event.paths if not known or path.startswith(_TAGS))
            if event.op in _CHANGES and (paths or not known):
                changes[event.urn] = PlatformChange(types.get(event.urn, ""), name_of(event.urn), event.op, paths)

    progress.step("asking Pulumi's providers about the rest of the stack")
    engine.refresh(on_event=on_event, preview_only=True)
    return tuple(changes[urn] for urn in sorted(changes))
