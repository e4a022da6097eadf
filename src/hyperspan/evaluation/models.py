"""Score a model on annotated documents, whose mentions it does not see, with its speed and calibration, and list what
it gets wrong, with its probabilities.
"""

from __future__ import annotations

import itertools
import math
import re
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from attrs import evolve

from hyperspan.corpora.documents import by_characters, contained, covered, joined, with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.evaluation.alignment import Aligned, align
from hyperspan.evaluation.calibration import calibration_of
from hyperspan.evaluation.error_kinds import ModelLimits
from hyperspan.evaluation.errors import ErrorReport, SentenceProbabilities, error_report
from hyperspan.evaluation.scores import Report, evaluate
from hyperspan.evaluation.set_probabilities import set_probabilities
from hyperspan.runtime.decoding import is_pronoun
from hyperspan.runtime.documents import SentencePrediction
from hyperspan.runtime.options import DecodingOptions, Threshold
from hyperspan.text.sentences import texts, with_context
from hyperspan.text.tokens import WORDS, Tokenizer
from hyperspan.types import ANY_LABEL, AnnotationScope, Document, Mention, Sentence, Span

if TYPE_CHECKING:
    from hyperspan.runtime.annotator import Annotator


CANDIDATE_THRESHOLD = 0.01
"""Calibration is measured on the mentions with at least this probability."""
_WORD = re.compile(r"['’]s?$|['’]?\w+(?:['’](?!s?$)\w+)*|\S")
"""A word or a possessive ending."""
_Annotated = TypeVar("_Annotated", Document, Sentence)


class SentenceRecognizer(Protocol):
    """A model that can be scored.

    Use :class:`hyperspan.runtime.annotator.Annotator`, or a subclass of this with `predictions`.
    """

    @property
    def context(self) -> int:
        """The number of words of context that the model reads before and after each sentence."""
        return 0

    @property
    def joins_documents(self) -> bool:
        """Whether consecutive documents of one sentence form one text."""
        return False

    @property
    def reads_tags(self) -> bool:
        """Whether the model reads part-of-speech tags."""
        return False

    @property
    def tokenizer(self) -> Tokenizer:
        """How the model reads raw text."""
        return WORDS

    def predictions(
        self, sentences: Iterable[Sentence], *, threshold: float | None = None, candidates: float | None = None
    ) -> Iterator[SentencePrediction]:
        """What the model finds in each sentence: its most probable mention set, or all mentions of at least the
        probability `threshold`; and as candidates all mentions of at least the probability `candidates`."""
        ...


@dataclass(frozen=True)
class Evaluated:
    """The scores of a model, the documents with its mentions, and the aligned sentences that were scored."""

    report: Report
    documents: list[Document]
    aligned: Aligned


def evaluate_model(
    model: SentenceRecognizer,
    gold: Iterable[Document],
    *,
    threshold: Threshold = None,
    samples: int = 1000,
    seed: int = 0,
    tokenizer: Tokenizer | None = None,
    labels: Iterable[str] | None = None,
    problems: Problems | None = None,
    on_words: Callable[[int], None] | None = None,
    **options: bool,
) -> Evaluated:
    """Recognise mentions in the texts of gold documents and score them.

    The model sees words and tags only. Documents without sentences are first split by the tokenizer of the model, or by
    another `tokenizer`, which does not see the gold mentions; `align` then compares by characters. With `labels`, only
    mentions with these labels are scored, for a corpus that does not annotate all labels of the model; the documents
    keep all mentions found. `on_words` is called with the number of words of each sentence read. Further options go to
    the model, such as ``pronouns=False`` to an annotator.

    >>> from hyperspan.runtime.documents import SentencePrediction
    >>> from hyperspan.types import Document, Mention
    >>> class Capitals(SentenceRecognizer):
    ...     def predictions(self, sentences, *, threshold=None, candidates=None):
    ...         for sentence in sentences:
    ...             places = [i for i, word in enumerate(sentence.tokens) if word.istitle()]
    ...             found = [Mention(i, i + 1, "GPE", probability=0.7) for i in places]
    ...             yield SentencePrediction(found, candidates=found)
    >>> gold = [Document("the Seattle zoo", [Mention(0, 15, "FAC"), Mention(4, 11, "GPE")])]
    >>> evaluate_model(Capitals(), gold).report.micro
    Score(correct=1, predicted=1, gold=2)
    """
    problems = problems if problems is not None else Problems()
    annotated = list(gold)
    cut = model.tokenizer if tokenizer is None else tokenizer
    blank = [_without_mentions(document, cut, problems) for document in annotated]
    words = sum(len(sentence) for document in blank for sentence in document.sentences)
    untagged = sum(len(sentence) > 0 and not sentence.tags for document in blank for sentence in document.sentences)
    if untagged and model.reads_tags:
        problems.note(
            "sentence without the part-of-speech tags that the model was trained with; expect lower scores", untagged
        )
    start = time.perf_counter()
    found = _predictions(model, blank, on_words, threshold=threshold, candidates=CANDIDATE_THRESHOLD, **options)
    seconds = time.perf_counter() - start
    predicted = _with_mentions(blank, [one.mentions for one in found])
    candidates = _with_mentions(blank, [one.candidates for one in found])
    aligned = align(annotated, predicted, candidates, problems=problems)
    aligned = aligned if labels is None else aligned.with_labels(labels)
    report = evaluate(aligned.gold, aligned.systems[0], samples=samples, seed=seed)
    calibrated = calibration_of(aligned.gold, aligned.systems[1])
    report = replace(
        report,
        calibration=report.calibration | ({"candidates": calibrated} if calibrated else {}),
        words_per_second=words / seconds if seconds else None,
    )
    return Evaluated(report, predicted, Aligned(aligned.gold, aligned.systems[:1], aligned.places))


