"""The mention hypergraph of Lu & Roth (2015) as a probability distribution over its hyperpaths.

It differs from the segmental hypergraph in one respect: its I nodes have no start, only a word and a type, so mentions
that start at different words share them. That makes inference O(m n), and causes two problems:

- *Spurious structures.* A hyperpath visits an I node once for every start that reaches it, and may take another
  hyperedge each time. Summing over the network, as the model's normaliser does, sums over these hyperpaths too. Read
  visit by visit (each start with the ends that its own visits mark) hyperpaths and *all* mention sets are one-to-one,
  and the score of a set is its score in a segmental hypergraph whose scores depend on the last word alone.
- *Ambiguity.* The hyperpaths that are meant, the *consistent* ones, take one hyperedge per node. They and the
  structures of :mod:`hyperspan.baselines.readings` are one-to-one; visit by visit, such a hyperpath is the closed set
  of its structure.

So p is a distribution over hyperpaths, and the probabilities of the consistent ones add up to less than 1. The model
learns, and `log_prob` gives, p of the consistent hyperpath of a set. The best hyperpath takes the best hyperedge at
each node, so it is consistent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from hyperspan.baselines.readings import Reading, Structure, check_reading, read, structure_of
from hyperspan.config import Config, KindOptions, key
from hyperspan.nn import Abilities, Batch, Encoder, Outputs, Scorer, Spans
from hyperspan.structures import (
    EdgeScores,
    Mention,
    MentionSet,
    Scores,
    SegmentalHypergraph,
    check_scores,
    check_types,
)
from hyperspan.structures.graphs import (
    Graph,
    GraphDistribution,
)


@dataclass(frozen=True)
class WordEdgeScores(Scores):
    """One score (log-weight) for every scored hyperedge of a padded batch of mention hypergraphs, each (B, n, m).

    ============  ==================  ==========================================================================
    field         hyperedge           choosing it for word i and type k means
    ============  ==================  ==========================================================================
    ``absent``    T_i → X             no mention starts at i
    ``present``   T_i → I_i           at least one does
    ``extend``    I_i → I_i+1         none ends with i, at least one goes on
    ``close``     I_i → X             at least one ends with i, none goes on
    ``branch``    I_i → (X, I_i+1)    at least one ends with i, at least one goes on
    ============  ==================  ==========================================================================

    ``branch`` is ``extend + close`` unless given. Entries beyond a sentence are padding, and so are `extend` and
    `branch` of its last word: they may hold anything. A score of -inf makes an edge impossible.
    """

    absent: Tensor
    present: Tensor
    extend: Tensor
    close: Tensor
    branch: Tensor | None = None

    def __post_init__(self) -> None:
        if self.absent.dim() != 3:
            raise ValueError(f"expected absent of shape (B, n, m), got {tuple(self.absent.shape)}")
        tensors = self.tensors()
        check_scores(tensors, dict.fromkeys(tensors, tuple(self.absent.shape)))

    def by_start(self) -> EdgeScores:
        """The same scores for a segmental hypergraph with mentions of any width: they depend only on the last word."""
        n = self.absent.shape[1]
        if n == 0:
            # A segmental hypergraph has at least one width, even where there is no word.
            nothing = self.absent[:, :, None]
            return EdgeScores(self.absent, self.present, nothing[:, :, :0], nothing)
        word = torch.arange(n, device=self.absent.device)
        last = (word[:, None] + word).clamp(max=n - 1)  # (n, n): by start and width
        branch = None if self.branch is None else self.branch[:, last[:, :-1]]
        return EdgeScores(self.absent, self.present, self.extend[:, last[:, :-1]], self.close[:, last], branch)


EDGES = ("absent", "present", "close", "extend", "branch")


@lru_cache(maxsize=64)
def mention_hypergraph_graph(n: int, m: int) -> Graph:
    """For each type, the I node of a word, whatever the start, and above them the T nodes, which are the roots."""
    graph = Graph(**dict.fromkeys(EDGES, (n, m)))
    absent, present, *inner = (graph.slots[name] for name in EDGES)
    inside, following = np.full((n, m), graph.nowhere), np.full(m, graph.nowhere)
    for word in reversed(range(n)):
        tails = np.stack([np.full(m, graph.end), following, following], -1)
        slots = np.stack([slots[word] for slots in inner], -1)
        inside[word] = following = graph.add(tails, slots, symbol="I", start=-1, kind=np.arange(m), last=word)
    tails = np.stack([np.full((n, m), graph.end), inside], -1)
    starts = np.arange(n)[:, None]
    return graph.finish(graph.add(tails, np.stack([absent, present], -1), symbol="T", start=starts, kind=np.arange(m)))


class MentionHypergraph(GraphDistribution):
    """A distribution over the hyperpaths of each sentence of a padded batch: p(hyperpath) ∝ exp(sum of its edges'
    scores).

    `log_partition` takes O(m n), `log_prob` and `argmax` as much as the visits of one hyperpath; the model needs no
    more. `marginals`, `topk`, `sample` and `entropy` are of hyperpaths, spurious ones included; the first three are
    read visit by visit and take O(m n²), as their results do. `reading` selects how `argmax` reads its consistent
    hyperpath; "all" is visit by visit. If a sentence has no possible hyperpath, its `log_partition` and
    `log_prob` are -inf; its other values are finite but meaningless.

    >>> words = MentionHypergraph(WordEdgeScores(*torch.zeros(4, 1, 3, 1)), lengths=[3])
    >>> words.log_partition.exp()  # of which 40 are consistent
    tensor([64.])
    >>> four_words = MentionHypergraph(WordEdgeScores(*torch.randn(4, 1, 4, 1)), lengths=[4])
    >>> two, four = {(1, 3, 0), (0, 4, 0)}, {(1, 3, 0), (0, 4, 0), (0, 3, 0), (1, 4, 0)}
    >>> bool(four_words.log_prob([two]) == four_words.log_prob([four]))
    True
    """

    limits = "mentions share their nodes, so that none can be ruled out alone"

    def __init__(self, scores: WordEdgeScores, lengths: Tensor | Sequence[int], reading: Reading = "all"):
        batch, n, m = scores.absent.shape
        check_reading(reading)
        self.scores = scores
        self.reading: Reading = reading
        super().__init__(mention_hypergraph_graph(n, m), lengths, (batch, n), m, max(n, 1))

    @property
    def by_start(self) -> SegmentalHypergraph:
        """The same distribution over mention sets, if hyperpaths are read visit by visit."""
        return SegmentalHypergraph(self.scores.by_start(), self.lengths)

    def slot_scores(self) -> Tensor:
        """Edges in padding are impossible but for T → X, which scores 0 there."""
        scores, word = self.scores, torch.arange(self.scores.absent.shape[1], device=self.scores.absent.device)
        left = torch.tensor(self.lengths, dtype=torch.long, device=word.device)[:, None] - word  # (B, n): words to come
        padding, last = (left <= 0)[..., None], (left <= 1)[..., None]
        present, close = (edge.masked_fill(padding, -math.inf) for edge in (scores.present, scores.close))
        extend = scores.extend.masked_fill(last, -math.inf)
        branch = extend + close if scores.branch is None else scores.branch.masked_fill(last, -math.inf)
        edges = [scores.absent.masked_fill(padding, 0.0), present, close, extend, branch]
        return torch.stack(edges, dim=1).flatten(1).T.contiguous()

    def read(self, slots: Sequence[int]) -> MentionSet:
        """Those of a consistent hyperpath."""
        shape = self.scores.absent.shape[1:]
        marked: dict[str, set[tuple[int, int]]] = {name: set() for name in EDGES}
        for slot in slots:
            edge, place = divmod(slot, shape.numel())
            marked[EDGES[edge]].add(divmod(place, self.types))
        ends, goes_on = (
            frozenset((word + 1, kind) for word, kind in marked[name] | marked["branch"])
            for name in ("close", "extend")
        )
        return read(Structure(frozenset(marked["present"]), ends, goes_on), self.reading)

    def slots_of(self, sets: Sequence[set[Mention]]) -> list[list[int] | None]:
        """Those of the consistent hyperpath of each set."""
        structures = map(structure_of, sets)
        return [self._consistent(*pair) for pair in zip(structures, self.lengths, strict=True)]

    def _consistent(self, structure: Structure, length: int) -> list[int]:
        absent = np.ones((length, self.types), dtype=bool)
        taken: list[int] = []
        for start, kind in structure.starts:
            absent[start, kind] = False
            taken.append(int(self.graph.slots["present"][start, kind]))
            gap, goes_on = start, True
            while goes_on:
                gap += 1
                goes_on, ends = (gap, kind) in structure.continues, (gap, kind) in structure.ends
                name = "close" if not goes_on else "branch" if ends else "extend"
                taken.append(int(self.graph.slots[name][gap - 1, kind]))
        return [*taken, *self.graph.slots["absent"][:length][absent].tolist()]

    @property
    def marginals(self) -> Tensor:
        """(B, n, n, m): the probability that the visits from start i mark the end i + w, for type k; 0 in padding."""
        return self.by_start.marginals

    def restrict(self, types: Sequence[int]) -> MentionHypergraph:
        """The distribution over only the mentions of some types; types are independent, so nothing else changes."""
        chosen = check_types(types, self.types)
        return MentionHypergraph(self.scores.map(lambda tensor: tensor[..., chosen]), self.lengths, self.reading)

    @torch.no_grad()
    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The k most probable hyperpaths of each sentence, visit by visit, with their log-probabilities, best first."""
        return self.by_start.topk(k)

    @torch.no_grad()
    def sample(self, k: int = 1, generator: torch.Generator | None = None) -> list[list[MentionSet]]:
        """k independent, exact samples of each sentence's hyperpath, visit by visit."""
        return self.by_start.sample(k, generator)


