"""Kubernetes: who may do what."""

from __future__ import annotations

from collections.abc import Iterator

from policies.model import Domain, Properties, items, part

RBAC = Domain("rbac", "Kubernetes access")
_GROUP = "kubernetes:rbac.authorization.k8s.io/v1:"
ROLES = (f"{_GROUP}Role", f"{_GROUP}ClusterRole")
BINDINGS = (f"{_GROUP}RoleBinding", f"{_GROUP}ClusterRoleBinding")
WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
WEBHOOKS = frozenset({"mutatingwebhookconfigurations", "validatingwebhookconfigurations"})


@RBAC.rule(
    "rbac-no-wildcards",
    "Roles name groups, resources and verbs",
    types=ROLES,
    severity="high",
    anchors=["CKV_K8S_49", "CIS 4.1.3", "kube-linter wildcard-in-rules"],
    remedy="Write out what is needed: a wildcard grows with every CRD that is installed.",
)
def no_wildcards(properties: Properties) -> Iterator[str]:
    for rule in items(properties, "rules"):
        for key in ("apiGroups", "resources", "verbs"):
            if "*" in items(rule, key):
                yield f"a rule has `*` in {key}"


@RBAC.rule(
    "rbac-no-cluster-admin",
    "Nobody is bound to cluster-admin",
    types=BINDINGS,
    severity="critical",
    anchors=["CIS 4.1.1", "kube-linter cluster-admin-role-binding"],
    remedy="Administrators come in by an EKS access entry; everybody else gets a role of their own.",
)
def no_cluster_admin(properties: Properties) -> Iterator[str]:
    if part(properties, "roleRef").get("name") == "cluster-admin":
        yield "the binding gives cluster-admin"
    for subject in items(properties, "subjects"):
        if subject.get("name") in {"system:anonymous", "system:unauthenticated", "system:authenticated"}:
            yield f"{subject['name']} is everybody"


@RBAC.rule(
    "rbac-no-escalation",
    "No role lets its holder give itself more",
    types=ROLES,
    severity="critical",
    anchors=["CKV_K8S_157", "CKV_K8S_158", "CIS 4.1.8"],
    remedy="Leave `escalate`, `bind` and `impersonate` to administrators.",
)
def no_escalation(properties: Properties) -> Iterator[str]:
    for rule in items(properties, "rules"):
        found = sorted({"escalate", "bind", "impersonate"} & set(items(rule, "verbs")))
        if found:
            yield f"a rule has the verb {', '.join(found)}"


@RBAC.rule(
    "rbac-no-webhooks",
    "No role changes admission webhooks",
    types=ROLES,
    severity="high",
    anchors=["CKV_K8S_155", "CIS 4.1.11"],
    remedy="Whoever changes a webhook sees and changes every object: leave it to administrators.",
)
def no_webhooks(properties: Properties) -> Iterator[str]:
    for rule in items(properties, "rules"):
        if WEBHOOKS & set(items(rule, "resources")) and WRITES & set(items(rule, "verbs")):
            yield "a rule changes admission webhooks"


@RBAC.rule(
    "rbac-no-secrets",
    "Roles of teams don't read secrets",
    types=ROLES,
    severity="medium",
    anchors=["CIS 4.1.2", "kube-linter access-to-secrets"],
    remedy="Pods use secrets by name without their authors reading them.",
)
def no_secrets(properties: Properties) -> Iterator[str]:
    for rule in items(properties, "rules"):
        if "secrets" in items(rule, "resources") and {"get", "list", "watch"} & set(items(rule, "verbs")):
            yield "a rule reads secrets"
