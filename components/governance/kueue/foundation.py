"""What the teams of a cluster stand on: topologies, flavors, cohorts, priority classes."""

from collections.abc import Sequence

import pulumi

from components.base import KubernetesObject, PlatformComponent
from components.governance.kueue.manifests import cluster as manifests
from governance.model import ClusterPlan

_TIMEOUTS = pulumi.CustomTimeouts(delete="10m")
"""Kueue's finalizers keep what a queue still names."""


class Foundation(PlatformComponent, module="kueue"):
    """Kueue's cluster-wide objects. Named after the cluster itself."""

    flavors: dict[str, KubernetesObject]
    """By the flavor's name."""
    cohorts: dict[str, KubernetesObject]
    """By the cohort's name."""
    classes: list[KubernetesObject]
    """The priority classes."""

    def __init__(self, cluster: ClusterPlan, ready: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions) -> None:
        """`ready` is what must be there before any Kueue object."""
        super().__init__(cluster.name, {"cluster": cluster.name}, opts)
        self.classes = [
            self.declare(f"class/{plan.name}", manifests.priority_class(plan), depends_on=[*ready])
            for plan in cluster.priority_classes
        ]
        self.flavors = self._flavors(cluster, ready)
        self.cohorts = self._cohorts(cluster, ready)
        self.finish()

    def _flavors(self, cluster: ClusterPlan, ready: Sequence[pulumi.Resource]) -> dict[str, KubernetesObject]:
        topologies = {
            plan.name: self.declare(
                f"topology/{plan.name}", manifests.topology(plan), depends_on=[*ready], custom_timeouts=_TIMEOUTS
            )
            for plan in cluster.topologies
        }
        return {
            plan.name: self.declare(
                # A flavor that changes is another flavor: the logical name follows the object's, so that the new one is there
                # before queues move to it, and the old one goes last.
                f"flavor/{plan.name}",
                manifests.flavor(plan),
                depends_on=[*ready, *([topologies[plan.topology.name]] if plan.topology else [])],
                custom_timeouts=_TIMEOUTS,
            )
            for plan in cluster.flavors.values()
        }

    def _cohorts(self, cluster: ClusterPlan, ready: Sequence[pulumi.Resource]) -> dict[str, KubernetesObject]:
        found: dict[str, KubernetesObject] = {}
        for plan in cluster.cohorts:
            parent = [found[plan.parent]] if plan.parent is not None else []
            found[plan.name] = self.declare(
                f"cohort/{plan.name}",
                manifests.cohort(plan, cluster.covered),
                depends_on=[*ready, *parent, *(self.flavors[quota.flavor] for quota in plan.pool)],
                custom_timeouts=_TIMEOUTS,
            )
        return found
