"""What is declared of a cluster with Kueue: types, cohorts, amounts and percentages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from governance.adoption.amounts import base_units, entry, share
from governance.adoption.kueue import declaration
from governance.adoption.model import Connection, KueueCluster, Object


def named(name: str, namespace: str = "", **body: Any) -> Object:
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {})}, **body}


def flavor(name: str, labels: Mapping[str, str]) -> Object:
    return named(name, spec={"nodeLabels": dict(labels)})


def queue(name: str, *flavors: str, cohort: str = "", **spec: Any) -> Object:
    listed = [{"name": one, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "8"}]} for one in flavors]
    groups = [{"coveredResources": ["nvidia.com/gpu"], "flavors": listed}] if listed else []
    return named(name, spec={"resourceGroups": groups, **({"cohortName": cohort} if cohort else {}), **spec})


def cluster(**parts: Any) -> KueueCluster:
    kinds = ("cluster_queues", "local_queues", "flavors", "cohorts", "topologies", "classes", "namespaces")
    return KueueCluster(**dict.fromkeys(kinds, ()) | parts)


def declared(found: KueueCluster) -> Any:
    return declaration(found, Connection("main"), "dev", ["ops@example.com"])


def test_the_instance_type_of_a_flavor_may_be_told() -> None:
    queues, flavors = (queue("a", "default-flavor"),), (flavor("default-flavor", {}),)
    (note,) = declared(cluster(cluster_queues=queues, flavors=flavors)).notes
    assert (note.id, note.subject) == ("import-type-unknown", "ResourceFlavor default-flavor")
    result = declared(cluster(cluster_queues=queues, flavors=flavors, types={"default-flavor": "ml.p5.48xlarge"}))
    assert result.notes == ()
    assert result.teams["a"]["quota"] == {"ml.p5.48xlarge": {"instances": 1}}
    adopted = result.environment["governance"]["names"]["flavors"]["ml.p5.48xlarge"]
    assert adopted == {"name": "default-flavor", "node_labels": {}}


def test_cohorts_become_a_root_departments_and_what_stands_alone() -> None:
    found = cluster(
        cluster_queues=(queue("a", cohort="small"), queue("b", cohort="team"), queue("c", cohort="all")),
        cohorts=(named("team", spec={"parentName": "all", "fairSharing": {"weight": "4"}}), named("all", spec={})),
    )
    governance = declared(found).environment["governance"]
    assert governance["names"]["root_cohort"] == "all"
    assert governance["departments"] == {"small": {"alone": True}, "team": {"weight": 4}}


def test_a_cap_on_pods_is_the_largest_of_the_flavors() -> None:
    """Those of an extra quota that has ended take none."""
    flavors = [
        {"name": name, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": gpus}, {"name": "pods", "nominalQuota": pods}]}
        for name, gpus, pods in (("ml.p5.48xlarge", "8", "20"), ("ml.p5en.48xlarge", "0", "0"))
    ]
    capped = named("a", spec={"resourceGroups": [{"coveredResources": ["nvidia.com/gpu", "pods"], "flavors": flavors}]})
    types = tuple(flavor(one["name"], {"node.kubernetes.io/instance-type": one["name"]}) for one in flavors)
    assert declared(cluster(cluster_queues=(capped,), flavors=types)).teams["a"]["max_pods"] == 20


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        ("cpu", "1500m", 1500),
        ("cpu", "2", 2000),
        ("cpu", "1k", 1_000_000),
        ("memory", "2Ti", 2 << 20),
        ("memory", "1048576", 1),
        ("memory", "1500k", 1),
        ("nvidia.com/gpu", "1e3", 1000),
        ("nvidia.com/gpu", "nonsense", 0),
    ],
)
def test_quantities(resource: str, text: str, amount: int) -> None:
    assert base_units(resource, text) == amount


def test_the_shortest_entry_that_means_the_amounts() -> None:
    from config.catalogue import instance_types

    p5 = instance_types()["ml.p5.48xlarge"]
    assert entry({"cpu": 384_000, "memory": 4 << 20, "nvidia.com/gpu": 16}, p5) == {"instances": 2}
    assert entry({"cpu": 96_000, "memory": 1 << 20, "nvidia.com/gpu": 4}, p5) == {"accelerators": 4}
    assert entry({"cpu": 48_000, "memory": 1 << 19, "nvidia.com/gpu": 4}, p5) == {"accelerators": 4, "vcpu": 48}
    assert entry({"cpu": 1500, "memory": 2048, "nvidia.com/gpu": 4}, p5) == {"accelerators": 4, "vcpu": 1.5, "memory_gib": 2}


@pytest.mark.parametrize(
    ("cells", "percent"),
    [([(8, 4)], 50), ([(8, 2), (100, 25)], 25), ([(8, 2), (100, 50)], None), ([(0, 1)], None), ([(3, 1)], 50), ([(8, 24)], 300)],
)
def test_percentages(cells: list[tuple[int, int]], percent: int | None) -> None:
    assert share(cells, 10_000) == percent
