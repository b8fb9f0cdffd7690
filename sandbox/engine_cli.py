"""Short ``pulumi`` commands: the stack's creation and configuration, its outputs and its state."""

from __future__ import annotations

from typing import Final

from sandbox import engine_process
from sandbox.engine_errors import EngineInterrupted, from_diagnostics
from sandbox.engine_settings import EngineSettings
from sandbox.engine_workspace import Workspace

_NO_STACK: Final = "no stack named"


def says_no_stack(finished: engine_process.Finished) -> bool:
    """Whether a command failed because the backend has no such stack."""
    return finished.code != 0 and _NO_STACK in finished.stderr


class PulumiCli:
    """``pulumi`` in a stack's workspace."""

    def __init__(self, settings: EngineSettings, workspace: Workspace) -> None:
        self._settings = settings
        self._workspace = workspace

    def command(self, args: list[str]) -> list[str]:
        """The command line for ``args``; it never asks anything."""
        return [str(self._settings.pulumi), "--non-interactive", *args]

    def call(self, args: list[str], stdin: str | None = None) -> engine_process.Finished:
        """Run a command to its end, whatever that is. Raises ``EngineInterrupted`` after Ctrl-C."""
        folder = self._settings.state_folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        finished = engine_process.run(self.command(args), self._workspace.folder, self._settings.environment(None), stdin=stdin)
        if finished.interrupted:
            raise EngineInterrupted(f"interrupted at `pulumi {args[0]}`")
        return finished

    def text(self, args: list[str]) -> str:
        """A command's output; empty where there is no such stack. Raises ``EngineError`` for other failures."""
        self._workspace.refresh()
        finished = self.call([*args, "--stack", self._settings.stack])
        if says_no_stack(finished):
            return ""
        return self._checked(finished, " ".join(args[:2])).stdout

    def import_state(self, text: str) -> None:
        """Replace the stack's state by an exported one."""
        self._checked(self.call(["stack", "import", "--stack", self._settings.stack], text), "stack import")

    def cancel(self) -> None:
        """Take the stack's lock away, if there is a stack."""
        finished = self.call(["cancel", "--yes", "--stack", self._settings.stack])
        if not says_no_stack(finished):
            self._checked(finished, "cancel")

    def create_stack(self) -> None:
        """Create the stack, with its configuration."""
        self._workspace.forget()
        self._workspace.refresh()
        finished = self.call(["stack", "init", self._settings.stack])
        if "already exists" not in finished.stderr:
            self._checked(finished, "stack init")
        self.configure()

    def configure(self) -> None:
        """Set the stack's configuration, unless just this is set."""
        config, passphrase = self._settings.config, self._settings.passphrase or ""
        if not config or self._workspace.is_configured(config, passphrase):
            return
        stack = ["--stack", self._settings.stack]
        plain = [f"--plaintext={key}={one.value}" for key, one in config.items() if not one.secret]
        if plain:
            self._set(["config", "set-all", *stack, *plain], None)
        for key, one in config.items():
            if one.secret:  # on standard input: other users can see a process's arguments
                self._set(["config", "set", "--secret", *stack, key], one.value)
        self._workspace.configured(config, passphrase)

    def _set(self, args: list[str], value: str | None) -> None:
        finished = self.call(args, value)
        if says_no_stack(finished) and self._settings.backend_url is not None:
            self._checked(self.call(["stack", "init", self._settings.stack]), "stack init")
            finished = self.call(args, value)
        self._checked(finished, "config set")

    def _checked(self, finished: engine_process.Finished, what: str) -> engine_process.Finished:
        if finished.code != 0:
            raise from_diagnostics(what, (), finished.stderr, None)
        return finished
