"""Payloads of the managed backend against the plan that they stand for."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from declarations import cluster, findings, ids, team
from hypothesis import given
from hypothesis import strategies as st
from managed_support import HYPERPOD, MANAGED, managed_teams

from config.catalogue import instance_types
from governance.managed import (
    borrowed,
    compute_quota,
    fine_grained,
    guaranteed,
    partitioned,
    scheduler_config,
    scheduler_name,
)
from governance.model import ClusterPlan, TeamPlan
from governance.units import CPU, MEMORY, mig_resource


def on(text: str, env: str = MANAGED) -> ClusterPlan:
    """The cluster with one team `alpha`."""
    return cluster({"alpha": team(text)}, env)


def quota(text: str, env: str = MANAGED) -> dict[str, Any]:
    plan = on(text, env)
    return compute_quota(plan.teams["alpha"], plan)


def resources(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = quota(text)["compute_quota_config"]["compute_quota_resources"]
    return found


def sharing(text: str) -> dict[str, Any]:
    found: dict[str, Any] = quota(text)["compute_quota_config"]["resource_sharing_config"]
    return found


def in_base_units(entries: list[dict[str, Any]]) -> dict[str, Counter[str]]:
    """Totals by type, read from the entries as the service reads them; floats by their shortest decimal, as JSON carries them."""
    result: dict[str, Counter[str]] = {}
    for entry in entries:
        kind = instance_types()[entry["instance_type"]]
        into = result.setdefault(kind.name, Counter())
        if "count" in entry:
            assert set(entry) == {"instance_type", "count"}
            into[CPU] += entry["count"] * (kind.vcpu or 0) * 1000
            into[MEMORY] += entry["count"] * (kind.memory_mib or 0)
            if kind.resource:
                into[kind.resource] += entry["count"] * (kind.accelerators or 0)
            continue
        for field, resource, units in (("v_cpu", CPU, 1000), ("memory_in_gi_b", MEMORY, 1024)):
            exact = Decimal(repr(entry[field])) * units
            assert exact == exact.to_integral_value(), f"{field} {entry[field]!r} is between two base units"
            into[resource] += int(exact)
        if "accelerator_partition" in entry:
            assert set(entry) == {"instance_type", "accelerator_partition", "v_cpu", "memory_in_gi_b"}
            into[mig_resource(entry["accelerator_partition"]["type"])] += entry["accelerator_partition"]["count"]
        else:
            assert set(entry) == {"instance_type", "accelerators", "v_cpu", "memory_in_gi_b"}
            if kind.resource:
                into[kind.resource] += entry["accelerators"]
            else:
                assert entry["accelerators"] == 0
    return {kind: +found for kind, found in result.items()}


def planned(plan: TeamPlan, *, limit: bool = False) -> dict[str, Counter[str]]:
    """The same of the plan. The API has no EFA: the service derives it."""
    return {
        flavor.instance_type: +Counter(
            {
                q.resource: (q.borrowing_limit or 0) if limit else q.nominal
                for q in flavor.quotas
                if q.resource != "vpc.amazonaws.com/efa"
            }
        )
        for flavor in plan.flavors
    }


H100 = {"instance_type": "ml.p5.48xlarge"}


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("{ml.p5.48xlarge: {instances: 2}}", [{**H100, "count": 2}]),
        ("{ml.p5.48xlarge: {instances: 0}}", [{**H100, "count": 0}]),
        # Accelerators alone bring vCPU and memory by their part of the instance: 192 vCPUs, 2048 GiB, 8 GPUs.
        ("{ml.p5.48xlarge: {accelerators: 4}}", [{**H100, "accelerators": 4, "v_cpu": 96.0, "memory_in_gi_b": 1024.0}]),
        # As many as a whole instance has, but not declared as one.
        ("{ml.p5.48xlarge: {accelerators: 8}}", [{**H100, "accelerators": 8, "v_cpu": 192.0, "memory_in_gi_b": 2048.0}]),
        ("{ml.p5.48xlarge: {vcpu: 12}}", [{**H100, "accelerators": 0, "v_cpu": 12.0, "memory_in_gi_b": 128.0}]),
        (
            "{ml.p5.48xlarge: {accelerators: 1, vcpu: 0.5, memory_gib: 3}}",
            [{**H100, "accelerators": 1, "v_cpu": 0.5, "memory_in_gi_b": 3.0}],
        ),
        # Whole instances and single amounts add up.
        (
            "{ml.p5.48xlarge: {instances: 1, accelerators: 1}}",
            [{**H100, "accelerators": 9, "v_cpu": 216.0, "memory_in_gi_b": 2304.0}],
        ),
        # So do entries that mean the same type.
        (
            "{ml.p5.48xlarge: {instances: 1}, p5: {accelerators: 1}}",
            [{**H100, "accelerators": 9, "v_cpu": 216.0, "memory_in_gi_b": 2304.0}],
        ),
        ("{ml.p5.48xlarge: {instances: 1}, p5: {instances: 2}}", [{**H100, "count": 3}]),
        # Seven slices a GPU: one of 56 slices is 3.428 of 192 vCPUs, and 37449 MiB.
        (
            "{ml.p5.48xlarge: {partitions: {mig-1g.10gb: 1}}}",
            [
                {
                    **H100,
                    "accelerator_partition": {"type": "mig-1g.10gb", "count": 1},
                    "v_cpu": 3.428,
                    "memory_in_gi_b": 37449 / 1024,
                }
            ],
        ),
        (
            "{ml.p5.48xlarge: {accelerators: 7, partitions: {mig-3g.40gb: 1, mig-1g.10gb: 4}}}",
            [
                {**H100, "accelerators": 7, "v_cpu": 168.0, "memory_in_gi_b": 1792.0},
                {
                    **H100,
                    "accelerator_partition": {"type": "mig-1g.10gb", "count": 4},
                    "v_cpu": 13.714,
                    "memory_in_gi_b": 149796 / 1024,
                },
                {
                    **H100,
                    "accelerator_partition": {"type": "mig-3g.40gb", "count": 1},
                    "v_cpu": 10.286,
                    "memory_in_gi_b": 112348 / 1024,
                },
            ],
        ),
        (
            "{ml.m5.4xlarge: {vcpu: 8}}",
            [{"instance_type": "ml.m5.4xlarge", "accelerators": 0, "v_cpu": 8.0, "memory_in_gi_b": 32.0}],
        ),
    ],
)
def test_what_a_quota_says(declared: str, expected: list[dict[str, Any]]) -> None:
    found = resources(f"quota: {declared}\n")
    if len(expected) < 3:
        assert found == expected
        return
    # How partitions share what rounding leaves is ours to choose, within one base unit a part.
    assert [e.keys() for e in found] == [e.keys() for e in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.get("accelerator_partition") == other.get("accelerator_partition")
        assert one["v_cpu"] == pytest.approx(other["v_cpu"], abs=0.0021)
        assert one["memory_in_gi_b"] == pytest.approx(other["memory_in_gi_b"], abs=2.1 / 1024)


def test_types_stand_by_name_whatever_order_queues_try_them_in() -> None:
    found = resources("quota: {ml.p5.48xlarge: {instances: 1}, ml.m5.4xlarge: {instances: 1}, ml.g5.2xlarge: {instances: 1}}\n")
    assert [entry["instance_type"] for entry in found] == ["ml.g5.2xlarge", "ml.m5.4xlarge", "ml.p5.48xlarge"]


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("", {"strategy": "LendAndBorrow", "borrow_limit": 50}),
        ("sharing: {strategy: lend_and_borrow, borrow_limit: 0}\n", {"strategy": "LendAndBorrow", "borrow_limit": 0}),
        ("sharing: {borrow_limit: 250}\n", {"strategy": "LendAndBorrow", "borrow_limit": 250}),
        ("sharing: lend\n", {"strategy": "Lend"}),
        ("sharing: dont_lend\n", {"strategy": "DontLend"}),
        (
            "sharing: {borrow: {ml.p5.48xlarge: {instances: 2}}}\n",
            {"strategy": "LendAndBorrow", "absolute_borrow_limits": [{**H100, "count": 2}]},
        ),
        # A type of the quota without a limit borrows nothing; one without a quota may be borrowed all the same.
        (
            "sharing: {borrow: {ml.m5.4xlarge: {vcpu: 8}}}\n",
            {
                "strategy": "LendAndBorrow",
                "absolute_borrow_limits": [
                    {"instance_type": "ml.m5.4xlarge", "accelerators": 0, "v_cpu": 8.0, "memory_in_gi_b": 32.0},
                    {**H100, "count": 0},
                ],
            },
        ),
    ],
)
def test_how_a_team_shares(declared: str, expected: dict[str, Any]) -> None:
    assert sharing("quota: {ml.p5.48xlarge: {accelerators: 4}}\n" + declared) == expected


@pytest.mark.parametrize(("state", "expected"), [("active", "Enabled"), ("held", "Disabled"), ("draining", "Disabled")])
def test_a_team_that_does_not_run_is_disabled(state: str, expected: str) -> None:
    assert quota(f"quota: {{ml.p5.48xlarge: {{instances: 1}}}}\nstate: {state}\n")["activation_state"] == expected


def test_a_quota_beside_its_amounts() -> None:
    found = quota("quota: {ml.p5.48xlarge: {instances: 1}}\nweight: 7\npreemption: never\ndescription: |\n  Two\n  lines\n")
    assert found["name"] == "alpha"
    assert found["compute_quota_target"] == {"team_name": "alpha", "fair_share_weight": 7}
    assert found["compute_quota_config"]["preempt_team_tasks"] == "Never"
    assert found["description"] == "Compute of team alpha"
    assert {"key": "hyperpod-platform/cluster", "value": "main"} in found["tags"]
    assert "cluster_arn" not in found


def test_preemption_within_a_team_is_the_default() -> None:
    config = quota("quota: {ml.p5.48xlarge: {instances: 1}}\n")["compute_quota_config"]
    assert config["preempt_team_tasks"] == "LowerPriority"


def test_the_scheduler_configuration() -> None:
    found = scheduler_config(on("quota: {}\n"))
    assert found["Name"] == "dev-main-scheduler-config"
    assert found["SchedulerConfig"] == {
        "PriorityClasses": [{"Name": "serve", "Weight": 90}, {"Name": "train", "Weight": 70}],
        "FairShare": "Enabled",
        "IdleResourceSharing": "Disabled",
    }
    assert {"Key": "hyperpod-platform/environment", "Value": "dev"} in found["Tags"]
    assert "ClusterArn" not in found


def test_a_policy_of_first_come_first_served() -> None:
    by_arrival = "idle_compute: first_come_first_served, task_ranking: first_come_first_served"
    policy = f"governance: {{backend: managed, idle_sharing: true, {by_arrival}}}\n"
    assert scheduler_config(on("quota: {}\n", HYPERPOD + policy))["SchedulerConfig"] == {
        "PriorityClasses": [],
        "FairShare": "Disabled",
        "IdleResourceSharing": "Enabled",
    }


@pytest.mark.parametrize("length", [1, 46, 63])
def test_a_long_cluster_name_stays_within_the_limit(length: int) -> None:
    name = "a" * (length - 1) + "b"
    env = MANAGED.replace("    network:", f"    hyperpod: {{name: {name}}}\n    network:")
    found = scheduler_name(on("quota: {}\n", env))
    assert len(found) <= 63
    assert found.startswith(name[:40])
    assert found[-1].isalnum()
    other = env.replace(f"name: {name}", f"name: {'a' * length}")
    assert found != scheduler_name(on("quota: {}\n", other))


@pytest.mark.parametrize(
    ("declared", "fine", "mig"),
    [
        ("quota: {ml.p5.48xlarge: {instances: 1}}\n", False, False),
        ("quota: {ml.p5.48xlarge: {accelerators: 8}}\n", True, False),
        ("quota: {ml.p5.48xlarge: {partitions: {mig-1g.10gb: 1}}}\n", True, True),
        ("quota: {ml.p5.48xlarge: {instances: 1}}\nsharing: {borrow: {ml.p5.48xlarge: {accelerators: 1}}}\n", True, False),
        ("quota: {ml.p5.48xlarge: {instances: 1}}\nsharing: {borrow: {ml.p5.48xlarge: {instances: 1}}}\n", False, False),
        ("quota: {}\n", False, False),
    ],
)
def test_which_quotas_older_add_ons_do_not_know(declared: str, fine: bool, mig: bool) -> None:
    plan = on(declared)
    assert (fine_grained(plan), partitioned(plan)) == (fine, mig)


def test_entries_of_partitions_count_against_the_limit_of_a_quota() -> None:
    text = "quota:\n" + "".join(
        f"  {kind}: {{partitions: {{{', '.join(f'{p}: 1' for p in instance_types()[kind].mig_profiles)}}}}}\n"
        for kind in ("ml.p5.48xlarge", "ml.p5en.48xlarge", "ml.p4d.24xlarge")
    )
    assert "managed-quota-types" in ids(findings({"alpha": team(text)}, MANAGED))
    assert "managed-quota-types" not in ids(findings({"alpha": team(text)}, MANAGED.replace("managed", "kueue")))
    assert "managed-quota-types" not in ids(findings({"alpha": team(text.split("  ml.p5en")[0])}, MANAGED))


def test_amounts_that_the_api_cannot_hold() -> None:
    """10,000,000 accelerators are fine; their vCPUs are not."""
    text = "quota: {ml.p5.48xlarge: {accelerators: 10000000}}\n"
    assert "managed-quota-amount" in ids(findings({"alpha": team(text)}, MANAGED))
    assert "managed-quota-amount" not in ids(findings({"alpha": team(text)}, MANAGED.replace("managed", "kueue")))
    assert "managed-quota-amount" not in ids(
        findings({"alpha": team("quota: {ml.p5.48xlarge: {instances: 10000000}}\n")}, MANAGED)
    )


@given(managed_teams())
def test_the_payload_is_the_guarantee_to_the_base_unit(declared: dict[str, Any]) -> None:
    plan = cluster({"alpha": declared}, MANAGED)
    alpha = plan.teams["alpha"]
    assert in_base_units(guaranteed(alpha, plan)) == planned(alpha)
    if alpha.sharing.borrow:
        assert in_base_units(borrowed(alpha, plan)) == planned(alpha, limit=True)
    else:
        assert borrowed(alpha, plan) == []


@given(managed_teams(), st.randoms(use_true_random=False))
def test_the_order_of_a_declaration_is_no_difference(declared: dict[str, Any], chance: random.Random) -> None:
    def shuffled(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        items = [(key, shuffled(item)) for key, item in value.items()]
        chance.shuffle(items)
        return dict(items)

    others = {"beta": team("quota: {}\n"), "zeta": team("quota: {}\n")}
    one, other = cluster({"alpha": declared, **others}, MANAGED), cluster({**others, "alpha": shuffled(declared)}, MANAGED)
    assert repr(compute_quota(one.teams["alpha"], one)) == repr(compute_quota(other.teams["alpha"], other))
    assert repr(scheduler_config(one)) == repr(scheduler_config(other))
