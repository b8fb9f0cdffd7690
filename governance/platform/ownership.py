"""Findings on what a cluster takes from elsewhere: its account, region and partition must be the cluster's own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from config.findings import Finding, problem_at, quoted
from config.hyperpod import HyperPodCluster
from config.yamlsource import Layered, Path_
from governance.platform.names import partition_of

_FSX_REGION = re.compile(r"\.fsx\.([a-z0-9-]+)\.")


def ownership_findings(cluster: HyperPodCluster, source: Layered, path: Path_) -> Iterator[Finding]:
    """ARNs of another account, region or partition, and file systems of another region."""
    for place, arn in _arns(cluster):
        yield from _arn(cluster, arn, source, (*path, *place))
    for place, name in _file_systems(cluster):
        found = _FSX_REGION.search(name)
        if found and found[1] != cluster.region:
            message = f"the file system is in {found[1]}, the cluster in {cluster.region}"
            where = source.where((*path, *place))
            yield problem_at("region-other", where, message, f"use a file system in {cluster.region}")


def _arns(cluster: HyperPodCluster) -> Iterator[tuple[Path_, str]]:
    """Every ARN that the cluster names, with its place."""
    settings: list[tuple[Path_, str | None]] = [
        (("permissions_boundary",), cluster.permissions_boundary),
        (("eks", "secrets_key"), cluster.eks.secrets_key),
        *((("eks", "admins", index), role) for index, role in enumerate(cluster.eks.admins)),
        (("hyperpod", "execution_role"), cluster.hyperpod.execution_role),
        (("hyperpod", "volume_key"), cluster.hyperpod.volume_key),
    ]
    for kind, groups in (
        ("instance_groups", cluster.instance_groups),
        ("restricted_instance_groups", cluster.restricted_instance_groups),
    ):
        for name, group in groups.items():
            settings.append(((kind, name, "training_plan"), group.training_plan))
            settings += [((kind, name, "volumes", index, "key"), volume.key) for index, volume in enumerate(group.volumes)]
    return ((place, arn) for place, arn in settings if arn is not None)


def _file_systems(cluster: HyperPodCluster) -> Iterator[tuple[Path_, str]]:
    for name, group in cluster.instance_groups.items():
        for key, systems in (("fsx_lustre", group.fsx_lustre), ("fsx_openzfs", group.fsx_openzfs)):
            for index, system in enumerate(systems):
                yield ("instance_groups", name, key, index, "dns_name"), system.dns_name


def _arn(cluster: HyperPodCluster, arn: str, source: Layered, path: Path_) -> Iterator[Finding]:
    """Regions are empty in ARNs of IAM, and the account is `aws` in those of AWS's own policies."""
    _, partition, _, region, account, _ = arn.split(":", 5)
    own = partition_of(cluster.region)[0]
    for id_, given, wanted, words in (
        ("partition-other", partition, own, "partition"),
        ("region-other", region or cluster.region, cluster.region, "region"),
        ("account-other", account if account != "aws" else cluster.account, cluster.account, "account"),
    ):
        if given != wanted:
            message = f"{quoted(arn)} is of the {words} {given}, the cluster of {wanted}"
            yield problem_at(id_, source.where(path), message, f"name one of the {words} {wanted}, or correct the cluster's")
