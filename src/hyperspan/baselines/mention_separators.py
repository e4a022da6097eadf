"""The mention separators of Muis & Lu (2017) as a probability distribution over structures.

Separately for each type, each of the n + 1 gaps of a sentence has a label: which of S (a mention starts with the next
word), E (one ends with the word before) and C (one contains both) hold there; X is none of them. Words are inside (I)
or outside (O) mentions of the type, and a label leads from one to the other: X from O to O, S from O to I, E from I to
O, all others from I to I. The sequences of labels that fit are the structures of :mod:`hyperspan.baselines.readings`,
each once: nothing is spurious here, but a structure may still be read in several ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from hyperspan.baselines.linear_chain import TagChain, Tags, TagScores
from hyperspan.baselines.readings import Reading, Structure, check_reading, read, structure_of
from hyperspan.config import Config, KindOptions, key
from hyperspan.kernels.numbers import MINUS_INFINITY, finite, log_sum
from hyperspan.nn import Abilities, Batch, Encoder, Outputs, Scorer, Spans
from hyperspan.structures import Distribution, Mention, MentionSet
from hyperspan.structures.common import (
    check_count,
    check_no_nan,
    check_possible,
    check_scores,
    in_float64,
    log_probability,
)
from hyperspan.structures.distribution import check_types
from hyperspan.structures.graphs import Hyperedge, Hypergraph
from hyperspan.structures.kbest import best_products
from hyperspan.structures.mentions import MentionSets, check_mentions
from hyperspan.structures.scores import check_lengths

LABELS = ("X", "S", "E", "C", "ES", "CS", "EC", "ECS")
"""The labels of a gap, in the order of their scores."""
FROM_INSIDE = tuple("E" in label or "C" in label for label in LABELS)
TO_INSIDE = tuple("S" in label or "C" in label for label in LABELS)


def labels_of(mentions: Iterable[Mention], length: int, types: int) -> list[Tags]:
    """For each type the labels, as indices into LABELS, of the gaps of a sentence with these mentions.

    >>> [[LABELS[label] for label in labels] for labels in labels_of({(0, 4, 0), (1, 3, 0)}, length=5, types=2)]
    [['S', 'CS', 'C', 'EC', 'E', 'X'], ['X', 'X', 'X', 'X', 'X', 'X']]
    """
    structure = structure_of(mentions)
    marks = {"E": structure.ends, "C": structure.continues, "S": structure.starts}
    return [
        tuple(
            LABELS.index("".join(mark for mark, places in marks.items() if (gap, kind) in places) or "X")
            for gap in range(length + 1)
        )
        for kind in range(types)
    ]


def structure_of_labels(labels: Sequence[Tags]) -> Structure:
    """The structure that some labels mark, given for each type."""

    def marked(mark: str) -> frozenset[tuple[int, int]]:
        return frozenset(
            (gap, kind) for kind, row in enumerate(labels) for gap, label in enumerate(row) if mark in LABELS[label]
        )

    return Structure(starts=marked("S"), ends=marked("E"), continues=marked("C"))


class MentionSeparators(Distribution):
    """A distribution over the structures of each sentence of a padded batch: p(structure) ∝ exp(sum of its labels'
    scores).

    `scores` (B, n + 1, 8, m) has one score for each gap, label (in the order of `LABELS`) and type; gap g is the one
    before word g, and a sentence without words has one gap, always X. Structures and closed sets of mentions are
    one-to-one, so this is also a distribution over closed sets; with `reading="nested"` the decoders return the nested
    set of each structure instead. `log_prob` scores a set's structure, so sets with the same marks have the same value.
    Everything is exact, and takes O(m n) time, but O(m n²) for marginals. Padding may hold anything. If a sentence has
    no possible structure, its `log_partition` and `log_prob` are -inf; its other values are finite but meaningless.

    >>> words = MentionSeparators(torch.zeros(1, 3, 8, 1), lengths=[2])
    >>> words.log_partition.exp()  # XXX, XSE, SEX and S?E, with five labels for the gap inside
    tensor([8.])
    >>> four_words = MentionSeparators(torch.randn(1, 5, 8, 1), lengths=[4])
    >>> two, four = {(1, 3, 0), (0, 4, 0)}, {(1, 3, 0), (0, 4, 0), (0, 3, 0), (1, 4, 0)}
    >>> bool(four_words.log_prob([two]) == four_words.log_prob([four]))
    True
    """

    limits = "mentions share their labels, so that none can be ruled out alone"

    def __init__(self, scores: Tensor, lengths: Tensor | Sequence[int], reading: Reading = "all"):
        if scores.dim() != 4 or scores.shape[1] < 1 or scores.shape[2] != len(LABELS):
            raise ValueError(f"expected scores of shape (B, n + 1, {len(LABELS)}, m), got {tuple(scores.shape)}")
        check_scores({"scores": scores}, {"scores": tuple(scores.shape)})
        check_reading(reading)
        batch, gaps, _, m = scores.shape
        self.scores = scores
        self.lengths = check_lengths(lengths, batch, gaps - 1)
        self.reading: Reading = reading
        self.max_width, self.types = gaps - 1, m

    def _chain(self, *, exact: bool = False) -> TagChain:
        """One chain of labels for each sentence and type, in that order."""
        batch, gaps, labels, m = self.scores.shape
        scores = in_float64(self.scores) if exact else self.scores
        emit = scores.permute(0, 3, 1, 2).reshape(batch * m, gaps, labels)
        to_inside, from_inside = (torch.tensor(flags, device=emit.device) for flags in (TO_INSIDE, FROM_INSIDE))

        def only(possible: Tensor) -> Tensor:
            return torch.zeros_like(possible, dtype=emit.dtype).masked_fill(~possible, MINUS_INFINITY)

        step = only(to_inside[:, None] == from_inside)  # (8, 8)
        gaps_of = [length + 1 for length in self.lengths for _ in range(m)]
        return TagChain(TagScores(emit, step, first=only(~from_inside), last=only(~to_inside)), gaps_of)

    def _by_sentence(self, per_chain: Tensor) -> Tensor:
        """(B m,) -> (B,)"""
        return per_chain.view(len(self.lengths), self.types).sum(1)

    # -- probabilities --------------------------------------------------------------------------------------------

    @property
    def log_partition(self) -> Tensor:
        """(B,): the logarithm of the sum of exp(score) over all structures."""
        return self._by_sentence(self._chain().log_partition)

    def log_prob(self, mention_sets: MentionSets) -> Tensor:
        """(B,): the log-probability of the structure of one mention set per sentence."""
        sets = check_mentions(mention_sets, self.lengths, self.types)
        labels = [
            row
            for mentions, length in zip(sets, self.lengths, strict=True)
            for row in labels_of(mentions, length, self.types)
        ]
        chain = self._chain()
        # Subtract per chain, so that large scores cancel before summing.
        return self._by_sentence(log_probability(chain.score(labels), chain.log_partition))

    @property
    def marginals(self) -> Tensor:
        """(B, n, n, m): the probability that the mention from i to i + w inclusive of type k is read under "all", for
        any `reading`: a mention starts at i, one ends after i + w, and every gap between is inside; 0 in padding."""
        (batch, gaps, _, m), n = self.scores.shape, self.max_width
        chain = self._chain()
        device = self.scores.device
        size = torch.tensor(chain.lengths, device=device)[:, None]  # (B m, 1)
        emit = chain.scores.emit.masked_fill((torch.arange(gaps, device=device) >= size)[..., None], 0.0)
        before, after = chain.messages()

        def over(mark: str, values: Tensor) -> Tensor:
            """(B m, gaps, 8) -> (B m, gaps): the log-sum over labels with this mark."""
            return log_sum(values[..., [index for index, label in enumerate(LABELS) if mark in label]], 2)

        first = torch.arange(n, device=device)
        last = first[:, None] + first  # (n, n): the last word, by start and width
        inner = over("C", emit)[:, last.clamp(max=n)]  # the gap before the last word
        inner = torch.cat([torch.zeros_like(inner[:, :, :1]), inner[:, :, 1:]], dim=2).cumsum(2)
        ends = over("E", emit + after)[:, (last + 1).clamp(max=n)]
        log_marginals = over("S", before)[:, :n, None] + inner + ends - finite(chain.log_partition)[:, None, None]
        beyond = last >= size[..., None] - 1
        marginals = log_marginals.masked_fill(beyond, MINUS_INFINITY).clamp(max=0.0).exp()
        return marginals.view(batch, m, n, n).permute(0, 2, 3, 1)

    @property
    def entropy(self) -> Tensor:
        return self._by_sentence(self._chain().entropy)

    def restrict(self, types: Sequence[int]) -> MentionSeparators:
        """The distribution over only the mentions of some types; types are independent, so nothing else changes."""
        return MentionSeparators(self.scores[..., check_types(types, self.types)], self.lengths, self.reading)

    # -- decoding -------------------------------------------------------------------------------------------------

    def _read(self, labels: Sequence[Tags]) -> MentionSet:
        return read(structure_of_labels(labels), self.reading)

    @torch.no_grad()
    def argmax(self) -> list[MentionSet]:
        """The mentions of the most probable structure of each sentence."""
        try:
            rows = self._chain().argmax()
        except ValueError:
            check_possible(self.log_partition)  # names the sentence, as chains are per sentence and type
            raise
        m = self.types
        return [self._read(rows[sentence * m : sentence * m + m]) for sentence in range(len(self.lengths))]

    @torch.no_grad()
    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The mentions of the k most probable structures of each sentence, with log-probabilities; fewer when fewer
        exist."""
        check_count(k)
        chain, m = self._chain(exact=True), self.types
        totals = chain.log_partition
        check_no_nan(totals.view(len(self.lengths), m).sum(1))  # names the sentence
        ranked = [
            [(labels, score - total) for labels, score in rows]
            for rows, total in zip(chain.topk(k), totals.tolist(), strict=True)
        ]
        return [
            [(self._read(labels), value) for labels, value in best_products(ranked[sentence * m : sentence * m + m], k)]
            for sentence in range(len(self.lengths))
        ]

    @torch.no_grad()
    def sample(self, k: int = 1, generator: torch.Generator | None = None) -> list[list[MentionSet]]:
        """The mentions of k independent, exact samples of each sentence's structure; the same generator state gives the
        same samples."""
        check_count(k)
        check_possible(self.log_partition)
        rows, m = self._chain().sample(k, generator), self.types
        read_once = cache(self._read)  # a confident model draws few structures, many times each
        return [
            [read_once(tuple(row[draw] for row in rows[sentence * m : sentence * m + m])) for draw in range(k)]
            for sentence in range(len(self.lengths))
        ]


