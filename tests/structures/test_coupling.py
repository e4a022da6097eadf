"""Which mentions are coupled: pairs, families, components; and what factors make of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.structures import CoupledHypergraph, Couplings, SegmentalHypergraph
from hyperspan.structures.coupling import FAMILIES, PairFactors, couple, pair_factors
from hyperspan.structures.pair_probabilities import pair_probabilities
from tests.structures.brute_force import all_mentions
from tests.structures.cases import STRUCTURES, Case, edge_scores

ALL: dict[str, float] = dict.fromkeys(map(str, FAMILIES), -1.0)


def by_definition(one: tuple[int, int, int], other: tuple[int, int, int]) -> str | None:
    """The family of two mentions, from the words that they share."""
    (s, e, k), (t, f, l) = sorted([one, other])  # noqa: E741
    same = "same" if k == l else "other"
    shared = set(range(s, e)) & set(range(t, f))
    if (s, e) == (t, f):
        return "span"
    if not shared:
        return f"adjacent_{same}" if e == t else None
    if e == f:
        return f"end_{same}"
    if s == t:
        return f"start_{same}"
    return f"nested_{same}" if len(shared) == f - t else f"crossing_{same}"


def naive(marginals: np.ndarray, couplings: Couplings) -> list[tuple[int, set[tuple], set[tuple]]]:
    """(sentence, members, pairs with their families) of each component, by following the definition."""
    found = []
    for sentence, some in enumerate(marginals):
        probable = {(i, i + w + 1, k): p for (i, w, k), p in np.ndenumerate(some.astype(float)) if p >= couplings.least}
        pairs = [
            (probable[a] * probable[b], a, b, family)
            for a, b in itertools.combinations(sorted(probable, key=lambda m: (m[0], m[1], m[2])), 2)
            if probable[a] * probable[b] >= couplings.least and (family := by_definition(a, b)) in couplings.both
        ]
        components: list[tuple[set, set]] = []
        for _, a, b, family in sorted(pairs, key=lambda pair: -pair[0]):
            units = {(m[0], m[2]) for m in (a, b)}
            near = [c for c in components if {a, b} & c[0] or units & {(m[0], m[2]) for m in c[0]}]
            members = {a, b}.union(*(c[0] for c in near))
            if len(members) <= couplings.most:
                components = [c for c in components if c not in near]
                components.append((members, {(a, b, family)}.union(*(c[1] for c in near))))
        found += [(sentence, *component) for component in components]
    return found


def listed(factors: list[PairFactors]) -> list[tuple[int, set[tuple], set[tuple]]]:
    found = []
    for some in factors:
        for row in range(len(some.sentence)):
            columns = (some.start[row].tolist(), some.end[row].tolist(), some.kind[row].tolist())
            members = list(zip(*columns, strict=True))
            pairs = {
                (members[a], members[b], FAMILIES[some.family[row, a, b]])
                for a, b in np.argwhere(some.family[row] >= 0)
            }
            found.append((int(some.sentence[row]), set(members), pairs))
    return found


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    least=st.sampled_from([0.003, 0.05, 0.2]),
    most=st.integers(2, 6),
    families=st.sets(st.sampled_from(FAMILIES), min_size=1),
)
def test_pair_factors_follow_the_definition(seed: int, least: float, most: int, families: set[str]) -> None:
    random = np.random.default_rng(seed)
    marginals = random.random((2, 4, 3, 2)) ** 3
    couplings = Couplings(dict.fromkeys(families, -1.0), dict.fromkeys(families, 1.0), least=least, most=most)
    found, expected = (
        {(sentence, frozenset(members), frozenset(pairs)) for sentence, members, pairs in some}
        for some in (listed(pair_factors(marginals, couplings, np.arange(2))), naive(marginals, couplings))
    )
    assert found == expected


def test_couple_scores_each_pattern_by_the_formula() -> None:
    marginals = np.zeros((1, 2, 2, 1))
    marginals[0, 0, 1, 0], marginals[0, 1, 0, 0] = 0.6, 0.5  # (0, 2) and (1, 2): one end
    [factors] = couple(marginals, Couplings({"end_same": -2.0}, {"end_same": 1.5}, mention=0.25), np.arange(1))
    taken = math.expm1(-2.0)
    alone = [0.25 - 1.5 * math.log1p(p * taken) for p in (0.5, 0.6)]  # of the first mention, and of the second
    np.testing.assert_allclose(factors.table[0], [0.0, alone[0], alone[1], sum(alone) - 2.0])


@pytest.mark.parametrize(
    ("both", "balance", "limits", "message"),
    [
        ({"sapn": 1.0}, {"sapn": 1.0}, {}, "the same families of span"),
        ({"span": 1.0}, {}, {}, "the same families of span"),
        ({}, {}, {"least": 0.0}, "expected least above 0"),
        ({"span": math.nan}, {"span": 1.0}, {}, "numbers from -1000 to 1000 as potentials"),
        ({"span": -math.inf}, {"span": 1.0}, {}, "numbers from -1000 to 1000 as potentials"),
        ({}, {}, {"most": 40}, "most from 2 to 12"),
    ],
)
def test_couplings_that_cannot_be_are_refused(both, balance, limits, message) -> None:
    with pytest.raises(ValueError, match=message):
        Couplings(both, balance, **limits)


def test_coupled_without_pairs_is_its_base() -> None:
    base = SegmentalHypergraph(edge_scores((2, 3, 2, 2), torch.float64, 3, 1.0, 0.0, False), [3, 2])
    coupled = CoupledHypergraph.of(base, Couplings({}, {}))
    torch.testing.assert_close(coupled.log_partition, base.log_partition)
    torch.testing.assert_close(coupled.marginals, base.marginals)
    assert coupled.argmax() == base.argmax()
    for ours, theirs in zip(coupled.topk(5), base.topk(5), strict=True):
        assert [some for some, _ in ours] == [some for some, _ in theirs]
        assert [value for _, value in ours] == pytest.approx([value for _, value in theirs])


def test_coupled_is_differentiable() -> None:
    scores = edge_scores((1, 3, 2, 2), torch.float64, 5, 1.0, 0.0, True)
    factors = CoupledHypergraph.of(SegmentalHypergraph(scores, [3]), Couplings(ALL, ALL, most=4)).factors
    names = list(scores.tensors())

    def values(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        base = SegmentalHypergraph(type(scores)(**dict(zip(names, tensors, strict=True))), [3])
        coupled = CoupledHypergraph(base, factors)
        return coupled.log_partition, coupled.log_prob([[(0, 2, 0), (1, 2, 1)]]), coupled.marginals

    leaves = [tensor.clone().requires_grad_() for tensor in scores.tensors().values()]
    assert factors and torch.autograd.gradcheck(values, leaves, fast_mode=True)


@pytest.mark.parametrize("structure", ["segmental", "joint", "coupled"])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_pair_probabilities_are_those_of_all_sets(structure: str, data: st.DataObject) -> None:
    case: Case = data.draw(STRUCTURES[structure])
    pools = [all_mentions(length, case.types, case.max_width) for length in case.lengths]
    pairs = [(b, one, other) for b, pool in enumerate(pools) for one, other in itertools.combinations(pool, 2)]
    for (b, *mentions), value in zip(pairs, pair_probabilities(case.vectorised, pairs), strict=True):
        expected = math.fsum(p for some, p in case.brute[b].probabilities.items() if some.issuperset(mentions))
        assert value == pytest.approx(expected, abs=1e-3 if case.tolerance > 1e-6 else 1e-7)


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_select_repeats_sentences(data: st.DataObject) -> None:
    case: Case = data.draw(STRUCTURES[data.draw(st.sampled_from(["segmental", "joint", "coupled"]))])
    numbers = data.draw(st.lists(st.sampled_from(range(len(case.lengths))), max_size=4))
    some = case.vectorised.select(numbers)
    torch.testing.assert_close(some.log_partition, case.vectorised.log_partition[numbers])
    torch.testing.assert_close(some.marginals, case.vectorised.marginals[numbers])
