"""Character-level word vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from hyperspan.config import CharactersConfig
from hyperspan.kernels.word_lstm import word_states
from hyperspan.runtime.characters import FILTER_WIDTHS


class CharacterLSTM(nn.Module):
    """The last states of both directions of an LSTM over a word's characters (Lample et al. 2016)."""

    def __init__(self, characters: int, config: CharactersConfig):
        super().__init__()
        self.embedding = nn.Embedding(characters, config.dimension, padding_idx=0)
        self.lstm = nn.LSTM(config.dimension, config.hidden, bidirectional=True, batch_first=True)
        self.dimension = 2 * config.hidden

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

    def __init__(self, characters: int, config: CharactersConfig):
        super().__init__()
        self.embedding = nn.Embedding(characters, config.dimension, padding_idx=0)
        self.filters = nn.ModuleList(
            nn.Conv1d(config.dimension, config.hidden, width, padding=width - 1) for width in FILTER_WIDTHS
        )
        self.dimension = config.hidden * len(FILTER_WIDTHS)

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
