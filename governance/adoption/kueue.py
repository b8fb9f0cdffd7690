"""A whole Kueue cluster, declared: the environment and a team for each ClusterQueue."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from config.catalogue import instance_types
from config.environment import ROOT_COHORT, Topology
from governance import names
from governance.adoption.cohorts import cohorts
from governance.adoption.model import Connection, Declaration, KueueCluster, Note, Object, flavors_of, name_of, spec_of
from governance.adoption.nodes import group_name, instance_groups, known_type
from governance.adoption.team import Surroundings, team, team_names
from governance.flavors import topology_of
from governance.units import COVERED, PODS

API_VERSION = "hyperpod-platform/v1"


def declaration(
    cluster: KueueCluster, connection: Connection, environment: str, owners: Sequence[str], *, idle_sharing: bool = False
) -> Declaration:
    """What would be declared of the cluster. `idle_sharing`: take the root cohort's own quotas for capacity that no team owns."""
    types, problems = flavor_types(cluster)
    groups, notes = instance_groups(cluster.nodes)
    tree = cohorts(cluster.cohorts, cluster.cluster_queues)
    groups |= _empty_groups(cluster, types, groups, idle_sharing=idle_sharing)
    around = Surroundings(types, tree, cluster.local_queues, {name_of(one): one for one in cluster.namespaces})
    teams: dict[str, dict[str, Any]] = {}
    named = team_names(cluster.cluster_queues)
    for queue in sorted(cluster.cluster_queues, key=lambda queue: named[name_of(queue)]):
        settings, found = team(named[name_of(queue)], queue, around)
        notes += found
        teams[named[name_of(queue)]] = {"apiVersion": API_VERSION, "owners": list(owners), "only": [environment], **settings}
    classes, class_names = _classes(cluster.classes)
    governance: dict[str, Any] = {"backend": "kueue", "idle_compute": _idle_compute(cluster), "idle_sharing": idle_sharing}
    governance |= {"priority_classes": classes} if classes else {}
    governance |= tree.settings() | _resources(cluster, groups)
    root = {"root_cohort": tree.root} if tree.root not in (None, ROOT_COHORT) else {}
    adopted = {**root, **class_names, **_flavors(cluster, types)}
    governance |= {"names": adopted} if adopted else {}
    reached = {key: value for key in ("kubeconfig", "context") if (value := getattr(connection, key))}
    data = {
        "apiVersion": API_VERSION,
        "clusters": {
            connection.cluster: {"kind": "existing", **reached, "kueue": {"install": False}, "instance_groups": groups},
        },
        "governance": governance,
    }
    return Declaration(data, teams, (*problems, *notes))


def _empty_groups(
    cluster: KueueCluster, types: Mapping[str, str], groups: Mapping[str, Any], *, idle_sharing: bool
) -> dict[str, Any]:
    """Groups without nodes, for flavors that nothing else would declare: those of idle capacity, or those that no queue has."""
    held = {group["instance_type"] for group in groups.values()}
    queued = {flavor for queue in cluster.cluster_queues for flavor, _, _ in flavors_of(queue)}
    pooled = {flavor for found in cluster.cohorts for flavor, _, _ in flavors_of(found)}
    wanted = pooled if idle_sharing else {name_of(found) for found in cluster.flavors} - queued
    kinds = sorted({types[flavor] for flavor in wanted if flavor in types} - held)
    return {_empty_name(kind, groups): {"instance_type": kind, "count": 0} for kind in kinds}


def _empty_name(kind: str, taken: Mapping[str, Any]) -> str:
    name = group_name(kind)
    return name if name not in taken else f"{name}-none"


def flavor_types(cluster: KueueCluster) -> tuple[dict[str, str], list[Note]]:
    """Instance types by flavor: as told, by node label, or by name; notes on queues' flavors that have none, or share one."""
    used = {flavor for one in (*cluster.cluster_queues, *cluster.cohorts) for flavor, _, _ in flavors_of(one)}
    found: dict[str, str] = {}
    notes: list[Note] = []
    for flavor in sorted(cluster.flavors, key=name_of):
        name = name_of(flavor)
        label = (spec_of(flavor).get("nodeLabels") or {}).get(names.INSTANCE_TYPE_LABEL)
        kind = cluster.types.get(name) or known_type(label or _type_in(name))
        if kind is None:
            if name in used:
                notes.append(Note("import-type-unknown", f"ResourceFlavor {name}", "no label tells the instance type"))
        elif kind not in found.values():
            found[name] = kind
        elif name in used:
            other = next(one for one, of in found.items() if of == kind)
            notes.append(Note("import-type-twice", f"ResourceFlavor {name}", f"it stands for {kind}, as `{other}` does"))
    return found, notes


