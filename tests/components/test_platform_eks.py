"""EKS: what is made and what isn't, who waits for whom, and what an existing cluster is spared."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pulumi
import pulumi_aws as aws
import pytest
import recording
from declarations import cluster, hyperpod
from recording import Recording, Registered, record

from components.platform.addons import NetworkAddons, NodeAddons
from components.platform.eks import EksCluster
from governance.platform.model import PlatformPlan

ACCOUNT = "111122223333"
KEY = "arn:aws:kms:us-west-2:111122223333:key/own"
LOGS_KEY = "arn:aws:kms:us-west-2:111122223333:key/logs"
ADMIN = "arn:aws:iam::111122223333:role/platform-admin"
KUBECONFIG = '{"kind": "Config", "server": "https://the-server"}'
NEW = f"eks: {{admins: ['{ADMIN}']}}"
STAND_INS = ("way-out", "rule", "nodes")
"""In place of the network's routes, the security group's rules, and HyperPod."""
EXISTING = "{vpc: vpc-0123456789abcdef0, subnets: {us-west-2a: subnet-0123456789abcdef0}}"
THEIRS = f"eks: {{existing: theirs, admins: ['{ADMIN}']}}"


def plan_of(settings: str = NEW, **options: str) -> PlatformPlan:
    found = cluster({}, hyperpod(settings=settings, **options)).platform
    assert found is not None
    return found


def outputs_of(args: pulumi.runtime.MockResourceArgs) -> dict[str, Any]:
    if args.typ != "eks:index:Cluster":
        return args.inputs
    return {**args.inputs, "kubeconfigJson": KUBECONFIG, "clusterSecurityGroupId": "sg-of-eks"}


def found_cluster(mode: str = "API", vpc: str = "vpc-0123456789abcdef0") -> dict[str, Any]:
    return {
        "name": "theirs",
        "arn": "arn:aws:eks:us-west-2:111122223333:cluster/theirs",
        "endpoint": "https://theirs.eks.amazonaws.com",
        "certificateAuthorities": [{"data": "Q0E="}],
        "accessConfigs": [{"authenticationMode": mode, "bootstrapClusterCreatorAdminPermissions": True}],
        "vpcConfig": {"vpcId": vpc, "clusterSecurityGroupId": "sg-of-theirs", "subnetIds": [], "securityGroupIds": []},
    }


@pytest.fixture(autouse=True)
def _as_eks_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording._Echo, "new_resource", lambda _, args: (f"{args.name}-id", outputs_of(args)))
    monkeypatch.setattr(recording._Echo, "call", lambda _, args: default_version(args))


def default_version(args: pulumi.runtime.MockCallArgs) -> dict[str, Any]:
    """EKS's answer to which version of an add-on goes with a version of Kubernetes; nothing else is asked."""
    assert args.token == "aws:eks/getAddonVersion:getAddonVersion"
    minor = args.args["kubernetesVersion"].partition(".")[2]
    return {**args.args, "version": f"v1.{minor}.0-eksbuild.1"}


def run(plan: PlatformPlan, *, preview: bool = False) -> Recording:
    """A program of the cluster and its add-ons, with stand-ins for the network and the nodes."""

    def program() -> None:
        opts = pulumi.ResourceOptions(providers=[aws.Provider("account", region="us-west-2")])
        way, rule, nodes = (aws.sns.Topic(name, opts=pulumi.ResourceOptions(provider=opts.providers[0])) for name in STAND_INS)
        network: Any = SimpleNamespace(
            vpc_id="vpc-0123456789abcdef0", control_plane_subnets=["subnet-a", "subnet-b"], ready=[way]
        )
        eks = EksCluster("main/eks", plan, network, SimpleNamespace(arn=KEY, logs_arn=LOGS_KEY), [rule], opts)
        NetworkAddons("main/addons", plan, eks, opts)
        NodeAddons("main/node-addons", plan, eks, [nodes], opts)
        for name in ("cluster_name", "arn", "kubeconfig", "security_group_id"):
            pulumi.export(name, getattr(eks, name))
        pulumi.export("ready", [resource.urn for resource in eks.ready])

    return record(program, preview=preview)


@pytest.fixture
def made() -> Recording:
    return run(plan_of())


