"""Kueue itself, from its Helm chart."""

from collections.abc import Sequence

import pulumi
from pulumi_kubernetes.helm.v3 import Release

from components.base import PlatformComponent
from components.governance.kueue.manifests import chart
from governance.model import ClusterPlan

_TIMEOUT_SECONDS = 600


class KueueRelease(PlatformComponent, module="kueue"):
    """The controller with its CRDs and webhooks, at the pinned version.

    A Helm release rather than a rendered chart: Helm waits, rolls back, and keeps the certificates that Kueue writes at run time
    out of our diffs. Uninstalling it deletes the CRDs and with them every queue and workload; hence it is protected, and stays
    on the cluster even when it is removed from the stack.
    """

    ready: pulumi.Resource
    """Registered once the webhooks answer: what every Kueue object waits for."""

    def __init__(self, name: str, cluster: ClusterPlan, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions) -> None:
        """`after` is what must be there before: nodes for the controller to run on."""
        kueue = cluster.kueue
        super().__init__(name, {"cluster": cluster.name, "version": kueue.version}, opts)
        self.ready = Release(
            self.child_name("release"),
            name=chart.NAME,
            chart=kueue.chart,
            version=kueue.version,
            namespace=kueue.namespace,
            create_namespace=True,
            values=chart.values(cluster),
            atomic=True,
            skip_await=False,
            timeout=_TIMEOUT_SECONDS,
            opts=self.child_options(
                depends_on=[*after],
                protect=True,
                retain_on_delete=True,
                custom_timeouts=pulumi.CustomTimeouts(
                    create=f"{_TIMEOUT_SECONDS}s", update=f"{_TIMEOUT_SECONDS}s", delete=f"{_TIMEOUT_SECONDS}s"
                ),
            ),
        )
        self.finish()
