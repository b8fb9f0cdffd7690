"""The shape that all manifests share."""

from collections.abc import Mapping
from typing import Any

Manifest = dict[str, Any]
"""A Kubernetes object as its API takes it: plain maps, lists, texts and numbers."""

KUEUE = "kueue.x-k8s.io/v1beta2"
"""Served from Kueue 0.15 on and stored from 0.16; v1beta1 is gone in 0.20."""


def manifest(
    api_version: str,
    kind: str,
    name: str,
    *,
    namespace: str | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **body: Any,
) -> Manifest:
    """An object; `body` holds the fields beside its metadata."""
    metadata: dict[str, Any] = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = dict(labels)
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
