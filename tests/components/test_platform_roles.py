"""The platform's roles and its bucket: what is made and what isn't, and who waits for whom."""

from __future__ import annotations

import json
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pulumi
import pulumi_aws as aws
import pytest
from declarations import cluster, hyperpod
from recording import Recording, Registered, record

from components.platform.eks import EksCluster
from components.platform.keys import Key
from components.platform.network import Network
from components.platform.roles import ExecutionRole, KarpenterRole
from components.platform.storage import LifecycleBucket
from config.findings import ConfigError
from governance.platform.deployer import deployer_policy
from governance.platform.iam import Document
from governance.platform.model import PlatformPlan

ACCOUNT = "111122223333"
KEY = "arn:aws:kms:us-west-2:111122223333:key/own"
BUCKET = "sagemaker-dev-main-111122223333-us-west-2"
FOLDER = "hyperpod: {lifecycle: {folder: scripts}, karpenter: true}"
THEIRS = "arn:aws:iam::111122223333:role/sagemaker-theirs"
SUBNETS = ["subnet-00000000000000001", "subnet-00000000000000002"]


def plan_of(settings: str = FOLDER, **options: str) -> PlatformPlan:
    found = cluster({}, hyperpod(settings=settings, **options)).platform
    assert found is not None
    return found


def run(plan: PlatformPlan, root: Path | None = None) -> Recording:
    """A program of both roles, and of the bucket where there is a root to take its files from."""

    def program() -> None:
        opts = pulumi.ResourceOptions(providers=[aws.Provider("account", region=plan.declared.region)])
        bucket = LifecycleBucket("main/lifecycle", plan, KEY, root, opts) if root else None
        role = ExecutionRole(
            "main/execution-role",
            plan,
            pulumi.Output.from_input("vpc-0123456789abcdef0"),
            [pulumi.Output.from_input(subnet) for subnet in SUBNETS],
            ["sg-0123456789abcdef0"],
            pulumi.Output.from_input(plan.arn("eks", "cluster/dev-main")),
            bucket.bucket_arn if bucket else None,
            KEY,
            opts,
        )
        karpenter = KarpenterRole("main/karpenter-role", plan, pulumi.Output.from_input(KEY), opts)
        pulumi.export("role", role.arn)
        pulumi.export("role_ready", [resource.urn for resource in role.ready])
        pulumi.export("karpenter_ready", [resource.urn for resource in karpenter.ready])
        if bucket:
            pulumi.export("uri", bucket.source_uri)
            pulumi.export("bucket_ready", [resource.urn for resource in bucket.ready])

    return record(program)


def scripts_in(root: Path, **files: str) -> Path:
    for name, content in {"on_create.sh": "#!/bin/bash\n", **files}.items():
        file = root / "scripts" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return root


@pytest.fixture
def made(tmp_path: Path) -> Recording:
    return run(plan_of(), scripts_in(tmp_path, **{"lib/disks.sh": "true\n"}))


def policy_of(found: Recording, role: str) -> Document:
    document: Document = json.loads(found.one(f"main/{role}/policy").inputs["policy"])
    return document


def resolved(output: Any) -> Any:
    values: list[Any] = []

    @pulumi.runtime.test
    def take() -> pulumi.Output[Any]:
        return pulumi.Output.from_input(output).apply(values.append)

    take()
    return values[0]


# Roles -------------------------------------------------------------------------------------------------------------------------


def test_roles_have_their_names_their_trust_and_tags(made: Recording) -> None:
    names = {
        "execution-role": "sagemaker-dev-main-us-west-2-execution",
        "karpenter-role": "sagemaker-dev-main-us-west-2-karpenter",
    }
    services = {"execution-role": "sagemaker.amazonaws.com", "karpenter-role": "hyperpod.sagemaker.amazonaws.com"}
    for part, name in names.items():
        role = made.one(f"main/{part}/role")
        assert role.inputs["name"] == name
        assert role.inputs["tags"]["hyperpod-platform/cluster"] == "main"
        assert "permissionsBoundary" not in role.inputs
        assert role.delete_before_replace
        (statement,) = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
        assert statement["Principal"] == {"Service": services[part]}


