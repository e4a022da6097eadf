"""Tags and spans: the schemes against each other, against conlleval's rules, and layers against brute force."""

from __future__ import annotations

from itertools import pairwise, product
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.corpora.tags import (
    LabelledSpan,
    Scheme,
    TagError,
    decode,
    encode,
    fitting,
    guess_scheme,
    layers_of,
)
from hyperspan.errors import SpanError

LENGTH = 12
LABELS = st.sampled_from(["PER", "cell-line", "B-O_I", "O"])
schemes = st.sampled_from(get_args(Scheme))


@st.composite
def flat_spans(draw: st.DrawFn) -> list[LabelledSpan]:
    cuts = sorted(draw(st.sets(st.integers(0, LENGTH), max_size=8)))
    pieces = pairwise(cuts)
    return [(start, end, draw(LABELS)) for start, end in pieces if draw(st.booleans())]


any_spans = st.lists(
    st.tuples(st.integers(0, LENGTH - 1), st.integers(1, 6), LABELS).map(
        lambda drawn: (drawn[0], min(LENGTH, drawn[0] + drawn[1]), drawn[2])
    ),
    max_size=10,
)


def overlap(one: LabelledSpan, other: LabelledSpan) -> bool:
    return one[0] < other[1] and other[0] < one[1]


@given(flat_spans(), schemes)
def test_decoding_inverts_encoding(spans: list[LabelledSpan], scheme: Scheme) -> None:
    tags = encode(spans, LENGTH, scheme)
    assert decode(tags, scheme) == (spans, [])
    assert decode(tags, scheme, repair=True) == (spans, [])


@given(st.lists(flat_spans(), min_size=1, max_size=5), schemes)
def test_the_scheme_is_guessed_from_any_mention(sentences: list[list[LabelledSpan]], scheme: Scheme) -> None:
    guess = guess_scheme([encode(spans, LENGTH, scheme) for spans in sentences])
    assert guess == (scheme if any(sentences) else "IOB2")


def test_a_few_mistakes_do_not_mislead_the_guess() -> None:
    assert guess_scheme([["B-X", "I-X", "O", "B-X"]] * 5 + [["O", "I-X"]]) == "IOB2"
    assert guess_scheme([["I-X", "I-X", "O", "I-X"]] * 5 + [["O", "B-X"]]) == "IOB1"
    assert guess_scheme([["B-X", "E-X", "S-X"]] * 5 + [["O", "I-X"]]) == "BIOES"


