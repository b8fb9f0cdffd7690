"""Jobs as they are submitted: the job contract, and resources that fit a node."""

from __future__ import annotations

from typing import Any

import pytest

from governance.model import ClusterPlan
from governance.nodes import nodes
from simulation.cases import Workload
from simulation.jobs import job_name, manifests, node_room, pod_resources


def workload(**fields: object) -> Workload:
    base = {"team": "alpha", "instance_type": "ml.p5.48xlarge", "per_pod": "whole_node"}
    return Workload.model_validate({**base, **fields})


def manifest(case: str, name: str, asked: Workload, cluster: ClusterPlan) -> dict[str, Any]:
    (found,) = manifests(case, name, asked, cluster)
    return found


def test_a_job_keeps_to_the_contract(cluster: ClusterPlan) -> None:
    level = "topology.k8s.aws/network-node-layer-3"
    job = manifest("one", "big", workload(pods=3, priority="high", topology={"required": level}), cluster)
    assert job["metadata"]["name"] == "one-big"
    assert job["metadata"]["namespace"] == "hyperpod-ns-alpha"
    template = job["spec"]["template"]
    for labels in (job["metadata"]["labels"], template["metadata"]["labels"]):
        assert labels["kueue.x-k8s.io/queue-name"] == "hyperpod-ns-alpha-localqueue"
        assert labels["kueue.x-k8s.io/priority-class"] == "high-priority"
        assert labels["hyperpod-platform/case"] == "one"
        assert labels["hyperpod-platform/workload"] == "big"
    assert template["metadata"]["annotations"]["kueue.x-k8s.io/podset-required-topology"] == level
    assert template["spec"]["nodeSelector"] == {"node.kubernetes.io/instance-type": "ml.p5.48xlarge"}
    assert (job["spec"]["parallelism"], job["spec"]["completions"]) == (3, 3)
    assert template["spec"]["restartPolicy"] == "Never"


def test_without_a_class_there_is_no_priority_label(cluster: ClusterPlan) -> None:
    job = manifest("one", "big", workload(), cluster)
    assert "kueue.x-k8s.io/priority-class" not in job["metadata"]["labels"]
    assert not any("topology" in key for key in job["spec"]["template"]["metadata"]["annotations"])


def test_a_preferred_topology_has_its_own_annotation(cluster: ClusterPlan) -> None:
    job = manifest("one", "big", workload(topology={"preferred": "kubernetes.io/hostname"}), cluster)
    annotations = job["spec"]["template"]["metadata"]["annotations"]
    assert annotations["kueue.x-k8s.io/podset-preferred-topology"] == "kubernetes.io/hostname"
    assert "kueue.x-k8s.io/podset-required-topology" not in annotations


def test_a_team_with_a_maximum_run_time_gets_the_label_that_its_jobs_need(cluster: ClusterPlan) -> None:
    job = manifest("one", "big", workload(team="beta", instance_type="ml.g6.12xlarge", runs_for="2m"), cluster)
    assert job["metadata"]["labels"]["kueue.x-k8s.io/max-exec-time-seconds"] == "3600"
    assert job["spec"]["template"]["metadata"]["annotations"]["pod-complete.stage.kwok.x-k8s.io/delay"] == "120s"


def test_pods_run_until_told_without_a_time(cluster: ClusterPlan) -> None:
    job = manifest("one", "big", workload(), cluster)
    assert job["spec"]["template"]["metadata"]["annotations"]["pod-complete.stage.kwok.x-k8s.io/delay"] == "86400s"


