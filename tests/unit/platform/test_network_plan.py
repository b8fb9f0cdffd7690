"""Dividing address blocks, what can't be divided, and the addresses that instances take."""

from __future__ import annotations

from ipaddress import IPv4Network
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from platform_support import plan_of

from config.catalogue import InstanceType, instance_types
from config.network import Network
from governance.platform.addresses import address_shortages, addresses_needed, free_addresses
from governance.platform.model import ZonePlan
from governance.platform.network import (
    DEFAULT_CIDR,
    ENDPOINTS,
    MAX_BLOCKS,
    RESTRICTED_ENDPOINTS,
    network_plan,
    network_problems,
    smallest_block,
)

ZONES = tuple(f"us-west-2{letter}" for letter in "abcdef")
VPC, OTHER_VPC = "vpc-0123456789abcdef0", "vpc-0123456789abcdef1"
SUBNETS = {zone: f"subnet-0123456789abcdef{index}" for index, zone in enumerate(ZONES)}
EGRESS = ("nat", "nat_per_zone", "closed")


def new(zones: int = 3, **settings: Any) -> Network:
    return Network(availability_zones=ZONES[:zones], **settings)


def existing(zones: int = 2, **settings: Any) -> Network:
    return Network(vpc=VPC, subnets={zone: SUBNETS[zone] for zone in ZONES[:zones]}, **settings)


def plans(network: Network) -> tuple[ZonePlan, ...]:
    return network_plan(network).zones


def subnets(network: Network) -> list[IPv4Network]:
    """Every subnet of a new network."""
    found = [(zone.nodes_cidr, zone.control_plane_cidr, zone.public_cidr) for zone in plans(network)]
    return [IPv4Network(cidr) for zone in found for cidr in zone if cidr]


def told(network: Network, **settings: Any) -> list[tuple[Any, ...]]:
    return [place for place, _, _ in network_problems(network, **settings)]


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """New networks that nothing is wrong with."""
    zones = draw(st.integers(3, 6))
    own = draw(st.lists(st.sampled_from(ZONES[:zones]), unique=True, max_size=MAX_BLOCKS - 1))
    prefix = draw(st.integers(16, 21))
    cidr = draw(st.one_of(st.none(), st.integers(0, 2 ** (prefix - 12) - 1).map(lambda n: _block("172.16.0.0/12", prefix, n))))
    sizes = draw(st.lists(st.integers(16, 28), min_size=len(own), max_size=len(own)))
    settings: dict[str, Any] = {"cidr": cidr} if cidr else {}
    blocks = {
        zone: _block(f"100.{64 + index}.0.0/16", size, 0) for index, (zone, size) in enumerate(zip(own, sizes, strict=True))
    }
    return new(zones, node_cidrs=blocks, egress=draw(st.sampled_from(EGRESS)), **settings)


def _block(whole: str, prefix: int, number: int) -> str:
    start = int(IPv4Network(whole).network_address) + number * 2 ** (32 - prefix)
    return str(IPv4Network((start, prefix)))


# Dividing -----------------------------------------------------------------------------------------------------------------------


@given(networks())
def test_subnets_lie_in_the_vpc_and_apart(network: Network) -> None:
    blocks = [IPv4Network(network_plan(network).cidr or ""), *map(IPv4Network, network.node_cidrs.values())]
    found = subnets(network)
    assert all(any(subnet.subnet_of(block) for block in blocks) for subnet in found)
    assert [pair for pair in combinations(found, 2) if pair[0].overlaps(pair[1])] == []
    assert all(16 <= subnet.prefixlen <= 28 for subnet in found)
    assert list(network_problems(network)) == []


@given(networks())
def test_node_subnets_are_equal_and_as_large_as_can_be(network: Network) -> None:
    block = IPv4Network(network_plan(network).cidr or "")
    shares = {zone.zone: IPv4Network(zone.nodes_cidr or "") for zone in plans(network) if not zone.nodes_associated}
    assert len({share.prefixlen for share in shares.values()}) <= 1
    assert all(
        IPv4Network(zone.nodes_cidr or "") == IPv4Network(network.node_cidrs[zone.zone])
        for zone in plans(network)
        if zone.nodes_associated
    )
    if len(shares) == len(network.zones):
        (prefix,) = {share.prefixlen for share in shares.values()}
        # One size larger, there would be parts for the nodes alone, and none for the small subnets.
        assert 2 ** (prefix - 1 - block.prefixlen) <= len(network.zones) < 2 ** (prefix - block.prefixlen)


