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
composes a word with an empty sibling, so that a batch with different actions shares the same matrix products.

A sentence is read from a *buffer*, its words and an end symbol, onto a *stack* of trees. With m types there are 3 m + 1
actions:

==================  ==================  =============================================================================
number              action              what it does
==================  ==================  =============================================================================
0                   Shift               moves the next word onto the stack; that of the end symbol is the last action
1 + k               Unary-k             says that the word on top of the stack is a mention of type k
1 + m + k           Reduce-k            makes the top two trees one, which is a mention of type k
1 + 2 m + k         Reduce-k*           the same, but a part of a mention of type k that is to come
==================  ==================  =============================================================================

Every action but the last makes one tree, so a tree has the number of its action: its *label* is that action (0 for a
bare word). Any set of nested or disjoint mentions with one type per span has such actions; crossing mentions and second
types have none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.nn.utils.rnn import PackedSequence

from hyperspan.baselines.greedy import GreedySets
from hyperspan.baselines.tree import without_crossing
from hyperspan.config import Config
from hyperspan.kernels.transfer import is_asynchronous
from hyperspan.nn import ENCODERS, Abilities, Batch, Model
from hyperspan.structures import Loss, Mention, MentionSet
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

# -- actions without the network: their effects, their validity, and the oracle ----------------------------------------

SHIFT = 0
NOTHING = -1
"""The label of an empty stack position, and the index of "no tree" in tables."""


def oracle(mentions: Iterable[Mention], length: int, types: int) -> list[int]:
    """The actions that build these mentions (nested or disjoint, one type per span): trees grow to the right, word by
    word.

    >>> oracle({(0, 3, 0), (1, 2, 1)}, length=4, types=2)  # Shift Shift Unary-1 Reduce-0* Shift Reduce-0 Shift Shift
    [0, 0, 2, 5, 0, 3, 0, 0]
    """
    outer_first = sorted(mentions, key=lambda mention: (mention[0], -mention[1]))
    actions: list[int] = []
    around: list[Mention] = []  # the mentions that the word is in, innermost last
    following = 0
    for word in range(length):
        while following < len(outer_first) and outer_first[following][0] == word:
            around.append(outer_first[following])
            following += 1
        actions.append(SHIFT)
        start = word  # of the tree on top of the stack, which ends with this word
        if around and around[-1][:2] == (word, word + 1):
            actions.append(1 + around.pop()[2])
        while around and around[-1][0] < start:
            first, end, kind = around[-1]
            if end > word + 1:
                actions.append(1 + 2 * types + kind)
                break
            actions.append(1 + types + kind)
            around.pop()
            start = first
    return [*actions, SHIFT]


def mentions_of(actions: Sequence[int], types: int) -> MentionSet:
    """The mentions that actions build.

    >>> sorted(mentions_of([0, 0, 2, 5, 0, 3, 0, 0], types=2))
    [(0, 3, 0), (1, 2, 1)]
    """
    starts: list[int] = []
    mentions: set[Mention] = set()
    word = 0
    for action in actions:
        if action == SHIFT:
            starts.append(word)
            word += 1
            continue
        if action > types:
            starts.pop()
        if action <= 2 * types:
            mentions.add((starts[-1], word, (action - 1) % types))
    return frozenset(mentions)


def valid_actions(top: Tensor, second: Tensor, left: Tensor, partial: Tensor, types: int) -> Tensor:
    """(R,) each -> (R, 3 m + 1): the valid actions, given the labels of the top two trees.

    `left` is the length of the buffer, including the end symbol, at least 1; `partial` the number of trees on the stack
    that are parts of mentions. The end symbol is shifted only when there are none; a part is made only while words
    remain to complete it. If one of the top two trees is a part, they can only be reduced to its type (that of the
    upper one, if both are parts).

    >>> valid_actions(*(torch.tensor([value]) for value in (0, 3, 2, 1)), types=1).tolist()  # a bare word on a part
    [[True, True, True, True]]
    >>> valid_actions(*(torch.tensor([value]) for value in (1, 3, 1, 1)), types=1).tolist()  # no word is left
    [[False, False, True, False]]
    """
    kinds = torch.arange(types, device=top.device)
    words_left = (left > 1)[:, None]
    asked = (torch.where(top > 2 * types, top, second) - 2 * types - 1)[:, None]  # the type of a part, or negative
    reduce = (second != NOTHING)[:, None] & ((asked < 0) | (asked == kinds))
    unary = (top == SHIFT)[:, None].expand(-1, types)
    return torch.cat([words_left | (partial == 0)[:, None], unary, reduce, reduce & words_left], dim=1)


class Derivations(NamedTuple):
    """The effects of actions, sentence after sentence: arrays with an entry for each of A actions.

    A tree has the number of the action that makes it; -1 is no tree.
    """

    action: np.ndarray
    sentence: np.ndarray
    step: np.ndarray
    """The index of the action in its sentence."""
    word: np.ndarray
    """The next word of the buffer, before the action; the number of words at the end symbol."""
    stack: np.ndarray
    """(A, 3): the top three trees of the stack, before the action."""
    below: np.ndarray
    """The tree below the new tree on the stack."""
    depth: np.ndarray
    """The number of trees below it."""
    height: np.ndarray
    """0 for a bare word, or one more than the higher of the trees that it is made of."""
    partial: np.ndarray
    """The number of trees on the stack that are parts of mentions, before the action."""


def derivations(actions: Sequence[Sequence[int]], types: int) -> Derivations:
    """The effects of each sentence's actions. The last action of a sentence, which shifts the end symbol, counts as
    making a tree."""
    rows: list[tuple[int, ...]] = []
    heights: list[int] = []
    for sentence, own in enumerate(actions):
        stack = [NOTHING] * 3
        word = partial = 0
        for step, action in enumerate(own):
            third, second, top = stack[-3:]
            popped = (action > SHIFT) + (action > types)
            below = (top, second, third)[popped]
            height = 1 + heights[top] if popped == 1 else 1 + max(heights[top], heights[second]) if popped else 0
            rows.append(
                (action, sentence, step, word, top, second, third, below, len(stack) - 3 - popped, height, partial)
            )
            for tree in stack[len(stack) - popped :]:
                partial -= rows[tree][0] > 2 * types
            partial += action > 2 * types
            del stack[len(stack) - popped :]
            stack.append(len(heights))
            heights.append(height)
            word += action == SHIFT
    action, sentence, step, word, *stack, below, depth, height, partial = (
        np.array(rows, dtype=np.int64).reshape(-1, 11).T
    )
    return Derivations(action, sentence, step, word, np.stack(stack, axis=1), below, depth, height, partial)


# -- the network -------------------------------------------------------------------------------------------------------

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
        stack, top, second, left, partial, action, sentence, next_row = self.indices(
            known.stack, *label[:, :2].T, left, known.partial, known.action, known.sentence, row
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
        leaves, left, right, action, place = self.indices(
            row[known.height == 0], left, right, known.action[order], place
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
        order, place, below = self.indices(order, place, below)
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
        row, before = self.indices(row, before)
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


# -- inference: at each step, all sentences take their best valid action together --------------------------------------

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
    return scores.float().masked_fill(~valid, -math.inf).log_softmax(1)


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
        rows, lengths = model.indices(buffer_rows(batch), np.array(batch.lengths))
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
