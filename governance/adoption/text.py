"""Declarations as YAML: block style, what fits on a line in braces, and every word quoted that might be read as anything else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

_PLAIN = re.compile(r"[A-Za-z@][A-Za-z0-9_./@-]*\Z")
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))
_WIDTH = 120


class _Dumper(yaml.SafeDumper):
    """Without anchors: data that stands twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the library's signature
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    plain = _PLAIN.match(value) and value.lower() not in _WORDS and not value.startswith("@")
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else '"')


_Dumper.add_representer(str, _text)


def written(data: Mapping[str, Any], comment: str) -> str:
    """The file's text, below a comment."""
    body = yaml.dump(dict(data), Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=_WIDTH, allow_unicode=True)
    return f"# {comment}\n{body}"
