"""The runtime against torch: the same models, the same distributions."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from hyperspan import kernels, load
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.nn import load_model, new_model, save_model
from hyperspan.nn.recognizer import Recognizer
from hyperspan.runtime.batches import packed_order
from hyperspan.runtime.folders import PRETRAINED, bundled_models
from hyperspan.runtime.model import ArrayModel, obstacle
from hyperspan.structures import SegmentalHypergraph
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Mention, Sentence

WORDS = ["The", "the", "IL-2", "promoter", "Σίσυφος", "a", "été", "x" * 60, "🧬", "NF-kappa", "B", "\u00a0"]


def sentence_of(indices: list[int], tags: bool = True) -> Sentence:
    tokens = [WORDS[index % len(WORDS)] + str(index // len(WORDS) or "") for index in indices]
    mentions = [Mention(0, len(tokens), "DNA"), Mention(0, 1, "RNA")] if tokens else []
    return Sentence(tokens, mentions=mentions, tags=[f"T{index % 3}" for index in indices] if tags else ())


def runtime_of(folder: Path, **options: float | str) -> ArrayModel:
    config = Config.of_model(folder)
    assert not obstacle(config)
    return ArrayModel.from_folder(folder, config, Vocabulary.load(folder), **options)  # type: ignore[arg-type]


def check_equal(runtime: ArrayModel, model: Recognizer, sentences: list[Sentence], tolerance: float = 1e-5) -> None:
    with torch.inference_mode(), kernels.reference():
        expected = model.distribution(sentences)
        marginals, log_partition = expected.marginals.numpy(), expected.log_partition.numpy()
    found = runtime.distribution(sentences)
    assert found.lengths == expected.lengths
    assert found.marginals == pytest.approx(marginals, abs=tolerance)
    assert found.log_partition == pytest.approx(log_partition, rel=1e-4, abs=1e-3)


@pytest.mark.parametrize(
    "changes",
    [
        ["characters.encoder=cnn", "characters.hidden=5"],
        ["characters.encoder=lstm", "characters.hidden=7", "words.dimension=0"],
        ["characters.encoder=none", "words.tag_dimension=4", "model.tied=false"],
        ["characters.encoder=cnn", "characters.hidden=70", "encoder.layers=1", "words.lowercase=false"],
        ["segmental.interactions=false", "model.max_width=3", "model.mention_bias=0.7", "model.temperature=1.3"],
        ["model.mention_bias=2", "calibration.temperatures={DNA = 1.7}", "calibration.biases={DNA = -0.5, RNA = -2}"],
        ["model.tied=false", "calibration.biases={RNA = -1, DNA = -0.3}"],
    ],
    ids=lambda changes: " ".join(changes),
)
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.lists(st.integers(0, 30), max_size=9), min_size=1, max_size=5),
    tags=st.booleans(),
    half=st.booleans(),
    seed=st.integers(0, 99),
)
def test_runtime_equals_torch(
    changes: list[str], rows: list[list[int]], tags: bool, half: bool, seed: int, tmp_path: Path
) -> None:
    sizes = ["encoder.hidden=9", "encoder.span_hidden=5", "words.dimension=6", f"training.seed={seed}"]
    config = Config().override([*sizes, *changes])
    model = new_model(config, [sentence_of(list(range(20)))])
    save_model(model, tmp_path, half=half)
    loaded = load_model(tmp_path)
    assert isinstance(loaded, Recognizer)
    check_equal(runtime_of(tmp_path), loaded, [sentence_of(row, tags) for row in rows])


@pytest.mark.parametrize("temperature", [1.0, 1.6])
@pytest.mark.parametrize(
    "pairs", [("parameters", "none"), ("none", "parameters"), ("parameters", "parameters")], ids=str
)
def test_joint_types_run_without_torch_and_equal_it(pairs: tuple[str, str], temperature: float, tmp_path: Path) -> None:
    sizes = ["encoder.hidden=9", "encoder.span_hidden=5", "words.dimension=6", "model.kind=joint"]
    own = [f"joint.together={pairs[0]}", f"joint.within={pairs[1]}", f"model.temperature={temperature}"]
    sentences = [sentence_of([1, 2, 3]), sentence_of([]), sentence_of([5])]
    model = new_model(Config().override([*sizes, *own, "model.mention_bias=2"]), [sentence_of(list(range(20)))])
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in ("scorer.together.bias", "scorer.within.bias"):
                parameter.uniform_(-2, 2)
    save_model(model, tmp_path)
    loaded = load_model(tmp_path)
    assert isinstance(loaded, Recognizer)
    check_equal(runtime_of(tmp_path), loaded, sentences)
    with torch.inference_mode(), kernels.reference():
        found = loaded.distribution(sentences).log_partition
    assert found.numpy() == pytest.approx(runtime_of(tmp_path).distribution(sentences).log_partition, abs=1e-4)
    assert load(tmp_path)("The IL-2 promoter", top_k=2, candidates=0.1).alternatives


@pytest.mark.parametrize("name", bundled_models())
def test_bundled_models_run_without_torch_and_equal_it(name: str) -> None:
    annotator = load(name)
    assert isinstance(annotator.model, ArrayModel)
    with kernels.reference():
        reference = load(name)
    assert isinstance(reference.model, Recognizer)
    assert annotator.model.parameter_count == reference.model.parameter_count
    texts = [
        "c-Rel binds the IL-2 promoter in Jurkat T cells.",
        "The old woman of the inn met the doctor's son.",
        "x",
        "",
    ]
    for text in texts:
        found, wanted = annotator(text, top_k=3, candidates=0.05), reference(text, top_k=3, candidates=0.05)
        assert found.mentions == wanted.mentions and found.candidates == wanted.candidates
        for one, other in zip(found.alternatives or (), wanted.alternatives or (), strict=True):
            assert [ranked.mentions for ranked in one.sets] == [ranked.mentions for ranked in other.sets]
            assert [r.probability for r in one.sets] == pytest.approx([r.probability for r in other.sets], abs=1e-5)
        for ours, theirs in zip(sorted(found.candidates or ()), sorted(wanted.candidates or ()), strict=True):
            assert ours.probability == pytest.approx(theirs.probability, abs=1e-5)


def test_runtime_does_not_depend_on_what_was_seen_before() -> None:
    fresh = runtime_of(PRETRAINED / "genia")
    used = runtime_of(PRETRAINED / "genia", remembered_bytes=8 * 4096)  # eight tokens
    for first in range(0, 40, 4):
        used.distribution([sentence_of(list(range(first, first + 5)))])
    sentences = [sentence_of([1, 2, 3, 2]), sentence_of([]), sentence_of([30, 5, 7])]
    assert used.distribution(sentences).marginals == pytest.approx(fresh.distribution(sentences).marginals, abs=1e-6)


def test_runtime_keeps_no_long_tokens() -> None:
    runtime = runtime_of(PRETRAINED / "genia")
    tokens = ["IL-2", "y" * 50, "y" * 49]
    wanted = runtime.distribution([Sentence(tokens)]).marginals
    [gates] = runtime._gates.values()
    assert list(gates._known) == ["IL-2"]
    assert (runtime.distribution([Sentence(tokens)]).marginals == wanted).all()


def test_runtime_works_in_children_that_are_forked_while_it_computes() -> None:
    program = """
