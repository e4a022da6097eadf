"""A model whose mentions depend on each other: the runtime against the recognizer."""

from __future__ import annotations

import shutil
from importlib.resources import as_file, files
from pathlib import Path

import pytest

import hyperspan
from hyperspan.models import load_model
from hyperspan.runtime.model import RuntimeModel
from hyperspan.structures import CoupledHypergraph
from hyperspan.structures.coupled_arrays import CoupledArrayHypergraph
from hyperspan.types import Sentence

COUPLING = """
[coupling]
both = {span = -4.7, end_same = -2.0, start_same = -0.5, crossing_same = -3.2}
balance = {span = 1.6, end_same = 1.7, start_same = -1.5, crossing_same = 0.1}
mention = 0.2
"""


def test_runtime_couples_mentions_as_the_recognizer_does(tmp_path: Path) -> None:
    with as_file(files("hyperspan") / "pretrained" / "genia") as bundled:
        folder = Path(shutil.copytree(bundled, tmp_path / "coupled"))
    config = folder / "config.toml"
    config.write_text(config.read_text(encoding="utf-8") + COUPLING, encoding="utf-8")
    words = "We asked whether c-Rel mRNA rises in activated CD4+ T cells but not in B cell lines .".split()
    sentences = [Sentence(words), Sentence(["IL-2", "promoter"])]
    model = hyperspan.load(folder).model
    assert isinstance(model, RuntimeModel)
    found, expected = model.distribution(sentences), load_model(folder).distribution(sentences)
    assert isinstance(found, CoupledArrayHypergraph) and isinstance(expected, CoupledHypergraph) and found.factors
    assert found.marginals == pytest.approx(expected.marginals.numpy(force=True), abs=1e-5)
    assert found.argmax() == expected.argmax()
    for ours, theirs in zip(found.topk(5), expected.topk(5), strict=True):
        assert [some for some, _ in ours] == [some for some, _ in theirs]
        assert [value for _, value in ours] == pytest.approx([value for _, value in theirs], abs=1e-4)
    empty = model.distribution([Sentence([])])
    assert isinstance(empty, CoupledArrayHypergraph) and empty.argmax() == [frozenset()]
