"""Why on a manager, which hands jobs to workers: where a job was sent, who was asked, and what no worker can ever run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from declarations import platform, team

from components.render import render
from governance.plan import plan
from live.connection import UnreachableError
from live.why.context import context_of
from live.why.declared import Declared
from live.why.dispatch import oversized
from live.why.explain import explain
from live.why.model import Answer
from live.why.reach import Way, ask_workers
from live.why.snapshot import Snapshot, by_name
from reports.why import text
from sandbox.progress import SilentProgress
from tests.why_objects import EARLY, GPU, NOW, TOPOLOGY, Object, condition, flavor, of, pending, queue, snapshot, workload

CHECK = {
    "metadata": {"name": "multikueue"},
    "spec": {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": {"kind": "MultiKueueConfig", "name": "both"}},
}
QUEUE = queue("q", 24, cohort=None, admissionChecksStrategy={"admissionChecks": [{"name": "multikueue"}]})
SETS = {"both": {"metadata": {"name": "both"}, "spec": {"clusters": ["east", "west"]}}}


def worker(name: str, active: str = "True", said: str = "") -> Object:
    return {"metadata": {"name": name}, "status": {"conditions": [condition("Active", active, message=said)]}}


def manager(one: Object, *workers: Object, **more: Any) -> Snapshot:
    known = {"checks": by_name([CHECK]), "worker_sets": SETS, "workers": by_name(workers or (worker("east"), worker("west")))}
    return snapshot(one, queues=(QUEUE,), **(known | more))


def sent(job: str = "j", gpus: int = 8, state: str = "Pending", **status: Any) -> Object:
    """A Workload with the manager's quota, which is admitted there once a worker has taken it."""
    one = workload(job, gpus, held=True, admissionChecks=[{"name": "multikueue", "state": state, "message": ""}], **status)
    if state != "Ready":
        one["status"]["conditions"] = [c for c in one["status"]["conditions"] if c["type"] != "Admitted"]
    return one


def why(found: Snapshot, one: Object, declared: Declared | None = None) -> Answer:
    return explain(found, of(one), declared, lambda space, name: [])


def told(answer: Answer) -> list[tuple[str, str, str]]:
    return [(str(cause.reason), str(cause.when), cause.message) for cause in answer.causes]


def test_a_job_that_was_sent_says_where_to() -> None:
    one = sent(state="Ready", clusterName="west")
    found = why(manager(one), one)
    assert (found.state, found.worker, found.causes) == ("admitted", "west", ())
    assert found.notes == ("what it does there: `hpctl why job-j --namespace ns --cluster west`",)
    assert "  was sent to worker west" in list(text(found))


def test_a_job_that_no_worker_has_room_for_waits() -> None:
    one = sent(nominatedClusterNames=["west", "east"])
    found = why(manager(one), one)
    assert (found.state, found.worker, found.offered, found.since) == ("waiting", "", ("east", "west"), EARLY)
    assert told(found) == [("no-worker", "later", "no worker has room for it: it is offered to east, west")]
    (remedy,) = found.causes[0].remedies
    assert "`hpctl why job-j --namespace ns --cluster east`, `hpctl why job-j --namespace ns --cluster west`" in remedy.text
    assert not found.happened, "the manager's quota alone admits nothing"


def test_whoever_may_not_read_checks_is_told_by_the_workload() -> None:
    one = sent(nominatedClusterNames=["east"])
    assert told(why(manager(one, checks={}, worker_sets={}, workers={}), one))[0][0] == "no-worker"


@pytest.mark.parametrize(
    ("east", "offered", "message"),
    [
        ("False", ["west"], "no worker has room for it: it is offered to west; east is out of reach: refused"),
        ("True", [], "no worker has been asked yet"),
        ("False", [], "no worker can be asked: east is out of reach: refused"),
    ],
)
def test_workers_out_of_reach_are_named(east: str, offered: list[str], message: str) -> None:
    one = sent(nominatedClusterNames=offered)
    found = why(manager(one, worker("east", east, "refused"), worker("west"), worker("other", "False", "x")), one)
    assert told(found) == [("no-worker", "later", message)]


def test_a_worker_that_is_lost_is_told_of_a_job_that_it_has() -> None:
    one = sent(state="Ready", clusterName="west")
    (note,) = why(manager(one, worker("west", "False", "refused")), one).notes
    assert note == "worker west is out of reach: refused; after the manager's timeout it starts again elsewhere"


def test_other_checks_come_first() -> None:
    one = sent()
    one["status"]["admissionChecks"].append({"name": "budget", "state": "Pending", "message": ""})
    assert told(why(manager(one), one)) == [("admission-check", "later", "workers are asked once other checks are ready: budget")]
    one["status"]["admissionChecks"][0] = {"name": "multikueue", "state": "Rejected", "message": "no adapter"}
    assert told(why(manager(one), one)) == [
        ("admission-check", "never", "admission checks failed: multikueue Rejected: no adapter")
    ]


def test_a_manager_has_no_nodes_to_be_short_of() -> None:
    other = sent("other", 24, state="Ready", clusterName="west")
    one = workload("j", 8, conditions=(pending(),), topology={"required": "block"})
    known = manager(one, flavors=(flavor("blocks"),), topologies=(TOPOLOGY,))
    assert told(why(known, one))[0][:2] == ("not-seen-yet", "later")
    known = replace(known, workloads=by_name([one, other]))
    (cause,) = why(known, one).causes
    assert str(cause.reason) == "quota"
    finish, raised = cause.remedies
    assert finish.action == "finish", "whose end helps is told without nodes"
    assert raised.text == f"raise the quota of team q on its workers by 8 {GPU} in all: here it is their sum"


# -- with the declaration ------------------------------------------------------------------------------------------------

