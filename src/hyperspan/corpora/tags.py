"""Convert between tag sequences and labelled spans, in the four schemes that corpora use.

::

    token      IOB1     IOB2     BIOES    BILOU
    Ada        I-PER    B-PER    B-PER    B-PER
    Lovelace   I-PER    I-PER    E-PER    L-PER
    Babbage    B-PER    B-PER    S-PER    U-PER
    met        O        O        O        O

The first "-" separates the kind of a tag from its label; labels may contain more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from hyperspan.errors import SpanError

Scheme = Literal["IOB1", "IOB2", "BIOES", "BILOU"]
LabelledSpan = tuple[int, int, str]

_OUTSIDE = "O"
_KINDS = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S"}
"""BILOU's "last" and "unit" are the end and single tags of BIOES; otherwise the schemes are equal."""
_PREFIXES: dict[Scheme, str] = {"IOB1": "BIIB", "IOB2": "BIIB", "BIOES": "BIES", "BILOU": "BILU"}
"""The prefixes of the first, inner, last and only token of a mention."""


class TagError(NamedTuple):
    """An error at a position of a tag sequence."""

    position: int
    what: str


def decode(tags: Sequence[str], scheme: Scheme, repair: bool = False) -> tuple[list[LabelledSpan], list[TagError]]:
    """The spans of a tag sequence and its errors; a malformed sequence has no spans.

    With `repair` it is read as the script conlleval does, whatever its scheme: a mention begins with B or S, where the
    label changes, and where none is open. Only strings that are not tags are errors then.

    >>> decode(["B-PER", "I-PER", "O", "B-LOC"], "IOB2")
    ([(0, 2, 'PER'), (3, 4, 'LOC')], [])
    >>> decode(["O", "I-PER"], "IOB2")
    ([], [TagError(position=1, what='I-PER after O')])
    >>> decode(["O", "I-PER"], "IOB2", repair=True)
    ([(1, 2, 'PER')], [])
    """
    errors = _mistakes(tags, None if repair else scheme)
    return ([] if errors else _conlleval_spans(tags)), errors


def encode(spans: Iterable[LabelledSpan], length: int, scheme: Scheme) -> list[str]:
    """The tags of `length` tokens with spans that do not overlap.

    >>> encode([(0, 2, "PER"), (2, 3, "PER")], 4, "IOB1")
    ['I-PER', 'I-PER', 'B-PER', 'O']
    """
    begin, inside, end, single = _PREFIXES[scheme]
    tags = [_OUTSIDE] * length
    before: LabelledSpan = (0, 0, "")
    for span in sorted(spans):
        start, stop, label = span
        if not before[1] <= start < stop <= length:
            raise SpanError(
                f"span {start}:{stop} cannot be tagged together with span {before[0]}:{before[1]} in {length} tokens; "
                "give spans inside the sentence that do not overlap"
            )
        tags[start:stop] = [f"{inside}-{label}"] * (stop - start)
        tags[stop - 1] = f"{end}-{label}"
        if scheme != "IOB1" or before[1:] == (start, label):
            tags[start] = f"{begin if stop - start > 1 else single}-{label}"
        before = span
    return tags


def guess_scheme(sequences: Iterable[Sequence[str]]) -> Scheme:
    """The scheme that explains the tag sequences with the fewest errors; IOB2 if there are no mentions.

    >>> guess_scheme([["O", "S-PER", "O"], ["B-LOC", "E-LOC"]])
    'BIOES'
    """
    mistakes = dict.fromkeys(("IOB2", "IOB1", "BIOES", "BILOU"), 0)
    for tags in sequences:
        for scheme in mistakes:
            mistakes[scheme] += len(_mistakes(tags, scheme))
    return min(mistakes, key=mistakes.__getitem__)


def is_tag(text: str) -> bool:
    """Whether a string is a tag in some scheme.

    >>> is_tag("O"), is_tag("B-cell-line"), is_tag("B-"), is_tag("NN")
    (True, True, False, False)
    """
    return text == _OUTSIDE or (text[:1] in _KINDS and text[1:2] == "-" and len(text) > 2)


