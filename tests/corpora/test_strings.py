"""Mentions as strings: JSON of language models, and where its strings are in their texts."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.config import Config
from hyperspan.corpora import Problems, Source, read_corpus
from hyperspan.corpora.inputs import read_inputs
from hyperspan.corpora.occurrences import MOST_WORDS, occurrences
from hyperspan.corpora.strings import read_strings
from hyperspan.errors import CorpusError
from hyperspan.training.data import read_train
from hyperspan.types import NOTHING_ANNOTATED, Document
from tests.corpora.test_contract import sentences
from tests.support.growth import grows_linearly
from tests.support.process import call as hyperspan

TEXT = "Ada left the Seattle zoo. Ada came back to Seattle."


def read(records: Sequence[Any], **options: Any) -> tuple[list[Document], Problems]:
    """What is read of records, and what is said of them."""
    problems = Problems()
    content = "\n".join(json.dumps(record) for record in records).encode()
    return list(read_strings(Source("lm.jsonl", stream=io.BytesIO(content)), problems, **options)), problems


def found(mentions: Any, text: str = TEXT) -> list[tuple[int, int, str]]:
    (document,), _ = read([{"text": text, "entities": mentions}])
    return sorted((mention.start, mention.end, mention.label) for mention in document.mentions)


# -- where strings are -------------------------------------------------------------------------------------------------

LETTERS = st.sampled_from(["a", "A", "b", "é", "日", "1", " ", "  ", "\n", "-", "'", "’", "."])


def starts_word(text: str, place: int) -> bool:
    """Whether no word of letters goes on at a place."""
    around = text[place - 1 : place] + text[place : place + 1] if 0 < place < len(text) else " "
    return not all(sign.isalnum() and sign != "日" for sign in around)


def folded(text: str) -> str:
    return "".join(text.replace("’", "'").casefold().split())


@given(text=st.lists(LETTERS, max_size=12).map("".join), string=st.lists(LETTERS, min_size=1, max_size=4).map("".join))
def test_occurrences_are_those_of_a_search_of_every_span(text: str, string: str) -> None:
    """As written, else with other white space, else with other case or quotation marks; always as whole words."""
    spans = [
        (start, end)
        for start in range(len(text))
        for end in range(start + 1, len(text) + 1)
        if text[start:end] == text[start:end].strip() and starts_word(text, start) and starts_word(text, end)
    ]
    cut = {place for place in range(1, len(string)) if starts_word(string, place)}
    inner = "".join("|" * (place in cut) + sign for place, sign in enumerate(string))

    def words(text: str) -> list[str]:
        return [folded(part) for part in "".join(inner if text == string else text).split("|") if folded(part)]

    def parts(span: tuple[int, int]) -> list[str]:
        start, end = span
        marked = "".join(
            "|" * (starts_word(text, place) and place > start) + text[place] for place in range(start, end)
        )
        return [folded(part) for part in marked.split("|") if folded(part)]

    alike = [span for span in spans if parts(span) == words(string)] if string.strip() else []
    exact = [span for span in alike if text[slice(*span)] == string.strip()]
    spaced = [span for span in alike if "".join(text[slice(*span)].split()) == "".join(string.split())]
    here = occurrences(text, [string]).get(string)
    assert list(here.spans if here else ()) == (exact or spaced or alike)
    assert bool(here and here.unlike) == bool(alike and not exact)


def test_occurrences_of_what_is_too_long_for_a_mention_are_none() -> None:
    text = "a " * MOST_WORDS + "a"
    assert occurrences(text, [text]) == {}
    (whole,) = (occurrences(text, [text[:-2]])[text[:-2]].spans,)
    assert len(whole) == 2


def test_occurrences_are_found_in_linear_time() -> None:
    strings = ["a b", "b a", "a b a b c", "b b"]
    assert grows_linearly(lambda size: occurrences("a b " * size, strings), 1_000)


# -- what is stated ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_as", "expected"),
    [
        ([{"text": "Ada", "label": "PER"}], [(0, 3, "PER"), (26, 29, "PER")]),
        ({"PER": ["Ada"], "FAC": ["the Seattle zoo"]}, [(0, 3, "PER"), (9, 24, "FAC"), (26, 29, "PER")]),
        ([["Seattle", "GPE"]], [(13, 20, "GPE"), (43, 50, "GPE")]),
        ([{"entity": "Ada", "type": "PER", "occurrence": 2}], [(26, 29, "PER")]),
        ([{"text": "Seattle", "label": "GPE", "start": 40}], [(43, 50, "GPE")]),
        ([{"text": "Seattle", "label": "GPE", "start": 13, "end": 20}], [(13, 20, "GPE")]),
        ([{"word": "Seattle", "entity_group": "GPE", "start": 12, "end": 19, "score": 0.9}], [(13, 20, "GPE")]),
        ([{"start": 0, "end": 3, "label": "PER"}], [(0, 3, "PER")]),
        ([[0, 3, "PER"], {"text": "zoo", "label": "FAC"}], [(0, 3, "PER"), (21, 24, "FAC")]),
        ('{"PER": ["Ada"]}', [(0, 3, "PER"), (26, 29, "PER")]),
        ({"entities": [(0, 3, "PER")]}, [(0, 3, "PER")]),
        ('```json\n[{"PER": "Ada"}]\n```', [(0, 3, "PER"), (26, 29, "PER")]),
        (None, []),
        ([{"text": "Sea", "label": "GPE"}, {"text": "Rome", "label": "GPE"}], []),
        ([{"text": "Ada", "label": "PER", "occurrence": 3}], []),
        ([], []),
    ],
)
def test_strings_are_read_as_they_are_written(given_as: Any, expected: list[tuple[int, int, str]]) -> None:
    assert found(given_as) == expected


@pytest.mark.parametrize(
    ("mentions", "message"),
    [
        ([7], 'a mention is 7, but an object with "text" and "label" is expected, or lists of strings by label'),
        ([{"start": 4, "label": "PER"}], "a mention is 4, but"),
        ([{"start": None, "end": None, "label": "PER"}], 'needs a "text" or a place'),
        ([{"start": 4, "end": 400, "label": "PER"}], "a mention is at 4:400, but the text has 51 characters"),
        ("[(0, 3", "which is no JSON"),
    ],
)
def test_what_is_no_mention_is_refused_with_its_line(mentions: Any, message: str) -> None:
    with pytest.raises(CorpusError) as refused:
        read([{"text": "Why?", "entities": []}, {"text": TEXT, "entities": mentions}])
    assert str(refused.value).startswith("lm.jsonl:2: ") and message in str(refused.value)


@given(sentence=sentences())
def test_stated_places_give_the_mentions_and_strings_alone_no_fewer(sentence: Any) -> None:
    text = " ".join(sentence.tokens)
    starts = [len(" ".join(sentence.tokens[:place])) + (place > 0) for place in range(len(sentence))]
    gold = {
        (starts[mention.start], len(" ".join(sentence.tokens[: mention.end])), mention.label)
        for mention in sentence.mentions
        if not mention.fragments
    }
    items = [{"text": text[start:end], "label": label} for start, end, label in gold]
    placed = [{**item, "start": start} for item, (start, _, _) in zip(items, gold, strict=True)]
    assert {*found(placed, text)} == gold
    every = {*found(items, text)}
    assert gold <= every and {(text[a:b], label) for a, b, label in every} == {(text[a:b], c) for a, b, c in gold}


def test_what_is_forgiven_found_twice_or_not_found_is_said() -> None:
    records = [
        {"text": TEXT, "entities": [{"text": "ada", "label": "PER"}, {"text": "Seatle", "label": "GPE"}]},
        {"text": "IL-2\nbinds", "entities": {"protein": ["IL-2 binds"], "DNA": ["IL"]}, "model": "x", "id": 7},
    ]
    (first, second), problems = read(records)
    assert len(first.mentions) == 2 and len(second.mentions) == 2
    assert (second.id, second.metadata) == ("7", {"model": "x"})
    assert problems.notes == {
        "mention found with other case or quotation marks": 1,
        "string that its text has more than once read as a mention at each place": 1,
        "mention found with other white space": 1,
        'mention left out because its text does not have it: "Seatle" (GPE, line 1)': 1,
    }


def test_labels_that_differ_in_case_alone_are_said() -> None:
    _, problems = read([{"text": TEXT, "entities": {"Place": ["Seattle"], "PLACE": ["zoo"], "PER": []}}])
    assert "labels that differ in case alone and are types of their own: PLACE, Place" in problems.notes


def test_what_is_listed_may_be_all_that_is_certain() -> None:
    (document,), _ = read([{"text": TEXT, "entities": {"PER": ["Ada"]}}], complete=False)
    assert document.annotated == NOTHING_ANNOTATED
    (whole,), _ = read([{"text": TEXT, "entities": {"PER": ["Ada"]}}])
    assert whole.annotated is None and evolve(document, annotated=None) == whole


@pytest.mark.parametrize("array", [False, True])
def test_strings_are_converted_and_trained_on_like_any_corpus(array: bool, tmp_path: Path) -> None:
    records = [{"text": TEXT, "mentions": [{"text": "Ada", "label": "PER"}, {"text": "Rome", "label": "GPE"}]}] * 3
    path = tmp_path / "lm.json"
    path.write_text(json.dumps(records) if array else "\n".join(map(json.dumps, records)), encoding="utf-8")
    result = hyperspan("convert", str(path), str(tmp_path / "mine.jsonl"))
    assert result.returncode == 0 and "wrote 6 mentions" in result.stderr
    assert '3 × mention left out because its text does not have it: "Rome" (GPE, line 1' in result.stderr
    converted = list(read_corpus(tmp_path / "mine.jsonl"))
    assert [document.mentions for document in converted] == [document.mentions for document in read_corpus(path)]
    of_training = read_train(Config().override([f"data.train={path}"]))
    assert [len(sentence.mentions) for text in of_training for sentence in text] == [1, 1] * 3


def test_answers_beside_their_prompts_are_recognised(tmp_path: Path) -> None:
    """As in files of instructions."""
    path = tmp_path / "answers.jsonl"
    record = {"instruction": "List all entities.", "input": TEXT, "output": '```json\n{"PER": ["Ada"]}\n```'}
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    (document,) = read_corpus(path)
    assert len(document.mentions) == 2 and document.metadata == {"instruction": "List all entities."}


def test_texts_to_annotate_keep_mentions_of_other_tools(tmp_path: Path) -> None:
    path = tmp_path / "given.jsonl"
    path.write_text('{"text": "Ada left.", "entities": [{"text": "Ada", "label": "person"}]}\n', encoding="utf-8")
    [document] = read_inputs([str(path)], problems=Problems())
    assert isinstance(document, Document) and [mention.text for mention in document.mentions] == ["Ada"]
