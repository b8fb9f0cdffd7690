"""The offline provider's pure parts: type tokens, names, field managers, provider settings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.provider import settings
from sandbox.provider.deletion import propagation_policy
from sandbox.provider.names import (
    AUTONAMED,
    Kind,
    NameRules,
    UnsupportedTypeError,
    adopt_name,
    assign_name,
    field_manager,
    kind_of_object,
    kind_of_token,
    object_id,
    parse_id,
)
from sandbox.provider.values import UNKNOWN


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("kubernetes:core/v1:Namespace", Kind("", "v1", "Namespace")),
        ("kubernetes:batch/v1:Job", Kind("batch", "v1", "Job")),
        ("kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue", Kind("kueue.x-k8s.io", "v1beta2", "ClusterQueue")),
    ],
)
def test_kind_of_a_token(token: str, kind: Kind) -> None:
    assert kind_of_token(token) == kind
    assert kind_of_object({"apiVersion": kind.api_version, "kind": kind.name}, Kind("x", "y", "z")) == kind


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("kubernetes:v1:Namespace", "core/v1"),
        ("kubernetes:helm.sh/v3:Release", "kueue.install: false"),
        ("kubernetes:helm.sh/v4:Chart", "Helm charts"),
        ("kubernetes:yaml/v2:ConfigFile", "pulumi plugin install"),
        ("kubernetes:kustomize/v2:Directory", "kustomizations"),
        ("kubernetes:core/v1:NamespacePatch", "NamespacePatch resources"),
        ("kubernetes:core/v1:ConfigMapList", "ConfigMapList resources"),
        ("aws:s3/bucket:Bucket", "not a type"),
    ],
)
def test_what_is_not_supported_says_what_to_do(token: str, words: str) -> None:
    with pytest.raises(UnsupportedTypeError, match=words):
        kind_of_token(token)


def test_ids() -> None:
    assert object_id({"metadata": {"name": "a", "namespace": "b"}}) == "b/a"
    assert object_id({"metadata": {"name": "a"}}) == "a"
    assert parse_id("b/a") == ("b", "a")
    assert parse_id("a") == ("", "a")


def test_names_are_generated_where_none_is_given() -> None:
    inputs: dict[str, Any] = {}
    assign_name(inputs, "queue", NameRules(b"seed"))
    name = inputs["metadata"]["name"]
    assert name.startswith("queue-")
    assert len(name) == len("queue-") + 7
    assert inputs["metadata"]["annotations"] == {AUTONAMED: "true"}
    again: dict[str, Any] = {}
    assign_name(again, "queue", NameRules(b"seed"))
    assert again == inputs, "the engine's seed decides, so that preview and up agree"


@pytest.mark.parametrize(
    "meta",
    [{"name": "given"}, {"name": UNKNOWN}, {"generateName": "g-"}, UNKNOWN],
    ids=["given", "unknown", "server", "all unknown"],
)
def test_names_that_are_there_stay(meta: Any) -> None:
    inputs = {"metadata": meta}
    assign_name(inputs, "queue", NameRules())
    assert inputs == {"metadata": meta}


def test_naming_rules_of_the_stack() -> None:
    inputs: dict[str, Any] = {}
    assign_name(inputs, "queue", NameRules(b"", "enforce", "exactly-this"))
    assert inputs["metadata"]["name"] == "exactly-this"
    with pytest.raises(ValueError, match="is required"):
        assign_name({}, "queue", NameRules(b"", "disable"))


def test_generated_names_are_kept() -> None:
    old = {"metadata": {"name": "queue-1234567", "annotations": {AUTONAMED: "true"}}}
    new: dict[str, Any] = {"metadata": {"labels": {"a": "b"}}}
    adopt_name(new, old)
    assert new["metadata"] == {"labels": {"a": "b"}, "name": "queue-1234567", "annotations": {AUTONAMED: "true"}}
    named = {"metadata": {"name": "mine"}}
    adopt_name(named, old)
    assert named == {"metadata": {"name": "mine"}}
    taken_back: dict[str, Any] = {"metadata": {}}
    adopt_name(taken_back, {"metadata": {"name": "given"}})
    assert taken_back == {"metadata": {}}


def test_field_managers() -> None:
    derived = field_manager("urn:a", "stack one", {}, {})
    assert derived.startswith("pulumi-kubernetes-")
    assert derived == field_manager("urn:a", "stack one", {}, {})
    assert derived != field_manager("urn:b", "stack one", {}, {})
    assert derived != field_manager("urn:a", "stack two", {}, {})
    stored = {"__fieldManager": "pulumi-kubernetes-abc"}
    assert field_manager("urn:a", "", {}, stored) == "pulumi-kubernetes-abc"
    annotated = {"metadata": {"annotations": {"pulumi.com/patchFieldManager": "mine"}}}
    assert field_manager("urn:a", "", annotated, stored) == "mine"


def test_deletion_waits_for_dependents_where_there_can_be_some() -> None:
    assert propagation_policy(Kind("apps", "v1", "Deployment"), {}) == "Foreground"
    assert propagation_policy(Kind("kueue.x-k8s.io", "v1beta2", "ClusterQueue"), {}) == "Background"
    orphan = {"metadata": {"annotations": {"pulumi.com/deletionPropagationPolicy": "orphan"}}}
    assert propagation_policy(Kind("", "v1", "Namespace"), orphan) == "Orphan"


def kubeconfig(server: str, namespace: str = "") -> str:
    context = {"cluster": "c", "user": "u", **({"namespace": namespace} if namespace else {})}
    return json.dumps(
        {
            "clusters": [{"name": "c", "cluster": {"server": server}}, {"name": "d", "cluster": {"server": "https://d"}}],
            "contexts": [{"name": "c", "context": context}, {"name": "d", "context": {"cluster": "d"}}],
            "users": [{"name": "u", "user": {"token": server}}],
            "current-context": "c",
        }
    )


def test_settings_are_read_as_the_engine_sends_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_K8S_ENABLE_PATCH_FORCE", "true")
    prefix = "kubernetes:config:"
    found = settings.read(
        {
            f"{prefix}kubeconfig": kubeconfig("https://c", "from-context"),
            f"{prefix}enableServerSideApply": "false",
            f"{prefix}enableConfigMapMutable": "true",
        }
    )
    assert found.namespace == "from-context"
    assert not found.server_side_apply
    assert found.patch_force
    assert found.mutability.config_maps
    assert not found.mutability.secrets
    assert settings.read({f"{prefix}namespace": "given", f"{prefix}kubeconfig": kubeconfig("s", "x")}).namespace == "given"
    assert settings.read({f"{prefix}kubeconfig": kubeconfig("https://c")}).namespace == "default"


@pytest.mark.parametrize(
    ("old", "new", "changed", "replaces"),
    [
        ({"kubeconfig": kubeconfig("a")}, {"kubeconfig": kubeconfig("a")}, [], []),
        ({"kubeconfig": kubeconfig("a")}, {"kubeconfig": kubeconfig("b")}, ["kubeconfig"], ["kubeconfig"]),
        ({"kubeconfig": kubeconfig("a")}, {"kubeconfig": kubeconfig("a", "other")}, ["kubeconfig"], []),
        ({"kubeconfig": kubeconfig("a")}, {"kubeconfig": kubeconfig("a"), "context": "d"}, ["context"], ["context"]),
        ({"kubeconfig": kubeconfig("a")}, {"kubeconfig": UNKNOWN}, ["kubeconfig"], ["kubeconfig"]),
        (
            {"kubeconfig": kubeconfig("a"), "clusterIdentifier": "x"},
            {"kubeconfig": kubeconfig("b"), "clusterIdentifier": "x"},
            ["kubeconfig"],
            [],
        ),
        ({"kubeconfig": "k", "clusterIdentifier": "x"}, {"kubeconfig": UNKNOWN, "clusterIdentifier": "x"}, ["kubeconfig"], []),
        ({"clusterIdentifier": "x"}, {"clusterIdentifier": "y"}, ["clusterIdentifier"], ["clusterIdentifier"]),
        ({}, {"clusterIdentifier": "y"}, ["clusterIdentifier"], []),
    ],
)
def test_what_a_changed_configuration_replaces(
    old: dict[str, Any], new: dict[str, Any], changed: list[str], replaces: list[str]
) -> None:
    assert settings.change(old, new) == settings.ConfigChange(changed, replaces)


def test_strict_mode_wants_an_explicit_cluster() -> None:
    found = settings.check({"strictMode": "true"}, is_default=True)
    assert [(one.property, one.reason.partition(" ")[0]) for one in found] == [
        ("", "strict"),
        ("kubeconfig", "strict"),
        ("context", "strict"),
    ]
    assert settings.check({"kubeconfig": "k"}, is_default=True) == []
    assert settings.check({"renderYamlToDirectory": "x"}, is_default=False)[0].property == "renderYamlToDirectory"
