"""Strict YAML: what is read, what is refused, and where."""

from __future__ import annotations

import math
import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from declarations import assert_well_formed
from hypothesis import given
from hypothesis import strategies as st

from config.findings import Finding
from config.yamlsource import MAX_BYTES, MAX_DEPTH, Layered, parse, read


def found(text: str) -> list[tuple[str, int, int]]:
    _, findings = parse(text, "f.yaml")
    for finding in findings:
        assert_well_formed(finding)
    return [(f.id, f.where.line, f.where.column) for f in findings]


def value(text: str) -> Any:
    document, findings = parse(f"k: {text}\n", "f.yaml")
    assert not findings, findings
    return document.data["k"]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("NULL", None),
        ("true", True),
        ("False", False),
        ("0", 0),
        ("-0", 0),
        ("12", 12),
        ("+12", 12),
        ("-7", -7),
        ("999999999999999999", 999999999999999999),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.0", 1.0),
        ("10.0", 10.0),
        ("-2.25", -2.25),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("ml.p5.48xlarge", "ml.p5.48xlarge"),
        ("1.2.3", "1.2.3"),
        ("5m", "5m"),
        ("1d12h", "1d12h"),
        ("'yes'", "yes"),
        ('"0123"', "0123"),
        ('"1.30"', "1.30"),
        ('""', ""),
        ("arn:aws:iam::123456789012:role/x", "arn:aws:iam::123456789012:role/x"),
    ],
)
def test_a_scalar_has_the_meaning_of_yaml_1_2(text: str, meaning: Any) -> None:
    assert value(text) == meaning
    assert type(value(text)) is type(meaning)


def test_not_a_number_is_a_float() -> None:
    assert math.isnan(value(".nan"))


@pytest.mark.parametrize(
    ("text", "id_", "remedy"),
    [
        ("yes", "yaml-word", "write true"),
        ("No", "yaml-word", "write false"),
        ("on", "yaml-word", "write true"),
        ("OFF", "yaml-word", "write false"),
        ("y", "yaml-word", "write true"),
        ("012", "yaml-number", "write 12"),
        ("-08", "yaml-number", "write -8"),
        ("00", "yaml-number", "write 0"),
        ("1.30", "yaml-number", 'write "1.30"'),
        ("0.50", "yaml-number", "0.5 for the number"),
        ("1_000", "yaml-number", "write 1000"),
        ("1e3", "yaml-number", "without an exponent"),
        ("1.5E+3", "yaml-number", "without an exponent"),
        ("0o17", "yaml-number", "in decimal"),
        ("0x1F", "yaml-number", "in decimal"),
        ("0b101", "yaml-number", "in decimal"),
        ("12:30", "yaml-number", 'write "12:30"'),
        ("190:20:30.15", "yaml-number", 'write "190:20:30.15"'),
        ("2026-1-31", "yaml-number", 'write "2026-1-31"'),
        ("2026-02-31", "yaml-number", 'write "2026-02-31"'),
        ("2026-01-31T10:00:00Z", "yaml-number", 'write "2026-01-31T10:00:00Z"'),
        ("1" * 19, "yaml-number", "quote it"),
        ("1" * 5000, "yaml-number", "quote it"),
        ("0" + "1" * 5000, "yaml-number", "quote it"),
    ],
)
def test_a_spelling_that_readers_disagree_on_is_a_finding(text: str, id_: str, remedy: str) -> None:
    document, findings = parse(f"a: 1\nkey: {text}\n", "f.yaml")
    assert [(f.id, f.where.line, f.where.column) for f in findings] == [(id_, 2, 6)]
    assert remedy in findings[0].remedy
    assert_well_formed(findings[0])
    assert document.data["key"] == text


