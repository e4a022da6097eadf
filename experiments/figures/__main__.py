"""Draw the structure of a sentence, with the hyperpath of its mentions, for the docs.

python -m experiments.figures tree "A B C D" -m 1:3:X -m 0:4:X --show path -o docs/images/structure-tree.svg
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import islice

from experiments.figures import FIGURES, draw_figure
from experiments.figures.readings import other_readings
from hyperspan.cli.draw import write_picture
from hyperspan.cli.options import parse_mention, split_names
from hyperspan.errors import HyperspanError
from hyperspan.files import Target
from hyperspan.types import Mention

READINGS = 8
"""How many other mention sets of the same hyperpath are listed; there may be thousands."""


def main(arguments: Sequence[str] | None = None) -> None:
    given = _parser().parse_args(arguments)
    try:
        words, mentions = given.text.split(), [parse_mention(written) for written in given.mention]
        types = split_names(given.types) or None
        picture = draw_figure(given.structure, words, mentions, types=types, max_width=given.max_width, show=given.show)
        write_picture(picture, Target(given.output, given.force))
    except HyperspanError as error:
        sys.exit(_fail(str(error)))
    except OSError as error:
        sys.exit(_fail(f"{error.filename}: {error.strerror}"))
    if given.output != "-":
        print(f"wrote {given.output}", file=sys.stderr)
    if given.show != "graph" and FIGURES[given.structure].is_ambiguous:
        _list_readings(words, mentions)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.figures",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("structure", help=f"one of {', '.join(FIGURES)}")
    parser.add_argument("text", help="the sentence, with spaces between words")
    mention_help = "a mention at words START to END (END exclusive, from 0); repeat for more"
    parser.add_argument("-m", "--mention", action="append", default=[], metavar="START:END:LABEL", help=mention_help)
    types_help = "the mention types, repeated or separated by commas; by default the labels of the mentions"
    parser.add_argument("-t", "--types", action="append", help=types_help)
    parser.add_argument("-c", "--max-width", type=int, help="maximum mention width in words; by default no limit")
    parser.add_argument("--show", choices=["both", "graph", "path"], default="both", help="what to draw")
    parser.add_argument("-o", "--output", default="-", help="the .svg, .png or .pdf file; by default standard output")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    return parser


def _fail(sentence: str) -> int:
    print(f"experiments.figures: {sentence}", file=sys.stderr)
    return 2


def _list_readings(words: Sequence[str], mentions: Sequence[Mention]) -> None:
    """Print the other mention sets of the same hyperpath, if any, on standard error."""
    found = list(islice(other_readings(mentions), READINGS + 1))
    if found:
        print("the same hyperpath also stands for these mention sets:", file=sys.stderr)
    for name, others in found[:READINGS]:
        listed = ", ".join(f"{' '.join(words[m.start : m.end])} ({m.start}:{m.end}:{m.label})" for m in others)
        print(f"{name:>8}: {listed}", file=sys.stderr)
    if len(found) > READINGS:
        print(f"{'':>8}  and more", file=sys.stderr)


if __name__ == "__main__":
    main()
