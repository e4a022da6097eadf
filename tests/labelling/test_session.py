"""A session is its log: whatever is decided, opening it again gives the same, and so does what it writes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.corpora import read_corpus
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError, OutputExistsError
from hyperspan.labelling.decisions import ACTIONS, WITH_MENTION, Decision, ItemState
from hyperspan.labelling.output import Snapshot
from hyperspan.labelling.session import LabellingSession, StaleRevisionError, log_of, open_log, open_session
from hyperspan.labelling.texts import LabellingTexts
from hyperspan.labelling.views import LabellingSettings, open_desk
from hyperspan.text.tokens import WORDS
from hyperspan.types import NOTHING_ANNOTATED, AnnotationScope, Document, Mention

GIVEN = [Document("Ada left. Bo slept here.", id="zoo"), Document("Oz is far.", id="oz", metadata={"pmid": 7})]
TEXTS = LabellingTexts.read(GIVEN, WORDS, Problems())
ITEMS = ("0.0", "0.1", "1.0")
ADA, LEFT = Mention(0, 1, "PER"), Mention(1, 2, "PER")


@contextmanager
def opened(output: Path, texts: LabellingTexts = TEXTS, annotator: str = "ann") -> Iterator[LabellingSession]:
    log = open_log(output)
    try:
        yield open_session(log, texts, model="m", tokenizer=WORDS, labels=["PER", "LOC"], annotator=annotator)
    finally:
        log.close()


def states(session: LabellingSession) -> dict[str, Any]:
    about = (session.labels, session.order, session.progress(), session.draft_agreement())
    return {item: session.state(item) for item in ITEMS} | {"session": about}


def expected(session: LabellingSession) -> list[Document]:
    """What the output must hold, written down once more, from the states alone."""
    found: list[Document] = []
    for index, document in enumerate(GIVEN):
        own = [session.state(f"{index}.{place}") for place in range(len(TEXTS.documents[index].sentences))]
        if not any(state.decided or state.note or state.status != "open" for state in own):
            continue
        sentences = []
        for words, state in zip(TEXTS.documents[index].sentences, own, strict=True):
            sure = [mention for mention, how in state.decided.items() if how in ("accepted", "added")]
            scope = AnnotationScope(state.labels) if state.status == "done" else NOTHING_ANNOTATED
            no = [m for m, how in state.decided.items() if how == "rejected" and state.status != "done"]
            sentences.append(evolve(words, mentions=sure, annotated=scope, forbidden=no))
        found.append(Document(document.text, (), sentences, document.id))
    return found


spans = st.sampled_from([(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)])
mentions = st.builds(
    lambda span, label: Mention(span[0], span[1], label, probability=0.5), spans, st.sampled_from(["PER", "LOC"])
)
decisions = st.tuples(
    st.sampled_from(ITEMS), st.sampled_from(ACTIONS), mentions, mentions, st.sets(mentions, max_size=3)
)
steps = st.lists(st.one_of(decisions, decisions, decisions, st.sampled_from(["undo", "label"])), max_size=14)


def take(session: LabellingSession, step: Any) -> None:
    if step == "undo":
        session.undo()
    elif step == "label":
        session.add_label(f"L{len(session.labels)}")
    else:
        item, action, mention, to, shown = step
        decision = Decision(
            action,
            mention if action in WITH_MENTION else None,
            (to if to != mention else Mention(0, 3, "LOC")) if action == "change" else None,
            note="why?" if action == "note" else "",
            shown=frozenset(shown) | session.state(item).mentions if action == "complete" else frozenset(),
            labels=tuple(session.labels) if action == "complete" else (),
        )
        session.decide(item, decision, session.revision(item))


@given(steps)
@settings(max_examples=25)
def test_log_gives_the_same_session_and_the_same_output(taken: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "c.jsonl"
        with opened(output) as session:
            session.set_order(ITEMS)
            snapshot = Snapshot(session, output, lambda error: pytest.fail(str(error)))
            for step in taken:
                take(session, step)
                snapshot.request()
            snapshot.close()
            in_memory, wanted = states(session), expected(session)
        with opened(output) as session:
            assert states(session) == in_memory
            assert {event["event"] for event in session.log.events} <= {"decision", "undo", "label", "queue"}
            keys = {key for event in session.log.events if event["event"] == "decision" for key in event}
            assert keys <= {"event", "item", "action", "mention", "to", "note", "shown", "labels", "annotator", "time"}
        read = list(read_corpus(output)) if wanted else []
        assert [(one.id, one.text, one.sentences) for one in read] == [(o.id, o.text, o.sentences) for o in wanted]
        assert all(one.annotated == NOTHING_ANNOTATED for one in read)
        listed = [mention for one in read for part in (one, *one.sentences) for mention in part.mentions]
        assert all(mention.probability is None for mention in listed)  # what is decided is no prediction


@given(steps)
@settings(max_examples=15)
def test_undo_takes_every_decision_back(taken: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder) / "c.jsonl") as session:
        for step in taken:
            take(session, step)
        while session.undo() is not None:
            pass
        assert all(session.state(item) == ItemState() for item in ITEMS)


def test_log_that_was_cut_off_anywhere_in_its_last_line_is_repaired(tmp_path: Path) -> None:
    output = tmp_path / "c.jsonl"
    with opened(output) as session:
        session.decide("0.0", Decision("accept", ADA))
        before = states(session)
        session.decide("0.0", Decision("reject", LEFT))
        after = states(session)
    log = log_of(output)
    whole = log.read_bytes()
    start = whole.rindex(b"\n", 0, -1) + 1
    for size in (start, start + 1, start + 30, len(whole) - 1):
        log.write_bytes(whole[:size])
        with opened(output) as session:
            assert states(session) == before
            session.decide("0.1", Decision("skip"))
        assert log.read_bytes().startswith(whole[:start]) and log.read_bytes().count(b"\n") == whole.count(b"\n")
    log.write_bytes(whole + b"\0" * 40 + b"\n")  # as some filesystems leave it after a power cut
    with opened(output) as session:
        assert states(session) == after
    log.write_bytes(whole[: whole.index(b"\n")][:20])  # not even the first line is there
    with opened(output) as session:
        assert not session.log.events and len(log.read_bytes().splitlines()) == 1


def test_log_that_is_damaged_or_of_another_session_is_refused(tmp_path: Path) -> None:
    output = tmp_path / "c.jsonl"
    with opened(output) as session:
        session.decide("0.0", Decision("accept", ADA))
        session.decide("0.0", Decision("sure"))
        with pytest.raises(OutputExistsError, match=r"another process labels into c\.jsonl already"), opened(output):
            pass
    others = LabellingTexts.read([Document("Ada left. Bo slept here!"), GIVEN[1]], WORDS, Problems())
    with pytest.raises(InputError, match="labelled on other texts"), opened(output, others):
        pass
    cut = evolve(
        TEXTS.documents[1], sentences=[evolve(TEXTS.documents[1].sentences[0], tokens=["O"], offsets=[(0, 1)])]
    )
    others = LabellingTexts([TEXTS.documents[0], cut])
    with pytest.raises(InputError, match="other sentences or words"), opened(output, others):
        pass
    log = log_of(output)
    whole = log.read_text()
    for broken, sentence in (
        (whole.replace('"accept"', '"accept'), "line 2 of .* is damaged"),
        (whole.replace('"accept"', '"guess"'), "line 2 of .* is no event of this session .*'guess' is not known"),
        (whole.replace('"0.0"', '"7.0"'), "line 2 of .* is no event"),
        (whole.replace('"version":1', '"version":9'), "has version 9 of the log"),
        (whole.replace('"hyperspan-labelling"', '"else"'), "is not the log of a labelling session"),
        (whole.replace('"labels"', '"names"'), "lacks labels"),
    ):
        log.write_text(broken)
        with pytest.raises(InputError, match=sentence), opened(output):
            pass
    for foreign in ("precious", "precious\n", '{"format":"mine"}\n{'):
        log.write_text(foreign)
        with pytest.raises(InputError, match="is not the log of a labelling session"), opened(output):
            pass
        assert log.read_text() == foreign
    log.unlink()
    output.write_text("precious")
    with pytest.raises(OutputExistsError, match="no labelling session has written it"), opened(output):
        pass


def test_decisions_that_cannot_be_are_refused_and_leave_no_trace(tmp_path: Path) -> None:
    with opened(tmp_path / "c.jsonl") as session:
        old = session.revision("0.0")
        session.decide("0.0", Decision("accept", ADA), old)
        events, state = len(session.log.events), states(session)
        with pytest.raises(StaleRevisionError, match="has changed since it was shown"):
            session.decide("0.0", Decision("skip"), old)
        with pytest.raises(InputError, match="reaches beyond the 3 tokens"):
            session.decide("0.0", Decision("add", Mention(2, 4, "PER")))
        with pytest.raises(InputError, match="'verb' is not one of this session"):
            session.decide("0.0", Decision("add", Mention(1, 2, "verb")))
        with pytest.raises(InputError, match=r"no sentence '9\.9'"):
            session.decide("9.9", Decision("skip"))
        for label in ("", " a", "*", "x" * 101, "a\nb"):
            with pytest.raises(InputError, match="the label"):
                session.add_label(label)
        assert len(session.log.events) == events and states(session) == state
    with pytest.raises(InputError, match="change needs `to`"):
        Decision("change", ADA)
    with pytest.raises(InputError, match="skip takes no mention"):
        Decision("skip", ADA)
    with pytest.raises(InputError, match="changed to what it is"):
        Decision("change", ADA, ADA)


def test_a_label_that_comes_later_says_nothing_of_sentences_before_it(tmp_path: Path) -> None:
    with opened(tmp_path / "c.jsonl") as session:
        session.decide("0.0", Decision("complete", shown=frozenset([ADA]), labels=tuple(session.labels)))
        shown = session.revision("0.1")
        session.add_label("verb")
        with pytest.raises(StaleRevisionError):  # the model may draft mentions of it, which nobody has seen
            session.decide("0.1", Decision("complete", labels=tuple(session.labels)), shown)
        session.decide("0.1", Decision("complete", labels=tuple(session.labels)))
        assert session.state("0.0").labels == {"PER", "LOC"} and session.state("0.1").labels == {"PER", "LOC", "verb"}


def test_the_agreement_of_drafts_counts_what_was_decided(tmp_path: Path) -> None:
    with opened(tmp_path / "c.jsonl") as session:
        session.decide("0.0", Decision("accept", ADA))
        session.decide("0.0", Decision("change", LEFT, Mention(1, 2, "LOC")))
        assert session.draft_agreement() == {"accepted": 1, "rejected": 1, "added": 1, "f1": 0.5}
        shown = frozenset([ADA, Mention(1, 2, "LOC"), Mention(2, 3, "LOC")])
        session.decide("0.0", Decision("complete", shown=shown, labels=("PER", "LOC")))
        assert session.draft_agreement() == {"accepted": 2, "rejected": 1, "added": 1, "f1": 4 / 6}


def test_what_no_file_can_hold_is_refused_in_the_beginning(tmp_path: Path) -> None:
    for document in (Document("Ada", id="\ud800"), Document("Ada", metadata={"by": "\ud800"}), Document("Ada \ud800")):
        with pytest.raises(InputError, match="holds what JSON cannot"):
            LabellingTexts.read([document], WORDS, Problems())
    with (
        pytest.raises(InputError, match=r"the annotator .* cannot be shown"),
        opened(tmp_path / "c.jsonl", annotator="\udcff"),
    ):
        pass


def test_a_span_that_was_added_and_changed_again_leaves_nothing_behind(tmp_path: Path) -> None:
    wider = Mention(0, 2, "PER")
    with opened(tmp_path / "c.jsonl") as session:
        session.decide("0.0", Decision("change", ADA, LEFT))
        session.decide("0.0", Decision("change", LEFT, wider))
        assert session.state("0.0").decided == {ADA: "rejected", wider: "added"}


def test_the_queue_grows_and_open_sentences_change_places(tmp_path: Path) -> None:
    output = tmp_path / "c.jsonl"
    with opened(output) as session:
        session.set_order(["1.0", "0.0"], 1)
        assert session.order == ["1.0"]
        session.set_order(["0.0", "0.1", "1.0"])
        session.decide("0.0", Decision("skip"))
        session.reorder(["0.1", "0.0"])
    with opened(output) as session:
        assert session.order == ["0.0", "0.1", "1.0"]


def test_what_a_page_showed_before_a_session_is_opened_again_is_no_longer_current(tmp_path: Path) -> None:
    output = tmp_path / "c.jsonl"
    with opened(output) as session:
        shown = session.revision("0.0")
    time.sleep(0.002)
    with opened(output) as session:  # another model may draft now
        with pytest.raises(StaleRevisionError):
            session.decide("0.0", Decision("skip"), shown)
        assert session.revision("0.0") > shown


def test_a_session_that_does_not_begin_leaves_no_log(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the label"):
        open_desk("genia", ["Ada left."], LabellingSettings(tmp_path / "c.jsonl", labels=("*",)))
    assert not list(tmp_path.iterdir())


def test_a_log_has_what_a_person_decided_and_nothing_else(tmp_path: Path) -> None:
    with opened(tmp_path / "c.jsonl") as session:
        session.set_order(ITEMS)
        session.decide("0.0", Decision("accept", ADA))
        session.use_model("next")
        session.add_label("verb")
        session.undo()
        assert [event["event"] for event in session.log.events] == ["queue", "decision", "label", "undo"]
