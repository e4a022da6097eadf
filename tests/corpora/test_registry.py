"""Corpora by name and by content, options, folders, sentences for mentions, and the counts of Table 1."""

from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from hyperspan.corpora import (
    FORMATS,
    WRITERS,
    Problems,
    Source,
    detect,
    read_corpus,
    statistics,
    write_corpus,
)
from hyperspan.corpora.documents import INSIDE_TOKENS, by_characters, with_sentences
from hyperspan.corpora.formats import format_for
from hyperspan.errors import HyperspanError, InputError
from hyperspan.text.sentences import MOST_TOKENS
from hyperspan.types import Document, Mention, Sentence
from tests.support.data import data_path

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FORMATS.built_in)
def test_the_page_on_formats_has_all_options(name: str) -> None:
    entry = FORMATS.built_in[name]
    options = {**entry.options("read"), **entry.options("write")}
    assert [option for option in options if not re.search(rf"[` ]{option}[`=]", PAGE)] == []


def test_the_page_on_formats_says_what_each_holds() -> None:
    rows = re.findall(r"^\| \[`(.+?)`\]\(#.+?\) \|(.+)\|$", PAGE, re.MULTILINE)
    table = {name: [cell.strip() for cell in cells.split("|")[1:]] for name, cells in rows}
    overlap = {"any": "✓", "nested": "nested only", "flat": "rejected unless `--lossy`"}
    several = {name: parts for name, (_, written, _, parts) in table.items() if written == "✓"}
    assert several == {name: "✓" if FORMATS[name].discontinuous else "–" for name in WRITERS}
    assert {
        name: [read, written, held.removesuffix(", in layers")] for name, (read, written, held, _) in table.items()
    } == {
        name: ["✓" if entry.reads else "–", "✓" if entry.write else "–", overlap[entry.holds]]
        for name, entry in FORMATS.built_in.items()
    }


