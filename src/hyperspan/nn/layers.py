"""The layers of the neural encoder: vectors of words without context and from characters; h^s, a vector for every span
of at most c words (:mod:`hyperspan.kernels.lstm`), and the layer from it to scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding
from torch.nn.utils.rnn import pack_padded_sequence

from hyperspan.kernels.lstm import SpanLayout, span_states, word_states
from hyperspan.nn.batch import Batch
from hyperspan.nn.encoder import OutputLayer, Outputs, Spans
from hyperspan.nn.vectors import WordVectors
from hyperspan.runtime.layers import FILTER_WIDTHS, CharacterFilters, CharacterLstm, SpanLstm, WordTable
from hyperspan.text.vocabulary import UNKNOWN, Vocabulary


class CharacterLSTM(nn.Module):
    """The last states of both directions of an LSTM over a word's characters (Lample et al. 2016)."""

    def __init__(self, layer: CharacterLstm):
        super().__init__()
        self.embedding = nn.Embedding(*layer.characters, padding_idx=0)
        self.lstm = nn.LSTM(*layer.lstm, bidirectional=True, batch_first=True)

    def forward(self, characters: Tensor, counts: Tensor) -> Tensor:
        """(U, longest) and (U,) on the CPU, longest first -> (U, dimension): a vector per distinct word."""
        packed = pack_padded_sequence(characters, counts, batch_first=True)
        states = word_states(self.lstm, self.embedding(packed.data), counts.tolist())  # (characters, 2 * hidden)
        first = packed.batch_sizes.cumsum(0) - packed.batch_sizes
        last = (first[counts - 1] + torch.arange(len(counts))).to(states.device)
        forward, backward = states.chunk(2, dim=1)
        return torch.cat([forward.index_select(0, last), backward[: len(counts)]], dim=1)


class CharacterCNN(nn.Module):
    """Max-pooled convolutions over a word's characters; faster than the LSTM, and no worse on most data."""

    def __init__(self, layer: CharacterFilters):
        super().__init__()
        self.embedding = nn.Embedding(*layer.characters, padding_idx=0)
        self.filters = nn.ModuleList(
            nn.Conv1d(layer.characters.dimension, layer.hidden, width, padding=width - 1) for width in FILTER_WIDTHS
        )

    def forward(self, characters: Tensor, counts: Tensor) -> Tensor:
        """(U, longest) and (U,) -> (U, dimension): a vector per distinct word, independent of padding."""
        embedded = self.embedding(characters).transpose(1, 2)  # (U, d, longest)
        known = counts.to(characters.device)[:, None]
        answers = []
        for filters in self.filters:
            found = torch.relu(filters(embedded))  # (U, hidden, longest + width - 1)
            beyond = (
                torch.arange(found.shape[2], device=characters.device) >= known + found.shape[2] - embedded.shape[2]
            )
            answers.append(found.masked_fill(beyond[:, None], 0.0).amax(2))
        return torch.cat(answers, dim=1)


CHARACTER_ENCODERS = {"lstm": CharacterLSTM, "cnn": CharacterCNN}


class SpanLSTM(nn.Module):
    """The two LSTMs over spans."""

    def __init__(self, layer: SpanLstm):
        super().__init__()
        self.hidden = hidden = layer.hidden
        shapes = layer.shapes()
        self.inputs = nn.Parameter(torch.empty(shapes["inputs"]))
        self.recurrent = nn.Parameter(torch.empty(shapes["recurrent"]))
        self.bias = nn.Parameter(torch.zeros(shapes["bias"]))
        for weight in (self.inputs, self.recurrent):
            nn.init.uniform_(weight, -(hidden**-0.5), hidden**-0.5)
        with torch.no_grad():
            self.bias[:, :, hidden : 2 * hidden] = 1.0  # forget gates start open

    def forward(self, words: Tensor, batch: Batch, layout: SpanLayout) -> Tensor:
        """(N, dimension) -> (rows, 2, hidden): the states of the forward rows, and of the backward rows in backward
        order."""
        return span_states(self, (self.inputs, self.bias, self.recurrent), words, batch.row_of, layout)


class SpanLinear(OutputLayer):
    """Scores that are linear in h^s."""

    output_axes: ClassVar[dict[str, int]] = {"bias": 0, "from_spans": 2}

    def __init__(self, spans: int, outputs: Outputs):
        super().__init__()
        self.outputs = outputs
        self.from_spans = nn.Parameter(torch.empty(2, spans, outputs.count))
        nn.init.uniform_(self.from_spans, -((2 * spans) ** -0.5), (2 * spans) ** -0.5)
        self.bias = nn.Parameter(torch.zeros(outputs.count))

    def forward(self, words: Tensor, spans: Spans, batch: Batch) -> Tensor:
        """(rows, 2, d) -> (rows, outputs); what words and the batch are is for other encoders."""
        forward, backward = torch.bmm(spans.states.transpose(0, 1), self.from_spans)
        return forward + backward.index_select(0, spans.layout.backward_row) + self.bias


class WordEmbedding(nn.Module):
    """Word vectors: trainable for the words of the training data, frozen for the other pretrained words."""

    def __init__(self, table: WordTable):
        super().__init__()
        self.trained = nn.Parameter(torch.empty(table.trained, table.dimension))
        self.fixed: Tensor
        self.register_buffer("fixed", torch.zeros(table.fixed, table.dimension))
        bound = (3.0 / table.dimension) ** 0.5
        nn.init.uniform_(self.trained, -bound, bound)

    @torch.no_grad()
    def initialise(self, vocabulary: Vocabulary, pretrained: WordVectors) -> None:
        """Copy pretrained vectors into the tables."""
        row = {word: index for index, word in enumerate(pretrained.words)}
        found = [row.get(word, row.get(word.lower(), -1)) for word in vocabulary.words]
        # (words, dimension): a word missing from the file keeps its vector
        all_rows = torch.cat((self.trained[1:], self.fixed))
        known = [index for index, place in enumerate(found) if place >= 0]
        all_rows[known] = torch.from_numpy(pretrained.vectors[[found[index] for index in known]])
        self.trained[1:], self.fixed[:] = all_rows[: vocabulary.trained], all_rows[vocabulary.trained :]

    @torch.no_grad()
    def copy_from(
        self, vocabulary: Vocabulary, known: Sequence[str], vectors: Tensor, pretrained: WordVectors | None
    ) -> None:
        """Copy the vectors of known words, (1 + words, dimension); row 0 is the unknown word.

        Other words get their pretrained vector, or else that of the unknown word.
        """
        self.trained.copy_(vectors[UNKNOWN])
        self.fixed.copy_(vectors[UNKNOWN])
        if pretrained is not None:
            self.initialise(vocabulary, pretrained)
        ids = {word: index for index, word in enumerate(known, 1)}
        rows = torch.tensor([UNKNOWN, *(ids.get(word, ids.get(word.lower(), UNKNOWN)) for word in vocabulary.words)])
        for place, row in zip((self.trained, self.fixed), rows.tensor_split([len(self.trained)]), strict=True):
            place[row != UNKNOWN] = vectors[row[row != UNKNOWN]]

    def forward(self, ids: Tensor) -> Tensor:
        """(N,) -> (N, dimension)."""
        found = embedding(ids.clamp(max=len(self.trained) - 1), self.trained)
        if not len(self.fixed):
            return found
        fixed = embedding((ids - len(self.trained)).clamp(min=0), self.fixed)
        return torch.where((ids < len(self.trained))[:, None], found, fixed)
