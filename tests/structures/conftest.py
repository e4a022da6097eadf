"""Every test of the structures runs twice: with the C kernels, and with PyTorch alone."""

from __future__ import annotations

import pytest

from hyperspan.structures import native


@pytest.fixture(autouse=True, params=["native", "torch"], scope="module")
def engine(request: pytest.FixtureRequest):
    if request.param == "native" and native.library is None:
        pytest.skip("the C kernels are not compiled: install hyperspan where a C compiler is")
    library = native.library
    if request.param == "torch":
        native.library = None
    yield request.param
    native.library = library