@given(networks())
def test_small_subnets_are_of_their_sizes(network: Network) -> None:
    found = plans(network)
    assert {IPv4Network(zone.control_plane_cidr or "").prefixlen for zone in found} == {28}
    public = [IPv4Network(zone.public_cidr) for zone in found if zone.public_cidr]
    assert len(public) == {"nat": 1, "nat_per_zone": len(found), "closed": 0}[network.egress]
    assert all(26 <= subnet.prefixlen <= 28 for subnet in public)


@given(networks(), st.sampled_from(EGRESS))
def test_a_zone_keeps_its_subnets(network: Network, egress: str) -> None:
    """Whatever the way out, and whatever zones come after: if they are more than three that share, with blocks of their own."""
    before = plans(network)
    assert plans(network) == before
    grown = network.model_copy(update={"egress": egress})
    if len(network.zones) < 6 and len(network.node_cidrs) < MAX_BLOCKS - 1:
        added = ZONES[len(network.zones)]
        grown = grown.model_copy(
            update={
                "availability_zones": (*network.zones, added),
                "node_cidrs": {**network.node_cidrs, added: "100.100.0.0/16"},
            }
        )
    after = plans(grown)[: len(before)]
    assert [(zone.nodes_cidr, zone.control_plane_cidr) for zone in after] == [
        (zone.nodes_cidr, zone.control_plane_cidr) for zone in before
    ]
    both = [(one.public_cidr, other.public_cidr) for one, other in zip(before, after, strict=True)]
    assert all(one == other for one, other in both if one and other)


@pytest.mark.parametrize("zones", [4, 5])
def test_zones_after_the_fourth_move_nothing(zones: int) -> None:
    assert plans(new(zones + 1))[:zones] == plans(new(zones))


def test_a_fourth_zone_that_shares_the_block_halves_the_parts() -> None:
    assert [zone.nodes_cidr for zone in plans(new(3))] == ["10.192.0.0/18", "10.192.64.0/18", "10.192.128.0/18"]
    assert [zone.nodes_cidr for zone in plans(new(4))] == ["10.192.0.0/19", "10.192.32.0/19", "10.192.64.0/19", "10.192.96.0/19"]
    fourth = {ZONES[3]: "10.200.0.0/16"}
    assert plans(new(4, node_cidrs=fourth))[:3] == plans(new(3))


def test_a_block_of_its_own_leaves_the_other_zones_where_they_are() -> None:
    moved = plans(new(3, node_cidrs={ZONES[0]: "10.200.0.0/16"}))
    assert moved[0] == ZonePlan(ZONES[0], "10.200.0.0/16", True, "10.192.224.0/28", "10.192.192.0/26")
    assert moved[1:] == plans(new(3))[1:]


@given(st.integers(3, 6), st.lists(st.sampled_from(ZONES), unique=True, max_size=4))
def test_the_smallest_block_is_the_smallest(zones: int, own: list[str]) -> None:
    settings = {"node_cidrs": {zone: f"10.{200 + index}.0.0/24" for index, zone in enumerate(own) if zone in ZONES[:zones]}}
    smallest = smallest_block(new(zones, **settings))
    fits = new(zones, cidr=f"10.8.0.0/{smallest}", egress="nat_per_zone", **settings)
    assert len(plans(fits)) == zones
    assert list(network_problems(fits)) == []
    small = new(zones, cidr=f"10.8.0.0/{smallest + 1}", egress="nat_per_zone", **settings)
    assert told(small) == [("cidr",)]
    with pytest.raises(ValueError, match="too small"):
        network_plan(small)


def test_endpoints_are_those_of_closed_networks_and_where_asked_for() -> None:
    assert network_plan(new(3)).endpoints == ()
    assert network_plan(new(3, interface_endpoints=True)).endpoints == ENDPOINTS
    assert network_plan(new(3, egress="closed"), restricted=True).endpoints == (*ENDPOINTS, *RESTRICTED_ENDPOINTS)
    assert network_plan(existing()).endpoints == network_plan(existing(egress="closed")).endpoints == ()
    # AWS's own list for private subnets: without one of these, nodes never join.
    assert {"ec2", "ecr.api", "ecr.dkr", "sts", "logs", "ssm", "ssmmessages", "ec2messages", "eks-auth"} <= set(ENDPOINTS)


