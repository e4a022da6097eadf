"""Cross-fitting: what models of halves find in sentences that they have not seen takes part in calibration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hyperspan.config import CalibrationConfig, Config
from hyperspan.nn import Recognizer, load_model, new_model
from hyperspan.training.data import TrainingData
from hyperspan.training.events import RunEnded, TrainingEvent
from hyperspan.training.halves import models_of_halves
from hyperspan.training.loop import Run
from hyperspan.training.loss import TrainingLoss
from hyperspan.training.run import train
from hyperspan.training.tuning import best_temperature, tune, tune_calibration
from hyperspan.types import Mention, Sentence
from tests.runtime.test_discontinuous import sentences as coordination
from tests.runtime.test_discontinuous import trained as trained_on_coordination
from tests.support.models import SMALL, corpus


def a_run(*changes: str, rare: str = "RARE", unknown: str = "UNKNOWN") -> Run:
    """Train with a label in one sentence alone, some sentence twice, and dev with a label that train has not."""
    first, *rest = corpus()
    train = [first.with_mentions([*first.mentions, Mention(0, 1, rare)]), *rest[::2]]
    dev = [one.with_mentions([*one.mentions, Mention(0, 1, unknown)]) for one in rest[1::2]]
    model = new_model(Config().override([*SMALL, *changes]), train)
    return Run(TrainingLoss(model), [*train, train[0]], dev)


def states(halves: list[tuple[Recognizer, list[Sentence]]]) -> list[torch.Tensor]:
    return [tensor for half, _ in halves for tensor in half.state_dict().values()]


def test_models_of_halves_have_not_seen_their_sentences() -> None:
    given = a_run()
    halves = models_of_halves(given, epochs=2)
    (one, others), (other, ones) = halves
    every = [*dict.fromkeys(map(id, given.train)), *map(id, given.dev)]
    assert len(ones) + len(others) == len(every) and abs(len(ones) - len(others)) <= 4
    assert one.labels == other.labels == given.model.labels  # also those that a half lacks
    assert "RARE" in one.labels and "UNKNOWN" not in one.labels
    for half, unseen in halves:
        seen = ones if unseen is others else others
        trained_on = {word for sentence in seen for token in sentence.tokens for word in (token, token.lower())}
        assert {word for word in half.vocabulary.words if not word.startswith("<")} <= trained_on
        assert not half.training and all(tensor.isfinite().all() for tensor in half.state_dict().values())
    again = states(models_of_halves(given, epochs=2))
    assert all(torch.equal(a, b) for a, b in zip(states(halves), again, strict=True))


def test_models_of_halves_leaves_out_a_half_without_mentions() -> None:
    first, *rest = corpus()
    given = a_run()
    halves = models_of_halves(replace(given, train=[first], dev=[one.with_mentions([]) for one in rest]), epochs=1)
    assert len(halves) == 1 and all(half.labels == given.model.labels for half, _ in halves)


@pytest.mark.parametrize("kind", ["segmental", "linear-chain"])
def test_tune_makes_a_model_less_sure_where_those_of_halves_are_wrong(kind: str) -> None:
    given = a_run(f"model.kind={kind}", "training.learning_rate=0.03")
    (model, dev), (other, unseen) = models_of_halves(given, epochs=12)
    with torch.inference_mode():
        sets, found = model.distribution(dev).argmax(), other.distribution(unseen).argmax()
    mentions = [[Mention(start, end, other.labels[kind]) for start, end, kind in one] for one in found]
    right = [one.with_mentions(own) for one, own in zip(unseen, mentions, strict=True)]
    temperatures: list[float] = []
    for halves in ([(other, right)], [(other, [one.with_mentions([]) for one in unseen])]):
        tune(model, dev, halves)
        temperatures.append(model.config.model.temperature)
        with torch.inference_mode():
            assert model.distribution(dev).argmax() == sets
    assert temperatures[0] < temperatures[1]


def test_tune_calibration_pools_a_model_with_itself() -> None:
    """The same evidence in two parts gives the same temperature as in one."""
    given = a_run("training.learning_rate=0.03")
    model, unseen = models_of_halves(given, epochs=12)[0]
    whole = best_temperature(model, unseen)
    assert best_temperature(model, unseen[::2], [(model, unseen[1::2])]) == whole
    chosen = []
    for sentences, halves in ((unseen, ()), (unseen[::2], [(model, unseen[1::2])])):
        model.config = replace(model.config, calibration=CalibrationConfig())
        model.config = model.config.with_values({"model.temperature": 1.0})
        tune_calibration(model, sentences, halves)
        chosen.append(model.config.model.temperature)
    assert chosen[0] == chosen[1]


def test_tune_calibration_of_discontinuous_mentions_reads_halves() -> None:
    model = trained_on_coordination(["discontinuous.bias=1.5"], steps=25)
    dev = coordination() * 5
    wrong = [one.with_mentions(mention for mention in one.mentions if not mention.fragments) for one in dev]
    tune_calibration(model, dev[:1], [(model, wrong)])
    assert model.config.calibration.discontinuous < 0


def test_a_run_stopped_before_cross_fitting_resumes_to_the_same_calibration(config: Path, tmp_path: Path) -> None:
    sentences = corpus()
    data, settings = TrainingData(sentences[::2], sentences[1::2]), Config.read(config, ["training.epochs=2"])

    class StoppedError(Exception):
        pass

    def stop(event: TrainingEvent) -> None:
        if isinstance(event, RunEnded):
            raise StoppedError

    for name in ("whole", "without"):
        changes = ["training.cross_fit=false"] if name == "without" else []
        train(settings, tmp_path / name, overrides=changes, data=data, device="cpu", threads=1)
    with pytest.raises(StoppedError):
        train(settings, tmp_path / "stopped", data=data, device="cpu", threads=1, listeners=[stop])
    train(settings, tmp_path / "stopped", data=data, device="cpu", threads=1, resume=True)
    whole, without, stopped = (load_model(tmp_path / name) for name in ("whole", "without", "stopped"))
    assert whole.config.training.cross_fit and whole.config == stopped.config
    assert whole.config.model.temperature != without.config.model.temperature
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "without", "stopped")]
    assert files[0] == files[1] == files[2]  # the model itself is the same
