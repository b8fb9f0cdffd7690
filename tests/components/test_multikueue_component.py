"""What MultiKueue declares: on which cluster, in which order, with which rights, and what of it is secret."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pulumi
import pytest
from recording import Recording, record, write_project

from components.governance.kueue.multikueue import account_kubeconfig
from components.program import declare
from components.render import render
from config.load import Project
from governance.model import ClusterPlan, Plan
from governance.plan import plan

SECRET = "1b47061264138c4ac30d75fd1eb44270"
CLUSTERS = """\
clusters:
  hub: {kind: existing, instance_groups: {}}
  east: {kind: existing, instance_groups: {h100: {instance_type: ml.p5.48xlarge, count: 2}}}
  west: {kind: existing, context: there, instance_groups: {h100: {instance_type: ml.p5.48xlarge, count: 2}}}
"""
POLICY = "governance: {multi_kueue: {manager: hub, workers: [east, west], frameworks: [batch/job, pod]}}\n"
TEAMS = {
    "alpha": "quota: {ml.p5.48xlarge: {accelerators: 8}}",
    "beta": "quota: {ml.p5.48xlarge: {accelerators: 8}}\nclusters: [west]",
}
NAMES = ("hub", "east", "west")


def kubeconfig(server: str, **cluster: Any) -> str:
    """Two contexts, of which the second isn't the current one."""
    other = {"server": f"{server}/there", "certificate-authority-data": "VEhFUkU="}
    return json.dumps(
        {
            "clusters": [
                {"name": "c", "cluster": {"server": server, "certificate-authority-data": "SEVSRQ==", **cluster}},
                {"name": "d", "cluster": other},
            ],
            "users": [{"name": "admin", "user": {"token": "the-administrators"}}],
            "contexts": [
                {"name": "here", "context": {"cluster": "c", "user": "admin"}},
                {"name": "there", "context": {"cluster": "d", "user": "admin"}},
            ],
            "current-context": "here",
        }
    )


def run(root: Path, policy: str) -> Recording:
    write_project(root, CLUSTERS + policy, TEAMS)
    given = {f"kubeconfig-{name}": kubeconfig(f"https://{name}.example.com") for name in NAMES}
    return record(lambda: declare(root), config={"environment": "test", **given}, secrets=list(given))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return run(tmp_path_factory.mktemp("fleet"), POLICY)


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan(Project(write_project(tmp_path_factory.mktemp("plan"), CLUSTERS + POLICY, TEAMS)).load("test"))


def test_nothing_without_it(tmp_path: Path) -> None:
    kinds = run(tmp_path, "").kinds()
    wanted = (
        "AdmissionCheck",
        "MultiKueueConfig",
        "MultiKueueCluster",
        "MultiKueue",
        "WorkerAccount",
        "Secret",
        "ServiceAccount",
    )
    assert {kind: kinds[kind] for kind in wanted} == dict.fromkeys(wanted, 0)
    assert kinds["ClusterQueue"] == 4


def test_what_there_is(found: Recording) -> None:
    names = {(one.kind, one.inputs["metadata"]["name"]) for one in found.objects() if one.name.startswith("hub/multikueue/")}
    assert {(kind, name) for kind, name in names if kind in ("MultiKueueCluster", "Secret")} == {
        ("MultiKueueCluster", "east"),
        ("MultiKueueCluster", "west"),
        ("Secret", "hyperpod-multikueue-east"),
        ("Secret", "hyperpod-multikueue-west"),
    }
    assert found.kinds()["AdmissionCheck"] == found.kinds()["MultiKueueConfig"] == 2
    assert found.kinds()["WorkerAccount"] == 2


@pytest.mark.parametrize("name", NAMES)
def test_every_object_goes_to_its_own_cluster(found: Recording, name: str) -> None:
    (provider,) = [one for one in found.registered if one.type.startswith("pulumi:providers:") and one.name == name]
    own = [one for one in found.objects() if one.name.startswith(f"{name}/")]
    assert own
    assert {one.provider.rpartition("::")[0] for one in own} == {provider.urn}