def _without_mentions(document: Document, tokenizer: Tokenizer, problems: Problems) -> Document:
    unmarked: dict[str, Any] = {"mentions": (), "annotated": None, "forbidden": ()}
    sentences = [evolve(sentence, duplicates=(), **unmarked) for sentence in document.sentences]
    return with_sentences(evolve(document, sentences=sentences, **unmarked), problems, tokenizer)


def _predictions(
    model: SentenceRecognizer,
    documents: Sequence[Document],
    on_words: Callable[[int], None] | None,
    **options: Any,
) -> list[SentencePrediction]:
    """What the model finds in all sentences of the documents, with these options."""
    sentences, found = list(sentences_read(model, documents)), list[SentencePrediction]()
    for one in model.predictions(sentences, **options):
        if on_words is not None:
            on_words(len(sentences[len(found)]))
        found.append(one)
    return found


def candidates_of(
    model: SentenceRecognizer,
    gold: Iterable[Document],
    least: float,
    problems: Problems | None = None,
    on_words: Callable[[int], None] | None = None,
) -> Aligned:
    """Gold sentences with all mentions of at least this probability, in texts that the model reads without gold."""
    problems, annotated = problems if problems is not None else Problems(), list(gold)
    blank = [_without_mentions(document, model.tokenizer, problems) for document in annotated]
    found = _predictions(model, blank, on_words, candidates=least)
    return align(annotated, _with_mentions(blank, [one.candidates for one in found]), problems=problems)


def sentences_read(model: SentenceRecognizer, documents: Sequence[Document]) -> Iterator[Sentence]:
    """All sentences of the documents with the context that the model reads."""
    given = texts((document.sentences for document in documents), model.joins_documents)
    return (sentence for text in given for sentence in with_context(text, model.context))


def _with_mentions(documents: Sequence[Document], found: Sequence[Sequence[Mention]]) -> list[Document]:
    """The documents with the mentions of all of their sentences, one after the other."""
    rest = iter(found)
    return [_document_with(document, itertools.islice(rest, len(document.sentences))) for document in documents]


def _document_with(document: Document, found: Iterable[Sequence[Mention]]) -> Document:
    sentences: list[Sentence] = []
    mentions: list[Mention] = []
    for given, here in zip(document.sentences, found, strict=True):
        sentences.append(given.with_mentions(here))
        if given.offsets:
            mentions += [by_characters(mention, given.offsets) for mention in here]
    return evolve(document, mentions=mentions, sentences=sentences)


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


# -- the gold mentions that a model is asked for: names alone, or all but pronouns -------------------------------------


def gold_asked_for(gold: Sequence[Document], names: Mapping[str, str], *, only_names: bool = False) -> list[Document]:
    """Return gold documents with the labels that a model reports; `names` is `model.names`.

    The mentions of labels of names are left out. With `only_names` they alone are kept, as what they are names of; a
    corpus without such labels stays as it is.

    >>> ada = Document("Ada", [Mention(0, 3, "person"), Mention(0, 3, "person-name")])
    >>> [kept] = gold_asked_for([ada], {"person-name": "person"}, only_names=True)
    >>> kept.mentions == {Mention(0, 3, "person")} == gold_asked_for([ada], {"person-name": "person"})[0].mentions
    True
    """
    if all(mention.label not in names for document in gold for mention in document.mentions):
        return list(gold)
    return [
        evolve(
            _renamed(document, names, only_names),
            sentences=[_renamed(sentence, names, only_names) for sentence in document.sentences],
        )
        for document in gold
    ]


def _renamed(one: _Annotated, names: Mapping[str, str], only_names: bool) -> _Annotated:
    def label_of(label: str) -> str | None:
        if label == ANY_LABEL or not only_names:
            return None if label in names else label
        return names.get(label)

    def kept(mentions: Iterable[Mention]) -> list[Mention]:
        pairs = ((mention, label_of(mention.label)) for mention in mentions)
        return [evolve(mention, label=label) for mention, label in pairs if label is not None]

    scope = one.annotated
    if scope is not None and scope.types is not None:
        scope = AnnotationScope({label for old in scope.types if (label := label_of(old))}, scope.regions)
    return evolve(one, mentions=kept(one.mentions), forbidden=kept(one.forbidden), annotated=scope)


def without_pronouns(gold: Iterable[Document]) -> list[Document]:
    """Gold documents without mentions that are one English pronoun, as a model leaves them out of what it finds.

    >>> [left] = without_pronouns([Document("She met everyone's aunt", [Mention(0, 3, "p"), Mention(8, 18, "p")])])
    >>> left.mentions
    frozenset()
    """
    return [
        _of_others(
            evolve(
                document,
                sentences=[
                    _of_others(one, lambda m, words=one.tokens: words[m.start : m.end]) for one in document.sentences
                ],
            ),
            lambda m, text=document.text: _WORD.findall(text[m.start : m.end]),
        )
        for document in gold
    ]


def _of_others(one: _Annotated, words_of: Callable[[Mention], Sequence[str]]) -> _Annotated:
    return evolve(one, mentions=[mention for mention in one.mentions if not is_pronoun(words_of(mention))])
