"""The job contract on every kind: where Kueue reads queue, priority, run time and topology, and what pods ask for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from declarations import planned, team
from job_orders import ENVIRONMENT, TEAMS, order_of

from config.kueue import FRAMEWORKS
from governance.jobs.elastic import sizes_of
from governance.jobs.kinds import BY_OBJECT, HYPERPOD_JOB_FRAMEWORK, KINDS
from governance.jobs.manifests import manifests
from governance.jobs.resolve import level_of, resolve
from governance.model import Plan
from governance.names import PRIORITY_LABEL, QUEUE_LABEL, REQUIRED_TOPOLOGY

QUEUE = {QUEUE_LABEL: "hyperpod-ns-beta-localqueue", PRIORITY_LABEL: "high-priority"}
ASKED: dict[str, Any] = {
    "team": "beta",
    "instance_type": "ml.g6.12xlarge",
    "accelerators": 2,
    "priority": "high",
    "command": "python train.py --name 'a b'",
    "env": ("MODE=full", "EMPTY="),
}
SINGLE = [name for name, kind in KINDS.items() if kind.single]
WITH_TEMPLATES = [name for name in KINDS if name not in ("trainjob", "space")]


@pytest.fixture(scope="module")
def every_kind() -> Plan:
    """A plan whose Kueue queues every kind."""
    before, _, after = ENVIRONMENT.partition("frameworks:")
    more = f"frameworks: {json.dumps(FRAMEWORKS)}\n      external_frameworks: [{HYPERPOD_JOB_FRAMEWORK}]\n"
    env = before + more + after.partition("\n")[2]
    return planned({name: team(text) for name, text in TEAMS.items()}, env)


def made(plan: Plan, kind: str, **options: Any) -> list[dict[str, Any]]:
    count = {} if KINDS[kind].single else {"pods": 2}
    job, found = resolve(order_of(**{**ASKED, "kind": kind, **count, **options}), plan)
    assert job is not None, found
    return manifests(job)


def templates(value: Any) -> Iterator[dict[str, Any]]:
    """Everything in a manifest that holds containers, with its metadata."""
    if isinstance(value, dict):
        if "containers" in value.get("spec", {}):
            yield value
        for part in value.values():
            yield from templates(part)
    if isinstance(value, list):
        for part in value:
            yield from templates(part)


@pytest.mark.parametrize("kind", KINDS)
def test_the_object_names_queue_priority_and_run_time(every_kind: Plan, kind: str) -> None:
    one = made(every_kind, kind)[-1]
    assert (one["apiVersion"], one["kind"]) in BY_OBJECT
    assert one["metadata"]["namespace"] == "hyperpod-ns-beta"
    limit = {"kueue.x-k8s.io/max-exec-time-seconds": "3600"} if KINDS[kind].ends else {}
    assert one["metadata"]["labels"] == {**QUEUE, **limit}


@pytest.mark.parametrize("kind", WITH_TEMPLATES)
def test_every_pod_names_queue_and_priority(every_kind: Plan, kind: str) -> None:
    found = [pod for one in made(every_kind, kind) for pod in templates(one)]
    assert len(found) == {"pytorchjob": 2, "rayjob": 3}.get(kind, 1)
    for pod in found:
        assert pod["metadata"]["labels"].items() >= QUEUE.items()
        assert pod["spec"]["nodeSelector"]["node.kubernetes.io/instance-type"] in ("ml.g6.12xlarge", "ml.m5.4xlarge")
        terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert terms[0]["matchExpressions"][0]["key"] == "sagemaker.amazonaws.com/node-health-status"
        (container,) = pod["spec"]["containers"]
        assert container["resources"]["requests"] == container["resources"]["limits"]


@pytest.mark.parametrize("kind", [name for name in WITH_TEMPLATES if name != "rayjob"])
def test_workers_run_the_command_with_the_environment(every_kind: Plan, kind: str) -> None:
    for pod in (pod for one in made(every_kind, kind) for pod in templates(one)):
        (container,) = pod["spec"]["containers"]
        assert container["command"][-3:] == ["train.py", "--name", "a b"]
        assert container["env"][-2:] == [{"name": "MODE", "value": "full"}, {"name": "EMPTY", "value": ""}]
        assert container["resources"]["limits"]["nvidia.com/gpu"] == "2"


@pytest.mark.parametrize("kind", [name for name in KINDS if name != "space"])
def test_topology_stands_on_the_pods_of_workers(every_kind: Plan, kind: str) -> None:
    one = made(every_kind, kind, required_topology="host")[-1]
    text = json.dumps(one)
    assert text.count(REQUIRED_TOPOLOGY) == {"pytorchjob": 2}.get(kind, 1)
    if kind != "pod":
        assert "annotations" not in one["metadata"]
    if kind == "rayjob":
        worker = one["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"]
        assert worker["metadata"]["annotations"] == {REQUIRED_TOPOLOGY: "kubernetes.io/hostname"}


@pytest.mark.parametrize("kind", ["job", "rayjob", "jobset", "trainjob"])
def test_a_job_waits_for_kueue(every_kind: Plan, kind: str) -> None:
    assert made(every_kind, kind)[-1]["spec"]["suspend"] is True


def test_master_and_workers_are_placed_together(every_kind: Plan) -> None:
    (one,) = made(every_kind, "pytorchjob", required_topology="host")
    roles = one["spec"]["pytorchReplicaSpecs"]
    groups = {
        roles[role]["template"]["metadata"]["annotations"]["kueue.x-k8s.io/podset-group-name"] for role in ("Master", "Worker")
    }
    assert groups == {"llama"}
    assert (roles["Master"]["replicas"], roles["Worker"]["replicas"]) == (1, 1)
    assert one["spec"]["runPolicy"]["suspend"] is True
    (alone,) = made(every_kind, "pytorchjob", pods=1, required_topology="host")
    assert list(alone["spec"]["pytorchReplicaSpecs"]) == ["Master"]
    assert "podset-group-name" not in json.dumps(alone)


def test_the_head_of_a_ray_cluster_stands_on_nodes_without_accelerators(every_kind: Plan) -> None:
    (one,) = made(every_kind, "rayjob")
    cluster = one["spec"]["rayClusterSpec"]
    small = "ml.m5.4xlarge"
    head, submitter = cluster["headGroupSpec"]["template"], one["spec"]["submitterPodTemplate"]
    assert {pod["spec"]["nodeSelector"]["node.kubernetes.io/instance-type"] for pod in (head, submitter)} == {small}
    assert cluster["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    assert cluster["workerGroupSpecs"][0]["rayStartParams"]["num-gpus"] == "2"
    assert one["spec"]["entrypoint"] == "python train.py --name 'a b'"
    assert one["spec"]["shutdownAfterJobFinishes"] is True


def test_pods_of_a_job_find_each_other(every_kind: Plan) -> None:
    service, one = made(every_kind, "job")
    assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": one["metadata"]["name"]}
    assert one["spec"]["template"]["spec"]["subdomain"] == service["metadata"]["name"]
    assert {"name": "MASTER_ADDR", "value": "llama-0.llama"} in one["spec"]["template"]["spec"]["containers"][0]["env"]
    assert len(made(every_kind, "job", pods=1)) == 1
    own = made(every_kind, "job", env=("MASTER_ADDR=elsewhere",))[-1]["spec"]["template"]["spec"]["containers"][0]["env"]
    assert [entry["value"] for entry in own if entry["name"] == "MASTER_ADDR"] == ["elsewhere"]


def test_pods_of_a_job_set_find_each_other(every_kind: Plan) -> None:
    (one,) = made(every_kind, "jobset")
    (workers,) = one["spec"]["replicatedJobs"]
    host = f"llama-{workers['name']}-0-0.llama"  # JobSet's own names, <set>-<job>-<replica>-<index>, below its own subdomain
    assert {"name": "MASTER_ADDR", "value": host} in workers["template"]["spec"]["template"]["spec"]["containers"][0]["env"]


def test_an_elastic_job_of_the_operator(every_kind: Plan) -> None:
    options = {"least": 2, "most": 4, "discrete": "2,4", "graceful_shutdown_timeout": 600, "faulty_timeout": 30, "pods": None}
    (one,) = made(every_kind, "hyperpodpytorchjob", **options, accelerators=1, command="torchrun --nproc_per_node=1 train.py")
    assert one["spec"]["elasticPolicy"] == {
        "minReplicas": 2,
        "maxReplicas": 4,
        "replicaDiscreteValues": [2, 4],
        "gracefulShutdownTimeoutInSeconds": 600,
        "faultyScaleDownTimeoutInSeconds": 30,
    }
    (replica,) = one["spec"]["replicaSpecs"]
    assert (replica["replicas"], replica["maxReplicas"]) == (2, 4)
    command = replica["template"]["spec"]["containers"][0]["command"]
    assert command == ["hyperpodrun", "--nnodes=2", "--rdzv-backend=hyperpod", "--nproc_per_node=1", "train.py"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python train.py", ["hyperpodrun", "--nnodes=2", "--nproc-per-node=2", "--rdzv-backend=hyperpod", "train.py"]),
        ("python3 -m pkg", ["hyperpodrun", "--nnodes=2", "--nproc-per-node=2", "--rdzv-backend=hyperpod", "-m", "pkg"]),
        ("hyperpodrun --nnodes=9 a.py", ["hyperpodrun", "--nnodes=9", "a.py"]),
        ("python -u train.py", ["python", "-u", "train.py"]),
        ("bash run.sh", ["bash", "run.sh"]),
    ],
)
def test_hyperpodrun_is_the_entry_point(every_kind: Plan, command: str, expected: list[str]) -> None:
    (one,) = made(every_kind, "hyperpodpytorchjob", command=command)
    assert one["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["command"] == expected


def test_partitions_are_asked_for_by_their_name(every_kind: Plan) -> None:
    options = {"instance_type": "ml.p4d.24xlarge", "partition": "mig-3g.20gb", "partition_count": 2, "accelerators": None}
    (one,) = made(every_kind, "pod", **options)
    limits = one["spec"]["containers"][0]["resources"]["limits"]
    assert limits["nvidia.com/mig-3g.20gb"] == "2"
    assert "nvidia.com/gpu" not in limits
    assert "nvidia.com/mig.config.state" not in one["spec"]["nodeSelector"]  # nobody labels nodes so outside of HyperPod


def test_a_service_has_no_end_and_selects_its_pods(every_kind: Plan) -> None:
    (one,) = made(every_kind, "deployment", port=8000)
    assert one["spec"]["selector"]["matchLabels"].items() <= one["spec"]["template"]["metadata"]["labels"].items()
    assert one["spec"]["template"]["spec"]["containers"][0]["ports"] == [{"containerPort": 8000}]
    assert "max-exec-time" not in json.dumps(one)


def test_levels_may_be_named_shortly() -> None:
    assert level_of("layer-3") == "topology.k8s.aws/network-node-layer-3"
    assert level_of("layer1") == "topology.k8s.aws/network-node-layer-1"
    assert level_of("host") == "kubernetes.io/hostname"
    assert level_of("example.com/rack") == "example.com/rack"
    assert sizes_of(order_of().elastic) == ()
