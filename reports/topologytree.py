"""A topology map in a terminal: a tree of blocks with bars, the largest jobs, the nodes that Kueue passes by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from config.environment import HOSTNAME
from config.findings import printable
from governance.topologymap.fit import Fit, fits
from governance.topologymap.placement import Placement
from governance.topologymap.tree import Domain, Section, Tally
from reports.topology import (
    UNSEEN,
    View,
    cut,
    free_words,
    level_words,
    main_resources,
    passed_by,
    requests_words,
    some,
    states,
    title,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text
    from rich.tree import Tree

_BAR: Final = 12
"""Columns of a bar."""
_STYLES: Final = {"ok": "green", "waiting": "cyan", "astray": "yellow", "broken": "bold red"}


def render(one: View, *, nodes: bool) -> Iterator[RenderableType]:
    """The map of a cluster; `nodes`: each node has a line, else its block."""
    from rich.text import Text

    yield tree(one, nodes=nodes)
    yield from _passed_by(one)
    for note in one.notes():
        yield Text(f"note: {note}", style="dim")
    if any(section.counting(section.nodes) for section in one.sections):
        yield Text("\nThe most pods of one job that fit in one block now (in brackets: on empty nodes)", style="bold")
        yield _fits(one)


def tree(one: View, *, nodes: bool) -> Tree:
    """The tree of network blocks."""
    from rich.text import Text
    from rich.tree import Tree

    number = sum(len(section.nodes) for section in one.sections)
    root = Tree(Text.assemble((printable(one.layout.cluster), "bold"), f", {one.source}: {_nodes(number)}"))
    for section in one.sections:
        line = Text.assemble((printable(title(section)), "bold"), f"  {_nodes(len(section.nodes))}  ")
        branch = root.add(line + _bars(section, None))
        for domain in section.roots:
            _grow(branch, section, domain, nodes=nodes)
    return root


def _grow(branch: Tree, section: Section, domain: Domain, *, nodes: bool) -> None:
    from rich.text import Text

    is_node = not domain.children and section.flavor.by_node
    if is_node and not nodes:
        return
    name = Text.assemble((level_words(domain.level), "dim"), f" {cut(printable(domain.value))}  ")
    if not is_node:
        name.append(f"{_nodes(len(domain.nodes))}  ")
    line = name + _bars(section, domain)
    out = [node for node in domain.nodes if node.name in section.obstacles]
    if is_node and out:
        line.append(f"  {'; '.join(obstacle.message for obstacle in section.obstacles[out[0].name])}", style="yellow")
    elif out:
        line.append(f"  {len(out)} passed by", style="yellow")
    grown = branch.add(line)
    for child in domain.children:
        _grow(grown, section, child, nodes=nodes)


def _bars(section: Section, domain: Domain | None) -> Text:
    from rich.text import Text

    found = Text()
    for resource in main_resources(section):
        tally = section.tally(resource, domain)
        if tally.total:
            found += (Text("  ") if found else Text()) + _bar(tally) + Text(f" {free_words(resource, tally)}")
    return found


def _bar(tally: Tally) -> Text:
    """Used, reserved, free, and what nobody can have; what there is of a kind shows, however little."""
    from rich.text import Text

    parts = {"█": tally.used, "▓": tally.reserved, "░": tally.free}
    widths = {sign: max(int(amount > 0), amount * _BAR // tally.total) for sign, amount in parts.items()}
    while sum(widths.values()) > _BAR:
        widest = max(widths, key=lambda sign: widths[sign])
        widths[widest] -= 1
    if tally.used + tally.reserved + tally.free == tally.total:
        widest = max(widths, key=lambda sign: widths[sign])
        widths[widest] += _BAR - sum(widths.values())
    colours = {"█": "blue", "▓": "yellow", "░": "green"}
    found = Text.assemble(*((sign * width, colours[sign]) for sign, width in widths.items()))
    return found.append("·" * (_BAR - len(found)), style="dim")


def _fits(one: View) -> Table:
    from rich import box
    from rich.table import Table

    every = {fit.level: None for section in one.sections for shape in one.shapes(section) for fit in fits(section, shape)}
    levels = sorted((level for level in every if level), key=lambda level: (level == HOSTNAME, level), reverse=True)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("flavor", "pods of"):
        table.add_column(name, overflow="fold")
    for level in (*levels, None):
        table.add_column(level_words(level), justify="right")
    for section in one.sections:
        first = printable(title(section))
        for shape in one.shapes(section):
            found = {fit.level: fit for fit in fits(section, shape)}
            cells = (_now_and_empty(found[level]) if level in found else "" for level in (*levels, None))
            table.add_row(first, f"{shape.name}: {requests_words(shape.requests)}", *cells)
            first = ""
    return table


def _now_and_empty(fit: Fit) -> str:
    return str(fit.now.pods) if fit.now.pods == fit.empty.pods else f"{fit.now.pods} ({fit.empty.pods})"


def _passed_by(one: View) -> Iterator[Text]:
    from rich.text import Text

    for section in one.sections:
        lacking = False
        for group, reasons in sorted(passed_by(section).items()):
            for why, names in reasons.items():
                where = f"group {group}" if group else title(section)
                word = "is" if len(names) == 1 else "are"
                line = f"{printable(where)}: {_nodes(len(names))} {word} passed by: {some([printable(n) for n in names])}: {why}"
                yield Text(printable(line), style="yellow")
                lacking |= "lacks the label" in why
        if lacking:
            yield Text(f"    {UNSEEN}", style="dim")


def placements(found: Iterable[Placement]) -> Iterator[Text]:
    """A verdict for each pod set, in lines; then their numbers."""
    from rich.text import Text

    shown = list(found)
    for one in shown:
        podset = one.podset
        name = f"{podset.namespace}/{podset.job}{f' ({podset.name})' if podset.name not in ('', 'main') else ''}"
        yield Text.assemble((f"{one.state}: ", _STYLES[one.state]), (printable(name), "bold"), f": {printable(_summary(one))}")
        for problem in one.problems:
            yield Text(f"    {printable(problem)}", style=_STYLES[one.state])
        for value, names in one.domains.items():
            where = sorted({pod.node for pod in podset.pods if pod.name in names})
            yield Text(printable(f"    {level_words(one.level)} {value or '(none)'}: {_pods(len(names))} on {some(where, 8)}"))
    counts = ", ".join(f"{number} {state}" for state, number in sorted(states(shown).items()))
    yield Text(f"{len(shown)} pod set{'s' * (len(shown) != 1)}: {counts}" if shown else "no pods with a topology", style="dim")


def _summary(one: Placement) -> str:
    bound = sum(map(len, one.domains.values()))
    said = f"{one.podset.wish}; {bound} of {_pods(one.podset.count)} bound, in {len(one.domains)} {level_words(one.level)}"
    if bound and one.least is not None and one.podset.wish.preferred:
        said += f" ({one.least} would do)" if one.least < len(one.domains) else " (the fewest possible)"
    if one.podset.workload and one.podset.assigned is None:
        said += "; not admitted with a topology, `hpctl why` tells more"
    return said


def _nodes(number: int) -> str:
    return f"{number} node{'s' * (number != 1)}"


def _pods(number: int) -> str:
    return f"{number} pod{'s' * (number != 1)}"
