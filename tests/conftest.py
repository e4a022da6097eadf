"""How property tests run: no test measures time, and on CI (the variable CI is set) every run draws the same examples."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "hyperspan", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("hyperspan")
