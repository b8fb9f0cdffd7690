"""What has happened to a workload, jobs without one, and which one a name means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from live.connection import ApiError, UnreachableError
from live.why.explain import explain, namespace_of_team
from live.why.find import Found, UnknownError, find
from live.why.model import Answer
from live.why.objects import domains_of
from live.why.reading import KUEUE, events_of, read_cluster
from live.why.running import waited_words
from reports.why import as_dict, text
from tests.why_objects import GPU, Object, condition, local_queue, of, pending, queue, snapshot, workload

UID = "(UID: uid-big, JobUID: job-big)"


def answer(*workloads: Object, **more: Any) -> Answer:
    """Of the first workload."""
    return explain(snapshot(*workloads, **more), of(workloads[0]), None, lambda space, name: [])


def preempted(reason: str, words: str, *, again: bool = False, path: str = "/pool/q") -> tuple[Object, Object]:
    head = "Previously: " if again else ""
    message = f"{head}Preempted to accommodate a workload {UID} due to {words}; preemptor path: {path}; preemptee path: /pool/r"
    status = "False" if again else "True"
    cause = "QuotaReserved" if again else reason
    evicted = condition("Evicted", status, "QuotaReserved" if again else "Preempted", message)
    return evicted, condition("Preempted", status, cause, message)


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("InClusterQueue", "prioritization in the ClusterQueue"),
        ("InCohortReclamation", "reclamation within the cohort"),
        ("InCohortFairSharing", "Fair Sharing within the cohort"),
        ("InCohortReclaimWhileBorrowing", "reclamation within the cohort while borrowing"),
    ],
)
def test_the_preemptor_is_named(reason: str, words: str, again: bool) -> None:
    big = workload("big", 8, held=True)
    one = workload("j", 8, held=again, conditions=preempted(reason, words, again=again))
    (event,) = [found for found in answer(one, big).happened if found.what == "preempted"]
    assert (event.by, event.reason, event.past) == ("ns/big (team q)", reason, again)
    (did,) = [found for found in answer(big, one).happened if found.what == "preempts"]
    assert (did.by, did.reason) == ("ns/j (team q)", reason)


def test_a_preemptor_that_is_gone_leaves_its_queue() -> None:
    one = workload("j", 8, conditions=preempted("InCohortReclamation", "reclamation within the cohort"))
    (event,) = [found for found in answer(one).happened if found.what == "preempted"]
    assert event.by == "a workload of team q that is gone"
    one = workload("j", 8, conditions=preempted("InCohortReclamation", "reclamation within the cohort", path="UNKNOWN"))
    (event,) = [found for found in answer(one).happened if found.what == "preempted"]
    assert event.by == "a workload that is gone"


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("PodsReadyTimeout", "not all of its pods were ready in time"),
        ("AdmissionCheck", "admission check"),
        ("ClusterQueueStopped", "stopped and drained"),
        ("NodeFailures", "a node failed"),
        ("DeactivatedDueToRequeuingLimitExceeded", "deactivated"),
    ],
)
def test_evictions_are_told(reason: str, said: str) -> None:
    one = workload("j", conditions=(condition("Evicted", "True", reason, "Kueue's words"), pending()))
    (event,) = answer(one).happened
    assert event.what == "evicted"
    assert said in event.message
    assert "Kueue's words" in event.message


def test_how_it_ended() -> None:
    for reason, said in (("Succeeded", "the job ended well"), ("Failed", "the job failed"), ("OwnerNotFound", "deleted")):
        one = workload("j", held=True, conditions=(condition("Finished", "True", reason, "words"),))
        found = answer(one)
        assert (found.state, found.causes) == ("finished", ())
        assert said in found.happened[-1].message


def test_what_it_held_until_it_ended() -> None:
    slices = [{"domainCount": 1, "valuesPerLevel": [{"universal": "n-1"}], "podCounts": {"universal": 2}}]
    done = workload(
        "j",
        4,
        pods=2,
        held=True,
        conditions=(condition("Finished", "True", "Succeeded"),),
        assigned={"topologyAssignment": {"slices": slices}},
        reclaimablePods=[{"name": "main", "count": 2}],
    )
    found = answer(done, workload("other", 8, held=True))
    assert [(one.flavor, one.amount, one.borrowed) for one in found.held] == [("h100", 8, None)]
    (told,) = as_dict(found)["held"]
    assert (told["amount"], told["borrowed"], told["lenders"]) == ("8", None, {})
    lines = list(text(found))
    assert "  held 8 nvidia.com/gpu of h100: whether its queue's own or borrowed is no longer recorded" in lines
    assert "  pods were on n-1 (2)" in lines
    gone = answer(workload("j", conditions=(pending(), condition("Finished", "True", "OwnerNotFound"))))
    assert (gone.held, gone.placement) == ((), {}), "it never had any"


def test_admitted_and_its_pods_wait() -> None:
    one = workload("j", 8, held=True)
    pod: Object = {
        "metadata": {"name": "j-0", "namespace": "ns", "ownerReferences": [{"kind": "Job", "name": "j", "uid": "job-j"}]},
        "spec": {},
        "status": {"phase": "Pending", "conditions": [condition("PodScheduled", "False", "Unschedulable", "0/2 nodes: no room")]},
    }
    (cause,) = answer(one, pods=[pod]).causes
    assert (str(cause.reason), cause.numbers["pending"]) == ("pods-pending", ["ns/j-0"])
    assert "0/2 nodes: no room" in cause.message
    pull = {"containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]}
    pod["status"] = {"phase": "Pending", "conditions": [condition("PodScheduled", "True")], **pull}
    assert "ImagePullBackOff: no such image" in answer(one, pods=[pod]).causes[0].message
    pod["status"] = {"phase": "Running"}
    assert answer(one, pods=[pod]).causes == ()


def test_quota_is_reserved_and_a_check_is_open() -> None:
    checks = [{"name": "capacity", "state": "Pending", "message": "asking"}, {"name": "budget", "state": "Ready"}]
    one = workload("j", 8, held=True, admissionChecks=checks)
    one["status"]["conditions"] = [condition("QuotaReserved", "True")]
    (cause,) = answer(one).causes
    assert (str(cause.reason), cause.numbers["checks"]) == ("admission-check", {"capacity": "Pending", "budget": "Ready"})


def test_whose_quota_it_holds() -> None:
    queues = (queue("q", 8), queue("r", 8), queue("s", 8, cohort=None))
    old, late = workload("old", 6, held=True), workload("late", 6, held=True)
    late["status"]["conditions"][0]["lastTransitionTime"] = "2026-11-21T11:30:00Z"
    (held,) = answer(old, late, queues=queues).held
    assert (held.amount, held.borrowed, held.lenders) == (6, 0, {})
    (held,) = answer(late, old, queues=queues).held
    assert (held.amount, held.borrowed) == (6, 4)
    assert held.lenders == {"team r": 8}, "s is in no cohort"
    lines = list(text(answer(late, old, queues=queues)))
    assert "  holds 6 nvidia.com/gpu of h100: 4 borrowed from what others leave unused: team r 8" in lines
    old["spec"]["priority"], late["spec"]["priority"] = 1, 2
    assert answer(late, old, queues=queues).held[0].borrowed == 0, "the lower priority is taken back first"


def test_data_and_words_tell_the_same() -> None:
    one = workload("j", 4, conditions=(pending(),))
    held = workload("a", 8, held=True)
    found = answer(one, held)
    data = as_dict(found)
    assert (data["reason"], data["when"], data["state"], data["team"]) == ("quota", "later", "waiting", "q")
    (short,) = data["causes"][0]["shortages"]
    assert (short["needed"], short["free"], short["missing"], short["nominal"]) == ("4", "0", "4", "8")
    lines = list(text(found))
    assert lines[0] == "ns/Job/j (team q, queue q, priority 0) waits since 2026-11-21T11:00:00Z"
    assert lines[1].startswith("  quota (waiting helps): the quota of team q is used, and it can't borrow")
    assert "    - it fits once ns/a (team q) ends" in lines


def job(name: str = "j", kind: str = "Job", space: str = "ns", **meta: Any) -> Object:
    return {"kind": kind, "metadata": {"name": name, "namespace": space, "uid": f"job-{name}", **meta}, "spec": {}}


QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"


@pytest.mark.parametrize(
    ("labels", "more", "events", "reason", "said"),
    [
        ({}, {}, [], "no-queue-name", "one of lq"),
        ({QUEUE: "lq", PRIORITY: "hi"}, {"classes": ({"metadata": {"name": "high"}},)}, [], "wrong-priority-class", "`high`"),
        ({QUEUE: "lq"}, {}, [{"type": "Warning", "reason": "FailedCreate", "message": "policy x"}], "refused", "mend"),
        ({QUEUE: "lq"}, {"namespace_selector": {"matchLabels": {"team": "other"}}}, [], "namespace", "labels that are selected"),
        ({QUEUE: "lq"}, {}, [], "not-seen-yet", "integrates the kind Job"),
        ({}, {"local_queues": (local_queue("default", "q"),)}, [], "not-seen-yet", "wait"),
    ],
)
def test_jobs_without_a_workload(labels: Object, more: Object, events: list[Object], reason: str, said: str) -> None:
    one = job(labels=labels)
    found = explain(snapshot(**more), Found("ns", None, one), None, lambda space, name: events)
    assert (found.state, str(found.causes[0].reason), found.job) == ("unmanaged", reason, "Job/j")
    assert said in found.causes[0].remedies[0].text


def owned(name: str, kind: str, owner: str, uid: str) -> Object:
    """A pod."""
    references = [{"kind": kind, "name": owner, "uid": uid}]
    return {"metadata": {"name": name, "namespace": "ns", "uid": f"uid-of-{name}", "ownerReferences": references}, "spec": {}}


def test_what_a_name_may_mean() -> None:
    set_ = job("train", "JobSet")
    child = job("train-w-0", ownerReferences=[{"kind": "JobSet", "name": "train", "uid": "job-train"}])
    pod = owned("train-w-0-x", "Job", "train-w-0", "job-train-w-0")
    served = owned("chat-5d-z", "ReplicaSet", "chat-5d", "rs")
    of_pod = workload("chat-5d-z", kind="Pod")
    of_pod["metadata"]["ownerReferences"][0]["uid"] = "uid-of-chat-5d-z"
    found = snapshot(workload("train", kind="JobSet"), of_pod, jobs=[set_, child], pods=[pod, served])
    parts = ("train-w-0", "job/train-w-0", "train-w-0-x", "pod/train-w-0-x")
    for name in ("train", "job-train", "jobset/train", "workload/job-train", *parts):
        target = find(found, name, None).workload
        assert target is not None, name
        assert target["metadata"]["name"] == "job-train", name
    target = find(found, "deployment/chat", None).workload
    assert target is not None
    assert target["metadata"]["uid"] == "uid-chat-5d-z"
    for name, said in (("trian", "did you mean `train`?"), ("pytorchjob/train", "there is no workload, job or pod")):
        with pytest.raises(UnknownError) as caught:
            find(found, name, None)
        assert said in str(caught.value)
    with pytest.raises(UnknownError, match="in namespace other; there is one in ns"):
        find(found, "train", "other")


def test_names_that_mean_several() -> None:
    other = workload("j")
    other["metadata"] |= {"namespace": "ns2", "uid": "uid-2"}
    found = snapshot(workload("j"), other)
    with pytest.raises(UnknownError, match="j means several: Job/j in namespace ns, Job/j in namespace ns2; name one"):
        find(found, "j", None)
    assert find(found, "j", "ns2").namespace == "ns2"
    kinds = snapshot(
        workload("j"), {**workload("k"), "metadata": workload("j", kind="RayJob")["metadata"] | {"name": "ray-j", "uid": "u"}}
    )
    with pytest.raises(UnknownError, match="RayJob/j in namespace ns"):
        find(kinds, "j", None)
    assert find(kinds, "rayjob/j", None).workload is not None


def test_names_of_the_cluster_reach_no_terminal_raw() -> None:
    """Whoever may make objects names owners at will, and what a terminal acts on is told in escapes."""
    raw = "\x1b]0;gone\x07j"
    one, other = workload(raw), workload(raw)
    other["metadata"] |= {"namespace": "ns2", "uid": "uid-2"}
    found = snapshot(one, other)
    for name, space in ((raw, None), (raw[:-1], None), (raw, "else\x1b")):
        with pytest.raises(UnknownError) as caught:
            find(found, name, space)
        assert r"\x1b]0;gone\x07j" in str(caught.value)
        assert str(caught.value).isprintable()


def test_of_several_workloads_of_a_job_the_open_one_counts() -> None:
    done = workload("j", held=True, conditions=(condition("Finished", "True", "Succeeded"),))
    new = workload("j")
    new["metadata"] |= {"name": "job-j-2", "uid": "uid-2"}
    target = find(snapshot(done, new), "j", None)
    assert target.workload is new
    assert target.others == ("job-j",)


def test_domains_in_both_spellings() -> None:
    slices = [
        {
            "domainCount": 2,
            "valuesPerLevel": [{"universal": "b0"}, {"individual": {"prefix": "n-", "suffix": ".x", "roots": ["1", "2"]}}],
            "podCounts": {"individual": [3, 4]},
        },
        {"domainCount": 1, "valuesPerLevel": [{"universal": "b1"}, {"universal": "n-9"}], "podCounts": {"universal": 5}},
    ]
    wanted = [(("b0", "n-1.x"), 3), (("b0", "n-2.x"), 4), (("b1", "n-9"), 5)]
    assert domains_of({"topologyAssignment": {"slices": slices}}) == wanted
    old = [{"values": list(values), "count": count} for values, count in wanted]
    assert domains_of({"topologyAssignment": {"domains": old}}) == wanted
    assert domains_of({}) == []


def test_times_in_words() -> None:
    start = "2026-11-21T11:00:00Z"
    ends = {"2026-11-21T11:00:59Z": "59 s", "2026-11-21T11:30:00Z": "30 min", "2026-11-21T15:00:00Z": "4 h", "never": "some time"}
    assert {end: waited_words(start, end) for end in ends} == ends


class Server:
    """An API server that has some lists, and refuses others."""

    def __init__(self, lists: dict[str, list[Object]], forbidden: tuple[str, ...] = ()) -> None:
        self.lists, self.forbidden = lists, forbidden

    def get(self, path: str) -> Object | None:
        if path == KUEUE and path not in self.lists:
            return None
        return {"groupVersion": "x", "versions": [{"groupVersion": "kueue.x-k8s.io/v1beta1"}]}

    def pages(self, path: str) -> Iterator[Object]:
        if path in self.forbidden:
            raise ApiError(403, "Forbidden", "no")
        yield from self.lists.get(path, [])


def test_what_may_not_be_read_is_told_and_the_namespace_is_enough() -> None:
    lists = {KUEUE: [], f"{KUEUE}/namespaces/ns/workloads": [workload("j")], "/apis/batch/v1/namespaces/ns/jobs": [job()]}
    refused = ("/api/v1/nodes", f"{KUEUE}/workloads", "/apis/batch/v1/jobs")
    read = read_cluster(Server(lists, refused), "ns", {})
    assert list(read.snapshot.workloads) == ["ns/job-j"]
    assert [one["kind"] for one in read.snapshot.jobs] == ["Job"]
    assert read.notes == ("nodes may not be read, so what they tell is left out",)
    assert events_of(Server({}, ("/api/v1/namespaces/ns/events?fieldSelector=involvedObject.name%3Dj",)), "ns", "j") == []


def test_a_kueue_of_another_api_is_said() -> None:
    with pytest.raises(UnreachableError, match=r"serves kueue\.x-k8s\.io/v1beta1, and not"):
        read_cluster(Server({}), None, None)


def test_the_namespace_of_a_team_without_a_declaration() -> None:
    found = snapshot()
    assert namespace_of_team(found, "q", None) == "ns"
    assert namespace_of_team(found, "z", None) is None
    assert GPU in str(found.cluster_queues)
