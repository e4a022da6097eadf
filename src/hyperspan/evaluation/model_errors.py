"""List what a model gets wrong, with its exact probabilities of the gold and the predicted mentions."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attrs import evolve

from hyperspan.corpora.documents import by_characters, contained, covered
from hyperspan.corpora.trimming import joined
from hyperspan.evaluation.alignment import Aligned
from hyperspan.evaluation.error_kinds import ModelLimits
from hyperspan.evaluation.errors import ErrorReport, SentenceProbabilities, error_report
from hyperspan.evaluation.models import Evaluated, sentences_read
from hyperspan.evaluation.set_probabilities import set_probabilities
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.options import DecodingOptions
from hyperspan.types import AnnotationScope, Document, Mention, Sentence, Span


def model_errors(evaluated: Evaluated, annotator: Annotator, options: DecodingOptions | None = None) -> ErrorReport:
    """List what a model gets wrong, with its probabilities of the gold set and the predicted set of each sentence.

    In partially annotated sentences these are the probabilities of all sets that agree with gold, or with the
    predictions, where gold is known. `options` restrict the model to their types, under the labels that they report.
    """
    model, options = annotator.model, options or annotator.options()
    sentences = list(sentences_read(annotator, evaluated.documents))
    read = _ReadSentences(evaluated.aligned, evaluated.documents, sentences)
    gold, predicted = (read.sets(side) for side in (evaluated.aligned.gold, evaluated.aligned.systems[0]))
    pairs = [(gold.sets[index], predicted.sets[index]) for index in range(len(sentences))]
    judged = set_probabilities(model, sentences, pairs, options, known=read.known(gold))
    known: list[SentenceProbabilities] = []
    for index, parts in enumerate(read.parts):
        mentions = {
            mention: judged[place].mentions[moved]
            for mention, (place, moved) in (gold.moved[index] | predicted.moved[index]).items()
            if moved in judged[place].mentions
        }
        sums = [_sum(judged[part].sets[side] for part in parts) for side in (0, 1)]
        outside = dict.fromkeys(evaluated.aligned.gold[index].mentions - gold.moved[index].keys(), "not whole words")
        if evaluated.aligned.places[index].partial:  # its annotated part is unknown
            sums = [None, None]
        elif outside:
            sums[0] = -math.inf
        known.append(SentenceProbabilities(sums[0], sums[1], mentions, outside))
    labels = frozenset(options.reported_as.get(label, label) for label in map(model.labels.__getitem__, options.types))
    parts = annotator.discontinuous
    limits = ModelLimits(labels, model.max_width, contiguous=parts is None, discontinuous=parts)
    return error_report(evaluated.aligned, known, limits)


def _sum(log_probabilities: Iterable[float | None]) -> float | None:
    """The log-probability of all of these independent sentences together; None if one is unknown."""
    total = 0.0
    for value in log_probabilities:
        if value is None:
            return None
        total += value
    return total


@dataclass(frozen=True)
class _MovedSets:
    """Mentions of aligned sentences, mapped to the sentences that the model reads."""

    sets: list[set[Mention]]
    """By sentence of the model."""
    moved: list[dict[Mention, tuple[int, Mention]]]
    """By aligned sentence: the sentence index and the mapped form of each mention. Those that fit nowhere are missing.
    """


class _ReadSentences:
    """Map aligned sentences to the sentences that a model reads.

    They are the same unless gold mentions begin or end inside words of the model, or cross its sentence boundaries.
    """

    def __init__(self, aligned: Aligned, documents: Sequence[Document], sentences: Sequence[Sentence]):
        self.aligned, self.sentences = aligned, sentences
        self.same = [one.tokens for one in aligned.gold] == [one.tokens for one in sentences]
        if self.same:
            self.parts = [[index] for index in range(len(sentences))]
            return
        self.parts = [[] for _ in aligned.gold]
        beginnings: dict[
            int, list[tuple[int, int]]
        ] = {}  # by document: the first character and index of aligned sentences
        for index, (place, sentence) in enumerate(zip(aligned.places, aligned.gold, strict=True)):
            beginnings.setdefault(place.document, []).append((sentence.offsets[0][0], index))
        number = 0
        for document_index, document in enumerate(documents):
            here = beginnings.get(document_index, [])
            for sentence in document.sentences:
                if sentence.offsets and here:
                    at = max(bisect_right(here, (sentence.offsets[0][0], len(aligned.gold))) - 1, 0)
                    self.parts[here[at][1]].append(number)
                number += 1

    def sets(self, side: Sequence[Sentence]) -> _MovedSets:
        """The mentions of one side, gold or predicted, in the model's sentences."""
        if self.same:
            moved = [{mention: (index, mention) for mention in one.mentions} for index, one in enumerate(side)]
        else:
            moved = [self._moved(one.mentions, one.offsets, self.parts[index]) for index, one in enumerate(side)]
        sets: list[set[Mention]] = [set() for _ in self.sentences]
        for one in moved:
            for place, mention in one.values():
                sets[place].add(mention)
        return _MovedSets(sets, moved)

    def known(self, gold: _MovedSets) -> list[Sentence]:
        """The model's sentences with gold's annotation scopes."""
        if self.same:
            return self.aligned.gold
        found = list(self.sentences)
        for index, sentence in enumerate(self.aligned.gold):
            if not sentence.is_partial:
                continue
            forbidden = self._moved(sentence.forbidden, sentence.offsets, self.parts[index]).values()
            for part in self.parts[index]:
                scope = sentence.annotated and _moved_scope(sentence.annotated, sentence.offsets, found[part].offsets)
                absent = [mention for place, mention in forbidden if place == part]
                found[part] = evolve(found[part], mentions=gold.sets[part], annotated=scope, forbidden=absent)
        return found

    def _moved(
        self, mentions: Iterable[Mention], given: Sequence[Span], parts: Sequence[int]
    ) -> dict[Mention, tuple[int, Mention]]:
        found: dict[Mention, tuple[int, Mention]] = {}
        for part in parts:
            offsets = self.sentences[part].offsets
            starts, ends = ({one[end]: i + end for i, one in enumerate(offsets)} for end in (0, 1))
            for mention in mentions:
                spans = by_characters(mention, given).parts
                if all(start in starts and end in ends for start, end in spans):
                    moved = joined((starts[start], ends[end]) for start, end in spans)
                    found[mention] = part, Mention(moved[0][0], moved[-1][1], mention.label, moved)
        return found


def _moved_scope(scope: AnnotationScope, given: Sequence[Span], offsets: Sequence[Span]) -> AnnotationScope:
    """The scope of a sentence in other tokens; regions cover the tokens entirely inside."""
    if scope.regions is None:
        return scope
    regions = [contained(covered(region, given), offsets) for region in scope.regions]
    return AnnotationScope(scope.types, [(start, end) for start, end in regions if start < end])
