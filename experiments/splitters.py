"""How good and how fast sentence splitting is: ``python -m experiments.splitters [--data FOLDER] [--models]``.

The text is GUM's dev and test sets: 15 genres, a paragraph a line, with gold sentences. F1 is of the positions where
sentences start, by genre. "Wrapped" is the same text wrapped at 72 columns. Splitters that are installed are compared,
by lines unless the name says otherwise: ``pip install blingfire nupunkt pysbd sentencex syntok``.

With --models: F1 of the bundled models on running text made of the test sets of GENIA and LitBank, with the sentences
of each splitter.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
import textwrap
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import hyperspan
from experiments.speed.texts import running_texts
from hyperspan.corpora import read_corpus
from hyperspan.text import tokenize
from hyperspan.text.sentences import sentence_spans
from hyperspan.types import Document, Sentence, Span

MODELS = {"genia": "genia/test.data", "litbank": "litbank/test.data.gz"}
Splitter = Callable[[str], Iterable[Span]]


# -- splitters ------------------------------------------------------------------------------------------------


def by_line(splitter: Splitter) -> Splitter:
    def split(text: str) -> Iterator[Span]:
        for line in re.finditer(r"[^\n]+", text):
            if line[0].strip():
                yield from ((line.start() + start, line.start() + end) for start, end in splitter(line[0]))

    return split


def from_strings(strings: Callable[[str], Iterable[str]]) -> Splitter:
    """For splitters that return sentences without saying where they are."""

    def split(text: str) -> Iterator[Span]:
        end = 0
        for sentence in filter(None, (string.strip() for string in strings(text))):
            start = text.index(sentence, end)
            end = start + len(sentence)
            yield start, end

    return split


def splitters() -> dict[str, Splitter]:
    """hyperspan's and those of others that are installed, by name."""

    def sentencex(module: Any) -> dict[str, Splitter]:
        split = from_strings(lambda text: (part["text"] for part in module.get_sentence_boundaries("en", text)))
        return {"sentencex, whole text": split, "sentencex": by_line(split)}

    def blingfire(module: Any) -> dict[str, Splitter]:
        return {"blingfire": by_line(lambda text: module.text_to_sentences_and_offsets(text)[1])}

    def syntok(module: Any) -> dict[str, Splitter]:
        def split(text: str) -> Iterator[Span]:
            for paragraph in module.process(text):
                for tokens in paragraph:
                    yield tokens[0].offset, tokens[-1].offset + len(tokens[-1].value)

        return {"syntok": by_line(split)}

    def nupunkt(module: Any) -> dict[str, Splitter]:
        return {"nupunkt": by_line(from_strings(module.sent_tokenize))}

    def pysbd(module: Any) -> dict[str, Splitter]:
        segmenter = module.Segmenter(language="en", clean=False)
        return {"pysbd": by_line(from_strings(segmenter.segment))}

    found: dict[str, Splitter] = {"hyperspan": sentence_spans}
    for name, make in (
        ("sentencex", sentencex),
        ("blingfire", blingfire),
        ("syntok.segmenter", syntok),
        ("nupunkt", nupunkt),
        ("pysbd", pysbd),
    ):
        try:
            found |= make(importlib.import_module(name))
        except ModuleNotFoundError:
            package = name.partition(".")[0]
            print(f"{package} is not installed and is left out; pip install {package} to compare it", file=sys.stderr)
    return found


# -- sentences of GUM -----------------------------------------------------------------------------------------


def wrapped(text: str, width: int = 72) -> str:
    return "\n".join(textwrap.fill(line, width, break_long_words=False) for line in text.split("\n"))


def visible(text: str, positions: Iterable[int]) -> set[int]:
    """Positions, counted in characters that are no white space: those do not move when text is wrapped."""
    wanted, counted, result = set(positions), 0, set()
    for position, character in enumerate(text):
        if not character.isspace():
            if position in wanted:
                result.add(counted)
            counted += 1
    return result


