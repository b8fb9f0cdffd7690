"""Reading a cluster with Kueue: what its own configuration says, and an API of another version."""

from __future__ import annotations

from typing import Any

import pytest

from config.findings import ConfigError
from governance.adoption.model import Connection
from live.adoption.adopting import Target
from live.adoption.kueue import adopt_kueue
from live.adoption.reading import read_cluster

CONFIGURATION = "/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config"
KINDS = {"Namespace": "namespaces", "Node": "nodes"}
QUEUES = {"ClusterQueue": "clusterqueues", "LocalQueue": "localqueues"}


def kinds(plurals: dict[str, str]) -> dict[str, Any]:
    return {"resources": [{"kind": kind, "name": name} for kind, name in plurals.items()]}


class Server:
    """An API server with Kueue, which serves versions of its API, and has no objects."""

    def __init__(self, *versions: str, configuration: str = "") -> None:
        group = "kueue.x-k8s.io"
        self.answers: dict[str, dict[str, Any]] = {"/api/v1": kinds(KINDS)}
        self.answers |= {f"/apis/{group}/{version}": kinds(QUEUES) for version in versions}
        if versions:
            self.answers[f"/apis/{group}"] = {"versions": [{"groupVersion": f"{group}/{version}"} for version in versions]}
        if configuration:
            self.answers[CONFIGURATION] = {"data": {"controller_manager_config.yaml": configuration}}

    def get(self, path: str) -> dict[str, Any] | None:
        return self.answers.get(path)

    def items(self, path: str) -> list[dict[str, Any]]:
        return []


def configuration(version: str, more: str) -> str:
    return f"apiVersion: config.kueue.x-k8s.io/{version}\nkind: Configuration\n{more}"


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        (configuration("v1beta1", "fairSharing: {enable: false, preemptionStrategies: [LessThanOrEqualToFinalShare]}"), False),
        (configuration("v1beta1", "fairSharing: {enable: true}"), True),
        (configuration("v1beta1", "fairSharing: {}"), False),
        (configuration("v1beta1", ""), False),
        (configuration("v1beta2", "fairSharing: {}"), True),
        (configuration("v1beta2", "fairSharing: {preemptionStrategies: [LessThanInitialShare]}"), True),
        (configuration("v1beta2", ""), False),
        ("kind: Other", None),
        ("", None),
    ],
)
def test_whether_kueue_shares_fairly_is_said_by_each_version_in_its_own_way(text: str, shares: bool | None) -> None:
    assert read_cluster(Server("v1beta2", configuration=text), {}).fair_sharing is shares


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (Server("v1beta1"), "serves kueue.x-k8s.io/v1beta1, and not kueue.x-k8s.io/v1beta2"),
        (Server("v1beta2", "v1beta1"), "there is no ClusterQueue"),
        (Server(), "there is no ClusterQueue"),
    ],
)
def test_an_api_of_another_version_is_named(server: Server, words: str, target: Target) -> None:
    with pytest.raises(ConfigError) as caught:
        adopt_kueue(server, read_cluster(server, {}), Connection("main"), target, ["ops@example.com"])
    (finding,) = caught.value.findings
    assert (finding.id, finding.where.file) == ("import-empty", "environments/prod.yaml")
    assert words in finding.message
    assert ("0.15" in finding.remedy) is ("v1beta1" in words)
