"""The pack in real runs of the engine: examples pass, a hole that somebody opens is refused, exported state is judged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aws_support import ROOT, AwsProject
from fakecloud import FakeCloud
from fakecloud.project import given_pulumi

from sandbox.engine import EngineError, Progress
from sandbox.local import Sandbox

pytestmark = pytest.mark.engine
PACK = ROOT / "policies/serve"
HOLE = """
import pulumi, pulumi_aws
_own = pulumi_aws.Provider("own", region="us-west-2", allowed_account_ids=["111122223333"])
_open = {"protocol": "tcp", "from_port": 22, "to_port": 22, "cidr_blocks": ["0.0.0.0/0"], "description": "for a moment"}
pulumi_aws.ec2.SecurityGroup(
    "main/debug", description="Debugging", ingress=[_open], opts=pulumi.ResourceOptions(provider=_own)
)
"""
OPEN_GROUP = {
    "urn": "urn:pulumi:dev::hyperpod-platform::aws:ec2/securityGroup:SecurityGroup::main/by-hand",
    "custom": True,
    "id": "sg-0",
    "type": "aws:ec2/securityGroup:SecurityGroup",
    "inputs": {
        "description": "By hand",
        "ingress": [{"cidrBlocks": ["::/0"], "protocol": "-1", "fromPort": 0, "toPort": 0, "description": "All"}],
    },
}


@pytest.fixture(scope="module")
def project(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AwsProject]:
    with FakeCloud(str(sandbox.kubeconfig), account="111122223333") as cloud:
        one = AwsProject(tmp_path_factory.mktemp("policies"), cloud)
        yield one
        one.clear("dev")


@pytest.fixture(scope="module")
def exported(project: AwsProject) -> dict[str, Any]:
    """The state of dev, which has come up under the pack."""
    with project.engine("dev") as engine:
        engine.up(policy_packs=[PACK])
        return engine.state()


def judged(project: AwsProject, stack: str) -> list[str]:
    """What the pack says in a preview that it lets pass."""
    said: list[Progress] = []
    with project.engine(stack) as engine:
        changes = engine.preview(policy_packs=[PACK], on_event=said.append)
    assert changes.create > 100
    return [one.message for one in said if one.message.startswith("policy hyperpod")]


def test_production_passes_its_preview_and_is_told_what_it_can_not_know(project: AwsProject) -> None:
    said = judged(project, "prod")
    assert not [line for line in said if "(mandatory)" in line]
    assert any("[sg-open-egress]" in line for line in said), "what is advised is told"
    undecided = [line for line in said if "can't be told" in line]
    assert any("`policy` is not known before it is made" in line for line in undecided), "a policy that names what is to come"
    assert not [line for line in undecided if "[priority-values]" in line or "[quota-within-capacity]" in line]


def test_a_hole_that_somebody_opens_is_refused_before_anything_is_made(project: AwsProject) -> None:
    program = project.root / "__main__.py"
    before = program.read_text()
    program.write_text(before + HOLE)
    project.cloud.forget_calls()
    try:
        with project.engine("dev") as engine, pytest.raises(EngineError) as refused:
            engine.preview(policy_packs=[PACK])
    finally:
        program.write_text(before)
    assert "[sg-open-ingress] traffic from the whole internet (0.0.0.0/0) comes in on port 22" in str(refused.value)
    assert "docs/policies.md#sg-open-ingress" in str(refused.value)
    assert project.cloud.changes() == []


def test_what_a_preview_could_not_know_an_up_decides(exported: dict[str, Any]) -> None:
    types = {one["type"] for one in exported["deployment"]["resources"]}
    assert {"aws:eks/cluster:Cluster", "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"} <= types


def state_of(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "policies.state", str(path), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def analyzed(project: AwsProject, path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The engine's own command, with the same pack."""
    command = [
        str(given_pulumi()),
        "policy",
        "analyze",
        "--file",
        str(path),
        "--policy-pack",
        str(PACK),
        "--color",
        "never",
        *options,
    ]
    home = {"PULUMI_HOME": str(project.root / "home"), "PULUMI_SKIP_UPDATE_CHECK": "true"}
    return subprocess.run(
        command, cwd=project.root, env={**os.environ, **home}, capture_output=True, text=True, check=False, timeout=120
    )


def test_exported_state_is_judged_with_and_without_the_engine(
    project: AwsProject, exported: dict[str, Any], tmp_path: Path
) -> None:
    sound, unsound = tmp_path / "sound.json", tmp_path / "unsound.json"
    sound.write_text(json.dumps(exported))
    exported["deployment"]["resources"].append(OPEN_GROUP)
    unsound.write_text(json.dumps(exported))
    exported["deployment"]["resources"].pop()
    found = state_of(sound)
    assert (found.returncode, found.stderr) == (0, f"0 mandatory, {len(found.stdout.splitlines())} advisory\n")
    assert "is not known" not in found.stdout, "the state knows"
    assert analyzed(project, sound).returncode == 0
    refused = state_of(unsound)
    assert refused.returncode == 1
    assert "mandatory: main/by-hand: [sg-open-ingress]" in refused.stdout
    by_engine = analyzed(project, unsound)
    assert by_engine.returncode != 0
    assert "[sg-open-ingress]" in by_engine.stdout + by_engine.stderr
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"hyperpod": {"levels": {"sg-open-ingress": "advisory"}}}))
    assert analyzed(project, unsound, "--policy-pack-config", str(config)).returncode == 0
    config.write_text(json.dumps({"hyperpod": {"levels": {"no-such-rule": "advisory"}}}))
    misspelt = analyzed(project, sound, "--policy-pack-config", str(config))
    assert misspelt.returncode != 0
    assert "no-such-rule" in misspelt.stdout + misspelt.stderr


@pytest.mark.full
@pytest.mark.parametrize("stacks", [("staging",), ("prod-platform", "prod-governance")])
def test_the_other_examples_pass(stacks: tuple[str, ...], sandbox: Sandbox, tmp_path: Path) -> None:
    account = "444455556666" if stacks == ("staging",) else "111122223333"
    with FakeCloud(str(sandbox.kubeconfig), account=account) as cloud:
        project = AwsProject(tmp_path, cloud)
        try:
            for stack in stacks:
                with project.engine(stack) as engine:
                    engine.preview(policy_packs=[PACK])
                    assert engine.up(policy_packs=[PACK]).changes.create
        finally:
            project.clear(*reversed(stacks))
