"""Mentions that differ by outer white space alone: one mention in every format, counted, and no half of a file on
refusal."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from hyperspan.corpora import Problems, Source, read_corpus, write_corpus
from hyperspan.corpora.documents import PARTS_JOINED, SPACE_LEFT_OUT, trimmed
from hyperspan.corpora.formats import FORMATS, WRITERS
from hyperspan.errors import CorpusError, LossError
from hyperspan.files import Target
from hyperspan.types import Document, Mention

TEXT = "Syria left. Good."
DOCCANO = json.dumps({"text": TEXT, "label": [[0, 6, "L"], [0, 5, "L"]]})
APART = json.dumps({"text": TEXT, "mentions": [{"start": 0, "end": 16, "label": "L", "fragments": [[0, 5], [12, 16]]}]})
REGIONS = [{"start": start, "end": end, "labels": ["L"]} for start, end in ((0, 6), (0, 5))]
SAMPLES = {
    "doccano": DOCCANO,
    "jsonl": json.dumps({"text": TEXT, "mentions": [{"start": 0, "end": end, "label": "L"} for end in (6, 5)]}),
    "label-studio": json.dumps([{"text": TEXT, "label": REGIONS}]),
}


@pytest.mark.parametrize(("name", "sample"), SAMPLES.items())
def test_readers_trim_white_space_and_merge_what_is_then_the_same(name: str, sample: str) -> None:
    problems = Problems()
    [document] = FORMATS[name].read(Source("made", stream=io.BytesIO(sample.encode())), problems)
    assert [mention.text for mention in document.mentions] == ["Syria"]
    assert problems.notes == {SPACE_LEFT_OUT: 1, "mention listed twice read as one": 1}


def test_brat_trims_white_space_and_keeps_relations(tmp_path: Path) -> None:
    lines = "T1\tL 0 6\tSyria \nT2\tL 0 5\tSyria\nR1\tSame Arg1:T1 Arg2:T2\n"
    (tmp_path / "a.ann").write_text(lines, encoding="utf-8")
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    problems = Problems()
    documents = list(read_corpus(tmp_path, "brat", problems))
    assert [(mention.text, mention.id) for mention in documents[0].mentions] == [("Syria", "T1")]
    assert problems.notes == {SPACE_LEFT_OUT: 1, "mention annotated twice, kept once": 1}
    write_corpus(documents, tmp_path / "again", "brat")
    again = (tmp_path / "again" / "a.ann").read_text(encoding="utf-8")
    assert again == lines.replace("T1\tL 0 6\tSyria ", "T1\tL 0 5\tSyria")


def test_docbin_trims_tokens_of_blanks(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import DocBin, Span

    doc = spacy.blank("en")("Syria \n left")
    doc.spans["sc"] = [Span(doc, 0, 2, "L"), Span(doc, 0, 1, "L"), Span(doc, 1, 3, "M")]
    DocBin(docs=[doc]).to_disk(tmp_path / "a.spacy")
    problems = Problems()
    [document] = read_corpus(tmp_path / "a.spacy", problems=problems)
    assert {(mention.text, mention.label) for mention in document.mentions} == {("Syria", "L"), ("left", "M")}
    assert problems.notes[SPACE_LEFT_OUT] == 2
    assert problems.notes["mention listed twice read as one"] == 1


BLANKS = [Mention(0, 6, "L"), Mention(0, 5, "L")]
TOUCHING = [Mention(0, 10, "L", ((0, 5), (6, 10)))]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("mentions", [BLANKS, TOUCHING], ids=["outer blanks", "parts"])
def test_writers_hold_mentions_that_differ_by_white_space_alone(
    name: str, mentions: list[Mention], tmp_path: Path
) -> None:
    """Read from a file, or made in Python where what is written is text: they are one contiguous mention."""
    if name == "docbin":
        pytest.importorskip("spacy")
    records = [{"start": one.start, "end": one.end, "label": "L"} for one in mentions]
    if mentions is TOUCHING:
        records[0]["fragments"] = [[0, 5], [6, 10]]
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": TEXT, "mentions": records}), encoding="utf-8")
    given = [read_corpus(tmp_path / "in.jsonl")]
    if mentions is TOUCHING or name not in ("brat", "jsonl", "doccano", "label-studio"):
        given.append(iter([Document(TEXT, mentions)]))
    for number, documents in enumerate(given):
        losses = write_corpus(documents, tmp_path / f"out{number}", name)
        assert (losses.written, losses.lost) == (1, {})
        if FORMATS[name].reads:
            read = read_corpus(tmp_path / f"out{number}", name)
            assert [mention.fragments for document in read for mention in document.mentions] == [()]


def test_trimmed_shortens_fragments_and_heads() -> None:
    text = " red  and blue cells "
    mention = Mention(0, 21, "C", ((0, 4), (5, 6), (14, 21)), head=(14, 21), id="7")
    [found] = trimmed([mention], text, Problems())
    assert found == Mention(1, 20, "C", ((1, 4), (15, 20)))
    assert (found.head, found.id) == ((15, 20), "7")
    one = Mention(0, 6, "C", ((0, 4), (5, 6)))
    assert trimmed([one], text, Problems()) == [Mention(1, 4, "C")]


def test_trimmed_joins_parts_with_only_white_space_between() -> None:
    problems = Problems()
    text = "red\n  blood cells"
    given = [Mention(0, 17, "C", ((0, 3), (6, 11), (12, 17))), Mention(0, 17, "C", ((0, 3), (12, 17)))]
    assert trimmed(given, text, problems) == [Mention(0, 17, "C"), given[1]]
    assert problems.notes == {PARTS_JOINED: 1}


def test_trimmed_leaves_mentions_of_blanks_and_wrong_ones_to_others() -> None:
    problems = Problems()
    mentions = [Mention(5, 6, "L"), Mention(0, 99, "L"), Mention(0, 6, "L", text="Libya ")]
    assert trimmed(mentions, TEXT, problems) == mentions
    assert not problems.notes
    blank = Document(TEXT, mentions[:1])
    with pytest.raises(CorpusError, match="covers no words of the text; correct or remove it"):
        write_corpus([blank], os.devnull, "w2ner")


@pytest.mark.parametrize("name", [name for name in WRITERS if not FORMATS[name].discontinuous])
def test_write_corpus_writes_nothing_if_a_mention_is_refused(name: str, tmp_path: Path, capsysbinary: Any) -> None:
    (tmp_path / "in.jsonl").write_text(APART, encoding="utf-8")
    for target in ("-", tmp_path / "out"):
        with pytest.raises(LossError, match=r"cannot hold 1 of 1 mentions \(1 "):
            write_corpus(read_corpus(tmp_path / "in.jsonl"), target, name)
    assert capsysbinary.readouterr().out == b""
    assert [file.name for file in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_refused_conversion_writes_nothing_to_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    got: list[bytes] = []
    reader = Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    (tmp_path / "in.jsonl").write_text(APART, encoding="utf-8")
    with pytest.raises(LossError):
        write_corpus(read_corpus(tmp_path / "in.jsonl"), tmp_path / "pipe", "gliner")
    reader.join(10)
    assert got == [b""]


def test_what_is_larger_than_memory_waits_on_the_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("hyperspan.files.MAX_BUFFERED_BYTES", 10)
    os.mkfifo(tmp_path / "pipe")
    got: list[bytes] = []
    reader = Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    with Target(str(tmp_path / "pipe"), buffered=True).open() as stream:
        stream.write("zoo\n" * 1000)
    reader.join(10)
    assert got == [b"zoo\n" * 1000]


def test_jsonl_on_standard_output_is_a_stream(capsysbinary: Any) -> None:
    def documents() -> Any:
        yield Document("one")
        raise CorpusError("made:2: is wrong")

    with pytest.raises(CorpusError):
        write_corpus(documents(), "-", "jsonl")
    assert capsysbinary.readouterr().out.count(b"\n") == 1