def test_the_boundary_bounds_every_role(tmp_path: Path) -> None:
    boundary = "arn:aws:iam::111122223333:policy/limits"
    found = run(plan_of(f"permissions_boundary: {boundary}"))
    assert [role.inputs["permissionsBoundary"] for role in found.of("Role")] == [boundary, boundary]


def test_policies_are_inline_and_one_is_awss(made: Recording) -> None:
    (attached,) = made.of("RolePolicyAttachment")
    assert attached.inputs["policyArn"] == "arn:aws:iam::aws:policy/AmazonSageMakerClusterInstanceRolePolicy"
    assert attached.inputs["role"] == "sagemaker-dev-main-us-west-2-execution"
    assert len(made.of("RolePolicy")) == 2
    for absent in ("Policy", "User", "Group", "AccessKey", "InstanceProfile"):
        assert made.of(absent) == []


def test_no_policy_is_wide(made: Recording) -> None:
    texts = json.dumps([registered.inputs for registered in made.registered])
    for wide in ("AdministratorAccess", "FullAccess", "PowerUser", "iam:*", "ec2:*", '"Action": "*"'):
        assert wide not in texts
    for role in ("execution-role", "karpenter-role"):
        for statement in policy_of(made, role)["Statement"]:
            assert statement["Effect"] == "Allow"
            assert all(not action.endswith("*") for action in statement["Action"])


def test_the_execution_role_names_what_its_nodes_stand_on(made: Recording) -> None:
    by_sid = {statement["Sid"]: statement for statement in policy_of(made, "execution-role")["Statement"]}
    prefix = f"arn:aws:ec2:us-west-2:{ACCOUNT}"
    places = {f"{prefix}:vpc/vpc-0123456789abcdef0", f"{prefix}:security-group/sg-0123456789abcdef0"}
    places |= {f"{prefix}:subnet/{subnet}" for subnet in SUBNETS}
    assert set(by_sid["Interfaces"]["Resource"]) == places | {f"{prefix}:instance/*", f"{prefix}:network-interface/*"}
    assert by_sid["PodIdentity"]["Resource"] == [f"arn:aws:eks:us-west-2:{ACCOUNT}:cluster/dev-main"]
    assert by_sid["ScriptsKey"]["Resource"] == [KEY]


def test_a_role_is_ready_when_every_policy_is_attached(made: Recording) -> None:
    instance = "main/execution-role/AmazonSageMakerClusterInstanceRolePolicy"
    assert made.names(resolved(made.outputs["role_ready"])) == {instance, "main/execution-role/policy"}
    assert made.names(resolved(made.outputs["karpenter_ready"])) == {"main/karpenter-role/policy"}
    for name in (instance, "main/execution-role/policy"):
        assert "main/execution-role/role" in made.needs(name)


def test_an_existing_role_is_left_alone() -> None:
    found = run(plan_of(f"hyperpod: {{execution_role: '{THEIRS}'}}"))
    assert resolved(found.outputs["role"]) == THEIRS
    assert resolved(found.outputs["role_ready"]) == []
    assert not [r for r in found.registered if r.name.startswith("main/execution-role/")]


@pytest.mark.parametrize("region", ["cn-north-1", "us-gov-west-1"])
def test_other_partitions_have_arns_of_their_own(region: str, tmp_path: Path) -> None:
    zones = "{availability_zones: [" + ", ".join(f"{region}{letter}" for letter in "abc") + "]}"
    group = f"h100: {{instance_type: ml.p5.48xlarge, count: 8, availability_zone: {region}a}}"
    plan = plan_of(network=zones, region=region, groups=group)
    found = run(plan, scripts_in(tmp_path))
    for registered in found.registered:
        assert "arn:aws:" not in json.dumps(registered.inputs).replace(KEY, ""), registered.name


