"""Recognise mentions that are one English pronoun."""

from __future__ import annotations

from collections.abc import Sequence

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
