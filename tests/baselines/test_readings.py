"""What starts, ends and insides say about mentions, and what they leave open."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.baselines.readings import Structure, closure, is_ambiguous, read, structure_of
from hyperspan.structures import MentionSet
from tests.baselines.cases_mention_separators import closed
from tests.structures.brute_force import all_mentions, all_sets

B_C, A_B_C_D = (1, 3, 0), (0, 4, 0)


def sets_of_words(n: int, types: int) -> st.SearchStrategy[MentionSet]:
    return st.frozensets(st.sampled_from(all_mentions(n, types, n)), max_size=8)


def by_structure(n: int, types: int) -> dict[Structure, list[MentionSet]]:
    groups: dict[Structure, list[MentionSet]] = {}
    for mentions in all_sets(all_mentions(n, types, n)):
        groups.setdefault(structure_of(mentions), []).append(mentions)
    return groups


@pytest.mark.parametrize(("n", "types"), [(4, 1), (2, 2), (3, 1), (1, 3), (0, 1)])
def test_every_structure_of_a_small_sentence(n: int, types: int) -> None:
    """Of the sets with one structure, "all" reads the union; both readings are among them; alone means unambiguous."""
    for structure, sets in by_structure(n, types).items():
        assert read(structure, "all") == frozenset().union(*sets) == closed(sets[0])
        assert read(structure, "all") in sets and read(structure, "nested") in sets
        for mentions in sets:
            assert closure(mentions) == read(structure)
            assert is_ambiguous(mentions) == (len(sets) > 1)


@given(sets_of_words(7, 2))
def test_readings_keep_the_structure(mentions: MentionSet) -> None:
    structure = structure_of(mentions)
    largest, nested = read(structure, "all"), read(structure, "nested")
    assert structure_of(largest) == structure_of(nested) == structure
    assert mentions <= largest and nested <= largest
    assert closure(largest) == largest and read(structure_of(nested), "nested") == nested
    assert is_ambiguous(mentions) or mentions == largest == nested


@given(sets_of_words(7, 2))
def test_the_nested_reading_does_not_cross(mentions: MentionSet) -> None:
    for one, other in itertools.permutations(read(structure_of(mentions), "nested"), 2):
        assert not (one[2] == other[2] and one[0] < other[0] < one[1] < other[1])


@pytest.mark.parametrize(
    ("mentions", "nested"),
    [
        ({B_C, A_B_C_D}, {B_C, A_B_C_D}),
        ({B_C, A_B_C_D, (0, 3, 0), (1, 4, 0)}, {B_C, A_B_C_D}),
        ({(0, 3, 0), (1, 4, 0)}, {B_C, A_B_C_D}),  # that two mentions cross cannot be seen
        ({(0, 5, 0), (1, 3, 0), (2, 3, 0)}, {(0, 5, 0), (2, 3, 0), (1, 5, 0)}),  # a start is left over
        ({(0, 5, 0), (0, 2, 0), (0, 3, 0)}, {(0, 5, 0), (0, 2, 0), (0, 3, 0)}),  # ends are left over
        ({(0, 2, 0), (2, 3, 0)}, {(0, 2, 0), (2, 3, 0)}),  # nothing goes on between them
        ({(0, 2, 0), (1, 3, 1)}, {(0, 2, 0), (1, 3, 1)}),  # types know nothing of each other
    ],
)
def test_nested_examples(mentions: set[tuple[int, int, int]], nested: set[tuple[int, int, int]]) -> None:
    assert read(structure_of(mentions), "nested") == nested


def test_mistakes_are_explained() -> None:
    with pytest.raises(ValueError, match="one of all, nested, got 'some'"):
        read(structure_of([]), "some")  # type: ignore[arg-type]
    place = frozenset({(1, 0)})
    nothing: frozenset[tuple[int, int]] = frozenset()
    for structure in (
        Structure(place, nothing, nothing),
        Structure(nothing, place, nothing),
        Structure(nothing, nothing, place),
    ):
        for reading in ("all", "nested"):
            with pytest.raises(ValueError, match="every start to reach an end"):
                read(structure, reading)
