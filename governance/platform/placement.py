"""Findings on where a cluster's nodes and file systems stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from config.catalogue import instance_types
from config.findings import Finding, did_you_mean, problem_at, quoted
from config.groups import FsxLustre, FsxOpenZfs, HyperPodGroup, RestrictedGroup
from config.hyperpod import HyperPodCluster
from config.yamlsource import Layered, Path_
from governance.platform.network import network_problems

_LETTER = re.compile(r"(-[a-z]+-[0-9])?[a-z]\Z")
"""What a zone's name has after its region's: `a`, or `-lax-1a` for a local zone."""


def placement_findings(cluster: HyperPodCluster, source: Layered, path: Path_) -> Iterator[Finding]:
    """Zones of another region, groups outside of the network, file systems and EFA across zones."""
    yield from _shape(cluster, source, (*path, "network"))
    yield from _regions(cluster, source, path)
    groups: list[tuple[str, str, HyperPodGroup | RestrictedGroup]] = [
        *(("instance_groups", name, group) for name, group in cluster.instance_groups.items()),
        *(("restricted_instance_groups", name, group) for name, group in cluster.restricted_instance_groups.items()),
    ]
    zones = cluster.network.zones
    for kind, name, group in groups:
        yield from _group(name, group, zones, source, (*path, kind, name))


def _shape(cluster: HyperPodCluster, source: Layered, path: Path_) -> Iterator[Finding]:
    for place, message, remedy in network_problems(cluster.network, existing_eks=cluster.eks.existing is not None):
        yield problem_at("network-shape", source.where((*path, *place), key=True), message, remedy)


def _regions(cluster: HyperPodCluster, source: Layered, path: Path_) -> Iterator[Finding]:
    """A network stands in one region."""
    network = cluster.network
    places: list[tuple[str, Path_]] = [
        *((zone, ("availability_zones", index)) for index, zone in enumerate(network.availability_zones or ())),
        *((zone, ("node_cidrs", zone)) for zone in network.node_cidrs),
        *((zone, ("subnets", zone)) for zone in network.subnets),
    ]
    for zone, place in places:
        rest = zone.removeprefix(cluster.region)
        if rest == zone or not _LETTER.match(rest):
            where = source.where((*path, "network", *place), key=True)
            message = f"the zone {quoted(zone)} is not in the region {cluster.region}"
            yield problem_at("zone-region", where, message, f"name a zone as {cluster.region}a, or correct `region`")


def _group(
    name: str, group: HyperPodGroup | RestrictedGroup, zones: Sequence[str], source: Layered, path: Path_
) -> Iterator[Finding]:
    zone = group.availability_zone
    if zone is not None and zones and zone not in zones:
        where = source.where((*path, "availability_zone"))
        message = f"the network has no zone {quoted(zone)}"
        remedy = did_you_mean(zone, zones) or f"name one of {', '.join(zones)}"
        yield problem_at("zone-unknown", where, message, remedy)
    types = (group.instance_type, *(group.flexible_types if isinstance(group, HyperPodGroup) else ()))
    fast = next((kind for kind in types if instance_types()[kind].efa != 0), None)
    if zone is None and len(zones) > 1 and fast is not None:
        where = source.where((*path, "availability_zone"))
        message = f"{fast} has EFA, which doesn't reach across zones; the group `{name}` may stand in any of {len(zones)}"
        yield problem_at("efa-zone", where, message, f"add `availability_zone:`, one of {', '.join(zones)}")
    if isinstance(group, HyperPodGroup):
        for key, systems in (("fsx_lustre", group.fsx_lustre), ("fsx_openzfs", group.fsx_openzfs)):
            yield from _file_systems(systems, zone, zones, source, (*path, key))


def _file_systems(
    systems: Sequence[FsxLustre | FsxOpenZfs], zone: str | None, zones: Sequence[str], source: Layered, path: Path_
) -> Iterator[Finding]:
    """A file system is mounted from its own zone alone."""
    stands = zone or (zones[0] if len(zones) == 1 else None)
    for index, system in enumerate(systems):
        where = source.where((*path, index, "availability_zone"))
        if stands is None and zones:
            message = f"the file system stands in {system.availability_zone}, its group in any of {len(zones)} zones"
            yield problem_at("fsx-zone", where, message, f"give the group `availability_zone: {system.availability_zone}`")
        elif stands is not None and system.availability_zone != stands:
            message = f"the file system stands in {system.availability_zone}, its group in {stands}"
            yield problem_at("fsx-zone", where, message, f"use a file system in {stands}, or move the group")
