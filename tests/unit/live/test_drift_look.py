"""Looking at several clusters: what can't be read is told, the rest compared; and the report in words."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from declarations import environment, hyperpod, planned, team
from managed_support import MANAGED
from markdown_it import MarkdownIt

from cli.main import run
from config.findings import printable
from config.load import Project
from governance.model import Plan
from governance.plan import plan
from live.connection import ApiError, UnreachableError
from live.drift import stack
from live.drift.compare import ABSENT
from live.drift.elsewhere import Elsewhere, elsewhere, same
from live.drift.look import Sources, declared, look
from live.drift.model import Author, Failure, Finding, Kind, PlatformChange, Property, Report, Thing
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
    told, label = "hyperpod-ns-beta", "carries the label hyperpod-platform/team: beta"
    perhaps = f"{label}; the environment research takes this team too: its own, if that is the same cluster"
    for others, expected in (
        ({}, [(told, label)]),
        ({"main": Elsewhere(frozenset({"beta"}))}, []),
        ({"main": Elsewhere(frozenset({"gamma"}), {"beta": "research"})}, [(told, perhaps)]),
        ({"two": Elsewhere(frozenset({"beta"}))}, [(told, label)]),
    ):
        sources = Sources(lambda _: server, refused, others)
        seen = look(plan, {"main": side}, "main", sources, SilentProgress())
        assert [(one.thing.name, one.remark) for one in seen.findings] == expected


def environments(root: Path, **clusters: str) -> dict[str, Elsewhere]:
    """What `here`, which takes team alpha, knows of the other environments, which take beta; each with a cluster `main`."""
    groups = "instance_groups: {h100: {instance_type: ml.p5.48xlarge, count: 8}}"
    for folder in ("environments", "teams"):
        (root / folder).mkdir()
    for name, cluster in clusters.items():
        tier = "a" if name == "here" else "b"
        (root / f"environments/{name}.yaml").write_text(
            f"apiVersion: hyperpod-platform/v1\nteams: {{select: {{tier: {tier}}}}}\nclusters:\n  main:\n"
            + "".join(f"    {line}\n" for line in (*cluster.split("; "), groups))
        )
    for name, tier in (("alpha", "a"), ("beta", "b"), ("nobody", "c")):
        (root / f"teams/{name}.yaml").write_text(team(f"labels: {{tier: {tier}}}\n"))
    return elsewhere(root, Project(root).load("here"))


NAMED = "kind: existing; kubeconfig: kube/shared; context: admin"
SANDBOX = "kind: existing; sandbox: true; kueue: {install: false}"


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        (NAMED, NAMED, Elsewhere(frozenset({"beta"}))),
        (NAMED, "kind: existing; kubeconfig: kube/shared", Elsewhere(perhaps={"beta": "there"})),
        (NAMED, "kind: existing", Elsewhere(perhaps={"beta": "there"})),
        ("kind: existing", "kind: existing", Elsewhere(perhaps={"beta": "there"})),
        (SANDBOX, SANDBOX, Elsewhere()),
        ("kind: existing", SANDBOX, Elsewhere()),
        (NAMED, "kind: nonsense", Elsewhere()),
    ],
)
def test_only_environments_that_share_the_cluster_have_teams_there(
    tmp_path: Path, here: str, there: str, expected: Elsewhere
) -> None:
    """A team that no other environment takes is nobody's."""
    assert environments(tmp_path, here=here, there=there) == {"main": expected}


@pytest.mark.parametrize(
    ("account", "region", "expected"),
    [("111122223333", "us-west-2", None), ("444455556666", "us-west-2", False), ("111122223333", "us-east-1", False)],
)
def test_clusters_that_are_built_in_other_accounts_or_regions_are_others(
    account: str, region: str, expected: bool | None
) -> None:
    """In the same, another environment may have queues on the cluster that this one builds."""
    built = planned({}, hyperpod()).clusters["main"].declared
    other = built.model_copy(update={"account": account, "region": region})
    assert same(built, other) is expected
    assert same(built, planned({}, environment()).clusters["main"].declared) is None


def test_a_cluster_of_which_the_state_knows_nothing_waits_and_is_not_read(kueue: tuple[Plan, Side]) -> None:
    """Nothing says yet how it is reached: with that as a failure, no run could ever add it."""
    plan, side = kueue
    for state in ({}, {"main": Side()}, {"other": side}):
        seen = look(plan, state, "main", Sources(refused, refused), SilentProgress())
        assert (seen.compared, seen.failures) == (0, ())
        (found,) = seen.findings
        assert (str(found.thing), found.kinds) == ("main: Cluster main", (Kind.PENDING,))
        shown = report(findings=seen.findings)
        assert (shown.exit_code(), shown.exit_code(pending=True)) == (0, 3)
        assert "    main: Cluster main: to be made" in list(text(shown))
    assert look(plan, None, "main", Sources(refused, refused), SilentProgress()).failures, "without a state, it is read"


