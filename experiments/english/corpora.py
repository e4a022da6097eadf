"""Corpora for the bundled model `english`: names with labels of their own, and copies in lower case and capitals.

The folder of corpora holds `gum`, `amalgum` and `names` (JSON Lines, and four lines a sentence). The output gets:

- `names.jsonl.gz`: sentences of the names corpora. Names have the labels `person-name`, `place-name` and
  `organization-name`, and all of them are annotated. A name that surely is a whole noun phrase is a sure mention of its
  type, too; the other mentions of the ten types are unknown.
- `names-sure.jsonl.gz`: sentences whose names are sure, and that may have more of them.
- `cases.jsonl.gz`: sentences of GUM's free genres, of AMALGUM and of the names, in lower case or in capitals.
- `gum.jsonl.gz`: GUM's free genres, without e-mail and web addresses as mentions. Mentions that are all proper nouns
  are names, too.
- `silver.jsonl.gz`: passages of AMALGUM.
- `fiction.txt.xz`: text of it for the student `litbank`, fiction first, as `experiments.distil.text` writes it.
- `names-some.jsonl.gz`: some sentences with names, for the last step of `english`.
- `dates.jsonl.gz`: sentences of AMALGUM with dates as numbers, such as 2012-05-23.
- `names.dev.jsonl.gz`: web sentences of UNER with all their names, to choose the epoch and to calibrate by.
"""

from __future__ import annotations

import lzma
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from attrs import evolve

from experiments.cli import DATA_DIR, DataDir, Output, run_command
from hyperspan import AnnotationScope, Document, Mention, Sentence, write_corpus
from hyperspan.cli.options import Seed
from hyperspan.corpora.documents import document_of
from hyperspan.training.data import read_sentences, read_texts

TYPES = ("person", "place", "organization")
COMPLETE = ("crossner", "btc", "wnut17", "wikigold", "fewnerd", "redocred", "tweebank", "multiconer2")
"""The names corpora in which every name is annotated."""
SURE = ("fewnerd_partial",)
"""The names corpora that list some of their names."""
LARGEST = 16_000
"""So many sentences of a corpus are taken at most."""
BEFORE = frozenset(
    ", . : ; ( ) \" '' `` ! ? - -- – — / in on at of to from by with for and or but as that than about between against "
    "into near after before during under over is was are were be been said says told met left joined visited via".split()
)
AFTER = frozenset(
    ", . : ; ) ( \" '' `` ! ? - -- – — / in on at of to from by with for and or but as that than is was are were has had "
    "have will would said says can could did does who which when where after before during while because if".split()
)
"""Between such words a name is most likely a whole noun phrase."""
MONTHS: Sequence[str] = "January February March April May June July August September October November December".split()
_MONTH = "|".join(MONTHS)
DATE = re.compile(
    rf"(?P<month>{_MONTH}) (?P<day>\d{{1,2}}) , (?P<year>[12]\d{{3}})|"
    rf"(?P<other_day>\d{{1,2}}) (?P<other_month>{_MONTH}) (?P<other_year>[12]\d{{3}})"
)
NUMBERED = (
    *["{year}-{month:02}-{day:02}"] * 4,
    "{year}-{month:02}-{day:02}T08:30",
    "{day:02}.{month:02}.{year}",
    "{day:02}/{month:02}/{year}",
    "{day}/{month}",
)
"""How dates are written as numbers, ISO 8601 most often."""
ADDRESS = re.compile(r"\S+@\S+\.\S+|(?:https?:|www\.)\S*")
"""E-mail and web addresses, which are no mentions here."""
DATES = 3_000
"""So many sentences with dates as numbers are written at most."""
SILVER = 90_000
"""So many sentences of AMALGUM are taken, in passages of `PASSAGE` sentences."""
PASSAGE = 30
SOME_NAMES = 9_000
FICTION = ("fiction", "interview", "bio", "voyage")
CASES = {"gum": 1.0, "amalgum": 0.08, "names": 0.15}
"""The share of the sentences of each source that is copied in lower case or in capitals."""


def name_label(label: str) -> str:
    return f"{label}-name"


