"""A look at all clusters of a stack: usage and nodes of those that answer, and why the others don't."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from config.load import Platform
from governance.model import Plan
from governance.topologymap.model import Layout
from live.clusters import readers
from live.connection import ApiError, UnreachableError
from live.kube import Reader
from live.topology import read_cluster
from live.usage import NoKueueError, Usage, read_usage
from sandbox.engine_errors import EngineError
from sandbox.errors import SandboxError
from sandbox.progress import Progress

_DEPLOYMENTS = "/apis/apps/v1/deployments?labelSelector=app.kubernetes.io/name%3Dkueue"


@dataclass(frozen=True, slots=True)
class Look:
    """What one cluster has told."""

    usage: Usage | None = None
    layout: Layout | None = None
    kueue: str = ""
    """The version of Kueue that its Deployment names; empty where none is to be seen."""
    problem: str = ""
    """Why something is missing; empty where nothing is."""


def look_at(
    root: Path, stack: str, platform: Platform, plan: Plan, clusters: Iterable[str], progress: Progress
) -> dict[str, Look]:
    """Each cluster's answer. A cluster that doesn't answer keeps no other from being read."""
    return {name: _look(root, stack, platform, plan, name, progress) for name in clusters}


def _look(root: Path, stack: str, platform: Platform, plan: Plan, name: str, progress: Progress) -> Look:
    usage = layout = None
    version = problem = ""
    try:
        for _, reader in readers(root, stack, platform, plan, name, progress):
            progress.step(f"{name}: reading queues and tasks")
            usage = read_usage(reader)
            version = _version(reader)
            if plan.clusters[name].dispatch is None:  # a manager has no nodes of teams
                layout = read_cluster(reader, name, progress).layout
    except (SandboxError, EngineError) as error:
        problem = error.message  # what to do about it is said for another purpose
    except (UnreachableError, NoKueueError) as error:
        problem = str(error)
    except ApiError as error:
        problem = f"the API server answers {error.status}: {error}"
    return Look(usage, layout, version, problem)


def _version(reader: Reader) -> str:
    """Of Kueue's controller, by its image's tag. Who may not read Deployments isn't told."""
    found: list[str] = []
    with suppress(ApiError):
        for one in reader.items(_DEPLOYMENTS):
            for container in one["spec"]["template"]["spec"]["containers"]:
                name, _, tag = container["image"].partition("@")[0].rpartition(":")
                if name.endswith("/kueue"):
                    found.append(tag.removeprefix("v"))
    return next(iter(found), "")
