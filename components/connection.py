"""How clusters are reached: one explicit provider each."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pulumi
from pulumi_kubernetes import Provider

from config.findings import ConfigError, Finding, Severity
from config.load import Platform
from governance.model import ClusterPlan, Plan


def kubeconfigs(plan: Plan, platform: Platform, root: Path, settings: pulumi.Config) -> dict[str, pulumi.Input[str]]:
    """By cluster, the path of its kubeconfig, or the text of one out of the stack's secret `kubeconfig-<cluster>`.

    Raises ConfigError, naming every cluster without a usable one: the kubeconfig that a shell happens to point at is never used.
    """
    found: dict[str, pulumi.Input[str]] = {}
    findings: list[Finding] = []
    for name, cluster in plan.clusters.items():
        if cluster.platform is not None:
            continue  # the platform layer makes it
        secret = settings.get_secret(f"kubeconfig-{name}")
        path = _path(cluster, root)
        if path is not None and path.is_file():
            found[name] = str(path)
        elif path is None and secret is not None:
            found[name] = secret
        else:
            findings.extend(_missing(cluster, path, platform))
    if findings:
        raise ConfigError(findings)
    return found


def kubernetes_provider(
    environment: str, cluster: ClusterPlan, kubeconfig: pulumi.Input[str], after: Sequence[pulumi.Resource] = ()
) -> Provider:
    """The cluster's provider; whatever is declared with it waits for `after`.

    Switches are written out, for those left away follow the shell's environment variables. The identifier is what the objects
    belong to: with it, a rotated certificate or another path updates the provider, where heuristics might replace every object.
    """
    return Provider(
        cluster.name,
        kubeconfig=kubeconfig,
        context=cluster.declared.context,
        cluster_identifier=f"{environment}/{cluster.name}",
        enable_server_side_apply=True,
        enable_patch_force=False,
        upsert_existing_objects=False,
        delete_unreachable=False,
        skip_update_unreachable=False,
        opts=pulumi.ResourceOptions(depends_on=list(after)) if after else None,
    )


def _path(cluster: ClusterPlan, root: Path) -> Path | None:
    declared = cluster.declared.kubeconfig
    return None if declared is None else root / Path(declared).expanduser()


def _missing(cluster: ClusterPlan, path: Path | None, platform: Platform) -> Iterator[Finding]:
    place: tuple[str, ...] = ("clusters", cluster.name)
    if path is not None:
        message, remedy = f"there is no kubeconfig {path}", "write it there, or remove `kubeconfig` and use the stack's secret"
        place = (*place, "kubeconfig")
    elif cluster.declared.sandbox:
        message = f"the sandbox of cluster `{cluster.name}` has no kubeconfig in this stack"
        remedy = "deploy with `hpctl up`, which boots the sandbox first"
    else:
        message = f"cluster `{cluster.name}` names no kubeconfig, and the stack has no secret `kubeconfig-{cluster.name}`"
        remedy = f"run `pulumi config set --secret kubeconfig-{cluster.name}`, or name a file in `kubeconfig`"
    yield Finding("kubeconfig-missing", Severity.ERROR, platform.where("", place, key=path is None), message, remedy)
