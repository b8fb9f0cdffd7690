"""The comparison of Kubernetes objects: nothing that a server adds is drift, and everything is that somebody changes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from declarations import cluster, environment, team
from hypothesis import given
from hypothesis import strategies as st

from components.render import render
from live.drift import kube
from live.drift.compare import ABSENT, SECRET, Item, Rules, differences, value_at, written
from live.drift.model import Kind
from live.drift.others import known, unmanaged
from live.drift.owners import author_of, creator, owners
from live.drift.state import by_key, deployed, key_of, spelt

EQUAL = Rules(lambda _, one, other: bool(one == other))
ENV = environment(
    """
    governance:
      idle_sharing: true
      priority_classes: {high: {weight: 90, description: First}, low: {weight: -5}}
      topology: {levels: [topology.k8s.aws/network-node-layer-3, kubernetes.io/hostname]}
    """,
    groups="""
    h100: {instance_type: ml.p5.48xlarge, count: 8, taints: [{key: reserved, value: "yes", effect: NoSchedule}]}
    l4: {instance_type: ml.g6.12xlarge, count: 4}
    """,
)
OBJECTS = render(
    cluster(
        {
            "alpha": team("quota: {ml.p5.48xlarge: {accelerators: 3}, ml.g6.12xlarge: {instances: 1}}\nmax_run_time: 1h\n"),
            "beta": team("quota: {ml.g6.12xlarge: {accelerators: 2}}\nsharing: {borrow: {ml.p5.48xlarge: {accelerators: 2}}}\n"),
        },
        ENV,
    )
)
TIME = "2026-11-20T10:00:00Z"


def entry(manager: str, fields: dict[str, Any], time: str = TIME, **more: Any) -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", "time": time, "fieldsType": "FieldsV1", "fieldsV1": fields, **more}


def served(manifest: dict[str, Any], *managers: dict[str, Any]) -> dict[str, Any]:
    """An object as an API server answers: with all that it and its controllers add."""
    found = copy.deepcopy(manifest)
    found["metadata"] |= {
        "uid": "0b9b", "resourceVersion": "42", "generation": 3, "creationTimestamp": TIME,
        "finalizers": ["kueue.x-k8s.io/resource-in-use"],
        "managedFields": [entry("pulumi-kubernetes-1a2b3c4d", {"f:spec": {".": {}, "f:serverDefault": {}}}), *managers],
    }  # fmt: skip
    found["metadata"]["labels"] = {**found["metadata"].get("labels", {}), "kubernetes.io/metadata.name": "x", "theirs": "y"}
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "pulumi.com/autonamed": "true"}
    found["metadata"]["annotations"] = {**found["metadata"].get("annotations", {}), **annotations}
    found["status"] = {"conditions": [{"type": "Active", "status": "True"}]}
    if "spec" in found:
        found["spec"]["serverDefault"] = "Never"
    return found


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all scalars, and of all elements of lists."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield (*path, index)
            if isinstance(item, dict | list):
                yield from leaves(item, (*path, index))
    else:
        yield path


def holder(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path[:-1]:
        value = value[step]
    return value


DECLARED = [
    (index, path)
    for index, one in enumerate(OBJECTS)
    for path in leaves(one)
    if path[0] not in ("apiVersion", "kind") and path not in (("metadata", "name"), ("metadata", "namespace"))
]


def drift(manifest: dict[str, Any], live: dict[str, Any]) -> list[str]:
    return [written(change.path) for change in kube.outside(manifest, live)]


def test_what_servers_and_controllers_add_is_no_drift() -> None:
    for one in OBJECTS:
        assert drift(one, served(one)) == [], one["kind"]
        assert kube.compare("main", key_of(one), one, one, served(one)) is None


@given(st.sampled_from(DECLARED), st.booleans())
def test_whatever_is_declared_is_watched(place: tuple[int, tuple[Any, ...]], remove: bool) -> None:
    """Every leaf of every object: changed or taken away, it is told."""
    index, path = place
    live = served(OBJECTS[index])
    at = holder(live, path)
    if remove:
        del at[path[-1]]
    else:
        at[path[-1]] = {**at[path[-1]], "name": "another"} if isinstance(at[path[-1]], dict) else "another"
    assert drift(OBJECTS[index], live) != [], f"{OBJECTS[index]['kind']} {path}"


@given(st.sampled_from([place for place in DECLARED if isinstance(place[1][-1], int)]))
def test_every_list_is_ours_as_a_whole(place: tuple[int, tuple[Any, ...]]) -> None:
    index, path = place
    live = served(OBJECTS[index])
    element = holder(live, path)[path[-1]]
    holder(live, path).append({**copy.deepcopy(element), "name": "another"} if isinstance(element, dict) else "another")
    assert drift(OBJECTS[index], live) != [], f"{OBJECTS[index]['kind']} {path}"


def queue() -> dict[str, Any]:
    return next(copy.deepcopy(one) for one in OBJECTS if one["kind"] == "ClusterQueue")


def resources(one: dict[str, Any], flavor: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = one["spec"]["resourceGroups"][0]["flavors"][flavor]["resources"]
    return found


@pytest.mark.parametrize(
    ("one", "other"), [("1", "1000m"), ("2Ti", "2048Gi"), ("1k", "1000"), ("1", 1), ("0", "0Gi"), ("1500m", 1.5)]
)
def test_amounts_are_compared_as_amounts(one: Any, other: Any) -> None:
    wanted, live = queue(), queue()
    resources(wanted)[0]["nominalQuota"], resources(live)[0]["nominalQuota"] = one, other
    assert drift(wanted, live) == []
    resources(live)[0]["nominalQuota"] = "3"
    assert drift(wanted, live) == ["spec.resourceGroups[0].flavors[ml.g6.12xlarge].resources[cpu].nominalQuota"]


def test_amounts_that_are_none_are_texts() -> None:
    assert [kube.quantity(value) for value in ("many", True, None, {}, "1Qi")] == [None] * 5


def test_the_order_of_flavors_means_something_and_that_of_rules_does_not() -> None:
    live = queue()
    flavors = live["spec"]["resourceGroups"][0]["flavors"]
    assert len(flavors) > 1
    flavors.reverse()
    (change,) = kube.outside(queue(), live)
    assert written(change.path) == "spec.resourceGroups[0].flavors.order"
    assert change.want == list(reversed(change.have))
    role = next(copy.deepcopy(one) for one in OBJECTS if one["kind"] == "ClusterRole")
    turned = copy.deepcopy(role)
    turned["rules"].reverse()
    for rule in turned["rules"]:
        rule["verbs"].reverse()
    assert drift(role, turned) == []


def test_a_limit_on_top_is_drift_and_a_default_is_not() -> None:
    """Inside a list that is ours every field counts; beside, what somebody else owns."""
    live = served(queue(), entry("alice", {"f:spec": {"f:admissionScope": {"f:admissionMode": {}}}}))
    resources(live)[0]["borrowingLimit"] = "77"
    live["spec"]["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    found = {written(change.path) for change in kube.outside(queue(), live)}
    assert "spec.admissionScope" in found
    assert any(path.endswith("borrowingLimit") for path in found)
    assert len(found) == 2


HELD = {"f:spec": {"f:admissionScope": {"f:admissionMode": {}}}}


def held(*managers: dict[str, Any]) -> dict[str, Any]:
    """A queue with a field on top that the declaration doesn't name, and only these managers."""
    live = served(queue())
    del live["spec"]["serverDefault"]
    live["metadata"]["managedFields"] = list(managers)
    live["spec"]["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    return live


@pytest.mark.parametrize("manager", ["pulumi-kubernetes-other", "pulumi-x", "pulumi", "pulumi-kubernetes-1a2b3c4d5"])
def test_a_name_like_a_deployments_is_another_program(manager: str) -> None:
    (change,) = kube.outside(queue(), held(entry(manager, HELD)))
    assert written(change.path) == "spec.admissionScope"


@pytest.mark.parametrize("manager", ["pulumi-kubernetes", "pulumi-kubernetes-1a2b3c4d", "pulumi-kubernetes-1a2b3c4d5e6f"])
def test_the_names_of_deployments_are_known_and_that_of_the_state_alone_where_it_records_one(manager: str) -> None:
    live, one = held(entry(manager, HELD)), queue()
    assert list(kube.outside(one, live)) == []
    assert list(kube.outside(one, live, manager)) == []
    found = kube.compare("main", key_of(one), one, one, live, "pulumi-kubernetes-99999999")
    assert found is not None, "another deployment's"
    assert [(prop.path, prop.author and prop.author.name) for prop in found.properties] == [("spec.admissionScope", manager)]


@pytest.mark.parametrize("left", [[], None, [entry("kueue", {"f:status": {}}, subresource="status")]])
def test_who_wipes_the_record_hides_nothing(left: Any) -> None:
    """Without it, every field of `spec` counts; of the rest, servers fill in what we don't declare."""
    live = held()
    live["metadata"]["managedFields"] = left
    assert drift(queue(), live) == ["spec.admissionScope"]
    namespace = next(copy.deepcopy(one) for one in OBJECTS if one["kind"] == "Namespace")
    live = served(namespace)
    live["spec"], live["metadata"]["managedFields"] = {"finalizers": ["kubernetes"]}, left
    assert drift(namespace, live) == []


def test_labels_of_ours_on_top_are_drift_and_others_are_not() -> None:
    namespace = next(copy.deepcopy(one) for one in OBJECTS if one["kind"] == "Namespace")
    live = served(namespace)
    live["spec"] = {"finalizers": ["kubernetes"]}
    live["metadata"]["labels"]["hyperpod-platform/tier"] = "gold"
    live["metadata"]["annotations"]["hyperpod-platform/queue2"] = "x"
    assert drift(namespace, live) == [
        'metadata.labels["hyperpod-platform/tier"]',
        'metadata.annotations["hyperpod-platform/queue2"]',
    ]


def test_an_object_on_its_way_out_is_drift() -> None:
    live = served(queue())
    live["metadata"]["deletionTimestamp"] = TIME
    assert drift(queue(), live) == ["metadata.deletionTimestamp"]


def test_what_the_state_holds_encrypted_is_not_compared() -> None:
    hidden = {"data": {"a": {SECRET: "1b47", "ciphertext": "x"}}}
    assert list(differences(hidden, {"data": {"a": "1"}}, EQUAL)) == []
    assert list(differences(hidden, {"data": {}}, EQUAL)) == []


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_nothing_differs_from_itself(value: Any) -> None:
    everything = Rules(lambda _, one, other: bool(one == other), lambda *_: True)
    assert list(differences(value, copy.deepcopy(value), everything)) == []


def test_values_are_found_by_the_key_of_their_element() -> None:
    one = {"a": [{"name": "x", "v": 1}, {"name": "y", "v": 2}]}
    other = {"a": [{"name": "y", "v": 3}, {"name": "x", "v": 1}]}
    (change,) = differences(one, other, EQUAL)
    assert (written(change.path), change.want, change.have) == ("a[y].v", 2, 3)
    assert value_at({"a": [{"name": "y", "v": 9}]}, change.path, {}) == 9
    assert value_at({"a": []}, change.path, {}) is ABSENT
    assert value_at(None, change.path, {}) is ABSENT


# -- three sides ---------------------------------------------------------------------------------------------------------------


def changed(one: dict[str, Any], amount: str) -> dict[str, Any]:
    found = copy.deepcopy(one)
    resources(found)[0]["nominalQuota"] = amount
    return found


def test_three_sides_tell_drift_from_what_waits() -> None:
    one, key = queue(), key_of(queue())

    def kinds(*sides: dict[str, Any] | None) -> tuple[Kind, ...]:
        found = kube.compare("main", key, *sides)
        return found.kinds if found else ()

    assert kinds(one, one, one) == ()
    assert kinds(one, one, changed(one, "1")) == (Kind.CHANGED,)
    assert kinds(changed(one, "1"), one, one) == (Kind.PENDING,)
    assert kinds(changed(one, "2"), one, changed(one, "1")) == (Kind.CHANGED, Kind.PENDING)
    assert kinds(one, one, None) == (Kind.MISSING,)
    assert kinds(None, one, None) == (Kind.MISSING, Kind.PENDING)
    assert kinds(None, one, one) == (Kind.PENDING,)
    assert kinds(one, None, None) == (Kind.PENDING,)
    assert kinds(one, None, one) == (Kind.UNMANAGED,)


def test_what_was_changed_outside_says_what_is_declared_now() -> None:
    one = queue()
    found = kube.compare("main", key_of(one), changed(one, "2"), one, changed(one, "3"))
    assert found is not None
    (prop,) = found.properties
    assert (prop.declared, prop.live, prop.unit) == ("2", "3", "vCPU")
    (waits,) = found.pending
    assert (waits.declared, waits.state, waits.author) == ("2", prop.state, None)
    live = served(changed(one, "3"), entry("alice", {"f:spec": {"f:resourceGroups": {}}}))
    again = kube.compare("main", key_of(one), changed(one, "2"), one, live)
    assert again is not None
    assert (again.properties[0].author is None, again.pending[0].author) == (False, None), "nothing has taken it over yet"


def test_what_a_refresh_took_over_keeps_its_author() -> None:
    one = queue()
    live = served(changed(one, "3"), entry("alice", {"f:spec": {"f:resourceGroups": {}}}))
    found = kube.compare("main", key_of(one), one, changed(one, "3"), live)
    assert found is not None
    assert found.kinds == (Kind.PENDING,)
    assert found.pending[0].author is not None
    assert found.pending[0].author.name == "alice"


# -- who -----------------------------------------------------------------------------------------------------------------------


def test_the_owner_of_a_field_is_named() -> None:
    subject = Item("Group//x", {"kind": "Group", "name": "x"})
    fields = {
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}, "f:finalizers": {".": {}, 'v:"one"': {}}},
        "f:spec": {"f:groups": {}, "f:variables": {'k:{"name":"now"}': {".": {}, "f:expression": {}}}},
    }
    live = {"metadata": {"managedFields": [entry("alice", fields)]}}
    now = Item("now", {"name": "now", "expression": "1"})

    def named(*path: Any) -> bool:
        return [author.name for author in owners(live, path)] == ["alice"]

    assert named("metadata", "labels", "a")
    assert named("metadata", "labels")
    assert named("spec", "groups", subject, "name"), "an atomic list is owned as a whole"
    assert named("spec", "variables", now, "expression")
    assert named("metadata", "finalizers", Item("one", "one"))
    assert not named("metadata", "labels", "b")
    assert not named("spec", "variables", Item("before", {"name": "before"}), "expression")
    assert not named("spec", "other")


