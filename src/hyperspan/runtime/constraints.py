"""Required and forbidden mentions, on which decoding is conditioned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, field, frozen

from hyperspan.config import DiscontinuousConfig
from hyperspan.corpora.documents import joined
from hyperspan.errors import InputError, LabelError, SpanError
from hyperspan.structures.mentions import CONTIGUOUS_ALONE, too_large
from hyperspan.types import Document, Mention, Sentence, Span, mention_set


@frozen
class Constraints:
    """Mentions that must be found (`require`) and must not be found (`forbid`).

    Positions are characters for a text and tokens for a sentence. :meth:`hyperspan.Annotator.pipe` takes pairs of a
    text and its constraints:

    >>> from hyperspan import Mention, load
    >>> from hyperspan.runtime.constraints import Constraints
    >>> text, known = "The IL-2 promoter.", Constraints(forbid=[Mention(4, 8, "protein")])
    >>> [document] = load("genia").pipe([(text, known)])
    >>> [mention.text for mention in document.mentions]
    ['IL-2 promoter']

    Constraints are true if there are any:

    >>> bool(Constraints()), bool(Constraints(require=[Mention(0, 3, "FAC")]))
    (False, True)
    """

    require: frozenset[Mention] = field(default=frozenset(), converter=mention_set)
    """Mentions that must be found."""
    forbid: frozenset[Mention] = field(default=frozenset(), converter=mention_set)
    """Mentions that must not be found."""

    def __bool__(self) -> bool:
        return bool(self.require or self.forbid)


NO_CONSTRAINTS = Constraints()


def constraints_by_sentence(
    document: Document,
    constraints: Constraints,
    labels: Sequence[str],
    max_width: int | None = None,
    discontinuous: DiscontinuousConfig | None = None,
) -> dict[int, Constraints]:
    """Convert the constraints of a document, in characters, to constraints of its sentences, in tokens, by index.

    `max_width` is the maximal width of a contiguous mention that the model finds, `discontinuous` the limits of
    discontinuous ones.

    >>> words = Document("the zoo of Oz", sentences=[Sentence(["the", "zoo"], offsets=[(0, 3), (4, 7)])])
    >>> constraints_by_sentence(words, Constraints(require=[Mention(0, 7, "FAC")]), ["FAC"])
    {0: Constraints(require=frozenset({Mention(0, 2, 'FAC')}), forbid=frozenset())}
    """
    for mention in sorted(constraints.require & constraints.forbid):
        raise InputError(
            f"the mention {mention.label!r} at {_place(mention)} is both required and forbidden; choose one"
        )
    places = _TokenPlaces(document, labels, max_width, discontinuous)
    require = [places.of(mention, "require") for mention in sorted(constraints.require)]
    forbid = [places.of(mention, "forbid") for mention in sorted(constraints.forbid)]
    return {
        index: Constraints(*([mention for place, mention in group if place == index] for group in (require, forbid)))
        for index in {place for place, _ in (*require, *forbid)}
    }


def constraints_on(constraints: Mapping[int, Constraints], reported_as: Mapping[str, str]) -> dict[int, Constraints]:
    """The constraints of sentences, on reported labels, as constraints on the labels of the model.

    >>> constraints_on({0: Constraints([Mention(0, 1, "person")])}, {"person-name": "person"})
    {0: Constraints(require=frozenset({Mention(0, 1, 'person-name')}), forbid=frozenset())}
    """
    own = {reported: label for label, reported in reported_as.items()}

    def renamed(mentions: Iterable[Mention]) -> list[Mention]:
        return [evolve(mention, label=own.get(mention.label, mention.label)) for mention in mentions]

    return {index: Constraints(renamed(one.require), renamed(one.forbid)) for index, one in constraints.items()}


class _TokenPlaces:
    """The starts and ends of the tokens of a document, as (sentence, token)."""

    def __init__(
        self,
        document: Document,
        labels: Sequence[str],
        max_width: int | None,
        discontinuous: DiscontinuousConfig | None,
    ):
        self.document, self.labels = document, labels
        self.max_width, self.discontinuous = max_width, discontinuous
        numbered = list(enumerate(document.sentences))
        self.starts = {start: (s, i) for s, sentence in numbered for i, (start, _) in enumerate(sentence.offsets)}
        self.ends = {end: (s, i + 1) for s, sentence in numbered for i, (_, end) in enumerate(sentence.offsets)}

    def of(self, mention: Mention, what: str) -> tuple[int, Mention]:
        """Return the sentence of a mention and the mention in tokens; raise an error if it has none."""
        shown = f"the mention {mention.label!r} at {_place(mention)} to {what}"
        self._check(mention, shown)
        ends = [self._tokens(part, mention, shown) for part in mention.parts]
        if len({sentence for part in ends for sentence, _ in part}) > 1:
            raise SpanError(
                f"{shown} begins in one sentence and ends in another, and mentions lie inside sentences; choose a shorter one"
            )
        parts = joined((first, last) for (_, first), (_, last) in ends)  # those with only spaces between them are one
        if what == "require" and (reason := too_large(parts, self.max_width, self.discontinuous)):
            raise SpanError(f"{shown} {reason}")
        return ends[0][0][0], Mention(parts[0][0], parts[-1][1], mention.label, tuple(parts))

    def _tokens(self, part: Span, mention: Mention, shown: str) -> tuple[Span, Span]:
        """Return the start and end of a part, as (sentence, token)."""
        first, last = self.starts.get(part[0]), self.ends.get(part[1])
        if first is not None and last is not None:
            return first, last
        where = f"does not begin and end with words in its part {part[0]}:{part[1]}" if mention.fragments else ""
        raise SpanError(f"{shown} {where or 'does not begin and end with words'}; {_nearest(part, self.document)}")

    def _check(self, mention: Mention, shown: str) -> None:
        if mention.label not in self.labels:
            raise LabelError(
                f"{shown} has a label that is not among those of the model; it knows {', '.join(self.labels)}"
            )
        if mention.fragments and self.discontinuous is None:
            raise SpanError(f"{shown} {CONTIGUOUS_ALONE}")
        if mention.end > len(self.document.text):
            raise SpanError(f"{shown} reaches beyond the text, which has {len(self.document.text)} characters")


def _place(mention: Mention) -> str:
    return ",".join(f"{start}:{end}" for start, end in mention.parts)


def _nearest(part: Span, document: Document) -> str:
    """Return the remedy for a span that cuts words: the span of the whole words."""
    touched = [span for sentence in document.sentences for span in _inside(sentence, part)]
    if not touched:
        return "there are only spaces; give a span with words"
    return f"whole words there are at {touched[0][0]}:{touched[-1][1]}"


def _inside(sentence: Sentence, part: Span) -> Iterable[Span]:
    return [(start, end) for start, end in sentence.offsets if start < part[1] and end > part[0]]
