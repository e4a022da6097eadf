"""The measured model of the paper's sizes, and the operations that decoding with it requires."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from experiments.speed.measure import Call
from hyperspan.config import Config
from hyperspan.nn import Recognizer, new_model
from hyperspan.nn.batch import Batch
from hyperspan.nn.layers import SpanLinear
from hyperspan.nn.model import Model
from hyperspan.nn.neural import NeuralEncoder
from hyperspan.runtime.batches import batches_by_length
from hyperspan.structures import SegmentalHypergraph
from hyperspan.training.loop import Run, Trainer
from hyperspan.training.loss import TrainingLoss
from hyperspan.types import Sentence

SIZES = (
    "words.dimension=100",
    "words.tag_dimension=32",
    "characters.encoder=none",
    "encoder.layers=1",
    "encoder.hidden=128",
    "encoder.span_hidden=128",
    "encoder.input_dropout=0.5",
    "encoder.output_dropout=0",
    "training.batch_size=32",
    "training.lm_loss_weight=0",
    "training.ema_decay=0",
)
"""The paper's settings, independent of the defaults."""


def trainer_for(model: Model, sentences: Sequence[Sentence]) -> Trainer:
    """A trainer that takes steps and saves nothing."""
    with tempfile.TemporaryDirectory() as folder:
        return Trainer(Run(TrainingLoss(model.train()), sentences), Path(folder))


def paper_model(max_width: str, sentences: Sequence[Sentence], changes: Sequence[str] = ()) -> Recognizer:
    """A model of the paper's sizes for these sentences, untrained: speed does not depend on training."""
    config = Config().override([f"model.max_width={max_width}", "model.tokenizer=split", *SIZES, *changes])
    model = new_model(config, sentences)
    assert isinstance(model, Recognizer)
    return model.eval()


def batches_for(model: Recognizer, sentences: Sequence[Sentence]) -> list[Batch]:
    """The sentences in inference batches."""
    lengths = [len(sentence) for sentence in sentences]
    batches = batches_by_length(lengths, model.max_width, model.batch_entries)
    return [model.collate([sentences[i] for i in batch]) for batch in batches]


def decoder(model: Recognizer, batches: Sequence[Batch], dtype: str = "float32") -> Call:
    """A call that decodes ids to the best set of mentions of every sentence."""

    def decode() -> None:
        model.for_inference(dtype, model.options.skip)
        with torch.inference_mode():
            for batch in batches:
                SegmentalHypergraph(model(batch), batch.lengths).argmax()

    return decode


def necessary_operations(model: Recognizer, lengths: Sequence[int]) -> int:
    """The additions and multiplications of the matrix products that decoding requires, without padding.

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
