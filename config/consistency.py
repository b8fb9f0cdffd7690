"""What the settings of one file must not say together: findings that no single field can have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from config.environment import HOSTNAME, Cluster, Department, Environment, Governance
from config.findings import Finding, did_you_mean, problem_at, quoted
from config.kueue import FEATURE_GATES
from config.team import Sharing
from config.yamlsource import Layered, Path_


def environment_findings(environment: Environment, source: Layered) -> Iterator[Finding]:
    """Contradictions in an environment's file."""
    for name, cluster in environment.clusters.items():
        yield from _connection(cluster, source, ("clusters", name))
        yield from _feature_gates(cluster, source, ("clusters", name, "kueue", "feature_gates"))
    governance = environment.governance
    yield from _ranking(governance, source)
    if HOSTNAME in governance.topology.levels[:-1]:
        where = source.where(("governance", "topology", "levels", governance.topology.levels.index(HOSTNAME)))
        yield problem_at("topology-hostname", where, f"{HOSTNAME} is not the last level", "move it to the end")
    yield from _departments(governance.departments, governance.root_cohort, source)


def _connection(cluster: Cluster, source: Layered, path: Path_) -> Iterator[Finding]:
    if not cluster.sandbox:
        return
    for key in ("kubeconfig", "context"):
        if getattr(cluster, key) is not None:
            where = source.where((*path, key), key=True)
            yield problem_at("sandbox-connection", where, f"a sandbox brings its own {key}", "remove it, or `sandbox`")
    if cluster.kueue.install:
        where = source.where((*path, "kueue", "install"))
        yield problem_at("sandbox-kueue", where, "a sandbox runs Kueue itself", "set kueue.install: false")


def _feature_gates(cluster: Cluster, source: Layered, path: Path_) -> Iterator[Finding]:
    known = FEATURE_GATES[cluster.kueue.version]
    for gate in cluster.kueue.feature_gates:
        if gate not in known:
            message = f"Kueue {cluster.kueue.version} has no feature gate {quoted(gate)} and would not start"
            remedy = did_you_mean(gate, sorted(known)) or "remove it"
            yield problem_at("feature-gate-unknown", source.where((*path, gate), key=True), message, remedy)


def _ranking(governance: Governance, source: Layered) -> Iterator[Finding]:
    ranking, classes = governance.task_ranking, governance.priority_classes
    message, remedy = "", ""
    if ranking == "first_come_first_served" and classes:
        message, remedy = "first come, first served ranks by no class, yet priority_classes are given", "remove one of the two"
    elif ranking == "priority_classes" and not classes:
        message, remedy = "ranking by priority classes needs priority_classes", "name at least one class"
    if message:
        yield problem_at("ranking-classes", source.where(("governance", "task_ranking")), message, remedy)


def _departments(departments: Mapping[str, Department], root: str, source: Layered) -> Iterator[Finding]:
    """Departments form a tree below the root cohort."""
    path: Path_ = ("governance", "departments")
    if root in departments:
        where = source.where((*path, root), key=True)
        yield problem_at("department-name", where, f"`{root}` is the name of the root cohort", "choose another")
    for name, department in departments.items():
        parent = department.parent
        if parent is not None and department.alone:
            where = source.where((*path, name, "alone"))
            yield problem_at("department-alone", where, f"the department `{name}` has a parent, yet stands alone", "remove one")
        if parent is not None and parent not in departments:
            where = source.where((*path, name, "parent"))
            remedy = did_you_mean(parent, list(departments)) or "add it, or remove `parent`"
            yield problem_at("department-unknown", where, f"there is no department `{parent}`", remedy)
    for name in _circle(departments):
        where = source.where((*path, name, "parent"))
        yield problem_at("department-cycle", where, f"the department `{name}` stands above itself", "break the circle of parents")


def _circle(departments: Mapping[str, Department]) -> Iterator[str]:
    """One department of each circle of parents."""
    done: set[str] = set()
    for start in departments:
        way: set[str] = set()
        name = start
        while name in departments and name not in done and name not in way:
            way.add(name)
            name = departments[name].parent or ""
        if name in way:
            yield name
        done |= way


def sharing_findings(sharing: Sharing, source: Layered) -> Iterator[Finding]:
    """Contradictions in how a team shares."""
    limits = {
        key: value
        for key in ("borrow_limit", "borrow", "borrow_unlimited", "lend_limit", "lend")
        if (value := getattr(sharing, key)) not in (None, {}) and value is not False
    }
    for key in limits:
        borrows = key.startswith("borrow")
        if (borrows and sharing.strategy != "lend_and_borrow") or sharing.strategy == "dont_lend":
            kind = "borrow-without-strategy" if borrows else "lend-without-strategy"
            message = f"sharing.{key} means nothing with the strategy `{sharing.strategy}`"
            remedy = "use lend_and_borrow, or remove it" if borrows else "use lend or lend_and_borrow, or remove it"
            yield problem_at(kind, source.where(("sharing", key), key=True), message, remedy)
    if "borrow_unlimited" in limits and len([key for key in limits if key.startswith("borrow")]) > 1:
        where = source.where(("sharing", "borrow_unlimited"), key=True)
        yield problem_at(
            "borrow-twice", where, "borrowing has a limit, and none (sharing.borrow_unlimited)", "keep one of the two"
        )
    for percent, absolute in (("borrow_limit", "borrow"), ("lend_limit", "lend")):
        if percent in limits and absolute in limits:
            where = source.where(("sharing", absolute), key=True)
            message = f"a percentage (sharing.{percent}) and absolute limits (sharing.{absolute}) are given"
            yield problem_at(f"{absolute}-twice", where, message, "keep one of the two")
