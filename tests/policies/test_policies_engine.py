"""The pack in real runs of the engine: examples pass, a hole that somebody opens is refused, exported state is judged."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aws_support import ROOT, AwsProject
from fakecloud import FakeCloud
from fakecloud.project import CloudProject, given_pulumi

from policies.state import main as judge_state
from sandbox.engine import ConfigValue, Engine, EngineError, Progress
from sandbox.local import Sandbox

pytestmark = pytest.mark.engine
PACK = ROOT / "policies/serve"
PROVIDER = """
import pulumi, pulumi_aws
_own = pulumi_aws.Provider("own", region="us-west-2", allowed_account_ids=["111122223333"])
_opts = pulumi.ResourceOptions(provider=_own)
"""
HOLE = """
_open = {"protocol": "tcp", "from_port": 22, "to_port": 22, "cidr_blocks": ["0.0.0.0/0"], "description": "for a moment"}
pulumi_aws.ec2.SecurityGroup("main/debug", description="Debugging", ingress=[_open], opts=_opts)
"""
ESCALATION = """
def _document(**statement):
    return pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": [{"Sid": "One", "Effect": "Allow", **statement}]})


_trust = _document(Principal={"Service": "ec2.amazonaws.com"}, Action="sts:AssumeRole")
_tags = {"hyperpod-platform/environment": "dev", "hyperpod-platform/managed-by": "pulumi", "cost-center": "research"}
_role = pulumi_aws.iam.Role("main/helper", name="helper", assume_role_policy=_trust, tags=_tags, opts=_opts)
_rights = _document(Action=["iam:GetRole", "iam:PassRole"], Resource=[_role.arn, "*"])
pulumi_aws.iam.RolePolicy("main/helper/policy", name="own", role=_role.name, policy=_rights, opts=_opts)
"""
"""A policy that gives away everything, and names a role that is still to come: nobody can read it before that role is there."""
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
        yield AwsProject(tmp_path_factory.mktemp("policies"), cloud)


@pytest.fixture(scope="module")
def small(project: AwsProject, tmp_path_factory: pytest.TempPathFactory) -> CloudProject:
    """A program of a few resources, in the same account: for what doesn't take a whole platform."""
    return CloudProject(tmp_path_factory.mktemp("small"), project.cloud, stack="dev")


@pytest.fixture(scope="module")
def exported(project: AwsProject) -> dict[str, Any]:
    """The state of dev, which has come up under the pack, and is gone."""
    try:
        with project.engine("dev") as engine:
            engine.up(policy_packs=[PACK])
            return engine.state()
    finally:
        project.clear("dev")


def judged(engine: Engine, at_least: int) -> list[str]:
    """What the pack says in a preview that it lets pass, of so many resources."""
    said: list[Progress] = []
    with engine:
        changes = engine.preview(policy_packs=[PACK], on_event=said.append)
    assert changes.create >= at_least
    return [one.message for one in said if one.message.startswith("policy hyperpod")]


def test_production_passes_its_preview_and_is_told_what_it_can_not_know(project: AwsProject) -> None:
    said = judged(project.engine("prod"), 100)
    assert not [line for line in said if "(mandatory)" in line]
    assert any("[sg-open-egress]" in line for line in said), "what is advised is told"
    undecided = [line for line in said if "can't be told" in line]
    assert any("`policy` is not known before it is made" in line for line in undecided), "a policy that names what is to come"
    assert not [line for line in undecided if "[priority-values]" in line or "[quota-within-capacity]" in line]


def test_the_sandbox_stack_passes_its_preview(project: AwsProject, sandbox: Sandbox) -> None:
    """Queues and namespaces on a cluster that is there already: the stack declares no nodes to add quotas up against."""
    kubeconfig = ConfigValue(sandbox.kubeconfig.read_text(), secret=True)
    config = {"hyperpod-platform:kubeconfig-local": kubeconfig, "hyperpod-platform:environment": ConfigValue("local")}
    said = judged(Engine(replace(project.engine("local").settings, config=config)), 40)
    assert not [line for line in said if "(mandatory)" in line]
    assert any("[namespace-pod-security]" in line for line in said), "what is advised is told"
    assert any("[quota-within-capacity] can't be told: the settings state no capacity" in line for line in said)


def test_a_hole_that_somebody_opens_is_refused_before_anything_is_made(small: CloudProject) -> None:
    small.cloud.forget_calls()
    with pytest.raises(EngineError) as refused:
        small.preview(PROVIDER + HOLE, policy_packs=[PACK])
    assert "[sg-open-ingress] traffic from the whole internet (0.0.0.0/0) comes in on port 22" in str(refused.value)
    assert "docs/policies.md#sg-open-ingress" in str(refused.value)
    assert small.cloud.changes() == []


def test_what_a_preview_could_not_know_an_up_refuses(small: CloudProject) -> None:
    small.cloud.forget_calls()
    said: list[Progress] = []
    assert small.preview(PROVIDER + ESCALATION, policy_packs=[PACK], on_event=said.append).create == 4
    about = [one.message for one in said if "[iam-no-escalation]" in one.message]
    assert len(about) == 1
    assert "(advisory)" in about[0]
    assert "can't be told: `policy` is not known before it is made" in about[0]
    with pytest.raises(EngineError) as refused:
        small.up(policy_packs=[PACK])
    assert "(mandatory): " in str(refused.value)
    assert "[iam-no-escalation] statement `One` lets its holder get any right, by iam:PassRole" in str(refused.value)
    assert [call.type for call in small.cloud.changes()] == ["aws:iam/role:Role"], "the policy was never made"


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
    project: AwsProject, exported: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    types = {one["type"] for one in exported["deployment"]["resources"]}
    assert {"aws:eks/cluster:Cluster", "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"} <= types
    sound, unsound = tmp_path / "sound.json", tmp_path / "unsound.json"
    sound.write_text(json.dumps(exported))
    exported["deployment"]["resources"].append(OPEN_GROUP)
    unsound.write_text(json.dumps(exported))
    exported["deployment"]["resources"].pop()
    assert judge_state([str(sound)]) == 0
    out, err = capsys.readouterr()
    assert err == f"0 mandatory, {len(out.splitlines())} advisory\n"
    assert "is not known" not in out, "the state knows"
    assert judge_state([str(unsound)]) == 1
    assert "mandatory: main/by-hand: [sg-open-ingress]" in capsys.readouterr().out
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