def the_cluster(found: Recording) -> Registered:
    return found.one("main/eks/cluster")


def resolved(output: Any) -> Any:
    """The value of an output, and whether it is secret."""
    values: list[Any] = []

    @pulumi.runtime.test
    def take() -> pulumi.Output[Any]:
        return pulumi.Output.all(output, pulumi.Output.from_input(output).is_secret()).apply(values.append)

    take()
    return values[0]


# The control plane -------------------------------------------------------------------------------------------------------------


def test_the_control_plane_is_closed(made: Recording) -> None:
    inputs = the_cluster(made).inputs
    assert inputs["endpointPrivateAccess"] is True
    assert inputs["endpointPublicAccess"] is False
    assert "publicAccessCidrs" not in inputs
    assert inputs["authenticationMode"] == "API"
    assert inputs["encryptionConfigKeyArn"] == KEY
    assert inputs["enabledClusterLogTypes"] == ["api", "audit", "authenticator", "controllerManager", "scheduler"]
    assert inputs["privateSubnetIds"] == ["subnet-a", "subnet-b"]
    assert "publicSubnetIds" not in inputs
    assert "subnetIds" not in inputs
    assert inputs["vpcId"] == "vpc-0123456789abcdef0"
    assert inputs["name"] == "dev-main"
    assert inputs["version"] == "1.34"


def test_it_is_open_to_the_named_networks_alone() -> None:
    inputs = the_cluster(run(plan_of("eks: {public_access_from: [203.0.113.0/24]}"))).inputs
    assert inputs["endpointPrivateAccess"] is True
    assert inputs["endpointPublicAccess"] is True
    assert inputs["publicAccessCidrs"] == ["203.0.113.0/24"]


def test_secrets_take_the_declared_key() -> None:
    given = "arn:aws:kms:us-west-2:111122223333:key/given"
    found = run(plan_of(f"eks: {{secrets_key: '{given}'}}"))
    assert the_cluster(found).inputs["encryptionConfigKeyArn"] == given
    assert found.one("main/eks/logs").inputs["kmsKeyId"] == LOGS_KEY


def test_pulumi_eks_makes_nothing_of_its_own(made: Recording) -> None:
    inputs = the_cluster(made).inputs
    assert inputs["skipDefaultNodeGroup"] is True
    assert inputs["skipDefaultSecurityGroups"] is True
    assert inputs["createInstanceRole"] is False
    assert inputs["useDefaultVpcCni"] is True
    assert inputs["kubeProxyAddonOptions"]["enabled"] is False
    assert inputs["corednsAddonOptions"]["enabled"] is False
    assert inputs["providerCredentialOpts"] == {}
    for absent in (
        "storageClasses",
        "roleMappings",
        "userMappings",
        "instanceRoles",
        "fargate",
        "autoMode",
        "createOidcProvider",
    ):
        assert absent not in inputs


def test_nothing_else_is_made(made: Recording) -> None:
    kinds = made.kinds()
    del kinds["aws"]
    assert kinds == {
        "EksCluster": 1,
        "EksRole": 1,
        "Role": 1,
        "RolePolicyAttachment": 1,
        "LogGroup": 1,
        "Cluster": 1,
        "AccessEntry": 1,
        "AccessPolicyAssociation": 1,
        "NetworkAddons": 1,
        "NodeAddons": 1,
        "Addon": 4,
        "Topic": len(STAND_INS),
    }


def test_the_role_has_eks_own_policy_alone(made: Recording) -> None:
    role = made.one("main/eks/role/role")
    assert role.inputs["name"] == "dev-main-us-west-2-eks"
    trusted = json.loads(role.inputs["assumeRolePolicy"])["Statement"][0]
    assert trusted["Principal"] == {"Service": "eks.amazonaws.com"}
    assert trusted["Condition"] == {"StringEquals": {"aws:SourceAccount": ACCOUNT}}
    (attached,) = made.of("RolePolicyAttachment")
    assert attached.inputs["policyArn"] == "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
    assert made.of("RolePolicy") == []
    assert "serviceRole" in the_cluster(made).inputs


