"""Whatever the files hold, the answer is findings, never a traceback."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from declarations import ENVIRONMENT, TEAM, assert_well_formed, hyperpod, project
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import ProjectData, dns_labels, hyperpod_environments, projects, write

from config.chart import ChartSource
from config.cluster import ExistingCluster, InstanceGroup, Kueue
from config.eks import Eks
from config.environment import Environment, Gang, Governance, Topology
from config.findings import ConfigError, has_errors
from config.groups import (
    AutoPatch,
    BatchSize,
    FsxLustre,
    FsxOpenZfs,
    HyperPodGroup,
    Lifecycle,
    RestrictedGroup,
    RollingUpdate,
    ScheduledUpdate,
    SharedFileSystem,
    Volume,
)
from config.hyperpod import HyperPod, HyperPodCluster, TaskGovernance, TieredStorage
from config.load import Project
from config.network import Network
from config.team import Access, Amounts, Names, Sharing, Team
from governance.contract import job_contract
from governance.plan import plan, review
from governance.summary import team_rows, type_rows

MODELS = (
    *(Team, Amounts, Sharing, Access, Names, Environment, ExistingCluster, InstanceGroup, Kueue, Governance, Topology, Gang),
    *(HyperPodCluster, HyperPod, TaskGovernance, TieredStorage, HyperPodGroup, RestrictedGroup, SharedFileSystem, Network, Eks),
    *(ChartSource, Volume, FsxLustre, FsxOpenZfs, Lifecycle, ScheduledUpdate, AutoPatch, RollingUpdate, BatchSize),
)
HYPERPOD = hyperpod(settings="hyperpod: {lifecycle: {folder: scripts}}\neks: {version: '1.33', existing: null}")
KEYS = sorted(
    {name for model in MODELS for name in model.model_fields}
    | {"environments", "dev", "ml.p5.48xlarge", "p5", "nvidia", "existing"}
)
WORDS = (
    "lend",
    "dont_lend",
    "held",
    "existing",
    "hyperpod",
    "us-west-2",
    "us-west-2a",
    "10.0.0.0/16",
    "10.0.0.0/28",
    "kueue",
    "managed",
    "ml.p5.48xlarge",
    "mig-1g.10gb",
    "dev",
    "5m",
    "hyperpod-platform/v1",
)


def check(made: Project) -> None:
    """Reading and planning end; findings are complete; what was read without errors yields every output."""
    found = review(made, "dev")
    for finding in found:
        assert_well_formed(finding, placed=finding.id not in ("folder-unreadable", "environment-unknown"))
    platform, read = made.declared("dev")
    if platform is None or has_errors(read):
        with pytest.raises(ConfigError) as raised:
            made.load("dev")
        assert list(raised.value.findings) == read
        assert set(read) <= set(found)
        return
    resolved = plan(made.load("dev"))
    assert list(resolved.findings) == found
    rows = [row.as_dict() for row in (*type_rows(resolved), *team_rows(resolved))]
    contracts = [job_contract(cluster, team) for cluster in resolved.clusters.values() for team in cluster.teams.values()]
    json.dumps([rows, contracts])


def check_files(environment: Any, team: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check(project(Path(folder), {"alpha": team, "beta": TEAM}, {"dev": environment}))


@given(st.binary(max_size=200))
@example(b"\xff\xfe")
@example(b"\xef\xbb\xbf")
@example(b"\x00")
@example(b"---\n...\n---")
@example(b"? ? ? : : :")
@example(b"a: !!int x")
@example(b"a: !!timestamp 2001-99-99")
@example(b"%TAG ! tag:x,2000:\n---\n!y {}")
@example(b"{" * 5000)
@example(b"- " * 5000)
@example(b"a: " + b"9" * 5000)
@example(b"a: 1" + b"_" * 5000 + b"x")
@example(b"a: " + b"1:" * 5000 + b"x")
@example("a: \u2028b: \x85c".encode())
def test_any_bytes(raw: bytes) -> None:
    check_files(raw, TEAM)
    check_files(ENVIRONMENT, raw)


@given(st.text(st.sampled_from("abk:-?[]{},&*!|>'\"%@`#~ \t\r\n01.eE_<=\\/é\u2028\ufeff"), max_size=80))
def test_any_text_of_the_letters_that_matter_to_yaml(text: str) -> None:
    check_files(text, TEAM)
    check_files(ENVIRONMENT, TEAM + text)
    check_files(ENVIRONMENT, TEAM + "quota: " + text)


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(WORDS),
    st.sampled_from([2**63, -(2**63), 10**17, 0.001]),
)
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(st.sampled_from(KEYS), st.text(max_size=4)), inner, max_size=6)
    ),
    max_leaves=25,
)


@given(trees, trees)
def test_any_tree_of_known_and_unknown_keys(environment: Any, team: Any) -> None:
    check_files(environment, team)


@st.composite
def damaged(draw: st.DrawFn) -> ProjectData:
    """A project without errors, with some values put in places where they may not belong."""
    made = draw(projects(most_teams=3, most_clusters=1))
    if draw(st.booleans()):
        made = ProjectData(draw(st.booleans().flatmap(lambda managed: hyperpod_environments(managed=managed))), {})
    target: Any = draw(st.sampled_from([made.environment, *made.teams.values()]))
    for _ in range(draw(st.integers(1, 3))):
        here = target
        while isinstance(here, (dict, list)) and here and draw(st.integers(0, 3)):
            keys: list[Any] = list(here) if isinstance(here, dict) else list(range(len(here)))
            key = draw(st.sampled_from(keys))
            if isinstance(here[key], (dict, list)) and draw(st.booleans()):
                here = here[key]
                continue
            if draw(st.booleans()):
                here[key] = draw(trees)
            elif isinstance(here, dict) and draw(st.booleans()):
                here[draw(st.one_of(st.sampled_from(KEYS), dns_labels()))] = here.pop(key)
            else:
                del here[key]
            break
    return made


@given(damaged())
def test_any_project_with_a_few_wrong_values(made: ProjectData) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check(write(Path(folder), {"dev": made.environment}, made.teams))


@given(st.data())
def test_any_file_with_a_few_wrong_letters(data: st.DataObject) -> None:
    text = data.draw(
        st.sampled_from([ENVIRONMENT, HYPERPOD, TEAM + "sharing: {strategy: lend}\nenvironments:\n  dev: {weight: 3}\n"])
    )
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 6))
        put = data.draw(
            st.one_of(
                st.text(max_size=3), st.sampled_from([": ", "\n  ", "\t", "- ", "{", "}", "*a", "&a ", "yes", "01", "<<: "])
            )
        )
        text = text[:at] + put + text[at + cut :]
    raw = text.encode("utf-8", "replace")
    if "clusters" in text:
        check_files(raw, TEAM)
    else:
        check_files(ENVIRONMENT, raw)
