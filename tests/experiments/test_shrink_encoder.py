"""experiments/shrink_encoder.py: an encoder without the subwords that texts do not need."""

from __future__ import annotations

from pathlib import Path

import torch

from experiments.shrink_encoder import shrink
from hyperspan.config import TransformerConfig
from hyperspan.nn.hub import read_pretrained
from hyperspan.nn.subwords import SubwordTokenizer


def test_shrink_encoder_keeps_the_subwords_of_texts_and_their_vectors(tiny_encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "often.txt").write_text("harbour of of the", encoding="utf-8")
    keep = ["1=src/hyperspan/corpora/examples/harbour.data", f"2={tmp_path / 'often.txt'}"]
    words = [
        line.split() for line in Path("src/hyperspan/corpora/examples/harbour.data").read_text("utf-8").split("\n")[::4]
    ][3]
    shrink(tiny_encoder, tmp_path / "small", keep)
    sizes, vectors = [], []
    for folder in (str(tiny_encoder), str(tmp_path / "small")):
        description, encoder = read_pretrained(folder)
        subwords = SubwordTokenizer(TransformerConfig(folder), description)
        ids = [*subwords.prefix, *(subword for word in words for subword in subwords.encode(word)), *subwords.suffix]
        with torch.no_grad():
            vectors.append(encoder.eval()(input_ids=torch.tensor([ids])).last_hidden_state)
        sizes.append(description["config"]["vocab_size"])
    assert sizes[1] < sizes[0] and torch.allclose(*vectors, atol=0.02)
