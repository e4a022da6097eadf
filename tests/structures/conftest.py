"""Every test of the structures runs three times: with the C kernels, with PyTorch alone, and as on a GPU."""

from __future__ import annotations

import pytest

from hyperspan.structures import native, segmental


@pytest.fixture(autouse=True, params=["native", "torch", "dense"], scope="module")
def engine(request: pytest.FixtureRequest):
    if request.param == "native" and native.library is None:
        pytest.skip("the C kernels are not compiled: install hyperspan where a C compiler is")
    library = native.library
    if request.param != "native":
        native.library = None
    if request.param == "dense":
        segmental.DENSE_ON.add("cpu")
    yield request.param
    native.library = library
    segmental.DENSE_ON.discard("cpu")
