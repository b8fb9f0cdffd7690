"""Traces as CSV: every finding with its line and column."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_traces import findings, read

from governance.model import ClusterPlan
from simulation.traces.reading import read_trace
from simulation.traces.table import read_table

GOOD = """\
# from accounting
name,team,arrives,runs_for,pods,accelerators,vcpu,memory_gib,instance_type,priority,required_topology
first,beta,0,3600,2,1,"4.5",16,ml.g6.12xlarge,high,
,beta,90,1h,,,2,,,,

second,alpha,10m,7200,1,8,,,ml.p5.48xlarge,low,topology.k8s.aws/network-node-layer-3
"""


def of(folder: Path, text: str, *clusters: ClusterPlan) -> list[tuple[str, int, int]]:
    return [(found.id, found.where.line, found.where.column) for found in findings(folder, text, *clusters, name="trace.csv")]


def test_a_good_table_is_read(tmp_path: Path, cluster: ClusterPlan) -> None:
    first, unnamed, second = read(tmp_path, GOOD, cluster, name="trace.csv").jobs
    assert (first.name, first.arrives, first.runs_for, first.pods, first.priority) == ("first", 0, 3600, 2, "high")
    assert first.per_pod == {"cpu": 4500, "memory": 16 * 1024, "nvidia.com/gpu": 1}
    assert (unnamed.name, unnamed.arrives, unnamed.runs_for, unnamed.pods) == ("beta-2", 90, 3600, 1)
    assert (unnamed.instance_type, unnamed.topology) == (None, None)
    assert (second.arrives, second.topology and second.topology.required) == (600, "topology.k8s.aws/network-node-layer-3")
    assert [str(job.where) for job in (first, unnamed, second)] == ["trace.csv:3:1", "trace.csv:4:1", "trace.csv:6:1"]


def test_line_ends_of_other_systems_are_read(tmp_path: Path, cluster: ClusterPlan) -> None:
    (tmp_path / "trace.csv").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    trace = read_trace(tmp_path / "trace.csv", tmp_path, [cluster])
    assert [job.name for job in trace.jobs] == ["first", "beta-2", "second"]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("first,beta,0", "first,bta,0", [("team-unknown", 3, 7)]),
        ("first,beta,0", "first,beta,-7", [("time-negative", 3, 12)]),
        (",beta,90", ",beta,soon", [("duration", 4, 7)]),
        ('"4.5"', '"47.9"', [("pod-too-large", 3, 21)]),
        ('"4.5"', '"4,5"', [("float-type", 3, 23)]),
        ("3600,2,1", "3600,0,1", [("greater-than-equal", 3, 19)]),
        ("3600,2,1", "3600,two,1", [("int-type", 3, 19)]),
        ("high", "hihg", [("priority-class-unknown", 3, 47)]),
        ("layer-3", "layer-9", [("topology-level", 6, 48)]),
        ("1h,,,2,", "1h,,,,", [("missing-key", 4, 1)]),
        ("90,1h", "90,1h,", [("csv-row", 4, 1)]),
        ("second,", 'sec"ond,', [("name-syntax", 6, 1)]),
        ("second,", '"second,', [("csv-row", 6, 1)]),
        ("3600,2,1", "3600,--5,1", [("int-type", 3, 19)]),
        ("3600,2,1", "3600,٣,1", [("int-type", 3, 19)]),
        ("first,beta,0", "first,beta,--5", [("time-negative", 3, 12)]),
        ("first,beta,0", 'fi"rst,beta,zz', [("duration", 3, 13), ("name-syntax", 3, 1)]),
        ('first,beta,0,3600,2,1,"4.5"', 'first,beta,0,"3600",2,1,"4""5"', [("float-type", 3, 25)]),
        ("pods,", 'po"ds,', [("unknown-key", 2, 28)]),
        ("name,team", 'na"me,priority', [("csv-header", 2, 81), ("missing-key", 2, 1), ("unknown-key", 2, 1)]),
        ("second", "first", [("job-twice", 6, 1)]),
        ("pods,", "podz,", [("unknown-key", 2, 28)]),
        ("pods,", "vcpu,", [("csv-header", 2, 46)]),
        ("name,team", "name,priority", [("csv-header", 2, 80), ("missing-key", 2, 1)]),
    ],
)
def test_a_mistake_is_told_with_its_line_and_column(
    tmp_path: Path, cluster: ClusterPlan, old: str, new: str, wanted: list[tuple[str, int, int]]
) -> None:
    assert old in GOOD
    assert sorted(of(tmp_path, GOOD.replace(old, new, 1), cluster)) == sorted(wanted)


def test_all_mistakes_of_all_rows_are_told_at_once(tmp_path: Path, cluster: ClusterPlan) -> None:
    text = GOOD.replace("first,beta,0", "first,bta,-1").replace(",beta,90,1h", ",beta,90,1h,,").replace("low", "lo")
    assert of(tmp_path, text, cluster) == [
        ("team-unknown", 3, 7),
        ("time-negative", 3, 11),
        ("csv-row", 4, 1),
        ("priority-class-unknown", 6, 44),
    ]


def test_of_a_row_with_a_mistake_the_other_cells_are_checked_and_columns_are_named(tmp_path: Path, cluster: ClusterPlan) -> None:
    text = "team,arrives,runs_for,pods,accelerators,instance_type,required_topology\n"
    text += "foo,-5,10,0,100,ml.p5.48xlarge,\nbeta,0,1h,2,one,ml.nothing,no label\n,0,1h,x,,,\n"
    found = findings(tmp_path, text, cluster, name="trace.csv")
    assert [(one.where.line, one.where.column, one.id) for one in found] == [
        (2, 1, "team-unknown"),
        (2, 5, "time-negative"),
        (2, 11, "greater-than-equal"),
        (2, 13, "pod-too-large"),
        (3, 13, "int-type"),
        (3, 17, "instance-type-unknown"),
        (3, 28, "label-key"),
        (4, 1, "missing-key"),
        (4, 1, "missing-key"),
        (4, 7, "int-type"),
    ]
    told = [one.message for one in found]
    assert told[1] == "column `arrives`: `-5` lies before the beginning"
    assert told[4] == "column `accelerators`: `one` is not a whole number"
    assert told[6].startswith("column `required_topology`: ")
    assert told[7:9] == [
        "nothing stands in `team`",
        "nothing stands in `whole_node` or `accelerators` or `vcpu` or `memory_gib`",
    ]
    assert not any("jobs." in message for message in told)


def test_a_header_below_a_line_that_is_no_csv(tmp_path: Path, cluster: ClusterPlan) -> None:
    text = '"name,team\nname,team,arrives,podz\n'
    assert of(tmp_path, text, cluster) == [("csv-row", 1, 1), ("unknown-key", 2, 19)]


@given(st.lists(st.text(alphabet='a0-," \t\v', max_size=12), min_size=1, max_size=4))
def test_whatever_stands_in_a_table_is_a_finding_or_a_job(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "any.csv").write_text("\n".join(lines))
    read_table(folder / "any.csv", "any.csv", 1000)
    (folder / "any.csv").write_text("\n".join(["team,arrives,pods", *lines]))
    read_table(folder / "any.csv", "any.csv", 1000)


@pytest.mark.parametrize(("text", "kind"), [("", "csv-header"), ("# nothing\n", "csv-header"), ("team,arrives\n", "jobs-none")])
def test_a_table_without_rows_is_told(tmp_path: Path, cluster: ClusterPlan, text: str, kind: str) -> None:
    assert [found[0] for found in of(tmp_path, text, cluster)] == [kind]