def test_of_several_owners_the_newest_is_named_but_for_deployments_and_controllers() -> None:
    fields = {"f:spec": {"f:x": {}}}
    managers = [
        entry("pulumi-kubernetes-1a2b3c4d", fields, "2026-11-20T12:00:00Z"),
        entry("old", fields, "2026-11-18T12:00:00Z"),
        entry("new", fields, "2026-11-19T12:00:00Z"),
        entry("kueue", fields, "2026-11-21T12:00:00Z", subresource="status"),
    ]
    live = {"metadata": {"managedFields": managers, "creationTimestamp": "2026-11-01T00:00:00Z"}}
    found = author_of(live, ("spec", "x"))
    assert found is not None
    assert (found.name, found.action, found.time) == ("new", "Update", "2026-11-19T12:00:00Z")
    assert author_of({"metadata": {"managedFields": managers[:1]}}, ("spec", "x")) is not None
    assert author_of({"metadata": {}}, ("spec", "x")) is None
    made = creator(live)
    assert made is not None
    assert (made.name, made.time) == ("old", "2026-11-01T00:00:00Z")


# -- what nobody deployed ------------------------------------------------------------------------------------------------------


def other(kind: str, name: str, namespace: str = "", labels: dict[str, str] | None = None, **body: Any) -> dict[str, Any]:
    meta = {"name": name, "labels": labels or {}, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **body}


