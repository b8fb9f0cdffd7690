"""Admission rules and access on a real API server with a real Kueue: what they refuse, what they let through, what they say."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from recording import write_project
from sandbox_support import rewrite

from components.render import render
from config.load import Project
from governance.names import MAX_RUN_TIME_LABEL, QUEUE_LABEL
from governance.plan import plan
from live.connection import ApiError, Connection, connect
from sandbox.local import Sandbox
from sandbox.toolchain import SilentProgress

pytestmark = pytest.mark.engine

ENVIRONMENT = """
clusters:
  main:
    kind: existing
    instance_groups:
      l4: {instance_type: ml.g6.12xlarge, count: 2}
      cpu: {instance_type: ml.m5.4xlarge, count: 2}
governance: {topology: {enabled: false}}
"""
TEAMS = {
    "free": "quota: {ml.g6.12xlarge: {instances: 1}, ml.m5.4xlarge: {instances: 1}}\nweight: 1\naccess: {groups: [people]}",
    "timed": "quota: {ml.m5.4xlarge: {instances: 1}}\nweight: 1\nmax_run_time: 1h",
    "easy": "quota: {ml.m5.4xlarge: {vcpu: 4}}\nweight: 1\ndefault_queue: true",
}
FREE, TIMED, EASY = "hyperpod-ns-free", "hyperpod-ns-timed", "hyperpod-ns-easy"
QUEUE = {QUEUE_LABEL: "team-queue"}
PLURALS = {
    "ClusterQueue": "clusterqueues",
    "Cohort": "cohorts",
    "CronJob": "cronjobs",
    "DaemonSet": "daemonsets",
    "Deployment": "deployments",
    "Job": "jobs",
    "LocalQueue": "localqueues",
    "Namespace": "namespaces",
    "Pod": "pods",
    "ReplicaSet": "replicasets",
    "StatefulSet": "statefulsets",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
}


def collection(o: dict[str, Any]) -> str:
    version, kind = o["apiVersion"], o["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = o["metadata"].get("namespace")
    return f"{root}{f'/namespaces/{namespace}' if namespace else ''}/{PLURALS.get(kind, kind.lower() + 's')}"


def path_of(o: dict[str, Any]) -> str:
    return f"{collection(o)}/{o['metadata']['name']}"


def eventually(ask: Callable[[], Any], within: float = 120.0) -> Any:
    """The first answer that is something."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        found = ask()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("it never came")


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A sandbox of its own: the rules are cluster-wide, and other tests' work must not meet them."""
    root = write_project(tmp_path_factory.mktemp("rules"), ENVIRONMENT, TEAMS)
    main = plan(Project(root).load("test")).clusters["main"]
    sandbox = Sandbox(f"rules-{os.getpid()}")
    try:
        sandbox.up(dict(main.manager), [], SilentProgress())
        found = connect(str(sandbox.kubeconfig), "", "")
        for o in render(main):
            found.request("PATCH", path_of(o), o, {"fieldManager": "test"}, content_type="application/apply-patch+yaml")
        # A rule takes effect a moment after it is written.
        eventually(lambda: refusal(found, job()) and refusal(found, job(namespace=TIMED, labels=QUEUE)))
        yield found
    finally:
        sandbox.down()


def create(api: Connection, o: dict[str, Any], *, dry: bool = True) -> dict[str, Any]:
    return api.request("POST", collection(o), o, {"dryRun": "All"} if dry else {}).body


def refusal(api: Connection, o: dict[str, Any]) -> str:
    """What the API server says against creating it; empty where it is allowed."""
    try:
        create(api, o)
    except ApiError as error:
        return str(error)
    return ""


