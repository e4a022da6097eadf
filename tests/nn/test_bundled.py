"""The word vectors that come with hyperspan."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from experiments.bundled_vectors import bundle, in_bytes, is_part_of
from hyperspan import Document, Mention, write_corpus
from hyperspan.errors import InputError
from hyperspan.nn import load_model
from hyperspan.nn.bundled import DIMENSION, VECTORS, ByteVectors, bundled_vectors
from hyperspan.nn.vectors import WordVectors, read_vectors
from hyperspan.runtime.folders import PRETRAINED
from hyperspan.runtime.tensors import FIXED
from hyperspan.training.run import train
from tests.support.data import data_path

MODELS = json.loads((PRETRAINED / VECTORS / "models.json").read_text())
"""Those that the bundled vectors come from."""
GLOVE = "../vectors/glove6B_100d_subset_f16.npz"


@pytest.fixture(scope="module")
def bundled() -> WordVectors:
    try:
        return read_vectors("bundled")
    except InputError as error:
        pytest.fail(f"{error}: a bundled model has changed", pytrace=False)


def nearest(vectors: WordVectors, word: str) -> list[str]:
    rows = vectors.vectors / np.linalg.norm(vectors.vectors, axis=1, keepdims=True)
    return [vectors.words[row] for row in np.argsort(-(rows @ rows[vectors.words.index(word)]))[1:6]]


def test_bundled_vectors_are_those_of_frequent_english_words(bundled: WordVectors) -> None:
    assert len(bundled.words) == len(set(bundled.words)) == len(bundled.vectors) == 62_048
    assert bundled.vectors.shape[1] == DIMENSION and bundled.vectors.dtype == np.float32
    assert bundled.words[:5] == ["the", ",", ".", "of", "to"]
    assert "germany" in nearest(bundled, "austria") and "neutrophils" in nearest(bundled, "leukocytes")


def test_bundled_vectors_are_not_those_that_models_trained(bundled: WordVectors) -> None:
    """A model moves the vectors of most of its training words farther than storing them in bytes does."""
    row = {word: index for index, word in enumerate(bundled.words)}
    for name in MODELS:
        embedding = load_model(PRETRAINED / name).encoder.word_vectors[0]
        words = list(load_model(PRETRAINED / name).vocabulary.words[: len(embedding) - 1])
        known = [index for index, word in enumerate(words) if word in row]
        trained = embedding[1:].detach().numpy()[known]
        assert (np.abs(trained - bundled.vectors[[row[words[index]] for index in known]]).max(1) > 0.02).mean() > 0.5


def changed(part: ByteVectors, **changes: np.ndarray) -> ByteVectors:
    return ByteVectors(part.words, changes.get("numbers", part.numbers), changes.get("scales", part.scales))


def test_only_models_with_the_vectors_of_the_file_are_used() -> None:
    numbers = np.random.default_rng(1).normal(size=(3, DIMENSION)).astype(np.float32)
    given = WordVectors(["the", "zoo", "lion"], numbers)
    part = in_bytes(WordVectors(["the", "lion"], numbers[[0, 2]]))
    assert is_part_of(given, part)
    assert not is_part_of(given, changed(part, scales=2 * part.scales))
    assert not is_part_of(given, changed(part, numbers=part.numbers[::-1]))
    assert not is_part_of(given, ByteVectors(["lion", "the"], part.numbers[::-1], part.scales[::-1]))
    assert not is_part_of(given, ByteVectors(["the", "lioness"], part.numbers, part.scales))
    assert not is_part_of(given, changed(part, numbers=part.numbers[:, :50]))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder of bundled models, to be changed."""
    copies = shutil.ignore_patterns("README.md", "__pycache__")
    return shutil.copytree(PRETRAINED, tmp_path / "pretrained", ignore=copies)


def test_bundled_vectors_refuse_models_that_they_were_not_made_for(place: Path) -> None:
    message = "made for other versions of the models litbank.*; run python -m experiments.bundled_vectors"
    weights = place / "litbank" / "model.safetensors"
    weights.write_bytes((place / "genia" / "model.safetensors").read_bytes())
    for name in ("words.txt", "vocabulary.json"):
        shutil.copy(place / "genia" / name, place / "litbank" / name)
    with pytest.raises(InputError, match=message):
        bundled_vectors(place)
    shutil.rmtree(place / "litbank")
    with pytest.raises(InputError, match=message):
        bundled_vectors(place)


def test_the_script_mends_what_a_change_of_models_broke(
    place: Path, bundled: WordVectors, capsys: pytest.CaptureFixture[str]
) -> None:
    """One model is gone, and another has come with vectors of its own."""
    shutil.copytree(place / "genia", place / "other")
    shutil.rmtree(place / "genia")
    tensors = load_file(place / "other" / "model.safetensors")
    save_file({**tensors, FIXED: tensors[FIXED][::-1].copy()}, place / "other" / "model.safetensors")
    bundle(bundled, place)
    words, vectors = bundled_vectors(place)
    assert words == bundled.words and np.allclose(vectors, bundled.vectors, atol=1e-6)
    assert json.loads((place / VECTORS / "models.json").read_text()).keys() == {"litbank"}
    assert "models whose vectors are not those of the file: craft, english, other" in capsys.readouterr().out


@pytest.mark.corpora
def test_the_script_makes_the_same_bytes(place: Path, bundled: WordVectors) -> None:
    glove = read_vectors(data_path(GLOVE))
    assert bundled.words == glove.words
    assert (np.abs(bundled.vectors - glove.vectors) <= 0.51 * in_bytes(glove).scales).all()
    bundle(glove, place)
    for file in (place / VECTORS).iterdir():
        assert file.read_bytes() == (PRETRAINED / VECTORS / file.name).read_bytes(), "run experiments.bundled_vectors"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    write_corpus([Document("Ada left Lindau.", [Mention(0, 3, "PER")])], tmp_path / "train.jsonl")
    return tmp_path / "train.jsonl"


SMALL = ["encoder.hidden=4", "encoder.span_hidden=4", "training.epochs=1", "training.batch_size=1"]


def test_training_with_bundled_vectors_makes_a_model_that_needs_no_other(corpus: Path, bundled: WordVectors) -> None:
    config = {"data": {"train": str(corpus)}, "words": {"vectors": "bundled", "dimension": DIMENSION}}
    folder = train(config, corpus.parent / "model", overrides=SMALL, device="cpu").folder
    shutil.move(folder, corpus.parent / "moved")
    model = load_model(corpus.parent / "moved")
    fixed, row = model.encoder.pretrained_rows[0].numpy(), bundled.words.index("zebra")
    assert "zebra" in model.vocabulary.words and (fixed == bundled.vectors[row]).all(1).any()


def test_training_with_bundled_vectors_refuses_another_dimension(corpus: Path) -> None:
    config = {"data": {"train": str(corpus)}, "words": {"vectors": "bundled", "dimension": 50}}
    message = "words.vectors is bundled, which has vectors of dimension 100, but words.dimension is 50; set words.dimension = 100"
    with pytest.raises(InputError, match=message):
        train(config, corpus.parent / "model", overrides=SMALL, device="cpu")
