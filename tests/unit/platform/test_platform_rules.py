"""Rules of security groups, and the key's policy, as plain values."""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

import parliament
import pytest
from hypothesis import given
from hypothesis import strategies as st
from platform_support import ACCOUNT, ZONES, plan_of

from governance.platform.iam import text
from governance.platform.keypolicy import key_policy, logs_key_policy
from governance.platform.model import PlatformPlan
from governance.platform.rules import (
    ALL,
    ANYWHERE,
    ITSELF,
    OTHER,
    Direction,
    Rule,
    blocks,
    closed,
    control_plane_traffic,
    missing_rules,
    node_rules,
)

GROUP = "sg-0123456789abcdef0"
EXISTING = {
    "vpc": "vpc-0123456789abcdef0",
    "subnets": {zone: f"subnet-0123456789abcdef{index}" for index, zone in enumerate(ZONES)},
}
CLOSED = {"availability_zones": list(ZONES), "egress": "closed", "node_cidrs": {ZONES[1]: "100.64.0.0/16"}}


def closed_plan() -> PlatformPlan:
    return plan_of(network=CLOSED)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """Rules as EC2 returns them: the group itself is named by its id."""
    direction: Direction = draw(st.sampled_from(["ingress", "egress"]))
    protocol = draw(st.sampled_from([ALL, "tcp", "udp"]))
    ports: tuple[int | None, int | None] = (None, None)
    if protocol != ALL:
        first = draw(st.sampled_from([0, 443, 988, 1018, 1020]))
        ports = (first, draw(st.sampled_from([first, 1023, 65_535])))
    peer = draw(
        st.sampled_from(
            [
                {"group": GROUP},
                {"group": "sg-other"},
                {"cidr": ANYWHERE},
                {"cidr": "10.0.0.0/8"},
                {"cidr": "10.192.0.0/16"},
                {"cidr": "::/0"},
                {"prefix_list": "pl-s3"},
            ]
        )
    )
    return Rule(direction, protocol, *ports, **peer)


@st.composite
def wanted_rules(draw: st.DrawFn) -> Rule:
    found = draw(rules())
    return replace(found, group=ITSELF) if found.group == GROUP else found


# Covering -----------------------------------------------------------------------------------------------------------------------


@given(rules())
def test_a_rule_covers_itself(rule: Rule) -> None:
    assert rule.covers(rule)
    assert rule.covers(replace(rule, name="other", description="words"))


@given(rules(), rules(), rules())
def test_covering_is_an_order(one: Rule, two: Rule, three: Rule) -> None:
    if one.covers(two) and two.covers(three):
        assert one.covers(three)
    if one.covers(two) and two.covers(one):
        assert (one.direction, one.protocol, one.group, one.cidr) == (two.direction, two.protocol, two.group, two.cidr)


@given(rules(), rules())
def test_what_is_covered_is_let_through(broad: Rule, narrow: Rule) -> None:
    """Against another way to say it: every packet of a sample that the narrow rule lets through, the broad one does."""
    if broad.covers(narrow):
        assert [packet for packet in PACKETS if passes(narrow, packet) and not passes(broad, packet)] == []


PACKETS = [
    (direction, protocol, port, peer)
    for direction in ("ingress", "egress")
    for protocol in ("tcp", "udp", "icmp")
    for port in (0, 443, 500, 988, 1019, 1021, 1023, 40_000)
    for peer in (GROUP, "sg-other", "pl-s3", "10.192.1.1", "10.1.1.1", "8.8.8.8", "2001:db8::1")
]


def passes(rule: Rule, packet: tuple[str, str, int, str]) -> bool:
    direction, protocol, port, peer = packet
    if direction != rule.direction or rule.protocol not in (ALL, protocol):
        return False
    if rule.first is not None and rule.last is not None and not rule.first <= port <= rule.last:
        return False
    if peer.startswith(("sg-", "pl-")):
        return peer in (rule.group, rule.prefix_list)
    return (
        rule.cidr is not None
        and ip_network(peer).version == ip_network(rule.cidr).version
        and ip_network(peer).subnet_of(
            ip_network(rule.cidr)  # type: ignore[arg-type]
        )
    )


