"""Governance backends: who keeps the queues of a cluster. One protocol, a package for each backend."""

from typing import TYPE_CHECKING, Protocol

from config.findings import ConfigError, Finding, Severity, Where
from governance.model import ClusterPlan

if TYPE_CHECKING:
    import pulumi


class GovernanceBackend(Protocol):
    """Declares the governance of one cluster, exactly as planned."""

    def __call__(self, cluster: ClusterPlan, provider: "pulumi.ProviderResource") -> None: ...


def governance_backend(name: str, where: Where) -> GovernanceBackend:
    """The backend of that name. Raises ConfigError, at `where` the declaration names it, for one that can't be composed."""
    if name == "kueue":
        from components.governance.kueue.compose import declare_governance

        return declare_governance
    message = f"the {name} backend can't be deployed by this version"
    raise ConfigError([Finding("backend-unavailable", Severity.ERROR, where, message, "use the kueue backend")])
