"""The benchmark of GPUs says what it measured, and what is missing where there is none."""

from __future__ import annotations

import pytest
import torch

from hyperspan.benchmarks import gpu
from hyperspan.benchmarks.invented import invented_sentences, paper_model
from hyperspan.errors import InputError


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_there_is_nothing_to_measure() -> None:
    with pytest.raises(InputError, match="finds no NVIDIA GPU here; leave --device out"):
        gpu.measure("decode", None, rounds=1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("what", ["decode", "train"])
def test_each_width_is_measured(what: str) -> None:
    figures = gpu.measure(what, invented_sentences(60), rounds=1)
    assert [entry["c"] for entry in figures["widths"]] == ["6", "n"]
    assert all(entry["words_per_second"] > 0 and entry["fraction_of_ceiling"] > 0 for entry in figures["widths"])
    assert "limit: " in "\n".join(gpu.report(figures))


@pytest.mark.parametrize(("max_width", "spans"), [("2", 3 + 5), ("n", 3 + 6)])
def test_bytes_are_those_of_states_and_cells(max_width: str, spans: int) -> None:
    model = paper_model(max_width, invented_sentences(5))
    assert gpu.necessary_bytes(model, [2, 3]) == spans * 2 * 128 * 4 * 2 * 2


def test_every_size_of_batch_has_its_line() -> None:
    entry = {
        "words_per_second": 2e5, "fraction_of_ceiling": 0.01, "fraction_of_memory": 0.02, "gpu_busy": 0.3,
        "milliseconds_a_batch": 20.0, "launches_a_batch": 170.0, "limit": "launches",
    }  # fmt: skip
    sizes = [{"sentences_a_batch": size, **entry} for size in gpu.TRAINING_BATCHES]
    figures = {
        "machine": "a GPU", "sentences": "given", "words": 1_000, "ceiling_operations_per_second": 4e14,
        "memory_bytes_per_second": 4e12, "widths": [{"c": "n", **sizes[0], "by_size": sizes}], "peak GPU memory, MB": 7,
    }  # fmt: skip
    lines = list(gpu.report(figures))
    assert lines[2].startswith(
        "c = n, 32 sentences a batch: 200,000 words/s, 20.0 ms and 170 launches a batch; the GPU works 30%"
    )
    assert len(lines) == 2 + len(sizes) + 1
