"""Every field of a team and of an environment, with its effect on the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args, get_origin

import pytest
from declarations import ENVIRONMENT, alpha, cluster, environment, planned, team
from pydantic import BaseModel

from config.cluster import ExistingCluster
from config.environment import Environment
from config.errors import _plain
from config.findings import Severity
from config.hyperpod import HyperPodCluster
from config.team import Team
from governance.model import ClusterPlan, FlavorQuota, TeamPlan
from governance.nodes import nodes
from governance.units import CPU, EFA, GPU, MEMORY, PODS

QUOTA = "quota: {ml.p5.48xlarge: {accelerators: 8}}\n"
EXTRA = "extra_quota: {paper: {quota: {ml.p5.48xlarge: {accelerators: 3}}, reason: a paper is due, "
DEPARTMENTS = ENVIRONMENT + "  departments:\n    research: {weight: 3}\n    vision: {weight: 2, parent: research}\n"


def gpu(plan: TeamPlan, kind: str = "ml.p5.48xlarge") -> tuple[int, int | None, int | None]:
    return cell(plan, GPU, kind)


def cell(plan: TeamPlan, resource: str, kind: str = "ml.p5.48xlarge") -> tuple[int, int | None, int | None]:
    (flavor,) = [flavor for flavor in plan.flavors if flavor.instance_type == kind]
    (quota,) = [quota for quota in flavor.quotas if quota.resource == resource]
    return quota.nominal, quota.borrowing_limit, quota.lending_limit


def kinds(plan: TeamPlan) -> list[str]:
    return [flavor.instance_type for flavor in plan.flavors]


TEAM_FIELDS: list[tuple[str, str, str, Callable[[TeamPlan], Any], Any]] = [
    # field, declaration, environment, what is looked at, what it is
    ("name", QUOTA, ENVIRONMENT, lambda t: (t.name, t.namespace), ("alpha", "hyperpod-ns-alpha")),
    ("name", QUOTA, ENVIRONMENT, lambda t: t.cluster_queue, "hyperpod-ns-alpha-clusterqueue"),
    ("name", QUOTA, ENVIRONMENT, lambda t: t.local_queue, "hyperpod-ns-alpha-localqueue"),
    ("quota.instances", "quota: {ml.p5.48xlarge: {instances: 2}}\n", ENVIRONMENT, lambda t: cell(t, EFA)[0], 64),
    (
        "quota.accelerators",
        QUOTA,
        ENVIRONMENT,
        lambda t: [cell(t, r)[0] for r in (CPU, MEMORY, GPU, EFA)],
        [192_000, 2 << 20, 8, 32],
    ),
    ("quota.vcpu", "quota: {ml.m5.4xlarge: {vcpu: 8}}\n", ENVIRONMENT, lambda t: cell(t, CPU, "ml.m5.4xlarge")[0], 8000),
    (
        "quota.memory_gib",
        "quota: {ml.m5.4xlarge: {memory_gib: 8}}\n",
        ENVIRONMENT,
        lambda t: cell(t, MEMORY, "ml.m5.4xlarge")[0],
        8192,
    ),
    (
        "quota.partitions",
        "quota: {ml.p5.48xlarge: {partitions: {mig-1g.10gb: 4}}}\n",
        ENVIRONMENT,
        lambda t: (cell(t, "nvidia.com/mig-1g.10gb")[0], gpu(t)[0], t.covered[-1]),
        (4, 0, "nvidia.com/mig-1g.10gb"),
    ),
    ("quota (family)", "quota: {g6: {accelerators: 4}}\n", ENVIRONMENT, lambda t: gpu(t, "ml.g6.12xlarge")[0], 4),
    (
        "quota (kind)",
        "quota: {nvidia: {accelerators: 80}}\n",
        ENVIRONMENT,
        lambda t: (gpu(t)[0], gpu(t, "ml.g6.12xlarge")[0]),
        (64, 16),
    ),
    (
        "quota (type and family)",
        "quota: {g6: {accelerators: 4}, ml.g6.12xlarge: {accelerators: 1}}\n",
        ENVIRONMENT,
        lambda t: gpu(t, "ml.g6.12xlarge")[0],
        5,
    ),
    (
        "cluster_quota",
        QUOTA + "cluster_quota: {main: {ml.p5.48xlarge: {accelerators: 3}}}\n",
        ENVIRONMENT,
        lambda t: gpu(t)[0],
        3,
    ),
    ("extra_quota.quota", QUOTA + EXTRA + "until: 2999-01-01}}\n", ENVIRONMENT, lambda t: (gpu(t)[0], cell(t, EFA)[0]), (11, 44)),
    ("extra_quota.until", QUOTA + EXTRA + "until: 2020-01-01}}\n", ENVIRONMENT, lambda t: gpu(t)[0], 8),
    ("largest_job", QUOTA + "largest_job: {ml.p5.48xlarge: {accelerators: 99}}\n", ENVIRONMENT, gpu, (8, 4, None)),
    ("weight", QUOTA + "weight: 7\n", ENVIRONMENT, lambda t: t.weight, 7),
    ("weight (default)", QUOTA, ENVIRONMENT, lambda t: t.weight, 0),
    ("sharing (default)", QUOTA, ENVIRONMENT, lambda t: (t.cohort, t.reclaim, gpu(t)), ("hyperpod", "Any", (8, 4, None))),
    (
        "sharing.strategy",
        QUOTA + "sharing: lend\n",
        ENVIRONMENT,
        lambda t: (t.cohort, t.reclaim, gpu(t)),
        ("hyperpod", "Any", (8, 0, None)),
    ),
    (
        "sharing.strategy",
        QUOTA + "sharing: dont_lend\n",
        ENVIRONMENT,
        lambda t: (t.cohort, t.reclaim, t.borrow_preemption, gpu(t)),
        (None, "Never", "Never", (8, None, None)),
    ),
    (
        "sharing.strategy (department)",
        QUOTA + "sharing: dont_lend\ndepartment: research\n",
        DEPARTMENTS,
        lambda t: (t.cohort, gpu(t)),
        ("research", (8, 0, 0)),
    ),
    ("sharing.borrow_limit", QUOTA + "sharing: {borrow_limit: 25}\n", ENVIRONMENT, gpu, (8, 2, None)),
    ("sharing.borrow_limit", QUOTA + "sharing: {borrow_limit: 0}\n", ENVIRONMENT, gpu, (8, 0, None)),
    ("sharing.borrow_limit", QUOTA + "sharing: {borrow_limit: 300}\n", ENVIRONMENT, gpu, (8, 24, None)),
    ("sharing.borrow", QUOTA + "sharing: {borrow: {ml.p5.48xlarge: {accelerators: 3}}}\n", ENVIRONMENT, gpu, (8, 3, None)),
    (
        "sharing.borrow",
        QUOTA + "sharing: {borrow: {ml.p5.48xlarge: {accelerators: 2}}}\n",
        ENVIRONMENT,
        lambda t: (cell(t, CPU)[1], cell(t, EFA)[1]),
        (48_000, 8),
    ),
    (
        "sharing.borrow (without quota)",
        QUOTA + "sharing: {borrow: {ml.g6.12xlarge: {accelerators: 2}}}\n",
        ENVIRONMENT,
        lambda t: (gpu(t, "ml.g6.12xlarge"), gpu(t)),
        ((0, 2, None), (8, 0, None)),
    ),
    ("sharing.borrow_unlimited", QUOTA + "sharing: {borrow_unlimited: true}\n", ENVIRONMENT, gpu, (8, None, None)),
    ("sharing.lend_limit", QUOTA + "sharing: {lend_limit: 25}\n", ENVIRONMENT, gpu, (8, 4, 2)),
    ("sharing.lend_limit", QUOTA + "sharing: {strategy: lend, lend_limit: 100}\n", ENVIRONMENT, gpu, (8, 0, None)),
    ("sharing.lend", QUOTA + "sharing: {lend: {ml.p5.48xlarge: {accelerators: 6}}}\n", ENVIRONMENT, gpu, (8, 4, 6)),
    ("preemption", QUOTA, ENVIRONMENT, lambda t: t.within_queue, "LowerPriority"),
    ("preemption", QUOTA + "preemption: never\n", ENVIRONMENT, lambda t: t.within_queue, "Never"),
    ("default_priority", QUOTA + "default_priority: training\n", ENVIRONMENT, lambda t: t.default_priority, "training-priority"),
    ("default_priority", QUOTA, ENVIRONMENT, lambda t: t.default_priority, None),
    (
        "access.iam_roles",
        QUOTA + "access: {iam_roles: ['arn:aws:iam::123456789012:role/alpha']}\n",
        ENVIRONMENT,
        lambda t: t.iam_roles,
        ("arn:aws:iam::123456789012:role/alpha",),
    ),
    (
        "access.groups",
        QUOTA + "access: {groups: [people, hyperpod-ns-alpha-namespace-level-group]}\n",
        ENVIRONMENT,
        lambda t: t.groups,
        ("hyperpod-ns-alpha-namespace-level-group", "people"),
    ),
    (
        "state",
        QUOTA,
        ENVIRONMENT,
        lambda t: (t.stop_policy, t.protected, t.labels["hyperpod-platform/state"]),
        ("None", True, "active"),
    ),
    (
        "state",
        QUOTA + "state: held\n",
        ENVIRONMENT,
        lambda t: (t.stop_policy, t.protected, t.labels["hyperpod-platform/state"]),
        ("Hold", True, "held"),
    ),
    (
        "state",
        QUOTA + "state: draining\n",
        ENVIRONMENT,
        lambda t: (t.stop_policy, t.protected, t.labels["hyperpod-platform/state"]),
        ("HoldAndDrain", False, "draining"),
    ),
    (
        "labels",
        QUOTA + "labels: {tier: gold}\n",
        ENVIRONMENT,
        lambda t: t.labels,
        {
            "tier": "gold",
            "sagemaker.amazonaws.com/sagemaker-managed-queue": "true",
            "sagemaker.amazonaws.com/quota-allocation-id": "alpha",
            "hyperpod-platform/team": "alpha",
            "hyperpod-platform/state": "active",
        },
    ),
    ("department", QUOTA + "department: vision\n", DEPARTMENTS, lambda t: t.cohort, "vision"),
    (
        "names",
        QUOTA + "names: {namespace: ours, cluster_queue: our.queue, local_queue: jobs}\n",
        ENVIRONMENT,
        lambda t: (t.namespace, t.cluster_queue, t.local_queue),
        ("ours", "our.queue", "jobs"),
    ),
    (
        "names (one alone)",
        QUOTA + "names: {namespace: ours}\n",
        ENVIRONMENT,
        lambda t: (t.namespace, t.cluster_queue, t.local_queue),
        ("ours", "hyperpod-ns-alpha-clusterqueue", "hyperpod-ns-alpha-localqueue"),
    ),
    (
        "names.unmarked",
        QUOTA + "names: {unmarked: true}\nlabels: {tier: gold}\n",
        ENVIRONMENT,
        lambda t: (t.marked, t.labels),
        (False, {}),
    ),
    ("compute_quota.name", QUOTA + "compute_quota: {name: Alpha-Quota}\n", ENVIRONMENT, lambda t: t.quota_name, "Alpha-Quota"),
    ("compute_quota.name", QUOTA, ENVIRONMENT, lambda t: (t.quota_name, t.quota_description), ("alpha", "Compute of team alpha")),
    (
        "compute_quota.description",
        QUOTA + "compute_quota: {description: By hand}\n",
        ENVIRONMENT,
        lambda t: (t.quota_name, t.quota_description),
        ("alpha", "By hand"),
    ),
    ("names.keep", QUOTA + "names: {keep: [fair_sharing]}\n", ENVIRONMENT, lambda t: t.keep, ("fair_sharing",)),
    ("default_queue", QUOTA + "default_queue: true\n", ENVIRONMENT, lambda t: t.default_queue, True),
    ("max_pods", QUOTA + "max_pods: 5\n", ENVIRONMENT, lambda t: (cell(t, PODS), t.covered[-1]), ((5, 0, 0), PODS)),
    ("max_pods (alone)", QUOTA + "max_pods: 5\nsharing: dont_lend\n", ENVIRONMENT, lambda t: cell(t, PODS), (5, None, None)),
    (
        "flavors",
        "quota: {ml.m5.4xlarge: {instances: 1}, ml.g6.12xlarge: {instances: 1}, ml.p5.48xlarge: {instances: 1}}\n",
        ENVIRONMENT,
        kinds,
        ["ml.m5.4xlarge", "ml.g6.12xlarge", "ml.p5.48xlarge"],
    ),
    (
        "flavors",
        (
            "quota: {ml.m5.4xlarge: {instances: 1}, ml.g6.12xlarge: {instances: 1}, ml.p5.48xlarge: {instances: 1}}\n"
            "flavors: [ml.p5.48xlarge]\n"
        ),
        ENVIRONMENT,
        kinds,
        ["ml.p5.48xlarge", "ml.m5.4xlarge", "ml.g6.12xlarge"],
    ),
    ("max_run_time", QUOTA + "max_run_time: 1d12h\n", ENVIRONMENT, lambda t: t.max_run_time, 129_600),
]
NOT_IN_THE_PLAN = {"apiVersion", "owners", "description", "extra_quota.reason"}
"""Fields for people and for reviews: nothing that is deployed depends on them."""
WAIVERS = {"waivers", "waivers.reason", "waivers.until"}
"""They change what findings refuse: test_waivers has their tests."""


@pytest.mark.parametrize(
    ("field", "text", "env", "look", "expected"), TEAM_FIELDS, ids=[f"{n}-{case[0]}" for n, case in enumerate(TEAM_FIELDS)]
)
def test_a_field_of_a_team(field: str, text: str, env: str, look: Callable[[TeamPlan], Any], expected: Any) -> None:
    assert look(alpha(text, env)) == expected


def test_fields_for_people_change_nothing() -> None:
    plain = planned({"alpha": team(QUOTA)})
    described = planned({"alpha": team(QUOTA + "description: Trains.\n").replace("owner@", "another@")})
    assert described == plain


def test_clusters_limit_where_a_team_works() -> None:
    env = environment("", "a: {instance_type: ml.p5.48xlarge, count: 1}") + (
        "  second: {kind: existing, instance_groups: {b: {instance_type: ml.p5.48xlarge, count: 1}}}\n"
    )
    plan = planned({"alpha": team(QUOTA + "clusters: [second]\n"), "beta": team(QUOTA)}, env)
    assert {name: list(found.teams) for name, found in plan.clusters.items()} == {"main": ["beta"], "second": ["alpha", "beta"]}


def test_only_and_environments_are_applied_before_the_plan() -> None:
    plan = planned({"alpha": team(QUOTA + "environments: {dev: {weight: 3}}\n"), "beta": team(QUOTA + "only: [dev]\n")})
    assert [(found.name, found.weight) for found in plan.clusters["main"].teams.values()] == [("alpha", 3), ("beta", 0)]


GROUP = "g: {instance_type: ml.p5.48xlarge, count: 2, %s}"


def group(text: str) -> str:
    return environment("", GROUP % text)


ENVIRONMENT_FIELDS: list[tuple[str, str, Callable[[ClusterPlan], Any], Any]] = [
    ("clusters.sandbox", environment(settings="sandbox: true\nkueue: {install: false}"), lambda c: c.declared.sandbox, True),
    (
        "clusters.kubeconfig",
        environment(settings="kubeconfig: ~/.kube/config"),
        lambda c: c.declared.kubeconfig,
        "~/.kube/config",
    ),
    (
        "governance.multi_kueue.*",
        environment(
            "  other: {kind: existing, instance_groups: {}}\n"
            "governance:\n  multi_kueue: {manager: main, workers: [other], dispatcher: incremental, frameworks: [pod],"
            " gc_interval: 1m, worker_lost_timeout: 2m, origin: ours}\n"
        ),
        lambda c: (c.manager["multiKueue"], c.manager["integrations"]["frameworks"], c.dispatch and c.dispatch.workers),
        (
            {
                "gcInterval": "60s",
                "origin": "ours",
                "workerLostTimeout": "120s",
                "dispatcherName": "kueue.x-k8s.io/multikueue-dispatcher-incremental",
            },
            ["pod"],
            ("other",),
        ),
    ),
    ("clusters.context", environment(settings="context: east"), lambda c: c.declared.context, "east"),
    ("instance_groups.instance_type", environment(""), lambda c: list(c.capacity), ["ml.p5.48xlarge"]),
    ("instance_groups.count", environment(""), lambda c: c.capacity["ml.p5.48xlarge"][GPU], 64),
    ("instance_groups.count", environment("", GROUP % ""), lambda c: len(nodes(c)), 2),
    (
        "instance_groups.availability_zone",
        group("availability_zone: us-east-1a"),
        lambda c: nodes(c)[0].labels["topology.kubernetes.io/zone"],
        "us-east-1a",
    ),
    ("instance_groups.labels", group("labels: {pool: fast}"), lambda c: nodes(c)[0].labels["pool"], "fast"),
    (
        "instance_groups.taints",
        group("taints: [{key: dedicated, value: ml, effect: NoSchedule}]"),
        lambda c: [(t.key, t.value, t.effect) for t in c.flavors["ml.p5.48xlarge"].tolerations],
        [("dedicated", "ml", "NoSchedule")],
    ),
    (
        "instance_groups.taints (preferred)",
        group("taints: [{key: dedicated, effect: PreferNoSchedule}]"),
        lambda c: (c.flavors["ml.p5.48xlarge"].tolerations, len(nodes(c)[0].taints)),
        ((), 1),
    ),
    (
        "instance_groups.partitions",
        group("partitions: {mig-1g.10gb: 14}"),
        lambda c: (c.capacity["ml.p5.48xlarge"]["nvidia.com/mig-1g.10gb"], c.capacity["ml.p5.48xlarge"][GPU]),
        (28, 12),
    ),
    (
        "instance_groups.network",
        group("network: {nodes_per_block: 1}"),
        lambda c: len({n.labels["topology.k8s.aws/network-node-layer-3"] for n in nodes(c)}),
        2,
    ),
    ("kueue.install", environment(settings="kueue: {install: false}"), lambda c: c.kueue.install, False),
    ("kueue.chart", environment(settings="kueue: {chart: ./chart}"), lambda c: c.kueue.chart, "./chart"),
    ("kueue.namespace", environment(settings="kueue: {namespace: queues}"), lambda c: c.kueue.namespace, "queues"),
    ("kueue.replicas", environment(settings="kueue: {replicas: 2}"), lambda c: c.kueue.replicas, 2),
    ("kueue.version", environment(settings="kueue: {version: 0.16.6}"), lambda c: c.kueue.version, "0.16.6"),
    (
        "kueue.frameworks",
        environment(settings="kueue: {frameworks: [batch/job, pod]}"),
        lambda c: c.manager["integrations"],
        {"frameworks": ["batch/job", "pod"]},
    ),
    (
        "kueue.external_frameworks",
        environment(settings="kueue: {external_frameworks: [HyperPodPytorchJob.v1.sagemaker.amazonaws.com]}"),
        lambda c: c.manager["integrations"]["externalFrameworks"],
        ["HyperPodPytorchJob.v1.sagemaker.amazonaws.com"],
    ),
    (
        "kueue.feature_gates",
        environment(settings="kueue: {feature_gates: {TASProfileMixed: false, LocalQueueMetrics: true}}"),
        lambda c: list(c.manager["featureGates"].items()),
        [("LocalQueueMetrics", True), ("TASProfileMixed", False)],
    ),
    (
        "kueue.exclude_resources",
        environment(settings="kueue: {exclude_resources: [x.com/]}"),
        lambda c: c.manager["resources"],
        {"excludeResourcePrefixes": ["x.com/"]},
    ),
    (
        "kueue.exclude_resources (none)",
        environment(settings="kueue: {exclude_resources: []}"),
        lambda c: "resources" in c.manager,
        False,
    ),
    (
        "kueue.client_qps and client_burst",
        environment(settings="kueue: {client_qps: 7, client_burst: 9}"),
        lambda c: c.manager["clientConnection"],
        {"qps": 7, "burst": 9},
    ),
    (
        "governance.priority_classes",
        environment("governance: {priority_classes: {low: {weight: 1}, top: {weight: 9, description: First}}}\n"),
        lambda c: [(p.name, p.value, p.description) for p in c.priority_classes],
        [("top-priority", 9, "First"), ("low-priority", 1, "")],
    ),
    (
        "governance.task_ranking",
        environment("governance: {task_ranking: first_come_first_served}\n"),
        lambda c: c.priority_classes,
        (),
    ),
    (
        "governance.idle_compute",
        environment("governance: {idle_compute: fair_share}\n"),
        lambda c: (c.manager["fairSharing"], c.teams["alpha"].borrow_preemption),
        ({"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}, "Never"),
    ),
    (
        "governance.idle_compute",
        environment("governance: {idle_compute: first_come_first_served}\n"),
        lambda c: ("fairSharing" in c.manager, c.teams["alpha"].borrow_preemption),
        (False, "LowerPriority"),
    ),
    ("governance.idle_sharing", environment("governance: {idle_sharing: false}\n"), lambda c: c.cohorts[0].pool, ()),
    (
        "governance.idle_sharing",
        environment("governance: {idle_sharing: true}\n"),
        lambda c: {q.resource: q.nominal for q in c.cohorts[0].pool[0].quotas},
        {CPU: 7 * 192_000, MEMORY: 7 << 21, GPU: 56, "aws.amazon.com/neurondevice": 0, EFA: 224},
    ),
    (
        "governance.enforce_queue_label",
        environment("governance: {enforce_queue_label: false}\n"),
        lambda c: c.enforce_queue_label,
        False,
    ),
    (
        "governance.topology.enabled",
        environment("governance: {topology: {enabled: false}}\n"),
        lambda c: (c.topologies, c.flavors["ml.p5.48xlarge"].topology),
        ((), None),
    ),
    (
        "governance.topology.levels",
        environment("governance: {topology: {levels: [rack, kubernetes.io/hostname]}}\n"),
        lambda c: [t.levels for t in c.topologies],
        [("rack", "kubernetes.io/hostname")],
    ),
    ("governance.gang", environment("governance: {gang: {}}\n"), lambda c: c.manager["waitForPodsReady"]["timeout"], "300s"),
    ("governance.gang", environment(""), lambda c: "waitForPodsReady" in c.manager, False),
    (
        "governance.gang.*",
        environment(
            "governance:\n  gang: {timeout: 1m, recovery_timeout: 2m, block_admission: true,"
            " requeue_from: creation, backoff_base: 3s, backoff_max: 4s, backoff_limit: 5}\n"
        ),
        lambda c: c.manager["waitForPodsReady"],
        {
            "timeout": "60s",
            "recoveryTimeout": "120s",
            "blockAdmission": True,
            "requeuingStrategy": {
                "timestamp": "Creation",
                "backoffBaseSeconds": 3,
                "backoffMaxSeconds": 4,
                "backoffLimitCount": 5,
            },
        },
    ),
    (
        "governance.departments",
        DEPARTMENTS,
        lambda c: [(found.name, found.parent, found.weight) for found in c.cohorts],
        [("hyperpod", None, None), ("research", "hyperpod", 3), ("vision", "research", 2)],
    ),
    (
        "governance.departments.alone",
        environment("governance: {departments: {research: {}, others: {alone: true}}}\n"),
        lambda c: [(found.name, found.parent, found.weight) for found in c.cohorts],
        [("hyperpod", None, None), ("others", None, None), ("research", "hyperpod", 1)],
    ),
    (
        "governance.resources",
        environment("governance: {resources: [nvidia.com/gpu]}\n"),
        lambda c: c.covered,
        ("nvidia.com/gpu",),
    ),
    (
        "governance.names.root_cohort",
        environment("governance: {names: {root_cohort: all.teams}}\n"),
        lambda c: (c.cohorts[0].name, c.teams["alpha"].cohort),
        ("all.teams", "all.teams"),
    ),
    (
        "governance.names.priority_classes",
        environment("governance: {priority_classes: {top: {weight: 9}}, names: {priority_classes: {top: first}}}\n"),
        lambda c: [(p.name, p.value, p.declared) for p in c.priority_classes],
        [("first", 9, "top")],
    ),
    (
        "governance.names.flavors",
        environment(
            "governance: {names: {topologies: {racks: [rack]}, flavors: {ml.p5.48xlarge: "
            "{name: h100, node_labels: {gpu: h100}, topology: racks}}}}\n"
        ),
        lambda c: (c.flavors["ml.p5.48xlarge"].name, c.flavors["ml.p5.48xlarge"].node_labels, c.topologies[0].levels),
        ("h100", {"gpu": "h100"}, ("rack",)),
    ),
    (
        "governance.names.topologies",
        environment("governance: {names: {flavors: {ml.p5.48xlarge: {name: h100}}}}\n"),
        lambda c: (c.flavors["ml.p5.48xlarge"].node_labels, c.topologies),
        ({"node.kubernetes.io/instance-type": "ml.p5.48xlarge"}, ()),
    ),
    ("teams.select", environment("teams: {select: {tier: gold}}\n"), lambda c: list(c.teams), ["golden"]),
]


@pytest.mark.parametrize(
    ("field", "env", "look", "expected"), ENVIRONMENT_FIELDS, ids=[f"{n}-{case[0]}" for n, case in enumerate(ENVIRONMENT_FIELDS)]
)
def test_a_field_of_an_environment(field: str, env: str, look: Callable[[ClusterPlan], Any], expected: Any) -> None:
    teams = {"alpha": team(QUOTA), "golden": team("labels: {tier: gold}\n")}
    assert look(cluster(teams, env)) == expected


@pytest.mark.parametrize(("overcommit", "severity"), [("allow", None), ("warn", Severity.WARNING), ("forbid", Severity.ERROR)])
def test_overcommit(overcommit: str, severity: Severity | None) -> None:
    env = environment(f"governance: {{overcommit: {overcommit}}}\n")
    plan = planned({"alpha": team("quota: {ml.p5.48xlarge: {instances: 9}}\n")}, env)
    assert [f.severity for f in plan.findings if f.id == "overcommit"] == ([severity] if severity else [])
    assert plan.clusters["main"].teams["alpha"].flavors[0].nominal()[GPU] == 72


def test_the_backend_is_part_of_the_plan() -> None:
    assert planned({}, environment("governance: {backend: kueue}\n")).backend == "kueue"


def fields_of(model: type[BaseModel]) -> Iterator[str]:
    """All fields of a model and of the models in them, dotted."""
    for name, found in model.model_fields.items():
        yield name
        for option in _plain(found.annotation):
            inner = list(_plain(get_args(option)[-1])) if get_origin(option) is dict else [option]
            for one in inner:
                item = get_args(one)[0] if get_origin(one) is tuple else one
                if isinstance(item, type) and issubclass(item, BaseModel):
                    yield from (f"{name}.{child}" for child in fields_of(item))


def covered(name: str, cases: set[str]) -> bool:
    """Whether a case of the field, or of the fields in it, is there."""
    return any(case == name or case.startswith((f"{name}.", f"{name} ")) for case in cases)


def test_the_tables_name_every_field() -> None:
    elsewhere = {"clusters", "only"} | NOT_IN_THE_PLAN | WAIVERS
    team_cases = {case[0] for case in TEAM_FIELDS}
    absolute = {
        f"{amounts}.{field}"
        for amounts in ("sharing.borrow", "sharing.lend", "extra_quota.quota", "largest_job", "cluster_quota")
        for field in ("instances", "accelerators", "vcpu", "memory_gib", "partitions")
    }
    names = {"names.namespace", "names.cluster_queue", "names.local_queue"}
    assert [f for f in fields_of(Team) if not covered(f, team_cases) and f not in elsewhere | absolute | names] == []

    cases = {case[0] for case in ENVIRONMENT_FIELDS} | {"governance.overcommit", "governance.backend"}
    cases |= {
        "governance.gang." + name
        for name in (
            "timeout",
            "recovery_timeout",
            "block_admission",
            "requeue_from",
            "backoff_base",
            "backoff_max",
            "backoff_limit",
        )
    }
    cases |= {
        "governance.multi_kueue." + name
        for name in ("manager", "workers", "dispatcher", "frameworks", "gc_interval", "worker_lost_timeout", "origin")
    }
    cases |= {"kueue.client_qps", "kueue.client_burst", "clusters.kind", "clusters.instance_groups", "clusters.kueue"}
    built = set(fields_of(HyperPodCluster)) - set(fields_of(ExistingCluster))  # their table is test_config_hyperpod's
    shorter = {
        f.replace("clusters.instance_groups.", "instance_groups.").replace("clusters.kueue.", "kueue.")
        for f in fields_of(Environment)
        if f.removeprefix("clusters.") not in built
    }
    inside = (
        "instance_groups.taints.",
        "instance_groups.network.",
        "governance.priority_classes.",
        "governance.departments.",
        "governance.names.flavors.",
    )
    elsewhere |= {"base"}
    assert sorted(f for f in shorter if not covered(f, cases) and not f.startswith(inside) and f not in elsewhere) == []


def test_a_plan_lists_covered_resources_in_one_order() -> None:
    found = cluster(
        {
            "alpha": team("quota: {ml.p5.48xlarge: {partitions: {mig-2g.20gb: 1, mig-1g.10gb: 1}}}\n"),
            "beta": team(QUOTA + "max_pods: 3\n"),
        }
    )
    base = (
        "cpu",
        "memory",
        "nvidia.com/gpu",
        "aws.amazon.com/neurondevice",
        "vpc.amazonaws.com/efa",
        "nvidia.com/mig-1g.10gb",
        "nvidia.com/mig-2g.20gb",
    )
    assert found.covered == base
    assert found.teams["alpha"].covered == base
    assert found.teams["beta"].covered == (*base, "pods")
    flavors: list[tuple[FlavorQuota, tuple[str, ...]]] = [(f, t.covered) for t in found.teams.values() for f in t.flavors]
    for flavor, names in flavors:
        assert tuple(quota.resource for quota in flavor.quotas) == names
