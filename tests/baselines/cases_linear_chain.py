"""Small batches of linear chains, with every set of mentions that do not overlap enumerated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import torch
from hypothesis import strategies as st

from experiments.figures.graphs import TagNode, linear_chain_hypergraph, linear_chain_mentions
from hyperspan.baselines.linear_chain import LinearChain, TagScores
from hyperspan.structures import Mention, MentionSet
from hyperspan.structures.graphs import Hyperedge
from tests.structures.batches import Batch, batches
from tests.structures.brute_force import BruteForce, Case, Explicit, arrays


def flat_sets(n: int, types: int, max_width: int, start: int = 0) -> Iterator[MentionSet]:
    """Every set of mentions that do not overlap, from left to right: the next word is outside, or begins a mention."""
    if start == n:
        yield frozenset()
        return
    yield from flat_sets(n, types, max_width, start + 1)
    for end in range(start + 1, min(start + max_width, n) + 1):
        for others in flat_sets(n, types, max_width, end):
            for kind in range(types):
                yield others | {(start, end, kind)}


def tag_of(word: int, mentions: MentionSet) -> int:
    """A word's tag, from the definition: O is 0, then B, I, L, U of the first type, of the second, and so on."""
    around: list[Mention] = [mention for mention in mentions if mention[0] <= word < mention[1]]
    if not around:
        return 0
    ((start, end, kind),) = around
    place = {(True, True): "U", (True, False): "B", (False, True): "L"}.get((word == start, word == end - 1), "I")
    return 1 + 4 * kind + "BILU".index(place)


def chain_score(scores: SimpleNamespace, sentence: int, length: int, mentions: MentionSet) -> float:
    """The score of one set, added up word by word."""
    tags = [tag_of(word, mentions) for word in range(length)]
    if not tags:
        return 0.0
    total = scores.first[tags[0]] + scores.last[tags[-1]]
    total += sum(scores.emit[sentence, word, tag] for word, tag in enumerate(tags))
    return total + sum(scores.step[tag, following] for tag, following in itertools.pairwise(tags))


def chain_weights(scores: SimpleNamespace, sentence: int, length: int) -> Callable[[Hyperedge], float]:
    """The log-weight of each hyperedge of the explicit graph."""

    def weight(edge: Hyperedge) -> float:
        (node,) = edge.tail
        assert isinstance(edge.head, TagNode) and isinstance(node, TagNode)
        if node.position == length:
            return scores.last[edge.head.tag] if length else 0.0
        step = scores.first if edge.head.position < 0 else scores.step[edge.head.tag]
        return step[node.tag] + scores.emit[sentence, node.position, node.tag]

    return weight


def linear_chain_case(scores: TagScores, lengths: list[int], max_width: int, tolerance: float) -> Case:
    m = scores.tags // 4
    vectorised, known = LinearChain(scores, lengths, max_width), arrays(scores)
    brute, explicit = [], []
    for sentence, length in enumerate(lengths):
        sets = flat_sets(length, m, length)
        brute.append(BruteForce({s: chain_score(known, sentence, length, s) for s in sets}))
        graph = linear_chain_hypergraph(length, m)
        explicit.append(Explicit(graph, chain_weights(known, sentence, length), linear_chain_mentions))
    return Case(vectorised, lengths, m, max_width, brute, explicit, tolerance)


def tag_scores(
    batch: int, n: int, m: int, dtype: torch.dtype, seed: int, spread: float = 1.0, impossible: float = 0.0
) -> TagScores:
    """Random scores; a share `impossible` is -inf, but never where it is about tag 0, so that some set is possible."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*size: int) -> torch.Tensor:
        values = torch.randn(size, generator=generator, dtype=torch.float64) * spread
        blocked = torch.rand(size, generator=generator) < impossible
        blocked[..., 0] = False
        return values.masked_fill(blocked, -math.inf).to(dtype)

    t = 4 * m + 1
    return TagScores(draw(batch, n, t), draw(t, t), draw(t), draw(t))


def linear_chain_cases() -> st.SearchStrategy[Case]:
    def made(b: Batch) -> Case:
        return linear_chain_case(tag_scores(b.size, b.n, b.m, *b.drawn), b.lengths, b.c, b.tolerance)

    return batches({1: 5, 2: 4, 3: 3}).map(made)
