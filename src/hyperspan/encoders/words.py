"""Vectors of words: by themselves (word, tag, cluster, letters) or as a pretrained encoder reads them, then in their sentence
(a bidirectional LSTM)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from hyperspan.batch import Batch
from hyperspan.config import Config
from hyperspan.encoders.characters import CHARACTER_ENCODERS
from hyperspan.encoders.transformer import Transformer
from hyperspan.errors import InputError
from hyperspan.kernels.word_lstm import word_states
from hyperspan.vocabulary import CLUSTER_PREFIXES, UNKNOWN, Vocabulary

LETTERS_A_WORD = 5
"""So that about as many words have an unknown letter in training as are unknown themselves."""


class WordEmbedding(nn.Module):
    """Vectors of words: trained ones for the words of the training data, fixed ones for the other pretrained words."""

    def __init__(self, vocabulary: Vocabulary, dimension: int):
        super().__init__()
        self.trained = nn.Parameter(torch.empty(vocabulary.trained + 1, dimension))
        self.fixed: Tensor
        self.register_buffer("fixed", torch.zeros(len(vocabulary.words) - vocabulary.trained, dimension))
        bound = (3.0 / dimension) ** 0.5
        nn.init.uniform_(self.trained, -bound, bound)

    @torch.no_grad()
    def initialise(self, vocabulary: Vocabulary, words: list[str], vectors: np.ndarray) -> None:
        """Puts pretrained vectors in place."""
        row = {word: index for index, word in enumerate(words)}
        for index, word in enumerate(vocabulary.words):
            found = row.get(word, row.get(word.lower()))
            if found is None:
                continue
            place = self.trained[index + 1] if index < vocabulary.trained else self.fixed[index - vocabulary.trained]
            place.copy_(torch.from_numpy(vectors[found]))

    def forward(self, ids: Tensor) -> Tensor:
        """(N,) -> (N, dimension)."""
        found = embedding(ids.clamp(max=len(self.trained) - 1), self.trained)
        if not len(self.fixed):
            return found
        fixed = embedding((ids - len(self.trained)).clamp(min=0), self.fixed)
        return torch.where((ids < len(self.trained))[:, None], found, fixed)


class Dropout(nn.Module):
    """Dropout with a mask for each word, or one for all words of a sentence (Gal & Ghahramani 2016)."""

    def __init__(self, rate: float, shared: bool):
        super().__init__()
        self.rate, self.shared = rate, shared

    def forward(self, rows: Tensor, sentence: Tensor) -> Tensor:
        """(N, d), and the sentence of each row -> (N, d)."""
        if not self.training or self.rate == 0.0:
            return rows
        if not self.shared:
            return nn.functional.dropout(rows, self.rate)
        sentences = int(sentence.max()) + 1 if sentence.device.type == "cpu" else len(sentence)
        mask = torch.empty(sentences, rows.shape[1], dtype=rows.dtype, device=rows.device)
        return rows * mask.bernoulli_(1 - self.rate).div_(1 - self.rate).index_select(0, sentence)


class WordVectors(nn.Module):
    """What is known of each word of a batch: its vector, tag, clusters and letters, and what a pretrained encoder says of it."""

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__()
        words = config.words
        self.word_dropout = words.word_dropout
        self.words = WordEmbedding(vocabulary, words.dimension) if words.dimension else None
        dimension = words.dimension
        self.tags = nn.Embedding(len(vocabulary.tags) + 1, words.tag_dimension) if vocabulary.tags else None
        dimension += words.tag_dimension if vocabulary.tags else 0
        self.clusters = None
        if vocabulary.clusters:
            self.clusters = nn.Embedding(vocabulary.cluster_prefixes + 1, words.cluster_dimension)
            dimension += words.cluster_dimension * len(CLUSTER_PREFIXES)
        self.characters = None
        if config.characters.encoder != "none":
            kind = CHARACTER_ENCODERS[config.characters.encoder]
            self.characters = kind(len(vocabulary.characters) + 2, config.characters)
            dimension += self.characters.dimension
        self.transformer = None
        if config.transformer.name:
            if not vocabulary.transformer:
                raise InputError(
                    f"transformer.name is {config.transformer.name}, but vocabulary.json does not describe that encoder; train the model again"
                )
            self.transformer = Transformer(config.transformer, vocabulary.transformer)
            dimension += self.transformer.dimension
        if not dimension:
            raise InputError(
                "words.dimension is 0, and words have no tags, clusters, letters nor transformer either; set one of them, "
                "or words.dimension to 100"
            )
        self.input_dropout = Dropout(config.encoder.input_dropout, config.encoder.variational_dropout)
        self.dimension = dimension

    def forward(self, batch: Batch) -> list[Tensor]:
        """(N, dimension): a single layer."""
        return [self.input_dropout(self.vectors(batch), batch.sentence)]

    def vectors(self, batch: Batch) -> Tensor:
        """(N, d): what is known of each word."""
        parts: list[Tensor] = []
        if self.words is not None:
            parts.append(self.words(self._with_unknown(batch.words)))
        if self.tags is not None:
            parts.append(self.tags(self._with_unknown(batch.tags)))
        if self.clusters is not None:
            parts.append(self.clusters(batch.clusters).flatten(1))
        if self.characters is not None:
            spelled = self.characters(self.letters(batch), batch.letter_counts)
            parts.append(spelled.index_select(0, batch.spelling))
        if self.transformer is not None:
            assert batch.pieces is not None, "the batch was not collated for this model"
            parts.append(self.transformer(batch.pieces))
        return torch.cat(parts, dim=1)

    def letters(self, batch: Batch) -> Tensor:
        """(U, longest): the letters of spellings, some of them read as unknown in training."""
        letters = batch.letters
        if not self.training or not self.word_dropout:
            return letters
        chance = torch.rand(letters.shape, device=letters.device)
        return letters.masked_fill((letters > 0) & (chance < self.word_dropout / LETTERS_A_WORD), 1)

    def _with_unknown(self, ids: Tensor) -> Tensor:
        """The ids, some of them read as unknown in training, so that its vector is learnt."""
        if not self.training or not self.word_dropout:
            return ids
        return ids.masked_fill(torch.rand(ids.shape, device=ids.device) < self.word_dropout, UNKNOWN)


class WordEncoder(WordVectors):
    """h^w: every word of a batch in its sentence."""

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__(config, vocabulary)
        encoder = config.encoder
        sizes = ([self.dimension] + [2 * encoder.hidden] * encoder.layers)[: encoder.layers]
        self.layers = nn.ModuleList(nn.LSTM(size, encoder.hidden, bidirectional=True) for size in sizes)
        self.output_dropout = Dropout(encoder.output_dropout, encoder.variational_dropout)
        self.dimension = 2 * encoder.hidden if encoder.layers else self.dimension

    def forward(self, batch: Batch) -> list[Tensor]:
        """(N, dimension) for every layer, or for the vectors alone if there are none; the last is h^w."""
        (rows,) = super().forward(batch)
        if not self.layers:
            return [rows]
        outputs: list[Tensor] = []
        lengths = sorted(filter(None, batch.lengths), reverse=True)
        for layer in self.layers:
            assert isinstance(layer, nn.LSTM)
            rows = self.output_dropout(word_states(layer, rows, lengths), batch.sentence)
            outputs.append(rows)
        return outputs


class NeighbourWords(nn.Module):
    """Guesses from each word's LSTM states what comes next and what came before (Rei 2017).

    It is of use in training alone: states that know which words go together overfit less.
    """

    COMMON = 7_500
    """So many of the most frequent words are told apart."""

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__()
        self.words = min(vocabulary.trained, self.COMMON) + 1
        self.directions = nn.ModuleList(
            nn.Sequential(nn.Linear(config.encoder.hidden, 100), nn.Tanh(), nn.Linear(100, self.words))
            for _ in range(2)
        )

    def forward(self, states: Tensor, batch: Batch) -> Tensor:
        """(N, 2 * hidden), of a first layer, whose states have not seen the answers -> (B,): summed cross-entropy."""
        words = batch.words.masked_fill(batch.words >= self.words, UNKNOWN)
        later = len(words) - len(batch.before)
        forward, backward = states.chunk(2, dim=1)
        following, preceding = self.directions
        wrong = nn.functional.cross_entropy(following(forward[batch.before]), words[later:], reduction="none")
        wrong = wrong + nn.functional.cross_entropy(preceding(backward[later:]), words[batch.before], reduction="none")
        return wrong.new_zeros(len(batch.lengths)).index_add(0, batch.sentence[later:], wrong)
