"""The HyperPod CLI's command: it means the manifest, or leaves an option out and says so."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from declarations import planned, team
from hypothesis import given
from hypothesis import strategies as st
from job_orders import ENVIRONMENT, TEAMS, order_of

from governance.jobs.hypcli import Command, equivalent
from governance.jobs.kinds import HYPERPOD_JOB_FRAMEWORK
from governance.jobs.manifests import manifests
from governance.jobs.resolve import resolve
from governance.model import Plan
from governance.units import CPU, MEMORY

WORDS = st.lists(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "Zs")), max_size=5), min_size=1, max_size=4)
Asking = Callable[..., tuple[Command, list[dict[str, Any]]]]


@pytest.fixture(scope="module")
def both_kinds() -> Plan:
    more = f"external_frameworks: [{HYPERPOD_JOB_FRAMEWORK}]\n      frameworks:"
    return planned({"alpha": team(TEAMS["alpha"])}, ENVIRONMENT.replace("frameworks:", more))


@pytest.fixture(scope="module")
def asking(both_kinds: Plan) -> Asking:
    """The command and the manifests of an order."""

    def asked(**options: Any) -> tuple[Command, list[dict[str, Any]]]:
        job, found = resolve(order_of(**options), both_kinds)
        assert job is not None, found
        command = equivalent(job)
        assert isinstance(command, Command)
        return command, manifests(job)

    return asked


def listed(value: str) -> list[str]:
    """A list as the CLI reads it."""
    return [item.strip() for item in value.strip("[]").split(",") if item.strip()]


def set_in_space(value: str) -> dict[str, list[str]]:
    """The container of a space as the CLI reads it."""
    pairs = (item.split("=", 1) for item in value.split(","))
    return {name: [word.strip() for word in words.split(";") if word.strip()] for name, words in pairs}


@pytest.mark.parametrize(
    "command",
    ["python train.py --mesh 4,2 --lr 0.1", "bash run.sh ''", "bash run.sh '[1]'", "bash ' a'", """bash '"a"' """],
)
def test_a_command_that_the_list_cannot_hold_is_left_out_as_a_whole(asking: Asking, command: str) -> None:
    found, _ = asking(kind="hyperpodpytorchjob", command=command)
    assert "--command" not in dict(found.options)
    assert [one for one in found.left_out if one.startswith("--command")]


@pytest.mark.parametrize("command", ["lab --x=a,b --port=1", "lab a;b", "bash '' x"])
def test_a_command_that_a_space_cannot_hold_is_left_out_as_a_whole(asking: Asking, command: str) -> None:
    found, _ = asking(kind="space", command=command)
    assert "--container-config" not in dict(found.options)
    assert [one for one in found.left_out if one.startswith("--command")]


@given(WORDS)
def test_a_command_that_is_printed_is_the_manifest_s(asking: Asking, words: list[str]) -> None:
    import shlex

    line = shlex.join(words)
    found, (one,) = asking(kind="hyperpodpytorchjob", command=line)
    options = dict(found.options)
    if "--command" in options:
        assert listed(options["--command"]) == one["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["command"]
    else:
        assert found.left_out
    found, (one,) = asking(kind="space", command=line)
    options = dict(found.options)
    if "--container-config" in options:
        assert set_in_space(options["--container-config"]) == one["spec"]["containerConfig"]
    else:
        assert found.left_out


def test_a_plain_command_is_printed(asking: Asking) -> None:
    found, _ = asking(kind="hyperpodpytorchjob", command="python train.py --lr 0.1")
    assert listed(dict(found.options)["--command"])[-3:] == ["train.py", "--lr", "0.1"]
    assert not [one for one in found.left_out if one.startswith("--command")]
    found, _ = asking(kind="space", command="jupyter lab")
    assert dict(found.options)["--container-config"] == "command=jupyter;lab"


@given(st.integers(1, 170_000), st.integers(1, 1_500_000))
def test_amounts_are_the_manifest_s_to_the_last_digit(asking: Asking, milli: int, mebi: int) -> None:
    found, (one,) = asking(kind="hyperpodpytorchjob", accelerators=8, vcpu=max(milli, 1) / 1000, memory_gib=(mebi + 0.5) / 1024)
    options = dict(found.options)
    (container,) = one["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"]
    amounts = container["resources"]["requests"]
    sizes = {"Ti": 1024, "Gi": 1, "Mi": Fraction(1, 1024)}
    assert Fraction(options["--memory"]) == Fraction(amounts[MEMORY][:-2]) * sizes[amounts[MEMORY][-2:]]
    cpu = amounts[CPU]
    assert Fraction(options["--vcpu"]) == (Fraction(cpu[:-1]) / 1000 if cpu.endswith("m") else Fraction(cpu))
    assert options["--memory-limit"] == options["--memory"]
    assert options["--memory"] == str(options["--memory"]).rstrip(".")


def test_amounts_have_no_digits_too_many(asking: Asking) -> None:
    found, _ = asking(kind="hyperpodpytorchjob", accelerators=8, vcpu=100, memory_gib=1000)
    assert (dict(found.options)["--vcpu"], dict(found.options)["--memory"]) == ("100", "1000")
    found, _ = asking(kind="hyperpodpytorchjob", accelerators=8, vcpu=0.5, memory_gib=1234.567)
    assert (dict(found.options)["--vcpu"], dict(found.options)["--memory"]) == ("0.5", "1234.56640625")
