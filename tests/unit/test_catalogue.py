"""The catalogue of instance types against the SageMaker API's model in botocore and EC2's rules of size."""

from __future__ import annotations

import gzip
import json
import re
from fractions import Fraction
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config import catalogue
from config.catalogue import instance_type, instance_types, mig_slices, suggest

GIB = 1024
ALL = tuple(instance_types().values())


@cache
def api_enum(shape: str) -> tuple[str, ...]:
    """Values of an enum of the SageMaker API."""
    model = files("botocore").joinpath("data/sagemaker/2017-07-24/service-2.json.gz")
    shapes: dict[str, Any] = json.loads(gzip.decompress(model.read_bytes()))["shapes"]
    return tuple(shapes[shape]["enum"])


def test_lists_exactly_the_types_of_the_api() -> None:
    rows = Path(catalogue.__file__).with_name("instance_types.csv").read_text(encoding="utf-8").splitlines()
    names = [row.split(",")[0] for row in rows if row.startswith("ml.")]
    assert sorted(names) == sorted(api_enum("ClusterInstanceType"))
    assert set(instance_types()) == set(names)


def test_partitions_are_those_of_the_api() -> None:
    assert sorted(catalogue.MIG_PARTITIONS) == sorted(api_enum("MIGProfileType"))
    assert len(catalogue.MIG_PARTITIONS) == 28


@pytest.mark.parametrize(
    ("name", "family", "vcpu", "gib", "accelerators", "efa", "layers"),
    [
        ("ml.p4d.24xlarge", "p4d", 96, 1152, 8, 4, 3),
        ("ml.p5.4xlarge", "p5", 16, 256, 1, 1, 0),
        ("ml.p5.48xlarge", "p5", 192, 2048, 8, 32, 3),
        ("ml.p5en.48xlarge", "p5en", 192, 2048, 8, 16, 3),
        ("ml.p6-b200.48xlarge", "p6-b200", 192, 2048, 8, 8, 4),
        ("ml.p6-b300.48xlarge", "p6-b300", 192, 4096, 8, 16, 4),
        ("ml.trn1.32xlarge", "trn1", 128, 512, 16, 8, 3),
        ("ml.trn2.3xlarge", "trn2", 12, 128, 1, 1, 0),
        ("ml.trn2.48xlarge", "trn2", 192, 2048, 16, 16, 3),
        ("ml.g5.2xlarge", "g5", 8, 32, 1, 0, 0),
        ("ml.g6.12xlarge", "g6", 48, 192, 4, 1, 0),
        ("ml.g6e.48xlarge", "g6e", 192, 1536, 8, 4, 0),
        ("ml.g7.48xlarge", "g7", 192, 768, 8, 2, 0),
        ("ml.g7e.12xlarge", "g7e", 48, 512, 2, 1, 0),
        ("ml.m5.xlarge", "m5", 4, 16, 0, 0, 0),
        ("ml.c5n.large", "c5n", 2, Fraction(21, 4), 0, 0, 0),
        ("ml.t3.large", "t3", 2, 8, 0, 0, 0),
        ("ml.c8g.48xlarge", "c8g", 192, 384, 0, 1, 0),
    ],
)
def test_numbers_of_well_known_types(
    name: str, family: str, vcpu: int, gib: int | Fraction, accelerators: int, efa: int, layers: int
) -> None:
    found = instance_type(name)
    assert (found.family, found.vcpu, found.memory_mib) == (family, vcpu, gib * GIB)
    assert (found.accelerators, found.efa, found.network_layers) == (accelerators, efa, layers)


def test_every_type_is_known_but_for_the_efa_interfaces_of_gb200() -> None:
    assert [found.name for found in ALL if not found.known] == []
    assert [found.name for found in ALL if found.efa is None] == ["ml.p6e-gb200.36xlarge"]


def test_numbers_agree_with_one_another() -> None:
    for found in ALL:
        assert (found.vcpu or 0) > 0, found
        assert (found.memory_mib or 0) > 0, found
        assert (found.efa or 0) >= 0, found
        assert found.network_layers in (0, 3, 4), found
        accelerated = found.accelerator is not None
        assert ((found.accelerators or 0) > 0) == accelerated, found
        assert bool(found.model) == accelerated, found
        assert accelerated or not found.mig_profiles, found


def test_accelerator_and_resource_follow_the_family() -> None:
    for found in ALL:
        expected: tuple[str | None, str | None] = (None, None)
        if found.family.startswith("trn"):
            expected = ("trainium", "aws.amazon.com/neurondevice")
        elif found.family.startswith(("p", "g")):
            expected = ("nvidia", "nvidia.com/gpu")
        assert (found.accelerator, found.resource) == expected, found


def test_vcpus_follow_the_size() -> None:
    for found in ALL:
        size = re.fullmatch(r"ml\.[a-z0-9-]+\.(?:(\d*)xlarge|(medium|large))", found.name)
        assert size, found
        small = {"medium": 2 if found.family == "t3" else 1, "large": 2}
        assert found.vcpu == (small[size[2]] if size[2] else 4 * int(size[1] or 1)), found


def test_memory_of_general_types_follows_the_class() -> None:
    general = [found for found in ALL if re.match(r"[cmr]\d", found.family) and found.family != "c5n"]
    assert len(general) > 100
    for found in general:
        assert found.memory_mib == (found.vcpu or 0) * {"c": 2, "m": 4, "r": 8}[found.family[0]] * GIB, found


