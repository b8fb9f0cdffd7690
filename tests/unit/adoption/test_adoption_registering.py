"""What the program registers, without an engine: of a manager and its workers too."""

from __future__ import annotations

import pytest
from declarations import planned, team

from components.render import render
from governance.model import Plan
from live.adoption.importing import import_file
from live.adoption.registering import Registration, registrations
from live.drift.state import by_key

ENVIRONMENT = """
apiVersion: hyperpod-platform/v1
clusters:
  hub: {kind: existing, instance_groups: {}}
  w1: {kind: existing, instance_groups: {h100: {instance_type: ml.p5.48xlarge, count: 2}}}
  w2: {kind: existing, context: there, instance_groups: {h100: {instance_type: ml.p5.48xlarge, count: 2}}}
governance: {multi_kueue: {manager: hub, workers: [w1, w2], frameworks: [batch/job]}}
"""


@pytest.fixture(scope="module")
def fleet() -> Plan:
    return planned({"alpha": team("quota: {ml.p5.48xlarge: {accelerators: 8}}")}, ENVIRONMENT)


@pytest.fixture(scope="module")
def found(fleet: Plan) -> list[Registration]:
    return registrations(fleet, "prod")


def test_a_manager_is_registered_after_its_workers(found: list[Registration]) -> None:
    names = {one.name for one in found}
    assert {"hub", "w1", "w2"} <= {one.name for one in found if one.is_provider}
    assert {"hub/multikueue/connection/w1", "hub/multikueue/worker/w2", "w1/account/token"} <= names


def test_everything_that_is_rendered_is_registered(fleet: Plan, found: list[Registration]) -> None:
    """Each on its own cluster's provider."""
    for cluster in fleet.clusters.values():
        own = [one for one in found if one.provider.endswith(f"::{cluster.name}") and "metadata" in one.inputs]
        wanted = by_key(render(cluster))
        assert wanted
        assert by_key(one.inputs for one in own).keys() == wanted.keys()


def test_secrets_come_without_content(fleet: Plan, found: list[Registration]) -> None:
    """What the program puts into a manager's Secret is made of real kubeconfigs; here there are none."""
    secrets = [one for one in found if one.inputs.get("kind") == "Secret"]
    assert len(secrets) == 4
    assert not [one for one in secrets if one.inputs.keys() & {"data", "stringData"}]
    live = by_key(manifest for cluster in fleet.clusters.values() for manifest in render(cluster))
    content = import_file(found, live, {})
    assert "hyperpod-multikueue-w1" in str(content)
    assert "invalid" not in str(content)
    assert "data" not in {key for one in content["resources"] for key in one["inputs"]}
