"""The report on a manager and its workers: sums are marked and not counted, and a task counts once."""

from __future__ import annotations

import re
from typing import Any

import pytest
from declarations import platform, team
from html_support import NOW, Recited, queue, workload

from governance.plan import plan
from live.looking import Look
from live.usage import read_usage
from reports.html.model import Report
from reports.html.page import report_page
from reports.html.sections import tiles, totals
from reports.html.stack import stack_report

_GROUP = "h100: {instance_type: ml.p5.48xlarge, count: 2}"
ENVIRONMENT = f"""
apiVersion: hyperpod-platform/v1
clusters:
  hub: {{kind: existing, sandbox: true, kueue: {{install: false}}, instance_groups: {{}}}}
  east: {{kind: existing, sandbox: true, kueue: {{install: false}}, instance_groups: {{{_GROUP}}}}}
  west: {{kind: existing, sandbox: true, kueue: {{install: false}}, instance_groups: {{{_GROUP}}}}}
governance: {{multi_kueue: {{manager: hub, workers: [east, west]}}}}
"""
RUNS = {"QuotaReserved": ("True", "11:00", ""), "Admitted": ("True", "11:00", "")}
OFFERED = {"QuotaReserved": ("True", "10:30", "Quota reserved in ClusterQueue")}
SHORT = {"QuotaReserved": ("False", "10:30", "insufficient unused quota")}


def copy(name: str, **conditions: tuple[str, str, str]) -> dict[str, Any]:
    """What the manager makes on a worker; without an owner until the worker has taken it."""
    found = workload("alpha", name, **conditions)
    found["metadata"] |= {"labels": {"kueue.x-k8s.io/multikueue-origin": "main"}, "name": f"job-{name}"}
    return found


def asked(used: str, *workloads: dict[str, Any], admitted: int, pending: int = 0) -> Look:
    found = queue("alpha", {"nvidia.com/gpu": ("8", used, "0")}, "ml.p5.48xlarge")
    found["status"] |= {"admittedWorkloads": admitted, "reservingWorkloads": 2, "pendingWorkloads": pending}
    local = {
        "metadata": {"namespace": "hyperpod-ns-alpha", "name": "hyperpod-ns-alpha-localqueue"},
        "spec": {"clusterQueue": "hyperpod-ns-alpha-clusterqueue"},
    }
    source = Recited(clusterqueues=[found], localqueues=[local], workloads=list(workloads))
    return Look(read_usage(source, NOW), None, "0.16.6")


def looks() -> dict[str, Look | None]:
    """`moves` was dispatched to west; `waits` is offered to both; `late` has no quota on the manager; west has two of its own."""
    waits = workload("alpha", "waits", **OFFERED)
    waits["status"]["nominatedClusterNames"] = ["west", "east"]
    moves = workload("alpha", "moves", **RUNS)
    moves["status"]["clusterName"] = "west"
    return {
        "hub": asked("16", moves, waits, workload("alpha", "late", **SHORT), admitted=1, pending=1),
        "east": asked("0", copy("waits", **SHORT), admitted=0, pending=1),
        "west": asked(
            "16",
            copy("moves", **RUNS),
            copy("waits", **SHORT),
            workload("alpha", "local", **RUNS),
            workload("alpha", "stays", **SHORT),
            admitted=2,
            pending=2,
        ),
    }


def report(*names: str) -> Report:
    declared = platform({"alpha": team("quota: {ml.p5.48xlarge: {instances: 1}}\n")}, ENVIRONMENT)
    known = looks()
    return stack_report(declared, plan(declared), "main", {name: known[name] for name in names}, NOW)


@pytest.fixture(scope="module")
def whole() -> Report:
    return report("hub", "east", "west")


def rows(page: str, section: str) -> list[str]:
    part = page.partition(f'<section id="{section}"')[2].partition("</section>")[0]
    found = re.findall(r"<tr>(.*?)</tr>", part, re.DOTALL)
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", row)).strip() for row in found]


def test_a_managers_sums_are_in_no_total(whole: Report) -> None:
    found = totals(whole)
    assert (found.capacity, found.guaranteed, found.unowned, found.used) == (32, 16, 16, 16)
    shown = {tile.name: (tile.figure, tile.aside) for tile in tiles(whole)}
    assert shown["Accelerators"] == ("32", "4 nodes, CPU nodes too")
    assert shown["In use now"] == ("16", "16 idle")


def test_a_task_counts_once(whole: Report) -> None:
    (tile,) = [one for one in tiles(whole) if one.name == "Tasks running"]
    assert (tile.figure, tile.aside) == ("2", "3 waiting (0 preempted)"), "moves and local; waits, late and stays"
    waiting = {(row.cluster, row.task): row.message for row in whole.waiting}
    assert waiting == {
        ("hub", "waits"): "no worker has taken it; it is offered to east, west",
        ("hub", "late"): "insufficient unused quota",
        ("west", "stays"): "insufficient unused quota",
    }


def test_the_page_marks_sums_and_says_what_tasks_do_there(whole: Report) -> None:
    page = report_page(whole)
    assert "hub (sums) ml.p5.48xlarge 0 GPUs 32 16 16 0 16" in rows(page, "capacity")
    assert "east ml.p5.48xlarge 2 GPUs 16 8 8 0 0" in rows(page, "capacity")
    assert "hub (sums) alpha – lends and borrows 0 active 1 dispatched 2 waiting" in rows(page, "usage")
    assert "west alpha – lends and borrows 0 active 2 2" in rows(page, "usage")
    assert any(row.startswith("hub (sums) high-priority") and "1 dispatched 2 waiting" in row for row in rows(page, "tasks"))
    assert "it hands jobs to east, west and runs none" in page
    assert "Nodes of east" in page
    assert "Nodes of hub" not in page


def test_a_manager_alone_is_counted() -> None:
    found = report("hub")
    assert (totals(found).capacity, found.tasks.running, found.tasks.pending) == (32, 1, 2)
    assert "aren’t counted above" not in report_page(found)
    assert report("east", "west").tasks.pending == 3, "of the manager nothing is known: its copies tell"
