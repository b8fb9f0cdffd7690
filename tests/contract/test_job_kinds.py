"""Every kind of job against what its owner publishes: CRDs on a real API server, and the models of the HyperPod CLI.

The CRDs are those of the Go modules that the pinned Kueue itself is built with.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import jinja2
import jsonschema
import pytest
import yaml
from declarations import planned, team
from sandbox_support import QUEUED

from config.findings import Finding
from config.kueue import FRAMEWORKS
from governance.jobs.hypcli import Command, equivalent
from governance.jobs.kinds import HYPERPOD_JOB_FRAMEWORK, KINDS
from governance.jobs.manifests import manifests
from governance.jobs.model import Elasticity, Order, Resolved
from governance.jobs.resolve import resolve
from governance.model import Plan
from live.connection import ApiError, Connection, connect
from live.submit import submit
from sandbox.pins import CONTROL_PLANE

ENVIRONMENT = f"""
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    sandbox: true
    kueue:
      install: false
      frameworks: {json.dumps(FRAMEWORKS)}
      external_frameworks: [{HYPERPOD_JOB_FRAMEWORK}]
    instance_groups:
      h100: {{instance_type: ml.p5.48xlarge, count: 8}}
      mig: {{instance_type: ml.p4d.24xlarge, count: 1, partitions: {{mig-3g.20gb: 16}}}}
      cpu: {{instance_type: ml.m5.4xlarge, count: 1}}
governance:
  priority_classes: {{high: {{weight: 90}}, low: {{weight: 10}}}}
"""
TEAM = """
quota:
  ml.p5.48xlarge: {instances: 8}
  ml.p4d.24xlarge: {partitions: {mig-3g.20gb: 8}}
  ml.m5.4xlarge: {instances: 1}
default_priority: high
max_run_time: 2h
"""
CRDS = {
    "kubeflow.org_pytorchjobs.yaml": "github.com/kubeflow/training-operator",
    "ray.io_rayjobs.yaml": "github.com/ray-project/kuberay/ray-operator",
    "jobset.x-k8s.io_jobsets.yaml": "sigs.k8s.io/jobset",
    "trainer.kubeflow.org_trainjobs.yaml": "github.com/kubeflow/trainer/v2",
}
PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JUDGED = [name for name in KINDS if name not in ("hyperpodpytorchjob", "space")]
"""Kinds whose schema a server has; HyperPod's own are judged by its CLI's models."""
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "placed": {"pods": 4, "required_topology": "layer-3", "efa": 8},
    "partition": {"instance_type": "ml.p4d.24xlarge", "accelerators": None, "partition": "mig-3g.20gb", "partition_count": 2},
    "small": {"instance_type": "ml.m5.4xlarge", "accelerators": None, "vcpu": 1.5},
}


@pytest.fixture(scope="module")
def declared() -> Plan:
    return planned({"alpha": team(TEAM)}, ENVIRONMENT)


def placed(declared: Plan, kind: str, elastic: Elasticity = Elasticity(), **options: Any) -> Resolved:  # noqa: B008 - frozen
    given = {"accelerators": 8, "image": "train:1", "command": "torchrun train.py --lr 0.1", "env": ("MODE=full",), "port": 8000}
    if KINDS[kind].single:
        options = {name: value for name, value in options.items() if name not in ("pods", "required_topology")}
    if kind == "space":
        given["command"] = "jupyter lab"
    order = Order("llama", "alpha", kind, **{"instance_type": "ml.p5.48xlarge", **given, **options}, elastic=elastic)
    job, found = resolve(order, declared)
    assert job is not None, found
    return job


# Kinds of Kubernetes and of operators


@pytest.fixture(scope="module")
def api(sandbox: Any, declared: Plan) -> Iterator[Connection]:
    """The API server with the operators' CRDs, and the team's namespace, which Kueue's webhooks look at."""
    one = connect(str(sandbox.kubeconfig), "", "")
    installed = [crd(file, module) for file, module in CRDS.items()]
    for found in installed:
        one.request("POST", PATH, found)
    name = declared.clusters["main"].teams["alpha"].namespace
    one.request("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": QUEUED}})
    wait_for([f"{PATH}/{found['metadata']['name']}" for found in installed], one)
    yield one
    one.request("DELETE", f"/api/v1/namespaces/{name}")
    for found in installed:
        one.request("DELETE", f"{PATH}/{found['metadata']['name']}")
    wait_for_the_end(f"/api/v1/namespaces/{name}", one)


