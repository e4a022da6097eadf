"""`hyperspan draw` as a user drives it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.process import call as hyperspan

MENTIONS = ["--mention", "0:3:PER", "--mention", "0:4:PER", "--mention", "1:2:ORG"]
SENTENCE = "Israeli UN Ambassador Danny"


def test_writes_a_file_and_refuses_to_overwrite_it(tmp_path: Path) -> None:
    target = tmp_path / "out.svg"
    first = hyperspan("draw", SENTENCE, *MENTIONS, "-o", str(target))
    assert (first.returncode, first.stdout) == (0, "") and first.stderr == f"hyperspan: wrote {target}\n"
    drawn = target.read_text(encoding="utf-8")
    assert ET.fromstring(drawn).tag.endswith("svg")
    again = hyperspan("draw", "other words", "--labels", "X", "-o", str(target))
    assert again.returncode == 2 and "exists" in again.stderr and "--force" in again.stderr
    assert target.read_text(encoding="utf-8") == drawn
    assert hyperspan("draw", "other words", "--labels", "X", "-o", str(target), "--force").returncode == 0
    assert target.read_text(encoding="utf-8") != drawn
    assert [path.name for path in tmp_path.iterdir()] == ["out.svg"]


@pytest.mark.parametrize(("name", "begins"), [("out.png", b"\x89PNG"), ("out.PDF", b"%PDF-")])
def test_writes_png_and_pdf(tmp_path: Path, name: str, begins: bytes) -> None:
    result = hyperspan("draw", SENTENCE, *MENTIONS, "-o", name, cwd=tmp_path)
    if find_spec("cairosvg") is None:
        assert result.returncode == 2 and 'pip install "hyperspan[pictures]"' in result.stderr
        assert not list(tmp_path.iterdir())
    else:
        assert result.returncode == 0 and (tmp_path / name).read_bytes().startswith(begins)


def test_draws_discontinuous_mentions_in_their_structure_alone() -> None:
    drawn = hyperspan("draw", "left and right ventricle", "--mention", "0:1,3:4:part")
    assert drawn.returncode == 0 and "left … ventricle (part)" in drawn.stdout


def test_reads_standard_input_and_writes_standard_output() -> None:
    result = hyperspan("draw", "-", *MENTIONS, stdin=SENTENCE)
    assert result.returncode == 0 and result.stderr == ""
    assert result.stdout == hyperspan("draw", SENTENCE, *MENTIONS).stdout


def test_version_and_help() -> None:
    assert hyperspan("--version").stdout.startswith("hyperspan ")
    assert "draw" in hyperspan("--help").stdout
    assert hyperspan().returncode == 2 and "draw" in hyperspan().stdout
    assert "No such command 'nonsense'" in hyperspan("nonsense").stderr


def test_links_stay_links_and_text_may_hold_anything(tmp_path: Path) -> None:
    real, link = tmp_path / "real.svg", tmp_path / "link.svg"
    link.symlink_to(real)
    assert (
        hyperspan(
            "draw", "a\x01b \N{PILE OF POO} 東京都", "--mention", "1:3:X", "--labels", "X, Y", "-o", str(link)
        ).returncode
        == 0
    )
    assert link.is_symlink() and ET.parse(real).getroot().tag.endswith("svg")
    assert hyperspan("draw", "a", "--labels", "X", "-o", "/dev/null").returncode == 0
