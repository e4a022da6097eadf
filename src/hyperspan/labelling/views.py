"""One person's labelling: a session that is opened or resumed, the order of its sentences, the model that drafts for
them, and their JSON views.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from attrs import evolve, frozen

from hyperspan.corpora.json_records import PLACE_KEYS, mention_record
from hyperspan.corpora.source import Problems
from hyperspan.labelling.decisions import DONE, OPEN, Decision, ItemState
from hyperspan.labelling.drafts import Drafter
from hyperspan.labelling.log import EventLog
from hyperspan.labelling.output import Snapshot
from hyperspan.labelling.rounds import RoundSettings, RoundState, TrainingRounds
from hyperspan.labelling.session import LabellingSession, open_log, open_session
from hyperspan.labelling.suggestions import rank
from hyperspan.labelling.texts import LabellingTexts, QueueItem, cut_out
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.documents import SentencePrediction
from hyperspan.runtime.loading import load
from hyperspan.text.tokens import Tokenizer
from hyperspan.types import Document, Mention, longest_first

KEPT_DRAFTS = 100
"""The number of most recently shown sentences whose drafts are cached."""


class LabellingDesk:
    """One person's labelling. Every method may be called from any thread."""

    def __init__(
        self,
        session: LabellingSession,
        drafter: Drafter,
        snapshot: Snapshot,
        rounds: RoundSettings | None = None,
        by: str | None = None,
    ):
        self.session, self.drafter, self.snapshot, self._by = session, drafter, snapshot, by
        self.items: dict[str, QueueItem] = {item.id: item for item in session.texts.items(drafter.annotator.context)}
        self._drafts: OrderedDict[object, SentencePrediction] = OrderedDict()
        self._on_model: Callable[[str, Annotator], None] = lambda *_: None
        self.rounds = TrainingRounds(session, rounds, self._use_round) if rounds is not None else None

    def on_model(self, use: Callable[[str, Annotator], None]) -> None:
        """Call `use` with the name of each model that drafts from now on, and the model."""
        self._on_model = use

    def _use_round(self, folder: Path) -> None:
        """Draft with the model of a training round from now on, and reorder the open sentences by it."""
        drafter = evolve(self.drafter, name=str(folder), annotator=load(folder))
        items = {item.id: item for item in self.session.texts.items(drafter.annotator.context)}
        with self.session.lock:
            self.session.use_model(drafter.name)
            self.drafter, self.items = drafter, items
            self._drafts.clear()
        self._on_model(drafter.name, drafter.annotator)
        if order := list(reranked(self.session, drafter.annotator, self._by)):
            self.session.reorder(order)

    def close(self) -> None:
        """End the session: all decisions are in the log and in the output."""
        if self.rounds is not None:
            self.rounds.close()
        self.snapshot.close()
        self.session.log.close()

    # -- views -------------------------------------------------------------------------------------------------------

    def overview(self, *, queue: bool = True) -> dict[str, Any]:
        """The session as returned by /v1/label/session."""
        session = self.session
        with session.lock:
            found: dict[str, Any] = {
                "annotator": session.annotator,
                "model": session.model,
                "round": self.rounds.state.round if self.rounds is not None else 0,
                "labels": list(session.labels),
                "progress": session.progress(),
                "draft": session.draft_agreement(),
                "training": self.rounds.status() if self.rounds is not None else None,
            }
            return found | ({"queue": session.queue()} if queue else {})

    def show(self, item: str) -> dict[str, Any]:
        """A sentence as returned by /v1/label/items/ID."""
        session = self.session
        with session.lock:
            session.check_item(item)
            placed, state = self.items[item], session.state(item)
            draft = self._draft(placed, state)
            states = {**state.decided, **dict.fromkeys(draft.mentions, "draft")}
            mentions = sorted(states, key=longest_first)
            return {
                "id": item,
                "document": {"id": session.texts.documents[placed.document].id, "index": placed.document},
                "sentence": placed.sentence,
                **session.texts.shown(placed),
                "revision": session.revision(item),
                "status": state.status,
                "note": state.note,
                "mentions": [_candidate(mention) | {"state": states[mention]} for mention in mentions],
                "candidates": [_candidate(mention) for mention in draft.candidates],
                "history": [
                    {"action": one.action, "annotator": one.annotator, "time": one.time} for one in state.history
                ],
            }

    def _draft(self, item: QueueItem, state: ItemState) -> SentencePrediction:
        """The model's draft given the decisions so far; empty for a complete sentence."""
        if state.status == DONE:
            return SentencePrediction()
        labels = tuple(self.session.labels)
        key = (item.id, labels, state.mentions, state.rejected)
        if key not in self._drafts:
            self._drafts[key] = self.drafter.draft(item, labels, state.mentions, state.rejected)
            if len(self._drafts) > KEPT_DRAFTS:
                self._drafts.popitem(last=False)
        self._drafts.move_to_end(key)
        return self._drafts[key]

    # -- changes -----------------------------------------------------------------------------------------------------

    def decide(self, item: str, decision: Decision, revision: int) -> dict[str, Any]:
        """Record a decision, and return the view of the sentence after it."""
        session = self.session
        with session.lock:
            session.check_item(item)
            state = session.state(item)
            if decision.action == "complete":
                shown = state.mentions | frozenset(self._draft(self.items[item], state).mentions)
                decision = evolve(decision, shown=shown, labels=tuple(session.labels))
            session.decide(item, decision, revision)
            self._changed()
            return self.show(item)

    def undo(self) -> dict[str, Any] | None:
        """Undo the last decision, and return the view of its sentence; None if there is none."""
        with self.session.lock:
            item = self.session.undo()
            if item is None:
                return None
            self._changed()
            return self.show(item)

    def _changed(self) -> None:
        self.snapshot.request()
        if self.rounds is not None:
            self.rounds.request()


