"""What the tests of HTML pages share: a small platform, a cluster that answers by heart, and a browser."""

from __future__ import annotations

import html
import json
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from config.load import Platform, Project
from governance.model import Plan
from governance.plan import plan
from live.looking import Look
from live.usage import read_usage
from reports.html.model import Report
from reports.html.stack import stack_report

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
EVIL = "</title><script>alert(1)</script><img src=//evil.example/x onerror=alert(2)>\"'&\x1b\u202e"
"""What somebody may call a job, or get into a message of Kueue's."""
ENVIRONMENT = """
apiVersion: hyperpod-platform/v1
description: "Small & fine <b>bold</b>"
clusters:
  main:
    kind: existing
    sandbox: true
    kueue: {install: false}
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 4}
      l4: {instance_type: ml.g6.12xlarge, count: 1}
      cpu: {instance_type: ml.m5.4xlarge, count: 1}
governance:
  priority_classes: {high: {weight: 90}, low: {weight: 10}}
  idle_sharing: true
waivers: {overcommit: {reason: The nodes come in January <soon>, until: 2999-12-31}}
"""
TEAMS = {
    "alpha": "quota: {ml.p5.48xlarge: {instances: 1}}\nweight: 10\nsharing: {strategy: lend_and_borrow, borrow_limit: 100}",
    "beta": "quota: {ml.p5.48xlarge: {instances: 2}, ml.m5.4xlarge: {vcpu: 8}}\nweight: 20",
    "gamma": "quota: {ml.g6.12xlarge: {instances: 2}}\nsharing: dont_lend",
}


def project(root: Path) -> Path:
    """The small platform in a folder."""
    (root / "Pulumi.yaml").write_text("name: hyperpod-platform\nruntime: python\n")
    for folder in ("environments", "teams"):
        (root / folder).mkdir()
    (root / "environments/main.yaml").write_text(ENVIRONMENT)
    for name, text in TEAMS.items():
        (root / f"teams/{name}.yaml").write_text(f"apiVersion: hyperpod-platform/v1\nowners: [someone@example.com]\n{text}\n")
    return root


def planned(root: Path) -> tuple[Platform, Plan]:
    platform = Project(root).load("main")
    return platform, plan(platform)


class Recited:
    """An API server's Kueue objects, as lists by plural."""

    def __init__(self, version: str = "v1beta2", **lists: list[dict[str, Any]]) -> None:
        self.version = version
        self.lists = lists

    def get(self, path: str) -> dict[str, Any] | None:
        return {"versions": [{"version": self.version}]} if path == "/apis/kueue.x-k8s.io" else None

    def items(self, path: str) -> list[dict[str, Any]]:
        assert path.startswith(f"/apis/kueue.x-k8s.io/{self.version}/"), path
        return self.lists.get(path.rpartition("/")[2], [])

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        yield from self.items(path)


def queue(team: str, cells: dict[str, tuple[str, str, str]], flavor: str, cohort: str | None = "hyperpod") -> dict[str, Any]:
    """A ClusterQueue with nominal, used and borrowed quantities by resource, of one flavor."""
    quotas = [{"name": name, "nominalQuota": nominal} for name, (nominal, _, _) in cells.items()]
    used = [{"name": name, "total": total, "borrowed": borrowed} for name, (_, total, borrowed) in cells.items()]
    return {
        "metadata": {"name": f"hyperpod-ns-{team}-clusterqueue"},
        "spec": {
            **({"cohortName": cohort} if cohort else {}),
            "resourceGroups": [{"flavors": [{"name": flavor, "resources": quotas}]}],
        },
        "status": {
            "conditions": [{"type": "Active", "status": "True"}],
            "flavorsReservation": [{"name": flavor, "resources": used}],
            "pendingWorkloads": 1,
            "reservingWorkloads": 2,
            "admittedWorkloads": 2,
        },
    }


def workload(team: str, name: str, priority: str | None = "high-priority", **conditions: tuple[str, str, str]) -> dict[str, Any]:
    """A Workload created at 10:00 with conditions as (status, hour:minute, reason or message)."""
    return {
        "metadata": {
            "namespace": f"hyperpod-ns-{team}",
            "name": f"job-{name}",
            "creationTimestamp": "2026-11-21T10:00:00Z",
            "ownerReferences": [{"kind": "Job", "name": name}],
        },
        "spec": {
            "queueName": f"hyperpod-ns-{team}-localqueue",
            **({"priorityClassRef": {"kind": "WorkloadPriorityClass", "name": priority}} if priority else {}),
        },
        "status": {
            "conditions": [
                {"type": kind, "status": status, "lastTransitionTime": f"2026-11-21T{at}:00Z", "reason": word, "message": word}
                for kind, (status, at, word) in conditions.items()
            ]
        },
    }


