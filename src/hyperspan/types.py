"""What hyperspan reads and returns: mentions, sentences, documents.

Spans are half-open, ``[start, end)``: in tokens inside a :class:`Sentence`, in characters (Unicode code points)
inside a :class:`Document`. Mentions may overlap in every way; the same span with the same label occurs once.

Annotation may be partial. A mention that is listed is sure. A span and label that are not listed are *absent* if the
:class:`AnnotationScope` covers them or they are forbidden, and *unknown* otherwise.

Values are frozen; :func:`attrs.evolve` copies one with some fields changed and checks it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from operator import attrgetter
from typing import Any, cast

from attrs import Converter, evolve, field, frozen
from attrs.converters import optional

from hyperspan.errors import InputError, SpanError, counted
from hyperspan.lazy import imported

Span = tuple[int, int]
SHOWN = 60
"""The characters of a text that its repr shows."""


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


def _fragments(values: Iterable[Span]) -> tuple[Span, ...]:
    return tuple([(start, end) for start, end in values]) if values else ()


@frozen(order=True, repr=False, weakref_slot=False)
class Mention:
    """A labelled span. Two mentions are the same if span, fragments and label are, whatever their probabilities.

    A discontinuous mention has several parts; its span is from the first to the last, and `fragments` are the parts.

    ``attrs.evolve(mention, start=0)`` keeps `text`, and a document refuses one that is wrong: evolve with ``text=""`` too.

    >>> Mention(0, 2, "PER") == Mention(0, 2, "PER", probability=0.9)
    True
    >>> Mention(0, 2, "PER").parts, Mention(0, 4, "cell", [(0, 1), (3, 4)]).parts
    (((0, 2),), ((0, 1), (3, 4)))
    """

    start: int
    end: int
    label: str
    fragments: tuple[Span, ...] = field(default=(), converter=_fragments)
    """The parts of a discontinuous mention, in order and apart; empty for a contiguous mention."""
    text: str = field(default="", eq=False)
    """The characters that a mention of a document covers, from `start` to `end`."""
    probability: float | None = field(default=None, eq=False)
    head: Span | None = field(default=None, eq=False)
    """The span of its head, where a corpus marks heads."""
    id: str = field(default="", eq=False)
    """Its identifier in the corpus."""

    def __attrs_post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise SpanError(
                f"mention {self.label!r} has span {self.start}:{self.end}, but 0 <= start < end is needed; `end` is exclusive"
            )
        if not self.fragments:
            return
        ends = [position for span in self.fragments for position in span]
        if ends != sorted(set(ends)) or (ends[0], ends[-1]) != (self.start, self.end):
            raise SpanError(
                f"mention {self.label!r} at {self.start}:{self.end} has fragments {self.fragments}, but they must be in order, "
                "apart from each other, and begin and end where the mention does"
            )
        if len(self.fragments) == 1:  # one part is the span, so that equal mentions compare equal
            object.__setattr__(self, "fragments", ())

    @property
    def span(self) -> Span:
        return self.start, self.end

    @property
    def parts(self) -> tuple[Span, ...]:
        """Its spans in order: the fragments of a discontinuous mention, otherwise its span alone."""
        return self.fragments or ((self.start, self.end),)

    def __repr__(self) -> str:
        fragments = f", fragments={self.fragments}" if self.fragments else ""
        text = f", text={_shown(self.text)}" if self.text else ""
        probability = f", p={self.probability:.3g}" if self.probability is not None else ""
        return f"Mention({self.start}, {self.end}, {self.label!r}{fragments}{text}{probability})"


MENTION_ORDER = attrgetter("start", "end", "label", "fragments")
"""The key that sorts mentions as they compare with each other, several times as fast."""
_NO_MENTIONS: frozenset[Mention] = frozenset()
"""One for all sentences without mentions: each of its own would take most of their memory."""


def mention_set(values: Iterable[Mention]) -> frozenset[Mention]:
    """The mentions, each once; an InputError for anything else.

    >>> mention_set([(0, 4, "protein")])
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: (0, 4, 'protein') is given as a mention, but is none; write Mention(start, end, label)
    """
    return frozenset(map(_checked, _iterable(values))) or _NO_MENTIONS


def _iterable(values: Iterable[Mention]) -> Iterable[Mention]:
    if not isinstance(values, Iterable):
        raise InputError(f"{values!r:.80} is given as the mentions; put mentions into a list")
    return values


def _checked(mention: Mention) -> Mention:
    if not isinstance(mention, Mention):
        raise InputError(f"{mention!r:.80} is given as a mention, but is none; write Mention(start, end, label)")
    return mention


ANY_LABEL = "*"
"""As the label of a forbidden mention: the span is no mention of any type."""


def _label_set(values: Iterable[str]) -> frozenset[str]:
    if isinstance(values, str):
        raise InputError(f"{values!r:.80} is given as the annotated types; put labels into a list")
    return frozenset(values)


def _regions(values: Iterable[Iterable[int]]) -> tuple[Span, ...]:
    found = sorted({(start, end) for start, end in values})
    for start, end in found:
        if not 0 <= start < end:
            raise SpanError(f"an annotated region is {start}:{end}, but 0 <= start < end is needed; `end` is exclusive")
    return tuple(found)


@frozen(weakref_slot=False)
class AnnotationScope:
    """Of which labels, and where, all mentions are listed. Beyond it, a mention that is not listed is unknown.

    >>> scope = AnnotationScope(types=["PER"], regions=[(0, 4)])
    >>> scope.covers(1, 3, "PER"), scope.covers(1, 3, "GPE"), scope.covers(3, 5, "PER")
    (True, False, False)
    >>> AnnotationScope(types=[]).is_empty  # only the listed mentions are sure
    True
    """

    types: frozenset[str] | None = field(default=None, converter=optional(_label_set))
    """The labels whose mentions are all listed; None for all labels."""
    regions: tuple[Span, ...] | None = field(default=None, converter=optional(_regions))
    """The spans inside which all mentions are listed, sorted; None for everywhere."""

    def covers(self, start: int, end: int, label: str) -> bool:
        """Whether a mention there would be listed: its label is annotated and its span inside one region."""
        return (self.types is None or label in self.types) and (
            self.regions is None or any(first <= start and end <= last for first, last in self.regions)
        )

    def covers_labels(self, labels: Set[str]) -> bool:
        """Whether all mentions of these labels are listed, wherever they are.

        >>> AnnotationScope(types=["PER", "GPE"]).covers_labels({"PER"}), AnnotationScope(types=[]).covers_labels({"PER"})
        (True, False)
        """
        return self.regions is None and (self.types is None or labels <= self.types)

    @property
    def is_complete(self) -> bool:
        """Whether it covers everything, as no scope at all does."""
        return self.types is None and self.regions is None

    @property
    def is_empty(self) -> bool:
        """Whether it covers nothing: only the listed mentions are sure."""
        return self.types == frozenset() or self.regions == ()


NOTHING_ANNOTATED = AnnotationScope(types=())
"""Only what is listed is sure, and only what is forbidden is absent."""


class _PartlyAnnotated:
    """What sentences and documents say of partial annotation."""

    __slots__ = ()
    mentions: frozenset[Mention]
    annotated: AnnotationScope | None
    forbidden: frozenset[Mention]

    @property
    def is_partial(self) -> bool:
        """Whether some mentions may be unknown, or a mention is forbidden."""
        return bool(self.forbidden) or not (self.annotated is None or self.annotated.is_complete)

    def knows(self, mention: Mention) -> bool:
        """Whether it is known if this is a mention: it is listed, forbidden, or covered by what is annotated."""
        return (
            self.annotated is None
            or mention in self.mentions
            or self.annotated.covers(mention.start, mention.end, mention.label)
            or self.forbids(mention)
        )

    def forbids(self, mention: Mention) -> bool:
        """Whether it is marked as no mention, by its own label or any."""
        return mention in self.forbidden or evolve(mention, label=ANY_LABEL) in self.forbidden

    def _check_marking(self, length: int, unit: str) -> None:
        """SpanError unless regions and forbidden spans are inside, and no mention is forbidden."""
        regions = self.annotated.regions or () if self.annotated is not None else ()
        for start, end in (*regions, *(mention.span for mention in self.forbidden)):
            if end > length:
                raise SpanError(f"{start}:{end} is annotated or forbidden, but reaches beyond the {length} {unit}")
        for mention in self.mentions if self.forbidden else ():
            if self.forbids(mention):
                raise SpanError(
                    f"{mention.label!r} at {mention.start}:{mention.end} is both a mention and forbidden; remove one of the two"
                )


def _token_tuple(values: Iterable[str]) -> tuple[str, ...]:
    if isinstance(values, str):
        raise InputError(f"a sentence is given as {_shown(values)}, but needs its tokens; write Sentence(text.split())")
    return tuple(values)


@frozen(repr=False, weakref_slot=False)
class Sentence(_PartlyAnnotated):
    """Tokens with the mentions among them, in token positions.

    >>> zoo = Sentence(("the", "Seattle", "zoo"), [Mention(0, 3, "FAC"), Mention(1, 2, "GPE")])
    >>> [zoo.text_of(mention) for mention in sorted(zoo.mentions)]
    ['the Seattle zoo', 'Seattle']
    >>> zoo
    Sentence('the Seattle zoo', 3 tokens, 2 mentions)
    """

    tokens: tuple[str, ...] = field(converter=_token_tuple)
    mentions: frozenset[Mention] = field(default=_NO_MENTIONS, converter=mention_set)
    """Those that are given, each once; :meth:`with_mentions` counts the others as duplicates."""
    tags: tuple[str, ...] = field(default=(), converter=tuple, kw_only=True)
    """Part-of-speech tags, one a token, or none at all."""
    offsets: tuple[Span, ...] = field(default=(), converter=tuple, kw_only=True)
    """The character span of each token in the document, or none at all."""
    duplicates: tuple[Mention, ...] = field(default=(), converter=tuple, eq=False, kw_only=True)
    """Mentions that a corpus lists more than once, as often as they are too many; see :meth:`with_mentions`."""
    before: tuple[str, ...] = field(default=(), converter=tuple, eq=False, kw_only=True)
    """The last tokens of its document before it, for models that read them;
    :func:`hyperspan.corpora.documents.with_context`."""
    after: tuple[str, ...] = field(default=(), converter=tuple, eq=False, kw_only=True)
    """The first tokens after it."""
    annotated: AnnotationScope | None = field(default=None, kw_only=True)
    """Where and of which labels all mentions are listed, in tokens; None for everywhere and all."""
    forbidden: frozenset[Mention] = field(default=_NO_MENTIONS, converter=mention_set, kw_only=True)
    """Spans that are no mentions of a label, or of none where the label is :data:`ANY_LABEL`."""

    def __attrs_post_init__(self) -> None:
        length = len(self.tokens)
        if (self.tags and len(self.tags) != length) or (self.offsets and len(self.offsets) != length):
            name, values = ("tags", self.tags) if self.tags and len(self.tags) != length else ("offsets", self.offsets)
            raise SpanError(f"a sentence of {length} tokens has {len(values)} {name}, but needs one a token or none")
        for mention in self.mentions:
            if mention.end > length:
                raise SpanError(
                    f"mention {mention.label!r} at {mention.start}:{mention.end} reaches beyond its sentence of {length} tokens"
                )
        if self.annotated is not None or self.forbidden:
            self._check_marking(length, "tokens of its sentence")

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"Sentence({_shown(' '.join(self.tokens[:SHOWN]))}, {counted(len(self), 'token')}, {counted(len(self.mentions), 'mention')})"

    def text_of(self, mention: Mention) -> str:
        """The tokens of a mention, with a space between them."""
        return " ".join(self.tokens[mention.start : mention.end])

    @property
    def listed(self) -> tuple[Mention, ...]:
        """The mentions as a corpus lists them: each once, then the duplicates."""
        return (*self.mentions, *self.duplicates)

    def with_mentions(self, listed: Iterable[Mention]) -> Sentence:
        """The same words with these mentions; one that is listed again is kept as a duplicate.

        >>> Sentence(["the", "zoo"]).with_mentions([Mention(0, 2, "FAC"), Mention(0, 2, "FAC")]).duplicates
        (Mention(0, 2, 'FAC'),)
        """
        distinct: set[Mention] = set()
        duplicates: list[Mention] = []
        for mention in listed:
            (duplicates.append if mention in distinct else distinct.add)(mention)
        return evolve(self, mentions=distinct, duplicates=duplicates)

    def _repr_html_(self) -> str:
        """What notebooks show: the words, and a bar under them for each mention."""
        return imported("hyperspan.render.notebook:sentence_html")(self)


def _with_texts(mentions: Iterable[Mention], document: Document) -> frozenset[Mention]:
    return frozenset([_with_text(_checked(mention), document.text) for mention in _iterable(mentions)]) or _NO_MENTIONS


def _with_text(mention: Mention, text: str) -> Mention:
    covered = text[mention.start : mention.end]
    if mention.end > len(text):
        raise SpanError(
            f"mention {mention.label!r} at {mention.start}:{mention.end} reaches beyond the text of {len(text)} characters; "
            "offsets count Unicode code points"
        )
    if mention.text and mention.text != covered:
        raise SpanError(
            f"mention {mention.label!r} at {mention.start}:{mention.end} is {mention.text!r}, but the text there reads {covered!r}; "
            "offsets count Unicode code points"
        )
    return mention if mention.text else evolve(mention, text=covered)


_BY_TEXT = cast(  # type checkers do not know of converters that see the value they are for
    "Callable[[Iterable[Mention]], frozenset[Mention]]", Converter(cast(Any, _with_texts), takes_self=True)
)


@frozen
class RankedMentions:
    """One of the most probable sets of a sentence: its mentions in characters of the text, sorted."""

    probability: float
    mentions: tuple[Mention, ...] = field(converter=tuple)


@frozen
class SentenceAlternatives:
    """The most probable sets of a sentence, best first; `start` and `end` are its first and last character's place."""

    start: int
    end: int
    sets: tuple[RankedMentions, ...] = field(converter=tuple)


