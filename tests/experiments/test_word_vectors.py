"""Word vectors of unlabelled text."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments.cli import make_single
from experiments.word_vectors import SkipgramRun, SkipgramSettings, train, write_vectors
from hyperspan.errors import HyperspanError, InputError
from hyperspan.files import Target
from hyperspan.nn.vectors import read_vectors

WORDS = ["Harbour", "ship-yard", "quay", "lock", "p53", "IL-2", "promoter", "kinase"]
FEW = SkipgramSettings(dimension=8, epochs=3, min_count=1, sample=0.0)


def vectors(*arguments: object) -> None:
    few = ["--dimension", "8", "--epochs", "3", "--sample", "0", "--threads", "1"]
    make_single(train)([*map(str, arguments), *few], standalone_mode=False)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Sentences of words of one kind."""
    chance = random.Random(1)
    lines = [" ".join(chance.choices(kind, k=8)) for kind in (WORDS[:4], WORDS[4:]) for _ in range(200)]
    (file := tmp_path / "made.txt").write_text("\n".join(lines), encoding="utf-8")
    return file


def test_vectors_are_read_as_word_vectors(texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gensim")
    (corpus := tmp_path / "corpus.txt").write_text("Kinase quark", encoding="utf-8")
    for name in ("vectors.npz", "vectors.vec.gz", "vectors.txt"):
        vectors(texts, "-o", tmp_path / name)
    assert "vectors of 8 numbers" in capsys.readouterr().err
    made, text, glove = (read_vectors(tmp_path / name) for name in ("vectors.npz", "vectors.vec.gz", "vectors.txt"))
    assert made.words == text.words == glove.words
    assert set(made.words) == {"harbour", "ship-yard", "quay", "lock", "p53", "il-2", "promoter", "kinase"}
    assert np.allclose(made.vectors, text.vectors, atol=1e-2) and np.array_equal(text.vectors, glove.vectors)

    row = {word: vector / np.linalg.norm(vector) for word, vector in zip(made.words, made.vectors, strict=True)}
    assert row["quay"] @ row["lock"] > row["quay"] @ row["kinase"]

    vectors(texts, "-o", tmp_path / "own.npz", "--scale", 0)
    own = read_vectors(tmp_path / "own.npz").vectors
    assert made.vectors.std() == pytest.approx(0.45, abs=1e-3) and own.std() != pytest.approx(0.45, abs=1e-2)
    assert np.allclose(own * (0.45 / own.std()), made.vectors, atol=1e-2)
    vectors(texts, "-o", tmp_path / "small.npz", "--components", 2, "--scale", 0)
    small = read_vectors(tmp_path / "small.npz").vectors
    variances = np.linalg.eigvalsh(np.cov(own.T, bias=True))[::-1]
    assert np.allclose(np.var(small, axis=0), variances[:2], rtol=1e-2)

    vectors(texts, "-o", tmp_path / "few.npz", "--most", 2, "--words", corpus)
    assert read_vectors(tmp_path / "few.npz").words == [*made.words[:2], "kinase"]
    vectors(texts, "-o", tmp_path / "cased.npz", "--cased", "--tokenizer", "words")
    assert set(read_vectors(tmp_path / "cased.npz").words) == set(WORDS)
    assert not list(tmp_path.glob("*.run"))


class StoppedError(Exception):
    """A run is stopped by its listener."""


def test_skipgram_resumes_to_the_same_bits(texts: Path, tmp_path: Path) -> None:
    pytest.importorskip("gensim")

    def stop(state: str, share: float) -> None:
        if share > 0.5:
            raise StoppedError

    whole = SkipgramRun([str(texts)], tmp_path / "whole.npz", FEW).train()
    run = SkipgramRun([str(texts)], tmp_path / "parts.npz", FEW)
    with pytest.raises(StoppedError):
        run.train(stop)
    assert not (tmp_path / "parts.npz").exists()
    for settings in ({}, {"resume": True}):
        with pytest.raises(HyperspanError, match="begin anew with --force"):
            SkipgramRun([str(texts)], tmp_path / "parts.npz", SkipgramSettings(dimension=9), **settings)
    resumed = SkipgramRun([str(texts)], tmp_path / "parts.npz", FEW, resume=True).train()
    assert whole[0] == resumed[0] and np.array_equal(whole[1], resumed[1])


def test_vectors_leaves_folders_of_others_alone_and_replaces_a_run_that_failed(texts: Path, tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    (notes := tmp_path / "a.npz.run").mkdir()
    (notes / "notes.md").write_text("mine", encoding="utf-8")
    for force in ([], ["--force"]):
        with pytest.raises(HyperspanError, match="has no run in it; move it away"):
            vectors(texts, "-o", tmp_path / "a.npz", *force)
    assert (notes / "notes.md").read_text(encoding="utf-8") == "mine"

    (texts.parent / "broken.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(HyperspanError, match="cannot be read as text"):
        vectors(texts.parent, "-o", tmp_path / "b.npz")
    (texts.parent / "broken.txt").unlink()
    vectors(texts.parent, "-o", tmp_path / "b.npz")
    assert (tmp_path / "b.npz").is_file() and not (tmp_path / "b.npz.run").exists()


def test_vectors_does_not_read_what_it_writes(texts: Path, tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    run = SkipgramRun([str(tmp_path)], tmp_path / "a.txt", FEW)
    run.train()
    write_vectors(Target(str(tmp_path / "a.txt")), ["quark"], np.ones((1, 8)))
    assert (tmp_path / "a.txt.run" / "tokens.txt").is_file()
    again = SkipgramRun([str(tmp_path)], tmp_path / "a.txt", FEW, force=True)
    assert run.files == again.files == [texts]


def test_vectors_reports_mistakes_in_one_sentence(texts: Path, tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    (tmp_path / "empty.txt").touch()
    for arguments, sentence in (
        (["nowhere.txt", "-o", tmp_path / "a.npz"], "nowhere.txt does not exist"),
        ([texts, "-o", tmp_path / "a.bin"], "does not end in .npz"),
        ([texts, "-o", tmp_path / "nowhere/a.npz"], "is not a directory; create it first"),
        ([texts, "-o", texts], "exists; choose another name"),
        ([texts, "-o", tmp_path / "a.npz", "--components", 9], "--components 9 is more than --dimension 8"),
        ([texts, "-o", tmp_path / "a.npz", "--resume"], "has no run to go on with"),
        ([tmp_path / "empty.txt", "-o", tmp_path / "a.npz"], "no word occurs 3 times"),
    ):
        with pytest.raises(HyperspanError) as raised:
            vectors(*arguments)
        assert sentence in str(raised.value) and "\n" not in str(raised.value)
    assert not (tmp_path / "a.npz.run").exists()


def test_vectors_says_that_gensim_is_missing(texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [])
    monkeypatch.delitem(sys.modules, "gensim", raising=False)
    with pytest.raises(InputError, match="pip install gensim"):
        SkipgramRun([str(texts)], tmp_path / "a.npz", FEW)
