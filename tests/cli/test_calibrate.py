"""`hyperspan calibrate` as a user drives it."""

from __future__ import annotations

import json
from pathlib import Path

from hyperspan import load
from hyperspan.config import Config
from hyperspan.model_folders import PRETRAINED
from tests.cli.process import hyperspan

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
    for refused, reason in (
        (("genia", str(dev)), "genia is a bundled model"),
        (("litbank", str(dev), "-o", str(target)), "has no mention of FAC"),
    ):
        answer = hyperspan("calibrate", *refused)
        assert answer.returncode == 2 and reason in answer.stderr and "Traceback" not in answer.stderr
    made = hyperspan("calibrate", "genia", str(dev), "--output", str(target), "--format", "json")
    assert made.returncode == 0, made.stderr
    found = json.loads(made.stdout)
    assert found["predicted_mentions"]["calibrated_held_out"]["count"] > 0
    config = Config.of_model(target)
    assert config.calibration.temperatures == found["temperatures"] and set(found["biases"]) == set(
        load("genia").labels
    )
    again = hyperspan("calibrate", "genia", str(dev), "--output", str(target))
    unforced = hyperspan("calibrate", str(target), str(dev))
    assert again.returncode == unforced.returncode == 2 and "--force" in again.stderr and "--force" in unforced.stderr
    text = "Activation of the IL-2 gene by NF-kappa B needs c-Rel in human T cells ."
    ours, theirs = load(target)(text), load("genia")(text)
    assert ours.mentions == theirs.mentions and len(ours.mentions) > 1
    same = (PRETRAINED / "genia" / "model.safetensors").read_bytes()
    assert (target / "model.safetensors").read_bytes() == same