@frozen(repr=False, weakref_slot=False)
class Document(_PartlyAnnotated):
    """A text, the mentions in it by character, and the sentences it was split into.

    ``document.text[m.start:m.end] == m.text`` holds for every mention: `text` is filled in, and checked where given.

    >>> document = Document("the Seattle zoo", [Mention(4, 11, "GPE")])
    >>> document
    Document('the Seattle zoo', 1 mention, 0 sentences)
    >>> document.mentions
    frozenset({Mention(4, 11, 'GPE', text='Seattle')})
    """

    text: str
    mentions: frozenset[Mention] = field(default=_NO_MENTIONS, converter=_BY_TEXT)
    sentences: tuple[Sentence, ...] = field(default=(), converter=tuple)
    id: str = ""
    metadata: Mapping[str, Any] = field(factory=dict, converter=dict, hash=False)
    alternatives: tuple[SentenceAlternatives, ...] | None = field(default=None, converter=optional(tuple))
    """For each sentence with tokens the most probable sets, where an annotator was asked for them."""
    candidates: tuple[Mention, ...] | None = field(default=None, converter=optional(tuple))
    """Every mention at least as probable as an annotator was asked for, sorted as in text, the longest first."""
    annotated: AnnotationScope | None = field(default=None, kw_only=True)
    """Where and of which labels all mentions are listed, in characters; for sentences that do not say so themselves."""
    forbidden: frozenset[Mention] = field(default=_NO_MENTIONS, converter=_BY_TEXT, kw_only=True)
    """Spans that are no mentions of a label, or of none where the label is :data:`ANY_LABEL`."""

    def __attrs_post_init__(self) -> None:
        for sentence in self.sentences:
            for start, end in sentence.offsets:
                if not 0 <= start <= end <= len(self.text):
                    raise SpanError(
                        f"a token has character span {start}:{end}, but the text has {len(self.text)} characters"
                    )
        if self.annotated is not None or self.forbidden:
            self._check_marking(len(self.text), "characters of its text")

    def __repr__(self) -> str:
        name = f", id={self.id!r}" if self.id else ""
        counts = f"{counted(len(self.mentions), 'mention')}, {counted(len(self.sentences), 'sentence')}"
        return f"Document({_shown(self.text)}, {counts}{name})"

    def _repr_html_(self) -> str:
        """What notebooks show: the text, and a bar under it for each mention."""
        return imported("hyperspan.render.notebook:document_html")(self)


