"""Parts of a corpus for learning curves."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan import Sentence
from hyperspan.errors import InputError
from hyperspan.training.curve import Parts, check_sizes, default_sizes


def sentence(number: int) -> Sentence:
    return Sentence([f"w{number}"])


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30), st.integers(0, 99))
def test_parts_are_nested_and_as_large_as_asked(lengths: list[int], seed: int) -> None:
    parts = Parts([[sentence(0)] * length for length in lengths])
    found = [parts.part(size, seed) for size in range(parts.largest + 1)]
    assert [len(part) for part in found] == list(range(parts.largest + 1))
    assert all(set(smaller) < set(larger) for smaller, larger in itertools.pairwise(found))
    assert found[-1] == list(range(parts.largest))


def test_parts_take_whole_documents_where_there_are_many() -> None:
    parts = Parts([[sentence(0)] * 10] * 12)
    for seed in range(5):
        documents = Counter(number // 10 for number in parts.part(25, seed))
        assert sorted(documents.values()) == [5, 10, 10]
    assert len({tuple(parts.part(25, seed)) for seed in range(5)}) == 5
    few = Parts([[sentence(0)] * 40] * 3)
    assert len({number // 40 for number in few.part(12, seed=1)}) == 3


@given(st.integers(2, 10**6))
def test_default_sizes_grow_up_to_the_corpus(largest: int) -> None:
    sizes = default_sizes(largest)
    assert 2 <= len(sizes) <= 5 and sizes == sorted(set(sizes)) and sizes[0] >= 1 and sizes[-1] == largest
    assert largest < 60 or all(1.5 < later / sooner < 3.5 for sooner, later in itertools.pairwise(sizes))


def test_check_sizes_explains_what_is_wrong() -> None:
    parts = Parts([[sentence(0)]] * 50)
    assert check_sizes([30, 10, 30], parts) == [10, 30]
    with pytest.raises(
        InputError, match=r"--sizes 60 is larger than the corpus: data\.train has 50 sentences; ask for at most 50"
    ):
        check_sizes([10, 60], parts)
    with pytest.raises(InputError, match="fewer than two sizes"):
        check_sizes([10], parts)
    with pytest.raises(InputError, match="the smallest is 1"):
        check_sizes([0, 10], parts)
    with pytest.raises(InputError, match=r"data\.train has 1 sentence, but a curve needs parts of at least two sizes"):
        check_sizes(default_sizes(1), Parts([[sentence(0)]]))
