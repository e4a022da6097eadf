"""Learning curves: `hyperspan curve` as a user drives it, parts of a corpus, and the power law through its scores."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan import Sentence
from hyperspan.config import Config
from hyperspan.errors import InputError, OutputExistsError
from hyperspan.nn import load_model
from hyperspan.training.curve import LearningCurve, Parts, check_sizes, default_sizes, learning_curve, read_runs
from hyperspan.training.data import read_sentences
from hyperspan.training.events import TrainingEvent, read_log
from hyperspan.training.forecast import fit, forecast
from hyperspan.training.run import train
from tests.support import runs
from tests.support.models import HARBOUR
from tests.support.process import PATIENCE, call

PLAIN = [
    *("words.vectors=", "words.dimension=8", "characters.encoder=none"),
    *("encoder.hidden=8", "encoder.span_hidden=8", "encoder.output_dropout=0", "training.start="),
    *("training.epochs=3", "training.patience=0", "training.eval_epochs=1", "training.learning_rate=0.02"),
    *("training.schedule=constant", "training.warmup_epochs=0", "training.lm_loss_weight=0", "training.ema_decay=0"),
    "training.weight_decay=0",
]
CONFIG = Config.from_toml(runs.CONFIG).override(PLAIN).settled()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "harbour.toml"
    file.write_text(CONFIG.to_toml(), encoding="utf-8")
    return file


def short(folder: Path, *overrides: str, **options: object) -> LearningCurve:
    given: dict[str, object] = {"sizes": [4, 8], "seeds": 1, **options}
    return learning_curve(CONFIG, folder, overrides=["training.epochs=1", *overrides], device="cpu", **given)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_killed_curve_goes_on_where_it_was(config: Path, tmp_path: Path) -> None:
    sizes = [6, 12, 17]
    epochs = ["training.epochs=6"]
    whole = learning_curve(CONFIG, tmp_path / "whole", sizes=sizes, seeds=1, overrides=epochs, device="cpu")
    killed = tmp_path / "killed"
    given = ["curve", config, "-o", killed, "--sizes", "6,12,17", "--seeds", "1", "--device", "cpu", "--set", *epochs]
    process = subprocess.Popen([sys.executable, "-m", "hyperspan", *map(str, given)], stderr=subprocess.DEVNULL)
    log = killed / "runs" / "12-seed-1" / "log.jsonl"
    while not (log.exists() and '"epoch": 2' in log.read_text(encoding="utf-8")):
        assert process.poll() is None, "it ended before it could be stopped"
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(PATIENCE)
    assert [run.size for run in read_runs(killed)] == [6]

    done = call(*map(str, given), "--keep")
    assert done.returncode == 0, done.stderr
    assert "6 sentences, seed 1" not in done.stderr and "12 sentences, seed 1 (1 of 2): dev F1" in done.stderr
    assert "(2 of 2)" in done.stderr and "F1 on dev by the size of the training corpus" in done.stdout
    assert [(run.size, run.f1) for run in read_runs(killed)] == [(run.size, run.f1) for run in whole.runs]
    assert len([event for event in read_log(log) if event["event"] == "epoch"]) == 6
    assert not (tmp_path / "whole" / "runs").exists()  # models go once they are scored
    written = json.loads((killed / "curve.json").read_text(encoding="utf-8"))
    assert [run["size"] for run in written["runs"]] == sizes
    assert (killed / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (killed / "curve.svg").read_text(encoding="utf-8")


def test_the_whole_corpus_gives_what_train_gives(tmp_path: Path) -> None:
    events: list[TrainingEvent] = []
    overrides = ["training.epochs=8"]
    every = len(read_sentences(HARBOUR))
    curve = short(tmp_path / "curve", *overrides, sizes=[9, every], listeners=[events.append])
    assert [run.sentences for run in curve.runs] == [9, every]
    whole = train(CONFIG, tmp_path / "whole", overrides=overrides, device="cpu")
    assert curve.runs[-1].f1 == whole.dev_f1
    assert whole.dev_f1 and whole.dev_f1 > curve.runs[0].f1
    assert [event.name for event in events if event.name.startswith("part")] == ["part", "part finished"] * 2


def test_text_is_cut_as_for_the_model_that_a_curve_starts_from(tmp_path: Path) -> None:
    train(CONFIG, tmp_path / "start", overrides=["training.epochs=1", "model.tokenizer=split"], device="cpu")
    file = tmp_path / "raw.jsonl"
    raw = {"text": "The IL-2-like gene.", "mentions": [{"start": 0, "end": 18, "label": "GENE"}]}
    file.write_text(f"{json.dumps(raw)}\n" * 2, encoding="utf-8")
    given = [f"data.train={file}", f"data.dev={file}", f"training.start={tmp_path / 'start'}"]
    curve = short(tmp_path / "curve", *given, sizes=[1, 2], keep=True)
    assert (
        load_model(tmp_path / "curve" / "runs" / "2-seed-1").config.model.tokenizer == "split" and len(curve.runs) == 2
    )


def test_a_curve_is_extended_by_sizes_and_seeds(tmp_path: Path) -> None:
    first = short(tmp_path)
    events: list[TrainingEvent] = []
    more = short(tmp_path, sizes=[4, 8, 12], seeds=2, listeners=[events.append])
    assert set(first.runs) < set(more.runs) and len(more.runs) == 6
    assert sum(event.name == "part" for event in events) == 4
    assert short(tmp_path).runs == first.runs
    assert {run.seed for run in short(tmp_path, "training.seed=2").runs} == {2}


def test_another_configuration_needs_another_folder_or_force(tmp_path: Path) -> None:
    folder = tmp_path / "curve"
    short(folder)
    with pytest.raises(OutputExistsError, match=r"holds a curve with another encoder\.hidden; .* --force"):
        short(folder, "encoder.hidden=9")
    short(folder, "training.micro_batch_size=2")  # which changes nothing
    assert len(short(folder, "encoder.hidden=9", sizes=[4, 9], force=True).runs) == len(read_runs(folder)) == 2
    (tmp_path / "letter.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "settings.json").write_text('{"corpora": {}}', encoding="utf-8")
    for force in (False, True):  # which deletes only what a curve has written
        with pytest.raises(OutputExistsError, match="holds other files"):
            short(tmp_path, force=force)


def test_a_part_from_which_nothing_can_be_learnt_scores_nothing(tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    empty = json.dumps({"text": "Nobody came.", "mentions": []})
    one = json.dumps({"text": "Ada left.", "mentions": [{"start": 0, "end": 3, "label": "PER"}]})
    file.write_text("\n".join([*[empty] * 11, one]), encoding="utf-8")
    curve = short(tmp_path / "out", f"data.train={file}", f"data.dev={file}", sizes=[1, 12])
    assert (curve.runs[0].mentions, curve.runs[0].f1, curve.runs[0].epochs) == (0, 0.0, 0)
    assert (curve.runs[1].mentions, curve.runs[1].epochs) == (1, 1)


def test_a_part_may_lack_a_label_that_its_corpus_declares(tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    people = [{"text": "Ada left.", "mentions": [{"start": 0, "end": 3, "label": "PER"}]}] * 11
    place = {"text": "Oslo slept.", "mentions": [{"start": 0, "end": 4, "label": "GPE"}]}
    file.write_text("\n".join(map(json.dumps, [*people, place])), encoding="utf-8")
    corpora = f'data.train=[{{path = "{file}", annotated = ["PER", "GPE"]}}]'
    curve = short(tmp_path / "out", corpora, f"data.dev={file}", sizes=[1, 12])
    assert [run.epochs for run in curve.runs] == [1, 1] and not curve.failed
    with pytest.raises(InputError, match="says that VEH is annotated, but no training corpus has such a mention"):
        short(tmp_path / "other", corpora.replace('"]', '", "VEH"]'), f"data.dev={file}", sizes=[1, 12])


def test_a_part_without_any_annotation_scores_nothing_for_a_student_too(tmp_path: Path) -> None:
    train(CONFIG, tmp_path / "teacher", overrides=["training.epochs=1"], device="cpu")
    file = tmp_path / "train.jsonl"
    blank = {"text": "Nobody came.", "mentions": [], "annotated": {"types": []}}
    one = {"text": "Ada left.", "mentions": [{"start": 0, "end": 3, "label": "PER"}]}
    file.write_text("\n".join(map(json.dumps, [*[blank] * 11, one])), encoding="utf-8")
    given = [f"data.train={file}", f"data.dev={file}", f"distillation.teacher={tmp_path / 'teacher'}"]
    curve = short(tmp_path / "out", *given, sizes=[1, 12])
    assert [run.epochs for run in curve.runs] == [0, 1] and curve.runs[0].f1 == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"overrides": ["data.dev="]}, "data.dev is empty, but all runs of a curve are scored on it"),
        ({"sizes": [5]}, "fewer than two sizes"),
        ({"seeds": 0}, "at least one run"),
    ],
)
def test_mistakes_are_explained_before_time_is_spent(tmp_path: Path, given: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        learning_curve(CONFIG, tmp_path / "out", device="cpu", **given)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_the_table_still_comes(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["curve", str(config), "-o", str(tmp_path / "out"), "--sizes", "4,8", "--seeds", "1", "--device", "cpu"]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = call(*given, "--set", "training.epochs=1")
    assert done.returncode == 0
    assert 'no picture, as drawing the curve needs the extra `plots`: pip install "hyperspan[plots]"' in done.stderr
    assert "needs three" in done.stdout and not (tmp_path / "out" / "curve.png").exists()


def test_wrong_numbers_are_one_sentence(config: Path) -> None:
    done = call("curve", str(config), "--sizes", "ten,20")
    assert done.returncode == 2 and "is not a list of whole numbers" in done.stderr and "Traceback" not in done.stderr


# -- parts of a corpus -------------------------------------------------------------------------------------------------


def sentence(number: int) -> Sentence:
    return Sentence([f"w{number}"])


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30), st.integers(0, 99))
def test_parts_are_nested_and_as_large_as_asked(lengths: list[int], seed: int) -> None:
    parts = Parts([[sentence(0)] * length for length in lengths])
    found = [parts.part(size, seed) for size in range(parts.largest + 1)]
    assert [len(part) for part in found] == list(range(parts.largest + 1))
    assert all(set(smaller) < set(larger) for smaller, larger in itertools.pairwise(found))
    assert found[-1] == list(range(parts.largest))


def test_parts_take_whole_documents_where_there_are_many() -> None:
    parts = Parts([[sentence(0)] * 10] * 12)
    for seed in range(5):
        documents = Counter(number // 10 for number in parts.part(25, seed))
        assert sorted(documents.values()) == [5, 10, 10]
    assert len({tuple(parts.part(25, seed)) for seed in range(5)}) == 5
    few = Parts([[sentence(0)] * 40] * 3)
    assert len({number // 40 for number in few.part(12, seed=1)}) == 3


@given(st.integers(2, 10**6))
def test_default_sizes_grow_up_to_the_corpus(largest: int) -> None:
    sizes = default_sizes(largest)
    assert 2 <= len(sizes) <= 5 and sizes == sorted(set(sizes)) and sizes[0] >= 1 and sizes[-1] == largest
    assert largest < 60 or all(1.5 < later / sooner < 3.5 for sooner, later in itertools.pairwise(sizes))


def test_check_sizes_explains_what_is_wrong() -> None:
    parts = Parts([[sentence(0)]] * 50)
    assert check_sizes([30, 10, 30], parts) == [10, 30]
    with pytest.raises(
        InputError, match=r"--sizes 60 is larger than the corpus: data\.train has 50 sentences; ask for at most 50"
    ):
        check_sizes([10, 60], parts)
    with pytest.raises(InputError, match="fewer than two sizes"):
        check_sizes([10], parts)
    with pytest.raises(InputError, match="the smallest is 1"):
        check_sizes([0, 10], parts)
    with pytest.raises(InputError, match=r"data\.train has 1 sentence, but a curve needs parts of at least two sizes"):
        check_sizes(default_sizes(1), Parts([[sentence(0)]]))


# -- the power law: that it finds the truth, how often its interval holds it, and when it says nothing -----------------


SIZES = np.array([30, 100, 300, 1000])


def f1(sizes: object, a: float, b: float, c: float) -> np.ndarray:
    return 1 - (a + b * np.asarray(sizes, dtype=float) ** -c)


@pytest.mark.parametrize(("a", "b", "c"), [(0.2, 2, 0.5), (0, 1.5, 0.25), (0.35, 6, 1.0), (0.5, 0, 1)])
def test_fit_recovers_a_power_law(a: float, b: float, c: float) -> None:
    law = fit(SIZES, f1(SIZES, a, b, c))
    further = [50, 2000, 4000]
    assert np.allclose(law.f1(further), f1(further, a, b, c), atol=2e-3)
    values = law.to_dict()
    assert np.allclose(f1(further, values["a"], values["b"], values["c"]), law.f1(further))


def test_fit_of_many_curves_is_that_of_each() -> None:
    rows = np.random.default_rng(1).random((5, 4))
    weights = [1, 2, 3, 4]
    together = fit(SIZES, rows, weights).f1([10, 5000])
    assert np.allclose(together, [fit(SIZES, row, weights).f1([10, 5000]) for row in rows])


scores = st.floats(0, 1)
some_runs = st.lists(st.tuples(st.integers(1, 10**6), scores), min_size=1, max_size=12)


@given(some_runs)
def test_forecast_is_monotone_and_within_bounds_whatever_the_scores(given_runs: list[tuple[int, float]]) -> None:
    sizes, values = [size for size, _ in given_runs], [score for _, score in given_runs]
    found = forecast(sizes, values)
    assert found.sentence.endswith(".") and "nan" not in found.sentence and "inf" not in found.sentence
    assert (found.fitted is None) == (found.verdict == "no curve")
    grid = np.geomspace(1, 4 * max(sizes), 50)
    if found.fitted is not None:
        low, high = found.fitted.band(grid)
        for curve in (found.fitted.law.f1(grid), low, high):
            assert np.isfinite(curve).all() and (curve >= 0).all() and (curve <= 1).all()
            assert (np.diff(curve) >= -1e-12).all()
        assert 0 <= found.fitted.gain_interval[0] <= found.fitted.gain_interval[1] <= 1


@pytest.mark.parametrize("seeds", [1, 3])
def test_interval_holds_the_gain_about_nine_times_in_ten(seeds: int) -> None:
    random = np.random.default_rng(7)
    sizes = np.array([*SIZES, 3000] * seeds)
    truth = f1([3000, 6000], 0.15, 1.6, 0.4)
    held = []
    for round_ in range(40):
        noise = 0.02 * (30 / sizes) ** 0.25 * random.standard_normal(len(sizes))
        drawn = f1(sizes, 0.15, 1.6, 0.4) + noise
        fitted = forecast(sizes.tolist(), drawn.tolist(), seed=round_).fitted
        assert fitted is not None
        held.append(fitted.gain_interval[0] <= truth[1] - truth[0] <= fitted.gain_interval[1])
    assert 0.8 <= np.mean(held) <= 1


@pytest.mark.parametrize(
    ("sizes", "values", "verdict", "words"),
    [
        ([30, 100], [0.4, 0.6], "no curve", "2 sizes"),
        ([30, 100, 300, 1000], [0, 0, 0.3, 0.4], "no curve", "Only 2 sizes with an F1 above 1"),
        ([30, 100, 300], [0, 0, 0], "no curve", "No size with an F1 above 1"),
        ([30, 100, 300], [0.6, 0.7, 0.5], "no curve", "F1 falls from 100 to 300 sentences"),
        ([30, 100, 300, 1000] * 2, [0.80, 0.90, 0.91, 0.912] * 2, "little", "at most 0."),
        ([100, 120, 140] * 2, [0.5, 0.53, 0.51, 0.47, 0.49, 0.54], "unclear", "cannot tell"),
    ],
)
def test_forecast_says_when_it_cannot_tell(sizes: list[int], values: list[float], verdict: str, words: str) -> None:
    found = forecast(sizes, values)
    assert found.verdict == verdict and words in found.sentence, found.sentence
