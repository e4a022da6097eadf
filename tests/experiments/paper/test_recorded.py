"""The recorded results of the repository: the docs show them, and readings of c=6 are made from them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments.paper.readings import ByLimit, beta_sections, readings_sections
from experiments.paper.rows import BETAS, MAIN, PAPER, ROWS
from experiments.result import Result, read_recorded, recorded_file
from experiments.settings import changed_key, config_of
from experiments.summaries import summarize
from hyperspan.evaluation.scores import Score
from tests.experiments.support import result

SYSTEMS = Path(__file__).parents[3] / "docs" / "results" / "systems.md"


@pytest.fixture(scope="module")
def recorded() -> dict[str, list[Result]]:
    """The recorded runs on GENIA, by row."""
    found: dict[str, list[Result]] = {}
    for (row, _), run in read_recorded(recorded_file("paper", "genia")).items():
        found.setdefault(row, []).append(run)
    return found


def test_recorded_runs_agree_with_themselves(recorded: dict[str, list[Result]]) -> None:
    for run in (run for runs in recorded.values() for run in runs):
        right, predicted, gold = run.known_counts.sum(0).tolist()
        assert Score(right, predicted, gold).f1 == pytest.approx(run.f1)
        by_limit = ByLimit.of(run)
        assert (by_limit.all.correct, by_limit.all.predicted, by_limit.all.gold) == (right, predicted, gold)
        assert by_limit.wide.correct == 0 or run.config.get("model", {}).get("max_width", "n") != 6


def test_recorded_runs_have_the_configurations_of_today(recorded: dict[str, list[Result]]) -> None:
    configs = {row: config_of(ROWS[row], "genia") for row in recorded}
    changed = {(run.row, changed_key(run, configs[run.row])) for runs in recorded.values() for run in runs}
    assert {key for _, key in changed} == {None}, changed


def test_recorded_runs_have_the_seeds_that_the_docs_promise(recorded: dict[str, list[Result]]) -> None:
    assert all([run.seed for run in recorded[row.name]] == [1, 2, 3, 4, 5] for row in PAPER)
    assert all(len(recorded[row.name]) == row.runs for row in BETAS)


@pytest.mark.parametrize(("title", "rows"), [("The paper's own settings", PAPER), ("GENIA", MAIN)])
def test_docs_show_the_recorded_figures(title: str, rows: tuple, recorded: dict[str, list[Result]]) -> None:
    """Dev F1, P, R, F1 and ± of each row in the first table under a heading."""
    text = SYSTEMS.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2]
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert table is not None
    lines = {line.split(" | ")[0].strip("| "): line.replace("*", "") for line in table[0].splitlines()}
    shown = [row for row in rows if row.group in ("paper", "non-neural", "neural") and row.name in recorded]
    assert len(shown) >= 4
    for row in shown:
        summary = summarize(row, recorded[row.name])
        assert summary.dev_f1 is not None
        cells = [summary.dev_f1, summary.precision, summary.recall, summary.f1]
        assert " | ".join(f"{100 * cell:.2f}" for cell in cells) in lines[row.title], row.name
        if summary.deviation is not None:
            assert f"| {100 * summary.deviation:.2f} |" in lines[row.title]


def test_readings_count_what_they_say() -> None:
    groups = {"1": (6, 8, 10), "4-6": (2, 4, 5), "7-10": (1, 2, 4), ">10": (0, 1, 1)}
    by_width = {name: dict(zip(("correct", "predicted", "gold"), group, strict=True)) for name, group in groups.items()}
    of_n, of_6 = (result(row, 1, [1, 2]) for row in ("paper-n", "paper-6"))
    nothing = {"correct": 0, "predicted": 0, "gold": 4}
    for run in (of_n, of_6):
        assert run.test is not None
        run.test["by_width"] = by_width  # type: ignore[index]
    recall, readings = readings_sections({"paper-n": [of_n], "paper-6": [of_6]}, "genia")
    assert [line[0] for line in readings.rows].count("SH (c=6) + char") == 0, "no run, no block"
    assert list(recall.rows[1]) == ["SH (c=n)", "53.33", "66.67", "20.00", "33.33", "25.00"]
    lines = {line[1]: line[2:] for line in readings.rows}
    assert lines["all gold mentions counted"] == ["60.00", "45.00", "51.43", "-22.3", "1"]
    assert lines["gold mentions of more than six words not counted"] == ["66.67", "53.33", "59.26", "-14.4", "1"]
    assert lines["c=n, wide predictions left out after decoding"] == ["66.67", "40.00", "50.00", "-23.7", "1"]
    assert of_6.test is not None
    of_6.test["by_width"] = by_width | {"7-10": nothing, ">10": nothing}  # type: ignore[index]
    (recall, _) = readings_sections({"paper-6": [of_6]}, "genia")
    assert list(recall.rows[0])[3:5] == ["0.00", "–"], "the precision of no prediction"


def test_beta_is_tabulated_by_the_mean_of_seeds() -> None:
    runs = [result("paper-n-beta-2", seed, [1, 2]) for seed in (1, 2)]
    (section,) = beta_sections({"paper-n-beta-2": runs})
    assert list(section.rows[0])[:4] == ["SH (c=n)", "–", "–", f"{100 * (runs[0].dev_f1 or 0):.2f} (2)"]
    assert not beta_sections({})
