"""`hyperspan model calibrate` and `compact` as a user drives them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hyperspan import load
from hyperspan.config import Config
from hyperspan.runtime.cards import Figures, ModelCard
from hyperspan.runtime.folders import PRETRAINED
from tests.support.process import call as hyperspan

DEV = """\
c-Rel binds the IL-2 promoter in Jurkat T cells .
NN VBZ DT NN NN IN NN NN NNS .
0,1 protein|3,4 protein|3,5 DNA|6,9 cell_line

The p50 gene is silent .
DT NN NN VBZ JJ .
1,2 protein|1,3 DNA

"""


def test_calibrate_writes_another_model_that_finds_the_same(tmp_path: Path) -> None:
    dev, target = tmp_path / "dev.data", tmp_path / "model"
    dev.write_text(DEV, encoding="utf-8")
    answer = hyperspan("model", "calibrate", str(dev), "-m", "litbank", "-o", str(target))
    assert answer.returncode == 2 and "has no mention of FAC" in answer.stderr and "Traceback" not in answer.stderr
    made = hyperspan("model", "calibrate", str(dev), "-m", "genia", "--output", str(target), "--json")
    assert made.returncode == 0, made.stderr
    assert "has only 6 mentions, so that the calibration stays near what the model had" in made.stderr
    readme = (target / "README.md").read_text(encoding="utf-8")
    assert "on dev.data (6 mentions)" in readme and "0.016 over" not in readme and "## Citation" in readme
    found = json.loads(made.stdout)
    assert found["predicted_mentions"]["calibrated_held_out"]["count"] > 0
    config = Config.of_model(target)
    assert config.calibration.temperatures == found["temperatures"] and set(found["biases"]) == set(
        load("genia").labels
    )
    again = hyperspan("model", "calibrate", str(dev), "-m", "genia", "--output", str(target))
    unforced = hyperspan("model", "calibrate", str(dev), "-m", str(target))
    assert again.returncode == unforced.returncode == 2 and "--force" in again.stderr and "--force" in unforced.stderr
    text = "Activation of the IL-2 gene by NF-kappa B needs c-Rel in human T cells ."
    ours, theirs = load(target)(text), load("genia")(text)
    assert ours.mentions == theirs.mentions and len(ours.mentions) > 1
    before = Config.of_model(PRETRAINED / "genia")
    assert config.model.temperature == pytest.approx(before.model.temperature, rel=0.1)
    assert config.calibration.biases == before.calibration.biases
    same = (PRETRAINED / "genia" / "model.safetensors").read_bytes()
    assert (target / "model.safetensors").read_bytes() == same


def test_compact_without_some_labels_says_so_and_has_no_figures(tmp_path: Path) -> None:
    made = hyperspan("model", "compact", "-m", "english", "-o", str(tmp_path / "some"), "--drop", "plant,animal")
    assert made.returncode == 0, made.stderr
    card, whole = ModelCard.read(tmp_path / "some"), ModelCard.read(PRETRAINED / "english")
    assert card.figures == Figures() and "plant" not in card.labels and card.domain == whole.domain
    assert card.description.endswith("the model english without animal, plant.")
    readme = (tmp_path / "some" / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("This is the model english without the labels animal, plant.")
    assert readme.endswith((PRETRAINED / "english" / "README.md").read_text(encoding="utf-8"))
