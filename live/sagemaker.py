"""Reading a HyperPod cluster's governance from SageMaker: its scheduler configuration and compute quotas, as the API answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from live.connection import UnreachableError


class Client(Protocol):
    """The part of boto3's SageMaker client that is used."""

    def describe_cluster(self, **arguments: Any) -> Mapping[str, Any]: ...
    def list_cluster_scheduler_configs(self, **arguments: Any) -> Mapping[str, Any]: ...
    def describe_cluster_scheduler_config(self, **arguments: Any) -> Mapping[str, Any]: ...
    def list_compute_quotas(self, **arguments: Any) -> Mapping[str, Any]: ...
    def describe_compute_quota(self, **arguments: Any) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Governance:
    """What SageMaker holds for one cluster, as its Describe calls answer."""

    cluster_arn: str
    scheduler: Mapping[str, Any] | None
    """DescribeClusterSchedulerConfig; None where there is none."""
    quotas: tuple[Mapping[str, Any], ...]
    """DescribeComputeQuota of each, in the order of their names."""
    others: tuple[Mapping[str, Any], ...] = ()
    """DescribeClusterSchedulerConfig of further ones; SageMaker works by one a cluster."""


def client(region: str) -> Client:
    """A client with the caller's own credentials. Raises UnreachableError where there are none, or no such region."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    try:
        found: Client = boto3.Session().client(
            "sagemaker", region_name=region, config=Config(retries={"mode": "adaptive", "max_attempts": 8})
        )
    except BotoCoreError as failure:
        raise UnreachableError(f"SageMaker in {region}: {failure}") from failure
    return found


def read_governance(source: Client, cluster: str) -> Governance:
    """All of one cluster, by name or ARN. Raises UnreachableError with AWS's own words where a call fails."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        arn = str(source.describe_cluster(ClusterName=cluster)["ClusterArn"])
        configs = _pages(source.list_cluster_scheduler_configs, "ClusterSchedulerConfigSummaries", ClusterArn=arn)
        schedulers = _described(source.describe_cluster_scheduler_config, "ClusterSchedulerConfigId", configs)
        summaries = _pages(source.list_compute_quotas, "ComputeQuotaSummaries", ClusterArn=arn)
        quotas = _described(source.describe_compute_quota, "ComputeQuotaId", summaries)
    except (BotoCoreError, ClientError) as failure:
        raise UnreachableError(f"SageMaker, cluster {cluster}: {failure}") from failure
    quotas.sort(key=lambda quota: str(quota["Name"]))
    schedulers.sort(key=lambda config: config["Status"] in ("Deleting", "Deleted"))
    return Governance(arn, schedulers[0] if schedulers else None, tuple(quotas), tuple(schedulers[1:]))


def _described(call: Any, key: str, summaries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Each in full, but those that were deleted since they were listed."""
    from botocore.exceptions import ClientError

    found: list[Mapping[str, Any]] = []
    for summary in summaries:
        try:
            found.append(call(**{key: summary[key]}))
        except ClientError as failure:
            if failure.response.get("Error", {}).get("Code") != "ResourceNotFound":
                raise
    return found


def _pages(call: Any, key: str, **arguments: Any) -> list[Mapping[str, Any]]:
    """All items of a list that comes in pages."""
    items: list[Mapping[str, Any]] = []
    token: dict[str, str] = {}
    while True:
        answer = call(**arguments, **token)
        items.extend(answer.get(key, ()))
        if not answer.get("NextToken"):
            return items
        token = {"NextToken": answer["NextToken"]}
