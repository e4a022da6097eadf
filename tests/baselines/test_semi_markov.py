"""The semi-Markov model: segments of bounded width."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from hyperspan.baselines.linear_chain import LinearChain
from hyperspan.baselines.semi_markov import SegmentScores, SemiMarkov
from tests.baselines.cases_linear_chain import tag_scores
from tests.baselines.cases_semi_markov import segment_scores


def test_a_chain_whose_steps_score_nothing_is_semi_markov() -> None:
    """Two structures, one distribution: a segment scores what its words' tags do."""
    n, m, lengths = 12, 2, [12, 7]
    tags = tag_scores(2, n, m, torch.float64, seed=1)
    tags = replace(tags, **{name: torch.zeros_like(getattr(tags, name)) for name in ("step", "first", "last")})
    segment = torch.zeros(2, n, n, m).double()
    for start in range(n):
        for width in range(n - start):
            for kind in range(m):
                begin, inside_tag, last, unit = (tags.emit[..., 4 * kind + place] for place in range(1, 5))
                within = inside_tag[:, start + 1 : start + width].sum(1)
                longer = begin[:, start] + within + last[:, start + width]
                segment[:, start, width, kind] = longer if width else unit[:, start]
    chain, segments = LinearChain(tags, lengths), SemiMarkov(SegmentScores(tags.emit[..., 0], segment), lengths)
    for name in ("log_partition", "marginals", "entropy"):
        torch.testing.assert_close(getattr(chain, name), getattr(segments, name))
    assert chain.argmax() == segments.argmax()
    assert [[s for s, _ in ranked] for ranked in chain.topk(20)] == [
        [s for s, _ in ranked] for ranked in segments.topk(20)
    ]


def test_gradient_of_log_partition_is_the_marginals() -> None:
    scores = segment_scores((2, 15, 6, 3), torch.float64, seed=4, impossible=0.1)
    segment = scores.segment.requires_grad_()
    distribution = SemiMarkov(scores, [15, 9])
    (gradient,) = torch.autograd.grad(distribution.log_partition.sum(), segment)
    torch.testing.assert_close(gradient, distribution.marginals)


def test_a_segment_has_a_width() -> None:
    scores = segment_scores((2, 4, 3, 2), torch.float64, seed=12)
    with pytest.raises(ValueError, match="c >= 1 widths"):
        replace(scores, segment=scores.segment[:, :, :0])
