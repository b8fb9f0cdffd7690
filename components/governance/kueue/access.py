"""What members of all teams may do."""

from collections.abc import Sequence

import pulumi

from components.base import KubernetesObject, PlatformComponent
from components.governance.kueue.manifests import access as manifests
from governance.model import ClusterPlan


class SharedAccess(PlatformComponent, module="kueue"):
    """The ClusterRoles that the teams' bindings refer to, and the right to read what is cluster-wide."""

    member: KubernetesObject
    """The ClusterRole of a member in the team's namespace."""
    ready: list[pulumi.Resource]
    """What a team waits for: there once everything is that teams share, and gone before any of it."""

    def __init__(self, name: str, cluster: ClusterPlan, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions) -> None:
        """`after` is what must be there before anybody comes."""
        super().__init__(name, {"cluster": cluster.name}, opts)
        self.member = self.declare("member", manifests.member_role())
        reader = self.declare("reader", manifests.reader_role())
        self.ready = []
        if (binding := manifests.reader_binding(cluster)) is not None:
            self.ready.append(self.declare("reader-binding", binding, depends_on=[reader, self.member, *after]))
        self.finish()