def starts(text: str, spans: Iterable[Span]) -> set[int]:
    found = (start + len(text[start:end]) - len(text[start:end].lstrip()) for start, end in spans)
    return visible(text, found)


def f1_by_genre(splitter: Splitter, documents: Sequence[Document], change: Callable[[str], str]) -> dict[str, float]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for document in documents:
        gold = visible(document.text, (sentence.offsets[0][0] for sentence in document.sentences))
        text = change(document.text)
        found = starts(text, splitter(text))
        for index, number in enumerate((len(found & gold), len(found), len(gold))):
            counts[document.metadata["genre"]][index] += number
    return {genre: 2 * right / (found + gold) for genre, (right, found, gold) in sorted(counts.items())}


def million_characters_a_second(splitter: Splitter, documents: Sequence[Document]) -> float:
    began = time.process_time()
    for document in documents:
        for _ in splitter(document.text):
            pass
    return sum(len(document.text) for document in documents) / (time.process_time() - began) / 1e6


# -- bundled models on running text ---------------------------------------------------------------------------


def model_f1(name: str, splitter: Splitter, documents: Sequence[Document]) -> float:
    annotator = hyperspan.load(name)
    right = found = gold = 0
    for document in documents:
        tokens = (
            [(start + a, start + b) for a, b in tokenize(document.text[start:end], annotator.model.tokenizer)]
            for start, end in splitter(document.text)
        )
        sentences = [Sentence([document.text[a:b] for a, b in spans], offsets=spans) for spans in tokens if spans]
        predicted = annotator(Document(document.text, sentences=sentences)).mentions
        one, other = ({(m.start, m.end, m.label) for m in mentions} for mentions in (predicted, document.mentions))
        right, found, gold = right + len(one & other), found + len(one), gold + len(other)
    return 2 * right / (found + gold)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder with gum/, genia/ and litbank/")
    parser.add_argument("--models", action="store_true", help="also the F1 of the bundled models")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    needed = ["gum/dev.jsonl.gz", "gum/test.jsonl.gz", *(MODELS.values() if given.models else ())]
    if absent := [name for name in needed if not (given.data / name).is_file()]:
        parser.error(f"{given.data} has no {', '.join(absent)}; name the folder of the corpora with --data")
    corpus = [document for part in ("dev", "test") for document in read_corpus(given.data / "gum" / f"{part}.jsonl.gz")]
    rows: dict[str, dict[str, Any]] = {}
    for name, splitter in splitters().items():
        row: dict[str, Any] = {}
        for kind, change in (("as it is", str), ("wrapped", wrapped)):
            genres = f1_by_genre(splitter, corpus, change)
            lowest = min(genres, key=lambda genre: genres[genre])
            row[kind] = {"mean": sum(genres.values()) / len(genres), "lowest": lowest, "genres": genres}
        row["million characters a second"] = million_characters_a_second(splitter, corpus)
        if given.models:
            for model, file in MODELS.items():
                row[f"F1 of {model}"] = 100 * model_f1(model, splitter, running_texts(given.data / file))
        rows[name] = row
    if given.json:
        print(json.dumps(rows, indent=2))
    else:
        Console().print(table_of(rows))


def table_of(rows: dict[str, dict[str, Any]]) -> Table:
    table = Table("splitter", "mean", "lowest genre", "wrapped", "lowest genre", "M characters/s")
    models = [key for key in next(iter(rows.values())) if key.startswith("F1")]
    for model in models:
        table.add_column(model)
    for name, row in rows.items():
        cells = [
            cell
            for kind in (row["as it is"], row["wrapped"])
            for cell in (f"{kind['mean']:.3f}", f"{kind['lowest']} {kind['genres'][kind['lowest']]:.2f}")
        ]
        speed = f"{row['million characters a second']:.2f}"
        table.add_row(name, *cells, speed, *(f"{row[model]:.2f}" for model in models))
    return table


if __name__ == "__main__":
    main()
