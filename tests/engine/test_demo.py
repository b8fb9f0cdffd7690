"""The project's cases on a real sandbox: Kueue, scheduler and API server decide, nothing is made up."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from demo_support import KUEUE, ROOT, Demo, booted, rows_of

from config.load import Project
from governance.nodes import node
from governance.plan import plan
from sandbox.nodes import add_nodes
from simulation.cases import Case
from simulation.cluster import DemoError
from simulation.demo import run
from simulation.rows import replicas

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1200)]
LAYER = "topology.k8s.aws/network-node-layer-3"


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    with booted("demo") as one:
        yield one


def test_all_cases_end_as_expected_and_leave_nothing(demo: Demo) -> None:
    cases = demo.cases()
    rows = demo.run(cases)
    wrong = [row for row in rows if not row.as_expected]
    assert not wrong, wrong
    expected = [
        (case.name, name, wanted)
        for case in cases
        for step in case.steps
        for name, wanted in [*step.expect.items(), *((name, replicas(count)) for name, count in step.replicas.items())]
    ]
    assert [(row.case, row.workload, row.expected) for row in rows] == expected
    assert all(row.reason for row in rows)
    demo.assert_clean()

    for case in ("small-models", "inference", "spaces"):
        first = [row for row in rows if row.case == case and "kubernetes.io/hostname=" in row.reason]
        assert len({node for row in first for node in row.nodes}) == 1, "parts of one node"
    assert "borrows 20 of cpu" in rows_of(rows, "fine-grained", "second")[0].reason
    assert "insufficient unused quota for cpu" in rows_of(rows, "fine-grained", "third")[0].reason
    (_, again, peak) = rows_of(rows, "inference", "chat")
    assert again.verdict == "admitted", "a reclaim takes what was borrowed, not what serves"
    assert peak.reason.startswith("8 of 12 pods run; 4 wait: ")
    assert "4 more needed" in rows_of(rows, "spaces", "dan-code-oss")[0].reason
    assert rows_of(rows, "topology", "preferring")[0].as_expected
    (planned, started) = rows_of(rows, "ahead-of-nodes", "planned")
    assert "fit only 1 out of 2" in planned.reason
    assert started.nodes == ("future-000", "future-001")
    assert "1 more needed" in rows_of(rows, "over-quota", "waiting")[0].reason
    assert "due to prioritization in the ClusterQueue" in rows_of(rows, "priority", "no-class")[1].reason


def test_nodes_of_the_topology_case_share_a_block_on_the_cluster(demo: Demo) -> None:
    rows = demo.run(demo.cases("topology"))
    (placed,) = rows_of(rows, "topology", "one-block")
    live = {node["metadata"]["name"]: node["metadata"]["labels"][LAYER] for node in h100(demo)}
    assert len(placed.nodes) == 4
    assert len({live[name] for name in placed.nodes}) == 1
    (small,) = rows_of(rows, "topology", "small")
    assert live[small.nodes[0]] != live[placed.nodes[0]], "its block had only three nodes left"


def h100(demo: Demo) -> list[dict[str, Any]]:
    query = {"labelSelector": "node.kubernetes.io/instance-type=ml.p5.48xlarge"}
    found: list[dict[str, Any]] = demo.api.request("GET", "/api/v1/nodes", query=query).body["items"]
    return found


def test_a_case_alone_and_in_another_order_has_the_same_verdicts(demo: Demo) -> None:
    rows = demo.run([*reversed(demo.cases("priority", "over-quota"))])
    assert [row.case for row in rows] == ["over-quota"] * 4 + ["priority"] * 5
    assert all(row.as_expected for row in rows)


def made(**case: Any) -> Case:
    """A case of one workload in slm's quota of two GPUs."""
    asked = {"accelerators": 1, "vcpu": 6, "memory_gib": 24}
    workload = {"team": "slm", "instance_type": "ml.g5.2xlarge", "per_pod": asked, **case.pop("workload", {})}
    return Case.model_validate({"name": "made", "workloads": {"job": workload}, **case})


def test_a_wrong_expectation_gives_a_row_that_differs(demo: Demo) -> None:
    # The right verdict first: within a second of its submission Kueue may not have looked at a job.
    admitted, pending = {"expect": {"job": "admitted"}}, {"expect": {"job": "pending"}}
    before, wrong, after = demo.run([made(steps=[{"submit": "job"}, admitted, {**pending, "within": "1s"}, admitted])])
    assert (wrong.expected, wrong.verdict, wrong.as_expected) == ("pending", "admitted", False)
    assert before.as_expected
    assert after.as_expected
    steps = [{"submit": "job"}, pending, {**admitted, "within": "1s"}]
    right, wrong = demo.run([made(workload={"pods": 3}, steps=steps)])
    assert right.as_expected
    assert (wrong.expected, wrong.verdict, wrong.as_expected) == ("admitted", "pending", False)
    assert "> maximum capacity (" in wrong.reason
    assert wrong.nodes == ()
    demo.assert_clean()


