"""`hpctl topology`: what it prints of the declaration, its charts and pictures, and what it refuses."""

from __future__ import annotations

import html
import json
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cli.main import run
from governance.nodes import Taint
from governance.topologymap.model import Flavor, Hold, Layout, Node
from governance.topologymap.tree import Tally
from reports.topology import View, cut, view
from reports.topologymermaid import mermaid
from reports.topologysvg import WIDTH, svg
from reports.topologytree import _bar

ENVIRONMENT = """
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    kubeconfig: kubeconfig
    kueue: {install: false}
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 10}
      cpu: {instance_type: ml.m5.4xlarge, count: 2}
"""
TEAM = "apiVersion: hyperpod-platform/v1\nowners: [a@example.com]\nquota:\n  ml.p5.48xlarge: {accelerators: 2}\n"
LAYERS = tuple(f"topology.k8s.aws/network-node-layer-{number}" for number in (1, 2, 3))
HOST, GPU = "kubernetes.io/hostname", "nvidia.com/gpu"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: hyperpod-platform\nruntime: python\n")
    for folder, file, text in (("environments", "dev.yaml", ENVIRONMENT), ("teams", "nlp.yaml", TEAM)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text(text)
    return tmp_path


def topology(project: Path, *arguments: str) -> int:
    return run(["--project", str(project), "topology", "--stack", "dev", *arguments])


def layout(blocks: int, per_block: int, names: str = "nn", *, used: int = 0, lost: int = 0) -> Layout:
    """Blocks of nodes, four blocks a spine; `used` GPUs of each node are taken, `lost` nodes have no labels."""
    room = {GPU: 8, "pods": 9}
    found = []
    for number in range(blocks * per_block):
        block = number // per_block
        values = dict(zip(LAYERS, (f"{names}-core", f"{names}-{block // 4}", f"{names}-{block}"), strict=True))
        name = f"{names}-node-{number:04d}"
        found.append(Node(name, {"type": "p5", HOST: name} | values, room, room, used={GPU: used}, foreign={GPU: used}))
    found += [Node(f"lost-{n}", {"type": "p5", HOST: f"lost-{n}"}, room, room) for n in range(lost)]
    return Layout("c", True, tuple(found), (Flavor("p5", {"type": "p5"}, "net", (*LAYERS, HOST)),))


# -- text and data -------------------------------------------------------------------------------------------------------


def test_the_declared_nodes_as_a_tree(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert topology(project, "--plan") == 0
    out = capsys.readouterr().out
    assert "main, as declared: 12 nodes" in out
    assert re.search(r"ml\.p5\.48xlarge  10 nodes  ░{12} 80 of 80 GPUs free", out)
    assert len(re.findall(r"layer-3 nn-\w+  [42] nodes?", out)) == 3
    assert re.search(r"a whole node: 8 GPUs.* 1 +4 +10 +10 +10", out)
    assert re.search(r"1 accelerator: 1 GPU +8 +32 +80 +80 +80", out)
    assert "EC2 chooses the real ones" in out
    assert "h100-000" not in out
    assert "\x1b" not in out
    assert topology(project, "--plan", "--nodes") == 0
    assert "node h100-009" in capsys.readouterr().out


def test_the_declared_nodes_as_data(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert topology(project, "--plan", "--json", "--type", "ml.p5.48xlarge", "--per-pod", "2", "--vcpu", "60") == 0
    (cluster,) = json.loads(capsys.readouterr().out)["clusters"]
    (flavor,) = cluster["flavors"]
    assert (cluster["source"], flavor["instance_type"], len(flavor["nodes"])) == ("plan", "ml.p5.48xlarge", 10)
    assert flavor["resources"] == {GPU: {"total": 80, "allocatable": 80, "used": 0, "reserved": 0, "free": 80}}
    assert flavor["levels"] == [*LAYERS, HOST]
    own = flavor["largest_jobs"][2]
    assert (own["pod"], own["requests"]) == ("2 accelerators", {GPU: 2, "cpu": 60_000})
    assert [fit["now"]["pods"] for fit in own["fits"]] == [2, 8, 20, 20, 20], "180 vCPUs hold 60 twice, not three times"
    (core,) = flavor["blocks"]
    assert sum(len(block["nodes"]) for spine in core["blocks"] for block in spine["blocks"]) == 10


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--plan", "--job", "x"], "a plan has no running cluster"),
        (["--plan", "--kubeconfig", "k"], "a plan has no running cluster"),
        (["--kubeconfig", "k", "--cluster", "main"], "leave out --kubeconfig and --context"),
        (["--plan", "--team", "nlp"], "goes with --job or --verify"),
        (["--verify", "--format", "svg"], "verdicts are text or json"),
        (["--plan", "--type", "ml.p5.48xlrge"], "did you mean `ml.p5.48xlarge`?"),
        (["--plan", "--vcpu", "3"], "with --per-pod"),
        (["--plan", "--per-pod", "1", "--vcpu", "inf"], "less than or equal to 10000"),
        (["--plan", "--per-pod", "1", "--memory-gib", "nan"], "Input should be"),
        (["--plan", "--per-pod", "0"], "greater than or equal to 1"),
    ],
)
def test_wrong_usage(project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert topology(project, *arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_an_unknown_cluster_and_a_server_that_does_not_answer(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert topology(project, "--plan", "--cluster", "mian") == 1
    assert "did you mean `main`?" in capsys.readouterr().err
    (project / "kubeconfig").write_text("not: a kubeconfig")
    assert topology(project) == 4
    assert topology(project, "--kubeconfig", str(project / "missing")) == 4
    assert "cannot be read" in capsys.readouterr().err


def test_a_file_in_place_of_standard_output(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form, begins in (("svg", "<svg "), ("mermaid", "graph TD\n"), ("text", "main, as declared"), ("json", "{\n")):
        file = project / f"map.{form}"
        assert topology(project, "--plan", "--format", form, "--output", str(file)) == 0
        assert file.read_text().startswith(begins)
        assert capsys.readouterr().out == ""
    assert topology(project, "--plan", "--output", str(project / "nowhere" / "map.txt")) == 4
    assert "cannot write" in capsys.readouterr().err


@given(st.integers(1, 2000), st.data())
def test_a_bar_is_always_as_wide_and_shows_every_part(total: int, data: st.DataObject) -> None:
    used = data.draw(st.integers(0, total))
    reserved = data.draw(st.integers(0, total - used))
    free = data.draw(st.integers(0, total - used - reserved))
    bar = _bar(Tally(total, total, used, reserved, free)).plain
    assert len(bar) == 12
    assert [sign in bar for sign in "█▓░"] == [amount > 0 for amount in (used, reserved, free)]
    assert bar == "".join(sorted(bar, key="█▓░·".index))


# -- Mermaid -------------------------------------------------------------------------------------------------------------

_BOX = r'(?P<id>\w+)\["(?P<label>[^"]*)"\](?::::(?P<class>\w+))?'


def chart(text: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Labels of boxes and the edges of a chart, each line held against the part of Mermaid's grammar that is used."""
    lines = text.splitlines()
    if lines[0].startswith("%% "):
        lines = lines[1:]
    assert lines[0] == "graph TD"
    classes: set[str] = set()
    labels: dict[str, str] = {}
    edges: list[tuple[str, str]] = []
    for line in lines[1:]:
        if defined := re.fullmatch(r"    classDef (\w+) [\w#:,\- ]+", line):
            classes.add(defined[1])
            continue
        found = re.fullmatch(rf"    (?:(?P<above>\w+) --> )?{_BOX}", line)
        assert found, line
        assert found["id"] not in labels
        if found["above"]:
            assert found["above"] in labels
            edges.append((found["above"], found["id"]))
        assert found["class"] is None or found["class"] in classes
        labels[found["id"]] = unescaped(found["label"])
    assert len(edges) == len(labels) - 1, "a tree"
    return labels, edges


def unescaped(label: str) -> str:
    plain = label.replace("<br/>", "\n")
    assert not set("<>`\\") & set(plain)
    return html.unescape(re.sub(r"#(\d+|\w+);", lambda m: f"&#{m[1]};" if m[1].isdigit() else f"&{m[1]};", plain))


def test_a_chart_of_blocks_and_one_of_nodes() -> None:
    one = view(layout(8, 4, used=8, lost=1))
    labels, edges = chart(mermaid([one], nodes=False))
    assert len(edges) == 1 + 1 + 2 + 8
    assert labels["c0f0"] == "p5\n0 of 256 GPUs free"
    assert labels["c0f0b0x1x2"] == "layer-3 nn-6\n0 of 32 GPUs free"
    assert len(chart(mermaid([one], nodes=True))[1]) == 12 + 32
    assert "classDef full" in mermaid([one], nodes=False)
    assert "classDef free" not in mermaid([one], nodes=False)
    assert mermaid([view(layout(200, 5))], nodes=True).startswith("%% 1252 edges: ")
    assert len(chart(mermaid([view(layout(200, 5))], nodes=False))[1]) == 252, "Mermaid draws 500"


@example('#35;"#quot;<br/>`end`[x]{y}\\&lt;--')
@given(
    st.text(
        alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp", "Cf", "Co", "Cn", "Zs"]), max_size=30
    )
)
def test_names_come_through_a_chart_whatever_they_are(name: str) -> None:
    labels, _ = chart(mermaid([view(layout(1, 1, name))], nodes=True))
    assert any(label.partition("\n")[0] == f"layer-3 {name}-0" for label in labels.values())


# -- SVG -----------------------------------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - our own


def rectangles(picture: ET.Element, name: str) -> list[tuple[float, float, float, float]]:
    found = (one for one in picture.iter(f"{SVG}rect") if one.get("class") == name)
    return [tuple(float(one.get(side, "")) for side in ("x", "y", "width", "height")) for one in found]  # type: ignore[misc]


@pytest.mark.parametrize(("blocks", "per_block"), [(1, 1), (8, 4), (250, 4), (25, 40)])
def test_every_node_has_a_square_of_its_own_inside_the_picture(blocks: int, per_block: int) -> None:
    picture = parsed(svg([view(layout(blocks, per_block))]))
    squares = [one for one in rectangles(picture, "free") if one[2] > 12]
    assert len(squares) == len(set(squares)) == blocks * per_block
    assert {(width, height) for *_, width, height in squares} == {(24, 24)}
    high = float(picture.get("height", ""))
    spots = sorted((y, x) for x, y, _, _ in squares)
    for (y, x), (below, right) in pairwise(spots):
        assert below >= y + 24 or right >= x + 24 or (below > y and right < x)
    boxes = rectangles(picture, "block")
    assert len(boxes) == blocks + -(-blocks // 4) + 1
    for x, y, width, height in boxes + squares:
        assert x >= 0
        assert y >= 0
        assert x + width <= WIDTH
        assert y + height <= high
    for x, y, width, height in squares:
        assert sum(bx <= x and by <= y and x + width <= bx + bw and y + height <= by + bh for bx, by, bw, bh in boxes) == 3


def test_a_square_is_filled_as_far_as_the_node_is_taken() -> None:
    held = layout(1, 1, used=2)
    node = held.nodes[0]
    holds = (Hold("p5", "ns/w", "main", (node.name,), {GPU: 1}, 4, 0),)
    picture = parsed(svg([View(held, view(Layout("c", True, held.nodes, held.flavors, holds)).sections)]))
    assert [height for *_, width, height in rectangles(picture, "used") if width == 24] == [6]
    assert [height for *_, width, height in rectangles(picture, "kept") if width == 24] == [12]
    assert "2" in [one.text for one in picture.iter(f"{SVG}text") if one.get("class") == "count"]
    out = Node(node.name, node.labels, node.capacity, node.allocatable, (Taint("t", "", "NoSchedule"),))
    picture = parsed(svg([view(Layout("c", True, (out,), held.flavors))]))
    assert len(rectangles(picture, "out")) == 2, "one of them in the legend"
    assert any("has a taint" in (one.text or "") for one in picture.iter(f"{SVG}title"))


def test_a_picture_needs_nothing_else_and_has_both_colour_schemes() -> None:
    text = svg([view(layout(2, 2, "x" * 70, lost=1))])
    assert "prefers-color-scheme: dark" in text
    assert not re.search(r"(href|url\(|@import|<script|<image|<foreignObject)", text)
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]
    picture = parsed(text)
    assert all(len(one.text or "") < 90 for one in picture.iter(f"{SVG}text"))
    assert any(f"layer-3 {'x' * 70}-0" in (one.text or "") for one in picture.iter(f"{SVG}title")), "whole names in hints"
    assert any("they lack labels: lost-0" in (one.text or "") for one in picture.iter(f"{SVG}text"))


@given(st.text(max_size=50))
def test_a_picture_is_well_formed_whatever_the_names(name: str) -> None:
    assert parsed(svg([view(layout(1, 1, name))])).tag == f"{SVG}svg"


def test_long_names_are_cut_in_the_middle() -> None:
    assert cut("a" * 40) == "a" * 40
    assert cut("a" * 30 + "b" * 30) == "a" * 20 + "…" + "b" * 19
