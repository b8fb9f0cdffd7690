"""Kubernetes objects of the plan, as plain manifests. Nothing here imports Pulumi: components register these very maps."""

from components.governance.kueue.manifests import access, admission, chart, cluster, multikueue, team
from components.governance.kueue.manifests.objects import Manifest

__all__ = ["Manifest", "access", "admission", "chart", "cluster", "multikueue", "team"]
