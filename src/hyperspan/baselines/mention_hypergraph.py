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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hyperspan.baselines.readings import Reading, Structure, check_reading, read, structure_of
from hyperspan.config import Config, KindOptions, key
from hyperspan.kernels.numbers import MINUS_INFINITY, log_sum
from hyperspan.nn import Abilities, Batch, Encoder, Outputs, Scorer, Spans
from hyperspan.structures import Distribution, EdgeScores, Mention, MentionSet, SegmentalHypergraph
from hyperspan.structures.common import ScoreTensors, check_possible, check_scores, log_probability
from hyperspan.structures.distribution import check_types
from hyperspan.structures.graphs import Hyperedge, Hypergraph, Hyperpath, SegmentalNode
from hyperspan.structures.graphs.segmental import END, inner_edges, upper_edges, walk
from hyperspan.structures.mentions import MentionSets, check_mentions
from hyperspan.structures.scores import check_lengths


@dataclass(frozen=True)
class WordEdgeScores(ScoreTensors):
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


class MentionHypergraph(Distribution):
    """A distribution over the hyperpaths of each sentence of a padded batch: p(hyperpath) ∝ exp(sum of its edges'
    scores).

    `log_partition`, `log_prob` and `argmax` take O(m n); the model needs no more. `marginals`, `topk`, `sample` and
    `entropy` are of hyperpaths, spurious ones included, read visit by visit; they take O(m n²), as their results do.
    `reading` selects how `argmax` reads its consistent hyperpath; "all" is visit by visit. If a sentence has no
    possible hyperpath, its `log_partition` and `log_prob` are -inf; its other values are finite but meaningless.

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
        self.lengths = check_lengths(lengths, batch, n)
        self.reading: Reading = reading
        self.max_width, self.types = max(n, 1), m

    @property
    def by_start(self) -> SegmentalHypergraph:
        """The same distribution over mention sets, if hyperpaths are read visit by visit."""
        return SegmentalHypergraph(self.scores.by_start(), self.lengths)

    # -- probabilities --------------------------------------------------------------------------------------------

    def _edges(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Absent, present, extend, close and branch, (B, n, m), safe to sum: edges in padding are impossible.

        In padding T → X scores 0, so that the sum over what is below a T node there is 0 as well.
        """
        scores, word = self.scores, torch.arange(self.scores.absent.shape[1], device=self.scores.absent.device)
        left = torch.tensor(self.lengths, dtype=torch.long, device=word.device)[:, None] - word  # (B, n): words to come
        padding, last = (left <= 0)[..., None], (left <= 1)[..., None]
        extend = scores.extend.masked_fill(last, MINUS_INFINITY)
        close = scores.close.masked_fill(padding, MINUS_INFINITY)
        branch = extend + close if scores.branch is None else scores.branch.masked_fill(last, MINUS_INFINITY)
        absent = scores.absent.masked_fill(padding, 0.0)
        return absent, scores.present.masked_fill(padding, MINUS_INFINITY), extend, close, branch

    def _from_the_right(self, value: Callable[[int, Tensor], Tensor]) -> Tensor:
        """(B, n, m): the value of each I node, from its word and the values (B, m) of the nodes of the next word."""
        batch, n, m = self.scores.absent.shape
        following = self.scores.absent.new_zeros(batch, m)  # after the last word; never reached
        values: list[Tensor] = []
        for word in reversed(range(n)):
            following = value(word, following)
            values.append(following)
        return torch.stack(values[::-1], dim=1) if values else self.scores.absent

    @property
    def _log_partition(self) -> Tensor:
        """(B, n, m): the log-sum over what may be below each T node; A and E nodes score nothing, so these add up."""
        absent, present, extend, close, branch = self._edges()
        further = log_sum(torch.stack([extend, branch]), 0)
        inside = self._from_the_right(
            lambda word, following: log_sum(torch.stack([close[:, word], further[:, word] + following]), 0)
        )
        return log_sum(torch.stack([absent, present + inside]), 0)

    @property
    def log_partition(self) -> Tensor:
        """(B,): the logarithm of the sum of exp(score) over all hyperpaths, spurious ones included."""
        return self._log_partition.sum((1, 2))

    def log_prob(self, mention_sets: MentionSets) -> Tensor:
        """(B,): the log-probability of the consistent hyperpath of one mention set per sentence."""
        starts, ends, goes_on = self._marks(mention_sets)
        absent, present, extend, close, branch = self._edges()
        edge = torch.where(goes_on, torch.where(ends, branch, extend), close)
        edge = edge.masked_fill(~(ends | goes_on), 0.0)  # not visited
        inside = self._from_the_right(
            lambda word, following: edge[:, word] + following.masked_fill(~goes_on[:, word], 0.0)
        )
        # Subtract per start, so that large scores cancel before summing.
        return log_probability(torch.where(starts, present + inside, absent), self._log_partition).sum((1, 2))

    def _marks(self, mention_sets: MentionSets) -> tuple[Tensor, Tensor, Tensor]:
        """(B, n, m) each: whether a mention starts with a word, ends with it, goes on after it."""
        marks = [torch.zeros(self.scores.absent.shape, dtype=torch.bool, device="cpu") for _ in range(3)]
        starts, ends, goes_on = marks
        for sentence, mentions in enumerate(check_mentions(mention_sets, self.lengths, self.types)):
            for start, end, kind in mentions:
                starts[sentence, start, kind] = True
                ends[sentence, end - 1, kind] = True
                goes_on[sentence, start : end - 1, kind] = True
        device = self.scores.absent.device
        return starts.to(device), ends.to(device), goes_on.to(device)

    @property
    def marginals(self) -> Tensor:
        """(B, n, n, m): the probability that the visits from start i mark the end i + w, for type k; 0 in padding."""
        return self.by_start.marginals

    @property
    def entropy(self) -> Tensor:
        return self.by_start.entropy

    def restrict(self, types: Sequence[int]) -> MentionHypergraph:
        """The distribution over only the mentions of some types; types are independent, so nothing else changes."""
        chosen = check_types(types, self.types)
        return MentionHypergraph(self.scores.map(lambda tensor: tensor[..., chosen]), self.lengths, self.reading)

    # -- decoding -------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def argmax(self) -> list[MentionSet]:
        """The mentions of the best hyperpath of each sentence, which is consistent; ties go to the hyperedge with fewer
        mentions."""
        absent, present, extend, close, branch = self._edges()
        further = torch.maximum(extend, branch)
        inside = self._from_the_right(
            lambda word, following: torch.maximum(close[:, word], further[:, word] + following)
        )
        check_possible(torch.maximum(absent, present + inside).sum((1, 2)))
        following = torch.cat([inside[:, 1:], torch.zeros_like(inside[:, :1])], dim=1)
        goes_on = further + following > close
        ends = ~goes_on | (branch > extend)
        marks = (mark.tolist() for mark in (present + inside > absent, ends, goes_on))
        sentences = zip(*marks, self.lengths, strict=True)
        return [read(_visited(starts, ends, goes_on, n), self.reading) for starts, ends, goes_on, n in sentences]

    @torch.no_grad()
    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The k most probable hyperpaths of each sentence, visit by visit, with their log-probabilities, best first."""
        return self.by_start.topk(k)

    @torch.no_grad()
    def sample(self, k: int = 1, generator: torch.Generator | None = None) -> list[list[MentionSet]]:
        """k independent, exact samples of each sentence's hyperpath, visit by visit."""
        return self.by_start.sample(k, generator)


