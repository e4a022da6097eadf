"""Agreement of annotators: by hand, and against definitions written down once more."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from hyperspan.corpora import write_corpus
from hyperspan.corpora.documents import document_of
from hyperspan.errors import InputError
from hyperspan.evaluation.agreement import PairCounts, agreement, kappa
from hyperspan.types import NOTHING_ANNOTATED, AnnotationScope, Document, Mention, Sentence
from tests.support.process import call as hyperspan

WORDS = tuple("abcdef")


def document(*mentions: tuple[int, int, str], name: str = "", **marking: object) -> Document:
    return document_of([Sentence(WORDS, [Mention(*m) for m in mentions], **marking)], name)  # type: ignore[arg-type]


def test_agreement_by_hand() -> None:
    a = document((0, 2, "X"), (1, 3, "X"), (4, 5, "Y"), (5, 6, "Y"))
    b = document((0, 2, "X"), (1, 4, "X"), (4, 5, "X"), (5, 6, "Y"))
    found = agreement([a], [b])
    assert found.mentions == PairCounts(2, 2, 2) and found.mentions.f1 == 0.5
    assert found.spans == PairCounts(3, 1, 1)
    assert found.per_type["X"].mentions == PairCounts(1, 1, 2) and found.per_type["Y"].mentions == PairCounts(1, 1, 0)
    # X on tokens: A has 0 1 2, B has 0 1 2 3 4: 4 of 6 agree; by chance (3 · 5 + 3 · 1) / 36
    assert found.per_type["X"].token_kappa == pytest.approx((4 / 6 - 0.5) / 0.5)
    # labels of the three spans that both have: X X, Y X, Y Y; by chance (1 · 2 + 2 · 1) / 9
    assert found.type_kappa == pytest.approx((2 / 3 - 4 / 9) / (5 / 9))
    assert found.confusions == {("Y", "X"): 1} and (found.sentences, found.finished, found.words) == (1, 1, 6)


def test_agreement_counts_only_what_both_know() -> None:
    a = document((0, 1, "X"), (2, 3, "Y"), (4, 5, "Z"), annotated=AnnotationScope(["X", "Y"]))
    sure = document((0, 1, "X"), (3, 4, "X"), annotated=NOTHING_ANNOTATED, forbidden=[Mention(2, 3, "*")])
    found = agreement([a], [sure])
    # A's Z is unknown to B; B knows that 2:3 is none; A knows that 3:4 is no X
    assert found.mentions == PairCounts(both=1, only_a=1, only_b=1)
    assert found.per_type["X"].token_kappa is None and found.per_type["X"].tokens == 0 and found.finished == 0
    untouched = document(annotated=NOTHING_ANNOTATED)
    nothing = agreement([a], [untouched])
    assert nothing.mentions == PairCounts() and nothing.mentions.f1 is None and not nothing.per_type
    region = document(annotated=AnnotationScope(regions=[(0, 3)]))
    assert agreement([a], [region]).mentions == PairCounts(only_a=2)
    assert agreement([a], [region]).per_type["X"].tokens == 3


def test_agreement_against_its_definitions_on_random_sets() -> None:
    draw = random.Random(5)

    def some() -> Document:
        spans = [(start, end, label) for start in range(6) for end in range(start + 1, 7) for label in "XY"]
        return document(*draw.sample(spans, draw.randrange(6)))

    for _ in range(30):
        a, b = some(), some()
        found = agreement([a], [b])
        ours, theirs = ({(m.start, m.end, m.label) for m in one.sentences[0].mentions} for one in (a, b))
        if ours or theirs:
            precision = len(ours & theirs) / len(ours) if ours else 0
            recall = len(ours & theirs) / len(theirs) if theirs else 0
            wanted = 2 * precision * recall / (precision + recall) if precision + recall else 0
            assert found.mentions.f1 == pytest.approx(wanted)
        for label, one in found.per_type.items():
            marks = [[any(s <= t < e and k == label for s, e, k in side) for t in range(6)] for side in (ours, theirs)]
            observed = sum(x == y for x, y in zip(*marks, strict=True)) / 6
            shares = [sum(side) / 6 for side in marks]
            chance = shares[0] * shares[1] + (1 - shares[0]) * (1 - shares[1])
            expected = None if chance == 1 else pytest.approx((observed - chance) / (1 - chance))
            assert one.token_kappa == expected


def test_kappa_has_its_known_values() -> None:
    assert kappa({("x", "x"): 3, ("y", "y"): 4}) == 1
    assert kappa({("x", "y"): 5, ("y", "x"): 5}) == -1
    assert kappa({("x", "x"): 1, ("x", "y"): 1, ("y", "x"): 1, ("y", "y"): 1}) == 0
    assert kappa({("x", "x"): 3}) is None and kappa({}) is None


def test_documents_are_matched_by_their_texts(tmp_path: Path) -> None:
    other = Document("else", id="b")
    a = [document((0, 1, "X"), name="a"), other]
    b = [Document("more", id="c"), document((0, 1, "X"), name="z")]
    found = agreement(a, b)
    assert (found.documents, found.only_a_documents, found.only_b_documents) == (1, 1, 1)
    assert found.mentions == PairCounts(1)
    with pytest.raises(InputError, match="document 'b' has another text in B than in A"):
        agreement(a, [a[0], Document("something", id="b")])
    with pytest.raises(InputError, match="no text in common"):
        agreement([other], [b[0]])
    for name, documents in (("a", a), ("b", b)):
        write_corpus(documents, tmp_path / f"{name}.jsonl")
    table = hyperspan("compare", "a.jsonl", "b.jsonl", cwd=tmp_path)
    assert table.returncode == 0 and "1 documents only in A left out" in table.stdout and "100.00" in table.stdout
    as_json = json.loads(hyperspan("compare", "a.jsonl", "b.jsonl", "--json", cwd=tmp_path).stdout)
    assert as_json == found.to_dict() and as_json["mentions"]["f1"] == 1.0
    missing = hyperspan("compare", "a.jsonl", "-", stdin='{"text": "zoo", "mentions": []}', cwd=tmp_path)
    assert missing.returncode == 2 and "no text in common" in missing.stderr
