"""Small stacks on a real engine and a real API server, for the tests of provider and engine."""

from __future__ import annotations

import os
import textwrap
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from live.connection import ApiError, Connection, connect
from sandbox.engine import Changes, ConfigValue, Engine, EngineError, EngineSettings, UpResult
from sandbox.engine_plugins import OfflineProvider

HEADER = """
import os
import pulumi
import pulumi_kubernetes as k8s

config = pulumi.Config()
mark = config.require("mark")
step = int(config.get("step") or 0)
provider = k8s.Provider("cluster", kubeconfig=config.require("kubeconfig"), cluster_identifier="test")


def add(name, api, kind, options=None, meta=None, via=provider, **body):
    group, _, version = api.rpartition("/")
    named = {"name": f"{mark}-{name}", **(meta or {})}
    if "generateName" in named:
        del named["name"]
    return pulumi.CustomResource(
        f"kubernetes:{group or 'core'}/{version}:{kind}",
        name,
        {"apiVersion": api, "kind": kind, "metadata": named, **body},
        pulumi.ResourceOptions.merge(pulumi.ResourceOptions(provider=via), options),
    )
"""


class Project:
    """A project in a temporary folder, with a state of its own, on the cluster of ``kubeconfig``."""

    def __init__(self, folder: Path, kubeconfig: Path, pulumi: Path) -> None:
        self.mark = f"t{uuid.uuid4().hex[:8]}"
        self.folder = folder / "project"
        self.folder.mkdir()
        (self.folder / "Pulumi.yaml").write_text("name: small\nruntime: python\n")
        self.kubeconfig = kubeconfig
        self.api: Connection = connect(str(kubeconfig), "", "")
        self.settings = EngineSettings(
            project_dir=self.folder,
            stack="test",
            backend_url=f"file://{folder / 'state'}",
            pulumi=pulumi,
            passphrase="test",
            kubernetes_provider="offline",
            pulumi_home=folder / "home",
            skip_checkpoints=True,
        )
        self.configure()

    def configure(self, **values: str) -> None:
        """Set configuration values of the program; ``mark`` and ``kubeconfig`` are always there."""
        found = {"mark": self.mark, "kubeconfig": str(self.kubeconfig), **values}
        self.settings = replace(self.settings, config={f"small:{key}": ConfigValue(value) for key, value in found.items()})

    def program(self, text: str) -> None:
        """The program, after the common header."""
        (self.folder / "__main__.py").write_text(HEADER + textwrap.dedent(text))

    def name(self, name: str) -> str:
        """An object's name in the cluster."""
        return f"{self.mark}-{name}"

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        with Engine(self.settings) as engine:
            yield engine

    def up(self, text: str | None = None, **options: Any) -> UpResult:
        if text is not None:
            self.program(text)
        with self.engine() as engine:
            return engine.up(**options)

    def preview(self, text: str | None = None, **options: Any) -> Changes:
        if text is not None:
            self.program(text)
        with self.engine() as engine:
            return engine.preview(**options)

    def refused(self, call: Callable[[], Any]) -> str:
        """The message of the error that ``call`` raises."""
        with pytest.raises(EngineError) as caught:
            call()
        return str(caught.value)

    def get(self, path: str) -> dict[str, Any] | None:
        """An object of the cluster, or None."""
        try:
            return self.api.request("GET", path).body
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def config_map(self, name: str) -> dict[str, Any] | None:
        return self.get(self.path("configmaps", name))

    def path(self, plural: str, name: str = "", api: str = "/api/v1") -> str:
        """The path of an object in namespace ``default``."""
        return f"{api}/namespaces/default/{plural}{f'/{self.name(name)}' if name else ''}"

    def apply(self, path: str, body: dict[str, Any], manager: str, *, force: bool = True) -> None:
        """Change an object as another field manager."""
        query = {"fieldManager": manager, "force": str(force).lower()}
        self.api.request("PATCH", path, body, query, "application/apply-patch+yaml")

    def state_text(self) -> str:
        """All that lies in the state's folder."""
        files = [path for path in (self.folder.parent / "state").rglob("*") if path.is_file()]
        assert files
        return "\n".join(path.read_text(errors="replace") for path in files)

    def clean(self) -> None:
        """Delete what the stack made, whatever it takes."""
        with self.engine() as engine, suppress(EngineError):
            engine.destroy(exclude_protected=True)


@contextmanager
def later(seconds: float, call: Callable[[], Any]) -> Iterator[None]:
    """Do something while the block runs; its failure comes before one of the block, which it may have caused."""

    def run() -> None:
        time.sleep(seconds)
        call()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(run)
        try:
            yield
        finally:
            done.result()


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Path:
    """The kubeconfig of a running API server: HPCTL_TEST_KUBECONFIG, else the session's sandbox."""
    given = os.environ.get("HPCTL_TEST_KUBECONFIG")
    return Path(given) if given else Path(request.getfixturevalue("sandbox").kubeconfig)


@pytest.fixture(scope="session")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OfflineProvider]:
    """One provider process for the stacks of many tests: it serves one engine after another."""
    found = OfflineProvider("tests", tmp_path_factory.mktemp("provider") / "provider.log", adopt=False)
    yield found
    found.close()


@pytest.fixture
def project(tmp_path: Path, cluster: Path, provider: OfflineProvider) -> Iterator[Project]:
    """A project on the common provider process; its stack is destroyed afterwards."""
    found = Project(tmp_path, cluster, given_pulumi())
    env = {
        "PULUMI_DEBUG_PROVIDERS": f"kubernetes:{provider.port}",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }
    found.settings = replace(found.settings, kubernetes_provider="plugin", env=env)
    yield found
    found.clean()


@pytest.fixture
def own_project(tmp_path: Path, cluster: Path) -> Iterator[Project]:
    """A project whose engine starts and ends a provider of its own; its stack is destroyed afterwards."""
    found = Project(tmp_path, cluster, given_pulumi())
    yield found
    found.clean()


@pytest.fixture
def widgets(cluster: Path) -> str:
    """A custom resource definition with validation, defaults and a status; returns the path of its API."""
    api = connect(str(cluster), "", "")
    with suppress(ApiError):
        api.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(ApiError):
            api.request("GET", "/apis/test.example.com/v1/widgets")
            return "/apis/test.example.com/v1"
        time.sleep(0.1)
    raise AssertionError("the test's CRD is not served")


def given_pulumi() -> Path:
    """The engine's binary: HPCTL_PULUMI, else what the sandbox's toolchain has built."""
    if os.environ.get("HPCTL_PULUMI"):
        return Path(os.environ["HPCTL_PULUMI"])
    from sandbox.progress import SilentProgress
    from sandbox.toolchain import pulumi_binary

    return pulumi_binary(SilentProgress())


WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.test.example.com"},
    "spec": {
        "group": "test.example.com",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {"type": "integer"},
                                    "fixed": {
                                        "type": "string",
                                        "x-kubernetes-validations": [
                                            {"rule": "self == oldSelf", "message": "field is immutable"}
                                        ],
                                    },
                                    "memory": {"x-kubernetes-int-or-string": True},
                                    "parts": {
                                        "type": "array",
                                        "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                                    },
                                    "colour": {"type": "string", "default": "grey"},
                                },
                            },
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}
