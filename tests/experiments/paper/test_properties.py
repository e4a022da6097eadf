"""The table of model properties: counted cells against the paper's, and against what is known of each structure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from experiments.paper import growth
from experiments.paper.growth import counted_order
from experiments.paper.properties import (
    all_sets,
    compute,
    corpus_section,
    count,
    held_in,
    overlaps_section,
    sections,
)
from experiments.paper.systems import HOLDS, SYSTEMS, System
from hyperspan.baselines.katiyar_cardie import label_sets
from hyperspan.config import Config
from hyperspan.nn import new_model
from hyperspan.structures.graphs import Counting, hyperpaths, inside
from hyperspan.types import Mention, Sentence

NAMES = [system.name for system in SYSTEMS]
OWN = ("fofe", "layered", "transition")


def system(name: str) -> System:
    return next(system for system in SYSTEMS if system.name.startswith(name))


@pytest.mark.parametrize("name", [system.name for system in SYSTEMS if system.paper])
def test_counting_gives_the_cells_of_the_paper(name: str) -> None:
    assert count(system(name)).cells == tuple(system(name).paper[:-1])


def test_orders() -> None:
    orders = [counted_order(system) for system in SYSTEMS]
    for own, order in zip(SYSTEMS, orders, strict=True):
        # Trees: the paper counts the rules of a grammar, we the types; both are cubic.
        if own.paper and not own.name.startswith("Finkel"):
            assert order.partition(";")[0] == own.paper[-1]
    limited, mentions = "O(cmn); c=n: O(mn²)", "O(mn)"
    joint = "O(4ᵐcn); c=n: O(4ᵐn²)"
    assert orders == ["O(m²n)", limited, mentions, "O(mn² + n³)", mentions, mentions, limited, limited, joint]


def test_orders_that_are_not_known_are_refused() -> None:
    m, n = np.meshgrid(np.arange(1, 5), np.arange(6, 11), indexing="ij")
    for counts in (8**m * n, n**4, m**3 * n, m * 4**m * n):
        with pytest.raises(ValueError, match=r"grow faster than 4\^m times the largest polynomial"):
            growth.order(counts, "mn")


def test_flat_structures_have_nothing_to_nest() -> None:
    assert count(system("CRF")).cells == count(system("Semi-CRF")).cells == ("no", "no", "flat", "no", "flat")


def test_with_gaps_nothing_is_spurious_or_ambiguous_either() -> None:
    found = count(system("SH with gaps"))
    assert found.cells == count(system("SH")).cells and found.held == found.hyperpaths == found.sets == 2**14


def test_joint_types_hold_what_independent_ones_do() -> None:
    found = count(system("SH with joint types"))
    assert found.cells == count(system("SH")).cells and found.held == found.hyperpaths == found.sets == 2**12


def test_four_words() -> None:
    """The figures of docs/concepts/models.md, and those of the generic engine."""
    found = {name: count(system(name), n=4, m=1) for name in ("Lu & Roth", "Muis & Lu", "SH")}
    assert (found["Lu & Roth"].hyperpaths, found["Lu & Roth"].spurious) == (1024, 816)
    assert found["Muis & Lu"].spurious == found["SH"].spurious == found["SH"].ambiguous == 0
    assert found["Lu & Roth"].ambiguous == found["Muis & Lu"].ambiguous > 0
    for name, counted in found.items():
        (graph,) = system(name).graphs(4, 1, None)
        assert counted.hyperpaths == inside(graph, lambda edge: 0.0, Counting())[graph.root]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_system_holds_is_what_is_counted(name: str) -> None:
    """The short test that is used on corpora, against everything written out."""
    own, n, m = system(name), 3, 2
    codes = {own.code_of_paths(paths) for paths in product(*(list(hyperpaths(g)) for g in own.graphs(n, m, None)))}
    learnt = {mentions: own.code_of_set(mentions, n, m) for mentions in all_sets(n, m)}
    times = Counter(learnt.values())
    for mentions, code in learnt.items():
        assert own.holds(mentions) == (code in codes and times[code] == 1), sorted(mentions)


def test_the_sections() -> None:
    cells, counts = sections(compute([system("Lu"), system("SH")]))
    assert cells.rows == [
        ["Lu & Roth 2015", "yes", "yes", "no", "no", "no", "O(mn)", "O(mn)", "yes"],
        ["SH", "no", "no", "no", "no", "no", "O(cmn); c=n: O(mn²)", "O(cmn)", "yes"],
    ]
    assert counts.rows[0][:5] == ["Lu & Roth 2015", "4,096", "2,496", "4,096", "2,800"]


def test_sentences_of_a_corpus() -> None:
    words = ["a", "b", "c", "d"]
    sentences = [
        Sentence(words, [Mention(0, 4, "X"), Mention(1, 3, "X")]),  # nested, and ambiguous for starts and ends
        Sentence(words, [Mention(0, 2, "X"), Mention(1, 3, "Y")]),  # crossing, of two types
        Sentence(words, [Mention(0, 2, "X"), Mention(2, 3, "X")]),
        Sentence(words),
    ]
    held = held_in(sentences)
    assert list(held) == list(HOLDS)
    assert [counts[:3] for counts in held.values()][-1] == (3, 2, 2)
    assert [counts[1] for counts in held.values()] == [1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 2, 2, 2]
    assert corpus_section(held, "test").rows[6] == ["SH", "3", "100.0%", "2", "100.0%"]


def test_kinds_of_overlap() -> None:
    found = {name: cells for name, *cells in overlaps_section().rows}
    assert set(found["SH"]) == {"yes"}
    assert found["FOFE (Xu et al. 2017)"] == ["yes"] * 5 + ["no"]
    assert found["Ju et al. 2018 (layered)"] == ["yes"] * 3 + ["no", "no", "yes"]
    assert found["Wang et al. 2018 (transition)"] == found["Finkel & Manning 2009"] == ["yes"] * 3 + ["no"] * 3
    assert found["Katiyar & Cardie 2018"] == ["yes", "yes", "no", "yes", "yes", "yes"]


def test_models_without_a_hypergraph_hold_what_is_said_of_them() -> None:
    """Some sets in three words with two types, against what the models themselves learn from and what labels are
    shared."""
    n, m = 3, 2
    sentence = Sentence(["a", "b", "c"], [Mention(0, 1, "X"), Mention(0, 2, "Y")])
    models = {kind: new_model(Config(model=replace(Config().model, kind=kind)), [sentence]) for kind in OWN}
    labels = {mentions: label_sets(mentions, n, m).tobytes() for mentions in all_sets(n, m)}
    times = Counter(labels.values())
    for mentions in list(labels)[::17]:
        for kind, name in (("fofe", "FOFE"), ("layered", "Ju"), ("transition", "Wang")):
            (holds,) = (holds for system, holds in HOLDS.items() if system.startswith(name))
            assert holds(mentions) == (models[kind].representable(set(mentions), n) == mentions)
        assert HOLDS["Katiyar & Cardie 2018"](mentions) == (times[labels[mentions]] == 1)