@given(st.from_regex(r"[-+.0-9:_eExob]{1,12}|[0-9]{4}-[0-9]{2}-[0-9]{2}", fullmatch=True))
def test_what_is_read_is_what_a_yaml_1_1_reader_reads(text: str) -> None:
    """No unquoted number has one value here and another for PyYAML, unless there is a finding."""
    document, findings = parse(f"k: {text}\n", "f.yaml")
    if findings or document.data is None:
        return
    theirs = yaml.safe_load(f"k: {text}\n")["k"]
    ours = document.data["k"]
    if isinstance(theirs, date):
        assert ours == theirs.isoformat()  # a day in full says the same as text
    elif isinstance(theirs, float) and math.isnan(theirs):
        assert math.isnan(ours)
    else:
        assert (ours, type(ours)) == (theirs, type(theirs)) or (isinstance(theirs, str) and ours == float(theirs))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3\n", [("yaml-duplicate-key", 3, 1)]),
        ("x:\n  a: 1\n  'a': 2\n", [("yaml-duplicate-key", 3, 3)]),
        ("x: {a: 1, a: 2, a: 3}\n", [("yaml-duplicate-key", 1, 11), ("yaml-duplicate-key", 1, 17)]),
        ("a: &x 1\nb: *x\n", [("yaml-alias", 1, 4)]),
        ("a: &x {b: 1}\nc: *x\n", [("yaml-alias", 1, 4)]),
        ("a: &x [*x]\n", [("yaml-alias", 1, 4)]),
        ("a: *missing\n", [("yaml-syntax", 1, 4)]),
        ("a: {b: 1}\nc:\n  <<: {d: 1}\n", [("yaml-merge", 3, 3)]),
        ("a: !!python/object:os.system x\n", [("yaml-tag", 1, 4)]),
        ("a: !Ref x\n", [("yaml-tag", 1, 4)]),
        ("!custom a: 1\n", [("yaml-key", 1, 1)]),
        ("? [a, b]\n: 1\n", [("yaml-key", 1, 3)]),
        ("on: 1\n", [("yaml-word", 1, 1)]),
        ("'on': 1\n", []),
        ("", [("yaml-empty", 1, 1)]),
        ("# only a comment\n", [("yaml-empty", 1, 1)]),
        ("a: 1\n---\nb: 2\n", [("yaml-syntax", 2, 1)]),
        ("a: [1\nb: 2\n", [("yaml-syntax", 2, 2)]),
        ("a: 'x\n", [("yaml-syntax", 2, 1)]),
        ("a:\n\tb: 1\n", [("yaml-syntax", 2, 1)]),
        ("a: b: c\n", [("yaml-syntax", 1, 5)]),
        ("a: x\0y\n", [("yaml-syntax", 1, 5)]),
        ("é: 1\nb: x\x1by\n", [("yaml-syntax", 2, 5)]),
        ("a: {}\n%YAML 1.2\n", [("yaml-syntax", 3, 1)]),
    ],
)
def test_what_plain_data_files_must_not_hold(text: str, expected: list[tuple[str, int, int]]) -> None:
    assert found(text) == expected


def test_every_trap_of_a_file_is_found_in_one_pass() -> None:
    assert [id_ for id_, *_ in found("a: yes\nb: 012\nc: !x 1\nd: 1\nd: 2\ne: &x 1\nf: *x\n")] == [
        "yaml-word",
        "yaml-number",
        "yaml-tag",
        "yaml-duplicate-key",
        "yaml-alias",
    ]


def test_an_open_bracket_is_named_with_its_line() -> None:
    (finding,) = parse("a: [1\nb: 2\n", "f.yaml")[1]
    assert "a flow sequence that begins on line 1" in finding.message


def test_a_tab_is_named_as_such() -> None:
    (finding,) = parse("a:\n\tb: 1\n", "f.yaml")[1]
    assert finding.remedy == "indent with spaces, not with tabs"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path, newline: str, mark: str) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes((mark + newline.join(["# é", "a:", "  b: yes", ""])).encode())
    document, findings = read(path, "f.yaml")
    assert document.data == {"a": {"b": "yes"}}
    assert [(f.id, f.where.line, f.where.column) for f in findings] == [("yaml-word", 3, 6)]


NESTED = {
    "flow lists": lambda n: "a: " + "[" * n + "]" * n,
    "flow maps": lambda n: "{a: " * n + "}" * n,
    "lists by indentation": lambda n: "".join(" " * i + "-\n" for i in range(n)) + " " * n + "x",
    "maps by indentation": lambda n: "".join(" " * i + "a:\n" for i in range(n)) + " " * n + "x",
    "lists on one line": lambda n: "- " * n + "x",
    "keys on one line": lambda n: "? " * n + "x",
    "lists in keys on one line": lambda n: "- ? " * n + "x",
    "lists in values": lambda n: "? - " * n + "x",
    "lists at their key": lambda n: "".join(" " * i + "a:\n" + " " * i + "-\n" for i in range(n)) + " " * n + "x",
}


