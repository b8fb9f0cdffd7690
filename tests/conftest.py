"""What all tests share. Standing here, it also puts this folder on the path: `import strategies`."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers

if TYPE_CHECKING:
    from sandbox.local import Sandbox

# A run in the background of a shell ignores Ctrl-C, and so would every program that it starts: tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The width of somebody's terminal (pytest's own workers have one of 80) would fold tables that tests look into.
os.environ.pop("COLUMNS", None)

# Without the phase that explains a failure: it traces every line, for minutes.
_PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
_SLOW_IS_FINE = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture)

# The same examples on every run, so that a test run says something about the change at hand; more of them in the long form;
# HYPOTHESIS_PROFILE=explore looks for new ones.
for _profile, _examples in (("default", 25), ("full", 100)):
    settings.register_profile(
        _profile, deadline=None, derandomize=True, max_examples=_examples, phases=_PHASES, suppress_health_check=_SLOW_IS_FINE
    )
settings.register_profile("explore", deadline=None, max_examples=1500, phases=_PHASES, suppress_health_check=_SLOW_IS_FINE)
_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")
settings.load_profile(_PROFILE)
if _PROFILE != "explore":
    # Hypothesis draws also from the constants of the modules that happen to be loaded, which depends on the tests before.
    providers._get_local_constants = lambda: providers._local_constants


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """A running sandbox with four nodes, one for the whole session; its tools come from the usual cache."""
    from sandbox_support import MANAGER, gpu_node

    from sandbox.local import Sandbox
    from sandbox.toolchain import SilentProgress

    one = Sandbox(f"test-{os.getpid()}")
    try:
        one.up(MANAGER, [gpu_node(number) for number in range(4)], SilentProgress())
        yield one
    finally:
        one.down()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests tell of the cases that they have covered; from workers too, whose own output nobody sees."""
    figures: Counter[str] = Counter()
    said: list[str] = []
    for report in terminalreporter.getreports(""):
        for name, lines in getattr(report, "user_properties", ()) if report.when == "teardown" else ():
            said.extend(lines if name == "coverage" else ())
            figures.update(dict(lines) if name == "verdicts" else {})
    if said or figures:
        terminalreporter.section("cases of the checks against the servers")
        for words, number in sorted(figures.items()):
            terminalreporter.line(f"{number:6} {words}")
        for line in said:
            terminalreporter.line(line)
