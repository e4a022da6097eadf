"""The samples that both sides draw from: those of ``make fuzz``, and invented documents in every format."""

from __future__ import annotations

import random

from hyperspan.corpora import FORMATS, READERS, WRITERS, document_of
from hyperspan.errors import HyperspanError
from hyperspan.types import AnnotationScope, Document, Mention, Sentence
from tests.fuzz.differential.inputs import Material
from tests.fuzz.samples import TOKENS, corpora, every_corpus, family, written
from tests.fuzz.targets.corpora import archives_of

WORDS = (
    'The keeper of Oz met T and B cells in Łódź , 😀 on 3 May . She didn\'t ask ( e\u0301 ) İ #1 B-PER O " ? "'.split()
)
LABELS = ("PER", "GPE", "cell_type", "DNA-x", "A B", "O", "B-PER")
INVENTED = 12
"""So many corpora are written in each format."""


def invented(chance: random.Random) -> list[Document]:
    """Documents with mentions of every shape, at times with scores, ids and partial annotation."""
    documents: list[Document] = []
    for number in range(chance.randrange(1, 4)):
        sentences = [_sentence(chance) for _ in range(chance.randrange(1, 4))]
        documents.append(document_of(sentences, id=chance.choice((f"doc-{number}", "", f"a/b {number}"))))
    return documents


def _sentence(chance: random.Random) -> Sentence:
    tokens = chance.choices(WORDS, k=chance.randrange(1, 12))
    mentions = {_mention(chance, len(tokens)) for _ in range(chance.choice((0, 1, 2, 3, 6)))}
    tags = ["NN"] * len(tokens) if chance.random() < 0.5 else ()
    if chance.random() < 0.85:
        return Sentence(tokens, mentions, tags=tags)
    scope = AnnotationScope(types=chance.choice((None, {"PER"}, {"GPE", "cell_type"})), regions=None)
    return Sentence(tokens, [m for m in mentions if scope.types is None or m.label in scope.types], annotated=scope)


def _mention(chance: random.Random, length: int) -> Mention:
    start = chance.randrange(length)
    end = chance.randrange(start + 1, length + 1)
    label = chance.choices(LABELS, (9, 9, 9, 2, 1, 1, 1))[0]
    parts = ((start, start + 1), (end - 1, end)) if end - start > 2 and chance.random() < 0.25 else ()
    probability = chance.choice((None, None, 0.5, 1.0))
    return Mention(start, end, label, parts, probability=probability, id=chance.choice(("", "", "m1")))


def make_material(seed: int) -> Material:
    """The same samples for the same seed."""
    chance = random.Random(f"{seed}/material")
    samples = {name: list(corpora(name)) for name in READERS}
    for _ in range(INVENTED):
        documents = invented(chance)
        for name in set(READERS) & set(WRITERS):
            try:
                samples[name].append(written(documents, name))
            except HyperspanError:  # a label with a space, say, which this format refuses
                continue
    suffixes = {name: "" if name == "brat" else FORMATS[name].suffixes[0] for name in WRITERS}
    return Material(
        samples,
        [archive for sample in every_corpus() for archive in archives_of(sample)],
        {name: list(TOKENS[family(name)]) for name in READERS},
        list(WRITERS),
        suffixes,
    )
