"""The offset contract."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan import Document, Mention, Sentence
from hyperspan.errors import InputError, SpanError


@given(text=st.text(min_size=1), data=st.data())
def test_a_mentions_text_is_what_it_covers(text: str, data: st.DataObject) -> None:
    """Code points, whatever they are: emoji, combining marks, right-to-left."""
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    document = Document(text, [Mention(start, end, "X", probability=0.5)])
    (mention,) = document.mentions
    assert document.text[mention.start : mention.end] == mention.text
    assert (mention.span, mention.probability) == ((start, end), 0.5)


def test_a_mention_set_is_a_set() -> None:
    sentence = Sentence(["a", "b", "c"], [Mention(0, 2, "X"), Mention(0, 2, "X", probability=0.3), Mention(0, 2, "Y")])
    assert len(sentence.mentions) == 2 and len(sentence) == 3
    assert Mention(0, 3, "X") != Mention(0, 3, "X", fragments=((0, 1), (2, 3)))


def test_values_are_frozen_and_hashable() -> None:
    mention = Mention(0, 1, "X")
    with pytest.raises(dataclasses.FrozenInstanceError):
        mention.start = 3  # type: ignore[misc]
    assert {Sentence(["a"], [mention]), Sentence(["a"], [mention])} == {Sentence(["a"], [mention])}
    document = Document("a", [mention], metadata={"source": "made"})
    assert {document, pickle.loads(pickle.dumps(document)), copy.deepcopy(document)} == {document}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Mention(2, 2, "X"), "span 2:2, but 0 <= start < end"),
        (lambda: Mention(-1, 2, "X"), "span -1:2"),
        (lambda: Mention(0, 5, "X", ((0, 2), (1, 5))), "must be in order"),
        (lambda: Mention(0, 5, "X", ((0, 2), (3, 4))), "begin and end where the mention does"),
        (lambda: Sentence(["a"], [Mention(0, 2, "X")]), "beyond its sentence of 1 tokens"),
        (lambda: Sentence(["a", "b"], tags=["N"]), "2 tokens has 1 tags"),
        (lambda: Sentence(["a", "b"], offsets=[(0, 1)]), "2 tokens has 1 offsets"),
        (lambda: Document("abc", [Mention(1, 4, "X")]), "beyond the text of 3 characters"),
        (lambda: Document("abc", [Mention(1, 3, "X", text="ab")]), "is 'ab', but the text there reads 'bc'"),
        (lambda: Document("abc", sentences=[Sentence(["abcd"], offsets=[(0, 4)])]), "span 0:4, but the text has 3"),
    ],
)
def test_wrong_spans_are_explained(make, message: str) -> None:
    with pytest.raises(SpanError, match=message) as caught:
        make()
    assert isinstance(caught.value, InputError)
