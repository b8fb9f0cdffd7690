"""Every rule: its facts, what keeps it and what violates it, through the policies that Pulumi runs."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from platform_support import declared
from policy_cases import CASES, Case, StackCase, urn
from policy_stacks import STACKS
from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyCustomTimeouts,
    PolicyResource,
    PolicyResourceOptions,
    ResourceValidationArgs,
    StackValidationArgs,
)
from pulumi_policy.proxy import unknown_checking_proxy

import policies
from config.catalogue import instance_type
from config.findings import Severity, Where
from governance.platform.kubernetes import SUPPORT, kubernetes_findings
from policies.dispatch import NAME, Dispatch
from policies.model import Resource, Rule
from policies.rules import DOMAINS, RULES
from policies.rules.capacity import amount_of
from policies.rules.eks import SUPPORT_ENDS, version_supported
from policies.settings import load

SETTINGS = load()
Said = list[tuple[str, str, str | None]]
"""Level, message and URN."""


def options(protect: bool = False) -> PolicyResourceOptions:
    return PolicyResourceOptions(protect, [], None, [], PolicyCustomTimeouts(0, 0, 0), [])


def said_of(resource_type: str, properties: Mapping[str, Any], config: Mapping[str, Any] | None = None) -> Said:
    """What the pack says of one resource."""
    found: Said = []
    for policy in Dispatch(SETTINGS).policies()[:2]:
        own = config if policy.name == NAME else None
        args = ResourceValidationArgs(
            resource_type, unknown_checking_proxy(dict(properties)), urn(resource_type, "one"), "one", options(), None, own
        )
        _run(policy, args, found)
    return found


def said_of_stack(resources: list[Resource], config: Mapping[str, Any] | None = None) -> Said:
    """What the pack says of a stack, beside what it says of its resources. Inputs are what the engine shows before; outputs are
    those of a preview on a cluster that is still to come: none."""
    policies = Dispatch(SETTINGS).policies()
    seen = []
    by_urn = {}
    for one in resources:
        props = unknown_checking_proxy(dict(one.properties))
        own = ResourceValidationArgs(one.type, props, one.urn, one.name, options(one.protect), None, config)
        policies[0].validate(own, lambda *_: None)  # type: ignore[attr-defined]
        by_urn[one.urn] = PolicyResource(
            one.type, unknown_checking_proxy({}), one.urn, one.name, options(one.protect), None, None, [], {}
        )
        seen.append(by_urn[one.urn])
    for one in resources:
        by_urn[one.urn].property_dependencies = {
            key: [by_urn[u] for u in urns if u in by_urn] for key, urns in one.refers.items()
        }
    found: Said = []
    for policy in policies[2:]:
        _run(policy, StackValidationArgs(seen), found)
    return found


def _run(policy: Policy, args: Any, found: Said) -> None:
    level = policy.enforcement_level
    assert isinstance(level, EnforcementLevel)
    policy.validate(args, lambda message, urn=None: found.append((level.value, message, urn)))  # type: ignore[attr-defined]


def about(said: Said, rule: str) -> Said:
    return [one for one in said if one[1].startswith(f"[{rule}] ")]


def single() -> Iterator[Any]:
    for rule, cases in CASES.items():
        for case in cases:
            yield pytest.param(rule, case, id=f"{rule}-{case.type.rpartition(':')[2]}")


def stacks() -> Iterator[Any]:
    for rule, cases in STACKS.items():
        for index, case in enumerate(cases):
            yield pytest.param(rule, case, id=f"{rule}-{index}")


@pytest.mark.parametrize(("rule", "case"), list(single()))
def test_a_resource(rule: str, case: Case) -> None:
    for properties in case.kept:
        assert about(said_of(case.type, properties), rule) == []
    for properties, words in case.violating:
        found = about(said_of(case.type, properties), rule)
        assert found, f"{properties} is not found"
        assert words in " ".join(message for _, message, _ in found)
        assert {level for level, _, _ in found} == {RULES[rule].level}


@pytest.mark.parametrize(("rule", "case"), list(stacks()))
def test_a_stack(rule: str, case: StackCase) -> None:
    assert about(said_of_stack(case.stack()), rule) == []
    for changes, words in case.violating:
        found = about(said_of_stack(case.stack(changes)), rule)
        assert found, f"{changes} is not found"
        assert words in " ".join(message for _, message, _ in found)
        assert {level for level, _, _ in found} == {RULES[rule].level}


def test_every_check_has_cases() -> None:
    """Both those on resources and those on the stack, of the same rule too."""
    assert {rule.id for rule in RULES.values() if rule.check} == set(CASES)
    assert {rule.id for rule in RULES.values() if rule.whole} == set(STACKS)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_is_described(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.id)
    assert len(rule.title) > 15
    assert not rule.title.endswith(".")
    assert rule.remedy.endswith(".")
    assert rule.anchors
    assert rule.check is None or rule.types
    assert rule.url == f"docs/policies.md#{rule.id}"
    message = re.compile(
        r"own|CKV2?_(AWS|K8S)_\d+|CIS \d+(\.\d+)*|[A-Za-z0-9]+\.\d+|kube-linter [a-z-]+|aws-eks-[a-z-]+|terraform-aws-eks .+"
    )
    for anchor in rule.anchors:
        assert message.fullmatch(anchor), anchor


def test_ids_are_unique() -> None:
    ids = [rule.id for domain in DOMAINS for rule in domain.rules]
    assert len(ids) == len(set(ids)) == len(RULES)


DEMANDS = [
    "CKV_AWS_39 CKV_AWS_38 CIS_5.4.3 CKV_AWS_58 CKV_AWS_37 CKV_AWS_339 CIS_4.1.7 own CKV_AWS_100 CKV_AWS_79 CKV_AWS_341",
    "CKV_AWS_8 CKV_AWS_130 CKV2_AWS_11 CKV2_AWS_12 CKV_AWS_24 CKV_AWS_23 CKV_AWS_382 EC2.55 EC2.10 CKV_AWS_62 CKV_AWS_355",
    "CKV_AWS_286 CKV_AWS_274 CKV_AWS_60 CKV_AWS_53 CKV_AWS_145 CKV_AWS_21 S3.5 S3.6 S3.12 CKV_AWS_18 CKV_AWS_300 CKV_AWS_7",
    "CKV2_AWS_64 CKV_AWS_33 CKV_AWS_158 CKV_AWS_338 ECR.1 ECR.2 ECR.3 CKV_K8S_49 CKV_K8S_155 CKV_K8S_158 CIS_4.1.2 CKV_K8S_21",
    "CIS_4.2.1 CIS_4.3.2 CIS_4.5.1 CKV_K8S_16 CKV_K8S_20 CKV_K8S_38 CIS_4.1.5 GuardDuty.5 GuardDuty.7",
]
"""What checkov, AWS's own standard and CIS demand of what a platform like this declares."""


