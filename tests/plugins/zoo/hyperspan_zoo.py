"""A plug-in as others would write it: a format, a structure with its scorer, an encoder, and a model."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
    Scorer,
    Spans,
    WordLinear,
    collate,
)
from hyperspan.structures import Distribution, Loss
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


# -- a structure and its scorer: mentions of one word, each by itself --------------------------------------------------


class SingleWords(Distribution):
    """Every word is a mention of a type or not, independently: log-odds (B, n, m)."""

    limits = "it is a structure for tests"

    def __init__(self, scores: Tensor, lengths: Sequence[int]):
        self.lengths, self.types = list(lengths), scores.shape[2]
        inside = torch.arange(scores.shape[1])[None, :] < torch.tensor(self.lengths)[:, None]
        self.scores = scores.masked_fill(~inside[..., None], -torch.inf)

    @property
    def marginals(self) -> Tensor:
        return self.scores.sigmoid()[:, :, None]

    def argmax(self) -> list[frozenset[tuple[int, int, int]]]:
        return [frozenset((i, i + 1, k) for i, k in (one > 0).nonzero().tolist()) for one in self.scores]

    def topk(self, k: int) -> list[list[tuple[frozenset[tuple[int, int, int]], float]]]:
        best = self.argmax()
        return [[(one, float(p))] for one, p in zip(best, self.log_prob(best), strict=True)]

    def log_prob(self, mention_sets: Sequence[Iterable[tuple[int, int, int]]]) -> Tensor:
        chosen = torch.zeros_like(self.scores)
        for index, mentions in enumerate(mention_sets):
            for start, _, kind in mentions:
                chosen[index, start, kind] = 1
        finite = self.scores.clamp(min=-100)
        return -nn.functional.binary_cross_entropy_with_logits(finite, chosen, reduction="none").sum((1, 2))


class SingleWordScorer(Scorer):
    abilities = Abilities("of one word")

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        self.odds = encoder.word_layer(Outputs(["is a mention"], self.types))

    def forward(self, words: Tensor, spans: Spans | None, batch: Batch) -> Tensor:
        return self.by_word(self.odds(words), batch)

    def add_mention_bias(self, scores: Tensor, bias: float) -> Tensor:
        return scores + bias

    def distribution(self, scores: Tensor, lengths: Sequence[int]) -> SingleWords:
        return SingleWords(scores, lengths)

    def representable(self, mentions: set[tuple[int, int, int]], longest: int) -> set[tuple[int, int, int]]:
        return {mention for mention in mentions if mention[1] - mention[0] == 1}


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


class Lexicon(Model):
    abilities = Abilities("of one word", vectors=True)

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__(config, vocabulary)
        self.encoder = ENCODERS[config.encoder.kind](config, vocabulary, spans=False)
        self.odds = self.encoder.word_layer(Outputs(["is a mention"], len(self.labels)))

    def distribution(self, sentences: Sequence[Sentence]) -> SingleWords:
        batch = self.collate(sentences)
        return self._of_words(self.encoder(batch)[-1], batch)

    def _of_words(self, words: Tensor, batch: Batch) -> SingleWords:
        odds = self.odds(words).index_select(0, batch.row_of)
        return SingleWords(odds.view(len(batch.lengths), batch.longest, -1), batch.lengths)

    def loss_of(self, words: Tensor, gold: Sequence[set[tuple[int, int, int]]], batch: Batch) -> Loss:
        kept = [{mention for mention in one if mention[1] - mention[0] == 1} for one in gold]
        lost = tuple(len(one) - len(some) for one, some in zip(gold, kept, strict=True))
        return Loss(-self._of_words(words, batch).log_prob(kept), lost)
