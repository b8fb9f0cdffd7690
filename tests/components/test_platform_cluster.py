"""The HyperPod cluster and its dependency chart under mocks: what is asked of the engine, and with which options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pulumi
import pytest
from platform_support import CPU, full, inputs_for, plan_of
from recording import Recording, Registered, record

from components.platform.chart import DependencyChart
from components.platform.cluster import PAUSE_SECONDS, RETRIES, HyperPod, HyperPodParts, refuse_shifted, retries
from config.findings import ConfigError
from governance.platform.model import PlatformPlan
from governance.platform.payload import cluster_args

CLUSTER, RELEASE = "main/hyperpod/cluster", "main/chart/release"
NEW_ROLE = "api error ValidationException: SageMaker cannot assume the execution role arn:aws:iam::1:role/a"


class Leaf(pulumi.CustomResource):
    def __init__(self, name: str) -> None:
        super().__init__("test:index:Leaf", name, {})


def declare(plan: PlatformPlan, after: Sequence[str] = ()) -> Recording:
    """A program with the cluster alone."""
    given = inputs_for(plan)

    def program() -> None:
        parts = HyperPodParts(
            node_subnets=given.node_subnets,
            security_groups=given.security_groups,
            execution_role_arn=pulumi.Output.from_input(given.execution_role_arn),
            karpenter_role_arn=given.karpenter_role_arn,
            eks_arn=given.eks_arn,
            key_arn=given.key_arn,
            lifecycle_uri=given.lifecycle_uri,
            after=[Leaf(name) for name in after],
        )
        made = HyperPod("main/hyperpod", plan, parts, pulumi.ResourceOptions())
        assert [ready.pulumi_resource_name for ready in made.ready] == [CLUSTER]
        assert isinstance(made.arn, pulumi.Output)

    return record(program)


def cluster(plan: PlatformPlan) -> Registered:
    return declare(plan).one(CLUSTER)


# -- the cluster ---------------------------------------------------------------------------------------------------------------


def test_the_cluster_waits_for_what_it_stands_on() -> None:
    recording = declare(plan_of(), after=["rule", "chart", "policy"])
    assert recording.needs(CLUSTER) == {"rule", "chart", "policy"}
    assert recording.kinds() == {"Leaf": 3, "HyperPod": 1, "Cluster": 1}
    assert [made.type for made in recording.of("HyperPod")] == ["hyperpod:platform:HyperPod"]
    assert {made.name for made in recording.components()} == {"main/hyperpod"}
    assert recording.one("main/hyperpod").urn in recording.finished


def test_aws_has_twelve_hours() -> None:
    assert cluster(plan_of()).timeouts == {"create": "720m", "update": "720m", "delete": "720m"}


@pytest.mark.parametrize("protection", [True, False])
def test_another_name_network_or_eks_cluster_is_another_cluster(protection: bool) -> None:
    """Protected, it is refused by the engine; else the old one goes first."""
    made = cluster(plan_of(protection=protection))
    assert made.protect is protection
    assert made.delete_before_replace
    assert set(made.replace_on_changes) == {"clusterName", "orchestrator.eks", "vpcConfig"}
    assert not made.retain_on_delete


def test_counts_of_karpenter_are_ignored_and_no_other() -> None:
    auto = {**CPU, "autoscaled": True}
    made = cluster(plan_of({"b": auto, "a": CPU, "c": CPU}, hyperpod={"karpenter": True}))
    assert made.ignore_changes == ("instanceGroups[1].instanceCount",)
    assert made.inputs["instanceGroups"][1]["instanceGroupName"] == "b"
    assert cluster(plan_of()).ignore_changes == ()


def test_the_sdk_sends_what_the_payload_says() -> None:
    """pulumi_aws_native spells every key as its own types do, and drops none."""
    plan = full()
    sent = cluster(plan).inputs
    labels = {group["instanceGroupName"]: group.get("kubernetesConfig", {}).pop("labels", {}) for group in sent["instanceGroups"]}
    assert labels["gpu"] == {"example.com/pool": "training", "instance_type": "kept"}
    assert not [key for key in keys_of(sent) if "_" in key], "keys that the SDK did not know"
    expected = cluster_args(plan, inputs_for(plan))
    for group in expected["instance_groups"]:
        group.get("kubernetes_config", {}).pop("labels", None)
    assert plain(sent) == plain(expected)


def keys_of(value: Any) -> Iterator[str]:
    for key, item in value.items() if isinstance(value, dict) else ():
        yield key
        yield from keys_of(item)
    for item in value if isinstance(value, list) else ():
        yield from keys_of(item)


def plain(value: Any) -> Any:
    """The same without what tells the SDK's spelling from the wire's."""
    if isinstance(value, dict):
        return {key.replace("_", "").lower(): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


# -- its hooks -----------------------------------------------------------------------------------------------------------------


def test_a_count_that_would_change_hands_is_refused_with_the_way_around() -> None:
    with pytest.raises(ValueError, match="Deploy twice") as caught:
        refuse_shifted({"k": 3, "n": 2}, {"a": 3, "k": 2, "n": 2}, {"a": 1, "k": 3})
    message = str(caught.value)
    assert "`a` would get 3 instances in place of 1, `k` would get 2 instances in place of 3" in message
    assert "first with `autoscaled: false` and the present count at `a`, `k`" in message


@pytest.mark.parametrize(
    ("old", "sent", "autoscaled"),
    [
        ({"k": 3}, {"k": 3}, {"k": 9}),
        ({"k": 3}, {"k": 3, "z": 1}, {"k": 3, "z": 1}),
        ({"b": 0, "k": 0}, {"a": 0, "b": 0, "k": 0}, {"a": 0, "b": 5, "k": 5}),
        ({"b": 2}, {"a": 4, "b": 2}, {}),
        ({}, {"a": 4}, {"a": 4}),
    ],
)
def test_what_changes_no_count_of_karpenter_is_let_pass(
    old: dict[str, int], sent: dict[str, int], autoscaled: dict[str, int]
) -> None:
    refuse_shifted(old, sent, autoscaled)


@pytest.mark.parametrize("operation", ["create", "update"])
def test_a_role_that_iam_has_not_spread_yet_is_waited_for(operation: str) -> None:
    for attempt in range(1, RETRIES + 1):
        assert retries(operation, [NEW_ROLE] * attempt)
    assert not retries(operation, [NEW_ROLE] * (RETRIES + 1))
    assert 60 <= RETRIES * PAUSE_SECONDS <= 600


@pytest.mark.parametrize(
    ("operation", "errors"),
    [
        ("delete", [NEW_ROLE]),
        ("create", []),
        ("create", ["ResourceLimitExceeded: ml.p5.48xlarge for cluster usage"]),
        ("create", ["AccessDenied: not authorized to perform iam:PassRole on the role"]),
        ("create", ["ResourceInUse: cluster exists", NEW_ROLE]),
    ],
)
def test_any_other_failure_stands(operation: str, errors: list[str]) -> None:
    assert not retries(operation, errors)


# -- the dependency chart ------------------------------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a stand-in chart in its folder `chart`, complete, and a cache of its own."""
    monkeypatch.setenv("HPCTL_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "project" / "chart"
    folder.mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: stand-in\nversion: 0.1.0\n")
    return folder.parent


def charted(root: Path, groups: dict[str, Any] | None = None, **chart: Any) -> Recording:
    plan = plan_of(groups, hyperpod={"chart": chart or {"path": "chart"}})
    return record(lambda: DependencyChart("main/chart", plan, root, pulumi.ResourceOptions()) and None)


def test_the_release(root: Path) -> None:
    recording = charted(root)
    made = recording.one(RELEASE)
    assert made.type == "kubernetes:helm.sh/v3:Release"
    assert made.inputs["name"] == "hyperpod-dependencies"
    assert made.inputs["namespace"] == "kube-system"
    assert made.inputs["chart"] == str(root / "chart")
    assert made.inputs["dependencyUpdate"] is False
    assert "version" not in made.inputs
    assert "valueYamlFiles" not in made.inputs
    assert made.inputs["values"]["global"] == {"region": "us-west-2"}
    assert recording.kinds() == {"DependencyChart": 1, "Release": 1}


def test_nothing_of_the_release_is_awaited(root: Path) -> None:
    """Its pods have no node before the cluster, and the cluster waits for the release."""
    made = charted(root).one(RELEASE)
    assert made.inputs["skipAwait"] is True
    assert "atomic" not in made.inputs
    assert "waitForJobs" not in made.inputs
    assert made.timeouts == {"create": "900s", "update": "900s", "delete": "900s"}


def test_the_release_is_protected_with_the_platform_and_goes_with_it(root: Path) -> None:
    assert charted(root).one(RELEASE).protect
    assert not charted(root).one(RELEASE).retain_on_delete
    open_ = plan_of(protection=False, hyperpod={"chart": {"path": "chart"}})
    recording = record(lambda: DependencyChart("main/chart", open_, root, pulumi.ResourceOptions()) and None)
    assert not recording.one(RELEASE).protect


def test_missing_dependencies_are_fetched_into_a_copy(root: Path, tmp_path: Path) -> None:
    text = "name: stand-in\nversion: 0.1.0\ndependencies: [{name: a, version: 1.0.0, repository: 'https://charts.example.com'}]\n"
    (root / "chart" / "Chart.yaml").write_text(text)
    made = charted(root).one(RELEASE)
    assert made.inputs["dependencyUpdate"] is True
    copy = Path(made.inputs["chart"])
    assert copy.is_relative_to(tmp_path / "cache" / "charts" / "work" / "dev-main")
    assert (copy / "Chart.yaml").read_text() == text


def test_the_regions_file_of_the_chart_is_used(root: Path) -> None:
    folder = root / "chart" / "regional-values"
    folder.mkdir()
    (folder / "values-eu-west-1.yaml").write_text("a: 1\n")
    assert "valueYamlFiles" not in charted(root).one(RELEASE).inputs
    (folder / "values-us-west-2.yaml").write_text("a: 2\n")
    (asset,) = charted(root).one(RELEASE).inputs["valueYamlFiles"]
    assert asset["path"] == str(folder / "values-us-west-2.yaml")


def test_an_oci_reference(root: Path, tmp_path: Path) -> None:
    made = charted(root, oci="oci://registry.example.com/hyperpod", version="0.1.0").one(RELEASE)
    assert made.inputs["chart"] == "oci://registry.example.com/hyperpod"
    assert made.inputs["version"] == "0.1.0"
    assert "dependencyUpdate" not in made.inputs
    assert not (tmp_path / "cache").exists()


def test_partitions_bring_the_operator(root: Path) -> None:
    group = {"instance_type": "ml.p4d.24xlarge", "count": 1, "partitions": {"mig-3g.20gb": 16}}
    values = charted(root, {"mig": group}).one(RELEASE).inputs["values"]
    assert values["gpu-operator"] == {"enabled": True}
    assert values["nvidia-device-plugin"]["devicePlugin"] == {"enabled": False}


def test_a_chart_that_is_not_there(root: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        charted(root, path="other")
    (finding,) = caught.value.findings
    assert finding.id == "chart-missing"
    assert finding.where.file == "environments/dev.yaml"
    assert finding.message == f"cluster `main`: there is no chart at {root}/other"
    assert finding.remedy
