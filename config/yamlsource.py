"""Strict YAML with line numbers.

Files are read with YAML 1.2's meaning (core schema) whatever the library's own habits are: `yes` and `on` are words, `012` is not
an octal number. Spellings that YAML 1.1 and 1.2 read differently are findings, so that an editor, a linter and this program
never disagree on what a file says. Anchors, aliases, tags and merge keys are refused: data files stay plain data.

libyaml composes the nodes (they keep their marks); a position is looked up only when a finding needs it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from config.findings import Finding, Severity, Where

Key = str | int
Path_ = tuple[Key, ...]

MAX_BYTES = 1 << 20
"""Largest file that is read, in bytes: a data file beyond 1 MiB is a mistake."""
MAX_DEPTH = 24
"""Deepest nesting that is read; the declarations need 8."""

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_STR_TAG = "tag:yaml.org,2002:str"
_DEFAULT_TAGS = {_STR_TAG, "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"}
_WORDS: dict[str, Any] = {"": None, "~": None} | {
    spelling: value
    for word, value in (("null", None), ("true", True), ("false", False))
    for spelling in (word, word.capitalize(), word.upper())
}
_BOOLEAN_WORDS = {s for w in ("yes", "no", "on", "off", "y", "n") for s in (w, w.capitalize(), w.upper())}
_INT = re.compile(r"[-+]?[0-9]+\Z")
_BASED = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?\Z")
_UNDERSCORED = re.compile(r"[-+]?[0-9][0-9_]*_[0-9_]*\Z")
_NUMBER_START = frozenset("0123456789+-.")


@dataclass(frozen=True, slots=True)
class Document:
    """One file: its plain data, and the nodes that know where everything stands."""

    file: str
    data: Any
    node: Any

    def where(self, path: Path_ = (), *, key: bool = False) -> Where | None:
        """Where `path` stands, or None if the file has no such place. `key`: the key rather than its value."""
        node = self.node
        mark = node.start_mark if node is not None else None
        for index, part in enumerate(path):
            found = _child(node, part)
            if found is None:
                return None
            key_mark, node = found
            mark = key_mark if key and index == len(path) - 1 and key_mark is not None else node.start_mark
        return Where(self.file, mark.line + 1, mark.column + 1) if mark is not None else Where(self.file)


@dataclass(frozen=True, slots=True)
class Layered:
    """Several places laid over each other (an override above its base): a path is looked up in the topmost that has it."""

    layers: tuple[tuple[Document, Path_], ...]

    def where(self, path: Path_ = (), *, key: bool = False) -> Where:
        """Where `path` stands; if nothing of that name stands anywhere, its nearest parent."""
        for length in range(len(path), -1, -1):
            for document, prefix in self.layers:
                found = document.where((*prefix, *path[:length]), key=key and length == len(path))
                if found is not None:
                    return found
        return Where(self.layers[0][0].file)


def _child(node: Any, part: Key) -> tuple[Any, Any] | None:
    if isinstance(node, yaml.MappingNode):
        for key_node, value_node in node.value:
            if key_node.value == str(part):
                return key_node.start_mark, value_node
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return None, node.value[part]
    return None


def read(path: Path, shown: str | None = None) -> tuple[Document, list[Finding]]:
    """Read one file; never raises for what the file says, only returns findings."""
    file = shown or str(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        return Document(file, None, None), [_finding("file-unreadable", Where(file), f"cannot read the file: {error.strerror}")]
    if len(raw) > MAX_BYTES:
        return Document(file, None, None), [
            _finding("file-too-large", Where(file), f"{len(raw)} bytes; at most {MAX_BYTES} are read")
        ]
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        return Document(file, None, None), [
            _finding("yaml-encoding", Where(file, line, 1), "the file is not UTF-8", "save it as UTF-8")
        ]
    return parse(text, file)


def parse(text: str, file: str) -> tuple[Document, list[Finding]]:
    """Parse one document; see the module's docstring for what is refused."""
    try:
        if _too_deep(text):
            return Document(file, None, None), [_finding("yaml-depth", Where(file), f"nested deeper than {MAX_DEPTH} levels")]
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        return Document(file, None, None), [_syntax_finding(error, file)]
    if node is None:
        return Document(file, None, None), [_finding("yaml-empty", Where(file, 1, 1), "the file is empty")]
    findings: list[Finding] = []
    data = _convert(node, file, findings, 0, {})
    return Document(file, data, node), findings


def _too_deep(text: str) -> bool:
    """Whether brackets could nest too deep for the composer, which recurses; block nesting is bounded by indentation."""
    if text.count("[") + text.count("{") <= MAX_DEPTH and text.count("- - ") <= MAX_DEPTH and text.count("? ? ") <= MAX_DEPTH:
        return False
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1
    return False


