"""Error messages escape control characters in quoted input."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.config import Config
from hyperspan.errors import HyperspanError, InputError
from hyperspan.files import Target


@given(st.text())
def test_hyperspan_error_message_is_one_printable_line(text: str) -> None:
    message = str(HyperspanError(text))
    assert len(message.splitlines()) <= 1
    message.encode("utf-8")


def test_override_error_is_one_line_for_a_key_with_a_line_break() -> None:
    with pytest.raises(InputError) as caught:
        Config().override(["g\n\x1b[31m.="])
    assert "\n" not in str(caught.value) and "\x1b" not in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder in which nobody may write")
def test_target_names_the_file_that_cannot_be_written() -> None:
    """Not the temporary file that is written first."""
    with pytest.raises(OSError) as raised, Target("/proc/found.jsonl").open():  # noqa: PT011
        pass
    assert raised.value.filename == "/proc/found.jsonl"
