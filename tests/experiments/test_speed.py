"""Measuring speed: what is measured, with what, and what is reported. No test looks at a clock: these look at what is
run."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import typer

from experiments.speed import batches, gpu, train
from experiments.speed import bulk_gpu as bulk
from experiments.speed.bulk_gpu import BulkRun, given_lines, measure, write_texts
from experiments.speed.bundled import WORDS, corpus_files, run, sample, scores, start, table
from experiments.speed.invented import BenchmarkCorpus, genia_length, invented_sentences
from experiments.speed.paper_model import necessary_operations, paper_model
from experiments.speed_ratio import MODELS, WHAT, in_turns, material, texts
from experiments.speed_ratio import main as compare_checkouts
from experiments.speed_ratio import measure as measure_checkout
from hyperspan.errors import InputError
from hyperspan.runtime.loading import load
from tests.support.process import call

ROOT = Path(__file__).parents[2]

# -- sentences, operations and bytes -----------------------------------------------------------------------------------


def test_invented_sentences_are_as_long_as_those_of_genia() -> None:
    lengths = [len(sentence) for sentence in invented_sentences()]
    assert len(lengths) == 1_854 and min(lengths) >= 4 and max(lengths) <= 148
    assert 29 < sum(lengths) / len(lengths) < 32
    assert genia_length(50) == 28


@pytest.mark.parametrize("max_width", ["2", "n"])
def test_operations_are_those_of_every_product(max_width: str) -> None:
    model = paper_model(max_width, invented_sentences(5))
    recurrent, span = 128 * 512, 128 * 512
    words, spans = 3, 3 + 2 + (max_width == "n")
    products = words * 132 * 1024 + (words - 1) * 2 * recurrent  # the word LSTM, both directions
    products += words * 256 * 1024 + (spans - words) * 2 * span
    products += words * 256 * 10 + spans * 256 * 15
    assert necessary_operations(model, [3]) == 2 * products
    assert necessary_operations(model, [0, 3, 0]) == 2 * products


def test_batches_of_all_sizes_up_to_all_rows_are_measured() -> None:
    figures = batches.run("genia", rounds=1, abstracts=2)
    assert [*figures["words a second by rows of sentences"]] == ["1", "4", "16"]
    assert [*figures["words a second by rows of abstracts"]] == ["1"]


@pytest.mark.parametrize(("max_width", "spans"), [("2", 3 + 5), ("n", 3 + 6)])
def test_necessary_bytes_are_those_of_states_and_cells(max_width: str, spans: int) -> None:
    model = paper_model(max_width, invented_sentences(5))
    assert gpu.necessary_bytes(model, [2, 3]) == spans * 2 * 128 * 4 * 2 * 2


# -- the paper's model -------------------------------------------------------------------------------------------------


def check_widths(figures: dict[str, Any]) -> None:
    assert [entry["c"] for entry in figures["widths"]] == ["6", "n"]
    assert all(entry["words_per_second"] > 0 and entry["fraction_of_ceiling"] > 0 for entry in figures["widths"])


@pytest.mark.slow
def test_train_measures_each_width() -> None:
    figures = train.measure(BenchmarkCorpus(invented_sentences(20), "invented"), rounds=1)
    check_widths(figures)
    assert figures["words"] > 0 and figures["long sentence, c = n"]["words"] == train.LONGEST


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_gpu_measure_needs_a_gpu() -> None:
    with pytest.raises(InputError, match="finds no NVIDIA GPU here; leave --device out"):
        gpu.measure("decode", BenchmarkCorpus([], "none"), rounds=1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")  # of torch, whatever is profiled
@pytest.mark.parametrize("what", ["decode", "train"])
def test_gpu_measures_each_width(what: str) -> None:
    figures = gpu.measure(what, BenchmarkCorpus(invented_sentences(60), "invented"), rounds=1)
    check_widths(figures)
    assert all(entry["limit"] for entry in figures["widths"])


# -- bundled models and bulk jobs --------------------------------------------------------------------------------------

FOUR_LINES = "IL-2 binds\nNN VB\n0,1 protein\n\nThe IL-2 promoter .\nDT NN NN .\n1,2 protein|1,3 DNA\n\n"


def test_corpus_files_are_the_parts_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "genia").mkdir()
    assert corpus_files(tmp_path, "genia") == {}
    (tmp_path / "genia/dev.data").write_text(FOUR_LINES)
    (tmp_path / "genia/test.jsonl.gz").write_bytes(b"")
    (tmp_path / "genia/test.ids").write_text("1\n")
    assert {part: path.name for part, path in corpus_files(tmp_path, "genia").items()} == {
        "dev": "dev.data",
        "test": "test.jsonl.gz",
    }
    (tmp_path / "genia").rename(tmp_path / "gum")
    assert corpus_files(tmp_path, "english").keys() == {"dev", "test"}, "which has the name of its language"


def test_sample_is_running_text_of_the_corpus_or_invented(tmp_path: Path) -> None:
    (tmp_path / "test.data").write_text(FOUR_LINES)
    sentences, texts = sample({"test": tmp_path / "test.data"}, words=100)
    assert [len(sentence) for sentence in sentences] == [2, 4]
    assert " ".join(texts) == "IL-2 binds The IL-2 promoter."
    sentences, texts = sample({}, WORDS)
    assert len(sentences) > 1_000 and WORDS <= sum(len(text.split()) for text in texts) < WORDS + 1_500


def test_scores_are_those_of_evaluate(tmp_path: Path) -> None:
    assert scores(load("genia"), {}) is None
    (tmp_path / "dev.data").write_text(FOUR_LINES)
    found = scores(load("genia"), {"dev": tmp_path / "dev.data"})
    assert found is not None and 0 < found["dev"] <= 1


def test_start_is_measured_beside_the_version() -> None:
    found = start("litbank", starts=1)
    assert found["start_over_version"] == pytest.approx(found["start_seconds"] / found["version_seconds"])
    assert found["peak_mb"] is None or found["peak_mb"] > 20


def test_a_model_that_is_not_bundled_is_named() -> None:
    with pytest.raises(InputError, match="there is no bundled model 'nonsense'; choose from craft, english, genia"):
        run(models=["nonsense"])


@pytest.mark.slow
def test_run_gives_the_figures_of_the_contract(tmp_path: Path) -> None:
    figures = run(models=["genia"], data_dir=tmp_path, rounds=1, starts=1)
    [found] = figures["models"].values()
    assert {"words_per_second", "ratio_to_spancat", "f1", "start_seconds", "start_over_version", "peak_mb"} <= {*found}
    assert json.loads(json.dumps(figures)) == figures
    assert any(line.startswith("words a second") for line in table(figures))


def test_texts_are_given_or_invented(tmp_path: Path) -> None:
    with lzma.open(tmp_path / "given.xz", "wt") as file:
        file.write("IL-2 binds.\n\n" * 20)
    [file] = write_texts(tmp_path, tmp_path / "given.xz", 30)
    assert Path(file).read_text().splitlines() == ["IL-2 binds. " * 7 + "IL-2 binds."] * 2
    [file] = write_texts(tmp_path, None, 1_000)
    assert 1_000 <= len(Path(file).read_text().split()) < 1_500
    with pytest.raises(InputError, match=r"none\.txt cannot be read"):
        list(given_lines(tmp_path / "none.txt"))


def test_a_run_is_measured_and_compared(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("IL-2 promoter activity in Jurkat T cells.\nNothing.\n" * 50)
    run = BulkRun([str(tmp_path / "texts.txt")], str(tmp_path / "out"), "genia", "cpu", 1, 0.5, 60.0)
    figures = measure(run)
    assert figures["words"] == 600 and figures["words_per_second"] >= 0 and not figures["stopped"]
    assert figures["gpu_busy"] is None or figures["gpu_busy"] >= 0
    json.dumps(figures)
    compared = bulk.compare(run, 5)
    assert compared["mentions_of_both"] >= 2 and not compared["only_of_the_job"] + compared["only_on_the_cpu"]


# -- two checkouts in turns --------------------------------------------------------------------------------------------


def test_speed_ratio_measures_both_checkouts(tmp_path: Path) -> None:
    material(tmp_path, words=200, training_sentences=8)
    found = in_turns([ROOT, ROOT], 1, ["one sentence"], tmp_path)
    [(one, other)] = found["one sentence"]
    assert one["units"] == other["units"] >= 10
    assert all(values[clock] > 0 for values in (one, other) for clock in ("wall", "cpu"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [f"annotate with {MODELS[1]}", "bulk", "training, c = 6"])
def test_speed_ratio_counts_the_words_of_both_checkouts_alike(name: str, tmp_path: Path) -> None:
    material(tmp_path, words=200, training_sentences=8)
    assert measure_checkout(ROOT, WHAT[name], tmp_path)["units"] > 100


def test_speed_ratio_refuses_a_folder_that_is_no_checkout(tmp_path: Path) -> None:
    def ratio(arguments: tuple[str, ...]) -> None:
        sys.argv = ["experiments.speed_ratio", *arguments]
        typer.run(compare_checkouts)

    done = call(str(tmp_path), main=ratio)
    assert done.returncode == 2 and "src/hyperspan" in done.stderr


def test_speed_child_refuses_the_code_of_another_checkout(tmp_path: Path) -> None:
    child = [sys.executable, str(ROOT / "experiments" / "speed_child.py"), str(tmp_path), "start", "genia"]
    done = subprocess.run(child, capture_output=True, text=True, check=False)
    assert done.returncode and "not from" in done.stderr


def test_texts_have_about_so_many_words() -> None:
    given = texts(3_000)
    assert 3_000 <= sum(len(text.split()) for text in given) < 4_500
    assert json.dumps(given) == json.dumps(texts(3_000))