@cache
def folder_of(module: str) -> Path:
    """Where a module lies; it is fetched where only the built tools are in the cache."""
    asked = ["go", "mod", "download", "-json", module]
    found = subprocess.run(asked, cwd=CONTROL_PLANE.folder, capture_output=True, text=True, check=True).stdout
    return Path(json.loads(found)["Dir"])


def published(file: str, module: str) -> dict[str, Any]:
    """A file of a Go module, wherever it lies there."""
    found: dict[str, Any] = yaml.load(min(folder_of(module).rglob(file)).read_bytes(), Loader=yaml.CSafeLoader)
    return found


def crd(file: str, module: str) -> dict[str, Any]:
    """A CRD as its module carries it: the version that is stored, and nothing that is there for readers alone."""
    found = published(file, module)
    found["spec"].pop("conversion", None)
    found["spec"]["versions"] = [version for version in found["spec"]["versions"] if version["storage"]]
    return bare(found)


def bare(value: Any) -> Any:
    """Without descriptions, which are most of a schema's size."""
    if isinstance(value, dict):
        return {key: bare(part) for key, part in value.items() if key != "description" or not isinstance(part, str)}
    return [bare(part) for part in value] if isinstance(value, list) else value


def wait_for(paths: list[str], api: Connection) -> None:
    deadline = time.monotonic() + 120
    while paths and time.monotonic() < deadline:
        conditions = {path: api.request("GET", path).body["status"].get("conditions") or [] for path in paths}
        paths = [
            path for path in paths if not any(c["type"] == "Established" and c["status"] == "True" for c in conditions[path])
        ]
        time.sleep(0.1)
    assert not paths


def wait_for_the_end(path: str, api: Connection) -> None:
    """Other files have a team of this name: a namespace that still goes takes nothing new."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            api.request("GET", path)
        except ApiError as error:
            if error.status == 404:
                return
            raise
        time.sleep(0.1)
    raise AssertionError(f"{path} does not end")


@pytest.mark.engine
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("kind", JUDGED)
def test_the_server_takes_the_manifest(api: Connection, declared: Plan, kind: str, options: dict[str, Any]) -> None:
    """Schemas, unknown fields, defaults and Kueue's webhooks, without effect."""
    objects = manifests(placed(declared, kind, **options))
    assert submit(api, objects, dry=True) == []


@pytest.mark.engine
def test_the_server_takes_every_part_of_an_elastic_job(api: Connection, declared: Plan) -> None:
    objects = manifests(placed(declared, "job", Elasticity(2, 8, 2), required_topology="layer-2"))
    assert len(objects) == 5
    assert submit(api, objects, dry=True) == []


@pytest.mark.engine
@pytest.mark.parametrize("kind", JUDGED)
def test_the_server_would_refuse_what_the_kind_does_not_have(api: Connection, declared: Plan, kind: str) -> None:
    """The acceptance above is a judgement: a field of another name, and an amount that is none."""
    objects = manifests(placed(declared, kind))
    unknown = copy.deepcopy(objects[-1])
    unknown["spec"]["suspended"] = True
    (refused,) = submit(api, [unknown], dry=True)
    assert refused.id == "job-refused"
    assert "suspended" in refused.message
    wrong = yaml.safe_load(yaml.dump(objects[-1]).replace("train:1", "[]").replace("- train.py", "- {a: 1}"))
    (refused,) = submit(api, [wrong], dry=True)
    assert refused.id == "job-refused"


