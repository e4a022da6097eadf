"""A structure that another package adds as CONTRIBUTING says: its hypergraph as one function, a scorer, a line in a
table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from experiments.figures.figure import Figure
from hyperspan import Mention, load
from hyperspan.render.diagram import TOP, Legend
from hyperspan.render.hypergraph import draw_diagram
from hyperspan.structures.graphs import Counting, Hyperedge, Hypergraph, Hyperpath, inside, viterbi
from tests.plugins.cases_not_inside import Leaf, Rest, leaves_of, not_inside_hypergraph
from tests.plugins.test_plugins import ZOO, train_in_python
from tests.support.process import called

pytestmark = pytest.mark.xdist_group("forked")  # one worker imports what such processes need
STRUCTURE = Path(__file__).parent / "zoo" / "hyperspan_not_inside.py"


def test_the_structure_is_short() -> None:
    assert len(STRUCTURE.read_text(encoding="utf-8").splitlines()) < 150


def annotate_in_python(folder: str) -> None:
    document = load(folder)("Nobody in Lindau waved . The harbour of Lindau slept .")
    print(*(f"{one.start}:{one.end}:{one.label}" for one in document.mentions))


def test_a_saved_model_of_the_structure_finds_its_mentions(tmp_path: Path) -> None:
    trained = called(train_in_python, str(tmp_path), "not-inside", "neural", path=ZOO)
    assert float(trained.stdout or 0) > 0.5, trained.stderr
    found = called(annotate_in_python, str(tmp_path), path=ZOO)
    assert "10:16:GPE" in found.stdout.split(), found.stderr


@pytest.mark.parametrize(("n", "m", "count"), [(0, 2, 1), (1, 2, 4), (2, 1, 5), (3, 1, 14), (3, 2, 14 * 14)])
def test_the_hypergraph_counts_its_sets(n: int, m: int, count: int) -> None:
    """Those of a type are counted by Catalan numbers."""
    graph = not_inside_hypergraph(n, n, m)
    assert inside(graph, lambda _: 0.0, Counting())[graph.root] == count


class NotInsideDiagram(Figure):
    """A row for each end of the mentions before, in a band for each type."""

    title = "Antichain"
    nodes: ClassVar[Legend] = {"R": ("#f6cfcf", "the sentence"), "N": ("#fbeebc", "the mentions from word i on")}
    edges: ClassVar[Legend] = {"R": ("#d9822b", ""), "N": ("#2e8b57", "")}

    def build(self, max_width: int | None) -> Hypergraph:
        return not_inside_hypergraph(len(self.words), max_width or len(self.words), len(self.labels))

    def path(self) -> Hyperpath:
        def weight(edge: Hyperedge) -> float:
            found = [mention in self.mention_set for mention in leaves_of([edge])]
            return float("-inf") if not all(found) else float(len(found))

        return viterbi(self.graph, weight)[1]

    def layout(self) -> float:
        rows = len(self.words) + 1
        for node in self.graph.nodes:
            if isinstance(node, Rest):
                y = TOP + 60 * (1 + node.kind * rows + node.before)
                self.add_node(node, self.x(node.word), y, ("N", f"{node.kind + 1}", f"{node.word + 1},{node.before}"))
            elif not isinstance(node, Leaf):
                self.add_node(node, self.x(0), TOP, ("R", "", ""))
        return TOP + 60 * (1 + len(self.labels) * rows)

    def draw_edge(self, edge: Hyperedge, strong: bool) -> None:
        dots: Sequence = [self.dots[node] for node in (edge.head, *edge.tail) if node in self.dots]
        arrow = self.arrow(dots[0].label[0], strong)
        for child in dots[1:]:
            arrow.straight(dots[0], child)
        self.drawing.add(arrow, dots, strong)


def test_the_structure_is_drawn() -> None:
    words, mentions = (
        "the harbour of Lindau".split(),
        [Mention(0, 3, "FAC"), Mention(1, 4, "FAC"), Mention(3, 4, "GPE")],
    )
    picture = draw_diagram(NotInsideDiagram, words, mentions)
    assert picture.startswith("<svg") and "harbour" in picture
    figure = NotInsideDiagram(words, ["FAC", "GPE"], mentions, None)
    assert leaves_of(figure.path()) == {(0, 3, 0), (1, 4, 0), (3, 4, 1)}
