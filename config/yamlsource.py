"""Strict YAML with line numbers.

Files are read with YAML 1.2's meaning (core schema) whatever the library's own habits are, and spellings that YAML 1.1 and 1.2
read differently are findings (`config.yamlscalars`), so that an editor, a linter and this program never disagree on what a file
says. Anchors, aliases, tags and merge keys are refused: data files stay plain data.

libyaml composes the nodes (they keep their marks); a position is looked up only when a finding needs it.
"""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import yaml

from config.findings import Finding, Where, problem_at, quoted
from config.yamlscalars import BOOLEAN_WORDS, meaning

Key = str | int
Path_ = tuple[Key, ...]

MAX_BYTES = 1 << 20
"""Largest file that is read, in bytes: a data file beyond 1 MiB is a mistake."""
MAX_DEPTH = 24
"""Deepest nesting that is read; the declarations need 8."""

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_DEFAULT_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map"))
_DEEP_LINE = re.compile(rf"(?:^|[\n\r\x85\u2028\u2029])[ \t?:-]{{{2 * MAX_DEPTH}}}")
_TOO_DEEP = "put less inside one another"


class Document:
    """One file: its plain data, and where everything stands.

    The nodes with their marks are composed again when the first place is asked for: most files never need them, and holding
    all of them would make Python's garbage collector the slowest part of a run.
    """

    __slots__ = ("_children", "_node", "_text", "data", "file")

    def __init__(self, file: str, data: Any = None, text: str = "") -> None:
        self.file = file
        self.data = data
        self._text = text
        self._node: Any = None
        self._children: dict[int, dict[str, tuple[Any, Any]]] = {}

    def where(self, path: Path_ = (), *, key: bool = False, inside: bool = False) -> Where | None:
        """Where `path` stands, or None if the file has no such place.

        `key`: the key rather than its value. `inside`: something that belongs inside the value, hence the key, or the value
        itself where it is a single word.
        """
        at = node = self._root()
        for part in path:
            found = self._child(node, part)
            if found is None:
                return None
            key_node, node = found
            at = key_node if key or (inside and not isinstance(node, yaml.ScalarNode)) else node
        return Where(self.file, 1, 1) if at is None else _at(at, self.file)

    def _root(self) -> Any:
        if self._text:
            self._node = yaml.compose(self._text, Loader=_LOADER)
            self._text = ""
        return self._node

    def _child(self, node: Any, part: Key) -> tuple[Any, Any] | None:
        """The key's and the value's node; of a key that stands twice, the first."""
        if isinstance(node, yaml.MappingNode):
            children = self._children.get(id(node))
            if children is None:
                children = {key.value: (key, value) for key, value in reversed(node.value) if isinstance(key, yaml.ScalarNode)}
                self._children[id(node)] = children
            return children.get(str(part))
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and 0 <= part < len(node.value):
            return node.value[part], node.value[part]
        return None


class Places(Protocol):
    """Something that knows where the parts of a declaration stand."""

    def where(self, path: Path_ = (), *, key: bool = False) -> Where:
        """Where `path` stands; `key`: the key rather than its value."""


@dataclass(frozen=True, slots=True)
class Layered:
    """Several places laid over each other (an override above its base): a path is looked up in the topmost that has it."""

    layers: tuple[tuple[Document, Path_], ...]

    def where(self, path: Path_ = (), *, key: bool = False) -> Where:
        """Where `path` stands; if nothing of that name stands anywhere, the key of its nearest parent, at last the file."""
        for length in range(len(path), 0, -1):
            for document, prefix in self.layers:
                whole = length == len(path)
                found = document.where((*prefix, *path[:length]), key=key and whole, inside=not whole)
                if found is not None:
                    return found
        file = next((document for document, prefix in self.layers if not prefix), self.layers[0][0])
        return file.where() or Where(file.file, 1, 1)


def read(path: Path, shown: str | None = None, limit: int = MAX_BYTES) -> tuple[Document, list[Finding]]:
    """Read one file of at most `limit` bytes; never raises for what the file is or says, only returns findings."""
    text = text_of(path, shown or str(path), limit)
    return _nothing(text) if isinstance(text, Finding) else parse(text, shown or str(path))


