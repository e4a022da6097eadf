"""A labelling session: the state that results from replaying the events of its log.

The log has what a person decided, and it is the only storage: opening it again restores the session.
:mod:`hyperspan.labelling.output` derives the output from it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attrs import evolve

from hyperspan.errors import CONTROL_CHARACTERS, InputError, OutputExistsError
from hyperspan.labelling.decisions import ACCEPTED, ADDED, DONE, OPEN, PARTIAL, REJECTED, SKIPPED, Decision, ItemState
from hyperspan.labelling.log import Event, EventLog
from hyperspan.labelling.texts import LabellingTexts, extended
from hyperspan.text.tokens import Tokenizer
from hyperspan.types import Mention

MOST_CHARACTERS = 100
"""The maximum length of a label."""
NEW_ITEM = ItemState()


class StaleRevisionError(InputError):
    """A decision refers to a sentence that has changed since it was shown."""


class UnknownItemError(InputError):
    """There is no such sentence."""


class LabellingSession:
    """The state of a session and its log. Every method may be called from any thread."""

    def __init__(self, log: EventLog, texts: LabellingTexts, model: str, annotator: str = ""):
        self.log, self.texts, self.model, self.annotator = log, texts, model, annotator
        self.lock = threading.RLock()
        self.labels: list[str] = list(log.header["labels"])
        self.order: list[str] = []
        self._redrafts = time.time_ns() // 1_000_000
        """The time of opening, when a model may draft that a page has not seen; one more whenever all drafts may have
        changed since, because another model was loaded or a label was added."""
        self.changed: set[int] = set()
        """Documents whose sentences have changed since the last snapshot."""
        self._sizes = {item.id: (item.document, item.size) for item in texts.items(0)}
        self._states: dict[str, list[ItemState]] = {}
        self._events: dict[str, int] = {}
        self._decided: list[str] = []
        """The sentence of each decision that is not undone."""
        for number, event in enumerate(log.events, start=2):
            try:
                self._apply(event)
            except (KeyError, TypeError, ValueError, InputError) as error:
                raise InputError(
                    f"line {number} of {log.path} is no event of this session ({type(error).__name__}: {error}); restore the file "
                    "from a copy, or choose another output"
                ) from None

    # -- state -------------------------------------------------------------------------------------------------------

    def state(self, item: str) -> ItemState:
        states = self._states.get(item)
        return states[-1] if states else NEW_ITEM

    def revision(self, item: str) -> int:
        """A number that grows with every decision about a sentence, when a new model or label changes drafts, and when
        the session is opened again.
        """
        return self._events.get(item, 0) + self._redrafts

    def check_item(self, item: str) -> None:
        if item not in self._sizes:
            raise UnknownItemError(
                f"there is no sentence {item[:60]!r} in this session; /v1/label/session lists those there are"
            )

    def check_mention(self, item: str, mention: Mention) -> None:
        size = self._sizes[item][1]
        if mention.end > size:
            raise InputError(
                f"the mention {mention.start}:{mention.end} reaches beyond the {size} tokens of the sentence"
            )
        if mention.label not in self.labels:
            raise InputError(
                f"the label {mention.label[:60]!r} is not one of this session ({', '.join(self.labels)}); add it first"
            )

    @property
    def sentences(self) -> int:
        """The number of sentences in the texts; near duplicates may be missing from the queue."""
        return len(self._sizes)

    def progress(self) -> dict[str, int]:
        """Progress counts; words and mentions are those of sentences that are done or partial."""
        states = [(self._sizes[item][1], self.state(item)) for item in self.order]
        finished = [(size, state) for size, state in states if state.status in (DONE, PARTIAL)]
        counts = {status: sum(state.status == status for _, state in states) for status in (DONE, PARTIAL, SKIPPED)}
        return {
            "items": len(self.order),
            **counts,
            "words": sum(size for size, _ in finished),
            "mentions": sum(len(state.mentions) for _, state in finished),
        }

    def draft_agreement(self) -> dict[str, Any]:
        """How many mentions that a model drafted were right, wrong and missing, by the decisions about them."""
        decided = Counter(how for item in self._states for how in self.state(item).decided.values())
        right, wrong, missing = (decided[how] for how in (ACCEPTED, REJECTED, ADDED))
        total = 2 * right + wrong + missing
        return {"accepted": right, "rejected": wrong, "added": missing, "f1": 2 * right / total if total else None}

    def queue(self) -> list[dict[str, Any]]:
        return [{"id": item, "status": self.state(item).status, "words": self._sizes[item][1]} for item in self.order]

    @property
    def touched(self) -> list[str]:
        """Sentences with at least one decision."""
        return [item for item in self._states if self.state(item).is_touched]

    @property
    def finished(self) -> int:
        """The number of sentences that are done or partial."""
        with self.lock:
            return sum(self.state(item).status in (DONE, PARTIAL) for item in self._states)

    # -- changes: each is on disk when the method returns ------------------------------------------------------------

    def decide(self, item: str, decision: Decision, revision: int | None = None) -> ItemState:
        """Record a decision, unless the sentence has changed since the given revision."""
        with self.lock:
            self.check_item(item)
            if revision is not None and revision != self.revision(item):
                raise StaleRevisionError(
                    f"sentence {item} has changed since it was shown (revision {revision}, now {self.revision(item)}); look at it "
                    "again, then decide"
                )
            for mention in filter(None, (decision.mention, decision.to, *decision.shown)):
                self.check_mention(item, mention)
            decision = evolve(decision, annotator=self.annotator, time=_now())
            self._record({"event": "decision", "item": item} | decision.to_record())
            return self.state(item)

    def undo(self) -> str | None:
        """Undo the last decision, and return its sentence; None if there is none."""
        with self.lock:
            if not self._decided:
                return None
            item = self._decided[-1]
            self._record({"event": "undo", "item": item, "annotator": self.annotator, "time": _now()})
            return item

    def add_label(self, label: str) -> None:
        """Add a label, unless it exists."""
        with self.lock:
            if label not in self.labels:
                check_label(label)
                self._record({"event": "label", "label": label, "annotator": self.annotator, "time": _now()})

    def set_order(self, ranked: Iterable[str], count: int | None = None) -> None:
        """Append sentences to the queue, up to a maximum length."""
        with self.lock:
            order = extended(self.order, ranked, count)
            if order != self.order:
                self._record({"event": "queue", "items": order})

    def use_model(self, name: str) -> None:
        """Draft with another model from now on."""
        with self.lock:
            self.model = name
            self._redrafts += 1

    def reorder(self, items: Sequence[str]) -> None:
        """Reorder the open sentences of the queue, after the others; unlisted ones come last."""
        with self.lock:
            is_open = {item: self.state(item).status == OPEN for item in self.order}
            closed = [item for item in self.order if not is_open[item]]
            wanted = [item for item in items if is_open.get(item)]
            self._record({"event": "queue", "items": extended([*closed, *wanted], self.order, None)})

    def _record(self, event: Event) -> None:
        self.log.append(event)
        self._apply(event)

    def _apply(self, event: Event) -> None:
        match event["event"]:
            case "decision":
                item = event["item"]
                states = self._states.setdefault(item, [])
                states.append(self.state(item).after(Decision.of_record(event)))
                self._decided.append(item)
                self._touch(item)
            case "undo":
                item = event["item"]
                if not self._decided or self._decided.pop() != item:
                    raise ValueError(f"the last decision is not about sentence {item}")
                self._states[item].pop()
                self._touch(item)
            case "label":
                self.labels.append(event["label"])
                self._redrafts += 1
            case "queue":
                self.order = list(event["items"])
                for item in self.order:
                    self.check_item(item)
            case other:
                raise ValueError(f"an unknown event {other!r}")

    def _touch(self, item: str) -> None:
        self._events[item] = self._events.get(item, 0) + 1
        self.changed.add(self._sizes[item][0])


def open_log(output: Path) -> EventLog:
    """The log of an output, which no other process can open meanwhile: a new one, or that of its session."""
    log = EventLog(log_of(output))
    if not log.header and output.exists():
        log.close()
        raise OutputExistsError(f"{output} exists, and no labelling session has written it; choose another output")
    return log


def open_session(
    log: EventLog,
    texts: LabellingTexts,
    *,
    model: str,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    annotator: str = "",
) -> LabellingSession:
    """The session of a log: a new one, or the existing one, with missing labels added."""
    for label in labels:
        check_label(label)
    if CONTROL_CHARACTERS.search(annotator):
        raise InputError(f"the annotator {annotator[:60]!r} has characters that cannot be shown; leave them out")
    if not log.header:
        header = {"model": model, "annotator": annotator, "labels": list(labels), "tokenizer": tokenizer.name}
        prints = {"texts": texts.fingerprint, "tokens": texts.token_fingerprint}
        log.begin(header | prints | {"time": _now()})
    _check_same_texts(log, texts)
    session = LabellingSession(log, texts, model, annotator)
    for label in labels:
        session.add_label(label)
    return session


def log_of(output: Path) -> Path:
    return output.with_name(output.name + ".log")


def check_label(label: str) -> None:
    """Raise an error for an invalid label."""
    if not label.strip() or label != label.strip() or len(label) > MOST_CHARACTERS or label == "*":
        raise InputError(
            f"the label {label[:60]!r} cannot be used; it needs 1 to {MOST_CHARACTERS} characters, none of them a space at its ends, "
            "and * stands for all labels"
        )
    if CONTROL_CHARACTERS.search(label):
        raise InputError(f"the label {label[:60]!r} has characters that cannot be shown; leave them out")


def _check_same_texts(log: EventLog, texts: LabellingTexts) -> None:
    output = log.path.with_suffix("")
    if log.header["texts"] != texts.fingerprint:
        raise InputError(
            f"{output} was labelled on other texts than those given now; give the same files in the same order, or choose another "
            "output"
        )
    if log.header["tokens"] != texts.token_fingerprint:
        raise InputError(
            f"{output} was labelled on the same texts, but with other sentences or words; give the same files and --draft as then, "
            "or choose another output"
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
