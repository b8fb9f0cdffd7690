"""The EKS cluster: made with secure settings, or an existing one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks

from components.base import PlatformComponent
from components.platform.roles import EksRole
from governance.platform import policies
from governance.platform.kubeconfig import existing_problem, kubeconfig
from governance.platform.model import PlatformPlan

if TYPE_CHECKING:
    from components.platform.keys import Key
    from components.platform.network import Network

_LOGS = ("api", "audit", "authenticator", "controllerManager", "scheduler")


class EksCluster(PlatformComponent, module="platform"):
    """The control plane and who administers it. Of an existing cluster nothing is made or changed but its admins.

    A protected new cluster is protected with everything that pulumi-eks makes of it, for children inherit it; EKS's own
    deletion protection holds beyond Pulumi's state.
    """

    cluster_name: pulumi.Output[str]
    arn: pulumi.Output[str]
    kubeconfig: pulumi.Output[str]
    """Secret. It holds no credentials: the AWS CLI gets a token for whoever uses it."""
    security_group_id: pulumi.Output[str]
    """The security group that EKS itself makes for the control plane's interfaces."""
    ready: list[pulumi.Resource]
    """There once the cluster is, and its admins may enter."""

    def __init__(
        self,
        name: str,
        plan: PlatformPlan,
        network: "Network",
        key: "Key",
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions,
    ) -> None:
        """`after` is there before a new cluster and goes after it: rules of security groups."""
        declared = plan.declared.eks
        shown = {"cluster": plan.cluster, "name": plan.names.eks, "version": None if declared.existing else declared.version}
        super().__init__(name, shown, opts)
        self.ready = []
        if declared.existing is None:
            self._make(plan, network, key, after)
        else:
            self._find(plan, network)
        for role in declared.admins:
            self.ready += self._admin(plan, role)
        self.finish({"clusterName": self.cluster_name, "arn": self.arn})

    def _make(self, plan: PlatformPlan, network: "Network", key: "Key", after: Sequence[pulumi.Resource]) -> None:
        declared = plan.declared.eks
        role = EksRole(self.child_name("role"), plan, self.child_options())
        logs = aws.cloudwatch.LogGroup(
            self.child_name("logs"),
            name=f"/aws/eks/{plan.names.eks}/cluster",
            retention_in_days=declared.log_days,
            kms_key_id=key.logs_arn,
            tags=dict(plan.tags),
            opts=self.child_options(protect=plan.protected),
        )
        public = list(declared.public_access_from)
        cluster = eks.Cluster(
            self.child_name("cluster"),
            name=plan.names.eks,
            version=declared.version,
            vpc_id=network.vpc_id,
            private_subnet_ids=network.control_plane_subnets,
            endpoint_private_access=True,
            endpoint_public_access=bool(public),
            public_access_cidrs=public or None,
            authentication_mode=eks.AuthenticationMode.API,
            encryption_config_key_arn=declared.secrets_key or key.arn,
            enabled_cluster_log_types=list(_LOGS),
            deletion_protection=plan.protected,
            service_role=role.role,
            tags=dict(plan.tags),
            # HyperPod brings the nodes, with a role and a security group of their own.
            skip_default_node_group=True,
            create_instance_role=False,
            skip_default_security_groups=True,
            # Add-ons are declared as resources of their own. EKS puts its copies there in the meantime, coredns too, which so
            # is there for nodes that come without a deployment of ours.
            use_default_vpc_cni=True,
            kube_proxy_addon_options=eks.KubeProxyAddonOptionsArgs(enabled=False),
            coredns_addon_options=eks.CoreDnsAddonOptionsArgs(enabled=False),
            # Given, though empty: else the shell's AWS_PROFILE would get into the state.
            provider_credential_opts=eks.KubeconfigOptionsArgs(),
            opts=self.child_options(
                protect=plan.protected,
                transforms=[_no_standing_creator],
                # Without the role's policy the cluster can't be made nor taken down. A log group that EKS finds missing it
                # makes itself, unencrypted and for ever. Routes and rules outlive the cluster, whose interfaces use them.
                depends_on=[*role.ready, logs, *network.ready, *after],
            ),
        )
        # Known before the cluster is there, so that a preview shows it; but whoever uses it waits for the cluster.
        self.cluster_name = pulumi.Output.all(plan.names.eks, cluster.urn).apply(lambda known: str(known[0]))
        self.arn = self.cluster_name.apply(lambda name: plan.arn("eks", f"cluster/{name}"))
        self.kubeconfig = pulumi.Output.secret(cluster.kubeconfig_json)
        self.security_group_id = cluster.cluster_security_group_id
        self.ready.append(cluster)

    def _find(self, plan: PlatformPlan, network: "Network") -> None:
        found = aws.eks.get_cluster_output(name=plan.names.eks, opts=pulumi.InvokeOutputOptions(parent=self))
        checked = pulumi.Output.all(found, network.vpc_id).apply(lambda both: _fit(both[0], both[1]))
        self.cluster_name = checked.apply(lambda cluster: cluster.name)
        self.arn = checked.apply(lambda cluster: cluster.arn)
        self.kubeconfig = pulumi.Output.secret(checked.apply(lambda cluster: _entry(cluster, plan.declared.region)))
        self.security_group_id = checked.apply(lambda cluster: cluster.vpc_config.cluster_security_group_id)

    def _admin(self, plan: PlatformPlan, role: str) -> list[pulumi.Resource]:
        # Not the ARN itself: its `::` parts a URN.
        account, resource = role.split(":")[4:]
        path = resource.removeprefix("role/")
        entry = aws.eks.AccessEntry(
            self.child_name(f"admin/{account}/{path}"),
            cluster_name=self.cluster_name,
            principal_arn=role,
            tags=dict(plan.tags),
            opts=self.child_options(delete_before_replace=True),
        )
        policy = aws.eks.AccessPolicyAssociation(
            self.child_name(f"admin-policy/{account}/{path}"),
            cluster_name=self.cluster_name,
            principal_arn=entry.principal_arn,
            policy_arn=policies.access_policy(plan, policies.EKS_ADMIN_POLICY),
            access_scope=aws.eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"),
            opts=self.child_options(depends_on=[entry], delete_before_replace=True),
        )
        return [entry, policy]


def _no_standing_creator(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
    """Let the cluster's creator administer it by an access entry like everybody else.

    pulumi-eks asks EKS for a hidden entry of whoever deploys first; declaring the same role among the admins would then fail, and
    nobody could see or withdraw the other.
    """
    if args.type_ != "aws:eks/cluster:Cluster":
        return None
    props: dict[str, Any] = dict(args.props)
    props["accessConfig"] = {**props.get("accessConfig", {}), "bootstrapClusterCreatorAdminPermissions": False}
    return pulumi.ResourceTransformResult(props, args.opts)


def _fit(cluster: aws.eks.GetClusterResult, vpc: str) -> aws.eks.GetClusterResult:
    """The cluster, as it was found. Raises RunError where it can't carry HyperPod."""
    modes = [config.authentication_mode for config in cluster.access_configs or ()]
    message = existing_problem(cluster.name, modes[0] if modes else "CONFIG_MAP", cluster.vpc_config.vpc_id, vpc)
    if message is not None:
        raise pulumi.RunError(message)
    return cluster


def _entry(cluster: aws.eks.GetClusterResult, region: str) -> str:
    return kubeconfig(cluster.name, cluster.endpoint, cluster.certificate_authorities[0].data, region)