def job(*, kind: str = "Job", namespace: str = FREE, labels: dict[str, str] | None = None, **parts: Any) -> dict[str, Any]:
    """Work of a kind; `template` are labels of its template, `owner` an owner as (apiVersion, kind)."""
    meta: dict[str, Any] = {"generateName": "work-", "namespace": namespace, "labels": labels or {}}
    if owner := parts.get("owner"):
        meta["ownerReferences"] = [{"apiVersion": owner[0], "kind": owner[1], "name": "o", "uid": "1", "controller": True}]
    restart = "Never" if kind in ("Job", "CronJob", "Pod") else "Always"
    requests = {"requests": {"cpu": "1"}}
    pod = {"restartPolicy": restart, "containers": [{"name": "c", "image": "example.com/x", "resources": requests}]}
    template = {"metadata": {"labels": {"app": "x", **parts.get("template", {})}}, "spec": pod}
    spec: dict[str, Any]
    match kind:
        case "Pod":
            version, spec = "v1", pod
        case "Job":
            version, spec = "batch/v1", {"template": template, "suspend": True}
        case "CronJob":
            version = "batch/v1"
            spec = {"schedule": "* * * * *", "jobTemplate": {"metadata": {"labels": parts.get("template", {})}}}
            spec["jobTemplate"]["spec"] = {"template": {"spec": pod}}
        case _:
            version, spec = "apps/v1", {"selector": {"matchLabels": {"app": "x"}}, "template": template}
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}


def test_the_rules_compile_and_check_out(api: Connection) -> None:
    """The API server's own type checker finds nothing amiss."""
    for rule in ("hyperpod-queue-label", "hyperpod-max-run-time", "hyperpod-flavor-guard"):
        path = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{rule}"
        checked = eventually(lambda path=path: api.request("GET", path).body.get("status", {}).get("observedGeneration"))
        assert checked
        assert api.request("GET", path).body["status"]["typeChecking"] == {}


# Queue label -------------------------------------------------------------------------------------------------------------------

TEMPLATED = ("CronJob", "DaemonSet", "ReplicaSet")


@pytest.mark.parametrize("kind", ["Pod", "Job", "Deployment", "StatefulSet", *TEMPLATED])
def test_work_needs_the_label(api: Connection, kind: str) -> None:
    labelled = {"template": QUEUE} if kind in TEMPLATED else {"labels": QUEUE}
    assert refusal(api, job(kind=kind, **labelled)) == ""
    said = refusal(api, job(kind=kind))
    assert f"{QUEUE_LABEL}: every {kind} in this namespace needs this label" in said
    assert "naming the queue of the team: hyperpod-ns-free-localqueue" in said
    elsewhere = {"labels": QUEUE} if kind in TEMPLATED else {"template": QUEUE}
    assert ("in spec." in refusal(api, job(kind=kind, **elsewhere))) is (kind in TEMPLATED)


def test_with_a_default_queue_kueue_sets_the_label(api: Connection) -> None:
    """Its webhook comes before the rules."""
    unlabelled = job(namespace=EASY)
    eventually(lambda: refusal(api, unlabelled) == "")  # Kueue has seen the queue
    assert create(api, unlabelled)["metadata"]["labels"][QUEUE_LABEL] == "default"


def test_an_empty_label_is_none(api: Connection) -> None:
    assert QUEUE_LABEL in refusal(api, job(labels={QUEUE_LABEL: ""}))


@pytest.mark.parametrize(
    ("owner", "allowed"),
    [
        (("batch/v1", "Job"), True),
        (("apps/v1", "ReplicaSet"), True),
        (("kubeflow.org/v1", "PyTorchJob"), True),
        (("sagemaker.amazonaws.com/v1", "HyperPodPyTorchJob"), True),
        (("v1", "ReplicationController"), False),
        (("argoproj.io/v1alpha1", "Workflow"), False),
    ],
)
def test_parts_of_queued_work_need_none(api: Connection, owner: tuple[str, str], allowed: bool) -> None:
    # Of the kinds that the rule matches, Kueue's own webhooks look up the owner of pods and jobs; this one they let be.
    assert (refusal(api, job(kind="ReplicaSet", owner=owner)) == "") is allowed


