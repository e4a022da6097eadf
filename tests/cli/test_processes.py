"""Each command in a process of its own: with the streams of the system, and without what tests have imported, it says
what `call` answers in this process, as other tests use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hyperspan.cli import COMMANDS
from hyperspan.corpora.examples import example_path
from tests.support.models import TEXT
from tests.support.process import call, hyperspan

pytestmark = pytest.mark.xdist_group("forked")  # one worker imports what such processes need
HARBOUR = str(example_path("harbour"))
LINES: dict[str, tuple[str, str]] = {
    "annotate": ("- -m genia -f jsonl", TEXT),
    "bulk": (f"{HARBOUR} -m genia -o out --from lines", ""),
    "compare": (f"- {HARBOUR} --gold {HARBOUR} --samples 5 --json", Path(HARBOUR).read_text("utf-8")),
    "convert": ("- - --format columns", "Red cells grow .\nJJ NNS VBP .\n0,2 G#cell_type\n\n"),
    "curve": ("nonsense", ""),
    "draw": ("- --mention 0:3:PER", "Israeli UN Ambassador Danny"),
    "evaluate": (f"{HARBOUR} -p {HARBOUR} --json --samples 0", ""),
    "info": ("genia --json", ""),
    "init": ("--example", ""),
    "label": ("a.txt -o d.html", ""),
    "model": ("weights -m genia", ""),
    "serve": ("--port x", ""),
    "suggest": ("-m genia --budget-words 10", TEXT),
    "train": ("nonsense", ""),
    "view": (f"{HARBOUR} --stats", ""),
}
"""By command, what is given and what is typed; commands that take long are tried with a mistake."""


@pytest.mark.parametrize("name", COMMANDS)
def test_command_answers_the_same_in_a_process_of_its_own(name: str, tmp_path: Path) -> None:
    arguments, stdin = LINES[name]
    answers: list[tuple[int, str, str]] = []
    for number, run in enumerate((hyperspan, call)):
        (folder := tmp_path / str(number)).mkdir()
        done = run(name, *arguments.split(), stdin=stdin, cwd=folder)
        answers.append((done.returncode, done.stdout, done.stderr))
    assert answers[0] == answers[1] and answers[0][1] + answers[0][2]
