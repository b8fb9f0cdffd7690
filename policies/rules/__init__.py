"""The rules, by domain."""

from policies.model import Domain, Rule
from policies.rules.account import ACCOUNT
from policies.rules.eks import EKS
from policies.rules.iam import IAM
from policies.rules.instances import INSTANCES
from policies.rules.keys import KEYS
from policies.rules.kueue import KUEUE
from policies.rules.namespaces import NAMESPACES
from policies.rules.network import NETWORK
from policies.rules.pods import PODS
from policies.rules.rbac import RBAC
from policies.rules.sagemaker import SAGEMAKER
from policies.rules.storage import STORAGE

DOMAINS: tuple[Domain, ...] = (
    EKS,
    NETWORK,
    IAM,
    STORAGE,
    KEYS,
    INSTANCES,
    ACCOUNT,
    RBAC,
    NAMESPACES,
    PODS,
    SAGEMAKER,
    KUEUE,
)
RULES: dict[str, Rule] = {rule.id: rule for domain in DOMAINS for rule in domain.rules}
"""By id."""
