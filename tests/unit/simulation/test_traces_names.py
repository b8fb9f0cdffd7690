"""Names of jobs that are alike: numbered, each once, and not by asking about all that are taken."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_traces import read
from test_traces_live import Listed, workload

from governance.model import ClusterPlan
from simulation.traces.live import from_cluster
from simulation.traces.names import Fresh

MANY = 300


class Counted(Container[str]):
    """Names, and how often somebody asked about one."""

    asked = 0

    def __init__(self, taken: Container[str]) -> None:
        self._taken = taken

    def __contains__(self, name: object) -> bool:
        Counted.asked += 1
        return name in self._taken


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> type[Counted]:
    real = Fresh.name
    monkeypatch.setattr(Fresh, "name", lambda self, wanted, taken: real(self, wanted, Counted(taken)))
    Counted.asked = 0
    return Counted


def test_rows_of_one_name_and_several_jobs(tmp_path: Path, cluster: ClusterPlan, counted: type[Counted]) -> None:
    rows = "run,beta,0,2,2\n" * MANY
    names = [job.name for job in read(tmp_path, f"name,team,arrives,vcpu,count\n{rows}", cluster, name="trace.csv").jobs]
    assert names[:6] == ["run-1", "run-2", "run-1-1", "run-2-1", "run-1-2", "run-2-2"]
    assert len(set(names)) == 2 * MANY
    assert 2 * MANY <= counted.asked <= 4 * MANY


def test_long_names_of_a_cluster(cluster: ClusterPlan, counted: type[Counted]) -> None:
    items = [workload(f"{'x' * 60}-{number}", "10:00") for number in range(MANY)]
    names = [job.name for job in from_cluster(Listed(*items), cluster).jobs]
    assert names[:3] == ["x" * 50, f"{'x' * 50}-1", f"{'x' * 50}-2"]
    assert len(set(names)) == MANY
    assert MANY <= counted.asked <= 2 * MANY


@given(st.lists(st.text(alphabet="a1-", min_size=1, max_size=4), max_size=40))
def test_no_name_is_given_twice(wanted: list[str]) -> None:
    fresh, taken = Fresh(), set[str]()
    for name in wanted:
        found = fresh.name(name, taken)
        assert found not in taken
        assert found == name or found.startswith(f"{name}-")
        taken.add(found)
