"""HyperPod's dependency chart: health agent, device plugins, training operators."""

from pathlib import Path
from typing import Any

import pulumi
from pulumi_kubernetes.helm.v3 import Release

from components.base import PlatformComponent
from components.platform.chartrepository import ChartSourceError
from components.platform.chartsource import chart_path, lacks_dependencies, working_copy
from config.files import ENVIRONMENTS
from config.findings import ConfigError, Where, problem_at
from governance.platform.chartvalues import chart_values
from governance.platform.model import PlatformPlan

RELEASE, NAMESPACE = "hyperpod-dependencies", "kube-system"
_TIMEOUT_SECONDS = 900


class DependencyChart(PlatformComponent, module="platform"):
    """The release that SageMaker looks for before it makes nodes.

    Nothing of it is awaited: its pods have no node to run on until the HyperPod cluster, which waits for it, is there. A node
    that joins without its health agent never becomes schedulable, so the release stays until the cluster is gone.
    """

    ready: list[pulumi.Resource]

    def __init__(self, name: str, plan: PlatformPlan, root: Path, opts: pulumi.ResourceOptions) -> None:
        """`root` is the project's folder. Raises ConfigError where the chart can't be had."""
        source = plan.declared.hyperpod.chart
        super().__init__(name, {"cluster": plan.cluster, "release": RELEASE}, opts)
        release = Release(
            self.child_name("release"),
            name=RELEASE,
            namespace=NAMESPACE,
            version=source.version,
            values=chart_values(plan),
            **_found(plan, root),
            skip_await=True,
            timeout=_TIMEOUT_SECONDS,
            opts=self.child_options(
                protect=plan.protected,
                custom_timeouts=pulumi.CustomTimeouts(
                    create=f"{_TIMEOUT_SECONDS}s", update=f"{_TIMEOUT_SECONDS}s", delete=f"{_TIMEOUT_SECONDS}s"
                ),
            ),
        )
        self.ready = [release]
        self.finish()


def _found(plan: PlatformPlan, root: Path) -> dict[str, Any]:
    """Where the chart is, and what Helm must do with it first.

    A chart out of a repository lacks the charts of others that it depends on; Helm fetches them into a copy that this release has
    alone. The file of the region, where the chart has one, names that region's registry.
    """
    source = plan.declared.hyperpod.chart
    try:
        chart = chart_path(source, root)
        if source.oci is not None:
            return {"chart": chart}
        folder = Path(chart)
        incomplete = lacks_dependencies(folder)
        if incomplete:
            folder = working_copy(folder, plan.names.prefix)
    except ChartSourceError as error:
        place = Where(f"{ENVIRONMENTS}/{plan.environment}.yaml")
        raise ConfigError([problem_at("chart-missing", place, f"cluster `{plan.cluster}`: {error}", error.remedy)]) from None
    regional = folder / "regional-values" / f"values-{plan.declared.region}.yaml"
    files = [pulumi.FileAsset(str(regional))] if regional.is_file() else None
    return {"chart": str(folder), "dependency_update": incomplete, "value_yaml_files": files}