@pytest.mark.parametrize("size", [MAX_DEPTH + 2, 200, 1200])
@pytest.mark.parametrize("shape", NESTED)
def test_deep_nesting_is_refused(shape: str, size: int) -> None:
    assert {id_ for id_, *_ in found(NESTED[shape](size))} <= {"yaml-depth", "yaml-key"}
    assert found(NESTED[shape](size))


@pytest.mark.parametrize(
    "shape", ["flow lists", "flow maps", "lists on one line", "keys on one line", "lists in keys on one line"]
)
def test_nesting_as_deep_as_a_file_can_hold_ends_well(shape: str) -> None:
    text = NESTED[shape](MAX_BYTES // 5)
    assert found(text)[0][0] in ("yaml-depth", "yaml-syntax")


def test_nesting_up_to_the_limit_is_read() -> None:
    document, findings = parse("[" * MAX_DEPTH + "]" * MAX_DEPTH, "f.yaml")
    assert not findings
    depth, data = 0, [document.data]
    while data:
        depth, data = depth + 1, data[0]
    assert depth == MAX_DEPTH


def test_a_wide_comment_is_not_nesting() -> None:
    assert found("a: 1\n" + "# " + "-" * 200 + "\nb: >\n" + " " * 100 + "far right\n") == []


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    assert_well_formed(finding)
    return finding


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes("a: é\nb: ".encode() + b"\xff\n")
    finding = only(read(path)[1])
    assert (finding.id, finding.where.line, finding.where.column) == ("yaml-encoding", 2, 4)


def test_utf_16_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes("a: 1\n".encode("utf-16"))
    assert only(read(path)[1]).id == "yaml-encoding"


def test_a_file_above_a_mebibyte_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"a: 1\n#" + b"x" * (MAX_BYTES - 6))
    assert read(path)[1] == []
    path.write_bytes(b"a: 1\n#" + b"x" * (MAX_BYTES - 5))
    assert only(read(path)[1]).id == "file-too-large"


def test_a_folder_a_pipe_and_a_loop_are_not_files(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    (tmp_path / "nowhere.yaml").symlink_to(tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe.yaml")
    for name in ("folder", "loop", "nowhere", "pipe"):
        document, findings = read(tmp_path / f"{name}.yaml", f"{name}.yaml")
        assert document.data is None
        assert only(findings).id == "file-unreadable"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text("a: 1\n")
    path.chmod(0)
    assert "permission denied" in only(read(path)[1]).message


def test_places_of_keys_and_values() -> None:
    document, _ = parse("a: 1\nb:\n  c: [x, {d: 2}]\n  'e f': >\n    text\n", "f.yaml")

    def at(*path: str | int, key: bool = False) -> tuple[int, int] | None:
        where = document.where(path, key=key)
        return where and (where.line, where.column)

    assert at() == (1, 1)
    assert at("a") == (1, 4)
    assert at("a", key=True) == (1, 1)
    assert at("b", key=True) == (2, 1)
    assert at("b") == (3, 3)
    assert at("b", "c", 0) == (3, 7)
    assert at("b", "c", 1, "d") == (3, 14)
    assert at("b", "c", 1, "d", key=True) == (3, 11)
    assert at("b", "e f", key=True) == (4, 3)
    assert at("b", "c", 2) is None
    assert at("b", "c", -1) is None
    assert at("b", "x") is None
    assert at("a", "x") is None


def test_a_place_in_layers_is_the_topmost_that_has_it() -> None:
    document, _ = parse("a: 1\nsharing: {x: 1, y: 2}\nenvironments:\n  prod:\n    sharing: {y: 3}\n", "f.yaml")
    layered = Layered(((document, ("environments", "prod")), (document, ())))
    assert layered.where(("sharing", "y")).line == 5
    assert layered.where(("sharing", "x")).line == 2
    assert layered.where(("a",)).line == 1
    missing = layered.where(("sharing", "z"))
    assert (missing.line, missing.column) == (5, 5)
    assert layered.where(("nothing",)).line == 1
