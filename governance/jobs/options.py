"""What is wrong with a job's options by themselves, whatever the plan says."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from config.findings import Finding, Where, did_you_mean, problem_at, quoted
from governance.jobs.elastic import elastic_findings
from governance.jobs.kinds import KINDS, Kind
from governance.jobs.model import MOST_PODS, Order

_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?\Z")
"""A DNS label that begins with a letter: the name of a Service too."""
_NUMBERED = 5
"""Characters that the parts of an elastic job need beyond those of others."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def option_findings(order: Order, kind: Kind | None) -> Iterator[Finding]:
    """Name, kind, numbers, image, command, environment and elastic policy."""
    if kind is None:
        remedy = did_you_mean(order.kind, list(KINDS))
        yield problem_at("job-kind", Where("--kind"), f"there is no kind {quoted(order.kind)}", remedy)
    yield from _name(order, kind)
    yield from _counts(order, kind)
    if kind is not None and kind.needs_image and not order.image:
        yield problem_at("job-option", Where("--image"), f"a {kind.kind} needs an image", "give --image")
    if order.image is not None and (not order.image or any(c.isspace() for c in order.image)):
        yield problem_at("job-option", Where("--image"), f"{quoted(order.image)} is no image", "give registry/name:tag")
    if order.port is not None and not 1 <= order.port <= 65535:
        yield problem_at("job-option", Where("--port"), f"{order.port} is no port", "give 1 to 65535")
    yield from _command(order, kind)
    yield from _environment(order)
    yield from elastic_findings(order, kind)


def command_of(order: Order) -> tuple[str, ...]:
    """The command's words; none where its quotes are open."""
    try:
        return tuple(shlex.split(order.command or ""))
    except ValueError:
        return ()


def _command(order: Order, kind: Kind | None) -> Iterator[Finding]:
    if order.command and order.command.strip() and not command_of(order):
        message = f"{quoted(order.command)} can't be split into words"
        yield problem_at("job-option", Where("--command"), message, "close the quotes")
    elif kind is not None and kind.name == "rayjob" and not command_of(order):
        yield problem_at("job-option", Where("--command"), "a RayJob needs an entry point", "give --command")


def env_of(order: Order) -> dict[str, str]:
    """The environment; entries that are none are left out."""
    pairs = (entry.partition("=") for entry in order.env)
    return {key: value for key, equals, value in pairs if equals and _VARIABLE.match(key)}


def _name(order: Order, kind: Kind | None) -> Iterator[Finding]:
    longest = kind.longest_name if kind else min(one.longest_name for one in KINDS.values())
    longest -= _NUMBERED if order.elastic.asked else 0
    if not _NAME.match(order.name):
        message = f"{quoted(order.name)} can't be the name of a job"
        yield problem_at("job-name", Where("name"), message, "a letter, then small letters, digits and hyphens")
    elif len(order.name) > longest:
        message = f"the name has {len(order.name)} characters, {longest} are the most: controllers append to it"
        yield problem_at("job-name", Where("name"), message, "shorten it")


def _counts(order: Order, kind: Kind | None) -> Iterator[Finding]:
    if order.pods is not None and order.nodes is not None:
        message = "--nodes asks for one pod on each node, --pods for pods of any size"
        yield problem_at("job-option", Where("--nodes"), message, "keep one of the two")
    remedy = f"give 1 or more, {MOST_PODS} at most"
    for option, count in (("--pods", order.pods), ("--nodes", order.nodes)):
        if count is not None and not 1 <= count <= MOST_PODS:
            yield problem_at("job-option", Where(option), f"{quoted(count)} is no number of pods", remedy)
        elif count is not None and count > 1 and kind is not None and kind.single:
            yield problem_at("job-option", Where(option), f"a {kind.kind} is one pod", f"leave {option} out")


def _environment(order: Order) -> Iterator[Finding]:
    seen = set()
    for entry in order.env:
        key, equals, _ = entry.partition("=")
        if not equals or not _VARIABLE.match(key):
            # The value isn't shown: it may be a secret.
            message = f"{quoted(key)} is no variable" if equals else "a variable without `=`"
            yield problem_at("job-option", Where("--env"), message, "write NAME=value: letters, digits and underscores")
        elif key in seen:
            yield problem_at("job-option", Where("--env"), f"{quoted(key)} is given twice", "keep one")
        seen.add(key)
