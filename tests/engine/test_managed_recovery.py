# ruff: noqa: F401, F811 - fixtures are imported by name
"""Managed governance on a real engine and the fake cloud: a failed quota comes back, an unsafe update is refused."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from engine_support import cluster
from fakecloud import FakeCloud
from fakecloud.namespaces import TeamNamespaces
from fakecloud.project import CloudProject
from strategies import write

from live.connection import connect
from sandbox.engine import Changes, Engine, EngineError

pytestmark = pytest.mark.engine

HEAD, OWNERS = "apiVersion: hyperpod-platform/v1\n", "owners: [a@example.com]\n"
HYPERPOD = "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl"
ENVIRONMENT = """
clusters:
  main:
    kind: hyperpod
    account: "123456789012"
    region: us-west-2
    network: {availability_zones: [us-west-2a, us-west-2b, us-west-2c]}
    task_governance: {version: v1.6.0-eksbuild.1}
    instance_groups:
      gpu: {instance_type: ml.g5.8xlarge, count: 4}
governance: {backend: managed, priority_classes: {train: {weight: 70}}}
"""
ALPHA = "quota: {ml.g5.8xlarge: {instances: 1}}\nweight: 1\naccess: {iam_roles: ['arn:aws:iam::123456789012:role/alpha']}"
BETA = "quota: {ml.g5.8xlarge: {accelerators: 1}}\nweight: 1\naccess: {iam_roles: ['arn:aws:iam::123456789012:role/beta']}"
PROGRAM = """
from pathlib import Path
import pulumi, pulumi_aws as aws, pulumi_aws_native as native, pulumi_kubernetes as k8s
from components.governance import governance_backend
from components.site import CloudSite, Site
from config.load import Project
from governance.plan import plan

config = pulumi.Config()
resolved = plan(Project(Path(config.require("root"))).load("test"))
cloud = CloudSite(aws.Provider("aws", region="us-west-2"), native.Provider("native", region="us-west-2"), "main", "{arn}")
site = Site(k8s.Provider("cluster", kubeconfig=config.require("kubeconfig"), cluster_identifier="test"), cloud)
governance_backend("managed")(resolved.clusters["main"], site)
"""


class Governed(CloudProject):
    """The managed governance of one cluster that is there."""

    def __init__(self, folder: Path, cloud: FakeCloud, kubeconfig: Path) -> None:
        super().__init__(folder, cloud)
        self.configure(root=str(folder / "data"), kubeconfig=str(kubeconfig))
        self.program(PROGRAM.replace("{arn}", HYPERPOD))
        self.data = folder / "data"

    def declare(self, environment: str = ENVIRONMENT, **teams: str) -> None:
        """Write the files anew."""
        for old in self.data.glob("teams/*"):
            old.unlink()
        write(self.data, {"test": HEAD + environment}, {name: HEAD + OWNERS + text for name, text in teams.items()})

    def pulumi(self, *args: str) -> None:
        """What a person types, but `--yes` and `--stack`."""
        with Engine(self.settings) as engine:
            if args[0] == "state":
                engine._cli.text([*args, "--yes"])
            else:
                engine._run(args[0], [*args[1:], "--yes", "--skip-preview"], None, program=args[0] == "up")

    def resource(self, name: str) -> dict[str, Any]:
        (found,) = [one for one in self.state()["deployment"]["resources"] if one["urn"].endswith(f"::{name}")]
        return dict(found)

    def urn(self, name: str) -> str:
        return str(self.resource(name)["urn"])


class NamespacesThatStay:
    """What AWS makes of a quota, but for deleting it: a namespace takes seconds to go, and refuses new objects meanwhile."""

    def __init__(self, cluster: Path) -> None:
        self._make = TeamNamespaces(cluster.read_text())
        self._quotas: dict[str, dict[str, Any]] = {}

    def __call__(self, op: str, quota: dict[str, Any]) -> None:
        if op == "create":
            self._quotas[quota["ComputeQuotaTarget"]["TeamName"]] = quota
            self._make(op, quota)

    def clear(self) -> None:
        """Delete them, and wait until they are gone."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda quota: self._make("delete", quota), self._quotas.values()))


