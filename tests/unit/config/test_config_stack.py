"""What a stack's file says."""

from __future__ import annotations

from pathlib import Path

import pytest
from declarations import assert_well_formed, hyperpod, project
from hypothesis import given
from hypothesis import strategies as st

from config.findings import ConfigError
from config.stack import environment_of, layers_of, project_root, stack_findings, stack_settings


def test_a_stack_deploys_the_environment_of_its_name_or_the_one_it_names(tmp_path: Path) -> None:
    assert environment_of(tmp_path, "dev") == "dev"
    assert environment_of(tmp_path, "organisation/project/dev") == "dev"
    (tmp_path / "Pulumi.prod-governance.yaml").write_text("config:\n  hyperpod-platform:environment: prod\n")
    assert environment_of(tmp_path, "prod-governance") == "prod"
    assert environment_of(tmp_path, "organisation/project/prod-governance") == "prod"


def test_settings_are_those_of_our_namespace(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_text(
        "secretsprovider: awskms://x\nencryptedkey: abc\nconfig:\n  aws:region: us-east-1\n"
        "  hyperpod-platform:layers: [platform]\n  hyperpod-platform:kubeconfig-main: {secure: AAA=}\n"
    )
    assert stack_settings(tmp_path, "dev") == {"layers": ["platform"], "kubeconfig-main": {"secure": "AAA="}}


@pytest.mark.parametrize("text", ["", "config:\n", "config: []\n", "[]\n", "x\n", "config: {aws:region: x}\n"])
def test_a_stack_file_without_settings_of_ours(tmp_path: Path, text: str) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_text(text)
    assert stack_settings(tmp_path, "dev") == {}
    assert environment_of(tmp_path, "dev") == "dev"


@pytest.mark.parametrize("value", ["5", "[a]", "{secure: x}", "true"])
def test_an_environment_that_is_no_text(tmp_path: Path, value: str) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_text(f"config:\n  hyperpod-platform:environment: {value}\n")
    with pytest.raises(ConfigError) as raised:
        environment_of(tmp_path, "dev")
    (finding,) = raised.value.findings
    assert (finding.id, finding.where.file, finding.where.line, finding.where.column) == (
        "stack-environment",
        "Pulumi.dev.yaml",
        2,
        34,
    )
    assert_well_formed(finding)


@given(st.one_of(st.binary(max_size=60), st.text(max_size=60).map(lambda text: f"config: {text}".encode("utf-8", "replace"))))
def test_any_bytes_are_settings_or_findings(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_bytes(raw)
    try:
        assert isinstance(stack_settings(tmp_path, "dev"), dict)
        assert isinstance(environment_of(tmp_path, "dev"), str)
    except ConfigError as error:
        for finding in error.findings:
            assert_well_formed(finding)


def test_the_project_is_at_or_above(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: x\n")
    (tmp_path / "a/b").mkdir(parents=True)
    assert project_root(tmp_path / "a/b") == tmp_path
    assert project_root(tmp_path) == tmp_path


def test_no_project(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        project_root(tmp_path)
    assert raised.value.findings[0].id == "project-missing"
    assert "--project" in raised.value.findings[0].remedy


def test_the_layers_of_a_stack(tmp_path: Path) -> None:
    assert layers_of(tmp_path, "dev") == ("platform", "governance")
    (tmp_path / "Pulumi.prod-governance.yaml").write_text("config:\n  hyperpod-platform:layers: [governance]\n")
    assert layers_of(tmp_path, "organization/project/prod-governance") == ("governance",)


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        ("[governence]", "did you mean `governance`?"),
        ("[platform, 5]", "known: `governance`, `platform`"),
        ("[]", "write ['platform', 'governance'], or one of them"),
        ("platform", "write ['platform', 'governance'], or one of them"),
    ],
)
def test_layers_that_are_none(tmp_path: Path, value: str, remedy: str) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_text(f"config:\n  aws:region: x\n  hyperpod-platform:layers: {value}\n")
    with pytest.raises(ConfigError) as caught:
        layers_of(tmp_path, "dev")
    (finding,) = caught.value.findings
    assert (finding.id, finding.remedy, finding.where.line) == ("layers", remedy, 3)
    assert_well_formed(finding)


STACKS = {
    "whole": ("environment: dev", None),
    "misspelt": ("layers: [govrnance]", "layers"),
    "nowhere": ("environment: deev", "environment-unknown"),
    "lost": ("environment: dev, hyperpod-platform:layers: [governance]", "platform-stack-missing"),
    "referring": ("environment: dev, hyperpod-platform:layers: [governance], hyperpod-platform:platform_stack: o/p/s", None),
    "given": (
        (
            "environment: dev, hyperpod-platform:layers: [governance], "
            "hyperpod-platform:platform_facts: {main: {eks_name: e, hyperpod_arn: a}}"
        ),
        None,
    ),
}


@pytest.mark.parametrize("stack", STACKS)
def test_what_a_stacks_file_gets_wrong_is_found_with_its_environment(stack: str, tmp_path: Path) -> None:
    settings, wrong = STACKS[stack]
    files = project(tmp_path, {}, {"dev": hyperpod()})
    (tmp_path / f"Pulumi.{stack}.yaml").write_text(f"config: {{hyperpod-platform:{settings}}}\n")
    (tmp_path / "Pulumi.yaml").write_text("name: hyperpod-platform\n")
    found = stack_findings(tmp_path, files)
    assert [finding.id for finding in found] == ([wrong] if wrong else [])
    assert all(finding.where.file == f"Pulumi.{stack}.yaml" for finding in found)
    assert stack_findings(tmp_path, files, "another") == []


def test_every_stack_is_looked_at(tmp_path: Path) -> None:
    files = project(tmp_path, {}, {"dev": hyperpod()})
    for stack in ("one", "two"):
        (tmp_path / f"Pulumi.{stack}.yaml").write_text("config: {hyperpod-platform:layers: [x]}\n")
    assert [finding.where.file for finding in stack_findings(tmp_path, files)] == ["Pulumi.one.yaml", "Pulumi.two.yaml"]