@pytest.mark.parametrize("kind", ["ml.p5.48xlarge", "ml.g6.12xlarge", "ml.m5.4xlarge"])
def test_a_whole_node_is_all_that_a_node_of_the_sandbox_allocates(cluster: ClusterPlan, kind: str) -> None:
    live = next(node for node in nodes(cluster) if node.labels["node.kubernetes.io/instance-type"] == kind)
    container = manifest("one", "big", workload(instance_type=kind), cluster)["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["requests"] == {r: q for r, q in live.allocatable.items() if r != "pods"}
    assert container["resources"]["limits"] == container["resources"]["requests"]


def test_amounts_are_exact_and_devices_are_those_of_the_type(cluster: ClusterPlan) -> None:
    asked = workload(per_pod={"accelerators": 2, "vcpu": 4.5, "memory_gib": 16.5})
    assert pod_resources(asked, cluster) == {"cpu": 4500, "memory": 16896, "nvidia.com/gpu": 2}
    container = manifest("one", "big", asked, cluster)["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["requests"] == {"cpu": "4500m", "memory": "16896Mi", "nvidia.com/gpu": "2"}


def test_a_node_keeps_a_part_for_itself(cluster: ClusterPlan) -> None:
    room = node_room("ml.p5.48xlarge", cluster)
    assert room["nvidia.com/gpu"] == 8
    assert 0 < room["cpu"] < 192_000
    assert 0 < room["memory"] < 2048 * 1024


def test_the_longest_names_make_a_job_whose_pods_can_be_named() -> None:
    assert len(job_name("c" * 30, "w" * 30)) <= 63


def serving(**fields: object) -> Workload:
    return workload(
        **{"kind": "deployment", "pods": 3, "priority": "high", "team": "beta", **fields}, instance_type="ml.g6.12xlarge"
    )


def test_a_deployment_names_its_queue_once_and_runs_without_end(cluster: ClusterPlan) -> None:
    made = manifest("one", "chat", serving(), cluster)
    assert (made["apiVersion"], made["kind"], made["spec"]["replicas"]) == ("apps/v1", "Deployment", 3)
    assert made["metadata"]["namespace"] == "hyperpod-ns-beta"
    marks = {"hyperpod-platform/case": "one", "hyperpod-platform/workload": "chat"}
    contract = {
        "kueue.x-k8s.io/queue-name": "hyperpod-ns-beta-localqueue",
        "kueue.x-k8s.io/priority-class": "high-priority",
    }
    assert made["metadata"]["labels"] == contract | marks, "beta's maximum run time concerns work that ends"
    template = made["spec"]["template"]
    assert template["metadata"] == {"labels": marks}, "Kueue's webhook adds the queue"
    assert made["spec"]["selector"] == {"matchLabels": marks}
    assert template["spec"]["restartPolicy"] == "Always"
    assert template["spec"]["nodeSelector"] == {"node.kubernetes.io/instance-type": "ml.g6.12xlarge"}


def test_a_space_carries_the_label_of_its_operator(cluster: ClusterPlan) -> None:
    made = manifest("one", "ada", serving(kind="space", pods=1), cluster)
    assert made["spec"]["replicas"] == 1
    for labels in (made["metadata"]["labels"], made["spec"]["template"]["metadata"]["labels"]):
        assert labels["workspace.jupyter.org/workspace-name"] == "ada"


def test_an_elastic_job_is_its_base_and_a_job_for_each_step(cluster: ClusterPlan) -> None:
    asked = workload(priority="high", elastic={"min": 2, "max": 7, "values": [2, 3, 7]}, elastic_priority="low")
    base, *steps = manifests("one", "train", asked, cluster)
    assert base["metadata"]["name"] == "one-train"
    assert [job["metadata"]["name"] for job in steps] == ["one-train-elastic-1", "one-train-elastic-2"]
    assert [job["spec"]["completions"] for job in (base, *steps)] == [2, 1, 4]
    classes = [job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] for job in (base, *steps)]
    assert classes == ["high-priority", "low-priority", "low-priority"]
    assert {job["metadata"]["labels"]["hyperpod-platform/workload"] for job in (base, *steps)} == {"train"}
    plain = manifests("one", "train", workload(priority="high", elastic={"min": 1, "max": 2, "step": 1}), cluster)
    assert "kueue.x-k8s.io/priority-class" not in plain[1]["metadata"]["labels"], "without a class it ranks lowest"
