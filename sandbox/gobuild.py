"""Building one pinned Go module: its programs and what they read at run time, in a folder that is complete or not there."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from sandbox.errors import SandboxError
from sandbox.paths import tools_root
from sandbox.pins import CONTROL_PLANE, KWOK, GoModule
from sandbox.progress import Progress

MINIMUM_GO: Final = (1, 26)
_FLAGS: Final = "-mod=readonly -buildvcs=false"
# What Go must not take from the user's shell: a workspace above this folder, another target, another toolchain.
_ENVIRONMENT: Final = {"GOTOOLCHAIN": "local", "GOFLAGS": _FLAGS, "GOWORK": "off", "CGO_ENABLED": "0", "GO111MODULE": "on"}
_NOT_OURS: Final = ("GOOS", "GOARCH", "GOBIN", "GOEXPERIMENT")
_ROOMY: Final = 12 * 2**30
"""Bytes of free memory from which the compiler may collect its garbage less often, which saves a sixth of its time."""
_INSTALL: Final = "install Go 1.26 or newer (https://go.dev/dl, or your system's packages) and put it on PATH"
_KUEUE_FILES: Final = {
    "config/components/crd/bases": "crds",
    "config/components/webhook/manifests.yaml": "webhooks.yaml",
    "charts/kueue": "chart",
}
_KWOK_FILES: Final = {
    "kustomize/stage/node/fast/node-initialize.yaml": "node-initialize.yaml",
    "kustomize/stage/pod/fast/pod-ready.yaml": "pod-ready.yaml",
    "kustomize/stage/pod/fast/pod-delete.yaml": "pod-delete.yaml",
    "kustomize/stage/pod/general/pod-complete.yaml": "pod-complete.yaml",
}
RUNTIME_FILES: Final = {
    CONTROL_PLANE.name: ("sigs.k8s.io/kueue", "kueue", _KUEUE_FILES),
    KWOK.name: ("sigs.k8s.io/kwok", "kwok", _KWOK_FILES),
}
"""Go module folder → the module that carries what its programs read at run time, the folder below `share/`, and its files."""


def go_version() -> str | None:
    """The version of Go on PATH as `go1.26.1`, None without Go. Raises SandboxError where it doesn't answer."""
    go = shutil.which("go")
    if go is None:
        return None
    done = subprocess.run([go, "env", "GOVERSION"], env=_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SandboxError(f"`go env` failed: {done.stderr.strip()}", remedy=_INSTALL)
    return done.stdout.strip()


def require_go(version: str | None, wanted: str) -> str:
    """The version, where it is new enough to build `wanted`. Raises SandboxError otherwise."""
    if version is None:
        raise SandboxError(f"Go is needed to build {wanted}, and there is no `go` on PATH", remedy=_INSTALL)
    found = re.match(r"go(\d+)\.(\d+)", version)
    # A development build of Go has no number; it is newer than any that has one.
    if found and (int(found[1]), int(found[2])) < MINIMUM_GO:
        raise SandboxError(f"Go {version.removeprefix('go')} is too old to build {wanted}", remedy=_INSTALL)
    return version


def source_hash(module: GoModule) -> str:
    """What is built: pins, checksums, linker flags and the way of building, without the compiler's version."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        digest.update((module.folder / name).read_bytes())
    recipe = [
        module.ldflags(),
        sorted(_ENVIRONMENT.items()),
        [tool.package for tool in module.tools],
        RUNTIME_FILES.get(module.name),
    ]
    digest.update(json.dumps(recipe).encode())
    return digest.hexdigest()


def build_dir(module: GoModule, version: str) -> Path:
    """Folder of the module's build by this version of Go."""
    key = hashlib.sha256(f"{source_hash(module)} {version}".encode()).hexdigest()
    return tools_root() / f"{module.name}-{key[:16]}"


def find_build(module: GoModule, version: str | None) -> Path | None:
    """The finished build: by this Go, or by any where there is no Go on this machine."""
    if version is not None:
        exact = build_dir(module, version)
        return exact if _complete(module, exact) else None
    wanted = source_hash(module)
    for folder in sorted(tools_root().glob(f"{module.name}-*")):
        with suppress(OSError, ValueError, KeyError):
            if json.loads((folder / "build.json").read_text())["source"] == wanted and _complete(module, folder):
                return folder
    return None


def build(module: GoModule, version: str, progress: Progress) -> Path:
    """Build the module's tools. Raises SandboxError; the log stays in the cache's `tools/logs`."""
    target = build_dir(module, version)
    log = tools_root() / "logs" / f"{module.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    for stale in tools_root().glob(f".{module.name}-*"):  # of a build that was killed: the lock is ours now
        shutil.rmtree(stale, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=f".{module.name}-", dir=tools_root()))
    try:
        with log.open("w", encoding="utf-8") as output:
            total = _download(module, output, log, progress)
            _compile(module, work / "bin", output, log, progress, total)
            _copy_runtime_files(module, work / "share", output, log)
        (work / "build.json").write_text(json.dumps({"source": source_hash(module), "go": version}), encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        work.chmod(0o755)
        work.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def _complete(module: GoModule, folder: Path) -> bool:
    return (folder / "build.json").is_file() and all((folder / "bin" / tool.name).is_file() for tool in module.tools)


def _environment() -> dict[str, str]:
    import psutil

    environment = {name: value for name, value in os.environ.items() if name not in _NOT_OURS} | _ENVIRONMENT
    if psutil.virtual_memory().available >= _ROOMY:
        environment.setdefault("GOGC", "400")
    return environment


def _packages(module: GoModule) -> list[str]:
    return [tool.package for tool in module.tools]


def _download(module: GoModule, output: IO[str], log: Path, progress: Progress) -> int:
    """Fetch the sources; return how many packages there are to compile."""
    title = f"fetching the sources of {module.title}"
    progress.step(title)
    fetched = packages = 0
    with _go(["list", "-deps", "-f", "package {{.ImportPath}}", *_packages(module)], module, output) as lines:
        for line in lines:
            packages += line.startswith("package ")
            if line.startswith("go: downloading"):
                fetched += 1
                if fetched % 25 == 0:
                    progress.step(f"{title}: {fetched} modules so far")
    _check(
        lines, module, log, "could not be fetched", "check the network and `go env GOPROXY`, then run this again: it continues"
    )
    return packages


def _compile(module: GoModule, target: Path, output: IO[str], log: Path, progress: Progress, total: int) -> None:
    progress.step(f"building {module.title} (once; {total} packages)")
    target.mkdir()
    compiled = 0
    arguments = ["build", "-v", "-trimpath", "-ldflags", module.ldflags(), "-o", f"{target}{os.sep}", *_packages(module)]
    with _go(arguments, module, output) as lines:
        for line in lines:
            # With -v, go prints the name of each package that it compiles, and nothing else of this shape.
            if line and " " not in line and not line.startswith("#"):
                compiled += 1
                progress.update(min(compiled, total), total)
    _check(lines, module, log, "did not build", "read the log; a full disk and too little memory are the usual causes")
    for tool in module.tools:
        made = target / _program(tool.package)
        if made.name != tool.name:
            made.rename(target / tool.name)
    progress.update(total, total)


def _program(package: str) -> str:
    """What go names the program of a package: its last part that isn't a major version."""
    parts = package.split("/")
    return parts[-2] if re.fullmatch(r"v\d+", parts[-1]) else parts[-1]


def _copy_runtime_files(module: GoModule, share: Path, output: IO[str], log: Path) -> None:
    if module.name not in RUNTIME_FILES:
        return
    carrier, folder, files = RUNTIME_FILES[module.name]
    with _go(["list", "-m", "-f", "{{.Dir}}", carrier], module, output) as lines:
        source = Path("".join(lines).strip())
    _check(lines, module, log, "could not be found", "run this again")
    for origin, name in files.items():
        target = share / folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        # Go's module cache is read-only; copied modes would make this folder hard to remove.
        if (source / origin).is_dir():
            shutil.copytree(source / origin, target, copy_function=shutil.copyfile)
            for path in (target, *target.rglob("*")):
                path.chmod(0o755 if path.is_dir() else 0o644)
        else:
            shutil.copyfile(source / origin, target)


class _Lines(Iterable[str]):
    """Output of a go command, line by line, written to the log on its way."""

    def __init__(self, process: subprocess.Popen[str], output: IO[str]) -> None:
        self._process = process
        self._output = output
        self.last = ""

    def __iter__(self) -> Iterator[str]:
        assert self._process.stdout is not None  # noqa: S101
        for line in self._process.stdout:
            self._output.write(line)
            self._output.flush()
            text = line.rstrip("\n")
            if text and not text.startswith(("go: downloading", "package ")):
                self.last = text
            yield text

    @property
    def status(self) -> int:
        return self._process.wait()


@contextmanager
def _go(arguments: list[str], module: GoModule, output: IO[str]) -> Iterator[_Lines]:
    """Run go in the module's folder; whatever ends the block ends go and its compilers too."""
    process = subprocess.Popen(
        ["go", *arguments],  # noqa: S607
        cwd=module.folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        yield _Lines(process, output)
        process.wait()
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _check(lines: _Lines, module: GoModule, log: Path, what: str, remedy: str) -> None:
    if lines.status:
        raise SandboxError(f"the sources of {module.title} {what}: {lines.last}", log=log, remedy=remedy)