def test_the_way_to_a_worker_is_secret(found: Recording) -> None:
    for worker in ("east", "west"):
        data = found.one(f"hub/multikueue/connection/{worker}").inputs["data"]
        assert SECRET in data.values(), "the engine's mark of a secret"
        text = base64.b64decode(data["value"]["kubeconfig"]).decode()
        assert "the-administrators" not in text, "the account's token, never the deployer's"
        assert json.loads(text)["users"] == [{"name": worker, "user": {"token": ""}}], "there is no server here to write one"
    servers = {
        worker: json.loads(
            base64.b64decode(found.one(f"hub/multikueue/connection/{worker}").inputs["data"]["value"]["kubeconfig"])
        )
        for worker in ("east", "west")
    }
    assert servers["east"]["clusters"][0]["cluster"] == {
        "server": "https://east.example.com",
        "certificate-authority-data": "SEVSRQ==",
    }
    assert servers["west"]["clusters"][0]["cluster"]["server"] == "https://west.example.com/there", "by the declared context"
    assert "the-administrators" not in json.dumps(found.outputs, default=str)


def test_the_order(found: Recording) -> None:
    for worker in ("east", "west"):
        connection = found.needs(f"hub/multikueue/connection/{worker}")
        assert {f"{worker}/account/token", f"{worker}/account/watcher-binding", "hub/kueue/release"} <= connection
        assert found.needs(f"hub/multikueue/worker/{worker}") == {f"hub/multikueue/connection/{worker}"}
    (partly,) = [one.name for one in found.of("AdmissionCheck") if one.name != "hub/multikueue/check/multikueue"]
    assert "hub/multikueue/check/multikueue" in found.needs("hub/alpha/clusterqueue")
    assert partly in found.needs("hub/beta/clusterqueue")
    assert found.needs(partly.replace("/check/", "/config/")) == {"hub/multikueue/worker/west"}
    # Whoever is refused the removal of a team keeps all of it: the protected binding goes first.
    assert "west/beta/dispatcher-binding" in found.needs("west/beta/rolebinding")
    assert not found.one("west/beta/dispatcher-binding").protect, "or the manager could never be taken away"


def test_what_is_waited_for(found: Recording) -> None:
    for one in (*found.of("MultiKueueCluster"), *found.of("AdmissionCheck")):
        assert one.inputs["metadata"]["annotations"] == {"pulumi.com/waitFor": "condition=Active"}
        assert one.timeouts == {"create": "5m", "update": "5m", "delete": "10m"}
    token = found.one("east/account/token").inputs["metadata"]["annotations"]
    assert token["pulumi.com/waitFor"] == "jsonpath={.data.token}"


def test_queues_of_the_manager_alone_name_a_check(found: Recording) -> None:
    checks = {one.name: one.inputs["spec"].get("admissionChecksStrategy") for one in found.of("ClusterQueue")}
    assert checks["hub/alpha/clusterqueue"] == {"admissionChecks": [{"name": "multikueue"}]}
    assert {name for name, check in checks.items() if check} == {"hub/alpha/clusterqueue", "hub/beta/clusterqueue"}


