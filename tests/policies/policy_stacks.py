"""For every rule on a whole stack: a stack that keeps it, and changes that violate it."""

from __future__ import annotations

from policy_cases import EKS, HYPERPOD, KUEUE, MANAGED, NAMESPACE, QUOTA, ROLE, StackCase, group, queue

VPC = ("aws:ec2/vpc:Vpc", {"id": "vpc-1"})
POD_SECURITY = "pod-security.kubernetes.io/enforce"
BUCKET = ("aws:s3/bucket:Bucket", {"bucket": "sagemaker-x"})
REPOSITORY = ("aws:ecr/repository:Repository", {"name": "train"})


def of_vpc(type_: str, *missing: str, **properties: object) -> StackCase:
    """A VPC with one companion, which names it by reference: its id isn't known before it is made."""
    kept = {"main/vpc": VPC, "main/one": (type_, properties)}
    return StackCase(kept, (({"main/one": None}, missing[0]),), refers={"main/one": {"vpcId": "main/vpc"}})


def of_bucket(kind: str, words: str) -> StackCase:
    kept = {"main/bucket": BUCKET, "main/one": (f"aws:s3/{kind[0].lower()}{kind[1:]}:{kind}", {"bucket": "sagemaker-x"})}
    return StackCase(kept, (({"main/one": None}, words),), refers={"main/one": {"bucket": "main/bucket"}})


def endpoint(service: str) -> tuple[str, dict[str, str]]:
    return "aws:ec2/vpcEndpoint:VpcEndpoint", {"vpcId": "vpc-1", "serviceName": f"com.amazonaws.us-west-2.{service}"}


def namespaced(type_: str, **spec: object) -> StackCase:
    kept = {
        "main/nlp/namespace": (NAMESPACE, {"metadata": {"name": "nlp"}}),
        "main/nlp/one": (type_, {"metadata": {"name": "one", "namespace": "nlp"}, "spec": spec}),
    }
    other = {"main/nlp/one": {"metadata": {"name": "one", "namespace": "vision"}}}
    return StackCase(kept, (({"main/nlp/one": None}, "pod"), (other, "pod")))


def quota(**entry: object) -> dict[str, object]:
    resources = [{"instanceType": "ml.p5.48xlarge", **entry}]
    return {"computeQuotaConfig": {"computeQuotaResources": resources}}


def classes(*weights: int) -> dict[str, object]:
    found = [{"Name": f"class-{index}", "Weight": weight} for index, weight in enumerate(weights)]
    return {"properties": {"SchedulerConfig": {"PriorityClasses": found}}}


TEAM_NAMESPACE = {"metadata": {"name": "nlp", "labels": {"hyperpod-platform/team": "nlp", MANAGED: "true"}}}
UNMARKED = {"metadata": {"name": "nlp", "labels": {"hyperpod-platform/team": "nlp"}}}
FLAVOR = {"metadata": {"name": "ml.p5.48xlarge"}, "spec": {"nodeLabels": {"node.kubernetes.io/instance-type": "ml.p5.48xlarge"}}}
TAGS = {"hyperpod-platform/environment": "dev", "hyperpod-platform/managed-by": "pulumi", "cost-center": "x"}

