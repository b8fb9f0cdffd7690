"""What we say of Kueue, against the source of the version that is pinned."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from config.cluster import Kueue
from config.environment import Governance
from config.kueue import FEATURE_GATES, FRAMEWORKS, KueueVersion
from governance.cluster_checks import MAX_CELLS, MAX_COVERED, MAX_FLAVORS, MAX_TOLERATIONS
from governance.manager import manager_configuration
from governance.platform.kubernetes import KUEUE
from governance.platform.versions import kubernetes_version

TOOLS = Path(__file__).parents[2] / "sandbox/tools/controlplane"


@cache
def module(name: str) -> Path:
    """The folder of a Go module that the sandbox builds from."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed: the pinned source can't be read")
    run = subprocess.run([go, "mod", "download", "-json", name], cwd=TOOLS, capture_output=True, text=True, check=False)
    if run.returncode:
        pytest.skip(f"the module {name} is not to be had: {run.stdout or run.stderr}")
    return Path(json.loads(run.stdout)["Dir"])


def kueue() -> Path:
    return module("sigs.k8s.io/kueue")


def test_the_version_is_the_pinned_one() -> None:
    assert kueue().name == f"kueue@v{get_args(KueueVersion)[0]}"
    assert set(FEATURE_GATES) == set(get_args(KueueVersion))


def test_kubernetes_versions_are_those_that_kueue_is_tested_with() -> None:
    text = "".join(path.read_text() for path in sorted(kueue().glob("Makefile*")))
    (line,) = re.findall(r"^E2E_K8S_VERSIONS \?= (.+)$", text, re.MULTILINE)
    tested = sorted(kubernetes_version(version.rpartition(".")[0]) for version in line.split())
    assert {"0.16.6": (tested[0], tested[-1])} == KUEUE


def test_feature_gates() -> None:
    source = (kueue() / "pkg/features/kube_features.go").read_text()
    declared = set(re.findall(r'featuregate\.Feature = "(\w+)"', source))
    assert declared
    assert FEATURE_GATES["0.16.6"] == declared


def test_frameworks_are_those_that_the_chart_enables() -> None:
    values = yaml.safe_load((kueue() / "charts/kueue/values.yaml").read_text())
    configuration = yaml.safe_load(values["managerConfig"]["controllerManagerConfigYaml"])
    assert set(FRAMEWORKS) == set(configuration["integrations"]["frameworks"])
    assert len(set(FRAMEWORKS)) == len(FRAMEWORKS)


def test_frameworks_are_those_that_the_manager_knows() -> None:
    jobs = kueue() / "pkg/controller/jobs"
    sources = [path.read_text() for path in jobs.rglob("*_controller.go")]
    registered = {
        name for text in sources if "RegisterIntegration(" in text for name in re.findall(r'FrameworkName\s*=\s*"([^"]+)"', text)
    }
    assert set(FRAMEWORKS) == registered


def structs(*files: Path) -> dict[str, dict[str, str]]:
    """Go structs of the files: the Go type of each field by its JSON name; embedded structs stand under their own name."""
    found: dict[str, dict[str, str]] = {}
    for file in files:
        for name, body in re.findall(r"^type (\w+) struct \{\n(.*?)^\}", file.read_text(), re.MULTILINE | re.DOTALL):
            fields = re.findall(r'^\t(?:(\w+) +)?(\S+) +`json:"([^",]*)(?:,\w+)*"[^`]*`', body, re.MULTILINE)
            found[name] = {tag or f"embedded {kind}": kind for _, kind, tag in fields}
    return found