def test_others_that_bear_on_ours_are_told_and_the_rest_is_theirs() -> None:
    cohort = next(one["metadata"]["name"] for one in OBJECTS if one["kind"] == "Cohort")
    ours = by_key(
        [
            other("ClusterQueue", "guest", spec={"cohortName": cohort}),
            other("Cohort", "child", spec={"parentName": cohort}),
            other("LocalQueue", "door", "elsewhere", spec={"clusterQueue": "hyperpod-ns-alpha-clusterqueue"}),
            other("LocalQueue", "inside", "hyperpod-ns-alpha", spec={"clusterQueue": "theirs"}),
            other("RoleBinding", "friends", "elsewhere", roleRef={"name": "hyperpod-team-member"}),
            other("Namespace", "lost", labels={"hyperpod-platform/team": "gone"}),
        ]
    )
    theirs = by_key(
        [
            other("ClusterQueue", "own", spec={"cohortName": "own"}),
            other("LocalQueue", "own", "own", spec={"clusterQueue": "own"}),
            other("RoleBinding", "operator", "hyperpod-ns-alpha", roleRef={"name": "edit"}),
            other("Namespace", "kube-system"),
        ]
    )
    found = list(unmanaged("main", {**ours, **theirs, **by_key(OBJECTS)}, known(OBJECTS), by_key(OBJECTS)))
    assert {one.thing.name for one in found} == {key.name for key in ours}
    assert {one.thing.name: one.thing.team for one in found}["inside"] == "alpha"
    assert all(one.kinds == (Kind.UNMANAGED,) and one.remark for one in found)


