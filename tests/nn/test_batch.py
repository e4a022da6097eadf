"""Sentences to rows without padding, and back to the same sentences."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.config import Config
from hyperspan.errors import LabelError
from hyperspan.nn.batch import collate
from hyperspan.nn.model import gold_of
from hyperspan.runtime.batches import shuffled_batches
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Mention, Sentence

sentences = st.lists(st.lists(st.text(max_size=5), max_size=6).map(Sentence), max_size=5)


@given(sentences)
def test_each_word_has_its_row(given: list[Sentence]) -> None:
    vocabulary = Vocabulary.of(given, Config())
    batch = collate(given, vocabulary, characters=True)
    assert batch.lengths == [len(sentence) for sentence in given]
    rows = set()
    for index, sentence in enumerate(given):
        for position, token in enumerate(sentence.tokens):
            row = int(batch.row_of[index * batch.longest + position])
            rows.add(row)
            assert int(batch.sentence[row]) == index
            assert int(batch.words[row]) == vocabulary.words.index(token.lower()) + 1
            spelled = batch.characters[batch.spelling[row]]
            count = int(batch.character_counts[batch.spelling[row]])
            _, alone = vocabulary.look_up([token])
            assert spelled[:count].tolist() == alone.characters.tolist() and not spelled[count:].any()
    assert rows == set(range(len(batch.words)))
    assert batch.character_counts.tolist() == sorted(batch.character_counts.tolist(), reverse=True)


@given(sentences.filter(lambda given: any(map(len, given))))
def test_rows_stand_as_torch_packs_them(given: list[Sentence]) -> None:
    filled = [sentence for sentence in given if len(sentence)]
    batch = collate(filled, Vocabulary.of(filled, Config()), characters=False)
    padded = torch.zeros(len(filled), batch.longest, dtype=torch.long)
    for index, sentence in enumerate(filled):
        for position in range(len(sentence)):
            padded[index, position] = batch.row_of[index * batch.longest + position]
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        padded, torch.tensor(batch.lengths), batch_first=True, enforce_sorted=False
    )
    assert packed.data.tolist() == list(range(len(batch.words)))
    assert packed.batch_sizes.tolist() == batch.batch_sizes.tolist()


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 7), st.integers(0, 3))
def test_every_sentence_is_in_one_batch(lengths: list[int], size: int, seed: int) -> None:
    batches = list(shuffled_batches(lengths, size, seed))
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    assert all(len(batch) <= size for batch in batches)
    assert batches == list(shuffled_batches(lengths, size, seed))


def test_a_label_that_was_not_trained_is_named() -> None:
    vocabulary = Vocabulary.of([Sentence(["Ærø"], [Mention(0, 1, "GPE")])], Config())
    with pytest.raises(LabelError, match="'ORG' is not among those trained: GPE"):
        gold_of(Sentence(["Ærø"], [Mention(0, 1, "ORG")]), vocabulary.labels)


def test_what_was_seen_before_does_not_change_a_batch() -> None:
    first, second = [Sentence(["b", "a", "b"])], [Sentence(["c", "b", "a"])]
    used, fresh = (Vocabulary.of([*first, *second], Config()) for _ in range(2))
    collate(first, used, characters=True)
    one, other = (collate(second, vocabulary, characters=True) for vocabulary in (used, fresh))
    assert one.characters.tolist() == other.characters.tolist() and one.spelling.tolist() == other.spelling.tolist()