@pytest.mark.engine
def test_kueue_itself_refuses_two_topologies(api: Connection, declared: Plan) -> None:
    one = copy.deepcopy(manifests(placed(declared, "job", required_topology="layer-3"))[-1])
    one["spec"]["template"]["metadata"]["annotations"]["kueue.x-k8s.io/podset-preferred-topology"] = "kubernetes.io/hostname"
    (refused,) = submit(api, [one], dry=True)
    assert "must not contain more than one topology annotation" in refused.message


@pytest.mark.engine
def test_kinds_without_an_operator_are_told(api: Connection, declared: Plan) -> None:
    (refused,) = submit(api, manifests(placed(declared, "hyperpodpytorchjob")), dry=True)
    assert refused.message == "the cluster doesn't know HyperPodPyTorchJob (sagemaker.amazonaws.com/v1)"
    with pytest.raises(ApiError, match="not found"):
        api.request("GET", "/apis/sagemaker.amazonaws.com/v1")


@pytest.mark.engine
def test_the_runtime_of_a_train_job_is_the_one_that_trainer_brings(declared: Plan) -> None:
    (one,) = manifests(placed(declared, "trainjob"))
    runtime = published("torch_distributed.yaml", "github.com/kubeflow/trainer/v2")
    assert one["spec"]["runtimeRef"]["kind"] == runtime["kind"]
    assert one["spec"]["runtimeRef"]["name"] == runtime["metadata"]["name"]
    (target,) = one["spec"]["podTemplateOverrides"][0]["targetJobs"]
    assert [found["name"] for found in runtime["spec"]["template"]["spec"]["replicatedJobs"]] == [target["name"]]


# HyperPod's own kinds


@pytest.fixture(scope="module")
def pytorch_template() -> Iterator[Any]:
    """The CLI's template for training jobs. It imports the CLI itself for two lists, which its schema has as well."""
    schema = json.loads(_package("hyperpod_pytorch_job_template/v1_1/schema.json"))
    stubs = [
        "sagemaker.hyperpod.training.config.hyperpod_pytorch_job_unified_config",
        "sagemaker.hyperpod.training.hyperpod_pytorch_job",
        "sagemaker.hyperpod.training.accelerator_partition_util",
        "sagemaker.hyperpod.training.constants",
        "sagemaker.hyperpod.cli.type_handler_utils",
    ]
    names = {".".join(stub.split(".")[: depth + 1]) for stub in stubs for depth in range(len(stub.split(".")))}
    before = {name: sys.modules.get(name) for name in (*names, "click")}
    try:
        for name in (*names, "click"):
            sys.modules[name] = _stub(name, schema)
        yield import_module("hyperpod_pytorch_job_template.v1_1.model").PyTorchJobConfig
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
        for name in [name for name in sys.modules if name.startswith("hyperpod_pytorch_job_template")]:
            del sys.modules[name]


def _stub(name: str, schema: dict[str, Any]) -> ModuleType:
    stub = ModuleType(name)
    stub.__path__ = []  # type: ignore[attr-defined]
    stub.__getattr__ = lambda _name: MagicMock()  # type: ignore[method-assign]
    types = schema["properties"]["accelerator_partition_type"]["enum"]
    stub.ALLOWED_ACCELERATOR_PARTITION_TYPES = types  # type: ignore[attr-defined]
    stub._validate_accelerator_partition_parameters = lambda *_: (True, "")  # type: ignore[attr-defined]
    stub.DEFAULT_TYPE_HANDLER = {}  # type: ignore[attr-defined]
    return stub


def _package(path: str) -> str:
    name, _, rest = path.partition("/")
    spec = import_module("importlib.util").find_spec(name)
    assert spec is not None
    return (Path(spec.submodule_search_locations[0]) / rest).read_text()


