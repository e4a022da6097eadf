"""Drawings of hypergraphs have the right elements."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan import Mention, draw_hypergraph
from hyperspan.structures.graphs import segmental_hypergraph

SVG = "{http://www.w3.org/2000/svg}"


def edges(svg: str, strength: str) -> int:
    return len(ET.fromstring(svg).findall(f"{SVG}g[@class='edge {strength}']"))


def test_draw_hypergraph_draws_the_graph_and_highlights_the_hyperpath() -> None:
    words, mentions = (
        ["Israeli", "UN", "Ambassador", "Danny"],
        [Mention(0, 3, "PER"), Mention(0, 4, "PER"), Mention(1, 2, "ORG")],
    )
    total = len(segmental_hypergraph(4, 2).edges)
    on_path = 4 + 4 + 8 + 4 + 1  # A, E, T, then I: three of PER and its last, one of ORG
    both = draw_hypergraph(words, mentions)
    assert (edges(both, "strong"), edges(both, "faint")) == (on_path, total - on_path)
    assert edges(draw_hypergraph(words, mentions, show="graph"), "strong") == total
    path = draw_hypergraph(words, mentions, show="path")
    assert (edges(path, "strong"), edges(path, "faint")) == (on_path, 0)


def test_draw_hypergraph_draws_a_binary_edge_as_one_arrow_with_two_heads() -> None:
    svg = ET.fromstring(draw_hypergraph(["a", "b"], [Mention(0, 1, "X"), Mention(0, 2, "X")], show="path"))
    heads = [len(group.findall(f"{SVG}path[@marker-end]")) for group in svg.findall(f"{SVG}g[@class='edge strong']")]
    assert sorted(heads) == [1, 1, 1, 1, 1, 1, 2, 2]  # A1 and the branch have two


def test_draw_hypergraph_escapes_text() -> None:
    svg = draw_hypergraph(["<script>", "&amp;", '"'], [Mention(0, 1, "<&>")])
    root = ET.fromstring(svg)
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert "<script>" in texts and "&amp;" in texts and "<&>" in texts


@settings(max_examples=20, deadline=None)
@given(data=st.data(), show=st.sampled_from(["both", "graph", "path"]))
def test_draw_hypergraph_accepts_any_representable_mentions(data: st.DataObject, show) -> None:
    words = data.draw(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=6))
    spans = st.tuples(st.integers(0, len(words) - 1), st.integers(1, len(words))).filter(lambda span: span[0] < span[1])
    mentions = [Mention(*span, data.draw(st.sampled_from("XYZ"))) for span in data.draw(st.lists(spans, max_size=5))]
    ET.fromstring(draw_hypergraph(words, mentions, types=["X", "Y", "Z"], show=show))


@pytest.mark.parametrize("show", ["both", "graph", "path"])
def test_draw_hypergraph_accepts_no_mentions(show) -> None:
    assert edges(draw_hypergraph(["a", "b"], types=["X"], show=show), "strong") > 0
