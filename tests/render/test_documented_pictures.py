"""The pictures of structures in docs are what the commands under them draw."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hyperspan.cli import make_app
from tests.experiments.support import figures

DOCS = Path(__file__).parents[2] / "docs"
DRAWN = re.compile(r"^\$ (?:hyperspan (?=draw )|python -m experiments\.)((?:\\\n|[^\n])*)", re.MULTILINE)
COMMANDS = [
    words
    for page in sorted(DOCS.rglob("*.md"))
    for command in DRAWN.findall(page.read_text(encoding="utf-8"))
    for words in [shlex.split(command.replace("\\\n", ""), comments=True)]
    if (DOCS / "images" / words[-1]).is_file()
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[-1])
def test_picture_is_what_its_command_draws(words: list[str], tmp_path: Path) -> None:
    command, *arguments, name = words
    if command == "figures":
        assert not figures(*arguments, str(tmp_path / name)).returncode
    else:
        done = CliRunner().invoke(make_app(), [command, *arguments, str(tmp_path / name)])
        assert done.exit_code == 0, done.output
    drawn = (DOCS / "images" / name).read_text(encoding="utf-8")
    assert (tmp_path / name).read_text(encoding="utf-8") == drawn
    assert '<rect width="100%" height="100%" fill="white"/>' in drawn  # readable on dark pages


def test_pictures_are_found() -> None:
    assert len(COMMANDS) >= 10 and {words[0] for words in COMMANDS} == {"draw", "figures"}