def is_whole(tokens: Sequence[str], mention: Mention) -> bool:
    """Whether a name is most likely a noun phrase by itself.

    >>> tokens = "He left Apple in 2011 , and the Oslo office .".split()
    >>> is_whole(tokens, Mention(2, 3, "organization")), is_whole(tokens, Mention(8, 9, "place"))
    (True, False)
    """
    before = tokens[mention.start - 1].lower() if mention.start else "."
    after = tokens[mention.end].lower() if mention.end < len(tokens) else "."
    return before in BEFORE and after in AFTER


def with_names(sentence: Sentence, complete: bool) -> Sentence:
    """Its names with labels of their own, and as sure mentions of their types."""
    sure = [mention for mention in sentence.mentions if is_whole(sentence.tokens, mention)]
    scope = AnnotationScope(types=map(name_label, TYPES) if complete else ())
    return Sentence(sentence.tokens, [*names_in(sentence), *sure], annotated=scope)


def names_in(sentence: Sentence) -> list[Mention]:
    return [evolve(mention, label=name_label(mention.label)) for mention in sentence.mentions]


def with_names_by_tags(sentence: Sentence) -> Sentence:
    """A sentence of GUM without addresses as mentions, and with those mentions as names that are all proper nouns."""
    kept = [m for m in sentence.mentions if not ADDRESS.fullmatch("".join(sentence.tokens[m.start : m.end]))]
    names = [
        evolve(mention, end=end, label=name_label(mention.label))
        for mention in kept
        if mention.label in TYPES
        and (end := mention.end - (sentence.tags[mention.end - 1] == "POS")) > mention.start
        and all(tag.startswith("NNP") for tag in sentence.tags[mention.start : end])
    ]
    return Sentence(sentence.tokens, dict.fromkeys([*kept, *names]), annotated=AnnotationScope(types=TEN))


def with_date_as_number(sentence: Sentence, chance: random.Random) -> Sentence | None:
    """A sentence whose first date has become a number; None if it has no date of a day, a month and a year.

    >>> given = Sentence("On May 23 , 2012 it rained .".split(), [Mention(1, 5, "time"), Mention(5, 6, "abstract")])
    >>> found = with_date_as_number(given, random.Random(4))
    >>> found.tokens, sorted(found.mentions)
    (('On', '2012-05-23', 'it', 'rained', '.'), [Mention(1, 2, 'time'), Mention(2, 3, 'abstract')])
    """
    for mention in sorted(sentence.mentions):
        found = DATE.fullmatch(" ".join(sentence.tokens[mention.start : mention.end]))
        if mention.label == "time" and found is not None:
            parts = found.groupdict()
            month = MONTHS.index(parts["month"] or parts["other_month"]) + 1
            day, year = int(parts["day"] or parts["other_day"]), parts["year"] or parts["other_year"]
            date = chance.choice(NUMBERED).format(year=year, month=month, day=day)
            return _with_token(sentence, mention, date)
    return None


def _with_token(sentence: Sentence, place: Mention, token: str) -> Sentence:
    """The sentence with one token in place of a mention; mentions inside it are left out."""
    gone = place.end - place.start - 1
    tokens = [*sentence.tokens[: place.start], token, *sentence.tokens[place.end :]]

    def moved(at: int) -> int:
        return at if at <= place.start else at - gone

    kept = {(moved(m.start), moved(m.end), m.label) for m in sentence.mentions if not _is_part(m, place)}
    return Sentence(tokens, [Mention(*one) for one in sorted(kept)], annotated=sentence.annotated)


def _is_part(mention: Mention, whole: Mention) -> bool:
    """Whether a mention shares words with another one and does not hold all of it."""
    overlap = mention.start < whole.end and whole.start < mention.end
    return overlap and not (mention.start <= whole.start and whole.end <= mention.end)


def in_case(sentence: Sentence, upper: bool) -> Sentence:
    tokens = [token.upper() if upper else token.lower() for token in sentence.tokens]
    return Sentence(tokens, sentence.mentions, annotated=sentence.annotated)


def chosen(sentences: Iterable[Sentence], share: float, chance: random.Random) -> Iterator[Sentence]:
    """A share of the sentences, two of three in lower case, the others in capitals."""
    for sentence in sentences:
        if chance.random() < share:
            yield in_case(sentence, chance.random() < 1 / 3)


def write(sentences: Iterable[Sentence], path: Path) -> None:
    """Write sentences that have nothing to do with each other."""
    write_documents(([sentence] for sentence in sentences), path)


