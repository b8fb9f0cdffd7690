"""Requests to this machine never go through the proxy that the environment names."""

from __future__ import annotations

import pytest

from live.connection import connect

KUBECONFIG = """
clusters: [{{name: c, cluster: {{server: "https://{host}:6443"}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
current-context: c
"""


@pytest.mark.parametrize(("host", "proxied"), [("127.0.0.1", False), ("localhost", False), ("example.com", True)])
def test_loopback_is_reached_directly(host: str, proxied: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid:3128")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    connection = connect(KUBECONFIG.format(host=host), "", "")
    assert bool(connection._client.configuration.proxy) is proxied
