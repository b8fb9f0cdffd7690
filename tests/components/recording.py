"""Running a program against Pulumi's mock monitor, and keeping every registration that it asks for.

`MockMonitor` alone overwrites duplicate URNs without a word and shows a mock none of the resource options.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulumi
from google.protobuf import json_format
from pulumi.runtime import mocks, settings
from pulumi.runtime.config import set_all_config
from pulumi.runtime.proto import resource_pb2

PROJECT = "hyperpod-platform"


@dataclass(frozen=True)
class Registered:
    """One RegisterResource request."""

    urn: str
    type: str
    name: str
    parent: str
    custom: bool
    inputs: dict[str, Any]
    provider: str
    providers: dict[str, str]
    dependencies: frozenset[str]
    protect: bool
    retain_on_delete: bool
    delete_before_replace: bool
    replace_on_changes: tuple[str, ...]
    ignore_changes: tuple[str, ...]
    aliases: tuple[str, ...]
    timeouts: dict[str, str]

    @property
    def kind(self) -> str:
        return self.type.rpartition(":")[2]


@dataclass
class Recording:
    """What a program asked of the engine, in order."""

    registered: list[Registered] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    """URNs of those that registered outputs."""
    logged: list[tuple[int, str]] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)

    def kinds(self) -> Counter[str]:
        return Counter(r.kind for r in self.registered)

    def of(self, kind: str) -> list[Registered]:
        return [r for r in self.registered if r.kind == kind]

    def one(self, name: str) -> Registered:
        (found,) = [r for r in self.registered if r.name == name and not r.type.startswith("pulumi:providers:")]
        return found

    def has(self, name: str) -> bool:
        return any(r.name == name for r in self.registered)

    def names(self, urns: Iterable[str]) -> set[str]:
        by_urn = {r.urn: r.name for r in self.registered}
        return {by_urn[urn] for urn in urns}

    def needs(self, name: str) -> set[str]:
        """Names of what a resource depends on directly."""
        return self.names(self.one(name).dependencies)

    def objects(self) -> list[Registered]:
        """The Kubernetes objects."""
        return [r for r in self.registered if r.type.startswith("kubernetes:")]

    def components(self) -> list[Registered]:
        return [r for r in self.registered if not r.custom]


Call = Callable[[pulumi.runtime.MockCallArgs], dict[str, Any]]
"""Answers a lookup."""


class _Echo(pulumi.runtime.Mocks):
    """Answers with what was asked for; lookups only where the test brings answers."""

    def __init__(self, call: Call | None = None) -> None:
        self._call = call

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        return f"{args.name}-id", args.inputs

    def call(self, args: pulumi.runtime.MockCallArgs) -> dict[str, Any]:
        if self._call is not None:
            return self._call(args)
        raise AssertionError(f"nothing should be looked up, but {args.token} was")


class RecordingMonitor(mocks.MockMonitor):
    """A mock monitor that keeps the requests."""

    def __init__(self, call: Call | None = None) -> None:
        super().__init__(_Echo(call))
        self.recording = Recording()

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - the protocol's name
        if request.type != "pulumi:pulumi:Stack":
            self.recording.registered.append(_registered(self.make_urn(request.parent, request.type, request.name), request))
        return super().RegisterResource(request)

    def GetDeploymentInfo(self, request: Any) -> Any:  # noqa: N802
        """All but references to resources, which arrive as ids then: the mocks look a reference up on a thread's own event loop,
        and a test that happens to wait for that one fails."""
        answer = super().GetDeploymentInfo(request)
        answer.supportedFeatures.remove(resource_pb2.RESOURCE_MONITOR_FEATURE_RESOURCE_REFERENCES)
        return answer

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802
        if "::pulumi:pulumi:Stack::" not in request.urn:
            self.recording.finished.append(request.urn)
        return super().RegisterResourceOutputs(request)


def _registered(urn: str, request: Any) -> Registered:
    timeouts = request.customTimeouts
    return Registered(
        urn=urn,
        type=request.type,
        name=request.name,
        parent=request.parent,
        custom=request.custom,
        inputs=json_format.MessageToDict(request.object),
        provider=request.provider,
        providers=dict(request.providers),
        dependencies=frozenset(request.dependencies),
        protect=request.protect,
        retain_on_delete=request.retainOnDelete,
        delete_before_replace=request.deleteBeforeReplace,
        replace_on_changes=tuple(request.replaceOnChanges),
        ignore_changes=tuple(request.ignoreChanges),
        aliases=(*request.aliasURNs, *(str(alias) for alias in request.aliases)),
        timeouts={k: getattr(timeouts, k) for k in ("create", "update", "delete") if getattr(timeouts, k)},
    )


class _Engine(mocks.MockEngine):
    def __init__(self, recording: Recording) -> None:
        super().__init__(None)
        self.recording = recording

    def Log(self, request: Any) -> None:  # noqa: N802
        self.recording.logged.append((request.severity, request.message))


def record(
    program: Callable[[], Any],
    *,
    stack: str = "test",
    config: Mapping[str, Any] | None = None,
    secrets: Iterable[str] = (),
    preview: bool = False,
    call: Call | None = None,
) -> Recording:
    """Run a program to its end, all registrations and applies included. Raises what it raises.

    `config` are settings of the project; those that are no text are passed as JSON, as the engine does. `call` answers lookups.
    """
    monitor = RecordingMonitor(call)
    settings.set_root_resource(None)  # type: ignore[arg-type] # that of the last run has the last stack's name
    mocks.set_mocks(_Echo(call), project=PROJECT, stack=stack, preview=preview, monitor=monitor)
    settings.SETTINGS.engine = _Engine(monitor.recording)
    texts = {f"{PROJECT}:{key}": value if isinstance(value, str) else json.dumps(value) for key, value in (config or {}).items()}
    set_all_config(texts, [f"{PROJECT}:{key}" for key in secrets])
    root = settings.get_root_resource()
    root.outputs.clear()

    @pulumi.runtime.test
    def run() -> None:
        program()

    run()
    monitor.recording.outputs = dict(root.outputs)
    return monitor.recording


def write_project(root: Path, environment: str, teams: Mapping[str, str], *, name: str = "test") -> Path:
    """A project of its own: one environment, and teams given by what differs between them."""
    for file, text in {
        f"environments/{name}.yaml": f"apiVersion: hyperpod-platform/v1\n{environment}",
        **{
            f"teams/{team}.yaml": f"apiVersion: hyperpod-platform/v1\nowners: [a@example.com]\n{t}\n" for team, t in teams.items()
        },
    }.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)
    return root
