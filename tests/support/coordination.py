"""A small model that finds discontinuous mentions, trained in seconds on the coordinated terms of the examples."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import torch

from hyperspan.config import Config
from hyperspan.corpora import read_corpus
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.nn import Recognizer, new_model
from hyperspan.runtime.annotator import Annotator
from hyperspan.types import Document, Sentence
from tests.support.models import learn

CORPUS = Path(__file__).parents[2] / "src/hyperspan/corpora/examples/coordination.jsonl"
TEXT = "The left and right ventricle were stained in the liver. We compared the rod and cone cells of young mice."
LEFT = {"start": 4, "end": 28, "label": "ORGAN", "fragments": [[4, 8], [19, 28]]}
ROD = {"start": 72, "end": 90, "label": "CELL", "fragments": [[72, 75], [85, 90]]}


@functools.cache
def coordination() -> tuple[Document, ...]:
    return tuple(with_sentences(document, Problems()) for document in read_corpus(CORPUS))


@functools.cache
def coordination_model() -> Recognizer:
    """It finds both discontinuous mentions of `TEXT`, LEFT and ROD, and what they are coordinated with."""
    torch.manual_seed(1)
    config = Config()
    config = replace(
        config,
        words=replace(config.words, dimension=20, tag_dimension=0),
        encoder=replace(config.encoder, hidden=12, span_hidden=12, input_dropout=0.0),
        model=replace(config.model, kind="discontinuous", max_width=5),
        discontinuous=replace(config.discontinuous, gap=3, later_width=2),
        training=replace(config.training, softmax_margin=False),
    )
    sentences: list[Sentence] = [sentence for document in coordination() for sentence in document.sentences]
    model = learn(new_model(config, sentences), sentences, 30, 0.03)
    assert isinstance(model, Recognizer)
    return model


@functools.cache
def coordination_annotator() -> Annotator:
    return Annotator(coordination_model())
