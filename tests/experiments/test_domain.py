"""Whether the bundled models tell their own text from others, on the corpora themselves."""

from __future__ import annotations

import pytest

from experiments.domain import run
from tests.support.data import data_path

pytestmark = pytest.mark.corpora


def test_bundled_models_tell_their_own_text_from_others() -> None:
    folder = data_path("gum/dev.jsonl.gz").parents[1]
    figures = run(folder, "dev")["models"]
    pairs = {
        (model, name): row["auroc"] for model, rows in figures.items() for name, row in rows.items() if "auroc" in row
    }
    novels = {("english", "litbank"), ("litbank", "gum")}  # GUM has fiction
    assert {pair for pair, area in pairs.items() if area < 0.95} <= novels
    assert min(pairs.values()) > 0.94
    assert figures["genia"]["own"]["flagged"] < 0.03 and figures["litbank"]["own"]["flagged"] < 0.03