def test_the_account_acts_in_team_namespaces_alone(found: Recording) -> None:
    def rights(name: str) -> set[tuple[str, str]]:
        return {
            (resource, verb)
            for rule in found.one(name).inputs["rules"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }

    watched, acting = rights("west/account/watcher"), rights("west/account/dispatcher")
    assert {verb for _, verb in watched} == {"get", "list", "watch"}
    assert {resource for resource, _ in watched} == {"jobs", "pods", "workloads"}
    assert acting == {
        *((resource, verb) for resource in ("jobs", "pods", "workloads") for verb in ("create", "delete")),
        ("workloads", "update"),
        *(("workloads/status", verb) for verb in ("get", "patch", "update")),
    }
    bound = [one for one in found.objects() if one.kind in ("RoleBinding", "ClusterRoleBinding") and "roleRef" in one.inputs]
    everywhere = {one.inputs["roleRef"]["name"] for one in bound if one.kind == "ClusterRoleBinding"}
    assert "hyperpod-multikueue-dispatcher" not in everywhere
    spaces = {
        one.inputs["metadata"]["namespace"] for one in bound if one.inputs["roleRef"]["name"] == "hyperpod-multikueue-dispatcher"
    }
    assert spaces == {"hyperpod-ns-alpha", "hyperpod-ns-beta"}
    assert not any("secrets" in rule["resources"] for one in found.of("ClusterRole") for rule in one.inputs["rules"])


def test_nothing_of_a_team_runs_on_the_manager(found: Recording) -> None:
    rules = [one for one in found.of("ValidatingAdmissionPolicy") if one.name.endswith("hyperpod-only-dispatched")]
    assert [one.name for one in rules] == ["hub/rules/hyperpod-only-dispatched"]
    assert "batch/job, pod" in rules[0].inputs["spec"]["validations"][0]["messageExpression"]


def test_rendered_is_what_is_declared(found: Recording, planned: Plan) -> None:
    for name in NAMES:
        rendered = {
            (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in render(planned.clusters[name])
        }
        own = [one for one in found.objects() if one.name.startswith(f"{name}/") and one.kind != "Release"]
        declared = {(one.kind, one.inputs["metadata"].get("namespace"), one.inputs["metadata"]["name"]) for one in own}
        assert rendered == declared
    assert not [
        one for one in render(planned.clusters["hub"]) if one["kind"] == "Secret" and ("data" in one or "stringData" in one)
    ]


def worker(planned: Plan) -> ClusterPlan:
    return planned.clusters["east"]


def test_a_certificate_authority_in_a_file_goes_along(planned: Plan, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("AUTHORITY")
    file = tmp_path / "config"
    text = kubeconfig("https://x.example.com", **{"certificate-authority": "ca.crt"}).replace(
        '"certificate-authority-data": "SEVSRQ==", ', ""
    )
    file.write_text(text)
    found = json.loads(account_kubeconfig(str(file), worker(planned), "t"))
    assert found["clusters"][0]["cluster"] == {
        "server": "https://x.example.com",
        "certificate-authority-data": base64.b64encode(b"AUTHORITY").decode(),
    }
    assert found["users"][0]["user"] == {"token": "t"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (kubeconfig("https://x.example.com", **{"insecure-skip-tls-verify": True}), "skips the check"),
        ('{"clusters": []}', "names no server"),
        (kubeconfig("https://x.example.com").replace('"here"', '"gone"', 1), "names no server"),
        (kubeconfig("http://x.example.com"), "cross the network in clear, use https"),
        (kubeconfig("x.example.com:6443"), "cross the network in clear, use https"),
        (kubeconfig("https://x.example.com", **{"proxy-url": "http://proxy:3128"}), "has a proxy-url"),
        (kubeconfig("https://x.example.com", **{"certificate-authority": "/nowhere/ca.crt"}), "/nowhere/ca.crt"),
        ("/nowhere/kubeconfig", "can't be read: No such file"),
        ("clusters: [\ntoken: SECRET", "is no kubeconfig"),
        ("- a\n- list\n", "is no kubeconfig"),
        ("clusters: [1]\n", "is no kubeconfig"),
        ("contexts: [{name: [a]}]\n", "is no kubeconfig"),
        ("{}", "names no server"),
        ("\n", "is no kubeconfig"),
    ],
)
def test_what_kueue_would_refuse_is_refused_before(planned: Plan, text: str, words: str) -> None:
    with pytest.raises(pulumi.RunError, match=words) as caught:
        account_kubeconfig(text, worker(planned), "t")
    assert "`east`" in str(caught.value)
    assert "SECRET" not in str(caught.value)
