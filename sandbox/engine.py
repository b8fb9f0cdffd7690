"""The Pulumi engine, driven from Python: the project's own program and state, a progress callback, and errors as sentences.

``Engine`` runs ``pulumi`` with the project's ``__main__.py`` as an inline program, the Automation API's way: the engine calls
back into this process, so the Python language plugin is not needed, and what runs is what ``pulumi up`` runs. Where the real
Kubernetes plugin cannot be had it starts the offline provider (:mod:`sandbox.provider`) and ends it with itself. A run that was
cut short is continued by the next one, see :mod:`sandbox.engine_recovery`; for Ctrl-C see :mod:`sandbox.engine_process`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from sandbox import engine_process
from sandbox.engine_cli import PulumiCli, says_no_stack
from sandbox.engine_errors import EngineError, EngineInterrupted, from_diagnostics
from sandbox.engine_events import Changes, EventServer, OnEvent, Progress, Report
from sandbox.engine_plugins import OfflineProvider, kubernetes_plugin_installed, try_install_kubernetes_plugin
from sandbox.engine_program import Program
from sandbox.engine_recovery import RunNote, heal
from sandbox.engine_settings import ConfigValue, EngineSettings
from sandbox.engine_workspace import Workspace

__all__ = [
    "Changes",
    "ConfigValue",
    "Engine",
    "EngineError",
    "EngineInterrupted",
    "EngineSettings",
    "OnEvent",
    "Progress",
    "UpResult",
    "kubernetes_plugin_installed",
    "try_install_kubernetes_plugin",
]

_PARALLEL: Final = "32"
"""Operations at once; most of the time they wait for the API server or for a controller."""


@dataclass(frozen=True)
class UpResult:
    """What an ``up`` has done: ``outputs`` in clear (secret ones too), ``duration`` in seconds, ``warnings`` in one line each."""

    changes: Changes
    outputs: dict[str, Any]
    duration: float
    warnings: tuple[str, ...] = ()
    log: Path | None = None


class Engine:
    """One stack. A context manager: entering starts the offline provider if it is used, leaving ends it."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.log: Path | None = None
        """The full output of the last run."""
        self._workspace = Workspace(settings.project_dir.resolve(), settings.stack, settings.workspace_folder)
        self._cli = PulumiCli(settings, self._workspace)
        self._note = RunNote(self._workspace.folder)
        self._provider: OfflineProvider | None = None

    def __enter__(self) -> Self:
        self._workspace.refresh()
        if self.settings.kubernetes_provider == "offline":
            self._start_provider()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._provider is not None:
            self._provider.close()
            self._provider = None

    # -- runs ------------------------------------------------------------------------------------------------------------

    def preview(
        self,
        *,
        on_event: OnEvent | None = None,
        refresh: bool = False,
        target: Sequence[str] = (),
        policy_packs: Sequence[Path] = (),
    ) -> Changes:
        """What an ``up`` would change. Writes nothing to the clusters; ``target`` are URNs. Raises ``EngineError``."""
        return self._run("preview", [*_options(refresh, target, policy_packs)], on_event, program=True).changes

    def up(
        self,
        *,
        on_event: OnEvent | None = None,
        refresh: bool = False,
        target: Sequence[str] = (),
        policy_packs: Sequence[Path] = (),
    ) -> UpResult:
        """Bring the clusters to what the program declares.

        Raises what the program raises, ``EngineError`` for what the engine reports, and ``EngineInterrupted`` after Ctrl-C.
        """
        started = time.monotonic()
        args = ["--yes", "--skip-preview", "--suppress-outputs", *_options(refresh, target, policy_packs)]
        report = self._run("up", args, on_event, program=True)
        if not target:
            self._note.settled()
        warnings = tuple(one.line() for one in report.diagnostics if one.severity == "warning")
        return UpResult(report.changes, self.outputs(), time.monotonic() - started, warnings, self.log)

    def destroy(self, *, on_event: OnEvent | None = None, target: Sequence[str] = (), exclude_protected: bool = False) -> Changes:
        """Delete everything in the state. A protected resource makes it fail, unless ``exclude_protected`` leaves it alone."""
        self._note.look()
        if self._note.cut_short and self.settings.skip_checkpoints:
            raise EngineError(
                "An earlier run was killed before it had saved its state, which now does not know what that run created.",
                remedy="Run `up` once, which takes it up, and then `destroy`.",
            )
        args = ["--yes", "--skip-preview", *_options(False, target, ()), *(["--exclude-protected"] if exclude_protected else [])]
        return self._run("destroy", args, on_event).changes

    def refresh(self, *, on_event: OnEvent | None = None, target: Sequence[str] = (), preview_only: bool = False) -> Changes:
        """Bring the state to what the clusters have; with ``preview_only``, only tell the difference."""
        args = [*(["--preview-only"] if preview_only else ["--yes", "--skip-preview"]), *_options(False, target, ())]
        return self._run("refresh", args, on_event).changes

    def import_(self, file: Path, *, on_event: OnEvent | None = None) -> Changes:
        """Take what an import file lists into the state (`pulumi import --file`). Changes nothing on the clusters."""
        args = ["--file", str(file), "--generate-code=false", "--protect=false", "--yes", "--skip-preview", "--suppress-outputs"]
        return self._run("import", args, on_event).changes

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs in clear; empty if there is no stack."""
        found = self._cli.text(["stack", "output", "--json", "--show-secrets"])
        return dict(json.loads(found)) if found else {}

    def state(self) -> dict[str, Any]:
        """The exported deployment, with secrets encrypted; empty if there is no stack."""
        found = self._cli.text(["stack", "export"])
        return dict(json.loads(found)) if found else {}

    def setting(self, key: str) -> str:
        """A value of the stack's configuration in clear. Raises ``EngineError`` where it is not set."""
        return self._cli.text(["config", "get", key]).strip()

    def cancel(self) -> None:
        """Take away the lock of a run that was killed. Only if it is dead: two engines at once spoil the state."""
        self._cli.cancel()

    def unprotect(self) -> None:
        """Take the protection off everything in the state, so that ``destroy`` deletes it; the next ``up`` protects it again."""
        self._prepare()
        self._cli.text(["state", "unprotect", "--all", "--yes"])

    # -- one run ---------------------------------------------------------------------------------------------------------

    def _run(self, verb: str, args: list[str], on_event: OnEvent | None, *, program: bool = False) -> Report:
        """Run ``pulumi verb``, after putting right what an earlier run left behind."""
        self._prepare()
        if verb != "preview":
            self._recover(on_event)
        try:
            return self._attempt(verb, args, on_event, program=program)
        except _NoStackError:
            if self.settings.backend_url is None:
                raise EngineError(
                    f"The project's backend has no stack {self.settings.stack!r}.",
                    remedy=f"Create it once: `pulumi stack init {self.settings.stack}`.",
                ) from None
        if not program:
            return Report()
        self._cli.create_stack()
        return self._attempt(verb, args, on_event, program=program)

    def _attempt(self, verb: str, args: list[str], on_event: OnEvent | None, *, program: bool) -> Report:
        self.log = self._workspace.log(verb, _stamp())
        with ExitStack() as stack:
            events = stack.enter_context(EventServer(on_event))
            command = [verb, "--stack", self.settings.stack, "--event-log", events.address, "--exec-kind", "auto.inline", *args]
            inline = stack.enter_context(Program(self._workspace.project, self.settings.env)) if program else None
            if inline is not None:
                command.append(f"--client={inline.address}")
            if verb == "import":  # runs no program, but asks its language for packages, and has no --client
                self._workspace.hosted_by(stack.enter_context(Program(self._workspace.project, self.settings.env)).address)
            log = stack.enter_context(self.log.open("w", encoding="utf-8"))
            finished = engine_process.run(
                self._cli.command([*command, *self._parallel, "--color", "never"]),
                self._workspace.folder,
                self.settings.environment(self._port),
                log,
                on_interrupt=lambda: events.tell(Progress("interrupted", message="finishing what is under way")),
                on_start=lambda pid: self._note.begin(verb, pid) if verb != "preview" else None,
            )
            if verb != "preview" and finished.code >= 0:  # negative: killed by a signal
                self._note.end()
            if finished.code == 0 and not finished.interrupted:
                if not events.wait_for_last():
                    raise EngineError(
                        f"`{verb}` succeeded, but pulumi did not tell all that it has done.",
                        self.log,
                        "Read the log. The same command, run again, changes what is still to be changed.",
                    )
                return events.report
        raise self._failure(verb, finished, events, inline)

    def _failure(
        self, verb: str, finished: engine_process.Finished, events: EventServer, inline: Program | None
    ) -> BaseException:
        if finished.interrupted:
            return EngineInterrupted(f"`{verb}` was interrupted; the same command continues it.")
        if inline is not None and inline.error is not None:
            return inline.error
        if says_no_stack(finished):
            return _NoStackError()
        if finished.code < 0:
            return EngineError(
                f"pulumi was killed (signal {-finished.code}) during `{verb}`.",
                self.log,
                "Run the same command again: it continues.",
            )
        if events.begun:
            events.wait_for_last()
        return from_diagnostics(verb, events.report.diagnostics, finished.stderr, self.log)

    # -- the stack and its surroundings ----------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Settings, provider and configuration as the run needs them."""
        self._workspace.refresh()
        if self.settings.kubernetes_provider == "offline" and (self._provider is None or not self._provider.alive):
            self._start_provider()
        self._cli.configure()

    def _start_provider(self) -> None:
        self.__exit__(None, None, None)
        log = self._workspace.log("provider", _stamp())
        self._provider = OfflineProvider(self.settings.identity, log, adopt=self._note.cut_short, env=self.settings.env)

    @property
    def _parallel(self) -> list[str]:
        """The real plugins, and what they talk to, have limits of their own, which pulumi's default respects."""
        return ["--parallel", _PARALLEL] if self._provider is not None else []

    @property
    def _port(self) -> int | None:
        return self._provider.port if self._provider is not None else None

    def _recover(self, on_event: OnEvent | None) -> None:
        """Put right what a run that was cut short has left behind."""
        if not self._note.look():
            return
        if self.settings.state_folder is not None:
            self.cancel()
        healed = heal(self.state())
        if healed is not None and healed.unsettled:
            raise EngineError(
                f"An earlier run was killed while it created {', '.join(healed.unsettled)}, which may or may not exist.",
                remedy=f"Run `pulumi refresh --stack {self.settings.stack}` in the project; it asks about each. Then repeat.",
            )
        if healed is not None:
            self._cli.import_state(json.dumps(healed.deployment))
        if self._provider is not None:
            self._start_provider()  # one that knows
        if healed is not None and healed.created:
            self._attempt("refresh", ["--yes", "--skip-preview", *_options(False, healed.created, ())], on_event, program=False)
        self._note.end()


class _NoStackError(Exception):
    """The backend has no such stack."""


def _stamp() -> str:
    return time.strftime("%Y%m%d-%H%M%S")


def _options(refresh: bool, target: Sequence[str], policy_packs: Sequence[Path]) -> list[str]:
    options = ["--refresh"] if refresh else []
    for urn in target:
        options += ["--target", urn]
    for pack in policy_packs:
        options += ["--policy-pack", str(pack)]
    return options