def test_what_the_state_does_not_name_is_neither_new_nor_a_strangers() -> None:
    plan, side = on(TEAMS, MANAGED)
    (config,) = side.schedulers.values()
    live = Governance("arn", {**config, "Status": "Created"}, ())
    state = Side(objects=side.objects, nameless={"main/scheduler": "ClusterSchedulerConfig"})
    server = Server([dict(one) for one in side.objects.values()])
    seen = look(plan, {"main": state}, "main", Sources(lambda _: server, lambda _: live), SilentProgress())
    assert [one.thing.kind for one in seen.findings] == ["ComputeQuota"], "the quota is to be made"
    assert seen.notes == (
        "main: the state doesn't tell the name of the ClusterSchedulerConfig main/scheduler, so it isn't compared",
    )


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
    assert "`nobody \\| knows`" in comment
    data = json.loads(json.dumps(as_dict(report(findings=FOUND))))
    assert [one["status"] for one in data["drift"]] == [["changed outside"], ["missing"]]
    assert [one["name"] for one in data["pending"]] == ["l"]
    assert data["drift"][0]["properties"][0]["live"] == "1Ti"


HOSTILE = (
    "@org/all", "<img src=x>", "![x](http://evil.example/x.png)", "<!-- gone", "a | b \\| c", "one\n\n# two", "`@me`",
    "``` @me", "[x](y)", "https://evil.example", "www.evil.example", "#12", "GH-12", "org/repo#1", "*bold*", "a@b.example",
    "&lt;", "\x1b[31mred\r",
)  # fmt: skip


def everywhere(value: str) -> Report:
    """A report with the value wherever a live object, its author or a message can put it."""
    author = Author(value, value, value)
    prop = Property(f'metadata.annotations["{value}"]', value, value, value, "", author)
    elements = Property("spec.x", [value], {"a": value}, [value, 1], "", author)
    thing = Thing("main", "LocalQueue", value, value)
    findings = (
        Finding(thing, (Kind.CHANGED, Kind.PENDING), (prop, elements), (prop, elements), author, value),
        Finding(thing, (Kind.UNMANAGED,), author=author, remark=value),
    )
    platform = (PlatformChange(value, value, "update", (value,)),)
    return report(findings=findings, failures=(Failure(value, "Kubernetes", value),), notes=(value,), platform=platform)


@pytest.mark.parametrize("value", HOSTILE)
def test_what_live_objects_say_means_nothing_in_a_comment(value: str) -> None:
    """As another Markdown parser sees it: nothing but our table and lists, with the values in code."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(markdown(everywhere(value)))
    kinds = {token.type.removesuffix("_open").removesuffix("_close") for token in tokens}
    assert kinds <= {
        "heading", "paragraph", "inline", "bullet_list", "list_item", "table", "thead", "tbody", "tr", "th", "td"
    }  # fmt: skip
    rows = "".join(token.type[0:2] if token.type in ("td_open", "tr_open") else "" for token in tokens)
    assert rows == "tr" + ("tr" + "td" * 5) * 3, "a header, and three rows of five cells"
    inline = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in inline} <= {"text", "code_inline"}
    plain = " ".join(child.content for child in inline if child.type == "text")
    assert not [word for word in ("@", "<", "://", "www.", "#", "GH-") if word in plain]
    code = [child.content for child in inline if child.type == "code_inline"]
    assert printable(value) in code, "nothing is lost"


@pytest.mark.parametrize("value", HOSTILE)
def test_what_live_objects_say_means_nothing_to_a_terminal(value: str) -> None:
    lines = list(text(everywhere(value)))
    assert all(line.isprintable() for line in lines)
    assert any(printable(value) in line for line in lines)


def test_a_stack_that_the_backend_does_not_know_is_told_from_one_without_drift() -> None:
    lost, fine = report(deployed=False, compared={}), report()
    assert (lost.exit_code(), fine.exit_code()) == (0, 0)
    assert (as_dict(lost)["deployed"], as_dict(fine)["deployed"]) == (False, True)
    assert list(text(lost)) == ["dev: not deployed: the backend that Pulumi asked holds nothing of it"]


@pytest.mark.parametrize(
    ("types", "expected"),
    [((), False), (("pulumi:pulumi:Stack", "pulumi:providers:aws"), False), (("pulumi:pulumi:Stack", "aws:ec2/vpc:Vpc"), True)],
)
def test_a_stack_of_the_platform_alone_is_deployed_too(
    monkeypatch: pytest.MonkeyPatch, types: tuple[str, ...], expected: bool
) -> None:
    """Though it holds no object that is compared one by one."""
    resources = [
        {"urn": f"urn:pulumi:dev::hyperpod-platform::{one}::main/x", "type": one, "custom": one != "pulumi:pulumi:Stack"}
        for one in types
    ]
    exported = {"deployment": {"resources": resources}} if types else {}
    monkeypatch.setattr(stack, "_last", lambda *_: stack._Last(None, exported, {}))
    root = Path(__file__).parents[3]
    platform = Project(root).load("dev")
    found = stack.look_at_stack(root, "dev", platform, plan(platform), stack.Wanted(), SilentProgress())
    assert found.deployed is expected
    assert (found.failures, found.drift) == ((), ())
    assert [str(one.thing) for one in found.pending] == (["main: Cluster main"] if expected else [])


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
