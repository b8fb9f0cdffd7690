"""Looking at several clusters: what can't be read is told, the rest compared; and the report in words."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from declarations import environment, planned, team
from managed_support import MANAGED

from cli.main import run
from governance.model import Plan
from live.connection import ApiError, UnreachableError
from live.drift.compare import ABSENT
from live.drift.look import Sources, declared, look
from live.drift.model import Author, Failure, Finding, Kind, Property, Report, Thing
from live.drift.state import Side
from live.sagemaker import Governance
from reports.drift import as_dict, markdown, summary, text
from sandbox.progress import SilentProgress

TEAMS = {"alpha": team("quota: {ml.p5.48xlarge: {accelerators: 3}}")}
PLURALS = {
    "v1": {"Namespace": "namespaces"},
    "rbac.authorization.k8s.io/v1": {
        "ClusterRole": "clusterroles",
        "ClusterRoleBinding": "clusterrolebindings",
        "RoleBinding": "rolebindings",
    },
    "admissionregistration.k8s.io/v1": {
        "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
        "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    },
    "kueue.x-k8s.io/v1beta2": {
        kind: kind.lower()
        for kind in ("ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Topology", "WorkloadPriorityClass")
    },
}


class Server:
    """An API server that holds objects; `without` are the API versions that it doesn't serve."""

    def __init__(self, objects: list[dict[str, Any]], without: tuple[str, ...] = ()) -> None:
        self.lists: dict[str, list[dict[str, Any]]] = {}
        self.discovery: dict[str, dict[str, Any]] = {}
        for version, plurals in PLURALS.items():
            if version in without:
                continue
            root = f"/apis/{version}" if "/" in version else f"/api/{version}"
            entries = [{"kind": kind, "name": name} for kind, name in plurals.items()]
            self.discovery[root] = {
                "resources": [*entries, *({"kind": e["kind"], "name": f"{e['name']}/status"} for e in entries)]
            }
            for kind, name in plurals.items():
                found = [copy.deepcopy(one) for one in objects if (one["apiVersion"], one["kind"]) == (version, kind)]
                self.lists[f"{root}/{name}"] = [
                    {k: v for k, v in one.items() if k not in ("apiVersion", "kind")} for one in found
                ]

    def get(self, path: str) -> dict[str, Any] | None:
        return self.discovery.get(path)

    def items(self, path: str) -> list[dict[str, Any]]:
        return self.lists[path]


def refused(_: str) -> Any:
    raise UnreachableError("does not answer")


def on(teams: dict[str, str], env: str) -> tuple[Plan, Side]:
    plan = planned(teams, env)
    return plan, declared(plan.clusters["main"])


@pytest.fixture
def kueue() -> tuple[Plan, Side]:
    return on(TEAMS, environment())


def test_nothing_differs_where_all_is_as_declared(kueue: tuple[Plan, Side]) -> None:
    plan, side = kueue
    server = Server([dict(one) for one in side.objects.values()])
    seen = look(plan, {"main": side}, "main", Sources(lambda _: server, refused), SilentProgress())
    assert (seen.compared, seen.findings, seen.failures, seen.notes) == (len(side.objects), (), (), ())


def test_missing_crds_are_told_once_a_kind(kueue: tuple[Plan, Side]) -> None:
    plan, side = kueue
    server = Server([dict(one) for one in side.objects.values()], without=("kueue.x-k8s.io/v1beta2",))
    seen = look(plan, {"main": side}, "main", Sources(lambda _: server, refused), SilentProgress())
    gone = {key.kind for key in side.objects if key.api_version.startswith("kueue")}
    assert {one.thing.kind for one in seen.findings} == gone
    assert {one.kinds for one in seen.findings} == {(Kind.MISSING,)}
    assert len(seen.notes) == len(gone)
    assert "its CRD is gone" in seen.notes[0]


def test_a_cluster_that_is_declared_no_more_is_looked_at_all_the_same(kueue: tuple[Plan, Side]) -> None:
    plan, side = kueue
    seen = look(plan, {"gone": side}, "gone", Sources(lambda _: Server([]), refused), SilentProgress())
    assert {one.kinds for one in seen.findings} == {(Kind.MISSING, Kind.PENDING)}
    assert len(seen.findings) == len(side.objects)


@pytest.mark.parametrize("error", [UnreachableError("no way"), ApiError(403, "Forbidden", "may not list")])
def test_one_side_that_can_not_be_read_does_not_hide_the_other(error: Exception) -> None:
    plan, side = on(TEAMS, MANAGED)

    def unreadable(_: str) -> Any:
        raise error

    empty = Governance("arn", None, ())
    seen = look(plan, {"main": side}, "main", Sources(unreadable, lambda _: empty), SilentProgress())
    assert [(one.what, one.message) for one in seen.failures] == [("Kubernetes", str(error))]
    assert {(one.thing.kind, one.kinds) for one in seen.findings} == {
        ("ClusterSchedulerConfig", (Kind.MISSING,)),
        ("ComputeQuota", (Kind.MISSING,)),
    }


