"""Sentences to measure with, and the model of the paper's sizes to measure."""

from __future__ import annotations

import itertools
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

from hyperspan.batch import Batch
from hyperspan.batching import batches_by_length
from hyperspan.benchmarks.measure import Call
from hyperspan.config import Config
from hyperspan.corpora import read_corpus
from hyperspan.encoders.neural import NeuralEncoder
from hyperspan.encoders.spans import SpanLinear
from hyperspan.errors import InputError
from hyperspan.models import Recognizer, new_model
from hyperspan.models.base import Model
from hyperspan.structures import SegmentalHypergraph
from hyperspan.training.loop import Trainer
from hyperspan.types import Mention, Sentence

MAX_WIDTHS = ("6", "n")
"""The maximal widths of mentions that are measured."""
SENTENCES = 1_854
"""As many as GENIA's test set has in the paper."""
PERCENTS = (*range(0, 100, 5), 98, 99, 99.7, 100)
WORDS = (4, 13, 16, 18, 19, 21, 22, 24, 25, 26, 28, 29, 31, 33, 35, 38, 40, 43, 48, 55, 67, 78, 102, 148)
"""GENIA's test sentences: the length that this percentage of them does not exceed. Lengths between them are interpolated."""
TYPES = ("DNA", "RNA", "cell_line", "cell_type", "protein")


def genia_length(percent: float) -> int:
    """The length of a sentence that this percentage of them does not exceed.

    >>> genia_length(0), genia_length(52.5), genia_length(100)
    (4, 28, 148)
    """
    for (low, shortest), (high, longest) in itertools.pairwise(zip(PERCENTS, WORDS, strict=True)):
        if percent <= high:
            return round(shortest + (longest - shortest) * (percent - low) / (high - low))
    return WORDS[-1]


def invented_sentences(count: int = SENTENCES, types: Sequence[str] = TYPES, seed: int = 0) -> list[Sentence]:
    """Sentences of invented words, as long as those of GENIA, and with as many different words; one mention of each type."""
    chance = random.Random(seed)
    made = []
    for index in range(count):
        length = genia_length(100 * chance.random())
        ranks = [min(int(chance.paretovariate(0.9)), 8_000) for _ in range(length)]
        mentions = [Mention(0, 1, types[index])] if index < len(types) else []
        made.append(Sentence([f"word{rank}" for rank in ranks], mentions, tags=[f"T{rank % 40}" for rank in ranks]))
    return made


class BenchmarkCorpus(NamedTuple):
    """Sentences to measure with, and where they come from."""

    sentences: list[Sentence]
    source: str

    @classmethod
    def read(cls, data: Path | None) -> BenchmarkCorpus:
        """The sentences of a file, or invented ones."""
        if data is None:
            return cls(invented_sentences(), "invented, as long as GENIA's")
        sentences = [sentence for document in read_corpus(str(data)) for sentence in document.sentences]
        if not sentences:
            raise InputError(
                f"{data} holds no sentences; name a file of sentences, or leave --data out for invented ones"
            )
        return cls(sentences, "given")

    @property
    def figures(self) -> dict[str, str | int]:
        """What a report says of them."""
        return {"sentences": self.source, "words": sum(map(len, self.sentences))}


def trainer_for(model: Model, sentences: Sequence[Sentence]) -> Trainer:
    """A trainer that takes steps and keeps nothing."""
    with tempfile.TemporaryDirectory() as folder:
        return Trainer(model.train(), sentences, [], Path(folder))


def paper_model(max_width: str, sentences: Sequence[Sentence], changes: Sequence[str] = ()) -> Recognizer:
    """A model of the paper's sizes for these sentences, untrained: how fast it is does not depend on what it has learnt."""
    config = Config().override([f"model.max_width={max_width}", "model.tokenizer=split", *changes])
    model = new_model(config, sentences)
    assert isinstance(model, Recognizer)
    return model.eval()


def batches_for(model: Recognizer, sentences: Sequence[Sentence]) -> list[Batch]:
    """The sentences in the batches of inference."""
    lengths = [len(sentence) for sentence in sentences]
    batches = batches_by_length(lengths, model.max_width, model.batch_entries)
    return [model.collate([sentences[i] for i in batch]) for batch in batches]


def decoder(model: Recognizer, batches: Sequence[Batch], precision: str = "float32") -> Call:
    """From ids to the best set of mentions of every sentence."""

    def decode() -> None:
        model.for_inference(precision, model.options.skip)
        with torch.inference_mode():
            for batch in batches:
                SegmentalHypergraph(model(batch), batch.lengths).argmax()

    return decode


def necessary_operations(model: Recognizer, lengths: Sequence[int]) -> int:
    """Additions and multiplications of the matrix products that decoding cannot do without: nothing for padding.

    The word LSTM's products with its inputs and its states, the span LSTM's with a word once and with its states for
    every span of two words and more, and the projections to scores.
    """
    assert isinstance(model.encoder, NeuralEncoder)
    hidden, span_hidden, m = model.encoder.dimension // 2, model.config.encoder.span_hidden, len(model.labels)
    last = model.scorer.parts
    assert isinstance(last, SpanLinear)
    parts = last.from_spans.shape[2]
    sizes = [layer.input_size for layer in model.encoder.layers if isinstance(layer, nn.LSTM)]
    total = 0
    for n in lengths:
        width = min(model.max_width or n, n)
        spans = width * n - width * (width - 1) // 2
        total += sum(n * size * 8 * hidden + max(n - 1, 0) * hidden * 8 * hidden for size in sizes)
        total += n * 2 * hidden * 8 * span_hidden + (spans - n) * span_hidden * 8 * span_hidden
        total += n * 2 * hidden * 2 * m + spans * 2 * span_hidden * parts
    return 2 * total