# -- the state -----------------------------------------------------------------------------------------------------------------


def resource(name: str, type_: str, inputs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"urn": f"urn:pulumi:main::hyperpod-platform::a$b::{name}", "type": type_, "custom": True, "inputs": inputs, **more}


def test_the_state_is_read_by_cluster() -> None:
    resources = [
        resource("main", "hyperpod:kueue:Foundation", {}, custom=False),
        resource("main/q", "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue", queue()),
        resource("main/old", "kubernetes:core/v1:Namespace", OBJECTS[0], delete=True),
        resource("main/kueue/release", "kubernetes:helm.sh/v3:Release", {"name": "kueue"}),
        resource("two/a/quota", "aws-native:sagemaker:ComputeQuota", {"name": "a"}),
        resource("two", "pulumi:providers:aws", {}),
    ]
    found = deployed(json.loads(json.dumps({"deployment": {"resources": resources}})))
    assert list(found) == ["main", "two"]
    assert list(found["main"].objects) == [key_of(queue())]
    assert found["two"].quotas == {"a": {"Name": "a"}}
    assert deployed({}) == {}


def test_the_state_tells_who_deploys() -> None:
    outputs, hidden = {"__fieldManager": "pulumi-kubernetes-1a2b3c4d", "spec": {}}, {"__fieldManager": HIDDEN}
    type_ = "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"
    side = deployed({"deployment": {"resources": [resource("main/q", type_, queue(), outputs=outputs)]}})["main"]
    assert side.managers == {key_of(queue()): "pulumi-kubernetes-1a2b3c4d"}
    side = deployed({"deployment": {"resources": [resource("main/q", type_, queue(), outputs=hidden)]}})["main"]
    assert (list(side.objects), side.managers) == ([key_of(queue())], {})


