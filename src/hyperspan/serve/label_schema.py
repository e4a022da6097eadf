"""What callers send and get when they label, for checking requests and for OpenAPI."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from hyperspan.labelling.decisions import Action
from hyperspan.serve.schema import ASKED_FRAGMENTS, FRAGMENTS, GivenFragments, Place, StrictBody

MOST_NOTE = 10_000
"""Characters of a note."""


class TokenMention(StrictBody):
    """A mention in tokens of its sentence."""

    start: Place
    end: Place
    label: Annotated[str, Field(min_length=1, max_length=100)]
    fragments: GivenFragments = ASKED_FRAGMENTS


class DecisionRequest(StrictBody):
    """A decision about a sentence."""

    revision: Place = Field(
        description="That of the sentence as it was shown; a decision about another one is refused."
    )
    action: Action = Field(
        description="About one `mention`: accept, reject, add, change (`to` another label or span), clear (no decision any more). "
        "About the sentence: complete (right as shown), sure (only what was accepted is), skip, reopen, note."
    )
    mention: TokenMention | None = None
    to: TokenMention | None = None
    note: Annotated[str, Field(max_length=MOST_NOTE)] | None = None


class UndoRequest(StrictBody):
    """Takes back the last decision that stands."""


class LabelRequest(StrictBody):
    """A new label."""

    label: Annotated[str, Field(min_length=1, max_length=100)]


class QueueEntry(BaseModel):
    id: str
    status: Literal["open", "partial", "done", "skipped"]
    words: int


class ProgressRecord(BaseModel):
    items: int
    done: int
    partial: int
    skipped: int
    words: int = Field(description="In sentences that are done or partial.")
    mentions: int = Field(description="The same.")


class DraftRecord(BaseModel):
    """What became of the mentions that the model drafted before the first decision about a sentence."""

    accepted: int
    rejected: int
    added: int = Field(description="Mentions that it had not drafted.")
    f1: float | None = Field(description="Of the drafts against what was decided; null before that.")


class TrainingRecord(BaseModel):
    state: Literal["waiting", "training", "failed"]
    decisions: int = Field(description="Sentences that were finished since the last round began.")
    message: str


class LabelSession(BaseModel):
    annotator: str
    model: str
    round: int = Field(description="Of training in the background; 0 before the first.")
    labels: list[str]
    progress: ProgressRecord
    draft: DraftRecord
    training: TrainingRecord | None


class LabelSessionResponse(LabelSession):
    queue: list[QueueEntry]


class DocumentPlace(BaseModel):
    id: str
    index: int


class CandidateRecord(BaseModel):
    start: int
    end: int
    label: str
    probability: float | None = Field(description="Given all that was decided; null for what was decided.")
    fragments: list[tuple[int, int]] | None = FRAGMENTS


class DecidedMention(CandidateRecord):
    state: Literal["draft", "accepted", "rejected", "added"]


class HistoryEntry(BaseModel):
    action: Action
    annotator: str
    time: str


class LabelItem(BaseModel):
    """A sentence: spans of tokens in code points of its text, mentions in tokens."""

    id: str
    document: DocumentPlace
    sentence: int
    text: str
    tokens: list[tuple[int, int]]
    before: str
    after: str
    revision: int
    status: Literal["open", "partial", "done", "skipped"]
    note: str
    mentions: list[DecidedMention]
    candidates: list[CandidateRecord]
    history: list[HistoryEntry]


class DecisionResponse(BaseModel):
    item: LabelItem
    session: LabelSession


class ConflictResponse(BaseModel):
    error: dict[str, str]
    item: LabelItem = Field(description="The sentence as it is now.")
