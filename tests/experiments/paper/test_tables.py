"""From results to tables: means, intervals, tests, and messages where something is missing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments import CONFIGS
from experiments.paper.rows import ABLATIONS, GROUPS, MAIN, OTHERS, ROWS, TABLES, rows_for, rows_named
from experiments.plots import draw_scores, draw_speed
from experiments.result import Result, folder_of, read_recorded, read_results, record, state_of
from experiments.settings import changed_key, config_of, differences, source_of
from experiments.summaries import summaries, summarize
from experiments.tables import ablation_sections, main_sections, overlap_sections, state_lines
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.training.settings import CorpusFacts, complete
from tests.experiments.support import result

GOOD, POOR = [2, 2, 2, 1] * 10, [1, 2, 0, 1] * 10


def test_the_rows_are_those_of_the_paper() -> None:
    assert len(TABLES["main"]) + len(ABLATIONS) + len(TABLES["paper"]) + len(OTHERS) == len(ROWS)
    assert {row.group for row in ROWS.values()} == set(GROUPS)
    assert sum("genia" in row.paper for row in MAIN) == 18 and sum("ace2005" in row.paper for row in MAIN) == 17
    for row in MAIN:
        if "genia" in row.paper:
            precision, recall, f1 = row.paper["genia"]
            assert precision and recall and 2 * precision * recall / (precision + recall) == pytest.approx(f1, abs=0.15)
    assert ROWS["sh-6-no-margin"].paper["genia"] == (None, None, 72.4)
    assert source_of(ROWS["sh-n-no-margin"], "genia") == (
        CONFIGS / "genia/sh-n.toml",
        ("training.softmax_margin=false",),
    )
    for corpus in ("genia", "litbank"):
        assert source_of(ROWS["cascaded"], corpus)[0] == CONFIGS / "genia/sh-nn-n.toml"
    assert "model.tokenizer=words" in source_of(ROWS["cascaded"], "litbank")[1]
    assert "cascaded.order" in source_of(ROWS["cascaded"], "genia")[1][-1]
    assert "best" not in {row.name for row in rows_for("genia")} and "raw" in {row.name for row in rows_for("genia")}
    assert [row.name for row in rows_named(["sh-n", "crf"])] == ["crf", "sh-n"]
    assert ROWS["paper-6"].paper == ROWS["sh-6"].paper
    assert ROWS["paper-n-no-margin"].paper == ROWS["sh-n-no-margin"].paper
    assert not rows_for("litbank", "paper")


def test_additions_lead_from_the_settings_of_the_paper_to_ours() -> None:
    def settled(row: str) -> Config:
        config = config_of(ROWS[row], "genia").override(["words.dimension=100"])
        return complete(config, CorpusFacts(14_836, english=True))

    steps = [settled(row.name) for row in rows_for("genia", "paper") if row.base == ROWS["paper-n-char"]]
    assert steps[-1] == settled("sh-n-char") and len(set(map(str, steps))) == len(steps) == 6
    assert settled("paper-n-char") not in steps


def test_a_result_comes_back_from_its_file(tmp_path: Path) -> None:
    written = result("sh-n", 3, GOOD)
    written.write(tmp_path / "result.json")
    read = Result.read(tmp_path / "result.json")
    assert read == written and (read.counts == written.counts).all() and read.f1 == 0.875
    (tmp_path / "result.json").write_text('{"row": "sh-n"}', encoding="utf-8")
    with pytest.raises(InputError, match="is not a result of experiments"):
        Result.read(tmp_path / "result.json")
    written.write(_made(folder_of(tmp_path, "genia", ROWS["sh-6"], 3)) / "result.json")
    with pytest.raises(InputError, match="is the result of sh-n, seed 3, on genia; move it"):
        read_results(tmp_path, "genia", [ROWS["sh-6"]], (3,))


def test_a_row_has_its_usual_seeds(tmp_path: Path) -> None:
    """Unless the user names others: in the paper's own settings five, other widths one, most rows three."""
    usual = {
        "paper-n": 5,
        "paper-6-char": 5,
        "paper-n-beta-2": 3,
        "paper-6-beta-4": 1,
        "paper-n-width-4": 1,
        "paper-6-narrow": 3,
        "crf": 3,
    }
    rows = rows_named([*usual])
    for row in rows:
        for seed in range(1, 7):
            result(row.name, seed, GOOD).write(_made(folder_of(tmp_path, "genia", row, seed)) / "result.json")
    found = read_results(tmp_path, "genia", rows, ())
    assert {name: [one.seed for one in results] for name, results in found.items()} == {
        name: list(range(1, number + 1)) for name, number in usual.items()
    }
    states = {row.name: state for row, state in state_lines(rows, "genia", (), tmp_path, tmp_path)}
    assert {name: state.count("87.50") - 1 for name, state in states.items()} == usual
    lines = {line[0]: line[-1] for section in main_sections(rows, [], "genia", (), "sh-n") for line in section.rows}
    assert lines == {row.label: f"0 of {usual[row.name]}" for row in rows}
    assert [one.seed for one in read_results(tmp_path, "genia", rows, (6,))["paper-n-width-4"]] == [6]


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def test_recorded_results_are_short_and_sorted(tmp_path: Path) -> None:
    """Later ones take the place of earlier ones with the same seed."""
    file = tmp_path / "results" / "genia.jsonl"
    first = [result("sh-n", 2, GOOD), result("paper-6-beta-3", 1, GOOD, test=None), result("sh-n", 1, POOR)]
    assert record(first, file, ROWS) == 3
    assert (
        record([result("sh-n", 1, GOOD), result("sh-n", 10, GOOD), result("crf", 3, POOR, dev=None)], file, ROWS) == 5
    )
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    held = [(line["row"], line["seed"]) for line in lines]
    assert held == [("crf", 3), ("sh-n", 1), ("sh-n", 2), ("sh-n", 10), ("paper-6-beta-3", 1)]
    needed = {"micro", "overlapping", "non_overlapping", "by_width", "words_per_second"}
    reports = [report for line in lines for report in (line["dev"], line["test"]) if report is not None]
    assert len(reports) == 8 and all(set(report) == needed for report in reports)
    found = read_recorded(file)
    assert found["sh-n", 1].f1 == 0.875 and found["crf", 3].dev_f1 is None and found["paper-6-beta-3", 1].test is None
    assert (found["crf", 3].counts == result("crf", 3, POOR).counts).all()
    for added, message in {
        b"<<<<<<< HEAD\n": "not a result of experiments",
        file.read_bytes(): "crf, seed 3, again; restore it with git checkout",
        file.read_bytes().replace(b'"genia"', b'"litbank"'): "a result on litbank; restore it",
    }.items():
        (damaged := tmp_path / "genia.jsonl").write_bytes(file.read_bytes() + added)
        with pytest.raises(InputError, match=rf"line 6 of .*genia\.jsonl is {message}"):
            read_recorded(damaged)


