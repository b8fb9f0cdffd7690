"""Every rule that a finding may name: what it means, why it is there, what to do. The documentation's pages are made of these."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from config.rules.adoption import ADOPTION
from config.rules.backends import BACKENDS
from config.rules.clusters import CLUSTERS
from config.rules.eks import EKS
from config.rules.feasibility import FEASIBILITY
from config.rules.files import FILES
from config.rules.formats import FORMATS
from config.rules.hyperpod import HYPERPOD
from config.rules.instance_groups import INSTANCE_GROUPS
from config.rules.jobs import JOBS
from config.rules.model import Category, Rule
from config.rules.multikueue import MULTI_CLUSTER
from config.rules.network import NETWORK
from config.rules.ownership import OWNERSHIP
from config.rules.priorities import PRIORITIES
from config.rules.removal import REMOVAL
from config.rules.sharing import SHARING
from config.rules.stacks import STACKS
from config.rules.teams import TEAMS
from config.rules.topology import TOPOLOGY
from config.rules.traces import TRACES
from config.rules.values import VALUES
from config.rules.versions import VERSIONS
from config.rules.waivers import WAIVERS
from config.rules.workloads import WORKLOADS

CATEGORIES: tuple[Category, ...] = (
    FILES,
    VALUES,
    FORMATS,
    TEAMS,
    OWNERSHIP,
    SHARING,
    FEASIBILITY,
    PRIORITIES,
    TOPOLOGY,
    BACKENDS,
    ADOPTION,
    CLUSTERS,
    MULTI_CLUSTER,
    NETWORK,
    EKS,
    HYPERPOD,
    INSTANCE_GROUPS,
    VERSIONS,
    STACKS,
    REMOVAL,
    WORKLOADS,
    JOBS,
    TRACES,
    WAIVERS,
)
PAGES = "docs/checks"
"""The folder of the pages, one a category."""


@cache
def rules() -> Mapping[str, Rule]:
    """All rules by id."""
    return MappingProxyType({rule.id: rule for category in CATEGORIES for rule in category.rules})


@cache
def _pages() -> Mapping[str, str]:
    return {rule.id: f"{PAGES}/{category.name}.md#{rule.id}" for category in CATEGORIES for rule in category.rules}


def page_of(rule: str) -> str:
    """Where a rule is explained, below the project's folder; empty where there is no such rule."""
    return _pages().get(rule, "")
