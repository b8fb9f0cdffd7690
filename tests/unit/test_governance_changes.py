"""What a deployment changes, in words."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from governance.changes import changes

CONTRACT: dict[str, Any] = {
    "team": "nlp",
    "cluster": "main",
    "namespace": "hyperpod-ns-nlp",
    "queue": "hyperpod-ns-nlp-localqueue",
    "cluster_queue": "hyperpod-ns-nlp-clusterqueue",
    "state": "active",
    "weight": 10,
    "cohort": "hyperpod",
    "default_priority": None,
    "max_run_time_seconds": None,
    "groups": ["nlp"],
    "quota": [
        {
            "instance_type": "ml.p5.48xlarge",
            "flavor": "ml.p5.48xlarge",
            "guaranteed": {"nvidia.com/gpu": "8", "cpu": "192"},
            "borrowable": {"nvidia.com/gpu": "4"},
            "largest_job": {"nvidia.com/gpu": "12"},
        }
    ],
}


def with_(**fields: Any) -> dict[str, Any]:
    return {**deepcopy(CONTRACT), **fields}


def with_quota(**fields: Any) -> dict[str, Any]:
    return with_(quota=[{**CONTRACT["quota"][0], **fields}])


def test_nothing_changed_is_no_word() -> None:
    assert changes([CONTRACT], [deepcopy(CONTRACT)]) == []


def test_teams_that_come_and_go() -> None:
    new = "team nlp on main is new, with 8 nvidia.com/gpu, 192 cpu of ml.p5.48xlarge"
    assert changes([], [CONTRACT]) == [new]
    assert changes([CONTRACT], []) == ["team nlp on main is removed"]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (with_(state="draining"), "state active → draining"),
        (with_(default_priority="training-priority"), "default priority none → training-priority"),
        (with_(weight=0), "weight 10 → 0"),
        (with_(cohort=None), "cohort hyperpod → none"),
        (with_(queue="own"), "queue hyperpod-ns-nlp-localqueue → own"),
        (with_(groups=["nlp", "more"]), "access for more"),
        (with_(groups=[]), "no access any more for nlp"),
        (
            with_quota(guaranteed={"nvidia.com/gpu": "6", "cpu": "192"}),
            "ml.p5.48xlarge: guaranteed nvidia.com/gpu 8 → 6",
        ),
        (with_quota(borrowable={}), "ml.p5.48xlarge: borrowable nvidia.com/gpu 4 → 0"),
        (with_quota(flavor="ml.p5.48xlarge-abc123"), "ml.p5.48xlarge: flavor ml.p5.48xlarge → ml.p5.48xlarge-abc123"),
    ],
)
def test_each_change_is_one_sentence(after: dict[str, Any], expected: str) -> None:
    assert changes([CONTRACT], [after]) == [f"team nlp on main: {expected}"]


def test_a_type_that_goes_loses_all_of_it() -> None:
    found = changes([CONTRACT], [with_(quota=[])])
    assert found == [
        "team nlp on main: ml.p5.48xlarge: guaranteed cpu 192 → 0, nvidia.com/gpu 8 → 0",
        "team nlp on main: ml.p5.48xlarge: borrowable nvidia.com/gpu 4 → 0",
    ]
