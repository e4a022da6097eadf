"""Structures made from named tensors: the subjects of test_tensors.py and of test_cuda.py, which needs no pytest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from hyperspan.baselines.linear_chain import LinearChain, TagScores
from hyperspan.baselines.mention_hypergraph import MentionHypergraph, WordEdgeScores
from hyperspan.baselines.mention_separators import MentionSeparators
from hyperspan.baselines.semi_markov import SegmentScores, SemiMarkov
from hyperspan.baselines.tree import ConstituencyTrees
from hyperspan.structures import (
    DiscontinuousHypergraph,
    DiscontinuousScores,
    EdgeScores,
    JointScores,
    JointSegmentalHypergraph,
    SegmentalHypergraph,
)

Tensors = dict[str, Tensor]
Gold = list[set[tuple[int, int, int]]]
Block = tuple[slice, ...]
LENGTHS = [5, 0, 3, 1]
NESTED: Gold = [{(0, 4, 1), (0, 2, 1), (0, 2, 0), (2, 3, 0)}, set(), {(1, 2, 0), (1, 3, 1)}, {(0, 1, 1)}]
"""Sets for sentences of LENGTHS."""
FLAT: Gold = [{(0, 3, 1), (4, 5, 0)}, set(), {(1, 3, 0)}, {(0, 1, 1)}]
"""The same, without mentions that overlap."""
ALWAYS_POSSIBLE = ("absent", "outside")
"""Tensors of which no score may be -inf, so that some set is possible."""


def nothing_more(distribution: Any) -> list[Any]:
    return []


@dataclass(frozen=True)
class Subject:
    """How to make one structure from named tensors, and which of their places are in a sentence."""

    build: Callable[[Tensors, Any], Any]
    shapes: Callable[[int, int, int], dict[str, tuple[int, ...]]]
    """From B, n and m."""
    used: Callable[[str, int], list[Block]]
    """For a tensor's name and a sentence's length, the blocks of its own part that are no padding."""
    gold: Gold = field(default_factory=lambda: NESTED)
    shared: tuple[str, ...] = ()
    """Tensors that all sentences have in common."""
    more_values: Callable[[Any], list[Tensor]] = nothing_more
    """What it computes beside what every structure does."""
    more_sets: Callable[[Any], list[list[Any]]] = nothing_more
    """How it decodes beside what every structure does."""
    conditions: bool = False
    """Whether it can be conditioned on mentions."""
    teaches: bool = False
    """Whether it can learn from another one of its kind."""
    same_sets: bool = True
    """Whether its k best are ranked by the probability that `log_prob` gives them."""
    excess: float = 1e-6
    """How far above 1 a marginal may be in float32 where scores are huge."""

    def random(
        self, batch: int, n: int, m: int, dtype: torch.dtype = torch.float64, impossible: float = 0.0
    ) -> Tensors:
        """Random scores, of which a share is -inf."""
        generator = torch.Generator().manual_seed(3)
        tensors = {}
        for name, shape in self.shapes(batch, n, m).items():
            tensor = torch.randn(shape, generator=generator, dtype=torch.float64)
            if impossible and name not in ALWAYS_POSSIBLE:
                tensor[torch.rand(shape, generator=generator) < impossible] = -math.inf
            tensors[name] = tensor.to(dtype)
        return tensors

    def padding(self, lengths: Sequence[int], m: int) -> Tensors:
        """Which places are in no sentence."""
        shapes = self.shapes(len(lengths), max(lengths), m)
        masks = {name: torch.full(shape, name not in self.shared) for name, shape in shapes.items()}
        for name, mask in masks.items():
            if name in self.shared:
                continue
            for sentence, length in enumerate(lengths):
                for block in self.used(name, length):
                    mask[sentence][block] = False
        return masks

    def values(self, distribution: Any, gold: Gold) -> list[Tensor]:
        """log Z, log p of the gold sets, entropy, marginals, and what else it computes."""
        found = [distribution.log_partition, distribution.log_prob(gold), distribution.entropy, distribution.marginals]
        if self.conditions:
            require = [{(0, 1, 0)} if length and distribution.types else () for length in distribution.lengths]
            found.append(distribution.condition(require=require).marginals)
            found.append(distribution.restrict(list(range(distribution.types))[::-1]).log_partition)
        return [*found, *self.more_values(distribution)]

    def taught(self, distribution: Any) -> list[Tensor]:
        """What it learns from itself."""
        return [distribution.cross_entropy(distribution)] if self.teaches else []

    def decoded(self, distribution: Any) -> Iterator[list[Any]]:
        yield distribution.argmax()
        yield [[mentions for mentions, _ in ranked] for ranked in distribution.topk(6)]
        yield from self.more_sets(distribution)


def widest(n: int) -> int:
    """c, which is less than n where sentences are long."""
    return max(n - n // 4, 1)


def edge_shapes(batch: int, n: int, m: int) -> dict[str, tuple[int, ...]]:
    c = widest(n)
    start = (batch, n, m)
    return {"absent": start, "present": start, "extend": (batch, n, c - 1, m), "close": (batch, n, c, m)}


def untied_shapes(batch: int, n: int, m: int) -> dict[str, tuple[int, ...]]:
    return edge_shapes(batch, n, m) | {"branch": (batch, n, widest(n) - 1, m)}


def with_pairs(shapes: Callable[[int, int, int], dict[str, tuple[int, ...]]]):
    def joint_shapes(batch: int, n: int, m: int) -> dict[str, tuple[int, ...]]:
        return shapes(batch, n, m) | dict.fromkeys(("together", "within"), (batch, n, widest(n), m, m))

    return joint_shapes


def gap_shapes(batch: int, n: int, m: int) -> dict[str, tuple[int, ...]]:
    return edge_shapes(batch, n, m) | {
        "open": (batch, n, widest(n), m),
        "gap": (batch, n, 2, m),
        "last": (batch, n, 1, m),
    }


def word_shapes(*names: str) -> Callable[[int, int, int], dict[str, tuple[int, ...]]]:
    return lambda batch, n, m: dict.fromkeys(names, (batch, n, m))


def tag_shapes(batch: int, n: int, m: int) -> dict[str, tuple[int, ...]]:
    tags = 4 * m + 1
    return {"emit": (batch, n, tags), "step": (tags, tags), "first": (tags,), "last": (tags,)}


def edges_in_use(name: str, length: int) -> list[Block]:
    """Of two types; extending, and what holds within a wider mention, needs one more word."""
    if name in ("absent", "present", "gap"):
        return [(slice(length),)]
    longer = name in ("extend", "branch", "within")
    spans = [(slice(start, start + 1), slice(length - start - longer)) for start in range(length)]
    if name == "together":
        return [(*span, slice(0, 1), slice(1, 2)) for span in spans]
    if name == "within":
        inner = [(start, slice(min(widths.stop, widest(max(LENGTHS)) - 1))) for start, widths in spans]
        return [(*span, slice(one, one + 1), slice(1 - one, 2 - one)) for span in inner for one in (0, 1)]
    return spans


def segments_in_use(name: str, length: int) -> list[Block]:
    if name == "outside":
        return [(slice(length),)]
    return [(slice(start, start + 1), slice(length - start)) for start in range(length)]


def network_in_use(name: str, length: int) -> list[Block]:
    return [(slice(max(length - 1, 0) if name in ("extend", "branch") else length),)]


def segmental(tensors: Tensors, lengths: Any) -> SegmentalHypergraph:
    return SegmentalHypergraph(EdgeScores(**tensors), lengths)


def joint(tensors: Tensors, lengths: Any) -> JointSegmentalHypergraph:
    pairs = {name: tensor for name, tensor in tensors.items() if name in ("together", "within")}
    edges = {name: tensor for name, tensor in tensors.items() if name not in pairs}
    return JointSegmentalHypergraph(JointScores(EdgeScores(**edges), **pairs), lengths)


def edge_values(distribution: SegmentalHypergraph) -> list[Tensor]:
    return list(distribution.edge_marginals.tensors().values())


def segmental_sets(distribution: SegmentalHypergraph) -> list[list[Any]]:
    return [distribution.above(0.4), [chosen for chosen, _ in distribution.max_expected_f1()]]


def probable(distribution: Any) -> list[list[Any]]:
    return [distribution.above(0.4)]


TIED = ("absent", "present", "extend", "close")
SUBJECTS = {
    "segmental": Subject(
        segmental,
        edge_shapes,
        edges_in_use,
        more_values=edge_values,
        more_sets=segmental_sets,
        conditions=True,
        teaches=True,
    ),
    "segmental, untied": Subject(
        segmental,
        untied_shapes,
        edges_in_use,
        more_values=edge_values,
        more_sets=segmental_sets,
        conditions=True,
        teaches=True,
    ),
    "joint": Subject(joint, with_pairs(edge_shapes), edges_in_use, more_sets=probable, conditions=True, excess=0.05),
    "joint, untied": Subject(
        joint, with_pairs(untied_shapes), edges_in_use, more_sets=probable, conditions=True, excess=0.05
    ),
    "discontinuous": Subject(
        lambda tensors, lengths: DiscontinuousHypergraph(DiscontinuousScores(**tensors), lengths, parts=2),
        gap_shapes,
        edges_in_use,
        more_sets=probable,
        conditions=True,
        teaches=True,
    ),
    "semi-Markov": Subject(
        lambda tensors, lengths: SemiMarkov(SegmentScores(**tensors), lengths),
        lambda batch, n, m: {"outside": (batch, n), "segment": (batch, n, widest(n), m)},
        segments_in_use,
        FLAT,
        conditions=True,
    ),
    "linear chain": Subject(
        lambda tensors, lengths: LinearChain(TagScores(**tensors), lengths),
        tag_shapes,
        lambda name, length: [(slice(length),)],
        FLAT,
        shared=("step", "first", "last"),
    ),
    "constituency": Subject(
        lambda tensors, lengths: ConstituencyTrees(tensors["scores"], lengths, tensors["outside"]),
        lambda batch, n, m: {"scores": (batch, n, max(n, 1), m), "outside": (batch, n)},
        segments_in_use,
    ),
    "mention separators": Subject(
        lambda tensors, lengths: MentionSeparators(tensors["scores"], lengths),
        lambda batch, n, m: {"scores": (batch, n + 1, 8, m)},
        lambda name, length: [(slice(length + 1),)],
    ),
    "mention hypergraph": Subject(
        lambda tensors, lengths: MentionHypergraph(WordEdgeScores(**tensors), lengths),
        word_shapes(*TIED),
        network_in_use,
        same_sets=False,
    ),
    "mention hypergraph, untied": Subject(
        lambda tensors, lengths: MentionHypergraph(WordEdgeScores(**tensors), lengths),
        word_shapes(*TIED, "branch"),
        network_in_use,
        same_sets=False,
    ),
}
