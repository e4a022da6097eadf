"""The 4-line layout: byte-for-byte round trips, generated documents, misaligned lines, and damaged files."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest
from attrs import evolve

from hyperspan.corpora.documents import document_of
from hyperspan.corpora.four_lines import looks_like_four_lines
from hyperspan.corpora.source import Losses, Lossy, Problems
from hyperspan.errors import CorpusError, InputError
from hyperspan.types import Document, Mention, Sentence
from tests.support.data import data_path
from tests.support.formats import read_noting
from tests.support.formats import written as written_as

SAMPLE = b"""\
The FOO gene of red cells .
DT NN NN IN JJ NNS .
4,6 G#cell_type|1,3 G#DNA|1,2 G#protein|1,2 G#protein

Nothing  was found .
NN VBD VBN .


Red cells grow .
JJ NNS .
0,2,1,2 G#cell_type



"""
WRITTEN = b"""\
The FOO gene of red cells .
DT NN NN IN JJ NNS .
1,2 G#protein|1,2 G#protein|1,3 G#DNA|4,6 G#cell_type

Nothing was found .
NN VBD VBN .


Red cells grow .
_ _ _ _
0,2,1,2 G#cell_type

"""
FILES = [f"genia/{part}.data" for part in ("train", "dev", "test")]
SAMPLES = [f"genia/authors_sample/{part}.data" for part in ("train", "dev", "test")]


read = partial(read_noting, "four-lines", place="lines")


def written(documents: Iterable[Document], lossy: Lossy | None = None, **options: Any) -> tuple[bytes, Losses]:
    losses = Losses(lossy)
    return written_as("four-lines", documents, losses, **options), losses


def spans(document: Document) -> list[tuple[int, int, str]]:
    return sorted((mention.start, mention.end, mention.label) for mention in document.sentences[0].mentions)


def test_reads_tokens_tags_mentions_heads_and_duplicates():
    (first, second, third), problems = read(SAMPLE)
    assert first.text == "The FOO gene of red cells ." and first.id == "1"
    assert spans(first) == [(1, 2, "protein"), (1, 3, "DNA"), (4, 6, "cell_type")]
    assert first.sentences[0].duplicates == (Mention(1, 2, "protein"),)
    assert first.sentences[0].tags == ("DT", "NN", "NN", "IN", "JJ", "NNS", ".")
    assert second.sentences[0].tokens == ("Nothing", "was", "found", ".") and not second.mentions
    (cells,) = third.sentences[0].mentions
    assert cells.head == (1, 2)
    assert [mention.head for mention in third.mentions] == [(4, 9)]
    assert third.sentences[0].tags == () and third.metadata == {"label_prefix": "G#"}
    assert problems.notes == {"tags left out because there are not as many as tokens": 1}


def test_writes_what_was_read_in_sorted_order():
    documents, _ = read(SAMPLE)
    data, losses = written(documents)
    assert data == WRITTEN and losses.written == 4 and not losses.lost


def test_writes_what_changed_since_it_was_read():
    documents, _ = read(SAMPLE)
    changed = [
        evolve(old, mentions=(), sentences=[evolve(old.sentences[0].with_mentions([Mention(0, 1, "new")]), tags=())])
        for old in documents
    ]
    lines = written(changed)[0].decode().split("\n")
    assert lines[2] == "0,1 G#new" and lines[6] == "0,1 new" and lines[10] == "0,1 G#new"


@pytest.mark.parametrize(("prefix", "line"), [("", "0,2,1,2 cell_type"), ("X:", "0,2,1,2 X:cell_type")])
def test_writes_another_prefix(prefix: str, line: str):
    documents, _ = read(SAMPLE)
    assert line in written(documents, prefix=prefix)[0].decode().split("\n")


def test_prefix_is_kept_on_request_and_then_written_again():
    documents, _ = read(SAMPLE, prefix="")
    assert spans(documents[0]) == [(1, 2, "G#protein"), (1, 3, "G#DNA"), (4, 6, "G#cell_type")]
    assert written(documents)[0] == WRITTEN


@pytest.mark.parametrize("prefix", [" ", "a|b", "a\nb"])
def test_refuses_a_prefix_that_does_not_fit(prefix: str):
    with pytest.raises(InputError, match="the prefix is "):
        written([], prefix=prefix)


def test_three_lines_without_tags_are_read_and_get_unknown_ones():
    data = b"Red cells grow .\n0,2 G#cell_type|0,1 colour\n\nNothing .\n\n\nRed .\n\n\n"
    documents, _ = read(data)
    assert [document.sentences[0].tags for document in documents] == [(), (), ()]
    assert read(written(documents)[0])[0] == documents
    documents, _ = read(b"Nothing .\n\n\nRed cells grow .\n0,2 G#cell_type\n\n")
    expected = b"Nothing .\n_ _\n\n\nRed cells grow .\n_ _ _ _\n0,2 G#cell_type\n\n"
    assert written(documents)[0] == expected


def test_windows_line_ends_and_a_missing_last_line():
    documents, _ = read(SAMPLE.replace(b"\n", b"\r\n"))
    assert written(documents)[0] == WRITTEN
    documents, _ = read(b"a b\nA B\n0,1 X")
    assert written(documents)[0] == b"a b\nA B\n0,1 X\n\n"


def test_writes_plain_text_and_many_sentences():
    data, losses = written([Document("Red cells grow.\nWhy?", [Mention(0, 9, "cell")], id="text")])
    assert data == b"Red cells grow .\n_ _ _ _\n0,2 cell\n\nWhy ?\n_ _\n\n\n" and losses.written == 1
    again, _ = read(data)
    assert [document.sentences[0].tags for document in again] == [(), ()]


def test_tokens_that_do_not_fit_into_a_line_are_noted():
    problems = Problems()
    documents = [document_of([Sentence(["New York", ""], tags=["N\nP", "X"])]), document_of([Sentence([])])]
    assert written(documents, problems=problems)[0] == b"New_York _\nN_P X\n\n\n"
    assert problems.notes == {
        "tokens that are empty or have spaces or line breaks in them written with _ instead": 1,
        "tags that are empty or have spaces or line breaks in them written with _ instead": 1,
        "sentence without tokens left out": 1,
    }


WRONG = {
    b"a b\nA B\n0,3 X\n\n": (
        "lines:3: has the mention '0,3 X', but its sentence has 2 tokens, and 0 <= start < end <= 2 is needed; "
        "`end` is exclusive"
    ),
    b"a b\nA B\n1,1 X\n\n": "lines:3: has the mention '1,1 X', but its sentence has 2 tokens",
    b"a b\nA B\n0,1,1,9 X\n\n": "lines:3: has the mention '0,1,1,9 X', but its sentence has 2 tokens",
    b"a b\nA B\n0,1 X|0;2 Y\n\n": (
        "lines:3: has '0;2 Y' for a mention, but start,end TYPE or start,end,head_start,head_end TYPE is expected, "
        "with | between mentions; correct it"
    ),
    b"a b\nA B\n0,1 X|\n\n": "lines:3: has '' for a mention, but",
    b"a b\nA B\n0,1\n\n": "lines:3: has '0,1' for a mention, but",
    b"a b\nA B\n-1,1 X\n\n": "lines:3: has '-1,1 X' for a mention, but",
    b"a b\nA B\n0,99999999999999999999 X\n\n": "lines:3: has '0,99999999999999999999 X' for a mention, but",
    b"a b\nA B\n0,1,2 X\n\n": "lines:3: has '0,1,2 X' for a mention, but",
    b"a\nA\n\n\n\nb\nB\n0,1 X\nc\nC\n\n\n": (
        "lines:9: is 'c', but the sentence that begins in line 6 has 4 lines (tokens, tags, mentions, a blank line), "
        "so that a blank line is expected here; add what is missing or remove what is too much"
    ),
    b"a\nA\n\nb\nB\n\n\n": "lines:4: is 'b', but the sentence that begins in line 1 has 4 lines",
    b"a\nA\n\n\nb\n\n\n\n": "lines:6: is blank, but the tags of the 1 tokens before it are expected here; add them",
    b"a\n0,1 X\n\nb\n0,1 X\nc\n": "lines:6: is 'c', but the sentence that begins in line 4 has 3 lines (tokens, mentions,",
    b"a\nA\n\n\nb\nB\n": "lines:6: is the last line, but the sentence that begins in line 5 has 4 lines; complete the file",
    b"a": "lines:1: is the last line, but the sentence that begins in line 1 has 4 lines; complete the file",
    b"a b\nA \xff\n\n\n": "lines:2: is not UTF-8 text",
}


@pytest.mark.parametrize("data", WRONG)
def test_says_what_is_wrong_and_where(data: bytes):
    with pytest.raises(CorpusError) as error:
        read(data)
    assert str(error.value).startswith(WRONG[data])


GOOD = b"x y\nX Y\n0,1 Z\n\n"


@pytest.mark.parametrize("bad", [data for data in WRONG if b"\xff" not in data and data.endswith(b"\n\n")])
def test_skips_what_is_wrong_and_goes_on(bad: bytes):
    documents, problems = read(GOOD + bad + GOOD, "skip")
    assert problems.skipped
    assert [document.text for document in documents].count("x y") == 2


def test_a_missing_line_costs_no_sentence_but_its_own():
    documents, problems = read(GOOD + b"a b\nA B\n\n" + GOOD + b"a b\n0,1 X\n\n" + GOOD + b"a b\n\n\n" + GOOD, "skip")
    assert [document.text for document in documents] == ["x y"] * 4 and len(problems.skipped) == 3


@pytest.mark.parametrize("name", [*FILES, *SAMPLES])
def test_the_beginning_of_a_real_file_comes_back(name: str):
    lines = data_path(name).read_bytes().splitlines(keepends=True)
    data = b"".join(lines[: 4 * 300])
    assert looks_like_four_lines(data[:65_536].decode(errors="ignore"))
    documents, _ = read(data)
    assert read(written(documents)[0])[0] == documents


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("name", "sentences", "mentions"), [*zip(FILES, (14_836, 1_855, 1_855), (46_416, 5_014, 5_600), strict=True)]
)
def test_real_files_come_back(name: str, sentences: int, mentions: int):
    data = data_path(name).read_bytes()
    documents, problems = read(data)
    again, losses = written(documents)
    listed = sum(len(document.sentences[0].listed) for document in documents)
    assert read(again)[0] == documents and (len(documents), listed) == (sentences, mentions)
    assert losses.written == sum(len(document.sentences[0].mentions) for document in documents)
    assert problems.notes == ({"tags left out because there are not as many as tokens": 1} if "test" in name else {})