def test_the_cluster_waits_for_its_log_group_its_roles_policy_and_the_network(made: Recording) -> None:
    before = {"main/eks/logs", "main/eks/role/AmazonEKSClusterPolicy", "way-out", "rule"}
    assert before <= made.needs("main/eks/cluster")
    assert "main/eks/role/role" in made.needs("main/eks/role/AmazonEKSClusterPolicy")
    logs = made.one("main/eks/logs").inputs
    assert logs["name"] == "/aws/eks/dev-main/cluster"
    assert logs["kmsKeyId"] == LOGS_KEY
    assert logs["retentionInDays"] == 365


@pytest.mark.parametrize("protection", [True, False])
def test_protection_follows_the_declaration(protection: bool) -> None:
    found = run(plan_of(f"protection: {str(protection).lower()}"))
    assert the_cluster(found).protect is protection
    assert the_cluster(found).inputs["deletionProtection"] is protection
    assert found.one("main/eks/logs").protect is protection


def test_everything_that_takes_tags_has_them(made: Recording) -> None:
    tagged = {"LogGroup", "Role", "Cluster", "AccessEntry", "Addon"}
    for registered in made.registered:
        if registered.kind in tagged:
            assert registered.inputs["tags"]["hyperpod-platform/cluster"] == "main", registered.name
            assert registered.inputs["tags"]["hyperpod-platform/environment"] == "dev", registered.name


def test_everything_is_made_with_the_accounts_provider(made: Recording) -> None:
    (provider,) = [r for r in made.registered if r.type.startswith("pulumi:providers:")]
    for registered in made.registered:
        if registered.type.startswith("aws:"):
            assert registered.provider.startswith(provider.urn), registered.name
    assert the_cluster(made).providers["aws"].startswith(provider.urn)


# Who enters --------------------------------------------------------------------------------------------------------------------


def test_admins_enter_by_access_entries(made: Recording) -> None:
    (entry,), (policy,) = made.of("AccessEntry"), made.of("AccessPolicyAssociation")
    assert entry.name == f"main/eks/admin/{ACCOUNT}/platform-admin"
    assert entry.inputs["principalArn"] == ADMIN
    assert entry.inputs["clusterName"] == "dev-main"
    assert "kubernetesGroups" not in entry.inputs
    assert policy.inputs["policyArn"] == "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
    assert policy.inputs["accessScope"] == {"type": "cluster"}
    assert entry.name in made.needs(policy.name)
    assert "main/eks/cluster" in made.needs(entry.name)
    ready = made.names(resolved(made.outputs["ready"])[0])
    assert ready == {"main/eks/cluster", entry.name, policy.name}


def test_no_name_holds_what_parts_a_urn(made: Recording) -> None:
    assert [registered.name for registered in made.registered if "::" in registered.name] == []


def test_without_admins_there_are_no_entries() -> None:
    found = run(plan_of("eks: {admins: []}"))
    assert found.of("AccessEntry") == []
    assert found.of("AccessPolicyAssociation") == []


def test_the_kubeconfig_is_a_secret(made: Recording) -> None:
    value, secret = resolved(made.outputs["kubeconfig"])
    assert value == KUBECONFIG
    assert secret
    for registered in made.registered:
        assert "the-server" not in json.dumps(registered.inputs), registered.name


def test_names_are_known_before_the_cluster_is() -> None:
    found = run(plan_of(), preview=True)
    for addon in found.of("Addon"):
        assert addon.inputs["clusterName"] == "dev-main"
    value, _ = resolved(found.outputs["arn"])
    assert value == f"arn:aws:eks:us-west-2:{ACCOUNT}:cluster/dev-main"


def test_the_security_group_is_the_one_that_eks_makes(made: Recording) -> None:
    assert resolved(made.outputs["security_group_id"])[0] == "sg-of-eks"


# Add-ons -----------------------------------------------------------------------------------------------------------------------


def test_network_addons_wait_for_the_cluster_and_dns_for_the_nodes(made: Recording) -> None:
    for name in ("vpc-cni", "kube-proxy", "eks-pod-identity-agent"):
        assert "main/eks/cluster" in made.needs(f"main/addons/{name}")
        assert "nodes" not in made.needs(f"main/addons/{name}")
    assert {"nodes", "main/eks/cluster"} <= made.needs("main/node-addons/coredns")


