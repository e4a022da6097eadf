"""The runtime against torch: models of mentions with gaps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from hyperspan import kernels, load
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.nn import load_model, new_model, save_model
from hyperspan.nn.folders import compact
from hyperspan.nn.recognizer import Recognizer
from hyperspan.runtime.model import ArrayModel
from hyperspan.structures import DiscontinuousHypergraph
from hyperspan.types import Mention, Sentence
from tests.runtime.test_model import runtime_of
from tests.support.models import learn

COORDINATIONS = [
    (f"{one} and {other} {noun} of the {place}".split(), (0, 4), ((0, 1), (3, 4)))
    for noun, place in (("cells", "blood"), ("genes", "mouse"))
    for one, other in (("red", "white"), ("early", "late"))
]
SIZES = ["encoder.hidden=12", "encoder.span_hidden=7", "words.dimension=6", "discontinuous.gap=3"]
SMALL = [*SIZES, "discontinuous.later_width=2"]
CALIBRATED = ["calibration.temperatures={thing = 1.5}", "calibration.biases={thing = -0.4, place = -0.2}"]


def sentences() -> list[Sentence]:
    found = [
        Sentence(tokens, [Mention(*hull, "thing", fragments=parts), Mention(2, 4, "thing"), Mention(5, 7, "place")])
        for tokens, hull, parts in COORDINATIONS
    ]
    return [*found, Sentence(["red"]), Sentence([]), Sentence("late cells and early genes near white blood".split())]


def trained(changes: list[str], steps: int = 12) -> Recognizer:
    """A model that has learnt a little, so that it finds mentions with gaps."""
    given = sentences()
    config = Config().override(["model.kind=discontinuous", "characters.hidden=4", *SMALL, *changes])
    model = learn(new_model(config, given), given, steps, 0.1)
    assert isinstance(model, Recognizer)
    return model


@pytest.mark.parametrize(
    ("half", "changes"),
    [
        (False, ["characters.encoder=none", "model.max_width=n", "discontinuous.parts=2"]),
        (True, ["characters.encoder=cnn", "model.max_width=6", "discontinuous.parts=3", "model.mention_bias=0.7"]),
        (True, ["characters.encoder=lstm", "model.max_width=n", "discontinuous.parts=1", "model.temperature=1.3"]),
        (False, ["characters.encoder=cnn", "model.max_width=5", "discontinuous.bias=0.6", "model.temperature=0.8"]),
        (True, ["discontinuous.bias=0.6", *CALIBRATED, "calibration.discontinuous=-0.8"]),
        (False, ["discontinuous.parts=3", "model.mention_bias=0.7", *CALIBRATED]),
    ],
    ids=str,
)
def test_discontinuous_runtime_equals_torch(half: bool, changes: list[str], tmp_path: Path) -> None:
    save_model(trained(changes), tmp_path, half=half)
    runtime, model, given = runtime_of(tmp_path), load_model(tmp_path), sentences()
    with torch.inference_mode(), kernels.reference():
        expected = model.distribution(given)
    found = runtime.distribution(given)
    assert isinstance(expected, DiscontinuousHypergraph) and isinstance(found, DiscontinuousHypergraph)
    assert runtime.discontinuous and runtime.parameter_count == model.parameter_count
    assert found.argmax() == expected.argmax() and any(found.argmax())
    assert found.marginals == pytest.approx(expected.marginals.numpy(), abs=1e-5)
    assert found.log_partition == pytest.approx(expected.log_partition.numpy(), rel=1e-4, abs=1e-4)
    longer = found.discontinuous_marginals(0.01)
    assert any(longer) == (model.config.discontinuous.parts > 1)
    for ours, theirs in zip(longer, expected.discontinuous_marginals(0.01), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


def test_discontinuous_models_annotate_without_torch_as_with_it(tmp_path: Path) -> None:
    save_model(trained([], steps=40), tmp_path)
    annotator = load(tmp_path)
    assert isinstance(annotator.model, ArrayModel)
    with kernels.reference():
        reference = load(tmp_path)
    asked: list[dict[str, Any]] = [{}, {"threshold": 0.2}, {"candidates": 0.01}]
    for options in asked:
        found, wanted = (one("red and white cells of the blood", **options) for one in (annotator, reference))
        assert found.mentions == wanted.mentions and found.candidates == wanted.candidates
        assert any(mention.fragments for mention in found.mentions)


@pytest.mark.parametrize("name", ["scorer.start.weight", "scorer.parts.bias"])
def test_discontinuous_runtime_refuses_tensors_of_other_shapes(name: str, tmp_path: Path) -> None:
    save_model(trained([], steps=0), tmp_path)
    path = tmp_path / "model.safetensors"
    tensors = load_file(path)
    save_file({**tensors, name: tensors[name][:-1].contiguous()}, path)
    with pytest.raises(InputError, match=f"{name} has the shape"):
        runtime_of(tmp_path)
    save_file({other: tensor for other, tensor in tensors.items() if other != name}, path)
    with pytest.raises(InputError, match=f"it lacks {name}"):
        runtime_of(tmp_path)


def test_discontinuous_runtime_has_distributions_of_no_words(tmp_path: Path) -> None:
    save_model(trained([], steps=0), tmp_path)
    found = runtime_of(tmp_path).distribution([Sentence([]), Sentence([])])
    assert found.argmax() == [frozenset(), frozenset()] and found.log_partition.tolist() == [0.0, 0.0]


def test_discontinuous_models_keep_their_probabilities_with_fewer_labels(tmp_path: Path) -> None:
    model = trained([])
    save_model(compact(model, labels=["thing"]), tmp_path)
    whole = model.distribution(sentences()).restrict([model.labels.index("thing")])
    found = runtime_of(tmp_path).distribution(sentences())
    assert found.marginals == pytest.approx(whole.marginals.detach().numpy(), abs=1e-5)
    assert found.argmax() == whole.argmax()


def test_absurdly_improbable_mentions_are_refused_where_there_are_too_many() -> None:
    """Each text alone: its neighbours in a batch are annotated."""
    annotate = load("craft")
    text = "The left and right ventricle of the mouse heart and liver cells were stained with antibodies against the tail. "
    failed: list[str] = []
    texts = [text * 3, "Rod cells.", text]
    found = list(annotate.pipe(texts, candidates=1e-320, on_error=lambda given, error: failed.append(str(error))))
    assert [document.text for document in found] == ["Rod cells."] and found[0].candidates
    assert len(failed) == 2 and failed[0].endswith(
        "with a probability of at least 9.99989e-321; ask for at least 0.0001"
    )
    assert [bool(document.candidates) for document in annotate.pipe(texts, candidates=1e-4)] == [True] * 3
