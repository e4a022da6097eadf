"""How good sentence splitting is: F1 of the positions where sentences start, on GUM's running text of 15 genres."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import accumulate

import pytest

from hyperspan.corpora import read_corpus
from hyperspan.text.sentences import sentence_spans
from tests.corpora.data import data_path

pytestmark = pytest.mark.corpora


def wrapped(text: str) -> str:
    return "\n".join(textwrap.fill(line, 72, break_long_words=False) for line in text.split("\n"))


def visible(text: str, positions: Iterable[int]) -> set[int]:
    """Positions, counted in characters that are no white space: those do not move when text is wrapped."""
    spaces = [0, *accumulate(map(str.isspace, text))]
    return {position - spaces[position] for position in positions}


def starts(text: str) -> set[int]:
    found = ((start, text[start:end]) for start, end in sentence_spans(text))
    return visible(text, (start + len(part) - len(part.lstrip()) for start, part in found))


@pytest.mark.parametrize(("change", "mean", "lowest"), [(str, 0.98, 0.95), (wrapped, 0.975, 0.94)])
def test_sentences_start_where_those_of_gum_do(change: Callable[[str], str], mean: float, lowest: float) -> None:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for part in ("dev", "test"):
        for document in read_corpus(data_path(f"gum/{part}.jsonl.gz")):
            gold = visible(document.text, (sentence.offsets[0][0] for sentence in document.sentences))
            found = starts(change(document.text))
            genre = counts[document.metadata["genre"]]
            genre[0], genre[1] = genre[0] + 2 * len(found & gold), genre[1] + len(found) + len(gold)
    f1 = {genre: right / total for genre, (right, total) in counts.items()}
    assert len(f1) == 15 and sum(f1.values()) / len(f1) > mean and min(f1.values()) > lowest, f1
