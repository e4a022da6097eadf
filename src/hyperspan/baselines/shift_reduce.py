"""The actions of the transition-based model (Wang et al. 2018), without the network: their effects, their validity, and
the oracle.

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

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hyperspan.structures import Mention, MentionSet

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
