"""The encoder in C against the modules that it stands in for."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hyperspan import kernels
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.kernels import libraries
from hyperspan.kernels.choice import dtypes
from hyperspan.kernels.encode import check_dtype
from hyperspan.nn import Recognizer, new_model
from hyperspan.nn.batch import Batch
from hyperspan.nn.neural import NeuralEncoder
from hyperspan.structures import DiscontinuousHypergraph, EdgeScores, SegmentalHypergraph
from hyperspan.types import Mention, Sentence

pytestmark = pytest.mark.skipif(
    not libraries.variants(), reason="the encoder is not compiled: install hyperspan where a C compiler is"
)


def sentences_of(lengths: Sequence[int], types: int = 1, seed: int = 0) -> list[Sentence]:
    chance = random.Random(seed)
    made = []
    for index, length in enumerate(lengths):
        tokens = [f"w{chance.randrange(30)}" for _ in range(length)]
        mentions = [Mention(0, 1, f"type {index % types}")] if length else []
        made.append(Sentence(tokens, mentions, tags=[chance.choice("ABC") for _ in tokens]))
    return made


def model_of(changes: Sequence[str], types: int = 1, seed: int = 0) -> Recognizer:
    config = Config().override([f"training.seed={seed}", "words.dimension=9", "words.tag_dimension=4", *changes])
    model = new_model(config, sentences_of([3] * types, types))
    with torch.no_grad():  # as large as trained weights become, so that gates also close
        for parameter in model.parameters():
            parameter.mul_(2.0)
    assert isinstance(model, Recognizer)
    return model.eval()


def discontinuous_model(*changes: str, types: int = 3) -> Recognizer:
    sizes = ["encoder.hidden=35", "encoder.span_hidden=20", "discontinuous.gap=4", "discontinuous.later_width=3"]
    return model_of(["model.kind=discontinuous", *sizes, *changes], types)


def reference(model: Recognizer, sentences: Sequence[Sentence]) -> EdgeScores:
    with kernels.reference(), torch.inference_mode():
        return model(model.collate(sentences))


def in_one_call(model: Recognizer, batch: Batch) -> bool:
    """Whether the fused encoder computes the scores of a batch: then the parts are not asked."""
    asked: list[object] = []
    assert isinstance(model.encoder, NeuralEncoder) and model.encoder.spans is not None
    hook = model.encoder.spans.register_forward_hook(lambda *given: asked.append(given))
    model(batch)
    hook.remove()
    return not asked


def both(model: Recognizer, sentences: Sequence[Sentence]) -> tuple[EdgeScores, EdgeScores]:
    with torch.inference_mode():
        batch = model.collate(sentences)
        assert in_one_call(model, batch)
        return model(batch).map(torch.from_numpy), reference(model, sentences)


def possible(name: str, scores: Tensor, lengths: Sequence[int]) -> Tensor:
    """Where there is something to score: words and spans inside a sentence, and gaps with a word on either side."""
    start, words = torch.arange(scores.shape[1]), torch.tensor(lengths)
    if scores.dim() == 3:
        return (start < words[:, None])[..., None]
    last = start[:, None] + torch.arange(scores.shape[2]) + (name in ("extend", "branch", "gap"))
    inside = last < words[:, None, None]
    return (inside & (start[:, None] > 0) if name == "gap" else inside)[..., None]


def assert_alike(found: Any, expected: Any, lengths: Sequence[int], tolerance: float = 1e-4) -> None:
    """Alike wherever there is something to score, and 0 elsewhere."""
    for field in dataclasses.fields(expected):
        ours, theirs = getattr(found, field.name), getattr(expected, field.name)
        assert (ours is None) == (theirs is None)
        if theirs is not None:
            wanted = theirs * possible(field.name, theirs, lengths)
            torch.testing.assert_close(ours, wanted, rtol=tolerance, atol=tolerance)


@st.composite
def configurations(draw: Any) -> list[str]:
    sizes = st.integers(1, 40)
    return [
        f"encoder.layers={draw(st.integers(1, 3))}",
        f"encoder.hidden={draw(sizes)}",
        f"encoder.span_hidden={draw(sizes)}",
        f"words.dimension={draw(sizes)}",
        f"model.max_width={draw(st.one_of(st.just('n'), st.integers(1, 8)))}",
        f"model.tied={str(draw(st.booleans())).lower()}",
        f"segmental.interactions={str(draw(st.booleans())).lower()}",
        f"characters.encoder={draw(st.sampled_from(['none', 'cnn']))}",
    ]


@given(
    changes=configurations(),
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=9).filter(any),
    types=st.integers(1, 9),
    threads=st.integers(1, 2),
    seed=st.integers(0, 99),
)
@settings(max_examples=10, deadline=None)
def test_scores_are_those_of_the_reference(
    changes: list[str], lengths: list[int], types: int, threads: int, seed: int
) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found, expected = both(model_of(changes, types, seed), sentences_of(lengths, seed=seed))
    finally:
        torch.set_num_threads(before)
    assert_alike(found, expected, lengths)


@pytest.mark.parametrize("lengths", [[1], [0, 5, 0], [17] * 60, list(range(40)), [70]], ids=str)
@pytest.mark.parametrize("width", ["n", "1", "4"])
def test_every_variant_gives_the_same_scores(variant: str, lengths: list[int], width: str) -> None:
    model = model_of([f"model.max_width={width}", "encoder.hidden=35", "encoder.span_hidden=20"], types=5)
    found, expected = both(model, sentences_of(lengths))
    assert_alike(found, expected, lengths)


def test_bfloat16_is_close() -> None:
    if "bfloat16" not in dtypes("cpu"):
        pytest.skip("this processor does not multiply bfloat16")
    lengths = [12, 0, 1, 7]
    gaps = both(discontinuous_model().for_inference(dtype="bfloat16"), sentences_of(lengths))
    assert_alike(*gaps, lengths, tolerance=0.1)
    model = model_of(["words.dimension=10", "encoder.hidden=33"], types=3)
    found, expected = both(model.for_inference(dtype="bfloat16"), sentences_of(lengths))
    assert_alike(found, expected, lengths, tolerance=0.1)
    exact, _ = both(model.for_inference(), sentences_of(lengths))
    assert not torch.equal(exact.close, found.close)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("width", ["n", "1", "4"])
def test_starts_that_are_skipped_open_nothing_and_the_others_are_as_before(
    variant: str, width: str, share: float
) -> None:
    lengths = [17, 9, 9, 1, 0, 30] * 5
    model = model_of([f"model.max_width={width}", "encoder.hidden=35", "encoder.span_hidden=20"], types=2)
    whole, _ = both(model, sentences_of(lengths))
    inside = torch.arange(30) < torch.tensor(lengths)[:, None]  # (B, n)
    margins = (whole.absent - whole.present).amin(2)
    skip = margins[inside].sort().values[int((1 - share) * (inside.sum() - 1))].item() + (1e-3 if share < 1 else -1)
    model.for_inference(skip=skip)
    skipped = inside & (margins > skip)
    assert abs(skipped.sum() / inside.sum() - share) < 0.05
    found, expected = both(model, sentences_of(lengths))
    expected = dataclasses.replace(expected, present=expected.present.masked_fill(skipped[..., None], -torch.inf))
    assert found.present[skipped].isneginf().all()
    assert SegmentalHypergraph(found, lengths).argmax() == SegmentalHypergraph(expected, lengths).argmax()
    for field in ("present", "extend", "close"):
        ours, theirs = getattr(found, field)[inside & ~skipped], getattr(whole, field)[inside & ~skipped]
        torch.testing.assert_close(ours, theirs)


# -- mentions with gaps

LENGTHS = [1, 0, 7, 12, 3, 30, 2] * 4


@pytest.mark.parametrize(
    "changes", [["model.max_width=n"], ["model.max_width=6"], ["discontinuous.gap=1", "model.max_width=3"]], ids=str
)
def test_parts_and_gaps_are_those_of_the_reference(variant: str, changes: list[str]) -> None:
    found, expected = both(discontinuous_model(*changes), sentences_of(LENGTHS))
    assert_alike(found, expected, LENGTHS)


@pytest.mark.parametrize("width", ["n", "6"])
def test_words_that_are_skipped_are_still_in_gaps_and_later_parts(width: str) -> None:
    model = discontinuous_model(f"model.max_width={width}")
    whole, _ = both(model, sentences_of(LENGTHS))
    margins = (whole.absent - whole.present).amin(2)
    model.for_inference(skip=margins[possible("", whole.absent, LENGTHS)[..., 0]].median().item())
    found, expected = both(model, sentences_of(LENGTHS))
    passed = (expected.absent - expected.present).amin(2, keepdim=True) > model.options.skip
    expected = dataclasses.replace(expected, present=expected.present.masked_fill(passed, -torch.inf))
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


# -- what it is asked


def test_a_dtype_that_cannot_be_had_is_refused() -> None:
    check_dtype("float32", "cuda")
    with pytest.raises(InputError, match="no dtype 'float8'; choose one of float32, bfloat16"):
        check_dtype("float8", "cpu")
    with pytest.raises(InputError, match="needs the kernels for the CPU"):
        check_dtype("bfloat16", "cuda")
    with kernels.reference(), pytest.raises(InputError, match="leave it at float32"):
        check_dtype("bfloat16", "cpu")


def test_changed_weights_are_seen() -> None:
    model, sentences = model_of([]), sentences_of([4, 2])
    both(model, sentences)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.5)
    assert_alike(*both(model, sentences), [4, 2])
    model.load_state_dict(model_of([], seed=3).state_dict())
    assert_alike(*both(model, sentences), [4, 2])
    assert isinstance(model.encoder, NeuralEncoder) and model.encoder.spans is not None
    with torch.no_grad():
        model.encoder.spans.recurrent = torch.nn.Parameter(torch.zeros_like(model.encoder.spans.recurrent))
    assert_alike(*both(model, sentences), [4, 2])


def test_a_score_that_is_no_number_stays_none() -> None:
    model = model_of([])
    assert isinstance(model.encoder, NeuralEncoder) and model.encoder.spans is not None
    with torch.no_grad():
        model.encoder.spans.recurrent[0, 0, 0] = float("nan")
    found, expected = both(model, sentences_of([3]))
    assert found.close.isnan().any() and expected.close.isnan().any()


def test_what_it_cannot_do_is_left_to_the_reference() -> None:
    model, sentences = model_of([]), sentences_of([4])
    batch = model.collate(sentences)
    assert not in_one_call(model, batch), "gradients are wanted"
    with torch.inference_mode():
        assert in_one_call(model, batch)
        assert not in_one_call(model.train(), batch)
        assert not in_one_call(model.double().eval(), batch)


def test_a_copy_of_a_model_computes_with_weights_of_its_own() -> None:
    model, sentences = model_of([]), sentences_of([4, 2])
    first, _ = both(model, sentences)
    other = pickle.loads(pickle.dumps(copy.deepcopy(model)))
    with torch.no_grad():
        other.encoder.spans.recurrent.zero_()
    assert_alike(*both(other, sentences), [4, 2])
    again, _ = both(model, sentences)
    assert torch.equal(first.close, again.close)


def test_weights_are_packed_anew_for_another_library_or_changed_parameters_alone() -> None:
    model = model_of([])
    with torch.inference_mode():
        first = model.arrays()
        assert first is not None and model.arrays() is first
        best = next(iter(libraries.variants().values()))
        wide = first._weights(best._replace(lanes=2 * best.lanes), adjusted=False)
        assert wide.lanes == 2 * best.lanes and first._weights(best, adjusted=False).lanes == best.lanes
    with torch.no_grad():
        model.scorer.start.bias.add_(1.0)  # type: ignore[union-attr, operator]
    with torch.inference_mode():
        assert model.arrays() is not first
