"""Findings on what a declaration means: each with its place, none where all is well."""

from __future__ import annotations

import pytest
from declarations import ENVIRONMENT, assert_well_formed, environment, findings, ids, team

from config.findings import Finding, Severity
from governance.cluster_checks import MAX_CELLS, MAX_FLAVORS
from governance.units import COVERED

QUOTA = "quota: {ml.p5.48xlarge: {accelerators: 8}}\n"
ERROR, WARNING, ADVICE = Severity.ERROR, Severity.WARNING, Severity.ADVICE


def told(found: list[Finding]) -> list[tuple[str, Severity, str, int]]:
    for finding in found:
        assert_well_formed(finding)
    return [(finding.id, finding.severity, finding.where.file, finding.where.line) for finding in found]


def test_nothing_is_found_where_all_is_well() -> None:
    assert findings({"alpha": team(QUOTA + "weight: 1\n"), "beta": team(QUOTA + "weight: 2\n")}) == []


ALPHA = "teams/alpha.yaml"
DEV = "environments/dev.yaml"
TEAM_CASES = [
    (QUOTA + "default_priority: trainign\n", ("priority-class-unknown", ERROR, ALPHA, 4), "did you mean `training`?"),
    (QUOTA + "department: research\n", ("department-unknown", ERROR, ALPHA, 4), "add it to environments/dev.yaml"),
    (QUOTA + "clusters: [mian]\n", ("cluster-unknown", ERROR, ALPHA, 4), "did you mean `main`?"),
    (QUOTA + "labels: {hyperpod-platform/team: x}\n", ("label-reserved", ERROR, ALPHA, 4), "another prefix"),
    (
        QUOTA + "labels: {sagemaker.amazonaws.com/activate-quota: Enabled}\n",
        ("label-reserved", ERROR, ALPHA, 4),
        "another prefix",
    ),
    (QUOTA + "names: {namespace: kube-system}\n", ("namespace-reserved", ERROR, ALPHA, 4), "its own"),
    (QUOTA + "names: {namespace: kueue-system}\n", ("namespace-reserved", ERROR, ALPHA, 4), "its own"),
    (QUOTA + "names: {local_queue: default}\ndefault_queue: true\n", ("default-queue-twice", ERROR, ALPHA, 5), "remove one"),
    (QUOTA + "flavors: [ml.m5.4xlarge]\n", ("flavor-without-quota", ERROR, ALPHA, 4), "remove it from flavors"),
    (
        QUOTA + "sharing: {lend: {ml.p5.48xlarge: {accelerators: 9}}}\n",
        ("lend-above-quota", ERROR, ALPHA, 4),
        "at most the quota",
    ),
    (QUOTA + "sharing: {lend: {ml.p5.48xlarge: {instances: 2}}}\n", ("lend-above-quota", ERROR, ALPHA, 4), "at most the quota"),
    (QUOTA + "sharing: {lend: {ml.p5.48xlarge: {vcpu: 193}}}\n", ("lend-above-quota", ERROR, ALPHA, 4), "at most the quota"),
    (QUOTA + "sharing: {lend: {ml.m5.4xlarge: {vcpu: 1}}}\n", ("lend-without-quota", ERROR, ALPHA, 4), "add a quota"),
    (
        QUOTA + "access: {iam_roles: ['arn:aws:iam::123456789012:role/a']}\n",
        ("iam-roles-unused", ADVICE, ALPHA, 4),
        "the group hyperpod-ns-alpha-namespace-level-group there",
    ),
    ("quota: {ml.p5.48xlarge: {accelerators: 1}}\n", ("borrow-rounds-to-none", WARNING, ALPHA, 1), "raise borrow_limit"),
    ("weight: 1\n", ("quota-none", WARNING, ALPHA, 1), "give it a quota"),
    ("quota: {ml.p5.48xlarge: {instances: 0}}\n", ("quota-none", WARNING, ALPHA, 3), "give it a quota"),
    ("quota: {ml.g5.2xlarge: {instances: 1}}\nsharing: lend\n", ("overcommit-no-group", WARNING, ALPHA, 3), "correct the type"),
    ("quota: {g5: {instances: 1}}\n", ("quota-no-group", ERROR, ALPHA, 3), "add a group"),
    ("quota: {trainium: {accelerators: 1}}\n", ("quota-no-group", ERROR, ALPHA, 3), "add a group"),
    ("quota: {ml.m5.4xlarge: {accelerators: 1}}\n", ("accelerators-none", ERROR, ALPHA, 3), "give instances"),
    ("quota: {ml.p5.48xlarge: {partitions: {mig-1g.5gb: 1}}}\n", ("mig-profile-type", ERROR, ALPHA, 3), "it has `mig-1g.10gb`"),
    (QUOTA + "sharing: {borrow: {ml.m5.4xlarge: {accelerators: 1}}}\n", ("accelerators-none", ERROR, ALPHA, 4), "give instances"),
    ("quota: {ml.p5.48xlarge: {instances: 9}}\n", ("overcommit", WARNING, DEV, 5), "add nodes"),
]