def layers_of(spans: Iterable[LabelledSpan], innermost_first: bool = False) -> list[list[LabelledSpan]]:
    """Arrange spans in as few layers as possible, without overlap inside a layer; outer spans come first.

    With `innermost_first` inner spans come first, unless that needs more layers (possible if spans cross).

    >>> layers_of([(1, 2, "GPE"), (0, 3, "FAC"), (4, 5, "PER")])
    [[(0, 3, 'FAC'), (4, 5, 'PER')], [(1, 2, 'GPE')]]
    >>> layers_of([(1, 2, "GPE"), (0, 3, "FAC"), (4, 5, "PER")], innermost_first=True)
    [[(1, 2, 'GPE'), (4, 5, 'PER')], [(0, 3, 'FAC')]]
    """
    # From left to right, first fit gives the fewest layers (interval partitioning).
    outermost = _first_fit(sorted(spans, key=lambda span: (span[0], -span[1], span[2])))
    if not innermost_first or len(outermost) < 2:
        return outermost
    every = (span for layer in outermost for span in layer)
    innermost = _first_fit(sorted(every, key=lambda span: (span[1], -span[0], span[2])))
    return innermost if len(innermost) == len(outermost) else outermost


def fitting(spans: Iterable[LabelledSpan], length: int, layers: int) -> list[LabelledSpan]:
    """The spans that fit into `layers` layers if earlier ones take precedence.

    >>> fitting([(0, 3, "FAC"), (1, 2, "GPE"), (3, 4, "PER")], 4, layers=1)
    [(0, 3, 'FAC'), (3, 4, 'PER')]
    """
    depth = [0] * length
    kept: list[LabelledSpan] = []
    for span in spans:
        covered = depth[span[0] : span[1]]
        if max(covered) < layers:  # the deepest token decides how many layers are enough (intervals)
            depth[span[0] : span[1]] = [count + 1 for count in covered]
            kept.append(span)
    return kept


def _first_fit(spans: Iterable[LabelledSpan]) -> list[list[LabelledSpan]]:
    """Each span in the first layer without overlap; spans are sorted by start or by end."""
    layers: list[list[LabelledSpan]] = []
    for span in spans:
        for layer in layers:
            if layer[-1][1] <= span[0]:
                layer.append(span)
                break
        else:
            layers.append([span])
    return layers


def _conlleval_spans(tags: Sequence[str]) -> list[LabelledSpan]:
    spans: list[LabelledSpan] = []
    start, label = 0, ""  # of the open mention; an empty label means none is open
    for position, tag in enumerate(tags):
        if tag == _OUTSIDE and not label:
            continue
        kind, this = _parts(tag)
        if label and (kind in ("", "B", "S") or this != label):
            spans.append((start, position, label))
            label = ""
        if kind and not label:
            start, label = position, this
        if kind in ("E", "S"):
            spans.append((start, position + 1, label))
            label = ""
    return [*spans, (start, len(tags), label)] if label else spans


def _mistakes(tags: Sequence[str], scheme: Scheme | None) -> list[TagError]:
    """The errors in one scheme, or in all of them."""
    prefixes = _PREFIXES[scheme] if scheme else "".join(_KINDS)
    errors: list[TagError] = []
    before = _OUTSIDE
    for position, tag in enumerate(tags):
        if tag != _OUTSIDE or before != _OUTSIDE:
            if not is_tag(tag) or (tag != _OUTSIDE and tag[0] not in prefixes):
                errors.append(
                    TagError(position, f"{tag!r} is no tag" if scheme is None else f"{tag!r} is no {scheme} tag")
                )
            elif scheme and not _may_follow(before, tag, scheme):
                errors.append(TagError(position, f"{tag} after {before}" if position else f"{tag} at the beginning"))
        before = tag
    if scheme and tags and not _may_follow(before, _OUTSIDE, scheme):
        errors.append(TagError(len(tags) - 1, f"{before} at the end"))
    return errors


@lru_cache(maxsize=4_096)
def _may_follow(before: str, tag: str, scheme: Scheme) -> bool:
    kind, label = _parts(before)
    next_kind, next_label = _parts(tag)
    opened, same = kind in ("B", "I"), label == next_label
    if scheme == "IOB1":  # B only separates a mention from one of the same label just before it
        return next_kind != "B" or (opened and same)
    if scheme == "IOB2":
        return next_kind != "I" or (opened and same)
    return opened == (next_kind in ("I", "E")) and (same or not opened)


def _parts(tag: str) -> tuple[str, str]:
    """Kind and label of a tag; both are empty outside mentions and for invalid tags."""
    return (_KINDS[tag[0]], tag[2:]) if tag != _OUTSIDE and is_tag(tag) else ("", "")
