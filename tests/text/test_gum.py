"""How good sentence splitting is: F1 of the positions where sentences start, on GUM's running text of 15 genres."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from experiments.splitters import f1_by_genre, wrapped
from hyperspan.corpora import read_corpus
from hyperspan.text.sentences import sentence_spans
from tests.support.data import data_path

pytestmark = pytest.mark.corpora


@pytest.mark.parametrize(("change", "mean", "lowest"), [(str, 0.98, 0.95), (wrapped, 0.975, 0.94)])
def test_sentences_start_where_those_of_gum_do(change: Callable[[str], str], mean: float, lowest: float) -> None:
    parts = (read_corpus(data_path(f"gum/{part}.jsonl.gz")) for part in ("dev", "test"))
    f1 = f1_by_genre(sentence_spans, [document for part in parts for document in part], change)
    assert len(f1) == 15 and sum(f1.values()) / len(f1) > mean and min(f1.values()) > lowest, f1
