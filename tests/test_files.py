"""Files that are written beside their place and then moved there, and errors whose text is one printable line."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.config import Config
from hyperspan.errors import HyperspanError, InputError
from hyperspan.files import Target


def written_text(path: Path) -> None:
    with Target(str(path), force=True).open() as stream:
        stream.write("Ada")


def written_tensors(path: Path) -> None:
    torch = pytest.importorskip("torch")
    path.with_name(f".{path.name}.new").write_bytes(b"left by a process that was killed")
    import_module("hyperspan.runtime.tensors").write_tensors({"a": torch.zeros(2)}, path)


@pytest.fixture
def narrow() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are others there")
@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("write", [written_text, written_tensors])
def test_a_written_file_has_usual_permissions_without_a_change_for_other_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None]
) -> None:
    changed: list[int] = []
    monkeypatch.setattr(os, "umask", lambda mask: changed.append(mask) or 0o027)
    write(tmp_path / "file")
    monkeypatch.undo()
    assert changed == []
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("rest", ["", "b" * 100_000])
def test_half_a_surrogate_pair_is_named_and_leaves_no_file(tmp_path: Path, rest: str) -> None:
    def write() -> None:
        with Target(str(tmp_path / "file")).open() as stream:
            stream.write("Ada")
            stream.write(f"\ud800{rest}")

    with pytest.raises(InputError, match=r"UTF-8 cannot hold the character '.ud800'; remove lone surrogates"):
        write()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder in which nobody may write")
def test_target_names_the_file_that_cannot_be_written() -> None:
    """Not the temporary file that is written first."""
    with pytest.raises(OSError) as raised, Target("/proc/found.jsonl").open():  # noqa: PT011
        pass
    assert raised.value.filename == "/proc/found.jsonl"


@given(st.text())
def test_hyperspan_error_message_is_one_printable_line(text: str) -> None:
    message = str(HyperspanError(text))
    assert len(message.splitlines()) <= 1
    message.encode("utf-8")


def test_override_error_is_one_line_for_a_key_with_a_line_break() -> None:
    with pytest.raises(InputError) as caught:
        Config().override(["g\n\x1b[31m.="])
    assert "\n" not in str(caught.value) and "\x1b" not in str(caught.value)
