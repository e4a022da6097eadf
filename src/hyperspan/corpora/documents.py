"""Convert mentions between tokens of a sentence and characters of a document."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from attrs import evolve

from hyperspan.corpora.source import Problems
from hyperspan.text.sentences import cut_long, sentence_of, sentence_spans, token_spans
from hyperspan.text.tokens import WORDS, Tokenizer
from hyperspan.types import AnnotationScope, Document, Mention, Sentence, Span, trusted_mention

IN_NO_SENTENCE = "mention that is in no sentence kept by its characters alone"
INSIDE_TOKENS = "tokens cut because a mention begins or ends inside"
"""Notes on mentions that do not begin or end at word boundaries."""
FORBIDDEN_OUTSIDE = "forbidden span left out because it does not begin and end where tokens of one sentence do"


def document_of(sentences: Iterable[Sentence], id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:  # noqa: A002
    """Make a document from tokenised sentences: tokens joined by spaces, one line per sentence.

    >>> document_of([Sentence(["the", "Seattle", "zoo"], [Mention(1, 2, "GPE")]), Sentence(["Why", "?"])]).text
    'the Seattle zoo\\nWhy ?'
    """
    sentences = list(sentences)
    text = "\n".join(" ".join(sentence.tokens) for sentence in sentences)
    placed: list[Sentence] = []
    mentions: list[Mention] = []
    position = 0
    for sentence in sentences:
        offsets = []
        for token in sentence.tokens:
            offsets.append((position, position + len(token)))
            position += len(token) + 1
        placed.append(evolve(sentence, offsets=offsets))
        mentions += [by_characters(mention, offsets, text) for mention in sentence.mentions]
        position += not offsets  # an empty line
    return Document(text, mentions, placed, id, metadata or {})


def by_characters(mention: Mention, offsets: Sequence[Span], text: str = "") -> Mention:
    """Convert a mention from tokens to characters; with the text of the document, also set its text."""
    start, end = offsets[mention.start][0], offsets[mention.end - 1][1]
    if start < end and not mention.fragments and mention.head is None:
        return trusted_mention(start, end, mention.label, text[start:end], mention.probability, mention.id)
    fragments = tuple(covered(span, offsets) for span in mention.fragments)
    inside = mention.head and mention.start <= mention.head[0] < mention.head[1] <= mention.end
    head = covered(mention.head, offsets) if mention.head and inside else None
    return evolve(mention, start=start, end=end, fragments=fragments, text=text[start:end], head=head)


def covered(span: Span, offsets: Sequence[Span]) -> Span:
    """The characters of a span of tokens, from the first to the last."""
    return offsets[span[0]][0], offsets[span[1] - 1][1]


def contained(span: Span, offsets: Sequence[Span]) -> Span:
    """The tokens entirely inside a span of characters; an empty span if there are none."""
    return bisect_left(offsets, span[0], key=itemgetter(0)), bisect_right(offsets, span[1], key=itemgetter(1))


def by_places(scope: AnnotationScope, placed: Callable[[Span], Span]) -> AnnotationScope:
    """The scope in other units, without regions that are empty there."""
    regions = None if scope.regions is None else map(placed, scope.regions)
    return AnnotationScope(scope.types, None if regions is None else [span for span in regions if span[0] < span[1]])


def with_sentences(document: Document, problems: Problems, tokenizer: Tokenizer = WORDS) -> Document:
    """Split a document into sentences and tokens, unless it has them, and convert its mentions to tokens.

    To lose no annotated mention, sentences are joined if a mention crosses their boundary, and tokens are cut if a
    mention begins or ends inside; both are noted. White space at the ends of mentions is dropped. Sentences with too
    many tokens are cut, but never inside a mention. Sentences without an annotation scope take it from the document.
    """
    if document.sentences:
        return _with_scopes(_projected(document, problems), problems)
    mentions = set(trimmed(document.mentions, document.text, problems))
    ends = sorted(mentions, key=lambda mention: (mention.start, mention.end))
    spans = join_crossed(list(_sentences(document)), ends, problems)
    sentences: list[Sentence] = []
    waiting = ends[::-1]
    for start, end in spans:
        upcoming: list[Mention] = []
        while waiting and waiting[-1].start < end:
            upcoming.append(waiting.pop())
        offsets = cut_at_mentions(token_spans(document.text, start, end, tokenizer), upcoming, problems)
        here: list[Mention] = []
        for mention in upcoming:
            if start <= mention.start and mention.end <= end and offsets and not mention.text.isspace():
                here.append(mention)
            else:
                _outside(mention, document, problems)
        sentences += _placed(document.text, offsets, here)
    for mention in waiting:
        _outside(mention, document, problems)
    return _with_scopes(evolve(document, mentions=mentions, sentences=sentences), problems)


def _with_scopes(document: Document, problems: Problems) -> Document:
    """Copy the document's annotation scope and forbidden mentions to its sentences."""
    if document.annotated is None and not document.forbidden:
        return document
    sentences = list(document.sentences)
    if document.annotated is not None:
        sentences = _in_scope(sentences, document.annotated)
    forbidden = trimmed(document.forbidden, document.text, Problems())
    for index, here in _by_sentence(forbidden, sentences, problems, FORBIDDEN_OUTSIDE).items():
        held = sentences[index]
        sentences[index] = evolve(held, forbidden=held.forbidden | set(here))
    return evolve(document, sentences=sentences)


