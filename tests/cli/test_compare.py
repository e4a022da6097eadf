"""`hyperspan compare` as a user drives it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.process import call as hyperspan


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Gold, a system that finds half of it, and one that finds all."""
    names = {}
    for name, every in (("gold", 1), ("half", 2), ("all", 1)):
        found = ["0,3 PER" if i % every == 0 else "" for i in range(40)]
        path = tmp_path / f"{name}.data"
        path.write_text("".join(f"w{i} in Oz\nX Y Z\n{line}\n\n" for i, line in enumerate(found)), encoding="utf-8")
        names[name] = str(path)
    return names


def test_a_better_system(files: dict[str, str]) -> None:
    arguments = ["compare", files["half"], files["all"], "--gold", files["gold"]]
    result = hyperspan(*arguments, "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["recall"]["difference"] == 0.5 and found["precision"]["difference"] == 0
    assert found["f1"]["p_randomization"] < 0.001 and found["f1"]["interval"][0] > 0.1
    assert found["precision"]["p_randomization"] == found["precision"]["p_bootstrap"] == 1
    assert found["found"] == {"both": 20, "only_a": 0, "only_b": 20, "neither": 0}
    assert (found["rounds"], found["seed"], found["sentences"]) == (10_000, 0, 40)
    assert hyperspan(*arguments, "--json").stdout == result.stdout
    assert "+33.33" in hyperspan(*arguments, "--samples", "50", "--seed", "3").stdout
    markdown = hyperspan(*arguments, "--markdown").stdout
    assert "| gold, found | 20 | 0 | 20 | 0 |" in markdown.splitlines()


def test_differences_of_two_systems(files: dict[str, str], tmp_path: Path) -> None:
    page, lines = tmp_path / "d.html", tmp_path / "d.jsonl"
    arguments = ["compare", files["half"], files["all"], "--gold", files["gold"], "--samples", "5", "--errors"]
    assert "wrote 20 differences in 20 sentences" in hyperspan(*arguments, str(page)).stderr
    written = page.read_text(encoding="utf-8")
    assert "B right, A wrong <small>20</small>" in written and "A right, B wrong <small>" not in written
    assert hyperspan(*arguments, str(lines)).returncode == 0
    records = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    assert all(one["wrong"] == ["a"] and one["right"] == ["b"] for record in records for one in record["differences"])
    assert "exists" in hyperspan(*arguments, str(page)).stderr
