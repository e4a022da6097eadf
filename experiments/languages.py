"""How often a text in another language is said to be in it, and how often text in the model's own language is not.

The first are German news (GermEval 2014), the sample of Chinese, and manual pages of a folder; the second are corpora
in English, GUM by genre. Texts are cut into stretches of few words. Needs no torch.
"""

from __future__ import annotations

import gzip
import random
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.cli import DATA_DIR, DataDir, run_module
from hyperspan.corpora import read_corpus
from hyperspan.corpora.examples import example_path
from hyperspan.errors import InputError
from hyperspan.text.function_words import LANGUAGES
from hyperspan.text.language import other_language

ENGLISH_FILES = {
    "GUM": "gum/*.jsonl.gz",
    "GENIA": "genia/*.data",
    "LitBank": "litbank/*.data.gz",
    "CRAFT": "craft/*.jsonl.gz",
    "AMALGUM": "amalgum/*.data.gz",
    "names": "names/*.jsonl.gz",
}
"""Corpora in English, relative to the folder of corpora; those that are not there are left out."""
GERMAN_FILES = "germeval2014/NER-de-*.tsv.gz"
LENGTHS = "10,15,28,45"
MOST = 2_000
"""The largest number of stretches of a corpus."""
LEAST = 20
"""The smallest number of stretches that a share is computed of."""
OTHERS = {"zh_CN": "Chinese", "ja": "Japanese", "ko": "Korean"}
"""Languages of manual pages, besides those with frequent words."""
_WITHOUT_SPACES = ("Chinese", "Japanese")
_SIGNS = {"aq": "'", "Aq": "'", "lq": "“", "rq": "”", "ss": "ß", "/o": "ø", "oa": "å", "ae": "æ", "oe": "œ"}
_ACCENTS = {":": "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", ",": "\u0327", "~": "\u0303"}


def run(
    data_dir: DataDir = DATA_DIR,
    manuals: Annotated[
        Path | None,
        typer.Option(help="A folder with a folder of manual pages for each language, such as man of Debian."),
    ] = None,
    lengths: Annotated[str, typer.Option(help="Lengths in words, separated by commas.")] = LENGTHS,
) -> dict[str, Any]:
    german = _texts(sorted(data_dir.glob(GERMAN_FILES)))
    if not german:
        raise InputError(f"{data_dir / GERMAN_FILES} is not there; name the folder of the corpora with --data-dir")
    others = {"German: GermEval": german, "Chinese: sample": _texts([example_path("chinese")])}
    english = dict(_english(data_dir))
    if manuals is not None:
        others |= _manuals(manuals)
    rows: dict[str, Any] = {}
    for name, texts in others.items():
        rows[name] = {"card": "English", "language": name.split(":")[0], "texts": texts}
    rows["GermEval, model of German"] = {"card": "German", "language": "", "texts": german}
    rows["Chinese sample, model of Chinese"] = {"card": "Chinese", "language": "", "texts": others["Chinese: sample"]}
    rows["GENIA, model of German"] = {"card": "German", "language": "English", "texts": english.get("GENIA", [])}
    rows |= {name: {"card": "English", "language": "", "texts": texts} for name, texts in english.items()}
    if not all(length.isdecimal() and int(length) for length in lengths.split(",")):
        raise InputError(f"--lengths {lengths!r} is not a list of whole numbers; write for example --lengths {LENGTHS}")
    given = [int(length) for length in lengths.split(",")]
    measured = {name: {length: _measured(length, **row) for length in given} for name, row in rows.items()}
    return {"lengths": given, "rows": {name: row for name, row in measured.items() if any(row.values())}}


def table(figures: dict[str, Any]) -> Iterator[str]:
    """The figures as a table: for each length the share that is said to be in another language; in text of another
    one, those said to be in the right language in parentheses.

    >>> measured = {10: {"stretches": 50, "other": 0.96, "right": 0.9}}
    >>> print(*table({"lengths": [10], "rows": {"German": measured}}), sep="\\n")
    text                                      10 words
    German                               96.0% (90.0%)
    """
    yield f"{'text':<34}" + "".join(f"{f'{length} words':>16}" for length in figures["lengths"])
    for name, row in figures["rows"].items():
        cells = [
            f"{one['other']:.1%}" + (f" ({one['right']:.1%})" if "right" in one else "") if one else ""
            for one in row.values()
        ]
        yield f"{name:<34}" + "".join(f"{cell:>16}" for cell in cells)


