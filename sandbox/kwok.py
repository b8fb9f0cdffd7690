"""kwok's configuration: its own stages, tuned so that what a pod does is quick and foreseeable."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

RUN_TIME: Final = "pod-complete.stage.kwok.x-k8s.io/delay"
"""Annotation of a Job's pod template: how long each pod runs, as `90s` or `2h`; one second without it."""
_DEFAULT_RUN: Final = 1000
_OPTIONS: Final = {
    # These handlers would run commands of anybody who reaches the port.
    "enableDebuggingHandlers": False,
    "podPlayStageParallelism": 16,
    "nodePlayStageParallelism": 8,
    "podsOnNodeSyncParallelism": 4,
}


def configuration(stages: Path) -> str:
    """kwok's configuration file over the stages that its module carries."""
    import yaml

    documents: list[dict[str, Any]] = [
        {"apiVersion": "config.kwok.x-k8s.io/v1alpha1", "kind": "KwokConfiguration", "options": _OPTIONS}
    ]
    for path in sorted(stages.glob("*.yaml")):
        stage: dict[str, Any] = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
        documents.append(_fixed_run_time(stage) if stage["metadata"]["name"] == "pod-complete" else stage)
    return yaml.dump_all(documents, Dumper=yaml.CSafeDumper, sort_keys=False)


def _fixed_run_time(stage: dict[str, Any]) -> dict[str, Any]:
    """Without the random part of the run time: kwok takes that *instead* of a longer delay and so ignores annotated times."""
    delay = {key: value for key, value in stage["spec"]["delay"].items() if key != "jitterDurationMilliseconds"}
    return {**stage, "spec": {**stage["spec"], "delay": {**delay, "durationMilliseconds": _DEFAULT_RUN}}}
