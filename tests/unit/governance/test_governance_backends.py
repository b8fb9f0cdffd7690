"""What a backend lacks is refused, and the one that has it is named."""

from __future__ import annotations

import pytest
from declarations import ENVIRONMENT, assert_well_formed, environment, findings, ids, team

from config.catalogue import instance_types
from governance.backends import MANAGED_PRIORITY_CLASSES, MANAGED_QUOTA_TYPES, POLICY_FEATURES, TEAM_FEATURES

QUOTA = "quota: {ml.p5.48xlarge: {accelerators: 8}}\n"
MANAGED = ENVIRONMENT + "  backend: managed\n"

TEAM_CASES = {
    "departments": "department: research\n",
    "own names of namespace and queues": "names: {namespace: ours}\n",
    "a default queue": "default_queue: true\n",
    "a cap on running pods": "max_pods: 5\n",
    "an order of flavors": "flavors: [ml.p5.48xlarge]\n",
    "a maximum run time": "max_run_time: 1h\n",
    "a lending limit in percent": "sharing: {lend_limit: 50}\n",
    "borrowing without a limit": "sharing: {borrow_unlimited: true}\n",
    "absolute lending limits": "sharing: {lend: {ml.p5.48xlarge: {accelerators: 1}}}\n",
}
ELEVEN = ", ".join(f"c{n}: {{weight: {n}}}" for n in range(MANAGED_PRIORITY_CLASSES + 1))
POLICY_CASES = {
    "departments": "departments: {research: {}}",
    "names of existing objects": "names: {root_cohort: all}",
    "own choice of the resources that queues count": "resources: [cpu, memory]",
    "dispatching to other clusters": "multi_kueue: {manager: main, workers: [other]}",
    "gang scheduling from the declaration": "gang: {}",
    "own topology levels": "topology: {levels: [a]}",
    "topology switched off": "topology: {enabled: false}",
    "workloads without a queue label": "enforce_queue_label: false",
    f"more than {MANAGED_PRIORITY_CLASSES} priority classes": f"priority_classes: {{{ELEVEN}}}",
    "priority weights outside 0–100": "priority_classes: {a: {weight: 101}}",
}


def test_there_is_a_case_for_every_feature_of_the_table() -> None:
    assert [feature.label for feature in TEAM_FEATURES] == list(TEAM_CASES)
    assert [feature.label for feature in POLICY_FEATURES] == list(POLICY_CASES)


@pytest.mark.parametrize("label", TEAM_CASES)
def test_a_team_asks_for_what_the_managed_backend_lacks(label: str) -> None:
    text = {"alpha": team(QUOTA + TEAM_CASES[label])}
    env = MANAGED + "  departments: {research: {}}\n" if label == "departments" else MANAGED
    found = [
        finding for finding in findings(text, env) if finding.id == "backend-feature" and finding.where.file.startswith("teams")
    ]
    assert [(finding.where.line, finding.message) for finding in found] == [(4, f"the managed backend doesn't have: {label}")]
    assert found[0].remedy == "remove it, or use the kueue backend"
    assert_well_formed(found[0])
    assert "backend-feature" not in ids(findings(text, env.replace("managed", "kueue")))


@pytest.mark.parametrize("label", POLICY_CASES)
def test_a_policy_asks_for_what_the_managed_backend_lacks(label: str) -> None:
    env = environment(f"governance:\n  backend: managed\n  {POLICY_CASES[label]}\n")
    found = [finding for finding in findings({}, env) if finding.id == "backend-feature"]
    assert [(finding.where.line, finding.message) for finding in found] == [(9, f"the managed backend doesn't have: {label}")]
    assert "backend-feature" not in ids(findings({}, env.replace("managed", "kueue")))


def test_what_both_backends_have() -> None:
    text = QUOTA + (
        "weight: 5\nsharing: {borrow: {ml.p5.48xlarge: {accelerators: 1}}}\npreemption: never\ndefault_priority: training\n"
        "state: held\nlabels: {a: b}\naccess: {groups: [people]}\n"
    )
    env = MANAGED + "  idle_sharing: true\n  idle_compute: first_come_first_served\n"
    assert ids(findings({"alpha": team(text)}, env)) == ["managed-needs-hyperpod"]


def test_numbers_of_the_managed_backend() -> None:
    cpu = [name for name, kind in instance_types().items() if kind.known and not kind.accelerators][: MANAGED_QUOTA_TYPES + 1]
    entries = "".join(f"  {name}: {{instances: 1}}\n" for name in cpu)
    env = MANAGED + "  overcommit: allow\n"
    assert "managed-quota-types" in ids(findings({"alpha": team("quota:\n" + entries)}, env))
    assert "managed-quota-types" not in ids(findings({"alpha": team("quota:\n" + entries)}, env.replace("managed", "kueue")))
    limit = {"alpha": team(QUOTA + "sharing: {borrow_limit: 501}\n")}
    assert "managed-borrow-limit" in ids(findings(limit, env))
    assert "managed-borrow-limit" not in ids(findings(limit, env.replace("managed", "kueue")))


def test_partitions_that_the_managed_backend_has_no_name_for() -> None:
    (profile, *_) = instance_types()["ml.p6-b300.48xlarge"].mig_profiles
    env = environment("governance: {backend: managed}\n", groups="g: {instance_type: ml.p6-b300.48xlarge, count: 1}")
    text = {"alpha": team(f"quota:\n  ml.p6-b300.48xlarge:\n    partitions: {{{profile}: 1}}\n")}
    (finding,) = [finding for finding in findings(text, env) if finding.id == "managed-mig-profile"]
    assert (finding.where.line, finding.where.column) == (5, 18)
    assert "managed-mig-profile" not in ids(findings(text, env.replace("managed", "kueue")))
