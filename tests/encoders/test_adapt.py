"""examples/adapt.py as a user drives it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from hyperspan.encoders.hub import read_pretrained


def adapt(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "examples/adapt.py", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_encoder_learns_to_guess_words_and_is_one_still(tiny_encoder: Path, tmp_path: Path) -> None:
    few = ["--length", 24, "--batch", 4, "--rate", 0.01]
    done = adapt(tiny_encoder, "examples/harbour.data", "-o", tmp_path / "adapted", "--epochs", 20, *few)
    assert done.returncode == 0, done.stderr
    found = re.search(r"loss ([\d.]+) in the first tenth of the steps, ([\d.]+) in the last", done.stdout)
    assert found is not None and float(found[2]) < 0.8 * float(found[1])
    before, after = (
        dict(read_pretrained(str(folder))[1].named_parameters()) for folder in (tiny_encoder, tmp_path / "adapted")
    )
    changed = [name for name in after if not after[name].equal(before[name])]
    assert any("layer.0" in name for name in changed) and any("word_embeddings" in name for name in changed)

    again = adapt(tiny_encoder, "examples/harbour.data", "-o", tmp_path / "adapted")
    assert again.returncode == 1 and again.stderr.endswith("adapted exists already; name another folder\n")
