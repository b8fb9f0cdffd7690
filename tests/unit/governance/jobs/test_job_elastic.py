"""Elastic jobs: their sizes, their parts, and what their policy must not say."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.jobs.elastic import elastic_parts, sizes_of
from governance.jobs.manifests import manifests
from governance.jobs.model import Elasticity

SIZES = st.sets(st.integers(1, 500), min_size=1, max_size=30).map(sorted)


@given(SIZES)
def test_parts_add_up_to_every_size_and_the_base_alone_is_not_elastic(sizes: list[int]) -> None:
    parts = elastic_parts("llama", sizes, "high", "low")
    assert [sum(part.pods for part in parts[: index + 1]) for index in range(len(parts))] == sizes
    assert [part.elastic for part in parts] == [False, *[True] * (len(sizes) - 1)]
    assert {part.priority for part in parts[1:]} <= {"low"}
    assert parts[0].priority == "high"
    assert len({part.name for part in parts}) == len(parts)


@pytest.mark.parametrize("sizes", [[], [0, 1], [2, 2], [4, 2]])
def test_sizes_that_do_not_ascend_are_refused(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="ascend"):
        elastic_parts("llama", sizes, None, None)


def test_256_gpus_of_which_96_come_and_go() -> None:
    """20 nodes of 8 GPUs are the team's; 12 more are idle while inference rests."""
    sizes = sizes_of(Elasticity(least=20, most=32, increment=4))
    assert sizes == (20, 24, 28, 32)
    parts = elastic_parts("llama", sizes, "training-priority", "experimentation-priority")
    assert [part.pods * 8 for part in parts] == [160, 32, 32, 32]
    assert sum(part.pods for part in parts if part.elastic) * 8 == 96


@given(st.integers(1, 60), st.integers(0, 40), st.integers(1, 9))
def test_increments_lead_from_the_least_to_the_most(least: int, steps: int, increment: int) -> None:
    sizes = sizes_of(Elasticity(least=least, most=least + steps * increment, increment=increment))
    assert sizes[0] == least
    assert sizes[-1] == least + steps * increment
    assert {b - a for a, b in pairwise(sizes)} <= {increment}


@given(st.integers(1, 10**4000), st.integers(1, 10**4000), st.integers(1, 10**4000))
def test_no_more_sizes_than_a_job_may_have(least: int, more: int, increment: int) -> None:
    assert len(sizes_of(Elasticity(least=least, most=least + more, increment=increment))) <= 64


def test_as_many_sizes_as_there_may_be() -> None:
    assert len(sizes_of(Elasticity(least=1, most=64, increment=1))) == 64
    assert len(sizes_of(Elasticity(least=1, most=64, discrete=",".join(map(str, range(1, 65)))))) == 64
    assert sizes_of(Elasticity(least=1, most=65, increment=1)) == ()
    assert sizes_of(Elasticity(least=1, most=65, discrete=",".join(map(str, range(1, 66))))) == ()


def test_discrete_sizes_begin_with_the_least() -> None:
    assert sizes_of(Elasticity(least=1, most=8, discrete="2,4,8")) == (1, 2, 4, 8)


