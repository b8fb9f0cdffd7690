"""What a change destroys: things that can't change in place, and things that are declared no more.

Sources: the create-only properties of AWS::SageMaker::Cluster, ComputeQuota and ClusterSchedulerConfig; Kueue's immutable fields
(LocalQueue.spec.clusterQueue, Topology.spec.levels, a ResourceFlavor with a topology); the API of EKS and EC2 for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from config.hyperpod import HyperPodCluster
from governance.model import ClusterPlan, TeamPlan
from governance.platform.model import PlatformPlan
from governance.promotion.model import Loss

_ALL_NODES = "all its instances, and what runs on them"
_ALL_OBJECTS = "all namespaces, queues and workloads on it, and the HyperPod cluster"
_DRAIN = "Kueue forgets what running jobs hold on it: drain the teams that use it first"


def losses(old: ClusterPlan, new: ClusterPlan | None, *, backend: tuple[str, str]) -> Iterator[Loss]:
    """What a cluster loses between two plans of it; `backend` is who keeps the queues, before and after."""
    if new is None or (old.platform is None) != (new.platform is None):
        yield from _cluster_gone(old, new)
        return
    if old.platform is not None and new.platform is not None:
        found = list(_platform(old.name, old.platform, new.platform))
        yield from found
        if any(loss.what.startswith(("everything", "EKS")) for loss in found):
            return  # queues and namespaces go with it, and have been told
        yield from _groups(old, new)
    if backend[0] != backend[1]:
        yield Loss(
            old.name,
            f"queues, quotas and priorities of the {backend[0]} backend",
            f"governance.backend {backend[0]} → {backend[1]}",
            "every job loses its queue, waiting ones are to be submitted again",
            again=True,
            protected=any(team.protected for team in old.teams.values()),
        )
        return
    yield from _kueue(old, new, backend[0])
    yield from _teams(old, new)


def _cluster_gone(old: ClusterPlan, new: ClusterPlan | None) -> Iterator[Loss]:
    why = "declared no more" if new is None else f"kind {old.declared.kind} → {new.declared.kind}"
    if old.platform is None:
        lost = f"namespaces and queues of {len(old.teams)} team{'s' * (len(old.teams) != 1)}"
        protected = any(team.protected for team in old.teams.values())
        yield Loss(old.name, "what is declared on the cluster", why, lost, again=False, protected=protected)
        return
    names = old.platform.names
    what = f"HyperPod cluster {names.hyperpod}, EKS cluster {names.eks} and their network"
    yield Loss(old.name, what, why, _ALL_NODES, again=False, protected=old.platform.protected)


def _platform(name: str, old: PlatformPlan, new: PlatformPlan) -> Iterator[Loss]:
    moved = _moved(("account", old.declared.account, new.declared.account), ("region", old.declared.region, new.declared.region))
    if moved:
        yield Loss(name, "everything in the account and region", moved, _ALL_NODES, again=True, protected=old.protected)
        return
    vpc = _moved(("network.vpc", old.network.vpc, new.network.vpc), ("network.cidr", old.network.cidr, new.network.cidr))
    eks = vpc or _eks(old, new)
    if eks:
        kept = old.declared.eks.existing is not None
        what = f"EKS cluster {old.names.eks}"
        lost = f"{_ALL_OBJECTS}; the EKS cluster itself is not ours and stays" if kept else _ALL_OBJECTS
        yield Loss(name, what, eks, lost, again=True, protected=old.protected)
    hyperpod = eks or _hyperpod(old, new)
    if hyperpod:
        yield Loss(name, f"HyperPod cluster {old.names.hyperpod}", hyperpod, _ALL_NODES, again=True, protected=old.protected)
    if old.names.bucket is not None and old.names.bucket != new.names.bucket:
        why = "hyperpod.lifecycle" if new.names.bucket is None else f"its name → {new.names.bucket}"
        yield Loss(
            name,
            f"bucket {old.names.bucket}",
            why,
            "its lifecycle scripts",
            again=new.names.bucket is not None,
            protected=old.protected,
        )


def _eks(old: PlatformPlan, new: PlatformPlan) -> str:
    one, other = old.declared.eks, new.declared.eks
    if old.names.eks != new.names.eks or (one.existing is None) != (other.existing is None):
        kind = ("existing " * (one.existing is not None), "existing " * (other.existing is not None))
        return f"eks {kind[0]}{old.names.eks} → {kind[1]}{new.names.eks}"
    return "" if one.existing else _moved(("eks.secrets_key", one.secrets_key, other.secrets_key))


def _hyperpod(old: PlatformPlan, new: PlatformPlan) -> str:
    """SageMaker takes no other name, VpcConfig or EKS cluster."""
    if old.names.hyperpod != new.names.hyperpod:
        return f"its name → {new.names.hyperpod}"
    if old.network.security_group != new.network.security_group:
        return _moved(("network.security_group", old.network.security_group, new.network.security_group))
    before, after = _home(old), _home(new)
    if before != after:
        return f"subnets of its VpcConfig {_listed(before)} → {_listed(after)}"
    return ""


def _home(plan: PlatformPlan) -> dict[str, str | None]:
    home = plan.network.home_zones
    return {
        zone.zone: zone.subnet or zone.nodes_cidr
        for zone in sorted(plan.network.zones, key=lambda z: z.zone)
        if zone.zone in home
    }


def _listed(subnets: dict[str, str | None]) -> str:
    return ", ".join(f"{zone} {subnet}" for zone, subnet in subnets.items()) or "none"


def _moved(*pairs: tuple[str, object, object]) -> str:
    return ", ".join(f"{name} {_word(before)} → {_word(after)}" for name, before, after in pairs if before != after)


def _word(value: object) -> str:
    return "none" if value is None else str(value)


def _groups(old: ClusterPlan, new: ClusterPlan) -> Iterator[Loss]:
    """Groups that go, or that stand elsewhere or hold another type: a group's zone and type are chosen once."""
    before, after = _all_groups(old), _all_groups(new)
    for name, (kind, zone, count) in sorted(before.items()):
        lost = f"its {count} instance{'s' * (count != 1)}, and what runs on them"
        if name not in after:
            yield Loss(old.name, f"instance group {name}", "declared no more", lost, again=False)
            continue
        why = _moved(("availability_zone", zone, after[name][1]), ("instance_type", kind, after[name][0]))
        if why:
            yield Loss(old.name, f"instance group {name}", why, lost, again=True)


