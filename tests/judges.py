"""The two sides of the differential test: what the checks say of a declaration, and what the servers say of what it asks for."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mutations import InexpressibleError, Mutation
from oracles import CLUSTER, COMPUTE_QUOTA, SCHEDULER_CONFIG, complaints, refused, spelt
from platform_support import inputs_for
from strategies import ENVIRONMENT, ProjectData, write

from components.render import render
from config.findings import Finding, Severity
from config.load import Platform, Project
from governance.managed import compute_quota, scheduler_config
from governance.model import ClusterPlan, Plan
from governance.plan import plan
from governance.platform.payload import cluster_args
from live.connection import ApiError, Connection

ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/abcdefghijkl"
REFUSED_BY_BOTH = "refused by the checks, refused by a server too"
PLURALS = {
    "AdmissionCheck": "admissionchecks",
    "ClusterQueue": "clusterqueues",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Cohort": "cohorts",
    "LocalQueue": "localqueues",
    "MultiKueueCluster": "multikueueclusters",
    "MultiKueueConfig": "multikueueconfigs",
    "Namespace": "namespaces",
    "ResourceFlavor": "resourceflavors",
    "RoleBinding": "rolebindings",
    "Secret": "secrets",
    "ServiceAccount": "serviceaccounts",
    "Topology": "topologies",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    "WorkloadPriorityClass": "workloadpriorityclasses",
}


def path_of(manifest: Mapping[str, Any]) -> str:
    """The object's path at the API server."""
    version = manifest["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = manifest["metadata"].get("namespace")
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{scope}/{PLURALS[manifest['kind']]}/{quote(manifest['metadata']['name'], safe='')}"


def examined(project: ProjectData) -> tuple[Plan | None, list[Finding]]:
    """The plan, and what the checks say, with the files that the declaration names in place."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "chart").mkdir()
        (root / "lifecycle").mkdir()
        (root / "lifecycle" / "on_create.sh").touch()
        return planned(write(root, {ENVIRONMENT: project.environment}, project.teams))


def planned(project: Project) -> tuple[Plan | None, list[Finding]]:
    """The same for files."""
    platform, findings = project.declared(ENVIRONMENT)
    if platform is None:
        return None, findings
    resolved = plan(platform)
    return resolved, list(resolved.findings)


def errors(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity is Severity.ERROR and not finding.waived]


class Servers:
    """Kueue's webhooks and the API server, asked to do nothing but judge; botocore and CloudFormation for what goes to AWS."""

    def __init__(self, api: Connection) -> None:
        self._api = api
        self._judged: dict[str, str] = {}
        self.requests = 0

    def refusals(self, resolved: Plan) -> Iterator[str]:
        """Everything that somebody refuses of a plan."""
        for cluster in resolved.clusters.values():
            for manifest in render(cluster):
                if refusal := self._object(manifest):
                    yield f"{manifest['kind']} {manifest['metadata']['name']}: {refusal}"
            yield from _aws(cluster)

    def _object(self, manifest: Mapping[str, Any]) -> str:
        """What the API server has against an object; its namespace, which isn't there in a dry run, is judged on its own."""
        moved = json.loads(json.dumps(manifest))
        if "namespace" in moved["metadata"]:
            moved["metadata"]["namespace"] = "default"
        key = json.dumps(moved, sort_keys=True)
        if key not in self._judged:
            self.requests += 1
            self._judged[key] = self._ask(moved)
        return self._judged[key]

    def _ask(self, manifest: Mapping[str, Any]) -> str:
        if not manifest["metadata"]["name"]:
            return "no name"
        query = {"fieldManager": "judge", "fieldValidation": "Strict", "dryRun": "All"}
        try:
            self._api.request("PATCH", path_of(manifest), dict(manifest), query, content_type="application/apply-patch+yaml")
        except ApiError as error:
            return error.message
        return ""


def _aws(cluster: ClusterPlan) -> Iterator[str]:
    if cluster.policy.backend == "managed":
        for name in cluster.teams:
            payload = spelt(COMPUTE_QUOTA, {**compute_quota(cluster.teams[name], cluster), "cluster_arn": ARN})
            yield from (f"quota {name}: {found}" for found in _judged("CreateComputeQuota", COMPUTE_QUOTA, payload))
        policy = {**scheduler_config(cluster), "ClusterArn": ARN}
        yield from (f"policy: {found}" for found in _judged("CreateClusterSchedulerConfig", SCHEDULER_CONFIG, policy))
    if cluster.platform is not None:
        payload = spelt(CLUSTER, cluster_args(cluster.platform, inputs_for(cluster.platform)))
        yield from (f"cluster: {found}" for found in _judged("CreateCluster", CLUSTER, payload))


def _judged(operation: str, type_: str, payload: Mapping[str, Any]) -> list[str]:
    return [*complaints(operation, payload), *refused(type_, payload)]


@dataclass
class Tally:
    """What became of the cases; and every disagreement that must not be, in words."""

    verdicts: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def judge(self, servers: Servers, project: ProjectData, case: str) -> None:
        """What the checks accept must be accepted by every server."""
        self.judge_plan(servers, *examined(project), case)

    def judge_plan(self, servers: Servers, resolved: Plan | None, findings: list[Finding], case: str) -> None:
        """The same for what has been planned."""
        found = errors(findings)
        self.rules.update({finding.id for finding in found})
        if found or resolved is None:
            self.verdicts["refused by the checks"] += 1
            return
        refusals = list(servers.refusals(resolved))
        self.verdicts[f"accepted by the checks, {'refused' if refusals else 'accepted'} by the servers"] += 1
        if refusals:
            self.wrong.append(f"{case}: accepted, yet {refusals[0]}")

    def judge_change(self, servers: Servers, project: ProjectData, platform: Platform, change: Mutation) -> None:
        """The same for a changed project; and where the checks refuse it, what the servers would have said."""
        before = self.verdicts["refused by the checks"]
        self.judge(servers, change.data(project), f"{change.field} = {str(change.value)[:60]!r}")
        if self.verdicts["refused by the checks"] > before:
            self.verdicts["refused by the checks"] = before
            self.verdicts[f"refused by the checks, {_opinion(servers, platform, change)}"] += 1

    def lines(self) -> list[str]:
        """The cases by verdict."""
        return [f"{number:6} {words}" for words, number in sorted(self.verdicts.items()) if number]


def _opinion(servers: Servers, platform: Platform, change: Mutation) -> str:
    """What the servers say of a change that no check has seen."""
    try:
        return "refused by a server too" if any(servers.refusals(plan(change.platform(platform)))) else "by no server"
    except InexpressibleError:
        return "held by no model"
    except Exception:  # noqa: BLE001 - whatever an unchecked value does to the arithmetic
        return "can't be planned"
