"""One server for all tests of a file that only ask it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hyperspan.runtime.annotator import Annotator
from tests.serve.running import Running, running
from tests.support.models import small_model


@pytest.fixture(scope="package")
def annotator() -> Annotator:
    return Annotator(small_model())


@pytest.fixture(scope="package")
def server(annotator: Annotator) -> Iterator[Running]:
    with running(annotators={"small": annotator, "other": annotator}) as one:
        yield one
