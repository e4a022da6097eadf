"""Columns: round trips of made and real corpora, what is wrong in them, what they cannot hold."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.corpora.columns import (
    looks_like_columns,
    looks_like_conll2003,
    read_columns,
)
from hyperspan.corpora.documents import document_of
from hyperspan.corpora.source import Losses, Lossy, Problems, Source, sources_in
from hyperspan.errors import CorpusError, InputError, LossError
from hyperspan.types import Document, Mention, Sentence
from tests.corpora.test_contract import sentences
from tests.support.data import ALL, data_path
from tests.support.formats import read as read_as
from tests.support.formats import written as written_as

ZOO = b"the\tB-FAC\tO\nSeattle\tI-FAC\tB-GPE\nzoo\tI-FAC\tO\n\nShe\tB-PER\tO\nsleeps\tO\tO\n"
GERMEVAL = b"#\thttp://example.org/zoo\t[2020-02-02]\t\n1\tSeattler\tB-LOC\tB-PER\n2\tsleeps\tO\tO\n\n#\texample\t[2020-02-03]\t\n1\tO\tO\tO\n"
CONLL = (
    b"-DOCSTART- -X- -X- O\n\nSeattle NNP B-NP B-GPE\nsleeps VBZ B-VP O\n\nWhy WRB B-ADVP O\n\n-DOCSTART- -X- -X- O\n\n"
    b"She PRP B-NP B-PER\n"
)
NESTED = Sentence(["the", "Seattle", "zoo"], [Mention(0, 3, "FAC"), Mention(1, 2, "GPE"), Mention(0, 2, "ORG")])


read = partial(read_as, "columns", place="zoo.tsv")
read_conll = partial(read_as, "conll2003", place="zoo.conll")
written = partial(written_as, "columns")
written_conll = partial(written_as, "conll2003")


@pytest.mark.parametrize(
    "data",
    [
        ZOO,
        b"-DOCSTART-\tO\n\nSeattle\tB-GPE\nsleeps\tO\n\nWhy\tO\n",
        b"",
    ],
)
def test_bytes_come_back(data: bytes) -> None:
    assert written(read(data)) == data
    assert looks_like_columns(data.decode()) == bool(data) and not looks_like_conll2003(data.decode())


def test_bytes_of_conll2003_come_back() -> None:
    documents = read_conll(CONLL)
    assert [document.text for document in documents] == ["Seattle sleeps\nWhy", "She"]
    assert documents[0].metadata == {"chunks": [["B-NP", "B-VP"], ["B-ADVP"]]}
    assert documents[0].sentences[0].tags == ("NNP", "VBZ")
    assert written_conll(documents) == CONLL
    assert looks_like_conll2003(CONLL.decode()) and not looks_like_columns(CONLL.decode())


def test_germeval_sources_are_kept() -> None:
    problems = Problems()
    first, second = read(GERMEVAL, problems)
    assert first.metadata["source"] == "http://example.org/zoo\t[2020-02-02]"
    assert (first.text, second.text) == ("Seattler sleeps", "O")
    assert not problems.notes and looks_like_columns(GERMEVAL.decode())
    assert written([first, second]) == b"Seattler\tB-LOC\tB-PER\nsleeps\tO\tO\n\nO\tO\tO\n"


def test_other_layouts_are_understood() -> None:
    zoo = read(ZOO)
    assert read(ZOO.replace(b"\n", b"\r\n")) == zoo
    assert read(ZOO.replace(b"\tO\n", b"\tO\t\t\n")) == zoo
    assert read(ZOO.replace(b"\t", b"  ")) == zoo
    assert read(b"\xef\xbb\xbf\n \n\n" + ZOO.replace(b"\n\n", b"\n\t\n\n")) == zoo
    assert read(b"# text = the zoo\n# id = 1\n" + ZOO, problems := Problems()) == zoo
    assert problems.notes == {"comment lines left out": 2}
    assert [d.id for d in read(b"###MEDLINE:95369245\n\nCD28\tB-protein\n\n###MEDLINE:7\n\na\tO\n")] == [
        "95369245",
        "7",
    ]
    german = b"Die die ART B-NC O\nZoos Zoo NN I-NC I-ORG\n"
    (document,) = read_conll(german, problems := Problems(), pos_column=2, chunk_column=3)
    assert document.sentences[0].tags == ("ART", "NN") and document.metadata["chunks"] == [["B-NC", "I-NC"]]
    assert problems.notes == {"1 columns left out that hold neither tokens nor tags": 1}
    (document,) = read(german, Problems(), tag_columns=[-1], token_column=1)
    assert [mention.text for mention in document.mentions] == ["Zoo"]
    (document,) = read(b"Seattle NNP B-GPE\nsleeps VBZ O\n")
    assert document.sentences[0].tags == ("NNP", "VBZ")


def test_empty_documents_and_sentences() -> None:
    assert [document.text for document in read(b"-DOCSTART-\n\n-DOCSTART-\n\na\tO\n\n-DOCSTART-\n")] == ["", "a", ""]
    assert read_conll(b"") == read_conll(b"\n\n") == []


def test_plain_text_is_split_first() -> None:
    problems = Problems()
    plain = Document("The Seattle zoo sleeps.", [Mention(4, 11, "GPE"), Mention(0, 15, "FAC")])
    data = written([plain], problems=problems)
    assert data == b"The\tB-FAC\tO\nSeattle\tI-FAC\tB-GPE\nzoo\tI-FAC\tO\nsleeps\tO\tO\n.\tO\tO\n"


def test_what_cells_cannot_hold_is_replaced_and_noted() -> None:
    problems = Problems()
    data = written([document_of([Sentence(["a\tb", "", "c\n"]), Sentence([])])], problems=problems)
    assert data == b"a_b\tO\n_\tO\nc_\tO\n"
    assert problems.notes == {
        "empty sentences left out": 1,
        "tokens or tags that are empty or hold a tab or newline written with _ in its place": 3,
    }


def test_tokens_with_spaces_make_conll2003_use_tabs() -> None:
    documents = [document_of([Sentence(["New York", "sleeps"], [Mention(0, 1, "GPE")])], "1")]
    assert written_conll(documents) == b"New York\t-X-\t-X-\tB-GPE\nsleeps\t-X-\t-X-\tO\n"


@pytest.mark.parametrize(
    "chunks", [3, "ab", ["ab"], [["B-NP"]], [["B-NP", 1, None]], [["B-NP"] * 3] * 2, {0: ["B-NP"] * 3}]
)
def test_chunks_that_do_not_fit_are_not_written(chunks: Any) -> None:
    flat = Sentence(["the", "Seattle", "zoo"])
    data = written_conll([document_of([flat], metadata={"chunks": chunks})])
    assert data == b"the -X- -X- O\nSeattle -X- -X- O\nzoo -X- -X- O\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\tO\nb\tI-PER\n" + b"c\tB-PER\nd\tO\n" * 9, "zoo.tsv:2: I-PER after O, but IOB2 expected; correct it, or read it with --option scheme=NAME or --option repair=true"),
        (b"\n\na\tS-PER\nb\tS-PER\n\nc\tB-PER\n", "zoo.tsv:6: B-PER at the end, but BIOES expected; correct it, or read it with --option scheme=NAME or --option repair=true"),
        (b"a\tO\nb\tPER\n" + b"c\tO\n" * 9, "zoo.tsv:2: 'PER' is no IOB2 tag, but IOB2 expected; correct it, or read it with --option scheme=NAME or --option repair=true"),
        (b"a\tO\tO\nb\tO\tO\nc\tO\n", "zoo.tsv:3: 2 columns found, but 3 columns with a token expected; correct the line"),
        (b"a\tO\n\n\tO\n", "zoo.tsv:3: no token found, but 2 columns with a token expected; correct the line"),
        (b"only\nwords\n", "zoo.tsv:1: 1 columns found, but 2 columns with a token expected; correct the line"),
        (b"a\tO\n\xff\xfe\tO\n", "zoo.tsv:2: is not UTF-8 text (invalid start byte); convert the file to UTF-8"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(data: bytes, message: str) -> None:
    with pytest.raises(CorpusError) as caught:
        read(data)
    assert str(caught.value) == message


def test_sentences_with_mistakes_are_skipped_or_repaired() -> None:
    data = b"a\tB-X\n\nb\tO\nc\tI-X\n\nd\tB-X\n\ne\tY\n"
    problems = Problems("skip")
    assert [(document.id, document.text) for document in read(data, problems)] == [("1", "a"), ("3", "d")]
    assert [place.partition(",")[0] for place in problems.skipped] == [
        "zoo.tsv:4: I-X after O",
        "zoo.tsv:8: 'Y' is no IOB2 tag",
    ]
    problems = Problems("skip")
    repaired = read(data, problems, repair=True)
    assert [mention.text for document in repaired for mention in document.mentions] == ["a", "c", "d"]
    assert problems.notes == {"malformed tags read as conlleval does": 1} and len(problems.skipped) == 1


def test_options_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match=r"zoo\.tsv has 3 columns, but column 3 was asked for; columns count from 0"):
        read(ZOO, tag_columns=[3])
    with pytest.raises(InputError, match=r"zoo\.conll has 3 columns, of which 0, 1, 2, 2 are to be read"):
        read_conll(ZOO)
    with pytest.raises(InputError, match="0 layers cannot hold a mention"):
        written([], layers=0)


def kept(documents: Iterable[Document]) -> set[str]:
    return {mention.label for document in documents for mention in document.mentions}


def test_too_few_layers_are_refused_or_lossy() -> None:
    documents = [document_of([NESTED], "1")]
    with pytest.raises(LossError, match=r"columns cannot hold 1 of 3 mentions \(1 beyond 2 layers\)"):
        written(documents, layers=2)
    with pytest.raises(
        LossError, match=r"columns cannot hold 2 of 3 mentions \(2 overlapping another in flat columns\)"
    ):
        written(documents, layers=1)
    with pytest.raises(LossError, match="conll2003 cannot hold 2 of 3 mentions"):
        written_conll(documents)
    assert kept(read(written(documents, Losses("outermost"), layers=2))) == {"FAC", "ORG"}
    assert kept(read(written(documents, Losses("innermost"), layers=2))) == {"GPE", "ORG"}
    assert kept(read_conll(written_conll(documents, Losses("outermost")))) == {"FAC"}
    assert kept(read_conll(written_conll(documents, losses := Losses("innermost")))) == {"GPE"}
    assert losses.written == 1 and losses.lost == {"overlapping another": 2}
    assert b"the\tB-FAC\tB-ORG\tO\tO\n" in written(documents, layers=4)


@given(
    st.lists(st.lists(sentences(), min_size=1, max_size=3), min_size=1, max_size=4),
    st.integers(1, 3),
    st.sampled_from(["outermost", "innermost"]),
)
def test_lossy_writing_loses_only_what_is_counted(corpus: list[list[Sentence]], layers: int, lossy: Lossy) -> None:
    losses = Losses(lossy)
    again = read(written(map(document_of, corpus), losses, layers=layers))
    before = [part.mentions for parts in corpus for part in parts]
    after = [part.mentions for document in again for part in document.sentences]
    assert all(few <= many for few, many in zip(after, before, strict=True))
    assert losses.written == sum(map(len, after))
    assert losses.written + sum(losses.lost.values()) == sum(map(len, before))


def test_duplicates_that_do_not_fit_are_no_loss() -> None:
    twice = [document_of([Sentence(["a"]).with_mentions([Mention(0, 1, "A")] * 2)], "1")]
    assert written(twice) == b"a\tB-A\tB-A\n"
    assert written(twice, problems=(problems := Problems()), layers=1) == b"a\tB-A\n"
    assert problems.notes == {"mentions listed twice written once": 1}


# Real files: their name, and what gives them back.
REAL: dict[str, dict[str, Any]] = {
    "litbank/train.data.gz": {"layers": 5, "first_layer": "innermost"},
    "litbank/dev.data.gz": {"layers": 5, "first_layer": "innermost"},
    "litbank/test.data.gz": {"layers": 5, "first_layer": "innermost"},
    "genia/other_formats/thecharm.genia.dev.iob2.gz": {"layers": 4, "first_layer": "innermost"},
    "germeval2014/NER-de-dev.tsv.gz": {"layers": 2},
    "germeval2014/NER-de-test.tsv.gz": {"layers": 2},
    "germeval2014/GermEval2014.zip": {"layers": 2},
    "jnlpba/train.tsv.gz": {},
    "jnlpba/valid.tsv.gz": {},
    "jnlpba/test.tsv.gz": {},
    "jnlpba/Genia4EReval1.iob2.gz": {},
}
ODD_LINES = {"NER-de-test.tsv.gz": 3, "germ.test.iob2": 1, "germ.train.iob2": 1}
"""Lines that are not written as they were: two types on one span in the other order, missing and superfluous tabs."""


def check_real(source: Source, data: bytes, **options: Any) -> None:
    """Documents, and but for odd lines bytes, come back; ours have no blank line at the end, no numbers, no sources."""
    head = source.head().decode("utf-8", errors="ignore") if source.stream is None else data[:65_536].decode()
    assert looks_like_columns(head) and not looks_like_conll2003(head)
    problems = Problems()
    documents = list(read_columns(Source(source.name, stream=io.BytesIO(data)), problems))
    assert documents and not problems.notes
    if "source" in documents[0].metadata:
        documents = [evolve(document, metadata={}) for document in documents]
        data = re.sub(rb"(?m)^(#\t.*\n|\d+\t)", b"", data)
    again = written(documents, **options)
    assert read(again) == documents
    expected = data.replace(b"\t\n", b"\n").rstrip(b"\n").split(b"\n")
    lines = again.replace(b"\t\n", b"\n").rstrip(b"\n").split(b"\n")
    assert len(lines) == len(expected)
    odd = sum(line != other for line, other in zip(lines, expected, strict=True))
    assert odd <= ODD_LINES.get(Path(source.name).name, 0)


def start_of(source: Source, sentences: int | None) -> bytes:
    def lines() -> Iterator[bytes]:
        blank = 0
        with source.open() as stream:
            for line in stream:
                blank += not line.strip()
                if sentences is not None and blank > sentences:
                    return
                yield line

    return b"".join(lines())


@pytest.mark.parametrize("sentences", [300, ALL])
@pytest.mark.parametrize("name", REAL)
def test_real_files_come_back(name: str, sentences: int | None) -> None:
    for source in sources_in(data_path(name)):
        check_real(source, start_of(source, sentences), **REAL[name])


@pytest.mark.parametrize("most", [3, ALL])
def test_litbanks_tables_come_back(most: int | None) -> None:
    with tarfile.open(data_path("litbank/litbank_entities_brat_tsv.tar.gz")) as archive:
        members = (member for member in archive if member.name.endswith(".tsv") and "/._" not in member.name)
        for member in islice(members, most):
            stream = archive.extractfile(member)
            assert stream is not None
            data = stream.read()
            layers = data.partition(b"\n")[0].count(b"\t") - 1
            source = Source(member.name, stream=io.BytesIO(data))
            check_real(source, data, layers=layers, first_layer="innermost")
