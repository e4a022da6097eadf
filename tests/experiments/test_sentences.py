"""What benchmarks measure with, and what they count. Nothing here looks at a clock."""

from __future__ import annotations

import pytest

from experiments.speed.invented import genia_length, invented_sentences
from experiments.speed.paper_model import necessary_operations, paper_model


def test_invented_sentences_are_as_long_as_those_of_genia() -> None:
    lengths = [len(sentence) for sentence in invented_sentences()]
    assert len(lengths) == 1_854 and min(lengths) >= 4 and max(lengths) <= 148
    assert 29 < sum(lengths) / len(lengths) < 32
    assert genia_length(50) == 28


@pytest.mark.parametrize("max_width", ["2", "n"])
def test_operations_are_those_of_every_product(max_width: str) -> None:
    model = paper_model(max_width, invented_sentences(5))
    recurrent, span = 128 * 512, 128 * 512
    words, spans = 3, 3 + 2 + (max_width == "n")
    products = words * 132 * 1024 + (words - 1) * 2 * recurrent  # the word LSTM, both directions
    products += words * 256 * 1024 + (spans - words) * 2 * span
    products += words * 256 * 10 + spans * 256 * 15
    assert necessary_operations(model, [3]) == 2 * products
    assert necessary_operations(model, [0, 3, 0]) == 2 * products