def test_teams_of_another_stack_on_the_same_cluster_are_not_strangers(kueue: tuple[Plan, Side]) -> None:
    plan, side = kueue
    other = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "hyperpod-ns-beta", "labels": {"hyperpod-platform/team": "beta"}},
    }
    server = Server([*(dict(one) for one in side.objects.values()), other])
    for elsewhere, expected in ((frozenset[str](), ["hyperpod-ns-beta"]), (frozenset({"beta"}), [])):
        sources = Sources(lambda _: server, refused, elsewhere)
        seen = look(plan, {"main": side}, "main", sources, SilentProgress())
        assert [one.thing.name for one in seen.findings] == expected


def test_without_a_state_nothing_waits(kueue: tuple[Plan, Side]) -> None:
    plan, _ = kueue
    seen = look(plan, None, "main", Sources(lambda _: Server([]), refused), SilentProgress())
    assert {one.kinds for one in seen.findings} == {(Kind.MISSING,)}


# -- the report ----------------------------------------------------------------------------------------------------------------

WHO = Author("alice", "Update", "2026-11-20T10:00:00Z")
MEMORY = Property("spec.x[memory].nominalQuota", "192Gi", "192Gi", "1Ti", "GiB", WHO)
FOUND = (
    Finding(Thing("main", "ClusterQueue", "q", team="alpha"), (Kind.CHANGED,), (MEMORY,)),
    Finding(Thing("main", "RoleBinding", "b", "ns"), (Kind.MISSING,), remark="nobody | knows"),
    Finding(Thing("main", "LocalQueue", "l", "ns"), (Kind.PENDING,), pending=(Property("", "LocalQueue", ABSENT, ABSENT),)),
)


def report(**more: Any) -> Report:
    found: dict[str, Any] = {"deployed": True, "with_state": True, "compared": {"main": 9}, **more}
    return Report("dev", "dev", "kueue", **found)


def test_exit_codes() -> None:
    assert report().exit_code() == 0
    assert report(findings=FOUND).exit_code() == 3
    assert report(findings=FOUND[2:]).exit_code() == 0
    assert report(findings=FOUND[2:]).exit_code(pending=True) == 3
    assert report(deployed=False).exit_code() == 0
    assert report(deployed=False).exit_code(pending=True) == 3
    assert report(findings=FOUND, failures=(Failure("main", "Kubernetes", "gone"),)).exit_code() == 4


def test_the_report_in_words() -> None:
    lines = list(text(report(findings=FOUND, failures=(Failure("two", "SageMaker", "no credentials"),), notes=("a note",))))
    assert lines == [
        "main: ClusterQueue q: changed outside",
        "    spec.x[memory].nominalQuota: 192 GiB → 1024 GiB",
        "        by alice (Update, 2026-11-20T10:00:00Z)",
        "main: RoleBinding ns/b: missing",
        "    nobody | knows",
        "not deployed yet (no drift; `hpctl up` tells it in words):",
        "    main: LocalQueue ns/l: to be made",
        "a note",
        "two: SageMaker could not be read: no credentials",
        "dev: 9 objects compared on main: 1 changed outside, 1 missing; 1 not deployed yet; 1 could not be read",
    ]
    assert summary(report()) == "dev: 9 objects compared on main: no drift"


@pytest.mark.parametrize(
    ("declared_now", "words"),
    [
        ("192Gi", ""),
        ("1Ti", " (declared so by now)"),
        ("2Ti", " (declared now: 2048 GiB)"),
        (ABSENT, " (declared now: none)"),
    ],
)
def test_what_is_declared_now_is_told_where_it_is_another(declared_now: Any, words: str) -> None:
    prop = Property("p", declared_now, "192Gi", "1Ti", "GiB")
    lines = list(text(report(findings=(Finding(FOUND[0].thing, (Kind.CHANGED,), (prop,)),))))
    assert lines[1] == f"    p: 192 GiB → 1024 GiB{words}"


def test_the_report_as_a_comment_and_as_data() -> None:
    comment = markdown(report(findings=FOUND))
    assert "| `main: ClusterQueue q` | `spec.x[memory].nominalQuota` | 192 GiB → 1024 GiB | 192 GiB | alice (Update," in comment
    assert "nobody \\| knows" in comment
    data = json.loads(json.dumps(as_dict(report(findings=FOUND))))
    assert [one["status"] for one in data["drift"]] == [["changed outside"], ["missing"]]
    assert [one["name"] for one in data["pending"]] == ["l"]
    assert data["drift"][0]["properties"][0]["live"] == "1Ti"


# -- the verb ------------------------------------------------------------------------------------------------------------------


def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = str(Path(__file__).parents[3])
    assert run(["--project", root, "drift", "--stack", "local", "--no-state", "--platform"]) == 2
    assert "--platform needs Pulumi's state" in capsys.readouterr().err
    assert run(["--project", root, "drift", "--stack", "local", "--no-state", "--cluster", "mian"]) == 1
    assert "cluster-unknown" in capsys.readouterr().err


def test_without_a_state_a_cluster_of_ours_has_no_known_way(capsys: pytest.CaptureFixture[str]) -> None:
    """Its kubeconfig is in the stack's outputs."""
    root = str(Path(__file__).parents[3])
    assert run(["--project", root, "drift", "--stack", "dev", "--no-state", "--json"]) == 4
    (failure,) = json.loads(capsys.readouterr().out)["unreachable"]
    assert "without Pulumi's state" in failure["message"]
