"""How good a model is on GUM: by genre, by type, by form of the mention, and from raw text.

    python -m experiments.gum english data/gum/dev.jsonl.gz

The form is read off the corpus's part-of-speech tags: the head of a mention is the last noun or pronoun before its
first preposition, relative pronoun, comma or verb. A proper noun makes a name, a common noun a nominal mention.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

from attrs import evolve

from hyperspan import load, read_corpus
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.evaluation import evaluate_model
from hyperspan.evaluation.counts import Score
from hyperspan.types import Document, Mention, Sentence

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


def row(name: str, found: Score) -> str:
    return (
        f"| {name} | {100 * found.precision:.1f} | {100 * found.recall:.1f} | {100 * found.f1:.1f} | {found.gold:,} |"
    )


def report(model: str, documents: Sequence[Document], device: str) -> None:
    annotator = load(model, device=device)
    scored = evaluate_model(annotator, documents, samples=0)
    pairs: dict[str, Pairs] = defaultdict(list)
    for gold, found in zip(documents, scored.documents, strict=True):
        sentences = with_sentences(gold, Problems()).sentences
        pairs[str(gold.metadata["genre"])] += zip(sentences, found.sentences, strict=True)
    everything = [pair for genre in pairs.values() for pair in genre]
    print("| | precision | recall | F1 | mentions |\n|---|---:|---:|---:|---:|")
    print(row("all", score(everything)))
    raw = evaluate_model(annotator, [evolve(document, sentences=()) for document in documents], samples=0).report
    print(row("all, from raw text", raw.micro))
    for genre in sorted(pairs):
        print(row(f"genre: {genre}", score(pairs[genre])))
    for name, wanted in (("free genres", False), ("other genres", True)):
        print(row(name, score([pair for genre in pairs if (genre in NOT_FREE) == wanted for pair in pairs[genre]])))
    for label, found in sorted(scored.report.per_type.items()):
        print(row(f"type: {label}", found))
    for name in ("name", "nominal", "pronoun", "other"):
        print(row(f"form: {name}", score(everything, partial(has_form, name))))
    for kind, found in scored.report.calibration.items():
        print(f"\nExpected calibration error, {kind}: {found.ece:.3f}", end="")
    print(f"\nfrom raw text, {', '.join(f'{kind}: {found.ece:.3f}' for kind, found in raw.calibration.items())}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", help="a bundled model, or a model's folder")
    parser.add_argument("corpus", help="a part of GUM with metadata.genre, sentences and tags")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    report(given.model, list(read_corpus(given.corpus)), given.device)


if __name__ == "__main__":
    main()
