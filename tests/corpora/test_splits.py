"""A corpus is cut into parts: a partition, documents whole, each part with its share of every label."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from random import Random
from statistics import mean

import pytest
from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hyperspan.corpora import document_of, read_corpus, write_corpus
from hyperspan.corpora.source import Problems
from hyperspan.corpora.splits import PartFiles, open_corpus, sentence_documents, split_corpus
from hyperspan.corpora.stratification import Part, stratify
from hyperspan.errors import InputError, LossError, OutputExistsError
from hyperspan.types import Document, Mention, Sentence
from tests.support.data import data_path

LABELS = ("PER", "ORG", "GPE", "rare")
UNITS = st.lists(
    st.builds(
        Part,
        documents=st.just([]),
        units=st.just(1),
        sentences=st.integers(0, 9),
        labels=st.dictionaries(st.sampled_from(LABELS), st.integers(0, 6), max_size=4).map(Counter),
    ),
    min_size=3,
    max_size=40,
)
FRACTIONS = st.sampled_from([(0.8, 0.1, 0.1), (0.5, 0.5), (0.34, 0.33, 0.33), (0.9, 0.1)])


def error(units: list[Part], parts: list[int], fractions: tuple[float, ...]) -> float:
    """The squared relative distances to the shares, sentences with the weight of all labels: spelled out once more."""
    rows = [[max(1, unit.sentences) for unit in units]]
    rows += [[unit.labels.get(label, 0) for unit in units] for label in LABELS]
    rows = [row for row in rows if sum(row)]
    total = Fraction(0)
    for number, row in enumerate(rows):
        for part, fraction in enumerate(map(Fraction, fractions)):
            held = sum(count for count, at in zip(row, parts, strict=True) if at == part)
            relative = (held - fraction * sum(row)) / (fraction * sum(row))
            total += relative**2 * (max(1, len(rows) - 1) if number == 0 else 1)
    return float(total)


@settings(max_examples=25)
@given(UNITS, FRACTIONS, st.integers(0, 5))
def test_stratify_fills_every_part_and_repeats_itself(
    units: list[Part], fractions: tuple[float, ...], seed: int
) -> None:
    parts = stratify(units, fractions, seed)
    assert len(parts) == len(units) and set(parts) == set(range(len(fractions)))
    assert parts == stratify(units, fractions, seed)


@settings(max_examples=25)
@given(UNITS, FRACTIONS, st.randoms(use_true_random=False))
def test_stratify_is_nearer_to_the_shares_than_chance(
    units: list[Part], fractions: tuple[float, ...], random: Random
) -> None:
    """A single draw may be luckier than a greedy split; the mean of many is not."""
    parts = stratify(units, fractions)
    draws = [random.choices(range(len(fractions)), fractions, k=len(units)) for _ in range(20)]
    errors = [error(units, draw, fractions) for draw in draws if set(draw) == set(parts)]
    assume(errors)
    assert error(units, parts, fractions) <= mean(errors) + 1e-9


@settings(max_examples=25)
@given(st.dictionaries(st.sampled_from(LABELS), st.integers(1, 20), min_size=2), st.integers(0, 5))
def test_stratify_of_single_mentions_is_off_by_one_at_most(counts: dict[str, int], seed: int) -> None:
    units = [Part(sentences=1, labels=Counter([label])) for label, count in counts.items() for _ in range(count)]
    assume(len(units) >= 30)
    parts = stratify(units, (0.8, 0.1, 0.1), seed)
    for part, fraction in enumerate((0.8, 0.1, 0.1)):
        of_part = Counter(label for unit, at in zip(units, parts, strict=True) if at == part for label in unit.labels)
        for label, count in counts.items():
            assert abs(of_part[label] - fraction * count) <= (1.5 if part else 2), (label, of_part, counts)


def test_stratify_of_few_documents_finds_the_best_split() -> None:
    random = Random(3)
    units = [
        Part(sentences=random.randint(5, 40), labels=Counter({label: random.randint(0, 9) for label in LABELS}))
        for _ in range(9)
    ]
    found = error(units, stratify(units, (0.6, 0.4)), (0.6, 0.4))
    best = min(error(units, [mask >> bit & 1 for bit in range(9)], (0.6, 0.4)) for mask in range(1, 2**9 - 1))
    assert found <= 1.5 * best


WORDS = ("Ada", "left", "Oz", "for", "the", "bank", ".")


def made(count: int, *, sentences: int = 1, metadata: bool = False) -> list[Document]:
    """Documents with a name of their own in each sentence, and a mention or two."""
    documents: list[Document] = []
    for number in range(count):
        words = [Sentence((f"N{number}", f"s{place}", *WORDS), _mentions(number + place)) for place in range(sentences)]
        of = {"doc_id": f"d{number // 3}"} if metadata else {}
        documents.append(document_of(words, f"r{number}", of))
    return documents


def _mentions(number: int) -> list[Mention]:
    return [Mention(0, 3, "PER"), *([Mention(2, 5, "ORG"), Mention(4, 5, "GPE")] if number % 3 == 0 else [])]


def saved(documents: list[Document], path: Path, format_name: str | None = None) -> Path:
    write_corpus(documents, path, format_name)
    return path


def test_split_keeps_records_of_a_document_together(tmp_path: Path) -> None:
    corpus = saved(made(30, metadata=True), tmp_path / "made.jsonl")
    split = split_corpus(corpus)
    homes = {name: {document.metadata["doc_id"] for document in part.documents} for name, part in split.parts.items()}
    assert [len(home) for home in homes.values()] == [8, 1, 1] and len(set.union(*homes.values())) == 10
    assert split.notes[0] == "records with the same metadata.doc_id are one document"
    same_ids = [evolve(document, id=f"d{number % 5}", metadata={}) for number, document in enumerate(made(30))]
    parts = split_corpus(saved(same_ids, tmp_path / "ids.jsonl")).parts
    assert [part.units for part in parts.values()] == [3, 1, 1] and sum(
        len(part.documents) for part in parts.values()
    ) == 30


def test_split_keeps_documents_together_where_a_record_has_none(tmp_path: Path) -> None:
    records = [evolve(made(1)[0], id="alone"), *made(30, metadata=True)]
    parts = split_corpus(saved(records, tmp_path / "made.jsonl")).parts
    homes = [{document.metadata.get("doc_id") for document in part.documents} for part in parts.values()]
    assert sum(map(len, homes)) == len(set.union(*homes)) == 11


def test_split_groups_by_the_key_that_is_named(tmp_path: Path) -> None:
    books = [evolve(document, metadata={"book": f"b{n % 4}"}) for n, document in enumerate(made(20))]
    corpus = saved(books, tmp_path / "made.jsonl")
    assert [part.units for part in split_corpus(corpus).parts.values()] == [16, 2, 2]
    parts = split_corpus(corpus, group_by="book").parts
    assert [part.units for part in parts.values()] == [2, 1, 1] and parts["dev"].sentences == 5
    with pytest.raises(InputError, match=r"no record has the metadata 'novel' to group by; choose one of book"):
        split_corpus(corpus, group_by="novel")


def test_split_of_a_folder_of_sentences_keeps_files_whole(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    documents = made(40)
    for number in range(10):
        saved(documents[4 * number : 4 * number + 4], tmp_path / "texts" / f"{number}.tsv", "columns")
    split = split_corpus(tmp_path / "texts")
    assert [part.units for part in split.parts.values()] == [8, 1, 1] and "each file is a document" in split.notes[0]
    names = [{int(one.sentences[0].tokens[0][1:]) // 4 for one in part.documents} for part in split.parts.values()]
    assert [len(name) for name in names] == [8, 1, 1]
    by_sentence = split_corpus(tmp_path / "texts", by="sentence").parts
    assert [part.units for part in by_sentence.values()] == [32, 4, 4]


def test_split_by_sentence_cuts_documents_without_loss(tmp_path: Path) -> None:
    documents = made(2, sentences=10)
    raw = [evolve(document, sentences=()) for document in documents]
    for name, read in (("tokens", documents), ("raw", raw)):
        parts = split_corpus(saved(read, tmp_path / f"{name}.jsonl"), by="sentence").parts
        texts = sorted(document.text for part in parts.values() for document in part.documents)
        assert texts == sorted(line for document in documents for line in document.text.splitlines())
        found = Counter((m.text, m.label) for part in parts.values() for one in part.documents for m in one.mentions)
        assert found == Counter((m.text, m.label) for document in documents for m in document.mentions)


def test_sentence_documents_keep_what_metadata_say_of_a_sentence() -> None:
    [document] = made(1, sentences=2)
    tagged = evolve(document, metadata={"source": "a", "chunks": [["x"] * 9, ["y"] * 9], "relations": [1, 2, 3]})
    assert [one.metadata for one in sentence_documents(tagged, Problems())] == [
        {"source": "a", "chunks": [["x"] * 9]},
        {"source": "a", "chunks": [["y"] * 9]},
    ]


@pytest.mark.parametrize("count", [3, 7, 10, 19, 101])
def test_split_in_order_is_that_of_genia(count: int, tmp_path: Path) -> None:
    parts = split_corpus(saved(made(count), tmp_path / "made.data"), in_order=True).parts
    train, dev, test = (len(part.documents) for part in parts.values())
    if count >= 10:
        assert (train, dev) == (count * 8 // 10, (count - count * 8 // 10) // 2)
    assert min(train, dev, test) >= 1 and train + dev + test == count
    written = [document.sentences[0].tokens[0] for part in parts.values() for document in part.documents]
    assert written == [f"N{number}" for number in range(count)]


def test_split_needs_as_many_documents_as_parts(tmp_path: Path) -> None:
    corpus = saved(made(1, sentences=9), tmp_path / "made.jsonl")
    with pytest.raises(InputError, match=r"has 1 document, but train, dev and test need .* --by sentence"):
        split_corpus(corpus)
    assert sum(part.units for part in split_corpus(corpus, by="sentence").parts.values()) == 9
    with pytest.raises(InputError, match=r"has 2 documents"):
        split_corpus(saved(made(2), tmp_path / "two.jsonl"))
    assert [part.units for part in split_corpus(tmp_path / "two.jsonl", {"train": 0.5, "dev": 0.5}).parts.values()] == [
        1,
        1,
    ]


@pytest.mark.parametrize(
    ("fractions", "message"),
    [
        ({"train": 0.8, "dev": 0.1, "test": 0.2}, "80/10/20 add up to 110 percent"),
        ({"train": 1.2, "dev": -0.2}, "must be from 0 to 100"),
        ({"train": 1.0, "dev": 0.0}, "nothing but train"),
        ({"train": 0.0, "dev": 1.0}, "nothing to train on"),
    ],
)
def test_split_fractions_are_shares_of_a_whole(fractions: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        split_corpus("src/hyperspan/corpora/examples/harbour.data", fractions)


FORMATS = ("jsonl", "brat", "four-lines", "columns", "w2ner", "cnn-ner", "gliner", "doccano", "label-studio")


@pytest.mark.parametrize("format_name", FORMATS)
def test_parts_written_are_the_corpus_in_its_own_format(format_name: str, tmp_path: Path) -> None:
    corpus = tmp_path / ("made" if format_name == "brat" else "made.corpus")
    saved(made(20), corpus, format_name)
    files = PartFiles.of(open_corpus(corpus, format_name, Problems()))
    parts = split_corpus(corpus, format=format_name).parts
    files.write(parts, problems=Problems())
    assert files.folder == tmp_path / "made-split" and [part.sentences for part in parts.values()] == [16, 2, 2]
    again = [document for part in parts for document in read_corpus(files.path(part), format_name)]
    before = list(read_corpus(corpus, format_name))

    def content(documents: list[Document]) -> list[tuple[str, list[Mention]]]:
        return sorted((document.text, sorted(document.mentions)) for document in documents)

    assert content(again) == content(before)


def test_parts_are_written_all_or_none(tmp_path: Path) -> None:
    corpus = saved(made(20), tmp_path / "made.jsonl")
    parts = split_corpus(corpus).parts
    flat = PartFiles.of(open_corpus(corpus, None, Problems()), tmp_path / "flat", "conll2003")
    with pytest.raises(LossError):
        flat.write(parts, problems=Problems())
    assert not flat.folder.exists()
    files = PartFiles.of(open_corpus(corpus, None, Problems()), tmp_path / "new")
    files.write(parts, problems=Problems())
    first = files.path("train").read_bytes()
    with pytest.raises(OutputExistsError, match="--force"):
        files.write(parts, problems=Problems())
    files.write(split_corpus(corpus, seed=2).parts, force=True, problems=Problems())
    assert files.path("train").read_bytes() != first
    assert sorted(file.name for file in files.folder.iterdir()) == ["dev.jsonl", "test.jsonl", "train.jsonl"]
    two = split_corpus(corpus, {"train": 0.5, "dev": 0.5}).parts
    with pytest.raises(OutputExistsError, match=r"test.jsonl exists and would stay"):
        files.write(two, force=True, problems=Problems())


def test_parts_are_not_written_into_the_corpus(tmp_path: Path) -> None:
    corpus = saved(made(20), tmp_path / "made", "brat")
    with pytest.raises(InputError, match="inside the corpus"):
        PartFiles.of(open_corpus(corpus, None, Problems()), corpus / "parts")


def test_split_says_which_labels_and_texts_are_special(tmp_path: Path) -> None:
    documents = made(20)
    documents[0] = document_of([Sentence(WORDS, [Mention(0, 1, "rare")])])
    documents += [evolve(document, id=f"again{number}") for number, document in enumerate(documents[1:])]
    notes = split_corpus(saved(documents, tmp_path / "made.jsonl")).notes
    assert "dev has no rare (1 mention in all)" in notes and "test has no rare (1 mention in all)" in notes
    assert any("outside train, word for word" in note for note in notes)


@pytest.mark.parametrize(
    ("name", "units"), [("gum/dev.jsonl.gz", 30), ("litbank/dev.data.gz", 852), ("genia/xml", 126)]
)
def test_split_of_real_corpora_shares_labels_out(name: str, units: int) -> None:
    parts = split_corpus(data_path(name)).parts
    assert sum(part.units for part in parts.values()) == units
    totals = sum((part.labels for part in parts.values()), Counter[str]())
    for part, fraction in (("train", 0.8), ("dev", 0.1), ("test", 0.1)):
        for label, total in totals.items():
            if total >= 200:
                assert abs(parts[part].labels[label] - fraction * total) <= 0.6 * fraction * total, (part, label)