def test_files_that_belong_to_others_are_not_left_out(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("Oz", encoding="utf-8")
        (tmp_path / f"{number}.ann").write_text("T1\tGPE 0 2\tOz\n", encoding="utf-8")
    problems = Problems()
    assert len(list(read_corpus(tmp_path, problems=problems))) == 3
    assert problems.notes == {}
    (tmp_path / "notes.txt").write_text("Which is nobody's text.", encoding="utf-8")
    assert len(list(read_corpus(tmp_path, problems=problems))) == 3
    what = f"file left out, such as {tmp_path / 'notes.txt'}, because the first that is known is brat"
    assert problems.notes == {what: 1}


TABLE_1 = {  # sentences, with overlap, mentions, overlapping, same type, and start, longer than 6, longest, crossing
    "genia/dev.data": (1855, 366, 5014, 915, 479, 202, 302, 28, 0),
    "genia/test.data": (1855, 448, 5600, 1217, 634, 287, 301, 19, 0),
    "litbank/dev.data.gz": (852, 135, 1422, 367, 224, 92, 113, 129, 0),
    "litbank/test.data.gz": (818, 110, 1326, 303, 234, 163, 73, 108, 0),
    "litbank/train.data.gz": (6892, 1169, 11164, 3211, 2161, 1287, 859, 78, 0),
    "germeval2014/NER-de-test.tsv.gz": (5100, 405, 6693, 990, 93, 38, 38, 20, 2),
}


LARGE = ("litbank/train.data.gz", "germeval2014/NER-de-test.tsv.gz")


@pytest.mark.parametrize(
    ("file", "expected"),
    [pytest.param(*row, marks=pytest.mark.corpora if row[0] in LARGE else ()) for row in TABLE_1.items()],
)
def test_statistics_to_the_last_digit(file: str, expected: tuple[int, ...]) -> None:
    found = statistics(read_corpus(data_path(file)))
    row = (found.sentences, found.sentences_with_overlap, found.mentions, found.overlapping, found.same_type)
    row += (found.same_type_and_start, found.longer_than_6, found.longest, found.crossing_pairs)
    assert row == expected


@pytest.mark.parametrize(
    ("name", "content", "guess"),
    [
        ("a.jsonl", "{'text': 'Ada'}\n", "it begins like JSON, but {}:1: a record is no JSON: expecting property name"),
        (
            "b.jsonl",
            '{"text": "Ada", "ents": [{"a": 1}]}\n',
            "the nearest is strings, but {}:1: the keys of the first record",
        ),
        ("c.json", '[{"foo": 1}]', '{}:1: the keys of its first record are "foo", which no format has'),
        ("d.conll", "Ada B_PER\nleft O\n\n", "the nearest is columns, but {}:1: 'B_PER' is no IOB2 tag"),
        ("e.xml", "<TEI>\n<p>Ada</p>\n</TEI>", "the nearest is genia-xml, but {}:1: begins with <TEI>"),
        ("f.csv", "wording,what\nAda left,PER\n", "the nearest is table, but {} has no column of texts"),
        ("g.txt", "Ada\tB-PER\nleft\tO\n\nBo\tB-PER\tO\n", "the nearest is columns, but {}:4: 3 columns found"),
        ("h.bin", "\0\1", "it is binary"),
    ],
)
def test_a_file_in_no_known_format_gets_a_guess_and_its_first_wrong_line(
    name: str, content: str, guess: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_corpus(path).__next__()
    expected = f"{path} is in no format that is known here; {guess.format(path)}"
    assert expected in str(refused.value)
    (tmp_path / "z").write_text("nothing\n", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_corpus(tmp_path)
    assert f"none of the 2 files is in a known format: {expected}" in str(refused.value)


def test_unknown_names_and_options_are_explained(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("nothing that any format looks like\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"known here; it looks like text without annotation; name its format"):
        list(read_corpus(tmp_path / "a.txt"))
    (tmp_path / "texts.jsonl").write_text('{"text": "Ada left."}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"texts\.jsonl has texts without mentions; annotate them first"):
        list(read_corpus(tmp_path / "texts.jsonl"))
    (tmp_path / "empty.jsonl").write_text(" \n", encoding="utf-8")
    with pytest.raises(InputError, match=r"empty\.jsonl is empty"):
        list(read_corpus(tmp_path / "empty.jsonl"))
    with pytest.raises(InputError, match="'xls' cannot be read; choose one of jsonl"):
        _ = read_corpus(tmp_path / "a.txt", "xls")
    with pytest.raises(InputError, match="'ace' cannot be written"):
        write_corpus([], tmp_path / "b", "ace")
    with pytest.raises(
        InputError, match=r"b\.foo does not say its format; .* \.jsonlines, .*, or name the format"
    ) as refused:
        write_corpus([], tmp_path / "b.foo")
    assert str(refused.value).count(".jsonl,") == 1
    for wrong, message in (("abc", "'a' cannot be written; give a list"), (Document("a"), "put it into a list")):
        with pytest.raises(InputError, match=message):
            write_corpus(wrong, tmp_path / "b.jsonl")  # type: ignore[arg-type]
    assert not (tmp_path / "b.jsonl").exists()
    with pytest.raises(InputError, match="no option 'colour'; it has"):
        list(read_corpus(tmp_path / "a.txt", "columns", colour="red"))
    with pytest.raises(InputError, match="scheme is 'IOE', but must be one of IOB1, IOB2, BIOES, BILOU"):
        list(read_corpus(tmp_path / "a.txt", "columns", scheme="IOE"))
    with pytest.raises(InputError, match="label is 'kind', but must be one of type, subtype"):
        list(read_corpus(tmp_path / "a.txt", "ace", label="kind"))
    with pytest.raises(InputError, match="types is 'six', but must be one of five, raw"):
        list(read_corpus(tmp_path / "a.txt", "genia-xml", types="six"))
    with pytest.raises(InputError, match="does not exist"):
        list(read_corpus(tmp_path / "missing"))


def test_sentences_and_tokens_follow_the_mentions() -> None:
    """Character annotation is never lost: sentences are joined and tokens cut where a mention needs it, and both are
    noted."""
    problems = Problems()
    text = "He met J. Smith. Then Anti-Nuclear groups left."
    mentions = [Mention(7, 21, "ODD"), Mention(27, 34, "TOPIC"), Mention(0, 2, "PER", fragments=())]
    document = with_sentences(Document(text, mentions), problems)
    assert len(document.sentences) == 1
    (sentence,) = document.sentences
    assert {sentence.text_of(mention) for mention in sentence.mentions} == {"J . Smith . Then", "Nuclear", "He"}
    assert problems.notes
    for mention in sentence.mentions:
        start, end = sentence.offsets[mention.start][0], sentence.offsets[mention.end - 1][1]
        assert Mention(start, end, mention.label) in document.mentions


def test_sentences_are_joined_though_a_shorter_mention_begins_after_the_one_that_crosses_them() -> None:
    text = "He met Smith. Then they left."
    crossing, inside = Mention(3, 18, "ODD"), Mention(7, 12, "PER")
    (sentence,) = with_sentences(Document(text, [crossing, inside]), Problems()).sentences
    assert {sentence.text_of(mention) for mention in sentence.mentions} == {"met Smith . Then", "Smith"}


def test_tokens_are_cut_where_a_part_of_a_mention_ends_inside() -> None:
    text, parted = "Anti-Nuclear groups", Mention(0, 19, "X", [(0, 4), (13, 19)])
    problems = Problems()
    (sentence,) = with_sentences(Document(text, [parted]), problems).sentences
    (mention,) = sentence.mentions
    assert by_characters(mention, sentence.offsets, text) == parted and INSIDE_TOKENS in problems.notes


def test_sentences_of_too_many_tokens_are_cut_in_no_mention() -> None:
    text = "字" * 1_200
    mentions = [
        Mention(400, 520, "WIDE"),
        Mention(510, 515, "INNER"),
        Mention(0, 1, "FIRST"),
        Mention(1_150, 1_200, "LAST"),
    ]
    parts = with_sentences(Document(text, mentions), Problems()).sentences
    assert max(map(len, parts)) <= MOST_TOKENS and sum(map(len, parts)) == len(text)
    found = {(part.offsets[m.start][0], part.offsets[m.end - 1][1], m.label) for part in parts for m in part.mentions}
    assert found == {(mention.start, mention.end, mention.label) for mention in mentions}
    (one,) = with_sentences(Document(text, [Mention(0, 1_200, "ALL")]), Problems()).sentences
    assert len(one) == 1_200


def test_only_the_text_of_an_ace_document_is_split_into_sentences(tmp_path: Path) -> None:
    folder = tmp_path / "nw" / "adj"
    folder.mkdir(parents=True)
    for suffix in (".sgm", ".apf.xml"):
        (folder / f"made{suffix}").write_bytes(data_path(f"ace_format/man-with-telescope{suffix}").read_bytes())
    (tmp_path / "made.txt").write_text("nw/adj/made\n", encoding="utf-8")
    (document,) = read_corpus(tmp_path, "ace", split=tmp_path / "made.txt")
    assert [" ".join(s.tokens) for s in with_sentences(document, Problems()).sentences] == [
        "Man seen with telescope !",
        "I saw a man on the hill with a telescope .",
    ]
    (tmp_path / "made.txt").write_text("nw/adj/other\n", encoding="utf-8")
    with pytest.raises(InputError):
        list(read_corpus(tmp_path, "ace", split=tmp_path / "made.txt"))


def test_mentions_that_cover_no_words_are_reported() -> None:
    for mention in (Mention(1, 3, "X"), Mention(1, 2, "X")):
        with pytest.raises(InputError, match="covers no words of the text"):
            with_sentences(Document("a   b", [mention]), Problems())
    outside = Document(
        "header. The text.", [Mention(0, 6, "X"), Mention(12, 16, "Y")], metadata={"text_spans": [[8, 17]]}
    )
    problems = Problems("skip")
    (sentence,) = with_sentences(outside, problems).sentences
    assert {sentence.text_of(mention) for mention in sentence.mentions} == {"text"} and len(problems.skipped) == 1
    assert len(with_sentences(Document("a b", metadata={"text_spans": "nonsense"}), Problems()).sentences) == 1


def test_mentions_by_character_reach_the_sentences_that_hold_them() -> None:
    sentence = Sentence(["Bob", "saw", "it"], offsets=[(0, 3), (4, 7), (8, 10)])
    (found,) = with_sentences(Document("Bob saw it", [Mention(0, 7, "P")], [sentence]), Problems()).sentences
    assert found.mentions == {Mention(0, 2, "P")}
    problems = Problems()
    with_sentences(Document("Bob saw it twice", [Mention(11, 16, "P")], [sentence]), problems)
    assert problems.notes == {"mention that is in no sentence kept by its characters alone": 1}


@pytest.mark.parametrize("packed", [False, True])
def test_streams_are_recognised_and_unpacked(packed: bool) -> None:
    """However slowly they come: what was looked at to recognise the format is read again."""
    data = b"the Seattle zoo\nDT NNP NN\n0,3 FAC|1,2 GPE\n\n" * 5000

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(size or 7, 7) if size and size > 0 else 7)

    source = Source("stream", stream=Slow(gzip.compress(data) if packed else data))
    assert detect(source) == detect(source) == "four-lines"
    assert sum(len(document.mentions) for document in FORMATS["four-lines"].read(source, Problems())) == 10_000


def test_folders_are_not_read_in_part_in_silence_nor_mixed(tmp_path: Path) -> None:
    (tmp_path / "a.data").write_text("a b\nX Y\n0,1 P\n\n", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"text": "a", "label": []}\n', encoding="utf-8")
    problems = Problems()
    assert len(list(read_corpus(tmp_path, None, problems))) == 1
    assert list(problems.notes.values()) == [1]
    write_corpus([Document("a", id="one")], tmp_path / "brat", "brat")
    with pytest.raises(InputError, match="contains 2 other files"):
        write_corpus([Document("b", id="two")], tmp_path / "brat", "brat", force=True)
    assert (tmp_path / "brat" / "one.txt").read_text(encoding="utf-8") == "a"


def test_folders_of_files_with_other_suffixes_are_read_by_their_content(tmp_path: Path) -> None:
    for name in ("eng.testa", "eng.testb", "eng.train"):
        (tmp_path / name).write_text("Oz NNP B-NP B-LOC\n", encoding="utf-8")
    (tmp_path / "notes.md").write_text("# Which files these are\n\nSomebody made them.\n", encoding="utf-8")
    problems = Problems()
    assert len(list(read_corpus(tmp_path, None, problems))) == 3
    assert list(problems.notes.values()) == [1]
    assert "notes.md" in str(problems.notes)
    (tmp_path / "eng.train.gz").write_bytes(b"\x1f\x8bdamaged")
    with pytest.raises(HyperspanError, match=r"eng\.train\.gz"):
        list(read_corpus(tmp_path))


def test_detect_decodes_the_first_record_once_for_most_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []
    original = json.JSONDecoder.raw_decode

    def counted(self: json.JSONDecoder, text: str, start: int = 0) -> tuple[Any, int]:
        decoded.append(text)
        return original(self, text, start)

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", counted)
    record = b'{"tokenized_text": ["the", "Seattle", "zoo"], "ner": [[1, 1, "GPE"]]}'
    assert detect(Source("x", stream=io.BytesIO(record))) == "gliner"
    assert len(decoded) <= 2  # doccano's looks at all records


def test_format_for_a_suffix_of_several_formats_names_them() -> None:
    with pytest.raises(InputError, match=r"w2ner or gliner or label-studio may have it; let it end in one of \.jsonl"):
        format_for("x.json")
    with pytest.raises(InputError, match=r"columns"):
        format_for("x.txt.gz")


def test_option_values_are_checked(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("w\tX\tB-P\n", encoding="utf-8")
    assert len(list(read_corpus(tmp_path / "a.tsv", "columns", tag_columns="2", token_column=0))) == 1
    wrongs: tuple[dict[str, Any], ...] = (
        {"repair": "maybe"},
        {"token_column": "x"},
        {"tag_columns": "a,b"},
        {"scheme": True},
    )
    for wrong in wrongs:
        with pytest.raises(InputError, match="but must be"):
            list(read_corpus(tmp_path / "a.tsv", "columns", **wrong))


def test_one_bad_byte_does_not_end_the_reading_where_errors_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"Bob\tB-P\n\nZo\xff\tB-P\n\nAnn\tB-P\n")
    with pytest.raises(HyperspanError, match=r"a\.tsv:3: is not UTF-8 text"):
        list(read_corpus(tmp_path / "a.tsv", "columns"))
    problems = Problems("skip")
    assert len(list(read_corpus(tmp_path / "a.tsv", "columns", problems))) == 3
    assert list(problems.notes.values()) == [1]
