"""Tables of mentions as spreadsheets and programs read them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from attrs import evolve

from hyperspan.corpora import detect, read_corpus, write_corpus
from hyperspan.corpora.formats import format_for
from hyperspan.corpora.outputs import choose_output
from hyperspan.corpora.source import Source
from hyperspan.errors import InputError
from hyperspan.types import NOTHING_ANNOTATED, Document, Mention

TEXT = '=SUM(A1), the "zoo"\nof Oz. Ada said -5\u00e9 \U0001f981 lions.'
ZOO = Document(
    TEXT,
    [
        Mention(0, 8, "=X", probability=0.5),
        Mention(10, 25, "FAC", probability=0.97312345),
        Mention(23, 25, "GPE", probability=1e-9),
        Mention(27, 30, "PER"),
        Mention(36, 39, "num"),
    ],
)
EXPECTED = [
    ["1", "1", "0", "8", "'=SUM(A1)", "'=X", "0.500000"],
    ["1", "1", "10", "25", 'the "zoo"\nof Oz', "FAC", "0.973123"],
    ["1", "1", "23", "25", "Oz", "GPE", "0.000000"],
    ["1", "2", "27", "30", "Ada", "PER", ""],
    ["1", "2", "36", "39", "'-5\u00e9", "num", ""],
]
HEADER = ["document", "sentence", "start", "end", "text", "label", "probability"]


@pytest.mark.parametrize(
    ("suffix", "delimiter", "end", "mark"), [("csv", ",", b"\r\n", True), ("tsv", "\t", b"\n", False)]
)
def test_a_row_is_a_mention(suffix: str, delimiter: str, end: bytes, mark: bool, tmp_path: Path) -> None:
    path = tmp_path / f"zoo.{suffix}"
    partial = evolve(ZOO, id="-named", annotated=NOTHING_ANNOTATED)  # a table says of nothing that it is absent
    write_corpus([ZOO, partial], path, choose_output(str(path)))
    raw = path.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf") == mark and raw.endswith(end) and (b"\r" in raw) == mark
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file, delimiter=delimiter))
    assert rows == [HEADER, *EXPECTED, *(["'-named", *row[1:]] for row in EXPECTED)]
    with pytest.raises(InputError, match=r"is a table of mentions, which does not hold their texts"):
        list(read_corpus(path))
    write_corpus([ZOO], path, suffix, force=True, guard=False)
    assert "'=" not in path.read_text(encoding="utf-8") and detect(Source(path.name, path=path)) == suffix


def test_discontinuous_mentions_have_a_column_where_there_are_any(tmp_path: Path) -> None:
    lungs = Document("left and right lung", [Mention(0, 19, "ORGAN", ((0, 4), (15, 19))), Mention(9, 19, "ORGAN")])
    losses = write_corpus([ZOO, lungs], tmp_path / "lungs.csv")
    with (tmp_path / "lungs.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == [*HEADER, "fragments"] and [row[-1] for row in rows[-2:]] == ["0:4 15:19", ""]
    assert {len(row) for row in rows} == {len(HEADER) + 1} and not losses.lost and losses.written == len(rows) - 1


def test_names_of_corpora_keep_their_formats() -> None:
    assert (format_for("x.csv"), format_for("x.tsv"), choose_output("x.tsv.gz")) == ("csv", "columns", "tsv")
    with pytest.raises(InputError, match=r"let it end in \.tsv"):
        choose_output("x.conll", "tsv")