def test_recorded_results_fill_the_same_cells(tmp_path: Path) -> None:
    """Those in the output folder come first."""
    rows, file = rows_named(["sh-n", "sh-n-no-margin", "crf"]), tmp_path / "genia.jsonl"
    whole = {
        "sh-n": [result("sh-n", seed, GOOD) for seed in (1, 2, 3)],
        "crf": [result("crf", seed, POOR) for seed in (1, 2)],
        "sh-n-no-margin": [result("sh-n-no-margin", 2, POOR)],
    }
    record((one for results in whole.values() for one in results), file, ROWS)

    def cells(results: dict[str, list[Result]]) -> list[Sequence[Sequence[str]]]:
        found = summaries(rows, results, "sh-n")
        tables = [main_sections(rows, found, "genia", (), "sh-n"), overlap_sections(rows, found, "genia")]
        tables.append(ablation_sections(rows, summaries(rows, results, None), "genia", ()))
        return [section.rows for sections in tables for section in sections]

    recorded = read_results(tmp_path / "nowhere", "genia", rows, (), file)
    assert cells(recorded) == cells(whole) and {name: len(found) for name, found in recorded.items()} == {
        name: len(found) for name, found in whole.items()
    }
    result("crf", 2, GOOD).write(_made(folder_of(tmp_path, "genia", ROWS["crf"], 2)) / "result.json")
    assert [found.f1 for found in read_results(tmp_path, "genia", rows, (), file)["crf"]] == [0.875], (
        "own runs of a row, or recorded ones"
    )