def test_the_deployer_may_make_everything_that_has_a_name(tmp_path: Path) -> None:
    """Roles, log groups, the alias and the bucket are named in its policy, and named in the same way."""
    plan = plan_of()

    def program() -> None:
        opts = pulumi.ResourceOptions(providers=[aws.Provider("account", region="us-west-2")])
        key = Key("main/key", plan, opts)
        network = Network("main/network", plan, key.logs_arn, opts)
        EksCluster("main/eks", plan, network, key, [], opts)
        LifecycleBucket("main/lifecycle", plan, key.arn, scripts_in(tmp_path), opts)
        nowhere = pulumi.Output.from_input("x")
        ExecutionRole("main/execution-role", plan, nowhere, [], [], nowhere, nowhere, key.arn, opts)
        KarpenterRole("main/karpenter-role", plan, key.arn, opts)

    found = record(program)
    iam = f"arn:aws:iam::{ACCOUNT}:role/"
    needed = {("iam:CreateRole", f"{iam}{role.inputs['name']}") for role in found.of("Role")}
    needed |= {("iam:PassRole", f"{iam}{role.inputs['name']}") for role in found.of("Role")}
    logs = f"arn:aws:logs:us-west-2:{ACCOUNT}:log-group:"
    needed |= {("logs:CreateLogGroup", f"{logs}{group.inputs['name']}") for group in found.of("LogGroup")}
    aliases = {f"arn:aws:kms:us-west-2:{ACCOUNT}:{alias.inputs['name']}" for alias in found.of("Alias")}
    needed |= {("kms:CreateAlias", alias) for alias in aliases}
    needed |= {("s3:CreateBucket", f"arn:aws:s3:::{bucket.inputs['bucket']}") for bucket in found.of("Bucket")}
    needed |= {("eks:DeleteCluster", f"arn:aws:eks:us-west-2:{ACCOUNT}:cluster/{plan.names.eks}")}
    assert len(needed) >= 12
    allowed = [
        (action, resource)
        for statement in deployer_policy(plan)["Statement"]
        for action in statement["Action"]
        for resource in statement["Resource"]
        if resource != "*"
    ]
    missing = {one for one in needed if not any(one[0] == action and fnmatch(one[1], arn) for action, arn in allowed)}
    assert missing == set()


# The bucket --------------------------------------------------------------------------------------------------------------------


def of_bucket(found: Recording, suffix: str) -> Registered:
    return found.one(f"main/lifecycle/{suffix}")