@pytest.mark.parametrize(
    ("broad", "narrow", "covered"),
    [
        (Rule("ingress", ALL, group=ITSELF), Rule("ingress", "tcp", 988, 988, group=ITSELF), True),
        (Rule("ingress", "tcp", 988, 988, group=ITSELF), Rule("ingress", ALL, group=ITSELF), False),
        (Rule("egress", ALL, group=ITSELF), Rule("ingress", ALL, group=ITSELF), False),
        (Rule("egress", ALL, cidr=ANYWHERE), Rule("egress", "tcp", 443, 443, cidr="10.0.0.0/8"), True),
        (Rule("egress", ALL, cidr="10.0.0.0/8"), Rule("egress", ALL, cidr=ANYWHERE), False),
        (Rule("egress", ALL, cidr="::/0"), Rule("egress", ALL, cidr=ANYWHERE), False),
        (Rule("ingress", "tcp", 1018, 1023, group=ITSELF), Rule("ingress", "tcp", 1020, 1024, group=ITSELF), False),
        (Rule("ingress", "udp", 0, 65_535, group=ITSELF), Rule("ingress", "tcp", 988, 988, group=ITSELF), False),
        # EFA's traffic has no addresses: a rule must name the group.
        (Rule("egress", ALL, cidr=ANYWHERE), Rule("egress", ALL, group=ITSELF), False),
    ],
)
def test_broad_and_narrow(broad: Rule, narrow: Rule, covered: bool) -> None:
    assert broad.covers(narrow) is covered


@given(st.lists(wanted_rules(), max_size=6), st.lists(rules(), max_size=6))
def test_with_the_missing_ones_nothing_is_missing(wanted: list[Rule], present: list[Rule]) -> None:
    missing = missing_rules(wanted, present, GROUP)
    assert set(missing) <= set(wanted)
    known = [replace(rule, group=ITSELF) if rule.group == GROUP else rule for rule in present]
    assert all(any(have.covers(rule) for have in (*known, *missing)) for rule in wanted)
    applied = [replace(rule, group=GROUP) if rule.group == ITSELF else rule for rule in missing]
    assert missing_rules(wanted, [*present, *applied], GROUP) == ()
    assert missing_rules(wanted, [], GROUP) == tuple(wanted)


@given(st.lists(wanted_rules(), max_size=6), st.lists(rules(), max_size=6), rules())
def test_a_rule_more_is_never_a_rule_more_missing(wanted: list[Rule], present: list[Rule], more: Rule) -> None:
    assert set(missing_rules(wanted, [*present, more], GROUP)) <= set(missing_rules(wanted, present, GROUP))


# What nodes need ----------------------------------------------------------------------------------------------------------------


def test_nodes_talk_to_each_other_and_out() -> None:
    found = {rule.name: rule for rule in node_rules(plan_of())}
    assert set(found) == {"all-in", "all-out", "lustre-in", "lustre-low-in", "out"}
    for name, direction in (("all-in", "ingress"), ("all-out", "egress")):
        assert (found[name].direction, found[name].protocol, found[name].group) == (direction, ALL, ITSELF)
    ports = [(found[name].first, found[name].last) for name in ("lustre-in", "lustre-low-in")]
    assert ports == [(988, 988), (1018, 1023)]
    assert (found["out"].direction, found["out"].cidr) == ("egress", ANYWHERE)


def test_a_closed_network_has_no_way_out() -> None:
    plan = closed_plan()
    assert closed(plan)
    assert blocks(plan) == ("10.192.0.0/16", "100.64.0.0/16")
    out = [rule for rule in node_rules(plan) if rule.direction == "egress" and rule.group is None]
    assert [(rule.protocol, rule.first, rule.last, rule.cidr or rule.prefix_list) for rule in out] == [
        ("tcp", 443, 443, "10.192.0.0/16"),
        ("tcp", 443, 443, "100.64.0.0/16"),
        ("tcp", 443, 443, OTHER),
    ]


def test_of_an_existing_network_nothing_is_assumed() -> None:
    plan = plan_of(network=EXISTING)
    assert not closed(plan)
    assert not closed(plan_of(network={**EXISTING, "egress": "closed"}))
    assert blocks(plan) == ()
    assert "out" in {rule.name for rule in node_rules(plan)}


@pytest.mark.parametrize("network", [{"availability_zones": list(ZONES)}, CLOSED, EXISTING])
def test_nothing_comes_in_from_addresses_and_every_rule_is_described(network: dict[str, Any]) -> None:
    plan = plan_of(network=network)
    traffic = control_plane_traffic(plan)
    for found in (node_rules(plan), traffic.nodes, traffic.control_plane):
        assert all(rule.cidr is None and rule.prefix_list is None for rule in found if rule.direction == "ingress")
        assert all(rule.description and rule.name for rule in found)
        assert len({rule.name for rule in found}) == len(found)
        # EC2 takes these characters, and 255 of them (API, IpRange.Description).
        assert all(set(rule.description) <= ALLOWED and len(rule.description) <= 255 for rule in found)


