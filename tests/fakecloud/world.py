"""What exists at the service, whatever any engine's state says."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fakecloud.calls import AwsError


@dataclass(frozen=True)
class Place:
    """Where a provider instance works."""

    partition: str
    region: str
    account: str

    @property
    def suffix(self) -> str:
        """Of DNS names."""
        return "amazonaws.com.cn" if self.partition == "aws-cn" else "amazonaws.com"

    def arn(self, service: str, resource: str, *, region: bool = True, account: bool = True) -> str:
        where = f"{self.region if region else ''}:{self.account if account else ''}"
        return f"arn:{self.partition}:{service}:{where}:{resource}"


@dataclass(eq=False)
class Thing:
    """One thing at the service. ``noun`` says what it is; ``handles`` are all the words by which others may refer to it."""

    noun: str
    type: str
    id: str
    properties: dict[str, Any]
    handles: frozenset[str]
    inputs: dict[str, Any] = field(default_factory=dict)
    links: tuple[tuple[Thing, str], ...] = ()
    """What it refers to, with the error that deleting the other one gives meanwhile; empty where AWS does not mind."""
    foreign: bool = False
    """It was there before, and is not the program's."""
    status: str = ""


class World:
    """All things. Every method is atomic under ``lock``, which is reentrant: hold it over several."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._things: dict[tuple[str, str], Thing] = {}
        self._made = 0
        self.dependency_chart = ""
        """A shell pattern for the Helm release (name or chart) that HyperPod clusters need; empty for none."""

    def __iter__(self) -> Iterator[Thing]:
        with self.lock:
            return iter(list(self._things.values()))

    def new_hex(self, length: int = 17) -> str:
        """Digits for an identifier that nothing else has."""
        with self.lock:
            self._made += 1
            return hashlib.sha256(f"fake-{self._made}".encode()).hexdigest()[:length]

    def add(self, thing: Thing) -> None:
        with self.lock:
            self._things[thing.noun, thing.id] = thing

    def get(self, noun: str, id_: str) -> Thing | None:
        """By identifier."""
        with self.lock:
            return self._things.get((noun, id_))

    def of(self, noun: str, **properties: Any) -> list[Thing]:
        """All of a kind, optionally with these properties."""
        with self.lock:
            return [
                one
                for one in self._things.values()
                if one.noun == noun and all(one.properties.get(key) == value for key, value in properties.items())
            ]

    def by(self, noun: str, handle: str) -> Thing | None:
        """By any of its handles."""
        with self.lock:
            return next((one for one in self._things.values() if one.noun == noun and handle in one.handles), None)

    def referrers(self, thing: Thing, noun: str = "") -> list[tuple[Thing, str]]:
        """Who refers to it, with the error for deleting it meanwhile."""
        with self.lock:
            found = [(one, error) for one in self._things.values() for other, error in one.links if other is thing]
            return [(one, error) for one, error in found if not noun or one.noun == noun]

    def remove(self, thing: Thing) -> None:
        """Raises AwsError while something blocks it."""
        with self.lock:
            for one, error in self.referrers(thing):
                if error and one is not thing:
                    raise AwsError(error, f"{thing.noun} {thing.id!r} has a dependent object: {one.noun} {one.id!r}")
            self.forget(thing)

    def forget(self, thing: Thing) -> None:
        """Remove it, and do not ask who refers to it."""
        with self.lock:
            self._things.pop((thing.noun, thing.id), None)


def handles_of(id_: str, properties: Mapping[str, Any], *more: str) -> frozenset[str]:
    """The words that AWS accepts for most things: identifier, name and ARN."""
    found = {id_, *more}
    found |= {properties[key] for key in ("arn", "name", "keyId") if isinstance(properties.get(key), str)}
    return frozenset(one for one in found if one)
