"""Requests to one Kubernetes API server: the official client's transport and credentials, retries, and errors as they are."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

CONNECTIONS: Final = 64
APPLY: Final = "application/apply-patch+yaml"
JSON: Final = "application/json"
JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
_RETRY_SECONDS: Final = (0.1, 0.2, 0.5, 1.0, 2.0)
_CONNECT_SECONDS: Final = 5.0
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_PASSING: Final = frozenset({429, 502, 503, 504})


@dataclass
class ApiError(Exception):
    """An answer of the API server other than success."""

    status: int
    reason: str
    message: str
    causes: list[dict[str, Any]] = field(default_factory=list)
    retried: bool = False
    """The request had been sent before without an answer, so what it asked for may have been done already."""

    def __str__(self) -> str:
        return self.message


class UnreachableError(Exception):
    """The API server cannot be reached, or its kubeconfig cannot be used; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer and the warnings that came with it."""

    body: dict[str, Any]
    warnings: tuple[str, ...] = ()


class Connection:
    """One API server, as one context of a kubeconfig reaches it. Safe to use from many threads."""

    def __init__(self, client: ApiClient, remember_down: float = 0.0) -> None:
        self._client = client
        self._remember_down = remember_down
        self._down: tuple[float, UnreachableError] | None = None
        self._host = str(client.configuration.host)
        self._auth_lock = threading.Lock()

    @property
    def host(self) -> str:
        """The server's URL."""
        return self._host

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
        timeout: float = 60.0,
        patience: int = len(_RETRY_SECONDS),
    ) -> Answer:
        """Send a request; ``timeout`` in seconds is for one attempt, ``patience`` the number of repetitions.

        Repeated, with growing pauses: refused and broken connections, 429 (the server's pause is kept to, up to 5 s), 502 to 504,
        and webhooks that do not answer yet. Raises ``ApiError``, or ``UnreachableError`` after the last repetition.
        """
        self._raise_if_down()
        url = f"{self._host}{path}{'?' + urlencode(query) if query else ''}"
        broken = False
        for attempt in range(patience + 1):
            try:
                return self._send(method, url, body, content_type, timeout)
            except ApiError as error:
                error.retried = broken
                if attempt == patience or not is_passing(error.status, error.message):
                    raise
                pause = _RETRY_SECONDS[min(attempt, len(_RETRY_SECONDS) - 1)]
            except UnreachableError as error:
                if attempt == patience:
                    self._down = (time.monotonic() + self._remember_down, error)
                    raise
                broken = True
                pause = _RETRY_SECONDS[min(attempt, len(_RETRY_SECONDS) - 1)]
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _raise_if_down(self) -> None:
        """Many requests to a server that has just been found missing are not to wait for it one after the other."""
        if self._down is not None and time.monotonic() < self._down[0]:
            raise UnreachableError(str(self._down[1]))

    def _send(self, method: str, url: str, body: Any, content_type: str, timeout: float) -> Answer:
        import urllib3.exceptions

        headers = {"Accept": JSON, "User-Agent": "hpctl", **self._authorization()}
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            response = self._client.call_api(method, url, headers, body, _request_timeout=(_CONNECT_SECONDS, timeout))
            data = response.read()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise UnreachableError(f"{self._host} does not answer: {_cause(error)}") from error
        except Exception as error:  # the client reports TLS failures with an exception of its own
            raise UnreachableError(f"{self._host} cannot be used: {error}") from error
        if response.status >= 300:
            raise _error(response.status, response.reason, data)
        parsed = json.loads(data) if data else {}
        return Answer(parsed, tuple(_warning(text) for text in response.headers.getlist("Warning")))

    def _authorization(self) -> dict[str, str]:
        with self._auth_lock:  # an expired token is fetched anew here, by running the kubeconfig's command
            setting = self._client.configuration.auth_settings().get("BearerToken")
        return {"authorization": str(setting["value"])} if setting and setting["value"] else {}


def is_passing(status: int, message: str) -> bool:
    """Whether an answer other than success is worth asking again after a moment."""
    return status in _PASSING or (status == 500 and "failed calling webhook" in message)