ALLOWED = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._-:/()#,@[]+=&;{}!$*")


def test_the_control_plane_reaches_kubelets_and_webhooks_and_nodes_the_api() -> None:
    traffic = control_plane_traffic(plan_of())
    sides = {(rule.direction, rule.first, rule.last) for rule in traffic.nodes}
    assert sides == {("egress", 443, 443), ("ingress", 443, 443), ("ingress", 1025, 65_535)}
    # What one side lets out, the other lets in.
    turned = {"ingress": "egress", "egress": "ingress"}
    assert {(turned[rule.direction], rule.first, rule.last) for rule in traffic.control_plane} == sides
    assert {rule.protocol for rule in (*traffic.nodes, *traffic.control_plane)} == {"tcp"}
    assert {rule.group for rule in (*traffic.nodes, *traffic.control_plane)} == {OTHER}


def test_other_nodes_of_an_existing_cluster_are_reached_too() -> None:
    traffic = control_plane_traffic(plan_of(network=EXISTING, eks={"existing": "theirs"}))
    assert traffic.nodes == traffic.control_plane
    assert [(rule.direction, rule.protocol, rule.group) for rule in traffic.nodes] == [
        ("ingress", ALL, OTHER),
        ("egress", ALL, OTHER),
    ]


# The key ------------------------------------------------------------------------------------------------------------------------


def key_document(region: str = "us-west-2", *, logs: bool = True) -> dict[str, Any]:
    plan = plan_of(region=region, network={"availability_zones": [f"{region}{letter}" for letter in "abc"]})
    document: dict[str, Any] = json.loads(text(logs_key_policy(plan) if logs else key_policy(plan)))
    return document


def linted(document: dict[str, Any]) -> list[str]:
    """What parliament finds in a key's policy. It takes it for an identity's, where `*` would not mean the key alone."""
    statements = [{key: value for key, value in one.items() if key != "Principal"} for one in document["Statement"]]
    found = parliament.analyze_policy_string(json.dumps({**document, "Statement": statements})).findings
    return [f"{finding.issue}: {finding.detail}" for finding in found if finding.issue != "RESOURCE_STAR"]


@pytest.mark.parametrize("logs", [True, False])
def test_the_keys_policies_pass_the_linter(logs: bool) -> None:
    document = key_document(logs=logs)
    found = linted(document)
    # As AWS documents it for log groups: one statement of all five actions, and an ARN as the context's value.
    context = {"UNKNOWN_CONDITION_FOR_ACTION": "for action kms:DescribeKey", "MISMATCHED_TYPE": "ArnLike"}
    assert [one for one in found if not (logs and any(one.startswith(k) and v in one for k, v in context.items()))] == []
    document["Statement"][0]["Action"].append("kms:GenerateDatakeyz")
    assert len(linted(document)) == len(found) + 1


def test_the_account_delegates_to_iam_and_nobody_else_is_named() -> None:
    (account,) = key_document(logs=False)["Statement"]
    assert account["Principal"] == {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}
    # HyperPod takes no key whose policy has conditions on the encryption context.
    assert "Condition" not in account


def test_cloudwatch_uses_its_key_for_the_accounts_log_groups_alone() -> None:
    account, logs = key_document()["Statement"]
    assert [account] == key_document(logs=False)["Statement"]
    assert logs["Principal"] == {"Service": "logs.us-west-2.amazonaws.com"}
    assert logs["Condition"] == {
        "ArnLike": {"kms:EncryptionContext:aws:logs:arn": f"arn:aws:logs:us-west-2:{ACCOUNT}:log-group:*"}
    }
    # The five that AWS documents for encrypted log groups.
    expected = {"kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"}
    assert set(logs["Action"]) == expected


@pytest.mark.parametrize(
    ("region", "partition", "service"),
    [
        ("cn-north-1", "aws-cn", "logs.cn-north-1.amazonaws.com.cn"),
        ("us-gov-west-1", "aws-us-gov", "logs.us-gov-west-1.amazonaws.com"),
        ("us-iso-east-1", "aws-iso", "logs.us-iso-east-1.c2s.ic.gov"),
    ],
)
def test_the_keys_policies_are_of_their_partition(region: str, partition: str, service: str) -> None:
    account, logs = key_document(region)["Statement"]
    assert account["Principal"]["AWS"].startswith(f"arn:{partition}:iam::")
    assert logs["Principal"] == {"Service": service}
    assert "arn:aws:" not in json.dumps([account, logs])
