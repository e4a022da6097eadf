"""How good a model is on GUM: by genre, by type, by form of the mention, and from raw text.

The form is read off the corpus's part-of-speech tags: the head of a mention is the last noun or pronoun before its
first preposition, relative pronoun, comma or verb. A proper noun makes a name, a common noun a nominal mention.

Example: python -m experiments.gum english data/gum/dev.jsonl.gz
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from attrs import evolve

from experiments.cli import run_module
from hyperspan import load, read_corpus
from hyperspan.cli.options import Device
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.evaluation import evaluate_model
from hyperspan.evaluation.counts import Score
from hyperspan.types import Mention, Sentence

NOT_FREE = ("essay", "fiction", "letter", "podcast", "whow")
"""The genres under CC BY-NC-SA, of which the bundled model has seen none in training."""
FORMS = {"NNP": "name", "NN": "nominal", "PRP": "pronoun", "WP": "pronoun", "DT": "pronoun", "EX": "pronoun"}
"""By how the tag of the head begins, the longest first."""
ENDS = ("IN", "TO", "W", ",", ":", "VB", "MD", "-LRB-", "(")
"""A head is before the first tag that begins so."""

Pairs = list[tuple[Sentence, Sentence]]


def form(sentence: Sentence, mention: Mention) -> str:
    """name, nominal, pronoun or other.

    >>> sentence = Sentence("the mayor of Oslo".split(), tags="DT NN IN NNP".split())
    >>> form(sentence, Mention(0, 4, "person")), form(sentence, Mention(3, 4, "place"))
    ('nominal', 'name')
    """
    tags = sentence.tags[mention.start : mention.end]
    end = next((place for place, tag in enumerate(tags) if place and tag.startswith(ENDS)), len(tags))
    nouns = [tag for tag in tags[:end] if tag.startswith(("NN", "PRP", "WP"))]
    head = nouns[-1] if nouns else tags[0]
    return next((name for start, name in FORMS.items() if head.startswith(start)), "other")


def has_form(name: str, sentence: Sentence, mention: Mention) -> bool:
    return form(sentence, mention) == name


def score(pairs: Pairs, kept: Callable[[Sentence, Mention], bool] = lambda sentence, mention: True) -> Score:
    total = Score(0, 0, 0)
    for gold, found in pairs:
        true = {mention for mention in gold.mentions if kept(gold, mention)}
        given = {mention for mention in found.mentions if kept(gold, mention)}
        total += Score(len(true & given), len(given), len(true))
    return total


def figures_of(found: Score) -> dict[str, float]:
    return {"precision": found.precision, "recall": found.recall, "f1": found.f1, "mentions": found.gold}


def run(
    model: Annotated[str, typer.Argument(help="A bundled model, or the folder of a model.")],
    corpus: Annotated[Path, typer.Argument(help="A part of GUM with metadata.genre, sentences and tags.")],
    device: Device = "cpu",
) -> dict[str, Any]:
    documents = list(read_corpus(corpus))
    annotator = load(model, device=device)
    scored = evaluate_model(annotator, documents, samples=0)
    pairs: dict[str, Pairs] = defaultdict(list)
    for gold, found in zip(documents, scored.documents, strict=True):
        sentences = with_sentences(gold, Problems()).sentences
        pairs[str(gold.metadata["genre"])] += zip(sentences, found.sentences, strict=True)
    everything = [pair for genre in pairs.values() for pair in genre]
    raw = evaluate_model(annotator, [evolve(document, sentences=()) for document in documents], samples=0).report
    rows = {"all": score(everything), "all, from raw text": raw.micro}
    rows |= {f"genre: {genre}": score(pairs[genre]) for genre in sorted(pairs)}
    for name, wanted in (("free genres", False), ("other genres", True)):
        rows[name] = score([pair for genre in pairs if (genre in NOT_FREE) == wanted for pair in pairs[genre]])
    rows |= {f"type: {label}": found for label, found in sorted(scored.report.per_type.items())}
    for name in ("name", "nominal", "pronoun", "other"):
        rows[f"form: {name}"] = score(everything, partial(has_form, name))
    reports = {"as it is cut": scored.report, "from raw text": raw}
    return {
        "scores": {name: figures_of(found) for name, found in rows.items()},
        "expected_calibration_error": {
            source: {kind: found.ece for kind, found in report.calibration.items()}
            for source, report in reports.items()
        },
    }


def table(figures: dict[str, Any]) -> Iterator[str]:
    """The figures as Markdown."""
    yield "| | precision | recall | F1 | mentions |"
    yield "|---|---:|---:|---:|---:|"
    for name, one in figures["scores"].items():
        percents = " | ".join(f"{100 * one[key]:.1f}" for key in ("precision", "recall", "f1"))
        yield f"| {name} | {percents} | {one['mentions']:,} |"
    yield ""
    for source, errors in figures["expected_calibration_error"].items():
        listed = ", ".join(f"{kind}: {error:.3f}" for kind, error in errors.items())
        yield f"Expected calibration error, {source}: {listed}"


if __name__ == "__main__":
    run_module(sys.modules[__name__], "experiments.gum")
