"""examples/adapt.py as a user drives it."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hyperspan.encoders.hub import read_pretrained


def adapt(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "examples/adapt.py", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_adapt_lowers_the_loss_and_writes_an_encoder(tiny_encoder: Path, tmp_path: Path) -> None:
    few = ["--length", 24, "--batch", 4, "--learning-rate", 0.01]
    done = adapt(tiny_encoder, "examples/harbour.data", "-o", tmp_path / "adapted", "--epochs", 20, *few)
    assert done.returncode == 0, done.stderr
    found = re.search(r"loss ([\d.]+) in the first tenth of the steps, ([\d.]+) in the last", done.stdout)
    assert found is not None and float(found[2]) < 0.8 * float(found[1])
    before, after = (
        dict(read_pretrained(str(folder))[1].named_parameters()) for folder in (tiny_encoder, tmp_path / "adapted")
    )
    changed = [name for name in after if not after[name].equal(before[name])]
    assert any("layer.0" in name for name in changed) and any("word_embeddings" in name for name in changed)

    assert [path.name for path in tmp_path.iterdir()] == ["adapted"]


def test_adapt_reports_mistakes_in_one_sentence(
    tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, since Python with all that is imported takes longer to start than to fail."""
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
        given = ["adapt.py", *map(str, arguments), "--length", "20"][: None if "--length" not in arguments else -2]
        if "-o" not in arguments:
            given += ["-o", str(tmp_path / "out")]
        monkeypatch.setattr(sys, "argv", given)
        with pytest.raises(SystemExit) as raised:
            runpy.run_path("examples/adapt.py", run_name="__main__")
        assert sentence in str(raised.value.code) and "\n" not in str(raised.value.code)
    assert not (tmp_path / "out").exists() and not list(tmp_path.glob(".adapt*"))
    monkeypatch.setattr(
        sys,
        "argv",
        [
            "adapt.py",
            str(tiny_encoder),
            str(texts),
            "-o",
            str(tmp_path / "out"),
            "--length",
            "20",
            "--batch",
            "2",
            "--epochs",
            "1",
        ],
    )
    runpy.run_path("examples/adapt.py", run_name="__main__")
    assert (tmp_path / "out" / "model.safetensors").stat().st_mode & 0o444 == 0o444