def test_an_existing_network_is_taken_as_it_is() -> None:
    found = network_plan(existing(control_plane_subnets=(SUBNETS[ZONES[4]], SUBNETS[ZONES[5]]), security_group="sg-01234567"))
    assert (found.vpc, found.cidr, found.security_group) == (VPC, None, "sg-01234567")
    assert found.zones == tuple(ZonePlan(zone, subnet=SUBNETS[zone]) for zone in ZONES[:2])
    assert found.control_plane_subnets == (SUBNETS[ZONES[4]], SUBNETS[ZONES[5]])
    assert network_plan(existing()).control_plane_subnets == tuple(SUBNETS[zone] for zone in ZONES[:2])


# What can't be ------------------------------------------------------------------------------------------------------------------

FOUR = {zone: f"10.{200 + index}.0.0/16" for index, zone in enumerate(ZONES[:4])}
WRONG: list[tuple[Network, tuple[Any, ...], str, str]] = [
    (Network(), (), "neither made nor taken", "give availability_zones"),
    (new(subnets=SUBNETS), ("subnets",), "an existing VPC", "add `vpc:`"),
    (new(control_plane_subnets=tuple(SUBNETS.values())[:2]), ("control_plane_subnets",), "an existing VPC", "add `vpc:`"),
    (new(security_group="sg-01234567"), ("security_group",), "an existing VPC", "add `vpc:`"),
    (new(cidr="10.0.0.0/23"), ("cidr",), "too small for the subnets of 3 zones", "use /22 or larger"),
    (new(6, cidr="10.0.0.0/22"), ("cidr",), "too small for the subnets of 6 zones", "use /21 or larger"),
    (new(node_cidrs={ZONES[4]: "10.9.0.0/16"}), ("node_cidrs", ZONES[4]), "no zone", "add it to availability_zones"),
    (new(node_cidrs={ZONES[0]: "10.192.64.0/20"}), ("node_cidrs", ZONES[0]), "overlaps with `cidr`", "another block"),
    (
        new(node_cidrs={ZONES[0]: "10.9.0.0/16", ZONES[1]: "10.9.128.0/17"}),
        ("node_cidrs", ZONES[1]),
        f"overlaps with that of {ZONES[0]}, 10.9.0.0/16",
        "another block",
    ),
    (new(5, node_cidrs={**FOUR, ZONES[4]: "10.210.0.0/16"}), ("node_cidrs",), "6 blocks", "at most 4"),
    (new(node_cidrs={ZONES[0]: "172.16.0.0/16"}), ("node_cidrs", ZONES[0]), "another private range", "100.64.0.0/10"),
    (new(cidr="100.64.0.0/16", node_cidrs={ZONES[0]: "10.9.0.0/16"}), ("node_cidrs", ZONES[0]), "another private range", ""),
    (new(cidr="172.16.0.0/16", node_cidrs={ZONES[0]: "172.31.0.0/18"}), ("node_cidrs", ZONES[0]), "AWS keeps", ""),
    (new(cidr="10.1.0.0/16", node_cidrs={ZONES[0]: "10.0.0.0/17"}), ("node_cidrs", ZONES[0]), "AWS keeps 10.0.0.0/16", ""),
    (Network(vpc=VPC), ("vpc",), "no subnets for nodes", "add `subnets:`"),
    (existing(1), ("subnets",), "those of the nodes are in one", "add `control_plane_subnets:`"),
    (existing(3, control_plane_subnets=(SUBNETS[ZONES[0]],)), ("control_plane_subnets",), "2 zones", "in another zone"),
    (existing(2, availability_zones=ZONES[:3]), ("availability_zones",), "no effect on the existing VPC", "or `vpc`"),
    (existing(2, cidr=DEFAULT_CIDR), ("cidr",), f"`{VPC}`", "remove it"),
    (existing(2, egress="nat"), ("egress",), "no effect", "remove it"),
    (existing(2, flow_log_days=30), ("flow_log_days",), "no effect", "remove it"),
    (existing(2, interface_endpoints=True), ("interface_endpoints",), "no effect", "remove it"),
    (existing(2, node_cidrs={ZONES[0]: "10.9.0.0/16"}), ("node_cidrs",), "no effect", "remove it"),
    (
        Network(vpc=VPC, subnets={ZONES[0]: SUBNETS[ZONES[0]], ZONES[1]: SUBNETS[ZONES[0]]}),
        ("subnets", ZONES[1]),
        f"is that of {ZONES[0]} too",
        "once",
    ),
]


