"""Opens a labelling session: reads texts, puts sentences into order, and goes on with what is there already."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from attrs import frozen

from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.inference.annotator import Annotator
from hyperspan.labelling.desk import LabellingDesk
from hyperspan.labelling.drafts import Drafter
from hyperspan.labelling.log import peek_header
from hyperspan.labelling.queue import LabellingTexts
from hyperspan.labelling.session import LabellingSession, log_of, open_session
from hyperspan.labelling.snapshot import Snapshot
from hyperspan.labelling.suggestions import rank
from hyperspan.labelling.uncertainty import CRITERIA
from hyperspan.text.tokenize import Tokenizer
from hyperspan.types import Document

TEXT_ORDER = "order"
ORDERS = (*CRITERIA, TEXT_ORDER)
"""What `--by` takes."""


@frozen
class LabellingSettings:
    """How a session is set up."""

    output: Path
    annotator: str = ""
    by: str | None = None
    """A criterion, or "order" for that of the texts; None for mix, and for the order of what `hyperspan suggest` has ranked."""
    offers_given: bool = False
    """Whether the mentions that came with the texts are the draft."""
    labels: tuple[str, ...] = ()
    """The labels to annotate; empty for those of the model, and of the mentions that came with the texts."""
    count: int | None = None
    """How many sentences; None for all."""


def open_desk(
    name: str,
    annotator: Annotator,
    given: Iterable[str | Document],
    settings: LabellingSettings,
    problems: Problems | None = None,
    on_words: Callable[[int], None] | None = None,
) -> LabellingDesk:
    """The desk for a model and texts: a new session, or the one that has written to the output."""
    problems = problems if problems is not None else Problems()
    if settings.by is not None and settings.by not in ORDERS:
        raise InputError(f"--by {settings.by!r:.60} is not known; choose one of {', '.join(ORDERS)}")
    tokenizer = _tokenizer(settings.output, annotator)
    texts = LabellingTexts.read(given, tokenizer, problems, keep_mentions=settings.offers_given)
    labels = settings.labels or _labels(annotator, texts if settings.offers_given else None)
    session = open_session(
        settings.output, texts, model=name, tokenizer=tokenizer, labels=labels, annotator=settings.annotator
    )
    wanted = settings.count
    if wanted is None or len(session.order) < wanted:
        session.set_order(ranked(session, annotator, settings.by, wanted, on_words), wanted)
    session.use_model(name)
    snapshot = Snapshot(session, settings.output, lambda error: print(f"hyperspan: {error}", file=sys.stderr))
    return LabellingDesk(session, Drafter(name, annotator, settings.offers_given), snapshot)


def _tokenizer(output: Path, annotator: Annotator) -> Tokenizer:
    """That of the session that is there, so that its words stay what they are; otherwise the model's."""
    header = peek_header(log_of(output))
    return Tokenizer(*header["tokenizer"]) if header is not None else annotator.model.tokenizer


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
    """The sentences of a session in the order in which they are shown; by a criterion, without near duplicates."""
    documents = session.texts.documents
    if by is None:
        by = TEXT_ORDER if all({"source", "score"} <= one.metadata.keys() for one in documents) else "mix"
    if by == TEXT_ORDER:
        return (item.id for item in session.texts.items(0))
    found = rank(annotator, documents, by=by, count=count, on_words=on_words, on_error=lambda _, __: None)
    return (f"{one.document}.{one.sentence}" for one in found)
