"""Files that are written beside their place and then moved there."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from hyperspan.errors import InputError
from hyperspan.files import Target

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions are others there")


def written_text(path: Path) -> None:
    with Target(str(path), force=True).open() as stream:
        stream.write("Ada")


def written_tensors(path: Path) -> None:
    torch = pytest.importorskip("torch")
    path.with_name(f".{path.name}.new").write_bytes(b"left by a process that was killed")
    import_module("hyperspan.nn.tensors").write_tensors({"a": torch.zeros(2)}, path)


@pytest.fixture
def narrow() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


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
