"""A topology map as one SVG picture: a box for each block, a square for each node, filled as far as its accelerators are taken.

It needs no other files, fonts or scripts. Colours follow the reader's light or dark setting, on a ground of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree as ET

from governance.topologymap.tree import Domain, Section, Tally
from reports.topology import View, amount_words, cut, free_words, level_words, main_resources, title

WIDTH: Final = 1200
_CELL, _GAP, _PAD, _HEAD = 24, 4, 8, 20
"""A node's square, the space between squares, a box's inner edge, its line of text: in pixels."""
_COLUMNS: Final = 8
_LETTER: Final = 6.7
"""Width of a letter of the text, roughly."""
_STYLE: Final = """
.hp-map { --ground: #ffffff; --text: #1b2430; --soft: #566273; --edge: #a9b4c2; --free: #dfe6ee; --used: #3f7cc4; --kept: #e0a63a;
  --out: #b3372f; }
@media (prefers-color-scheme: dark) { .hp-map { --ground: #151b23; --text: #e6ebf2; --soft: #a3afbf; --edge: #4a5768;
  --free: #2c3846; --used: #4f90dd; --kept: #d99c2b; --out: #f0857c; } }
.hp-map text { font: 11px system-ui, sans-serif; fill: var(--text); }
.hp-map .title { font-size: 15px; font-weight: 600; }
.hp-map .soft { fill: var(--soft); }
.hp-map .ground { fill: var(--ground); }
.hp-map .block { fill: none; stroke: var(--edge); }
.hp-map .free { fill: var(--free); }
.hp-map .used { fill: var(--used); }
.hp-map .kept { fill: var(--kept); }
.hp-map .out { fill: none; stroke: var(--out); stroke-width: 1.5; stroke-dasharray: 3 2; }
.hp-map .count { font-size: 10px; text-anchor: middle; paint-order: stroke; stroke: var(--ground); stroke-width: 2.5px; }
"""


@dataclass(frozen=True, slots=True)
class _Box:
    """A block with its place inside the box around it."""

    domain: Domain
    width: float
    height: float
    inner: tuple[tuple[float, float, _Box], ...]
    """Blocks in it, with their places; none for a box of nodes."""


def svg(views: Sequence[View]) -> str:
    """The picture of some clusters, one below the other."""
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "class": "hp-map", "role": "img"})
    ET.SubElement(root, "title").text = f"Network topology of {', '.join(one.layout.cluster for one in views)}"
    ET.SubElement(root, "style").text = _STYLE
    ET.SubElement(root, "rect", {"class": "ground", "width": "100%", "height": "100%"})
    y = float(_legend(root))
    for one in views:
        y = _cluster(root, one, y)
    root.attrib |= {"width": str(WIDTH), "height": _px(y + _PAD), "viewBox": f"0 0 {WIDTH} {_px(y + _PAD)}"}
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _legend(root: ET.Element) -> int:
    x = _PAD
    for name, words in (("free", "free"), ("used", "used by pods"), ("kept", "kept for admitted jobs"), ("out", "passed by")):
        _rect(root, x, _PAD, 12, 12, name)
        _text(root, x + 17, _PAD + 10, words, "soft")
        x += 30 + int(len(words) * _LETTER)
    _text(root, x + 8, _PAD + 10, "the number in a square: accelerators (vCPUs) that are free", "soft")
    return _PAD + 12


def _cluster(root: ET.Element, one: View, y: float) -> float:
    y += 28
    _text(root, _PAD, y, f"{cut(one.layout.cluster)}, {one.source}", "title")
    for note in one.notes():
        y += 18
        _text(root, _PAD, y, note, "soft")
    for section in one.sections:
        y += 26
        free = ", ".join(free_words(resource, section.tally(resource)) for resource in main_resources(section))
        lacking = [
            node.name for node in section.nodes if any(o.kind == "no-labels" for o in section.obstacles.get(node.name, ()))
        ]
        _text(root, _PAD, y, f"{cut(title(section))}: {len(section.nodes)} node{'s' * (len(section.nodes) != 1)}, {free}")
        y += 8
        boxes, height = _flow(_roots(section), WIDTH - 2 * _PAD)
        for dx, dy, box in boxes:
            _draw(root, section, box, _PAD + dx, y + dy)
        y += height
        if lacking:
            y += 18
            names = f"{', '.join(map(cut, lacking[:8]))}{f' and {len(lacking) - 8} more' if len(lacking) > 8 else ''}"
            _text(root, _PAD, y, f"in no block, for they lack labels: {names}", "soft")
    return y


def _roots(section: Section) -> list[_Box]:
    """Boxes of the farthest level; of nodes without layers, one box."""
    roots = section.roots
    if not roots:
        return []
    if section.flavor.by_node and not roots[0].children:
        nodes = tuple(node for root in roots for node in root.nodes)
        return [_box(Domain("", ("",), nodes, roots), WIDTH - 2 * _PAD)]
    return [_box(root, WIDTH - 2 * _PAD) for root in roots]


def _box(domain: Domain, room: float) -> _Box:
    """A block as wide as its title and what is in it, at most as wide as the room."""
    words = _PAD * 2 + len(_title(domain)) * _LETTER
    if not domain.children or not domain.children[0].children:
        number = len(domain.children) or 1
        columns = max(1, min(number, _COLUMNS if domain.level else 40, int((room - 2 * _PAD + _GAP) // (_CELL + _GAP))))
        rows = -(-number // columns)
        width = max(words, 2 * _PAD + columns * (_CELL + _GAP) - _GAP)
        return _Box(domain, min(width, room), _HEAD + _PAD + rows * (_CELL + _GAP) - _GAP, ())
    inner, height = _flow([_box(child, room - 2 * _PAD) for child in domain.children], room - 2 * _PAD)
    width = max(words, 2 * _PAD + max(x + box.width for x, _, box in inner))
    placed = tuple((x + _PAD, y + _HEAD, box) for x, y, box in inner)
    return _Box(domain, min(width, room), _HEAD + height + _PAD, placed)


def _flow(boxes: Sequence[_Box], room: float) -> tuple[list[tuple[float, float, _Box]], float]:
    """Boxes in rows, as words in a paragraph; and the height of it all."""
    placed: list[tuple[float, float, _Box]] = []
    x = y = row = 0.0
    for box in boxes:
        if x and x + box.width > room:
            x, y, row = 0.0, y + row + _PAD, 0.0
        placed.append((x, y, box))
        x, row = x + box.width + _PAD, max(row, box.height)
    return placed, y + row


def _title(domain: Domain) -> str:
    return f"{level_words(domain.level)} {cut(domain.value)}" if domain.level else "nodes"


def _draw(root: ET.Element, section: Section, box: _Box, x: float, y: float) -> None:
    group = ET.SubElement(root, "g")
    _hint(group, section, box.domain)
    _rect(group, x, y, box.width, box.height, "block", rx=4)
    _text(group, x + _PAD, y + 14, _title(box.domain), "soft")
    for dx, dy, inner in box.inner:
        _draw(group, section, inner, x + dx, y + dy)
    if not box.inner:
        cells = box.domain.children or (box.domain,)
        columns = max(1, int((box.width - 2 * _PAD + _GAP) // (_CELL + _GAP)))
        columns = min(columns, _COLUMNS if box.domain.level else columns)
        for index, cell in enumerate(cells):
            step = _CELL + _GAP
            _node(group, section, cell, x + _PAD + index % columns * step, y + _HEAD + index // columns * step)


def _node(group: ET.Element, section: Section, domain: Domain, x: float, y: float) -> None:
    cell = ET.SubElement(group, "g")
    _hint(cell, section, domain)
    _rect(cell, x, y, _CELL, _CELL, "free", rx=3)
    tally = _counted(section, domain)
    below = y + _CELL
    for name, amount in (("used", tally.used), ("kept", tally.reserved)):
        height = min(_CELL * amount / tally.total, below - y) if tally.total else 0
        if height:
            below -= height
            _rect(cell, x, below, _CELL, height, name)
    if not section.counting(domain.nodes):
        _rect(cell, x + 0.75, y + 0.75, _CELL - 1.5, _CELL - 1.5, "out", rx=3)
    else:
        _text(cell, x + _CELL / 2, y + _CELL / 2 + 3.5, amount_words(main_resources(section)[0], tally.free)[:4], "count")


def _counted(section: Section, domain: Domain) -> Tally:
    return section.tally(main_resources(section)[0], domain)


def _hint(element: ET.Element, section: Section, domain: Domain) -> None:
    """What a pointer on it shows: the full name, what is free, and why it is passed by."""
    ET.SubElement(element, "title").text = "\n".join(_words(section, domain))


def _words(section: Section, domain: Domain) -> Iterator[str]:
    yield _clean(f"{level_words(domain.level)} {domain.value}" if domain.level else "nodes")
    for resource in main_resources(section):
        yield free_words(resource, section.tally(resource, domain))
    if not domain.children:
        for node in domain.nodes:
            yield from (_clean(f"{node.name} {obstacle.message}") for obstacle in section.obstacles.get(node.name, ()))


def _rect(parent: ET.Element, x: float, y: float, width: float, height: float, name: str, rx: int = 0) -> None:
    attributes = {"class": name, "x": _px(x), "y": _px(y), "width": _px(width), "height": _px(height)}
    ET.SubElement(parent, "rect", attributes | ({"rx": str(rx)} if rx else {}))


def _text(parent: ET.Element, x: float, y: float, words: str, name: str = "") -> None:
    attributes = {"x": _px(x), "y": _px(y)} | ({"class": name} if name else {})
    ET.SubElement(parent, "text", attributes).text = _clean(words)


def _clean(words: str) -> str:
    """XML has no place for control characters."""
    return "".join(sign if sign.isprintable() else " " for sign in words)


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
