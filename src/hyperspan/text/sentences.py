"""Split any text into sentences and tokens, in time linear in its length. All splitting of text happens here.

A boundary inside a paragraph is found from a stop and at most :data:`CONTEXT` characters before and after it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice
from operator import itemgetter

from attrs import evolve

from hyperspan.text.paragraphs import paragraph_spans
from hyperspan.text.tokens import WORDS, Tokenizer, is_unspaced, tokenize_all
from hyperspan.types import Sentence, Span, trusted_sentence

CONTEXT = 48
"""The number of characters inspected before and after a stop."""

_STOPS = ".!?…‽‼⁇⁈⁉"
_WIDE_STOPS = "。！？｡．।॥။។៕།༎።፧᠃꧉᭞᭟︒﹒﹖﹗"
"""Stops of scripts that put no space after them."""
_NO_SENTENCE = re.compile(r"[、，；：､,;:]|(?<=[」』｣])[とっ]")
"""Signs that the sentence continues after such a stop: a comma, or the Japanese particle after a quotation."""
_CLOSERS = "\"'”’»›)]}*_」』】）〉》｣〕〗］｝＂＇"
_OPENERS = "\"'“‘«‹„([{*_¿¡–—•-"
_STOP = re.compile(rf"[{re.escape(_STOPS + _WIDE_STOPS + '؟۔')}]++[{re.escape(_CLOSERS)}]*+(?:[ \u00a0][”»)\]])?+")
_SPACE = re.compile(r"\s*+")
_NOTE = re.compile(r"(?:\[(?:\d[\d,\s–-]{0,20}|[a-z][a-z ]{0,30})\]\s?+){1,8}+")
"""References after a stop, [12] [13], belong to the sentence before."""

_NEVER_LAST = frozenset(
    """mr mrs ms mx dr prof fr sra rev hon maj capt cpt sgt cpl cmdr adm messrs mme mlle vs e.g i.e eg ie cf approx viz resp
    vols nos nr pp figs eq eqs secs chap chr suppl incl excl esp bzw z.b d.h u.a""".split()
)
"""Abbreviations that never end a sentence."""
_NUMBERED = frozenset("no p fig sec ch art par para pt tab ex app cl div fol".split())
"""Abbreviations before a number, which are also words or can end sentences."""
_OFTEN_LAST = frozenset(
    """etc al inc corp co ltd llc plc bros jr sr esq ph.d m.d gen col lt gov pres sen rep st mt ft v ca ed eds vol ref refs dept univ jan feb mar apr jun jul aug sep sept oct nov dec
    mon tue tues wed thu thurs fri sat sun ave blvd rd sq ext spp sp subsp var usw
    proc natl acad sci biol chem immunol physiol""".split()
)
"""Abbreviations that end a sentence if the next word often begins sentences."""
_STARTERS = frozenset(
    """the a an this that these those it its it's he she they we i i'm you there here in on at by for from to with as after
    before during when while since if although though however moreover furthermore therefore thus hence then now so but and or
    yet nor not no our my his her their your what who why how where which whose all some many most both each every such one two
    three another other also finally first second third next later today perhaps maybe yes well oh he's she's they're we're
    don't let's is are was were do does did can could will would should may might has have had figure table""".split()
)
_OFTEN_LAST_OF_ALL = frozenset("a.m p.m i.v i.p i.m s.c p.o".split())
"""Abbreviations that end a sentence before any capitalised word that is not a time zone."""
_ZONE = re.compile(r"[A-Z]{2,5}\b|(?:Eastern|Central|Mountain|Pacific|Greenwich)\b")
_SMALL_WORDS = frozenset(
    "by and with of to from for the a an in on at or as dr mr mrs ms prof named called & vs".split()
)
"""Before a capital with a dot, these suggest the initial of a name rather than a sentence end ("hepatitis B.")."""
_SAID = re.compile(
    r"(?:(?:[A-Z][\w’'-]*+\.?|the|my|his|her|our|their)\s++){1,3}+(?:said|says?|ask(?:s|ed)?|replie[ds]|cried|answered|shouted|added|called"
    r"|whispered|yelled|continued|exclaimed|wondered|told|muttered|screamed|demanded|inquired|remarked|repeated|howled|went)\b"
)
"""The speaker of a preceding quotation: "Why?" Mrs. Lee asked."""
_ENUMERATION = re.compile(r"[(\[]?(?:\d{1,3}(?:\.\d{1,2})*|[A-Za-z]|[ivxIVX]{1,5})")
_ACRONYM = re.compile(r"(?:\w\.-?)+\w")  # U.S, i.v, a.m: the last dot is the stop
_INITIAL = re.compile(r"[^\W\d_]")
_NAME = re.compile(r"[A-Z]\S*\s+[A-Z][.\w]")
_MONTH = re.compile(
    r"(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b"
)  # am 3. Mai
_FIRST_PERSON = re.compile(r"I\b")


def sentence_ends(text: str, start: int, end: int) -> Iterator[Span]:
    """The sentences of a paragraph; white space after a sentence belongs to it.

    >>> text = "It is P < 0.05. We have it (Fig. 1) on Chr. 10. Why?"
    >>> [text[a:b] for a, b in sentence_ends(text, 0, len(text))]
    ['It is P < 0.05. ', 'We have it (Fig. 1) on Chr. 10. ', 'Why?']
    """
    begin = start
    lower = text[start:end].islower()  # "i am here. you are there."
    for stop in _STOP.finditer(text, start, end):
        after = _after(text, stop.end(), end)
        if after >= end:
            break
        if (after > stop.end() or _needs_no_space(text, stop)) and _ends(text, begin, stop, after, end, lower):
            yield begin, after
            begin = after
    if begin < end:
        yield begin, end


def _needs_no_space(text: str, stop: re.Match[str]) -> bool:
    """Whether a stop may end a sentence without white space after it: 好。好, 好!好, but not ３．５."""
    mark, following = text[stop.start()], text[stop.end() : stop.end() + 1]
    if mark == "．":
        return not following.isdigit()
    return mark in _WIDE_STOPS or (mark in "!?‼⁇⁈⁉" and is_unspaced(following))


def _after(text: str, place: int, end: int) -> int:
    """The position after a stop and the white space and references that follow it."""
    after = _SPACE.match(text, place, end).end()  # type: ignore[union-attr]: it always matches
    if after > place and text[after : after + 1] == "[":
        note = _NOTE.match(text, after, end)
        if note is not None:
            return _SPACE.match(text, note.end(), end).end()  # type: ignore[union-attr]
    return after


def _ends(text: str, begin: int, stop: re.Match[str], after: int, end: int, lower: bool) -> bool:
    """Whether a stop ends the sentence from `begin`, if the text continues at `after`; `lower`: no capitals."""
    mark = text[stop.start()]
    if mark in _WIDE_STOPS:
        return _NO_SENTENCE.match(text, after, end) is None
    before = text[max(begin, stop.start() - CONTEXT) : stop.start()]
    if not before.strip(_OPENERS + " \t\n\r\xa0") or before[-1] == "(":  # "... and so", "(?)"
        return False
    following = text[after : min(after + CONTEXT, end)]
    bare = following.lstrip(_OPENERS)
    first = bare[:1]
    if not first or first.isspace() or first in ".,;:)":
        return False
    if mark == "." and stop[0][1:2] != ".":
        verdict = None if before[-1].isspace() else _after_word(before, stop, begin, bare, len(following) > len(bare))
        return lower or _begins(following, bare) if verdict is None else verdict
    if mark in ".…" and _FIRST_PERSON.match(bare):
        return False
    if stop[0][-1] in "\"'”’" and _SAID.match(following):
        return False
    return lower or not first.islower()


def _begins(following: str, bare: str) -> bool:
    """Whether the text after an ordinary word with a dot begins a sentence: "The …", "p53 binds …", but not "the …"."""
    if not bare[0].islower():
        return True
    if following[0] == "(":
        return True
    word = bare.split(None, 1)[0]
    named = any(character.isdigit() or character.isupper() for character in word)
    return named and following[0] == bare[0] and ":" not in word and "www." not in word and "@" not in word


def _after_word(before: str, stop: re.Match[str], begin: int, bare: str, opened: bool) -> bool | None:
    """The decision from the word before a single dot; None if it is an ordinary word."""
    *earlier, last = before.split()
    word = last.strip(_OPENERS)
    key, first = word.casefold(), bare[0]
    if len(before) == len(last) and begin == stop.start() - len(last) and _ENUMERATION.fullmatch(last):
        return False  # "1. Introduction"
    if key in _NEVER_LAST or (word.isdecimal() and len(word) < 3 and _MONTH.match(bare)):
        return False
    if key in _NUMBERED and (
        first.isdigit() or bare[1:2].isdigit() or (key != "no" and bare[:1] in "IVX" and bare[1:2] in "IVX.")
    ):
        return False
    if _INITIAL.fullmatch(word) and word.islower():
        return None if not first.isdigit() and last == word else False  # "(b. 1960)"
    if key in _OFTEN_LAST_OF_ALL:
        return first.isupper() and not _ZONE.match(bare)
    starts = first.isupper() and _first_word(bare) in _STARTERS
    if _INITIAL.fullmatch(word):
        name = not earlier or earlier[-1][:1].isupper() or earlier[-1].casefold().strip(_OPENERS) in _SMALL_WORDS
        return starts or (not name and first.isupper() and not _NAME.match(bare))
    if key in _OFTEN_LAST or _ACRONYM.fullmatch(word):
        return starts or (opened and first.isupper())
    return None


def _first_word(bare: str) -> str:
    return bare.split(None, 1)[0].rstrip(_CLOSERS + ",;:.!?…").casefold().replace("’", "'")


MOST_TOKENS = 500
"""A longer sentence is cut at the best place."""
TOGETHER = 20_000
"""The number of characters tokenised at a time: enough for speed, little memory for a long text."""

_CUT_QUALITY = dict.fromkeys(";:；：", 2) | dict.fromkeys(",，、၊", 1)


def sentence_spans(text: str) -> Iterator[Span]:
    """The spans of the sentences of a text, without spans of white space alone."""
    for start, end in paragraph_spans(text):
        for span in sentence_ends(text, start, end):
            if not text[slice(*span)].isspace():
                yield span


def split_text(text: str, tokenizer: Tokenizer = WORDS) -> list[Sentence]:
    """Split a text into sentences, with the offsets of each token.

    >>> [sentence.tokens for sentence in split_text("Dr. Grey met Lee. Why?")]
    [('Dr.', 'Grey', 'met', 'Lee', '.'), ('Why', '?')]
    """
    return list(iter_sentences(text, tokenizer))


def iter_sentences(text: str, tokenizer: Tokenizer = WORDS) -> Iterator[Sentence]:
    """Yield the sentences of :func:`split_text` one by one, for texts whose tokens would fill the memory."""
    for stretches in _together(sentence_spans(text)):
        for offsets in tokenize_all(text, stretches, tokenizer):
            yield from (sentence_of(text, part) for part in cut_long(text, offsets))


def _together(spans: Iterable[Span]) -> Iterator[list[Span]]:
    group: list[Span] = []
    for span in spans:
        group.append(span)
        if span[1] - group[0][0] >= TOGETHER:
            yield group
            group = []
    if group:
        yield group


def token_spans(text: str, start: int, end: int, tokenizer: Tokenizer) -> Sequence[Span]:
    """The tokens of a span of the text, as offsets in the whole text."""
    return tokenize_all(text, [(start, end)], tokenizer)[0]


def sentence_of(text: str, offsets: Sequence[Span]) -> Sentence:
    """The sentence with these tokens of the text."""
    return trusted_sentence(tuple([text[start:end] for start, end in offsets]), tuple(offsets))


def cut_long(text: str, tokens: Sequence[Span], whole: Sequence[Span] = ()) -> Iterator[Sequence[Span]]:
    """The tokens of a sentence, in parts of up to MOST_TOKENS if there are more.

    They are cut at line breaks, else at semicolons, else at commas and at spaces of scripts without word spaces, else
    anywhere, but never inside the spans in `whole`, even if a part becomes longer.
    """
    if len(tokens) <= MOST_TOKENS:
        yield tokens
        return
    closed = {place for span in whole for place in _places_inside(tokens, span)}
    first = 0
    while len(tokens) - first > MOST_TOKENS:
        places = [p for p in range(first + MOST_TOKENS, first + MOST_TOKENS // 2, -1) if p not in closed]
        if not places:
            later = range(first + MOST_TOKENS + 1, len(tokens))
            places = [next((place for place in later if place not in closed), len(tokens))]
            if places[0] == len(tokens):
                break
        last = max(places, key=lambda place: _cut_quality(text, tokens[place - 1], tokens[place][0]))
        yield tokens[first:last]
        first = last
    yield tokens[first:]


def _places_inside(tokens: Sequence[Span], span: Span) -> range:
    """The token indices before which a cut would be inside a span of the text."""
    return range(
        bisect_right(tokens, span[0], key=itemgetter(0)),
        bisect_left(tokens, span[1], key=itemgetter(0)),
    )


def _cut_quality(text: str, before: Span, after: int) -> int:
    """The quality of a cut after a token; the next token starts at `after`."""
    start, end = before
    if "\n" in text[end:after]:
        return 3
    return _CUT_QUALITY.get(text[end - 1], int(end < after and is_unspaced(text[start])))


def with_context(sentences: Iterable[Sentence], words: int) -> Iterator[Sentence]:
    """Yield the sentences of a document, each with up to `words` words before and after it, lazily.

    >>> zoo = [Sentence(["The", "zoo"]), Sentence(["sleeps"]), Sentence(["Why", "?"])]
    >>> [(sentence.before, sentence.after) for sentence in with_context(zoo, 2)]
    [((), ('sleeps', 'Why')), (('The', 'zoo'), ('Why', '?')), (('zoo', 'sleeps'), ())]
    """
    if words == 0:
        yield from sentences
        return
    before: deque[str] = deque(maxlen=words)
    waiting: deque[Sentence] = deque()
    ahead = 0  # words of waiting sentences, except the first
    for sentence in chain(sentences, (None,)):
        if sentence is not None:
            ahead += len(sentence) if waiting else 0
            waiting.append(sentence)
        while waiting and (ahead >= words or sentence is None):
            first = waiting.popleft()
            ahead -= len(waiting[0]) if waiting else 0
            after = islice((token for later in waiting for token in later.tokens), words)
            yield evolve(first, before=before, after=after)
            before.extend(first.tokens)


def texts(documents: Iterable[Sequence[Sentence]], joined: bool) -> Iterator[Iterable[Sentence]]:
    """The sentences of each document; if `joined`, consecutive one-sentence documents form one text.

    >>> zoo, sleeps, why = Sentence(["The", "zoo"]), Sentence(["sleeps"]), Sentence(["Why", "?"])
    >>> [len(list(text)) for text in texts([[zoo], [sleeps], [zoo, why], [why]], joined=True)]
    [2, 2, 1]
    """
    if not joined:
        yield from documents
        return
    for single, group in groupby(documents, key=lambda sentences: len(sentences) == 1):
        if single:
            yield chain.from_iterable(group)
        else:
            yield from group
