"""From the declaration to the plan, in one pass: the only place where quotas, limits and names are computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from config.catalogue import InstanceType, instance_types
from config.cluster import InstanceGroup
from config.environment import Cluster
from config.findings import Finding, by_place
from config.hyperpod import HyperPodCluster
from config.load import Platform, Project
from config.team import Team
from governance import names
from governance.adopted import adopted_findings
from governance.backends import feature_findings, limit_findings
from governance.checks import platform_findings
from governance.cluster_checks import cluster_findings
from governance.cohorts import cohort_of, cohort_plans, unowned
from governance.extra_quota import as_if_none_had_ended
from governance.flavors import FlavorPlan, adopted, flavor, order
from governance.largest_job import largest_job_findings
from governance.manager import manager_configuration
from governance.model import ClusterPlan, DispatchPlan, FlavorQuota, Plan, PriorityClassPlan, TeamPlan, cells
from governance.multikueue import dispatched, manager_and_workers, multikueue_findings, with_largest_jobs
from governance.platform.checks import build_findings, built_findings
from governance.platform.model import PlatformPlan
from governance.platform.plan import platform_plan
from governance.quotas import ByType, sum_by_type
from governance.sharing import Member, Quota, limits, potentials
from governance.team_amounts import ClusterAmounts, TeamAmounts, cluster_amounts, together
from governance.units import COVERED, PODS
from governance.waivers import set_aside


def plan(platform: Platform) -> Plan:
    """Resolve an environment. Never raises for what the declaration says: see the plan's findings."""
    findings: list[Finding] = [
        *platform.findings,
        *platform_findings(platform),
        *feature_findings(platform),
        *multikueue_findings(platform),
        *build_findings(platform),
    ]
    clusters = _clusters(platform, findings)
    running = [cluster for cluster in clusters.values() if cluster.dispatch is None]

    def lasting(name: str) -> ClusterPlan:
        return _clusters(as_if_none_had_ended(platform), [])[name]

    findings.extend(largest_job_findings(platform, running, lasting))
    return Plan(platform.name, platform.environment.governance.backend, clusters, tuple(by_place(set_aside(platform, findings))))


def review(project: Project, environment: str) -> list[Finding]:
    """Every finding on an environment in reading order: on its files, and on what those of them mean that could be read."""
    platform, findings = project.declared(environment)
    return findings if platform is None else list(plan(platform).findings)


@dataclass(frozen=True, slots=True)
class _Shared:
    """What all teams of a cluster share."""

    platform: Platform
    kinds: Mapping[str, InstanceType]
    flavors: Mapping[str, FlavorPlan]
    covered: tuple[str, ...]


def _clusters(platform: Platform, findings: list[Finding]) -> dict[str, ClusterPlan]:
    """All clusters by name. A manager shares out what its workers hold."""
    declared = dict(sorted(platform.environment.clusters.items()))
    manager, workers = manager_and_workers(platform) or (None, ())
    found = {name: cluster_amounts(name, one, platform, findings) for name, one in declared.items() if name != manager}
    plans = {name: _cluster(name, declared[name], platform, amounts, findings) for name, amounts in found.items()}
    if manager is not None:
        dispatch = dispatched(platform, workers, found)
        amounts = together({name: found[name] for name in workers})
        planned = _cluster(manager, declared[manager], platform, amounts, findings, dispatch)
        plans[manager] = with_largest_jobs(planned, [plans[name] for name in workers])
    return {name: replace(plans[name], manager_cluster=manager) if name in workers else plans[name] for name in declared}


def _cluster(
    name: str,
    declared: Cluster,
    platform: Platform,
    found: ClusterAmounts,
    findings: list[Finding],
    dispatch: DispatchPlan | None = None,
) -> ClusterPlan:
    governance, amounts, held = platform.environment.governance, found.teams, found.capacity
    shared = _shared(platform, found)
    queues = {team: _team(platform.teams[team], shared, of_team) for team, of_team in amounts.items()}
    cohorts = cohort_plans(governance, _pool(shared, held, amounts.values()))
    reach = potentials(
        [Member(c.name, c.parent, cells(c.pool)) for c in cohorts],
        [Member(t.name, t.cohort, cells(t.flavors)) for t in queues.values()],
    )
    result = ClusterPlan(
        name=name,
        declared=declared,
        policy=governance,
        groups=declared.instance_groups,
        kinds=shared.kinds,
        capacity=held,
        covered=shared.covered,
        topologies=tuple({f.topology.name: f.topology for f in shared.flavors.values() if f.topology}.values()),
        flavors=shared.flavors,
        cohorts=cohorts,
        priority_classes=_priority_classes(platform),
        teams={
            team: replace(
                queue, largest=reach[team], potential=reach[team], admission_check=dispatch.teams[team] if dispatch else None
            )
            for team, queue in queues.items()
        },
        enforce_queue_label=governance.enforce_queue_label,
        kueue=declared.kueue,
        manager=manager_configuration(governance, declared.kueue, dispatch),
        platform=_platform(platform, name, declared),
        dispatch=dispatch,
    )
    findings.extend(adopted_findings(platform, result, {team: a.nominal for team, a in amounts.items()}))
    findings.extend(cluster_findings(platform, result))
    findings.extend(limit_findings(platform, result))
    findings.extend(built_findings(platform, result))
    return result


def _platform(platform: Platform, name: str, declared: Cluster) -> PlatformPlan | None:
    """None where the network can't be divided among its zones, which is a finding already."""
    if not isinstance(declared, HyperPodCluster):
        return None
    try:
        return platform_plan(platform.name, name, declared, managed=platform.environment.governance.backend == "managed")
    except ValueError:
        return None


