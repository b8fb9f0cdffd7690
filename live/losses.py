"""What goes when a stack is removed, in words: its resources as Pulumi's state lists them, and what runs on its clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from config.findings import Finding, Severity, Where
from live.guards import Source, running_of, shown, still_runs, unseen

Resource = Mapping[str, Any]


def running(contracts: Iterable[Mapping[str, Any]], sources: Mapping[str, Source]) -> dict[tuple[str, str], list[str]]:
    """Workloads that hold quota, by cluster and team; teams that run nothing are left out."""
    found = {
        (contract["cluster"], contract["team"]): running_of(contract["namespace"], sources[contract["cluster"]])
        for contract in contracts
        if contract["cluster"] in sources
    }
    return {key: names for key, names in found.items() if names}


def unseen_findings(contracts: Iterable[Mapping[str, Any]], sources: Mapping[str, Source]) -> Iterator[Finding]:
    """An error for every team on a cluster that doesn't answer."""
    for contract in contracts:
        if contract["cluster"] not in sources:
            yield unseen(contract["team"], contract["cluster"], Where(f"teams/{contract['team']}.yaml"))


def running_findings(found: Mapping[tuple[str, str], Sequence[str]]) -> Iterator[Finding]:
    """An error for every team that runs something: removing the stack would end it."""
    for (cluster, team), names in sorted(found.items()):
        remedy = "wait until they have ended or delete them; or lose them with --unprotect"
        yield still_runs(team, cluster, names, Where(f"teams/{team}.yaml"), remedy)


def losses(
    contracts: Iterable[Mapping[str, Any]], found: Mapping[tuple[str, str], Sequence[str]], resources: Iterable[Resource]
) -> list[str]:
    """One sentence for each team and each thing that can't be had back, teams first."""
    result = []
    for contract in contracts:
        names = found.get((contract["cluster"], contract["team"]), ())
        runs = f": {shown(names)} will be stopped" if names else ""
        result.append(
            f"team {contract['team']} on {contract['cluster']}: namespace {contract['namespace']} with all that is in it{runs}"
        )
    for resource in resources:
        tell = _LOST.get(str(resource.get("type", "")))
        if tell is not None and resource.get("custom", True) and not resource.get("delete"):
            lost = tell(resource)
            result.append(f"{lost} stays, though no longer managed" if resource.get("retainOnDelete") else lost)
    return result


def protected_finding(stack: str, resources: Iterable[Resource]) -> Iterator[Finding]:
    """An error where the state protects something: the engine would refuse when it comes to it, after other deletions."""
    number = sum(bool(resource.get("protect")) for resource in resources)
    if number:
        words = f"{number} protected resource{'s'[: number > 1]}"
        message = f"{stack} has {words}: of active teams, or of a platform with `protection: true`"
        remedy = "drain the teams, set `protection: false` and apply; or take them all the same with --unprotect"
        yield Finding("stack-protected", Severity.ERROR, Where(f"Pulumi.{stack}.yaml"), message, remedy)


def _value(resource: Resource, *names: str) -> str:
    """The first of several properties that the state knows, else the resource's id."""
    known = {**(resource.get("inputs") or {}), **(resource.get("outputs") or {})}
    return next((str(known[name]) for name in names if isinstance(known.get(name), str)), str(resource.get("id", "?")))


def _hyperpod(resource: Resource) -> str:
    groups = (resource.get("inputs") or {}).get("instanceGroups") or []
    counts = [int(group.get("instanceCount") or 0) for group in groups if isinstance(group, Mapping)]
    return f"HyperPod cluster {_value(resource, 'clusterName')}: {sum(counts)} instances, and what is on their disks"


def _named(text: str, *names: str) -> Callable[[Resource], str]:
    return lambda resource: text.format(_value(resource, *names))


_LOST: Mapping[str, Callable[[Resource], str]] = {
    "aws-native:sagemaker:Cluster": _hyperpod,
    "aws:eks/cluster:Cluster": _named("EKS cluster {} with every object on it, those of others too", "name"),
    "aws:s3/bucket:Bucket": _named("bucket {} and its objects", "bucket"),
    "aws:kms/key:Key": _named("key {}: after its waiting time, nothing that it has encrypted can be read", "arn"),
    "aws:cloudwatch/logGroup:LogGroup": _named("log group {} and its logs", "name"),
    "aws:ec2/vpc:Vpc": _named("VPC {}", "id"),
    "kubernetes:helm.sh/v3:Release": _named("Helm release {}", "name"),
}
"""What takes along more than itself: by Pulumi's type, words for it."""
