"""The encoder in C against the modules that it stands in for."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan import kernels
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.kernels import libraries
from hyperspan.kernels.choice import precisions
from hyperspan.kernels.encoder import EncoderParts, FusedEncoder
from hyperspan.kernels.encoder_arrays import check_precision
from hyperspan.nn import Recognizer, new_model
from hyperspan.nn.batch import Batch
from hyperspan.nn.neural import NeuralEncoder
from hyperspan.structures import EdgeScores, SegmentalHypergraph
from hyperspan.types import Mention, Sentence

pytestmark = pytest.mark.skipif(
    not libraries.variants(), reason="the encoder is not compiled: install hyperspan where a C compiler is"
)


@pytest.fixture(params=sorted(libraries.variants()))
def variant(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each variant that was compiled and that this processor can run."""
    with kernels.only("c", variant=request.param):
        yield request.param


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
        return model(batch), reference(model, sentences)


def assert_alike(found: EdgeScores, expected: EdgeScores, lengths: Sequence[int], tolerance: float = 1e-4) -> None:
    """Alike wherever there is a word, and 0 in padding."""
    n = expected.close.shape[1]
    inside = (torch.arange(n) < torch.tensor(lengths)[:, None])[:, :, None]
    for field in dataclasses.fields(expected):
        ours, theirs = getattr(found, field.name), getattr(expected, field.name)
        if theirs is None:
            assert ours is None
            continue
        mask = inside if theirs.dim() == 3 else inside[:, :, None]
        torch.testing.assert_close(ours, theirs * mask, rtol=tolerance, atol=tolerance)


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
@settings(max_examples=25, deadline=None)
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
    if "bfloat16" not in precisions("cpu"):
        pytest.skip("this processor does not multiply bfloat16")
    lengths = [12, 0, 1, 7]
    model = model_of(["words.dimension=10", "encoder.hidden=33"], types=3)
    found, expected = both(model.for_inference(precision="bfloat16"), sentences_of(lengths))
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
    assert found.present[skipped].isneginf().all() and expected.present[skipped].isneginf().all()
    assert SegmentalHypergraph(found, lengths).argmax() == SegmentalHypergraph(expected, lengths).argmax()
    for field in ("present", "extend", "close"):
        ours, theirs = getattr(found, field)[inside & ~skipped], getattr(whole, field)[inside & ~skipped]
        torch.testing.assert_close(ours, theirs)


def test_a_precision_that_cannot_be_had_is_refused() -> None:
    check_precision("float32", "cuda")
    with pytest.raises(InputError, match="no precision 'float8'; choose one of float32, bfloat16"):
        check_precision("float8", "cpu")
    with pytest.raises(InputError, match="needs the kernels for the CPU"):
        check_precision("bfloat16", "cuda")
    with kernels.reference(), pytest.raises(InputError, match="leave it at float32"):
        check_precision("bfloat16", "cpu")


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


def test_weights_that_another_thread_packs_at_the_same_time_are_not_taken() -> None:
    class Overtaken(FusedEncoder):
        """Another thread packs for another processor right after this one."""

        def __init__(self, parts: EncoderParts, others: list[libraries.EncoderLibrary]):
            self.others = others
            super().__init__(parts)

        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if name == "_packed" and value is not None and self.others:
                self._weights(self.others.pop(), "float32")

    model = model_of([])
    best = next(iter(libraries.variants().values()))
    assert model.fused is not None
    encoder = Overtaken(model.fused.parts, [best._replace(lanes=2 * best.lanes)])
    assert encoder._weights(best, "float32").lanes == best.lanes and not encoder.others