def _in_scope(sentences: Sequence[Sentence], scope: AnnotationScope) -> list[Sentence]:
    """The sentences with the scope of their document, each with the regions near it."""
    if scope.regions is None:
        return [_with_scope(sentence, scope) for sentence in sentences]
    found = list(sentences)
    reaches = _reaches(sentences)
    for index, near in zip(reaches, _meeting(reaches.values(), scope.regions), strict=True):
        found[index] = _with_scope(found[index], evolve(scope, regions=[scope.regions[region] for region in near]))
    nowhere = evolve(scope, regions=())
    return [sentence if sentence.offsets else _with_scope(sentence, nowhere) for sentence in found]


def _with_scope(sentence: Sentence, scope: AnnotationScope) -> Sentence:
    """The sentence with the scope of its document, unless it has one; one without offsets is in no region."""
    if sentence.annotated is not None:
        return sentence
    found = by_places(scope, partial(contained, offsets=sentence.offsets))
    if found.regions is not None and (0, len(sentence)) in found.regions:
        found = AnnotationScope(found.types)
    return evolve(sentence, annotated=found)


def _placed(text: str, offsets: Sequence[Span], mentions: Sequence[Mention]) -> Iterator[Sentence]:
    """The sentence with these tokens and mentions (sorted by start), in parts if it has too many tokens."""
    waiting = list(mentions[::-1])
    for part in cut_long(text, offsets, [mention.span for mention in mentions]):
        here: list[Mention] = []
        while waiting and waiting[-1].start < part[-1][1]:
            here.append(by_tokens(waiting.pop(), part))
        yield sentence_of(text, part).with_mentions(here)


def _projected(document: Document, problems: Problems) -> Document:
    """A document with sentences, with all its mentions by character added to its sentences."""
    if sum(len(sentence.mentions) for sentence in document.sentences) == len(document.mentions):
        return document
    known = {by_characters(m, s.offsets) for s in document.sentences if s.offsets for m in s.mentions}
    sentences = list(document.sentences)
    for index, here in _by_sentence(document.mentions - known, sentences, problems, IN_NO_SENTENCE).items():
        sentences[index] = sentences[index].with_mentions((*sentences[index].listed, *here))
    return evolve(document, sentences=sentences)


def _by_sentence(
    mentions: Iterable[Mention], sentences: Sequence[Sentence], problems: Problems, outside: str
) -> dict[int, list[Mention]]:
    """The mentions, by token, of the first sentence that each fits; one that fits none is noted as `outside`."""
    found: dict[int, list[Mention]] = {}
    if not (listed := sorted(mentions)):
        return found
    reaches = _reaches(sentences)
    names, starts = list(reaches), [(mention.start, mention.start) for mention in listed]
    for mention, near in zip(listed, _meeting(starts, list(reaches.values())), strict=True):
        fitting = [names[place] for place in near if _fits(mention, sentences[names[place]])]
        if fitting:
            index = min(fitting)
            found.setdefault(index, []).append(by_tokens(mention, sentences[index].offsets))
        else:
            problems.note(outside)
    return found


