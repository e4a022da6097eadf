"""The order in which the sentences of a session are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hyperspan.errors import InputError
from hyperspan.labelling.decisions import OPEN
from hyperspan.labelling.queue import span_of
from hyperspan.labelling.session import LabellingSession
from hyperspan.labelling.suggestions import rank
from hyperspan.labelling.uncertainty import CRITERIA
from hyperspan.runtime.annotator import Annotator
from hyperspan.types import Document, Sentence

TEXT_ORDER = "order"
ORDERS = (*CRITERIA, TEXT_ORDER)
"""The values of `--by`."""
BEST_FIRST = "mix"
"""The default."""


def check_order(by: str | None) -> None:
    if by is not None and by not in ORDERS:
        raise InputError(f"--by {by!r:.60} is not known; choose one of {', '.join(ORDERS)}")


def ranked(
    session: LabellingSession,
    annotator: Annotator,
    by: str | None,
    count: int | None = None,
    on_words: Callable[[int], None] | None = None,
) -> Iterator[str]:
    """Rank the sentences of a session; a criterion drops near duplicates.

    Without `by`, texts ranked by `hyperspan suggest` keep their order, and other texts are ranked. Documents with a
    sentence that is too long for the model cannot be ranked and come last.
    """
    documents = session.texts.documents
    if by is None:
        by = TEXT_ORDER if all({"source", "score"} <= one.metadata.keys() for one in documents) else BEST_FIRST
    if by == TEXT_ORDER:
        yield from (item.id for item in session.texts.items(0))
        return
    too_long: set[int] = set()
    for one in rank(
        annotator, documents, by=by, count=count, on_words=on_words, on_error=lambda given, _: too_long.add(id(given))
    ):
        yield f"{one.document}.{one.sentence}"
    yield from (item.id for item in session.texts.items(0) if id(documents[item.document]) in too_long)


def reranked(session: LabellingSession, annotator: Annotator, by: str | None) -> Iterator[str]:
    """The open sentences of the queue in the order of another model, without near duplicates of finished ones."""
    if by == TEXT_ORDER:
        return
    with session.lock:
        items = {item.id: item for item in session.texts.items(0)}
        queued = [items[name] for name in session.order if session.state(name).status == OPEN]
        labelled = [items[name].words for name in session.touched if session.state(name).status != OPEN]
    documents = [_alone(session.texts.documents[item.document], item.words) for item in queued]
    found = rank(annotator, documents, by=by or BEST_FIRST, count=None, labelled=labelled, on_error=_pass_over)
    for one in found:
        yield queued[one.document].id


def _alone(document: Document, sentence: Sentence) -> Document:
    first, last = span_of(sentence)
    offsets = [(start - first, end - first) for start, end in sentence.offsets]
    return Document(
        document.text[first:last], sentences=[Sentence(sentence.tokens, tags=sentence.tags, offsets=offsets)]
    )


def _pass_over(document: Document, error: InputError) -> None:
    """Ignore a sentence that the model cannot process: it is not ranked."""
