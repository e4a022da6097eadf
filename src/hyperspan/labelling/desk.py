"""One person's labelling: a session, the model that drafts for it, and their JSON views."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

from attrs import evolve

from hyperspan.labelling.decisions import DONE, Decision, ItemState
from hyperspan.labelling.drafts import NO_DRAFT, Draft, Drafter
from hyperspan.labelling.order import reranked
from hyperspan.labelling.queue import QueueItem
from hyperspan.labelling.rounds import RoundSettings, TrainingRounds
from hyperspan.labelling.session import LabellingSession
from hyperspan.labelling.snapshot import Snapshot
from hyperspan.runtime.loading import load
from hyperspan.types import Mention

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
        self._drafts: OrderedDict[object, Draft] = OrderedDict()
        self.rounds = TrainingRounds(session, rounds, self._use_round) if rounds is not None else None

    def _use_round(self, number: int, folder: Path) -> None:
        """Draft with the model of a training round from now on, and reorder the open sentences by it."""
        drafter = evolve(self.drafter, name=str(folder), annotator=load(folder))
        items = {item.id: item for item in self.session.texts.items(drafter.annotator.context)}
        with self.session.lock:
            self.session.use_model(drafter.name, number)
            self.drafter, self.items = drafter, items
            self._drafts.clear()
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
                "round": session.round,
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
            decided = [_shown(mention, how) for mention, how in state.decided.items()]
            mentions = [*decided, *(_shown(mention, "draft") for mention in draft.mentions)]
            return {
                "id": item,
                "document": {"id": session.texts.documents[placed.document].id, "index": placed.document},
                "sentence": placed.sentence,
                **session.texts.shown(placed),
                "revision": session.revision(item),
                "status": state.status,
                "note": state.note,
                "mentions": sorted(mentions, key=_order),
                "candidates": [_candidate(mention) for mention in draft.candidates],
                "history": [
                    {"action": one.action, "annotator": one.annotator, "time": one.time} for one in state.history
                ],
            }

    def _draft(self, item: QueueItem, state: ItemState) -> Draft:
        """The model's draft given the decisions so far; empty for a complete sentence."""
        if state.status == DONE:
            return NO_DRAFT
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
            if not state.history:
                decision = evolve(decision, draft=frozenset(self._draft(self.items[item], state).mentions))
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

    def add_label(self, label: str) -> None:
        self.session.add_label(label)


def _order(shown: dict[str, Any]) -> tuple[Any, ...]:
    return shown["start"], -shown["end"], shown["label"], shown.get("fragments", ())


def _shown(mention: Mention, state: str) -> dict[str, Any]:
    return _candidate(mention) | {"state": state}


def _candidate(mention: Mention) -> dict[str, Any]:
    probability = None if mention.probability is None else round(float(mention.probability), 6)
    record = {"start": mention.start, "end": mention.end, "label": mention.label, "probability": probability}
    return record | {"fragments": mention.fragments} if mention.fragments else record