def _all_groups(cluster: ClusterPlan) -> dict[str, tuple[str, str | None, int]]:
    found = {name: (group.instance_type, group.availability_zone, group.count) for name, group in cluster.groups.items()}
    if isinstance(cluster.declared, HyperPodCluster):
        restricted = cluster.declared.restricted_instance_groups
        found |= {name: (group.instance_type, group.availability_zone, group.count) for name, group in restricted.items()}
    return found


def _kueue(old: ClusterPlan, new: ClusterPlan, backend: str) -> Iterator[Loss]:
    """Objects of Kueue's that all teams share. On the managed backend they are AWS's, who may change them as it likes."""
    if backend != "kueue":
        return
    if old.kueue.install and old.kueue.namespace != new.kueue.namespace:
        why = f"kueue.namespace {old.kueue.namespace} → {new.kueue.namespace}"
        yield Loss(
            old.name, "Kueue's release", why, "its CRDs, and with them all queues and workloads", again=True, protected=True
        )
    levels = {topology.name: topology.levels for topology in new.topologies}
    for topology in old.topologies:
        if levels.get(topology.name, topology.levels) != topology.levels:
            yield Loss(old.name, f"topology {topology.name}", "its levels change", _DRAIN, again=True)
    for kind, flavor in old.flavors.items():
        other = new.flavors.get(kind)
        if other is None or other == flavor:
            continue
        if other.name != flavor.name:
            yield Loss(old.name, f"flavor {flavor.name}", f"{kind} → {other.name}", _DRAIN, again=True)
        elif flavor.topology is not None:
            yield Loss(old.name, f"flavor {flavor.name}", "a flavor with a topology can't change", _DRAIN, again=True)


def _teams(old: ClusterPlan, new: ClusterPlan) -> Iterator[Loss]:
    for name, team in old.teams.items():
        other = new.teams.get(name)
        if other is None:
            what = f"team {name}: namespace {team.namespace}, queue {team.cluster_queue}"
            yield Loss(old.name, what, "declared no more", "all that is in the namespace", again=False, protected=team.protected)
        else:
            yield from _renamed(old.name, team, other)


def _renamed(cluster: str, old: TeamPlan, new: TeamPlan) -> Iterator[Loss]:
    for what, before, after, lost in (
        ("namespace", old.namespace, new.namespace, "all that is in it: workloads, volumes claimed, secrets"),
        ("cluster queue", old.cluster_queue, new.cluster_queue, "what its workloads hold: running ones are to end first"),
        ("queue", old.local_queue, new.local_queue, "jobs that name it wait for ever, until they are submitted again"),
    ):
        if before != after:
            protected = old.protected and what != "queue"
            yield Loss(cluster, f"team {old.name}: {what} {before}", f"its name → {after}", lost, again=True, protected=protected)
