"""Rules that the API server enforces."""

import pulumi

from components.base import KubernetesObject, PlatformComponent
from components.governance.kueue.manifests import admission as manifests
from governance.model import ClusterPlan


class AdmissionRules(PlatformComponent, module="kueue"):
    """Each rule is a policy and its binding."""

    flavor_guard: KubernetesObject
    """In force before any queue is touched, and until all are gone."""
    bindings: list[KubernetesObject]
    """What puts the rules into force."""

    def __init__(self, name: str, cluster: ClusterPlan, opts: pulumi.ResourceOptions) -> None:
        super().__init__(name, {"cluster": cluster.name}, opts)
        found: dict[str, KubernetesObject] = {}
        for policy, binding in manifests.rules(cluster):
            rule = policy["metadata"]["name"]
            found[rule] = self.declare(f"{rule}-binding", binding, depends_on=[self.declare(rule, policy)])
        self.flavor_guard = found[manifests.FLAVOR_GUARD]
        self.bindings = list(found.values())
        self.finish()
