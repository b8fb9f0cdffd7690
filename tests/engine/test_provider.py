# ruff: noqa: F401, F811 - fixtures are imported by name
"""The offline Kubernetes provider under the real engine, on a real API server: writing objects."""

from __future__ import annotations

import base64
import time
from dataclasses import replace

import pytest
from engine_support import Project, cluster, own_project, project, provider, widgets

from sandbox.engine import ConfigValue

pytestmark = pytest.mark.engine

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLE = """
    add("role", "rbac.authorization.k8s.io/v1", "Role", rules=[
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"] if step == 0 else ["get", "list"]}])
"""
MAP = 'add("map", "v1", "ConfigMap", data={"a": "1"}, options=pulumi.ResourceOptions(protect=False))'


def test_create_then_nothing_then_update_then_delete(project: Project) -> None:
    first = project.up(ROLE)
    assert (first.changes.create, first.changes.total) == (3, 3)  # the stack, the provider, the role
    again = project.up()
    assert again.changes.total == 0
    assert again.changes.same == 3
    project.configure(step="1")
    changed = project.up()
    assert (changed.changes.update, changed.changes.total) == (1, 1)
    role = project.get(project.path("roles", "role", RBAC))
    assert role is not None
    assert role["rules"][0]["verbs"] == ["get", "list"]
    removed = project.up("")
    assert (removed.changes.delete, removed.changes.total) == (1, 1)
    assert project.get(project.path("roles", "role", RBAC)) is None


def test_namespace_and_id_are_filled_in(project: Project) -> None:
    result = project.up("""
        made = add("map", "v1", "ConfigMap")
        pulumi.export("id", made.id)
        made = pulumi.CustomResource("kubernetes:core/v1:ConfigMap", "auto", {}, pulumi.ResourceOptions(provider=provider))
        pulumi.export("auto", made.id)
    """)
    assert result.outputs["id"] == f"default/{project.name('map')}"
    namespace, name = result.outputs["auto"].split("/")
    assert namespace == "default"
    assert name.startswith("auto-")
    live = project.get(f"/api/v1/namespaces/default/configmaps/{name}")
    assert live is not None
    assert live["metadata"]["annotations"] == {"pulumi.com/autonamed": "true"}
    assert project.up().changes.total == 0


def test_immutable_field_replaces_delete_first(project: Project) -> None:
    binding = """
        add("role", "rbac.authorization.k8s.io/v1", "Role", rules=[])
        add("other", "rbac.authorization.k8s.io/v1", "Role", rules=[])
        add("binding", "rbac.authorization.k8s.io/v1", "RoleBinding", roleRef={
            "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": f"{mark}-role" if step == 0 else f"{mark}-other"})
        add("map", "v1", "ConfigMap", data={"a": str(step)})
    """
    project.up(binding)
    project.configure(step="1")
    assert project.preview().replace == 2
    changed = project.up()
    assert (changed.changes.replace, changed.changes.total) == (2, 2)
    found = project.get(project.path("rolebindings", "binding", RBAC))
    assert found is not None
    assert found["roleRef"]["name"] == project.name("other")
    changed_map = project.config_map("map")
    assert changed_map is not None
    assert changed_map["data"] == {"a": "1"}


def test_changed_name_replaces_create_first(project: Project) -> None:
    project.up('add("map", "v1", "ConfigMap", meta={"name": f"{mark}-{step}"})')
    project.configure(step="1")
    assert project.up().changes.replace == 1
    assert project.config_map("0") is None
    assert project.config_map("1") is not None


def test_existing_object_is_refused_and_can_be_imported(project: Project) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": project.name("map")}, "data": {"a": "1"}}
    project.api.request("POST", project.path("configmaps"), body)
    project.program(MAP)
    project.preview()
    message = project.refused(project.up)
    assert "AlreadyExists" in message
    assert f"pulumi import kubernetes:core/v1:ConfigMap <resource name> default/{project.name('map')}" in message
    live = project.config_map("map")
    assert live is not None
    assert "pulumi" not in str(live["metadata"].get("managedFields"))
    project.program(MAP.replace("protect=False", 'import_=f"default/{mark}-map"'))
    project.up()
    assert project.up(MAP).changes.total == 0
    assert project.up("").changes.delete == 1
    assert project.config_map("map") is None


def test_conflict_names_manager_and_field(project: Project) -> None:
    project.up(ROLE)
    path = project.path("roles", "role", RBAC)
    other = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": project.name("role")},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
    }
    project.apply(path, other, "somebody")
    project.configure(step="1")
    message = project.refused(project.preview)
    assert "somebody manages .rules" in message
    assert 'pulumi.com/patchForce: "true"' in message
    assert "somebody manages .rules" in project.refused(project.up)
    project.program(
        ROLE.replace("rules=[", 'meta={"name": f"{mark}-role", "annotations": {"pulumi.com/patchForce": "true"}}, rules=[')
    )
    assert project.up().changes.update == 1
    live = project.get(path)
    assert live is not None
    assert live["rules"][0]["resources"] == ["pods"]


