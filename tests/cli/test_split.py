"""`hyperspan split` as a user drives it."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from tests.support.process import call as hyperspan
from tests.support.process import hyperspan as in_a_process

EXAMPLES = Path(__file__).parents[2] / "src/hyperspan/corpora/examples"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return Path(shutil.copy(EXAMPLES / "harbour.data", tmp_path / "mine.data"))


def test_split_writes_parts_beside_the_corpus(corpus: Path, tmp_path: Path) -> None:
    result = in_a_process("split", "mine.data", cwd=tmp_path)
    assert result.returncode == 0 and result.stdout == "", result.stderr
    lines = [line.split() for line in result.stderr.splitlines()]
    assert lines[0] == ["train", "dev", "test", "all"] and lines[2] == ["sentences", "19", "2", "3", "24"]
    assert "wrote mine-split/train.data, mine-split/dev.data, mine-split/test.data" in result.stderr
    parts = [
        (tmp_path / "mine-split" / f"{part}.data").read_text(encoding="utf-8") for part in ("train", "dev", "test")
    ]
    assert sorted("".join(parts).splitlines()) == sorted(corpus.read_text(encoding="utf-8").splitlines())
    again = hyperspan("split", "mine.data", cwd=tmp_path)
    assert again.returncode == 2 and "--force" in again.stderr and len(again.stderr.splitlines()) == 1
    forced = hyperspan("split", "mine.data", "--force", cwd=tmp_path)
    assert forced.returncode == 0 and (tmp_path / "mine-split/train.data").read_text(encoding="utf-8") == parts[0]


def test_split_takes_fractions_formats_and_standard_input(corpus: Path, tmp_path: Path) -> None:
    two = hyperspan("split", str(corpus), "-o", str(tmp_path / "two"), "--fractions", "75/25", "--to", "brat")
    assert two.returncode == 0 and "read as four-lines, written as brat" in two.stderr, two.stderr
    assert sorted(path.name for path in (tmp_path / "two").iterdir()) == ["dev", "train"]
    assert len(list((tmp_path / "two" / "dev").glob("*.ann"))) == 6
    folder = hyperspan("split", str(tmp_path / "two" / "train"), "--dev", "0.2", "--test", "0.3", "--seed", "7")
    assert folder.returncode == 0 and (tmp_path / "two" / "train-split" / "test").is_dir(), folder.stderr
    text = corpus.read_text(encoding="utf-8")
    assert "name one with --output" in hyperspan("split", "-", stdin=text).stderr
    piped = hyperspan("split", "-", "-o", str(tmp_path / "piped"), stdin=text)
    assert piped.returncode == 0 and (tmp_path / "piped" / "dev.data").is_file(), piped.stderr
    packed = tmp_path / "mine.data.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert hyperspan("split", str(packed), "-o", str(tmp_path / "packed")).returncode == 0
    assert (
        gzip.decompress((tmp_path / "packed" / "dev.data.gz").read_bytes())
        == (tmp_path / "piped" / "dev.data").read_bytes()
    )