def test_the_bucket_is_closed(made: Recording) -> None:
    assert of_bucket(made, "bucket").inputs["bucket"] == BUCKET
    assert "acl" not in of_bucket(made, "bucket").inputs
    assert "forceDestroy" not in of_bucket(made, "bucket").inputs
    public = of_bucket(made, "public-access").inputs
    for block in ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets"):
        assert public[block] is True
    assert of_bucket(made, "ownership").inputs["rule"] == {"objectOwnership": "BucketOwnerEnforced"}
    assert of_bucket(made, "versioning").inputs["versioningConfiguration"] == {"status": "Enabled"}
    (rule,) = of_bucket(made, "encryption").inputs["rules"]
    assert rule["bucketKeyEnabled"] is True
    assert rule["applyServerSideEncryptionByDefault"] == {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": KEY}
    (expiry,) = of_bucket(made, "expiry").inputs["rules"]
    assert expiry["status"] == "Enabled"
    assert expiry["noncurrentVersionExpiration"] == {"noncurrentDays": 90}
    assert expiry["abortIncompleteMultipartUpload"] == {"daysAfterInitiation": 7}
    assert "expiration" not in expiry
    for absent in ("BucketAcl", "BucketWebsiteConfiguration", "BucketCorsConfiguration", "BucketNotification"):
        assert made.of(absent) == []
    assert of_bucket(made, "bucket").inputs["tags"]["hyperpod-platform/environment"] == "dev"


def test_the_buckets_policy_is_about_itself(made: Recording) -> None:
    for statement in json.loads(of_bucket(made, "policy").inputs["policy"])["Statement"]:
        assert statement["Effect"] == "Deny"
        assert statement["Resource"] == [f"arn:aws:s3:::{BUCKET}", f"arn:aws:s3:::{BUCKET}/*"]


@pytest.mark.parametrize("protection", [True, False])
def test_the_bucket_is_protected_as_declared(protection: bool, tmp_path: Path) -> None:
    found = run(plan_of(f"protection: {str(protection).lower()}\n{FOLDER}"), scripts_in(tmp_path))
    assert of_bucket(found, "bucket").protect is protection
    # A file that leaves the folder leaves the bucket too.
    assert of_bucket(found, "file/on_create.sh").protect is False


def test_every_file_is_uploaded_once_the_bucket_is_closed(made: Recording) -> None:
    files = {registered.inputs["key"]: registered for registered in made.of("BucketObjectv2")}
    assert set(files) == {"lifecycle/on_create.sh", "lifecycle/lib/disks.sh"}
    closed = {"public-access", "ownership", "versioning", "encryption", "expiry", "policy"}
    for registered in files.values():
        assert {f"main/lifecycle/{one}" for one in closed} <= made.needs(registered.name)
        assert registered.inputs["bucket"] == BUCKET
        assert len(registered.inputs["sourceHash"]) == 64
        assert "acl" not in registered.inputs
    ready = made.names(resolved(made.outputs["bucket_ready"]))
    assert ready == {f"main/lifecycle/{one}" for one in closed} | {registered.name for registered in files.values()}
    assert {"main/lifecycle/public-access"} <= made.needs("main/lifecycle/policy")


def test_a_changed_script_updates_its_object_and_nothing_else(tmp_path: Path) -> None:
    before = run(plan_of(), scripts_in(tmp_path, **{"lib.sh": "one"}))
    after = run(plan_of(), scripts_in(tmp_path, **{"lib.sh": "two"}))
    old, new = ({registered.urn: registered.inputs for registered in found.registered} for found in (before, after))
    assert set(old) == set(new)
    assert before.names(urn for urn in old if old[urn] != new[urn]) == {"main/lifecycle/file/lib.sh"}
    assert resolved(before.outputs["uri"]) == resolved(after.outputs["uri"]) == f"s3://{BUCKET}/lifecycle"


def test_a_bucket_that_holds_the_script_is_left_alone(tmp_path: Path) -> None:
    found = run(plan_of("hyperpod: {lifecycle: {source_uri: 's3://sagemaker-theirs/scripts/v2'}}"), tmp_path)
    assert not [registered for registered in found.registered if ":s3/" in registered.type]
    assert resolved(found.outputs["uri"]) == "s3://sagemaker-theirs/scripts/v2"
    assert resolved(found.outputs["bucket_ready"]) == []
    by_sid = {statement["Sid"]: statement for statement in policy_of(found, "execution-role")["Statement"]}
    assert by_sid["Scripts"]["Resource"] == ["arn:aws:s3:::sagemaker-theirs", "arn:aws:s3:::sagemaker-theirs/*"]
    assert "ScriptsKey" not in by_sid


@pytest.mark.parametrize(
    ("files", "words"), [([], "no folder `scripts`"), (["scripts/other.sh"], "no file `scripts/on_create.sh`")]
)
def test_a_missing_script_is_refused_before_anything_is_made(tmp_path: Path, files: list[str], words: str) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("true\n")
    with pytest.raises(ConfigError) as caught:
        run(plan_of(), tmp_path)
    (finding,) = caught.value.findings
    assert finding.id == "lifecycle-missing"
    assert words in finding.message
    assert finding.where.file == "environments/dev.yaml"
    assert finding.remedy
    registered = pulumi.runtime.settings.get_monitor().recording.registered
    assert not [one for one in registered if one.type.startswith("aws:")]
