# ruff: noqa: N802, ARG002 - method names and arguments are the protocol's
"""The project's program as the engine's language host: the same ``__main__.py`` that ``pulumi up`` runs, in this process."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import os
import runpy
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from sandbox.engine_errors import EngineError

_GC_THRESHOLD: Final = (100_000, 50, 100)
"""Registering resources makes many objects that live to the end; Python's own thresholds spend a third of the time on them."""

_ENGINE_GONE: Final = "resource monitor shut down"
"""How the SDK words a request that the engine no longer takes, as an exception without a type of its own."""

_LOOKUP_FAILED: Final = "invoke of "
"""How the SDK begins what a provider answers to a lookup, again in an exception without a type of its own."""


class Program:
    """Serves one run of ``__main__.py`` in ``folder`` on a loopback port (``--client``), with ``env`` added to the environment.

    ``error`` is the exception that the program raised itself, if it did; failures of resources are the engine's, not among them.
    """

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        import grpc
        from pulumi.runtime.proto import language_pb2_grpc

        self.error: BaseException | None = None
        self._folder = folder
        self._env = env
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server = grpc.server(ThreadPoolExecutor(4), options=[("grpc.max_receive_message_length", 1 << 29)])
        language_pb2_grpc.add_LanguageRuntimeServicer_to_server(_servicer(self), self._server)
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._abandon()
        self._server.stop(grace=None)

    def _abandon(self) -> None:
        """End a program that still runs though its engine has ended (after Ctrl-C): it would wait for answers for ever."""
        loop = self._loop
        if loop is None:
            return
        with suppress(RuntimeError):  # the loop has closed meanwhile
            loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loop)])

    def run(self, request: Any) -> str:
        """Run the program as the engine asks; returns what the engine shall report as its error."""
        from pulumi.runtime.proto import engine_pb2_grpc, resource_pb2_grpc

        with ExitStack() as stack:
            monitor = stack.enter_context(_channel(request.monitor_address))
            engine = stack.enter_context(_channel(request.args[0])) if request.args else None
            return self._run(
                request, resource_pb2_grpc.ResourceMonitorStub(monitor), engine and engine_pb2_grpc.EngineStub(engine)
            )

    def _run(self, request: Any, monitor: Any, engine: Any) -> str:
        from pulumi import runtime

        runtime.reset_options(
            project=request.project,
            monitor_address=monitor,
            engine_address=engine,
            stack=request.stack,
            parallel=request.parallel,
            preview=request.dryRun,
            organization=request.organization or "organization",
        )
        if request.config:
            runtime.set_all_config(dict(request.config), list(request.configSecretKeys))
        loop = self._loop = asyncio.new_event_loop()
        loop.set_default_executor(ThreadPoolExecutor(max(request.parallel, 1) * 4))
        loop.set_exception_handler(lambda _loop, _context: None)  # what fails in the background fails in the engine as well
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
        try:
            with _patient_collector(), _surroundings(self._folder, self._env):
                loop.run_until_complete(runtime.run_in_stack(self._main))
        except BaseException as error:  # noqa: BLE001 - whatever the program raises is the caller's to see
            return self._failed(error)
        finally:
            self._loop = None
            _end(loop)
        return ""

    def _main(self) -> None:
        runpy.run_path(str(self._folder / "__main__.py"), run_name="__main__")

    def _failed(self, error: BaseException) -> str:
        import grpc
        from pulumi.errors import RunError

        from config.findings import ConfigError

        if isinstance(error, SystemExit):
            self.error = EngineError(str(error.code)) if error.code else None
            return str(error.code or "")
        if isinstance(error, (grpc.RpcError, asyncio.CancelledError)) or _ENGINE_GONE in str(error):
            return "the engine has ended the program"  # because of an error of its own, which it reports
        if type(error) is Exception and str(error).startswith(_LOOKUP_FAILED):
            self.error = EngineError(str(error).rpartition("returned an error: ")[2])
        elif isinstance(error, ConfigError) or not isinstance(error, RunError):
            self.error = error
        return str(error) or type(error).__name__


def _servicer(program: Program) -> Any:
    from pulumi.runtime.proto import LanguageRuntimeServicer, language_pb2, plugin_pb2

    class Servicer(LanguageRuntimeServicer):
        def About(self, request: Any, context: Any) -> Any:
            return language_pb2.AboutResponse(executable=sys.executable, version=sys.version.partition(" ")[0])

        def GetRequiredPlugins(self, request: Any, context: Any) -> Any:
            return language_pb2.GetRequiredPluginsResponse()

        def GetRequiredPackages(self, request: Any, context: Any) -> Any:
            return language_pb2.GetRequiredPackagesResponse()

        def GetPluginInfo(self, request: Any, context: Any) -> Any:
            return plugin_pb2.PluginInfo()

        def Run(self, request: Any, context: Any) -> Any:
            return language_pb2.RunResponse(error=contextvars.copy_context().run(program.run, request))

    return Servicer()


def _channel(address: str) -> Any:
    """A connection to the engine that ends with the block.

    The SDK leaves its own open, and connections to one address share what they know of it: where an engine listens on a port of
    an earlier one, they would take it for gone as well.
    """
    import grpc

    options = [("grpc.max_receive_message_length", 1 << 29), ("grpc.use_local_subchannel_pool", 1)]
    return grpc.insecure_channel(address, options=options)


def _end(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what a failed program left running."""
    pending = asyncio.all_tasks(loop)
    for task in pending:
        task.cancel()
    if pending:
        with suppress(RuntimeError):
            loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
    loop.close()


@contextmanager
def _patient_collector() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*_GC_THRESHOLD)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def _surroundings(folder: Path, env: Mapping[str, str]) -> Iterator[None]:
    """What ``pulumi up`` gives a program: its folder as working directory and first on the path, and the environment."""
    before, path, kept = Path.cwd(), list(sys.path), {key: os.environ.get(key) for key in env}
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ.update(env)
    try:
        yield
    finally:
        os.chdir(before)
        sys.path[:] = path
        for key, value in kept.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
