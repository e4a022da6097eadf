"""`hyperspan convert --fractions` as a user drives it."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from tests.support.process import call as hyperspan

EXAMPLES = Path(__file__).parents[2] / "src/hyperspan/corpora/examples"
FRACTIONS = ("--fractions", "80/10/10")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return Path(shutil.copy(EXAMPLES / "harbour.data", tmp_path / "mine.data"))


def test_convert_splits_into_a_folder(corpus: Path, tmp_path: Path) -> None:
    result = hyperspan("convert", "mine.data", "mine-split", *FRACTIONS, cwd=tmp_path)
    assert result.returncode == 0 and result.stdout == "", result.stderr
    lines = [line.split() for line in result.stderr.splitlines()]
    assert lines[0] == ["train", "dev", "test", "all"] and lines[2] == ["sentences", "19", "2", "3", "24"]
    assert "wrote mine-split/train.data, mine-split/dev.data, mine-split/test.data" in result.stderr
    parts = [
        (tmp_path / "mine-split" / f"{part}.data").read_text(encoding="utf-8") for part in ("train", "dev", "test")
    ]
    assert sorted("".join(parts).splitlines()) == sorted(corpus.read_text(encoding="utf-8").splitlines())
    again = hyperspan("convert", "mine.data", "mine-split", *FRACTIONS, cwd=tmp_path)
    assert again.returncode == 2 and "--force" in again.stderr and len(again.stderr.splitlines()) == 1
    forced = hyperspan("convert", "mine.data", "mine-split", *FRACTIONS, "--force", cwd=tmp_path)
    assert forced.returncode == 0 and (tmp_path / "mine-split/train.data").read_text(encoding="utf-8") == parts[0]


def test_convert_splits_by_fractions_formats_and_standard_input(corpus: Path, tmp_path: Path) -> None:
    two = hyperspan("convert", str(corpus), str(tmp_path / "two"), "--fractions", "75/25", "-f", "brat")
    assert two.returncode == 0 and "read as four-lines, written as brat" in two.stderr, two.stderr
    assert sorted(path.name for path in (tmp_path / "two").iterdir()) == ["dev", "train"]
    assert len(list((tmp_path / "two" / "dev").glob("*.ann"))) == 6
    three = ("--fractions", "0.5/0.2/0.3", "--seed", "7")
    folder = hyperspan("convert", str(tmp_path / "two" / "train"), str(tmp_path / "three"), *three)
    assert folder.returncode == 0 and (tmp_path / "three" / "test").is_dir(), folder.stderr
    text = corpus.read_text(encoding="utf-8")
    piped = hyperspan("convert", "-", str(tmp_path / "piped"), *FRACTIONS, stdin=text)
    assert piped.returncode == 0 and (tmp_path / "piped" / "dev.data").is_file(), piped.stderr
    packed = tmp_path / "mine.data.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert hyperspan("convert", str(packed), str(tmp_path / "packed"), *FRACTIONS).returncode == 0
    assert (
        gzip.decompress((tmp_path / "packed" / "dev.data.gz").read_bytes())
        == (tmp_path / "piped" / "dev.data").read_bytes()
    )
