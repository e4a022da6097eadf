"""The golden record: its quick half agrees with the one in the repository, and a comparison notices what it should."""

from __future__ import annotations

import math
import sys
from copy import deepcopy
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from experiments.golden import models as archive
from experiments.golden.__main__ import app
from experiments.golden.comparison import CHANGES, RECORD, Change, Record, compare, read_changes
from experiments.golden.entries import Entry, differences
from experiments.golden.names import KINDS, bundled_models
from tests.support.process import called

pytestmark = pytest.mark.xdist_group("forked")  # one worker imports what such processes need


def golden(*arguments: str) -> CompletedProcess[str]:
    """What `python -m experiments.golden` answers in a process of its own."""
    return called(_golden, arguments)


def _golden(arguments: tuple[str, ...]) -> None:
    sys.argv = ["experiments.golden", *arguments]
    app()


@pytest.fixture(scope="module")
def record() -> Record:
    return Record.read(RECORD)


def with_entry(record: Record, path: str, **values: Any) -> Record:
    """The record with other values in one entry."""
    return Record(record.about, {**record.entries, path: {**record.entries[path], **values}})


def test_quick_record_agrees_with_that_of_the_repository(tmp_path: Path, record: Record) -> None:
    done = golden("write", "-o", str(tmp_path / "quick.json.gz"), "--quick")
    assert not done.returncode, done.stderr
    quick = Record.read(tmp_path / "quick.json.gz")
    assert len(quick.entries) > 500 and not quick.is_whole
    assert list(compare(record, quick, read_changes(CHANGES))) == [], "add to changes.toml, or write the record anew"


def test_record_has_every_kind_and_bundled_model(record: Record) -> None:
    parts = {tuple(path.split("/")[:2]) for path in record.entries}
    assert {("small", name) for name in archive.recipes()} | {("training", kind) for kind in KINDS} <= parts
    assert {("bundled", name) for name in bundled_models()} <= parts
    assert record.is_whole and record.entries["training/resumed run has the same weights"] == {"exact": True}


BEST = "bundled/genia/best/nested biomedical"
CUT = "bundled/genia/threshold 0.3/nested biomedical"


def test_compare_notices_a_changed_probability(record: Record) -> None:
    found = dict(record.entries[BEST]["probabilities"])
    mention, probability = next(iter(found.items()))
    near = with_entry(record, BEST, probabilities={**found, mention: probability + 0.5e-5})
    assert list(compare(record, near, [])) == []
    far = with_entry(record, BEST, probabilities={**found, mention: probability - 2e-5})
    [line] = compare(record, far, [])
    assert line.startswith(f"{BEST}: {mention}: {probability} became")


@pytest.mark.parametrize("path", [BEST, CUT])
def test_compare_notices_a_missing_mention(path: str, record: Record) -> None:
    found = dict(record.entries[path]["probabilities"])
    mention, probability = found.popitem()
    without = with_entry(record, path, probabilities=found)
    assert list(compare(record, without, [])) == [f"{path}: {mention} is missing, it had {probability}"]
    assert list(compare(without, record, [])) == [f"{path}: {mention} came, with {probability}"]


def test_compare_lets_a_mention_go_at_its_cut_or_where_two_sets_are_best() -> None:
    at_the_cut: Entry = {"probabilities": {"0-4 DNA": 0.300004}, "cut": 0.3}
    by_label: Entry = {"probabilities": {"0-4 DNA": 0.300004}, "cut": {"DNA": 0.3, "*": 0.6}}
    tie: Entry = {"probabilities": {"5-7,9-10 DNA": 0.5}, "unsure": [[5, 20]]}
    for entry in (at_the_cut, by_label, tie):
        none = {**entry, "probabilities": {}}
        assert list(differences(entry, none)) == list(differences(none, entry)) == []
    elsewhere = {**tie, "unsure": [[6, 20]]}
    assert list(differences(elsewhere, {**elsewhere, "probabilities": {}}))