def test_kubectl_edits_and_own_create_are_taken_over(project: Project) -> None:
    labelled = 'add("map", "v1", "ConfigMap", meta={"name": f"{mark}-map", "labels": LABELS})'
    project.up(labelled.replace("LABELS", '{"a": "1", "b": "1"}'))
    path = project.path("configmaps", "map")
    edit = {"metadata": {"labels": {"a": "edited"}}}
    project.api.request("PATCH", path, edit, {"fieldManager": "kubectl-edit"}, "application/merge-patch+json")
    changed = labelled.replace("LABELS", '{"a": "2"}')
    assert project.preview(changed).update == 1
    project.up(changed)
    live = project.get(path)
    assert live is not None
    assert live["metadata"]["labels"] == {"a": "2"}, "a label that the program dropped stays"


def test_preview_writes_nothing_and_refuses_what_the_server_refuses(project: Project, widgets: str) -> None:
    widget = 'add("one", "test.example.com/v1", "Widget", spec={"size": SIZE, "fixed": FIXED})'
    good = widget.replace("SIZE", "1").replace("FIXED", '"x"')
    assert project.preview(good).create == 3
    assert project.get(project.path("widgets", "one", widgets)) is None
    assert "spec.size" in project.refused(lambda: project.preview(widget.replace("SIZE", '"big"').replace("FIXED", '"x"')))
    project.up(good)
    message = project.refused(lambda: project.preview(widget.replace("SIZE", "1").replace("FIXED", '"y"')))
    assert "field is immutable" in message
    assert "Widget one" in message
    assert project.preview(widget.replace("SIZE", "2").replace("FIXED", '"x"')).update == 1
    live = project.get(project.path("widgets", "one", widgets))
    assert live is not None
    assert live["spec"] == {"size": 1, "fixed": "x", "colour": "grey"}


def test_preview_of_what_depends_on_things_to_come(project: Project) -> None:
    text = """
        space = add("space", "v1", "Namespace")
        inside = add("map", "v1", "ConfigMap", meta={"name": "map", "namespace": f"{mark}-space"},
                     options=pulumi.ResourceOptions(depends_on=[space]), data={"of": space.id})
        add("thing", "later.example.com/v1", "Thing", spec={"a": 1})
    """
    assert project.preview(text).create == 5


def test_custom_resource_is_replaced_when_the_program_asks_for_it(project: Project, widgets: str) -> None:
    text = """
        add("one", "test.example.com/v1", "Widget", spec={"size": step, "fixed": str(step)}, options=pulumi.ResourceOptions(
            replace_on_changes=["spec.fixed"], delete_before_replace=True))
    """
    project.up(text)
    project.configure(step="1")
    assert project.preview().replace == 1
    assert project.up().changes.replace == 1
    live = project.get(project.path("widgets", "one", widgets))
    assert live is not None
    assert live["spec"]["fixed"] == "1"


def test_definition_and_its_resources_in_one_stack(project: Project) -> None:
    text = """
        group = f"{mark}.example.com"
        crd = pulumi.CustomResource("kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition", "crd", {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"gadgets.{group}"},
            "spec": {"group": group, "names": {"plural": "gadgets", "kind": "Gadget"}, "scope": "Cluster", "versions": [{
                "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": {
                        "type": "object", "x_kubernetes_preserve_unknown_fields": True}}}}}]}},
            pulumi.ResourceOptions(provider=provider))
        add("gadget", f"{group}/v1", "Gadget", spec={"n": step}, options=pulumi.ResourceOptions(depends_on=[crd]))
    """
    assert project.preview(text).create == 4
    project.up()
    live = project.get(f"/apis/{project.mark}.example.com/v1/gadgets/{project.name('gadget')}")
    assert live is not None
    assert live["spec"] == {"n": 0}
    assert project.up().changes.total == 0
    project.configure(step="1")
    assert project.up().changes.update == 1
    assert project.up("").changes.delete == 2


def test_ignored_changes_stay_as_they_are(project: Project) -> None:
    text = """
        add("role", "rbac.authorization.k8s.io/v1", "Role", rules=[], meta={
            "name": f"{mark}-role", "labels": {"a": str(step), "b": str(step)}},
            options=pulumi.ResourceOptions(ignore_changes=["metadata.labels.a"]))
    """
    project.up(text)
    path = project.path("roles", "role", RBAC)
    patch = {"metadata": {"labels": {"a": "theirs"}}}
    project.api.request("PATCH", path, patch, {"fieldManager": "somebody"}, "application/merge-patch+json")
    project.configure(step="1")
    assert project.up().changes.update == 1
    live = project.get(path)
    assert live is not None
    assert live["metadata"]["labels"] == {"a": "theirs", "b": "1"}


