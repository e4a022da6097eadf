"""Inference of the transition-based model: at each step, all sentences of a batch take their best valid action
together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear

from hyperspan.baselines.greedy import GreedySets
from hyperspan.baselines.shift_reduce import NOTHING, SHIFT, valid_actions
from hyperspan.kernels.numerics import MINUS_INFINITY
from hyperspan.kernels.transfer import is_asynchronous, to_device
from hyperspan.nn.batch import Batch
from hyperspan.structures import Mention

if TYPE_CHECKING:
    from hyperspan.baselines.transition import Transition

EMPTY = 3
"""Empty positions below every stack, so that it always has a top three."""
STEPS_PER_CHECK = 8
"""Steps between checks whether all sentences are finished; on a GPU each check synchronises."""


def cell(gates: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
    """(R, 4 h), (R, h) -> states and cells (R, h) of an LSTM."""
    enter, forget, new, leave = gates.chunk(4, dim=1)
    cells = forget.sigmoid() * cells + enter.sigmoid() * new.tanh()
    return leave.sigmoid() * cells.tanh(), cells


def log_softmax(scores: Tensor, valid: Tensor) -> Tensor:
    """(R, actions) -> (R, actions): the log-probabilities of the valid actions, -inf for the others."""
    return scores.float().masked_fill(~valid, MINUS_INFINITY).log_softmax(1)


def buffer_rows(batch: Batch) -> np.ndarray:
    """(B, n + 2): the row of each word; from the end of its sentence on, the row of the end symbol, which follows all
    words."""
    order = np.argsort(-np.array(batch.lengths), kind="stable")
    rows = np.full((len(order), batch.longest + 2), sum(batch.lengths), dtype=np.int64)
    counts = batch.batch_sizes.numpy()
    first = counts.cumsum() - counts
    for position, count in enumerate(counts):
        rows[order[:count], position] = first[position] + np.arange(count)
    return rows


class ActionSequences(GreedySets):
    """The mentions that the best actions made; the probability of a mention is that of the action that made it."""

    limits = "it takes the best action at each step and compares no sets"

    def __init__(self, actions: list[list[int]], *given: Any):
        super().__init__(*given)
        self.actions = actions
        """The actions of each sentence."""


class Step(NamedTuple):
    """The record of a step, (B,) each."""

    action: Tensor
    """NOTHING if the sentence was already finished."""
    log_probability: Tensor
    start: Tensor
    """The first word of the tree that the action made."""
    end: Tensor
    """The word after its last."""


@torch.no_grad()
def read(model: Transition, words: Tensor, batch: Batch) -> ActionSequences:
    """(N, d) -> the best valid action of every sentence, step after step, until all are read."""
    steps: list[Step] = []
    if batch.lengths:
        stacks = Stacks(model, words, batch)
        steps_per_check = STEPS_PER_CHECK if is_asynchronous(words.device) else 1
        while len(steps) <= batch.longest or len(steps) % steps_per_check or bool(stacks.left.any()):
            steps.append(stacks.step())
    return _action_sequences(steps, batch.lengths, len(model.labels), model.device)


def _action_sequences(steps: Sequence[Step], lengths: list[int], types: int, device: torch.device) -> ActionSequences:
    kept = [torch.stack(values).T.cpu().numpy() for values in zip(*steps, strict=True)]  # (B, steps) each
    action, log_probability, start, end = kept if kept else [np.zeros((0, 0), dtype=np.int64)] * 4
    found: list[dict[Mention, float]] = [{} for _ in lengths]
    sentence, step = np.nonzero((action > SHIFT) & (action <= 2 * types))
    kind, probability = (action[sentence, step] - 1) % max(types, 1), np.exp(log_probability[sentence, step])
    columns = (sentence, start[sentence, step], end[sentence, step], kind, probability)
    for b, first, after, k, p in zip(*(column.tolist() for column in columns), strict=True):
        found[b][first, after, k] = p
    actions = [row[row != NOTHING].tolist() for row in action]
    totals = np.where(action == NOTHING, 0.0, log_probability.astype(np.float64)).sum(1).tolist()
    return ActionSequences(actions, found, totals, lengths, types, device)


class Stacks:
    """The stacks, buffers and histories of all sentences of a batch.

    Tree i of the stack of sentence b is in row b * height + EMPTY + i: pushing writes there, and popping only counts.
    """

    def __init__(self, model: Transition, words: Tensor, batch: Batch):
        self.model, count, height = model, len(batch.lengths), batch.longest + EMPTY + 1
        rows, lengths = to_device([buffer_rows(batch), np.array(batch.lengths)], words.device)
        self.index = torch.arange(count, device=words.device)
        self.rows, self.first_row = rows.flatten(), self.index * rows.shape[1]
        self.buffer = torch.cat([words, model.end])
        self.leaves = model.compose.leaves(self.buffer)  # (N + 1, 2 h)
        self.base = self.index * height
        self.top_three = torch.arange(EMPTY - 1, -1, -1, device=words.device)
        # Of every tree the state and the cell of the stack, and its own vector and cell: (B * height, 4 h)
        self.trees = torch.cat([*model.bottom, *torch.zeros_like(model.bottom)], dim=1).repeat(count * height, 1)
        # Of every tree its label and its first word: (B * height, 2)
        self.marks = torch.full((count * height, 2), NOTHING, device=words.device)
        self.size, self.word, self.partial = torch.zeros(3, count, dtype=torch.long, device=words.device)
        self.left = lengths + 1
        inputs, self.recurrent, one, other = model.history.all_weights[0]
        self.inputs = linear(model.action.weight, inputs, one + other)  # (actions + 1, 4 h)
        nothing = words.new_zeros(count, model.history.hidden_size)
        self.history = self._remember(torch.full_like(self.size, model.actions), nothing, nothing)

    def _remember(self, action: Tensor, states: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
        """The states and cells of the history after one more action."""
        return cell(torch.addmm(self.inputs.index_select(0, action), states, self.recurrent.t()), cells)

    def step(self) -> Step:
        """Take an action in every unfinished sentence."""
        m, h, count = len(self.model.labels), self.model.history.hidden_size, len(self.size)
        places = ((self.base + self.size)[:, None] + self.top_three).flatten()
        trees = self.trees.index_select(0, places)  # (B * 3, 4 h)
        marks = self.marks.index_select(0, places).view(count, EMPTY, 2)
        row = self.rows.index_select(0, self.first_row + self.word)
        states = trees[:, :h].reshape(count, EMPTY * h)
        features = torch.cat([states, self.buffer.index_select(0, row), self.history[0]], dim=1)
        valid = valid_actions(marks[:, 0, 0], marks[:, 1, 0], self.left, self.partial, m)
        log_probability, action = log_softmax(self.model.decide(features), valid).max(1)
        unread = self.left > 0
        action = action.masked_fill(~unread, SHIFT)
        start = self._push(action, trees, marks, row)
        self.history = self._remember(action, *self.history)
        return Step(action.masked_fill(~unread, NOTHING), log_probability, start, self.word)

    def _push(self, action: Tensor, trees: Tensor, marks: Tensor, row: Tensor) -> Tensor:
        """Pop the parts of each action's tree from the stack, push the tree, and return its first word."""
        m, shifts = len(self.model.labels), action == SHIFT
        popped = (~shifts).long() + (action > m)
        tree = torch.where(shifts[:, None], self.leaves.index_select(0, row), self._composed(action, trees, popped))
        h, stack = tree.shape[1] // 2, self.model.stack
        below = trees.index_select(0, self.index * EMPTY + popped)
        gates = linear(tree[:, :h], stack.weight_ih, stack.bias_ih + stack.bias_hh)
        state = cell(torch.addmm(gates, below[:, :h], stack.weight_hh.t()), below[:, h : 2 * h])
        start = torch.where(shifts, self.word, marks[self.index, (popped - 1).clamp(min=0), 1])
        remaining = self.size - popped
        place = self.base + remaining + EMPTY
        self.trees.index_copy_(0, place, torch.cat([*state, tree], dim=1))
        self.marks.index_copy_(0, place, torch.stack([action, start], dim=1))
        parts = (marks[:, :2, 0] > 2 * m).sum(1)  # only Reduce takes any away
        self.partial = self.partial + (action > 2 * m).long() - parts * (popped == 2)
        self.size = remaining + ~(shifts & (self.left <= 1))  # the end symbol is no tree
        words = (shifts & (self.left > 0)).long()
        self.word, self.left = self.word + words, self.left - words
        return start

    def _composed(self, action: Tensor, trees: Tensor, popped: Tensor) -> Tensor:
        """(B, 2 h): the vectors and cells of trees made of the top one or two; meaningless where a word is shifted."""
        right, left, _ = trees.view(-1, EMPTY, 2, trees.shape[1] // 2)[:, :, 1].unbind(1)
        return self.model.compose(left * (popped == 2)[:, None], right, action.clamp(min=1))
