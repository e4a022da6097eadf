"""A structure of one's own: no mention is inside another of its type. They may cross, and other types do not count."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from hyperspan import Config
from hyperspan.nn import INITIAL_MENTION_BIAS, Abilities, Batch, Encoder, Outputs, Scorer, Spans
from hyperspan.structures.graphs import Graph, SpanGraph


@lru_cache(maxsize=64)
def not_inside_graph(n: int, c: int, m: int) -> Graph:
    """For each type and from each word on, the mentions that start here or later and end after those before them."""
    graph = Graph(mention=(n, c, m))
    rest = np.full((n + 1, n + 1, m), graph.end)  # by next word, by where the last mention ends, and by type
    for i in reversed(range(n)):
        before = np.arange(i, min(i - 1 + c, n) + 1)  # where the last mention may end; all that ended here are alike
        ends = np.arange(i + 1, min(i + c, n) + 1)
        none = rest[i + 1, np.maximum(before, i + 1)]  # (before, m): no mention starts here
        one = np.where(ends[:, None] > before[:, None, None], rest[i + 1, ends], graph.nowhere)  # (before, ends, m)
        tails = np.concatenate([none[:, None], one], axis=1).swapaxes(1, 2)  # (before, m, 1 + ends)
        slots = np.concatenate([np.full((1, m), graph.nothing), graph.slots["mention"][i, ends - i - 1]]).T
        rest[i, before] = graph.add(tails, slots, word=i, before=before[:, None], kind=np.arange(m))
    return graph.finish(rest[0, 0])


class NotInsideScorer(Scorer):
    """A score for each span and type."""

    abilities = Abilities("none inside another of its type", spans=True)

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        self.mention = encoder.span_layer(Outputs(["is a mention"], self.types), whole=True)
        with torch.no_grad():
            self.mention.bias[: self.types] = INITIAL_MENTION_BIAS

    def forward(self, words: Tensor, spans: Spans | None, batch: Batch) -> Tensor:
        if spans is None:  # no sentence has a word
            return words.new_zeros(len(batch.lengths), batch.longest, 1, self.types)
        return spans.by_width(self.mention(words, spans, batch).float())

    def add_mention_bias(self, scores: Tensor, bias: float) -> Tensor:
        return scores + bias

    def distribution(self, scores: Tensor, lengths: Sequence[int]) -> SpanGraph:
        _, n, c, m = scores.shape
        return SpanGraph(not_inside_graph(n, min(n, c), m), {"mention": scores}, lengths)

    def representable(self, mentions: set[tuple[int, int, int]], longest: int) -> set[tuple[int, int, int]]:
        fitting = self.no_wider(mentions, longest)
        return {one for one in fitting if not any(is_inside(one, other) for other in fitting)}


def is_inside(one: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
    """Whether a mention is inside another one of its type."""
    return one != other and one[2] == other[2] and other[0] <= one[0] and one[1] <= other[1]
