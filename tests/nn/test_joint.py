"""Models of joint types: their groups are chosen on the training sentences, or given and checked."""

from __future__ import annotations

import pytest

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.nn.joint import choose_groups
from hyperspan.nn.validation import validate
from hyperspan.types import Mention, Sentence


def test_groups_with_a_label_twice_are_refused() -> None:
    with pytest.raises(InputError, match="must have each label once"):
        validate(Config().override(["model.kind=joint", 'joint.groups=[["A", "B"], ["B"]]']))


def test_choose_groups_joins_labels_that_meet_up_to_a_size() -> None:
    def sentence(*labels: str) -> Sentence:
        return Sentence(["Bo", "Li"], [Mention(0, 1 + number % 2, label) for number, label in enumerate(labels)])

    sentences = [sentence("A", "C"), sentence("A", "C"), sentence("B", "D"), sentence("A", "D")]
    assert choose_groups("ABCD", sentences, size=2) == (("A", "C"), ("B", "D"))
    assert choose_groups("ABCD", sentences, size=4) == (("A", "B", "C", "D"),)
    assert choose_groups("ABCD", [], size=3) == (("A",), ("B",), ("C",), ("D",))
