"""The variants of the compiled kernels that this processor can run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hyperspan import kernels
from hyperspan.kernels import libraries


@pytest.fixture(params=sorted(libraries.variants()))
def variant(request: pytest.FixtureRequest) -> Iterator[str]:
    with kernels.only("c", variant=request.param):
        yield request.param
