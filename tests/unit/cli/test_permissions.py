"""`hpctl permissions`: documents that IAM takes, for whom they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.main import run

LIMIT = 6144
"""Characters of a managed policy, white space not counted (IAM quotas)."""


def test_every_policy_is_a_file_that_iam_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["permissions", "--stack", "prod", "--to", str(tmp_path / "new")]) == 0
    written = sorted((tmp_path / "new").iterdir())
    assert [file.name for file in written] == [f"prod-main-{n}.json" for n in range(1, len(written) + 1)]
    told = capsys.readouterr().err
    for file in written:
        assert file.name in told
        policy = json.loads(file.read_text())
        assert policy["Version"] == "2012-10-17"
        assert len(json.dumps(policy, separators=(",", ":"))) <= LIMIT

    assert run(["permissions", "--stack", "prod"]) == 0
    assert json.loads(capsys.readouterr().out) == {file.stem: json.loads(file.read_text()) for file in written}


def actions(stack: str, capsys: pytest.CaptureFixture[str]) -> set[str]:
    assert run(["permissions", "--stack", stack]) == 0
    policies = json.loads(capsys.readouterr().out).values()
    return {action for policy in policies for statement in policy["Statement"] for action in statement["Action"]}


def test_each_layer_has_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """Who changes teams can't touch the platform, and who builds it sets no quotas."""
    whole, platform, governance = (actions(stack, capsys) for stack in ("prod", "prod-platform", "prod-governance"))
    assert whole == platform | governance
    builds = {"sagemaker:CreateCluster", "sagemaker:DeleteCluster", "eks:DeleteCluster", "ec2:DeleteVpc", "iam:CreateRole"}
    governs = {"sagemaker:CreateComputeQuota", "sagemaker:UpdateClusterSchedulerConfig"}
    assert builds <= platform
    assert governs <= governance
    assert not builds & governance
    assert not governs & platform
    assert not {action for action in governance if action.startswith(("ec2:", "iam:", "kms:", "s3:"))}
    assert "sagemaker:CreateComputeQuota" not in actions("dev", capsys), "there the queues are Kueue's"


def test_no_permissions_where_nothing_is_built(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["permissions", "--stack", "local"]) == 1
    err = capsys.readouterr().err
    assert "environments/local.yaml:" in err
    assert "builds no cluster on AWS" in err
    assert "[permissions-none]" in err