@pytest.mark.parametrize(
    ("tags", "scheme", "errors"),
    [
        ("O I-PER", "IOB2", [(1, "I-PER after O")]),
        ("I-PER", "IOB2", [(0, "I-PER at the beginning")]),
        ("B-PER I-LOC", "IOB2", [(1, "I-LOC after B-PER")]),
        ("B-PER O", "IOB1", [(0, "B-PER at the beginning")]),
        ("I-PER B-LOC", "IOB1", [(1, "B-LOC after I-PER")]),
        ("B-PER O", "BIOES", [(1, "O after B-PER")]),
        ("S-PER B-PER", "BIOES", [(1, "B-PER at the end")]),
        ("S-PER I-PER E-PER", "BIOES", [(1, "I-PER after S-PER")]),
        ("S-PER O", "BILOU", [(0, "'S-PER' is no BILOU tag")]),
        ("O PER B- O-PER b-PER", "IOB2", [(1, "'PER' is no IOB2 tag"), (2, "'B-' is no IOB2 tag"), (3, "'O-PER' is no IOB2 tag"), (4, "'b-PER' is no IOB2 tag")]),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_position(tags: str, scheme: Scheme, errors: list[tuple[int, str]]) -> None:
    assert decode(tags.split(), scheme) == ([], [TagError(*error) for error in errors])


def conlleval(tags: list[str]) -> list[LabelledSpan]:
    """The rules of conlleval.pl, word for word, for the tags B, I and O."""
    spans, start = [], 0
    before_kind, before_label, inside = "O", "", False
    for position, tag in enumerate([*tags, "O"]):
        kind, _, label = tag.partition("-")
        ends = (before_kind + kind in ("BB", "BO", "IB", "IO")) or (before_kind != "O" and before_label != label)
        begins = (before_kind + kind in ("BB", "IB", "OB", "OI")) or (kind != "O" and before_label != label)
        if inside and ends:
            spans.append((start, position, before_label))
            inside = False
        if begins:
            start, inside = position, True
        before_kind, before_label = kind, label
    return spans


@pytest.mark.parametrize("scheme", get_args(Scheme))
def test_repairing_reads_as_conlleval_does(scheme: Scheme) -> None:
    for tags in product(["O", "B-X", "I-X", "B-Y", "I-Y"], repeat=4):
        assert decode(tags, scheme, repair=True) == (conlleval(list(tags)), [])


def test_repairing_reads_ends_and_singles_too() -> None:
    tags = ["I-X", "E-X", "E-X", "S-X", "I-X", "L-X", "U-X", "B-X"]
    spans = [(0, 2, "X"), (2, 3, "X"), (3, 4, "X"), (4, 6, "X"), (6, 7, "X"), (7, 8, "X")]
    assert decode(tags, "IOB2", repair=True) == (spans, [])
    assert decode(["X"], "IOB2", repair=True) == ([], [TagError(0, "'X' is no tag")])


@given(st.lists(st.text(max_size=4)), schemes, st.booleans())
def test_any_strings_decode_or_are_wrong(tags: list[str], scheme: Scheme, repair: bool) -> None:
    spans, errors = decode(tags, scheme, repair)
    assert not (spans and errors)
    assert all(0 <= position < len(tags) for position, _ in errors)


@pytest.mark.parametrize(
    "spans", [[(0, 2, "X"), (1, 3, "X")], [(0, 1, "X"), (0, 1, "Y")], [(3, 5, "X")], [(1, 1, "X")]]
)
def test_spans_that_are_not_flat_cannot_be_encoded(spans: list[LabelledSpan]) -> None:
    with pytest.raises(SpanError, match="give spans inside the sentence that do not overlap"):
        encode(spans, 4, "IOB2")


@given(any_spans, st.booleans())
def test_layers_are_flat_complete_and_as_few_as_can_be(spans: list[LabelledSpan], innermost_first: bool) -> None:
    layers = layers_of(spans, innermost_first)
    assert sorted(span for layer in layers for span in layer) == sorted(spans)
    assert not any(overlap(one, other) for layer in layers for one in layer for other in layer if one is not other)
    deepest = max((sum(start <= at < end for start, end, _ in spans) for at in range(LENGTH)), default=0)
    assert len(layers) == deepest


@given(any_spans)
def test_nested_spans_are_layered_from_outside_or_from_inside(spans: list[LabelledSpan]) -> None:
    crossing = any(one[0] < other[0] < one[1] < other[1] for one in spans for other in spans)
    if not crossing:
        for innermost_first in (False, True):
            depth = {span: n for n, layer in enumerate(layers_of(spans, innermost_first)) for span in layer}
            for inner, outer in product(depth, depth):
                if outer[0] <= inner[0] and inner[1] <= outer[1] and inner[:2] != outer[:2]:
                    assert (depth[inner] < depth[outer]) == innermost_first


@given(any_spans, st.integers(1, 3))
def test_what_fits_is_kept_in_order_of_preference(spans: list[LabelledSpan], layers: int) -> None:
    kept = fitting(spans, LENGTH, layers)
    assert len(layers_of(kept)) <= layers
    expected: list[LabelledSpan] = []
    for span in spans:
        if len(layers_of([*expected, span])) <= layers:
            expected.append(span)
    assert kept == expected
