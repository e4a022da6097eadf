"""Tables of texts: rows are documents wherever shards are cut, and what is no text is never read as one."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.bulk import annotate_files
from hyperspan.corpora import source, tables
from hyperspan.corpora.file_types import is_office_document, why_not_text
from hyperspan.corpora.inputs import read_inputs
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError, JobError
from hyperspan.types import Document
from tests.bulk.fakes import lines_in, texts_in

pytestmark = pytest.mark.usefixtures("fake")
FIELDS = st.text(st.sampled_from("ab ,;\t\"'\n\r\u2028漢"), max_size=8)


def table(rows: list[list[str]], delimiter: str = ",") -> bytes:
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=delimiter).writerows(rows)
    return written.getvalue().encode()


@given(
    rows=st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=12),
    records=st.integers(1, 5),
    delimiter=st.sampled_from(",;\t"),
    packed=st.booleans(),
)
def test_rows_are_documents_wherever_shards_are_cut(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str]],
    records: int,
    delimiter: str,
    packed: bool,
) -> None:
    folder = tmp_path_factory.mktemp("job")
    content = table([["id", "note", "ward"], *([str(n), *row] for n, row in enumerate(rows))], delimiter)
    name = folder / ("made.csv.gz" if packed else "made.tsv" if delimiter == "\t" else "made.csv")
    name.write_bytes(gzip.compress(content) if packed else content)
    summary = annotate_files([name], folder / "out", text_column="note", shard_records=records)
    found = lines_in(folder / "out/documents")
    assert [(one["id"], one["text"], one["metadata"]) for one in found] == [
        (str(n), note, {"ward": ward}) for n, (note, ward) in enumerate(rows)
    ]
    assert (summary.documents, summary.rejected, summary.shards) == (len(rows), 0, -(-len(rows) // records))


def test_rows_that_are_none_are_set_aside_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(
        b'\xef\xbb\xbfid,text\r\n1,"two\nlines"\r\n\r\n2,one,more\r\n3\r\n4,Zo\xeb\r\n5,bare\rend\r\n6,fine\r\n'
    )
    summary = annotate_files([tmp_path / "a.csv"], tmp_path / "out", shard_records=2)
    assert texts_in(tmp_path / "out") == ["two\nlines", "fine"] and summary.shards == 3
    assert [(record["line"], record["reason"]) for record in lines_in(tmp_path / "out/rejected")] == [
        (5, "the row has 3 fields, but the table 2 columns"),
        (6, "the row has 1 fields, but the table 2 columns"),
        (7, "the row is not UTF-8 text"),
        (8, lines_in(tmp_path / "out/rejected")[3]["reason"]),
    ]
    assert "new-line character" in lines_in(tmp_path / "out/rejected")[3]["reason"]


UNCLOSED = b'id,text\n0,"two\nlines"\n\n1,"IL2 binds\n2,Bob met NF-kB\n3,Cy\n'


@pytest.mark.parametrize(
    ("content", "row", "quote"),
    [
        (b'id,text\n1,"IL2 binds\n2,Bob met NF-kB\n3,Cy\n', 2, 2),
        (UNCLOSED, 5, 5),
        (b'id,text,ward\n1,"two ""\nlines"",",a\n2,"x\n y","B\n3,Cy', 4, 5),
        (b'id,text\n1,"', 2, 2),
    ],
)
def test_a_quote_that_is_never_closed_is_no_row(tmp_path: Path, content: bytes, row: int, quote: int) -> None:
    path = tmp_path / "q.csv"
    path.write_bytes(content)
    reason = f"the quote that opens on line {quote} is never closed, so that the rest of the table is in it"
    with pytest.raises(InputError, match=rf"q\.csv:{row}: the row cannot be read \({reason}\); correct the row"):
        list(read_inputs([str(path)], problems=Problems()))
    for records in (1, 9):
        with suppress(JobError):  # where no record is left
            annotate_files([path], tmp_path / f"out{records}", shard_records=records)
        records_found = lines_in(tmp_path / f"out{records}/rejected")
        assert [(record["line"], record["reason"]) for record in records_found] == [
            (row, f"the row cannot be read ({reason})")
        ]
    problems = Problems("skip")
    assert len(list(read_inputs([str(path)], problems=problems))) == (content == UNCLOSED or quote == 5)
    assert len(problems.skipped) == 1


def test_a_quote_that_closes_in_another_row_is_no_row(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_bytes(b'id,text\n1,"IL2 binds\n2,"Bob met NF-kB"\n3,Cy\n')
    annotate_files([tmp_path / "q.csv"], tmp_path / "out")
    assert texts_in(tmp_path / "out") == ["Cy"] and len(lines_in(tmp_path / "out/rejected")) == 1


def test_lines_and_fields_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LONGEST_LINE", 2**20)
    monkeypatch.setattr(tables, "LONGEST_LINE", 2**20)
    for name, before in (("a.csv.gz", b""), ("b.csv.gz", b"id,text\n1,Ada\n")):
        path = tmp_path / name
        path.write_bytes(gzip.compress(before + b"x" * 2**21, 1))
        sentence = rf"{name}:{before.count(10) + 1}: a line has more than 1 MiB; cut it into several"
        with pytest.raises(InputError, match=sentence):
            list(read_inputs([str(path)], problems=Problems()))
        with pytest.raises(InputError, match=sentence):
            annotate_files([path], tmp_path / "out")
    (tmp_path / "c.csv").write_bytes(b'id,text\n1,"' + b"Ada left.\n" * 2**18)
    with pytest.raises(InputError, match=r"c\.csv:2: .*a field has more than 1 MiB; is its quote closed\?"):
        list(read_inputs([str(tmp_path / "c.csv")], problems=Problems()))


def test_reading_a_table_leaves_the_limit_of_fields_to_the_process(tmp_path: Path) -> None:
    table, long = tmp_path / "x.csv", "a" * 200_000
    table.write_text(f'text\n"{long}"\nb\n"{long}\n{long}"\n', encoding="utf-8")
    before = csv.field_size_limit(150_000)
    try:
        lengths = []
        for one, other in zip(read_inputs([str(table)]), read_inputs([str(table)]), strict=True):
            assert csv.field_size_limit() == 150_000
            assert isinstance(one, Document)
            assert one == other
            lengths.append(len(one.text))
        assert lengths == [200_000, 1, 400_001]
        with pytest.raises(csv.Error, match="field limit"):
            list(csv.reader([long]))
    finally:
        csv.field_size_limit(before)


def test_tables_of_several_threads_share_the_limit_of_fields(tmp_path: Path) -> None:
    before, table = csv.field_size_limit(), tmp_path / "x.csv"
    rows = [str(number % 10) * (200_000 if number % 3 else 5) for number in range(60)]
    table.write_text("\n".join(["text", *rows]), encoding="utf-8")

    def read(_: int) -> list[str]:
        return [one if isinstance(one, str) else one.text for one in read_inputs([str(table)])]

    with ThreadPoolExecutor(8) as pool:
        assert all(found == rows for found in pool.map(read, range(16)))
    assert csv.field_size_limit() == before


def test_a_text_has_the_same_limits_in_a_bulk_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LARGEST_TEXT", 3 * 2**20)
    monkeypatch.setattr(source, "LONGEST_LINE_OF_TEXT", 2**20)
    (tmp_path / "a.txt").write_bytes(b"Ada\n" + b"x" * 2**21)
    (tmp_path / "b.txt").write_bytes(b"Ada left.\n" * 2**19)
    (tmp_path / "c.txt").write_bytes(b"Ada\n" + b"\n" * 2**20)
    summary = annotate_files([tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "c.txt"], tmp_path / "out")
    reasons = [record["reason"] for record in lines_in(tmp_path / "out/rejected")]
    assert summary.documents == 1 and "a.txt:2: a line has more than 1 MiB" in reasons[0]
    assert "b.txt has more than 3 MiB" in reasons[1]


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        (b"id,note\n1,x\n", {}, r"has no column 'text'; name the one with the texts with --column.* are.* id, note"),
        (b"text\n1\n", {"id_column": "pmid"}, r"has no column 'pmid'; name the one with the ids with --id-column"),
        (b"", {}, r"has no column 'text'.* are, by its first row, none"),
        (b"text,text\n1,2\n", {}, r"more than one column 'text'"),
        (b"%PDF-1.7\n", {}, r"made\.csv is no table of texts but a PDF"),
    ],
)
def test_headers_that_do_not_fit(tmp_path: Path, content: bytes, options: dict[str, Any], sentence: str) -> None:
    (tmp_path / "made.csv").write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        annotate_files([tmp_path / "made.csv"], tmp_path / "out", **options)


def test_in_folders_tables_are_read_if_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/a.txt").write_text("Ada")
    (tmp_path / "texts/scores.csv").write_text("name,score\nAda,1\n")
    summary = annotate_files([tmp_path / "texts"], tmp_path / "out")
    assert texts_in(tmp_path / "out") == ["Ada"] and summary.notes[0].startswith("left out 1 files")
    annotate_files([tmp_path / "texts"], tmp_path / "other", kind="csv", text_column="name")
    assert texts_in(tmp_path / "other") == ["Ada"]


def office_document() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<w:t>Ada left.</w:t>")
    return written.getvalue()


NO_TEXTS = {
    "a PDF; save its text": b"%PDF-1.7\n%\xe2\xe3",
    "an office document; save its text": office_document(),
    "HTML or XML; save its text": b"\n<!-- made by hand -->\n<HTML><body>Ada left.",
    "HTML or XML; save its text as": b"\xef\xbb\xbf<!doctype html><p>Ada",
    "HTML or XML; save": b"<p>Hello <b>IL2</b></p>",
    "HTML or XML": b"<!-- c -->\n<body>",
    "HTML or": b'<a class="x" href="y">Ada</a>',
    "a PDF; save": b"\n%PDF-1.4\n",
    "a PDF;": b"\xef\xbb\xbf%PDF-1.4",
    "a PDF": b"a mail's head\n" * 20 + b"%PDF-1.4\r\n",
    "an image; save": b"\x89PNG\r\n\x1a\n\0\0",
    "UTF-16 text; convert it": "Ada left.".encode("utf-16"),
    "binary (it has NUL bytes)": b"Ada\0left",
    "packed with xz": b"\xfd7zXZ\x00\x00",
    "packed with bzip2": b"BZh91AY&SY",
    "RTF; save": b"{\\rtf1 Ada left.}",
    "RTF;": b" {\\rtf1 Ada left.}",
    "packed with tar": b"a.txt".ljust(257, b" ") + b"ustar",
}


@pytest.mark.parametrize("what", NO_TEXTS)
def test_what_is_no_text_is_set_aside_or_refused_with_what_to_do(tmp_path: Path, what: str) -> None:
    for name in ("a.txt", "named.bin"):
        (tmp_path / name).write_bytes(NO_TEXTS[what])
    (tmp_path / "b.txt").write_text("Ada")
    summary = annotate_files([tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "out")
    assert (summary.documents, summary.rejected) == (1, 1)
    assert what in lines_in(tmp_path / "out/rejected")[0]["reason"]
    with pytest.raises(InputError) as raised:
        annotate_files([tmp_path / "named.bin"], tmp_path / "other")
    assert what in str(raised.value)


@given(st.text())
def test_texts_are_texts(text: str) -> None:
    if "\0" not in text and "<" not in text:
        assert why_not_text(f"Ada {text}".encode()) is None


@pytest.mark.parametrize(
    "text",
    ["< 5 mg", "<5 mg", "<p < 0.05", "<ada@example.org> wrote", "<DOC> Ada", "<b", "<!-- c", "Of %PDF-1.4 she wrote."],
)
def test_texts_with_signs_of_markup_are_texts(text: str) -> None:
    assert why_not_text(text.encode()) is None


def test_comments_take_linear_time() -> None:
    assert why_not_text(b"<!-- c -->" * 6_000 + b"Ada") is None


@pytest.mark.parametrize("suffix", [".docx", ".pdf", ".rtf", ".odt", ".pptx", ".xlsx", ".doc", ".PDF", ".docx.gz"])
def test_a_text_that_is_named_as_a_document_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(b"Ada left.")
    with pytest.raises(InputError, match=r"is no text but .* by its name; rename it to \.txt if it is plain text"):
        annotate_files([path], tmp_path / "out")
    with pytest.raises(InputError, match=r"is no text but .* by its name; rename it to \.txt if it is plain text"):
        list(read_inputs([str(path)], problems=Problems()))


def test_an_archive_of_texts_is_no_office_document(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(office_document())
    with zipfile.ZipFile(tmp_path / "texts.zip", "w") as archive:
        archive.writestr("a.txt", "Ada")
    assert is_office_document(tmp_path / "a.docx") and not is_office_document(tmp_path / "texts.zip")
