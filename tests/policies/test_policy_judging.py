"""What isn't known, what can't be read, and what the settings make of a violation."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from policy_cases import EKS, HYPERPOD, KUEUE, NAMESPACE, QUOTA, ROLE_POLICY, allow, document, group, urn, vpc
from pulumi_policy import PolicyConfigSchema, ResourceValidationArgs
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE
from test_policy_rules import about, options, said_of, said_of_stack

from policies.dispatch import Dispatch, schema
from policies.judge import Table
from policies.model import Resource
from policies.rules import RULES
from policies.settings import FILE, Settings, SettingsError, Waiver, load, parse
from policies.state import main

ROOT = Path(__file__).parents[2]
OPEN = {"ipProtocol": "tcp", "fromPort": 22, "toPort": 22, "cidrIpv4": "0.0.0.0/0", "description": "x"}
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"


# Unknown values


def test_a_policy_that_is_not_known_yet_is_told_and_not_passed_over() -> None:
    found = said_of(ROLE_POLICY, {"policy": UNKNOWN_STRING_VALUE})
    assert {level for level, _, _ in found} == {"advisory"}
    assert [message for _, message, _ in about(found, "iam-no-escalation")] == [
        "[iam-no-escalation] can't be told: `policy` is not known before it is made"
    ]


def test_the_same_policy_is_refused_when_it_is_known() -> None:
    ((level, _, _),) = about(said_of(ROLE_POLICY, document(allow("iam:PassRole", "*"))), "iam-no-escalation")
    assert level == "mandatory"


@pytest.mark.parametrize(
    ("rule", "type_", "properties"),
    [
        ("sg-open-ingress", INGRESS, {**OPEN, "securityGroupId": UNKNOWN_STRING_VALUE}),
        (
            "eks-public-endpoint-open",
            EKS,
            {"roleArn": UNKNOWN_STRING_VALUE, **vpc(publicAccessCidrs=["0.0.0.0/0"], subnetIds=[UNKNOWN_STRING_VALUE])},
        ),
        ("hyperpod-node-recovery", HYPERPOD, {"nodeRecovery": "None", **group(executionRole=UNKNOWN_STRING_VALUE)}),
        (
            "iam-no-administrator",
            "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            {"role": UNKNOWN_STRING_VALUE, "policyArn": "arn:x/AdministratorAccess"},
        ),
    ],
)
def test_what_is_decisive_is_known_in_a_preview(rule: str, type_: str, properties: dict[str, Any]) -> None:
    """Ids and ARNs of what is still to be made stand beside it."""
    ((level, message, _),) = about(said_of(type_, properties), rule)
    assert level == RULES[rule].level
    assert "can't be told" not in message


@pytest.mark.parametrize(
    ("rule", "type_", "properties"),
    [
        ("logs-encrypted", "aws:cloudwatch/logGroup:LogGroup", {"kmsKeyId": UNKNOWN_STRING_VALUE}),
        (
            "eks-secrets-encrypted",
            EKS,
            {"encryptionConfig": {"provider": {"keyArn": UNKNOWN_STRING_VALUE}, "resources": ["secrets"]}},
        ),
        (
            "hyperpod-volumes-encrypted",
            HYPERPOD,
            group(instanceStorageConfigs=[{"ebsVolumeConfig": {"volumeKmsKeyId": UNKNOWN_STRING_VALUE}}]),
        ),
        ("eks-addon-version", "aws:eks/addon:Addon", {"addonName": "coredns", "addonVersion": UNKNOWN_STRING_VALUE}),
    ],
)
def test_that_a_key_is_set_is_known_before_the_key_is(rule: str, type_: str, properties: dict[str, Any]) -> None:
    assert about(said_of(type_, properties), rule) == []


def test_a_violation_found_before_an_unknown_value_counts() -> None:
    groups = [
        {"instanceGroupName": "a", "lifeCycleConfig": {"sourceS3Uri": "s3://scripts/x"}},
        {"instanceGroupName": "b", "lifeCycleConfig": {"sourceS3Uri": UNKNOWN_STRING_VALUE}},
    ]
    ((level, message, _),) = about(said_of(HYPERPOD, {"instanceGroups": groups}), "hyperpod-lifecycle-bucket")
    assert (level, "group a" in message) == ("mandatory", True)


def test_a_stack_without_capacity_says_that_it_can_not_add_up() -> None:
    quota = {"computeQuotaConfig": {"computeQuotaResources": [{"instanceType": "ml.p5.48xlarge", "count": 1}]}}
    stack = [Resource(QUOTA, urn(QUOTA, "main/a/quota"), "main/a/quota", quota)]
    ((level, message, _),) = about(said_of_stack(stack), "quota-within-capacity")
    assert (level, "can't be told: the settings state no capacity for accelerators of ml.p5.48xlarge" in message) == (
        "advisory",
        True,
    )
    stated = {"capacity": {"ml.p5.48xlarge": {"accelerators": 7}}}
    ((level, message, _),) = about(said_of_stack(stack, stated), "quota-within-capacity")
    assert (level, "8 are guaranteed, 7 are there" in message) == ("mandatory", True)


def test_what_can_not_be_read_is_refused() -> None:
    ((level, message, _),) = about(said_of(ROLE_POLICY, {"policy": "{"}), "iam-no-escalation")
    assert (level, "another shape" in message) == ("mandatory", True)


# Levels and waivers


def test_a_level_is_changed_for_all_policies_by_the_configuration_of_the_first() -> None:
    closed = {"levels": {"sg-open-ingress": "advisory"}}
    ((level, _, _),) = about(said_of(INGRESS, OPEN, closed), "sg-open-ingress")
    assert level == "advisory"
    assert about(said_of(INGRESS, OPEN, {"levels": {"sg-open-ingress": "disabled"}}), "sg-open-ingress") == []
    ((level, _, _),) = about(
        said_of("aws:cloudwatch/logGroup:LogGroup", {"retentionInDays": 1}, {"levels": {"logs-retention": "mandatory"}}),
        "logs-retention",
    )
    assert level == "mandatory"


def test_a_disabled_rule_is_silent_on_what_it_can_not_know() -> None:
    found = said_of(ROLE_POLICY, {"policy": UNKNOWN_STRING_VALUE}, {"levels": {"iam-no-escalation": "disabled"}})
    assert about(found, "iam-no-escalation") == []


def waiver(until: str, **more: str) -> dict[str, Any]:
    return {"waivers": [{"rule": "sg-open-ingress", "reason": "A partner's test until June", "until": until, **more}]}


def test_a_waiver_makes_a_violation_advice_that_says_why() -> None:
    ((level, message, _),) = about(said_of(INGRESS, OPEN, waiver("2999-01-31")), "sg-open-ingress")
    assert level == "advisory"
    assert "(waived until 2999-01-31: A partner's test until June)" in message


def test_a_waiver_that_has_ended_waives_nothing() -> None:
    ((level, message, _),) = about(said_of(INGRESS, OPEN, waiver("2001-01-31")), "sg-open-ingress")
    assert level == "mandatory"
    assert "(its waiver ended on 2001-01-31)" in message


@pytest.mark.parametrize(
    ("more", "waived"),
    [({"stack": "dev"}, True), ({"stack": "prod"}, False), ({"resource": "one"}, True), ({"resource": "two*"}, False)],
)
def test_a_waiver_holds_for_what_it_names(more: dict[str, str], waived: bool) -> None:
    ((level, _, _),) = about(said_of(INGRESS, OPEN, waiver("2999-01-31", **more)), "sg-open-ingress")
    assert (level == "advisory") is waived


def test_a_waiver_holds_on_its_last_day() -> None:
    settings = Settings(waivers=(Waiver("kms-rotation", "Somebody else's key", date(2026, 6, 30)),))
    rule = RULES["kms-rotation"]
    assert settings.verdict(rule, urn("x", "y"), date(2026, 6, 30)).level == "advisory"
    assert settings.verdict(rule, urn("x", "y"), date(2026, 7, 1)).level == "mandatory"


def test_every_mistake_in_the_settings_is_told_at_once(tmp_path: Path) -> None:
    data = {
        "level": {},
        "levels": {"no-such-rule": "mandatory", "kms-rotation": "strict"},
        "waivers": [{"rule": "nothing", "reason": "short", "until": "soon", "why": 1}, "x"],
        "tags": "owner",
        "instances": {"ml.p5.48xlarge": {"cpu": "many"}},
        "capacity": [],
    }
    with pytest.raises(SettingsError) as error:
        parse(data, "settings.yaml")
    said = "\n".join(error.value.problems)
    words = [
        "setting `level`",
        "`no-such-rule`",
        "`strict`",
        "`nothing`",
        "10 characters",
        "`soon`",
        "field `why`",
        "waivers[1]: must be a map",
    ]
    for word in [*words, "tags must be", "instances must hold amounts", "capacity must be a map"]:
        assert word in said, word
    with pytest.raises(SettingsError, match="can't be read"):
        load(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_text("a: [")
    with pytest.raises(SettingsError, match="is no YAML"):
        load(tmp_path / "bad.yaml")
    with pytest.raises(SettingsError, match="must be a map"):
        parse([], "x")


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ({"until": datetime(2027, 3, 31, tzinfo=UTC)}, "is no day"),
        ({"rule": ["sg-open-ingress"]}, "rule must be a text"),
        ({"rule": {}}, "rule must be a text"),
        ({"resource": 5}, "resource must be a text"),
        ({"stack": ["dev"]}, "stack must be a text"),
        ({"reason": ["a partner's", "test until June"]}, "reason must be a text"),
    ],
)
def test_a_waiver_of_another_shape_is_a_finding(mistake: dict[str, Any], words: str) -> None:
    (right,) = waiver("2999-01-31")["waivers"]
    with pytest.raises(SettingsError) as error:
        parse({"waivers": [right | mistake]}, "settings.yaml")
    (problem,) = error.value.problems
    assert problem.startswith("waivers[0]: ")
    assert words in problem


def test_a_time_of_day_in_a_file_is_no_day(tmp_path: Path) -> None:
    head = "waivers: [{rule: kms-rotation, reason: Somebody else's key, until: "
    (tmp_path / "time.yaml").write_text(f"{head}2027-03-31T00:00:00Z}}]")
    with pytest.raises(SettingsError, match="`2027-03-31 00:00:00\\+00:00` is no day"):
        load(tmp_path / "time.yaml")
    (tmp_path / "never.yaml").write_text(f"{head}2027-02-30}}]")
    with pytest.raises(SettingsError, match="is no YAML"):
        load(tmp_path / "never.yaml")


def test_the_configuration_has_the_settings_of_the_file() -> None:
    found = schema()
    assert isinstance(found, PolicyConfigSchema)
    settings = {line.partition(":")[0] for line in FILE.read_text().splitlines() if line[:1].isalpha()}
    assert set(found.properties) == settings
    assert set(found.properties["levels"]["properties"]) == set(RULES)


# Cost


def test_a_resource_meets_the_rules_of_its_type_alone() -> None:
    table = Table()
    assert table.of("aws:ec2/route:Route") == ()
    assert {rule.id for rule in table.of(f"{KUEUE}Topology")} == {"topology-levels", "namespace-not-default"}


def test_pulumi_sees_few_policies_however_many_rules_there_are() -> None:
    policies = Dispatch(load()).policies()
    assert len(policies) == 4
    assert len({policy.name for policy in policies}) == 4
    assert policies[0].config_schema is not None


def test_the_first_policy_learns_for_all_from_any_resource() -> None:
    dispatch = Dispatch(load())
    first = dispatch.policies()[0]
    config = {"levels": {"kms-rotation": "disabled"}}
    first.validate(ResourceValidationArgs("pulumi:pulumi:Stack", {}, "", "s", options(), None, config), lambda *_: None)  # type: ignore[attr-defined]
    assert dispatch.settings.level(RULES["kms-rotation"]) == "disabled"


def test_a_hundred_teams_are_no_hundred_lines() -> None:
    stack = [Resource(NAMESPACE, urn(NAMESPACE, f"main/t{n:02}/namespace"), f"main/t{n:02}/namespace", {}) for n in range(100)]
    ((_, message, where),) = about(said_of_stack(stack), "namespace-limits")
    assert where == stack[0].urn
    assert message.endswith("The same of main/t01/namespace, main/t02/namespace, main/t03/namespace and 96 more.")
    assert len(about(said_of_stack(stack[:3]), "namespace-limits")) == 3


# State, by itself


def export(*resources: dict[str, Any]) -> dict[str, Any]:
    return {"version": 3, "deployment": {"resources": list(resources)}}


def resource(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"urn": urn(INGRESS, "main/open"), "type": INGRESS, "custom": True, "id": "sgr-1", "inputs": properties, **more}


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (export(), 0),
        (export(resource({**OPEN, "cidrIpv4": "10.0.0.0/8"})), 0),
        (export(resource(OPEN)), 1),
        (export(resource(OPEN, delete=True)), 0),
        ({"deployment": None}, 4),
        ([], 4),
    ],
)
def test_exit_codes_of_judging_a_state(state: Any, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "state.json"
    file.write_text(json.dumps(state))
    assert main([str(file)]) == code
    said = capsys.readouterr()
    assert ("[sg-open-ingress]" in said.out) is (code == 1)
    assert ("no export" in said.err) is (code == 4)


def test_a_state_is_judged_under_other_settings_and_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, settings = tmp_path / "state.json", tmp_path / "settings.yaml"
    state.write_text(json.dumps(export(resource(OPEN))))
    settings.write_text("levels: {sg-open-ingress: advisory}\n")
    assert main([str(state), "--settings", str(settings), "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["rule"], one["level"], one["urn"]) == ("sg-open-ingress", "advisory", urn(INGRESS, "main/open"))
    settings.write_text("levels: {nothing: advisory}\n")
    assert main([str(state), "--settings", str(settings)]) == 4
    assert "there is no rule `nothing`" in capsys.readouterr().err


def test_a_secret_in_a_state_is_set_and_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:x"}
    one = {"urn": urn(ROLE_POLICY, "main/policy"), "type": ROLE_POLICY, "inputs": {"policy": secret}}
    (tmp_path / "state.json").write_text(json.dumps(export(one)))
    assert main([str(tmp_path / "state.json")]) == 0
    assert "[iam-no-escalation] can't be told" in capsys.readouterr().out


def test_the_module_reads_standard_input() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "policies.state", "-"],
        input=json.dumps(export(resource(OPEN))),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "mandatory: main/open: [sg-open-ingress]" in run.stdout


def test_the_pack_refuses_wrong_settings_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("levels: {nothing: advisory}\n")
    env = {"HYPERPOD_POLICY_SETTINGS": str(tmp_path / "settings.yaml"), "PATH": "/usr/bin:/bin"}
    run = subprocess.run(
        [str(ROOT / "policies/serve"), "127.0.0.1:1"], env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert run.returncode == 1
    assert "there is no rule `nothing`" in run.stderr
    assert "Traceback" not in run.stderr
