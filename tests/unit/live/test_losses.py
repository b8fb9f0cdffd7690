"""What a removal takes along, said first."""

from __future__ import annotations

from typing import Any

from live.losses import losses, protected_finding, running, running_findings, unseen_findings

CONTRACT = {"team": "nlp", "cluster": "main", "namespace": "hyperpod-ns-nlp"}
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/hyperpod-ns-nlp/workloads"


class Lists:
    """An API server with the workloads given, all of which hold quota."""

    def __init__(self, *names: str) -> None:
        status = {"conditions": [{"type": "QuotaReserved", "status": "True"}]}
        self.workloads = [{"metadata": {"name": name}, "status": status} for name in names]

    def items(self, path: str) -> list[dict[str, Any]]:
        return self.workloads if path == WORKLOADS else []


def resource(type_: str, inputs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": type_, "custom": True, "id": "the-id", "inputs": inputs, "outputs": {}, **more}


def test_running_work_is_named() -> None:
    found = running([CONTRACT], {"main": Lists("b", "a")})
    assert found == {("main", "nlp"): ["a", "b"]}
    (sentence,) = losses([CONTRACT], found, [])
    assert sentence == "team nlp on main: namespace hyperpod-ns-nlp with all that is in it: a, b will be stopped"
    (finding,) = running_findings(found)
    assert (finding.id, finding.where.file) == ("team-still-runs", "teams/nlp.yaml")
    assert "a, b on main" in finding.message


def test_of_many_workloads_the_first_are_named() -> None:
    found = running([CONTRACT], {"main": Lists(*"abcdefg")})
    (finding,) = running_findings(found)
    assert "a, b, c, d, e and 2 more" in finding.message


def test_what_can_not_be_seen_is_told() -> None:
    (finding,) = unseen_findings([CONTRACT], {})
    assert (finding.id, finding.where.file) == ("cluster-unseen", "teams/nlp.yaml")
    assert list(unseen_findings([CONTRACT], {"main": Lists()})) == []


def test_nothing_is_found_where_nothing_runs_or_answers() -> None:
    assert running([CONTRACT], {"main": Lists()}) == {}
    assert running([CONTRACT], {}) == {}
    assert list(running_findings({})) == []


def test_what_can_not_be_had_back_is_told() -> None:
    groups = [{"instanceGroupName": "a", "instanceCount": 16}, {"instanceGroupName": "b", "instanceCount": 2}]
    told = losses(
        [],
        {},
        [
            resource("aws-native:sagemaker:Cluster", {"clusterName": "ml", "instanceGroups": groups}),
            resource("aws:eks/cluster:Cluster", {"name": "prod-main"}),
            resource("aws:s3/bucket:Bucket", {"bucket": "sagemaker-x"}),
            resource("aws:kms/key:Key", {}, outputs={"arn": "arn:aws:kms:us-west-2:111122223333:key/1"}),
            resource("aws:ec2/subnet:Subnet", {}),
            resource("kubernetes:helm.sh/v3:Release", {"name": "kueue"}, retainOnDelete=True),
            resource("aws:ec2/vpc:Vpc", {}, delete=True),  # replaced before, its removal is pending
        ],
    )
    assert told == [
        "HyperPod cluster ml: 18 instances, and what is on their disks",
        "EKS cluster prod-main with every object on it, those of others too",
        "bucket sagemaker-x and its objects",
        "key arn:aws:kms:us-west-2:111122223333:key/1: after its waiting time, nothing that it has encrypted can be read",
        "Helm release kueue stays, though no longer managed",
    ]


def test_a_protected_stack_is_refused_before_anything_goes() -> None:
    (finding,) = protected_finding("prod", [resource("aws:ec2/vpc:Vpc", {}, protect=True), resource("x", {})])
    assert finding.id == "stack-protected"
    assert finding.message.startswith("prod has 1 protected resource:")
    assert list(protected_finding("prod", [resource("x", {})])) == []
