"""Plans to hold jobs against."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from declarations import planned, team
from job_orders import ENVIRONMENT, TEAMS, order_of

from config.findings import Finding
from governance.jobs.model import Resolved
from governance.jobs.resolve import resolve
from governance.model import Plan

Ordering = Callable[..., tuple[Resolved | None, list[Finding]]]


@pytest.fixture(scope="session")
def job_plan() -> Plan:
    return planned({name: team(text) for name, text in TEAMS.items()}, ENVIRONMENT)


@pytest.fixture(scope="session")
def ordering(job_plan: Plan) -> Ordering:
    return lambda **options: resolve(order_of(**options), job_plan)


@pytest.fixture(scope="session")
def placed(ordering: Ordering) -> Callable[..., Resolved]:
    """A job that nothing stands against."""

    def resolved(**options: Any) -> Resolved:
        job, found = ordering(**options)
        assert job is not None, found
        return job

    return resolved
