"""The mention separators of Muis & Lu (2017) as a probability distribution over structures.

Separately for each type, each of the n + 1 gaps of a sentence has a label: which of S (a mention starts with the next
word), E (one ends with the word before) and C (one contains both) hold there; X is none of them. Words are inside (I)
or outside (O) mentions of the type, and a label leads from one to the other: X from O to O, S from O to I, E from I to
O, all others from I to I. The sequences of labels that fit are the structures of :mod:`hyperspan.baselines.readings`,
each once: nothing is spurious here, but a structure may still be read in several ways.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from hyperspan.baselines.readings import Reading, Structure, check_reading, read, structure_of
from hyperspan.config import Config, KindOptions, key
from hyperspan.nn import Abilities, Batch, Encoder, Outputs, Scorer, Spans
from hyperspan.structures import Mention, MentionSet, check_scores, check_types
from hyperspan.structures.graphs import Graph, GraphDistribution, stretches

LABELS = ("X", "S", "E", "C", "ES", "CS", "EC", "ECS")
"""The labels of a gap, in the order of their scores."""
FROM_INSIDE = np.array(["E" in label or "C" in label for label in LABELS])
TO_INSIDE = np.array(["S" in label or "C" in label for label in LABELS])


def labels_of(mentions: Iterable[Mention], length: int, types: int) -> list[tuple[int, ...]]:
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


def structure_of_labels(labels: Sequence[Sequence[int]]) -> Structure:
    """The structure that some labels mark, given for each type."""

    def marked(mark: str) -> frozenset[tuple[int, int]]:
        return frozenset(
            (gap, kind) for kind, row in enumerate(labels) for gap, label in enumerate(row) if mark in LABELS[label]
        )

    return Structure(starts=marked("S"), ends=marked("E"), continues=marked("C"))


@lru_cache(maxsize=64)
def separators_graph(n: int, m: int) -> Graph:
    """For each type, from each gap on, outside and inside mentions: a label, and what it leads to."""
    graph = Graph(label=(n + 1, m, len(LABELS)))
    following = np.array([np.full(m, graph.end), np.full(m, graph.nowhere)])  # (2, m): all mentions end
    possible = np.array([~FROM_INSIDE, FROM_INSIDE])[:, None]  # (2, 1, 8)
    for gap in reversed(range(n + 1)):
        tails = following[TO_INSIDE.astype(int)].T  # (m, 8)
        following = graph.add(
            np.where(possible, tails, graph.nowhere),
            graph.slots["label"][gap],
            symbol=np.array([["O"], ["I"]]),
            gap=gap,
            kind=np.arange(m),
        )
    return graph.finish(following[0])


class MentionSeparators(GraphDistribution):
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
        self.reading: Reading = reading
        super().__init__(separators_graph(gaps - 1, m), lengths, (batch, gaps - 1), m, gaps - 1)

    def slot_scores(self) -> Tensor:
        device = self.scores.device
        gap = torch.arange(self.scores.shape[1], device="cpu")
        to_come = torch.tensor(self.lengths, device="cpu")[:, None] - gap
        words = to_come.to(device)[..., None, None]  # (B, gaps, 1, 1)
        marked = torch.arange(len(LABELS), device=device)[:, None] > 0  # (8, 1)
        goes_on = torch.from_numpy(TO_INSIDE).to(device)[:, None]
        scores = self.scores.masked_fill((words == 0) & goes_on | (words < 0) & marked, -math.inf)
        return scores.masked_fill((words < 0) & ~marked, 0.0).transpose(2, 3).flatten(1).T.contiguous()

    def read(self, slots: Sequence[int]) -> MentionSet:
        """Those of one type after the other, gap by gap."""
        labels = np.array(slots, dtype=np.int64).reshape(self.types, self.max_width + 1) % len(LABELS)
        return read(structure_of_labels(labels.tolist()), self.reading)

    def slots_of(self, sets: Sequence[set[Mention]]) -> list[list[int] | None]:
        slots, kinds = self.graph.slots["label"], np.arange(self.types)[:, None]
        found: list[list[int] | None] = []
        for mentions, length in zip(sets, self.lengths, strict=True):
            labels = np.array(labels_of(mentions, length, self.types), dtype=np.int64).reshape(-1, length + 1)
            found.append(slots[np.arange(length + 1), kinds, labels].ravel().tolist())
        return found

    @property
    def marginals(self) -> Tensor:
        """(B, n, n, m): the probability that the mention from i to i + w inclusive of type k is read under "all", for
        any `reading`: a mention starts at i, one ends after i + w, and every gap between is inside; 0 in padding."""
        n = self.max_width
        labels = self.exact_posteriors.view(n + 1, self.types, len(LABELS), len(self.lengths))

        def some(chosen: np.ndarray) -> Tensor:
            """(n + 1, m, B): the probability that the label of a gap is one of these."""
            return labels[:, :, chosen.nonzero()[0].tolist()].sum(2)

        starts, ends, goes_on = (some(np.array([mark in label for label in LABELS])) for mark in "SEC")
        inside = some(FROM_INSIDE)
        inside = inside.masked_fill(inside == 0, 1.0)
        found = stretches(starts[:n], (goes_on / inside)[1:], (ends / inside)[1:], n)
        return found.permute(2, 0, 3, 1).to(self.scores)

    def restrict(self, types: Sequence[int]) -> MentionSeparators:
        """The distribution over only the mentions of some types; types are independent, so nothing else changes."""
        return MentionSeparators(self.scores[..., check_types(types, self.types)], self.lengths, self.reading)


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
