"""Open a labelling session: read texts, order their sentences, and resume an existing session."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from attrs import frozen

from hyperspan.corpora.source import Problems
from hyperspan.labelling.desk import LabellingDesk
from hyperspan.labelling.drafts import Drafter
from hyperspan.labelling.log import peek_header
from hyperspan.labelling.order import check_order, ranked
from hyperspan.labelling.queue import LabellingTexts
from hyperspan.labelling.rounds import RoundSettings
from hyperspan.labelling.session import LabellingSession, log_of, open_session
from hyperspan.labelling.snapshot import Snapshot
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.loading import load
from hyperspan.text.tokens import Tokenizer
from hyperspan.types import Document


@frozen
class LabellingSettings:
    """The settings of a session."""

    output: Path
    annotator: str = ""
    by: str | None = None
    """A criterion, or "order" for text order; None for mix, and for the order of files that `hyperspan suggest` ranked.
    """
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
) -> LabellingDesk:
    """Open the desk for a model and texts: a new session, or the existing session of the output."""
    problems = problems if problems is not None else Problems()
    check_order(settings.by)
    if settings.rounds is not None:
        settings.rounds.check()
    annotator = load(name, device)
    tokenizer = _tokenizer(settings.output, annotator)
    texts = LabellingTexts.read(given, tokenizer, problems, keep_mentions=settings.offers_given)
    labels = settings.labels or _labels(annotator, texts if settings.offers_given else None)
    session = open_session(
        settings.output, texts, model=name, tokenizer=tokenizer, labels=labels, annotator=settings.annotator
    )
    wanted = settings.count
    if wanted is None or len(session.order) < wanted:
        session.set_order(ranked(session, annotator, settings.by, wanted, on_words), wanted)
    if (newest := _newest_round(session, name, settings.rounds)) is not None:
        name, annotator = str(newest), load(newest, device)
        session.use_model(name, session.round)
    else:
        session.use_model(name)
    snapshot = Snapshot(session, settings.output, lambda error: print(f"hyperspan: {error}", file=sys.stderr))
    drafter = Drafter(name, annotator, settings.offers_given)
    return LabellingDesk(session, drafter, snapshot, settings.rounds, settings.by)


def _newest_round(session: LabellingSession, name: str, rounds: RoundSettings | None) -> Path | None:
    """The model that drafted last, if it was trained here and the same initial model is requested."""
    if rounds is None or not session.is_own_model or name != session.log.header["model"]:
        return None
    folder = rounds.model(session.round)
    return folder if (folder / "config.toml").is_file() else None


def _tokenizer(output: Path, annotator: Annotator) -> Tokenizer:
    """The tokenizer of an existing session, so that its tokens stay the same; otherwise the model's."""
    header = peek_header(log_of(output))
    return Tokenizer(str(header["tokenizer"])) if header is not None else annotator.model.tokenizer


def _labels(annotator: Annotator, texts: LabellingTexts | None) -> list[str]:
    given = {mention.label for item in texts.items(0) for mention in item.given} if texts is not None else set()
    return [*annotator.labels, *sorted(given - set(annotator.labels))]
