"""The linear-chain CRF as a probability distribution over sets of mentions that do not overlap.

Each word has one of 4 m + 1 tags: outside, or beginning, inside, last word or only word (unit) of a mention of one of m
types. Tag sequences in which every mention that begins also ends, and sets of mentions that do not overlap, are
one-to-one.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from hyperspan.kernels.numerics import MINUS_INFINITY, finite
from hyperspan.structures.common import in_sentence, log_probability
from hyperspan.structures.distribution import Distribution
from hyperspan.structures.mentions import MentionSet, MentionSets, check_mentions
from hyperspan.structures.tag_chain import TagChain, TagScores
from hyperspan.structures.tags import BEGIN, INSIDE, LAST, UNIT, legal_tags, mentions_of_tags, outermost, tags_of


class LinearChain(Distribution):
    """A distribution over the sets of non-overlapping mentions of each sentence of a padded batch: p(set) ∝ exp(score).

    Tag 0 is outside; the tags of type k are 4 k + 1 (begin), 4 k + 2 (inside), 4 k + 3 (last) and 4 k + 4 (unit).
    Steps, first and last tags that belong to no set are impossible, whatever their score. Everything is exact, and
    takes O(n t²) for t tags; mentions may have any length, but `marginals` covers only those of at most `max_width`
    words (None: all), in O(n c m). Padding may hold anything. If a sentence has no possible set, its `log_partition`
    and `log_prob` are -inf; its other values are finite but meaningless.

    >>> scores = TagScores(torch.zeros(1, 2, 5), torch.zeros(5, 5), torch.zeros(5), torch.zeros(5))
    >>> words = LinearChain(scores, lengths=[2])
    >>> words.log_partition.exp()  # no mention, one of one word (twice), two of one word, one of two words
    tensor([5.])
    >>> words.marginals[0, :, :, 0]
    tensor([[0.4000, 0.2000],
            [0.4000, 0.0000]])
    """

    limits = "the scores of tags cannot rule out one mention"

    def __init__(self, scores: TagScores, lengths: Tensor | Sequence[int], max_width: int | None = None):
        if scores.tags % 4 != 1:
            raise ValueError(f"expected 4 m + 1 tags for m types, got {scores.tags}")
        if max_width is not None and max_width < 1:
            raise ValueError(f"expected max_width >= 1, got {max_width}")
        self.scores = scores
        self.lengths = TagChain(scores, lengths).lengths
        self.max_width = max(scores.emit.shape[1], 1) if max_width is None else max_width
        self.types = scores.tags // 4

    # -- probabilities --------------------------------------------------------------------------------------------
    # Nothing that depends on the scores is cached, as in SegmentalHypergraph.

    @property
    def tag_chain(self) -> TagChain:
        """The tag chain, restricted to sequences that encode a mention set."""
        scores, legal = self.scores, legal_tags(self.types)
        kept = (
            getattr(scores, name).masked_fill(torch.from_numpy(~allowed).to(scores.emit.device), MINUS_INFINITY)
            for name, allowed in legal._asdict().items()
        )
        return TagChain(TagScores(scores.emit, *kept), self.lengths)

    @property
    def log_partition(self) -> Tensor:
        return self.tag_chain.log_partition

    def log_prob(self, mention_sets: MentionSets) -> Tensor:
        """(B,): the log-probability of one mention set per sentence; -inf for a set with mentions that overlap."""
        wanted = check_mentions(mention_sets, self.lengths, self.types)
        chosen, dropped = zip(*map(outermost, wanted), strict=True) if wanted else ((), ())
        tags = [tags_of(mentions, length, self.types) for mentions, length in zip(chosen, self.lengths, strict=True)]
        chain = self.tag_chain
        return log_probability(chain.score(tags), chain.log_partition, map(bool, dropped))

    @property
    def marginals(self) -> Tensor:
        chain, c = self.tag_chain, self.max_width
        step, (batch, n, _), m = chain.scores.step, self.scores.emit.shape, self.types
        before, after = chain.messages()  # (B, n, t)
        padding = ~in_sentence(self.lengths, n, step.device).unsqueeze(-1)  # (B, n, 1)
        emit = self.scores.emit.masked_fill(padding, MINUS_INFINITY)
        unit = (before + after).masked_fill(padding, MINUS_INFINITY)[..., UNIT::4]  # (B, n, m)
        last = (emit + after)[..., LAST::4]  # (B, n, m): that a mention ends here, and all that follows
        kinds = torch.arange(m, device=step.device) * 4
        begin_inside, inside_inside, inside_last, begin_last = (
            step[kinds + tag, kinds + following]  # (m,)
            for tag, following in ((BEGIN, INSIDE), (INSIDE, INSIDE), (INSIDE, LAST), (BEGIN, LAST))
        )
        inner = max(c - 2, 0)  # the most words between the first and the last
        nearest = torch.arange(inner, device=step.device)[:, None] == 0
        steps = torch.where(nearest, begin_inside, inside_inside)  # (c - 2, m): to each of them
        between = (_words_after(emit[..., INSIDE::4], inner) + steps).cumsum(2) + inside_last  # (B, n, c - 2, m)
        between = torch.cat([begin_last.expand(batch, n, 1, m), between], dim=2)[:, :, : c - 1]  # (B, n, c - 1, m)
        longer = before[:, :, None, BEGIN::4] + between + _words_after(last, c - 1)
        total = finite(chain.log_partition)[:, None, None, None]
        # Rounding may put an almost certain mention slightly above 1.
        return (torch.cat([unit[:, :, None], longer], dim=2) - total).exp().clamp(max=1.0)

    @property
    def entropy(self) -> Tensor:
        return self.tag_chain.entropy

    # -- decoding -------------------------------------------------------------------------------------------------

    def argmax(self) -> list[MentionSet]:
        """The most probable set of each sentence; ties go to the outside tag."""
        return [mentions_of_tags(tags) for tags in self.tag_chain.argmax()]

    @torch.no_grad()
    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The k most probable sets of each sentence with their log-probabilities, best first; fewer when fewer exist.

        >>> scores = TagScores(torch.tensor([[[1.0, 0.0, 0.0, 0.0, 0.0]]]), torch.zeros(5, 5), *torch.zeros(2, 5))
        >>> LinearChain(scores, [1]).topk(3)
        [[(frozenset(), -0.3132616875182228), (frozenset({(0, 1, 0)}), -1.3132616875182228)]]
        """
        chain = self.tag_chain
        totals = TagChain(chain.scores.in_float64(), self.lengths).log_partition.tolist()
        return [
            [(mentions_of_tags(tags), min(score - total, 0.0)) for tags, score in ranked]
            for ranked, total in zip(chain.topk(k), totals, strict=True)
        ]

    def sample(self, k: int = 1, generator: torch.Generator | None = None) -> list[list[MentionSet]]:
        return [[mentions_of_tags(tags) for tags in drawn] for drawn in self.tag_chain.sample(k, generator)]


def _words_after(tensor: Tensor, count: int) -> Tensor:
    """(B, n, m) -> (B, n, count, m): for each word, the entries of the words after it; -inf beyond the last."""
    return pad(tensor, (0, 0, 0, count), value=MINUS_INFINITY).unfold(1, count, 1)[:, 1:].transpose(2, 3)
