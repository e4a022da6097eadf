"""Mentions that somebody already knows of a text: they are there, or they are not, and the rest is decoded given that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hyperspan.errors import InputError, LabelError, SpanError
from hyperspan.types import Document, Mention, Sentence


@dataclass(frozen=True)
class Constraints:
    """What is known of a sentence, as its structure takes it: (start, end, type) in tokens, types as indices."""

    require: frozenset[tuple[int, int, int]] = frozenset()
    forbid: frozenset[tuple[int, int, int]] = frozenset()


def constraints_of(
    document: Document,
    require: Iterable[Mention],
    forbid: Iterable[Mention],
    labels: Sequence[str],
    max_width: int | None = None,
) -> dict[int, Constraints]:
    """For each sentence of which something is known, by its index, what that is; mentions come in characters of the text.

    >>> words = Document("the zoo of Oz", sentences=[Sentence(["the", "zoo"], offsets=[(0, 3), (4, 7)])])
    >>> constraints_of(words, [Mention(0, 7, "FAC")], [], ["FAC"])
    {0: Constraints(require=frozenset({(0, 2, 0)}), forbid=frozenset())}
    """
    starts = {start: (s, i) for s, part in enumerate(document.sentences) for i, (start, _) in enumerate(part.offsets)}
    ends = {end: (s, i + 1) for s, part in enumerate(document.sentences) for i, (_, end) in enumerate(part.offsets)}
    known: dict[int, tuple[set[tuple[int, int, int]], set[tuple[int, int, int]]]] = {}
    for which, mentions in enumerate((require, forbid)):
        for mention in mentions:
            shown = f"the mention {mention.label!r} at {mention.start}:{mention.end} to {('require', 'forbid')[which]}"
            _check(mention, shown, document, labels)
            first, last = starts.get(mention.start), ends.get(mention.end)
            if first is None or last is None:
                raise SpanError(f"{shown} does not begin and end with words; {_nearest(mention, document)}")
            if first[0] != last[0]:
                raise SpanError(
                    f"{shown} begins in one sentence and ends in another, and mentions lie inside sentences; choose a shorter one"
                )
            if which == 0 and max_width is not None and last[1] - first[1] > max_width:
                raise SpanError(
                    f"{shown} has {last[1] - first[1]} words, and this model finds mentions of up to {max_width}; choose a shorter one"
                )
            here = known.setdefault(first[0], (set(), set()))
            here[which].add((first[1], last[1], labels.index(mention.label)))
    for sentence, (wanted, unwanted) in known.items():
        for start, end, kind in sorted(wanted & unwanted):
            offsets = document.sentences[sentence].offsets
            raise InputError(
                f"the mention {labels[kind]!r} at {offsets[start][0]}:{offsets[end - 1][1]} is both required and forbidden; choose one"
            )
    return {sentence: Constraints(frozenset(wanted), frozenset(not_)) for sentence, (wanted, not_) in known.items()}


def _check(mention: Mention, shown: str, document: Document, labels: Sequence[str]) -> None:
    if mention.label not in labels:
        raise LabelError(f"{shown} has a label that is not among those of the model; it knows {', '.join(labels)}")
    if mention.fragments:
        raise SpanError(f"{shown} is in several pieces, which the model does not find; give it as one piece")
    if mention.end > len(document.text):
        raise SpanError(f"{shown} reaches beyond the text, which has {len(document.text)} characters")


def _nearest(mention: Mention, document: Document) -> str:
    """The remedy for a span that cuts words: the same with whole words."""
    touched = [span for part in document.sentences for span in _inside(part, mention)]
    if not touched:
        return "there are only spaces; give a span with words"
    return f"whole words there are at {touched[0][0]}:{touched[-1][1]}"


def _inside(sentence: Sentence, mention: Mention) -> list[tuple[int, int]]:
    return [(start, end) for start, end in sentence.offsets if start < mention.end and end > mention.start]
