"""Scores of structures from words and spans, one class for each structure; they do not know how words and spans were encoded.

They ask the encoder for layers: from what it says of words to (N, outputs), and from what it says of spans to (rows, outputs).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from hyperspan.batch import Batch
from hyperspan.config import Config
from hyperspan.encoders.spans import SpanLayout
from hyperspan.errors import InputError
from hyperspan.structures import (
    CascadedChains,
    CascadeScores,
    ConstituencyTrees,
    Distribution,
    EdgeScores,
    LinearChain,
    MentionHypergraph,
    MentionSeparators,
    SegmentalHypergraph,
    SegmentScores,
    SemiMarkov,
    TagScores,
    WordEdgeScores,
    negative_log_likelihood,
    outermost,
    without_crossing,
)
from hyperspan.structures.linear_chain import BEGIN, UNIT
from hyperspan.structures.losses import Loss
from hyperspan.structures.mention_separators import LABELS
from hyperspan.structures.scores import Mention

FEW = -3.0
"""What mentions score at first: a sentence has very many sets of many, so it is better to begin with few."""


class Layers(Protocol):
    """What a scorer asks an encoder for."""

    def words(self, outputs: int) -> nn.Module:
        """From words to (N, outputs)."""
        ...

    def spans(self, outputs: int, *, whole: bool = False) -> Any:
        """From words and spans to (rows, outputs), with a `bias`; by their last word, where the words before it are
        accounted for elsewhere, or as a whole."""
        ...


class Scorer(nn.Module):
    """From words and spans to scores, and from scores to a distribution."""

    over_spans: ClassVar[bool] = False
    """Whether spans are looked at, no wider than c, and not words alone."""
    holds: ClassVar[str] = "overlapping in any way"
    """Which mentions a sentence may have."""

    def __init__(self, layers: Layers, labels: Sequence[str], config: Config):
        super().__init__()
        self.types, self.config = len(labels), config

    def forward(self, words: Tensor, spans: Tensor | None, batch: Batch, layout: SpanLayout | None) -> Any:
        """The scores of a batch."""
        raise NotImplementedError

    def add_mention_bias(self, scores: Any, penalty: float) -> Any:
        """The scores with this much more for every mention, or where mentions share what is scored, for every start."""
        raise NotImplementedError

    def distribution(self, scores: Any, lengths: Sequence[int]) -> Distribution:
        """The distribution that scores make."""
        raise NotImplementedError

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        """Of some mentions those that the structure can hold together, in a batch with sentences up to so many words."""
        return mentions

    def loss(self, scores: Any, gold: Sequence[set[Mention]], lengths: Sequence[int]) -> Loss:
        """-log p of gold mentions, and how many of them the structure cannot hold."""
        kept = [self.representable(mentions, max(lengths, default=0)) for mentions in gold]
        values = -self.distribution(scores, lengths).log_prob(kept)
        return Loss(values, tuple(len(all_) - len(some) for all_, some in zip(gold, kept, strict=True)))

    def _by_word(self, rows: Tensor, batch: Batch) -> Tensor:
        """(N, d) -> (B, n, d)"""
        return rows.index_select(0, batch.row_of).view(len(batch.lengths), batch.longest, rows.shape[1]).float()

    def _no_wider(self, mentions: set[Mention], longest: int) -> set[Mention]:
        limit = self.config.model.max_width
        return {m for m in mentions if m[1] - m[0] <= (longest if limit == "n" else limit)}


class SegmentalScorer(Scorer):
    """The segmental hypergraph: T → X and T → I from the first word, I edges from spans.

    What I edges need of a span: to close here, to go on from here, and, where spans know their words (LSTMs do), to have
    come here.
    """

    over_spans = True

    def __init__(self, layers: Layers, labels: Sequence[str], config: Config):
        super().__init__(layers, labels, config)
        self.tied, self.interactions, self.neural = (
            config.model.tied,
            config.model.interactions,
            config.encoder.kind == "neural",
        )
        m = self.types
        self.start = layers.words(2 * m)
        a_step = 1 + self.neural
        self.parts = layers.spans(m * (1 + a_step * self.interactions + a_step * (not self.tied)))
        with torch.no_grad():
            self.parts.bias[:m] = FEW

    def forward(self, words: Tensor, spans: Tensor | None, batch: Batch, layout: SpanLayout | None) -> EdgeScores:
        m, shape = self.types, (len(batch.lengths), batch.longest)
        if layout is None or spans is None:
            empty = self.parts.bias.new_zeros(*shape, m)
            return EdgeScores(empty, empty, empty[:, :, None][:, :, :0], empty[:, :, None])
        other, present = self._by_word(self.start(words), batch).split(m, dim=2)
        # In LSTMs a word knows of its neighbours. Where not, the word before speaks for or against a start instead.
        absent = other if self.neural else torch.zeros_like(other)
        present = present if self.neural else present + pad(other[:, :-1], (0, 0, 1, 0))
        parts = iter(self.parts(words, spans, batch, layout).float().split(m, dim=1))
        chains = layout.chains
        close = chains.unpack_widths(next(parts))

        def step() -> Tensor:
            """What the next parts say of leaving one span and arriving at the next."""
            leaving = chains.shorter(next(parts))
            return chains.unpack_extensions(leaving + next(parts)[chains.longer] if self.neural else leaving)

        extend = step() if self.interactions else close.new_zeros(*shape, close.shape[2] - 1, m)
        return EdgeScores(absent, present, extend, close, None if self.tied else step())

    def add_mention_bias(self, scores: EdgeScores, penalty: float) -> EdgeScores:
        return replace(scores, present=scores.present + penalty)

    def distribution(self, scores: EdgeScores, lengths: Sequence[int]) -> SegmentalHypergraph:
        return SegmentalHypergraph(scores, lengths)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return self._no_wider(mentions, longest)

    def loss(self, scores: EdgeScores, gold: Sequence[set[Mention]], lengths: Sequence[int]) -> Loss:
        training = self.config.training
        return negative_log_likelihood(scores, gold, lengths, training.beta if training.softmax_margin else None)


class LinearChainScorer(Scorer):
    """The linear chain over 4 m + 1 tags, whose steps have weights of their own."""

    holds = "none overlapping"

    def __init__(self, layers: Layers, labels: Sequence[str], config: Config):
        super().__init__(layers, labels, config)
        tags = 4 * self.types + 1
        self.emit = layers.words(tags)
        self.step = nn.Parameter(torch.zeros(tags, tags))
        self.first, self.last = (nn.Parameter(torch.zeros(tags)) for _ in range(2))

    def forward(self, words: Tensor, spans: Tensor | None, batch: Batch, layout: SpanLayout | None) -> TagScores:
        return TagScores(self._by_word(self.emit(words), batch), self.step, self.first, self.last)

    def add_mention_bias(self, scores: TagScores, penalty: float) -> TagScores:
        tags = torch.arange(scores.tags, device=scores.emit.device)
        opens = (tags % 4 == BEGIN) | ((tags % 4 == UNIT % 4) & (tags > 0))
        return replace(scores, emit=scores.emit + penalty * opens)

    def distribution(self, scores: TagScores, lengths: Sequence[int]) -> LinearChain:
        return LinearChain(scores, lengths)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return set(outermost(mentions)[0])


class CascadedScorer(Scorer):
    """Cascaded linear chains, one for each type."""

    holds = "none overlapping another of its type"

    def __init__(self, layers: Layers, labels: Sequence[str], config: Config):
        super().__init__(layers, labels, config)
        m = self.types
        order = config.model.order
        asked = [part.strip() for part in (order.split(",") if "," in order else order.split())] or list(labels)
        if sorted(asked) != sorted(labels):
            raise InputError(
                f"model.order is {config.model.order!r}, but must name each label once; they are {', '.join(labels)}"
            )
        self.order = [labels.index(label) for label in asked]
        self.emit = layers.words(5 * m)
        shapes = {"step": (m, 5, 5), "first": (m, 5), "last": (m, 5), "earlier": (m, m, 3, 5, 5)}
        self.weights = nn.ParameterDict({name: nn.Parameter(torch.zeros(shape)) for name, shape in shapes.items()})

    def forward(self, words: Tensor, spans: Tensor | None, batch: Batch, layout: SpanLayout | None) -> CascadeScores:
        emit = self._by_word(self.emit(words), batch).unflatten(2, (self.types, 5))
        return CascadeScores(emit, **dict(self.weights.items()))

    def add_mention_bias(self, scores: CascadeScores, penalty: float) -> CascadeScores:
        opens = scores.emit.new_tensor([0, 1, 0, 0, 1])
        return replace(scores, emit=scores.emit + penalty * opens)

    def distribution(self, scores: CascadeScores, lengths: Sequence[int]) -> CascadedChains:
        return CascadedChains(scores, lengths, self.order)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        by_type = [{mention for mention in mentions if mention[2] == kind} for kind in range(self.types)]
        return {mention for own in by_type for mention in outermost(own)[0]}


class SegmentScorer(Scorer):
    """Segments scored as a whole, and words outside them: of the semi-Markov structure, and of the trees."""

    over_spans = True
    holds = "none overlapping"

    def __init__(self, layers: Layers, labels: Sequence[str], config: Config):
        super().__init__(layers, labels, config)
        self.segment = layers.spans(self.types, whole=True)
        self.outside = layers.words(1)
        with torch.no_grad():
            self.segment.bias[: self.types] = FEW

    def forward(self, words: Tensor, spans: Tensor | None, batch: Batch, layout: SpanLayout | None) -> SegmentScores:
        shape = (len(batch.lengths), batch.longest)
        outside = self._by_word(self.outside(words), batch)[..., 0]
        if layout is None or spans is None:
            return SegmentScores(outside, outside.new_zeros(*shape, 1, self.types))
        rows = self.segment(words, spans, batch, layout).float()
        return SegmentScores(outside, layout.chains.unpack_widths(rows))

    def add_mention_bias(self, scores: SegmentScores, penalty: float) -> SegmentScores:
        return replace(scores, segment=scores.segment + penalty)

    def distribution(self, scores: SegmentScores, lengths: Sequence[int]) -> Distribution:
        return SemiMarkov(scores, lengths)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return set(outermost(self._no_wider(mentions, longest))[0])


class TreeScorer(SegmentScorer):
    """The same scores for trees: mentions nest, but do not cross."""

    holds = "nested, none crossing"

    def distribution(self, scores: SegmentScores, lengths: Sequence[int]) -> Distribution:
        return ConstituencyTrees(scores.segment, lengths, scores.outside)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return set(without_crossing(self._no_wider(mentions, longest)))


class MentionHypergraphScorer(Scorer):
    """The mention hypergraph: all from words, T → X scores 0."""

    def __init__(self, layers: Layers, labels: Sequence[str], config: Config):
        super().__init__(layers, labels, config)
        self.edges = layers.words(self.types * (3 if config.model.tied else 4))

    def forward(self, words: Tensor, spans: Tensor | None, batch: Batch, layout: SpanLayout | None) -> WordEdgeScores:
        present, extend, close, *branch = self._by_word(self.edges(words), batch).split(self.types, dim=2)
        return WordEdgeScores(torch.zeros_like(present), present, extend, close, *branch)

    def add_mention_bias(self, scores: WordEdgeScores, penalty: float) -> WordEdgeScores:
        return replace(scores, present=scores.present + penalty)

    def distribution(self, scores: WordEdgeScores, lengths: Sequence[int]) -> MentionHypergraph:
        return MentionHypergraph(scores, lengths, self.config.model.reading)


class MentionSeparatorScorer(Scorer):
    """Mention separators: each label of a gap from the words before and after it; X scores 0."""

    def __init__(self, layers: Layers, labels: Sequence[str], config: Config):
        super().__init__(layers, labels, config)
        self.gaps = layers.words(2 * (len(LABELS) - 1) * self.types)

    def forward(self, words: Tensor, spans: Tensor | None, batch: Batch, layout: SpanLayout | None) -> Tensor:
        """(B, n + 1, 8, m)"""
        before, after = self._by_word(self.gaps(words), batch).chunk(2, dim=2)
        inside = torch.arange(batch.longest, device=before.device) < torch.tensor(
            batch.lengths, device=before.device
        ).view(-1, 1)
        together = pad(before * inside[..., None], (0, 0, 1, 0)) + pad(after * inside[..., None], (0, 0, 0, 1))
        return pad(together.unflatten(2, (len(LABELS) - 1, self.types)), (0, 0, 1, 0))

    def add_mention_bias(self, scores: Tensor, penalty: float) -> Tensor:
        opens = scores.new_tensor(["S" in label for label in LABELS])
        return scores + penalty * opens[:, None]

    def distribution(self, scores: Tensor, lengths: Sequence[int]) -> MentionSeparators:
        return MentionSeparators(scores, lengths, self.config.model.reading)


SCORERS: dict[str, type[Scorer]] = {
    "segmental": SegmentalScorer,
    "linear-chain": LinearChainScorer,
    "cascaded": CascadedScorer,
    "semi-markov": SegmentScorer,
    "tree": TreeScorer,
    "mention-hypergraph": MentionHypergraphScorer,
    "mention-separators": MentionSeparatorScorer,
}
"""By the name that a configuration has under model.kind."""