STACKS: dict[str, list[StackCase]] = {
    "eks-pulumi-protect": [
        StackCase(
            {"main/eks": (EKS, {"deletionProtection": True}), "other/eks": (EKS, {"deletionProtection": False})},
            (({"other/eks": {"deletionProtection": True}}, "Pulumi doesn't"),),
            protected=("main/eks",),
        )
    ],
    "vpc-flow-logs": [of_vpc("aws:ec2/flowLog:FlowLog", "accepted and refused")],
    "vpc-default-group-closed": [of_vpc("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup", "default security group")],
    "vpc-endpoint-s3": [
        StackCase({"main/vpc": ("aws:ec2/vpc:Vpc", {"id": "vpc-1"}), "main/s3": endpoint("s3")}, (({"main/s3": None}, "S3"),))
    ],
    "vpc-endpoints": [
        StackCase(
            {"main/vpc": VPC, **{f"main/{name}": endpoint(name) for name in ("ecr.api", "ecr.dkr", "ssm")}},
            (({"main/ssm": None}, "ssm leaves"), ({"main/ecr.api": {"vpcId": "vpc-2"}}, "ecr.api leaves")),
        )
    ],
    "s3-public-access": [of_bucket("BucketPublicAccessBlock", "nothing blocks")],
    "s3-encrypted": [of_bucket("BucketServerSideEncryptionConfiguration", "not one of ours")],
    "s3-versioned": [of_bucket("BucketVersioning", "lost")],
    "s3-tls-only": [of_bucket("BucketPolicy", "without TLS")],
    "s3-own-account": [of_bucket("BucketPolicy", "other accounts")],
    "s3-acls-off": [of_bucket("BucketOwnershipControls", "ACLs")],
    "s3-access-logs": [of_bucket("BucketLogging", "who read it")],
    "s3-lifecycle": [of_bucket("BucketLifecycleConfiguration", "paid for")],
    "ecr-lifecycle": [
        StackCase(
            {"main/images": REPOSITORY, "main/expiry": ("aws:ecr/lifecyclePolicy:LifecyclePolicy", {"repository": "train"})},
            (({"main/expiry": None}, "for ever"), ({"main/expiry": {"repository": "serve"}}, "for ever")),
        )
    ],
    "required-tags": [
        StackCase(
            {
                "main/vpc": ("aws:ec2/vpc:Vpc", {"tags": TAGS}),
                "main/hyperpod": (HYPERPOD, {"tags": [{"key": key, "value": value} for key, value in TAGS.items()]}),
                "main/route": ("aws:ec2/route:Route", {}),
            },
            (
                ({"main/vpc": {"tags": {"cost-center": "x"}}}, "hyperpod-platform/environment"),
                ({"main/hyperpod": {"tags": []}}, "cost-center"),
            ),
        )
    ],
    "namespace-pod-security": [
        StackCase(
            {"main/nlp/namespace": (NAMESPACE, {"metadata": {"name": "nlp", "labels": {POD_SECURITY: "baseline"}}})},
            (
                ({"main/nlp/namespace": {"metadata": {"name": "nlp"}}}, "take over its node"),
                ({"main/nlp/namespace": {"metadata": {"labels": {POD_SECURITY: "privileged"}}}}, "`privileged`"),
            ),
        )
    ],
    "namespace-network-policy": [namespaced("kubernetes:networking.k8s.io/v1:NetworkPolicy", podSelector={})],
    "namespace-limits": [namespaced("kubernetes:core/v1:LimitRange"), namespaced("kubernetes:core/v1:ResourceQuota")],
    "hyperpod-execution-role": [
        StackCase(
            {
                "main/hyperpod": (HYPERPOD, group(executionRole="arn:aws:iam::1:role/nodes")),
                "main/role": (ROLE, {"arn": "arn:aws:iam::1:role/nodes", "name": "nodes"}),
                "main/policy": (
                    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
                    {"role": "nodes", "policyArn": "arn:aws:iam::aws:policy/AmazonSageMakerClusterInstanceRolePolicy"},
                ),
                "main/admin": (
                    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
                    {"principalArn": "arn:aws:iam::1:role/admin"},
                ),
            },
            (
                ({"main/policy": {"policyArn": "arn:aws:iam::aws:policy/AmazonS3FullAccess"}}, "AmazonS3FullAccess"),
                ({"main/admin": {"principalArn": "arn:aws:iam::1:role/nodes"}}, "administers"),
            ),
        )
    ],
    "hyperpod-lifecycle-bucket": [
        StackCase(
            {
                "main/hyperpod": (HYPERPOD, group(lifeCycleConfig={"sourceS3Uri": "s3://sagemaker-x/lifecycle"})),
                "main/bucket": BUCKET,
                "main/key": (
                    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
                    {"bucket": "sagemaker-x"},
                ),
            },
            (({"main/bucket": None, "main/key": None}, "neither ours nor"), ({"main/key": None}, "not encrypted")),
            refers={"main/key": {"bucket": "main/bucket"}},
        )
    ],
    "quota-within-capacity": [
        StackCase(  # two nodes: 16 devices
            {
                "main/hyperpod": (HYPERPOD, group()),
                "main/a/quota": (QUOTA, quota(count=1)),
                "main/b/quota": (QUOTA, quota(accelerators=8)),
            },
            (
                ({"main/b/quota": quota(accelerators=9)}, "17 are guaranteed, 16 are there"),
                ({"main/a/quota": quota(count=2)}, "24 are guaranteed"),
            ),
        ),
        StackCase(
            {
                "main/hyperpod": (HYPERPOD, group()),
                "main/flavor": (f"{KUEUE}ResourceFlavor", FLAVOR),
                "main/a/clusterqueue": (f"{KUEUE}ClusterQueue", queue()),
                "main/pool": (f"{KUEUE}Cohort", queue()),
            },
            (({"main/pool": queue(nominalQuota="9")}, "nvidia.com/gpu of ml.p5.48xlarge: 17"),),
        ),
        StackCase(  # each cluster by itself
            {
                "one/hyperpod": (HYPERPOD, group()),
                "one/a/quota": (QUOTA, quota(count=2)),
                "two/hyperpod": (HYPERPOD, group()),
                "two/a/quota": (QUOTA, quota(count=2)),
            },
            (({"one/a/quota": quota(count=3), "two/a/quota": quota(count=1)}, "24 are guaranteed, 16"),),
        ),
    ],
    "priority-values": [
        StackCase(
            {"main/scheduler": ("aws-native:index:ExtensionResource", classes(90, 70))},
            (
                ({"main/scheduler": classes(70, 70)}, "class-0, class-1"),
                ({"main/scheduler": classes(101)}, "101, outside of 0…100"),
            ),
        ),
        StackCase(
            {
                "main/class/a": (f"{KUEUE}WorkloadPriorityClass", {"value": 1}),
                "main/class/b": (f"{KUEUE}WorkloadPriorityClass", {"value": 2}),
            },
            (({"main/class/b": {"value": 1}}, "value 1"), ({"main/class/b": {"value": 2_000_000_000}}, "outside")),
        ),
    ],
    "team-queue": [
        StackCase(
            {
                "main/nlp/namespace": (NAMESPACE, TEAM_NAMESPACE),
                "main/nlp/clusterqueue": (f"{KUEUE}ClusterQueue", queue()),
                "main/nlp/localqueue": (
                    f"{KUEUE}LocalQueue",
                    {"metadata": {"namespace": "nlp"}, "spec": {"clusterQueue": "nlp"}},
                ),
                "main/system": (NAMESPACE, {"metadata": {"name": "monitoring"}}),
            },
            (
                ({"main/nlp/localqueue": None}, "no LocalQueue"),
                ({"main/nlp/namespace": UNMARKED}, "beside every quota"),
                ({"main/nlp/clusterqueue": None}, "ClusterQueue nlp is not declared"),
            ),
        )
    ],
}
