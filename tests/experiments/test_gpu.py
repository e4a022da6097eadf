"""The benchmark of GPUs says what it measured, and what is missing where there is none."""

from __future__ import annotations

import pytest
import torch

from experiments.speed import gpu
from experiments.speed.invented import BenchmarkCorpus, invented_sentences
from experiments.speed.paper_model import paper_model
from hyperspan.errors import InputError


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_gpu_measure_needs_a_gpu() -> None:
    with pytest.raises(InputError, match="finds no NVIDIA GPU here; leave --device out"):
        gpu.measure("decode", BenchmarkCorpus([], "none"), rounds=1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")  # of torch, whatever is profiled
@pytest.mark.parametrize("what", ["decode", "train"])
def test_gpu_measures_each_width(what: str) -> None:
    figures = gpu.measure(what, BenchmarkCorpus(invented_sentences(60), "invented"), rounds=1)
    assert [entry["c"] for entry in figures["widths"]] == ["6", "n"]
    assert all(entry["words_per_second"] > 0 and entry["fraction_of_ceiling"] > 0 for entry in figures["widths"])
    assert all(entry["limit"] for entry in figures["widths"])


@pytest.mark.parametrize(("max_width", "spans"), [("2", 3 + 5), ("n", 3 + 6)])
def test_necessary_bytes_are_those_of_states_and_cells(max_width: str, spans: int) -> None:
    model = paper_model(max_width, invented_sentences(5))
    assert gpu.necessary_bytes(model, [2, 3]) == spans * 2 * 128 * 4 * 2 * 2
