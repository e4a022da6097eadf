"""Temperature and bias are chosen on dev: what is chosen is the best of what was tried."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from hyperspan.config import CalibrationConfig, Config
from hyperspan.nn import MODELS, Recognizer, Scorer, new_model
from hyperspan.nn.recognizer import MENTION_BIASES
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.decoding import DecodingOptions, decode
from hyperspan.structures.mentions import fragments_of
from hyperspan.structures.scores import EdgeScores
from hyperspan.training.calibration import PRIOR_MENTIONS, DevChains
from hyperspan.training.calibration_chains import chain_batch
from hyperspan.training.loop import Run, Trainer, dev_scores
from hyperspan.training.loss import TrainingLoss
from hyperspan.training.tuning import (
    SURER_PENALTY,
    TEMPERATURES,
    best_temperature,
    best_value,
    tune,
    tune_calibration,
)
from hyperspan.types import Mention
from tests.runtime.test_discontinuous import sentences
from tests.runtime.test_discontinuous import trained as trained_on_coordination
from tests.support.models import HANDCRAFTED, SMALL, corpus


@pytest.fixture(
    scope="module",
    params=[kind for kind, entry in MODELS.items() if issubclass(entry, Scorer) and not entry.abilities.gaps],
)
def learnt(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recognizer:
    """A model that has learnt half of the corpus, not too well."""
    changes = [
        *SMALL,
        *HANDCRAFTED,
        f"model.kind={request.param}",
        "training.epochs=3",
        "training.tune_mention_bias=true",
    ]
    sentences = corpus()
    model = new_model(Config().override(changes), sentences)
    Trainer(Run(TrainingLoss(model), sentences[::2]), tmp_path_factory.mktemp("run")).run()
    assert isinstance(model, Recognizer)
    return model.eval()


@pytest.fixture
def trained(learnt: Recognizer) -> Recognizer:
    """The same, without what another test has chosen."""
    learnt.config = replace(learnt.config, calibration=CalibrationConfig())
    return with_values(learnt, temperature=1.0, mention_bias=0.0)


def with_values(model: Recognizer, **values: float) -> Recognizer:
    model.config = replace(model.config, model=replace(model.config.model, **values))
    return model


def test_tune_chooses_the_best_of_what_was_tried(trained: Recognizer) -> None:
    dev = corpus()[1::2]
    [setting] = trained.settings()
    bias = best_value(trained, setting, dev)
    tried = [*MENTION_BIASES[::8], bias]
    scores = {value: dev_scores(with_values(trained, mention_bias=value), dev)["f1"] for value in tried}
    assert scores[bias] == pytest.approx(max(scores.values()))
    with_values(trained, mention_bias=bias)

    @torch.inference_mode()
    def penalised(temperature: float) -> float:
        distribution = with_values(trained, temperature=temperature).distribution(dev)
        gold = [trained.scorer.representable(trained.gold(s), max(map(len, dev))) for s in dev]
        return SURER_PENALTY * max(0.0, -math.log(temperature)) ** 2 - float(distribution.log_prob(gold).sum())

    temperature = best_temperature(trained, dev)
    assert penalised(temperature) <= min(map(penalised, TEMPERATURES[::6])) + 1e-3
    with_values(trained, temperature=1.0, mention_bias=0.0)
    tune(trained, dev)
    count = sum(len(sentence.mentions) for sentence in dev)
    share = count / (count + PRIOR_MENTIONS)
    assert trained.config.model.mention_bias == bias
    assert trained.config.model.temperature == pytest.approx(temperature**share, abs=1e-4)
    assert set(trained.config.calibration.temperatures) == (
        set(trained.labels) if trained.abilities.calibrates else set()
    )


@pytest.mark.parametrize("learnt", ["segmental"], indirect=True)
def test_tune_calibration_lowers_the_error_and_keeps_sets(trained: Recognizer) -> None:
    dev = corpus()[1::2] * 4
    before = with_values(trained, temperature=0.3)  # far too sure
    with torch.inference_mode():
        sets = before.distribution(dev).argmax()
    fit = tune_calibration(trained, dev)
    assert fit is not None and fit.after.brier <= fit.before.brier + 1e-6
    with torch.inference_mode():
        found = trained.distribution(dev)
        assert found.argmax() == sets
        places = [mentions & gold for mentions, gold in zip(sets, map(trained.gold, dev), strict=True)]
        stated = found.places([None])[0].probabilities
    assert fit.after.correct == sum(map(len, places)) and fit.after.count == len(stated)
    mean = sum(part.probability * part.count for part in fit.after.bins) / fit.after.count
    assert mean == pytest.approx(float(stated.mean()), abs=1e-3)  # what was fitted is what the model then says
    assert Config.from_toml(trained.config.to_toml()) == trained.config


@pytest.mark.parametrize("learnt", ["segmental"], indirect=True)
def test_tune_calibration_stays_near_one_temperature_on_a_tiny_dev(trained: Recognizer) -> None:
    fit = tune_calibration(trained, corpus()[1:3])
    temperatures, temperature = trained.config.calibration.temperatures, trained.config.model.temperature
    assert fit is not None and all(0.7 < value / temperature < 1.5 for value in temperatures.values())
    assert all(bias >= -1 for bias in trained.config.calibration.biases.values())


@pytest.mark.parametrize("learnt", ["segmental"], indirect=True)
def test_tune_does_not_become_as_sure_as_can_be_where_all_is_right(trained: Recognizer) -> None:
    with torch.inference_mode():
        sets = trained.distribution(dev := corpus()).argmax()
    right = [
        sentence.with_mentions(Mention(start, end, trained.labels[kind]) for start, end, kind in found)
        for sentence, found in zip(dev, sets, strict=True)
    ]
    tune(trained, right)
    assert 0.5 < trained.config.model.temperature <= 1.02
    assert all(value > 0.5 for value in trained.config.calibration.temperatures.values())


@pytest.mark.parametrize("learnt", ["segmental"], indirect=True)
def test_calibration_of_a_tiny_dev_stays_near_that_of_the_model(trained: Recognizer) -> None:
    had = CalibrationConfig(dict.fromkeys(trained.labels, 1.6), dict.fromkeys(trained.labels, -0.75))
    trained.config = replace(with_values(trained, temperature=1.5).config, calibration=had)
    tune_calibration(trained, corpus()[1:2])
    assert trained.config.model.temperature == pytest.approx(1.5, rel=0.1)
    assert all(value == pytest.approx(1.6, rel=0.1) for value in trained.config.calibration.temperatures.values())
    assert all(value == pytest.approx(-0.75, abs=0.13) for value in trained.config.calibration.biases.values())


def test_tune_calibration_of_discontinuous_mentions_keeps_sets_and_says_what_was_fitted() -> None:
    dev = sentences() * 5
    model = trained_on_coordination(["discontinuous.bias=1.5"], steps=25)
    with torch.inference_mode():
        sets = model.distribution(dev).argmax()
    assert any(map(fragments_of, set().union(*sets)))
    wrong = [one.with_mentions(mention for mention in one.mentions if not mention.fragments) for one in dev]
    fit = tune_calibration(model, wrong)
    assert fit is not None and model.config.calibration.discontinuous < 0
    assert set(model.config.calibration.temperatures) == set(model.labels)
    with torch.inference_mode():
        found = model.distribution(dev)
        assert found.argmax() == sets
        stated = found.places([None])[0].probabilities
    mean = sum(part.probability * part.count for part in fit.after.bins) / fit.after.count
    assert fit.after.count == len(stated) and mean == pytest.approx(float(stated.mean()), abs=1e-3)
    assert Config.from_toml(model.config.to_toml()) == model.config


@pytest.mark.parametrize("in_one_place", [False, True])
def test_types_share_their_calibration_if_errors_of_one_type_stand_in_one_place(in_one_place: bool) -> None:
    count = 500
    close = np.full((count, 1, 1, 2), 3.0)
    scores = EdgeScores[np.ndarray](*(np.zeros((count, 1, *one, 2)) for one in ((), (), (0,))), close=close)
    found = [{(0, 1, 0), (0, 1, 1)} for _ in range(count)]
    wrong = set(range(100, 150)) if in_one_place else set(range(0, count, 2))
    gold = [{(0, 1, 0)} | ({(0, 1, 1)} if sentence not in wrong else set()) for sentence in range(count)]
    starts = np.ones((count, 1, 2))
    batch = chain_batch(scores, [1] * count, starts, found, gold, np.arange(count))
    fit = DevChains([batch], 2, 1.0).fit()
    assert fit.by_type is not in_one_place
    assert (len({*zip(fit.chosen.temperatures, fit.chosen.biases, strict=True)}) == 1) is in_one_place
    assert fit.after.brier <= fit.before.brier


@pytest.mark.parametrize("learnt", ["segmental"], indirect=True)
def test_tune_reads_batches_as_large_as_the_model_allows(trained: Recognizer, monkeypatch: pytest.MonkeyPatch) -> None:
    dev = [sentence for sentence in corpus() if len(sentence)]
    sizes: list[int] = []
    collate = trained.collate
    monkeypatch.setattr(trained, "collate", lambda given: sizes.append(len(given)) or collate(given))
    for entries, largest in ((1, 1), (10**9, len(dev))):
        monkeypatch.setattr(Recognizer, "batch_entries", entries)
        tune(trained, dev)
        assert max(sizes) == largest
        sizes.clear()


def test_mention_bias_above_0_finds_more(trained: Recognizer) -> None:
    sentences = corpus()
    found = []
    for bias in (-4.0, 0.0, 4.0):
        with torch.inference_mode():
            best = with_values(trained, mention_bias=bias).distribution(sentences).argmax()
        found.append(sum(map(len, best)))
    assert found[0] <= found[1] <= found[2] and found[0] < found[2]


def test_every_model_annotates_with_probabilities_labels_and_alternatives(trained: Recognizer) -> None:
    annotator = Annotator(with_values(trained, mention_bias=2.0))
    document = annotator("The harbour master of Lindau met Captain Amsel .", top_k=3)
    assert document.alternatives is not None and document.alternatives[0].sets
    sentences = [sentence.with_mentions(()) for sentence in corpus()]
    whole = list(annotator.recognize(sentences))
    assert all(0 <= (mention.probability or 0) <= 1 for sentence in whole for mention in sentence.mentions)
    some = list(annotator.recognize(sentences, types=["PER", "GPE"]))
    for one, other in zip(whole, some, strict=True):
        kept = {(m.start, m.end, m.label) for m in one.mentions if m.label in ("PER", "GPE")}
        assert kept == {(m.start, m.end, m.label) for m in other.mentions}
    likely = list(annotator.recognize(sentences, threshold=0.3, types=["PER"]))
    assert {m.label for sentence in likely for m in sentence.mentions} <= {"PER"}
    with torch.inference_mode():
        marginals = trained.distribution(sentences[:1]).marginals[0]
        sets = decode(
            trained.distribution(sentences[:1]),
            trained.labels,
            DecodingOptions((trained.labels.index("PER"),), top_k=4),
        )[0].sets
    none = next((p for p, found in sets if not found), 0.0)
    assert none <= 1 - float(marginals[..., trained.labels.index("PER")].max()) + 1e-4
    listed = annotator("Captain Amsel of Lindau slept .", types=["PER"], top_k=5).alternatives
    assert listed is not None
    probabilities = [one.probability for one in listed[0].sets]
    assert probabilities == sorted(probabilities, reverse=True) and sum(probabilities) <= 1 + 1e-6