def _cause(error: BaseException) -> str:
    reason = getattr(error, "reason", None)
    text = str(reason or error)
    return text.partition(": ")[2] or text


def _error(status: int, reason: str, data: bytes) -> ApiError:
    try:
        parsed = json.loads(data)
    except ValueError:
        parsed = {}
    if not isinstance(parsed, dict) or parsed.get("kind") != "Status":
        return ApiError(status, reason or "", data.decode(errors="replace").strip() or reason or f"status {status}")
    details = parsed.get("details") or {}
    return ApiError(status, parsed.get("reason") or "", parsed.get("message") or reason, details.get("causes") or [])


def _warning(header: str) -> str:
    """The text of a Warning header (``299 - "unknown field \\"spec.x\\""``)."""
    quoted = header.partition('"')[2].rpartition('"')[0]
    return quoted.replace('\\"', '"')


def kubeconfig_text(path_or_content: str) -> tuple[str, str]:
    """The text of a kubeconfig given by path or by content, and the folder its relative paths start from."""
    if "\n" not in path_or_content and not path_or_content.lstrip().startswith("{"):
        path = Path(path_or_content).expanduser()
        try:
            return path.read_text(encoding="utf-8"), str(path.parent)
        except OSError as error:
            raise UnreachableError(f"the kubeconfig {path} cannot be read: {error.strerror}") from error
    return path_or_content, ""


def parse_kubeconfig(text: str) -> dict[str, Any]:
    """A kubeconfig's content. Raises ``UnreachableError`` where it is no YAML map."""
    import yaml

    try:
        found = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both loaders are safe
    except yaml.YAMLError:
        found = None
    if not isinstance(found, dict):
        raise UnreachableError("the kubeconfig is not valid YAML (neither a readable file nor a kubeconfig's content)")
    return found


_IMPORT_LOCK: Final = threading.Lock()


def load_client() -> None:
    """Import the Kubernetes client. Its modules import each other, which deadlocks when two threads begin at different ends."""
    with _IMPORT_LOCK:
        from kubernetes.client import ApiClient, Configuration  # noqa: F401
        from kubernetes.config.kube_config import KubeConfigLoader  # noqa: F401


def connect(kubeconfig: str, context: str, cluster: str, *, remember_down: float = 0.0) -> Connection:
    """The connection that a kubeconfig (path or content; empty: the ambient one) describes.

    ``context`` and ``cluster`` override the kubeconfig's own choice where they are not empty. For ``remember_down`` seconds after
    a request that found no server, further ones fail at once. Nothing is sent yet. Raises UnreachableError.
    """
    return Connection(api_client(kubeconfig, context, cluster), remember_down)


def api_client(kubeconfig: str, context: str = "", cluster: str = "") -> ApiClient:
    """The official client for a kubeconfig, as in `connect`."""
    load_client()
    from kubernetes.client import ApiClient, Configuration
    from kubernetes.config.config_exception import ConfigException
    from kubernetes.config.kube_config import KUBE_CONFIG_DEFAULT_LOCATION, KubeConfigLoader, KubeConfigMerger

    settings = Configuration()
    settings.retries = False
    settings.connection_pool_maxsize = CONNECTIONS
    try:
        if kubeconfig:
            text, folder = kubeconfig_text(kubeconfig)
            config: Any = parse_kubeconfig(text)
            if cluster:
                _choose_cluster(config, context, cluster)
        else:
            config, folder = KubeConfigMerger(KUBE_CONFIG_DEFAULT_LOCATION).config, None
        KubeConfigLoader(config, active_context=context or None, config_base_path=folder).load_and_set(settings)
    except ConfigException as error:
        raise UnreachableError(f"the kubeconfig cannot be used: {error}") from error
    if urlsplit(settings.host).hostname in _LOOPBACK:
        settings.proxy = None  # the client would send even loopback requests to the proxy that the environment names
    return ApiClient(settings)


def _choose_cluster(config: dict[str, Any], context: str, cluster: str) -> None:
    wanted = context or config.get("current-context")
    for entry in config.get("contexts") or []:
        if entry.get("name") == wanted:
            entry["context"] = {**entry.get("context", {}), "cluster": cluster}