def _type_in(name: str) -> str:
    """The longest beginning of a flavor's name that is an instance type, as in `ml.p5.48xlarge-spot`."""
    parts = name.split("-")
    return next((part for end in range(len(parts), 0, -1) if known_type(part := "-".join(parts[:end]))), "")


def _classes(objects: Sequence[Object]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Priority classes, and the objects' names where they aren't derived."""
    classes: dict[str, Any] = {}
    adopted: dict[str, str] = {}
    for found in sorted(objects, key=lambda one: (-int(one["value"]), name_of(one))):
        name = re.sub(r"[^a-z0-9]+", "-", name_of(found).removesuffix("-priority")).strip("-")[:40].strip("-")
        while name in classes:
            name = f"{name[:38]}-x"
        description = {"description": found["description"]} if found.get("description") else {}
        classes[name] = {"weight": int(found["value"]), **description}
        if names.priority_class(name) != name_of(found):
            adopted[name] = name_of(found)
    return classes, {"priority_classes": adopted} if adopted else {}


def _idle_compute(cluster: KueueCluster) -> str:
    """As Kueue's configuration says; where it can't be read, as the queues' preemption does."""
    borrows = [(spec_of(queue).get("preemption") or {}).get("borrowWithinCohort") or {} for queue in cluster.cluster_queues]
    fair = cluster.fair_sharing
    if fair is None:
        fair = not any(found.get("policy", "Never") != "Never" for found in borrows)
    return "fair_share" if fair else "first_come_first_served"


def _resources(cluster: KueueCluster, groups: Mapping[str, Any]) -> dict[str, Any]:
    """The resources that most queues count, unless a declaration that says nothing means them."""
    counted = (*cluster.cluster_queues, *cluster.cohorts)
    listed = [tuple(r for r in covered if r != PODS) for one in counted for _, _, covered in flavors_of(one)]
    if not listed:
        return {}
    ((most, _),) = Counter(listed).most_common(1)
    plain = most == COVERED and not any("partitions" in group for group in groups.values())
    return {} if plain else {"resources": list(most)}


def _flavors(cluster: KueueCluster, types: Mapping[str, str]) -> dict[str, Any]:
    """Flavors whose name, labels or topology aren't derived, with the topologies that they name."""
    levels = {name_of(one): [level["nodeLabel"] for level in spec_of(one)["levels"]] for one in cluster.topologies}
    flavors = {types[name_of(one)]: _flavor(one) for one in cluster.flavors if name_of(one) in types}
    kept = {kind: found for kind, found in flavors.items() if not _is_derived(kind, found, levels)}
    named = {found["topology"]: levels[found["topology"]] for found in kept.values() if found.get("topology") in levels}
    return {key: value for key, value in (("flavors", kept), ("topologies", named)) if value}


def _flavor(flavor: Object) -> dict[str, Any]:
    spec = spec_of(flavor)
    found: dict[str, Any] = {"name": name_of(flavor)}
    labels = dict(spec.get("nodeLabels") or {})
    known = list(labels) == [names.INSTANCE_TYPE_LABEL] and labels[names.INSTANCE_TYPE_LABEL] in instance_types()
    if not known:
        found["node_labels"] = labels
    return found | ({"topology": spec["topologyName"]} if spec.get("topologyName") else {})


def _is_derived(kind: str, found: Mapping[str, Any], levels: Mapping[str, list[str]]) -> bool:
    planned = topology_of(instance_types()[kind], Topology())
    wanted = {"name": kind, "topology": planned.name} if planned else {"name": kind}
    return found == wanted and (planned is None or levels.get(planned.name) == list(planned.levels))
