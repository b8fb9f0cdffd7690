"""The task governance add-on of EKS."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from components.base import PlatformComponent
from components.site import CloudSite
from config.hyperpod import HyperPodCluster
from governance.model import ClusterPlan
from governance.platform.versions import ADDON, unsafe_jump

_TIMEOUTS = pulumi.CustomTimeouts(create="30m", update="30m", delete="30m")


class TaskGovernance(PlatformComponent, module="managed"):
    """The add-on at its pinned version. EKS calls it ACTIVE when its Kueue answers; that is what quotas wait for.

    Protected while there are teams: without it, AWS forgets their quotas. An update that would lose them is refused before
    anything is touched, in a preview too.
    """

    ready: list[pulumi.Resource]
    """There once the add-on is ACTIVE."""

    def __init__(
        self, name: str, cluster: ClusterPlan, cloud: CloudSite, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions
    ) -> None:
        """`after` is what must be there before: nodes that are Ready."""
        declared = cluster.declared
        assert isinstance(declared, HyperPodCluster), "the managed backend is for HyperPod clusters"  # noqa: S101
        version = declared.task_governance.version
        super().__init__(name, {"cluster": cluster.name, "version": version}, opts)
        guard = pulumi.ResourceHook(self.child_name("guard"), refuse_unsafe_jump, pulumi.ResourceHookOptions(on_dry_run=True))
        addon = aws.eks.Addon(
            self.child_name("addon"),
            addon_name=ADDON,
            addon_version=version,
            cluster_name=cloud.eks_name,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            tags=dict(cluster.platform.tags) if cluster.platform else {},
            opts=self.child_options(
                protect=bool(cluster.teams),
                depends_on=[*after],
                custom_timeouts=_TIMEOUTS,
                hooks=pulumi.ResourceHookBinding(before_update=[guard]),
            ),
        )
        self.ready = [addon]
        self.finish()


def refuse_unsafe_jump(update: pulumi.ResourceHookArgs) -> None:
    """Raises where the update goes from a version to one that can't follow it. What is installed counts, not what was asked."""
    old = _version(update.old_outputs) or _version(update.old_inputs)
    new = _version(update.new_inputs)
    if old and new and (message := unsafe_jump(old, new)):
        raise pulumi.RunError(message)


def _version(properties: Mapping[str, Any] | None) -> str | None:
    found = (properties or {}).get("addonVersion")
    return found if isinstance(found, str) else None
