"""One booted sandbox for all tests of a session; the tools come from the usual cache, so that they are built once."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from sandbox_support import MANAGER, gpu_node

from sandbox.local import Sandbox
from sandbox.toolchain import SilentProgress


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """A running sandbox with four nodes."""
    one = Sandbox(f"test-{os.getpid()}")
    try:
        one.up(MANAGER, [gpu_node(number) for number in range(4)], SilentProgress())
        yield one
    finally:
        one.down()
