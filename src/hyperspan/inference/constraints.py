"""Mentions that are known to be there, or not: the rest is decoded given that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import field, frozen

from hyperspan.errors import InputError, LabelError, SpanError
from hyperspan.types import Document, Mention, Sentence, mention_set


@frozen
class Constraints:
    """Mentions that a text or a sentence has, and has not: in characters of a text, in tokens of a sentence.

    >>> bool(Constraints()), bool(Constraints(require=[Mention(0, 3, "FAC")]))
    (False, True)
    """

    require: frozenset[Mention] = field(default=frozenset(), converter=mention_set)
    forbid: frozenset[Mention] = field(default=frozenset(), converter=mention_set)

    def __bool__(self) -> bool:
        return bool(self.require or self.forbid)


NO_CONSTRAINTS = Constraints()


def constraints_by_sentence(
    document: Document, constraints: Constraints, labels: Sequence[str], max_width: int | None = None
) -> dict[int, Constraints]:
    """The constraints of each sentence that has any, by its index, in tokens; those of the text are in characters.

    >>> words = Document("the zoo of Oz", sentences=[Sentence(["the", "zoo"], offsets=[(0, 3), (4, 7)])])
    >>> constraints_by_sentence(words, Constraints(require=[Mention(0, 7, "FAC")]), ["FAC"])
    {0: Constraints(require=frozenset({Mention(0, 2, 'FAC')}), forbid=frozenset())}
    """
    for mention in sorted(constraints.require & constraints.forbid):
        raise InputError(
            f"the mention {mention.label!r} at {mention.start}:{mention.end} is both required and forbidden; choose one"
        )
    places = _TokenPlaces(document, labels)
    require = [places.of(mention, "require", max_width) for mention in sorted(constraints.require)]
    forbid = [places.of(mention, "forbid", None) for mention in sorted(constraints.forbid)]
    return {
        index: Constraints(*([mention for place, mention in group if place == index] for group in (require, forbid)))
        for index in {place for place, _ in (*require, *forbid)}
    }


class _TokenPlaces:
    """Where the tokens of a document begin and end, as (sentence, token)."""

    def __init__(self, document: Document, labels: Sequence[str]):
        self.document, self.labels = document, labels
        parts = list(enumerate(document.sentences))
        self.starts = {start: (s, i) for s, part in parts for i, (start, _) in enumerate(part.offsets)}
        self.ends = {end: (s, i + 1) for s, part in parts for i, (_, end) in enumerate(part.offsets)}

    def of(self, mention: Mention, what: str, max_width: int | None) -> tuple[int, Mention]:
        """The sentence of a mention, and the mention in its tokens; or an error that says why there is none."""
        shown = f"the mention {mention.label!r} at {mention.start}:{mention.end} to {what}"
        self._check(mention, shown)
        first, last = self.starts.get(mention.start), self.ends.get(mention.end)
        if first is None or last is None:
            raise SpanError(f"{shown} does not begin and end with words; {_nearest(mention, self.document)}")
        if first[0] != last[0]:
            raise SpanError(
                f"{shown} begins in one sentence and ends in another, and mentions lie inside sentences; choose a shorter one"
            )
        if max_width is not None and last[1] - first[1] > max_width:
            raise SpanError(
                f"{shown} has {last[1] - first[1]} words, and this model finds mentions of up to {max_width}; choose a shorter one"
            )
        return first[0], Mention(first[1], last[1], mention.label)

    def _check(self, mention: Mention, shown: str) -> None:
        if mention.label not in self.labels:
            raise LabelError(
                f"{shown} has a label that is not among those of the model; it knows {', '.join(self.labels)}"
            )
        if mention.fragments:
            raise SpanError(f"{shown} is discontinuous, and the model finds contiguous mentions; give one span")
        if mention.end > len(self.document.text):
            raise SpanError(f"{shown} reaches beyond the text, which has {len(self.document.text)} characters")


def _nearest(mention: Mention, document: Document) -> str:
    """The remedy for a span that cuts words: the same with whole words."""
    touched = [span for part in document.sentences for span in _inside(part, mention)]
    if not touched:
        return "there are only spaces; give a span with words"
    return f"whole words there are at {touched[0][0]}:{touched[-1][1]}"


def _inside(sentence: Sentence, mention: Mention) -> Iterable[tuple[int, int]]:
    return [(start, end) for start, end in sentence.offsets if start < mention.end and end > mention.start]