@pytest.mark.parametrize(
    ("text", "expected", "remedy"), TEAM_CASES, ids=[f"{n}-{case[1][0]}" for n, case in enumerate(TEAM_CASES)]
)
def test_a_finding_on_a_team(text: str, expected: tuple[str, Severity, str, int], remedy: str) -> None:
    found = findings({"alpha": team(text)})
    assert told(found) == [expected]
    assert remedy in found[0].remedy


def test_iam_roles_mean_nothing_to_a_sandbox_and_say_nothing() -> None:
    text = team(QUOTA + "access: {iam_roles: ['arn:aws:iam::123456789012:role/a']}\n")
    assert findings({"alpha": text}, environment(settings="sandbox: true\nkueue: {install: false}")) == []


def test_an_absolute_lending_limit_up_to_the_quota_is_fine() -> None:
    quota = "quota: {ml.p5.48xlarge: {accelerators: 8, vcpu: 10}}\n"
    assert findings({"alpha": team(quota + "sharing: {lend: {ml.p5.48xlarge: {accelerators: 8}}}\n")}) == []


def test_capacity_and_guarantees_are_told_in_devices_first() -> None:
    five = team("quota: {ml.p5.48xlarge: {instances: 5}}\nweight: 1\n")
    (finding,) = findings({"alpha": five, "beta": five})
    assert "ml.p5.48xlarge: 80 of nvidia.com/gpu are guaranteed, the cluster `main` has 64" in finding.message
    (finding,) = findings({"alpha": team("quota: {ml.p5.48xlarge: {accelerators: 1, vcpu: 2000}}\nsharing: lend\n")})
    assert "2000 of cpu are guaranteed, the cluster `main` has 1536" in finding.message


def test_whole_gpus_of_partitioned_nodes_are_missing() -> None:
    env = environment(groups="g: {instance_type: ml.p5.48xlarge, count: 1, partitions: {mig-1g.10gb: 7}}")
    assert ids(findings({"alpha": team("quota: {ml.p5.48xlarge: {accelerators: 7}}\n")}, env)) == []
    (finding,) = findings({"alpha": team("quota: {ml.p5.48xlarge: {accelerators: 8}}\n")}, env)
    assert "8 of nvidia.com/gpu are guaranteed, the cluster `main` has 7" in finding.message


@pytest.mark.parametrize(
    ("weights", "warned"),
    [((1, 2), []), ((0, 1), ["alpha"]), ((0, 0, 5), ["alpha", "beta"])],
)
def test_a_weight_of_nothing_beside_others(weights: tuple[int, ...], warned: list[str]) -> None:
    teams = {name: team(QUOTA + f"weight: {weight}\n") for name, weight in zip(("alpha", "beta", "gamma"), weights, strict=False)}
    found = findings(teams)
    assert ids(found) == ["weight-zero"] * len(warned)
    assert [finding.where.file for finding in found] == [f"teams/{name}.yaml" for name in warned]


def test_weights_matter_only_among_those_who_borrow_and_only_with_fair_share() -> None:
    teams = {"alpha": team(QUOTA + "weight: 0\nsharing: lend\n"), "beta": team(QUOTA + "weight: 1\n")}
    assert findings(teams) == []
    teams = {"alpha": team(QUOTA + "weight: 0\n"), "beta": team(QUOTA + "weight: 1\n")}
    assert findings(teams, environment("governance: {idle_compute: first_come_first_served}\n")) == []


def test_weights_matter_among_siblings() -> None:
    env = ENVIRONMENT + "  departments: {one: {weight: 0}, two: {}}\n"
    teams = {"alpha": team(QUOTA + "department: one\n"), "beta": team(QUOTA + "weight: 1\ndepartment: two\n")}
    found = findings(teams, env)
    assert told(found) == [("weight-zero", WARNING, DEV, 13)]
    assert "department `one`" in found[0].message


def test_two_teams_on_two_clusters_do_not_compete() -> None:
    env = environment() + "  second: {kind: existing, instance_groups: {b: {instance_type: ml.p5.48xlarge, count: 1}}}\n"
    teams = {"alpha": team(QUOTA + "clusters: [main]\n"), "beta": team(QUOTA + "weight: 1\nclusters: [second]\n")}
    assert findings(teams, env) == []


def test_teams_that_share_a_name() -> None:
    teams = {
        "alpha": team(QUOTA + "weight: 1\nnames: {namespace: hyperpod-ns-beta}\n"),
        "beta": team(QUOTA + "weight: 1\n"),
        "gamma": team(QUOTA + "weight: 1\nnames: {cluster_queue: hyperpod-ns-beta-clusterqueue}\n"),
    }
    assert told(findings(teams)) == [("name-shared", ERROR, "teams/beta.yaml", 1), ("name-shared", ERROR, "teams/gamma.yaml", 5)]