def training_options(command: Command) -> dict[str, Any]:
    """The options as the CLI's own parser reads them: JSON for the environment, lists in brackets, numbers by the schema."""
    schema = json.loads(_package("hyperpod_pytorch_job_template/v1_1/schema.json"))["properties"]
    found: dict[str, Any] = {}
    for option, value in command.options:
        name = option.removeprefix("--").replace("-", "_")
        assert name in schema, option
        kinds = {part.get("type") for part in schema[name].get("anyOf", [schema[name]])}
        if name == "environment":
            found[name] = json.loads(value)
        elif "array" in kinds:
            items = [item.strip() for item in value.strip("[]").split(",")]
            found[name] = [int(item) for item in items] if name == "elastic_replica_discrete_values" else items
        elif "integer" in kinds:
            found[name] = int(value)
        elif "float" in kinds:
            found[name] = float(value)
        else:
            found[name] = value
    return found


TRAINING: dict[str, tuple[Elasticity, dict[str, Any]]] = {
    "whole": (Elasticity(), {"accelerators": None, "whole_node": True, "pods": 2, "required_topology": "layer-3"}),
    "part": (Elasticity(), {"accelerators": 3, "pods": 2, "preferred_topology": "layer-2", "priority": "low"}),
    "partition": (Elasticity(), OPTIONS["partition"]),
    "increment": (Elasticity(2, 8, 2, None, 60, 600), {}),
    "discrete": (Elasticity(1, 8, None, "2,4,8"), {}),
}


@pytest.mark.parametrize(("elastic", "options"), TRAINING.values(), ids=TRAINING)
def test_the_command_of_the_hyperpod_cli_means_the_same_job(
    declared: Plan, pytorch_template: Any, elastic: Elasticity, options: dict[str, Any]
) -> None:
    """Its options pass the CLI's schema and model; rendered by its own template, they make our manifest but for what is told."""
    job = placed(declared, "hyperpodpytorchjob", elastic, port=8080, **options)
    command = equivalent(job)
    assert isinstance(command, Command)
    given = training_options(command)
    schema = json.loads(_package("hyperpod_pytorch_job_template/v1_1/schema.json"))
    jsonschema.validate({name: value for name, value in given.items() if not isinstance(value, float)}, _plain(schema))
    pytorch_template(**given)

    theirs = yaml.safe_load(jinja2.Template(_template()).render(**given))
    (ours,) = manifests(job)
    assert (ours["apiVersion"], ours["kind"]) == (theirs["apiVersion"], theirs["kind"])
    assert ours["metadata"]["name"] == theirs["metadata"]["name"]
    assert ours["metadata"]["namespace"] == theirs["metadata"]["namespace"]
    assert ours["metadata"]["labels"].items() >= theirs["metadata"]["labels"].items()
    assert ours["spec"]["nprocPerNode"] == theirs["spec"]["nprocPerNode"]
    (own,), (their,) = ours["spec"]["replicaSpecs"], theirs["spec"]["replicaSpecs"]
    assert own["replicas"] == their["replicas"]
    for key in ("labels", "annotations"):
        assert own["template"]["metadata"].get(key) == their["template"]["metadata"].get(key)
    (mine,), (its,) = own["template"]["spec"]["containers"], their["template"]["spec"]["containers"]
    for key in ("image", "command", "env"):
        assert mine[key] == its[key]
    for key in ("requests", "limits"):
        assert {name: base(name, amount) for name, amount in mine["resources"][key].items()} == {
            name: base(name, amount) for name, amount in its["resources"][key].items()
        }
    selector = {"nvidia.com/mig.config.state": "success"} if job.order.partition else {}
    assert own["template"]["spec"]["nodeSelector"] | selector == their["template"]["spec"]["nodeSelector"]


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the types that JSON Schema doesn't have (`float`)."""
    properties = {name: value for name, value in schema["properties"].items() if value.get("type") != "float"}
    for value in properties.values():
        if "$ref" in value and "enum" not in value:
            value.pop("default", None)
    return {**schema, "properties": properties}


def _template() -> str:
    module = ModuleType("template")
    exec(_package("hyperpod_pytorch_job_template/v1_1/template.py"), module.__dict__)  # noqa: S102 - the installed package
    text: str = module.TEMPLATE_CONTENT
    return text


def base(resource: str, amount: Any) -> float:
    """A quantity as a number, memory in GiB."""
    text = str(amount)
    if resource == "memory":
        sizes = {"Ti": 1024.0, "Gi": 1.0, "Mi": 1 / 1024}
        return float(text[:-2]) * sizes[text[-2:]]
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


