"""What all tests share. Standing here, it also puts this folder on the path: `import strategies`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

# Without the phase that explains a failure: it traces every line, for minutes.
_PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
_SLOW_IS_FINE = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture)

# The same examples on every run, so that a test run says something about the change at hand;
# HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile(
    "default", deadline=None, derandomize=True, max_examples=60, phases=_PHASES, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile("explore", deadline=None, max_examples=1500, phases=_PHASES, suppress_health_check=_SLOW_IS_FINE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