def _reaches(sentences: Sequence[Sentence]) -> dict[int, Span]:
    """Where the first and the last token of each sentence with offsets begin; by index, sorted by place."""
    reaches = {
        index: (min(sentence.offsets)[0], max(sentence.offsets)[0])
        for index, sentence in enumerate(sentences)
        if sentence.offsets
    }
    return dict(sorted(reaches.items(), key=itemgetter(1)))


def _meeting(places: Iterable[Span], spans: Sequence[Span]) -> Iterator[list[int]]:
    """Yield the indices of the spans that each place overlaps or touches; both are sorted.

    >>> list(_meeting([(0, 2), (5, 6)], [(1, 3), (2, 9), (8, 9)]))
    [[0, 1], [1]]
    """
    reaching: list[int] = []  # spans that do not end before the place
    following = 0
    for start, end in places:
        while following < len(spans) and spans[following][0] <= end:
            reaching.append(following)
            following += 1
        reaching = [index for index in reaching if spans[index][1] >= start]
        yield [index for index in reaching if spans[index][0] <= end]


def _fits(mention: Mention, sentence: Sentence) -> bool:
    """Whether a mention begins and ends at token boundaries of the sentence."""
    first = bisect_left(sentence.offsets, mention.start, key=itemgetter(0))
    last = bisect_left(sentence.offsets, mention.end, key=itemgetter(1))
    return (
        first <= last < len(sentence.offsets)
        and sentence.offsets[first][0] == mention.start
        and sentence.offsets[last][1] == mention.end
    )


def _outside(mention: Mention, document: Document, problems: Problems) -> None:
    where = f"the mention {mention.label} at characters {mention.start} to {mention.end}"
    problems.wrong(document.id or "a document", f"{where} covers no words of the text; correct or remove it")


def _sentences(document: Document) -> Iterator[Span]:
    """The sentences of a document; if its metadata mark text spans (ACE), only of those."""
    spans: Any = document.metadata.get("text_spans")
    for first, last in spans if _are_spans(spans, len(document.text)) else [(0, len(document.text))]:
        yield from ((first + start, first + end) for start, end in sentence_spans(document.text[first:last]))


def _are_spans(value: Any, length: int) -> bool:
    """Whether a metadata value, which may be anything, is a list of consecutive spans of a text."""
    if not isinstance(value, list) or not all(isinstance(span, (list, tuple)) and len(span) == 2 for span in value):
        return False
    ends = [end for span in value for end in span]
    return bool(ends) and all(type(end) is int and 0 <= end <= length for end in ends) and ends == sorted(ends)


def by_tokens(mention: Mention, offsets: Sequence[Span]) -> Mention:
    """Convert a mention from characters to the tokens that it touches."""

    def touched(span: Span) -> Span:
        return bisect_right(offsets, span[0], key=itemgetter(1)), bisect_left(offsets, span[1], key=itemgetter(0))

    start, end = touched(mention.span)
    if start < end and not mention.fragments and mention.head is None:
        return trusted_mention(start, end, mention.label, "", mention.probability, mention.id)
    head = touched(mention.head) if mention.head else None
    head = head if head and start <= head[0] < head[1] <= end else None
    # Fragments of white space have no tokens; fragments that touch in tokens are joined.
    fragments = joined((first, last) for first, last in map(touched, mention.fragments) if first < last)
    kept = tuple(fragments) if len(fragments) > 1 else ()
    return evolve(mention, start=start, end=end, fragments=kept, head=head, text="")


def join_crossed(spans: list[Span], mentions: Sequence[Mention], problems: Problems) -> list[Span]:
    """Join sentences if a mention (sorted by start) crosses their boundary."""
    sentences: list[Span] = []
    reach, upcoming = 0, list(mentions[::-1])
    for start, end in spans:
        if sentences and reach > start:
            start = sentences.pop()[0]
            problems.note("sentences joined because a mention crosses them")
        sentences.append((start, end))
        while upcoming and upcoming[-1].start < end:
            reach = max(reach, upcoming.pop().end)
    return sentences


