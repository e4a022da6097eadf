"""The output of a labelling session: a corpus in hyperspan's JSON Lines, rewritten soon after each decision.

A complete sentence is annotated with the labels that existed then. In other sentences, only accepted and added mentions
are certain, and rejected ones are forbidden. Documents without decisions are left out.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import evolve

from hyperspan.corpora.documents import by_characters
from hyperspan.corpora.json_records import without_mention_metadata
from hyperspan.corpora.jsonl import document_line
from hyperspan.errors import InputError
from hyperspan.files import Target
from hyperspan.labelling.decisions import DONE, ItemState
from hyperspan.labelling.session import NEW_ITEM, LabellingSession
from hyperspan.labelling.texts import unlabelled
from hyperspan.types import NOTHING_ANNOTATED, AnnotationScope, Document, Sentence

SHARE = 0.1
"""The maximum share of time spent on writing snapshots."""
KEY = "labelling"
"""The metadata key of a document for who decided what about its sentences, and when."""


def labelled_sentence(sentence: Sentence, state: ItemState) -> Sentence:
    """A sentence with the annotations decided so far.

    >>> labelled_sentence(Sentence(["Ada", "left"]), ItemState()).annotated
    AnnotationScope(types=frozenset(), regions=None)
    """
    blank = unlabelled(sentence)
    if state.status == DONE:
        return evolve(blank, mentions=state.mentions, annotated=AnnotationScope(state.labels))
    return evolve(blank, mentions=state.mentions, annotated=NOTHING_ANNOTATED, forbidden=state.rejected)


def labelled_document(
    session: LabellingSession, index: int, kept: Callable[[str], bool] = lambda _: True
) -> Document | None:
    """A document with the annotations of its sentences, or of those that are `kept`; None if there are none."""
    document = session.texts.documents[index]
    names = [f"{index}.{place}" for place in range(len(document.sentences))]
    states = [session.state(name) if kept(name) else NEW_ITEM for name in names]
    if not any(state.is_touched for state in states):
        return None
    sentences = [labelled_sentence(words, state) for words, state in zip(document.sentences, states, strict=True)]
    mentions = [by_characters(mention, words.offsets) for words in sentences for mention in words.mentions]
    about = {str(place): _about(state) for place, state in enumerate(states) if state.is_touched}
    metadata = without_mention_metadata(document.metadata) | {KEY: {"model": session.model, "sentences": about}}
    return Document(document.text, mentions, sentences, document.id, metadata, annotated=NOTHING_ANNOTATED)


def _about(state: ItemState) -> dict[str, Any]:
    last = state.history[-1]
    found = {"status": state.status, "annotator": last.annotator, "time": last.time, "note": state.note}
    return {key: value for key, value in found.items() if value}


class Snapshot:
    """Write the output in a separate thread on request, and at the end."""

    def __init__(self, session: LabellingSession, path: Path, on_error: Callable[[Exception], None]):
        self.session, self.path, self._on_error = session, path, on_error
        self._lines: dict[int, bytes] = {}
        self._wanted, self._closing = threading.Event(), threading.Event()
        self._writing = threading.Lock()
        session.changed.update(range(len(session.texts.documents)))
        self._thread = threading.Thread(target=self._work, name="hyperspan-snapshot", daemon=True)
        self._thread.start()

    def request(self) -> None:
        """Request a write soon, without waiting, since the log has everything."""
        self._wanted.set()

    def write(self) -> None:
        """Write the current state of the session now."""
        with self._writing:
            with self.session.lock:
                changed = sorted(self.session.changed)
                documents = {index: labelled_document(self.session, index) for index in changed}
                self.session.changed.clear()
            self._lines.update((index, self._line(index, document)) for index, document in documents.items())
            with Target(str(self.path), force=True).open_binary() as file:
                file.writelines(self._lines[index] for index in sorted(self._lines))

    def _line(self, index: int, document: Document | None) -> bytes:
        """The line of a document; if it cannot be written, its previous line, so that the others are written."""
        try:
            return b"" if document is None else document_line(document)
        except InputError as error:
            self._on_error(error)
            return self._lines.get(index, b"")

    def close(self) -> None:
        """Write pending changes, and stop."""
        self._closing.set()
        self._wanted.set()
        self._thread.join()
        self.write()

    def _work(self) -> None:
        while True:
            self._wanted.wait()
            if self._closing.is_set():
                return
            self._wanted.clear()
            start = time.monotonic()
            try:
                self.write()
            except (OSError, InputError) as error:
                self._on_error(error)
            self._closing.wait((time.monotonic() - start) * (1 / SHARE - 1))