@pytest.mark.parametrize("anchor", " ".join(DEMANDS).split())
def test_a_demand_of_the_field_has_its_rule(anchor: str) -> None:
    assert [rule.id for rule in RULES.values() if anchor.replace("_", " ") in {a.replace("_", " ") for a in rule.anchors}]


def test_a_message_names_rule_remedy_and_page() -> None:
    ((level, message, where), *_) = about(said_of("aws:kms/key:Key", {"enableKeyRotation": False}), "kms-rotation")
    assert level == "mandatory"
    assert message == "[kms-rotation] the key is never rotated. Set `enableKeyRotation: true`. docs/policies.md#kms-rotation"
    assert where == urn("aws:kms/key:Key", "one")


def test_instances_in_the_settings_are_as_in_the_catalogue() -> None:
    for name, amounts in SETTINGS.parameters.instances.items():
        kind = instance_type(name)
        assert amount_of(amounts["cpu"]) == kind.vcpu
        assert amount_of(amounts["memory"]) == kind.memory_mib * 2**20
        assert amounts.get("accelerators", 0) == amounts.get("nvidia.com/gpu", 0) == (kind.accelerators or 0)


@pytest.mark.parametrize("version", [f"1.{minor}" for minor in range(26, 38)])
def test_a_kubernetes_version_is_refused_where_and_when_the_check_refuses_it(version: str) -> None:
    """The pack has a calendar of its own, which must be that of the check: on the day of an end, and on the day before."""
    cluster, where = declared(eks={"version": version}), Where("environments/dev.yaml", 1, 1)
    ends = {day for both in SUPPORT.values() for day in both} | set(SUPPORT_ENDS.values())
    for day in sorted(ends | {end - timedelta(1) for end in ends} | {date(2026, 11, 21)}):
        found = list(kubernetes_findings(cluster, "managed", day, where, where))
        refused = any(one.severity is Severity.ERROR for one in found)
        assert bool(list(version_supported({"version": version}, day))) is refused, f"{day}: {found}"


def test_the_pack_stands_by_itself_and_its_rules_know_no_pulumi() -> None:
    """So it can be copied into another project; and a rule is judged wherever there are properties."""
    folder = Path(policies.__file__).parent
    for file in folder.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        found |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        allowed = {"policies", "yaml", *sys.stdlib_module_names} | ({"pulumi_policy"} if file.parent == folder else set())
        assert {name.partition(".")[0] for name in found} <= allowed, file