def _visited(starts: list[list[bool]], ends: list[list[bool]], goes_on: list[list[bool]], length: int) -> Structure:
    """The structure of one sentence whose nodes chose as marked, by word and type; nodes that no start reaches are
    ignored."""
    started, ended, continued = set(), set(), set()
    reached: set[int] = set()  # the types whose I node at this word is visited
    for word in range(length):
        begun = {kind for kind, begins in enumerate(starts[word]) if begins}
        reached |= begun
        started |= {(word, kind) for kind in begun}
        ended |= {(word + 1, kind) for kind in reached if ends[word][kind]}
        reached = {kind for kind in reached if goes_on[word][kind]}
        continued |= {(word + 1, kind) for kind in reached}
    return Structure(frozenset(started), frozenset(ended), frozenset(continued))


# -- the explicit hypergraph, for inspection and for testing the fast version ------------------------------------------


def mention_network(n: int, types: int | Sequence[str]) -> Hypergraph[SegmentalNode]:
    """The complete mention hypergraph (Lu & Roth, 2015) of a sentence of `n` words: I nodes have no start.

    >>> from hyperspan.structures.graphs import hyperpaths
    >>> paths = list(hyperpaths(mention_network(3, types=1)))
    >>> len(paths), sum(map(is_consistent, paths))  # the other 24 are spurious
    (64, 40)
    """
    m = types if isinstance(types, int) else len(types)
    edges: list[Hyperedge[SegmentalNode]] = []
    for i in range(n):
        edges += upper_edges(i, n, m)
        for k in range(m):
            t, shared = SegmentalNode("T", i, k), SegmentalNode("I", -1, k, i)
            edges += [Hyperedge(t, (END,)), Hyperedge(t, (shared,)), *inner_edges(shared, n - 1)]
    return Hypergraph(SegmentalNode("A", 0), edges)


def consistent_hyperpath_of(mentions: Iterable[Mention], graph: Hypergraph[SegmentalNode]) -> Hyperpath[SegmentalNode]:
    """The consistent hyperpath of a mention hypergraph that encodes a set: the one of its structure (Lu & Roth's gold
    network)."""
    structure = structure_of(mentions)

    def tail_of(node: SegmentalNode) -> tuple[SegmentalNode, ...]:
        _, start, kind, last = node
        if node.symbol == "T":
            return (SegmentalNode("I", -1, kind, start),) if (start, kind) in structure.starts else (END,)
        closes, goes_on = (last + 1, kind) in structure.ends, (last + 1, kind) in structure.continues
        return (*[END] * closes, *[SegmentalNode("I", -1, kind, last + 1)] * goes_on)

    return walk(graph, tail_of)


def is_consistent(path: Iterable[Hyperedge]) -> bool:
    """Whether a hyperpath takes the same hyperedge each time it visits a node. If not, it is spurious."""
    chosen: dict[object, Hyperedge] = {}
    return all(chosen.setdefault(edge.head, edge) == edge for edge in path)


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
