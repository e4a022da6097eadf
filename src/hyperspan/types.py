"""The values that hyperspan reads and returns: mentions, sentences and documents.

Spans are half-open, ``[start, end)``: in tokens inside a :class:`Sentence`, in characters (Unicode code points)
inside a :class:`Document`. Mentions may overlap in any way; a span has a label only once.

Annotation may be partial. A listed mention is certain. An unlisted span and label is *absent* if the
:class:`AnnotationScope` covers it or it is forbidden, and *unknown* otherwise.

Values are frozen; :func:`attrs.evolve` makes a checked copy with some fields changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from operator import attrgetter
from typing import Any, cast

from attrs import Converter, evolve, field, frozen
from attrs.converters import optional

from hyperspan.errors import InputError, SpanError, counted, quoted
from hyperspan.plugins import imported

Span = tuple[int, int]


def _fragments(values: Iterable[Span]) -> tuple[Span, ...]:
    return tuple([(start, end) for start, end in values]) if values else ()


@frozen(order=True, repr=False, weakref_slot=False)
class Mention:
    """A labelled span ``[start, end)``: in tokens inside a sentence, in characters inside a document.

    Two mentions are equal if their span, fragments and label are equal; the other fields do not count. The span of a
    discontinuous mention reaches from its first to its last part, and `fragments` lists the parts.

    To change a mention, use :func:`attrs.evolve`. If the span changes, also reset the text:
    ``attrs.evolve(mention, start=0, text="")``.

    >>> from hyperspan import Mention
    >>> Mention(0, 2, "PER") == Mention(0, 2, "PER", probability=0.9)
    True
    >>> Mention(0, 2, "PER").parts, Mention(0, 4, "cell", [(0, 1), (3, 4)]).parts
    (((0, 2),), ((0, 1), (3, 4)))
    """

    start: int
    """The first token or character."""
    end: int
    """The position after the last token or character."""
    label: str
    """The type of the mention, such as PER."""
    fragments: tuple[Span, ...] = field(default=(), converter=_fragments)
    """The parts of a discontinuous mention, in order and not adjacent; empty for a contiguous mention."""
    text: str = field(default="", eq=False)
    """In a document: the text from `start` to `end`."""
    probability: float | None = field(default=None, eq=False)
    """The marginal probability, if a model found the mention."""
    head: Span | None = field(default=None, eq=False)
    """The span of the head, if the corpus annotates heads."""
    id: str = field(default="", eq=False)
    """The identifier in the corpus."""

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
        """``(start, end)``."""
        return self.start, self.end

    @property
    def parts(self) -> tuple[Span, ...]:
        """The spans of its parts: the fragments of a discontinuous mention, otherwise the span alone."""
        return self.fragments or ((self.start, self.end),)

    def __repr__(self) -> str:
        fragments = f", fragments={self.fragments}" if self.fragments else ""
        text = f", text={quoted(self.text)}" if self.text else ""
        probability = f", p={self.probability:.3g}" if self.probability is not None else ""
        return f"Mention({self.start}, {self.end}, {self.label!r}{fragments}{text}{probability})"


MENTION_ORDER = attrgetter("start", "end", "label", "fragments")
"""A sort key that orders mentions as ``<`` does, but several times faster."""


def longest_first(mention: Mention) -> tuple[int, int, str, tuple[Span, ...]]:
    """A sort key that orders mentions by start, the longest first, then by label: outer mentions before inner ones."""
    return mention.start, -mention.end, mention.label, mention.fragments


_NO_MENTIONS: frozenset[Mention] = frozenset()
"""Shared by all sentences without mentions; separate empty sets would take most of their memory."""


def mention_set(values: Iterable[Mention]) -> frozenset[Mention]:
    """Return the mentions as a set; raise an InputError for anything else.

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
"""As the label of a forbidden mention: the span is not a mention of any type."""


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
    """The labels and regions in which all mentions are listed, for partially annotated text.

    Inside the scope, an unlisted mention is absent. Outside, it is unknown.

    >>> from hyperspan import AnnotationScope
    >>> scope = AnnotationScope(types=["PER"], regions=[(0, 4)])
    >>> scope.covers(1, 3, "PER"), scope.covers(1, 3, "GPE"), scope.covers(3, 5, "PER")
    (True, False, False)
    >>> AnnotationScope(types=[]).is_empty  # only the listed mentions are certain
    True
    """

    types: frozenset[str] | None = field(default=None, converter=optional(_label_set))
    """The labels whose mentions are all listed; None means all labels."""
    regions: tuple[Span, ...] | None = field(default=None, converter=optional(_regions))
    """The spans in which all mentions are listed, sorted; None means the whole text."""

    def covers(self, start: int, end: int, label: str) -> bool:
        """Whether the scope covers a mention: its label is annotated and its span is inside one region."""
        return (self.types is None or label in self.types) and (
            self.regions is None or any(first <= start and end <= last for first, last in self.regions)
        )

    def covers_labels(self, labels: Set[str]) -> bool:
        """Whether all mentions of these labels are listed, in the whole text.

        >>> AnnotationScope(types=["PER", "GPE"]).covers_labels({"PER"})
        True
        """
        return self.regions is None and (self.types is None or labels <= self.types)

    @property
    def is_complete(self) -> bool:
        """Whether the scope covers everything, like no scope at all."""
        return self.types is None and self.regions is None

    @property
    def is_empty(self) -> bool:
        """Whether the scope covers nothing: only the listed mentions are certain."""
        return self.types == frozenset() or self.regions == ()