def test_priority_classes_of_one_weight() -> None:
    found = findings(
        {}, environment("governance:\n  priority_classes:\n    a: {weight: 5}\n    b: {weight: 5}\n    c: {weight: 6}\n")
    )
    assert told(found) == [("priority-equal", ADVICE, DEV, 10)]
    assert "`a` and `b`" in found[0].message


@pytest.mark.parametrize(("weight", "rank"), [(0, "as high as"), (-1, "below")])
def test_a_class_that_ranks_no_higher_than_none(weight: int, rank: str) -> None:
    found = findings({}, environment(f"governance:\n  priority_classes:\n    a: {{weight: {weight}}}\n    b: {{weight: 1}}\n"))
    assert told(found) == [("priority-unranked", ADVICE, DEV, 9)]
    assert f"rank {rank} those that name no class" in found[0].message


def test_a_type_whose_efa_is_not_published() -> None:
    env = environment(groups="g: {instance_type: ml.p6e-gb200.36xlarge, count: 1}")
    found = findings({"alpha": team("quota:\n  ml.p6e-gb200.36xlarge: {instances: 1}\n")}, env)
    assert told(found) == [("efa-unknown", ADVICE, DEV, 6), ("efa-unknown", ADVICE, ALPHA, 4)]
    assert "ml.p6e-gb200.36xlarge" in found[0].message


def test_more_taints_than_a_flavor_tolerates() -> None:
    def group(first: int) -> str:
        return ", ".join(f"{{key: k{n}, effect: NoSchedule}}" for n in range(first, first + 5))

    groups = "\n".join(f"g{n}: {{instance_type: ml.p5.48xlarge, count: 1, taints: [{group(n)}]}}" for n in (0, 4))
    found = findings({}, environment(groups=groups))
    assert told(found) == [("flavor-tolerations", ERROR, DEV, 5)]
    assert "have 9 taints; a flavor tolerates 8" in found[0].message


def test_more_types_than_a_queue_holds() -> None:
    from config.catalogue import instance_types

    cpu = [name for name, kind in instance_types().items() if kind.known and not kind.accelerators]
    entries = "".join(f"  {name}: {{instances: 1}}\n" for name in cpu[: MAX_FLAVORS + 1])
    env = environment("governance: {overcommit: allow}\n")
    assert told(findings({"alpha": team("quota:\n" + entries)}, env)) == [("queue-too-large", ERROR, ALPHA, 3)]
    enough = "".join(f"  {name}: {{instances: 1}}\n" for name in cpu[:MAX_FLAVORS])
    assert findings({"alpha": team("quota:\n" + enough)}, env) == []


def test_more_quotas_than_a_queue_holds() -> None:
    from config.catalogue import instance_types

    cpu = [name for name, kind in instance_types().items() if kind.known and not kind.accelerators][: MAX_FLAVORS - 1]
    profiles = instance_types()["ml.p5.48xlarge"].mig_profiles
    entries = "".join(f"  {name}: {{instances: 1}}\n" for name in cpu)
    partitions = ", ".join(f"{profile}: 1" for profile in profiles[:4])
    env = environment("governance: {overcommit: allow}\n")
    assert MAX_FLAVORS * (len(COVERED) + 4) > MAX_CELLS
    found = findings(
        {"alpha": team(f"quota:\n  ml.p5.48xlarge: {{partitions: {{{partitions}}}}}\n" + entries + "sharing: lend\n")}, env
    )
    assert ids(found) == ["queue-too-large"]
    assert f"{MAX_FLAVORS * (len(COVERED) + 4)} quotas" in found[0].message


def test_an_idle_pool_with_more_types_than_a_cohort_holds() -> None:
    from config.catalogue import instance_types

    known = [name for name, kind in instance_types().items() if kind.known and kind.efa is not None][: MAX_FLAVORS + 1]
    groups = "\n".join(f"g{n}: {{instance_type: {name}, count: 1}}" for n, name in enumerate(known))
    found = findings({}, environment("governance: {idle_sharing: true}\n", groups=groups))
    assert ids(found) == ["queue-too-large"]
    assert (found[0].where.file, found[0].where.line) == (DEV, 6 + MAX_FLAVORS + 1)


def test_an_entry_with_errors_hides_no_other() -> None:
    text = (
        "quota:\n  ml.m5.4xlarge: {accelerators: 1, partitions: {mig-1g.5gb: 1}}\n"
        "  g5: {instances: 1}\n  ml.p5.48xlarge: {instances: 9}\n"
    )
    found = findings({"alpha": team(text + "default_priority: none\n")})
    assert [(f.id, f.where.line) for f in found] == [
        ("overcommit", 5),
        ("accelerators-none", 4),
        ("mig-profile-type", 4),
        ("quota-no-group", 5),
        ("priority-class-unknown", 7),
    ]


def test_the_managed_backend_needs_a_hyperpod_cluster() -> None:
    found = findings({}, environment("governance: {backend: managed}\n"))
    assert told(found) == [("managed-needs-hyperpod", ERROR, DEV, 7)]
    assert "use the kueue backend" in found[0].remedy