EXAMPLES: list[tuple[Entry, Entry, Entry]] = [
    ({"exact": [1, "a"]}, {"exact": [1, "a"]}, {"exact": [1, "b"]}),
    ({"tree": {"f1": 0.5, "n": [3]}}, {"tree": {"f1": 0.500004, "n": [3]}}, {"tree": {"f1": 0.5, "n": [4]}}),
    ({"tree": {"f1": 0.5}}, {"tree": {"f1": 0.5}}, {"tree": {}}),
    ({"logs": [-200.0, -math.inf]}, {"logs": [-200.001, -math.inf]}, {"logs": [-200.01, -math.inf]}),
    ({"logs": [-math.inf]}, {"logs": [-math.inf]}, {"logs": [-1e9]}),
    ({"losses": [20.0]}, {"losses": [20.001]}, {"losses": [20.01]}),
    (
        {"best": [["0-1 A"], []], "lead": [1e-6, 0.5]},
        {"best": [["0-2 A"], []], "lead": [1e-6, 0.5]},
        {"best": [["0-1 A"], ["0-1 A"]], "lead": [1e-6, 0.5]},
    ),
    (
        {"ranked": [[[-1.0, ["0-1 A"]], [-1.0, []], [-2.0, ["3-4 A"]]]]},
        {"ranked": [[[-1.0, []], [-1.0, ["0-1 A"]], [-2.0, ["5-6 A"]]]]},
        {"ranked": [[[-1.0, ["0-2 A"]], [-1.0, []], [-2.0, ["3-4 A"]]]]},
    ),
    (
        {"counts": [{"": 1000, "0-1 A": 500}]},
        {"counts": [{"": 1050, "0-1 A": 520}]},
        {"counts": [{"": 600, "0-1 A": 900}]},
    ),
    ({"exact": "not supported"}, {"exact": "not supported"}, {"logs": [1.0]}),
]


@pytest.mark.parametrize(("entry", "near", "far"), EXAMPLES)
def test_compare_knows_how_near_entries_must_be(entry: Entry, near: Entry, far: Entry) -> None:
    given = deepcopy((entry, near, far))
    assert list(differences(entry, near)) == list(differences(near, entry)) == []
    assert list(differences(entry, far)) and list(differences(far, entry))
    assert (entry, near, far) == given


def test_compare_notices_paths_that_are_missing_or_new(record: Record) -> None:
    fewer = Record(record.about, {path: entry for path, entry in record.entries.items() if path != BEST})
    assert list(compare(record, fewer, [])) == [f"{BEST}: is missing"]
    assert list(compare(fewer, record, [])) == [f"{BEST}: is new"]
    quick = Record({**record.about, "quick": True}, {path: record.entries[path] for path in (BEST, CUT)})
    assert list(compare(record, quick, [])) == []


def test_changes_explain_differences_and_must_all_be_used(record: Record) -> None:
    changed = with_entry(record, BEST, probabilities={})
    assert list(compare(record, changed, [Change("bundled/*/best/*", "another decoder")])) == []
    for pattern in ("bundled/craft/best/*", "no such path"):
        lines = list(compare(record, changed, [Change(BEST, "another decoder"), Change(pattern, "a mistake")]))
        assert lines == [
            f"the change {pattern!r} (a mistake) is in changes.toml, but nothing there differs: take it out"
        ]
    quick = Record({**record.about, "quick": True}, {CUT: record.entries[CUT]})
    assert list(compare(record, quick, [Change("bundled/genia/*", "only the whole record can tell")])) == []


def test_compare_command_ends_with_an_error_where_records_differ(tmp_path: Path, record: Record) -> None:
    changes, other = tmp_path / "changes.toml", tmp_path / "other.json.gz"
    changes.write_text('[[change]]\npath = "small/*"\nreason = "nothing"\n', "utf-8")
    with_entry(record, BEST, probabilities={}).write(other)
    done = golden("compare", str(RECORD), str(other), "--changes", str(changes))
    assert done.returncode == 1 and "2 differences" in done.stderr
    assert f"{BEST}: " in done.stdout and "'small/*' (nothing) is in changes.toml" in done.stdout


def test_archive_is_small_and_keeps_no_places_of_a_machine(tmp_path: Path) -> None:
    assert archive.ARCHIVE.stat().st_size <= archive.LARGEST
    with archive.models() as folders:
        assert {folder.name for folder in folders.iterdir()} == set(archive.recipes())
        for path in folders.glob("*/config.toml"):
            assert not [line for line in path.read_text("utf-8").splitlines() if "/" in line]


def test_convert_rewrites_keys_and_keeps_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with archive.models() as folders:
        before = {path.relative_to(folders): path.read_bytes() for path in folders.rglob("*.*")}
    copy = tmp_path / "models.tar.xz"
    copy.write_bytes(archive.ARCHIVE.read_bytes())
    monkeypatch.setattr(archive, "ARCHIVE", copy)
    archive.convert(archive.changing_keys([], {}))
    with archive.models() as folders:
        assert before == {path.relative_to(folders): path.read_bytes() for path in folders.rglob("*.*")}
    archive.convert(archive.changing_keys(["training.seed", "partial"], {"model.tied": "segmental.tied"}))
    with archive.models() as folders:
        after = {path.relative_to(folders): path.read_bytes() for path in folders.rglob("*.*")}
    for path, content in before.items():
        assert (after[path] == content) == (path.name != "config.toml"), path
    assert (
        b"\nseed = " not in after[Path("untied/config.toml")] and b"[partial]" not in after[Path("untied/config.toml")]
    )
    assert b"\ntied = false" in after[Path("untied/config.toml")].partition(b"[segmental]")[2]
