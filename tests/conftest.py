"""How tests run: how many at once, and property tests, of which none measures time and which draw the same examples in
every run on CI (the variable CI is set).

And what tests in several folders share. Where the parent ignores SIGINT (``make test &`` in a script), processes would
inherit that, and tests that interrupt them would wait for ever: here, and in what tests start, it interrupts again.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()  # until all is imported


collect_ignore = ["support/preloaded.py"]  # only the process that commands are forked from imports it
LONGEST = ("wheel", "page", "ray", "forked")
"""Groups of tests that a worker runs for a minute or more: one for each worker on two cores."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest groups come first, so that no worker is left with one at the end."""

    def rank(item: pytest.Item) -> int:
        marker = item.get_closest_marker("xdist_group")
        name = marker.args[0] if marker else ""
        return LONGEST.index(name) if name in LONGEST else len(LONGEST)

    items.sort(key=rank)


def pytest_collection_finish() -> None:
    """What was imported stays, so that the garbage collector need not look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """One for each thread of the processor. With one more, cores wait less, but what each worker imports costs more."""
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else os.cpu_count()


# Where only the exit status counts (tests/mutations.py), nobody reads the smallest example that fails.
UNREAD = {Phase.shrink, Phase.explain} if "HYPERSPAN_UNSHRUNK" in os.environ else set[Phase]()
settings.register_profile(
    "hyperspan",
    phases=[phase for phase in Phase if phase not in UNREAD],
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
    max_examples=int(os.environ.get("HYPERSPAN_EXAMPLES", "20")),  # make test-slow asks for many more
)
settings.load_profile("hyperspan")


@pytest.fixture(scope="session", autouse=True)
def repository() -> None:
    """Tests name files of the repository from its root, wherever they are started."""
    os.chdir(Path(__file__).parents[1])


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a pretrained encoder, so small that it is trained in a moment."""
    from tests.support.tiny import make_tiny

    return make_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small model. Whoever changes it copies it before."""
    from tests.support.models import saved, small_model

    return saved(small_model(), tmp_path_factory.mktemp("models") / "small")


@pytest.fixture(scope="session")
def parted_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model of discontinuous mentions."""
    from tests.support.coordination import coordination_model
    from tests.support.models import saved

    return saved(coordination_model(), tmp_path_factory.mktemp("models") / "parted")


@pytest.fixture(scope="session")
def named_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model that marks names."""
    from tests.support.marked_names import named_model
    from tests.support.models import saved

    return saved(named_model(), tmp_path_factory.mktemp("models") / "named")


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    """What a test enters here is left at its end."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One for all pages: playwright runs once in a process."""
    from playwright.sync_api import expect

    from tests.serve.page.reader import PATIENCE, browsing

    expect.set_options(timeout=PATIENCE)
    with browsing() as opened:
        yield opened