# -- the explicit graph, for inspection, counting, and testing the fast version ----------------------------------------


class SeparatorNode(NamedTuple):
    """A node of the explicit graph of mention separators.

    ``sentence`` is the root. ``I`` and ``O`` stand before a gap: whether the word before it is inside mentions of type
    `kind`. ``label`` is a leaf for each label of a gap: several edges between two nodes differ only in it.
    """

    symbol: Literal["sentence", "I", "O", "label"]
    gap: int = -1
    kind: int = -1
    label: int = -1


def separators_hypergraph(n: int, types: int | Sequence[str]) -> Hypergraph[SeparatorNode]:
    """The mention separators (Muis & Lu, 2017, edge-based) of a sentence of `n` words as a hypergraph.

    >>> from hyperspan.structures.graphs import Counting, inside
    >>> graph = separators_hypergraph(3, types=1)
    >>> inside(graph, lambda edge: 0.0, Counting())[graph.root]  # as many as consistent hyperpaths (Lu & Roth)
    40
    """
    m = types if isinstance(types, int) else len(types)
    root = SeparatorNode("sentence")
    edges = [Hyperedge(root, tuple(SeparatorNode("O", 0, k) for k in range(m)))]
    for k in range(m):
        for gap in range(n + 1):
            for label in range(len(LABELS)):
                head = SeparatorNode("I" if FROM_INSIDE[label] else "O", gap, k)
                leaf = SeparatorNode("label", gap, k, label)
                if gap < n:
                    edges.append(Hyperedge(head, (leaf, SeparatorNode("I" if TO_INSIDE[label] else "O", gap + 1, k))))
                elif not TO_INSIDE[label]:
                    edges.append(Hyperedge(head, (leaf,)))
    return Hypergraph(root, edges)


