"""A plug-in as others would write it: a format, an encoder and a model. `hyperspan_not_inside` is its structure."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hyperspan import Config, Document, Mention, Sentence
from hyperspan.config import KindOptions, key
from hyperspan.corpora import Format, Losses, Problems, Source, Target
from hyperspan.nn import (
    ENCODERS,
    Abilities,
    Batch,
    Encoder,
    EncoderAbilities,
    Model,
    Outputs,
    WordLinear,
    collate,
)
from hyperspan.structures import Loss
from hyperspan.structures.graphs import Graph, SpanGraph
from hyperspan.text.vocabulary import Vocabulary

# -- a format: a line a document, with [[mentions|LABEL]] that do not overlap ------------------------------------------


def read_zoo(source: Source, problems: Problems, *, shout: bool = False) -> Iterator[Document]:
    for line in source.text().splitlines():
        text, mentions = "", []
        for plain, words, label in re.findall(r"([^\[]+)|\[\[(.*?)\|(.*?)\]\]", line):
            text += plain
            if words:
                mentions.append(Mention(len(text), len(text) + len(words), label))
                text += words
        yield Document(text.upper() if shout else text, mentions)


def write_zoo(documents: Iterable[Document], target: Target, losses: Losses, problems: Problems) -> None:
    with target.open() as file:
        for document in documents:
            line, written = "", 0
            for mention in sorted(document.mentions):
                line += f"{document.text[written : mention.start]}[[{mention.text}|{mention.label}]]"
                written = mention.end
            file.write(f"{line}{document.text[written:]}\n")


ZOO = Format(read_zoo, write_zoo, lambda head: "[[" in head, (".zoo",), holds="flat", needs_sentences=False)


# -- an encoder: a vector of each word, by a hash of it ---------------------------------------------------------------


@dataclass(frozen=True)
class HashOptions(KindOptions):
    """The section ``[hashes]`` of a configuration."""

    vectors: int = key(1009, "fixed", low=1)
    """The number of vectors."""
    notes: tuple[str, ...] = ()
    """What tells runs apart."""


class HashEncoder(Encoder):
    abilities = EncoderAbilities(vectors=True)
    dimension = 8
    times_checked = 0

    def __init__(self, config: Config, vocabulary: Vocabulary, *, spans: bool = False):
        super().__init__(config, vocabulary, spans=spans)
        self.known = config.options("hashes", HashOptions).vectors
        self.words = nn.Embedding(self.known, self.dimension)

    @classmethod
    def check(cls, config: Config) -> None:
        cls.times_checked += 1

    @classmethod
    def prepare(cls, config: Config, sentences: Sequence[Sentence]) -> tuple[Vocabulary, None]:
        return Vocabulary.of(sentences, config), None

    def initialise(self, resources: None) -> None:
        pass

    def collate(self, sentences: Sequence[Sentence], device: torch.device) -> Batch:
        batch = collate(sentences, self.vocabulary, characters=False, device=device)
        by_word = torch.zeros(len(sentences), batch.longest, dtype=torch.long)
        for row, sentence in zip(by_word, sentences, strict=True):
            row[: len(sentence)] = torch.tensor([zlib.crc32(token.encode()) % self.known for token in sentence.tokens])
        inside = torch.arange(batch.longest) < torch.tensor(batch.lengths)[:, None]
        rows = torch.empty_like(batch.words)
        rows[batch.row_of[inside.flatten()]] = by_word[inside].to(device)
        return replace(batch, words=rows)

    def forward(self, batch: Batch) -> list[Tensor]:
        return [self.words(batch.words)]

    def encode_spans(self, words: Tensor, batch: Batch, layout: Any) -> Tensor:
        raise NotImplementedError

    def word_layer(self, outputs: Outputs) -> WordLinear:
        return WordLinear(self.dimension, outputs)

    def span_layer(self, outputs: Outputs, *, whole: bool = False) -> nn.Module:
        raise NotImplementedError


# -- a model that is no encoder, scorer and structure: the log-odds of each word, whatever its neighbours --------------


def word_graph(n: int, m: int) -> Graph:
    """Each word is a mention of a type or not, independently: a node for each, all of them roots."""
    graph = Graph(mention=(n, 1, m))
    slots = graph.slots["mention"][:, 0]
    return graph.finish(graph.add(graph.end, np.stack([np.full_like(slots, graph.nothing), slots], axis=2)))


class Lexicon(Model):
    abilities = Abilities("of one word", vectors=True)

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__(config, vocabulary)
        self.encoder = ENCODERS[config.encoder.kind](config, vocabulary, spans=False)
        self.odds = self.encoder.word_layer(Outputs(["is a mention"], len(self.labels)))

    def distribution(self, sentences: Sequence[Sentence]) -> SpanGraph:
        batch = self.collate(sentences)
        return self._of_words(self.encoder(batch)[-1], batch)

    def _of_words(self, words: Tensor, batch: Batch) -> SpanGraph:
        n, m = batch.longest, len(self.labels)
        odds = self.odds(words).index_select(0, batch.row_of).view(len(batch.lengths), n, 1, m)
        return SpanGraph(word_graph(n, m), {"mention": odds}, batch.lengths)

    def loss_of(self, words: Tensor, gold: Sequence[set[tuple[int, int, int]]], batch: Batch) -> Loss:
        kept = [{mention for mention in one if mention[1] - mention[0] == 1} for one in gold]
        lost = tuple(len(one) - len(some) for one, some in zip(gold, kept, strict=True))
        return Loss(-self._of_words(words, batch).log_prob(kept), lost)
