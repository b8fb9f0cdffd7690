"""Making a stack ready to run: its sandboxes, its engine, the way to its clusters."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from config.findings import Finding
from config.load import Platform
from config.stack import PROJECT, layers_of
from governance.contract import job_contracts
from governance.model import Plan
from live.connection import UnreachableError, connect
from live.guards import flavor_findings, removal_findings, replacement_findings
from live.kube import Reader
from sandbox import stacks
from sandbox.engine import (
    ConfigValue,
    Engine,
    EngineError,
    EngineSettings,
    kubernetes_plugin_installed,
    try_install_kubernetes_plugin,
)
from sandbox.paths import cache_root, private_dir, write_private
from sandbox.toolchain import pulumi_binary

if TYPE_CHECKING:
    from sandbox.toolchain import Progress


@dataclass(frozen=True)
class Deployment:
    """A stack whose sandboxes run, with the settings of its engine."""

    platform: Platform
    plan: Plan
    settings: EngineSettings
    kubeconfigs: dict[str, Path]
    """By cluster, where a file is known; others are in the stack's secrets, or in its outputs once it has built them."""
    layers: tuple[str, ...]
    """What the stack declares."""

    def engine(self) -> Engine:
        return Engine(self.settings)

    def contracts(self) -> list[dict[str, Any]]:
        """The job contracts that the stack will export."""
        return job_contracts(self.plan) if "governance" in self.layers else []

    @property
    def counts_change_outside(self) -> bool:
        """Whether an autoscaler sets counts that an update sends along: the state is then refreshed first, lest they be old."""
        built = [cluster.platform for cluster in self.plan.clusters.values() if cluster.platform is not None]
        return "platform" in self.layers and any(group.declared.autoscaled for one in built for group in one.groups)

    def guards(self, last: Mapping[str, Any]) -> Iterator[Finding]:
        """What the running clusters forbid; `last` are the outputs of the last deployment."""
        if "platform" in self.layers:
            yield from replacement_findings(last.get("platform", {}), self.platform, self.plan)
        if "governance" not in self.layers:
            return
        readers = self.readers(last)
        for name, reader in readers.items():
            if self.plan.backend == "kueue" and name in self.plan.clusters:
                yield from flavor_findings(self.platform, self.plan.clusters[name], reader)
        yield from removal_findings(last.get("teams", []), self.platform, self.plan, readers)

    def readers(self, last: Mapping[str, Any]) -> dict[str, Reader]:
        """The API servers that answer, by cluster, those of the last deployment among them; `last` are its outputs.

        One of a cluster that is still to come is not there yet.
        """
        found = {}
        for name in dict.fromkeys((*self._ways(last), *(contract["cluster"] for contract in last.get("teams", [])))):
            context = self.plan.clusters[name].declared.context if name in self.plan.clusters else None
            try:
                reader = Reader(connect(self.way(name, last), context or "", ""))
                reader.get("/version")
            except UnreachableError:
                continue
            found[name] = reader
        return found

    def _ways(self, last: Mapping[str, Any]) -> dict[str, str]:
        """How clusters are reached, as the file's path or the kubeconfig itself."""
        built = last.get("kubeconfigs", {})
        found = {name: str(built[name]) for name, cluster in self.plan.clusters.items() if cluster.platform and name in built}
        return found | {name: str(path) for name, path in self.kubeconfigs.items()}

    def way(self, cluster: str, last: Mapping[str, Any]) -> str:
        """The kubeconfig of one cluster, its path or its content, of a cluster that is declared no more too.

        Raises UnreachableError where nothing says how it is reached.
        """
        found = self._ways(last).get(cluster) or last.get("kubeconfigs", {}).get(cluster)
        if found is None:
            try:
                found = self.engine().setting(f"{PROJECT}:kubeconfig-{cluster}")
            except EngineError as error:
                why = "neither a file, nor the stack's outputs, nor its settings hold a kubeconfig"
                raise UnreachableError(f"nothing says how cluster `{cluster}` is reached: {why}") from error
        return str(found)


def prepare(root: Path, stack: str, platform: Platform, plan: Plan, progress: Progress) -> Deployment:
    """Boot what must run and find the engine and its provider. Raises SandboxError."""
    pulumi = pulumi_binary(progress)
    booted = stacks.boot(root, stack, platform, plan, progress)
    kubeconfigs = {name: status.kubeconfig for name, status in booted.items()}
    config = {
        f"{PROJECT}:kubeconfig-{name}": ConfigValue(path.read_text(encoding="utf-8"), secret=True)
        for name, path in kubeconfigs.items()
    }
    kubeconfigs |= _named(root, platform)
    backend, passphrase = _local_state(root, stack) if booted else (None, None)
    progress.step("looking for the Kubernetes provider")
    provider = _provider(pulumi) if booted else "plugin"
    settings = EngineSettings(
        project_dir=root,
        stack=stack,
        backend_url=backend,
        pulumi=pulumi,
        passphrase=passphrase,
        env={},
        config={**config, f"{PROJECT}:environment": ConfigValue(platform.name, secret=False)},
        kubernetes_provider=provider,
        # The offline provider finds its own half-made objects again; saving the state after each resource would cost n².
        skip_checkpoints=provider == "offline",
    )
    return Deployment(platform, plan, settings, kubeconfigs, layers_of(root, stack))


def attach(root: Path, stack: str, platform: Platform, plan: Plan, progress: Progress) -> Deployment | None:
    """The same for looking on: nothing is booted, installed or configured. None for a sandboxed stack that was never deployed.

    A sandbox that doesn't run is found out when it is asked something. Raises SandboxError.
    """
    sandboxed = bool(stacks.clusters(platform))
    if sandboxed and not stacks.folder(root, stack).is_dir():
        return None
    pulumi = pulumi_binary(progress)
    backend, passphrase = _local_state(root, stack) if sandboxed else (None, None)
    settings = EngineSettings(
        project_dir=root,
        stack=stack,
        backend_url=backend,
        pulumi=pulumi,
        passphrase=passphrase,
        kubernetes_provider="offline" if sandboxed and not kubernetes_plugin_installed(pulumi) else "plugin",
    )
    return Deployment(platform, plan, settings, known_kubeconfigs(root, stack, platform), layers_of(root, stack))


def known_kubeconfigs(root: Path, stack: str, platform: Platform) -> dict[str, Path]:
    """By cluster, the files that are known without asking Pulumi: of sandboxes, and those that the environment names."""
    sandboxed = {name: stacks.sandbox_of(root, stack, name).kubeconfig for name in stacks.clusters(platform)}
    return sandboxed | _named(root, platform)


def _named(root: Path, platform: Platform) -> dict[str, Path]:
    return {
        name: root / Path(cluster.kubeconfig).expanduser()
        for name, cluster in platform.environment.clusters.items()
        if cluster.kubeconfig
    }


def _provider(pulumi: Path) -> Literal["plugin", "offline"]:
    """For a sandbox: the real plugin where it is or can be had, else the offline one."""
    if kubernetes_plugin_installed(pulumi) or try_install_kubernetes_plugin(pulumi, cache_root()):
        return "plugin"
    return "offline"


def _local_state(root: Path, stack: str) -> tuple[str, str]:
    """Pulumi's state of a sandboxed stack: a folder in the cache, and a passphrase of its own."""
    folder = stacks.folder(root, stack)
    state = folder / "state"
    private_dir(folder)
    private_dir(state)
    secret = folder / "passphrase"
    if not secret.exists():
        write_private(secret, secrets.token_urlsafe(24))
    return f"file://{state}", secret.read_text(encoding="utf-8")