def answering(*more: dict[str, Any]) -> Recited:
    """alpha borrows 8 GPUs, beta uses a quarter of its 16; one task waits, one was preempted."""
    local = [
        {
            "metadata": {"namespace": f"hyperpod-ns-{team}", "name": f"hyperpod-ns-{team}-localqueue"},
            "spec": {"clusterQueue": f"hyperpod-ns-{team}-clusterqueue"},
        }
        for team in TEAMS
    ]
    return Recited(
        clusterqueues=[
            queue("alpha", {"nvidia.com/gpu": ("8", "16", "8"), "cpu": ("192", "100500m", "0")}, "ml.p5.48xlarge"),
            queue("beta", {"nvidia.com/gpu": ("16", "4", "0")}, "ml.p5.48xlarge"),
        ],
        cohorts=[{"metadata": {"name": "hyperpod"}, "spec": {}}],
        localqueues=local,
        workloadpriorityclasses=[{"metadata": {"name": "high-priority"}, "value": 90}],
        workloads=[
            workload("alpha", "runs", Admitted=("True", "11:00", "")),
            workload("alpha", EVIL, None, QuotaReserved=("False", "10:00", f"insufficient quota {EVIL}")),
            *more,
        ],
    )


def report(root: Path, source: Recited | None = None, **more: Any) -> Report:
    """The report on the small platform; live where a source answers."""
    platform, found = planned(root)
    look = Look(read_usage(source, NOW), None, "0.16.6") if source else None
    return stack_report(platform, found, "main", {"main": look}, NOW, **more)


def browser() -> str:
    """The path of a headless browser; without one the test is skipped."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    return str(found)


def browse(folder: Path, *arguments: str) -> str:
    """Run the browser to its end; what it prints."""
    command = [
        browser(),
        "--headless",
        "--no-sandbox",  # tests run as root in containers
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--disable-extensions",
        "--disable-sync",
        "--disable-breakpad",
        "--hide-scrollbars",
        f"--user-data-dir={folder / 'profile'}",
        *arguments,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


_PROBE = """
const out = {};
for (const frame of document.querySelectorAll('iframe')) {
  const doc = frame.contentDocument, root = doc.documentElement, view = frame.contentWindow, dim = [];
  const rgba = text => { const n = text.match(/[\\d.]+/g).map(Number); return n.length > 3 ? n : [...n, 1]; };
  const light = c => c.slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  let texts = 0;
  for (const one of doc.querySelectorAll('body *')) {
    if (!one.checkVisibility() || ![...one.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    if (one.closest('title,desc,script,style,.skip,.hp-map') || one.tagName === 'LEGEND') continue;
    const style = view.getComputedStyle(one), ink = rgba(one instanceof view.SVGElement ? style.fill : style.color);
    let back = one, ground = [0, 0, 0, 0];
    while (back && !ground[3]) { ground = rgba(view.getComputedStyle(back).backgroundColor); back = back.parentElement; }
    const [low, high] = [light(ink), light(ground)].sort((a, b) => a - b), ratio = (high + 0.05) / (low + 0.05);
    texts += 1;
    if (ratio < 4.5) dim.push([one.textContent.slice(0, 40), ratio]);
  }
  out[frame.id] = {overflow: root.scrollWidth - root.clientWidth, height: root.scrollHeight, dim, texts,
    background: view.getComputedStyle(doc.body).backgroundColor, scripts: doc.scripts.length, title: doc.title,
    charts: [...doc.querySelectorAll('svg.chart')].filter(one => one.checkVisibility()).map(one => one.clientWidth)};
  const toggle = doc.getElementById(frame.id.endsWith('light') ? 'theme-dark' : 'theme-light');
  toggle.click();
  out[frame.id].toggled = view.getComputedStyle(doc.body).backgroundColor;
  doc.getElementById('theme-auto').click();
}
const pre = document.createElement('pre');
pre.id = 'out';
pre.textContent = JSON.stringify(out);
document.body.append(pre);
"""
WIDTHS, THEMES = (1280, 390), ("light", "dark")


def frames(page: str, height: int) -> str:
    """The page in four frames side by side: both widths in both themes. The page itself stays as it is, its policy too."""
    shown = "".join(
        f'<iframe id="{width}-{theme}" width="{width}" height="{height}" style="border:0;color-scheme:{theme}" '
        f'srcdoc="{html.escape(page)}"></iframe>'
        for width in WIDTHS
        for theme in THEMES
    )
    return f'<!doctype html><meta charset="utf-8"><body style="margin:0;white-space:nowrap">{shown}'


def measured(page: str, folder: Path) -> dict[str, dict[str, Any]]:
    """What the browser makes of the page, by frame."""
    file = folder / "measured.html"
    file.write_text(f"{frames(page, 1200)}<script>addEventListener('load', () => {{ {_PROBE} }})</script>")
    answer = browse(folder, "--dump-dom", f"file://{file}")
    _, _, found = answer.partition('<pre id="out">')
    assert found, answer[-2000:]
    result: dict[str, dict[str, Any]] = json.loads(html.unescape(found.partition("</pre>")[0]))
    return result
