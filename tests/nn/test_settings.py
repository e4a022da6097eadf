"""Settings that a model has no use for are refused, not passed over."""

from __future__ import annotations

import re

import pytest

from experiments.settings import config_of
from experiments.study.studies import DISCONTINUOUS
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.nn import ENCODERS, MODELS, EncoderAbilities, Model, NeuralEncoder, Scorer, new_model
from hyperspan.nn.validation import validate
from hyperspan.training.run import check_lengths
from hyperspan.types import Mention, Sentence

WITHOUT_SPANS = [
    *("linear-chain", "cascaded", "mention-hypergraph", "mention-separators", "biohd", "katiyar-cardie"),
    *("layered", "transition"),
]
"""The kinds of models that score words alone."""


def model_of(kind: str) -> Model:
    """A small model, untrained."""
    changes = [f"model.kind={kind}", "words.dimension=4", "encoder.hidden=4"]
    return new_model(Config().override(changes), [Sentence(["Lindau"], [Mention(0, 1, "GPE")])])


@pytest.mark.parametrize("kind", WITHOUT_SPANS)
def test_validate_refuses_a_width_without_spans(kind: str) -> None:
    with pytest.raises(InputError, match=f'model.max_width is 6, but model.kind {kind} .* set it to "n"'):
        validate(Config().override([f"model.kind={kind}", "model.max_width=6"]))


@pytest.mark.parametrize("kind", WITHOUT_SPANS)
def test_check_lengths_takes_long_sentences_without_spans(kind: str) -> None:
    check_lengths(model_of(kind), [Sentence(["Lindau"] * 1000)])


def test_validate_refuses_spans_of_an_encoder_of_words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class WordsAlone(NeuralEncoder):
        abilities = EncoderAbilities(vectors=True, contextual=True)

    monkeypatch.setattr(ENCODERS, "built_in", {**ENCODERS.built_in, "words": WordsAlone})
    validate(Config().override(["encoder.kind=words", "model.kind=linear-chain"]))
    with pytest.raises(InputError, match=r"segmental scores spans, but encoder\.kind words encodes words"):
        validate(Config().override(["encoder.kind=words"]))


@pytest.mark.parametrize("setting", ["words.vectors=glove.txt", "characters.encoder=lstm"])
def test_validate_refuses_vectors_for_handcrafted_features(setting: str) -> None:
    with pytest.raises(InputError, match=rf"{setting.replace('=', ' is ')}, but encoder.kind is handcrafted"):
        validate(Config().override(["encoder.kind=handcrafted", setting]))


def test_validate_refuses_hulls_for_a_model_that_learns_parts() -> None:
    config = Config().override(["model.discontinuous=hull"])
    validate(config)
    with pytest.raises(
        InputError, match=r"model\.discontinuous is hull, but model\.kind discontinuous learns the parts"
    ):
        validate(config.override(["model.kind=discontinuous"]))


def test_validate_refuses_features_for_a_model_that_reads_vectors_of_spans() -> None:
    config = Config().override(["model.kind=discontinuous"])
    validate(config)
    with pytest.raises(
        InputError, match=r"discontinuous reads vectors of words, but encoder\.kind is handcrafted; set"
    ):
        validate(config.override(["encoder.kind=handcrafted"]))


@pytest.mark.parametrize("kind", [kind for kind, entry in MODELS.items() if issubclass(entry, Scorer)])
def test_skip_is_refused_naming_every_kind_that_can(kind: str) -> None:
    model = model_of(kind)
    able = [kind for kind, entry in MODELS.items() if entry.abilities.skips]
    with pytest.raises(InputError, match="skip is nan for a model of kind") as refusal:
        model.for_inference(skip=float("nan"))
    assert re.findall(r"'([a-z-]+)'", str(refusal.value)) == [kind, *able]
    if kind in able:
        assert model.for_inference(skip=3.0).options.skip == 3.0
    else:
        with pytest.raises(InputError, match="skip is 3"):
            model.for_inference(skip=3.0)


def test_craft_configurations_share_encoder_and_schedule() -> None:
    every = {row.name: config_of(row, "craft") for row in DISCONTINUOUS.rows}
    same = ("data", "words", "characters", "transformer", "encoder", "training")
    first = every["segmental"]
    for name, config in every.items():
        assert [getattr(config, section) for section in same] == [getattr(first, section) for section in same], name
        assert config.model.tokenizer == first.model.tokenizer
        validate(config)
