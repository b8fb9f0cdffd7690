"""IAM documents: linted by other people's tools, least privilege, in every partition, within IAM's quotas."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from declarations import cluster, hyperpod
from hypothesis import given, settings
from hypothesis import strategies as st

from config.findings import Where
from config.groups import Lifecycle
from governance.platform import policies
from governance.platform.addons import coredns_settings, nodes_expected
from governance.platform.deployer import deployer_policies, deployer_policy
from governance.platform.iam import INLINE_LIMIT, MANAGED_LIMIT, Document, allow, document, parts, text
from governance.platform.kubeconfig import existing_problem, kubeconfig
from governance.platform.lifecycle import digest, lifecycle_findings, scripts
from governance.platform.model import PlatformPlan

ACCOUNT = "111122223333"
KEY = "arn:{partition}:kms:{region}:111122223333:key/"
REGIONS = {
    "us-west-2": ("aws", "amazonaws.com"),
    "eu-central-1": ("aws", "amazonaws.com"),
    "cn-north-1": ("aws-cn", "amazonaws.com.cn"),
    "us-gov-west-1": ("aws-us-gov", "amazonaws.com"),
    "us-iso-east-1": ("aws-iso", "c2s.ic.gov"),
}
SETTINGS = """
hyperpod: {lifecycle: {folder: scripts}, karpenter: true}
permissions_boundary: arn:PARTITION:iam::111122223333:policy/limits
"""


def plan_of(region: str = "us-west-2", settings: str = SETTINGS, extra: str = "count: 8", text: str = "") -> PlatformPlan:
    """The platform of an environment in this region; `extra` are fields of its only group."""
    partition = REGIONS[region][0]
    zones = "{availability_zones: [" + ", ".join(f"{region}{letter}" for letter in "abc") + "]}"
    groups = f"h100: {{instance_type: ml.p5.48xlarge, {extra}, availability_zone: {region}a}}"
    settings = settings.replace("PARTITION", partition).replace("REGION", region)
    found = cluster({}, hyperpod(text, groups=groups, settings=settings, network=zones, region=region)).platform
    assert found is not None
    return found


def execution(plan: PlatformPlan, subnets: int = 3, groups: int = 1, bucket: bool = True) -> Document:
    return policies.execution_policy(
        plan,
        vpc="vpc-0123456789abcdef0",
        subnets=[f"subnet-{number:017x}" for number in range(subnets)],
        security_groups=[f"sg-{number:017x}" for number in range(groups)],
        eks=plan.arn("eks", f"cluster/{plan.names.eks}"),
        bucket=plan.arn("s3", str(plan.names.bucket), region="", account="") if bucket else None,
        key=own_key(plan),
    )


def own_key(plan: PlatformPlan) -> str:
    return plan.arn("kms", "key/own")


def identity_policies(plan: PlatformPlan) -> dict[str, Document]:
    return {
        "execution": execution(plan),
        "karpenter": policies.karpenter_policy(plan, key=own_key(plan)),
        "deployer": deployer_policy(plan),
    }


def trusts(plan: PlatformPlan) -> dict[str, Document]:
    return {
        "sagemaker.amazonaws.com": policies.execution_trust(plan),
        "hyperpod.sagemaker.amazonaws.com": policies.karpenter_trust(plan),
        "eks.amazonaws.com": policies.eks_trust(plan),
    }


def bucket_document(plan: PlatformPlan) -> Document:
    return policies.bucket_policy(plan, plan.arn("s3", str(plan.names.bucket), region="", account=""))


def pairs(policy: Document) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every action with every resource that it is allowed on, and the statement."""
    for statement in policy["Statement"]:
        for action in statement["Action"]:
            for resource in statement["Resource"]:
                yield action, resource, statement


def resources_of(policy: Document, action: str) -> set[str]:
    return {resource for allowed, resource, _ in pairs(policy) if allowed == action}


# Other people's linters --------------------------------------------------------------------------------------------------------


@cache
def privileges() -> dict[str, list[str]]:
    """Resource types of every action that parliament knows, "" for those that work on no resource."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import parliament

    found = {}
    for service in parliament.iam_definition:
        for privilege in service["privileges"]:
            kinds = [kind["resource_type"] for kind in privilege["resource_types"]]
            found[f"{service['prefix']}:{privilege['privilege']}".lower()] = kinds
    return found


@cache
def operations(service: str) -> frozenset[str]:
    """Operations of a service, by botocore's model of it."""
    import botocore.session

    return frozenset(botocore.session.get_session().get_service_model(service).operation_names)


