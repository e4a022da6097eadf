"""Constraints of a text in the tokens of its sentences: of mentions with several parts, too."""

from __future__ import annotations

import pytest

from hyperspan.config import DiscontinuousConfig
from hyperspan.errors import SpanError
from hyperspan.runtime.constraints import Constraints, constraints_by_sentence
from hyperspan.text.sentences import iter_sentences
from hyperspan.text.tokens import Tokenizer
from hyperspan.types import Document, Mention, Span

FINDS = DiscontinuousConfig(parts=2, gap=4, later_width=2)
TEXT = "We saw it. Loss of rod and cone photoreceptors is late."
DOCUMENT = Document(TEXT, (), list(iter_sentences(TEXT, Tokenizer())))


def mention(*words: str) -> Mention:
    """The mention whose parts these words are."""
    parts: list[Span] = [(TEXT.index(part), TEXT.index(part) + len(part)) for part in words]
    return Mention(parts[0][0], parts[-1][1], "cell", parts)


def test_parts_are_found_in_the_tokens_of_their_sentence() -> None:
    known = Constraints(require=[mention("rod", "photoreceptors")], forbid=[mention("Loss of", "photoreceptors")])
    assert constraints_by_sentence(DOCUMENT, known, ["cell"], 6, FINDS) == {
        1: Constraints(
            require=[Mention(2, 6, "cell", ((2, 3), (5, 6)))], forbid=[Mention(0, 6, "cell", ((0, 2), (5, 6)))]
        )
    }
    joined = Constraints(require=[mention("cone", "photoreceptors")])  # only a space is between them
    [[found]] = [one.require for one in constraints_by_sentence(DOCUMENT, joined, ["cell"], 6, FINDS).values()]
    assert found == Mention(4, 6, "cell")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (
            mention("rod", "photorec"),
            "the mention 'cell' at 19:22,32:40 to require does not begin and end with words in its part 32:40; whole words "
            "there are at 32:46",
        ),
        (mention("it", "photoreceptors"), "begins in one sentence and ends in another, and mentions lie inside"),
        (
            mention("rod and cone", "late"),
            "in its first part 3 words, and this model finds mentions of up to 2; choose a shorter first part",
        ),
        (
            mention("Loss", "rod", "photoreceptors"),
            "has 3 parts, and this model finds mentions of up to 2; choose fewer parts",
        ),
        (
            mention("Loss", "late"),
            "has a gap of 6 words, and this model finds gaps of up to 4; choose parts with a narrower gap",
        ),
        (
            mention("rod", "photoreceptors is late"),
            "has 3 words in a later part, and this model finds up to 2 there; choose a shorter later part",
        ),
    ],
)
def test_parts_that_cannot_be_are_explained(wrong: Mention, sentence: str) -> None:
    with pytest.raises(SpanError) as error:
        constraints_by_sentence(DOCUMENT, Constraints(require=[wrong]), ["cell"], 2, FINDS)
    assert sentence in str(error.value)


def test_models_of_contiguous_mentions_refuse_several_parts() -> None:
    with pytest.raises(
        SpanError,
        match=r"is discontinuous, and the model finds contiguous mentions; give one span, or .* such as craft",
    ):
        constraints_by_sentence(DOCUMENT, Constraints(forbid=[mention("rod", "photoreceptors")]), ["cell"], 2)
