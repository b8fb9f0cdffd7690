"""What a stack's own file says: which environment it deploys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from config.files import no_environment
from config.findings import ConfigError, Finding, Where, did_you_mean, problem_at, quoted
from config.load import Project
from config.yamlsource import Document, read

PROJECT = "hyperpod-platform"
"""The Pulumi project's name, and the namespace of its settings."""


def project_root(start: Path) -> Path:
    """The nearest folder at or above `start` with a Pulumi.yaml. Raises ConfigError if there is none."""
    for folder in (start, *start.parents):
        if (folder / "Pulumi.yaml").is_file():
            return folder
    where = Where(str(start / "Pulumi.yaml"))
    remedy = "change to the project's folder, or use --project"
    raise ConfigError([problem_at("project-missing", where, "no project here or above", remedy)])


def stack_settings(root: Path, stack: str) -> dict[str, Any]:
    """The plain settings of Pulumi.<stack>.yaml, without their namespace; empty where the file is missing.

    Secrets and nested values are returned as they stand. Raises ConfigError where the file is not YAML.
    """
    settings = _settings(_document(root, stack))
    return {key.removeprefix(f"{PROJECT}:"): value for key, value in settings.items() if key.startswith(f"{PROJECT}:")}


LAYERS = ("platform", "governance")
"""What a stack may declare: clusters and what they stand on; queues and teams."""


def layers_of(root: Path, stack: str) -> tuple[str, ...]:
    """The layers that a stack's file declares; default all of them. Raises ConfigError as `checked_layers`."""
    return _layers(_document(root, stack))


def _layers(document: Document) -> tuple[str, ...]:
    key = f"{PROJECT}:layers"
    where = document.where(("config", key)) or Where(document.file, 1, 1)
    return checked_layers(_settings(document).get(key, list(LAYERS)), where)


def checked_layers(layers: object, where: Where) -> tuple[str, ...]:
    """The layers that a setting names. Raises ConfigError for anything but a list of layers."""
    if not isinstance(layers, list) or not layers:
        raise ConfigError([problem_at("layers", where, "layers: not a list", f"write {list(LAYERS)}, or one of them")])
    unknown = [layer for layer in layers if layer not in LAYERS]
    if unknown:
        raise ConfigError(
            problem_at("layers", where, f"layers: {quoted(layer)} is no layer", did_you_mean(str(layer), LAYERS))
            for layer in unknown
        )
    return tuple(layers)


GIVEN = ("eks_name", "hyperpod_arn")
"""What the setting `platform_facts` tells of a cluster that no stack has built."""


def stack_findings(root: Path, project: Project, only: str | None = None) -> list[Finding]:
    """What is wrong with the stacks' own files, or with that of one stack: layers, environment, the way to clusters."""
    findings: list[Finding] = []
    for path in sorted(root.glob("Pulumi.?*.yaml")):
        stack = path.name.removeprefix("Pulumi.").removesuffix(".yaml")
        if only is not None and stack != _own_name(only):
            continue
        try:
            document = _document(root, stack)
            layers, environment = _layers(document), _environment(document, stack)
        except ConfigError as error:
            findings.extend(error.findings)
            continue
        if environment not in project.environments():
            where = document.where(("config", f"{PROJECT}:environment")) or Where(document.file, 1, 1)
            findings.append(no_environment(where, environment, project.environments()))
        elif layers == ("governance",):
            declared = project.environment(environment)
            clusters = declared.clusters if declared is not None else {}
            built = [name for name, cluster in clusters.items() if cluster.kind == "hyperpod"]
            findings.extend(platform_stack_findings(document.file, _settings(document), built))
    return findings


def platform_stack_findings(file: str, settings: Mapping[str, Any], built: Sequence[str]) -> list[Finding]:
    """An error where queues alone are declared, and nothing says who built the clusters or where they are."""
    stack, facts = settings.get(f"{PROJECT}:platform_stack"), settings.get(f"{PROJECT}:platform_facts")
    known = facts if isinstance(facts, dict) else {}
    missing = [name for name in built if not (isinstance(known.get(name), dict) and {*GIVEN} <= known[name].keys())]
    if stack or not missing:
        return []
    message = f"the layer `governance` alone needs the stack that has built {', '.join(sorted(missing))}"
    remedy = f"add `{PROJECT}:platform_stack: <organization>/{PROJECT}/<stack>`"
    return [problem_at("platform-stack-missing", Where(file, 1, 1), message, remedy)]


def environment_of(root: Path, stack: str) -> str:
    """The environment that a stack deploys: its setting `environment`, or the one of its own name.

    Raises ConfigError where the setting is no text, or the file is not YAML.
    """
    return _environment(_document(root, stack), stack)


def _environment(document: Document, stack: str) -> str:
    setting = _settings(document).get(f"{PROJECT}:environment")
    if setting is None:
        return _own_name(stack)
    if not isinstance(setting, str):
        where = document.where(("config", f"{PROJECT}:environment")) or Where(document.file, 1, 1)
        message = f"{PROJECT}:environment: {quoted(setting)} is not the name of an environment"
        raise ConfigError([problem_at("stack-environment", where, message, "write its name, as text")])
    return setting


def _own_name(stack: str) -> str:
    """`organization/project/dev` → `dev`, as in the file's name."""
    return stack.rpartition("/")[2]


def _document(root: Path, stack: str) -> Document:
    """The file, without data where it is missing. Pulumi writes it, so only what can't be read at all is refused."""
    path = root / f"Pulumi.{_own_name(stack)}.yaml"
    if not path.exists():
        return Document(path.name)
    document, findings = read(path, path.name)
    if document.data is None and any(finding.id != "yaml-empty" for finding in findings):
        raise ConfigError(findings)
    return document


def _settings(document: Document) -> dict[str, Any]:
    settings = document.data.get("config") if isinstance(document.data, dict) else None
    return settings if isinstance(settings, dict) else {}
