"""The offline provider's pure parts: values on the wire, paths, differences, replacements."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.provider.diffing import Change, Mutability, changes, covers, differences, format_path, parse_path
from sandbox.provider.names import Kind
from sandbox.provider.patches import merge_patch, with_ignored
from sandbox.provider.spelling import to_program, to_server
from sandbox.provider.values import UNKNOWN, Secret, decode, encode, has_secret, has_unknown, mark_secrets, plain, redact

ROLE_BINDING = Kind("rbac.authorization.k8s.io", "v1", "RoleBinding")
CONFIG_MAP = Kind("", "v1", "ConfigMap")
SECRET = Kind("", "v1", "Secret")
JOB = Kind("batch", "v1", "Job")
QUEUE = Kind("kueue.x-k8s.io", "v1beta2", "LocalQueue")

scalars = st.one_of(
    st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5)
)
keys = st.text(min_size=1, max_size=4).filter(lambda text: "\\" not in text)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=12
)
objects = st.dictionaries(keys, values, max_size=4)


@given(objects)
def test_values_survive_the_wire(obj: dict[str, Any]) -> None:
    assert decode(encode(obj)) == obj


def test_markers_survive_the_wire_and_nulls_are_left_out() -> None:
    obj = {"a": Secret({"b": [1, UNKNOWN]}), "c": UNKNOWN, "d": None, "e": 1.5, "f": {}, "g": []}
    found = decode(encode(obj))
    assert found == {"a": Secret({"b": [1, UNKNOWN]}), "c": UNKNOWN, "e": 1.5, "f": {}, "g": []}
    assert has_unknown(found)
    assert has_secret(found)
    assert plain(found["a"]) == {"b": [1, UNKNOWN]}
    assert "b" not in repr(found["a"])


def test_secretness_goes_from_inputs_to_outputs() -> None:
    marked = mark_secrets({"a": {"x": 1, "y": 2}, "b": [1, 2], "c": 3}, {"a": {"x": Secret(1)}, "b": [Secret(1)], "d": Secret(1)})
    assert marked == {"a": {"x": Secret(1), "y": 2}, "b": Secret([1, 2]), "c": 3}
    assert mark_secrets({"kind": "Secret", "data": {"k": "v"}}, {}) == {"kind": "Secret", "data": Secret({"k": "v"})}


def test_secret_texts_are_taken_out_of_messages() -> None:
    inputs = {"spec": {"open": "visible", "hidden": Secret("hunter2")}}
    assert (
        redact('spec.hidden: Invalid value: "hunter2", not visible', inputs)
        == 'spec.hidden: Invalid value: "[secret]", not visible'
    )
    assert "cGFzcw" not in redact("bad cGFzcw", {"kind": "Secret", "data": {"p": "cGFzcw"}})


@given(st.lists(st.one_of(keys.filter(lambda key: key != "*"), st.integers(0, 9)), min_size=1, max_size=5))
def test_paths_are_read_as_they_are_written(path: list[str | int]) -> None:
    if isinstance(path[0], int):
        return
    assert parse_path(format_path(tuple(path))) == tuple(path)


def test_paths_look_as_the_engine_writes_them() -> None:
    assert format_path(("metadata", "labels", "a.b/c", "x")) == 'metadata.labels["a.b/c"].x'
    assert format_path(("spec", "groups", 0, "name")) == "spec.groups[0].name"
    assert covers(parse_path("spec.groups[*].name"), ("spec", "groups", 3, "name"))
    assert covers(parse_path("spec"), ("spec", "groups"))
    assert not covers(parse_path("spec.groups"), ("spec",))
    with pytest.raises(ValueError, match="not a property path"):
        parse_path("a[")


@given(objects)
def test_an_object_does_not_differ_from_itself(obj: dict[str, Any]) -> None:
    assert list(differences(obj, obj)) == []


@given(objects, objects)
def test_merge_patch_leads_from_old_to_new(old: dict[str, Any], new: dict[str, Any]) -> None:
    def merged(base: Any, patch: Any) -> Any:
        if not isinstance(patch, dict):
            return patch
        found = dict(base) if isinstance(base, dict) else {}
        for key, value in patch.items():
            if value is None:
                found.pop(key, None)
            else:
                found[key] = merged(found.get(key), value)
        return found

    assert merged(old, merge_patch(old, new)) == new


def test_differences_stand_at_the_highest_place() -> None:
    old = {"a": {"b": 1, "c": [1, 2]}, "gone": {"x": 1}, "flag": True}
    new = {"a": {"b": 2, "c": [1, 3, 4]}, "new": {"y": 1}, "flag": 1}
    assert set(differences(old, new)) == {
        (("a", "b"), Change.UPDATE),
        (("a", "c", 1), Change.UPDATE),
        (("a", "c", 2), Change.ADD),
        (("gone",), Change.DELETE),
        (("new",), Change.ADD),
        (("flag",), Change.UPDATE),
    }
    assert list(differences({"a": 1}, {"a": UNKNOWN})) == [(("a",), Change.UPDATE)]
    assert list(differences({"a": 1}, {"a": 1.0})) == []


def found(
    kind: Kind, old: dict[str, Any], new: dict[str, Any], rules: Mutability | None = None, *ignored: str
) -> dict[str, bool]:
    """Changed paths, and whether each replaces."""
    return {format_path(one.path): one.replace for one in changes(kind, old, new, rules or Mutability(), ignored)}


@pytest.mark.parametrize(
    ("kind", "old", "new", "expected"),
    [
        (QUEUE, {"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}, {"metadata.name": True}),
        (QUEUE, {"metadata": {"namespace": "a"}}, {"metadata": {"namespace": "b"}}, {"metadata.namespace": True}),
        (QUEUE, {"apiVersion": "a/v1"}, {"apiVersion": "a/v2"}, {"apiVersion": True}),
        (QUEUE, {"spec": {"clusterQueue": "a"}}, {"spec": {"clusterQueue": "b"}}, {"spec.clusterQueue": False}),
        (ROLE_BINDING, {"roleRef": {"name": "a"}}, {"roleRef": {"name": "b"}}, {"roleRef.name": True}),
        (ROLE_BINDING, {"subjects": []}, {"subjects": [{"name": "b"}]}, {"subjects[0]": False}),
        (JOB, {"spec": {"template": {"a": [1]}}}, {"spec": {"template": {"a": [2]}}}, {"spec.template.a[0]": True}),
        (JOB, {"spec": {"suspend": True}}, {"spec": {"suspend": False}}, {"spec.suspend": False}),
        (JOB, {}, {"spec": {"template": {}}}, {"spec": True}),
        (JOB, {"spec": {"suspend": True}}, {}, {"spec": False}),
        (CONFIG_MAP, {"data": {"a": "1"}}, {"data": {"a": "2"}}, {"data.a": True}),
        (CONFIG_MAP, {"metadata": {"labels": {}}}, {"metadata": {"labels": {"a": "b"}}}, {"metadata.labels.a": False}),
        (SECRET, {"data": {"a": "1"}}, {"data": {"a": "2"}}, {"data.a": True}),
        (SECRET, {"type": "a"}, {"type": "b"}, {"type": True}),
    ],
)
def test_what_replaces(kind: Kind, old: dict[str, Any], new: dict[str, Any], expected: dict[str, bool]) -> None:
    assert found(kind, old, new) == expected


def test_config_maps_and_secrets_can_be_made_mutable() -> None:
    mutable = Mutability(config_maps=True, secrets=True)
    assert found(CONFIG_MAP, {"data": {"a": "1"}}, {"data": {"a": "2"}}, mutable) == {"data.a": False}
    assert found(CONFIG_MAP, {"data": {"a": "1"}}, {"immutable": True, "data": {"a": "2"}}, mutable)["data.a"]
    assert found(SECRET, {"data": {"a": "1"}, "type": "x"}, {"data": {"a": "2"}, "type": "y"}, mutable) == {
        "data.a": False,
        "type": True,
    }


def test_ignored_changes_are_no_changes() -> None:
    old, new = {"spec": {"a": 1, "b": {"c": 1}}}, {"spec": {"a": 2, "b": {"c": 2}}}
    assert found(QUEUE, old, new, None, "spec.b") == {"spec.a": False}
    assert found(QUEUE, old, new, None, "spec.a", 'spec["b"].c') == {}


def test_ignored_properties_are_sent_as_they_are_or_left_to_others() -> None:
    def live(manager: str) -> dict[str, Any]:
        fields = {"f:spec": {"f:a": {}}}
        return {"metadata": {"managedFields": [{"manager": manager, "fieldsV1": fields}]}, "spec": {"a": "live"}}

    obj = {"spec": {"a": "ours", "b": 1}}
    assert with_ignored(obj, live("ours"), ["spec.a"], "ours") == {"spec": {"a": "live", "b": 1}}
    assert with_ignored(obj, live("theirs"), ["spec.a"], "ours") == {"spec": {"b": 1}}
    assert with_ignored(obj, live("theirs"), ["spec.missing"], "ours") == obj


def test_schema_keys_are_respelled_for_definitions_only() -> None:
    spec = {"versions": [{"schema": {"x_kubernetes_list_type": "map", "x_other": 1}}]}
    sent = to_server({"kind": "CustomResourceDefinition", "spec": spec})
    assert sent["spec"] == {"versions": [{"schema": {"x-kubernetes-list-type": "map", "x_other": 1}}]}
    assert to_program(sent)["spec"] == spec
    assert to_server({"kind": "ConfigMap", "spec": spec})["spec"] == spec
