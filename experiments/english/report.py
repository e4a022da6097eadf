"""How good `english` is beyond GUM: names, lower case and capitals, texts of numbers and tables.

- Names of web text, tweets and Wikipedia, on the dev parts of the names corpora. A name counts as found if a mention of
  its type ends where the name ends and begins at or before its start: without `--names`, with it, or in one of the two.
- F1 on GUM dev as it is written, in lower case and in capitals, and the same for names.
- The held texts of `experiments.english.plain`: wrong mentions above 0.8, and how many times and dates are found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from experiments.cli import DATA_DIR, DataDir, run_command
from hyperspan import Document, Mention, Sentence, load
from hyperspan.evaluation.counts import Score
from hyperspan.evaluation.tables import Section, print_sections
from hyperspan.runtime.annotator import Annotator
from hyperspan.training.data import read_sentences

from .plain import documents

NAMES = ("uner", "crossner", "btc", "wnut17", "tweebank")
TYPES = ("person", "place", "organization")
SURE = 0.8
"""A wrong mention of this probability or more misleads."""
CASES: dict[str, Callable[[str], str]] = {"as written": str, "lower case": str.lower, "capitals": str.upper}


def found_by(annotator: Annotator, sentences: Sequence[Sentence], case: Callable[[str], str] = str) -> list[Sentence]:
    """What a model finds in sentences, in another case."""
    return list(annotator.recognize(Sentence([case(token) for token in sentence.tokens]) for sentence in sentences))


def of_names(annotator: Annotator, sentences: Sequence[Sentence], case: Callable[[str], str] = str) -> list[Sentence]:
    """The names that a model finds, where it marks them."""
    named = (Sentence([case(token) for token in sentence.tokens]) for sentence in sentences)
    return list(annotator.recognize(named, names=True))


def ends_with(name: Mention, found: Iterable[Mention]) -> bool:
    """Whether a mention of its type ends where a name ends, and begins at or before its start.

    >>> ends_with(Mention(1, 3, "place"), [Mention(0, 3, "place")])
    True
    """
    return any(name.end == one.end and one.start <= name.start and one.label == name.label for one in found)


def score(gold: Sequence[Sentence], found: Sequence[Sentence]) -> Score:
    pairs = list(zip(gold, found, strict=True))
    right = sum(len(one.mentions & other.mentions) for one, other in pairs)
    return Score(right, sum(len(other.mentions) for _, other in pairs), sum(len(one.mentions) for one, _ in pairs))


def both(one: Sentence, other: Sentence) -> Sentence:
    return Sentence(one.tokens, one.mentions | other.mentions)


def shares_found(gold: Sequence[Sentence], found: Sequence[Sentence]) -> dict[str, float]:
    """The share of the names of each type that are found."""
    every, right = Counter[str](), Counter[str]()
    for sentence, other in zip(gold, found, strict=True):
        for name in sentence.mentions:
            every[name.label] += 1
            right[name.label] += ends_with(name, other.mentions)
    return {label: right[label] / every[label] for label in every}


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def names_section(annotator: Annotator, folder: Path) -> Section:
    rows = []
    for corpus in NAMES:
        gold = read_sentences(str(folder / "names" / f"{corpus}.dev.jsonl.gz"))
        found, named = found_by(annotator, gold), of_names(annotator, gold)
        answers = (found, named, [both(*pair) for pair in zip(found, named, strict=True)])
        shares = [shares_found(gold, answer) for answer in answers]
        alone = score(gold, named)
        by_type = [" / ".join(percent(share[label]) for share in shares) for label in TYPES]
        rows.append([corpus, *by_type, percent(alone.precision), percent(alone.recall), percent(alone.f1)])
    header = ("dev", *(f"{label} found" for label in TYPES), "names: P", "R", "F1")
    return Section(
        "Names",
        header,
        rows,
        "found: without --names / with it / by one of the two; P, R, F1: of names alone, exact spans",
    )


def cases_section(annotator: Annotator, folder: Path) -> Section:
    gum = read_sentences(str(folder / "gum" / "dev.jsonl.gz"))
    uner = read_sentences(str(folder / "names" / "uner.dev.jsonl.gz"))
    rows = [
        [
            name,
            percent(score(gum, found_by(annotator, gum, case)).f1),
            percent(score(uner, of_names(annotator, uner, case)).f1),
        ]
        for name, case in CASES.items()
    ]
    return Section("Case", ("", "F1 on GUM dev", "F1 of names on UNER dev"), rows)


def plain_section(annotator: Annotator, gold: Sequence[Document]) -> Section:
    wrong: list[str] = []
    times = found_times = 0
    for document in gold:
        known = {(mention.start, mention.end, mention.label) for mention in document.mentions}
        found = annotator(document.text).mentions
        spans = {(mention.start, mention.end, mention.label) for mention in found}
        times += sum(label == "time" for *_, label in known)
        found_times += sum(label == "time" for *_, label in known & spans)
        wrong += [
            f"{document.text[mention.start : mention.end]!r} {mention.label} {mention.probability:.2f}"
            for mention in found
            if (mention.probability or 0) >= SURE and (mention.start, mention.end, mention.label) not in known
        ]
    rows = [["texts", str(len(gold))], [f"wrong mentions of {SURE} or more", str(len(wrong))]]
    rows += [["times", str(times)], ["… found", str(found_times)], *([f"  {one}", ""] for one in wrong)]
    return Section("Numbers, tables, addresses", ("", ""), rows)


def report(
    model: Annotated[str, typer.Argument(help="A bundled model, or the folder of a model.")],
    data_dir: DataDir = DATA_DIR,
) -> None:
    """Say how good `english` is beyond GUM; the folder of corpora has gum and names."""
    annotator = load(model)
    plain = plain_section(annotator, list(documents("held")))
    print_sections([names_section(annotator, data_dir), cases_section(annotator, data_dir), plain], markdown=True)


if __name__ == "__main__":
    run_command(report, "experiments.english.report")