# -- the scorer --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MentionHypergraphOptions(KindOptions):
    """The model `mention-hypergraph`."""

    reading: Reading = key("nested", "fixed")
    """How ambiguous hyperpaths are decoded: `all` pairs every start with every end, `nested` pairs them so that
    mentions of one type do not cross."""


class MentionHypergraphScorer(Scorer):
    """The mention hypergraph: all scores come from words; T → X scores 0."""

    abilities = Abilities(independent_types=True)

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        roles = ["starts", "goes on", "ends", *([] if config.model.tied else ["ends and goes on"])]
        self.edges = encoder.word_layer(Outputs(roles, self.types))

    def forward(self, words: Tensor, spans: Spans | None, batch: Batch) -> WordEdgeScores:
        present, extend, close, *branch = self.by_word(self.edges(words), batch).split(self.types, dim=2)
        return WordEdgeScores(torch.zeros_like(present), present, extend, close, *branch)

    def add_mention_bias(self, scores: WordEdgeScores, bias: float) -> WordEdgeScores:
        return replace(scores, present=scores.present + bias)

    def distribution(self, scores: WordEdgeScores, lengths: Sequence[int]) -> MentionHypergraph:
        return MentionHypergraph(
            scores, lengths, self.config.options("mention-hypergraph", MentionHypergraphOptions).reading
        )