def separated_mentions(path: Iterable[Hyperedge[SeparatorNode]], reading: Reading = "all") -> MentionSet:
    """The mentions of a hyperpath of the mention separators, under a reading."""
    labels: dict[int, list[int]] = {}  # type -> labels, gap by gap, as a path has them in this order
    for edge in path:
        for node in edge.tail:
            if node.symbol == "label":
                labels.setdefault(node.kind, []).append(node.label)
    return read(structure_of_labels([tuple(labels[kind]) for kind in sorted(labels)]), reading)


# -- the scorer --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MentionSeparatorOptions(KindOptions):
    """The model `mention-separators`."""

    reading: Reading = key("nested", "fixed")
    """How ambiguous separators are decoded: `all` pairs every start with every end, `nested` pairs them so that
    mentions of one type do not cross."""


class MentionSeparatorScorer(Scorer):
    """Mention separators: each label of a gap from the words before and after it; X scores 0."""

    abilities = Abilities(independent_types=True)

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        roles = [f"{label} {side}" for side in ("after", "before") for label in LABELS[1:]]
        self.gaps = encoder.word_layer(Outputs(roles, self.types))

    def forward(self, words: Tensor, spans: Spans | None, batch: Batch) -> Tensor:
        """(B, n + 1, 8, m)"""
        before, after = self.by_word(self.gaps(words), batch).chunk(2, dim=2)
        inside = torch.arange(batch.longest, device=before.device) < torch.tensor(
            batch.lengths, device=before.device
        ).view(-1, 1)
        together = pad(before * inside[..., None], (0, 0, 1, 0)) + pad(after * inside[..., None], (0, 0, 0, 1))
        return pad(together.unflatten(2, (len(LABELS) - 1, self.types)), (0, 0, 1, 0))

    def add_mention_bias(self, scores: Tensor, bias: float) -> Tensor:
        opens = scores.new_tensor(["S" in label for label in LABELS])
        return scores + bias * opens[:, None]

    def distribution(self, scores: Tensor, lengths: Sequence[int]) -> MentionSeparators:
        return MentionSeparators(
            scores, lengths, self.config.options("mention-separators", MentionSeparatorOptions).reading
        )
