"""Rules about the EKS cluster below a HyperPod cluster."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, Example, error

_wrong = partial(error, waivable=False)
_EXISTING = (
    "network: {availability_zones: null, vpc: vpc-0123456789abcdef0, subnets: {us-west-2a: subnet-0123456789abcdef0, "
    "us-west-2b: subnet-0123456789abcdef1}}"
)


def _main(settings: str) -> Example:
    return Example(base="hyperpod", environment=f"clusters: {{main: {{{settings}}}}}")


EKS = Category(
    "eks",
    "EKS",
    "The control plane: a new one, or one that is there already, and its add-ons.",
    (
        _wrong(
            "eks-existing",
            "A setting that an existing EKS cluster doesn't take",
            "Nothing of an existing cluster is changed but its administrators: the setting would be believed in and never "
            "applied.",
            "Remove it; or remove `existing`, for a new cluster.",
            example=_main(f"{_EXISTING}, eks: {{existing: theirs, name: ours}}"),
        ),
        _wrong(
            "eks-network",
            "An existing EKS cluster in a network that is still to be made",
            "A cluster never leaves its VPC: nodes in another one can't reach it.",
            "Give `network.vpc` and `network.subnets`, those of the cluster.",
            source="EKS, VPC and subnet considerations: the VPC of a cluster can't change",
            example=_main("eks: {existing: theirs}"),
        ),
        error(
            "vpc-cni-version",
            "A network plugin that is too old for HyperPod",
            "Nodes join and never get ready; the cluster is rolled back after hours.",
            "Pin vpc-cni v1.18.3 or newer in `eks.addons`, or leave the choice to EKS.",
            source="SageMaker, Getting started with Amazon EKS support in HyperPod: VPC CNI 1.18.3 or newer",
            example=_main("eks: {addons: {vpc-cni: v1.18.2-eksbuild.1}}"),
        ),
        error(
            "kube-proxy-version",
            "A kube-proxy that doesn't fit the Kubernetes version",
            "It must not be newer than the control plane, nor more than three versions older: EKS refuses the add-on, or "
            "services stop answering on the nodes.",
            "Pin the version of kube-proxy together with `eks.version`, or leave the choice to EKS.",
            source="Kubernetes, version skew policy; EKS, Manage kube-proxy",
            example=_main("eks: {addons: {kube-proxy: v1.35.0-eksbuild.2}}"),
        ),
    ),
)
