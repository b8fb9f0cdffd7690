"""The files of one sandbox and the loopback ports of one boot."""

from __future__ import annotations

import random
import socket
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, Self

HOST: Final = "127.0.0.1"
_RANGE: Final = (20_000, 32_000)
"""Below the range of outgoing connections on Linux and macOS: a port found free stays so between choosing and binding it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a sandbox keeps what."""

    root: Path

    @property
    def logs(self) -> Path:
        """One log a process."""
        return self.root / "logs"

    @property
    def pki(self) -> Path:
        """Certificates, keys and tokens, mode 0600."""
        return self.root / "pki"

    @property
    def data(self) -> Path:
        """etcd's data: every object of the sandbox."""
        return self.root / "etcd"

    @property
    def etc(self) -> Path:
        """Configuration files of the processes, written at each boot."""
        return self.root / "etc"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.root / "kubeconfig"

    @property
    def request(self) -> Path:
        """What `up` asks the supervisor for."""
        return self.root / "request.json"

    @property
    def status(self) -> Path:
        """What the supervisor tells."""
        return self.root / "status.json"

    def log(self, process: str) -> Path:
        """The log of one process."""
        return self.logs / f"{process}.log"


@dataclass(frozen=True, slots=True)
class Ports:
    """Loopback ports of one boot."""

    etcd: int
    etcd_peer: int
    apiserver: int
    controller_manager: int
    scheduler: int
    kwok: int
    kueue_webhook: int
    kueue_health: int
    kueue_metrics: int

    @classmethod
    def free(cls) -> Self:
        """Ports that nobody listens on now, different from each other."""
        wanted = [field.name for field in fields(cls)]
        held: list[socket.socket] = []
        try:
            numbers = [_hold(held) for _ in wanted]
        finally:
            for one in held:
                one.close()
        return cls(*numbers)


def _hold(held: list[socket.socket]) -> int:
    """Bind a free port and keep it bound, so that the next call finds another."""
    for _ in range(200):
        candidate = socket.socket()
        try:
            candidate.bind((HOST, random.randrange(*_RANGE)))  # noqa: S311
        except OSError:
            candidate.close()
            continue
        held.append(candidate)
        return int(candidate.getsockname()[1])
    last = socket.socket()  # the usual range is crowded: any port that the system has
    last.bind((HOST, 0))
    held.append(last)
    return int(last.getsockname()[1])