def write_documents(documents: Iterable[Sequence[Sentence]], path: Path) -> None:
    count = 0

    def made() -> Iterator[Document]:
        nonlocal count
        for sentences in documents:
            count += len(sentences)
            yield document_of(sentences)

    write_corpus(made(), str(path), force=True)
    print(f"{count:,} sentences in {path}")


def passages_of(sentences: Sequence[Sentence]) -> list[Sequence[Sentence]]:
    return [sentences[first : first + PASSAGE] for first in range(0, len(sentences), PASSAGE)]


def write_text(passages: Iterable[Sequence[Sentence]], path: Path) -> None:
    with lzma.open(path, "wt", encoding="utf-8") as file:
        for passage in passages:
            file.writelines(" ".join(sentence.tokens) + "\n" for sentence in passage)
            file.write("\n")


def names_of(folder: Path, corpora: Sequence[str], complete: bool, chance: random.Random) -> list[Sentence]:
    found: list[Sentence] = []
    for corpus in corpora:
        own = [
            sentence
            for sentence in read_sentences(str(folder / f"{corpus}.train.jsonl.gz"))
            if 0 < len(sentence) <= 120 and (complete or sentence.mentions)
        ]
        found += [with_names(sentence, complete) for sentence in chance.sample(own, min(len(own), LARGEST))]
    return found


def make(
    free: Annotated[Path, typer.Option(help="The free genres of GUM, of experiments.english.free_genres.")],
    data_dir: DataDir = DATA_DIR,
    output: Output = Path("data/english-corpora"),
    seed: Seed = 1,
) -> None:
    """Make the corpora of `english` from those in a folder with gum, amalgum and names.

    Example: python -m experiments.english.corpora --free data/gum/free.jsonl.gz
    """
    output.mkdir(parents=True, exist_ok=True)
    chance = random.Random(seed)
    names = names_of(data_dir / "names", COMPLETE, True, chance)
    write(names, output / "names.jsonl.gz")
    sure = names_of(data_dir / "names", SURE, False, chance)
    write(sure, output / "names-sure.jsonl.gz")
    scope = AnnotationScope(types=map(name_label, TYPES))
    dev = read_sentences(str(data_dir / "names" / "uner.dev.jsonl.gz"))
    named = (Sentence(one.tokens, names_in(one), annotated=scope) for one in dev)
    write(named, output / "names.dev.jsonl.gz")
    documents = [list(map(with_names_by_tags, document)) for document in read_texts(str(free))]
    write_documents(documents, output / "gum.jsonl.gz")
    gum = [sentence for document in documents for sentence in document]
    genres = {path.name.partition(".")[0]: path for path in sorted((data_dir / "amalgum").glob("*.data.gz"))}
    by_genre = {
        genre: passages_of([with_ten(sentence) for sentence in read_sentences(str(path))])
        for genre, path in genres.items()
    }
    write_text([passage for genre in FICTION for passage in by_genre[genre]], output / "fiction.txt.xz")
    passages = [passage for own in by_genre.values() for passage in own]
    silver = [sentence for passage in passages for sentence in passage]
    dates = [found for one in silver if (found := with_date_as_number(one, chance)) is not None]
    write(chance.sample(dates, min(len(dates), DATES)), output / "dates.jsonl.gz")
    sources = {"gum": gum, "amalgum": silver, "names": names}
    cases = [one for source, found in sources.items() for one in chosen(found, CASES[source], chance)]
    write(cases, output / "cases.jsonl.gz")
    write(chance.sample([*names, *cases], SOME_NAMES), output / "names-some.jsonl.gz")
    write_documents(chance.sample(passages, min(len(passages), SILVER // PASSAGE)), output / "silver.jsonl.gz")


def with_ten(sentence: Sentence) -> Sentence:
    """A sentence of AMALGUM, in which names are no labels of their own, and addresses no mentions."""
    kept = [m for m in sentence.mentions if not ADDRESS.fullmatch("".join(sentence.tokens[m.start : m.end]))]
    return Sentence(sentence.tokens, kept, annotated=AnnotationScope(types=TEN))


TEN = (*TYPES, "object", "event", "time", "abstract", "animal", "plant", "substance")

if __name__ == "__main__":
    run_command(make, "experiments.english.corpora")