def _candidate(mention: Mention) -> dict[str, Any]:
    probability = None if mention.probability is None else round(float(mention.probability), 6)
    return mention_record(mention, PLACE_KEYS) | {"probability": probability}


@frozen
class LabellingSettings:
    """The settings of a session."""

    output: Path
    annotator: str = ""
    by: Literal["uncertainty", "order"] | None = None
    """None for uncertainty, and for the order of files that `hyperspan suggest` ranked."""
    offers_given: bool = False
    """Whether the mentions given with the texts are the draft."""
    labels: tuple[str, ...] = ()
    """The labels to annotate; empty for those of the model and of the mentions given with the texts."""
    count: int | None = None
    """The maximum number of sentences; None for all."""
    rounds: RoundSettings | None = None
    """Training in the background; None for none."""


def open_desk(
    name: str,
    given: Iterable[str | Document],
    settings: LabellingSettings,
    problems: Problems | None = None,
    on_words: Callable[[int], None] | None = None,
    device: str = "cpu",
    dtype: str = "float32",
) -> LabellingDesk:
    """Open the desk for a model and texts: a new session, or the existing session of the output."""
    problems = problems if problems is not None else Problems()
    if settings.rounds is not None:
        settings.rounds.check()
    annotator = load(name, device, dtype)
    settings.output.parent.mkdir(parents=True, exist_ok=True)
    log = open_log(settings.output)
    try:
        session = _opened(log, name, annotator, given, settings, problems)
        wanted = settings.count
        if wanted is None or len(session.order) < wanted:
            session.set_order(ranked(session, annotator, settings.by, wanted, on_words), wanted)
        if (newest := _newest_round(session, settings.rounds)) is not None:
            name, annotator = str(newest), load(newest, device, dtype)
            session.use_model(name)
    except BaseException:
        log.close()
        raise
    snapshot = Snapshot(session, settings.output, lambda error: print(f"hyperspan: {error}", file=sys.stderr))
    drafter = Drafter(name, annotator, settings.offers_given)
    return LabellingDesk(session, drafter, snapshot, settings.rounds, settings.by)


def _opened(
    log: EventLog,
    name: str,
    annotator: Annotator,
    given: Iterable[str | Document],
    settings: LabellingSettings,
    problems: Problems,
) -> LabellingSession:
    """The session of a log, with the tokenizer that it began with, so that its tokens stay the same."""
    tokenizer = Tokenizer(str(log.header["tokenizer"])) if log.header else annotator.model.tokenizer
    texts = LabellingTexts.read(given, tokenizer, problems, keep_mentions=settings.offers_given)
    labels = settings.labels or _labels(annotator, texts if settings.offers_given else None)
    return open_session(log, texts, model=name, tokenizer=tokenizer, labels=labels, annotator=settings.annotator)


def _newest_round(session: LabellingSession, rounds: RoundSettings | None) -> Path | None:
    """The model of the last training round, if the rounds began with the model that is requested."""
    if rounds is None:
        return None
    state = RoundState.read(rounds.folder, session)
    folder = rounds.model(state.round)
    return folder if state.start == session.model and (folder / "config.toml").is_file() else None


def _labels(annotator: Annotator, texts: LabellingTexts | None) -> list[str]:
    given = {mention.label for item in texts.items(0) for mention in item.given} if texts is not None else set()
    return [*annotator.labels, *sorted(given - set(annotator.labels))]


def ranked(
    session: LabellingSession,
    annotator: Annotator,
    by: str | None,
    count: int | None = None,
    on_words: Callable[[int], None] | None = None,
) -> Iterator[str]:
    """Rank the sentences of a session, by uncertainty without near duplicates.

    Without `by`, texts ranked by `hyperspan suggest` keep their order, and other texts are ranked. Documents with a
    sentence that is too long for the model cannot be ranked and come last.
    """
    documents = session.texts.documents
    are_ranked = all({"source", "score"} <= one.metadata.keys() for one in documents)
    if by == "order" or (by is None and are_ranked):
        yield from (item.id for item in session.texts.items(0))
        return
    too_long: set[int] = set()
    for one in rank(
        annotator, documents, count=count, on_words=on_words, on_error=lambda given, _: too_long.add(id(given))
    ):
        yield f"{one.document}.{one.sentence}"
    yield from (item.id for item in session.texts.items(0) if id(documents[item.document]) in too_long)


def reranked(session: LabellingSession, annotator: Annotator, by: str | None) -> Iterator[str]:
    """The open sentences of the queue in the order of another model, without near duplicates of finished ones."""
    if by == "order":
        return
    with session.lock:
        items = {item.id: item for item in session.texts.items(0)}
        queued = [items[name] for name in session.order if session.state(name).status == OPEN]
        labelled = [items[name].words for name in session.touched if session.state(name).status != OPEN]
    alone = (cut_out(session.texts.documents[item.document].text, item.words) for item in queued)
    documents = [Document(text, sentences=[words]) for text, words in alone]
    for one in rank(annotator, documents, count=None, labelled=labelled, on_error=lambda *_: None):  # what is too long
        yield queued[one.document].id
