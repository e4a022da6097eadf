"""examples/adapt.py as a user drives it."""

from __future__ import annotations

import re
import runpy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hyperspan.encoders.hub import read_pretrained


@pytest.fixture
def adapt(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Runs the example in this process: Python with all that is imported takes longer to start than to train."""

    def run(*arguments: object) -> None:
        monkeypatch.setattr(sys, "argv", ["adapt.py", *map(str, arguments)])
        runpy.run_path("examples/adapt.py", run_name="__main__")

    return run


def test_adapt_lowers_the_loss_and_writes_an_encoder(
    adapt: Callable[..., None], tiny_encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["--length", 24, "--batch", 4, "--learning-rate", 0.01]
    adapt(tiny_encoder, "examples/harbour.data", "-o", tmp_path / "adapted", "--epochs", 10, *few)
    found = re.search(r"loss ([\d.]+) in the first tenth of the steps, ([\d.]+) in the last", capsys.readouterr().out)
    assert found is not None and float(found[2]) < 0.8 * float(found[1])
    before, after = (
        dict(read_pretrained(str(folder))[1].named_parameters()) for folder in (tiny_encoder, tmp_path / "adapted")
    )
    changed = [name for name in after if not after[name].equal(before[name])]
    assert any("layer.0" in name for name in changed) and any("word_embeddings" in name for name in changed)

    assert [path.name for path in tmp_path.iterdir()] == ["adapted"]


def test_adapt_reports_mistakes_in_one_sentence(adapt: Callable[..., None], tiny_encoder: Path, tmp_path: Path) -> None:
    texts = tmp_path / "made.txt"
    texts.write_text("The old harbour of Lindau sleeps. " * 50, encoding="utf-8")
    broken = shutil.copytree(tiny_encoder, tmp_path / "broken")
    (broken / "tokenizer.json").unlink()
    for arguments, sentence in (
        ([broken, texts], "a folder without a tokenizer"),
        ([tmp_path / "nowhere", texts], "there is no such folder"),
        ([tiny_encoder, "nowhere.txt"], "nowhere.txt cannot be read as text"),
        ([tiny_encoder, "nowhere.data"], "nowhere.data"),
        ([tiny_encoder, texts], "but a batch has"),
        ([tiny_encoder, texts, "--length", 100], "reads from 4 to 48 subwords at once"),
        ([tiny_encoder, texts, "--epochs", 0], "--epochs is 0; give at least 1"),
        ([tiny_encoder, texts, "--device", "abacus"], "the device 'abacus' cannot be used here"),
        ([tiny_encoder, texts, "-o", tmp_path / "nowhere/out"], "is not a folder; create it first"),
        ([tiny_encoder, texts, "-o", texts], "exists already; name another folder"),
    ):
        length = [] if "--length" in arguments else ["--length", 20]
        output = [] if "-o" in arguments else ["-o", tmp_path / "out"]
        with pytest.raises(SystemExit) as raised:
            adapt(*arguments, *length, *output)
        assert sentence in str(raised.value.code) and "\n" not in str(raised.value.code)
    assert not (tmp_path / "out").exists() and not list(tmp_path.glob(".adapt*"))
    adapt(tiny_encoder, texts, "-o", tmp_path / "out", "--length", 20, "--batch", 2, "--epochs", 1)
    assert (tmp_path / "out" / "model.safetensors").stat().st_mode & 0o444 == 0o444
