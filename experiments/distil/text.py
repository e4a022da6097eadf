"""Split unlabelled text into sentences and tokens once, for teachers and students: a sentence a line, tokens between
spaces, and a blank line between documents.
"""

from __future__ import annotations

import lzma
import random
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from experiments.cli import Output, run_command
from hyperspan import Sentence
from hyperspan.cli.options import Seed
from hyperspan.errors import InputError
from hyperspan.files import open_text
from hyperspan.text.sentences import iter_sentences, with_context
from hyperspan.text.tokens import Tokenizer

LONGEST, SHORTEST = 60, 4
"""Words of the longest and the shortest sentence: tables and headings teach little."""


def documents_of(path: Path) -> Iterator[list[str]]:
    """The lines of each document of a file of text."""
    with open_text(path) as lines:
        for written, document in groupby(lines, lambda line: not line.isspace()):
            if written:
                yield [line.rstrip("\n") for line in document]


def chosen(path: Path, words: int, chance: random.Random) -> list[list[str]]:
    """Documents of a file by chance, of about so many words."""
    documents = list(documents_of(path))
    chance.shuffle(documents)
    found, count = list[list[str]](), 0
    for document in documents:
        if count >= words:
            break
        found.append(document)
        count += sum(line.count(" ") + 1 for line in document)
    return found


def read_split(path: Path, context: int) -> Iterator[Sentence]:
    """The sentences of a file that `split` wrote, with so many words of context, without long and short ones."""
    for document in documents_of(path):
        sentences = [Sentence(line.split(" ")) for line in document]
        for sentence in with_context(sentences, context):
            if SHORTEST <= len(sentence) <= LONGEST:
                yield sentence


def parts_of(given: Sequence[str]) -> list[tuple[Path, int]]:
    """Files and words of arguments such as text.txt.xz=2000000."""
    parts = [one.rpartition("=") for one in given]
    if wrong := [one for one, (path, _, words) in zip(given, parts, strict=True) if not path or not words.isdigit()]:
        raise InputError(f"{wrong[0]} names no file and words; write it as text.txt.xz=2000000")
    return [(Path(path), int(words)) for path, _, words in parts]


def split(
    texts: Annotated[list[str], typer.Argument(metavar="FILE=WORDS", help="How many words of which file of text.")],
    output: Output,
    tokenizer: Annotated[str, typer.Option(help="The model.tokenizer of the models.")] = "words",
    seed: Seed = 1,
) -> None:
    """Split unlabelled text into sentences and tokens.

    Example: python -m experiments.distil.text wikipedia.txt.xz=8000000 -o data/english.txt.xz
    """
    chance, cut = random.Random(seed), Tokenizer(tokenizer)
    documents = [document for path, words in parts_of(texts) for document in chosen(path, words, chance)]
    chance.shuffle(documents)
    part = output.with_name(f"{output.name}.part")  # what is half written is never taken for finished
    with lzma.open(part, "wt", encoding="utf-8", preset=6) as file:
        for document in documents:
            for line in document:
                file.writelines(" ".join(one.tokens) + "\n" for one in iter_sentences(line, cut))
            file.write("\n")
    part.rename(output)


if __name__ == "__main__":
    run_command(split, "experiments.distil.text")