def test_types_with_topology_labels() -> None:
    assert {t.name for t in ALL if t.network_layers == 4} == {"ml.p6-b200.48xlarge", "ml.p6-b300.48xlarge"}
    assert {t.name for t in ALL if t.network_layers == 3} == {
        "ml.p4d.24xlarge",
        "ml.p4de.24xlarge",
        "ml.p5.48xlarge",
        "ml.p5e.48xlarge",
        "ml.p5en.48xlarge",
        "ml.p6e-gb200.36xlarge",
        "ml.trn1.32xlarge",
        "ml.trn1n.32xlarge",
        "ml.trn2.48xlarge",
    }


def test_mig_profiles_of_a_gpu() -> None:
    for found in ALL:
        if not found.mig_profiles:
            continue
        assert [mig_slices(profile) for profile in found.mig_profiles] == [1, 1, 2, 3, 4, 7], found.name
        outside = set(found.mig_profiles) - set(catalogue.MIG_PARTITIONS)
        assert outside == (set(found.mig_profiles) if found.family == "p6-b300" else set()), found.name
    assert instance_type("ml.p4d.24xlarge").mig_profiles[0] == "mig-1g.5gb"
    assert instance_type("ml.p5.48xlarge").mig_profiles[-1] == "mig-7g.80gb"
    assert instance_type("ml.p6-b300.48xlarge").mig_profiles[-1] == "mig-7g.269gb"
    used = {profile for found in ALL for profile in found.mig_profiles}
    assert set(catalogue.MIG_PARTITIONS) <= used


@given(st.sampled_from(catalogue.MIG_PARTITIONS))
def test_slices_are_read_from_the_profile(profile: str) -> None:
    assert mig_slices(profile) == int(profile.removeprefix("mig-").partition("g.")[0])
    assert 1 <= mig_slices(profile) <= catalogue.MIG_SLICES


@pytest.mark.parametrize(
    "wrong", ["", "3g.40gb", "mig-8g.40gb", "mig-0g.5gb", "mig-3g", "nvidia.com/mig-3g.40gb", "mig-3g.40gb\n"]
)
def test_slices_of_what_is_no_profile(wrong: str) -> None:
    with pytest.raises(ValueError, match="not a MIG profile"):
        mig_slices(wrong)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("p5.48xlarge", "ml.p5.48xlarge"),
        ("ml.p5.48xlrge", "ml.p5.48xlarge"),
        ("ML.P5.48XLARGE", "ml.p5.48xlarge"),
        (" ml.g5.2xl", "ml.g5.2xlarge"),
        ("ml.p6-b200.48xl", "ml.p6-b200.48xlarge"),
        ("ml.p4.24xlarge", "ml.p4d.24xlarge"),
        ("p5-48xlarge", "ml.p5.48xlarge"),
        ("ml.h100.8xlarge", None),
        ("a big one", None),
        ("", None),
    ],
)
def test_suggestions(written: str, meant: str | None) -> None:
    assert suggest(written) == meant


@pytest.mark.parametrize(("written", "family"), [("ml.m5.48xlarge", "m5"), ("ml.p6.48xlarge", "p6-b300"), ("g5.large", "g5")])
def test_a_suggestion_keeps_the_family(written: str, family: str) -> None:
    near = suggest(written)
    assert near
    assert instance_type(near).family == family


@given(st.sampled_from(sorted(instance_types())))
def test_a_type_without_its_prefix_is_found(name: str) -> None:
    assert suggest(name) == suggest(name.removeprefix("ml.")) == name


def test_an_unknown_type_is_a_key_error_that_reads_as_a_sentence() -> None:
    with pytest.raises(KeyError) as near:
        instance_type("p5.48xlarge")
    sentence = "`p5.48xlarge` is not an instance type of HyperPod; did you mean `ml.p5.48xlarge`?"
    assert str(near.value) == sentence
    with pytest.raises(catalogue.UnknownInstanceTypeError) as far:
        instance_type("toaster")
    assert str(far.value) == "`toaster` is not an instance type of HyperPod"


def test_quota_keys_are_distinct() -> None:
    families, kinds = catalogue.families(), catalogue.accelerator_kinds()
    assert kinds == ("nvidia", "trainium", "inferentia")
    assert set(families) == {name.split(".")[1] for name in api_enum("ClusterInstanceType")}
    assert len(set(families)) == len(families)
    assert not set(families) & set(kinds)
    assert not (set(families) | set(kinds)) & set(instance_types())


def test_an_empty_cell_is_an_unknown_number() -> None:
    columns = "name,vcpu,memory_mib,accelerator,accelerators,model,efa,network_layers,mig_profiles\n"
    rows = [
        "# a comment, with a comma\n",
        columns,
        "ml.p9.48xlarge,,,nvidia,,,,0,\n",
        "ml.m9.large,2,8192,,0,,,0,\n",
    ]
    new, plain = catalogue.parse(rows)
    assert (new.family, new.vcpu, new.memory_mib, new.accelerators, new.efa) == ("p9", None, None, None, None)
    assert not new.known
    assert plain.known
    assert plain.efa is None


def test_the_catalogue_is_read_once_and_read_only() -> None:
    assert instance_types() is instance_types()
    with pytest.raises(TypeError):
        instance_types()["ml.p5.48xlarge"] = ALL[0]  # type: ignore[index]
    with pytest.raises(AttributeError):
        ALL[0].vcpu = 1  # type: ignore[misc]
