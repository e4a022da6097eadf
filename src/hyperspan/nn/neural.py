"""The neural encoder: word representations (word, tag, characters, transformer), LSTMs over them, and a span LSTM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from hyperspan.config import Config, TrainingConfig, WordsConfig
from hyperspan.errors import InputError
from hyperspan.kernels.lstm import SpanLayout, word_states
from hyperspan.nn.batch import Batch, collate
from hyperspan.nn.encoder import Encoder, EncoderAbilities, Outputs, ParameterOptions, WordLinear
from hyperspan.nn.hub import read_pretrained
from hyperspan.nn.layers import CHARACTER_ENCODERS, SpanLinear, SpanLSTM, WordEmbedding
from hyperspan.nn.transformer import Transformer
from hyperspan.nn.vectors import WordVectors, read_vectors, vectors_dimension
from hyperspan.runtime.layers import SpanLstm, WordLayers, lstm_layers
from hyperspan.text.vocabulary import UNKNOWN, Vocabulary
from hyperspan.types import Sentence

CHARACTERS_PER_WORD = 5
"""Divides the unknown rate of characters, so that training has about as many words with an unknown character as unknown
words."""


class Pretrained(NamedTuple):
    """The pretrained resources that a neural encoder starts from."""

    vectors: WordVectors | None
    transformer: nn.Module | None


class NeuralEncoder(Encoder):
    """Computes h^w for every word in its sentence, and h^s for every span.

    A model can ask for another number of `layers` than the configuration's, and for batches with `characters`, which
    it then reads itself.
    """

    abilities = EncoderAbilities(vectors=True, contextual=True, spans=True, warm_start=True)

    def __init__(
        self,
        config: Config,
        vocabulary: Vocabulary,
        *,
        spans: bool = False,
        layers: int | None = None,
        characters: bool = False,
    ):
        super().__init__(config, vocabulary, spans=spans)
        encoder = config.encoder
        count = encoder.layers if layers is None else layers
        self._collates_characters = characters
        self.word_dropout = config.words.word_dropout
        layers_of_words = WordLayers.of(config, vocabulary)
        table, tags, spelled = layers_of_words
        self.words = WordEmbedding(table) if table is not None else None
        self.tags = nn.Embedding(*tags) if tags is not None else None
        self.characters = CHARACTER_ENCODERS[config.characters.encoder](spelled) if spelled is not None else None
        self.transformer = None
        dimension = layers_of_words.dimension
        if config.transformer.name:
            self.transformer = _transformer(config, vocabulary)
            dimension += self.transformer.dimension
        if not dimension:
            raise InputError(
                "words.dimension is 0, and words have no tags, characters nor transformer either; set one of them, "
                "or words.dimension to 100"
            )
        self.input_dropout = nn.Dropout(encoder.input_dropout)
        lstms = lstm_layers(dimension, encoder.hidden, count)
        self.layers = nn.ModuleList(self.new_layer(*one) for one in lstms)
        self.output_dropout = nn.Dropout(encoder.output_dropout)
        self.dimension = lstms[-1].dimension if lstms else dimension
        self.spans = SpanLSTM(SpanLstm(self.dimension, encoder.span_hidden)) if spans else None

    @classmethod
    def check(cls, config: Config) -> None:
        weight, encoder = config.training.lm_loss_weight, config.transformer.name
        if weight and (encoder or config.encoder.layers == 0):
            why = (
                f"{encoder} has read the words to predict"
                if encoder
                else "encoder.layers is 0, so no LSTM predicts them"
            )
            raise InputError(f"training.lm_loss_weight is {weight:g}, but {why}; set it to 0")

    @classmethod
    def prepare(cls, config: Config, sentences: Sequence[Sentence]) -> tuple[Vocabulary, Pretrained]:
        words = config.words
        vectors = _vectors(words, sentences)
        vocabulary = Vocabulary.of(sentences, config, vectors.words if vectors else ())
        transformer = None
        if config.transformer.name:
            vocabulary.transformer, transformer = read_pretrained(config.transformer.name)
        return vocabulary, Pretrained(vectors, transformer)

    def initialise(self, resources: Pretrained) -> None:
        if resources.vectors is not None and self.words is not None:
            self.words.initialise(self.vocabulary, resources.vectors)
        if resources.transformer is not None and self.transformer is not None:
            self.transformer.initialise(resources.transformer)

    @classmethod
    def prepare_from(
        cls, start: Vocabulary, config: Config, sentences: Sequence[Sentence]
    ) -> tuple[Vocabulary, Pretrained]:
        vectors = _vectors(config.words, sentences, "leave words.vectors out")
        known = [*start.words, *(vectors.words if vectors else ())]
        own = Vocabulary.of(sentences, config, known)
        vocabulary = replace(
            own,
            characters=list(dict.fromkeys(start.characters + own.characters)),
            tags=list(dict.fromkeys(start.tags + own.tags)) if start.tags else [],
            transformer=start.transformer,
        )
        return vocabulary, Pretrained(vectors, None)

    @torch.no_grad()
    def copy_from(self, start: Vocabulary, state: Mapping[str, Tensor], resources: Pretrained) -> None:
        """Copy a trained encoder. New symbols start from its unknown symbol; words with pretrained vectors, from
        those."""
        rows = {
            "tags.weight": [0, *_rows(self.vocabulary.tags, start.tags, first=1, unknown=0)],
            "characters.embedding.weight": [
                *(0, 1),
                *_rows(self.vocabulary.characters, start.characters, first=2, unknown=1),
            ],
        }
        for name, tensor in self.state_dict().items():
            if not name.startswith("words."):
                tensor.copy_(state[name][rows[name]] if name in rows else state[name])
        if self.words is not None:
            vectors = torch.cat([state["words.trained"], state["words.fixed"]])
            self.words.copy_from(self.vocabulary, start.words, vectors, resources.vectors)

    @property
    def reads_characters(self) -> bool:
        return self.characters is not None or self._collates_characters

    @property
    def context(self) -> int:
        return self.config.transformer.context if self.transformer is not None else 0

    @property
    def pretrained_rows(self) -> list[Tensor]:
        return [] if self.words is None else [self.words.fixed]

    @property
    def word_vectors(self) -> list[Tensor]:
        return [] if self.words is None else [self.words.trained, self.words.fixed]

    def parameter_options(self, training: TrainingConfig) -> dict[nn.Parameter, ParameterOptions]:
        """Word vectors have no weight decay: it would undo what rare words learn."""
        options: dict[nn.Parameter, ParameterOptions] = {}
        if self.words is not None:
            options[self.words.trained] = ParameterOptions(training.learning_rate, 0.0)
        if self.transformer is not None:
            options |= self.transformer.parameter_options(training.weight_decay)
        return options

    def collate(self, sentences: Sequence[Sentence], device: torch.device) -> Batch:
        tokenizer = self.transformer.tokenizer if self.transformer is not None else None
        return collate(sentences, self.vocabulary, characters=self.reads_characters, device=device, tokenizer=tokenizer)

    def forward(self, batch: Batch) -> list[Tensor]:
        """(N, dimension) for every LSTM layer, or the word vectors if there are none; the last is h^w."""
        if batch.longest == 0:
            return [torch.zeros(0, self.dimension, device=batch.words.device)]
        rows = self.input_dropout(self.vectors(batch))
        outputs = [] if self.layers else [rows]
        lengths = sorted(filter(None, batch.lengths), reverse=True)
        for layer in self.layers:
            rows = self.output_dropout(self.states(layer, rows, lengths))
            outputs.append(rows)
        return outputs

    def new_layer(self, size: int, hidden: int) -> nn.Module:
        """A layer over words. Another encoder may have other ones: it overrides this and :meth:`states`."""
        return nn.LSTM(size, hidden, bidirectional=True)

    def states(self, layer: nn.Module, rows: Tensor, lengths: Sequence[int]) -> Tensor:
        """(N, size) -> (N, 2 * hidden): what a layer makes of words, by word; sentences are longest first."""
        assert isinstance(layer, nn.LSTM)
        return word_states(layer, rows, lengths)

    def vectors(self, batch: Batch) -> Tensor:
        """(N, d): each word's vector, without context unless from the transformer."""
        parts: list[Tensor] = []
        if self.words is not None:
            parts.append(self.words(self._with_unknown(batch.words)))
        if self.tags is not None:
            parts.append(self.tags(self._with_unknown(batch.tags)))
        if self.characters is not None:
            spelled = self.characters(self.character_ids(batch), batch.character_counts)
            parts.append(spelled.index_select(0, batch.spelling))
        if self.transformer is not None:
            assert batch.subwords is not None, "the batch was not collated for this model"
            parts.append(self.transformer(batch.subwords))
        return torch.cat(parts, dim=1)

    def character_ids(self, batch: Batch) -> Tensor:
        """(U, longest): the characters of distinct words, some of them replaced by unknown in training."""
        ids = batch.characters
        if not self.training or not self.word_dropout:
            return ids
        chance = torch.rand(ids.shape, device=ids.device)
        return ids.masked_fill((ids > 0) & (chance < self.word_dropout / CHARACTERS_PER_WORD), 1)

    def _with_unknown(self, ids: Tensor) -> Tensor:
        """Replace some ids by unknown in training, so that its vector is learnt."""
        if not self.training or not self.word_dropout:
            return ids
        return ids.masked_fill(torch.rand(ids.shape, device=ids.device) < self.word_dropout, UNKNOWN)

    def encode_spans(self, words: Tensor, batch: Batch, layout: SpanLayout) -> Tensor:
        """(N, dimension) -> (rows, 2, span_hidden): h^s"""
        assert self.spans is not None, "the encoder was built without spans"
        return self.spans(words, batch, layout)

    def word_layer(self, outputs: Outputs) -> WordLinear:
        return WordLinear(self.dimension, outputs)

    def span_layer(self, outputs: Outputs, *, whole: bool = False) -> SpanLinear:
        """The span LSTM has read all words of a span, so `whole` makes no difference."""
        return SpanLinear(self.config.encoder.span_hidden, outputs)


