"""Shared by the tests of components: programs are run once per module, and many facts asserted on what they asked for."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _rare_collections() -> Iterator[None]:
    """Registrations make many long-lived objects; collecting them again and again costs more than the rest of the run."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    yield
    gc.set_threshold(*before)
    gc.unfreeze()