def test_a_job_that_runs_for_a_second_finishes_by_itself(demo: Demo) -> None:
    steps = [{"submit": "job"}, {"expect": {"job": "finished"}}]
    (row,) = demo.run([made(workload={"runs_for": "1s"}, steps=steps)])
    assert row.as_expected
    demo.assert_clean()


def test_nodes_apart_are_told(demo: Demo) -> None:
    whole = {"team": "foundation", "instance_type": "ml.p5.48xlarge", "pods": 5, "per_pod": "whole_node"}
    steps = [{"submit": "job"}, {"expect": {"job": "admitted"}, "one_domain": LAYER}]
    (row,) = demo.run([made(workload=whole, steps=steps)])
    assert (row.verdict, len(row.nodes)) == ("scattered", 5)


def test_nodes_that_a_case_removes_come_back(demo: Demo) -> None:
    whole = {"team": "foundation", "instance_type": "ml.p5.48xlarge", "pods": 20, "per_pod": "whole_node"}
    steps = [
        {"remove_nodes": {"group": "h100", "count": 13}},
        {"submit": "job"},
        {"expect": {"job": "pending"}},
        {"add_nodes": {"group": "h100", "count": 1}},
        {"expect": {"job": "admitted"}},
        {"delete": "job"},
    ]
    without, with_one_more = demo.run([made(workload=whole, steps=steps)])
    assert "19 out of 20" in without.reason
    assert with_one_more.as_expected
    assert max(with_one_more.nodes) == "h100-019"
    demo.assert_clean()


