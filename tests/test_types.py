"""The offset contract."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan import AnnotationScope, Document, Mention, Sentence
from hyperspan.errors import InputError, SpanError
from hyperspan.types import trusted_document, trusted_mention, trusted_sentence


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
    assert Mention(0, 3, "X") == Mention(0, 3, "X", fragments=[(0, 3)])
    assert hash(Mention(0, 3, "X", [[0, 1], [2, 3]])) == hash(Mention(0, 3, "X", ((0, 1), (2, 3))))  # pyright: ignore


def test_values_are_frozen_and_hashable() -> None:
    mention = Mention(0, 1, "X")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        mention.start = 3  # type: ignore[misc]
    assert {Sentence(["a"], [mention]), Sentence(["a"], [mention])} == {Sentence(["a"], [mention])}
    document = Document("a", [mention], metadata={"source": "made"})
    assert {document, pickle.loads(pickle.dumps(document)), copy.deepcopy(document)} == {document}


def test_evolve_keeps_every_other_field_and_checks_again() -> None:
    mention = Mention(0, 1, "X", text="a", probability=0.5, head=(0, 1), id="T1")
    assert attrs.asdict(attrs.evolve(mention, label="Y")) == attrs.asdict(mention) | {"label": "Y"}
    sentence = Sentence(
        ["a"],
        [mention],
        tags=["N"],
        offsets=[(0, 1)],
        duplicates=[mention],
        before=["before"],
        after=["after"],
        annotated=AnnotationScope(["X"]),
        forbidden=[Mention(0, 1, "Y")],
    )
    assert all(attrs.astuple(sentence, recurse=False)), "a field without a value would be kept by chance"
    changed = attrs.evolve(sentence, tags=["V"])
    for field in attrs.fields(Sentence):
        assert getattr(changed, field.name) == (("V",) if field.name == "tags" else getattr(sentence, field.name))
    document = Document("a", [mention], [sentence], "zoo", {"source": "made"})
    named = attrs.evolve(document, id="other")
    assert (named.text, named.mentions, named.sentences, named.metadata, named.id) == (
        *(document.text, document.mentions, document.sentences, document.metadata),
        "other",
    )
    with pytest.raises(SpanError, match="beyond the text of 0 characters"):
        attrs.evolve(document, text="")


def test_with_mentions_keeps_what_is_listed_again() -> None:
    once, again = Mention(0, 1, "X", probability=0.1), Mention(0, 1, "X", probability=0.2)
    sentence = Sentence(["a"], tags=["N"], before=["b"]).with_mentions(iter([once, again, again]))
    assert [m.probability for m in sentence.listed] == [0.1, 0.2, 0.2] and sentence.duplicates == (again, again)
    assert (sentence.tags, sentence.before) == (("N",), ("b",))
    assert Sentence(["a"], [once, again]).duplicates == ()
    with pytest.raises(TypeError, match="positional"):
        Sentence(["a"], [once], ["N"])  # type: ignore[misc]
    assert sentence.with_mentions([]).listed == () and sentence.with_mentions([]).mentions is Sentence(()).mentions


def test_reprs_are_one_short_line() -> None:
    document = Document("line\n" * 1000, [Mention(0, 4, "X", probability=0.97), Mention(5, 9, "X")], id="zoo")
    assert repr(document) == f"Document({document.text[:59] + '…'!r}, 2 mentions, 0 sentences, id='zoo')"
    assert repr(sorted(document.mentions)[0]) == "Mention(0, 4, 'X', text='line', p=0.97)"
    assert repr(Mention(0, 4, "X", ((0, 1), (2, 4)))) == "Mention(0, 4, 'X', fragments=((0, 1), (2, 4)))"
    assert repr(Sentence(["word"] * 1000, [Mention(0, 1, "X")])).endswith("word word…', 1,000 tokens, 1 mention)")


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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sentence("a b"), "'a b', but needs its tokens"),
        (lambda: Sentence(["a"], [(0, 1, "X")]), "(0, 1, 'X') is given as a mention"),  # type: ignore[list-item]
        (lambda: Document("ab", [[0, 1, "X"]]), "[0, 1, 'X'] is given as a mention"),  # type: ignore[list-item]
        (lambda: Document("ab", Mention(0, 1, "X")), "put mentions into a list"),  # type: ignore[arg-type]
    ],
)
def test_values_of_other_types_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        make()


def test_a_moved_mention_needs_its_text_again() -> None:
    mention = Mention(4, 11, "GPE", text="Seattle")
    with pytest.raises(SpanError, match="the text there reads 'the Seattle'"):
        Document("the Seattle zoo", [attrs.evolve(mention, start=0)])
    [moved] = Document("the Seattle zoo", [attrs.evolve(mention, start=0, text="")]).mentions
    assert moved.text == "the Seattle"


def test_trusted_values_are_those_that_constructors_make() -> None:
    mention = Mention(0, 3, "X", text="the", probability=0.5, id="T1")
    sentence = Sentence(["the", "zoo"], [Mention(0, 1, "X")], tags=["DT", "NN"], offsets=[(0, 3), (4, 7)])
    document = Document("the zoo", [mention], [sentence], "d", {"a": 1}, candidates=[mention])
    made = (
        trusted_mention(0, 3, "X", "the", 0.5, "T1"),
        trusted_sentence(sentence.tokens, sentence.offsets, sentence.mentions, sentence.tags),
        trusted_document("the zoo", [mention], (sentence,), "d", {"a": 1}, None, [mention]),
    )
    for one, other in zip(made, (mention, sentence, document), strict=True):
        assert type(one) is type(other) and one == other
        for each in (one, pickle.loads(pickle.dumps(one))):
            assert all(getattr(each, field.name) == getattr(other, field.name) for field in attrs.fields(type(other)))
        assert attrs.evolve(one) == copy.deepcopy(one) == other
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            one.id = "new"  # type: ignore[misc]
