"""Words to ids and back, in C as in Python, whatever the words are."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan import kernels
from hyperspan.config import Config
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.text.words import LONGEST_SPELLING, Words
from hyperspan.types import Mention, Sentence

odd = st.sampled_from(
    ["", "\\", "\n", "\r", "\\n", "İ", "Σ", "ΑΣ", "ς", "ﬁ", "\ud800", "\0", "é", "e\u0301", "😀", "\u2028"]
)
some = st.one_of(odd, st.text(max_size=5), st.text("aAbB", max_size=3), st.text(min_size=LONGEST_SPELLING, max_size=60))
words = st.lists(some, unique=True, max_size=12)


def in_python(given: list[str]) -> Words:
    with kernels.reference():
        return Words.of(given)


@given(words)
def test_words_are_those_that_were_written(given: list[str]) -> None:
    for found in (Words.of(given), in_python(given), Words(Words.of(given).data)):
        assert list(found) == given and len(found) == len(given)
        assert [found.find(word) for word in given] == list(range(1, len(given) + 1))
        assert found == pickle.loads(pickle.dumps(found)) == copy.deepcopy(found)


@given(words, st.lists(some, max_size=12), st.booleans())
def test_look_up_finds_in_c_what_it_finds_in_python(known: list[str], tokens: list[str], lowercase: bool) -> None:
    tokens += [token.upper() for token in known] + known
    ids = np.arange(0x400, dtype=np.int32)
    one, other = (made.look_up(tokens, lowercase, ids) for made in (Words.of(known), in_python(known)))
    assert [each.tolist() for each in one] == [each.tolist() for each in other]


@given(words, st.lists(some, max_size=12))
def test_look_up_says_of_many_tokens_what_it_says_of_each(known: list[str], tokens: list[str]) -> None:
    vocabulary = Vocabulary(known, 0, ["a", "Σ", "😀", "ab", ""], [], ["label"])
    place, lexicon = vocabulary.look_up(tokens)
    assert [tokens[index] for index in lexicon.first] == list(dict.fromkeys(tokens))
    ids = {word: index for index, word in enumerate(known, 1)}
    assert lexicon.words[place].tolist() == [ids.get(token.lower(), 0) for token in tokens]
    starts = lexicon.counts.cumsum() - lexicon.counts
    order, padded, counts = lexicon.spellings()
    for kind, token in enumerate(dict.fromkeys(tokens)):
        half = LONGEST_SPELLING // 2
        read = token if len(token) <= LONGEST_SPELLING else token[:half] + token[-half:]
        expected = [{"a": 2, "Σ": 3, "😀": 4}.get(character, 1) for character in read or " "]
        assert lexicon.characters[starts[kind] :][: lexicon.counts[kind]].tolist() == expected
        assert padded[order[kind], : counts[order[kind]]].tolist() == expected
        assert not padded[order[kind], counts[order[kind]] :].any()
    assert counts.tolist() == sorted(counts.tolist(), reverse=True)


def test_words_refuses_one_that_is_there_twice() -> None:
    for make in (Words.of, in_python):
        with pytest.raises(ValueError, match=r"the word 'a\\n' is there twice"):
            make(["b", "a\n", "c", "a\n"])


def test_a_vocabulary_is_kept_whole(tmp_path: Path) -> None:
    sentences = [Sentence(["Ærø", "'s", "ferry"], [Mention(0, 1, "GPE")], tags=["NNP", "POS", "NN"])]
    vocabulary = Vocabulary.of(sentences, Config(), ["ferry", "boat", "\\\n"], {"boat": "0110"})
    vocabulary.save(tmp_path)
    again = Vocabulary.load(tmp_path)
    assert again == vocabulary
    place, lexicon = again.look_up(["BOAT", "tug"])
    assert again.trained == 3 and lexicon.words[place].tolist() == [4, 0]
    assert list(again.words) == ["ærø", "'s", "ferry", "boat", "\\\n"]


def test_lone_surrogates_are_unknown_characters(tmp_path: Path) -> None:
    vocabulary = Vocabulary.of([Sentence(["\ud800b", "b\udfff"], [Mention(0, 1, "GPE")])], Config())
    assert vocabulary.characters == ["b"] and list(vocabulary.words) == ["\ud800b", "b\udfff"]
    vocabulary.save(tmp_path)
    assert Vocabulary.load(tmp_path) == vocabulary
    assert vocabulary.look_up(["\ud800b"])[1].characters.tolist() == [1, 2]


def test_a_token_of_many_characters_is_shortened_in_the_middle() -> None:
    vocabulary = Vocabulary.of([Sentence(["ab"])], Config())
    _, long = vocabulary.look_up(["a" * 1000 + "b"])
    assert len(long.characters) == LONGEST_SPELLING and long.characters[0] != long.characters[-1]