@pytest.mark.parametrize(("network", "place", "message", "remedy"), WRONG, ids=[str(n) for n in range(len(WRONG))])
def test_what_can_not_be_is_told_with_its_place(network: Network, place: tuple[Any, ...], message: str, remedy: str) -> None:
    (found,) = network_problems(network)
    assert found[0] == place
    assert message in found[1]
    assert remedy in found[2]


def test_everything_is_told_at_once() -> None:
    wrong = {ZONES[0]: "10.0.0.0/16", ZONES[5]: "172.16.0.0/16"}
    found = told(new(3, cidr="10.0.0.0/28", node_cidrs=wrong, security_group="sg-01234567"))
    assert sorted(found) == sorted(
        [
            ("security_group",),
            ("cidr",),
            ("node_cidrs", ZONES[0]),  # overlaps
            ("node_cidrs", ZONES[0]),  # AWS keeps it
            ("node_cidrs", ZONES[5]),  # no such zone
            ("node_cidrs", ZONES[5]),  # another private range
        ]
    )


def test_blocks_that_a_vpc_takes() -> None:
    assert told(new(5, node_cidrs=FOUR)) == []
    assert told(new(cidr="100.64.0.0/16", node_cidrs={ZONES[0]: "100.65.0.0/16"})) == []
    assert told(new(cidr="192.168.0.0/16", node_cidrs={ZONES[0]: "100.65.0.0/16"})) == []
    assert told(new(cidr="10.2.0.0/16", node_cidrs={ZONES[0]: "10.0.0.0/16"})) == []


def test_an_existing_control_plane_chooses_no_subnets() -> None:
    assert told(existing(1), existing_eks=True) == []
    assert told(Network(vpc=VPC), existing_eks=True) == [("vpc",)]


# Addresses ----------------------------------------------------------------------------------------------------------------------

PUBLISHED = {
    "ml.t3.medium": (6, 1),
    "ml.m5.large": (10, 1),
    "ml.m5.4xlarge": (30, 1),
    "ml.c6g.medium": (4, 1),
    "ml.c5.18xlarge": (50, 1),
    "ml.m8a.16xlarge": (64, 1),
    "ml.g5.2xlarge": (15, 1),
    "ml.g5.12xlarge": (50, 1),
    "ml.g4dn.16xlarge": (15, 1),
    "ml.g7e.2xlarge": (64, 1),
    "ml.g7e.48xlarge": (64, 4),
    "ml.g6e.48xlarge": (50, 4),
    "ml.p4d.24xlarge": (50, 4),
    "ml.p5.4xlarge": (30, 1),
    "ml.p5.48xlarge": (50, 32),
    "ml.p5en.48xlarge": (50, 16),
    "ml.p6-b200.48xlarge": (50, 8),
    "ml.p6-b300.48xlarge": (50, 17),
    "ml.trn1.32xlarge": (50, 8),
    "ml.trn2.3xlarge": (15, 1),
    "ml.trn2.48xlarge": (50, 16),
}
"""Addresses an interface and network cards, as the VPC CNI plugin's table (v1.23.2, generated from EC2) has them."""


def kind(name: str) -> InstanceType:
    return instance_types()[name]


def test_a_p5_takes_what_aws_says() -> None:
    """SageMaker Developer Guide: 81, of which 50 from the primary card and one from each of the remaining 31."""
    assert addresses_needed(kind("ml.p5.48xlarge"), 1) == 81
    assert addresses_needed(kind("ml.p5.48xlarge"), 16) == 16 * 81
    assert addresses_needed(kind("ml.p5.48xlarge"), 2, efa_only=True) == 100


