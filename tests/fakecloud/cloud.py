# ruff: noqa: A002 - what is matched or declared has a type and an id
"""The fake cloud: providers on loopback ports around one world that outlives engine runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Any, Final, Literal, Self

import grpc
from pulumi.runtime.proto import provider_pb2_grpc

from fakecloud.calls import MUTATING, Call, Fault, Recorder
from fakecloud.world import Place, Thing, World

OnQuota = Callable[[str, dict[str, Any]], None]
"""Gets ``create``, ``update`` or ``delete`` and the quota's properties in CloudFormation's spelling."""
_THREADS: Final = 64
_LIMITS: Final = [
    ("grpc.max_receive_message_length", 1 << 29),
    ("grpc.max_send_message_length", 1 << 29),
    ("grpc.so_reuseport", 0),
]
ADDON_VERSIONS: Final = {
    "vpc-cni": "v1.20.4-eksbuild.1",
    "kube-proxy": "v1.33.5-eksbuild.2",
    "coredns": "v1.12.4-eksbuild.1",
    "eks-pod-identity-agent": "v1.3.9-eksbuild.3",
    "cert-manager": "v1.18.2-eksbuild.2",
    "amazon-sagemaker-hyperpod-taskgovernance": "v1.6.0-eksbuild.1",
}


class FakeCloud:
    """An AWS account as far as Pulumi's providers ``aws``, ``aws-native``, ``eks`` and ``kubernetes`` show it.

    A context manager: entering starts the providers, leaving stops them; what exists and what was called stays. ``kubeconfig``
    (path or content) is the cluster that every EKS cluster hands out. ``dependency_chart`` is a shell pattern, in lower case, for
    the Helm release (its name, or the last part of its chart) without which a HyperPod cluster is refused; empty for none.
    ``on_compute_quota`` stands for what the task governance add-on does in the cluster: by default, with a kubeconfig, the
    team's namespace. ``zones`` is the number of availability zones of a region, at most six.
    """

    def __init__(
        self,
        kubeconfig: str = "",
        *,
        account: str = "123456789012",
        region: str = "us-west-2",
        dependency_chart: str = "*hyperpod*",
        on_compute_quota: OnQuota | Literal["namespaces"] | None = "namespaces",
        zones: int = 4,
    ) -> None:
        self.kubeconfig = kubeconfig
        self.account = account
        self.world = World()
        self.world.dependency_chart = dependency_chart
        self.recorder = Recorder()
        self.place = self.place_in(region, account)
        self.zone_letters = "abcdef"[:zones]
        self.addon_versions = dict(ADDON_VERSIONS)
        self._create_failed: list[str] = []
        self._lock = threading.Lock()
        self._servers: list[Any] = []
        self._ports: dict[str, int] = {}
        self._on_quota = self._quota_hook(on_compute_quota)

    def _quota_hook(self, given: OnQuota | Literal["namespaces"] | None) -> OnQuota | None:
        if given != "namespaces":
            return given
        if not self.kubeconfig:
            return None
        from fakecloud.namespaces import TeamNamespaces

        return TeamNamespaces(self.kubeconfig)

    def place_in(self, region: str, account: str = "") -> Place:
        """The account in a region, in the partition that the region is of."""
        prefix = region.partition("-")[0]
        partition = "aws-cn" if prefix == "cn" else "aws-us-gov" if region.startswith("us-gov-") else "aws"
        return Place(partition, region, account or self.account)

    # -- servers ---------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        from fakecloud.aws import Aws
        from fakecloud.eks import EksProvider
        from fakecloud.kube import KubeProvider
        from fakecloud.native import Native
        from fakecloud.provider import FakeProvider

        self._serve("aws", FakeProvider(self, "aws", Aws(self)))
        self._serve("aws-native", FakeProvider(self, "aws-native", Native(self)))
        self._serve("eks", EksProvider(self))
        self._serve("kubernetes", KubeProvider(self))
        return self

    def _serve(self, package: str, servicer: Any) -> None:
        server = grpc.server(ThreadPoolExecutor(_THREADS), options=_LIMITS)
        provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
        self._ports[package] = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self._servers.append(server)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for fault in self.recorder.faults:
            fault.release()
        for server in self._servers:
            server.stop(grace=None)
        self._servers.clear()

    @property
    def debug_providers(self) -> str:
        """The value of PULUMI_DEBUG_PROVIDERS."""
        return ",".join(f"{package}:{port}" for package, port in self._ports.items())

    @property
    def env(self) -> dict[str, str]:
        """What an engine needs in its environment to use these providers and to look for no others."""
        return {"PULUMI_DEBUG_PROVIDERS": self.debug_providers, "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true"}

    # -- what happened ---------------------------------------------------------------------------------------------------

    @property
    def calls(self) -> Sequence[Call]:
        """All calls so far, previews included, in the order in which they began."""
        return list(self.recorder.calls)

    def find(self, op: str = "*", type: str = "*", name: str = "*", *, preview: bool | None = False) -> list[Call]:
        """The calls that match these shell patterns; ``preview`` None for both sorts."""
        return [
            one
            for one in self.recorder.calls
            if fnmatchcase(one.op, op)
            and fnmatchcase(one.type, type)
            and fnmatchcase(one.name, name)
            and preview in (None, one.preview)
        ]

    def one(self, op: str = "*", type: str = "*", name: str = "*") -> Call:
        """The only call that matches. Raises AssertionError if there are none or several."""
        found = self.find(op, type, name)
        assert len(found) == 1, f"{len(found)} calls match {op} {type} {name}: {[call.name for call in found]}"
        return found[0]

    def changes(self) -> list[Call]:
        """The calls that change things, without previews."""
        return [one for one in self.recorder.calls if one.op in MUTATING and not one.preview]

    def forget_calls(self) -> None:
        """Begin the record anew; what exists stays."""
        self.recorder.calls.clear()

    def check(self, token: str, inputs: dict[str, Any]) -> list[str]:
        """What the providers' Check has against a resource's inputs, without an engine: ``path: reason`` of each failure."""
        from fakecloud.aws import Aws
        from fakecloud.native import Native
        from fakecloud.provider import Asked, Instance

        backend = Native(self) if token.startswith("aws-native:") else Aws(self)
        asked = Asked(Instance(self.place), token, f"urn:pulumi:check::check::{token}::check", "check")
        return [f"{path}: {reason}" for path, reason in backend.check(asked, inputs, {}, b"")[1]]

    # -- what exists -----------------------------------------------------------------------------------------------------

    def existing(self, noun: str, id: str, **properties: Any) -> Thing:
        """Declare something that was there before: its noun, its identifier, and properties in the SDK's spelling.

        Nouns are those of the tables in ``types_*.py``: ``vpc``, ``subnet``, ``security group``, ``security group rule``
        (``status`` is ``ingress`` or ``egress``), ``role``, ``bucket``, ``key``, ``eks cluster`` (``nodes`` is their number),
        ``hyperpod cluster`` (CloudFormation's spelling), ``helm release`` and others. What has a name has it as identifier; an
        ARN is made up unless given. Raises LookupError for a property that names what is not declared.
        """
        from fakecloud.foreign import declare

        return declare(self, noun, id, properties)

    def things(self, noun: str = "") -> list[Thing]:
        """What exists, of one kind or all; not what was declared as existing before."""
        return [one for one in self.world if not one.foreign and noun in ("", one.noun)]

    def lose(self, thing: Thing) -> None:
        """Take something away behind the engine's back."""
        self.world.forget(thing)

    # -- faults ----------------------------------------------------------------------------------------------------------

    def fail(self, *, nth: int = 1, times: int = 1, op: str = "", type: str = "*", name: str = "*", after: bool = False) -> Fault:
        """Let matching calls fail; see :class:`fakecloud.calls.Fault`."""
        return self._arm(Fault("fail", nth, times, op, type, name, after))

    def throttle(self, *, nth: int = 1, times: int = 1, op: str = "", type: str = "*", name: str = "*") -> Fault:
        """Let matching calls fail with ThrottlingException, as after a provider's last retry."""
        return self._arm(Fault("throttle", nth, times, op, type, name))

    def hang(self, *, nth: int = 1, times: int = 1, op: str = "", type: str = "*", name: str = "*", after: bool = False) -> Fault:
        """Let matching calls not return before they are released, cancelled, or their engine is gone."""
        return self._arm(Fault("hang", nth, times, op, type, name, after))

    def _arm(self, fault: Fault) -> Fault:
        self.recorder.faults.append(fault)
        return fault

    def heal(self) -> None:
        """Take all faults away and release what hangs."""
        for fault in self.recorder.faults:
            fault.release()
        self.recorder.faults.clear()
        self._create_failed.clear()

    def create_failed(self, name: str = "*") -> None:
        """Let the next create of a matching ``aws-native`` resource (by logical name) end in the status CreateFailed.

        It exists; the engine is told that its initialisation failed and keeps it; updates of a quota are refused, and only
        deleting it helps. That Cloud Control names the identifier with such a failure, so that the provider can keep it, is an
        assumption.
        """
        with self._lock:
            self._create_failed.append(name)

    def takes_create_failed(self, name: str) -> bool:
        """Whether this create is to end so; each order is used once."""
        with self._lock:
            found = next((one for one in self._create_failed if fnmatchcase(name, one)), None)
            if found is not None:
                self._create_failed.remove(found)
            return found is not None

    def changed(self, noun: str, op: str, thing: Thing) -> None:
        """Called by the providers after a change that took effect."""
        if noun == "compute quota" and self._on_quota is not None:
            self._on_quota(op, dict(thing.properties))
