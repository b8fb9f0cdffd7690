"""Things that were there before the program ran."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fakecloud.codec import flat
from fakecloud.world import Place, Thing, handles_of

if TYPE_CHECKING:
    from fakecloud.cloud import FakeCloud

_PARTS: Final = {
    "vpc": ("ec2", "vpc/{}"),
    "subnet": ("ec2", "subnet/{}"),
    "security group": ("ec2", "security-group/{}"),
    "route table": ("ec2", "route-table/{}"),
    "key": ("kms", "key/{}"),
    "log group": ("logs", "log-group:{}"),
    "eks cluster": ("eks", "cluster/{}"),
}
_NAMED: Final = frozenset({"role", "bucket", "eks cluster", "log group", "helm release", "policy"})
_LINKS: Final = {
    "subnet": (("vpcId", "vpc"),),
    "security group": (("vpcId", "vpc"),),
    "route table": (("vpcId", "vpc"),),
    "security group rule": (("securityGroupId", "security group"), ("referencedSecurityGroupId", "security group")),
    "eks cluster": (("vpcConfig.subnetIds", "subnet"), ("vpcConfig.securityGroupIds", "security group")),
    "hyperpod cluster": (("Orchestrator.Eks.ClusterArn", "eks cluster"),),
    "eks addon": (("clusterName", "eks cluster"),),
}


def _arn(place: Place, noun: str, id_: str) -> str:
    if noun == "role":
        return place.arn("iam", f"role/{id_}", region=False)
    if noun == "bucket":
        return place.arn("s3", id_, region=False, account=False)
    service, form = _PARTS.get(noun, ("", ""))
    return place.arn(service, form.format(id_)) if service else ""


def declare(cloud: FakeCloud, noun: str, id_: str, properties: dict[str, Any]) -> Thing:
    """Add a thing that is nobody's; links to other declared things come from the usual properties."""
    found = dict(properties)
    status = str(found.pop("status", ""))
    if noun in _NAMED:
        found.setdefault("name", id_)
    if noun == "eks cluster":
        found = _cluster(cloud, id_, found)
    if noun == "key":
        found.setdefault("keyId", id_)
    arn = _arn(cloud.place, noun, id_)
    if arn:
        found.setdefault("arn", arn)
    more = [found[key] for key in ("ClusterArn", "ClusterName") if key in found]
    links = []
    for path, other in _LINKS.get(noun, ()):
        for value in flat(found, path):
            target = cloud.world.by(other, value)
            if target is None:
                raise LookupError(f"{noun} {id_}: declare the {other} {value} first")
            links.append((target, ""))
    thing = Thing(noun, "", id_, found, handles_of(id_, found, *more), dict(found), tuple(links), foreign=True, status=status)
    cloud.world.add(thing)
    return thing


def _cluster(cloud: FakeCloud, id_: str, given: dict[str, Any]) -> dict[str, Any]:
    """With all that aws.eks.getCluster gives."""
    from fakecloud.types_eks import EKS

    made = EKS["aws:eks/cluster:Cluster"].outputs(cloud.place, id_, {"accessConfig": {"authenticationMode": "API"}, **given})
    vpc = {**made["vpcConfig"], **(given.get("vpcConfig") or {})}
    vpc.setdefault("clusterSecurityGroupId", f"sg-{id_}")
    return {**given, **made, "vpcConfig": vpc, **{key: value for key, value in given.items() if key in ("arn", "endpoint")}}
