"""Test files are modules without packages: pytest takes two of one name for the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_every_test_file_has_a_name_of_its_own() -> None:
    names = Counter(path.name for path in TESTS.rglob("*.py") if path.name not in ("__init__.py", "conftest.py"))
    assert [name for name, times in names.items() if times > 1] == []
