"""The functions (invokes) of the package ``aws``."""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from fakecloud.calls import AwsError
from fakecloud.types_ec2 import zone_id
from fakecloud.world import Place, Thing

if TYPE_CHECKING:
    from fakecloud.cloud import FakeCloud

_BY_ID: Final = {
    "aws:ec2/getSubnet:getSubnet": ("subnet", "id"),
    "aws:ec2/getVpc:getVpc": ("vpc", "id"),
    "aws:ec2/getSecurityGroup:getSecurityGroup": ("security group", "id"),
    "aws:ec2/getRouteTable:getRouteTable": ("route table", "routeTableId"),
    "aws:vpc/getSecurityGroupRule:getSecurityGroupRule": ("security group rule", "securityGroupRuleId"),
    "aws:eks/getCluster:getCluster": ("eks cluster", "name"),
    "aws:iam/getRole:getRole": ("role", "name"),
    "aws:kms/getKey:getKey": ("key", "keyId"),
    "aws:s3/getBucket:getBucket": ("bucket", "bucket"),
}
_LISTS: Final = {
    "aws:vpc/getSecurityGroupRules:getSecurityGroupRules": ("security group rule", {"group-id": "securityGroupId"}),
    "aws:ec2/getSubnets:getSubnets": ("subnet", {"vpc-id": "vpcId", "subnet-id": "id"}),
    "aws:ec2/getSecurityGroups:getSecurityGroups": ("security group", {"vpc-id": "vpcId", "group-id": "id"}),
    "aws:ec2/getRouteTables:getRouteTables": ("route table", {"vpc-id": "vpcId"}),
}
Answer = tuple[dict[str, Any], list[tuple[str, str]]]


def invoke(cloud: FakeCloud, place: Place, token: str, args: dict[str, Any]) -> Answer:
    """The answer, or failures by argument. Raises AwsError for what is not there, or for a function that the fake lacks."""
    if token in _BY_ID:
        noun, key = _BY_ID[token]
        return _one(cloud, place, token, noun, args, key), []
    if token in _LISTS:
        noun, filters = _LISTS[token]
        found = [one.id for one in cloud.world.of(noun) if _selected(one, args, filters)]
        return {"ids": sorted(found), "filters": args.get("filters", []), "id": place.region, "region": place.region}, []
    answer = _PLAIN.get(token.rpartition(":")[2])
    if answer is None:
        raise AwsError("NotImplemented", f"the fake cloud has no function {token}")
    return answer(cloud, place, args), []


def _one(cloud: FakeCloud, place: Place, token: str, noun: str, args: dict[str, Any], key: str) -> dict[str, Any]:
    wanted = args.get(key) or args.get("id") or args.get("name")
    found = cloud.world.by(noun, str(wanted)) if wanted else None
    if found is None:
        raise AwsError("ResourceNotFoundException", f"no {noun} matches {json.dumps(args)}")
    names = result_names(token)
    answer = dict.fromkeys(names)
    answer |= {name: value for name, value in found.properties.items() if name in names}
    if noun == "security group rule":
        answer["isEgress"] = found.status == "egress"
    return {**answer, key: wanted, "id": found.id, "region": place.region, "tags": found.properties.get("tags", {})}


def _selected(thing: Thing, args: dict[str, Any], filters: dict[str, str]) -> bool:
    properties = {**thing.properties, "id": thing.id}
    for one in args.get("filters") or []:
        if one["name"].startswith("tag:"):
            value = (properties.get("tags") or {}).get(one["name"].removeprefix("tag:"))
        elif one["name"] in filters:
            value = properties.get(filters[one["name"]])
        else:
            raise AwsError("InvalidParameterValue", f"The filter {one['name']!r} is invalid")
        if value not in one["values"]:
            return False
    return True


@cache
def result_names(token: str) -> frozenset[str]:
    """The outputs that the SDK declares for a function."""
    _, module, name = token.split(":")
    found = import_module(f"pulumi_aws.{module.partition('/')[0]}")
    result = getattr(found, f"{name[0].upper()}{name[1:]}Result")
    members = vars(result).items()
    return frozenset(getattr(one.fget, "_pulumi_name", key) for key, one in members if isinstance(one, property))


# -- functions that look nothing up --------------------------------------------------------------------------------------------


def _identity(cloud: FakeCloud, place: Place, args: dict[str, Any]) -> dict[str, Any]:
    arn = place.arn("sts", "assumed-role/deployer/session", region=False)
    return {"accountId": place.account, "arn": arn, "userId": "AROAFAKE:session", "id": place.account}


def _partition(cloud: FakeCloud, place: Place, args: dict[str, Any]) -> dict[str, Any]:
    reverse = ".".join(reversed(place.suffix.split(".")))
    return {"partition": place.partition, "dnsSuffix": place.suffix, "reverseDnsPrefix": reverse, "id": place.partition}


def _region(cloud: FakeCloud, place: Place, args: dict[str, Any]) -> dict[str, Any]:
    name = args.get("region") or args.get("name") or place.region
    return {"region": name, "name": name, "id": name, "description": name, "endpoint": f"ec2.{name}.{place.suffix}"}


def _zones(cloud: FakeCloud, place: Place, args: dict[str, Any]) -> dict[str, Any]:
    names = [place.region + letter for letter in cloud.zone_letters]
    names = [name for name in names if name not in (args.get("excludeNames") or [])]
    ids = [zone_id(place, name) for name in names]
    return {**args, "names": names, "zoneIds": ids, "groupNames": [place.region], "id": place.region, "region": place.region}


def _addon_version(cloud: FakeCloud, place: Place, args: dict[str, Any]) -> dict[str, Any]:
    version = cloud.addon_versions.get(args["addonName"], "v1.0.0-eksbuild.1")
    return {**args, "version": version, "id": args["addonName"], "region": place.region}


def _policy_document(cloud: FakeCloud, place: Place, args: dict[str, Any]) -> dict[str, Any]:
    """The provider's own rendering of statements as a document."""
    statements = [_statement(one) for one in args.get("statements") or []]
    document = json.dumps({"Version": args.get("version", "2012-10-17"), "Statement": statements}, indent=2)
    return {**args, "json": document, "minifiedJson": json.dumps(json.loads(document), separators=(",", ":")), "id": "0"}


def _statement(one: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"Effect": one.get("effect", "Allow")}
    for key, name in (("sid", "Sid"), ("actions", "Action"), ("notActions", "NotAction"), ("resources", "Resource")):
        if one.get(key):
            found[name] = one[key]
    for principal in one.get("principals") or []:
        if principal["type"] == "*":
            found["Principal"] = "*"
        else:
            found.setdefault("Principal", {})[principal["type"]] = principal["identifiers"]
    for condition in one.get("conditions") or []:
        found.setdefault("Condition", {}).setdefault(condition["test"], {})[condition["variable"]] = condition["values"]
    return found


_PLAIN: Final[dict[str, Any]] = {
    "getCallerIdentity": _identity,
    "getPartition": _partition,
    "getRegion": _region,
    "getAvailabilityZones": _zones,
    "getAddonVersion": _addon_version,
    "getPolicyDocument": _policy_document,
}
