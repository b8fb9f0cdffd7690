"""The Pulumi program: load, plan, refuse or compose, export."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi

from components.connection import kubeconfigs, kubernetes_provider
from components.governance import governance_backend
from components.site import Site, Worker
from config.findings import ConfigError, Finding, Severity, Where, has_errors
from config.load import Platform, Project
from config.stack import LAYERS, PROJECT, checked_layers, platform_stack_findings
from governance.contract import job_contracts
from governance.model import Plan
from governance.plan import plan

if TYPE_CHECKING:
    from components.platform.handover import Built


"""What the setting `platform_facts` says of each cluster that no stack of ours has built."""


class RefusalError(ConfigError, pulumi.RunError):
    """A refusal for whoever runs the program: Pulumi prints it without a traceback, and its findings can be had one by one."""


def declare(root: Path) -> Plan:
    """Declare the stack of the project in `root`, and export what others need of it.

    Raises ConfigError, with every finding, before anything is declared.
    """
    settings = pulumi.Config(PROJECT)
    layers = checked_layers(settings.get_object("layers", list(LAYERS)), Where(f"Pulumi.{pulumi.get_stack()}.yaml"))
    platform = Project(root).load(settings.get("environment") or pulumi.get_stack())
    resolved = plan(platform)
    if has_errors(resolved.findings):
        raise ConfigError(resolved.findings)
    _tell(resolved.findings)
    built = _platforms(resolved, root) if "platform" in layers else _referred(resolved, settings)
    if "governance" in layers:
        _governance(resolved, platform, root, settings, built)
        for name, value in outputs(resolved).items():
            pulumi.export(name, value)
    _export(built)
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


def _governance(resolved: Plan, platform: Platform, root: Path, settings: pulumi.Config, built: Mapping[str, "Built"]) -> None:
    declare_on = governance_backend(resolved.backend)
    reached_by = kubeconfigs(resolved, platform, root, settings)
    workers: dict[str, Worker] = {}
    for cluster in sorted(resolved.clusters.values(), key=lambda one: one.dispatch is not None):  # a manager after its workers
        name = cluster.name
        if name in built:
            site = replace(built[name].site, kubeconfig=built[name].kubeconfig)
        else:
            site = Site(kubernetes_provider(resolved.environment, cluster, reached_by[name]), kubeconfig=reached_by[name])
        worker = declare_on(cluster, replace(site, workers=workers))
        if worker is not None:
            workers[name] = worker


def _platforms(resolved: Plan, root: Path) -> dict[str, "Built"]:
    """Declare the clusters that are ours to build. AWS's packages are imported only where there is one."""
    wanted = {name: cluster for name, cluster in resolved.clusters.items() if cluster.platform is not None}
    if not wanted:
        return {}
    from components.platform.compose import declare_platform

    return {name: declare_platform(cluster, cluster.platform, root) for name, cluster in wanted.items() if cluster.platform}


def _referred(resolved: Plan, settings: pulumi.Config) -> dict[str, "Built"]:
    """The clusters that the stack named by `platform_stack` has built."""
    wanted = {name: cluster for name, cluster in resolved.clusters.items() if cluster.platform is not None}
    if not wanted:
        return {}
    stack, facts = settings.get("platform_stack"), settings.get_object("platform_facts", {})
    told = {f"{PROJECT}:platform_stack": stack, f"{PROJECT}:platform_facts": facts}
    if problems := platform_stack_findings(f"Pulumi.{pulumi.get_stack()}.yaml", told, list(wanted)):
        raise ConfigError(problems)
    from components.platform.handover import given, referred

    return referred(wanted, resolved.environment, stack) if stack else given(wanted, resolved.environment, facts, settings)


def _export(built: Mapping[str, "Built"]) -> None:
    if built:
        from components.platform.handover import export

        export(built)


def _tell(findings: Iterable[Finding]) -> None:
    for finding in findings:
        text = f"{finding.where}: {finding.message} [{finding.id}]" + (f" ({finding.remedy})" if finding.remedy else "")
        if finding.waived:
            pulumi.log.info(f"waived: {text}: {finding.waived}")
        elif finding.severity is Severity.WARNING:
            pulumi.log.warn(text)
        else:
            pulumi.log.info(text)