def wrong(data: Mapping[str, Any], name: str, known: Mapping[str, Mapping[str, str]], path: str = "") -> Iterator[str]:
    """Places of `data` that the Go struct `name` has no field for, or of another type."""
    fields = dict(known[name])
    for embedded in [key for key in fields if key.startswith("embedded ")]:
        fields |= known.get(embedded.rpartition(".")[2].removeprefix("embedded "), {})
    for key, value in data.items():
        here = f"{path}.{key}"
        if key not in fields:
            yield here
            continue
        kind = fields[key].removeprefix("*")
        inner = kind.rpartition(".")[2]
        if isinstance(value, Mapping) and inner in known:
            yield from wrong(value, inner, known, here)
        elif not fits(value, kind):
            yield f"{here}: {value!r} is no {kind}"


def fits(value: Any, kind: str) -> bool:
    if kind.startswith("[]"):
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if kind.startswith("map["):
        return isinstance(value, Mapping)
    if kind.endswith("Duration"):
        return isinstance(value, str) and bool(re.fullmatch(r"(\d+[hms])+", value))
    kinds = {"bool": (bool,), "int": (int,), "int32": (int,), "float32": (int, float)}
    return type(value) in kinds.get(kind, (str,))


FULL_POLICY = {
    "gang": {"timeout": "5m", "recovery_timeout": "0s", "block_admission": True, "requeue_from": "creation", "backoff_limit": 3},
    "idle_compute": "fair_share",
}
FULL_KUEUE = {
    "external_frameworks": ["HyperPodPytorchJob.v1.sagemaker.amazonaws.com"],
    "feature_gates": {"LocalQueueMetrics": True},
}


def configuration_types() -> dict[str, dict[str, str]]:
    base = module("k8s.io/component-base") / "config/v1alpha1/types.go"
    meta = module("k8s.io/apimachinery") / "pkg/apis/meta/v1/types.go"
    found = structs(meta, base, kueue() / "apis/config/v1beta2/configuration_types.go")
    assert {"Configuration", "WaitForPodsReady", "LeaderElectionConfiguration", "LabelSelector"} <= found.keys()
    return found


@pytest.mark.parametrize("policy", [{}, FULL_POLICY, {"idle_compute": "first_come_first_served"}])
@pytest.mark.parametrize("settings", [{}, FULL_KUEUE, {"exclude_resources": []}])
def test_every_field_of_the_manager_configuration_is_one_of_kueues(policy: dict[str, Any], settings: dict[str, Any]) -> None:
    data = manager_configuration(Governance.model_validate(policy), Kueue.model_validate(settings))
    types = configuration_types()
    assert list(wrong(data, "Configuration", types)) == []


def test_a_wrong_field_would_be_seen() -> None:
    data = manager_configuration(Governance.model_validate(FULL_POLICY), Kueue())
    types = configuration_types()
    data["waitForPodsReady"]["requeuingStrategy"]["backoffBase"] = 1
    data["fairSharing"]["enable"] = True
    data["clientConnection"]["burst"] = "100"
    data["leaderElection"]["leaderElected"] = True
    assert sorted(wrong(data, "Configuration", types)) == [
        ".clientConnection.burst: '100' is no int32",
        ".fairSharing.enable",
        ".leaderElection.leaderElected",
        ".waitForPodsReady.requeuingStrategy.backoffBase",
    ]


def test_limits_are_those_of_the_schemas() -> None:
    bases = kueue() / "config/components/crd/bases"

    def spec(kind: str) -> Any:
        crd = yaml.safe_load((bases / f"kueue.x-k8s.io_{kind}.yaml").read_text())
        (version,) = [version for version in crd["spec"]["versions"] if version["name"] == "v1beta2"]
        return version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]

    for kind in ("clusterqueues", "cohorts"):
        group = spec(kind)["resourceGroups"]["items"]["properties"]
        assert group["flavors"]["maxItems"] == MAX_FLAVORS
        assert group["coveredResources"]["maxItems"] == MAX_COVERED
    assert spec("resourceflavors")["tolerations"]["maxItems"] == MAX_TOLERATIONS
    webhook = "\n".join(path.read_text() for path in (kueue() / "pkg/webhooks").glob("*.go"))
    assert re.search(rf"\b{MAX_CELLS}\b", webhook)
