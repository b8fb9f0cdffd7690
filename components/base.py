"""What all components share: type tokens, children's names and options, and the objects that they declare."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pulumi

SEPARATOR = "/"
"""Between the parts of a logical name: a hyphen would let cluster `a`, team `b-c` and cluster `a-b`, team `c` coincide."""


class KubernetesObject(pulumi.CustomResource):
    """Any Kubernetes object, from its manifest.

    In place of pulumi_kubernetes' own classes: its CustomResource takes only `metadata` and `spec` (roles, bindings and priority
    classes have other fields) and spells a Namespace's type `kubernetes:v1:Namespace`, which the plugin refuses for want of a
    group; its typed classes cost 0.2-0.7 s of import for `core/v1` alone. The type tokens are those of the typed classes, so
    state, policies and `pulumi import` see the same resources.
    """

    def __init__(self, name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        group, _, version = manifest["apiVersion"].rpartition("/")
        super().__init__(f"kubernetes:{group or 'core'}/{version}:{manifest['kind']}", name, manifest, opts)


class PlatformComponent(pulumi.ComponentResource):
    """Base of all components. A subclass names its module: `class Team(PlatformComponent, module="kueue")`."""

    _token: ClassVar[str]

    def __init_subclass__(cls, *, module: str) -> None:
        super().__init_subclass__()
        cls._token = f"hyperpod:{module}:{cls.__name__}"

    def __init__(self, name: str, inputs: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        """`inputs` are what state and policy packs shall see of the component: small, plain, no secrets."""
        super().__init__(self._token, name, inputs, opts)

    def child_name(self, suffix: str) -> str:
        """A child's logical name, prefixed by the component's own."""
        return f"{self.pulumi_resource_name}{SEPARATOR}{suffix}"

    def child_options(self, **options: Any) -> pulumi.ResourceOptions:
        """A child's options. Built anew, never merged from the component's own: its aliases would reach the children."""
        return pulumi.ResourceOptions(parent=self, **options)

    def declare(self, suffix: str, manifest: Mapping[str, Any], **options: Any) -> KubernetesObject:
        """Declare a Kubernetes object as a child; `options` are those of pulumi.ResourceOptions."""
        return KubernetesObject(self.child_name(suffix), manifest, self.child_options(**options))

    def finish(self, outputs: Mapping[str, Any] | None = None) -> None:
        """Complete the component, as its last act.

        Raises ValueError for a child whose name lacks the component's prefix: children of another component of the same type may
        have that name too, and the engine would refuse both.
        """
        prefix = self.child_name("")
        strays = sorted(c.pulumi_resource_name for c in self._childResources if not c.pulumi_resource_name.startswith(prefix))
        if strays:
            raise ValueError(f"children of {self.pulumi_resource_name} must be named {prefix}…: {', '.join(strays)}")
        self.register_outputs(dict(outputs or {}))
