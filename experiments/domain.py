"""How well models distinguish in-domain from other text, by stretches of 100 words.

For each bundled model, the AUROC of its score on GENIA, LitBank, GUM and GermEval 2014 (German) against its own corpus:
the score of its own profile, and the score that users see, which also uses the profiles of the other bundled models.
Needs no torch.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from experiments.cli import DATA_DIR, DataDir, run_module
from experiments.speed.bundled import CORPORA
from experiments.speed.texts import running_text
from hyperspan.corpora import read_corpus
from hyperspan.errors import InputError
from hyperspan.runtime.cards import ModelCard
from hyperspan.runtime.domain import DomainCheck
from hyperspan.runtime.folders import bundled_models, folder_of
from hyperspan.text.profile import WINDOW, TextProfile, WordCounts, words_of
from hyperspan.types import Document

FILES = {
    "genia": "genia/{}.data",
    "litbank": "litbank/{}.data.gz",
    "gum": "gum/{}.jsonl.gz",
    "german": "germeval2014/NER-de-{}.tsv.gz",
}
"""The corpora to distinguish, relative to the folder of corpora."""
FICTION = "fiction"
"""The genre of GUM that resembles LitBank and that `english` was not trained on."""


@dataclass(frozen=True)
class Stretch:
    """100 words and signs of a text."""

    words: tuple[str, ...]
    genre: str = ""


@dataclass(frozen=True)
class Scored:
    """The scores of the stretches of a corpus: by the model's own profile, and with those of the other models."""

    alone: list[float]
    full: list[float]
    foreign: list[bool]
    """Whether each stretch is flagged as out of domain to users."""

    def without(self, genres: Sequence[str], genre: str) -> Scored:
        kept = [index for index, each in enumerate(genres) if each != genre]
        return Scored(
            [self.alone[index] for index in kept],
            [self.full[index] for index in kept],
            [self.foreign[index] for index in kept],
        )


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """How often one of the first is greater than one of the second; ties count half.

    >>> auroc([3, 2], [1, 2])
    0.875
    """
    ordered = sorted(negative)
    wins = sum(bisect_left(ordered, value) + bisect_right(ordered, value) for value in positive)
    return wins / (2 * len(positive) * len(negative))


def stretches(path: Path) -> list[Stretch]:
    """The stretches of each document of a corpus with running text; single sentences form one text."""
    documents = list(read_corpus(path))
    if not any(document.metadata.get("genre") for document in documents):
        sentences = [sentence for document in documents for sentence in document.sentences]
        documents = [running_text(sentences)]
    return [stretch for document in documents for stretch in _cut(document)]


def _cut(document: Document) -> Iterator[Stretch]:
    words = words_of(document.text)
    for start in range(0, len(words) - WINDOW + 1, WINDOW):
        yield Stretch(tuple(words[start : start + WINDOW]), document.metadata.get("genre", ""))


def score(model: str, given: Sequence[Stretch]) -> Scored:
    """Score stretches of text with a model."""
    card = ModelCard.read(folder_of(model))
    check, profile = DomainCheck.of(card), TextProfile.from_table(card.profile)
    if check is None or profile is None:
        raise InputError(
            f"the model {model} has no profile; make one with hyperspan model profile TRAIN --dev DEV -m {folder_of(model)} --force"
        )
    counts = [WordCounts.of(stretch.words) for stretch in given]
    return Scored(
        [profile.deviation(each) / profile.limit for each in counts],
        [check.score(each) for each in counts],
        [check.is_foreign(each) for each in counts],
    )


def compared(other: Scored, own: Scored) -> dict[str, float]:
    return {
        "auroc": auroc(other.full, own.full),
        "auroc_of_own_profile": auroc(other.alone, own.alone),
        "flagged": flagged(other),
    }


def flagged(scored: Scored) -> float:
    """The share of stretches that are flagged to users."""
    return sum(scored.foreign) / len(scored.foreign)


def measure(model: str, corpora: dict[str, list[Stretch]]) -> dict[str, Any]:
    """The figures of one model."""
    home = CORPORA.get(model, model)
    scored = {name: score(model, given) for name, given in corpora.items()}
    genres = [stretch.genre for stretch in corpora["gum"]]
    own = scored[home]
    figures: dict[str, Any] = {name: compared(other, own) for name, other in scored.items() if name != home}
    if home == "gum":
        own = own.without(genres, FICTION)
        figures["litbank, own without fiction"] = compared(scored["litbank"], own)
    elif home == "litbank":
        figures["gum without fiction"] = compared(scored["gum"].without(genres, FICTION), own)
    figures["own"] = {"flagged": flagged(scored[home])}
    if home == "gum":
        figures["own without fiction"] = {"flagged": flagged(own)}
    return figures


def run(
    data_dir: DataDir = DATA_DIR,
    part: Annotated[Literal["dev", "test"], typer.Option(help="The part of the corpora.")] = "test",
) -> dict[str, Any]:
    files = {name: data_dir / pattern.format(part) for name, pattern in FILES.items()}
    if missing := [path for path in files.values() if not path.is_file()]:
        raise InputError(f"{missing[0]} is not there; name the folder of the corpora with --data-dir")
    corpora = {name: stretches(path) for name, path in files.items()}
    models = [name for name in bundled_models() if CORPORA.get(name, name) in FILES]
    return {
        "part": part,
        "stretches": {name: len(given) for name, given in corpora.items()},
        "models": {name: measure(name, corpora) for name in models},
    }


def table(figures: dict[str, Any]) -> Iterator[str]:
    """The figures as a table, a line for each model and corpus.

    >>> found = {"gum": {"auroc": 0.99912, "auroc_of_own_profile": 0.99, "flagged": 0.985}, "own": {"flagged": 0.0095}}
    >>> print(*table({"part": "dev", "stretches": {"gum": 282}, "models": {"genia": found}}), sep="\\n")
    stretches of 100 words, dev: gum 282
    model     against                        AUROC  own profile  flagged
    genia     gum                            0.999        0.990    98.5%
    genia     own                                –            –     0.9%
    """
    counts = ", ".join(f"{name} {count:,}" for name, count in figures["stretches"].items())
    yield f"stretches of 100 words, {figures['part']}: {counts}"
    yield f"{'model':<10}{'against':<30}{'AUROC':>6}{'own profile':>13}{'flagged':>9}"
    for model, rows in figures["models"].items():
        for name, row in rows.items():
            areas = [f"{row[key]:.3f}" if key in row else "–" for key in ("auroc", "auroc_of_own_profile")]
            yield f"{model:<10}{name:<30}{areas[0]:>6}{areas[1]:>13}{row['flagged']:>9.1%}"


if __name__ == "__main__":
    run_module(sys.modules[__name__], "experiments.domain")