HIDDEN = {SECRET: "1b47", "ciphertext": "x"}


@pytest.mark.parametrize("metadata", [HIDDEN, {"name": HIDDEN, "namespace": "n"}, {}])
def test_an_encrypted_name_of_an_object_is_told_by_its_id(metadata: dict[str, Any]) -> None:
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    one = resource("main/map", "kubernetes:core/v1:ConfigMap", inputs, id="n/map")
    (key,) = deployed({"deployment": {"resources": [one]}})["main"].objects
    assert (key.namespace, key.name) == ("n", "map")
    side = deployed({"deployment": {"resources": [{**one, "id": ""}]}})["main"]
    assert (side.objects, side.nameless) == ({}, {"main/map": "ConfigMap"})


@pytest.mark.parametrize("properties", [{}, {"properties": HIDDEN}, {"properties": {"Name": HIDDEN}}, {"properties": None}])
def test_a_scheduler_whose_name_the_state_hides_is_known_as_such(properties: dict[str, Any]) -> None:
    inputs = {"type": "AWS::SageMaker::ClusterSchedulerConfig", **properties}
    resources = [
        resource("main/scheduler", "aws-native:index:ExtensionResource", inputs),
        resource("main/a/quota", "aws-native:sagemaker:ComputeQuota", {"name": HIDDEN}),
    ]
    side = deployed({"deployment": {"resources": resources}})["main"]
    assert (side.schedulers, side.quotas) == ({}, {})
    assert side.nameless == {"main/scheduler": "ClusterSchedulerConfig", "main/a/quota": "ComputeQuota"}
    assert side, "it isn't as if nothing were deployed"


def test_properties_are_spelt_as_the_api_does() -> None:
    snake = {"v_cpu": 1, "memory_in_gi_b": 2, "accelerator_partition": {"type": "x"}, "tags": [{"instance_type": "a"}]}
    camel = {"vCpu": 1, "memoryInGiB": 2, "acceleratorPartition": {"type": "x"}, "tags": [{"instanceType": "a"}]}
    pascal = {"VCpu": 1, "MemoryInGiB": 2, "AcceleratorPartition": {"Type": "x"}, "Tags": [{"InstanceType": "a"}]}
    assert spelt(snake) == spelt(camel) == pascal
