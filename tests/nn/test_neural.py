"""The neural encoder: what stands for unknown words, tags and characters is learnt."""

from __future__ import annotations

import pytest
import torch

from hyperspan.config import Config
from hyperspan.nn.neural import NeuralEncoder
from hyperspan.types import Sentence

UNKNOWN_CHARACTER = 1
"""Character 0 is padding."""


@pytest.mark.parametrize("characters", ["lstm", "cnn"])
def test_unknown_words_tags_and_characters_get_gradients_by_word_dropout(characters: str) -> None:
    config = (
        Config()
        .override(
            [f"characters.encoder={characters}", "words.word_dropout=0.5", "words.tag_dimension=4", "encoder.hidden=8"]
        )
        .settled()
    )
    sentences = [Sentence([f"keeper{number}" for number in range(80)], tags=["NN", "NNP"] * 40)]
    vocabulary, resources = NeuralEncoder.prepare(config, sentences)
    torch.manual_seed(0)
    encoder = NeuralEncoder(config, vocabulary).train()
    encoder.initialise(resources)
    encoder(encoder.collate(sentences, torch.device("cpu")))[-1].square().sum().backward()
    assert encoder.words is not None and encoder.tags is not None and encoder.characters is not None
    for name, table, row in (
        ("word", encoder.words.trained, 0),
        ("tag", encoder.tags.weight, 0),
        ("character", encoder.characters.embedding.weight, UNKNOWN_CHARACTER),
    ):
        assert table.grad is not None and table.grad[row].any(), f"the unknown {name}"
