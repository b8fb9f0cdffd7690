"""The Pulumi program: load, plan, refuse or compose, export."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pulumi

from components.connection import kubeconfigs, kubernetes_provider
from components.governance import governance_backend
from components.site import Site
from config.findings import ConfigError, Finding, Severity, Where, did_you_mean, has_errors
from config.load import Platform, Project
from config.stack import PROJECT
from governance.contract import job_contracts
from governance.model import Plan
from governance.plan import plan

LAYERS = ("platform", "governance")
"""What a stack may declare: clusters and what they stand on; queues and teams."""


class RefusalError(ConfigError, pulumi.RunError):
    """A refusal for whoever runs the program: Pulumi prints it without a traceback, and its findings can be had one by one."""


def declare(root: Path) -> Plan:
    """Declare the stack of the project in `root`, and export what others need of it.

    Raises ConfigError, with every finding, before anything is declared.
    """
    settings = pulumi.Config(PROJECT)
    layers = _layers(settings)
    platform = Project(root).load(settings.get("environment") or pulumi.get_stack())
    resolved = plan(platform)
    if has_errors(resolved.findings):
        raise ConfigError(resolved.findings)
    _tell(resolved.findings)
    if "governance" in layers:
        _governance(resolved, platform, root, settings)
    for name, value in outputs(resolved).items():
        pulumi.export(name, value)
    return resolved


def outputs(resolved: Plan) -> dict[str, Any]:
    """The stack's outputs, all of them plain values.

    `teams` holds a job contract for each team on each cluster; `team_states` what a later removal is checked against.
    """
    return {
        "environment": resolved.environment,
        "backend": resolved.backend,
        "teams": job_contracts(resolved),
        "team_states": {team.name: team.state for cluster in resolved.clusters.values() for team in cluster.teams.values()},
    }


def _governance(resolved: Plan, platform: Platform, root: Path, settings: pulumi.Config) -> None:
    declare_on = governance_backend(resolved.backend)
    reached_by = kubeconfigs(resolved, platform, root, settings)
    for name, cluster in resolved.clusters.items():
        declare_on(cluster, Site(kubernetes_provider(resolved.environment, cluster, reached_by[name])))


def _layers(settings: pulumi.Config) -> tuple[str, ...]:
    layers = settings.get_object("layers", list(LAYERS))
    file = Where(f"Pulumi.{pulumi.get_stack()}.yaml")
    if not isinstance(layers, list) or not layers:
        raise ConfigError(
            [Finding("layers", Severity.ERROR, file, "layers: not a list", f"write {list(LAYERS)}, or one of them")]
        )
    unknown = [layer for layer in layers if layer not in LAYERS]
    if unknown:
        raise ConfigError(
            Finding("layers", Severity.ERROR, file, f"layers: `{layer}` is no layer", did_you_mean(str(layer), LAYERS))
            for layer in unknown
        )
    return tuple(layers)


def _tell(findings: Iterable[Finding]) -> None:
    for finding in findings:
        text = f"{finding.where}: {finding.message}" + (f" ({finding.remedy})" if finding.remedy else "")
        if finding.severity is Severity.WARNING:
            pulumi.log.warn(text)
        else:
            pulumi.log.info(text)
