"""BIOHD tags: what they stand for, which sets they can represent, and chains of them."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.baselines.biohd import (
    BEGIN,
    BEGIN_D,
    BEGIN_H,
    OUTSIDE,
    TAGS,
    TypeChains,
    may_follow,
    mentions_of_parts,
    segments_of_tags,
    tags_of_parts,
)
from hyperspan.structures.mentions import AnyMention, Limits, with_parts
from tests.structures.brute_force import log_sum

LIMITS = Limits(parts=3, width=0, gap=4, later_width=0)


def mention_of(*parts: tuple[int, int]) -> AnyMention:
    return with_parts(parts, 0)


@pytest.mark.parametrize(
    ("mentions", "tags"),
    [
        ([((0, 2),), ((3, 4),)], "B I O B O"),
        ([((0, 1), (3, 5))], "BD O O BD ID"),
        ([((0, 1), (4, 5)), ((2, 3), (4, 5))], "BD O BD O BH"),
        ([((0, 1), (3, 5)), ((2, 5),)], "BD O BD BH IH"),
        ([((0, 1), (2, 3), (4, 5))], "BD O BD O BD"),
        ([((0, 1), (2, 3)), ((4, 5),)], "BD O BD O B"),
        ([((0, 1), (2, 3)), ((0, 1), (4, 5))], "BH O BD O BD"),
        ([], "O O O O O"),
    ],
)
def test_tags_stand_for_sets_that_they_can_represent(mentions: list[tuple[tuple[int, int], ...]], tags: str) -> None:
    wanted = {mention_of(*parts) for parts in mentions}
    found = tags_of_parts(wanted, 5, LIMITS)
    assert " ".join(TAGS[tag] for tag in found) == tags
    assert mentions_of_parts(found, 0, LIMITS) == wanted


def test_tags_of_a_set_beyond_them_are_those_with_the_fewest_errors() -> None:
    parts, inner = mention_of((0, 2), (3, 4)), mention_of((0, 1))
    assert mentions_of_parts(tags_of_parts({parts, inner}, 4, LIMITS), 0, LIMITS) == {parts}
    overlapping = {mention_of((0, 3)), mention_of((2, 4))}
    assert mentions_of_parts(tags_of_parts(overlapping, 4, LIMITS), 0, LIMITS) == {mention_of((0, 3))}
    far = {mention_of((0, 1), (6, 7)), mention_of((6, 8))}
    assert mentions_of_parts(tags_of_parts(far, 8, LIMITS), 0, LIMITS) == {mention_of((6, 8))}


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ([BEGIN_D, 0, 0, 0, 0, 0, BEGIN_D], []),
        ([BEGIN_D], []),
        ([BEGIN_H], []),
        ([BEGIN_D, 0, BEGIN_D, 0, BEGIN_D, 0, BEGIN_D], [((0, 1), (2, 3)), ((4, 5), (6, 7))]),
        ([BEGIN_D, 0, BEGIN_H, 0, BEGIN_H, 0, BEGIN_D], [((0, 1), (2, 3)), ((4, 5), (6, 7))]),
        ([BEGIN_D, BEGIN_H, BEGIN], [((0, 2),), ((2, 3),)]),
    ],
)
def test_segments_are_joined_with_the_nearest_head_or_in_order(
    tags: list[int], expected: list[tuple[tuple[int, int], ...]]
) -> None:
    assert mentions_of_parts(tags, 0, LIMITS) == {mention_of(*parts) for parts in expected}


legal = st.lists(st.integers(0, 6), max_size=9).filter(
    lambda tags: all(may_follow(one, other) for one, other in itertools.pairwise([0, *tags]))
)


@given(legal)
def test_every_legal_sequence_has_segments_of_all_its_words(tags: list[int]) -> None:
    words = sorted(word for spans in segments_of_tags(tags).values() for span in spans for word in range(*span))
    assert words == [word for word, tag in enumerate(tags) if tag]
    mentions_of_parts(tags, 0, LIMITS)


@given(legal)
def test_tags_of_a_set_never_lead_to_more_errors_than_leaving_its_parts_out(tags: list[int]) -> None:
    wanted = mentions_of_parts(tags, 0, LIMITS)
    again = mentions_of_parts(tags_of_parts(wanted, len(tags), LIMITS), 0, LIMITS)
    assert len(again ^ wanted) <= len({one for one in wanted if len(one) == 4 or TAGS[tags[one[0]]] != "B"})


def test_chains_agree_with_all_sequences() -> None:
    lengths, t = [3, 2, 0], len(TAGS)
    generator = torch.Generator().manual_seed(1)
    emit, step, first = (
        torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in ((3, 3, 2, t), (2, t, t), (2, t))
    )
    given_ = TypeChains(emit, step, first, lengths)
    partition, posteriors, best = given_.log_partition, given_.posteriors(), given_.best()
    for b, length in enumerate(lengths):
        for kind in range(2):
            scores = {
                tags: float(
                    sum(first[kind, tag] for tag in tags[:1])
                    + sum(emit[b, i, kind, tag] for i, tag in enumerate(tags))
                    + sum(step[kind, one, other] for one, other in itertools.pairwise(tags))
                )
                for tags in itertools.product(range(t), repeat=length)
                if all(may_follow(*pair) for pair in itertools.pairwise((OUTSIDE, *tags)))
            }
            total = log_sum(scores.values())
            assert math.isclose(partition[b, kind], total, abs_tol=1e-9)
            assert tuple(best[b, :length, kind]) == max(scores, key=lambda tags: scores[tags])
            for position, tag in itertools.product(range(length), range(t)):
                expected = sum(math.exp(value - total) for tags, value in scores.items() if tags[position] == tag)
                assert math.isclose(posteriors[b, position, kind, tag], expected, abs_tol=1e-9)
            assert math.isclose(given_.score(best)[b, kind], max(scores.values()), abs_tol=1e-9)