def test_a_garbage_collector_that_is_busy_is_not_waited_for(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    # A resync of its discovery stops it for half a minute; seen on fresh control planes, whose CRDs are news to it.
    monkeypatch.setattr("simulation.cluster._COLLECTED_WITHIN", 1.0)
    manager = demo.sandbox.status().pids["kube-controller-manager"]

    def stop(step: str) -> None:
        if step == "made: waiting for job pending":
            os.kill(manager, signal.SIGSTOP)

    whole = {"team": "foundation", "instance_type": "ml.p5.48xlarge", "per_pod": "whole_node"}
    workloads = {"serves": {**whole, "kind": "deployment", "pods": 2}, "job": {**whole, "pods": 40}}
    steps = [{"submit": "serves"}, {"expect": {"serves": "admitted"}}, {"submit": "job"}, {"expect": {"job": "pending"}}]
    try:
        rows = demo.run([Case.model_validate({"name": "made", "workloads": workloads, "steps": steps})], stop)
        demo.assert_clean()
        assert demo.names("/apis/apps/v1/replicasets") == set()
    finally:
        os.kill(manager, signal.SIGCONT)
    assert all(row.as_expected for row in rows)


def test_an_interrupted_run_leaves_nothing(demo: Demo) -> None:
    def interrupt(step: str) -> None:
        if step == "ahead-of-nodes: waiting for planned admitted":
            assert "future-001" in demo.names("/api/v1/nodes")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        demo.run(demo.cases(), interrupt)
    demo.assert_clean()


PROGRAM = """
import sys
from pathlib import Path
from config.load import Project
from governance.plan import plan
from simulation.cases import load_cases
from simulation.demo import run

root, kubeconfig = map(Path, sys.argv[1:])
declared = plan(Project(root).load("local"))
cases = load_cases(root, declared.clusters["local"], only=["elastic-256", "spaces"])
try:
    run(declared, "local", kubeconfig, cases, lambda row: None, lambda step: print(step, flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
"""


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_ctrl_c_cleans_up_and_a_killed_run_is_cleaned_up_after(demo: Demo, sign: signal.Signals, code: int) -> None:
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(ROOT), str(demo.sandbox.kubeconfig)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("elastic-256: waiting for serving"):
                break
        process.send_signal(sign)
        process.stdout.read()
        assert process.wait(150) == code
    if sign == signal.SIGKILL:
        assert demo.names("/apis/batch/v1/jobs"), "a killed run can't clean up"
        future = demo.plan.clusters["local"].groups["future"]
        added = node("future", 1, future, demo.plan.clusters["local"].kinds[future.instance_type], set())
        add_nodes(demo.sandbox.kubeconfig, [added])
        assert all(row.as_expected for row in demo.run(demo.cases("in-quota")))
    demo.assert_clean()


@pytest.fixture
def foreign(demo: Demo) -> Iterator[str]:
    """Somebody else's job in slm's queue."""
    path = "/apis/batch/v1/namespaces/hyperpod-ns-slm/jobs"
    pod = {
        "restartPolicy": "Never",
        "nodeSelector": {"node.kubernetes.io/instance-type": "ml.g5.2xlarge"},
        "containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
    }
    annotations = {"pod-complete.stage.kwok.x-k8s.io/delay": "1h"}
    labels = {"kueue.x-k8s.io/queue-name": "hyperpod-ns-slm-localqueue"}
    template = {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod}
    demo.api.request("POST", path, {"metadata": {"name": "theirs", "labels": labels}, "spec": {"template": template}})
    try:
        until(lambda: bool(demo.names(f"{KUEUE}/workloads")))  # without a Workload it isn't in anybody's way yet
        yield "Job hyperpod-ns-slm/theirs"
    finally:
        demo.api.request("DELETE", f"{path}/theirs", query={"propagationPolicy": "Foreground"})
        until(lambda: not demo.names(f"{KUEUE}/workloads"))


def until(done: Callable[[], bool]) -> None:
    """In time for a garbage collector that rests for half a minute."""
    deadline = time.monotonic() + 90
    while not done():
        assert time.monotonic() < deadline, "not within the time"
        time.sleep(0.1)


def test_quota_that_others_use_is_said_clearly_and_their_work_is_let_be(demo: Demo, foreign: str) -> None:
    with pytest.raises(DemoError, match=rf"`(priority|over-quota)` needs quota that other workloads use: {foreign}.*--case"):
        demo.run(demo.cases("priority", "over-quota"))
    assert demo.names("/apis/batch/v1/jobs") == {"theirs"}
    assert all(row.as_expected for row in demo.run(demo.cases("in-quota"))), "other queues are free"


def test_quotas_that_differ_from_the_plan_are_said(demo: Demo) -> None:
    path = f"{KUEUE}/clusterqueues/hyperpod-ns-slm-clusterqueue"
    queue = demo.api.request("GET", path).body
    changed = {"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "value": "1"}
    demo.api.request("PATCH", path, [changed], content_type="application/json-patch+json")
    try:
        with pytest.raises(DemoError, match=r"slm have other quotas on the cluster than in their files.*hpctl up"):
            demo.run(demo.cases("over-quota"))
    finally:
        kept = queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"]
        demo.api.request("PATCH", path, [{**changed, "value": kept}], content_type="application/json-patch+json")


def test_a_sandbox_that_does_not_answer_is_said(demo: Demo, tmp_path: Path) -> None:
    nowhere = tmp_path / "kubeconfig"
    with pytest.raises(DemoError, match="there is no sandbox"):
        run(demo.plan, "local", nowhere, demo.cases(), lambda row: None, lambda step: None)
    port = demo.api.host.rpartition(":")[2]
    nowhere.write_text(demo.sandbox.kubeconfig.read_text().replace(f":{port}", ":9"))
    started = time.monotonic()
    with pytest.raises(DemoError, match=r"does not answer.*hpctl up"):
        run(demo.plan, "local", nowhere, demo.cases(), lambda row: None, lambda step: None)
    assert time.monotonic() - started < 30


def test_only_sandboxes_are_played_on(demo: Demo, tmp_path: Path) -> None:
    for folder in ("environments", "teams"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    text = (ROOT / "environments/local.yaml").read_text().replace("sandbox: true", "kubeconfig: k")
    (tmp_path / "environments/local.yaml").write_text(text)
    real = plan(Project(tmp_path).load("local"))
    with pytest.raises(DemoError, match="is no sandbox"):
        run(real, "local", demo.sandbox.kubeconfig, demo.cases(), lambda row: None, lambda step: None)


def test_what_the_api_server_refuses_is_a_verdict_in_its_words(demo: Demo) -> None:
    path = "/api/v1/namespaces/hyperpod-ns-slm/resourcequotas"
    demo.api.request("POST", path, {"metadata": {"name": "no-jobs"}, "spec": {"hard": {"count/jobs.batch": "0"}}})
    try:
        until(lambda: "hard" in demo.api.request("GET", f"{path}/no-jobs").body.get("status", {}))
        (row,) = demo.run([made(steps=[{"submit": "job"}, {"expect": {"job": "admitted"}, "within": "1s"}])])
    finally:
        demo.api.request("DELETE", f"{path}/no-jobs")
    assert row.verdict == "refused"
    assert "exceeded quota: no-jobs" in row.reason
