"""Which implementation runs, how it is reported, and that everything obeys."""

from __future__ import annotations

import threading

import pytest
import torch

from hyperspan import kernels
from hyperspan.errors import InputError
from hyperspan.kernels import libraries
from hyperspan.kernels.choice import COMPUTATIONS, VARIABLE, batch_entries, choose
from hyperspan.plugins import MODELS
from hyperspan.runtime.annotator import Annotator
from hyperspan.serve.batcher import BatchJob
from hyperspan.serve.service import Service
from hyperspan.serve.settings import Settings
from hyperspan.types import Sentence
from tests.serve.running import until
from tests.support.models import watched_model

compiled = pytest.mark.skipif(not libraries.variants(), reason="the C kernels are not compiled")


@compiled
def test_choose_takes_the_compiled_kernels_on_a_cpu() -> None:
    assert {name: choose(name, "cpu") for name in COMPUTATIONS} == dict.fromkeys(COMPUTATIONS, "c") | {
        "layout": "reference"
    }
    assert choose("argmax", "cpu", unfit={"c"}) == "reference"


def test_reference_holds_within_alone_and_for_its_thread() -> None:
    before, other_thread = choose("argmax", "cpu"), []
    with kernels.reference():
        assert {choose(name, device) for name in COMPUTATIONS for device in ("cpu", "cuda")} == {"reference"}
        thread = threading.Thread(target=lambda: other_thread.append(choose("argmax", "cpu")))
        thread.start()
        thread.join()
    assert [before] == other_thread == [choose("argmax", "cpu")]


def test_reference_reaches_the_threads_of_a_server() -> None:
    seen: list[str] = []

    watched = Annotator(watched_model(lambda _: seen.append(choose("argmax", "cpu"))))
    service = Service(Settings(), {"small": watched})
    with kernels.reference():
        service.start()
    until(lambda: service.is_ready)
    assert service.batcher is not None
    annotator = service.models["small"].annotator
    job = BatchJob("small", annotator, [Sentence(("Ada", "left"))], annotator.options())
    service.batcher.submit(job).result(20)
    service.close()
    assert len(seen) > 1 and set(seen) == {"reference"}  # of the thread that loads, and of the one that computes


def test_only_falls_back_to_the_reference() -> None:
    with kernels.only("triton"):
        assert choose("word_lstm", "cpu") == "reference"
    with kernels.only("c"):  # without Triton
        assert choose("layout", "cuda") == "reference"
    said = "no implementation 'dense'; name one or more of c, triton, reference"
    with pytest.raises(InputError, match=said), kernels.only("dense"):
        pass


def test_the_environment_variable_forces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "reference")
    assert choose("argmax", "cpu") == "reference"
    assert kernels.report()["forced"] == ["reference"]
    with kernels.only("c"):  # what a program says counts for more
        assert choose("argmax", "cpu") == ("c" if libraries.compiled().library else "reference")
    monkeypatch.setenv(VARIABLE, "fast")
    with pytest.raises(InputError, match="HYPERSPAN_KERNELS is 'fast'; name one or more of"):
        choose("argmax", "cpu")


@compiled
def test_batches_are_larger_where_the_whole_encoder_runs() -> None:
    assert batch_entries("cpu") < batch_entries("cpu", fused=True)
    with kernels.reference():
        assert batch_entries("cpu") == batch_entries("cpu", fused=True)


def test_batch_entries_are_many_on_a_gpu_for_linear_memory_alone() -> None:
    assert batch_entries("cuda") == batch_entries("cpu") == batch_entries("cpu", linear_memory=True)
    assert batch_entries("cuda", linear_memory=True) > batch_entries("cpu", fused=True)
    kinds = ("segmental", "joint", "discontinuous", "semi-markov", "linear-chain")
    assert {kind for kind, entry in MODELS.items() if entry.abilities.large_batches} == set(kinds)


def test_report_says_of_every_implementation_why_it_does_not_run() -> None:
    found = kernels.report()["devices"]
    for name, choice in found["cpu"].items():
        assert {choice["runs"], *choice["others"]} == set(COMPUTATIONS[name])
        assert all(choice["others"].values())
    if not torch.cuda.is_available():
        assert "CUDA" in found["cuda"]["unavailable"] or "NVIDIA" in found["cuda"]["unavailable"]
    with kernels.reference():
        said = kernels.report()["devices"]["cpu"]["argmax"]
        assert said == {"runs": "reference", "others": {"c": "is not allowed"}}
