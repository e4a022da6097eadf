"""brat stand-off: two files a document, every line kept."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
import zipfile
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest

from hyperspan import Document, Mention, Sentence, write_corpus
from hyperspan.corpora.brat import looks_like_brat, read_brat, write_brat
from hyperspan.corpora.documents import PARTS_JOINED, document_of
from hyperspan.corpora.source import Losses, Problems, Source, sources_in
from hyperspan.errors import CorpusError, OutputExistsError
from hyperspan.files import Target
from tests.support.data import ALL, data_path
from tests.support.growth import grows_linearly

TEXT = "Ada saw the\r\nSeattle zoo, young and old people. 🦒"
ANNOTATIONS = """T7	FAC 8 24	the  Seattle zoo
R1	Located Arg1:T7 Arg2:T2
T2	GPE 13 20	Seattle
T3	PER 26 31;40 46	young people
*	Equiv T7 T9
T9	FAC 8 24	the  Seattle zoo
#1	AnnotatorNotes T2	a	note
T4	ANIMAL 48 49	🦒
"""


def put(folder: Path, annotations: str | bytes, text: str | bytes = TEXT, name: str = "zoo") -> Source:
    for ending, content in ((".txt", text), (".ann", annotations)):
        (folder / f"{name}{ending}").write_bytes(content.encode() if isinstance(content, str) else content)
    return Source("zoo.ann", folder / f"{name}.ann")


def written(folder: Path, documents: Sequence[Document], losses: Losses | None = None) -> list[Source]:
    write_brat(documents, Target(str(folder / "out")), losses or Losses(), Problems())
    return sources_in(folder / "out", (".ann",))


def test_every_line_is_read_and_written_back(tmp_path: Path) -> None:
    problems = Problems()
    [document] = read_brat(put(tmp_path, ANNOTATIONS), problems)
    assert document.text == TEXT and document.id == "zoo" and not document.sentences
    assert document.mentions == {
        Mention(8, 24, "FAC"),
        Mention(13, 20, "GPE"),
        Mention(26, 46, "PER", ((26, 31), (40, 46))),
        Mention(48, 49, "ANIMAL"),
    }
    assert {mention.id for mention in document.mentions} == {"T7", "T2", "T3", "T4"}
    others = [ANNOTATIONS.split("\n")[line] for line in (1, 4, 5, 6)]
    assert document.metadata == {"about_mentions": {"brat_lines": others}}
    assert problems.notes == {"mention annotated twice, kept once": 1}
    written(tmp_path, [document])
    lines = (tmp_path / "out/zoo.ann").read_text(encoding="utf-8").splitlines()
    assert sorted(lines) == sorted(ANNOTATIONS.splitlines()) and lines[4:] == others
    assert (tmp_path / "out/zoo.txt").read_bytes() == TEXT.encode()


def test_mentions_come_and_go_between_reading_and_writing(tmp_path: Path) -> None:
    [document] = read_brat(put(tmp_path, ANNOTATIONS), Problems())
    kept = [mention for mention in document.mentions if mention.label != "FAC"]
    changed = Document(TEXT, [*kept, Mention(0, 3, "PER"), Mention(26, 31, "PER", id="E1")], (), "", document.metadata)
    written(tmp_path, [changed])
    assert (tmp_path / "out/document.ann").read_text().split("\n") == [
        "T1\tPER 0 3\tAda",
        "T2\tGPE 13 20\tSeattle",
        "T5\tPER 26 31\tyoung",
        "T3\tPER 26 31;40 46\tyoung people",
        "T4\tANIMAL 48 49\t🦒",
        "R1\tLocated Arg1:T7 Arg2:T2",
        "*\tEquiv T7 T9",
        "#1\tAnnotatorNotes T2\ta\tnote",
        "",
    ]


def test_new_mentions_get_ids_that_no_other_line_has(tmp_path: Path) -> None:
    """A mention that is annotated twice keeps its second line, since relations may name it."""
    [document] = read_brat(put(tmp_path, "T1\tPER 0 3\tAda\nT2\tPER 0 3\tAda\n"), Problems())
    changed = Document(TEXT, [*document.mentions, Mention(13, 20, "GPE")], (), "", document.metadata)
    [source] = written(tmp_path, [changed])
    [again] = read_brat(source, Problems())
    assert {mention.id: mention.label for mention in again.mentions} == {"T1": "PER", "T3": "GPE"}


@pytest.mark.parametrize(
    "metadata", [None, 3, "T1", [None, 3, ["T1"], "a\nb", "", "T1\tX 0 1\t", "R1\tfine\r"], {"a": 1}]
)
def test_metadata_may_hold_anything(tmp_path: Path, metadata: object) -> None:
    for number, about in enumerate(({"about_mentions": metadata}, {"about_mentions": {"brat_lines": metadata}})):
        (folder := tmp_path / str(number)).mkdir()
        [source] = written(folder, [Document("ab", [Mention(0, 1, "X")], metadata=about)])
        [document] = read_brat(source, Problems())
        assert document.mentions == {Mention(0, 1, "X")}


def test_text_and_annotations_find_each_other(tmp_path: Path) -> None:
    source = put(tmp_path, ANNOTATIONS)
    [expected] = read_brat(source, Problems())
    assert list(read_brat(Source("zoo.txt", tmp_path / "zoo.txt"), Problems())) == [expected]
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for ending in (".txt", ".ann"):
            archive.write(tmp_path / f"zoo{ending}", f"some/folder/zoo{ending}")
    for member in sources_in(tmp_path / "all.zip"):
        assert list(read_brat(member, Problems())) == [expected]
    for ending in (".txt", ".ann"):
        (tmp_path / f"zoo{ending}.gz").write_bytes(gzip.compress((tmp_path / f"zoo{ending}").read_bytes()))
        (tmp_path / f"zoo{ending}").unlink()
    assert list(read_brat(Source("zoo.ann.gz", tmp_path / "zoo.ann.gz"), Problems())) == [expected]
    assert list(read_brat(Source("zoo.txt.gz", tmp_path / "zoo.txt.gz"), Problems())) == [expected]


def test_missing_halves(tmp_path: Path) -> None:
    source = put(tmp_path, ANNOTATIONS)
    (tmp_path / "zoo.txt").unlink()
    with pytest.raises(CorpusError, match=r"^zoo\.ann: no zoo\.txt with the text is in its folder; put it there"):
        list(read_brat(source, Problems()))
    put(tmp_path, ANNOTATIONS)
    (tmp_path / "zoo.ann").unlink()
    with pytest.raises(CorpusError, match=r"^zoo\.txt: no zoo\.ann with annotations is in its folder"):
        list(read_brat(Source("zoo.txt", tmp_path / "zoo.txt"), Problems()))
    with pytest.raises(
        CorpusError, match=r"^standard input: brat keeps text and annotations in two files, and a stream"
    ):
        list(read_brat(Source("standard input", stream=io.BytesIO(ANNOTATIONS.encode())), Problems()))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("T1\tPER 0 3", "expected id, tab, label and offsets, tab, text, such as 'T1<tab>PER 0 5<tab>Alice', but found 'T1\\tPER 0 3'"),
        ("T1 PER 0 3 Ada", "expected id, tab, label"),
        ("T1\tPER -1 3\tAda", "expected id, tab, label"),
        ("T1\tPER ٠ ٣\tAda", "expected id, tab, label"),
        (f"T1\tPER 0 {'9' * 5000}\tAda", "expected id, tab, label"),
        ("no line of brat", "expected id, tab, label"),
        ("T1\tPER 3 3\t", "T1 has the span '3 3', but each part must end after it starts, and none overlap another"),
        ("T1\tPER 0 3;2 5\tAda a s", "T1 has the span '0 3;2 5', but each part must end"),
        ("T1\tPER 0 300\tAda", "T1 ends at 300, but the text has 49 characters; offsets count Unicode code points"),
        ("T1\tPER 1 4\tAda", "T1 is 'Ada', but the text at '1 4' reads 'da '; offsets count Unicode code points"),
        ("T2\tPER 0 3\tAda", "T2 is the id of an earlier line too; give each its own"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    source = put(tmp_path, f"T2\tGPE 13 20\tSeattle\n\n{line}\nT3\tPER 40 46\tpeople\n")
    with pytest.raises(CorpusError) as error:
        list(read_brat(source, Problems()))
    assert str(error.value).startswith(f"zoo.ann:3: {message}")
    problems = Problems("skip")
    [document] = read_brat(source, problems)
    assert document.mentions == {Mention(13, 20, "GPE"), Mention(40, 46, "PER")}
    assert problems.skipped == [str(error.value)]


@pytest.mark.parametrize(
    ("annotations", "text", "place"),
    [
        (ANNOTATIONS.encode(), b"Ada\xff", "zoo.txt is not UTF-8 text"),
        (b"T1\tPER 0 3\tAda\nT2\tPER 0 3\t\xff\n", TEXT.encode(), "zoo.ann:2: is not UTF-8 text"),
        (b"\x1f\x8b cut short", TEXT.encode(), "zoo.ann: cannot be read"),
    ],
)
def test_files_that_are_no_text_are_skipped_as_a_whole(
    tmp_path: Path, annotations: bytes, text: bytes, place: str
) -> None:
    source = put(tmp_path, annotations, text)
    problems = Problems("skip")
    assert list(read_brat(source, problems)) == []
    assert place in problems.skipped[0] and len(problems.skipped) == 1
    with pytest.raises(CorpusError) as error:
        list(read_brat(source, Problems()))
    assert str(error.value) == problems.skipped[0]


def test_what_brat_leaves_open_is_decided_and_noted(tmp_path: Path) -> None:
    problems = Problems()
    lines = "T1\tPER 40 46;26 31\tpeople young\nT2\tX 26 28;28 31\tyo ung\nT3\tFAC 8 24\tthe Seattle zoo\n"
    [document] = read_brat(put(tmp_path, lines), problems)
    assert document.mentions == {
        Mention(26, 46, "PER", ((26, 31), (40, 46))),
        Mention(26, 31, "X"),
        Mention(8, 24, "FAC"),
    }
    assert problems.notes == {
        "parts of a mention sorted, and joined where they touch": 2,
        "text of a mention differs from the document in white space": 1,
    }


def test_parts_on_both_sides_of_a_line_break_are_one(tmp_path: Path) -> None:
    lines = "T1\tFAC 8 11;13 20\tthe Seattle\nT2\tX 8 11;13 20;26 31\tthe Seattle young\nT3\tFAC 13 20\tSeattle\n"
    problems = Problems()
    [document] = read_brat(put(tmp_path, lines), problems)
    split = Mention(8, 31, "X", ((8, 20), (26, 31)))
    assert document.mentions == {Mention(8, 20, "FAC"), split, Mention(13, 20, "FAC")}
    assert problems.notes == {PARTS_JOINED: 2}
    written(tmp_path, [document])
    assert (tmp_path / "out/zoo.ann").read_text().splitlines() == [
        "T1\tFAC 8 20\tthe  Seattle",
        "T2\tX 8 20;26 31\tthe  Seattle young",
        "T3\tFAC 13 20\tSeattle",
    ]


def test_file_names_are_safe_and_unique(tmp_path: Path) -> None:
    ids = ["", "", "a/b", "a_b", "../../up", ".hidden", "A_B", "x" * 500, "é😀:*?", "a_b-2", "\ud800", "document-2"]
    problems = Problems()
    documents = [Document(f"text {number}", id=identifier) for number, identifier in enumerate(ids)]
    write_brat(documents, Target(str(tmp_path / "out")), Losses(), problems)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert len({name.casefold() for name in names}) == 2 * len(ids) and not any(name.startswith(".") for name in names)
    assert {"a_b.ann", "A_B-3.ann", "document.ann", "document-2.ann", "_.._up.txt", "hidden.txt"} <= set(names)
    assert problems.notes["document renamed to a valid file name"] == len(ids)
    texts = {
        document.text for source in sources_in(tmp_path / "out", (".ann",)) for document in read_brat(source, problems)
    }
    assert texts == {document.text for document in documents}


def test_many_documents_of_one_name_take_no_quadratic_time(tmp_path: Path) -> None:
    names = count(1)

    def write(size: int) -> None:
        folder = tmp_path / str(next(names))
        folder.mkdir()
        assert len(written(folder, [Document("a")] * size)) == size

    assert grows_linearly(write, 150)


def test_long_spans_take_no_quadratic_time(tmp_path: Path) -> None:
    """Many short lines about a long text, each wrong about all of it."""

    def read(size: int) -> None:
        lines = "".join(f"T{number}\tX 0 {size}\tz\n" for number in range(size // 50))
        problems = Problems("skip")
        list(read_brat(put(tmp_path, lines, "z" * size), problems))
        assert len(problems.skipped) == size // 50

    assert grows_linearly(read, 100_000)


def test_what_utf8_cannot_hold_is_said(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"^document 'bad': UTF-8 cannot hold the character '\\ud800'; remove lone"):
        written(tmp_path, [Document("a\ud800", id="bad")])
    write_brat(
        [Document("a\ud800"), Document("b", id="b")], Target(str(tmp_path / "o")), Losses(), problems=Problems("skip")
    )
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == ["b.ann", "b.txt"]


def test_documents_of_sentences_are_written_by_characters(tmp_path: Path) -> None:
    twice = [Mention(1, 2, "GPE"), Mention(1, 2, "GPE")]
    document = document_of([Sentence(["the", "Seattle", "zoo"]).with_mentions(twice)], id="zoo")
    problems = Problems()
    write_brat([document], Target(str(tmp_path / "out")), Losses(), problems)
    assert (tmp_path / "out/zoo.ann").read_text() == "T1\tGPE 4 11\tSeattle\n"
    assert problems.notes == {"mention annotated twice, written once": 1}
    with pytest.raises(OutputExistsError):
        write_brat([document], Target(str(tmp_path / "out")), Losses(), Problems())


@pytest.mark.parametrize("most", [5, ALL])
def test_litbank_comes_back_sorted(tmp_path: Path, most: int | None) -> None:
    with tarfile.open(data_path("litbank/litbank_entities_brat_tsv.tar.gz")) as archive:
        names = sorted(name for name in archive.getnames() if name.endswith(".ann"))
        wanted = {name[:-4] for name in (names if most is None else random.Random(0).sample(names, most))}
        archive.extractall(tmp_path / "in", [each for each in archive if each.name[:-4] in wanted], filter="data")
    sources = sources_in(tmp_path / "in", (".ann",))
    problems = Problems()
    documents = (document for source in sources for document in read_brat(source, problems))
    losses = write_corpus(documents, tmp_path / "out", "brat", problems=problems)
    assert not problems.notes and not losses.lost and (most or losses.written == 13_912)
    for source in sources:
        assert source.path is not None
        before, after = (path.read_bytes().splitlines() for path in (source.path, tmp_path / "out" / source.path.name))
        assert sorted(after) == sorted(before)
        text = source.path.with_suffix(".txt")
        assert (tmp_path / "out" / text.name).read_bytes() == text.read_bytes()
        assert looks_like_brat(source.head().decode(errors="ignore"))
        assert not looks_like_brat(source.path.with_suffix(".txt").read_text(encoding="utf-8")[:65_536])
    assert len(sources) == (most or 100)


def test_a_new_folder_appears_as_a_whole(tmp_path: Path) -> None:
    new = tmp_path / "new"
    with Target(str(new)).open_folder() as folder:
        (folder / "a.txt").write_text("Ada")
        inode = folder.stat().st_ino
    assert new.stat().st_ino == inode and [file.name for file in tmp_path.rglob("*")] == ["new", "a.txt"]
    with Target(str(new), force=True).open_folder() as folder:
        (folder / "a.txt").write_text("Bob")
    assert new.stat().st_ino == inode and (new / "a.txt").read_text() == "Bob"
