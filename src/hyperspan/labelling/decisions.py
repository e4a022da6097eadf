"""The decisions of an annotator about a sentence, and the state that results from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from attrs import evolve, field, frozen

from hyperspan.errors import InputError
from hyperspan.types import MENTION_ORDER, Mention

Action = Literal["accept", "reject", "add", "change", "clear", "complete", "sure", "skip", "note", "reopen"]
ACTIONS: tuple[Action, ...] = get_args(Action)
WITH_MENTION = ("accept", "reject", "add", "change", "clear")
"""The actions on one mention."""
ACCEPTED, REJECTED, ADDED = "accepted", "rejected", "added"
OPEN, PARTIAL, DONE, SKIPPED = "open", "partial", "done", "skipped"
_STATUS = {"complete": DONE, "sure": PARTIAL, "skip": SKIPPED}
"""The status of a sentence after an action; after the other actions on mentions it is open."""


def mention_row(mention: Mention) -> list[Any]:
    """A mention as written to the log.

    >>> mention_row(Mention(0, 2, "DNA"))
    [0, 2, 'DNA']
    >>> mention_row(Mention(0, 4, "DNA", ((0, 1), (3, 4))))
    [0, 4, 'DNA', [[0, 1], [3, 4]]]
    """
    row = [mention.start, mention.end, mention.label]
    return [*row, [list(span) for span in mention.fragments]] if mention.fragments else row


@frozen
class Decision:
    """One decision about a sentence, with mentions in its tokens."""

    action: Action
    mention: Mention | None = None
    to: Mention | None = None
    """The new value of a changed mention."""
    note: str = ""
    annotator: str = ""
    time: str = ""
    shown: frozenset[Mention] = frozenset()
    """For a complete sentence: its mentions as shown."""
    labels: tuple[str, ...] = ()
    """For a complete sentence: the labels that existed."""

    def __attrs_post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise InputError(f"the action {self.action!r:.60} is not known; choose one of {', '.join(ACTIONS)}")
        if (self.action in WITH_MENTION) != (self.mention is not None):
            raise InputError(f"the action {self.action} {'needs a' if self.mention is None else 'takes no'} mention")
        if (self.action == "change") != (self.to is not None):
            raise InputError(
                f"the action {self.action} {'needs' if self.to is None else 'takes no'} `to`, a changed mention"
            )
        if self.action == "change" and self.to == self.mention:
            raise InputError("the mention is changed to what it is; give another label or span, or accept it")

    def to_record(self) -> dict[str, Any]:
        record: dict[str, Any] = {"action": self.action}
        for name, mention in (("mention", self.mention), ("to", self.to)):
            if mention is not None:
                record[name] = mention_row(mention)
        if self.action == "note":
            record["note"] = self.note
        if self.action == "complete":
            shown = [mention_row(mention) for mention in sorted(self.shown, key=MENTION_ORDER)]
            record |= {"shown": shown, "labels": list(self.labels)}
        return record | {"annotator": self.annotator, "time": self.time}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Decision:
        return cls(
            record["action"],
            Mention(*record["mention"]) if "mention" in record else None,
            Mention(*record["to"]) if "to" in record else None,
            record.get("note", ""),
            record["annotator"],
            record["time"],
            frozenset(Mention(*row) for row in record.get("shown", ())),
            tuple(record.get("labels", ())),
        )


@frozen
class ItemState:
    """Everything known about a sentence.

    >>> zoo = Mention(0, 3, "FAC")
    >>> state = ItemState().after(Decision("reject", zoo)).after(Decision("complete", shown=frozenset()))
    >>> state.status, state.mentions, state.rejected == {zoo}
    ('done', frozenset(), True)
    """

    decided: Mapping[Mention, str] = field(factory=dict)
    """Mentions by decision: accepted, rejected or added."""
    status: str = OPEN
    labels: frozenset[str] = frozenset()
    """For a complete sentence: the labels whose mentions are all listed."""
    note: str = ""
    history: tuple[Decision, ...] = ()

    @property
    def mentions(self) -> frozenset[Mention]:
        """The mentions that are certain."""
        return frozenset(mention for mention, state in self.decided.items() if state != REJECTED)

    @property
    def rejected(self) -> frozenset[Mention]:
        return frozenset(mention for mention, state in self.decided.items() if state == REJECTED)

    @property
    def is_touched(self) -> bool:
        """Whether there is anything to keep."""
        return bool(self.decided or self.note) or self.status != OPEN

    def after(self, decision: Decision) -> ItemState:
        """The state after a decision."""
        decided, action = dict(self.decided), decision.action
        if decision.mention is not None:
            _decide(decided, action, decision.mention, decision.to)
        if action == "complete":
            decided = {**dict.fromkeys(decision.shown, ACCEPTED), **decided}
        status = self.status if action == "note" else _STATUS.get(action, OPEN)
        return evolve(
            self,
            decided=decided,
            status=status,
            labels=self.labels if action == "note" else frozenset(decision.labels),
            note=decision.note if action == "note" else self.note,
            history=(*self.history, decision),
        )


def _decide(decided: dict[Mention, str], action: str, mention: Mention, to: Mention | None) -> None:
    """Record one decision about a mention. A mention that the annotator added and then changes is forgotten."""
    before = decided.pop(mention, None)
    if action == "accept":
        decided[mention] = ADDED if before == ADDED else ACCEPTED
    elif action == "add":
        decided[mention] = ACCEPTED if before == ACCEPTED else ADDED
    elif action == "reject" or (action == "change" and before != ADDED):
        decided[mention] = REJECTED
    if to is not None and decided.get(to) != ACCEPTED:
        decided[to] = ADDED