def test_seeds_are_summarised_and_compared() -> None:
    ours, others = [result("crf", seed, POOR) for seed in (1, 2)], [result("sh-n", seed, GOOD) for seed in (2, 3)]
    found = summarize(ROWS["crf"], ours, others)
    assert (found.f1, found.deviation, found.seeds, found.words_per_second) == (0.5, 0.0, [1, 2], 1500.0)
    assert found.interval[0] < 0.5 < found.interval[1]
    assert found.difference is not None and found.difference.difference == pytest.approx(0.375)
    assert found.difference.p_randomization < 0.001
    assert summarize(ROWS["sh-n"], others, others).difference is None
    with pytest.raises(InputError, match="were not scored on the same sentences"):
        summarize(ROWS["crf"], ours, [result("sh-n", 1, GOOD, gold=3)])
    with pytest.raises(InputError, match=r"the seeds of crf were not scored on the same sentences; .* with --seeds"):
        summarize(ROWS["crf"], [*ours, result("crf", 3, POOR[1:])])


def test_the_main_table() -> None:
    rows = rows_named(["crf", "sh-n", "crf-neural"])
    results = {"crf": [result("crf", 1, POOR)], "sh-n": [result("sh-n", seed, GOOD) for seed in (1, 2, 3)]}
    sections = main_sections(rows, summaries(rows, results, "sh-n"), "genia", (1, 2, 3), "sh-n")
    assert [section.title for section in sections] == [GROUPS[row.group] for row in rows]
    lines = [line for section in sections for line in section.rows]
    assert all(len(line) == len(sections[0].header) for line in lines)
    assert list(lines[0][:8]) == ["CRF (linear)", "77.1", "63.3", "69.5", "70.00", "50.00", "50.00", "50.00"]
    assert list(lines[0][10:]) == ["+37.50", "<0.001", "1,000", "1,234", "1 of 3"]
    assert list(lines[1][7:9]) == ["87.50", "0.00"] and lines[1][10] == "–"
    assert set(lines[2][1:-1]) == {"–"} and lines[2][-1] == "0 of 3"
    assert "randomisation" in sections[-1].note and "on a processor" in sections[-1].note


def test_the_other_tables_of_results() -> None:
    rows = [ROWS["sh-n"], ROWS["sh-n-no-margin"], ROWS["sh-n-no-dropout"]]
    whole, less = [result("sh-n", 1, GOOD)], [result("sh-n-no-margin", 1, POOR)]
    found = [summarize(rows[0], whole), summarize(rows[1], less, whole)]
    (section,) = ablation_sections(rows, found, "genia", (1,))
    assert [line[:3] for line in section.rows] == [
        ["SH (c=n)", "74.5", "–"],
        ["− softmax-margin", "73.3", "+1.2"],
        ["− dropout", "72.8", "+1.7"],
    ]
    assert section.rows[1][3:5] == ["70.00", "50.00"] and section.rows[1][7] == "+37.50"
    ours, paper = overlap_sections(rows, found[:1], "genia")
    assert ours.rows[0] == ["SH (c=n)", *["87.50"] * 6, "1,000"] and paper.rows[-1][-1] == "157"


