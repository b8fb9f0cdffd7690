"""What a comparison of two declarations says: every kind of change, and nothing that isn't one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from declarations import environment, hyperpod, platform, team
from hypothesis import given
from hypothesis import strategies as st

from governance.plan import plan
from governance.promotion.compare import compare
from governance.promotion.model import Amount, Comparison, Mode, Side, TeamChange, Value
from governance.promotion.settings import differences
from governance.promotion.shares import fair_shares

ENV = environment("governance: {priority_classes: {low: {weight: 10}, high: {weight: 90}}}\n")
ALPHA = "quota: {ml.p5.48xlarge: {instances: 2}}\nweight: 10\n"
BETA = "quota: {ml.p5.48xlarge: {instances: 4}}\nweight: 30\n"
TEAMS = {"alpha": ALPHA, "beta": BETA}
P5 = "ml.p5.48xlarge"
GPU = "nvidia.com/gpu"


def side(env: str, teams: Mapping[str, str]) -> Side:
    found = platform({name: team(text) for name, text in teams.items()}, env)
    return Side("x", found, plan(found))


def diff(
    teams: Mapping[str, str] = TEAMS,
    env: str = ENV,
    *,
    old_teams: Mapping[str, str] = TEAMS,
    old_env: str = ENV,
    mode: Mode = "change",
) -> Comparison:
    return compare(side(old_env, old_teams), side(env, teams), mode)


def change(found: Comparison, name: str) -> TeamChange:
    (one,) = [change for change in found.teams if change.team == name]
    return one


def gpus(one: TeamChange) -> dict[str, tuple[int, int]]:
    return {amount.measure: (amount.before, amount.after) for amount in one.amounts if amount.resource == GPU}


def test_the_same_declaration_differs_in_nothing() -> None:
    found = diff()
    assert not found.differs
    assert found == Comparison("x", "x", "change")


def test_a_larger_quota_is_told_in_all_its_consequences() -> None:
    found = diff({**TEAMS, "alpha": ALPHA.replace("instances: 2", "instances: 3")})
    alpha = change(found, "alpha")
    assert alpha.what == "changed"
    assert gpus(alpha) == {"guaranteed": (16, 24), "borrowable": (8, 12), "lendable": (16, 24), "largest job": (24, 36)}
    assert alpha.values == ()  # shares go by weight
    (gpu,) = [one for one in found.types if one.resource == GPU]
    assert (gpu.nodes, gpu.capacity, gpu.guaranteed, gpu.over) == ((8, 8), (64, 64), (48, 56), (0, 0))
    # beta reaches 32 + 16 of 48 before, by its limit, and no more after: nothing happens to it
    assert [one.team for one in found.teams] == ["alpha"]
    assert (found.losses, found.settings) == ((), ())


def test_who_only_feels_others_changes_is_affected() -> None:
    unlimited = {**TEAMS, "beta": BETA + "sharing: {borrow_unlimited: true}\n"}
    found = diff({**unlimited, "alpha": ALPHA.replace("instances: 2", "instances: 1")}, old_teams=unlimited)
    assert change(found, "beta") == TeamChange(
        "main",
        "beta",
        "affected",
        (),
        tuple(amount for amount in change(found, "beta").amounts if amount.measure in ("borrowable", "largest job")),
    )
    assert gpus(change(found, "beta")) == {"borrowable": (16, 8), "largest job": (48, 40)}


def test_teams_that_come_and_go() -> None:
    found = diff({"alpha": ALPHA, "gamma": "quota: {ml.p5.48xlarge: {instances: 1}}\naccess: {groups: [people]}\n"})
    beta, gamma = change(found, "beta"), change(found, "gamma")
    assert (beta.what, gpus(beta)["guaranteed"]) == ("removed", (32, 0))
    assert (gamma.what, gpus(gamma)["guaranteed"]) == ("new", (0, 8))
    assert Value("access", None, ["hyperpod-ns-gamma-namespace-level-group", "people"]) in gamma.values
    assert Value("fair share", 75.0, None) in beta.values
    assert Value("fair share", 25.0, 100.0) in change(found, "alpha").values
    (lost,) = found.losses
    assert lost.what == "team beta: namespace hyperpod-ns-beta, queue hyperpod-ns-beta-clusterqueue"
    assert (lost.again, lost.protected) == (False, True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("state: held\n", Value("state", "active", "held")),
        ("sharing: dont_lend\n", Value("cohort", "hyperpod", None)),
        ("sharing: {borrow_limit: 80}\n", Value("sharing", "lend and borrow up to 50 %", "lend and borrow up to 80 %")),
        ("sharing: lend\n", Value("sharing", "lend and borrow up to 50 %", "lend")),
        ("default_priority: high\n", Value("default priority", None, "high-priority")),
        ("access: {groups: [people]}\n", Value("access", [], ["people"])),
        ("max_run_time: 1h\n", Value("longest run time", None, 3600)),
        ("preemption: never\n", Value("preemption in its queue", "LowerPriority", "Never")),
        ("default_queue: true\n", Value("queue `default`", False, True)),
        ("names: {local_queue: own}\n", Value("queue", "hyperpod-ns-alpha-localqueue", "own")),
        ("names: {namespace: own}\n", Value("namespace", "hyperpod-ns-alpha", "own")),
        ("names: {cluster_queue: own}\n", Value("cluster queue", "hyperpod-ns-alpha-clusterqueue", "own")),
    ],
)
def test_each_setting_of_a_team_is_told(text: str, value: Value) -> None:
    found = diff({**TEAMS, "alpha": ALPHA + text})
    alpha = change(found, "alpha")
    assert alpha.what == "changed"
    assert value in alpha.values


def test_a_weight_changes_everybodys_share() -> None:
    found = diff({**TEAMS, "alpha": ALPHA.replace("10", "30")})
    assert change(found, "alpha").values == (Value("weight", 10, 30), Value("fair share", 25.0, 50.0))
    assert change(found, "beta") == TeamChange("main", "beta", "affected", (Value("fair share", 75.0, 50.0),))


def test_what_no_number_shows_is_told_as_a_setting() -> None:
    found = diff({**TEAMS, "alpha": ALPHA + "labels: {tier: gold}\ndescription: 'all of it'\n"})
    assert found.settings == (
        Value("teams.alpha.description", "", "all of it"),
        Value("teams.alpha.labels.tier", None, "gold"),
    )
    same_amounts = diff({**TEAMS, "alpha": ALPHA.replace("instances: 2", "accelerators: 16")})
    assert [value.field for value in same_amounts.settings] == [
        f"teams.alpha.quota.{P5}.{unit}" for unit in ("instances", "accelerators")
    ]
    assert same_amounts.differs


@pytest.mark.parametrize(
    ("text", "path", "before", "after"),
    [
        ("idle_sharing: true", "governance.idle_sharing", False, True),
        ("idle_compute: first_come_first_served", "governance.idle_compute", "fair_share", "first_come_first_served"),
        ("overcommit: forbid", "governance.overcommit", "warn", "forbid"),
        ("gang: {timeout: 10m}", "governance.gang.timeout", None, 600),
    ],
)
def test_the_policy_is_told_by_path(text: str, path: str, before: Any, after: Any) -> None:
    policy = ENV.replace("governance: {", f"governance: {{{text}, ")
    found = diff(env=policy)
    if path == "governance.gang.timeout":  # on one side only: told as a whole
        (gang,) = [value for value in found.settings if value.field == "governance.gang"]
        assert (gang.before, gang.after["timeout"]) == (before, after)
    else:
        assert Value(path, before, after) in found.settings


def test_priority_classes_by_name() -> None:
    found = diff(env=ENV.replace("low: {weight: 10}", "low: {weight: 20}").replace("high", "top"))
    assert found.classes == (Value("high", 90, None), Value("low", 10, 20), Value("top", None, 90))


def test_groups_and_capacity() -> None:
    groups = """
    h100: {instance_type: ml.p5.48xlarge, count: 4}
    l4: {instance_type: ml.g6.12xlarge, count: 1}
    """
    found = diff(env=environment("governance: {priority_classes: {low: {weight: 10}, high: {weight: 90}}}\n", groups))
    assert [(one.group, one.what, one.count) for one in found.groups] == [("h100", "changed", (8, 4)), ("l4", "new", (0, 1))]
    (p5,) = [one for one in found.types if (one.instance_type, one.resource) == (P5, GPU)]
    assert (p5.nodes, p5.capacity, p5.guaranteed, p5.over) == ((8, 4), (64, 32), (48, 48), (0, 16))
    assert [finding.id for finding in found.come] == ["overcommit"]
    back = diff(old_env=environment("governance: {priority_classes: {low: {weight: 10}, high: {weight: 90}}}\n", groups))
    assert [finding.id for finding in back.gone] == ["overcommit"]


AWS = hyperpod("governance: {priority_classes: {low: {weight: 10}, high: {weight: 90}}}\n").replace(
    "    eks: {admins", '    eks: {version: "1.34", name: one, admins'
)
ZONES = "network: {availability_zones: [us-west-2a, us-west-2b, us-west-2c]}"


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("region: us-west-2\n", "region: us-west-2\n    hyperpod: {name: other}\n", ["HyperPod cluster dev-main"]),
        (
            "name: one",
            "name: two",
            ["EKS cluster one", "HyperPod cluster dev-main"],
        ),
        ("us-west-2", "us-east-1", ["everything in the account and region"]),
        ('"111122223333"', '"111122224444"', ["everything in the account and region"]),
        (ZONES, ZONES.replace("]}", "], cidr: 10.99.0.0/16}"), ["EKS cluster one", "HyperPod cluster dev-main"]),
        (ZONES, ZONES.replace("]}", "], node_cidrs: {us-west-2b: 10.200.0.0/16}}"), ["HyperPod cluster dev-main"]),
        ("availability_zone: us-west-2a}", "availability_zone: us-west-2b}", ["instance group h100"]),
        ("h100: {", "h200: {", ["instance group h100"]),
        ("region: us-west-2\n", "region: us-west-2\n    kueue: {namespace: queues}\n", ["Kueue's release"]),
    ],
)
def test_what_cannot_change_in_place_is_replaced(old: str, new: str, lost: list[str]) -> None:
    changed = AWS.replace(old, new)
    assert changed != AWS
    found = diff(env=changed, old_env=AWS)
    assert [loss.what for loss in found.losses] == lost
    assert all(loss.lost and loss.why and loss.protected for loss in found.losses if not loss.what.startswith("instance group"))
    side_by_side = diff(env=changed, old_env=AWS, mode="environments")
    assert side_by_side.losses == ()


@pytest.mark.parametrize(
    ("old", "new"), [("name: one", "name: one, log_days: 30"), ("kind: hyperpod\n", "kind: hyperpod\n    tags: {a: b}\n")]
)
def test_what_changes_in_place_is_no_loss(old: str, new: str) -> None:
    found = diff(env=AWS.replace(old, new), old_env=AWS)
    assert (found.losses, len(found.settings)) == ((), 1)


def test_a_topology_makes_another_flavor() -> None:
    found = diff(env=ENV.replace("governance: {", "governance: {topology: {levels: [kubernetes.io/hostname]}, "))
    (loss,) = found.losses
    assert loss.what == f"flavor {P5}"
    assert "drain" in loss.lost
    assert change(found, "alpha").values[0].field == f"flavor of {P5}"


def test_another_backend_is_another_set_of_queues() -> None:
    found = diff(env=AWS.replace("governance: {", "governance: {backend: managed, "), old_env=AWS)
    assert [loss.what for loss in found.losses] == ["queues, quotas and priorities of the kueue backend"]
    assert {one.what for one in found.versions} >= {"Kueue", "amazon-sagemaker-hyperpod-taskgovernance"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [("1.33", "1.35", "first to 1.34"), ("1.34", "1.33", "no downgrade"), ("1.33", "1.34", "")],
)
def test_steps_between_versions(old: str, new: str, words: str) -> None:
    one, other = (AWS.replace('"1.34"', f'"{v}"') for v in (old, new))
    (found,) = diff(env=other, old_env=one).versions
    assert (found.what, found.before, found.after) == ("Kubernetes", old, new)
    assert words in found.warning
    assert bool(words) == bool(found.warning)
    (beside,) = diff(env=other, old_env=one, mode="environments").versions
    assert beside.warning == ""


def test_clusters_of_one_side_only() -> None:
    second = AWS.replace("clusters:\n", "clusters:\n  second:\n    kind: existing\n    instance_groups: {}\n")
    found = diff(env=second, old_env=AWS)
    assert found.clusters == (("second", "new"),)
    assert {(one.cluster, one.what) for one in found.teams} == {("second", "new")}
    assert not [value for value in found.settings if "second" in value.field]
    gone = diff(env=AWS, old_env=second)
    assert [(loss.what, loss.protected) for loss in gone.losses] == [("what is declared on the cluster", True)]


def test_two_environments_of_one_cluster_each_are_compared_cluster_by_cluster() -> None:
    found = diff(env=ENV.replace("  main:", "  other:").replace("count: 8", "count: 9"), mode="environments")
    assert found.clusters == ()
    assert [(one.cluster, one.group) for one in found.groups] == [("other", "h100")]
    assert found.teams == ()
    assert diff(env=ENV.replace("  main:", "  other:")).teams != ()


def test_shares_go_down_the_tree_and_leave_out_who_cannot_borrow() -> None:
    env = environment(
        "governance: {departments: {left: {weight: 1}, right: {weight: 3}, empty: {weight: 5}}, overcommit: allow}\n"
    )
    quota = "quota: {ml.p5.48xlarge: {instances: 1}}\n"
    teams = {
        "a": f"{quota}department: left\nweight: 1\n",
        "b": f"{quota}department: left\nweight: 1\n",
        "c": f"{quota}department: right\nweight: 0\n",
        "d": f"{quota}department: right\nweight: 0\n",
        "e": f"{quota}weight: 4\n",
        "f": f"{quota}weight: 4\nsharing: lend\n",
        "g": f"{quota}weight: 4\nstate: held\n",
        "h": f"{quota}weight: 4\nsharing: dont_lend\n",
    }
    shares = fair_shares(side(env, teams).plan.clusters["main"])
    assert shares == {
        "a": Fraction(1, 16),
        "b": Fraction(1, 16),
        "c": Fraction(3, 16),
        "d": Fraction(3, 16),
        "e": Fraction(1, 2),
    }
    by_arrival = env.replace("governance: {", "governance: {idle_compute: first_come_first_served, ")
    assert fair_shares(side(by_arrival, teams).plan.clusters["main"]) == {}


@given(st.lists(st.tuples(st.integers(0, 100), st.booleans(), st.sampled_from(("active", "held"))), max_size=8))
def test_shares_add_up_to_one(drawn: list[tuple[int, bool, str]]) -> None:
    base = side(ENV, TEAMS).plan.clusters["main"]
    alpha = base.teams["alpha"]
    teams = {
        f"t{index}": replace(alpha, name=f"t{index}", weight=weight, cohort="hyperpod" if shares else None, state=state)
        for index, (weight, shares, state) in enumerate(drawn)
    }
    found = fair_shares(replace(base, teams=teams))
    assert found.keys() == {name for name, one in teams.items() if one.cohort and one.state == "active"}
    assert sum(found.values()) == (1 if found else 0)
    assert all(0 <= share <= 1 for share in found.values())


_VALUES = st.recursive(
    st.integers(0, 3) | st.sampled_from("ab"), lambda inner: st.dictionaries(st.sampled_from("xyz"), inner), max_leaves=8
)


@given(_VALUES, _VALUES)
def test_differences_are_none_between_equals_and_the_other_way_round_the_same(old: Any, new: Any) -> None:
    forth, back = list(differences(old, new)), list(differences(new, old))
    assert list(differences(old, old)) == []
    assert {value.field: (value.before, value.after) for value in forth} == {
        value.field: (value.after, value.before) for value in back
    }
    assert all(value.before != value.after for value in forth)


def test_everything_is_json_ready(tmp_path: Path) -> None:
    import json

    found = diff({"gamma": ALPHA}, AWS.replace("us-west-2", "us-east-1"), old_env=AWS)
    assert json.loads(json.dumps(found.as_dict())) == found.as_dict()
    assert Amount(P5, "memory", "largest job", 0, 2048).as_dict()["after"] == "2Gi"


def test_a_managers_borrowable_is_that_of_all_workers_together() -> None:
    groups = "{h100: {instance_type: ml.p5.48xlarge, count: 4}}"
    env = (
        "apiVersion: hyperpod-platform/v1\nclusters:\n  hub: {kind: existing, instance_groups: {}}\n"
        f"  east: {{kind: existing, instance_groups: {groups}}}\n  west: {{kind: existing, instance_groups: {groups}}}\n"
        "governance: {multi_kueue: {manager: hub, workers: [east, west]}}\n"
    )
    found = diff({"alpha": ALPHA, "beta": ALPHA}, env, old_teams={"alpha": ALPHA}, old_env=env)
    measures = {one.cluster: gpus(one) for one in found.teams if one.team == "beta"}
    assert measures["east"]["borrowable"] == (0, 8)
    assert measures["hub"] == {"guaranteed": (0, 32), "borrowable": (0, 16), "lendable": (0, 32), "largest job": (0, 24)}
    totals = {one.cluster: one.guaranteed for one in found.types if one.resource == GPU}
    assert totals == {"east": (16, 32), "west": (16, 32), "hub": (32, 64)}