def _convert(node: Any, file: str, findings: list[Finding], depth: int, seen: dict[int, bool]) -> Any:
    if id(node) in seen:
        findings.append(
            _finding("yaml-alias", _at(node, file), "anchors and aliases are not read", "write the value out, or use `base:`")
        )
        return None
    seen[id(node)] = True
    if node.tag not in _DEFAULT_TAGS:
        findings.append(_finding("yaml-tag", _at(node, file), f"the tag {node.tag} is not read", "remove it"))
        return None
    if depth > MAX_DEPTH:
        findings.append(_finding("yaml-depth", _at(node, file), f"nested deeper than {MAX_DEPTH} levels"))
        return None
    if isinstance(node, yaml.ScalarNode):
        return node.value if node.style else _scalar(node, file, findings)
    if isinstance(node, yaml.SequenceNode):
        return [_convert(item, file, findings, depth + 1, seen) for item in node.value]
    return _mapping(node, file, findings, depth, seen)


def _mapping(node: Any, file: str, findings: list[Finding], depth: int, seen: dict[int, bool]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = key_node.value
        if not isinstance(key_node, yaml.ScalarNode):
            findings.append(_finding("yaml-key", _at(key_node, file), "a key must be a plain word"))
            continue
        if key == "<<" and not key_node.style:
            findings.append(_finding("yaml-merge", _at(key_node, file), "merge keys (<<) are not read", "write the values out"))
            continue
        if key in _BOOLEAN_WORDS and not key_node.style:
            findings.append(
                _finding(
                    "yaml-word", _at(key_node, file), f"the key `{key}` means true or false to some readers", f'write "{key}"'
                )
            )
        if key in result:
            first = next(k for k, _ in node.value if k.value == key)
            message = f"the key `{key}` stands twice (first on line {first.start_mark.line + 1})"
            findings.append(_finding("yaml-duplicate-key", _at(key_node, file), message, "keep one"))
        value = _convert(value_node, file, findings, depth + 1, seen)
        result.setdefault(key, value)
    return result


def _scalar(node: Any, file: str, findings: list[Finding]) -> Any:
    text: str = node.value
    if text in _WORDS:
        return _WORDS[text]
    if text in _BOOLEAN_WORDS:
        value = "true" if text.lower() in ("yes", "on", "y") else "false"
        findings.append(
            _finding(
                "yaml-word", _at(node, file), f"`{text}` is a word, not a truth value", f'write {value}, or "{text}" for the word'
            )
        )
        return text
    if text[0] not in _NUMBER_START:
        return text
    trap = _number_trap(text)
    if trap:
        findings.append(_finding("yaml-number", _at(node, file), trap[0], trap[1]))
        return text
    if _INT.match(text):
        return int(text)
    if _BASED.match(text):
        return int(text, 0)
    if _FLOAT.match(text):
        return float(text)
    return (
        float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        if text.lower().lstrip("+-") in (".inf", ".nan")
        else text
    )


def _number_trap(text: str) -> tuple[str, str] | None:
    """Spellings of numbers that readers of YAML 1.1 and 1.2 disagree on, or that lose digits."""
    if _INT.match(text):
        digits = text.lstrip("+-")
        if len(digits) > 1 and digits[0] == "0":
            return f"`{text}` is octal to some readers and decimal to others", f'write {int(text)}, or "{text}" for the text'
        return None
    if _UNDERSCORED.match(text):
        return f"`{text}` is a number to some readers and text to others", f"write {text.replace('_', '')}"
    if _SEXAGESIMAL.match(text):
        return f"`{text}` is a number in base 60 to some readers", f'write "{text}"'
    if _FLOAT.match(text) and re.search(r"\.[0-9]+0\Z", text):
        return f"`{text}` is read as the number {float(text)}", f'write "{text}" for the text, or {float(text)} for the number'
    return None


def _at(node: Any, file: str) -> Where:
    return Where(file, node.start_mark.line + 1, node.start_mark.column + 1)


def _finding(id_: str, where: Where, message: str, remedy: str = "") -> Finding:
    return Finding(id_, Severity.ERROR, where, message, remedy)


def _syntax_finding(error: yaml.YAMLError, file: str) -> Finding:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    where = Where(file, mark.line + 1, mark.column + 1) if mark is not None else Where(file)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    context = getattr(error, "context", None)
    message = f"not YAML: {context + ', ' if context else ''}{problem}"
    if "expected a single document" in message:
        return _finding("yaml-syntax", where, "the file holds several documents", "one document a file")
    remedy = "indent with spaces" if "\\t" in message or "tab" in message else ""
    return _finding("yaml-syntax", where, message, remedy)
