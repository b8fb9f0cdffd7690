"""A topology map as a Mermaid flow chart, for a page that draws such charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from governance.topologymap.tree import Domain, Section
from reports.topology import View, cut, free_words, level_words, main_resources, title

MOST_EDGES: Final = 500
"""What Mermaid draws without being told to draw more (its setting maxEdges)."""
_ESCAPES: Final = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;", "\\": "#92;"}
_CLASSES: Final = {
    "free": "fill:#d7f0dc,stroke:#2f7d45,color:#10301a",
    "part": "fill:#fdf0cf,stroke:#a87400,color:#3a2900",
    "full": "fill:#cfdff5,stroke:#2f5fa8,color:#0f2340",
    "out": "fill:#eeeeee,stroke:#777777,color:#333333,stroke-dasharray:4 3",
}


def mermaid(views: Sequence[View], *, nodes: bool) -> str:
    """The chart: clusters, flavors, blocks, and with `nodes` each node."""
    lines = list(_edges(views, nodes=nodes))
    used = sorted({line.rpartition(":::")[2] for line in lines if ":::" in line})
    head = ["graph TD", *(f"    classDef {name} {_CLASSES[name]}" for name in used)]
    edges = sum("-->" in line for line in lines)
    if edges > MOST_EDGES:
        head.insert(0, f"%% {edges} edges: draw it with maxEdges {edges} or more and a maxTextSize to match, or without nodes")
    return "\n".join([*head, *lines]) + "\n"


def _edges(views: Sequence[View], *, nodes: bool) -> Iterator[str]:
    for number, one in enumerate(views):
        top = f"c{number}"
        yield f'    {top}["{_text(one.layout.cluster)}<br/>{one.source}"]'
        for index, section in enumerate(one.sections):
            name = f"{top}f{index}"
            yield f'    {top} --> {name}["{_text(title(section))}<br/>{_free(section, None)}"]:::{_class(section, None)}'
            for place, root in enumerate(section.roots):
                yield from _branch(name, f"{name}b{place}", section, root, nodes=nodes)


def _branch(above: str, name: str, section: Section, domain: Domain, *, nodes: bool) -> Iterator[str]:
    if not domain.children and section.flavor.by_node and not nodes:
        return
    label = f"{level_words(domain.level)} {cut(domain.value)}"
    yield f'    {above} --> {name}["{_text(label)}<br/>{_free(section, domain)}"]:::{_class(section, domain)}'
    for place, child in enumerate(domain.children):
        yield from _branch(name, f"{name}x{place}", section, child, nodes=nodes)


def _free(section: Section, domain: Domain | None) -> str:
    tallies = ((resource, section.tally(resource, domain)) for resource in main_resources(section))
    return "<br/>".join(_text(free_words(resource, tally)) for resource, tally in tallies if tally.total) or "none"


def _class(section: Section, domain: Domain | None) -> str:
    nodes = section.nodes if domain is None else domain.nodes
    if not section.counting(nodes):
        return "out"
    tallies = [section.tally(resource, domain) for resource in main_resources(section)]
    free, total = sum(one.free for one in tallies), sum(one.allocatable for one in tallies)
    return "free" if free >= total else "part" if free else "full"


def _text(text: str) -> str:
    """Words in a quoted label: what Mermaid, Markdown or HTML would read otherwise is written as its entity."""
    return "".join(_ESCAPES.get(sign, sign if sign.isprintable() else " ") for sign in text)
