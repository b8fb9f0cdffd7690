"""What holds for the plan of every project."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import replace

from declarations import alpha, cluster, environment, team
from hypothesis import given, settings
from strategies import ProjectData, loaded, planned, projects, write

from config.catalogue import instance_types
from config.findings import has_errors
from config.load import Project
from governance import names
from governance.model import ClusterPlan, Plan
from governance.plan import plan, review
from governance.units import COVERED, PODS

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?\Z")
QUOTA = "quota: {ml.p5.48xlarge: {accelerators: 8}}\n"


def clusters(made: ProjectData) -> list[ClusterPlan]:
    resolved = planned(made)
    assert not has_errors(resolved.findings)
    return list(resolved.clusters.values())


def idle_capacity_is_what_no_team_owns(made: ProjectData, found: ClusterPlan) -> None:
    root, *departments = found.cohorts
    assert all(not department.pool for department in departments)
    if not made.environment["governance"]["idle_sharing"]:
        assert root.pool == ()
        return
    owned: dict[tuple[str, str], int] = defaultdict(int)
    for queue in found.teams.values():
        for flavor in queue.flavors:
            for quota in flavor.quotas:
                owned[flavor.flavor, quota.resource] += quota.nominal
    assert {flavor.instance_type for flavor in root.pool} == set(found.capacity)
    for flavor in root.pool:
        assert tuple(quota.resource for quota in flavor.quotas) == found.covered
        for quota in flavor.quotas:
            held = found.capacity[flavor.instance_type].get(quota.resource, 0)
            assert quota.nominal == max(0, held - owned[flavor.flavor, quota.resource])
            assert (quota.borrowing_limit, quota.lending_limit) == (None, None)


def every_name_fits_where_it_is_used(made: ProjectData, found: ClusterPlan) -> None:
    for queue in found.teams.values():
        for name in (queue.namespace, queue.local_queue):
            assert len(name) <= 63
            assert LABEL.match(name)
        assert len(queue.cluster_queue) <= 253
        assert SUBDOMAIN.match(queue.cluster_queue)
        assert all(len(value) <= 63 and LABEL_VALUE.match(value) for value in queue.labels.values())
    for name in [
        *(c.name for c in found.cohorts),
        *(f.name for f in found.flavors.values()),
        *(t.name for t in found.topologies),
    ]:
        assert len(name) <= 253
        assert SUBDOMAIN.match(name)
    for priority in found.priority_classes:
        assert len(priority.name) <= 63
    for attribute in ("namespace", "cluster_queue"):
        assert len({getattr(queue, attribute) for queue in found.teams.values()}) == len(found.teams)


def queues_are_what_kueue_accepts(made: ProjectData, found: ClusterPlan) -> None:
    """Rules of its webhooks: the order of resources, limits only with a cohort, lending up to the quota."""
    flavors = {flavor.name for flavor in found.flavors.values()}
    cohorts = {cohort.name for cohort in found.cohorts}
    assert found.covered[: len(COVERED)] == COVERED
    assert len(set(found.covered)) == len(found.covered)
    for queue in found.teams.values():
        assert queue.cohort is None or queue.cohort in cohorts
        assert (queue.reclaim, queue.borrow_preemption) != ("Never", "LowerPriority")
        assert len({flavor.flavor for flavor in queue.flavors}) == len(queue.flavors)
        for flavor in queue.flavors:
            assert flavor.flavor in flavors
            assert tuple(quota.resource for quota in flavor.quotas) == queue.covered
            for quota in flavor.quotas:
                assert quota.nominal >= 0
                if queue.cohort is None:
                    assert (quota.borrowing_limit, quota.lending_limit) == (None, None)
                else:
                    assert quota.borrowing_limit is not None
                    assert quota.borrowing_limit >= 0
                    assert quota.lending_limit is None or 0 <= quota.lending_limit <= quota.nominal
    for index, cohort in enumerate(found.cohorts):
        assert cohort.parent in {None, *(before.name for before in found.cohorts[:index])}


def a_queue_has_topologies_on_all_flavors_or_on_none(made: ProjectData, found: ClusterPlan) -> None:
    """With a mixture Kueue would refuse work without a topology on some flavors."""
    used = {flavor.topology.name for flavor in found.flavors.values() if flavor.topology is not None}
    assert used == {topology.name for topology in found.topologies}
    for queue in found.teams.values():
        assert len({found.flavors[quota.instance_type].topology is None for quota in queue.flavors}) <= 1


def cpu_types_are_tried_first_unless_a_team_orders_otherwise(made: ProjectData, found: ClusterPlan) -> None:
    for name, queue in found.teams.items():
        kinds = [flavor.instance_type for flavor in queue.flavors]
        wanted = list(made.teams[name].get("flavors", ()))
        assert kinds[: len(wanted)] == wanted
        rest = [bool(instance_types()[kind].accelerators) for kind in kinds[len(wanted) :]]
        assert rest == sorted(rest)


def the_manager_configuration_is_plain_data(made: ProjectData, found: ClusterPlan) -> None:
    assert json.loads(json.dumps(found.manager)) == found.manager


INVARIANTS = (
    idle_capacity_is_what_no_team_owns,
    every_name_fits_where_it_is_used,
    queues_are_what_kueue_accepts,
    a_queue_has_topologies_on_all_flavors_or_on_none,
    cpu_types_are_tried_first_unless_a_team_orders_otherwise,
    the_manager_configuration_is_plain_data,
)


@given(projects())
def test_what_holds_for_the_plan_of_every_project(made: ProjectData) -> None:
    for found in clusters(made):
        for invariant in INVARIANTS:
            invariant(made, found)


@settings(max_examples=20)
@given(projects(most_teams=4))
def test_a_team_alone_would_have_the_same_guarantees(made: ProjectData) -> None:
    """What a team is guaranteed depends on no other team."""
    everyone = clusters(made)
    for name, data in made.teams.items():
        alone = clusters(ProjectData(made.environment, {name: data}))
        for together, single in zip(everyone, alone, strict=True):
            if name in together.teams:
                one, other = together.teams[name], single.teams[name]
                nominal = [{f.flavor: {r: n for r, n in f.nominal().items() if n}} for f in one.flavors]
                assert nominal == [{f.flavor: {r: n for r, n in f.nominal().items() if n}} for f in other.flavors]


@given(projects())
def test_the_same_files_yield_the_same_plan(made: ProjectData) -> None:
    platform = loaded(made)
    assert plan(platform) == plan(platform)
    backwards = ProjectData(made.environment, dict(reversed(made.teams.items())))
    assert plan(loaded(backwards)) == plan(platform)


def test_the_example_project_has_no_errors() -> None:
    from pathlib import Path

    project = Project(Path(__file__).parents[3])
    for name in project.environments():
        assert not has_errors(review(project, name)), name


def test_names_are_those_of_hyperpod_task_governance() -> None:
    longest = "t" * 40
    assert names.namespace("research") == "hyperpod-ns-research"
    assert len(names.local_queue(longest)) == 63
    assert len(names.cluster_queue(longest)) == 65
    assert names.group("research") == "hyperpod-ns-research-namespace-level-group"
    assert names.priority_class("training") == "training-priority"


def test_a_fingerprint_changes_with_its_value_alone() -> None:
    assert names.fingerprint({"a": 1, "b": [2]}) == names.fingerprint({"b": [2], "a": 1})
    assert names.fingerprint({"a": 1}) != names.fingerprint({"a": 2})
    assert re.fullmatch("[0-9a-f]{6}", names.fingerprint("x"))


def test_a_flavor_of_a_type_that_only_a_quota_names() -> None:
    found = cluster(
        {"alpha": team("quota: {ml.g5.2xlarge: {instances: 1}}\n")}, environment("governance: {idle_sharing: true}\n")
    )
    assert "ml.g5.2xlarge" in found.flavors
    assert "ml.g5.2xlarge" not in found.capacity
    assert [flavor.instance_type for flavor in found.cohorts[0].pool] == ["ml.p5.48xlarge"]


def test_borrowed_capacity_reaches_the_idle_pool() -> None:
    env = environment("governance: {idle_sharing: true}\n")
    one = alpha(QUOTA + "sharing: {borrow_limit: 10000}\n", env, beta="quota: {ml.p5.48xlarge: {accelerators: 16}}\n")
    assert one.largest["ml.p5.48xlarge", "nvidia.com/gpu"] == 64
    kept = alpha(
        QUOTA + "sharing: {borrow_limit: 10000}\n", env, beta="quota: {ml.p5.48xlarge: {accelerators: 16}}\nsharing: dont_lend\n"
    )
    assert kept.largest["ml.p5.48xlarge", "nvidia.com/gpu"] == 48


def test_a_cap_on_pods_is_the_teams_own() -> None:
    one = alpha(QUOTA + "max_pods: 5\n", beta=QUOTA + "max_pods: 100\n")
    assert one.largest["ml.p5.48xlarge", PODS] == 5


def test_findings_stand_in_reading_order_each_once() -> None:
    """A finding on one team's file is the same for each cluster of the environment."""
    import tempfile
    from pathlib import Path

    two = {"kind": "existing", "instance_groups": {"m": {"instance_type": "ml.m5.4xlarge", "count": 1}}}
    data = {"apiVersion": "hyperpod-platform/v1", "clusters": {"one": two, "two": two}}
    with tempfile.TemporaryDirectory() as folder:
        made = write(
            Path(folder), {"dev": data}, {"alpha": team("quota: {ml.m5.4xlarge: {accelerators: 1}, p5: {accelerators: 1}}\n")}
        )
        found = review(made, "dev")
    assert [finding.id for finding in found] == ["accelerators-none", "quota-no-group"]


def test_plans_compare_by_value() -> None:
    one: Plan = plan(
        loaded(
            ProjectData(
                {"apiVersion": "hyperpod-platform/v1", "clusters": {"a": {"kind": "existing", "instance_groups": {}}}}, {}
            )
        )
    )
    assert one == replace(one, findings=())
    assert one != replace(one, backend="managed")
