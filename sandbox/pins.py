"""The tools, the Go modules that they are built from, and their versions as `go.mod` pins them (no other place has numbers)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MODULES_ROOT = Path(__file__).parent / "tools"
_REQUIREMENT = re.compile(r"^\s*(?:require\s+)?(\S+)\s+(v\S+)(?:\s*//.*)?$", re.MULTILINE)
_REPLACEMENT = re.compile(r"^\s*(?:replace\s+)?(\S+)(?:\s+v\S+)?\s+=>\s+\S+\s+(v\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Tool:
    """One program: the Go package that it is built from, and the module whose version is the tool's."""

    name: str
    package: str
    module: str


@dataclass(frozen=True, slots=True)
class Stamp:
    """A Go variable that the linker sets to a module's version."""

    variable: str
    module: str
    template: str = "{full}"
    """Of `{full}` (`v1.2.3`), `{major}` and `{minor}`."""


@dataclass(frozen=True, slots=True)
class GoModule:
    """A folder with `go.mod` and `go.sum` whose tools are built together and so share compiled packages."""

    name: str
    title: str
    tools: tuple[Tool, ...]
    stamps: tuple[Stamp, ...] = ()

    @property
    def folder(self) -> Path:
        """Where `go.mod` is."""
        return MODULES_ROOT / self.name

    def version(self, module: str) -> str:
        """The pinned version of a module, as `v1.2.3`. Raises KeyError where `go.mod` doesn't name it."""
        return pinned(self.folder)[module]

    def ldflags(self) -> str:
        """Linker flags: no symbol tables (half the size), and the versions that programs report and compare."""
        flags = ["-s", "-w"]
        for stamp in self.stamps:
            version = self.version(stamp.module)
            major, minor, *_ = version.removeprefix("v").split(".")
            flags += ["-X", f"{stamp.variable}={stamp.template.format(full=version, major=major, minor=minor)}"]
        return " ".join(flags)


@cache
def pinned(folder: Path) -> dict[str, str]:
    """Module → version of a `go.mod`, replacements applied."""
    text = (folder / "go.mod").read_text(encoding="utf-8")
    return dict(_REQUIREMENT.findall(text)) | dict(_REPLACEMENT.findall(text))


_KUBERNETES, _KUEUE, _KWOK = "k8s.io/kubernetes", "sigs.k8s.io/kueue", "sigs.k8s.io/kwok"
_PULUMI, _HELM = "github.com/pulumi/pulumi/pkg/v3", "helm.sh/helm/v3"
_ETCD = "go.etcd.io/etcd/server/v3"

CONTROL_PLANE = GoModule(
    name="controlplane",
    title="Kubernetes control plane and Kueue",
    tools=(
        Tool("etcd", _ETCD, _ETCD),
        *(
            Tool(name, f"{_KUBERNETES}/cmd/{name}", _KUBERNETES)
            for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
        ),
        Tool("kueue", f"{_KUEUE}/cmd/kueue", _KUEUE),
    ),
    # Kueue parses the API server's version and exits where there is none.
    stamps=(
        Stamp("k8s.io/component-base/version.gitVersion", _KUBERNETES),
        Stamp("k8s.io/component-base/version.gitMajor", _KUBERNETES, "{major}"),
        Stamp("k8s.io/component-base/version.gitMinor", _KUBERNETES, "{minor}"),
        Stamp(f"{_KUEUE}/pkg/version.GitVersion", _KUEUE),
    ),
)
KWOK = GoModule("kwok", "kwok", (Tool("kwok", f"{_KWOK}/cmd/kwok", _KWOK),))
ENGINE = GoModule(
    "engine",
    "Pulumi engine",
    (Tool("pulumi", f"{_PULUMI}/cmd/pulumi", _PULUMI),),
    (Stamp("github.com/pulumi/pulumi/sdk/v3/go/common/version.Version", _PULUMI),),
)
HELM = GoModule("helm", "Helm", (Tool("helm", f"{_HELM}/cmd/helm", _HELM),), (Stamp(f"{_HELM}/internal/version.version", _HELM),))
_ACTIONLINT = "github.com/rhysd/actionlint"
ACTIONLINT = GoModule("actionlint", "actionlint", (Tool("actionlint", f"{_ACTIONLINT}/cmd/actionlint", _ACTIONLINT),))
MODULES = (CONTROL_PLANE, KWOK, ENGINE, HELM)
"""What a sandbox is made of."""
DEVELOPMENT = (ACTIONLINT,)
"""What only the tests need: built when one asks for it."""
MODULE_OF = {tool.name: module for module in (*MODULES, *DEVELOPMENT) for tool in module.tools}
"""Tool → the module that it is built from."""


def versions() -> dict[str, str]:
    """Tool → pinned version, as `1.35.4`."""
    return {tool.name: module.version(tool.module).removeprefix("v") for module in MODULES for tool in module.tools}
