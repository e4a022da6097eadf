"""Requests and responses for labelling, for validation and OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from hyperspan.labelling.decisions import Action
from hyperspan.serve.schema import ASKED_FRAGMENTS, FRAGMENTS, GivenFragments, Place, StrictBody

MOST_NOTE = 10_000
"""The maximum number of characters of a note."""
TOKEN_START: Any = Field(description="The index of the first token.")
TOKEN_END: Any = Field(description="The index after the last token.")
STATUS: Any = Field(
    description="`open`: not finished. `partial`: only accepted mentions are sure. `done`: complete. `skipped`: left out."
)


class TokenMention(StrictBody):
    """A mention, in tokens of its sentence."""

    start: Place = TOKEN_START
    end: Place = TOKEN_END
    label: Annotated[str, Field(min_length=1, max_length=100)] = Field(description="Its label.")
    fragments: GivenFragments = ASKED_FRAGMENTS


class DecisionRequest(StrictBody):
    """A decision about a sentence."""

    revision: Place = Field(
        description="The revision of the sentence that the annotator saw. If it is not the current one, the answer is 409."
    )
    action: Action = Field(
        description="About one mention: `accept`, `reject`, `add`, `change` (to another label or span), `clear` (withdraw "
        "the decision). About the sentence: `complete` (all mentions shown are right, and no other is missing), `sure` (only "
        "accepted mentions are sure), `skip`, `reopen`, `note`."
    )
    mention: TokenMention | None = Field(default=None, description="The mention, for actions about one.")
    to: TokenMention | None = Field(default=None, description="What `change` makes of the mention.")
    note: Annotated[str, Field(max_length=MOST_NOTE)] | None = Field(
        default=None, description="The text of a note about the sentence."
    )


class UndoRequest(StrictBody):
    """An empty object."""


class LabelRequest(StrictBody):
    """A new label."""

    label: Annotated[str, Field(min_length=1, max_length=100)] = Field(description="Its name.")


class QueueEntry(BaseModel):
    """A sentence of the queue."""

    id: str = Field(description="The id of the sentence, for `/v1/label/items/{item}`.")
    status: Literal["open", "partial", "done", "skipped"] = STATUS
    words: int = Field(description="The number of its words.")


class ProgressRecord(BaseModel):
    """Counts of sentences, words and mentions."""

    items: int = Field(description="Sentences in the queue.")
    done: int = Field(description="Sentences that are complete.")
    partial: int = Field(description="Sentences in which only accepted mentions are sure.")
    skipped: int = Field(description="Sentences that were skipped.")
    words: int = Field(description="Words in sentences that are done or partial.")
    mentions: int = Field(description="Mentions in sentences that are done or partial.")


class DraftRecord(BaseModel):
    """How good the drafts were: mentions that the model proposed before the first decision about a sentence."""

    accepted: int = Field(description="Drafted mentions that were accepted.")
    rejected: int = Field(description="Drafted mentions that were rejected.")
    added: int = Field(description="Mentions that were missing in the drafts.")
    f1: float | None = Field(description="F1 of the drafts against the decisions. Null before the first decision.")


class TrainingRecord(BaseModel):
    """Training in the background."""

    state: Literal["waiting", "training", "failed"] = Field(description="What it does now.")
    decisions: int = Field(description="Sentences finished since the last round began.")
    message: str = Field(description="A sentence for people.")


class LabelSession(BaseModel):
    """A labelling session."""

    annotator: str = Field(description="The name of the annotator.")
    model: str = Field(description="The model that drafts.")
    round: int = Field(description="The round of training in the background; 0 before the first.")
    labels: list[str] = Field(description="The labels to choose from.")
    progress: ProgressRecord = Field(description="How much is labelled.")
    draft: DraftRecord = Field(description="How good the drafts were.")
    training: TrainingRecord | None = Field(description="Training in the background. Null: there is none.")


class LabelSessionResponse(LabelSession):
    """A labelling session with its queue."""

    queue: list[QueueEntry] = Field(description="The sentences, in the order to label them.")


class DocumentPlace(BaseModel):
    """A document."""

    id: str = Field(description="Its id.")
    index: int = Field(description="Its number in the input, counted from 0.")


class CandidateRecord(BaseModel):
    """A mention that may be there, in tokens."""

    start: int = TOKEN_START
    end: int = TOKEN_END
    label: str = Field(description="Its label.")
    probability: float | None = Field(
        description="Its probability given the decisions so far. Null for a mention that was decided."
    )
    fragments: list[tuple[int, int]] | None = FRAGMENTS


class DecidedMention(CandidateRecord):
    """A mention that is shown, in tokens."""

    state: Literal["draft", "accepted", "rejected", "added"] = Field(description="The decision about it.")


class HistoryEntry(BaseModel):
    """An earlier decision about a sentence."""

    action: Action = Field(description="What was decided.")
    annotator: str = Field(description="Who decided.")
    time: str = Field(description="When.")


class LabelItem(BaseModel):
    """A sentence to label. Mentions count tokens; tokens count code points of the sentence's text."""

    id: str = Field(description="Its id.")
    document: DocumentPlace = Field(description="The document it is from.")
    sentence: int = Field(description="Its number in the document, counted from 0.")
    text: str = Field(description="Its text.")
    tokens: list[tuple[int, int]] = Field(description="Its tokens, as `[start, end]` in its text.")
    before: str = Field(description="The text before it, for context.")
    after: str = Field(description="The text after it, for context.")
    revision: int = Field(description="Grows with every decision about the sentence.")
    status: Literal["open", "partial", "done", "skipped"] = STATUS
    note: str = Field(description="The annotator's note.")
    mentions: list[DecidedMention] = Field(description="The mentions shown.")
    candidates: list[CandidateRecord] = Field(description="Further mentions that may be there.")
    history: list[HistoryEntry] = Field(description="Earlier decisions.")


class DecisionResponse(BaseModel):
    """What a decision changed."""

    item: LabelItem = Field(description="The sentence after the decision.")
    session: LabelSession = Field(description="The session after the decision.")


class ConflictResponse(BaseModel):
    """A decision about a sentence that changed in the meantime."""

    error: dict[str, str] = Field(description="`code` and `message`.")
    item: LabelItem = Field(description="The current state of the sentence.")
