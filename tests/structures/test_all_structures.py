"""Vectorised = generic engine = brute force, for every quantity that a structure offers."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.structures import NotSupportedError
from hyperspan.structures.graphs import KBest, Log, hyperpaths, inside, viterbi
from hyperspan.structures.mentions import Limits
from hyperspan.structures.places import Places
from tests.structures.brute_force import BruteForce, all_mentions, log_sum
from tests.structures.cases import STRUCTURES, Case, agrees, edge_scores, kind_of, partial_annotations, segmental_case
from tests.structures.cases_discontinuous import discontinuous_case, discontinuous_scores

structures = pytest.mark.parametrize("structure", STRUCTURES)
WITH_THRESHOLDS = ("segmental", "discontinuous", "joint")
OVER_ARRAYS = ("segmental, arrays", "discontinuous, arrays", "joint, arrays")
CONDITIONED = (*WITH_THRESHOLDS, "semi-Markov")
"""Those that can be conditioned on mentions, and so learn from partial annotation."""


def close(left: float, right: float, tolerance: float) -> bool:
    return left == right or math.isclose(left, right, rel_tol=tolerance, abs_tol=tolerance)


@structures
@given(data=st.data())
def test_hyperpaths_and_sets_are_one_to_one(structure: str, data: st.DataObject) -> None:
    case: Case = data.draw(STRUCTURES[structure])
    for brute, explicit in zip(case.brute, case.explicit, strict=True):
        sets = [explicit.mentions_of(path) for path in hyperpaths(explicit.graph)]
        assert len(sets) == len(set(sets)) and brute.scores.keys() >= set(sets)
        assert all(brute.scores[mentions] == -math.inf for mentions in brute.scores.keys() - set(sets))


@structures
@given(data=st.data())
def test_log_partition(structure: str, data: st.DataObject) -> None:
    case: Case = data.draw(STRUCTURES[structure])
    for value, brute, explicit in zip(case.vectorised.log_partition.tolist(), case.brute, case.explicit, strict=True):
        assert close(value, brute.log_partition, case.tolerance)
        generic = inside(explicit.graph, explicit.weights, Log())[explicit.graph.root]
        assert close(generic, brute.log_partition, 1e-9)


@structures
@given(data=st.data())
def test_log_prob_of_every_set(structure: str, data: st.DataObject) -> None:
    case: Case = data.draw(STRUCTURES[structure])
    for sentence, brute in enumerate(case.brute):
        for mentions in data.draw(st.lists(st.sampled_from(list(brute.scores)), min_size=1, max_size=8)):
            sets = [mentions if other == sentence else frozenset() for other in range(len(case.lengths))]
            value = case.vectorised.log_prob(sets)[sentence].item()
            assert close(value, brute.log_prob(case.meant_by(mentions)), case.tolerance)


@structures
@given(data=st.data())
def test_marginals(structure: str, data: st.DataObject) -> None:
    case: Case = data.draw(STRUCTURES[structure])
    marginals = case.vectorised.marginals
    for sentence, (length, brute) in enumerate(zip(case.lengths, case.brute, strict=True)):
        expected = torch.zeros_like(marginals[sentence])
        for i, j, k in all_mentions(length, case.types, case.max_width):
            expected[i, j - i - 1, k] = brute.marginal((i, j, k))
        torch.testing.assert_close(marginals[sentence], expected, rtol=case.tolerance, atol=case.tolerance)
    if case.longer is not None:
        found = case.vectorised.discontinuous_marginals(least=0.0)
        for probabilities, pool, brute in zip(found, case.longer, case.brute, strict=True):
            assert probabilities.keys() <= set(pool)
            for mention in pool:
                assert close(probabilities.get(mention, 0.0), brute.marginal(mention), case.tolerance)


@structures
@given(data=st.data())
def test_entropy(structure: str, data: st.DataObject) -> None:
    case: Case = data.draw(STRUCTURES[structure])
    for value, brute in zip(case.vectorised.entropy.tolist(), case.brute, strict=True):
        assert close(value, brute.entropy, case.tolerance)


@structures
@given(data=st.data())
def test_argmax(structure: str, data: st.DataObject) -> None:
    case: Case = data.draw(STRUCTURES[structure])
    for mentions, brute, explicit in zip(case.vectorised.argmax(), case.brute, case.explicit, strict=True):
        best = max(brute.scores.values())
        assert isinstance(mentions, frozenset)
        assert close(brute.scores[mentions], best, case.tolerance)
        score, path = viterbi(explicit.graph, explicit.weights)
        assert close(score, best, 1e-9) and close(brute.scores[explicit.mentions_of(path)], best, 1e-9)


@structures
@given(data=st.data(), k=st.sampled_from([1, 2, 5, 30, 1000]))
def test_topk(structure: str, data: st.DataObject, k: int) -> None:
    """The log-probabilities in order, each the true one of its set; no set twice; ties in any order."""
    case: Case = data.draw(STRUCTURES[structure])
    for ranked, brute, explicit in zip(case.vectorised.topk(k), case.brute, case.explicit, strict=True):
        expected = brute.ranked()[:k]
        assert len(ranked) == len(expected) == len({mentions for mentions, _ in ranked})
        for (mentions, value), (_, best) in zip(ranked, expected, strict=True):
            assert close(value, best, 1e-9) and close(value, brute.log_prob(mentions), 1e-9)
        generic = inside(explicit.graph, explicit.weights, KBest(k))[explicit.graph.root]
        assert all(
            close(score - brute.log_partition, best, 1e-9)
            for (score, _), (_, best) in zip(generic, expected, strict=True)
        )


@structures
@given(data=st.data())
def test_condition(structure: str, data: st.DataObject) -> None:
    case: Case = data.draw(STRUCTURES[structure])
    if not case.conditions:
        with pytest.raises(NotSupportedError, match=r"has no condition: .*; use a SegmentalHypergraph"):
            case.vectorised.condition()
        return
    conditioned, brute, pools = case.vectorised, case.brute, case.pools()
    for _ in range(data.draw(st.integers(1, 2))):  # given more, also where nothing is left
        chosen = [
            data.draw(st.lists(st.sampled_from(pool), max_size=4, unique=True) if pool else st.just([]))
            for pool in pools
        ]
        split = data.draw(st.integers(0, 4))
        require, forbid = [some[:split] for some in chosen], [some[split:] for some in chosen]
        before, whole = brute, conditioned
        brute = [one.given(*known) for one, *known in zip(before, require, forbid, strict=True)]
        if structure in WITH_THRESHOLDS:
            mass = whole.constraint_log_prob(require, forbid).tolist()
            for value, one, other in zip(mass, before, brute, strict=True):
                if one.log_partition > -math.inf:
                    assert close(math.exp(value), math.exp(other.log_partition - one.log_partition), case.tolerance)
        conditioned = whole.condition(require=require, forbid=forbid)
    log_partition, marginals, entropy = (
        conditioned.log_partition.tolist(),
        conditioned.marginals,
        conditioned.entropy.tolist(),
    )
    possible = [distribution.log_partition > -math.inf for distribution in brute]
    for sentence, distribution in enumerate(brute):
        assert close(log_partition[sentence], distribution.log_partition, case.tolerance)
        if possible[sentence]:
            assert close(entropy[sentence], distribution.entropy, case.tolerance)
            for mention in pools[sentence]:
                expected = distribution.marginal(mention)
                if len(mention) == 4:
                    assert close(
                        conditioned.discontinuous_marginals(0.0)[sentence].get(mention, 0.0), expected, case.tolerance
                    )
                    continue
                i, j, k = mention
                assert close(marginals[sentence, i, j - i - 1, k].item(), expected, case.tolerance)
            some = data.draw(st.sampled_from(list(distribution.scores)))
            sets = [some if other == sentence else frozenset() for other in range(len(brute))]
            assert close(conditioned.log_prob(sets)[sentence].item(), distribution.log_prob(some), case.tolerance)
    for ranked, distribution in zip(conditioned.topk(4), brute, strict=True):
        for (mentions, value), (_, best) in zip(ranked, distribution.ranked()[:4], strict=True):
            assert close(value, best, case.tolerance)
            assert close(value, distribution.log_prob(mentions), case.tolerance)
    if all(possible):
        for mentions, distribution in zip(conditioned.argmax(), brute, strict=True):
            assert close(distribution.scores[mentions], max(distribution.scores.values()), case.tolerance)
        for drawn, distribution in zip(conditioned.sample(3, torch.Generator()), brute, strict=True):
            assert all(distribution.scores[mentions] > -math.inf for mentions in drawn)
    else:
        with pytest.raises(ValueError, match="no possible mention set"):
            conditioned.argmax()


@pytest.mark.parametrize("structure", CONDITIONED)
@given(data=st.data())
def test_partial_annotation_is_the_sum_over_all_sets_that_agree(structure: str, data: st.DataObject) -> None:
    case: Case = data.draw(STRUCTURES[structure])
    gold, marks = data.draw(partial_annotations(case.pools(), case.lengths, case.types))
    found = case.vectorised.log_prob_of_known(gold, marks).tolist()
    for sentence, brute in enumerate(case.brute):
        sets = brute.probabilities.items()
        agreeing = math.fsum(p for mentions, p in sets if agrees(mentions, gold[sentence], marks, sentence))
        assert close(math.exp(found[sentence]), agreeing, case.tolerance)


@pytest.mark.parametrize("structure", [*WITH_THRESHOLDS, *OVER_ARRAYS])
@given(data=st.data(), threshold=st.sampled_from([0.1, 0.2, 0.5, 0.9, 1.0]))
def test_places_are_the_best_mentions_and_those_that_are_probable_enough(
    structure: str, data: st.DataObject, threshold: float
) -> None:
    case: Case = data.draw(STRUCTURES[structure])
    best, probable = (
        [mentions_at(found, sentence) for sentence in range(len(case.lengths))]
        for found in case.vectorised.places([None, [threshold] * case.types])
    )
    assert [set(found) for found in best] == case.vectorised.argmax()
    if structure in WITH_THRESHOLDS:
        assert [set(found) for found in probable] == case.vectorised.above(threshold)
    for found, pool, brute in zip(probable, case.pools(), case.brute, strict=True):
        for mention in pool:
            probability = brute.marginal(mention)
            if abs(probability - threshold) > case.tolerance:
                assert (mention in found) == (probability >= threshold)
            if mention in found:
                assert close(found[mention], probability, case.tolerance)


def mentions_at(places: Places, sentence: int) -> dict[Any, float]:
    """The mentions of a sentence with their probabilities."""
    parts = places.parts or [()] * len(places.rows)
    each = zip(places.rows.tolist(), parts, places.probabilities.tolist(), strict=True)
    return {
        (*row[1:], own) if own else tuple(row[1:]): probability for row, own, probability in each if row[0] == sentence
    }


@structures
@given(data=st.data())
def test_restrict(structure: str, data: st.DataObject) -> None:
    """Sums over the mentions of other types; where types depend on each other, that is said of all but two methods."""
    case: Case = data.draw(STRUCTURES[structure])
    types = data.draw(st.lists(st.sampled_from(range(case.types)), unique=True))
    some, brute = case.vectorised.restrict(types), [whole.restrict(types) for whole in case.brute]
    pools = [all_mentions(length, len(types), case.max_width) for length in case.lengths]
    assert some.types == len(types) and some.lengths == case.lengths
    torch.testing.assert_close(some.log_partition.exp() > 0, case.vectorised.log_partition.exp() > 0)
    for sentence, (pool, expected) in enumerate(zip(pools, brute, strict=True)):
        for i, j, k in pool:
            value = some.marginals[sentence, i, j - i - 1, k].item()
            assert close(value, expected.marginal((i, j, k)), case.tolerance)
    for drawn_sets, expected in zip(some.sample(5, torch.Generator().manual_seed(1)), brute, strict=True):
        assert all(expected.scores[mentions] > -math.inf for mentions in drawn_sets)
    for best, ranked, expected in zip(some.argmax(), some.topk(20), brute, strict=True):
        assert expected.scores[best] > -math.inf and ranked[0][1] <= 1e-9
        in_order = expected.ranked()[:20]
        assert len(ranked) == len(in_order) == len({mentions for mentions, _ in ranked})
        for (mentions, value), (_, log_prob) in zip(ranked, in_order, strict=True):
            assert close(value, log_prob, 1e-9) and close(value, expected.log_prob(mentions), 1e-9)
        if case.independent_types or kind_of(some) is kind_of(case.vectorised):
            assert close(expected.scores[best], max(expected.scores.values()), case.tolerance)
    if case.independent_types or kind_of(some) is kind_of(case.vectorised):
        for value, expected in zip(some.entropy.tolist(), brute, strict=True):
            assert close(value, expected.entropy, case.tolerance)
    else:
        with pytest.raises(NotSupportedError, match="has no entropy: that would be a sum over"):
            _ = some.entropy
    with pytest.raises(ValueError, match="expected types from 0 to"):
        case.vectorised.restrict([case.types])


@structures
@given(data=st.data())
def test_samples_are_possible_sets(structure: str, data: st.DataObject) -> None:
    case: Case = data.draw(STRUCTURES[structure])
    state = torch.get_rng_state()
    samples = case.vectorised.sample(5, torch.Generator().manual_seed(1))
    assert samples == case.vectorised.sample(5, torch.Generator().manual_seed(1))
    assert torch.equal(state, torch.get_rng_state())
    for sets, brute in zip(samples, case.brute, strict=True):
        assert len(sets) == 5 and all(brute.scores[mentions] > -math.inf for mentions in sets)


@structures
@settings(max_examples=3, deadline=None, derandomize=True)
@given(data=st.data())
def test_sampling_frequencies(structure: str, data: st.DataObject) -> None:
    """Pearson's chi-square of samples against the true probabilities."""
    case: Case = data.draw(STRUCTURES[structure])
    vectorised = case.vectorised.sample(2000, torch.Generator().manual_seed(0))
    for sets, brute in zip(vectorised, case.brute, strict=True):
        drawn_sets, count = Counter(sets), len(sets)
        frequent = {s: p for s, p in brute.probabilities.items() if p * count >= 5}
        rest = max(1 - math.fsum(frequent.values()), 0.0)
        observed = [drawn_sets[s] for s in frequent]
        pairs = [*zip(observed, frequent.values(), strict=True), (count - sum(observed), rest)]
        chi_square = math.fsum((seen - p * count) ** 2 / (p * count) for seen, p in pairs if p * count >= 1)
        # Mean = degrees of freedom, variance twice that: six standard deviations is a wrong sampler, not bad luck.
        degrees = len(pairs) - 1
        assert chi_square <= degrees + 6 * math.sqrt(2 * degrees) + 6


