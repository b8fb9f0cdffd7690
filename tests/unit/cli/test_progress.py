"""Progress where there is no terminal, and what Ctrl-C says."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import typer

import cli.console
from cli import main as verbs
from cli.__main__ import main
from cli.console import Ended, progress


def test_what_is_left_of_longer_work_is_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(cli.console.time, "monotonic", lambda: now[0])
    with progress() as shown:
        shown.step("replaying")
        for done, at in ((0, 0.0), (10, 60.0), (50, 300.0), (90, 540.0), (97, 582.0), (100, 600.0)):
            now[0] = at
            shown.update(done, 100)
    assert capsys.readouterr().err.splitlines() == [
        "replaying",
        "replaying: 0/100",
        "replaying: 10/100, about 9 min left",
        "replaying: 50/100, about 5 min left",
        "replaying: 90/100, about 60 s left",
        "replaying: 100/100",
    ]


class Impatient:
    """Ctrl-C while the verbs are loaded."""

    def find_spec(self, name: str, *_: Any) -> None:
        if name == "cli.main":
            raise KeyboardInterrupt


def test_interrupted_while_it_loads(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cli.main")
    monkeypatch.setattr(sys, "meta_path", [Impatient(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted; the same command continues, or starts anew\n"),
        (typer.Abort(), 130, "interrupted; the same command continues, or starts anew\n"),
        (Ended(130), 130, ""),
    ],
)
def test_interrupted_in_a_verb(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise error

    monkeypatch.setattr("cli.quotas.planned", interrupted)
    assert verbs.run(["quotas"]) == code
    assert capsys.readouterr().err == said
