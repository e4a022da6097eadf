"""The transition-based model of Wang et al. (2018): it reads a sentence action by action, and mentions are trees on a
stack.

The next action depends on the top three trees of the stack, the next word of the buffer and the actions so far:

    stack     an LSTM over the trees from the bottom up; a tree's vector is made of those of its parts (a Tree-LSTM)
    buffer    the word encoder, whose backward half has read the rest of the sentence
    history   an LSTM over the actions

then a hidden layer and a softmax over the valid actions. Inference takes the best action each time, for all sentences
of a batch together. Training knows all actions in advance: it builds trees from low to high and stack states from the
bottom up, for the whole batch at once, and scores all decisions together.

The original has composition weights per label; here labels have vectors that are added to the gates, and Unary-X
composes a word with an empty sibling, so that a batch with different actions shares the same matrix products. Actions
and their validity are in :mod:`hyperspan.baselines.shift_reduce`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.nn.utils.rnn import PackedSequence

from hyperspan.baselines.shift_reduce import NOTHING, Derivations, derivations, oracle, valid_actions
from hyperspan.baselines.transition_decoding import ActionSequences, buffer_rows, cell, log_softmax, read
from hyperspan.baselines.tree import without_crossing
from hyperspan.config import Config
from hyperspan.kernels.transfer import to_device
from hyperspan.nn import ENCODERS, Abilities, Model
from hyperspan.nn.batch import Batch
from hyperspan.structures import Mention
from hyperspan.structures.losses import Loss
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

ACTION = 20
"""Size of the vector of an action, as in the paper."""
GAIN = 1.5
"""The gain of the initial weights between words and decisions: with the default, several saturating functions leave
little gradient."""


class Composition(nn.Module):
    """The Tree-LSTM: trees, (R, 2 h) for their vectors and cells, made of words, or of one or two other trees."""

    def __init__(self, words: int, hidden: int, actions: int):
        super().__init__()
        self.leaf = nn.Linear(words, 2 * hidden)
        self.join = nn.Linear(2 * hidden, 4 * hidden, bias=False)
        self.label = nn.Parameter(torch.empty(actions - 1, 4 * hidden).uniform_(-(hidden**-0.5), hidden**-0.5))

    def leaves(self, words: Tensor) -> Tensor:
        """(R, d) -> (R, 2 h)"""
        cells, leave = self.leaf(words).chunk(2, dim=1)
        return torch.cat([leave.sigmoid() * cells.tanh(), cells], dim=1)

    def forward(self, left: Tensor, right: Tensor, action: Tensor) -> Tensor:
        """(R, 2 h), 0 where there is only a right one, (R, 2 h), and the actions (R,) -> (R, 2 h)"""
        (left, left_cells), (right, right_cells) = left.chunk(2, dim=1), right.chunk(2, dim=1)
        gates = self.join(torch.cat([left, right], dim=1)) + self.label.index_select(0, action - 1)
        enter, keep_left, keep_right, new = gates.chunk(4, dim=1)
        kept = keep_left.sigmoid() * left_cells + keep_right.sigmoid() * right_cells
        cells = enter.sigmoid() * new.tanh() + kept
        return torch.cat([cells.tanh(), cells], dim=1)


class Transition(Model):
    """A stack, a buffer and a history of actions, and a network that chooses the next one."""

    abilities = Abilities(vectors=True)

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__(config, vocabulary)
        self.encoder = ENCODERS[config.encoder.kind](config, vocabulary, spans=False)
        d, h, self.actions = self.encoder.dimension, config.encoder.hidden, 3 * len(self.labels) + 1
        self.end = nn.Parameter(torch.empty(1, d).uniform_(-1, 1))
        self.compose = Composition(d, h, self.actions)
        self.stack = nn.LSTMCell(h, h)
        self.bottom = nn.Parameter(torch.zeros(2, 1, h).uniform_(-(h**-0.5), h**-0.5))
        self.action = nn.Embedding(self.actions + 1, ACTION)  # the last one comes before the first action
        self.history = nn.LSTM(ACTION, h)
        hidden = nn.Linear(4 * h + d, h)
        self.decide = nn.Sequential(hidden, nn.ReLU(), nn.Linear(h, self.actions))
        for weight in (self.compose.leaf.weight, self.compose.join.weight, self.stack.weight_ih, hidden.weight):
            nn.init.xavier_uniform_(weight, GAIN)

    @property
    def batch_entries(self) -> int:
        """The size of an inference batch: sentences × words × widths; large, since widths cost nothing here."""
        return 5 * super().batch_entries

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return set(without_crossing(mentions))

    # -- training -------------------------------------------------------------------------------------------------

    def loss_of(self, words: Tensor, gold: Sequence[set[Mention]], batch: Batch) -> Loss:
        kept = [self.representable(mentions, batch.longest) for mentions in gold]
        pairs = zip(kept, batch.lengths, strict=True)
        actions = [oracle(mentions, length, len(self.labels)) for mentions, length in pairs]
        values = -self.log_prob(words, actions, batch)
        return Loss(values, tuple(len(all_) - len(some) for all_, some in zip(gold, kept, strict=True)))

    def log_prob(self, words: Tensor, actions: Sequence[Sequence[int]], batch: Batch) -> Tensor:
        """(N, d), and the actions of each sentence -> (B,): their log-probability."""
        known = derivations(actions, len(self.labels))
        label = np.append(known.action, NOTHING)[known.stack]  # (A, 3)
        left = np.array(batch.lengths, dtype=np.int64)[known.sentence] + 1 - known.word
        row = buffer_rows(batch)[known.sentence, known.word]
        stack, top, second, left, partial, action, sentence, next_row = to_device(
            [known.stack, *label[:, :2].T, left, known.partial, known.action, known.sentence, row], self.device
        )
        buffer = torch.cat([words, self.end.to(words.dtype)])
        states = self._states(self._trees(buffer, known, row), known)
        three = states.index_select(0, (stack % len(states)).flatten()).view(len(stack), -1)  # -1 is the last one
        features = torch.cat([three, buffer.index_select(0, next_row), self._history(known)], dim=1)
        valid = valid_actions(top, second, left, partial, len(self.labels))
        chosen = log_softmax(self.decide(features), valid).gather(1, action[:, None])[:, 0]
        return chosen.new_zeros(len(actions)).index_add(0, sentence, chosen)

    def _trees(self, buffer: Tensor, known: Derivations, row: np.ndarray) -> Tensor:
        """(A, h): the vectors of all trees, made from low to high; `row` is that of the next word of the buffer."""
        order, place, sizes = _in_blocks(known.height)
        unary = known.action <= len(self.labels)
        left = np.where(unary, 0, place[known.stack[:, 1]] + 1)[order]  # place 0 is of nothing
        right = place[known.stack[:, 0]][order] + 1
        leaves, left, right, action, place = to_device(
            [row[known.height == 0], left, right, known.action[order], place], self.device
        )
        words = self.compose.leaves(buffer.index_select(0, leaves))
        trees = torch.cat([words.new_zeros(1, words.shape[1]), words])
        blocks = zip(left.split(sizes), right.split(sizes), action.split(sizes), strict=True)
        for lefts, rights, actions in islice(blocks, 1, None):
            new = self.compose(trees.index_select(0, lefts), trees.index_select(0, rights), actions)
            trees = torch.cat([trees, new])
        return trees.chunk(2, dim=1)[0].index_select(0, place + 1)

    def _states(self, vectors: Tensor, known: Derivations) -> Tensor:
        """(A, h), the vectors of trees -> (A + 1, h): the state of the stack with each tree on top, and of the empty
        stack."""
        order, place, sizes = _in_blocks(known.depth)
        lower = (np.cumsum(sizes) - sizes)[known.depth - 1]  # where the trees begin that are one lower
        below = np.where(known.depth > 0, place[known.below] - lower, 0)[order]
        order, place, below = to_device([order, place, below], self.device)
        bias, recurrent = self.stack.bias_ih + self.stack.bias_hh, self.stack.weight_hh.t()
        gates = linear(vectors.index_select(0, order), self.stack.weight_ih, bias)
        states, cells = self.bottom
        blocks: list[Tensor] = []
        for own, on in zip(gates.split(sizes), below.split(sizes), strict=True):
            joined = torch.addmm(own, states.index_select(0, on), recurrent)
            states, cells = cell(joined, cells.index_select(0, on))
            blocks.append(states)
        return torch.cat([torch.cat(blocks).index_select(0, place), self.bottom[0]])

    def _history(self, known: Derivations) -> Tensor:
        """(A, h): the state of the history before each action."""
        lengths = np.bincount(known.sentence)
        rank = np.empty_like(lengths)
        rank[np.argsort(-lengths, kind="stable")] = np.arange(len(lengths))
        counts = np.bincount(known.step)
        row = (counts.cumsum() - counts)[known.step] + rank[known.sentence]  # in packed order
        before = np.empty_like(row)
        before[row] = np.where(known.step == 0, self.actions, np.roll(known.action, 1))
        row, before = to_device([row, before], self.device)
        packed, _ = self.history(PackedSequence(self.action(before), torch.from_numpy(counts)))
        return packed.data.index_select(0, row)

    # -- inference
    # ------------------------------------------------------------------------------------------------------

    def distribution(self, sentences: Sequence[Sentence]) -> ActionSequences:
        batch = self.collate(sentences)
        return read(self, self.encoder(batch)[-1], batch)


def _in_blocks(level: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """The entries sorted by level, the rank of each entry, and the size of each level.

    >>> [values if isinstance(values, list) else values.tolist() for values in _in_blocks(np.array([0, 2, 1, 0]))]
    [[0, 3, 2, 1], [0, 3, 2, 1], [2, 1, 1]]
    """
    order = np.argsort(level, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return order, place, np.bincount(level).tolist()