@pytest.fixture(scope="module")
def namespaces(cluster: Path) -> Iterator[NamespacesThatStay]:
    """They stay for this file alone: others on the same API server make teams of the same names, or count them."""
    found = NamespacesThatStay(cluster)
    yield found
    found.clear()


@pytest.fixture
def cloud(cluster: Path, namespaces: NamespacesThatStay) -> Iterator[FakeCloud]:
    with FakeCloud(cluster.read_text(), on_compute_quota=namespaces) as found:
        for zone in "abc":
            found.existing("subnet", f"subnet-{zone}", availabilityZone=f"us-west-2{zone}")
        found.existing("eks cluster", "main", vpcConfig={"subnetIds": ["subnet-a", "subnet-b"]})
        groups = [{"InstanceGroupName": "gpu", "InstanceType": "ml.g5.8xlarge", "InstanceCount": 4, "CurrentCount": 4}]
        eks = "arn:aws:eks:us-west-2:123456789012:cluster/main"
        found.existing("role", "alpha")
        found.existing("role", "beta")
        found.existing(
            "hyperpod cluster", HYPERPOD, ClusterArn=HYPERPOD, Orchestrator={"Eks": {"ClusterArn": eks}}, InstanceGroups=groups
        )
        yield found


@pytest.fixture
def project(tmp_path: Path, cloud: FakeCloud, cluster: Path) -> Iterator[Governed]:
    found = Governed(tmp_path, cloud, cluster)
    yield found
    with Engine(found.settings) as engine:
        cloud.heal()
        engine.unprotect()
        engine.destroy()


def statuses(cloud: FakeCloud) -> dict[str, str]:
    return {one.properties["Name"]: one.properties["Status"] for one in cloud.things("compute quota")}


def changed(cloud: FakeCloud, name: str) -> list[str]:
    return [call.op for call in cloud.changes() if call.name == name]


def bindings(cluster: Path, team: str) -> list[str]:
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/hyperpod-ns-{team}/rolebindings"
    return [one["metadata"]["name"] for one in connect(str(cluster), "", "").request("GET", path).body["items"]]


def failed(project: Governed, cloud: FakeCloud, team: str = "alpha") -> str:
    """An up that leaves a team's quota in CreateFailed; its logical name."""
    name = f"main/{team}/quota"
    project.declare(**{team: ALPHA, "beta": BETA})
    cloud.create_failed(name)
    assert "CreateFailed" in project.refused()
    assert project.resource(name)["initErrors"]
    assert statuses(cloud)[team] == "CreateFailed"
    cloud.forget_calls()
    return name


def test_the_life_of_teams(project: Governed, cloud: FakeCloud, cluster: Path) -> None:
    """Add-on, configuration, quotas, entries, bindings; and back. A removal that is refused takes nothing with it."""
    project.declare(alpha=ALPHA, beta=BETA)
    project.up()
    order = ["main/task-governance/addon", "main/scheduler/config", "main/beta/quota"]
    order += ["main/access-entries/123456789012/beta", "main/beta/rolebinding"]
    assert [call.name for call in cloud.changes() if call.op == "create" and call.name in order] == order
    assert bindings(cluster, "alpha") == ["hyperpod-team-member"]
    cloud.forget_calls()

    project.declare(beta=BETA)
    assert "protect" in project.refused()
    assert cloud.find("delete") == []

    project.declare(alpha=f"{ALPHA}\nstate: draining", beta=BETA)
    project.up()
    (quota,) = [one for one in cloud.things("compute quota") if one.properties["Name"] == "alpha"]
    assert quota.properties["ActivationState"] == "Disabled"
    project.declare(beta=BETA)
    project.up()
    assert statuses(cloud) == {"beta": "Created"}
    assert changed(cloud, "main/beta/quota") == []

    project.pulumi("state", "unprotect", "--all")
    cloud.forget_calls()
    project.destroy()
    assert [call.name for call in cloud.changes() if call.op == "delete" and call.name in order] == order[::-1]