NOTHING_ANNOTATED = AnnotationScope(types=())
"""The scope of a text in which only listed mentions are certain and only forbidden ones are absent."""


class _PartlyAnnotated:
    """Partial annotation, for sentences and documents."""

    __slots__ = ()
    mentions: frozenset[Mention]
    annotated: AnnotationScope | None
    forbidden: frozenset[Mention]

    @property
    def is_partial(self) -> bool:
        """Whether some mentions may be unknown, or a mention is forbidden."""
        return bool(self.forbidden) or not (self.annotated is None or self.annotated.is_complete)

    def knows(self, mention: Mention) -> bool:
        """Whether the annotation decides this mention: it is listed, forbidden, or covered by the scope."""
        return (
            self.annotated is None
            or mention in self.mentions
            or self.annotated.covers(mention.start, mention.end, mention.label)
            or self.forbids(mention)
        )

    def forbids(self, mention: Mention) -> bool:
        """Whether this mention is forbidden, for its label or for any label."""
        return mention in self.forbidden or evolve(mention, label=ANY_LABEL) in self.forbidden

    def _check_marking(self, length: int, unit: str) -> None:
        """Raise a SpanError unless regions and forbidden spans lie inside and no mention is forbidden."""
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
        raise InputError(f"a sentence is given as {quoted(values)}, but needs its tokens; write Sentence(text.split())")
    return tuple(values)


@frozen(repr=False, weakref_slot=False)
class Sentence(_PartlyAnnotated):
    """A tokenized sentence with its mentions, in token positions.

    >>> from hyperspan import Mention, Sentence
    >>> zoo = Sentence(("the", "Seattle", "zoo"), [Mention(0, 3, "FAC"), Mention(1, 2, "GPE")])
    >>> [zoo.text_of(mention) for mention in sorted(zoo.mentions)]
    ['the Seattle zoo', 'Seattle']
    >>> zoo
    Sentence('the Seattle zoo', 3 tokens, 2 mentions)
    """

    tokens: tuple[str, ...] = field(converter=_token_tuple)
    """The words of the sentence."""
    mentions: frozenset[Mention] = field(default=_NO_MENTIONS, converter=mention_set)
    """The mentions, without duplicates; :meth:`with_mentions` also records duplicates."""
    tags: tuple[str, ...] = field(default=(), converter=tuple, kw_only=True)
    """Part-of-speech tags, one per token, or empty."""
    offsets: tuple[Span, ...] = field(default=(), converter=tuple, kw_only=True)
    """The character span of each token in the document, or empty."""
    duplicates: tuple[Mention, ...] = field(default=(), converter=tuple, eq=False, kw_only=True)
    """The repetitions of mentions that a corpus lists more than once; see :meth:`with_mentions`."""
    before: tuple[str, ...] = field(default=(), converter=tuple, eq=False, kw_only=True)
    """The tokens before the sentence in its document, for models that read context;
    see :func:`hyperspan.text.sentences.with_context`."""
    after: tuple[str, ...] = field(default=(), converter=tuple, eq=False, kw_only=True)
    """The tokens after the sentence."""
    annotated: AnnotationScope | None = field(default=None, kw_only=True)
    """The scope in which all mentions are listed, in tokens; None means the whole sentence and all labels."""
    forbidden: frozenset[Mention] = field(default=_NO_MENTIONS, converter=mention_set, kw_only=True)
    """Spans that are not mentions of their label, or of any label if it is :data:`ANY_LABEL` ("*")."""

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
        return f"Sentence({quoted(' '.join(self.tokens[:60]))}, {counted(len(self), 'token')}, {counted(len(self.mentions), 'mention')})"

    def text_of(self, mention: Mention) -> str:
        """Return the tokens of a mention, joined by spaces."""
        return " ".join(self.tokens[mention.start : mention.end])

    @property
    def listed(self) -> tuple[Mention, ...]:
        """The mentions as the corpus lists them: first each once, then the duplicates."""
        return (*self.mentions, *self.duplicates)

    def with_mentions(self, listed: Iterable[Mention]) -> Sentence:
        """Return the sentence with these mentions; repeated mentions go to `duplicates`.

        >>> Sentence(["the", "zoo"]).with_mentions([Mention(0, 2, "FAC"), Mention(0, 2, "FAC")]).duplicates
        (Mention(0, 2, 'FAC'),)
        """
        distinct: set[Mention] = set()
        duplicates: list[Mention] = []
        for mention in listed:
            (duplicates.append if mention in distinct else distinct.add)(mention)
        return evolve(self, mentions=distinct, duplicates=duplicates)

    def _repr_html_(self) -> str:
        """The sentence with a bar under the words of each mention, for notebooks."""
        return imported("hyperspan.render.html:sentence_html")(self)


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


