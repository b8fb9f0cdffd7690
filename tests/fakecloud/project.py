"""A small project whose program runs wholly on the fake cloud."""

from __future__ import annotations

import os
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

from fakecloud.cloud import FakeCloud
from sandbox.engine import Changes, ConfigValue, Engine, EngineError, EngineSettings, UpResult


def given_pulumi() -> Path:
    """The engine's binary: HPCTL_PULUMI, else what the sandbox's toolchain has built."""
    if os.environ.get("HPCTL_PULUMI"):
        return Path(os.environ["HPCTL_PULUMI"])
    from sandbox.progress import SilentProgress
    from sandbox.toolchain import pulumi_binary

    return pulumi_binary(SilentProgress())


class CloudProject:
    """A project in a folder of its own with a state of its own. ``settings`` may be replaced, and used for an Engine directly."""

    def __init__(self, folder: Path, cloud: FakeCloud, *, stack: str = "test", name: str = "small") -> None:
        self.cloud = cloud
        self.name = name
        self.folder = folder / "project"
        self.folder.mkdir(parents=True)
        (self.folder / "Pulumi.yaml").write_text(f"name: {name}\nruntime: python\n")
        (folder / "state").mkdir()  # a preview does not make it
        self.settings = EngineSettings(
            project_dir=self.folder,
            stack=stack,
            backend_url=f"file://{folder / 'state'}",
            pulumi=given_pulumi(),
            passphrase="test",
            env=cloud.env,
            kubernetes_provider="plugin",
            pulumi_home=folder / "home",
            skip_checkpoints=True,
        )

    def configure(self, **values: str) -> None:
        """Set configuration values of the program."""
        found = {f"{self.name}:{key}": ConfigValue(value) for key, value in values.items()}
        self.settings = replace(self.settings, config={**self.settings.config, **found})

    def program(self, text: str) -> None:
        (self.folder / "__main__.py").write_text(textwrap.dedent(text))

    def up(self, text: str | None = None, **options: Any) -> UpResult:
        if text is not None:
            self.program(text)
        with Engine(self.settings) as engine:
            return engine.up(**options)

    def preview(self, text: str | None = None, **options: Any) -> Changes:
        if text is not None:
            self.program(text)
        with Engine(self.settings) as engine:
            return engine.preview(**options)

    def refresh(self, **options: Any) -> Changes:
        with Engine(self.settings) as engine:
            return engine.refresh(**options)

    def destroy(self, **options: Any) -> Changes:
        with Engine(self.settings) as engine:
            return engine.destroy(**options)

    def state(self) -> dict[str, Any]:
        with Engine(self.settings) as engine:
            return engine.state()

    def refused(self, text: str | None = None, *, preview: bool = False) -> str:
        """The message of the engine's error for an up (or a preview) that has to fail."""
        try:
            self.preview(text) if preview else self.up(text)
        except EngineError as error:
            return str(error)
        raise AssertionError("it was not refused")
