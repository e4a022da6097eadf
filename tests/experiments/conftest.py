"""What tests of experiments leave behind: nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hyperspan.plugins import MODELS


@pytest.fixture(autouse=True, scope="module")
def _kinds() -> Iterator[None]:
    """The kinds of models that experiments register are forgotten after the tests of a file and their fixtures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MODELS, "built_in", MODELS.built_in)
        yield
