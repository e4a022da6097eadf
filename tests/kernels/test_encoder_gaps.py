"""The encoder in C against the modules that it stands in for: what mentions with gaps need."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from hyperspan import kernels
from hyperspan.kernels import libraries
from hyperspan.kernels.choice import precisions
from hyperspan.nn import Recognizer
from hyperspan.structures import DiscontinuousHypergraph, DiscontinuousScores
from tests.kernels.test_encoder import both, model_of, sentences_of

pytestmark = pytest.mark.skipif(
    not libraries.variants(), reason="the encoder is not compiled: install hyperspan where a C compiler is"
)
LENGTHS = [1, 0, 7, 12, 3, 30, 2] * 4


def discontinuous_model(*changes: str, types: int = 3) -> Recognizer:
    sizes = ["encoder.hidden=35", "encoder.span_hidden=20", "discontinuous.gap=4", "discontinuous.later_width=3"]
    return model_of(["model.kind=discontinuous", *sizes, *changes], types)


def possible(name: str, scores: Tensor, lengths: Sequence[int]) -> Tensor:
    """Where there is something to score: spans inside a sentence, and gaps with a word on either side."""
    start, words = torch.arange(scores.shape[1]), torch.tensor(lengths)
    if scores.dim() == 3:
        return (start < words[:, None])[..., None]
    last = start[:, None] + torch.arange(scores.shape[2]) + (name in ("extend", "gap"))
    inside = last < words[:, None, None]
    return (inside & (start[:, None] > 0) if name == "gap" else inside)[..., None]


def check_alike(
    found: DiscontinuousScores, expected: DiscontinuousScores, lengths: Sequence[int], tolerance: float = 1e-4
) -> None:
    for field in dataclasses.fields(expected):
        ours, theirs = getattr(found, field.name), getattr(expected, field.name)
        wanted = theirs * possible(field.name, theirs, lengths)
        torch.testing.assert_close(ours, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("variant", sorted(libraries.variants()))
@pytest.mark.parametrize(
    "changes", [["model.max_width=n"], ["model.max_width=6"], ["discontinuous.gap=1", "model.max_width=3"]], ids=str
)
def test_parts_and_gaps_are_those_of_the_reference(variant: str, changes: list[str]) -> None:
    with kernels.only("c", variant=variant):
        found, expected = both(discontinuous_model(*changes), sentences_of(LENGTHS))
    check_alike(found, expected, LENGTHS)  # type: ignore[arg-type]


def test_parts_and_gaps_are_close_in_bfloat16() -> None:
    if "bfloat16" not in precisions("cpu"):
        pytest.skip("this processor does not multiply bfloat16")
    found, expected = both(discontinuous_model().for_inference(precision="bfloat16"), sentences_of(LENGTHS))
    check_alike(found, expected, LENGTHS, tolerance=0.1)  # type: ignore[arg-type]


@pytest.mark.parametrize("width", ["n", "6"])
def test_words_that_are_skipped_are_still_in_gaps_and_later_parts(width: str) -> None:
    model = discontinuous_model(f"model.max_width={width}")
    whole, _ = both(model, sentences_of(LENGTHS))
    margins = (whole.absent - whole.present).amin(2)
    model.for_inference(skip=margins[possible("", whole.absent, LENGTHS)[..., 0]].median().item())
    found, expected = both(model, sentences_of(LENGTHS))
    skipped = expected.present.isneginf()
    assert skipped.any() and not skipped.all()
    assert found.present.isneginf().equal(skipped & possible("", skipped, LENGTHS))
    for name in ("gap", "last"):
        assert getattr(found, name).equal(getattr(whole, name))
    ours, theirs = (DiscontinuousHypergraph(one, LENGTHS, 3) for one in (found, expected))  # type: ignore[arg-type]
    assert ours.argmax() == theirs.argmax()
    torch.testing.assert_close(ours.log_partition, theirs.log_partition, rtol=1e-4, atol=1e-4)
    assert [set(one) for one in ours.discontinuous_marginals(0.02)] == [
        set(one) for one in theirs.discontinuous_marginals(0.02)
    ]
