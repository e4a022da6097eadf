"""Handcrafted features: what is computed in columns is what a reader of the templates would compute word by word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.config import Config
from hyperspan.nn import load_model, new_model, save_model
from hyperspan.nn.features import (
    BEYOND,
    SPAN_TEMPLATES,
    TEMPLATES,
    FeatureExtractor,
    Template,
    frequent,
    function_words_of,
    look_up,
    n_grams,
)
from hyperspan.nn.handcrafted import collect
from hyperspan.training.data import read_sentences
from hyperspan.types import Mention, Sentence
from tests.support.models import HARBOUR, loss_of

WORDS = st.sampled_from(["the", "IL-2", "promoter", "of", "(", "NF-kB1", "字", "cells", "V", "x" * 30])
SENTENCES = st.lists(st.lists(WORDS, max_size=6), min_size=1, max_size=4)
CLUSTERS = {"the": "0010", "promoter": "110101", "cells": "1101011101"}


def read(rows: list[list[str]], words: list[str] | None = None) -> tuple[FeatureExtractor, list[Sentence]]:
    sentences = [Sentence(row, tags=[f"T{len(word)}" for word in row]) for row in rows]
    return FeatureExtractor(words or list(TEMPLATES), SPAN_TEMPLATES, frozenset({"of"}), CLUSTERS), sentences


def said(features: FeatureExtractor, sentence: Sentence, place: int, layer: str) -> str:
    if not 0 <= place < len(sentence):
        return BEYOND
    return sentence.tags[place] if layer == "tag" else features.text_of(layer, sentence.tokens[place])


@given(SENTENCES)
def test_two_words_share_an_attribute_if_and_only_if_it_reads_the_same(rows: list[list[str]]) -> None:
    features, sentences = read(rows)
    hashes = features.read(sentences).of_words()
    expected: dict[int, tuple[str, str]] = {}
    row = 0
    for sentence in sentences:
        for place in range(len(sentence)):
            for column, template in enumerate(features.templates):
                parts = [said(features, sentence, place + offset, template.layer) for offset in template.offsets]
                if hashes[row, column]:
                    name = (template.name, " ".join(parts))
                    assert expected.setdefault(int(hashes[row, column]), name) == name
                else:
                    assert "" in parts
            row += 1
    assert row == len(hashes) and len(set(expected.values())) == len(expected)


@given(SENTENCES)
def test_spans_share_an_attribute_if_and_only_if_it_reads_the_same(rows: list[list[str]]) -> None:
    features, sentences = read(rows)
    reading = features.read(sentences)
    spans = [(b, i, w) for b, s in enumerate(sentences) for i in range(len(s)) for w in range(len(s) - i)]
    hashes = reading.of_spans(*np.array(spans, dtype=np.int64).reshape(-1, 3).T)
    names = {}
    for (sentence, start, width), row in zip(spans, hashes.tolist(), strict=True):
        for column, name in enumerate(SPAN_TEMPLATES):
            text = reading.name_of_span(sentence, start, width, name)
            assert names.setdefault(row[column], text) == text
    assert len(set(names.values())) == len(names)


@given(SENTENCES)
def test_the_company_of_other_sentences_changes_nothing(rows: list[list[str]]) -> None:
    features, sentences = read(rows)
    together = features.read(sentences).of_words()
    alone = [features.read([sentence]).of_words() for sentence in sentences]
    assert np.array_equal(together, np.concatenate(alone))


def test_names_of_attributes_read_well() -> None:
    features, sentences = read([["the", "IL-2", "promoter"]], ["words", "flags", "bag"])
    reading = features.read(sentences)
    assert reading.name_of_word(1, Template("word", (-1, 0, 1, 2))) == "word[-1,0,+1,+2] the IL-2 promoter ·"
    assert reading.name_of_word(1, Template("word", (1,), ordered=False)) == "word[near] promoter"
    assert reading.name_of_word(1, Template("is digit inside", (0,))) == "is digit inside[0] yes"
    assert reading.name_of_span(0, 1, 1, "context") == "span context the … ·"
    assert len(n_grams("word", 4)) == 10


def test_a_bag_of_words_does_not_tell_where_a_word_stands() -> None:
    features, sentences = read([["a", "b", "c"]], ["bag"])
    hashes = features.read(sentences).of_words()
    assert len(set(hashes[0]) & set(hashes[2])) >= 3


def test_attributes_are_counted_and_looked_up() -> None:
    hashes = np.array([[5, 7], [5, 0], [0, 9]])
    known, places = frequent(hashes, 2)
    assert known.tolist() == [5] and places.tolist() == [0]
    assert look_up(hashes, known).tolist() == [[1, 0], [1, 0], [0, 0]]
    assert look_up(hashes, np.zeros(0, dtype=np.int64)).tolist() == [[0, 0]] * 3


def test_function_words_stand_inside_mentions() -> None:
    inside = Sentence(["Bank", "of", "the", "North"], [Mention(0, 4, "ORG")])
    assert function_words_of([inside] * 3) == {"of", "the"}
    assert function_words_of([inside] * 2) == frozenset()


def test_only_frequent_attributes_have_weights(tmp_path: Path) -> None:
    sentences = read_sentences(HARBOUR)
    counts = []
    for least in (1, 2, 4):
        config = Config().override(["encoder.kind=handcrafted", f"handcrafted.min_count={least}"])
        model = new_model(config, sentences)
        counts.append(len(model.vocabulary.features))
        assert model.scorer.start.weight.shape[0] == counts[-1] + 1  # type: ignore[union-attr]
    assert counts == sorted(counts, reverse=True) and len(set(counts)) == 3
    save_model(model, tmp_path)
    kept = load_model(tmp_path)
    assert kept.vocabulary.features == model.vocabulary.features
    one, other = (m.collate(sentences[:2]).features for m in (kept, model.eval()))
    assert one is not None and other is not None and one.equal(other) and one.any()


def test_attributes_of_training_sentences_have_names_in_the_order_of_their_hashes() -> None:
    sentences = read_sentences(HARBOUR)
    config = Config().override(["encoder.kind=handcrafted", "handcrafted.min_count=1"])
    model = new_model(config, sentences)
    names, ids = model.vocabulary.features, model.collate(sentences[:1]).features
    assert ids is not None
    spoken = {names[number - 1] for number in ids[0].tolist() if number}
    assert f"word[0] {sentences[0].tokens[0]}" in spoken
    vocabulary, (words, spans) = collect(sentences, config, model.vocabulary)
    assert (len(words), len(spans)) == (len(vocabulary.features), len(vocabulary.span_features))


def test_sentences_without_tags_are_read_all_the_same() -> None:
    sentences = [evolve(s, tags=()) for s in read_sentences(HARBOUR)]
    chosen = f"handcrafted.spans={' '.join(name for name in SPAN_TEMPLATES if 'cluster' not in name)}"
    config = Config().override(["encoder.kind=handcrafted", chosen, "handcrafted.min_count=1"])
    model = new_model(config, sentences)
    assert not any(
        name.startswith(("tag", "span tag")) for name in (*model.vocabulary.features, *model.vocabulary.span_features)
    )
    mixed = [*sentences[:10], *(evolve(s, tags=["X"] * len(s)) for s in sentences[10:])]
    assert loss_of(new_model(config, mixed), mixed).isfinite().all()
