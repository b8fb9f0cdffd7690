"""Versions of the task governance add-on, against AWS's documented ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.hyperpod import TASK_GOVERNANCE_VERSION
from governance.platform.versions import addon_problems, addon_version, contained_kueue, documented, unsafe_jump

VERSIONS = ["v1.0.0", "v1.1.3", "v1.2.2", "v1.3.0", "v1.3.2", "v1.5.0", "v1.6.0", "v1.6.1"]


def built(version: str, build: int = 1) -> str:
    return f"{version}-eksbuild.{build}"


@pytest.mark.parametrize(
    "version", ["", "1.6.0-eksbuild.1", "v1.6.0", "v1.6-eksbuild.1", "v1.6.0-eksbuild.1 ", "v1.6.0-eksbuild.x", "latest"]
)
def test_what_is_no_version(version: str) -> None:
    with pytest.raises(ValueError, match="is not the version of an EKS add-on"):
        addon_version(version)
    assert unsafe_jump(version, TASK_GOVERNANCE_VERSION) is None
    assert unsafe_jump(TASK_GOVERNANCE_VERSION, version) is None


@given(st.tuples(*[st.integers(0, 99)] * 4), st.tuples(*[st.integers(0, 99)] * 4))
def test_versions_compare_by_number(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    texts = [f"v{a}.{b}.{c}-eksbuild.{d}" for a, b, c, d in (one, other)]
    assert (addon_version(texts[0]) < addon_version(texts[1])) == (one < other)


@pytest.mark.parametrize(
    ("version", "kueue"),
    [("v1.0.0", "0.8"), ("v1.1.3", "0.12"), ("v1.3.1", "0.12"), ("v1.4.0", None), ("v1.5.0", "0.18"), ("v1.6.1", "0.19")],
)
def test_the_kueue_inside(version: str, kueue: str | None) -> None:
    assert contained_kueue(built(version)) == kueue


def kinds(version: str, kubernetes: str = "1.33", **asked: bool) -> list[str]:
    problems = addon_problems(built(version), kubernetes, **asked)
    assert all(problem.message and problem.remedy for problem in problems)
    return [problem.kind for problem in problems]


def test_the_default_version_does_everything() -> None:
    assert addon_problems(TASK_GOVERNANCE_VERSION, "1.30", fine_grained=True, mig=True, topology=True) == []


@pytest.mark.parametrize(("version", "found"), [("v1.2.2", ["addon-fine-grained"]), ("v1.3.0", []), ("v1.10.0", [])])
def test_fine_grained_quotas_need_1_3(version: str, found: list[str]) -> None:
    assert kinds(version, fine_grained=True) == found
    assert kinds(version) == []


@pytest.mark.parametrize(("version", "found"), [("v1.2.1", ["addon-topology"]), ("v1.2.2", []), ("v1.0.0", ["addon-topology"])])
def test_topology_needs_1_2_2(version: str, found: list[str]) -> None:
    assert kinds(version, topology=True) == found
    assert kinds(version) == []


@pytest.mark.parametrize(("kubernetes", "found"), [("1.29", ["addon-kubernetes"]), ("1.30", []), ("1.100", []), ("2.0", [])])
def test_task_governance_needs_kubernetes_1_30(kubernetes: str, found: list[str]) -> None:
    assert kinds("v1.6.0", kubernetes) == found


def test_every_problem_is_told_at_once() -> None:
    found = kinds("v1.0.0", "1.28", fine_grained=True, mig=True, topology=True)
    assert found == ["addon-kubernetes", "addon-fine-grained", "addon-mig", "addon-topology"]


@pytest.mark.parametrize("kubernetes", ["", "1", "1.33.2", "v1.33"])
def test_what_is_no_kubernetes_version(kubernetes: str) -> None:
    with pytest.raises(ValueError, match="not a Kubernetes version"):
        addon_problems(TASK_GOVERNANCE_VERSION, kubernetes)


@pytest.mark.parametrize("old", VERSIONS)
@pytest.mark.parametrize("new", VERSIONS)
def test_which_updates_lose_nothing(old: str, new: str) -> None:
    """Oracle: places in the list of releases; the gap lies before v1.5.0."""
    before, after, gap = VERSIONS.index(old), VERSIONS.index(new), VERSIONS.index("v1.5.0")
    message = unsafe_jump(built(old), built(new))
    if after < before:
        assert message is not None
        assert "downgrade" in message
    elif before < gap <= after:
        assert message is not None
        for words in (built(old), built(new), "delete Kueue's CRDs", "pulumi up", "docs/failed-quota.md"):
            assert words in message
    else:
        assert message is None


def test_another_build_is_no_downgrade() -> None:
    assert unsafe_jump(built("v1.6.1", 2), built("v1.6.1", 1)) is None
    assert unsafe_jump(built("v1.6.1", 1), built("v1.6.1", 2)) is None


@pytest.mark.parametrize(("version", "known"), [("v1.2.2", True), ("v1.6.1", True), ("v1.4.0", False), ("v1.16.0", False)])
def test_versions_of_which_there_is_word(version: str, known: bool) -> None:
    assert documented(f"{version}-eksbuild.1") == known
