"""The scripts of the workflows: the comment, the issue on drift, the commit that runs. `gh` is a stand-in that keeps a record."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from live.drift.model import Report
from reports.drift import markdown

SCRIPTS = Path(__file__).parents[3] / ".github/scripts"
GH = """#!{python}
import json, os, sys
from pathlib import Path
path, method = sys.argv[2], sys.argv[4]
data = json.load(sys.stdin) if "--input" in sys.argv else None
folder = Path(os.environ["FAKE_GH"])
answers = json.loads((folder / "answers.json").read_text())
with (folder / "calls").open("a") as calls:
    calls.write(json.dumps([method, path, data]) + "\\n")
if method == "GET":
    page = answers[path]
    print(json.dumps([page, answers.get(path + " then", [])] if "--slurp" in sys.argv else page))
else:
    print("{{}}")
"""


@pytest.fixture(scope="module")
def scripts() -> dict[str, ModuleType]:
    sys.path.insert(0, str(SCRIPTS))
    try:
        return {name: importlib.import_module(name) for name in ("comment", "drift_issue", "last_deployed")}
    finally:
        sys.path.remove(str(SCRIPTS))


class Gh:
    """What `gh` answers, by path, and what it was asked to change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def answers(self, **by_path: Any) -> None:
        (self.folder / "answers.json").write_text(json.dumps(by_path))

    @property
    def changes(self) -> list[tuple[str, str, dict[str, Any]]]:
        calls = self.folder / "calls"
        found = [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []
        return [(method, path, data) for method, path, data in found if method != "GET"]


@pytest.fixture
def gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gh:
    program = tmp_path / "bin/gh"
    program.parent.mkdir()
    program.write_text(GH.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_GH", str(tmp_path))
    monkeypatch.setenv("GITHUB_REPOSITORY", "example/platform")
    monkeypatch.setenv("RUN_URL", "https://example.com/run/1")
    return Gh(tmp_path)


# The comment -----------------------------------------------------------------------------------------------------------------

_LINES = st.text(st.characters(codec="utf-8", exclude_characters="\r`<>"), max_size=200)
_PART = st.one_of(
    _LINES,
    st.lists(_LINES, max_size=60).map("\n".join),
    st.lists(_LINES, max_size=60).map(
        lambda lines: "intro\n<details><summary>x</summary>\n\n" + "\n".join(lines) + "\n\n</details>"
    ),
    st.lists(_LINES, max_size=60).map(
        lambda lines: "<details><summary>x</summary>\n\n````text\n" + "\n".join(lines) + "\n````\n\n</details>"
    ),
)


@given(st.dictionaries(st.sampled_from("abcdef"), _PART, max_size=6), st.integers(2_000, 20_000))
def test_a_comment_is_never_too_long_and_never_left_open(
    scripts: dict[str, ModuleType], parts: dict[str, str], limit: int
) -> None:
    text = scripts["comment"].body(parts, limit)
    assert text.startswith(scripts["comment"].MARKER)
    assert len(text) <= limit
    assert text.count("<details>") == text.count("</details>")
    assert len(re.findall(r"^`{3,}", text, re.MULTILINE)) % 2 == 0
    whole = sum(len(part.strip()) + 2 for part in parts.values()) + len(scripts["comment"].MARKER)
    if whole <= limit:
        assert all(part.strip() in text for part in parts.values())


_OUTPUT = st.lists(st.sampled_from(["```", "````", "`````text", "  ```", "</details>", "<details>", "line"]), min_size=1)


@given(_OUTPUT, st.integers(200, 2_000))
def test_a_cut_ends_outside_of_what_output_opens(scripts: dict[str, ModuleType], lines: list[str], limit: int) -> None:
    """Markdown's own parser says so: the words on the cut are a paragraph, not part of a block of code."""
    text = scripts["comment"].cut(scripts["comment"].fold("x", "\n".join(lines * 400), 100_000), limit)
    assert len(text) <= limit
    paragraphs = [token.content for token in MarkdownIt().parse(text) if token.type == "inline"]
    assert paragraphs[-1:] == ["_Cut here: the run's summary and artifacts have all of it._"]
    assert text.rpartition("\n\n_Cut")[0].endswith("</details>")


def test_short_parts_are_whole_beside_a_long_one(scripts: dict[str, ModuleType]) -> None:
    body = scripts["comment"].body({"1-diff.md": "line\n" * 40_000, "2-preview.md": "short", "0.md": "first"})
    assert len(body) <= 65_536
    assert body.splitlines()[1] == "first"
    assert body.rstrip().endswith("short")
    assert "_Cut here" in body
    assert len(body) > 60_000


def test_output_that_looks_like_markdown_stays_in_its_fence(scripts: dict[str, ModuleType]) -> None:
    text = scripts["comment"].fold("Preview of <dev>", "a\n```\n</details>\n````\nb\n")
    assert text.splitlines()[0] == "<details><summary>Preview of &lt;dev></summary>"
    assert text.count("`````") == 2
    long = scripts["comment"].fold("x", "\n".join(f"line {number}" for number in range(10_000)), 1_000)
    assert "line 9999" in long
    assert "line 0\n" not in long
    assert len(long) < 1_200


def test_the_comment_is_written_once_and_then_updated(scripts: dict[str, ModuleType], gh: Gh, tmp_path: Path) -> None:
    comment = scripts["comment"]
    parts = tmp_path / "parts/deeper"
    parts.mkdir(parents=True)
    (parts / "1.md").write_text("one")
    path = "repos/example/platform/issues/7/comments"
    pasted = {"id": 1, "body": comment.MARKER + " mine", "user": {"type": "User"}}
    gh.answers(**{f"{path}?per_page=100": [pasted]})
    comment.main(["post", "--pull", "7", str(tmp_path / "parts")])
    gh.answers(**{f"{path}?per_page=100": [pasted, {"id": 2, "body": comment.MARKER + " old", "user": {"type": "Bot"}}]})
    comment.main(["post", "--pull", "7", str(tmp_path / "parts")])
    text = f"{comment.MARKER}\none"
    assert gh.changes == [
        ("POST", path, {"body": text}),
        ("PATCH", "repos/example/platform/issues/comments/2", {"body": text}),
    ]


# The issue on drift ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codes", "known", "change"),
    [
        ({"dev": 0, "prod": 3}, False, ("POST", "issues", None)),
        ({"dev": 0, "prod": 3}, True, ("PATCH", "issues/5", None)),
        ({"dev": 0, "prod": 0}, True, ("PATCH", "issues/5", "closed")),
        ({"dev": 0, "prod": 4}, True, ("PATCH", "issues/5", None)),
        ({"dev": 0, "prod": None}, True, ("PATCH", "issues/5", None)),
        ({"dev": 0, "prod": None}, False, ("POST", "issues", None)),
        ({"dev": 0, "prod": 0}, False, None),
        ({}, True, None),
    ],
)
def test_one_issue_says_what_differs(
    scripts: dict[str, ModuleType],
    gh: Gh,
    tmp_path: Path,
    codes: dict[str, int | None],
    known: bool,
    change: tuple[str, str, str | None] | None,
) -> None:
    drift = scripts["drift_issue"]
    issue = {"number": 5, "body": drift.MARKER, "user": {"type": "Bot"}}
    gh.answers(**{f"repos/example/platform/issues?state=open&labels={drift.LABEL}&per_page=100": [issue] if known else []})
    found = tmp_path / "drift"
    found.mkdir()
    for stack, code in codes.items():
        if code is not None:
            (found / f"{stack}.md").write_text(f"report of {stack}\n")
            (found / f"{stack}.code").write_text(f"{code}\n")
    drift.main(found, list(codes))
    if change is None:
        assert gh.changes == []
        return
    ((method, path, data),) = gh.changes
    assert (method, path, data.get("state")) == (change[0], f"repos/example/platform/{change[1]}", change[2])
    assert data["body"].startswith(f"{drift.MARKER}\nLooked at by https://example.com/run/1")
    assert ("report of prod" in data["body"]) == (codes["prod"] in {3, 4})
    assert ("- `prod`: **could not be read** (the job ended before it looked)" in data["body"]) == (codes["prod"] is None)
    assert "report of dev" not in data["body"]
    assert ("(exit code 4)" in data["body"]) == (codes["prod"] == 4)


def test_a_stack_that_the_backend_does_not_hold_is_never_without_drift(
    scripts: dict[str, ModuleType], gh: Gh, tmp_path: Path
) -> None:
    """As `hpctl drift` says it: exit code 0, and words."""
    drift = scripts["drift_issue"]
    for stack, deployed in (("dev", True), ("my_prod", False)):
        report = Report(stack, stack, "kueue", deployed=deployed, with_state=True)
        (tmp_path / f"{stack}.md").write_text(markdown(report), encoding="utf-8")
        (tmp_path / f"{stack}.code").write_text(f"{report.exit_code()}\n")
    path = f"repos/example/platform/issues?state=open&labels={drift.LABEL}&per_page=100"
    gh.answers(**{path: []})
    drift.main(tmp_path, ["dev", "my_prod"])
    assert gh.changes == []
    gh.answers(**{path: [{"number": 5, "body": drift.MARKER, "user": {"type": "Bot"}}]})
    drift.main(tmp_path, ["dev", "my_prod"])
    ((_, where, data),) = gh.changes
    assert (where, data.get("state")) == ("repos/example/platform/issues/5", None)
    assert "- `dev`: no drift\n- `my_prod`: **not deployed**" in data["body"]


def test_a_night_without_any_report_closes_nothing(scripts: dict[str, ModuleType], gh: Gh, tmp_path: Path) -> None:
    drift = scripts["drift_issue"]
    issue = {"number": 5, "body": drift.MARKER, "user": {"type": "Bot"}}
    gh.answers(**{f"repos/example/platform/issues?state=open&labels={drift.LABEL}&per_page=100": [issue]})
    drift.main(tmp_path / "nothing", ["dev"])
    ((_, _, data),) = gh.changes
    assert "state" not in data


def test_an_issue_holds_the_reports_within_the_limit(scripts: dict[str, ModuleType]) -> None:
    drift = scripts["drift_issue"]
    text = drift.issue_body({f"s{n}": drift.Look(3, "row\n" * 30_000) for n in range(4)}, "run")
    assert 50_000 < len(text) <= 65_536
    assert text.count("**differs**") == 4


# The commit that runs -----------------------------------------------------------------------------------------------------------

OLD, NEW, BROKEN = ("a" * 40, "b" * 40, "c" * 40)


def test_the_newest_success_is_what_runs(scripts: dict[str, ModuleType], gh: Gh, capsys: pytest.CaptureFixture[str]) -> None:
    where = "repos/example/platform/deployments"
    deployments = [
        {"id": 1, "sha": OLD, "created_at": "2026-01-01"},
        {"id": 3, "sha": BROKEN, "created_at": "2026-01-03"},
        {"id": 2, "sha": NEW, "created_at": "2026-01-02"},
    ]
    gh.answers(
        **{
            f"{where}?environment=prod&per_page=30": deployments,
            f"{where}?environment=new&per_page=30": [],
            f"{where}?environment=stuck&per_page=30": [deployments[1]],
            f"{where}?environment=stuck&per_page=30 then": [deployments[0]],
            f"{where}?environment=odd&per_page=30": [{**deployments[0], "sha": "--upload-pack=x"}],
            f"{where}/1/statuses?per_page=100": [{"state": "inactive"}, {"state": "success"}],
            f"{where}/2/statuses?per_page=100": [{"state": "inactive"}, {"state": "success"}],
            f"{where}/3/statuses?per_page=100": [{"state": "failure"}, {"state": "in_progress"}],
        }
    )
    last = scripts["last_deployed"].main
    last("prod")
    last("new")
    last("stuck")
    assert capsys.readouterr().out == f"{NEW}\n\n\n", "one page is read: what stands on the second is of no use"
    with pytest.raises(SystemExit, match="which is no commit"):
        last("odd")