def test_the_schema_refuses_what_it_does_not_know(declared: Plan, pytorch_template: Any) -> None:
    command = equivalent(placed(declared, "hyperpodpytorchjob", port=8080, pods=2))
    assert isinstance(command, Command)
    given = training_options(command)
    with pytest.raises(ValueError, match="required_topology"):
        pytorch_template(**{**given, "required_topology": "kubernetes.io/hostname"})
    with pytest.raises(ValueError, match="max"):
        pytorch_template(**{**given, "max_replica_count": 2, "elastic_replica_discrete_values": [4]})


def test_what_the_command_cannot_say_is_told(declared: Plan) -> None:
    elastic = Elasticity(2, 4, 2, None, None, None, 30)
    job = placed(declared, "hyperpodpytorchjob", elastic, preferred_topology="host", command="torchrun a.py --x=1,2", port=8000)
    command = equivalent(job)
    assert isinstance(command, Command)
    told = " | ".join(command.left_out)
    for words in ("comma", "kubernetes.io/hostname", "faultyScaleDownTimeoutInSeconds", "--port", "max-exec-time", "affinity"):
        assert words in told, words
    assert "--preferred-topology" not in dict(command.options)


def test_elastic_fields_are_those_of_the_cli(declared: Plan) -> None:
    """The CLI's converter from options to the object names the policy's fields; so does our manifest."""
    source = _package("hyperpod_pytorch_job_template/v1_1/model.py")
    (one,) = manifests(placed(declared, "hyperpodpytorchjob", Elasticity(2, 8, 2, None, 60, 600)))
    for field in one["spec"]["elasticPolicy"]:
        snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in field)
        assert f"{snake}=" in source or f"'{snake}'" in source, field


SPACES = [OPTIONS["small"], OPTIONS["partition"], {"accelerators": 1}, {"accelerators": 1, "image": None}]


@pytest.mark.parametrize("options", SPACES)
def test_a_space_is_what_the_hyperpod_cli_makes_of_its_options(declared: Plan, options: dict[str, Any]) -> None:
    job = placed(declared, "space", **options)
    command = equivalent(job)
    assert isinstance(command, Command)
    model = import_module("hyperpod_space_template.v1_1.model").SpaceConfig
    given = space_options(command)
    made = model(**given).to_domain()["space_spec"]
    (ours,) = manifests(job)
    ours["spec"].pop("desiredStatus")
    assert ours == made
    with pytest.raises(ValueError, match="Extra inputs"):
        model(**given, queue="x")


def space_options(command: Command) -> dict[str, Any]:
    """The options as the CLI's command for spaces puts them together."""
    found: dict[str, Any] = {}
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    amounts = {"cpu": "cpu", "memory": "memory", "gpu": "nvidia.com/gpu"}
    options = {option.removeprefix("--"): value for option, value in command.options}
    if "accelerator-partition-type" in options:
        resource = f"nvidia.com/{options.pop('accelerator-partition-type')}"
        requests[resource] = limits[resource] = options.pop("accelerator-partition-count")
    for option, value in options.items():
        name = option.removesuffix("-limit")
        if name in amounts:
            (limits if option.endswith("-limit") else requests)[amounts[name]] = value
        elif option == "container-config":
            found["container_config"] = {"command": value.removeprefix("command=").split(";")}
        else:
            found[option.replace("-", "_")] = json.loads(value) if value.startswith(("{", "[")) else value
    return {**found, "resources": {"requests": requests, "limits": limits}}


def test_an_inference_endpoint_has_no_queue_there(declared: Plan) -> None:
    """Why a Deployment has no equivalent: the CLI's template for endpoints names neither queue nor priority."""
    schema = json.loads(_package("hyperpod_custom_inference_template/v1_2/schema.json"))
    assert not {"queue_name", "priority"} & schema["properties"].keys()
    assert isinstance(equivalent(placed(declared, "deployment")), Finding)