def _shared(platform: Platform, found: ClusterAmounts) -> _Shared:
    amounts, held = found.teams.values(), found.capacity
    groups: dict[str, list[InstanceGroup]] = {}
    for group in found.groups.values():
        groups.setdefault(group.instance_type, []).append(group)
    used = set(groups)
    resources: set[str] = {resource for of_type in held.values() for resource in of_type}
    for by_type in (by_type for team in amounts for by_type in team.listed()):
        used |= by_type.keys()
        resources |= {resource for of_type in by_type.values() for resource in of_type}
    kinds = {kind.name: kind for kind in order(instance_types()[name] for name in used)}
    governance = platform.environment.governance
    flavors = {
        name: adopted(kind, groups.get(name, ()), governance.names)
        if name in governance.names.flavors
        else flavor(kind, groups.get(name, ()), governance.topology)
        for name, kind in kinds.items()
    }
    return _Shared(platform, kinds, flavors, governance.resources or (*COVERED, *sorted(resources - set(COVERED))))


def _team(team: Team, shared: _Shared, amounts: TeamAmounts) -> TeamPlan:
    cohort = cohort_of(team, shared.platform.environment.governance)
    fair = shared.platform.environment.governance.idle_compute == "fair_share"
    covered = (*shared.covered, PODS) if team.max_pods is not None else shared.covered
    kinds = order((shared.kinds[kind] for kind in {kind for by_type in amounts.listed() for kind in by_type}), team.flavors)
    return TeamPlan(
        name=team.name,
        namespace=team.names.namespace or names.namespace(team.name),
        cluster_queue=team.names.cluster_queue or names.cluster_queue(team.name),
        local_queue=team.names.local_queue or names.local_queue(team.name),
        default_queue=team.default_queue,
        cohort=cohort,
        weight=team.weight,
        within_queue="LowerPriority" if team.preemption == "lower_priority" else "Never",
        reclaim="Any" if cohort else "Never",
        # Kueue doesn't mean priority-based borrowing to be combined with fair sharing.
        borrow_preemption="LowerPriority" if cohort and not fair else "Never",
        flavors=tuple(
            FlavorQuota(shared.flavors[kind.name].name, kind.name, _quotas(team, cohort, kind.name, covered, amounts))
            for kind in kinds
        ),
        whole=amounts.whole,
        sharing=team.sharing,
        covered=covered,
        state=team.state,
        groups=tuple(dict.fromkeys((names.group(team.name), *team.access.groups))),
        iam_roles=tuple(team.access.iam_roles),
        labels={} if team.names.unmarked else _labels(team),
        max_run_time=team.max_run_time,
        default_priority=_class_name(team.default_priority, shared.platform) if team.default_priority else None,
        marked=not team.names.unmarked,
        quota_name=team.compute_quota.name or team.name,
        quota_description=_or(team.compute_quota.description, f"Compute of team {team.name}"),
        keep=team.names.keep,
        largest={},
        potential={},
    )


def _labels(team: Team) -> dict[str, str]:
    return {
        **team.labels,
        names.MANAGED_QUEUE_LABEL: "true",
        names.QUOTA_ID_LABEL: team.name,
        names.TEAM_LABEL: team.name,
        names.STATE_LABEL: team.state,
    }


def _or(value: str | None, default: str) -> str:
    return default if value is None else value


def _quotas(team: Team, cohort: str | None, kind: str, covered: tuple[str, ...], amounts: TeamAmounts) -> tuple[Quota, ...]:
    if kind not in amounts.nominal and kind not in amounts.borrow:
        # Extra quota that has ended: not even a limit in percent, or none at all, lets the team have any.
        return tuple(Quota(resource, 0, 0, 0) if cohort else Quota(resource, 0) for resource in covered)
    nominal = amounts.nominal.get(kind, {})
    shares = {"in_cohort": cohort is not None}
    quotas = [
        limits(
            team.sharing,
            resource,
            nominal.get(resource, 0),
            **shares,
            borrow=amounts.borrow.get(kind),
            lend=amounts.lend.get(kind),
        )
        for resource in covered
        if resource != PODS
    ]
    if team.max_pods is not None:
        # A cap is the team's own: neither lent nor borrowed.
        most = team.max_pods * amounts.clusters
        quotas.append(Quota(PODS, most, 0, 0) if cohort else Quota(PODS, most))
    return tuple(quotas)


def _pool(shared: _Shared, held: ByType, amounts: Iterable[TeamAmounts]) -> tuple[FlavorQuota, ...]:
    """Capacity that no team owns, where it may be borrowed."""
    if not shared.platform.environment.governance.idle_sharing:
        return ()
    guaranteed = sum_by_type(one.nominal for one in amounts)
    return tuple(
        FlavorQuota(shared.flavors[kind].name, kind, unowned(shared.covered, held[kind], guaranteed.get(kind, {})))
        for kind in shared.kinds
        if kind in held
    )


def _priority_classes(platform: Platform) -> tuple[PriorityClassPlan, ...]:
    classes = platform.environment.governance.priority_classes
    return tuple(
        PriorityClassPlan(_class_name(name, platform), declared.weight, declared.description, name)
        for name, declared in sorted(classes.items(), key=lambda item: (-item[1].weight, item[0]))
    )


def _class_name(declared: str, platform: Platform) -> str:
    return platform.environment.governance.names.priority_classes.get(declared) or names.priority_class(declared)
