"""What every format promises, in whichever it is: round trips, recognition, refusals, and what damage and noise become.

What one format alone does has its own file, such as test_brat.py.
"""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, get_args

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hyperspan.corpora import (
    FORMATS,
    READERS,
    WRITERS,
    Format,
    LabelRule,
    Losses,
    Problems,
    Source,
    detect,
    document_of,
    read_corpus,
    write_corpus,
)
from hyperspan.corpora.documents import trimmed
from hyperspan.corpora.formats import held
from hyperspan.corpora.outputs import FOLDERS, choose_output
from hyperspan.corpora.overlaps import places
from hyperspan.corpora.source import OnError
from hyperspan.errors import CorpusError, HyperspanError, InputError, LossError
from hyperspan.types import Document, Mention, Sentence
from tests.fuzz.mutate import mutate
from tests.fuzz.samples import TOKENS, corpora, family
from tests.fuzz.target import check_message
from tests.fuzz.targets.corpora import Reader
from tests.support.data import data_path

EXAMPLES = settings.default.max_examples if settings.default else 20
ROOT = Path(__file__).parents[2]
BOTH_WAYS = [name for name in WRITERS if name in READERS]
ZOO = Sentence(["the", "Seattle", "zoo"], [Mention(0, 3, "FAC"), Mention(1, 2, "GPE")])


@pytest.fixture(autouse=True)
def library(request: pytest.FixtureRequest) -> None:
    """DocBin needs spaCy, whose import takes longer than all other formats together."""
    if "docbin" in request.node.name:
        pytest.importorskip("spacy")


def formats(names: Iterable[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", list(names))


def target_of(name: str, folder: Path) -> Path:
    return folder / f"corpus{FORMATS[name].suffixes[0] if name not in FOLDERS else ''}"


def contents(documents: Iterable[Document]) -> Counter[tuple[str, frozenset[Mention]]]:
    """What every format keeps that needs no tokens, in whatever order it keeps documents."""
    return Counter((document.text, document.mentions) for document in documents)


# -- what belongs to a format ------------------------------------------------------------------------------------------


@formats(READERS)
def test_format_has_a_sample(name: str) -> None:
    assert corpora(name), f"{name} is not written, so it needs a sample: add one to MORE in tests/fuzz/samples.py"


def test_formats_are_counted() -> None:
    readme, page = ((ROOT / path).read_text(encoding="utf-8") for path in ("README.md", "docs/reference/formats.md"))
    assert f"{len(READERS)} formats are read, {len(BOTH_WAYS)} written" in readme
    assert f"hyperspan reads {len(READERS)} corpus formats. It writes {len(BOTH_WAYS)} of them" in page


# -- round trips -------------------------------------------------------------------------------------------------------

WORD = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=6)


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    words = draw(st.lists(WORD, min_size=1, max_size=8))
    spans = st.tuples(st.integers(0, len(words) - 1), st.integers(1, len(words)), st.sampled_from(["PER", "cell_type"]))
    found = draw(st.lists(spans.filter(lambda span: span[0] < span[1]), max_size=6, unique=True))
    return Sentence(words, [Mention(*span) for span in found] + draw(discontinuous(len(words))))


@st.composite
def discontinuous(draw: st.DrawFn, words: int) -> list[Mention]:
    """No mention or one of two or three parts."""
    ends = sorted(draw(st.sets(st.integers(0, words), max_size=6)))
    parts = list(zip(ends[::2], ends[1::2], strict=False))
    return [Mention(parts[0][0], parts[-1][1], "cell_type", parts)] if len(parts) > 1 else []


REFUSED = {"any": "", "nested": "crossing", "flat": "any"}
"""By what a format holds: what a mention may not be to others in it."""


def fits(name: str, mentions: Iterable[Mention]) -> bool:
    """Whether a format can hold the mentions of a sentence."""
    listed = list(mentions)
    if any(mention.fragments for mention in listed) and not FORMATS[name].discontinuous:
        return False
    return can_be(FORMATS[name].holds, listed)


def can_be(holds: str, mentions: Iterable[Mention]) -> bool:
    """Whether mentions overlap no more than this says."""
    return not any(REFUSED[holds] in place.kinds for place in places(mentions).values())


@formats(BOTH_WAYS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mentions_that_a_format_holds_survive(name: str, data: st.DataObject, tmp_path: Path) -> None:
    """Written in any format and read again, recognised by content, a corpus holds the same mentions by character."""
    fitting = sentences().filter(lambda sentence: fits(name, sentence.mentions))
    drawn = data.draw(st.lists(fitting, min_size=1, max_size=3))
    documents = [document_of([sentence], id=f"d{index}") for index, sentence in enumerate(drawn)]
    target = target_of(name, tmp_path)
    losses = write_corpus(documents, target, name, force=True)
    assert not losses.lost
    again = list(read_corpus(target, name))
    for before, after in zip(documents, again, strict=True):
        assert before.text == after.text and before.mentions == after.mentions
    if name not in FOLDERS and all(document.mentions for document in documents):
        for before, after in zip(documents, read_corpus(target, detect(Source(str(target), path=target))), strict=True):
            assert before.mentions == after.mentions
    for file in tmp_path.rglob("*"):
        if file.is_file():
            file.unlink()


@st.composite
def texts_with_mentions(draw: st.DrawFn, discontinuous: bool) -> Document:
    """Any characters, with mentions nested, crossing and in several parts, with ids or without."""
    text, found = draw(st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)), []
    for _ in range(draw(st.integers(0, 8))):
        cuts = sorted(draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=6 if discontinuous else 2)))
        parts = list(zip(cuts[::2], cuts[1::2], strict=False))
        label, name = draw(st.sampled_from(["PER", "GPE:Nation", "Größe"])), draw(st.sampled_from(["", "T1", "T 1"]))
        found.append(Mention(parts[0][0], parts[-1][1], label, parts if len(parts) > 1 else (), id=name))
    return Document(text, trimmed(found, text, Problems()), id=draw(st.sampled_from(["", "7", "a/b", "é\n"])))


