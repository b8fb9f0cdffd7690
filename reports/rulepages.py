"""The pages of the rules, as Markdown, and one rule as text for a terminal. `python -m reports.rulepages` writes the pages."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

from config.rules import CATEGORIES, PAGES, page_of, rules
from config.rules.model import Base, Category, Example, Rule

_BASES: dict[Base, str] = {
    "kueue": "an existing cluster with Kueue",
    "hyperpod": "a HyperPod cluster with Kueue",
    "managed": "a HyperPod cluster with AWS's task governance",
}
_WIDTH = 100


def pages() -> dict[str, str]:
    """The pages' content by file name."""
    return {"index.md": _index(), **{f"{category.name}.md": _page(category) for category in CATEGORIES}}


def write(root: Path) -> list[Path]:
    """Write the pages below the project's folder, and remove those of categories that are gone. Returns what was written."""
    folder = root / PAGES
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for path in folder.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in wanted]


def explained(rule: str) -> str:
    """One rule for a terminal. Raises KeyError where there is none of that id."""
    found = rules()[rule]
    parts = [
        f"{found.id} ({_severities(found)}): {found.title}",
        _wrapped("Why", found.why),
        _wrapped("What to do", found.remedy),
        _wrapped("Waivers", _waivers(found)),
    ]
    if found.source:
        parts.append(_wrapped("Source", found.source))
    if found.example:
        parts += [
            f"Example, for {_BASES[found.example.base]}:",
            *(textwrap.indent(f"# {file}\n{text}", "    ") for file, text in _files(found.example)),
        ]
    return "\n".join([*parts, "", page_of(rule)])


def _wrapped(label: str, text: str) -> str:
    return textwrap.fill(f"{label}: {text}", _WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _index() -> str:
    """What checks are, as written in a file of its own, and a table of each category."""
    lines = [Path(__file__).with_name("rulepages_index.md").read_text(encoding="utf-8") + f"## All {len(rules())} rules"]
    for category in CATEGORIES:
        lines += ["", f"### [{category.title}]({category.name}.md)", "", "| Rule | Severity | What is wrong |", "|---|---|---|"]
        lines += [
            f"| [`{rule.id}`]({category.name}.md#{rule.id}) | {_severities(rule)} | {rule.title} |" for rule in category.rules
        ]
    return "\n".join([*lines, ""])


def _page(category: Category) -> str:
    parts = [f"# {category.title}", category.about, "[All checks](index.md)"]
    for rule in category.rules:
        parts += _section(rule)
    return "\n\n".join(parts) + "\n"


def _section(rule: Rule) -> Iterator[str]:
    yield f"### `{rule.id}`"
    yield f"**{rule.title}** ({_severities(rule)})"
    yield rule.why
    yield f"*What to do:* {rule.remedy}"
    yield f"*Waivers:* {_waivers(rule)}"
    if rule.source:
        yield f"*Source:* {rule.source}"
    if rule.example:
        yield f"*Example*, for {_BASES[rule.example.base]}:"
        for file, text in _files(rule.example):
            yield f"```yaml\n# {file}\n{text}\n```"


def _severities(rule: Rule) -> str:
    return " or ".join(rule.severities)


def _waivers(rule: Rule) -> str:
    if not rule.waivable:
        return "none: it can't be set aside."
    if rule.severities == ("error",):
        return "in the environment's file."
    return "in the environment's file, or in the team's for what is found there" + (
        " and is no error." if "error" in rule.severities else "."
    )


def _files(example: Example) -> Iterator[tuple[str, str]]:
    for file, text in (("environments/<environment>.yaml", example.environment), ("teams/<team>.yaml", example.team)):
        if text:
            yield file, text.strip("\n")


if __name__ == "__main__":
    write(Path.cwd())