def stretches(texts: Iterable[str], length: int, signs: bool = False) -> list[str]:
    """Stretches of so many words, or of characters where words have no spaces between them.

    >>> sorted(stretches(["One , two", "three ! Four"], 2))
    ['One , two', 'three ! Four']
    """
    found, words, letters = list[str](), list[str](), 0
    for word in (part for text in texts for part in (text if signs else text.split())):
        words.append(word)
        letters += any(map(str.isalpha, word))
        if letters == length:
            found.append(("" if signs else " ").join(words))
            words, letters = [], 0
    random.Random(1).shuffle(found)
    return found[:MOST]


def _measured(length: int, texts: Sequence[str], card: str, language: str) -> dict[str, Any]:
    """How many stretches are said to be in another language than the card's; nothing for too few."""
    given = stretches(texts, length, signs=language in _WITHOUT_SPACES or card in _WITHOUT_SPACES)
    if len(given) < LEAST:
        return {}
    said = Counter(other_language(stretch, card) for stretch in given)
    figures = {"stretches": len(given), "other": 1 - said[""] / len(given)}
    return {**figures, "right": said[language] / len(given)} if language else figures


def _texts(paths: Iterable[Path]) -> list[str]:
    return [document.text for path in paths for document in read_corpus(path)]


def _english(data_dir: Path) -> Iterator[tuple[str, list[str]]]:
    """The texts of each English corpus, GUM's by genre; train sets only where there is little else."""
    for name, pattern in ENGLISH_FILES.items():
        found: dict[str, list[str]] = {}
        for path in sorted(data_dir.glob(pattern)):
            if "train" in path.name and name != "names":
                continue
            part = path.name.split(".")[0] if name in ("AMALGUM", "names") else ""
            for document in read_corpus(path):
                kind = document.metadata.get("genre", part) if name == "GUM" else part
                found.setdefault(f"{name} {kind}".strip(), []).append(document.text)
        yield from found.items()


# -- manual pages ------------------------------------------------------------------------------------------------------


def _manuals(folder: Path) -> dict[str, list[str]]:
    """Paragraphs of the translated manual pages of a folder by language, without those that are left in English, which
    are the same in several languages."""
    named = {language.code: language.name for language in LANGUAGES[1:]} | OTHERS
    found = {
        name: list(
            dict.fromkeys(text for path in sorted((folder / code).glob("man*/*.gz")) for text in paragraphs(path))
        )
        for code, name in named.items()
    }
    everywhere = Counter(text for texts in found.values() for text in texts)
    return {
        f"{name}: manuals": kept
        for name, texts in found.items()
        if (kept := [text for text in texts if everywhere[text] == 1])
    }


def paragraphs(path: Path) -> Iterator[str]:
    """The paragraphs of a manual page without its markup; short ones, mostly names of options, are left out."""
    text = gzip.decompress(path.read_bytes()).decode(errors="replace")
    text = re.sub(r"\\(?:f\(..|f\[.*?\]|f.|s[+-]?\d|[&/,^|%:])", "", text)
    text = re.sub(r"\\[(*]\(?(..)|\\\[(.*?)\]", lambda found: _sign(found[1] or found[2]), text)
    lines = text.replace("\\-", "-").replace("\\", "").split("\n")
    held: list[str] = []
    for line in [*lines, ""]:
        if line[:1] in (".", "'", ""):
            if len(paragraph := " ".join(held)) >= 60:
                yield paragraph
            held = []
        else:
            held.append(line.strip())


def _sign(name: str) -> str:
    """The character of a name in troff.

    >>> _sign(":o"), _sign("ss")
    ('ö', 'ß')
    """
    if len(name) == 2 and name[0] in _ACCENTS:
        return unicodedata.normalize("NFC", name[1] + _ACCENTS[name[0]])
    return _SIGNS.get(name, " ")


if __name__ == "__main__":
    run_module(sys.modules[__name__], "experiments.languages")
