# ruff: noqa: N802 - method names are the protocol's
"""The package ``eks``: the remote component Cluster, made of what the real one is made of, names of children included."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import grpc
from pulumi.runtime.proto import provider_pb2

from fakecloud import sdk
from fakecloud.calls import AwsError
from fakecloud.codec import UNKNOWN, Reference, Secret, Unknown, decode, encode, has_unknown, plain
from fakecloud.provider import FakeProvider
from fakecloud.registering import Child, Registrar
from live.connection import kubeconfig_text, parse_kubeconfig

if TYPE_CHECKING:
    from fakecloud.cloud import FakeCloud

CLUSTER: Final = "eks:index:Cluster"
_LACKING: Final = ("autoMode", "fargate", "creationRoleProvider", "storageClasses", "roleMappings", "userMappings")
"""Arguments that ask for what the fake does not make."""


class EksProvider(FakeProvider):
    """Serves ``pulumi_eks.Cluster``; its children are resources of the packages ``aws`` and ``kubernetes``."""

    accepts_references = True

    def __init__(self, cloud: FakeCloud) -> None:
        super().__init__(cloud, "eks", _NoResources())

    def Construct(self, request: Any, context: Any) -> Any:
        instance, inputs = self._instance(context), decode(request.inputs)
        recorder, urn = self._cloud.recorder, f"{request.parent}::{request.name}"
        try:
            with recorder.running("construct", request.type, urn, plain(inputs), request.dryRun, context, instance.cancelled):
                return self._construct(request, inputs)
        except AwsError as error:
            context.abort(grpc.StatusCode.UNKNOWN, f"{request.type} ({request.name}): {error}")
        except grpc.RpcError as error:
            context.abort(grpc.StatusCode.UNKNOWN, f"{request.type} ({request.name}): {getattr(error, 'details', str)()}")

    def _construct(self, request: Any, inputs: dict[str, Any]) -> Any:
        if request.type != CLUSTER:
            raise AwsError("NotImplemented", f"the fake cloud has no component {request.type}")
        failures = list(sdk.check(inputs, sdk.inputs(CLUSTER)))
        if failures:
            raise AwsError("InvalidArgument", "; ".join(f"{name}: {reason}" for name, reason in failures))
        with Registrar(request) as registrar:
            outputs, urn = Builder(self._cloud, registrar, request, inputs).build()
        known = provider_pb2.ConstructResponse.PropertyDependencies
        depends = {name: known(urns=[urn]) for name in outputs}
        return provider_pb2.ConstructResponse(urn=registrar.component, state=encode(outputs), stateDependencies=depends)


class Builder:
    """Makes one cluster's children."""

    def __init__(self, cloud: FakeCloud, registrar: Registrar, request: Any, inputs: dict[str, Any]) -> None:
        self._cloud = cloud
        self._make = registrar
        self._name = request.name
        self._args = inputs
        self._needs = {name: list(one.urns) for name, one in request.inputDependencies.items()}

    def _arg(self, name: str, default: Any = None) -> Any:
        value = self._args.get(name)
        return default if value is None else value

    def _options(self, name: str) -> dict[str, Any]:
        found = self._arg(name, {})
        return found if isinstance(found, dict) else {}

    def _child(self, suffix: str, type_: str, properties: dict[str, Any], **more: Any) -> Child:
        found = {key: value for key, value in properties.items() if value is not None}
        return self._make.child(f"{self._name}-{suffix}", type_, found, **more)

    def build(self) -> tuple[dict[str, Any], str]:
        """Register everything; returns the outputs and the URN of the EKS cluster itself."""
        for name in _LACKING:
            if self._arg(name):
                raise AwsError("NotImplemented", f"the fake eks provider does not make what {name} asks for")
        if not self._arg("skipDefaultNodeGroup", False):
            raise AwsError("NotImplemented", "the fake eks provider makes no default node group: set skipDefaultNodeGroup")
        if self._arg("publicAccessCidrs") and self._arg("endpointPublicAccess") is False:
            raise AwsError("InvalidArgument", "`publicAccessCidrs` can only be set when `endpointPublicAccess` is true")
        role, role_arn = self._role()
        group = self._security_group()
        cluster = self._cluster(role_arn, group, role)
        self._addon(cluster, "kube-proxy", "kubeProxyAddonOptions", self._options("kubeProxyAddonOptions").get("enabled", True))
        provider = self._kubernetes(cluster)
        entries = self._entries(cluster)
        self._vpc_cni(cluster, entries)
        options = self._options("corednsAddonOptions")
        self._addon(
            cluster, "coredns", "corednsAddonOptions", options.get("enabled") is True or options.get("configurationValues")
        )
        oidc = self._oidc(cluster)
        return self._finish(cluster, group, role, provider, oidc), cluster.urn

    # -- children --------------------------------------------------------------------------------------------------------

    def _role(self) -> tuple[Any, Any]:
        """The cluster's role, as a reference, and its ARN."""
        given = self._arg("serviceRole")
        if given is not None:
            return given, self._arn_of(given)
        component = self._make.component_child(f"{self._name}-eksRole", "eks:index:ServiceRole")
        statement = {"Effect": "Allow", "Principal": {"Service": "eks.amazonaws.com"}, "Action": "sts:AssumeRole"}
        trust = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        tags = self._arg("tags")
        role = self._child("eksRole-role", "aws:iam/role:Role", {"assumeRolePolicy": trust, "tags": tags}, parent=component)
        policy = f"arn:{self._cloud.place.partition}:iam::aws:policy/AmazonEKSClusterPolicy"
        attached = {"policyArn": policy, "role": role.get("name")}
        attachment = self._child(
            "eksRole-4b490823", "aws:iam/rolePolicyAttachment:RolePolicyAttachment", attached, parent=component, after=[role]
        )
        self._attached = [attachment]
        return role.reference, role.get("arn")

    def _arn_of(self, reference: Any) -> Any:
        id_ = plain(reference).id if isinstance(plain(reference), Reference) else plain(reference)
        found = None if isinstance(id_, Unknown) else self._cloud.world.by("role", str(id_))
        return UNKNOWN if found is None else found.properties["arn"]

    def _security_group(self) -> Child | None:
        """The additional group of the cluster's network interfaces; with a given one, that."""
        given = plain(self._arg("clusterSecurityGroup"))
        if isinstance(given, Reference):
            return Child(given.urn, given.id, {})
        if self._arg("skipDefaultSecurityGroups", False):
            return None
        if not self._arg("vpcId"):
            raise AwsError("NotFound", "no matching EC2 VPC found: the account has no default VPC, set vpcId")
        needs = [*self._needs.get("vpcId", [])]
        properties = {
            "vpcId": self._args["vpcId"],
            "revokeRulesOnDelete": True,
            "description": "Managed by Pulumi",
            "tags": {"Name": f"{self._name}-eksClusterSecurityGroup", **(plain(self._arg("tags")) or {})},
        }
        group = self._child("eksClusterSecurityGroup", "aws:ec2/securityGroup:SecurityGroup", properties, needs=needs)
        rule = {
            "description": "Allow internet access.",
            "type": "egress",
            "fromPort": 0,
            "toPort": 0,
            "protocol": "-1",
            "cidrBlocks": ["0.0.0.0/0"],
            "securityGroupId": group.id,
        }
        self._child("eksClusterInternetEgressRule", "aws:ec2/securityGroupRule:SecurityGroupRule", rule, after=[group])
        return group

    def _subnets(self) -> Any:
        if self._arg("subnetIds") is not None:
            return self._args["subnetIds"]
        private, public = self._arg("privateSubnetIds", []), self._arg("publicSubnetIds", [])
        if isinstance(private, Unknown) or isinstance(public, Unknown):
            return UNKNOWN
        return [*plain(private), *plain(public)]

    def _cluster(self, role_arn: Any, group: Child | None, role: Any) -> Child:
        key, mode = self._arg("encryptionConfigKeyArn"), self._arg("authenticationMode")
        network = {"serviceIpv4Cidr": self._arg("kubernetesServiceIpAddressRange"), "ipFamily": self._arg("ipFamily")}
        vpc = {
            "securityGroupIds": None if group is None else [group.id],
            "subnetIds": self._subnets(),
            "endpointPrivateAccess": self._arg("endpointPrivateAccess"),
            "endpointPublicAccess": self._arg("endpointPublicAccess"),
            "publicAccessCidrs": self._arg("publicAccessCidrs"),
        }
        tags = {**(plain(self._arg("clusterTags")) or {}), **(plain(self._arg("tags")) or {})}
        properties = {
            "name": self._arg("name"),
            "roleArn": role_arn,
            "bootstrapSelfManagedAddons": self._arg("bootstrapSelfManagedAddons", True),
            "vpcConfig": _without_none(vpc),
            "version": self._arg("version"),
            "enabledClusterLogTypes": self._arg("enabledClusterLogTypes"),
            "tags": {"Name": f"{self._name}-eksCluster", **tags},
            "encryptionConfig": {"provider": {"keyArn": key}, "resources": ["secrets"]} if key else None,
            "accessConfig": {"authenticationMode": mode, "bootstrapClusterCreatorAdminPermissions": True} if mode else None,
            "kubernetesNetworkConfig": _without_none(network) or None,
            "upgradePolicy": self._arg("upgradePolicy"),
            "deletionProtection": self._arg("deletionProtection"),
        }
        needs = sorted({urn for urns in self._needs.values() for urn in urns})
        return self._child(
            "eksCluster",
            "aws:eks/cluster:Cluster",
            properties,
            needs=[*needs, *([role.urn] if isinstance(role, Reference) else [])],
            after=[*getattr(self, "_attached", []), *([group] if group is not None else [])],
            ignore=["accessConfig.bootstrapClusterCreatorAdminPermissions", "bootstrapSelfManagedAddons"],
        )

    def _addon(self, cluster: Child, addon: str, option: str, enabled: Any, **more: Any) -> Child | None:
        if not enabled:
            return None
        options = dict(self._options(option))
        values = plain(options.get("configurationValues"))
        properties = {
            "clusterName": cluster.get("name"),
            "addonName": addon,
            "preserve": True,
            "tags": self._arg("tags"),
            "resolveConflictsOnCreate": options.get("resolveConflictsOnCreate", "OVERWRITE"),
            "resolveConflictsOnUpdate": options.get("resolveConflictsOnUpdate", "OVERWRITE"),
            "addonVersion": options.get("version") or options.get("addonVersion") or self._cloud.addon_versions[addon],
            "serviceAccountRoleArn": options.get("serviceAccountRoleArn"),
            "configurationValues": json.dumps(values) if isinstance(values, dict) else values,
        }
        needs = self._needs.get(option, [])
        return self._child(addon, "aws:eks/addon:Addon", properties, after=[cluster, *more.pop("after", [])], needs=needs, **more)

    def _vpc_cni(self, cluster: Child, entries: list[Child]) -> None:
        if self._arg("useDefaultVpcCni", False):
            return
        component = self._make.component_child(f"{self._name}-vpc-cni", "eks:index:VpcCniAddon")
        self._addon(cluster, "vpc-cni", "vpcCniOptions", True, parent=component, after=entries)

    def _kubernetes(self, cluster: Child) -> Child:
        """The provider for objects in the cluster, and aws-auth where the authentication mode knows it."""
        properties = {"kubeconfig": self._kubeconfig(cluster, as_text=True)}
        provider = self._child("eks-k8s", "pulumi:providers:kubernetes", properties, after=[cluster])
        if self._arg("authenticationMode") != "API":
            metadata = {"name": "aws-auth", "namespace": "kube-system", "annotations": {"pulumi.com/patchForce": "true"}}
            found = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "immutable": False,
                "metadata": metadata,
                "data": {"mapRoles": "[]\n"},
            }
            self._child("nodeAccess", "kubernetes:core/v1:ConfigMap", found, after=[provider], provider=provider)
        return provider

    def _entries(self, cluster: Child) -> list[Child]:
        if self._arg("authenticationMode") not in ("API", "API_AND_CONFIG_MAP"):
            return []
        made = []
        for name, entry in self._options("accessEntries").items():
            found = {key: value for key, value in entry.items() if key in ("principalArn", "type", "kubernetesGroups", "tags")}
            found |= {"clusterName": cluster.get("name"), "userName": entry.get("username")}
            needs = self._needs.get("accessEntries", [])
            made.append(self._child(name, "aws:eks/accessEntry:AccessEntry", found, after=[cluster], needs=needs))
            for policy, one in (entry.get("accessPolicies") or {}).items():
                scope = {"clusterName": cluster.get("name"), "principalArn": entry["principalArn"], **one}
                type_ = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
                self._child(f"{name}-{policy}", type_, scope, after=[cluster, made[-1]], needs=needs)
        return made

    def _oidc(self, cluster: Child) -> Child | None:
        if not self._arg("createOidcProvider", False):
            return None
        properties = {"clientIdLists": ["sts.amazonaws.com"], "url": _issuer(cluster), "thumbprintLists": ["0" * 40]}
        return self._child("oidcProvider", "aws:iam/openIdConnectProvider:OpenIdConnectProvider", properties, after=[cluster])

    # -- outputs ---------------------------------------------------------------------------------------------------------

    def _kubeconfig(self, cluster: Child, *, as_text: bool) -> Any:
        """That of the cluster behind the fake; not known before the EKS cluster is."""
        if isinstance(cluster.get("endpoint"), Unknown):
            return UNKNOWN
        found = parse_kubeconfig(kubeconfig_text(self._cloud.kubeconfig)[0]) if self._cloud.kubeconfig else {}
        return Secret(json.dumps(found) if as_text else found)

    def _finish(self, cluster: Child, group: Child | None, role: Any, provider: Child, oidc: Child | None) -> dict[str, Any]:
        access = cluster.get("vpcConfig")
        own = access.get("clusterSecurityGroupId", UNKNOWN) if isinstance(access, dict) else access
        kubeconfig = self._kubeconfig(cluster, as_text=False)
        core = {
            "cluster": cluster.reference,
            "clusterIamRole": role,
            "endpoint": cluster.get("endpoint"),
            "instanceRoles": [],
            "nodeGroupOptions": {},
            "provider": provider.reference,
            "subnetIds": self._subnets(),
            "vpcId": self._arg("vpcId") or (access.get("vpcId", "") if isinstance(access, dict) else access),
            "privateSubnetIds": self._arg("privateSubnetIds"),
            "publicSubnetIds": self._arg("publicSubnetIds"),
            "clusterSecurityGroup": None if group is None else group.reference,
            "kubeconfig": kubeconfig,
            "tags": self._arg("tags"),
        }
        issuer = _issuer(cluster)
        outputs = {
            "kubeconfig": kubeconfig,
            "kubeconfigJson": self._kubeconfig(cluster, as_text=True),
            "eksCluster": cluster.reference,
            "clusterSecurityGroupId": own if group is None else group.id,
            "clusterSecurityGroup": None if group is None else group.reference,
            "clusterIngressRuleId": "",
            "nodeSecurityGroupId": "",
            "autoModeNodeRoleName": "",
            "fargateProfileId": "",
            "fargateProfileStatus": "",
            "defaultNodeGroupAsgName": "",
            "instanceRoles": [],
            "oidcIssuer": issuer if isinstance(issuer, Unknown) else str(issuer).removeprefix("https://"),
            "oidcProviderArn": "" if oidc is None else oidc.get("arn"),
            "oidcProviderUrl": issuer,
            "core": _without_none(core),
        }
        found = _without_none(outputs)
        self._make.outputs(found)
        return found


def _issuer(cluster: Child) -> Any:
    identities = cluster.get("identities")
    return UNKNOWN if has_unknown(identities) or not identities else identities[0]["oidcs"][0]["issuer"]


def _without_none(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if value is not None}


class _NoResources:
    """The package has only components, as far as the fake goes."""

    def __getattr__(self, name: str) -> Any:
        def refuse(*args: Any, **options: Any) -> Any:
            raise AwsError("NotImplemented", "the fake eks provider has no resources of its own")

        return refuse
