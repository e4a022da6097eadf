"""Tables of mentions with their texts: CSV, TSV and frames, with the columns that people give them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.corpora import Problems, Source, detect, read_corpus
from hyperspan.corpora.mention_tables import read_frame, read_table
from hyperspan.errors import CorpusError, InputError
from hyperspan.types import Document, Mention

Rows = Sequence[Sequence[Any]]
BOTH = {Mention(0, 3, "PER"), Mention(9, 11, "GPE")}


def read(columns: str, rows: Rows, delimiter: str = ",", **options: Any) -> tuple[list[Document], Problems]:
    """The documents of a table with these columns, and what is said of it."""
    content = io.StringIO()
    csv.writer(content, delimiter=delimiter).writerows([columns.split(), *rows])
    problems = Problems()
    source = Source("mine.csv", stream=io.BytesIO(content.getvalue().encode()))
    return list(read_table(source, problems, **options)), problems


TABLES: list[tuple[str, Rows, dict[str, Any]]] = [
    ("text start end label", [["Ada left Oz.", 0, 3, "PER"], ["Ada left Oz.", 9, 11, "GPE"]], {}),
    ("text start end label", [["Ada left Oz.", "0.0", "3.0", "PER"], ["", 9, 11, "GPE"]], {}),
    ("doc_id Sentence Entity Type", [[1, "Ada left Oz.", "Ada", "PER"], [1, "Ada left Oz.", "oz", "GPE"]], {}),
    ("id sentence text begin end category", [[1, "Ada left Oz.", "Ada", 0, 3, "PER"], [1, "Ada left Oz.", "Oz", 1, 2, "GPE"]], {}),
    ("text start end label", [["Ada left Oz.", 0, 2, "PER"], ["Ada left Oz.", 9, 10, "GPE"]], {"inclusive": True}),
    ("wording a b what", [["Ada left Oz.", 0, 3, "PER"], ["Ada left Oz.", 9, 11, "GPE"]],
     {"text": "wording", "start": "a", "end": "b", "label": "what"}),
    ("text entities", [["Ada left Oz.", "[(0, 3, 'PER'), (9, 11, 'GPE')]"]], {}),
    ("text label", [["Ada left Oz.", '{"PER": ["Ada"], "GPE": ["Oz"]}']], {}),
    ("n text annotations", [[1, "Ada left Oz.", '[{"start": 0, "end": 3, "label": "PER"}, {"text": "Oz", "label": "GPE"}]']], {}),
]  # fmt: skip


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize(("columns", "rows", "options"), TABLES)
def test_usual_columns_are_recognised(columns: str, rows: Rows, options: dict[str, Any], delimiter: str) -> None:
    (document,), _ = read(columns, rows, delimiter, **options)
    assert document.text == "Ada left Oz." and document.mentions == BOTH


def test_a_row_without_a_label_is_a_text_without_mentions() -> None:
    documents, problems = read(
        "id text start end label", [[1, "Ada.", 0, 3, "PER"], [2, "Why?", "", "", ""], [3, "Ada.", "", "", ""]]
    )
    assert [(one.id, one.text, len(one.mentions)) for one in documents] == [
        ("1", "Ada.", 1),
        ("2", "Why?", 0),
        ("3", "Ada.", 0),
    ]
    assert problems.notes == {}


def test_errors_and_notes_name_the_row_of_the_mention() -> None:
    good, wrong = ["Ada left Oz.", 0, 3, "PER"], ["Ada left Oz.", 9, 40, "GPE"]
    with pytest.raises(CorpusError, match=r"mine\.csv:4: a mention is at 9:40, but the text has 12 characters"):
        read("text start end label", [good, good, wrong])
    _, problems = read("text mention label", [["Ada left.", "Ada", "PER"], ["Ada left.", "Max", "PER"]])
    assert list(problems.notes) == ['mention left out because its text does not have it: "Max" (PER, line 3)']


@pytest.mark.parametrize(
    ("columns", "row", "message"),
    [
        ("word tag", ["Ada", "PER"], "has no column of texts, under a usual name; its columns are word, tag"),
        ("text topic", ["Ada", "PER"], "has no column of mentions: a label with a mention or with start and end"),
        ("text start end label", ["Ada", "x", 3, "PER"], 'start is "x", but a whole number from 0 is expected'),
        ("text start end label", ["Ada", 0, 30, "PER"], "a mention is at 0:30, but the text has 3 characters"),
        (
            "text mention start end label",
            ["Ada", "", "", 3, "PER"],
            'a mention of "PER" has neither a string nor a place',
        ),
        ("text entities", ["Ada", "[(0, 3"], "which is no JSON"),
    ],
)
def test_a_wrong_table_is_refused_with_a_sentence(columns: str, row: Sequence[Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        read(columns, [row])
    assert message in str(refused.value) and str(refused.value).startswith("mine.csv")


def test_a_column_that_is_named_must_be_there() -> None:
    with pytest.raises(
        InputError, match=r"mine\.csv has no column 'body'; its columns are, by its first row, text, label"
    ):
        read("text label", [["Ada", "PER"]], text="body")


def test_tables_are_recognised_and_lists_of_classes_are_not(tmp_path: Path) -> None:
    path = tmp_path / "mine.tsv"
    for content, name in {
        "text\tmention\tlabel\nAda left.\tAda\tPER\n": "table",
        "sentence;entities\nWhy?;[]\nAda left.;\"[(0, 3, 'PER')]\"\n": "table",
        "document\tsentence\tstart\tend\ttext\tlabel\tprobability\n": "tsv",
    }.items():
        path.write_text(content, encoding="utf-8")
        assert detect(Source(str(path), path=path)) == name
    for content in (
        "text,label\nAda left.,sad\n",
        "text,start,end,label\n",
        "id,text\n1,Ada\n",
        "Ada left, and Bo\nstayed, too\n",
    ):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(InputError):
            detect(Source(str(path), path=path))


WORDS = st.lists(st.text(st.characters(categories=["L"]), min_size=1, max_size=4), min_size=1, max_size=6)


@st.composite
def documents(draw: st.DrawFn) -> list[Document]:
    found: list[Document] = []
    for number, words in enumerate(draw(st.lists(WORDS, min_size=1, max_size=4))):
        text = " ".join(words)
        ends = st.tuples(st.integers(0, len(text) - 1), st.integers(1, len(text)))
        spans = draw(st.lists(ends.filter(lambda span: span[0] < span[1]), max_size=4))
        visible = [(a, b) for a, b in spans if not text[a].isspace() and not text[b - 1].isspace()]
        label = st.sampled_from(["PER", 'a, "b"'])
        found.append(Document(text, {Mention(a, b, draw(label)) for a, b in visible}, id=f"d{number}"))
    return found


@given(documents())
def test_what_a_table_holds_is_read_and_a_frame_says_the_same(given_documents: list[Document]) -> None:
    """Also of mentions that are equal in their strings, or nested."""
    pandas = pytest.importorskip("pandas")
    columns = "id text start end label".split()
    rows = [
        [document.id, document.text, *place]
        for document in given_documents
        for place in sorted((m.start, m.end, m.label) for m in document.mentions) or [(None, None, None)]
    ]
    read_again, problems = read(" ".join(columns), [["" if cell is None else cell for cell in row] for row in rows])
    assert problems.notes == {} and [one.mentions for one in read_again] == [one.mentions for one in given_documents]
    assert [(one.id, one.text) for one in read_again] == [(one.id, one.text) for one in given_documents]
    assert list(read_frame(pandas.DataFrame(rows, columns=columns))) == read_again


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_read_with_lists_in_cells(library: str) -> None:
    frames = pytest.importorskip(library)
    cells = {
        "text": ["Ada left Oz.", "Why?"],
        "entities": [[{"text": "Ada", "label": "PER"}, {"text": "Oz", "label": "GPE"}], []],
    }
    first, second = read_frame(frames.DataFrame(cells))
    assert first.mentions == BOTH and not second.mentions
    with pytest.raises(InputError, match=r"'bdy' is given as a column, but a table has text, mention"):
        list(read_frame(frames.DataFrame(cells), bdy="text"))


def test_a_table_trains_like_any_corpus(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("text,mention,label\nAda left Oz.,Ada,PER\nAda left Oz.,Oz,GPE\n", encoding="utf-8")
    (document,) = read_corpus(path)
    assert document.mentions == BOTH
