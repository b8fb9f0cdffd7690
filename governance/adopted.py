"""Findings on what an environment says of existing objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from config.findings import Finding, problem_at
from config.load import Platform
from governance.model import ClusterPlan
from governance.units import EFA

ByType = Mapping[str, Mapping[str, int]]


def adopted_findings(platform: Platform, cluster: ClusterPlan, nominal: Mapping[str, ByType]) -> Iterator[Finding]:
    """Flavors that name no known topology or one object for two types, and quotas of resources that no queue counts.

    `nominal` are the teams' guaranteed amounts.
    """
    yield from _flavors(platform, cluster)
    if platform.environment.governance.resources is None:
        return
    for team, amounts in nominal.items():
        # EFA interfaces follow from the accelerators: nobody asks for them.
        uncounted = {r for by_type in amounts.values() for r, n in by_type.items() if n} - {*cluster.covered, EFA}
        if uncounted:
            where = platform.where(team, ("quota",), key=True)
            message = f"team `{team}` has quota of {', '.join(sorted(uncounted))}, which governance.resources doesn't list"
            yield problem_at("resource-uncounted", where, message, "list them, or correct the quota")


def _flavors(platform: Platform, cluster: ClusterPlan) -> Iterator[Finding]:
    existing = platform.environment.governance.names
    owner: dict[str, str] = {}
    for kind, flavor in existing.flavors.items():
        path = ("governance", "names", "flavors", kind)
        if flavor.topology is not None and flavor.topology not in existing.topologies:
            where = platform.where("", (*path, "topology"))
            message = f"names.topologies says nothing of the topology `{flavor.topology}`"
            yield problem_at("flavor-topology-unknown", where, message, "give its levels there")
    for kind, planned in cluster.flavors.items():
        if planned.name in owner:
            where = platform.where("", ("governance", "names", "flavors"), key=True)
            message = f"the flavor `{planned.name}` is to stand for {owner[planned.name]} and for {kind}"
            yield problem_at("flavor-shared", where, message, "each instance type needs its own")
        owner[planned.name] = kind
