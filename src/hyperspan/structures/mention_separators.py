"""The mention separators of Muis & Lu (2017) as a probability distribution over structures.

Separately for each type, each of the n + 1 gaps of a sentence has a label: which of S (a mention starts with the next
word), E (one ends with the word before) and C (one contains both) hold there; X is none of them. Words are inside (I)
or outside (O) mentions of the type, and a label leads from one to the other: X from O to O, S from O to I, E from I to
O, all others from I to I. The sequences of labels that fit are the structures of :mod:`hyperspan.structures.readings`,
each once: nothing is spurious here, but a structure may still be read in several ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from hyperspan.kernels.numerics import MINUS_INFINITY, finite, log_sum
from hyperspan.structures.common import check_count, check_possible, check_scores, in_float64, log_probability
from hyperspan.structures.distribution import Distribution, check_types
from hyperspan.structures.kbest import best_products
from hyperspan.structures.mentions import MentionSet, MentionSets, check_mentions
from hyperspan.structures.readings import Reading, check_reading, read
from hyperspan.structures.scores import check_lengths
from hyperspan.structures.separators import FROM_INSIDE, LABELS, TO_INSIDE, labels_of, structure_of_labels
from hyperspan.structures.tag_chain import TagChain, TagScores
from hyperspan.structures.tags import Tags


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
        totals = chain.log_partition.tolist()
        ranked = [
            [(labels, score - total) for labels, score in rows]
            for rows, total in zip(chain.topk(k), totals, strict=True)
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