def test_controllers_make_the_parts(api: Connection) -> None:
    """A Deployment with the label gets its ReplicaSet, and that its pod."""
    made = create(api, job(kind="Deployment", labels={QUEUE_LABEL: "hyperpod-ns-free-localqueue"}), dry=False)
    try:
        pods = eventually(lambda: api.request("GET", f"/api/v1/namespaces/{FREE}/pods").body["items"])
        assert pods[0]["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
    finally:
        api.request("DELETE", path_of(made), None, {"propagationPolicy": "Foreground"})


def test_other_namespaces_are_left_alone(api: Connection) -> None:
    assert refusal(api, job(namespace="default")) == ""


def test_the_label_can_not_be_taken_off(api: Connection) -> None:
    """A waiting job without it could be started by hand, beside every quota."""
    made = create(api, job(labels=QUEUE), dry=False)
    try:
        assert QUEUE_LABEL in changed(api, made, {})
        assert changed(api, made, {QUEUE_LABEL: "another", "note": "x"}) == ""
    finally:
        api.request("DELETE", path_of(made), None, {"propagationPolicy": "Background"})


def changed(api: Connection, o: dict[str, Any], labels: dict[str, str]) -> str:
    """What is said against other labels."""
    patch = {"metadata": {"labels": {**dict.fromkeys(o["metadata"].get("labels", {})), **labels}}}
    try:
        api.request("PATCH", path_of(o), patch, {"dryRun": "All"}, content_type="application/merge-patch+json")
    except ApiError as error:
        return str(error)
    return ""


# Maximum run time --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [("1", True), ("3600", True), ("3601", False), ("0", False), ("007", False), ("1h", False), ("99999999999", False)],
)
def test_run_time_is_within_the_teams(api: Connection, asked: str, allowed: bool) -> None:
    said = refusal(api, job(namespace=TIMED, labels={**QUEUE, MAX_RUN_TIME_LABEL: asked}))
    assert (said == "") is allowed
    assert allowed or f"a whole number of seconds from 1 to 3600; it says {asked}" in said


def test_run_time_must_be_asked_for_where_the_team_has_one(api: Connection) -> None:
    for kind in ("Job", "Pod"):
        assert f"{MAX_RUN_TIME_LABEL}: every {kind}" in refusal(api, job(kind=kind, namespace=TIMED, labels=QUEUE))
    assert MAX_RUN_TIME_LABEL in refusal(api, job(kind="CronJob", namespace=TIMED, template=QUEUE))
    assert refusal(api, job(kind="CronJob", namespace=TIMED, template={**QUEUE, MAX_RUN_TIME_LABEL: "60"})) == ""
    assert refusal(api, job(kind="Deployment", namespace=TIMED, labels=QUEUE)) == ""  # it has no end
    owned = job(kind="CronJob", namespace=TIMED, owner=("workload.codeflare.dev/v1beta2", "AppWrapper"))
    assert refusal(api, owned) == ""
    assert refusal(api, job(namespace=FREE, labels=QUEUE)) == ""


def test_run_time_can_not_be_raised_later(api: Connection) -> None:
    made = create(api, job(namespace=TIMED, labels={**QUEUE, MAX_RUN_TIME_LABEL: "60"}), dry=False)
    try:
        assert MAX_RUN_TIME_LABEL in changed(api, made, {**QUEUE, MAX_RUN_TIME_LABEL: "7200"})
        assert MAX_RUN_TIME_LABEL in changed(api, made, QUEUE)
        assert changed(api, made, {**QUEUE, MAX_RUN_TIME_LABEL: "60", "note": "x"}) == ""
    finally:
        api.request("DELETE", path_of(made), None, {"propagationPolicy": "Background"})


# Flavor guard ------------------------------------------------------------------------------------------------------------------


