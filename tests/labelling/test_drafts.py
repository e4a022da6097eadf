"""What a model drafts given what was decided: the same as the annotator finds with constraints, and never an error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hyperspan.config import Config
from hyperspan.corpora.documents import document_of
from hyperspan.corpora.source import Problems
from hyperspan.labelling.drafts import CANDIDATES, Drafter
from hyperspan.labelling.session import open_log, open_session
from hyperspan.labelling.texts import LabellingTexts, QueueItem
from hyperspan.labelling.views import ranked
from hyperspan.nn import new_model
from hyperspan.runtime.annotator import Annotator
from hyperspan.text.tokens import WORDS
from hyperspan.types import Document, Mention, Sentence
from tests.support.coordination import coordination_annotator, coordination_model
from tests.support.models import TRAINING, small_model

TEXT = "Ada left the zoo of Oz."
LABELS = ("person", "place")


def item_of(text: str | Document, *, keep: bool = False) -> QueueItem:
    [item] = LabellingTexts.read([text], WORDS, Problems(), keep_mentions=keep).items(0)
    return item


def test_a_draft_is_the_best_set_given_what_was_decided() -> None:
    annotator, item = Annotator(small_model()), item_of(TEXT)
    free = Drafter("small", annotator).draft(item, LABELS, set(), set())
    assert free.mentions and all(mention.probability for mention in free.mentions)
    forbidden, required = free.mentions[-1], Mention(2, 3, "person")
    draft = Drafter("small", annotator).draft(item, LABELS, {required}, {forbidden})
    places = [*zip(*item.words.offsets, strict=True)]
    by_character = {m: Mention(places[0][m.start], places[1][m.end - 1], m.label) for m in (required, forbidden)}
    found = annotator(TEXT, candidates=CANDIDATES, require=[by_character[required]], forbid=[by_character[forbidden]])
    [expected] = found.sentences
    decided = {required, forbidden}
    assert set(draft.mentions) == expected.mentions - decided and found.candidates is not None
    assert len(draft.candidates) == len(found.candidates) - len(expected.mentions) > 0
    probabilities = {mention: mention.probability for mention in expected.mentions}
    for mention in draft.mentions:
        assert mention.probability == pytest.approx(probabilities[mention], abs=1e-6)
    only = Drafter("small", annotator).draft(item, ["place", "verb"], set(), set())
    assert {mention.label for mention in (*only.mentions, *only.candidates)} == {"place"}


def test_a_draft_follows_decisions_about_discontinuous_mentions() -> None:
    labels, left = ("CELL", "ORGAN", "PROTEIN"), Mention(1, 5, "ORGAN", [(1, 2), (4, 5)])
    drafter, item = Drafter("parted", coordination_annotator()), item_of("The left and right ventricle were stained .")
    free = drafter.draft(item, labels, set(), set())
    assert left in free.mentions
    draft = drafter.draft(item, labels, set(), {left})
    assert left not in draft.mentions and left not in draft.candidates and draft.mentions != free.mentions
    other, far = (Mention(1, end, "ORGAN", [(1, 2), (end - 1, end)]) for end in (6, 8))
    required = drafter.draft(item, labels, {other}, set())  # which begins as what was drafted does
    assert other not in required.mentions
    before, after = ({m: m.probability for m in (*one.mentions, *one.candidates)} for one in (free, required))
    assert after.get(left) != before[left]
    assert drafter.draft(item, labels, {far}, set()) == free  # the gap is wider than those of the model


def test_discontinuous_mentions_that_are_given_are_drafts_and_move_with_their_part() -> None:
    words = Sentence("a left and right lung".split() + ["and"] * 120 + "the rod and cone cells".split())
    rod, left = (Mention(start, start + 4, "CELL", [(start, start + 1), (start + 3, start + 4)]) for start in (126, 1))
    item = item_of(document_of([words.with_mentions([rod, left])]), keep=True)
    given = Drafter("parted", Annotator(coordination_model(), max_spans=150), offers_given=True)
    assert given.draft(item, ["CELL"], set(), set()).mentions == [left, rod]  # the sentence is read in parts
    assert not given.draft(item, ["CELL"], {left}, {rod}).mentions


def test_what_a_model_cannot_have_is_not_passed_to_it() -> None:
    drafter, item = Drafter("small", Annotator(small_model(2))), item_of(TEXT)
    free = drafter.draft(item, LABELS, set(), set())
    wide, new = Mention(0, 6, "place"), Mention(0, 1, "verb")
    assert drafter.draft(item, (*LABELS, "verb"), {wide, new}, {Mention(0, 5, "place")}).mentions == free.mentions
    assert not drafter.draft(item, ["verb"], {new}, set()).mentions


def test_mentions_that_are_impossible_together_leave_a_draft() -> None:
    config = Config()
    config = replace(
        config,
        model=replace(config.model, kind="linear-chain"),
        words=replace(config.words, dimension=8, tag_dimension=0),
        encoder=replace(config.encoder, hidden=4),
        training=replace(config.training, softmax_margin=False),
    )
    drafter, item = Drafter("chain", Annotator(new_model(config, TRAINING).eval())), item_of(TEXT)
    free = drafter.draft(item, LABELS, set(), set())
    crossing = {Mention(0, 3, "person"), Mention(1, 5, "place"), Mention(0, 6, "person")}
    draft = drafter.draft(item, LABELS, crossing, set())
    assert set(draft.mentions) == set(free.mentions) - crossing


def test_sentences_that_are_too_long_and_those_with_hundreds_of_mentions() -> None:
    annotator = Annotator(small_model())
    short = Annotator(small_model(), max_spans=25)
    assert Drafter("small", short).draft(item_of(TEXT), LABELS, set(), set()).mentions == []
    words = Sentence(["Ada", "saw", "the", "zoo"] * 500)
    [long] = LabellingTexts([document_of([words])]).items(0)
    first = Drafter("small", annotator).draft(long, LABELS, set(), {Mention(1996, 1997, "person")})
    places = {mention.start for mention in first.mentions if mention.label == "person"}
    assert long.size == 2000 and {0, 500, 1992} <= places and 1996 not in places
    many = item_of(" ".join(["Ada", "saw", "the", "zoo"] * 50))
    required = {Mention(start, end, "person") for start in range(20) for end in range(start + 1, start + 11)}
    draft = Drafter("small", annotator).draft(many, LABELS, required, {Mention(1, 2, "place")})
    assert len(required) == 200 and not required & set(draft.mentions)


def test_given_mentions_can_be_the_draft() -> None:
    document = Document(TEXT, [Mention(0, 3, "person"), Mention(0, 8, "verb"), Mention(4, 5, "place")])
    item = item_of(document, keep=True)
    draft = Drafter("small", Annotator(small_model()), offers_given=True).draft(item, (*LABELS, "verb"), set(), set())
    assert [(m.start, m.end, m.label) for m in draft.mentions] == [(0, 3, "verb"), (0, 1, "person"), (1, 2, "place")]
    probabilities = {mention.label: mention.probability for mention in draft.mentions}
    assert probabilities["person"] is not None and probabilities["verb"] is None
    assert item_of(document).words.tokens == ("Ada", "left", "the", "zoo", "of", "Oz", ".")


def test_sentences_that_are_too_long_to_be_ranked_come_last(tmp_path: Path) -> None:
    texts = LabellingTexts.read(["Ada left Oz now. Bo.", "Ada slept."], WORDS, Problems())
    log = open_log(tmp_path / "c.jsonl")
    session = open_session(log, texts, model="small", tokenizer=WORDS, labels=LABELS)
    assert [*ranked(session, Annotator(small_model(), max_spans=16), None)] == ["1.0", "0.0", "0.1"]
    log.close()
