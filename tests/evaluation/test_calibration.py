"""Calibration: values by hand, invariants, and the diagram."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.errors import InputError, MissingExtraError
from hyperspan.evaluation import calibrate, calibration_of, evaluate
from hyperspan.evaluation.tables import report_sections
from hyperspan.files import Target
from hyperspan.render.plots import draw_calibration
from hyperspan.types import Mention, Sentence
from tests.evaluation.cases import sentence

PNG = b"\x89PNG\r\n\x1a\n"


def test_calibrate_matches_values_by_hand() -> None:
    found = calibrate([0.05, 0.3, 0.35, 0.95, 1.0], [False, True, False, True, True])
    filled = {part.low: (part.count, part.probability, part.correct) for part in found.bins if part.count}
    assert filled == {0.0: (1, 0.05, 0.0), 0.3: (2, pytest.approx(0.325), 0.5), 0.9: (2, pytest.approx(0.975), 1.0)}
    assert found.ece == pytest.approx((0.05 + 2 * 0.175 + 2 * 0.025) / 5)
    assert found.brier == pytest.approx((0.05**2 + 0.7**2 + 0.35**2 + 0.05**2) / 5)
    assert (found.count, found.correct) == (5, 3)


def test_calibrate_puts_bin_edges_into_the_next_bin() -> None:
    found = calibrate([i / 10 for i in range(11)], [True] * 11)
    assert [part.count for part in found.bins] == [1] * 9 + [2]


def test_calibrate_rejects_numbers_that_are_not_probabilities() -> None:
    assert calibrate([1 + 1e-9, -1e-9], [True, False]).ece == 0  # rounding
    for wrong in (1.5, -0.2, float("nan")):
        with pytest.raises(InputError, match="but a number from 0 to 1 is expected"):
            calibrate([0.5, wrong], [True, False])


def test_calibration_of_counts_missed_gold_mentions() -> None:
    gold = [sentence("0:4:A", "1:2:B"), sentence("0:1:A")]
    found = [sentence(Mention(0, 4, "A", probability=0.75), Mention(2, 3, "A", probability=0.25)), sentence("0:1:A")]
    calibration = calibration_of(gold, found)
    assert calibration is not None and calibration.ece == calibration.brier**0.5 == 0.25
    assert (calibration.count, calibration.correct, calibration.missed) == (2, 1, 2)
    assert evaluate(gold, found).calibration == {"predicted": calibration}
    assert calibration_of(gold, gold) is None and evaluate(gold, gold).calibration == {}


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1))
def test_calibrate_stays_within_bounds(pairs: list[tuple[float, bool]]) -> None:
    stated, true = [p for p, _ in pairs], [y for _, y in pairs]
    found = calibrate(stated, true)
    assert sum(part.count for part in found.bins) == len(pairs)
    assert abs(np.mean(stated) - np.mean(true)) <= found.ece + 1e-9 and found.ece <= 1 + 1e-9
    assert found.brier == pytest.approx(np.mean((np.array(stated) - np.array(true)) ** 2))


def test_calibrate_finds_no_error_in_calibrated_probabilities() -> None:
    generator = np.random.default_rng(0)
    stated = generator.uniform(size=20_000)
    true = generator.uniform(size=20_000) < stated
    assert calibrate(stated.tolist(), true.tolist()).ece < 0.02
    assert calibrate((stated**3).tolist(), true.tolist()).ece > 0.2


def test_draw_calibration_writes_a_png(tmp_path: Path) -> None:
    target = tmp_path / "calibration.png"
    found = calibrate([0.05, 0.3, 0.35, 0.95, 1.0], [False, True, False, True, True])
    draw_calibration({"predicted": found, "candidates": found}, Target(str(target)))
    assert target.read_bytes().startswith(PNG)


def test_draw_calibration_needs_the_plots_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"drawing calibration needs the extra `plots`"):
        draw_calibration({}, Target(str(tmp_path / "x.png")))


def test_report_shows_the_calibration_of_predicted_mentions_after_the_scores() -> None:
    gold = [Sentence(["a", "b"], [Mention(0, 1, "X")])]
    found = [Sentence(["a", "b"], [Mention(0, 1, "X", probability=0.7)])]
    _, second, *others = report_sections(evaluate(gold, found))
    assert second.title == "Calibration of predicted mentions: ECE 0.300"
    assert [row[1] for row in second.rows] == ["0"] * 7 + ["1", "0", "0"]
    assert not any("Calibration of predicted" in section.title for section in others)