@formats(name for name in BOTH_WAYS if not FORMATS[name].needs_sentences)
@given(data=st.data())
def test_texts_of_any_characters_survive(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """And what was read is written as it was."""
    folder = tmp_path_factory.mktemp(name)
    documents = data.draw(st.lists(texts_with_mentions(FORMATS[name].discontinuous), min_size=1, max_size=3))
    target, problems = target_of(name, folder), Problems()
    assert not write_corpus(documents, target, name).lost
    again = list(read_corpus(target, name, problems))
    assert contents(again) == contents(documents) and not problems.notes
    if name not in FOLDERS:
        assert [document.id for document in again] == [document.id for document in documents]
    write_corpus(again, once_more := folder / f"again{target.suffix}", name)
    for file in target.iterdir() if target.is_dir() else [target]:
        assert (once_more / file.name if target.is_dir() else once_more).read_bytes() == file.read_bytes()


@formats(name for name in BOTH_WAYS if not FORMATS[name].needs_sentences)
def test_a_format_that_needs_no_sentences_keeps_as_much_without_them(name: str, tmp_path: Path) -> None:
    document = document_of([ZOO, Sentence(["Why", "?"]), ZOO], id="zoo")
    read: list[Document] = []
    for folder, written in (("with", document), ("without", evolve(document, sentences=()))):
        (tmp_path / folder).mkdir()
        write_corpus([written], target_of(name, tmp_path / folder), name)
        read += read_corpus(target_of(name, tmp_path / folder), name)
    one, other = (evolve(document, sentences=()) for document in read)
    assert one == other and one.mentions == document.mentions


@pytest.mark.corpora
@formats(name for name in BOTH_WAYS if FORMATS[name].discontinuous and FORMATS[name].reads)
@pytest.mark.parametrize(
    ("file", "several"),
    [
        ("craft/train.jsonl.gz", 997),
        ("craft/dev.jsonl.gz", 154),
        ("craft/test.jsonl.gz", 113),
        ("genia/xml/GENIAcorpus3.02.first126articles.xml.gz", 63),
    ],
)
def test_real_discontinuous_mentions_survive(name: str, file: str, several: int, tmp_path: Path) -> None:
    documents = list(read_corpus(data_path(file)))
    write_corpus(documents, target_of(name, tmp_path), name)
    before, after = (
        Counter(
            (mention.label, *("".join(document.text[slice(*part)].split()) for part in mention.parts))
            for document in given
            for mention in document.mentions
        )
        for given in (documents, read_corpus(target_of(name, tmp_path), name))
    )
    assert before == after and sum(times for parts, times in after.items() if len(parts) > 2) == several


# -- refusals ----------------------------------------------------------------------------------------------------------


@formats(name for name in WRITERS if FORMATS[name].holds != "any")
@settings(max_examples=2 * EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mentions_that_a_format_does_not_hold_are_refused_and_counted(
    name: str, data: st.DataObject, tmp_path: Path
) -> None:
    """As many as --lossy outermost leaves out; of those, none would have had room beside the others."""
    sentence = data.draw(sentences().filter(lambda sentence: not fits(name, sentence.mentions)))
    document, target = document_of([sentence]), target_of(name, tmp_path)
    with pytest.raises(LossError) as refused:
        write_corpus([document], target, name)
    assert not target.exists()
    losses = write_corpus([document], target, name, lossy="outermost")
    (again,) = read_corpus(target, name)
    target.unlink()
    left_out = document.mentions - again.mentions
    assert again.mentions < document.mentions and fits(name, again.mentions)
    assert not any(fits(name, again.mentions | {mention}) for mention in left_out)
    assert (losses.written, sum(losses.lost.values())) == (len(again.mentions), len(left_out))
    assert f"{name} cannot hold {len(left_out)} of {len(document.mentions)} mentions" in str(refused.value)


@pytest.mark.parametrize("needs_sentences", [True, False])
@pytest.mark.parametrize("holds", REFUSED)
@given(sentence=sentences())
def test_a_writer_gets_only_what_its_format_holds(
    holds: Literal["any", "nested", "flat"], needs_sentences: bool, sentence: Sentence
) -> None:
    """As much as fits, without a line in the writer; the rest is counted, and refused when all is written."""
    rule = LabelRule("[A-Z]+", "with small letters")
    entry = Format(lambda: iter(()), None, bool, (), holds=holds, labels=rule, needs_sentences=needs_sentences)
    losses, document = Losses("outermost"), document_of([sentence])
    (kept,) = held([document], "zoo", entry, losses, Problems())
    writable = {mention for mention in document.mentions if mention.label == "PER" and not mention.fragments}
    assert kept.mentions <= writable and can_be(holds, kept.mentions)
    assert not any(can_be(holds, kept.mentions | {mention}) for mention in writable - kept.mentions)
    left_out = len(document.mentions) - len(kept.mentions)
    assert (losses.written, sum(losses.lost.values())) == (len(kept.mentions), left_out)
    if needs_sentences:
        assert [len(one.mentions) for one in kept.sentences] == [len(kept.mentions)]
    if left_out:
        with pytest.raises(LossError, match=f"zoo cannot hold {left_out} of {len(document.mentions)} mentions"):
            list(held([document], "zoo", entry, Losses(), Problems()))


APART = Mention(0, 3, "organ", ((0, 1), (2, 3)))
RIGHT = Mention(2, 3, "organ")
TAB = "with a label that is empty or holds a tab or newline"
TOO_MUCH: list[tuple[str, Mention, str]] = [
    *((name, APART, "discontinuous") for name in BOTH_WAYS if not FORMATS[name].discontinuous),
    *((name, Mention(0, 1, label), TAB) for name in ("columns", "conll2003") for label in ("", "a\tb", "a\n")),
    *(("brat", Mention(0, 1, label), "with a label that is empty or holds white space") for label in ("", "two words")),
    *(("four-lines", Mention(0, 1, label), "with a label that is empty, begins with") for label in ("", "a|b", " a")),
]
"""By format, mentions that it has no room for, and how they are counted."""


@pytest.mark.parametrize(("name", "mention", "reason"), TOO_MUCH)
def test_a_mention_without_room_is_refused_or_left_out_and_counted(
    name: str, mention: Mention, reason: str, tmp_path: Path
) -> None:
    document, target = document_of([Sentence(["left", "right", "lung"], [mention, RIGHT])]), target_of(name, tmp_path)
    with pytest.raises(LossError, match=rf"cannot hold 1 of 2 mentions \(1 {reason}"):
        write_corpus([document], target, name)
    assert list(tmp_path.iterdir()) == []
    losses = write_corpus([document], target, name, lossy="outermost")
    ((kind, lost),) = losses.lost.items()
    assert kind.startswith(reason) and (losses.written, lost) == (1, 1)
    ((again,),) = (document.mentions for document in read_corpus(target, name))
    assert (again.text, again.label) == ("lung", "organ")


@formats(WRITERS)
def test_a_format_may_be_written_to_a_file_with_its_suffix(name: str) -> None:
    output = "x/" if name in FOLDERS else f"x{FORMATS[name].suffixes[0]}"
    assert choose_output(output, name) == name
    with pytest.raises(InputError, match=r"x\.pdf(/ ends in \.pdf|.*let it end in (\.|/))"):
        choose_output(f"x.pdf{'/' if name in FOLDERS else ''}", name)


# -- recognition -------------------------------------------------------------------------------------------------------

REAL = {
    "genia/dev.data": "four-lines",
    "genia/authors_sample/test.data": "four-lines",
    "genia/xml/GENIAcorpus3.02.first126articles.xml.gz": "genia-xml",
    "genia/other_formats/thecharm.genia.dev.iob2.gz": "columns",
    "genia/other_formats/w2ner.genia.dev.json.gz": "w2ner",
    "genia/other_formats/yhcc.genia.dev.jsonlines.gz": "cnn-ner",
    "litbank/dev.data.gz": "columns",
    "germeval2014/NER-de-dev.tsv.gz": "columns",
    "jnlpba/test.tsv.gz": "columns",
    "ace_format/man-with-telescope.apf.xml": "ace",
}


def claiming(head: str) -> list[str]:
    """The formats that take a file with this beginning for theirs."""
    return [name for name in READERS if FORMATS[name].looks_like(head)]


@pytest.mark.parametrize(("file", "name"), REAL.items())
def test_real_files_are_recognised(file: str, name: str) -> None:
    path = data_path(file)
    source = Source(str(path), path=path)
    assert detect(source) == name and claiming(source.head().decode(errors="ignore")) == [name]


@formats(name for name in READERS if name != "docbin")  # which is no text
def test_samples_are_recognised_and_by_no_other_format(name: str, tmp_path: Path) -> None:
    suffix = FORMATS[name].suffixes[0]
    samples = [data for sample in corpora(name) for file, data in sample.items() if name != "brat" or file != "why.ann"]
    if name in WRITERS and name not in FOLDERS:  # one that is longer than what is looked at
        write_corpus([document_of([ZOO], str(n)) for n in range(900)], tmp_path / "long", name, lossy="outermost")
        samples.append((tmp_path / "long").read_bytes())
    for number, data in enumerate(samples):
        text = data[:65_536].decode(errors="ignore")
        if name in ("ace", "brat") and not (text.startswith("T1") or "<source_file" in text):
            assert claiming(text) == [], "texts beside annotations are in no format"
            continue
        assert claiming(text) == claiming(f"\ufeff{text}") == claiming(text.replace("\n", "\r\n")) == [name]
        path = tmp_path / f"{number}{suffix}"
        path.write_bytes(data)
        assert detect(Source(str(path), path=path)) == name


FOUR_LINES = "Red cells grow .\nJJ NNS VBP .\n0,2 G#cell_type\n\n"
NOT_ENOUGH = (
    *("", "\n", "a", "a\nb\n\n\n", "\x00\x01\x02", "Vitamin B-12\n", "T1\n", "1,2 X\n" * 9, "-DOCSTART- -X- -X- O\n\n"),
    *("{", "[", "[[", "{}", "[1, 2]", '{"a": ' * 20_000, '{"text": "a"}', '{"annotations": 1}', '{"tokens": ["a"]}\n'),
    *('{"text": "a O"}\n{"text": "b O"}\n', '{"text": "Why?", "entities": []}', '{"a": "<source_file >"}'),
    *("<xml/>", "source_file", "<set><article>", "<set>\n</set>\n", "<html><article></article></html>"),
    *("a <cons > <article>", "<?xml version='1.0'?>\n<set>\n", '<?xml version="1.0"?>\n<source_file>'),
    "R1\tLocated Arg1:T1 Arg2:T2\n",
    "T1\tPER 0 3\tAda\nSome text.\nMore\n",
    "1\tThe\tthe\tDET\t_\n2\tzoo\tzoo\tNOUN\t_\n",
)
"""Beginnings that no format may take for its own."""
ENOUGH = {
    "a\tO\nb\tO\n\n": "columns",
    "T\tO\ncells\tB-X\n": "columns",
    "B-PER\tO\nO\tO\n": "columns",
    "the\tDT\tB-FAC\tO\nSeattle\tNNP\tI-FAC\tB-GPE\n": "columns",  # layers behind parts of speech: no conll2003
    "T1\tX 0 1\t<source_file ": "brat",
    "T1\tFAC 0 3\tzoo\nT2\tGPE 4 5\tO\n": "brat",
    "\ufeffT1\tX 0 1\ta": "brat",
    "T1\tX 0 1\ta\nR1\tLocated Arg1:T7\nT2\tGPE 13 20\tSeat": "brat",
    "Nothing .\n\n\nRed cells grow .\n0,2 G#cell_type\n\n": "four-lines",  # without tags
    "Ada saw T1\nNN VB NN\n0,1 PER": "four-lines",
    FOUR_LINES * 500: "four-lines",
    **{(FOUR_LINES * 3)[:length]: "four-lines" for length in range(len(FOUR_LINES), 2 * len(FOUR_LINES))},
    '[{"sentence": ["a"], "ner": [{"index": [0], "ty': "w2ner",
    '{"text": "Why?", "labels": []}\n{"text": "a", "labels": [[0, 1, "X"]]}\n': "doccano",
    '[{"text": "a", "ner": [{"start": 0, "end": 1, "labels": ["X"]}]}]': "label-studio",
    f'[{{"id": 1, "annotations": [{{"result": [{{"from_name": "label", "value": "{"x" * 70_000}': "label-studio",
}
"""Beginnings that are enough to recognise a format, though they are cut off or begin with what is rare."""


@pytest.mark.parametrize("name", sorted({*ENOUGH.values()}))
def test_little_is_enough(name: str) -> None:
    for head in (head for head, expected in ENOUGH.items() if expected == name):
        assert claiming(head[:65_536]) == [name], head[:100]


def test_too_little_is_no_format() -> None:
    for head in NOT_ENOUGH:
        assert claiming(head) == [], head[:100]


# -- damage and noise --------------------------------------------------------------------------------------------------

DAMAGED = 5 * EXAMPLES
"""Inputs of each format."""
LENIENT: dict[str, dict[str, Any]] = {
    "columns": {"repair": True},
    "conll2003": {"repair": True, "tag_columns": -1},
    "genia-xml": {"coordination": "span"},
    "label-studio": {"annotation": "all"},
}
"""Options with which every other input is read."""


def read_in_part(path: Path, name: str | None, options: dict[str, Any]) -> tuple[list[Document], Problems]:
    """The documents of a corpus but for what is wrong in it; none where all of it is refused, with one sentence."""
    problems = Problems("skip")
    try:
        return list(read_corpus(path, name, problems, **options)), problems
    except HyperspanError as error:
        check_message(error)
        problems.note("refused")
        return [], problems


def check_reading(path: Path, name: str, **options: Any) -> list[Document]:
    """What is wrong ends a reading with a sentence that names the file; without, skipping errors changes nothing."""
    documents, problems = read_in_part(path, name, options)
    refused: HyperspanError | None = None
    try:
        assert list(read_corpus(path, name, Problems(), **options)) == documents
    except HyperspanError as error:
        check_message(error)
        refused = error
    assert bool(problems.skipped) <= bool(refused) <= bool(problems.skipped or problems.notes)
    assert not isinstance(refused, CorpusError) or str(refused).startswith(str(path))
    return documents


@formats(READERS)
def test_damage_ends_in_documents_or_a_sentence(name: str, tmp_path: Path) -> None:
    """What is read of it can be written, and read again where a format needs no tokens."""
    chance, subject = random.Random(name), Reader(name)
    for number in range(DAMAGED):
        folder = tmp_path / str(number)
        folder.mkdir()
        given = subject.mutated(chance)
        for file, data in given.items():
            (folder / file).write_bytes(data)
            claiming(data[:65_536].decode(errors="replace"))
        path = folder / next(iter(given)) if len(given) == 1 else folder
        documents = check_reading(path, name, **LENIENT.get(name, {}) if number % 2 else {})
        for written in {"jsonl", name} & {*WRITERS}:
            again = folder / f"again-{written}"
            try:
                losses = write_corpus(documents, again, written, lossy="outermost")
            except HyperspanError as error:
                check_message(error)
                assert not again.exists()
            else:
                if documents and not losses.lost and not FORMATS[written].needs_sentences:
                    assert contents(read_corpus(again, written)) == contents(documents)


@pytest.mark.parametrize(("file", "name"), REAL.items())
def test_damage_of_real_files_ends_in_documents_or_a_sentence(file: str, name: str, tmp_path: Path) -> None:
    """In the compressed or the plain bytes."""
    path = data_path(file)
    raw, damaged = path.read_bytes()[:24_000], tmp_path / path.name
    for seed in range(8):
        damaged.write_bytes(mutate(random.Random(seed), raw, TOKENS[family(name)]))
        check_reading(damaged, name)
        read_in_part(damaged, None, {})


@formats(READERS)
def test_noise_ends_in_documents_or_a_sentence(name: str) -> None:
    chance, tokens = random.Random(name), TOKENS[family(name)]
    for number in range(DAMAGED):
        noise = b"".join(chance.choices(tokens, k=20)) if number % 2 else chance.randbytes(chance.randrange(200))
        FORMATS[name].looks_like(noise.decode(errors="replace"))
        for on_error in get_args(OnError):
            try:
                for _ in FORMATS[name].read(Source("noise", stream=io.BytesIO(noise)), Problems(on_error)):
                    pass
            except HyperspanError as error:
                check_message(error)
