"""ACE 2004 and 2005: text with tags, and offsets that do not count them."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan import Mention
from hyperspan.corpora.ace import ace_split, looks_like_ace, read_ace, select
from hyperspan.corpora.documents import trimmed, with_sentences
from hyperspan.corpora.source import Problems, Source, sources_in
from hyperspan.errors import CorpusError, InputError
from tests.support.data import data_path
from tests.support.growth import grows_linearly


@dataclass
class Marked:
    """A mention as annotators see it: a span of the text without tags, in an entity."""

    start: int
    end: int
    type: str = "PER"
    mention_type: str = "NAM"
    head: tuple[int, int] | None = None
    subtype: str = ""
    place: str = "charseq"


def apf(text: str, marked: list[Marked], docid: str = "zoo") -> str:
    """What LDC would write, one entity a mention; END is the last character, except in a charspan."""

    def place(kind: str, start: int, end: int) -> str:
        last = end - (kind == "charseq")
        given_text = escape(re.sub("&amp;", "&", text[start:end]))
        return f'<{kind} START="{start}" END="{last}">{given_text}</{kind}>'

    lines = [
        '<?xml version="1.0"?>',
        '<!DOCTYPE source_file SYSTEM "apf.v5.1.1.dtd">',
        '<source_file URI="zoo.sgm" SOURCE="newswire" TYPE="text">',
        f"<document DOCID={quoteattr(docid)}>",
    ]
    for number, one in enumerate(marked):
        subtype = f' SUBTYPE="{one.subtype}"' if one.subtype else ""
        lines.append(f'<entity ID="E{number}" TYPE="{one.type}"{subtype} CLASS="SPC">')
        lines.append(f'<entity_mention ID="E{number}-1" TYPE="{one.mention_type}">')
        lines.append(f"<extent>{place(one.place, one.start, one.end)}</extent>")
        if one.head:
            lines.append(f"<head>{place(one.place, *one.head)}</head>")
        lines += ["</entity_mention>", "<entity_attributes><name>"]
        lines += [place("charseq", one.start, one.end), "</name></entity_attributes>", "</entity>"]
    return "\n".join([*lines, "</document>", "</source_file>", ""])


def put(folder: Path, sgm: str, apf_xml: str, name: str = "zoo") -> Source:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.sgm").write_bytes(sgm.encode())
    (folder / f"{name}.apf.xml").write_bytes(apf_xml.encode())
    return Source("zoo.apf.xml", folder / f"{name}.apf.xml")


SGM = """<DOC>
<DOCID> zoo </DOCID>
<DATETIME> 20200101 </DATETIME>
<BODY>
<HEADLINE>
Giraffes & 5 < 6 monkeys
</HEADLINE>
<TEXT>
<TURN>
<SPEAKER> ADA </SPEAKER>
The keepers of AT&amp;T's
zoo in Seattle met <QUOTE a="b">them</QUOTE>.
</TURN>
</TEXT>
</BODY>
</DOC>
"""
PLAIN = re.sub("<[/A-Z][^>]*>", "", SGM)


def at(words: str, **more: Any) -> Marked:
    start = PLAIN.index(words)
    return Marked(start, start + len(words), **more)


KEEPERS = at("The keepers of AT&amp;T's\nzoo in Seattle", mention_type="NOM", subtype="Group")
ZOO_HEAD = (PLAIN.index("zoo in"), PLAIN.index(" in Seattle"))
ZOO = at("AT&amp;T's\nzoo in Seattle", type="fac", subtype="Building-Grounds", head=ZOO_HEAD)
COMPANY = at("AT&amp;T", type="ORG", subtype="Commercial")
SEATTLE = at("Seattle", type="GPE")
THEM = at("them", mention_type="PRO")


def test_the_toy_pair() -> None:
    """All of its entity mentions; LAYOUT.md says how its offsets were checked."""
    path = data_path("ace_format/man-with-telescope.apf.xml")
    [document] = read_ace(Source(str(path), path), Problems())
    assert document.id == "man-with-telescope" and not document.sentences
    assert [(*m.span, m.label, m.id.partition("-E")[2], m.head) for m in sorted(document.mentions)] == [
        (49, 52, "PER", "0-M0.0", (49, 52)),
        (81, 86, "PER", "0-M1.2", (83, 86)),
        (90, 115, "LOC", "1-M1.3", (94, 98)),
    ]
    tagged = path.with_name("man-with-telescope.sgm").read_text()
    [(start, end)] = document.metadata["text_spans"]
    assert document.text[start:end] == re.sub("<[^>]*>", "", tagged.partition("<TEXT>")[2].partition("</TEXT>")[0])
    assert looks_like_ace(path.read_text())


def test_nested_entities_over_lines_with_tags_and_escapes(tmp_path: Path) -> None:
    source = put(tmp_path, SGM, apf(PLAIN, [KEEPERS, ZOO, COMPANY, SEATTLE, THEM, SEATTLE]))
    problems = Problems()
    [document] = read_ace(source, problems)
    assert document.text == PLAIN and document.id == "zoo"
    assert [(m.text, m.label, m.id, m.head) for m in sorted(document.mentions)] == [
        ("The keepers of AT&amp;T's\nzoo in Seattle", "PER", "E0-1", None),
        ("AT&amp;T", "ORG", "E2-1", None),
        ("AT&amp;T's\nzoo in Seattle", "FAC", "E1-1", ZOO_HEAD),
        ("Seattle", "GPE", "E3-1", None),
        ("them", "PER", "E4-1", None),
    ]
    [(start, end)] = document.metadata["text_spans"]
    assert document.text[start:end].split()[0] == "ADA" and document.text[start:end].strip().endswith("them.")
    assert problems.notes == {"mention annotated twice, kept once": 1}
    assert with_sentences(document, Problems()).sentences


def test_labels_and_mention_types_can_be_chosen(tmp_path: Path) -> None:
    source = put(tmp_path, SGM, apf(PLAIN, [KEEPERS, COMPANY, SEATTLE, THEM]))
    [document] = read_ace(source, Problems(), label="subtype")
    assert sorted(m.label for m in document.mentions) == ["GPE", "ORG-Commercial", "PER", "PER-Group"]
    problems = Problems()
    [document] = read_ace(source, problems, mention_types=("NAM", "NOM"))
    assert {m.id for m in document.mentions} == {"E0-1", "E1-1", "E2-1"}
    assert problems.notes == {"mention of a type that was not asked for left out": 1}
    assert list(read_ace(source, Problems(), mention_types="NAM,NOM")) == [document]
    for wrong in (("NAME",), "NAM NOM"):
        with pytest.raises(InputError, match="but ACE has NAM, NOM, PRO, PRE; choose among them"):
            list(read_ace(source, Problems(), mention_types=wrong))


def test_headlines_are_text_where_somebody_annotated_them(tmp_path: Path) -> None:
    problems = Problems()
    source = put(tmp_path, SGM, apf(PLAIN, [SEATTLE, at("5 < 6 monkeys"), at("20200101")]))
    [document] = read_ace(source, problems)
    headline, text = (document.text[start:end] for start, end in document.metadata["text_spans"])
    assert headline == "\nGiraffes & 5 < 6 monkeys\n" and "keepers" in text
    assert problems.notes == {"mention outside the text and its headline": 1}


def test_line_breaks_of_windows_count_as_they_were_counted(tmp_path: Path) -> None:
    """Annotated with them, or without and converted later: the annotated words tell."""
    windows = SGM.replace("\n", "\r\n")
    marked = [KEEPERS, COMPANY, SEATTLE]
    problems = Problems()
    [document] = read_ace(put(tmp_path / "converted", windows, apf(PLAIN, marked).replace("\n", "\r\n")), problems)
    assert document.text == PLAIN
    assert problems.notes == {"line breaks of Windows read as one character, since the offsets count them so": 1}
    plain = PLAIN.replace("\n", "\r\n")
    moved = [Marked(plain.index("AT&amp;T's"), plain.index(" in Seattle"), "FAC")]
    problems = Problems()
    [document] = read_ace(put(tmp_path / "counted", windows, apf(plain, moved)), problems)
    assert (
        [m.text for m in document.mentions] == ["AT&amp;T's\r\nzoo"] and document.text == plain and not problems.notes
    )


def test_charspans_end_behind_their_last_character(tmp_path: Path) -> None:
    marked = at("Seattle", type="GPE", place="charspan")
    [document] = read_ace(put(tmp_path, SGM, apf(PLAIN, [marked])), Problems())
    assert [m.text for m in document.mentions] == ["Seattle"]


def test_packed_files_and_archives(tmp_path: Path) -> None:
    source = put(tmp_path, SGM, apf(PLAIN, [SEATTLE], docid=""))
    [expected] = read_ace(source, Problems())
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for ending in (".sgm", ".apf.xml"):
            archive.write(tmp_path / f"zoo{ending}", f"bc/adj/zoo{ending}")
    [member] = [each for each in sources_in(tmp_path / "all.zip") if each.name.endswith(".apf.xml")]
    assert list(read_ace(member, Problems())) == [expected] and expected.id == "zoo"
    for ending in (".sgm", ".apf.xml"):
        (tmp_path / f"zoo{ending}.gz").write_bytes(gzip.compress((tmp_path / f"zoo{ending}").read_bytes()))
        (tmp_path / f"zoo{ending}").unlink()
    assert list(read_ace(Source("zoo.apf.xml.gz", tmp_path / "zoo.apf.xml.gz"), Problems())) == [expected]


GOOD = apf(PLAIN, [COMPANY, SEATTLE])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('TYPE="GPE"', 'TYPE="PERSONA"', "mention E1-1 is of an entity of type 'PERSONA', but ACE has PER, ORG, GPE, LOC, FAC, VEH, WEA"),
        ('E1-1" TYPE="NAM"', 'E1-1" TYPE="NAME"', "mention E1-1 is of mention type 'NAME', but ACE has NAM, NOM, PRO, PRE"),
        (f'START="{SEATTLE.start}"', 'START="7"', "mention E1-1 is 'Seattle', but the .sgm file without its tags reads"),
        (f'START="{SEATTLE.start}"', 'START="x"', f"mention E1-1 has START 'x' and END '{SEATTLE.end - 1}', but END must be a number not before START (its extent)"),
        (f'END="{SEATTLE.end - 1}"', 'END="1"', f"mention E1-1 has START '{SEATTLE.start}' and END '1', but END must"),
        (f'END="{SEATTLE.end - 1}"', f'END="{"9" * 5000}"', "mention E1-1 has START"),
        (f'END="{SEATTLE.end - 1}"', 'END="1000"', f"mention E1-1 ends at 1000, but the .sgm file has {len(PLAIN)} characters without its tags"),
        (">Seattle<", ">Boston<", "mention E1-1 is 'Boston', but the .sgm file without its tags reads 'Seattle'"),
        ("extent>", "anchor>", "mention E0-1 has no <extent> with a <charseq>; only annotations of text can be read"),
    ],
)  # fmt: skip
def test_wrong_mentions_are_named_with_their_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    wrong = GOOD.replace(old, new)
    assert wrong != GOOD
    number = wrong[: wrong.index(f'<entity_mention ID="{message.split()[1]}"')].count("\n") + 1
    source = put(tmp_path, SGM, wrong)
    with pytest.raises(CorpusError) as error:
        list(read_ace(source, Problems()))
    assert str(error.value).startswith(f"zoo.apf.xml:{number}: {message}")
    problems = Problems("skip")
    [document] = read_ace(source, problems)
    assert len(document.mentions) == 2 - len(problems.skipped) and problems.skipped[0] == str(error.value)


@pytest.mark.parametrize(
    ("apf_xml", "message"),
    [
        (GOOD[:-30], "is no well-formed XML (unclosed token); check that the file is complete"),
        (GOOD.replace("</entity>", "</entities>"), "is no well-formed XML (mismatched tag); check that the file is complete"),
        ("", "is no well-formed XML (no element found)"),
        ("<DOC></DOC>", "begins with <DOC>, but apf with <source_file>; name an .apf.xml file"),
        ("<source_file/>", "holds no <document>; check that the file is complete"),
        ('<!DOCTYPE source_file [<!ENTITY a "b">]>\n<source_file/>', "declares the entity 'a'; remove it"),
        ('<!DOCTYPE source_file [<!ENTITY % a "b">]>\n<source_file/>', "declares the entity 'a'; remove it"),
        ('<!DOCTYPE source_file [<!ENTITY a SYSTEM "file:///etc/passwd">]><source_file>&a;</source_file>', "declares the entity 'a'"),
        (GOOD.replace(">Seattle<", ">Seat&bomb;tle<", 1), "refers to an unknown entity 'bomb'"),
        ("<source_file>\x00</source_file>", "is no well-formed XML"),
        ("<source_file><x>&bomb;", "is no well-formed XML (undefined entity)"),
    ],
)  # fmt: skip
def test_wrong_files(tmp_path: Path, apf_xml: str, message: str) -> None:
    source = put(tmp_path, SGM, apf_xml)
    with pytest.raises(CorpusError, match=rf"^zoo\.apf\.xml(:\d+)?: {re.escape(message)}"):
        list(read_ace(source, Problems()))
    problems = Problems("skip")
    assert list(read_ace(source, problems)) == [] and len(problems.skipped) == 1


def test_missing_files(tmp_path: Path) -> None:
    source = put(tmp_path, SGM, GOOD)
    (tmp_path / "zoo.sgm").write_bytes(b"\xff")
    with pytest.raises(CorpusError, match=r"zoo\.sgm is not UTF-8 text"):
        list(read_ace(source, Problems()))
    assert list(read_ace(source, Problems("skip"))) == []
    (tmp_path / "zoo.sgm").unlink()
    for each in (source, Source("zoo.apf.xml", stream=io.BytesIO(GOOD.encode()))):
        with pytest.raises(
            CorpusError, match=r"^zoo\.apf\.xml: no \w+\.sgm with the text is in its folder; ACE needs both X\.apf"
        ):
            list(read_ace(each, Problems()))


def test_heads_outside_their_mention_are_left_out(tmp_path: Path) -> None:
    problems = Problems()
    marked = at("Seattle", type="GPE", head=(COMPANY.start, COMPANY.end))
    [document] = read_ace(put(tmp_path, SGM, apf(PLAIN, [marked])), problems)
    assert [m.head for m in document.mentions] == [None]
    assert problems.notes == {"head outside its mention left out": 1}


def test_several_documents_share_a_text(tmp_path: Path) -> None:
    second = GOOD[GOOD.index("<document") : GOOD.index("</source_file>")].replace('"zoo"', '"other"')
    source = put(tmp_path, SGM, GOOD.replace("</source_file>", f"{second}</source_file>"))
    assert [(d.id, len(d.mentions)) for d in read_ace(source, Problems())] == [("zoo", 2), ("other", 2)]


def wrong_mentions(folder: Path, size: int) -> None:
    """Each is wrong about the whole text."""
    charseq = f'<charseq START="0" END="{size - 1}">z</charseq>'
    mention = f'<entity_mention ID="1" TYPE="NAM"><extent>{charseq}</extent></entity_mention>'
    many = f'<source_file><document><entity TYPE="PER">{mention * (size // 50)}</entity></document></source_file>'
    problems = Problems("skip")
    [document] = read_ace(put(folder, "z" * size, many), problems)
    assert len(problems.skipped) == size // 50 and not document.mentions


def open_tags(folder: Path, size: int) -> None:
    [document] = read_ace(put(folder, "<a" * size, GOOD[:-1]), Problems("skip"))
    assert len(document.text) == 2 * size


def deep_elements(folder: Path, size: int) -> None:
    assert list(read_ace(put(folder, SGM, "<source_file>" + "<a>" * size), Problems("skip"))) == []


def text_in_pieces(folder: Path, size: int) -> None:
    pieces = "z<!---->" * size
    list(read_ace(put(folder, SGM, GOOD.replace(">Seattle<", f">{pieces}<")), Problems("skip")))


@pytest.mark.parametrize("read", [wrong_mentions, open_tags, deep_elements, text_in_pieces])
def test_time_stays_linear(tmp_path: Path, read: Callable[[Path, int], None]) -> None:
    assert grows_linearly(lambda size: read(tmp_path, size), 30_000)


WORDS = st.sampled_from(["a", "zoo", "é", "🦒", "&amp;", "&lt;", " ", "\n", "  ", "5 < 6", "'"])
TAGS = st.sampled_from(["", "", "<TURN>", "</TURN>", '<POST a="b c">', "<BR/>", "<!-- x -->"])


@st.composite
def annotated(draw: st.DrawFn) -> tuple[str, str, list[Marked]]:
    """A text with tags, the same without, and mentions in it that overlap in every way."""
    pieces = draw(st.lists(st.tuples(WORDS, TAGS), min_size=1, max_size=25))
    inside = "".join(word for word, _ in pieces)
    before = "\n zoo \n"
    sgm = f"<DOC>\n<DOCID> zoo </DOCID>\n<TEXT>{''.join(word + tag for word, tag in pieces)}</TEXT></DOC>"
    marked = []
    for _ in range(draw(st.integers(0, 8))):
        start = draw(st.integers(0, len(inside) - 1))
        end = draw(st.integers(start + 1, len(inside)))
        head = draw(st.integers(start, end - 1))
        shift = len(before)
        if "&" in inside[start:end] and not re.fullmatch(r"(&\w+;|[^&;])*", inside[start:end]):
            continue  # annotators do not cut through &amp;
        marked.append(
            Marked(
                start + shift,
                end + shift,
                draw(st.sampled_from(["PER", "ORG", "GPE", "LOC", "FAC", "VEH", "WEA"])),
                draw(st.sampled_from(["NAM", "NOM", "PRO", "PRE"])),
                (head + shift, end + shift) if inside[head] not in "&;amplgt" else None,
                place=draw(st.sampled_from(["charseq", "charspan"])),
            )
        )
    return sgm, before + inside, marked


@given(case=annotated())
def test_what_annotators_marked_is_read(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[str, str, list[Marked]]
) -> None:
    sgm, plain, marked = case
    source = put(tmp_path_factory.mktemp("ace"), sgm, apf(plain, marked))
    [document] = read_ace(source, Problems())
    assert document.text == plain
    assert document.mentions == set(
        trimmed((Mention(one.start, one.end, one.type) for one in marked), plain, Problems())
    )
    assert document.metadata["text_spans"] == [[7, len(plain)]]


@pytest.mark.parametrize(
    ("name", "size", "first"),
    [
        ("split_ace2004.train.txt", 356, "chinese_treebank/chtb_277.eng"),
        ("split_ace2004.dev.txt", 41, "chinese_treebank/chtb_283.eng"),
        ("split_ace2004.test.txt", 46, "chinese_treebank/chtb_257.eng"),
        ("split_ace2005.train.txt", 370, "bc/CNN_CF_20030303.1900.00"),
        ("split_ace2005.dev.txt", 43, "bc/CNN_IP_20030328.1600.07"),
        ("split_ace2005.test.txt", 51, "bc/CNN_CF_20030304.1900.02"),
        ("litbank_naacl19_ace2005.train.ids", 371, "bc/CNN_IP_20030329.1600.00-3"),
        ("litbank_naacl19_ace2005.dev.ids", 46, "wl/MARKBACKER_20041202.0711"),
        ("litbank_naacl19_ace2005.test.ids", 47, "nw/APW_ENG_20030325.0786"),
    ],
)
@pytest.mark.parametrize("folder", ["adj", "timex2norm"])
def test_published_splits_find_their_files(name: str, size: int, first: str, folder: str) -> None:
    """In a tree of all documents of the three lists, laid out as LDC does, each list finds its own."""
    path = data_path(f"ace_format/{name}")
    wanted = ace_split(path)
    assert (len(wanted), wanted[0]) == (size, first)
    family = name.partition(".")[0]
    everything = [identifier for part in sorted(path.parent.glob(f"{family}.*")) for identifier in ace_split(part)]
    assert len(everything) == len(set(everything))
    deep = "2005" in name
    files = [
        Path("ldc", *parts[:-1], *([folder] if deep else []), parts[-1] + ending)
        for parts in (identifier.split("/") for identifier in everything)
        for ending in (".sgm", ".apf.xml", ".ag.xml")
    ]
    found = select([Source(str(file), file) for file in files], path)
    expected = [identifier.split("/")[-1] + ".apf.xml" for identifier in wanted]
    assert [source.path.name for source in found if source.path] == expected


def test_what_a_split_misses_is_said() -> None:
    names = [
        "x/bc/adj/A.apf.xml",
        "x/bc/timex2norm/A.apf.xml",
        "x/bc/fp1/B.apf.xml",
        "x/bc/fp2/B.apf.xml",
        "flat/C.apf.xml.gz",
    ]
    sources = [Source(name, Path(name)) for name in names]
    with pytest.raises(
        InputError, match=r"^1 of the 3 documents of the split are not among the files, such as bc/B; name"
    ):
        select(sources, ["bc/adj/A", "bc/adj/B", "bc/adj/C"])
    problems = Problems()
    found = select(sources, ["bc/timex2norm/A", "bc/adj/B", "nw/D", "bc/adj/C", ""], problems)
    assert [source.name for source in found] == ["x/bc/timex2norm/A.apf.xml", "flat/C.apf.xml.gz"]
    assert problems.notes == {"document of the split not found, such as bc/B": 2}
    assert [source.name for source in select(sources, ["bc/A.txt"])] == ["x/bc/adj/A.apf.xml"]
    with pytest.raises(InputError, match=r"^1 of the 1 documents"):
        select(sources, ["bc/E"], Problems())
    with pytest.raises(CorpusError, match=r"^no/such/list: cannot be read"):
        select(sources, "no/such/list")