def text_of(path: Path, file: str, limit: int = MAX_BYTES) -> str | Finding:
    """A file's text, or why it can't be read."""
    start = Where(file, 1, 1)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return problem_at("file-unreadable", start, "this is not a plain file", "keep only data files here")
        with path.open("rb") as stream:
            raw = stream.read(limit + 1)
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        return problem_at("file-unreadable", start, f"cannot read the file: {reason}", "make it readable, or remove it")
    if len(raw) > limit:
        return problem_at("file-too-large", start, f"more than {limit:,} bytes", "data files are far smaller")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        where = Where(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
        return problem_at("yaml-encoding", where, "the file is not UTF-8", "save it as UTF-8")


def _nothing(finding: Finding) -> tuple[Document, list[Finding]]:
    return Document(finding.where.file), [finding]


def parse(text: str, file: str) -> tuple[Document, list[Finding]]:
    """Parse one document; see the module's docstring for what is refused."""
    try:
        if _too_deep(text):
            return _nothing(problem_at("yaml-depth", Where(file, 1, 1), f"nested deeper than {MAX_DEPTH} levels", _TOO_DEEP))
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        return _nothing(_syntax_finding(error, text, file))
    if node is None:
        return _nothing(problem_at("yaml-empty", Where(file, 1, 1), "the file is empty", "fill it, or remove it"))
    reader = _Reader(file)
    return Document(file, reader.convert(node, 0), text), reader.findings


def _too_deep(text: str) -> bool:
    """Whether nesting goes far beyond what is read, so that the composer, which recurses, must not see it.

    Brackets can nest without bound; blocks nest by columns, at most two to one, hence a line that begins far to the right.
    """
    if text.count("[") + text.count("{") <= MAX_DEPTH and not _DEEP_LINE.search(text):
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


class _Reader:
    """Turns the nodes of one file into plain data."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.findings: list[Finding] = []
        self._seen: set[int] = set()

    def convert(self, node: Any, depth: int) -> Any:
        if id(node) in self._seen:
            return self._refuse("yaml-alias", node, "anchors and aliases are not read", "write the value out, or use `base:`")
        self._seen.add(id(node))
        if node.tag not in _DEFAULT_TAGS:
            return self._refuse("yaml-tag", node, f"the tag {quoted(node.tag)} is not read", "remove it")
        if isinstance(node, yaml.ScalarNode):
            return node.value if node.style else self._scalar(node)
        if depth >= MAX_DEPTH:
            return self._refuse("yaml-depth", node, f"nested deeper than {MAX_DEPTH} levels", _TOO_DEEP)
        if isinstance(node, yaml.SequenceNode):
            return [self.convert(item, depth + 1) for item in node.value]
        return self._mapping(node, depth)

    def _scalar(self, node: Any) -> Any:
        value, trap = meaning(node.value)
        if trap is not None:
            self._refuse("yaml-word" if node.value in BOOLEAN_WORDS else "yaml-number", node, *trap)
        return value

    def _mapping(self, node: Any, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            if not self._key_is_plain(key_node):
                continue
            key = key_node.value
            value = self.convert(value_node, depth + 1)
            if key in result:
                self._refuse(
                    "yaml-duplicate-key", key_node, f"the key {quoted(key)} stands twice (first on line {first[key]})", "keep one"
                )
                continue
            result[key] = value
            first[key] = key_node.start_mark.line + 1
        return result

    def _key_is_plain(self, node: Any) -> bool:
        if not isinstance(node, yaml.ScalarNode) or node.tag not in _DEFAULT_TAGS:
            self._refuse("yaml-key", node, "a key must be a plain word", "write `key: value`")
            return False
        if id(node) in self._seen:
            self._refuse("yaml-alias", node, "anchors and aliases are not read", "write the key out")
            return False
        self._seen.add(id(node))
        if node.style:
            return True
        if node.value == "<<":
            self._refuse("yaml-merge", node, "merge keys (<<) are not read", "write the values out, or use `base:`")
            return False
        if node.value in BOOLEAN_WORDS:
            message = f"the key `{node.value}` means true or false to some readers"
            self._refuse("yaml-word", node, message, f'write "{node.value}"')
        return True

    def _refuse(self, id_: str, node: Any, message: str, remedy: str) -> None:
        self.findings.append(problem_at(id_, _at(node, self.file), message, remedy))


def _at(node: Any, file: str) -> Where:
    return Where(file, node.start_mark.line + 1, node.start_mark.column + 1)


def _syntax_finding(error: yaml.YAMLError, text: str, file: str) -> Finding:
    if isinstance(error, yaml.reader.ReaderError):
        before = text.encode("utf-8", "replace")[: error.position].decode("utf-8", "replace")
        where = Where(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
        return problem_at("yaml-syntax", where, f"not YAML: {error.reason}", "remove the character")
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    where = Where(file, mark.line + 1, mark.column + 1) if mark is not None else Where(file, 1, 1)
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    if "another document" in problem:
        return problem_at("yaml-syntax", where, "the file holds several documents", "one document a file")
    context = getattr(error, "context", None)
    begin = getattr(error, "context_mark", None)
    if context and begin is not None and begin.line + 1 != where.line:
        context += f" that begins on line {begin.line + 1}"
    remedy = "look here, and at the line above, for indentation, a missing quote, bracket or colon"
    if _character(text, where) == "\t":
        remedy = "indent with spaces, not with tabs"
    return problem_at("yaml-syntax", where, f"not YAML: {context + ', ' if context else ''}{problem}", remedy)


def _character(text: str, where: Where) -> str:
    lines = text.splitlines()
    line = lines[where.line - 1] if where.line <= len(lines) else ""
    return line[where.column - 1 : where.column]
