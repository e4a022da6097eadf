"""How property tests run: no test measures time, and on CI (the variable CI is set) every run draws the same examples.

And what tests in several folders share. Where the parent ignores SIGINT (``make test &`` in a script), processes would
inherit that, and tests that interrupt them would wait for ever: here, and in what tests start, it interrupts again.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "hyperspan",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
    max_examples=int(os.environ.get("HYPERSPAN_EXAMPLES", "20")),  # make test-slow asks for many more
)
settings.load_profile("hyperspan")


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a pretrained encoder, so small that it is trained in a moment."""
    from tests.encoders.tiny import make_tiny

    return make_tiny(tmp_path_factory.mktemp("tiny"))