@pytest.mark.parametrize("name", PUBLISHED)
def test_addresses_are_never_fewer_than_ec2s(name: str) -> None:
    addresses, cards = PUBLISHED[name]
    assert addresses + cards - 1 <= addresses_needed(kind(name), 1) <= 64 + cards - 1
    if cards > 1:
        assert addresses_needed(kind(name), 1) == addresses + cards - 1


def test_every_type_takes_some() -> None:
    for one in instance_types().values():
        assert 4 <= addresses_needed(one, 1, efa_only=True) <= addresses_needed(one, 1) <= 81
        assert addresses_needed(one, 0) == 0


@pytest.mark.parametrize(("cidr", "free"), [("10.0.0.0/16", 65_531), ("10.0.0.0/28", 11), ("10.0.0.0/18", 16_379)])
def test_aws_keeps_five_addresses(cidr: str, free: int) -> None:
    assert free_addresses(cidr) == free


def shortages(groups: dict[str, Any], **network: Any) -> list[tuple[str, int, int, tuple[str, ...], bool]]:
    plan = plan_of(groups, network={"availability_zones": list(ZONES[:3]), **network})
    return [(one.zone, one.needed, one.free, one.groups, one.own_block) for one in address_shortages(plan)]


def test_zones_that_do_not_hold_their_groups() -> None:
    gpu = {"instance_type": "ml.p5.48xlarge", "count": 12, "availability_zone": ZONES[1]}
    assert shortages({"gpu": gpu}, cidr="10.8.0.0/20") == []
    assert shortages({"gpu": {**gpu, "count": 13}}, cidr="10.8.0.0/20") == [(ZONES[1], 1053, 1019, ("gpu",), False)]
    own = {ZONES[1]: "10.9.0.0/20"}
    assert shortages({"gpu": {**gpu, "count": 13}}, cidr="10.8.0.0/20", node_cidrs=own) == []
    assert shortages({"gpu": {**gpu, "count": 51}}, node_cidrs=own) == [(ZONES[1], 4131, 4091, ("gpu",), True)]


def test_a_group_without_a_zone_may_stand_in_any() -> None:
    groups = {
        "any": {"instance_type": "ml.m5.4xlarge", "count": 30},
        "gpu": {"instance_type": "ml.p5.48xlarge", "count": 2, "availability_zone": ZONES[0]},
        "none": {"instance_type": "ml.m5.4xlarge", "count": 0},
    }
    assert shortages(groups, cidr="10.8.0.0/20") == [(ZONES[0], 1062, 1019, ("any", "gpu"), False)]


def test_the_hungriest_of_flexible_types_and_endpoints_count() -> None:
    flexible = {
        "instance_type": "ml.g5.8xlarge",
        "flexible_types": ["ml.g5.16xlarge"],
        "count": 5,
        "availability_zone": ZONES[0],
    }
    assert shortages({"a10g": flexible}, cidr="10.8.0.0/22") == []
    needed = 250 + len(ENDPOINTS)
    assert shortages({"a10g": flexible}, cidr="10.8.0.0/22", egress="closed") == [(ZONES[0], needed, 251, ("a10g",), False)]


def test_interfaces_without_addresses_and_restricted_groups() -> None:
    gpu = {"instance_type": "ml.p5.48xlarge", "count": 5, "availability_zone": ZONES[0]}
    assert shortages({"gpu": {**gpu, "network_interface": "efa-only"}}, cidr="10.8.0.0/22") == []
    assert [found[1] for found in shortages({"gpu": gpu}, cidr="10.8.0.0/22")] == [405]
    plan = plan_of(
        {"cpu": {"instance_type": "ml.m5.large", "count": 1, "availability_zone": ZONES[1]}},
        network={"availability_zones": list(ZONES[:3]), "cidr": "10.8.0.0/22"},
        restricted_instance_groups={"nova": gpu},
    )
    assert [(found.zone, found.groups) for found in address_shortages(plan)] == [(ZONES[0], ("nova",))]


def test_of_existing_subnets_nothing_is_known() -> None:
    network = {"vpc": VPC, "subnets": {zone: SUBNETS[zone] for zone in ZONES[:2]}}
    plan = plan_of({"gpu": {"instance_type": "ml.p5.48xlarge", "count": 6000, "availability_zone": ZONES[0]}}, network=network)
    assert list(address_shortages(plan)) == []
