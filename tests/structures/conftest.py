"""What kernels compute runs twice: in C, and by the formulas that torch or NumPy runs."""

from __future__ import annotations

import pytest

from hyperspan import kernels
from hyperspan.kernels import libraries

WITH_ENGINES = {
    "segmental",
    "segmental, arrays",
    "discontinuous, arrays",
    "segmental, untied",
    "mention hypergraph",
    "joint",
    "joint, untied",
}
"""The structures and subjects that engines make a difference to."""
FILES = {
    "test_all_structures.py",
    "test_tensors.py",
    "test_partial.py",
    "test_segmental.py",
    "test_losses.py",
    "test_risk.py",
    "test_joint.py",
}


@pytest.fixture(autouse=True, params=["c", "reference"], scope="module")
def engine(request: pytest.FixtureRequest):
    if request.param == "c" and libraries.compiled().library is None:
        pytest.skip("the C kernels are not compiled: install hyperspan where a C compiler is")
    with kernels.only(request.param):
        yield request.param


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that no engine makes a difference to run once."""
    items[:] = [item for item in items if _is_wanted(item)]


def _is_wanted(item: pytest.Item) -> bool:
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    tested = parameters.get("structure") or parameters.get("subject", "segmental")
    matters = item.path.name in FILES and tested in WITH_ENGINES
    return matters or parameters.get("engine", "reference") == "reference"