def cut_at_mentions(offsets: Iterable[Span], mentions: Iterable[Mention], problems: Problems) -> list[Span]:
    """Cut tokens where a mention begins or ends inside, so that each mention consists of whole tokens."""
    cuts = sorted({cut for mention in mentions for span in (mention.span, *mention.fragments) for cut in span})
    result: list[Span] = []
    for start, end in offsets:
        for place in cuts[bisect_right(cuts, start) : bisect_left(cuts, end)]:
            result.append((start, place))
            start = place
            problems.note(INSIDE_TOKENS)
        result.append((start, end))
    return result


SPACE_LEFT_OUT = "white space at the ends of a mention left out"
PARTS_JOINED = "parts of a mention with only white space between them read as one"


def trimmed(mentions: Iterable[Mention], text: str, problems: Problems) -> list[Mention]:
    """The mentions, by character, without white space at their ends; a mention of white space alone is unchanged.

    Parts separated only by white space are joined. Both changes are noted. Mentions that do not fit the text are
    unchanged: :class:`hyperspan.types.Document` reports them.

    >>> problems = Problems()
    >>> [mention.span for mention in trimmed([Mention(0, 6, "GPE"), Mention(0, 5, "GPE")], "Syria left.", problems)]
    [(0, 5), (0, 5)]
    >>> problems.notes
    {'white space at the ends of a mention left out': 1}
    """
    kept: list[Mention] = []
    for mention in mentions:
        if _fits_text(mention, text):
            if _has_space(mention, text) and (shorter := _shorter(mention, text)):
                problems.note(SPACE_LEFT_OUT)
                mention = shorter
            if len(parts := joined(mention.fragments, text)) < len(mention.fragments):
                problems.note(PARTS_JOINED)
                mention = evolve(mention, fragments=parts)
        kept.append(mention)
    return kept


def without_empty_gaps(document: Document, problems: Problems) -> Document:
    """The document with its discontinuous mentions :func:`trimmed`, unless it has sentences, which define the words.

    >>> heart = Document("left\\nventricle", [Mention(0, 14, "part", [(0, 4), (5, 14)])])
    >>> without_empty_gaps(heart, Problems()).mentions
    frozenset({Mention(0, 14, 'part', text='left\\nventricle')})
    """
    if document.sentences or not any(mention.fragments for mention in document.mentions):
        return document
    parted = [mention for mention in document.mentions if mention.fragments]
    return evolve(document, mentions=[*(document.mentions - {*parted}), *trimmed(parted, document.text, problems)])


def _fits_text(mention: Mention, text: str) -> bool:
    return mention.end <= len(text) and mention.text in ("", text[mention.start : mention.end])


def _has_space(mention: Mention, text: str) -> bool:
    """Whether a mention of the text, or one of its fragments, begins or ends with white space."""
    return any(text[start].isspace() or text[end - 1].isspace() for start, end in mention.parts)


def _shorter(mention: Mention, text: str) -> Mention | None:
    spans = [span for given in mention.parts if (span := without_space(given, text))]
    if not spans:
        return None
    start, end = spans[0][0], spans[-1][1]
    head = without_space(mention.head, text) if mention.head else None
    head = head if head and start <= head[0] and head[1] <= end else None
    fragments = tuple(spans) if len(spans) > 1 else ()
    return evolve(mention, start=start, end=end, fragments=fragments, head=head, text="")


def joined(spans: Iterable[Span], text: str = "") -> list[Span]:
    """Sorted spans, joined where they touch; with a text, also if only white space is between them.

    >>> joined([(0, 2), (2, 3), (5, 6)]), joined([(0, 3), (4, 8), (13, 18)], "red cell and cells")
    ([(0, 3), (5, 6)], [(0, 8), (13, 18)])
    """
    result: list[Span] = []
    for start, end in spans:
        if result and (start <= (before := result[-1][1]) or text[before:start].isspace()):
            start = result.pop()[0]
        result.append((start, end))
    return result


def without_space(span: Span, text: str) -> Span | None:
    """The span without white space at its ends, or None if nothing remains."""
    covered = text[slice(*span)]
    start = span[0] + len(covered) - len(covered.lstrip())
    return (start, start + len(covered.strip())) if covered.strip() else None