def test_secrets_are_encrypted_in_the_state_and_kept_out_of_messages(project: Project) -> None:
    values = {**project.settings.config, "small:password": ConfigValue("hunter-two-secret", secret=True)}
    project.settings = replace(project.settings, config=values)
    encoded = base64.b64encode(b"plain-but-in-a-secret").decode()
    project.up(f"""
        add("secret", "v1", "Secret", data={{"k": "{encoded}"}}, stringData={{"p": config.require_secret("password")}})
        add("map", "v1", "ConfigMap", data={{"p": config.require_secret("password"), "q": "open"}})
    """)
    state = project.state_text()
    assert "hunter-two-secret" not in state
    assert base64.b64encode(b"hunter-two-secret").decode() not in state
    assert encoded not in state
    assert "open" in state
    live = project.get(project.path("secrets", "secret"))
    assert live is not None
    assert set(live["data"]) == {"k", "p"}
    assert project.up().changes.total == 0
    with project.engine() as engine:
        assert engine.refresh().total == 0
    message = project.refused(
        lambda: project.up('add("role", "rbac.authorization.k8s.io/v1", "Role", rules=config.require_secret("password"))')
    )
    assert "hunter-two-secret" not in message
    workspace = project.settings.workspace_folder
    texts = [path.read_text(errors="replace") for path in workspace.rglob("*") if path.is_file()]
    assert not [text for text in texts if "hunter-two-secret" in text]


def test_unsupported_resources_name_the_remedy(project: Project) -> None:
    chart = 'k8s.helm.v3.Release("kueue", chart="kueue", opts=pulumi.ResourceOptions(provider=provider))'
    message = project.refused(lambda: project.preview(chart))
    assert "kueue.install: false" in message
    assert "pulumi plugin install" in message
    patch = 'add("x", "v1", "ConfigMapPatch")'
    assert "ConfigMapPatch resources are beyond" in project.refused(lambda: project.preview(patch))
    core = 'pulumi.CustomResource("kubernetes:v1:ConfigMap", "x", {}, pulumi.ResourceOptions(provider=provider))'
    assert "does not have both a group and a version" in project.refused(lambda: project.preview(core))


def test_missing_kind_says_so(project: Project) -> None:
    started = time.monotonic()
    message = project.refused(lambda: project.up('add("thing", "later.example.com/v1", "Thing")'))
    assert "no kind Thing in later.example.com/v1" in message
    assert "CRD" in message
    assert time.monotonic() - started < 120


def test_what_is_unreachable_can_be_given_up(own_project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    own_project.up(MAP)
    dead = own_project.kubeconfig.read_text().replace(own_project.api.host, "https://127.0.0.1:1")
    own_project.configure(kubeconfig=dead)
    message = own_project.refused(lambda: own_project.up(""))
    assert "PULUMI_K8S_DELETE_UNREACHABLE=true" in message
    monkeypatch.setenv("PULUMI_K8S_DELETE_UNREACHABLE", "true")
    own_project.up("")
    own_project.api.request("DELETE", own_project.path("configmaps", "map"))


def test_names_of_the_server(project: Project) -> None:
    result = project.up("""
        made = add("map", "v1", "ConfigMap", meta={"generateName": f"{mark}-", "labels": {"step": str(step)}})
        pulumi.export("id", made.id)
    """)
    path = f"/api/v1/namespaces/default/configmaps/{result.outputs['id'].partition('/')[2]}"
    assert project.get(path) is not None
    project.configure(step="1")
    assert project.up().changes.update == 1
    live = project.get(path)
    assert live is not None
    assert live["metadata"]["labels"] == {"step": "1"}
    project.up("")
    assert project.get(path) is None


def test_warnings_of_the_server_are_passed_on(project: Project, widgets: str) -> None:
    result = project.up('add("one", "test.example.com/v1", "Widget", spec={"size": 1, "colr": "red"})')
    assert any('unknown field "spec.colr"' in text for text in result.warnings)


def test_unreachable_cluster_fails_with_its_address(project: Project) -> None:
    dead = project.kubeconfig.read_text().replace(project.api.host, "https://127.0.0.1:1")
    project.configure(kubeconfig=dead)
    project.program(MAP)
    assert project.preview().create == 3
    message = project.refused(project.up)
    assert "https://127.0.0.1:1 does not answer" in message
