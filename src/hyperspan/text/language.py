"""Decide whether text is English, the only language of the bundled word vectors and models."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from hyperspan.types import Sentence

_FUNCTION_WORDS = frozenset(
    """
    the and of to with from that this these those which who whose what when where how why because while although
    are were been being has does did would could should cannot it its they them their there then than you your she his
    our if but or not into through between against about after before during without within such some each other another
    more both either neither very only however therefore thus i'm it's don't doesn't didn't can't n't 's 're 've 'll
    """.split()
)
"""Frequent English words that are rare or absent in other languages: not `in`, `is`, `was`, `for`, `by` or `also`."""
_OTHER_FUNCTION_WORDS = frozenset(
    """
    el la los las una uno que por para con del como pero más está y en de se su lo al un
    le les des une du et dans est qui pour avec sur sont ne pas ce cette il elle au aux ses
    der die das und ist nicht mit den dem des ein eine einen auf für von zu im wird hat sich dass auch wurde nach über bei
    il della delle dei gli che è non sono nel nella anche alla ai più
    o os as um uma da do dos das em não ao pelo pela são
    het een dat niet zijn met voor op hij ze wordt werd naar ook maar bij uit
    och att som är inte på med för till det av jag og ikke
    """.split()
)
"""Frequent words of Spanish, French, German, Italian, Portuguese, Dutch and Scandinavian, rare in English."""
_LEAST_OTHER, _LEAST_OTHER_SHARE = 3, 0.2
"""The minimum number of different such words in a text of another language, and their share; names have one or two."""
_LEAST_CHARACTERS = 4
"""The minimum number of characters of another script in a text of that script."""
_LATIN_END = "\u0250"
_WORD = re.compile(r"[^\W\d_]+")
_LEAST_SHARE = 0.05
"""A share of words. Without the most frequent one, which may be a coincidence, they are 15 to 30% of English words."""
_ENOUGH = 5_000
"""The maximum number of sentences read, evenly spaced."""


def looks_english(sentences: Sequence[Sentence]) -> bool:
    """Whether the frequent words of the sentences are English; False if there are no words.

    >>> looks_english([Sentence("Ada left the house of her aunt .".split())])
    True
    >>> looks_english([Sentence("Ada verließ das Haus ihrer Tante .".split())])
    False
    """
    words, found = 0, Counter[str]()
    for sentence in sentences[:: max(1, len(sentences) // _ENOUGH)]:
        for token in sentence.tokens:
            word = token.lower().replace("’", "'")
            words += any(map(str.isalpha, word))
            if word in _FUNCTION_WORDS:
                found[word] += 1
    return found.total() - max(found.values(), default=0) > _LEAST_SHARE * words


def has_words_of_another_language(text: str) -> bool:
    """Whether a short text has several lower-case frequent words of another language, and fewer English ones.

    >>> has_words_of_another_language("El presidente de la empresa dijo ayer que los trabajadores recibirán más.")
    True
    >>> has_words_of_another_language("Vincent van Gogh in the Hotel de la Paix, Los Angeles")
    False
    """
    words = _WORD.findall(text)
    other = [word for word in words if word in _OTHER_FUNCTION_WORDS]
    english = sum(word.lower() in _FUNCTION_WORDS for word in words)
    return (
        len(set(other)) >= _LEAST_OTHER and len(other) >= _LEAST_OTHER_SHARE * len(words) and len(other) > 2 * english
    )


def is_mostly_latin(text: str) -> bool:
    """Whether most word characters of a text are Latin, or only a few are not.

    >>> is_mostly_latin("TNF-α and 北京"), is_mostly_latin("北京大学 IL")
    (True, False)
    """
    if text.isascii():
        return True
    found = [character for character in unicodedata.normalize("NFKC", text) if character.isalpha()]
    other = sum(character >= _LATIN_END and not "\u1e00" <= character < "\u1f00" for character in found)
    return other < _LEAST_CHARACTERS or 2 * other < len(found)