TAUGHT: dict[str, list[Case]] = {
    "segmental": [
        segmental_case(edge_scores((2, 3, c, 1), torch.float64, c, 1.0, 0.0, untied=untied), [3, 2], 1e-9)
        for c, untied in ((2, False), (3, True), (2, True), (3, False), (1, False))
    ],
    "discontinuous": [
        discontinuous_case(discontinuous_scores(2, 3, limits, 1, seed=seed), [3, 2], limits.parts, 1e-9)
        for seed, limits in enumerate(
            [Limits(2, 2, 1, 1), Limits(3, 3, 2, 2), Limits(2, 1, 1, 1), Limits(1, 2, 1, 1), Limits(1, 1, 1, 1)]
        )
    ],
}
"""Distributions of which each can teach the others, though they hold other mentions."""


@pytest.mark.parametrize("structure", TAUGHT)
def test_cross_entropy_is_the_sum_over_all_sets(structure: str) -> None:
    """-Σ p(set) log q(set), set by set; p is the teacher's given that all mentions are such as the student can hold."""
    for student, teacher in product(TAUGHT[structure], repeat=2):
        values = student.vectorised.cross_entropy(teacher.vectorised).tolist()
        for value, q, whole in zip(values, student.brute, teacher.brute, strict=True):
            p = BruteForce({found: score for found, score in whole.scores.items() if found in q.scores})
            expected = -sum(p.probabilities[found] * q.log_prob(found) for found in p.scores)
            assert close(value, expected, 1e-9)


@pytest.mark.parametrize("structure", TAUGHT)
def test_geometric_mean_is_normalised(structure: str) -> None:
    for chosen in (TAUGHT[structure][:1] * 2, TAUGHT[structure][:3], TAUGHT[structure][1:]):
        mean = chosen[0].vectorised.geometric_mean([one.vectorised for one in chosen[1:]])
        for sentence in range(2):
            shared = set.intersection(*(set(one.brute[sentence].scores) for one in chosen))
            logs = {found: sum(one.brute[sentence].log_prob(found) for one in chosen) / len(chosen) for found in shared}
            total = log_sum(logs.values())
            for found, value in logs.items():
                sets = [found if other == sentence else frozenset() for other in range(2)]
                assert close(mean.log_prob(sets)[sentence].item(), value - total, 1e-9)
