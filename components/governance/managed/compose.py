"""The managed backend of one cluster, put together."""

from components.site import Site
from governance.model import ClusterPlan


def declare_governance(cluster: ClusterPlan, site: Site) -> None:
    """The add-on, the scheduler configuration, each team's quota, and the teams' access."""
    raise NotImplementedError
