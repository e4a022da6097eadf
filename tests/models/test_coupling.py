"""Couplings of models: they are chosen on dev, kept in the configuration, and change sets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.models.coupling import CoupledBatch, components_of, fit_couplings
from hyperspan.models.coupling_bounds import approximations, mean_field
from hyperspan.models.scorers.joint import choose_groups
from hyperspan.models.validation import validate
from hyperspan.structures import CoupledHypergraph, EdgeScores, SegmentalHypergraph
from hyperspan.types import Mention, Sentence

SENTENCES = 400


def batch() -> CoupledBatch:
    """Sentences of one word that has one of two types, never both; the model is unsure which."""
    zeros = torch.zeros(SENTENCES, 1, 2, dtype=torch.float64)
    scores = EdgeScores(zeros, zeros, zeros[:, :, None][:, :, :0], zeros[:, :, None] + 0.2)
    gold = [{(0, 1, number % 3 % 2)} for number in range(SENTENCES)]
    return CoupledBatch(SegmentalHypergraph(scores, [1] * SENTENCES), gold, range(SENTENCES))


def test_fit_finds_what_excludes_each_other() -> None:
    given = batch()
    fit = fit_couplings(list(components_of([given])), SENTENCES)
    assert fit is not None and fit.held_out > 0 and fit.pairs == {"span": SENTENCES}
    coupled = CoupledHypergraph.of(given.base, fit.couplings)
    gained = coupled.log_prob(given.gold) - given.base.log_prob(given.gold)
    assert float(gained.sum()) / np.log(2) == pytest.approx(fit.gained, rel=1e-3)
    both = [[(0, 1, 0), (0, 1, 1)]] * SENTENCES
    assert coupled.constraint_log_prob(require=both).exp().max() < 0.05


def test_fit_takes_nothing_where_mentions_are_independent() -> None:
    given = batch()
    random = np.random.default_rng(1)
    probabilities = given.base.marginals[0, 0, 0].tolist()
    gold = [{(0, 1, k) for k in (0, 1) if random.random() < probabilities[k]} for _ in range(SENTENCES)]
    fit = fit_couplings(list(components_of([given._replace(gold=gold)])), SENTENCES)
    assert fit is None or fit.held_out / SENTENCES < 0.01


def test_mean_field_is_a_lower_bound() -> None:
    scores = torch.randn(50, 16, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 2
    bound, means = mean_field(scores)
    assert (bound <= scores.logsumexp(1) + 1e-9).all() and ((means > 0) & (means < 1)).all()
    independent = torch.tensor([[0.0, 1.0, -2.0, -1.0]], dtype=torch.float64)  # one mention scores 1, the other -2
    torch.testing.assert_close(mean_field(independent)[0], independent.logsumexp(1))


def test_approximations_are_beside_exact_sums() -> None:
    given = batch()
    found = list(components_of([given]))
    fit = fit_couplings(found, SENTENCES)
    assert fit is not None
    figures = approximations(found, fit.couplings, SENTENCES)
    assert figures["components"] == SENTENCES and figures["mean_field_gap_bits"] > 0


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["coupling.both={span = -1.0}"], "both must have the same keys of span"),
        (["coupling.both={sapn = -1.0}", "coupling.balance={sapn = 1.0}"], "both must have the same keys of span"),
        (
            ["model.kind=linear-chain", "coupling.both={span = -1.0}", "coupling.balance={span = 1.0}"],
            "mentions of model.kind linear-chain cannot be coupled",
        ),
        (["model.kind=joint", 'joint.groups=[["A", "B"], ["B"]]'], "must have each label once"),
    ],
)
def test_configurations_that_cannot_be_coupled_are_refused(overrides: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        validate(Config().override(overrides))


def test_choose_groups_joins_labels_that_meet_up_to_a_size() -> None:
    def sentence(*labels: str) -> Sentence:
        return Sentence(["Bo", "Li"], [Mention(0, 1 + number % 2, label) for number, label in enumerate(labels)])

    sentences = [sentence("A", "C"), sentence("A", "C"), sentence("B", "D"), sentence("A", "D")]
    assert choose_groups("ABCD", sentences, size=2) == (("A", "C"), ("B", "D"))
    assert choose_groups("ABCD", sentences, size=4) == (("A", "B", "C", "D"),)
    assert choose_groups("ABCD", [], size=3) == (("A",), ("B",), ("C",), ("D",))


def test_couplings_survive_toml() -> None:
    config = Config()
    coupled = replace(
        config, coupling=replace(config.coupling, both={"span": -4.5}, balance={"span": 1.5}, mention=0.25)
    )
    assert Config.from_toml(coupled.to_toml()) == coupled
