"""The labels that the experiment on language models makes of gold."""

from __future__ import annotations

from random import Random

from experiments.strings import MISSING, WRONG, labelled
from hyperspan.types import Document, Mention


def test_labelled_loses_and_changes_as_many_mentions_as_it_says() -> None:
    document = Document("the Seattle zoo", [Mention(0, 15, "FAC"), Mention(4, 11, "GPE")])
    right = {("the Seattle zoo", "FAC"), ("Seattle", "GPE")}
    chance = Random(1)
    made = [labelled(document, ["FAC", "GPE", "PER"], chance)["entities"] for _ in range(2_000)]
    pairs = [(one["text"], one["label"]) for items in made for one in items]
    assert abs(len(pairs) / 4_000 - (1 - MISSING)) < 0.02
    assert abs(sum(pair not in right for pair in pairs) / 4_000 - WRONG) < 0.015
    assert {text for text, _ in pairs} == {"the Seattle zoo", "Seattle", "the Seattle", "Seattle zoo"}
