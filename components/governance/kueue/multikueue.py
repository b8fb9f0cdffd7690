"""MultiKueue: how a manager comes to its workers, and what hands its teams' jobs to them."""

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pulumi

from components.base import KubernetesObject, PlatformComponent
from components.governance.kueue.manifests import multikueue as manifests
from components.site import Worker
from governance.model import ClusterPlan

_TIMEOUTS = pulumi.CustomTimeouts(create="5m", update="5m", delete="10m")
"""A worker is waited for until the manager watches it; a check goes only when no queue names it any more."""
_SECRET = ["data", "stringData"]


class _FilledSecret(KubernetesObject):
    """A Secret whose content the server writes. What it writes comes back, and the engine keeps it encrypted."""

    data: pulumi.Output[dict[str, str]]

    def __init__(self, name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        super().__init__(name, {**manifest, "data": None}, opts)


class WorkerAccount(PlatformComponent, module="kueue"):
    """The manager's account on a worker: what it may read everywhere, and do where a team binds it."""

    dispatcher: KubernetesObject
    """The ClusterRole that is bound in team namespaces."""
    token: pulumi.Output[str]
    """Secret."""
    ready: list[pulumi.Resource]
    """There once the account may watch."""

    def __init__(self, name: str, worker: ClusterPlan, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions) -> None:
        """`after` is what must be there before: Kueue, and its namespace."""
        super().__init__(name, {"cluster": worker.name, "manager": worker.manager_cluster}, opts)
        multi = worker.policy.multi_kueue
        frameworks = multi.frameworks if multi is not None else ()
        account = self.declare("account", manifests.account(worker), depends_on=[*after])
        watcher = self.declare("watcher", manifests.watcher(frameworks))
        binding = self.declare("watcher-binding", manifests.watcher_binding(worker), depends_on=[watcher, account])
        self.dispatcher = self.declare("dispatcher", manifests.dispatcher(frameworks))
        options = self.child_options(depends_on=[account], additional_secret_outputs=_SECRET)
        secret = _FilledSecret(self.child_name("token"), manifests.token(worker), options)
        self.token = pulumi.Output.secret(secret.data.apply(_token))
        self.ready = [binding, secret, *after]
        self.finish()


class MultiKueue(PlatformComponent, module="kueue"):
    """The manager's side: the way to each worker, and a check for each set of workers that teams work on."""

    checks: dict[str, KubernetesObject]
    """By the check's name; queues that name one wait for it."""

    def __init__(
        self,
        name: str,
        manager: ClusterPlan,
        workers: Mapping[str, Worker],
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions,
    ) -> None:
        """`after` is what must be there before: Kueue, and its namespace."""
        assert manager.dispatch is not None, "only a manager dispatches"  # noqa: S101
        super().__init__(name, {"cluster": manager.name, "workers": list(manager.dispatch.workers)}, opts)
        known = {one: self._worker(manager, one, workers[one], after) for one in manager.dispatch.workers}
        self.checks = {}
        for check in manager.dispatch.checks:
            config = self.declare(
                f"config/{check.name}", manifests.config(check), depends_on=[known[worker] for worker in check.workers]
            )
            self.checks[check.name] = self.declare(
                f"check/{check.name}", manifests.admission_check(check), depends_on=[config], custom_timeouts=_TIMEOUTS
            )
        self.finish()

    def _worker(self, manager: ClusterPlan, name: str, worker: Worker, after: Sequence[pulumi.Resource]) -> KubernetesObject:
        content: pulumi.Output[dict[str, str]] = pulumi.Output.secret(worker.kubeconfig.apply(_content))
        secret = self.declare(
            f"connection/{name}",
            {**manifests.connection(manager, name), "data": content},
            depends_on=[*after, *worker.ready],
            additional_secret_outputs=_SECRET,
        )
        return self.declare(f"worker/{name}", manifests.worker_cluster(name), depends_on=[secret], custom_timeouts=_TIMEOUTS)


def way_to(worker: ClusterPlan, kubeconfig: pulumi.Input[str], token: pulumi.Output[str]) -> pulumi.Output[str]:
    """A kubeconfig of the manager's account, with the address and the certificate authority of the one that we use ourselves.

    Secret. `kubeconfig` is a path or a content.
    """
    found = pulumi.Output.all(kubeconfig, token).apply(lambda both: account_kubeconfig(both[0], worker, both[1]))
    return pulumi.Output.secret(found)


def account_kubeconfig(kubeconfig: str, worker: ClusterPlan, token: str) -> str:
    """The same as text. Raises RunError where it can't be read, and for what Kueue would refuse or the token can't be sent to."""
    import yaml

    of = f"the kubeconfig of the worker `{worker.name}`"
    path = None if "\n" in kubeconfig or kubeconfig.lstrip().startswith("{") else Path(kubeconfig)
    try:
        given: Any = yaml.safe_load(path.read_text(encoding="utf-8") if path is not None else kubeconfig)
        cluster = _cluster_of(given, worker.declared.context)
    except OSError as error:
        raise pulumi.RunError(f"{of} can't be read: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, AttributeError, TypeError, KeyError):  # what they say may show a credential
        raise pulumi.RunError(f"{of} is no kubeconfig: give a file that `kubectl --kubeconfig` takes, or its content") from None
    _check(cluster, of)
    kept = {key: cluster[key] for key in ("server", "tls-server-name", "certificate-authority-data") if key in cluster}
    if "certificate-authority" in cluster:
        file = Path(str(cluster["certificate-authority"]))
        try:
            authority = (file if path is None else path.parent / file).read_bytes()
        except OSError as error:
            raise pulumi.RunError(f"the certificate authority that {of} names can't be read: {error}") from None
        kept["certificate-authority-data"] = base64.b64encode(authority).decode()
    name = worker.name
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": kept}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        }
    )


def _check(cluster: Mapping[str, Any], of: str) -> None:
    """The token lasts as long as the account: it goes over TLS to a server whose certificate is checked, or nowhere."""
    server = cluster.get("server")
    if not server:
        raise pulumi.RunError(f"{of} names no server for the manager to reach")
    if not str(server).lower().startswith("https://"):
        raise pulumi.RunError(f"{of} names the server {server}: the account's token would cross the network in clear, use https")
    if cluster.get("insecure-skip-tls-verify"):
        raise pulumi.RunError(f"{of} skips the check of its certificate, which Kueue refuses: give its certificate authority")
    if cluster.get("proxy-url"):
        raise pulumi.RunError(f"{of} has a proxy-url: whether the manager has the same proxy nobody knows, give a direct way")


def _cluster_of(kubeconfig: Any, context: str | None) -> Mapping[str, Any]:
    """The cluster of a context, by default of the current one; empty where there is none."""
    contexts = {one["name"]: one.get("context") or {} for one in kubeconfig.get("contexts") or ()}
    clusters = {one["name"]: one.get("cluster") or {} for one in kubeconfig.get("clusters") or ()}
    wanted = contexts.get(context or kubeconfig.get("current-context"), {}).get("cluster")
    return dict(clusters.get(wanted, {}))


def _token(data: Mapping[str, str] | None) -> str:
    """Empty in a preview of what isn't there yet."""
    return base64.b64decode((data or {}).get("token", "")).decode()


def _content(kubeconfig: str) -> dict[str, str]:
    return {manifests.KUBECONFIG: base64.b64encode(kubeconfig.encode()).decode()}