def test_pictures(tmp_path: Path) -> None:
    rows = rows_named(["crf", "sh-n"])
    found = summaries(rows, {"crf": [result("crf", 1, POOR)], "sh-n": [result("sh-n", 1, GOOD)]}, "sh-n")
    for draw in (draw_scores, draw_speed):
        draw(found, "genia", tmp_path / "picture.png")
        assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_states(tmp_path: Path) -> None:
    configs, row = tmp_path / "configs", ROWS["crf"]
    arguments = ("genia", (1, 2), tmp_path, configs)
    assert next(state_lines([row], *arguments))[1] == f"config missing: {configs / 'genia' / 'crf.toml'}"
    (configs / "genia").mkdir(parents=True)
    (configs / "genia" / "crf.toml").touch()
    assert next(state_lines([row], *arguments))[1] == "not started"
    folders = [folder_of(tmp_path, "genia", row, seed) for seed in (1, 2)]
    for folder in folders:
        (folder / "model").mkdir(parents=True)
    events = [{"event": "start", "epochs": 9}, *({"event": "epoch", "epoch": epoch} for epoch in (1, 2))]
    log = "".join(json.dumps(event) + "\n" for event in events) + '{"event": "epo'
    (folders[0] / "model" / "log.jsonl").write_text(log, encoding="utf-8")
    assert str(state_of(folders[0])) == "epoch 2 of 9"
    assert next(state_lines([row], *arguments))[1] == "seed 1: epoch 2 of 9; seed 2: not started"
    for seed, folder in enumerate(folders, start=1):
        result("crf", seed, GOOD if seed == 1 else POOR).write(folder / "result.json")
    assert next(state_lines([row], *arguments))[1] == "finished, F1 68.75 (87.50 50.00)"
    assert [found.seed for found in read_results(tmp_path, "genia", [row], (2, 3))["crf"]] == [2]


def test_another_configuration_is_noticed(tmp_path: Path) -> None:
    config = config_of(ROWS["sh-6-no-pretrained"], "genia", CONFIGS, tmp_path, ["training.epochs=2"])
    assert config.data.train == str(tmp_path / "genia" / "train.data") and config.words.vectors == ""
    assert config_of(ROWS["sh-6"], "genia", CONFIGS, tmp_path).words.vectors.startswith(str(tmp_path))
    with pytest.raises(InputError, match=r"the row crf has no configuration for genia: .*crf\.toml is not there"):
        config_of(ROWS["crf"], "genia", tmp_path)
    same = {"words": {"vectors": "elsewhere/glove.npz"}, "training": {"epochs": 2, "seed": 7}}
    done = result("sh-n", 1, GOOD, config=same | {"distillation": {"teacher": ["there/a", "there/b"]}})
    teachers = 'distillation.teacher=["here/a", "here/b"]'
    here = Config().override(["words.vectors=here/glove.npz", "training.epochs=2", teachers])
    assert changed_key(done, here) is None
    assert changed_key(done, here.override(["training.epochs=3"])) == "training.epochs"


def test_the_settings_of_a_result_name_no_folder(tmp_path: Path) -> None:
    teachers = f'distillation.teacher=["{tmp_path}/a", "{tmp_path}/b"]'
    given = [teachers, f"training.start={tmp_path}/model", f"words.vectors={tmp_path}/glove.npz", "training.epochs=2"]
    config = config_of(ROWS["semi-6-biomed"], "genia", CONFIGS, tmp_path, given)
    held = json.dumps(differences(config))
    assert str(tmp_path) in config.to_toml() and str(tmp_path) not in held and "biomed_clusters.tsv.gz" in held
    done = result("semi-6-biomed", 1, GOOD, config=json.loads(held))
    assert changed_key(done, config) is None
    assert changed_key(done, config.override(["handcrafted.clusters=elsewhere/other.tsv.gz"])) == "handcrafted.clusters"
    assert changed_key(done, config.override(["training.epochs=100"])) == "training.epochs"


def test_changed_key_tells_encoders_of_the_hub_apart_by_organisation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def config(name: str) -> Config:
        return Config().override([f"transformer.name={name}"])

    assert differences(config("lab/encoder"))["transformer"]["name"] == "lab/encoder"
    done = result("sh-n", 1, GOOD, config=differences(config("lab/encoder")))
    assert changed_key(done, config("lab/encoder")) is None
    assert changed_key(done, config("other/encoder")) == "transformer.name"
    older = result("sh-n", 1, GOOD, config={"transformer": {"name": "encoder"}})
    assert changed_key(older, config("lab/encoder")) is None, "it does not say of which organisation"
    (tmp_path / "here" / "encoder").mkdir(parents=True)
    for folder in ("here/encoder", f"{tmp_path}/there/encoder"):
        assert differences(config(folder))["transformer"]["name"] == "encoder"
        assert changed_key(done, config(folder)) is None, "folders may lie elsewhere"
