"""The EKS cluster below a HyperPod cluster."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from config.findings import quoted
from config.network import private_block
from config.vocabulary import LogDays, Model, RoleArn, Words, problem

_SHORTEST = {4: 9, 6: 13}
"""Bits of a block by the Internet Protocol's version: a shorter one is nobody's own network."""
_VERSION = re.compile(r"1\.(?:[1-9][0-9])\Z")
_ADDON_VERSION = re.compile(r"v[0-9]+\.[0-9]+\.[0-9]+-eksbuild\.[0-9]+\Z")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}\Z")
_KEY_ARN = re.compile(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]{1,64}\Z")


def _version(value: str) -> str:
    if not _VERSION.match(value):
        raise problem("eks_version", f"{quoted(value)} is not a Kubernetes version of EKS", 'write one as "1.34"')
    return value


def _addon_version(value: str) -> str:
    if not _ADDON_VERSION.match(value):
        raise problem("addon_version", f"{quoted(value)} is not the version of an EKS add-on", "write one as v1.18.3-eksbuild.1")
    return value


def _name(value: str) -> str:
    if not _NAME.match(value):
        remedy = "1-100 letters, digits, hyphens and underscores, the first a letter or digit"
        raise problem("eks_name", f"{quoted(value)} is not the name of an EKS cluster", remedy)
    return value


def _key(value: str) -> str:
    if not _KEY_ARN.match(value):
        remedy = "arn:aws:kms:<region>:<12 digits>:key/<id>"
        raise problem("kms_key", f"{quoted(value)} is not the ARN of a KMS key", remedy)
    return value


def _public_cidr(value: str) -> str:
    try:
        network = ipaddress.ip_network(value)
    except ValueError as error:
        raise problem("cidr", f"{quoted(value)} is not an address block: {error}", "write one as 203.0.113.0/24") from None
    if network.prefixlen < _SHORTEST[network.version]:
        much = "a large part of the" if network.prefixlen else "the whole"
        raise problem("public_to_all", f"{quoted(value)} opens the API server to {much} internet", "name your own networks")
    return value


def _private_cidr(value: str) -> str:
    private_block(value)
    return value


EksVersion = Annotated[str, AfterValidator(_version)]
AddonVersion = Annotated[str, AfterValidator(_addon_version)]
"""Version of an EKS add-on, as `v1.18.3-eksbuild.1`."""
EksName = Annotated[str, AfterValidator(_name)]
KeyArn = Annotated[str, AfterValidator(_key)]
"""ARN of a KMS key."""
EksAddon = Literal["vpc-cni", "kube-proxy", "eks-pod-identity-agent", "coredns"]
ADDONS: tuple[EksAddon, ...] = ("vpc-cni", "kube-proxy", "eks-pod-identity-agent", "coredns")
"""Add-ons that every cluster gets."""


class Eks(Model):
    """The EKS cluster: made, or an existing one by name."""

    existing: EksName | None = None
    """An existing cluster's name. It needs authentication by access entries, and lies in the network's VPC; the rest of this
    section then has no effect but `admins`."""
    version: EksVersion = "1.34"
    """Kubernetes version; task governance needs 1.30 or newer."""
    name: EksName | None = None
    """Name of the new cluster; default `<environment>-<cluster>`."""
    public_access_from: Words(Annotated[str, AfterValidator(_public_cidr)]) = ()  # type: ignore[valid-type]
    """Address blocks from which the API server can be reached over the internet; default none: only from inside the VPC."""
    admins: Words(RoleArn) = ()  # type: ignore[valid-type]
    """IAM roles that administer the cluster (access entries with AmazonEKSClusterAdminPolicy). The role that deploys has to be
    among them: whoever makes the cluster gets no standing access of its own."""
    private_access_from: Words(Annotated[str, AfterValidator(_private_cidr)]) = ()  # type: ignore[valid-type]
    """Private address blocks, beside the nodes, from which the API server is reached inside the network: runners, a VPN."""
    secrets_key: KeyArn | None = None
    """KMS key for the envelope encryption of secrets; default: one is made. Once on, EKS can't switch it off."""
    log_days: LogDays = 365
    """Days that the control plane's logs are kept."""
    addons: dict[EksAddon, AddonVersion] = Field(default_factory=dict)
    """Pinned versions of add-ons; the others get EKS's default for the Kubernetes version. vpc-cni needs 1.18.3 or newer."""