def test_what_failed_to_be_created_comes_back(project: Governed, cloud: FakeCloud, cluster: Path) -> None:
    project.declare(alpha=ALPHA, beta=BETA)
    cloud.create_failed("main/scheduler/config")
    assert "CreateFailed" in project.refused()
    assert statuses(cloud) == {}
    # The scheduler configuration by itself.
    cloud.forget_calls()
    name = failed(project, cloud)
    (config,) = cloud.things("scheduler config")
    assert config.properties["Status"] == "Created"
    # A quota is protected, a failed one too: the engine says so, and does nothing.
    assert "marked for protection" in project.refused()
    assert changed(cloud, name) == []
    project.pulumi("state", "unprotect", project.urn(name))
    project.up()
    assert changed(cloud, name) == ["delete", "create"]
    assert "delete" not in changed(cloud, "main/beta/quota")
    assert statuses(cloud) == {"alpha": "Created", "beta": "Created"}
    assert bindings(cluster, "alpha") == ["hyperpod-team-member"]
    assert project.resource(name)["protect"]
    assert "initErrors" not in project.resource(name)
    cloud.forget_calls()
    project.up()
    assert cloud.changes() == []


@pytest.mark.full
def test_a_failed_quota_comes_back_by_pull_requests_alone(project: Governed, cloud: FakeCloud, cluster: Path) -> None:
    """`state: draining` takes the protection away; then `state: active` again."""
    name = failed(project, cloud)
    project.declare(alpha=f"{ALPHA}\nstate: draining", beta=BETA)
    project.up()
    assert changed(cloud, name) == ["delete", "create"]
    cloud.forget_calls()
    project.declare(alpha=ALPHA, beta=BETA)
    project.up()
    assert changed(cloud, name) == ["update"]
    assert statuses(cloud) == {"alpha": "Created", "beta": "Created"}
    assert project.resource(name)["protect"]
    assert bindings(cluster, "alpha") == ["hyperpod-team-member"]


@pytest.mark.full
def test_a_failed_quota_comes_back_after_a_refresh(project: Governed, cloud: FakeCloud) -> None:
    """A refresh finds a quota, whatever its status, and forgets that creating it has failed: then it must be named."""
    name = failed(project, cloud, "delta")
    project.refresh()
    quota = project.resource(name)
    assert "initErrors" not in quota
    assert quota["outputs"]["status"] == "CreateFailed"
    assert 'namespaces "hyperpod-ns-delta" not found' in project.refused()
    assert changed(cloud, name) == []
    project.pulumi("state", "unprotect", quota["urn"])
    project.pulumi("up", "--replace", quota["urn"])
    assert changed(cloud, name) == ["delete", "create"]
    assert statuses(cloud) == {"delta": "Created", "beta": "Created"}


def installed(cloud: FakeCloud) -> str:
    (addon,) = cloud.things("eks addon")
    return str(addon.inputs["addonVersion"])


def test_an_unsafe_update_is_refused_before_anything_is_touched(project: Governed, cloud: FakeCloud) -> None:
    old, new = (ENVIRONMENT.replace("v1.6.0", version) for version in ("v1.3.0", "v1.5.0"))
    project.declare(old, alpha=ALPHA)
    project.up()
    project.declare(new, alpha=ALPHA.replace("instances: 1", "instances: 2"))
    cloud.forget_calls()
    for preview in (True, False):
        assert "can't be done in place" in project.refused(preview=preview)
    assert installed(cloud) == "v1.3.0-eksbuild.1"
    assert [call for call in cloud.changes() if call.type == "aws:eks/addon:Addon"] == []
    # The documented way.
    for name in ("main/task-governance/addon", "main/alpha/quota", "main/alpha/rolebinding"):
        project.pulumi("state", "unprotect", project.urn(name))
    project.pulumi("destroy", "--target", project.urn("main/task-governance/addon"), "--target-dependents")
    assert cloud.things("compute quota") == cloud.things("scheduler config") == cloud.things("eks addon") == []
    project.up()
    assert installed(cloud) == "v1.5.0-eksbuild.1"
    assert statuses(cloud) == {"alpha": "Created"}
    assert project.resource("main/task-governance/addon")["protect"]
    # From there on, updates are safe.
    cloud.forget_calls()
    project.declare(alpha=ALPHA)
    project.up()
    assert changed(cloud, "main/task-governance/addon") == ["update"]
    assert installed(cloud) == "v1.6.0-eksbuild.1"
