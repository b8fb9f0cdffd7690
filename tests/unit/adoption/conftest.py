"""Where the adoptions of the tests go."""

from __future__ import annotations

from pathlib import Path

import pytest

from live.adoption.adopting import Target


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return Target(tmp_path, "prod", "prod")
