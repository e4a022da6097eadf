"""Leave mentions that are one English pronoun out of predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hyperspan.runtime.documents import SentencePrediction
from hyperspan.types import Mention, Sentence

PRONOUNS = frozenset(
    """
    i me mine my myself we us our ours ourself ourselves you your yours yourself yourselves thou thee thy thine thyself ye
    he him his himself she her hers herself it its itself they them 'em ’em their theirs themself themselves
    oneself who whom whose which what whoever whomever whosoever whomsoever whatever whatsoever whichever
    this that these those
    anybody anyone anything everybody everyone everything nobody none nothing somebody someone something
    all another any both each either enough few many most neither one ones other others several some such
    """.split()
)
"""Personal, possessive, reflexive, relative, interrogative, demonstrative and indefinite pronouns, in lower case."""
_ABBREVIATIONS = frozenset({"ALL", "IT", "ME", "US", "WHO"})
"""In capitals these are names more often than pronouns: the United States, the World Health Organization."""
_POSSESSIVE = frozenset({"'s", "’s", "'", "’"})


def is_pronoun(tokens: Sequence[str]) -> bool:
    """Whether these tokens are one English pronoun, alone or with a possessive ending; capitals make no difference.

    >>> is_pronoun(["She"]), is_pronoun(["everyone", "'s"]), is_pronoun(["she", "who"]), is_pronoun(["the", "zoo"])
    (True, True, False, False)

    Abbreviations in capitals are none:

    >>> is_pronoun(["us"]), is_pronoun(["US"]), is_pronoun(["WHO", "'s"])
    (True, False, False)
    """
    if not tokens or len(tokens) > 2 or (len(tokens) == 2 and tokens[1].lower() not in _POSSESSIVE):
        return False
    return tokens[0] not in _ABBREVIATIONS and tokens[0].lower() in PRONOUNS


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