import os, signal, threading, time
from hyperspan import load
annotator, done = load("genia"), False
def work():
    number = 0
    while not done:
        number += 1
        annotator(" ".join(f"w{number}x{i}" for i in range(200)))
thread = threading.Thread(target=work)
thread.start()
for _ in range(12):
    time.sleep(0.01)
    child = os.fork()
    if not child:
        signal.alarm(60)  # no child that waits forever outlives this test
        os._exit(0 if annotator("IL-2 promoter binds").mentions else 1)
    assert os.waitpid(child, 0)[1] == 0
done = True
thread.join()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=120)


def test_annotating_imports_nothing() -> None:
    """If a thread imports a module during a fork, Python leaves the module locked in the child, which would wait
    forever when it annotates."""
    program = """
import sys
from hyperspan import load
annotator, before = load("genia"), set(sys.modules)
for text in ("IL-2 promoter binds", "", "IL-2 binds. It binds again. " * 20, "x" * 2000):
    for options in ({}, {"threshold": 0.3}, {"top_k": 3, "candidates": 0.05}, {"types": ["DNA"], "pronouns": False}):
        annotator(text, **options)
print(*sorted(sys.modules.keys() - before))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "\n"


def test_runtime_survives_a_file_that_is_cut_short_under_it(tmp_path: Path) -> None:
    shutil.copytree(PRETRAINED / "genia", tmp_path / "model")
    annotator = load(tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").write_bytes(b"")
    assert annotator("The IL-2 promoter binds a newcomer.").mentions


@pytest.mark.parametrize("name", ["model.safetensors", "words.txt", "vocabulary.json"])
def test_load_refuses_pipes_in_a_folder(name: str, tmp_path: Path) -> None:
    shutil.copytree(PRETRAINED / "genia", tmp_path / "model")
    (tmp_path / "model" / name).unlink()
    os.mkfifo(tmp_path / "model" / name)
    for loaded in (load, load_model):
        with pytest.raises(InputError, match="no regular file"):
            loaded(tmp_path / "model")


@pytest.mark.parametrize("name", ["encoder.spans.bias", "encoder.words.fixed_scale"])
def test_load_refuses_whole_numbers_where_there_are_no_factors(name: str, tmp_path: Path) -> None:
    shutil.copytree(PRETRAINED / "genia", tmp_path / "model")
    path = tmp_path / "model" / "model.safetensors"
    tensors = load_file(path)
    save_file({**tensors, name: tensors[name].to(torch.int8)}, path)
    with pytest.raises(InputError, match=f"{name} is of the type I8"):
        load(tmp_path / "model")


def test_skipping_counts_the_mention_bias() -> None:
    """A bias makes mentions more probable, so that the margin must grow by it."""
    config = Config.of_model(PRETRAINED / "genia")
    config = replace(config, model=replace(config.model, mention_bias=3.0))
    vocabulary = Vocabulary.load(PRETRAINED / "genia")
    sentences = [sentence_of([2, 3, 0, 9, 10])]
    skipping, plain = (
        ArrayModel.from_folder(PRETRAINED / "genia", config, vocabulary, skip=skip).distribution(sentences).marginals
        for skip in (2.5, math.inf)
    )
    assert plain[skipping == 0].max() < 0.5


def test_runtime_says_where_its_kernels_are_not_allowed() -> None:
    annotator = load("genia")
    with kernels.reference(), pytest.raises(InputError, match="load it again where you force the reference"):
        annotator("IL-2 promoter")


def test_runtime_skips_words_where_no_mention_is_likely_to_start() -> None:
    folder = PRETRAINED / "genia"
    sentences = [sentence_of([2, 3, 0, 9, 10])]
    whole = runtime_of(folder).distribution(sentences)
    assert isinstance(whole, SegmentalHypergraph)
    scores = whole.scores
    skipped = (scores.absent - scores.present > 1.0).all(2)
    assert skipped.any() and not skipped.all()
    expected = SegmentalHypergraph(replace(scores, present=np.where(skipped[..., None], -np.inf, scores.present)), [5])
    assert runtime_of(folder, skip=1.0).distribution(sentences).marginals == pytest.approx(expected.marginals, abs=1e-5)
    with pytest.raises(InputError, match="skip is nan"):
        runtime_of(folder, skip=math.nan)


def test_the_margin_of_a_model_is_not_used_where_improbable_mentions_are_asked_for() -> None:
    text = "However we did not see that it binds the IL-2 promoter."
    quick, exact = load("genia"), load("genia", skip=math.inf)
    assert quick.model.config.segmental.skip_margin > 0
    sentences = [Sentence(text[:-1].split())]
    opens = [
        getattr(quick.model, name)(sentences).scores.present[0, 0] for name in ("distribution", "quick_distribution")
    ]
    assert np.isfinite(opens[0]).all() and np.isneginf(opens[1]).all()
    asked: dict[str, Any]
    for asked in ({}, {"threshold": 0.1}, {"threshold": 1e-4}, {"candidates": 1e-4}, {"top_k": 9}):
        found, expected = quick(text, **asked), exact(text, **asked)
        assert found == expected and found.mentions
    skipped = Mention(0, 7, "protein")
    assert skipped in quick(text, require=[skipped]).mentions
    assert any(one.start == 0 for one in quick(text, threshold=1e-6).mentions)


def test_runtime_saves_what_it_read(tmp_path: Path) -> None:
    runtime = runtime_of(PRETRAINED / "litbank")
    runtime.save(tmp_path / "copy")
    for name in ("model.safetensors", "words.txt"):
        assert (tmp_path / "copy" / name).read_bytes() == (PRETRAINED / "litbank" / name).read_bytes()
    sentences = [sentence_of([1, 2, 3])]
    again = runtime_of(tmp_path / "copy").distribution(sentences).marginals
    assert (again == runtime.distribution(sentences).marginals).all()


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_packed_order_is_that_of_packed_sequences(lengths: list[int]) -> None:
    first = np.concatenate([[0], np.cumsum(lengths)])
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    wanted = [first[s] + at for at in range(max(lengths)) for s in order if lengths[s] > at]
    assert packed_order(lengths).tolist() == wanted
