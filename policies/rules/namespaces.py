"""Kubernetes: namespaces and what keeps them apart."""

from __future__ import annotations

from collections.abc import Iterator

from policies.model import Domain, Properties, Resource, Stack, Violation, part

NAMESPACES = Domain("namespaces", "Namespaces")
NAMESPACE, QUOTA, LIMITS = "kubernetes:core/v1:Namespace", "kubernetes:core/v1:ResourceQuota", "kubernetes:core/v1:LimitRange"
NETWORK_POLICY = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
POD_SECURITY = "pod-security.kubernetes.io/enforce"


@NAMESPACES.rule(
    "namespace-not-default",
    "Nothing lives in the namespace `default`",
    types=["kubernetes:*"],
    severity="medium",
    anchors=["CKV_K8S_21", "CIS 4.5.2", "kube-linter use-namespace"],
    remedy="Give `metadata.namespace`.",
)
def not_default(properties: Properties) -> Iterator[str]:
    if part(properties, "metadata").get("namespace") == "default" or properties.get("namespace") == "default":
        yield "it lives in the namespace `default`, which has no owner"


@NAMESPACES.stack_rule(
    "namespace-pod-security",
    "Namespaces refuse privileged pods",
    severity="high",
    level="advisory",  # what teams' images need is theirs to find out first: `warn` before `enforce`
    anchors=["CIS 4.2.1", "CIS 4.2.2", "CIS 4.2.3", "CIS 4.2.4", "CIS 4.2.5"],
    remedy=f"Set the label `{POD_SECURITY}` to `baseline` or `restricted`.",
)
def pod_security(stack: Stack) -> Iterator[Violation]:
    for namespace in stack.of(NAMESPACE):
        level = part(part(namespace.properties, "metadata"), "labels").get(POD_SECURITY)
        if level not in {"baseline", "restricted"}:
            yield Violation(namespace, "a pod in it may take over its node" if level is None else f"Pod Security is `{level}`")


@NAMESPACES.stack_rule(
    "namespace-network-policy",
    "Namespaces deny what no policy allows",
    severity="medium",
    level="advisory",  # it binds only where the network add-on enforces policies, which EKS's doesn't unless told to
    anchors=["CIS 4.3.2"],
    remedy="Declare a NetworkPolicy for all pods of the namespace, and the network add-on with policies on.",
)
def network_policy(stack: Stack) -> Iterator[Violation]:
    closed = {_in(one) for one in stack.of(NETWORK_POLICY) if not part(part(one.properties, "spec"), "podSelector")}
    for namespace in stack.of(NAMESPACE):
        if _name(namespace) not in closed:
            yield Violation(namespace, "pods of every other team reach its pods")


@NAMESPACES.stack_rule(
    "namespace-limits",
    "Namespaces have limits beside Kueue's",
    severity="low",
    level="advisory",  # Kueue's quota counts what pods ask for; what asks for nothing is not counted
    anchors=["CIS 4.5.1"],
    remedy="Declare a ResourceQuota for counts of objects, or a LimitRange with default requests.",
)
def limits(stack: Stack) -> Iterator[Violation]:
    limited = {_in(one) for one in stack.of(QUOTA, LIMITS)}
    for namespace in stack.of(NAMESPACE):
        if _name(namespace) not in limited:
            yield Violation(namespace, "a pod that asks for nothing counts for nothing, and uses what it likes")


def _name(one: Resource) -> str:
    return str(part(one.properties, "metadata").get("name", one.name))


def _in(one: Resource) -> str:
    return str(part(one.properties, "metadata").get("namespace", "default"))
