"""Governance backends: who keeps the queues of a cluster. One protocol, a package for each backend."""

from typing import TYPE_CHECKING, Protocol

from governance.model import ClusterPlan

if TYPE_CHECKING:
    from components.site import Site, Worker  # rendering imports this package, and no pulumi


class GovernanceBackend(Protocol):
    """Declares the governance of one cluster, exactly as planned; of a worker, says what its manager needs."""

    def __call__(self, cluster: ClusterPlan, site: "Site") -> "Worker | None": ...


def governance_backend(name: str) -> GovernanceBackend:
    """The backend of that name. Imported here: a stack doesn't pay for the one that it doesn't use."""
    if name == "managed":
        from components.governance.managed.compose import declare_governance as managed

        return managed
    from components.governance.kueue.compose import declare_governance as kueue

    return kueue