@pytest.mark.parametrize(
    ("options", "option", "words"),
    [
        ({"least": 2}, "--max-replicas", "give both"),
        ({"most": 2, "increment": 1}, "--min-replicas", "give both"),
        ({"least": 0, "most": 2, "increment": 1}, "--min-replicas", "1 or more"),
        ({"least": 4, "most": 2, "increment": 1}, "--max-replicas", "above"),
        ({"least": 1, "most": 3}, "--increment", "give one"),
        ({"least": 1, "most": 3, "increment": 1, "discrete": "1,3"}, "--increment", "give one"),
        ({"least": 2, "most": 7, "increment": 2}, "--increment", "to 6 or 8"),
        ({"least": 2, "most": 7, "increment": 0}, "--increment", "1 or more"),
        ({"least": 1, "most": 90, "increment": 1}, "--increment", "larger"),
        ({"least": 1, "most": 300_000_000, "increment": 1}, "--max-replicas", "100000 at most"),
        ({"least": 1, "most": 100_000, "increment": 1}, "--increment", "larger"),
        ({"least": 10**4299, "most": 10**4299, "increment": 1}, "--max-replicas", "100000 at most"),
        ({"least": 1, "most": 100_000, "increment": 10**4299}, "--increment", "1 or more"),
        ({"least": 1, "most": 100, "discrete": ",".join(map(str, range(1, 101)))}, "--discrete", "64 sizes at most"),
        ({"least": 1, "most": 100, "discrete": ",".join(map(str, range(2, 66)))}, "--discrete", "64 sizes at most"),
        ({"least": 1, "most": 8, "discrete": "2," + "9" * 5000}, "--discrete", "commas"),
        ({"least": 1, "most": 8, "discrete": "²"}, "--discrete", "commas"),
        ({"least": 2, "most": 8, "discrete": "4,2"}, "--discrete", "2,4"),
        ({"least": 2, "most": 8, "discrete": "2,2,4"}, "--discrete", "2,4"),
        ({"least": 2, "most": 8, "discrete": "1,4"}, "--discrete", "from --min-replicas"),
        ({"least": 2, "most": 8, "discrete": "4,9"}, "--discrete", "from --min-replicas"),
        ({"least": 2, "most": 8, "discrete": "2,x"}, "--discrete", "commas"),
        ({"least": 2, "most": 8, "discrete": ""}, "--discrete", "commas"),
        ({"least": 2, "most": 4, "increment": 2, "pods": 3}, "--pods", "leave --pods out"),
        ({"least": 2, "most": 4, "increment": 2, "kind": "jobset"}, "--min-replicas", "hyperpodpytorchjob"),
        ({"least": 2, "most": 4, "increment": 2, "faulty_timeout": 3}, "--faulty-timeout", "hyperpodpytorchjob"),
        ({"least": 2, "most": 4, "increment": 2, "kind": "hyperpodpytorchjob", "faulty_timeout": -3}, "--faulty-timeout", "0 or"),
        (
            {"least": 2, "most": 4, "increment": 2, "kind": "hyperpodpytorchjob", "elastic_priority": "low"},
            "--elastic-priority",
            "--kind job",
        ),
        ({"elastic_priority": "low"}, "--elastic-priority", "leave it out"),
    ],
)
def test_a_policy_that_cannot_be(ordering: Any, options: dict[str, Any], option: str, words: str) -> None:
    job, found = ordering(**options)
    assert job is None
    told = [one for one in found if one.id == "job-elastic" and str(one.where) == option]
    assert told, found
    assert words in told[0].remedy
    assert all(len(one.message) < 500 for one in told)


def test_plain_kueue_gets_a_base_and_one_lower_job_for_each_growth(placed: Any) -> None:
    service, *jobs = manifests(placed(least=2, most=6, discrete="2,4,5", required_topology="layer-3"))
    assert service["spec"]["selector"] == {"hyperpod-platform/elastic": "llama"}
    assert [one["metadata"]["name"] for one in jobs] == ["llama", "llama-elastic-1", "llama-elastic-2"]
    assert [one["spec"]["parallelism"] for one in jobs] == [2, 2, 1]
    assert [one["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] for one in jobs] == [
        "middle-priority",
        "low-priority",
        "low-priority",
    ]
    for part, one in zip(("base", "1", "2"), jobs, strict=True):
        template = one["spec"]["template"]
        assert template["metadata"]["labels"] == one["metadata"]["labels"]
        assert template["metadata"]["labels"]["hyperpod-platform/elastic-part"] == part
        assert template["spec"]["subdomain"] == service["metadata"]["name"] == "llama"
        assert {"name": "MASTER_ADDR", "value": "llama-0.llama"} in template["spec"]["containers"][0]["env"]


def test_an_elastic_part_that_does_not_rank_below_is_told(ordering: Any) -> None:
    _, found = ordering(least=1, most=2, increment=1, priority="low")
    assert [one.id for one in found if one.severity == "warning"] == ["job-elastic-priority"]
    _, found = ordering(least=1, most=2, increment=1, priority="high")
    assert "job-elastic-priority" not in [one.id for one in found]


def test_growth_beyond_the_reach_is_a_warning_and_a_base_beyond_it_an_error(ordering: Any) -> None:
    job, found = ordering(team="both", cluster="main", least=1, most=101, increment=4)
    assert job is not None
    assert "job-growth" in [one.id for one in found]
    job, found = ordering(team="both", cluster="main", least=101, most=102, increment=1)
    assert job is None
    assert "job-too-large" in [one.id for one in found]
