"""What hyperspan reads and returns: mentions, sentences, documents.

Spans are half-open, ``[start, end)``: in tokens inside a :class:`Sentence`, in characters (Unicode code points)
inside a :class:`Document`. Mentions may overlap in every way; the same span with the same label occurs once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hyperspan.errors import SpanError

Span = tuple[int, int]
_NO_MENTIONS: frozenset[Mention] = frozenset()
"""One for all sentences without mentions: each of its own would take most of their memory."""


@dataclass(frozen=True, slots=True, order=True)
class Mention:
    """A labelled span. Two mentions are the same if span, fragments and label are, whatever their probabilities.

    >>> Mention(0, 2, "PER") == Mention(0, 2, "PER", probability=0.9)
    True
    """

    start: int
    end: int
    label: str
    fragments: tuple[Span, ...] = ()
    """The parts of a discontinuous mention, in order; empty for a mention in one piece."""
    text: str = field(default="", compare=False)
    """The characters that a mention of a document covers, from `start` to `end`."""
    probability: float | None = field(default=None, compare=False)
    head: Span | None = field(default=None, compare=False)
    """The span of its head, where a corpus marks heads."""
    id: str = field(default="", compare=False)
    """What its corpus calls it."""

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise SpanError(
                f"mention {self.label!r} has span {self.start}:{self.end}, but 0 <= start < end is needed; `end` is exclusive"
            )
        ends = [position for span in self.fragments for position in span]
        if ends and (ends != sorted(set(ends)) or (ends[0], ends[-1]) != (self.start, self.end)):
            raise SpanError(
                f"mention {self.label!r} at {self.start}:{self.end} has fragments {self.fragments}, but they must be in order, "
                "apart from each other, and begin and end where the mention does"
            )

    @property
    def span(self) -> Span:
        return self.start, self.end


@dataclass(frozen=True, slots=True)
class Sentence:
    """Tokens with the mentions among them, in token positions.

    >>> zoo = Sentence(("the", "Seattle", "zoo"), [Mention(0, 3, "FAC"), Mention(1, 2, "GPE")])
    >>> [zoo.text_of(mention) for mention in sorted(zoo.mentions)]
    ['the Seattle zoo', 'Seattle']
    """

    tokens: tuple[str, ...]
    mentions: frozenset[Mention] = frozenset()
    tags: tuple[str, ...] = ()
    """Part-of-speech tags, one a token, or none at all."""
    offsets: tuple[Span, ...] = ()
    """The character span of each token in the document, or none at all."""
    duplicates: tuple[Mention, ...] = field(default=(), compare=False)
    """Mentions that a corpus lists more than once, as often as they are too many."""
    before: tuple[str, ...] = field(default=(), compare=False)
    """The last tokens of its document before it, for models that read them; :func:`hyperspan.corpora.documents.with_context`."""
    after: tuple[str, ...] = field(default=(), compare=False)
    """The first tokens after it."""

    def __init__(
        self,
        tokens: Iterable[str],
        mentions: Iterable[Mention] = (),
        tags: Iterable[str] = (),
        offsets: Iterable[Span] = (),
        before: Iterable[str] = (),
        after: Iterable[str] = (),
    ) -> None:
        object.__setattr__(self, "tokens", tuple(tokens))
        distinct: set[Mention] = set()
        duplicates: list[Mention] = []
        for mention in mentions:
            (duplicates.append if mention in distinct else distinct.add)(mention)
        object.__setattr__(self, "mentions", frozenset(distinct) if distinct else _NO_MENTIONS)
        object.__setattr__(self, "duplicates", tuple(duplicates))
        object.__setattr__(self, "tags", tuple(tags))
        object.__setattr__(self, "offsets", tuple(offsets))
        object.__setattr__(self, "before", tuple(before))
        object.__setattr__(self, "after", tuple(after))
        for name, values in (("tags", self.tags), ("offsets", self.offsets)):
            if values and len(values) != len(self.tokens):
                raise SpanError(
                    f"a sentence of {len(self.tokens)} tokens has {len(values)} {name}, but needs one a token or none"
                )
        for mention in self.mentions:
            if mention.end > len(self.tokens):
                raise SpanError(
                    f"mention {mention.label!r} at {mention.start}:{mention.end} reaches beyond its sentence of {len(self.tokens)} tokens"
                )

    def __len__(self) -> int:
        return len(self.tokens)

    def text_of(self, mention: Mention) -> str:
        """The tokens of a mention, with a space between them."""
        return " ".join(self.tokens[mention.start : mention.end])

    def _repr_html_(self) -> str:
        """What notebooks show: the words, and a bar under them for each mention."""
        from hyperspan.render.notebook import sentence_html

        return sentence_html(self)


@dataclass(frozen=True, slots=True)
class Document:
    """A text, the mentions in it by character, and the sentences it was split into.

    ``document.text[m.start:m.end] == m.text`` holds for every mention: `text` is filled in, and checked where given.

    >>> document = Document("the Seattle zoo", [Mention(4, 11, "GPE")])
    >>> next(iter(document.mentions)).text
    'Seattle'
    """

    text: str
    mentions: frozenset[Mention] = frozenset()
    sentences: tuple[Sentence, ...] = ()
    id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __init__(
        self,
        text: str,
        mentions: Iterable[Mention] = (),
        sentences: Iterable[Sentence] = (),
        id: str = "",  # noqa: A002
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "mentions", frozenset(self._with_text(mention) for mention in mentions))
        object.__setattr__(self, "sentences", tuple(sentences))
        object.__setattr__(self, "id", id)
        object.__setattr__(self, "metadata", dict(metadata or {}))
        for start, end in (offset for sentence in self.sentences for offset in sentence.offsets):
            if not 0 <= start <= end <= len(text):
                raise SpanError(f"a token has character span {start}:{end}, but the text has {len(text)} characters")

    def _repr_html_(self) -> str:
        """What notebooks show: the text, and a bar under it for each mention."""
        from hyperspan.render.notebook import document_html

        return document_html(self)

    def _with_text(self, mention: Mention) -> Mention:
        covered = self.text[mention.start : mention.end]
        if mention.end > len(self.text):
            raise SpanError(
                f"mention {mention.label!r} at {mention.start}:{mention.end} reaches beyond the text of {len(self.text)} characters; "
                "offsets count Unicode code points"
            )
        if mention.text and mention.text != covered:
            raise SpanError(
                f"mention {mention.label!r} at {mention.start}:{mention.end} is {mention.text!r}, but the text there reads {covered!r}; "
                "offsets count Unicode code points"
            )
        return mention if mention.text else replace(mention, text=covered)
