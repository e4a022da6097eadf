"""The same code makes the same of all inputs, and a changed line shows up where it belongs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal

import pytest

from hyperspan.corpora import FORMATS
from tests.fuzz.differential.__main__ import report
from tests.fuzz.differential.compare import (
    ROOT,
    Difference,
    Intended,
    compare,
    explain,
    read_intended,
    shown,
    source_of,
)
from tests.fuzz.differential.inputs import OPTIONS, Material, draw
from tests.fuzz.differential.material import make_material

INPUTS, SEED = 60, 8
"""With this seed, none of the first inputs needs spaCy, whose import takes longer than all of them."""
CHANGES = {
    "tables.py": ('"text", "label", "probability")', '"text", "type", "probability")'),
    "source.py": ('raise CorpusError(f"{place}: {what}")', 'raise CorpusError(f"{place}, {what}")'),
}
"""What another checkout has in other words: a writer, and the message of every invalid record."""


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("other")
    ignored = shutil.ignore_patterns("pretrained", "__pycache__", "static")
    shutil.copytree(ROOT / "src/hyperspan", folder / "src/hyperspan", ignore=ignored)
    for name, (old, new) in CHANGES.items():
        changed = folder / "src/hyperspan/corpora" / name
        before = changed.read_text(encoding="utf-8")
        assert before.count(old) == 1, f"{name} has no longer {old!r} once: change another line here"
        changed.write_text(before.replace(old, new), encoding="utf-8")
    return folder


@pytest.mark.slow
def test_the_same_code_is_equal(capsys: pytest.CaptureFixture[str]) -> None:
    result = compare(ROOT, INPUTS, SEED)
    assert result.inputs == INPUTS and not result.different
    assert report(result, SEED, ROOT) == 0
    assert capsys.readouterr().out.endswith(f"{INPUTS} inputs with seed {SEED}, of which 0 differ\n")


def test_a_changed_writer_and_a_changed_message_are_noticed(other: Path, capsys: pytest.CaptureFixture[str]) -> None:
    material = make_material(SEED)
    drawn = [draw(material, SEED, index) for index in range(INPUTS)]
    assert not any("docbin" in (one.read_as, one.write_as) for one in drawn), "it needs spaCy: choose another seed"
    result = compare(other, INPUTS, SEED)
    found = {(one.kind, one.part) for one in result.found}
    assert {part for _, part in found} == {"written", "errors"}
    assert {kind for kind, part in found if part == "written"} == {"write csv", "write tsv"}
    assert report(result, SEED, other) == 1
    said = capsys.readouterr().out
    assert said.index("write csv, written") < said.index("messages:") < said.index(", errors:")
    first = next(one for one in result.found if one.part == "written")
    assert f"--index {first.index}" in said
    assert first in explain(other, first.index, SEED)
    assert "written, different" in capsys.readouterr().out

    reasons = [
        Intended("another title", "write ?sv", "written", says="type"),
        Intended("a comma", part="errors", says=", "),
    ]
    result.set_aside([*reasons, Intended("nothing", "read zoo")])
    assert [times > 0 for times in result.intended.values()] == [True, True, False]
    assert report(result, SEED, other) == 0
    assert "0 times nothing; is it still needed?" in capsys.readouterr().out


def test_a_pattern_covers_input_part_and_words() -> None:
    found = Difference(1, "read brat", "documents", ("- Ada", "+ Bob"))
    assert Intended("all").covers(found) and Intended("", "read *", "doc*", "Bob").covers(found)
    assert not any(
        one.covers(found) for one in (Intended("", "write *"), Intended("", part="w*"), Intended("", says="C"))
    )
    assert all(one.reason for one in read_intended())


def test_long_lines_are_shown_from_where_they_differ() -> None:
    first, second = shown([f'- "{"same " * 100}one"', f'+ "{"same " * 100}two"'])
    assert "one" in first and "two" in second and max(len(first), len(second)) <= 160
    assert shown(["+a"] * 9, most=2) == ["+ a", "+ a", "  … and 7 lines more"]


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="is no checkout of hyperspan"):
        source_of(tmp_path)


@pytest.mark.parametrize("verb", ["read", "write"])
def test_every_option_of_a_format_is_drawn(verb: Literal["read", "write"]) -> None:
    for name, entry in FORMATS.built_in.items():
        if entry.reads if verb == "read" else entry.write is not None:
            known = entry.options(verb)
            assert known.keys() == set(OPTIONS[verb].get(name, ())), f"OPTIONS must name all options to {verb} {name}"


def test_a_seed_and_an_index_decide(tmp_path: Path) -> None:
    material = make_material(1)
    material.save(tmp_path / "material.json")
    assert Material.load(tmp_path / "material.json") == material == make_material(1)
    drawn = [[draw(material, seed, index) for index in range(200)] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert {one.kind.split()[0] for one in drawn[0]} == {"read", "write", "detect", "archive"}
    assert {one.write_as for one in drawn[0]} >= {"brat", "conll2003", "jsonl", None}