def test_a_flavor_in_use_can_not_be_dropped(api: Connection) -> None:
    path = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/hyperpod-ns-free-clusterqueue"
    queue = api.request("GET", path).body
    names = [flavor["name"] for flavor in queue["spec"]["resourceGroups"][0]["flavors"]]
    cpu, gpu = names
    assert cpu.startswith("ml.m5.4xlarge")
    made = create(api, job(labels={QUEUE_LABEL: "hyperpod-ns-free-localqueue"}), dry=False)
    try:
        eventually(lambda: held(api, path) == {cpu})
        said = dropping(api, path, cpu)
        assert f"running work still holds quota of {cpu};" in said
        assert "state: draining" in said
        assert dropping(api, path, gpu) == ""
    finally:
        api.request("DELETE", path_of(made), None, {"propagationPolicy": "Background"})
    eventually(lambda: held(api, path) == set())
    assert dropping(api, path, cpu) == ""


def held(api: Connection, path: str) -> set[str]:
    """Flavors on which the queue holds quota, as Kueue reports it."""
    reserved = api.request("GET", path).body.get("status", {}).get("flavorsReservation", [])
    return {f["name"] for f in reserved if any(r["total"] not in ("0", 0) for r in f["resources"])}


def dropping(api: Connection, path: str, flavor: str) -> str:
    """What is said against a queue without that flavor."""

    def change(queue: dict[str, Any]) -> None:
        (group,) = queue["spec"]["resourceGroups"]
        group["flavors"] = [f for f in group["flavors"] if f["name"] != flavor]

    try:
        rewrite(api, path, change, {"dryRun": "All"})
    except ApiError as error:
        return str(error)
    return ""


# Access ------------------------------------------------------------------------------------------------------------------------

MEMBER = "hyperpod-ns-free-namespace-level-group"


def may(api: Connection, group: str, verb: str, resource: str, namespace: str = "") -> bool:
    """Whether members of the group may; `resource` is [group/]resource[:subresource]."""
    api_group, _, rest = resource.rpartition("/")
    name, _, subresource = rest.partition(":")
    attributes = {"verb": verb, "group": api_group, "resource": name, "subresource": subresource, "namespace": namespace}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": "somebody", "groups": [group], "resourceAttributes": attributes},
    }
    found: bool = api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review).body["status"]["allowed"]
    return found


@pytest.mark.parametrize("group", [MEMBER, "people"])
def test_members_work_in_their_own_namespace(api: Connection, group: str) -> None:
    for verb, resource in (
        ("create", "batch/jobs"),
        ("delete", "sagemaker.amazonaws.com/hyperpodpytorchjobs"),
        ("get", "pods:log"),
        ("create", "pods:exec"),
        ("list", "kueue.x-k8s.io/workloads"),
        ("get", "visibility.kueue.x-k8s.io/localqueues:pendingworkloads"),
    ):
        assert may(api, group, verb, resource, FREE), (verb, resource)
        assert not may(api, group, verb, resource, TIMED), (verb, resource)
        assert not may(api, group, verb, resource, "default"), (verb, resource)
    assert may(api, group, "watch", "kueue.x-k8s.io/clusterqueues")
    assert may(api, group, "list", "kueue.x-k8s.io/topologies")


def test_members_do_no_more_than_that(api: Connection) -> None:
    for verb, resource in (
        ("patch", "kueue.x-k8s.io/workloads"),
        ("update", "kueue.x-k8s.io/localqueues"),
        ("patch", "pods"),
        ("create", "pods:binding"),
        ("list", "secrets"),
        ("get", "secrets"),
        ("create", "rbac.authorization.k8s.io/rolebindings"),
        ("create", "serviceaccounts:token"),
        ("delete", "persistentvolumeclaims"),
        ("patch", "namespaces"),
    ):
        assert not may(api, MEMBER, verb, resource, FREE), (verb, resource)
    for verb, resource in (("patch", "kueue.x-k8s.io/clusterqueues"), ("list", "nodes"), ("impersonate", "groups")):
        assert not may(api, MEMBER, verb, resource), (verb, resource)