_BY_TEXT = cast(  # type checkers do not know converters with takes_self
    "Callable[[Iterable[Mention]], frozenset[Mention]]", Converter(cast(Any, _with_texts), takes_self=True)
)


@frozen
class RankedMentions:
    """One of the most probable mention sets of a sentence."""

    probability: float
    """The probability of the whole set."""
    mentions: tuple[Mention, ...] = field(converter=tuple)
    """The mentions of the set, sorted, in characters of the text."""


@frozen
class SentenceAlternatives:
    """The k most probable mention sets of a sentence: one entry of ``document.alternatives``.

    >>> from hyperspan import load
    >>> [alternatives] = load("genia")("The IL-2 promoter.", top_k=2).alternatives
    >>> for ranked in alternatives.sets:
    ...     print(f"{ranked.probability:.1f}", [mention.text for mention in ranked.mentions])
    0.5 ['IL-2', 'IL-2 promoter']
    0.3 ['IL-2 promoter']
    """

    start: int
    """The first character of the sentence."""
    end: int
    """The position after its last character."""
    sets: tuple[RankedMentions, ...] = field(converter=tuple)
    """The sets, the most probable first."""


@frozen(repr=False, weakref_slot=False)
class Document(_PartlyAnnotated):
    """A text with its mentions, in character positions, and its sentences.

    ``document.text[m.start:m.end] == m.text`` holds for every mention: a missing `text` is filled in, a given one is
    checked.

    >>> from hyperspan import Document, Mention
    >>> document = Document("the Seattle zoo", [Mention(4, 11, "GPE")])
    >>> document
    Document('the Seattle zoo', 1 mention, 0 sentences)
    >>> document.mentions
    frozenset({Mention(4, 11, 'GPE', text='Seattle')})
    """

    text: str
    """The raw text."""
    mentions: frozenset[Mention] = field(default=_NO_MENTIONS, converter=_BY_TEXT)
    """The mentions, in any order and without duplicates."""
    sentences: tuple[Sentence, ...] = field(default=(), converter=tuple)
    """The tokenized sentences; empty if the text has not been split."""
    id: str = ""
    """The identifier in the corpus."""
    metadata: Mapping[str, Any] = field(factory=dict, converter=dict, hash=False)
    """Any further data of the corpus, which formats such as jsonl keep."""
    alternatives: tuple[SentenceAlternatives, ...] | None = field(default=None, converter=optional(tuple))
    """The most probable mention sets of each sentence with tokens; set by an annotator with `top_k`."""
    candidates: tuple[Mention, ...] | None = field(default=None, converter=optional(tuple))
    """All mentions above a minimal probability, in text order, longest first; set by an annotator with `candidates`."""
    annotated: AnnotationScope | None = field(default=None, kw_only=True)
    """The scope in which all mentions are listed, in characters; applies to sentences without a scope."""
    forbidden: frozenset[Mention] = field(default=_NO_MENTIONS, converter=_BY_TEXT, kw_only=True)
    """Spans that are not mentions of their label, or of any label if it is :data:`ANY_LABEL` ("*")."""

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
        return f"Document({quoted(self.text)}, {counts}{name})"

    def _repr_html_(self) -> str:
        """The text with a bar under each mention, for notebooks."""
        return imported("hyperspan.render.html:document_html")(self)


# -- trusted values ----------------------------------------------------------------------------------------------------
#
# These are correct by construction, so they skip conversion and checks, which take most of the time. A frozen class has
# no cheap way to set its fields: a draft with the same layout is filled, and its class is changed.


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
    """Make a mention without checks; span and `text` must be correct."""
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
    """Make a sentence without checks; offsets, tags and mentions must fit the tokens."""
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
    """Make a document without checks; mentions must have their texts, and sentences offsets inside the text."""
    made: Any = _DocumentDraft()
    made.text, made.sentences, made.id = text, sentences, id
    made.mentions, made.metadata = frozenset(mentions) or _NO_MENTIONS, dict(metadata or {})
    made.alternatives = None if alternatives is None else tuple(alternatives)
    made.candidates = None if candidates is None else tuple(candidates)
    made.annotated, made.forbidden = None, _NO_MENTIONS
    made.__class__ = Document
    return made
