"""How good and how fast sentence splitting is.

The text is GUM's dev and test sets: 15 genres, a paragraph a line, with gold sentences. F1 is of the positions where
sentences start, by genre. "Wrapped" is the same text wrapped at 72 columns. Splitters that are installed are compared,
by lines unless the name says otherwise: ``pip install blingfire nupunkt pysbd sentencex syntok``.

With --models: F1 of the bundled models on running text made of the test sets of GENIA and LitBank, with the sentences
of each splitter.
"""

from __future__ import annotations

import importlib
import re
import sys
import textwrap
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any

import typer

import hyperspan
from experiments.cli import DATA_DIR, DataDir, run_module
from experiments.speed.texts import running_texts
from hyperspan.corpora import read_corpus
from hyperspan.errors import InputError
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


def run(
    data_dir: DataDir = DATA_DIR,
    models: Annotated[bool, typer.Option("--models", help="Also the F1 of the bundled models.")] = False,
) -> dict[str, Any]:
    needed = ["gum/dev.jsonl.gz", "gum/test.jsonl.gz", *(MODELS.values() if models else ())]
    if absent := [name for name in needed if not (data_dir / name).is_file()]:
        raise InputError(f"{data_dir} has no {', '.join(absent)}; name the folder of the corpora with --data-dir")
    corpus = [document for part in ("dev", "test") for document in read_corpus(data_dir / "gum" / f"{part}.jsonl.gz")]
    rows: dict[str, dict[str, Any]] = {}
    for name, splitter in splitters().items():
        row: dict[str, Any] = {}
        for kind, change in (("as it is", str), ("wrapped", wrapped)):
            genres = f1_by_genre(splitter, corpus, change)
            lowest = min(genres, key=lambda genre: genres[genre])
            row[kind] = {"mean": sum(genres.values()) / len(genres), "lowest": lowest, "genres": genres}
        row["million characters a second"] = million_characters_a_second(splitter, corpus)
        for model, file in MODELS.items() if models else ():
            row[f"F1 of {model}"] = 100 * model_f1(model, splitter, running_texts(data_dir / file))
        rows[name] = row
    return rows


def table(rows: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The figures as Markdown."""
    models = [key for key in next(iter(rows.values())) if key.startswith("F1")]
    header = ("splitter", "mean", "lowest genre", "wrapped", "lowest genre", "M characters/s", *models)
    yield f"| {' | '.join(header)} |"
    yield f"|---|{'---:|' * (len(header) - 1)}"
    for name, row in rows.items():
        cells = [
            cell
            for kind in (row["as it is"], row["wrapped"])
            for cell in (f"{kind['mean']:.3f}", f"{kind['lowest']} {kind['genres'][kind['lowest']]:.2f}")
        ]
        cells += [f"{row[key]:.2f}" for key in ("million characters a second", *models)]
        yield f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    run_module(sys.modules[__name__], "experiments.splitters")
