"""The offline provider's pure parts: what a live object says of its inputs, and who owns its fields."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from sandbox.provider import managed
from sandbox.provider.live import imported_inputs, live_inputs, quantity, same_scalar, without_managed_fields
from sandbox.provider.names import Kind


def live(spec: Any, fields: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    entries = [{"manager": "ours", "operation": "Update", "fieldsV1": fields}] if fields else []
    return {
        "kind": "Thing",
        "metadata": {"name": "x", "uid": "1", "managedFields": entries},
        "spec": spec,
        "status": {"a": 1},
        **more,
    }


def spec_of(old: Any, now: Any, fields: dict[str, Any] | None = None) -> Any:
    return live_inputs({"spec": old}, live(now, fields))["spec"]


def test_defaults_and_status_are_no_drift_but_changes_are() -> None:
    old = {"kind": "Thing", "metadata": {"name": "x"}, "spec": {"a": 1}}
    assert live_inputs(old, live({"a": 1, "default": 2})) == old
    assert spec_of({"a": 1, "b": {"c": 2}}, {"a": 5, "b": {"c": 2, "d": 3}}) == {"a": 5, "b": {"c": 2}}
    assert spec_of({"a": 1, "b": 2}, {"a": 1}) == {"a": 1}


def test_empty_values_that_servers_drop_are_no_drift() -> None:
    assert spec_of({"a": {}, "b": [], "c": False, "d": "", "e": 1}, {}) == {"a": {}, "b": [], "c": False, "d": ""}


def test_quantities_that_mean_the_same_are_the_same() -> None:
    assert spec_of({"m": "1024Mi", "c": "0.5", "n": 4}, {"m": "1Gi", "c": "500m", "n": "4"}) == {
        "m": "1024Mi",
        "c": "0.5",
        "n": 4,
    }
    assert spec_of({"m": "1024Mi"}, {"m": "2Gi"}) == {"m": "2Gi"}
    config_map = {"kind": "ConfigMap", "metadata": {}, "data": {"a": "1.0"}}
    assert live_inputs({"data": {"a": "1"}}, config_map) == {"data": {"a": "1.0"}}, "text is not a quantity"


def test_lists_owned_as_a_whole_show_what_others_added() -> None:
    old = [{"name": "x", "size": 1}]
    assert spec_of({"l": old}, {"l": [{"name": "x", "size": 1, "default": 1}]}) == {"l": old}
    assert spec_of({"l": old}, {"l": [*old, {"name": "y"}]}) == {"l": [*old, {"name": "y"}]}
    assert spec_of({"l": [1, 2]}, {"l": [1]}) == {"l": [1]}
    pod = {"kind": "Pod", "metadata": {}, "spec": {"tolerations": [{"key": "a"}, {"key": "added"}]}}
    assert live_inputs({"spec": {"tolerations": [{"key": "a"}]}}, pod)["spec"] == {"tolerations": [{"key": "a"}]}


def test_lists_that_merge_by_keys_belong_to_several() -> None:
    fields = {"f:spec": {"f:l": {'k:{"name":"x"}': {"f:size": {}}, 'k:{"name":"theirs"}': {}}}}
    now = {"l": [{"name": "theirs", "size": 9}, {"name": "x", "size": 2}]}
    assert spec_of({"l": [{"name": "x", "size": 1}, {"name": "gone"}]}, now, fields) == {"l": [{"name": "x", "size": 2}]}
    owned_set = {"f:spec": {"f:s": {'v:"a"': {}, 'v:"b"': {}}}}
    assert spec_of({"s": ["a", "c"]}, {"s": ["b", "a"]}, owned_set) == {"s": ["a"]}


def test_string_data_is_compared_with_the_data_it_became() -> None:
    def secret(**data: str) -> dict[str, Any]:
        return {
            "kind": "Secret",
            "metadata": {},
            "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()},
        }

    old = {"kind": "Secret", "stringData": {"a": "1", "b": "2"}}
    assert live_inputs(old, secret(a="1", b="2", c="3")) == old
    assert live_inputs(old, secret(a="changed"))["stringData"] == {"a": "changed"}


def test_import_takes_all_but_what_the_server_writes() -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    found = imported_inputs(
        {
            "metadata": {"name": "x", "uid": "1", "resourceVersion": "2", "annotations": annotations, "labels": {"a": "b"}},
            "spec": 1,
            "status": 2,
        },
        Kind("g", "v1", "Thing"),
    )
    assert found == {"apiVersion": "g/v1", "kind": "Thing", "metadata": {"name": "x", "labels": {"a": "b"}}, "spec": 1}
    assert "managedFields" not in without_managed_fields(live({}))["metadata"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1Gi", "1024Mi", True),
        ("1k", "1000", True),
        ("1e3", "1k", True),
        (2, "2", True),
        ("100m", "0.1", True),
        ("1K", "1000", False),
        ("abc", "abc", True),
        ("1Gi", "1G", False),
        (True, 1, False),
        (1, 1.0, True),
    ],
)
def test_quantities(one: Any, other: Any, same: bool) -> None:
    assert same_scalar(one, other, quantities=True) is same
    assert quantity(True) is None


def entry(manager: str, operation: str, fields: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields, **more}


def owned_by(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"managedFields": list(entries)}}


def test_own_create_and_kubectl_are_taken_over() -> None:
    theirs = entry("controller", "Update", {"f:spec": {"f:c": {}}})
    status = entry("ours", "Update", {"f:status": {}}, subresource="status")
    obj = owned_by(
        theirs,
        status,
        entry("ours", "Update", {"f:spec": {"f:a": {}}}),
        entry("ours", "Apply", {"f:spec": {"f:old": {}}}),
        entry("kubectl-edit", "Update", {"f:spec": {"f:b": {}}}),
    )
    found = managed.takeover(obj, "ours")
    assert found is not None
    assert found[:2] == [theirs, status]
    assert found[2]["operation"] == "Apply"
    assert found[2]["manager"] == "ours"
    assert found[2]["fieldsV1"] == {"f:spec": {"f:a": {}, "f:old": {}, "f:b": {}}}
    assert len(found) == 3


def test_nothing_to_take_over() -> None:
    assert managed.takeover(owned_by(entry("ours", "Apply", {}), entry("helm", "Update", {})), "ours") is None
    assert managed.takeover({}, "ours") is None


def test_whose_an_object_is() -> None:
    assert managed.is_managed_by(owned_by(entry("ours", "Update", {})), "ours")
    assert not managed.is_managed_by(owned_by(entry("ours", "Update", {}, subresource="status")), "ours")
    assert not managed.is_managed_by(owned_by(entry("pulumi-kubernetes-other", "Update", {})), "pulumi-kubernetes-ours")


def test_conflicts_in_the_servers_words() -> None:
    causes = [{"message": 'conflict with "helm" using apps/v1', "field": ".spec.replicas"}, {"message": "odd", "field": ".x"}]
    assert managed.conflicting_managers(causes) == [("helm", ".spec.replicas"), ("odd", ".x")]