# -- values that are right because of how they were made: nothing is converted or checked, which takes most of the time
# --------
#
# A frozen class offers no cheap way to set its fields. So a draft of the same layout is filled and becomes one of that
# class.


class _MentionDraft:
    __slots__ = Mention.__slots__  # pyright: ignore[reportAttributeAccessIssue]


class _SentenceDraft(_PartlyAnnotated):
    __slots__ = Sentence.__slots__  # pyright: ignore[reportAttributeAccessIssue]


class _DocumentDraft(_PartlyAnnotated):
    __slots__ = Document.__slots__  # pyright: ignore[reportAttributeAccessIssue]


def trusted_mention(
    start: int,
    end: int,
    label: str,
    text: str = "",
    probability: float | None = None,
    id: str = "",  # noqa: A002
    fragments: tuple[Span, ...] = (),
) -> Mention:
    """A mention of what is known to be a span, and to read so where `text` is given."""
    made: Any = _MentionDraft()
    made.start, made.end, made.label, made.fragments = start, end, label, fragments
    made.text, made.probability, made.head, made.id = text, probability, None, id
    made.__class__ = Mention
    return made


def trusted_sentence(
    tokens: tuple[str, ...],
    offsets: tuple[Span, ...],
    mentions: Iterable[Mention] = (),
    tags: tuple[str, ...] = (),
) -> Sentence:
    """A sentence of tokens with as many offsets and tags, or none, and mentions inside it."""
    made: Any = _SentenceDraft()
    made.tokens, made.offsets, made.tags = tokens, offsets, tags
    made.mentions = frozenset(mentions) or _NO_MENTIONS
    made.duplicates = made.before = made.after = ()
    made.annotated, made.forbidden = None, _NO_MENTIONS
    made.__class__ = Sentence
    return made


def trusted_document(
    text: str,
    mentions: Iterable[Mention] = (),
    sentences: tuple[Sentence, ...] = (),
    id: str = "",  # noqa: A002
    metadata: Mapping[str, Any] | None = None,
    alternatives: Iterable[SentenceAlternatives] | None = None,
    candidates: Iterable[Mention] | None = None,
) -> Document:
    """A document whose mentions have their texts, and whose sentences have offsets inside the text."""
    made: Any = _DocumentDraft()
    made.text, made.sentences, made.id = text, sentences, id
    made.mentions, made.metadata = frozenset(mentions) or _NO_MENTIONS, dict(metadata or {})
    made.alternatives = None if alternatives is None else tuple(alternatives)
    made.candidates = None if candidates is None else tuple(candidates)
    made.annotated, made.forbidden = None, _NO_MENTIONS
    made.__class__ = Document
    return made