_GROUP = "h100: {instance_type: ml.p5.48xlarge, count: 2}"
ENVIRONMENT = f"""
apiVersion: hyperpod-platform/v1
clusters:
  hub: {{kind: existing, instance_groups: {{}}}}
  east: {{kind: existing, instance_groups: {{{_GROUP}}}}}
  west: {{kind: existing, instance_groups: {{{_GROUP}}}}}
governance: {{multi_kueue: {{manager: hub, workers: [east, west]}}, topology: {{enabled: false}}}}
"""
SMALL = "cluster_quota: {east: {ml.p5.48xlarge: {accelerators: 8}}, west: {ml.p5.48xlarge: {instances: 2}}}\nsharing: dont_lend\n"


@pytest.fixture(scope="module")
def hub() -> Declared:
    found = platform({"alpha": team(SMALL)}, ENVIRONMENT)
    return Declared(found, plan(found).clusters["hub"])


def rendered(declared: Declared, *workloads: Object) -> Snapshot:
    """The manager as the declaration renders it."""
    kinds = {
        "cluster_queues": "ClusterQueue",
        "local_queues": "LocalQueue",
        "flavors": "ResourceFlavor",
        "namespaces": "Namespace",
        "checks": "AdmissionCheck",
        "worker_sets": "MultiKueueConfig",
    }
    items: list[Any] = list(render(declared.cluster))
    for item in items:
        if item["kind"] == "Namespace":
            item["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = item["metadata"]["name"]
    alpha = declared.cluster.teams["alpha"]
    for one in workloads:
        one["metadata"]["namespace"], one["spec"]["queueName"] = alpha.namespace, alpha.local_queue
        if "admission" in one["status"]:
            one["status"]["admission"]["clusterQueue"] = alpha.cluster_queue
            one["status"]["admission"]["podSetAssignments"][0]["flavors"] = {GPU: alpha.flavors[0].flavor}
    known: dict[str, Any] = {name: by_name([one for one in items if one["kind"] == kind]) for name, kind in kinds.items()}
    return Snapshot(**known, workloads=by_name(workloads), now=NOW)


@pytest.mark.parametrize("held", [True, False])
def test_a_job_larger_than_every_worker_never_runs(hub: Declared, held: bool) -> None:
    one = sent(gpus=24, nominatedClusterNames=["east", "west"]) if held else workload("j", 24, conditions=(pending(),))
    found = why(rendered(hub, one), one, hub)
    (cause,) = found.causes
    assert (str(cause.reason), str(cause.when)) == ("never-fits", "never")
    assert cause.message.startswith(
        f"no worker can ever run it: it asks for 24 {GPU}, and of east, west none has more than 16 {GPU} for a job of team alpha"
    )
    assert ("it holds that much of the manager's quota" in cause.message) is held
    assert [(one.action, one.value) for one in cause.remedies] == [("lower", f"{GPU}=16"), ("change", "")]
    assert cause.numbers == {"resource": GPU, "asked": "24", "largest": "16"}


def test_the_largest_job_of_a_worker_may_run(hub: Declared) -> None:
    one = sent(gpus=16, nominatedClusterNames=["east", "west"])
    found = why(rendered(hub, one), one, hub)
    assert told(found)[0][0] == "no-worker"
    assert "--stack dev --cluster west`" in found.causes[0].remedies[0].text


def test_memory_is_measured_as_kueue_does(hub: Declared) -> None:
    most = max(amount for (_, resource), amount in hub.cluster.teams["alpha"].largest.items() if resource == "memory")
    for more, never in ((0, False), (1, True)):
        pod = {"containers": [{"name": "c", "resources": {"requests": {"memory": f"{most + more}Mi"}}}]}
        one = workload("j", pod=pod)
        known = rendered(hub, one)
        queue_ = known.cluster_queues[hub.cluster.teams["alpha"].cluster_queue]
        assert bool(list(oversized(context_of(known, one, queue_, hub)))) is never


def test_a_pod_set_has_one_flavor() -> None:
    kinds = "h100: {instance_type: ml.p5.48xlarge, count: 2}, l4: {instance_type: ml.g6.12xlarge, count: 2}"
    quota = "quota: {ml.p5.48xlarge: {instances: 1}, ml.g6.12xlarge: {instances: 2}}\nsharing: dont_lend\n"
    found = platform({"alpha": team(quota)}, ENVIRONMENT.replace(_GROUP, kinds))
    two = Declared(found, plan(found).clusters["hub"])
    for pods, never in ((1, True), (2, False)):
        one = workload("j", 12 // pods)
        one["spec"]["podSets"] = [{**one["spec"]["podSets"][0], "name": f"set{n}"} for n in range(pods)]
        known = rendered(two, one)
        queue_ = known.cluster_queues[two.cluster.teams["alpha"].cluster_queue]
        assert bool(list(oversized(context_of(known, one, queue_, two)))) is never, "8 of each type in all, 6 of one in each set"


def test_workers_are_asked_and_one_that_doesnt_answer_keeps_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    one = sent(nominatedClusterNames=["east", "north", "west"])
    there = workload("j", 8, conditions=(pending(),))
    monkeypatch.setattr("live.why.reach.ask", lambda way, name, *_: why(snapshot(there), there))

    def way(name: str) -> Way | None:
        if name == "east":
            raise UnreachableError("refused")
        return None if name == "north" else Way(None)  # type: ignore[arg-type]

    found = ask_workers(why(manager(one), one), way, SilentProgress())
    assert list(found.there) == ["west"]
    assert found.notes == ("east can't be asked: refused",)
    lines = list(text(found))
    assert "on west:" in lines
    assert lines[lines.index("on west:") + 1].startswith("  ns/Job/j")
    assert found.as_dict()["there"]["west"]["reason"] == "not-seen-yet"
