"""Nodes of a sandbox, put to an API server that breaks off."""

from __future__ import annotations

from typing import Any, cast

import pytest
from sandbox_support import gpu_node

from live.connection import ApiError, Connection
from sandbox import nodes


class Refusing:
    """An API server that says that what is created exists."""

    def __init__(self, retried: bool) -> None:
        self.error = ApiError(409, "AlreadyExists", "it exists", retried=retried)

    def request(self, *_arguments: Any, **_more: Any) -> None:
        raise self.error


def test_a_node_that_a_broken_off_request_has_made_is_there() -> None:
    nodes._put(cast("Connection", Refusing(retried=True)), gpu_node(0), None)
    with pytest.raises(ApiError, match="it exists"):
        nodes._put(cast("Connection", Refusing(retried=False)), gpu_node(0), None)
