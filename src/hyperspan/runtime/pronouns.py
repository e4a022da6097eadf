"""Leave mentions that are one English pronoun out of predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hyperspan.runtime.documents import SentencePrediction
from hyperspan.text.pronouns import is_pronoun
from hyperspan.types import Mention, Sentence


def leave_out_pronouns(
    predictions: Mapping[int, SentencePrediction],
    sentences: Sequence[Sentence],
    required: Mapping[int, Iterable[Mention]],
) -> dict[int, SentencePrediction]:
    """Return the predictions, by sentence index, without pronouns; required mentions stay.

    >>> she, zoo = Mention(0, 1, "person"), Mention(2, 3, "place")
    >>> found = SentencePrediction([she, zoo], [(0.5, [she, zoo]), (0.25, [zoo])])
    >>> left = leave_out_pronouns({0: found}, [Sentence(["She", "left", "Oz"])], {})[0]
    >>> left.mentions == [zoo], left.sets == [(0.75, [zoo])]
    (True, True)
    """
    return {
        index: _without_pronouns(found, sentences[index].tokens, {one.span for one in required.get(index, ())})
        for index, found in predictions.items()
    }


def _without_pronouns(
    found: SentencePrediction, tokens: Sequence[str], kept: set[tuple[int, int]]
) -> SentencePrediction:
    def others(mentions: Iterable[Mention]) -> list[Mention]:
        return [one for one in mentions if one.span in kept or not is_pronoun(tokens[one.start : one.end])]

    return SentencePrediction(
        others(found.mentions),
        _merged((probability, others(mentions)) for probability, mentions in found.sets),
        others(found.candidates),
    )


def _merged(sets: Iterable[tuple[float, list[Mention]]]) -> list[tuple[float, list[Mention]]]:
    """Sets that differ in pronouns alone become one, whose probability is their sum; the most probable comes first."""
    totals: dict[tuple[Mention, ...], float] = {}
    for probability, mentions in sets:
        totals[tuple(mentions)] = totals.get(tuple(mentions), 0.0) + probability
    merged = [(min(total, 1.0), list(mentions)) for mentions, total in totals.items()]
    return sorted(merged, key=lambda one: -one[0])
