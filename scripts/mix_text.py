"""Mixes files of unlabelled text, for distillation.text: every epoch then reads something of all of them.

    python scripts/mix_text.py data/english.txt.xz augmented.txt.xz --longest 5 | xz > data/english/mixed.txt.xz

Lines are cut into parts of a few sentences, and the parts are shuffled. A blank line ends each of them.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from hyperspan.files import open_text
from hyperspan.text.sentences import sentence_spans


def parts(path: str, longest: int) -> list[str]:
    """The text of a file, a few consecutive sentences of a line at a time."""
    with open_text(Path(path)) as file:
        lines = [" ".join(line.split()) for line in file]
    found: list[str] = []
    for line in lines:
        spans = list(sentence_spans(line))
        found += [line[spans[i][0] : spans[i : i + longest][-1][1]] for i in range(0, len(spans), longest)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", help="files of text (.txt, .txt.gz, .txt.xz)")
    parser.add_argument("--longest", type=int, default=5, help="sentences of a part")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    mixed = [part for path in given.texts for part in parts(path, given.longest)]
    random.Random(given.seed).shuffle(mixed)
    for part in mixed:
        print(f"{part}\n")


if __name__ == "__main__":
    main()