def test_addons_take_over_what_eks_has_put_there(made: Recording) -> None:
    for addon in made.of("Addon"):
        assert addon.inputs["resolveConflictsOnCreate"] == "OVERWRITE"
        assert addon.inputs["resolveConflictsOnUpdate"] == "PRESERVE"
        assert addon.inputs["preserve"] is True
        assert "serviceAccountRoleArn" not in addon.inputs
        assert set(addon.timeouts) == {"create", "update", "delete"}


def test_versions_are_pinned_where_they_are_declared() -> None:
    """The others follow Kubernetes: left to itself, an add-on would stay as it was when EKS was upgraded."""
    for kubernetes in ("1.32", "1.33"):
        pinned = "{vpc-cni: v1.20.0-eksbuild.1, coredns: v1.12.1-eksbuild.2}"
        found = run(plan_of(f'eks: {{version: "{kubernetes}", addons: {pinned}}}'))
        default = f"v{kubernetes}.0-eksbuild.1"
        assert {addon.inputs["addonName"]: addon.inputs["addonVersion"] for addon in found.of("Addon")} == {
            "vpc-cni": "v1.20.0-eksbuild.1",
            "kube-proxy": default,
            "eks-pod-identity-agent": default,
            "coredns": "v1.12.1-eksbuild.2",
        }


def test_dns_is_not_declared_where_no_nodes_come() -> None:
    found = run(plan_of(groups="h100: {instance_type: ml.p5.48xlarge, count: 0, availability_zone: us-west-2a}"))
    assert {addon.inputs["addonName"] for addon in found.of("Addon")} == {"vpc-cni", "kube-proxy", "eks-pod-identity-agent"}


def test_dns_tolerates_the_taints_of_a_cluster_that_has_no_other_nodes() -> None:
    taint = '[{key: example.com/gpu, value: "true", effect: NoSchedule}]'
    group = "{instance_type: ml.p5.48xlarge, count: 1, availability_zone: us-west-2a, taints: TAINTS}"
    found = run(plan_of(groups=f"h100: {group}".replace("TAINTS", taint)))
    settings = json.loads(found.one("main/node-addons/coredns").inputs["configurationValues"])
    assert "example.com/gpu" in [toleration["key"] for toleration in settings["tolerations"]]
    assert "configurationValues" not in run(plan_of()).one("main/node-addons/coredns").inputs


# An existing cluster -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    def install(**found: str) -> list[Any]:
        calls: list[Any] = []

        def call(_: Any, args: pulumi.runtime.MockCallArgs) -> dict[str, Any]:
            calls.append((args.token, args.args))
            return found_cluster(**found)

        monkeypatch.setattr(recording._Echo, "call", call)
        return calls

    return install


def test_of_an_existing_cluster_only_the_admins_are_made(answer: Callable[..., list[Any]]) -> None:
    calls = answer()
    found = run(plan_of(THEIRS, network=EXISTING))
    assert [token for token, _ in calls] == ["aws:eks/getCluster:getCluster"]
    assert calls[0][1] == {"name": "theirs"}
    aws_made = {registered.kind for registered in found.registered if registered.type.startswith(("aws:", "eks:"))}
    assert aws_made == {"AccessEntry", "AccessPolicyAssociation", "Topic"}
    assert found.one(found.of("AccessEntry")[0].name).inputs["clusterName"] == "theirs"
    assert resolved(found.outputs["cluster_name"])[0] == "theirs"
    assert resolved(found.outputs["arn"])[0] == f"arn:aws:eks:us-west-2:{ACCOUNT}:cluster/theirs"
    assert resolved(found.outputs["security_group_id"])[0] == "sg-of-theirs"
    text, secret = resolved(found.outputs["kubeconfig"])
    assert secret
    assert json.loads(text)["clusters"][0]["cluster"]["server"] == "https://theirs.eks.amazonaws.com"
    assert "get-token" in text


@pytest.mark.parametrize(
    ("found", "words"),
    [({"mode": "CONFIG_MAP"}, "HyperPod needs access entries"), ({"vpc": "vpc-other"}, "lies in vpc-other")],
)
def test_an_unfit_cluster_is_refused(answer: Callable[..., list[Any]], found: dict[str, str], words: str) -> None:
    answer(**found)
    with pytest.raises(pulumi.RunError, match=words):
        run(plan_of(THEIRS, network=EXISTING))
