"""What the program registers for a cluster: names, parents, providers and inputs, recorded without an engine.

The declaring components run against Pulumi's mock monitor. So names and parents are the program's own, whatever they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from config.stack import PROJECT
from governance.model import ClusterPlan, Plan


@dataclass(frozen=True, slots=True)
class Registration:
    """A resource as the program registers it."""

    urn: str
    type: str
    name: str
    parent: str
    """The parent's URN; empty below the stack."""
    custom: bool
    provider: str
    """The explicit provider's URN; empty where there is none."""
    inputs: dict[str, Any]

    @property
    def is_provider(self) -> bool:
        return self.type.startswith("pulumi:providers:")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a cluster is in AWS."""

    eks_name: str
    hyperpod_arn: str


def registrations(plan: Plan, stack: str, places: Mapping[str, Place] | None = None) -> list[Registration]:
    """Everything that the governance layer of the plan registers, by URN: the order of arrival is chance.

    `places` are those of built clusters. Secrets come without their content.
    """
    from components.governance import governance_backend

    def program() -> None:
        declare_on, workers = governance_backend(plan.backend), dict[str, Any]()
        for cluster in sorted(plan.clusters.values(), key=lambda one: one.dispatch is not None):  # a manager after its workers
            site = _site(plan, cluster, (places or {}).get(cluster.name))
            worker = declare_on(cluster, replace(site, workers=workers))
            if worker is not None:
                workers[cluster.name] = worker

    return sorted(_recorded(program, stack), key=lambda one: one.urn)


def _site(plan: Plan, cluster: ClusterPlan, place: Place | None) -> Any:
    from components.connection import kubernetes_provider
    from components.site import CloudSite, Site

    kubernetes = kubernetes_provider(plan.environment, cluster, "")
    way = _nowhere(cluster) if cluster.manager_cluster else None
    if cluster.platform is None or place is None:
        return Site(kubernetes, kubeconfig=way)
    from components.platform.providers import cloud_providers

    return Site(kubernetes, CloudSite(*cloud_providers(cluster.platform), place.eks_name, place.hyperpod_arn), kubeconfig=way)


def _nowhere(worker: ClusterPlan) -> str:
    """A kubeconfig to make the manager's of: what is made of it is content of a Secret, which is left out."""
    context = worker.declared.context or worker.name
    cluster = {"server": "https://worker.invalid"}
    return json.dumps(
        {
            "clusters": [{"name": worker.name, "cluster": cluster}],
            "contexts": [{"name": context, "context": {"cluster": worker.name}}],
            "current-context": context,
        }
    )


def _contentless(inputs: dict[str, Any]) -> dict[str, Any]:
    """A Secret without what it holds; anything else as it is."""
    return {key: value for key, value in inputs.items() if inputs.get("kind") != "Secret" or key not in ("data", "stringData")}


def _engines(urn: str) -> str:
    """The URN as the engine writes it: types of parents don't begin with the stack's."""
    return urn.replace("pulumi:pulumi:Stack$", "")


def _whole(value: Any) -> Any:
    """Numbers as they were written: on the way to the monitor all of them become floats."""
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _recorded(program: Callable[[], None], stack: str) -> list[Registration]:
    import pulumi
    from google.protobuf import json_format  # type: ignore[import-untyped]
    from pulumi.runtime import mocks, settings
    from pulumi.runtime.proto import resource_pb2

    found: list[Registration] = []

    class Echo(pulumi.runtime.Mocks):
        def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str, dict[str, Any]]:
            return args.name, args.inputs

        def call(self, args: pulumi.runtime.MockCallArgs) -> Any:
            raise AssertionError(f"the governance layer looks nothing up, but {args.token} was")

    class Monitor(mocks.MockMonitor):
        def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - the protocol's name
            if request.type != "pulumi:pulumi:Stack":
                urn = _engines(self.make_urn(request.parent, request.type, request.name))
                parent = "" if "::pulumi:pulumi:Stack::" in request.parent else _engines(request.parent)
                provider = _engines(request.provider.rpartition("::")[0])
                inputs = _contentless(_whole(json_format.MessageToDict(request.object)))
                found.append(Registration(urn, request.type, request.name, parent, request.custom, provider, inputs))
            return super().RegisterResource(request)  # type: ignore[no-untyped-call]

        def GetDeploymentInfo(self, request: Any) -> Any:  # noqa: N802 - the protocol's name
            answer = super().GetDeploymentInfo(request)  # type: ignore[no-untyped-call]
            # As ids: a mock looks references up on another loop.
            answer.supportedFeatures.remove(resource_pb2.RESOURCE_MONITOR_FEATURE_RESOURCE_REFERENCES)
            return answer

    settings.set_root_resource(None)  # type: ignore[arg-type] # another run's has another stack's name
    mocks.set_mocks(Echo(), project=PROJECT, stack=stack, preview=False, monitor=Monitor(Echo()))

    @pulumi.runtime.test  # type: ignore[untyped-decorator]
    def run() -> None:
        program()

    run()
    return found
