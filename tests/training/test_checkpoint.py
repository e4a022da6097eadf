"""What may change between a run and its resumption, and what a checkpoint may say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from hyperspan import Mention, Sentence
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.nn import new_model
from hyperspan.runtime.tensors import read_tensors, write_tensors
from hyperspan.training.data import fingerprint
from hyperspan.training.loop import CHECKPOINT, Run, Trainer, difference
from hyperspan.training.loss import TrainingLoss

WORDS = ("rod", "and", "cone", "cells", "divide")
PARTS = [((0, 1), (3, 4)), ((0, 1), (2, 4)), ((0, 2), (3, 4))]


def test_parts_of_mentions_change_the_fingerprint() -> None:
    """Of annotated mentions and of forbidden ones."""
    spans = [Mention(0, 4, "CL"), *(Mention(0, 4, "CL", fragments=parts) for parts in PARTS)]
    given = [Sentence(WORDS, [one]) for one in spans]
    given += [evolve(given[0], mentions=(), forbidden=[one]) for one in spans]
    assert len({fingerprint([one]) for one in given}) == len(given)
    both = [Sentence(WORDS, order) for order in (spans, spans[::-1])]
    assert fingerprint(both[:1]) == fingerprint(both[1:]), "sets have no order"


def test_keys_that_decide_what_is_learnt_may_not_change() -> None:
    assert difference(Config(), Config().override(["encoder.hidden=9"])) == "encoder.hidden"
    assert difference(Config(), Config().override(["training.epochs=9", "training.learning_rate=0.5"])) is None


@pytest.mark.parametrize("change", ["transformer.learning_rate=0.01"])
def test_keys_named_like_others_that_may_change_may_not(change: str) -> None:
    """The section training has a key named learning_rate that may."""
    assert difference(Config(), Config().override([change])) == change.partition("=")[0]


@pytest.mark.parametrize(
    ("settings", "chosen"),
    [
        (["training.tune_mention_bias=true"], "model.mention_bias=0.75"),
        (["model.kind=discontinuous"], "discontinuous.bias=1.5"),
        (["model.kind=fofe"], "fofe.threshold=0.4"),
    ],
)
def test_a_run_may_be_resumed_with_the_configuration_that_it_wrote(settings: list[str], chosen: str) -> None:
    """At its end it writes what it has chosen on dev."""
    begun = Config().override(settings)
    assert difference(begun, begun.override([chosen])) is None


@pytest.mark.parametrize("wrong", [{"folder": "elsewhere"}, {"run": 3}, {"step": None}, {"step": "3"}, {"epoch": 1.5}])
def test_a_checkpoint_sets_what_training_saves_alone(tmp_path: Path, wrong: dict[str, Any]) -> None:
    """None as a value leaves the entry out."""
    sentences = [Sentence(WORDS, [Mention(0, 4, "CL")])]
    settings = Config().override(["words.dimension=4", "encoder.hidden=4", "encoder.span_hidden=4"]).settled()
    trainer = Trainer(Run(TrainingLoss(new_model(settings, sentences)), sentences), tmp_path)
    trainer.save_checkpoint()
    trainer.resume()
    tensors, state = read_tensors(tmp_path / CHECKPOINT)
    changed = {name: value for name, value in (state | wrong).items() if value is not None or name not in wrong}
    write_tensors(tensors, tmp_path / CHECKPOINT, changed)
    with pytest.raises(InputError, match="is not a checkpoint of this version of hyperspan; begin anew with --force"):
        trainer.resume()
    assert trainer.folder == tmp_path and trainer.step == 0
