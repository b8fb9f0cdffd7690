"""The kubeconfig of an EKS cluster, and what an existing cluster must be like."""

from __future__ import annotations

import json

_NAME = "eks"
ACCESS_ENTRIES = ("API", "API_AND_CONFIG_MAP")
"""Authentication modes that HyperPod works with."""


def kubeconfig(name: str, endpoint: str, authority: str, region: str) -> str:
    """A kubeconfig as JSON that holds no credentials: whoever uses it gets a token through the AWS CLI, as who they are.

    `authority` is the cluster's certificate authority, in base64 as EKS gives it.
    """
    command = ["--region", region, "eks", "get-token", "--cluster-name", name, "--output", "json"]
    run = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": command,
        "interactiveMode": "Never",
    }
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": _NAME, "cluster": {"server": endpoint, "certificate-authority-data": authority}}],
            "users": [{"name": _NAME, "user": {"exec": run}}],
            "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME}}],
            "current-context": _NAME,
        }
    )


def existing_problem(name: str, mode: str, found_vpc: str, vpc: str) -> str | None:
    """Why the existing EKS cluster can't carry HyperPod, or None. `mode` is its authentication mode, `vpc` the network's."""
    if mode not in ACCESS_ENTRIES:
        change = f"aws eks update-cluster-config --name {name} --access-config authenticationMode=API_AND_CONFIG_MAP"
        return (
            f"EKS cluster `{name}` authenticates by {mode}, and HyperPod needs access entries: "
            f"run `{change}` (it can't be undone), then deploy again"
        )
    if found_vpc != vpc:
        return (
            f"EKS cluster `{name}` lies in {found_vpc}, and the declared network is {vpc}: "
            f"set `network.vpc` to {found_vpc} and `network.subnets` to subnets of it, or take another cluster"
        )
    return None