def _vectors(words: WordsConfig, sentences: Sequence[Sentence], advice: str = "") -> WordVectors | None:
    """Read the first vectors of the configured file, and those of the words of the sentences.

    `advice` is added to the error for vectors of another dimension.
    """
    if not words.vectors:
        return None
    if (dimension := vectors_dimension(words.vectors)) != words.dimension:
        raise InputError(
            f"words.vectors is {words.vectors}, which has vectors of dimension {dimension}, but words.dimension is "
            f"{words.dimension}; {advice or f'set words.dimension = {dimension}'}"
        )
    tokens = {token for sentence in sentences for token in sentence.tokens}
    needed = {token.lower() for token in tokens} | (set() if words.lowercase else tokens)
    return read_vectors(words.vectors, limit=words.max_vectors, needed=needed, lowercase=words.lowercase)


def _rows(symbols: Sequence[str], known: Sequence[str], *, first: int, unknown: int) -> list[int]:
    """The row of each symbol in a table of known ones, which begin at row `first`; the row `unknown` for others."""
    places = {symbol: row for row, symbol in enumerate(known, first)}
    return [places.get(symbol, unknown) for symbol in symbols]


def _transformer(config: Config, vocabulary: Vocabulary) -> Transformer:
    if not vocabulary.transformer:
        raise InputError(
            f"transformer.name is {config.transformer.name}, but vocabulary.json does not describe that encoder; train the model again"
        )
    return Transformer(config.transformer, vocabulary.transformer)
