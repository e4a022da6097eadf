"""Which language a text is in, by its script, frequent words and letters. Needs neither torch nor NumPy."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache

from hyperspan.text.function_words import ENGLISH, LANGUAGES, Language
from hyperspan.types import Sentence

_WORD = re.compile(r"[^\W\d_]+")
_NO_WORDS: frozenset[str] = frozenset()
_NO_PROOF = frozenset(
    """
    af al ben bin da das de del della den der des di do dos du e el la las le les los van von y zu
    ad et in novo per pro se vitro vivo
    co mi na po
    """.split()
).union(language.code for language in LANGUAGES)
"""Words that English text has in names, in Latin phrases, in clinical notes (sodium is na) and as codes of languages:
alone, they prove nothing."""
_LEAST_LENGTH = 8
"""The minimum number of words of a text whose words show its language."""
_LEAST_WORDS, _LEAST_SHARE = 2, 0.1
"""The number of different words that prove another language, and the minimum share of its words in a text."""
_LEAST_CHARACTERS = 4
"""The minimum number of characters of another script in a text of that script."""
_KANA_SHARE = 0.05
"""The minimum share of kana in Japanese; the rest are characters that Chinese has too."""
_SCRIPTS = {
    "CJK": ("Chinese", "Japanese"),
    "HIRAGANA": ("Japanese",),
    "HANGUL": ("Korean",),
    "DEVANAGARI": ("a language in Devanagari script", "Hindi", "Marathi", "Nepali", "Sanskrit"),
    "ETHIOPIC": ("a language in Ethiopic script", "Amharic", "Tigrinya"),
    "HEBREW": ("Hebrew", "Yiddish"),
    "MYANMAR": ("Burmese",),
    "GURMUKHI": ("Punjabi",),
} | {
    name.upper(): (name,)
    for name in (
        "Armenian Bengali Georgian Greek Gujarati Kannada Khmer Lao Malayalam Sinhala Tamil Telugu Thai Tibetan".split()
    )
}
"""The languages of each script, by its name in Unicode. A text is said to be in the first one."""
_ALIKE = {
    "bosnian": "Croatian",
    "farsi": "Persian",
    "flemish": "Dutch",
    "malay": "Indonesian",
    "mandarin": "Chinese",
    "serbian": "Croatian",
}
"""Languages that look like another one here; Serbian, known by its Cyrillic words, is also written in Latin letters."""
_ENGLISH_SHARE = 0.05
"""A share of words. Without the most frequent one, which may be a coincidence, they are 15 to 30% of English words."""
_ENOUGH = 5_000
"""The maximum number of sentences read, evenly spaced."""


def other_language(text: str, own: str) -> str:
    """The language that a text looks to be in, if it is none of those that `own` names; else, and if it names none that
    is known here, "".

    >>> other_language("Der Minister hat gestern gesagt, dass er nicht zufrieden ist.", "English")
    'German'
    >>> other_language("Vincent van Gogh and Charles de Gaulle in the Hotel de la Paix, Los Angeles", "English")
    ''
    >>> other_language("明年修建三条新的地铁线路。", "English"), other_language("明年修建", "Chinese")
    ('Chinese', '')
    """
    expected = _named_in(own)
    if not expected:
        return ""
    text = unicodedata.normalize("NFC", text)
    scripts = _scripts(text)
    script = _main_script(scripts)
    if script in _alphabets():
        return _by_words(text, script, scripts, expected)
    languages = _SCRIPTS.get(script, (script.title(),))
    return "" if expected & set(languages) else languages[0]


def looks_english(sentences: Sequence[Sentence]) -> bool:
    """Whether the frequent words of the sentences are English; False if there are no words.

    >>> looks_english([Sentence("Ada left the house of her aunt .".split())])
    True
    >>> looks_english([Sentence("Ada verließ das Haus ihrer Tante .".split())])
    False
    """
    words = Counter[str]()
    for sentence in sentences[:: max(1, len(sentences) // _ENOUGH)]:
        words.update(_WORD.findall(" ".join(sentence.tokens).lower()))
    found = Counter[Language]()
    for word, count in words.items():
        for language in _languages_of(word, "LATIN"):
            found[language] += count
    known = [count for word, count in words.items() if word in ENGLISH.words]
    return sum(known) - max(known, default=0) > _ENGLISH_SHARE * words.total() and found[ENGLISH] == max(found.values())


def _by_words(text: str, script: str, scripts: Counter[str], expected: frozenset[str]) -> str:
    """The language of a script whose words a text has, unless it has as many of an expected language."""
    own_words = _NO_WORDS.union(*(language.words for language in _alphabets()[script] if language.name in expected))
    own, found, shares = Counter[str](), dict[Language, list[str]](), dict[Language, float]()
    words = _WORD.findall(text.lower() if text.isupper() else text)
    for word in words:
        lower = word.lower()
        if lower in own_words:
            own[lower] += 1
        elif word == lower:  # others may be names
            languages = _languages_of(word, script)
            if any(language.name in expected for language in languages):  # by its letters
                continue
            for language in languages:
                found.setdefault(language, []).append(word)
                shares[language] = shares.get(language, 0.0) + 1 / len(languages)
    lead = {language: len(having) - _alone(own, language) for language, having in found.items()}
    best = max(lead, key=lambda language: (lead[language], shares[language]), default=None)
    if script != "LATIN" and not own_words:
        return best.name if best else f"a language in {script.title()} script"
    if best is None or len(words) < _LEAST_LENGTH:
        return ""
    others = sum(count for each, count in scripts.items() if each != script and expected & _written_in(each))
    proof = {word for word in found[best] if len(word) > 1}
    proven = len(proof) >= _LEAST_WORDS and bool(proof - _NO_PROOF)
    return best.name if proven and lead[best] > others and len(found[best]) >= _LEAST_SHARE * len(words) else ""


def _alone(own: Counter[str], language: Language) -> int:
    """How many of the words that an expected language has are not also words of another."""
    return sum(count for word, count in own.items() if word not in language.words)


def _languages_of(word: str, script: str) -> list[Language]:
    """The languages of a script that have a lower-case word, or letters of it that few languages have."""
    by_word, by_letter = _index(script)
    languages = by_word.get(word, ())
    special = [by_letter[letter] for letter in word if letter in by_letter] if len(word) > 1 else []
    if not special:
        return list(languages)
    return list(dict.fromkeys([*languages, *(one for one in special[0] if all(one in more for more in special))]))


@cache
def _index(script: str) -> tuple[dict[str, list[Language]], dict[str, list[Language]]]:
    """The languages of a script by their words and by their letters."""
    by_word, by_letter = dict[str, list[Language]](), dict[str, list[Language]]()
    for language in _alphabets()[script]:
        for word in language.words:
            by_word.setdefault(word, []).append(language)
        for letter in language.letters:
            by_letter.setdefault(letter, []).append(language)
    return by_word, by_letter


@cache
def _alphabets() -> dict[str, list[Language]]:
    """The languages that have words here, by script."""
    found = dict[str, list[Language]]()
    for language in LANGUAGES:
        found.setdefault(_script_of(min(language.words)), []).append(language)
    return found


@cache
def _named_in(text: str) -> frozenset[str]:
    """The languages that a text such as "English, German" or "en-GB" names."""
    words = set(_WORD.findall(text.lower()))
    named = {name for script in {*_SCRIPTS, *_alphabets()} for name in _written_in(script) if name.lower() in words}
    named |= {_ALIKE[word] for word in words if word in _ALIKE}
    codes = set(re.split(r"[\s,;/]+", text.lower().split("-")[0]))
    return frozenset(named or {language.name for language in LANGUAGES if language.code in codes})


def _written_in(script: str) -> set[str]:
    """The names of the languages of a script."""
    known = {language.name for language in _alphabets().get(script, ())}
    return known | set(_SCRIPTS.get(script, (script.title(),)))


def _scripts(text: str) -> Counter[str]:
    """The scripts of the letters of a text, by their names in Unicode; kana of both kinds are one."""
    if text.isascii():
        return Counter({"LATIN": len(text)})
    found = Counter[str]()
    for character, count in Counter(unicodedata.normalize("NFKC", text)).items():
        if character.isalpha():
            found[_script_of(character)] += count
    return found


def _script_of(letter: str) -> str:
    script = unicodedata.name(letter[0], "").split(" ")[0]
    return "HIRAGANA" if script == "KATAKANA" else script


def _main_script(scripts: Counter[str]) -> str:
    """The script of most letters; Latin if only a few are not."""
    others = Counter({script: count for script, count in scripts.items() if script not in ("LATIN", "MODIFIER", "")})
    total = others.total()
    if total < _LEAST_CHARACTERS or 2 * total < scripts["LATIN"] + total:
        return "LATIN"
    [(main, _)] = others.most_common(1)
    return "HIRAGANA" if main == "CJK" and others["HIRAGANA"] >= _KANA_SHARE * total else main