def lint(policy: Document) -> list[str]:
    """Findings of parliament. An action newer than its data must be an operation of the service."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import parliament

        found = parliament.analyze_policy_string(text(policy)).findings
    messages = []
    for finding in found:
        service, _, operation = str(finding.detail).removeprefix("Unknown action ").partition(":")
        if finding.issue != "UNKNOWN_ACTION" or operation not in operations(service):
            messages.append(f"{finding.issue}: {finding.detail}")
    return messages


# It takes the regions of the isolated partitions and of the sovereign cloud for misspelt.
@pytest.mark.parametrize("region", ["us-west-2", "eu-central-1", "cn-north-1", "us-gov-west-1"])
@pytest.mark.parametrize("name", ["execution", "karpenter", "deployer"])
def test_parliament_finds_nothing(region: str, name: str) -> None:
    assert lint(identity_policies(plan_of(region))[name]) == []


@pytest.mark.parametrize(
    "statement",
    [
        allow("Typo", ["sagemaker:BatchAddClusterNode"], ["arn:aws:sagemaker:us-west-2:111122223333:cluster/*"]),
        allow("Typo", ["ec2:CreateNetworkInterfaces"], ["*"]),
        allow("Wide", ["s3:GetObject"], ["*"]),
        allow("Kind", ["eks:DescribeCluster"], ["arn:aws:eks:us-west-2:111122223333:nodegroup/a/b/c"]),
    ],
)
def test_the_lint_can_fail(statement: dict[str, Any]) -> None:
    assert lint(document(statement))


def test_cfn_lint_takes_every_document_as_what_it_is() -> None:
    found = cfn_lint(template(plan_of("us-west-2")))
    assert found == []


def test_cfn_lint_can_fail() -> None:
    body = template(plan_of("us-west-2"))
    body["Resources"]["Role0"]["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]["Effect"] = "Maybe"
    body["Resources"]["Role1"]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"][0]["Ressource"] = "*"
    assert {identifier for identifier, _ in cfn_lint(body)} >= {"E3510", "E3530"}


def template(plan: PlatformPlan) -> dict[str, Any]:
    """A CloudFormation template that holds every document where such a one belongs."""
    inline = [{"PolicyName": name, "PolicyDocument": one} for name, one in identity_policies(plan).items()]
    roles = {
        f"Role{number}": {
            "Type": "AWS::IAM::Role",
            "Properties": {"AssumeRolePolicyDocument": json.loads(text(one)), "Policies": json.loads(json.dumps(inline))},
        }
        for number, one in enumerate(trusts(plan).values())
    }
    policy = {"Bucket": plan.names.bucket, "PolicyDocument": bucket_document(plan)}
    return {"Resources": {**roles, "Policy": {"Type": "AWS::S3::BucketPolicy", "Properties": policy}}}


def cfn_lint(body: dict[str, Any]) -> list[tuple[str, str]]:
    from cfnlint.api import lint as run
    from cfnlint.core import get_rules

    return [(match.rule.id, match.message) for match in run(json.dumps(body), get_rules([], [], []), ["us-west-2"])]


# Least privilege ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["execution", "karpenter", "deployer"])
def test_a_bare_star_stands_only_where_no_resource_can_be_named(name: str) -> None:
    starred = {action for action, resource, _ in pairs(identity_policies(plan_of())[name]) if resource == "*"}
    nameable = {action for action in starred if any(kind.endswith("*") for kind in privileges()[action.lower()])}
    assert nameable == set()
    assert starred if name != "karpenter" else not starred


@pytest.mark.parametrize("region", REGIONS)
def test_no_action_is_a_wildcard_and_no_resource_spans_services(region: str) -> None:
    for policy in identity_policies(plan_of(region)).values():
        for action, resource, statement in pairs(policy):
            assert statement["Effect"] == "Allow"
            assert "*" not in action
            if resource != "*":
                assert resource.split(":")[2] == action.partition(":")[0].removesuffix("-auth")


def test_the_execution_role_acts_where_its_cluster_stands() -> None:
    plan = plan_of()
    policy = execution(plan, subnets=2, groups=2)
    made = resources_of(policy, "ec2:CreateNetworkInterface")
    assert {one for one in made if ":subnet/" in one} == {plan.arn("ec2", f"subnet/subnet-{n:017x}") for n in (0, 1)}
    assert {one for one in made if ":security-group/" in one} == {plan.arn("ec2", f"security-group/sg-{n:017x}") for n in (0, 1)}
    assert resources_of(policy, "ec2:DetachNetworkInterface") == made
    assert resources_of(policy, "ec2:CreateTags") == {plan.arn("ec2", "network-interface/*")}
    assert resources_of(policy, "eks-auth:AssumeRoleForPodIdentity") == {plan.arn("eks", "cluster/dev-main")}
    bucket = f"arn:aws:s3:::{plan.names.bucket}"
    assert resources_of(policy, "s3:GetObject") == {bucket, f"{bucket}/*"}
    actions = {action for action, _, _ in pairs(policy)}
    writes = ("s3:Put", "s3:Delete", "iam:", "sts:", "ec2:RunInstances", "sagemaker:", "kms:Encrypt", "ecr:Put")
    assert not [action for action in actions if action.startswith(writes)]


def test_statements_come_with_what_needs_them() -> None:
    plain = {statement["Sid"] for statement in execution(plan_of(settings="protection: true"), bucket=False)["Statement"]}
    assert "Scripts" not in plain
    assert "ScriptsKey" not in plain
    assert "RollbackAlarms" not in plain
    deployment = "{batch: {instances: 1}, rollback_alarms: [errors, heat]}"
    update = f'count: 8, scheduled_update: {{schedule: "cron(0 3 ? * SUN *)", deployment: {deployment}}}'
    plan = plan_of(extra=update)
    assert resources_of(execution(plan), "cloudwatch:DescribeAlarms") == {
        plan.arn("cloudwatch", "alarm:errors"),
        plan.arn("cloudwatch", "alarm:heat"),
    }
    system = "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"
    mounted = f"count: 8, fsx_lustre: [{{dns_name: {system}, mount_name: abcdefgh, availability_zone: us-west-2a}}]"
    assert resources_of(execution(plan_of(extra=mounted)), "fsx:DescribeFileSystems") == {"*"}
    assert resources_of(execution(plan_of()), "fsx:DescribeFileSystems") == set()


def test_keys_are_named_and_used_through_their_service_alone() -> None:
    given_key = KEY.format(partition="aws", region="us-west-2") + "given"
    extra = f'count: 8, volumes: [{{size_gib: 100, key: "{given_key}"}}]'
    plan = plan_of(extra=extra)
    policy = execution(plan)
    assert resources_of(policy, "kms:CreateGrant") == {own_key(plan), given_key}
    assert resources_of(policy, "kms:Decrypt") == {own_key(plan)}
    for action, _, statement in pairs(policy):
        if action.startswith("kms:"):
            service = "s3" if action == "kms:Decrypt" else "sagemaker"
            assert statement["Condition"]["StringEquals"]["kms:ViaService"] == [f"{service}.us-west-2.amazonaws.com"]
        if action == "kms:CreateGrant":
            assert statement["Condition"]["Bool"] == {"kms:GrantIsForAWSResource": "true"}
        if action == "kms:DescribeKey":  # no description would ever meet the condition of a grant
            assert set(statement["Condition"]) == {"StringEquals"}


def test_a_volume_key_takes_the_place_of_the_clusters() -> None:
    given_key = KEY.format(partition="aws", region="us-west-2") + "given"
    plan = plan_of(settings=f"hyperpod: {{volume_key: '{given_key}'}}")
    assert policies.volume_keys(plan, own_key(plan)) == [given_key]


@pytest.mark.parametrize("region", REGIONS)
def test_roles_trust_one_service_for_one_account(region: str) -> None:
    for service, policy in trusts(plan_of(region)).items():
        (statement,) = policy["Statement"]
        assert statement["Principal"] == {"Service": service}
        assert statement["Action"] == "sts:AssumeRole"
        ((operator, condition),) = statement["Condition"].items()
        assert condition == {"aws:SourceAccount": ACCOUNT}
        assert operator == ("StringEquals" if service.startswith("eks") else "StringEqualsIfExists")


def test_the_bucket_refuses_plain_http_and_other_accounts() -> None:
    plan = plan_of()
    by_sid = {statement["Sid"]: statement for statement in bucket_document(plan)["Statement"]}
    arn = f"arn:aws:s3:::{plan.names.bucket}"
    for statement in by_sid.values():
        assert statement["Effect"] == "Deny"
        assert statement["Principal"] == "*"
        assert statement["Action"] == ["s3:*"]
        assert statement["Resource"] == [arn, f"{arn}/*"]
    assert by_sid["TlsOnly"]["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    other = by_sid["OwnAccountOnly"]["Condition"]
    assert other == {"StringNotEquals": {"aws:PrincipalAccount": ACCOUNT}, "Bool": {"aws:PrincipalIsAWSService": "false"}}


# Partitions and quotas ---------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(region=st.sampled_from(sorted(REGIONS)), subnets=st.integers(1, 16), groups=st.integers(1, 5), bucket=st.booleans())
def test_documents_keep_to_their_partition_and_to_iams_quotas(region: str, subnets: int, groups: int, bucket: bool) -> None:
    partition, suffix = REGIONS[region]
    plan = plan_of(region)
    inline = execution(plan, subnets, groups, bucket)
    for policy in (inline, *identity_policies(plan).values(), bucket_document(plan)):
        for _, resource, statement in pairs(policy):
            assert resource == "*" or resource.startswith(f"arn:{partition}:")
            via = statement.get("Condition", {}).get("StringEquals", {}).get("kms:ViaService", [])
            assert not via or any(one.endswith(f".{region}.{suffix}") for one in via)
    assert len(text(inline)) <= INLINE_LIMIT
    for name in (policies.INSTANCE_POLICY, policies.EKS_POLICY):
        assert policies.managed_policy(plan, name) == f"arn:{partition}:iam::aws:policy/{name}"
    admin = policies.access_policy(plan, policies.EKS_ADMIN_POLICY)
    assert admin == f"arn:{partition}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


@given(sizes=st.lists(st.integers(1, 60), max_size=12), limit=st.integers(400, 2000))
def test_parts_hold_every_statement_once_in_order(sizes: list[int], limit: int) -> None:
    statements = [allow(f"S{n}", [f"s3:A{i}" for i in range(size)], ["*"]) for n, size in enumerate(sizes)]
    if any(len(text(document(statement))) > limit for statement in statements):
        with pytest.raises(ValueError, match="alone is longer"):
            parts(document(*statements), limit)
        return
    found = parts(document(*statements), limit)
    assert [statement for one in found for statement in one["Statement"]] == statements
    assert all(len(text(one)) <= limit for one in found)
    for first, second in pairwise(found):  # no part is begun before the last one is full
        assert len(text(document(*first["Statement"], second["Statement"][0]))) > limit


# The deploying principal -------------------------------------------------------------------------------------------------------


def test_the_deployer_passes_our_roles_to_their_services_alone() -> None:
    plan = plan_of()
    passed = [statement for action, _, statement in pairs(deployer_policy(plan)) if action == "iam:PassRole"]
    for statement in passed:
        assert statement["Condition"]["StringEquals"]["iam:PassedToService"]
        for role in statement["Resource"]:
            assert role.startswith((f"arn:aws:iam::{ACCOUNT}:role/dev-main-", f"arn:aws:iam::{ACCOUNT}:role/sagemaker-dev-main-"))
    names = {role.rpartition("/")[2] for statement in passed for role in statement["Resource"]}
    flow_logs = "dev-main-us-west-2-flow-logs"
    assert names == {plan.names.execution_role, plan.names.karpenter_role, plan.names.eks_role, flow_logs}


def test_the_deployer_touches_no_role_that_it_has_not_made() -> None:
    role = "arn:aws:iam::111122223333:role/sagemaker-theirs"
    own = f"hyperpod: {{execution_role: '{role}'}}\neks: {{existing: theirs}}"
    found = cluster({}, hyperpod(network=EXISTING, settings=own)).platform
    assert found is not None
    policy = deployer_policy(found)
    assert resources_of(policy, "iam:PassRole") == {role}
    assert {action for action, _, _ in pairs(policy) if action.startswith("iam:")} == {
        "iam:PassRole",
        "iam:CreateServiceLinkedRole",
    }
    assert lint(policy) == []


def test_the_deployer_makes_only_bounded_roles_with_policies_of_ours() -> None:
    boundary = "arn:aws:iam::111122223333:policy/limits"
    for action, _, statement in pairs(deployer_policy(plan_of())):
        if action in ("iam:CreateRole", "iam:PutRolePolicy", "iam:AttachRolePolicy", "iam:PutRolePermissionsBoundary"):
            assert statement["Condition"]["ArnEquals"]["iam:PermissionsBoundary"] == boundary
        if action == "iam:AttachRolePolicy":
            allowed = statement["Condition"]["ArnEquals"]["iam:PolicyARN"]
            assert {one.rpartition("/")[2] for one in allowed} == {policies.EKS_POLICY, policies.INSTANCE_POLICY}
    free = [s["Condition"] for a, _, s in pairs(deployer_policy(plan_of(settings=""))) if a == "iam:AttachRolePolicy"]
    assert free
    assert all(set(condition["ArnEquals"]) == {"iam:PolicyARN"} for condition in free)


def test_the_deployer_changes_only_what_carries_the_platforms_tags() -> None:
    tags = {"aws:ResourceTag/hyperpod-platform/environment": "dev", "aws:ResourceTag/hyperpod-platform/cluster": "main"}
    policy = deployer_policy(plan_of())
    for action in ("ec2:DeleteVpc", "ec2:DeleteSubnet", "ec2:DeleteSecurityGroup", "kms:ScheduleKeyDeletion", "kms:PutKeyPolicy"):
        guard = {"StringEquals": {"aws:ResourceTag/GuardDutyManaged": "true"}}  # its endpoint would keep the VPC
        found = [statement["Condition"] for allowed, _, statement in pairs(policy) if allowed == action]
        conditions = [condition for condition in found if condition != guard]
        assert conditions
        assert all(condition == {"StringEquals": tags} for condition in conditions)


def test_the_deployer_gets_what_the_declaration_asks_for() -> None:
    def actions(plan: PlatformPlan) -> set[str]:
        return {action for action, _, _ in pairs(deployer_policy(plan))}

    new = actions(plan_of())
    assert {"ec2:CreateVpc", "eks:CreateCluster", "s3:CreateBucket", "sagemaker:CreateCluster"} <= new
    assert "sagemaker:CreateComputeQuota" not in new
    managed = actions(plan_of(settings="", text="governance: {backend: managed}\n"))
    assert {"sagemaker:CreateComputeQuota", "sagemaker:CreateClusterSchedulerConfig"} <= managed
    assert "s3:CreateBucket" not in managed
    existing = cluster({}, hyperpod(network=EXISTING, settings="eks: {existing: theirs}")).platform
    assert existing is not None
    theirs = actions(existing)
    assert not {"ec2:CreateVpc", "ec2:DeleteVpc", "eks:CreateCluster", "eks:DeleteCluster"} & theirs
    assert "ec2:CreateSecurityGroup" in theirs
    assert resources_of(deployer_policy(existing), "eks:DescribeCluster") >= {existing.arn("eks", "cluster/theirs")}
    assert "ec2:ModifyImageAttribute" not in new
    own_image = deployer_policy(plan_of(extra="count: 8, image: ami-0123456789abcdef0"))
    assert resources_of(own_image, "ec2:ModifyImageAttribute") >= {"arn:aws:ec2:us-west-2:*:image/ami-0123456789abcdef0"}


EXISTING = "{vpc: vpc-0123456789abcdef0, subnets: {us-west-2a: subnet-0123456789abcdef0}}"


@pytest.mark.parametrize("region", REGIONS)
def test_the_deployers_policy_comes_in_parts_that_iam_takes(region: str) -> None:
    plan = plan_of(region)
    found = deployer_policies(plan)
    assert [statement for one in found for statement in one["Statement"]] == deployer_policy(plan)["Statement"]
    assert 1 < len(found) <= 4
    assert all(len(text(one)) <= MANAGED_LIMIT for one in found)


def test_the_deployers_policy_holds_many_keys() -> None:
    arn = KEY.format(partition="aws", region="us-west-2")
    volumes = "[" + ", ".join(f'{{size_gib: 100, key: "{arn}{n}{"k" * 55}"}}' for n in range(4)) + "]"
    groups = "\n".join(f"g{n}: {{instance_type: ml.p5.48xlarge, count: 1, volumes: {volumes}}}" for n in range(40))
    groups = "\n".join(line.replace("key/", f"key/{n}x") for n, line in enumerate(groups.splitlines()))
    found = cluster({}, hyperpod(groups=groups)).platform
    assert found is not None
    assert all(len(text(one)) <= MANAGED_LIMIT for one in deployer_policies(found))
    assert len([one for one in resources_of(deployer_policy(found), "kms:CreateGrant") if arn in one]) == 161


# What depends on nodes ---------------------------------------------------------------------------------------------------------

TAINT = '{key: example.com/gpu, value: "true", effect: NoSchedule}'


@pytest.mark.parametrize(("extra", "expected"), [("count: 8", True), ("count: 1", True), ("count: 0", False)])
def test_nodes_are_expected_where_a_group_has_any(extra: str, expected: bool) -> None:
    assert nodes_expected(plan_of(extra=extra)) is expected


def test_restricted_groups_bring_no_nodes_for_dns() -> None:
    nova = "restricted_instance_groups: {nova: {instance_type: ml.p5.48xlarge, count: 4}}"
    assert not nodes_expected(plan_of(settings=nova, extra="count: 0"))


def test_dns_tolerates_taints_only_where_every_group_has_some() -> None:
    assert coredns_settings(plan_of()) == {}
    assert coredns_settings(plan_of(extra=f"count: 0, taints: [{TAINT}]")) == {}
    soft = TAINT.replace("NoSchedule", "PreferNoSchedule")
    assert coredns_settings(plan_of(extra=f"count: 8, taints: [{soft}]")) == {}
    found = coredns_settings(plan_of(extra=f"count: 8, taints: [{TAINT}]"))["tolerations"]
    assert {"key": "example.com/gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"} in found
    assert {"key": "CriticalAddonsOnly", "operator": "Exists"} in found
    assert all("key" in toleration for toleration in found)  # none tolerates everything


# Kubeconfig and existing clusters ----------------------------------------------------------------------------------------------


def test_a_kubeconfig_holds_no_credentials() -> None:
    found = json.loads(kubeconfig("theirs", "https://example.eks.amazonaws.com", "Q0E=", "us-west-2"))
    (user,) = found["users"]
    assert list(user["user"]) == ["exec"]
    run = user["user"]["exec"]
    assert run["command"] == "aws"
    assert run["args"][:4] == ["--region", "us-west-2", "eks", "get-token"]
    assert run["args"][run["args"].index("--cluster-name") + 1] == "theirs"
    assert found["clusters"][0]["cluster"] == {
        "server": "https://example.eks.amazonaws.com",
        "certificate-authority-data": "Q0E=",
    }
    (context,) = found["contexts"]
    assert found["current-context"] == context["name"]
    assert context["context"] == {"cluster": found["clusters"][0]["name"], "user": user["name"]}


def test_an_existing_cluster_has_access_entries_and_lies_in_the_network() -> None:
    for mode in ("API", "API_AND_CONFIG_MAP"):
        assert existing_problem("theirs", mode, "vpc-1", "vpc-1") is None
    message = existing_problem("theirs", "CONFIG_MAP", "vpc-1", "vpc-1")
    assert message is not None
    assert "aws eks update-cluster-config --name theirs --access-config authenticationMode=API_AND_CONFIG_MAP" in message
    elsewhere = existing_problem("theirs", "API", "vpc-1", "vpc-2")
    assert elsewhere is not None
    assert "vpc-1" in elsewhere
    assert "vpc-2" in elsewhere


# Lifecycle scripts -------------------------------------------------------------------------------------------------------------


def test_scripts_are_the_files_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "scripts"
    (folder / "lib").mkdir(parents=True)
    for name in ("on_create.sh", "lib/disks.sh", "a.py"):
        (folder / name).write_text(name)
    assert list(scripts(folder)) == ["a.py", "lib/disks.sh", "on_create.sh"]
    before = digest(folder / "a.py")
    assert before == digest(folder / "a.py")
    (folder / "a.py").write_text("changed")
    assert digest(folder / "a.py") != before


def test_a_folder_or_script_that_is_missing_is_found(tmp_path: Path) -> None:
    where = Where("environments/dev.yaml", 3, 5)
    lifecycle = Lifecycle(folder="scripts")

    def found(one: Lifecycle | None) -> list[tuple[str, Where]]:
        return [(finding.id, finding.where) for finding in lifecycle_findings(one, tmp_path, where)]

    assert found(lifecycle) == [("lifecycle-missing", where)]
    (tmp_path / "scripts").mkdir()
    assert found(lifecycle) == [("lifecycle-missing", where)]
    (tmp_path / "scripts" / "on_create.sh").write_text("#!/bin/bash\n")
    assert found(lifecycle) == []
    assert found(Lifecycle(folder="scripts", script="other.sh")) == [("lifecycle-missing", where)]
    assert found(None) == []
    assert found(Lifecycle(source_uri="s3://sagemaker-scripts/here")) == []
