"""Inter-annotator agreement: exact F1, overall, by type and on spans, and Cohen's κ to correct for chance.

Annotation may be partial: only what both annotated is compared. A mention of one annotator counts against the other
only if the other annotated that span and type.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.evaluation.alignment import align, with_words
from hyperspan.evaluation.counts import Score
from hyperspan.types import Document, Mention, Sentence, Span


@dataclass
class PairCounts:
    """The number of mentions of both annotators, and of only one."""

    both: int = 0
    only_a: int = 0
    only_b: int = 0

    def add(self, a: frozenset[Any], b: frozenset[Any]) -> None:
        self.both += len(a & b)
        self.only_a += len(a - b)
        self.only_b += len(b - a)

    @property
    def f1(self) -> float | None:
        """F1 of either annotator against the other; None if neither has mentions.

        >>> PairCounts(both=2, only_a=1, only_b=1).f1
        0.6666666666666666
        """
        score = Score(self.both, self.both + self.only_a, self.both + self.only_b)
        return score.f1 if score.predicted or score.gold else None

    def to_dict(self) -> dict[str, Any]:
        return {"f1": self.f1, "both": self.both, "only_a": self.only_a, "only_b": self.only_b}


@dataclass(frozen=True)
class TypeAgreement:
    """Agreement on the mentions of one label."""

    mentions: PairCounts
    token_kappa: float | None
    """Cohen's κ of whether a token is in such a mention; None if undefined."""
    tokens: int
    """The number of tokens that both annotated for this label."""

    def to_dict(self) -> dict[str, Any]:
        return self.mentions.to_dict() | {"token_kappa": self.token_kappa, "tokens": self.tokens}


@dataclass(frozen=True)
class AnnotatorAgreement:
    """The result of :func:`agreement`."""

    mentions: PairCounts
    spans: PairCounts
    """Agreement on spans, ignoring types."""
    per_type: Mapping[str, TypeAgreement]
    type_kappa: float | None
    """Cohen's κ of the label on spans to which both give exactly one; None if undefined."""
    labelled_spans: int
    """The number of those spans."""
    confusions: Mapping[tuple[str, str], int]
    """The number of spans with the first label by A and the second by B, most frequent first."""
    documents: int
    only_a_documents: int
    only_b_documents: int
    sentences: int
    finished: int
    """Sentences that both annotated as a whole, at least for some labels."""
    words: int

    def to_dict(self) -> dict[str, Any]:
        """The JSON of ``hyperspan compare --json``; scores are fractions."""
        counts = ("documents", "only_a_documents", "only_b_documents", "sentences", "finished", "words")
        return {
            "mentions": self.mentions.to_dict(),
            "spans": self.spans.to_dict(),
            "per_type": {label: found.to_dict() for label, found in self.per_type.items()},
            "type_kappa": self.type_kappa,
            "labelled_spans": self.labelled_spans,
            "confusions": [{"a": a, "b": b, "times": times} for (a, b), times in self.confusions.items()],
            **{name: vars(self)[name] for name in counts},
        }


def agreement(a: Iterable[Document], b: Iterable[Document], problems: Problems | None = None) -> AnnotatorAgreement:
    """Compare two annotations of the same texts; documents are matched by text, in any order.

    >>> text = "the Seattle zoo"
    >>> one = Document(text, [Mention(0, 15, "FAC"), Mention(4, 11, "GPE")])
    >>> found = agreement([one], [Document(text, [Mention(0, 15, "FAC"), Mention(4, 11, "ORG")])])
    >>> found.mentions, found.spans.f1, found.confusions
    (PairCounts(both=1, only_a=1, only_b=1), 1.0, {('GPE', 'ORG'): 1})
    """
    of_a, of_b = list(a), list(b)
    matched = _matched(of_a, of_b)
    problems = problems if problems is not None else Problems()
    pairs = [pair for one, other in matched for pair in _paired(one, other, problems)]
    mentions, spans, by_label = PairCounts(), PairCounts(), defaultdict[str, PairCounts](PairCounts)
    for one, other in pairs:
        ours, theirs = _known_mentions(one, other), _known_mentions(other, one)
        mentions.add(ours, theirs)
        spans.add(_comparable_spans(one, other), _comparable_spans(other, one))
        for label in {mention.label for mention in ours | theirs}:
            by_label[label].add(_of_label(ours, label), _of_label(theirs, label))
    labelled = [labels for one, other in pairs for labels in _labels_of_spans(one, other)]
    tables = _token_tables(pairs, sorted(by_label))
    confused = Counter(labels for labels in labelled if labels[0] != labels[1])
    return AnnotatorAgreement(
        mentions,
        spans,
        {label: TypeAgreement(by_label[label], kappa(table), table.total()) for label, table in tables.items()},
        kappa(Counter(labelled)),
        len(labelled),
        dict(sorted(confused.items(), key=lambda item: (-item[1], item[0]))),
        len(matched),
        len(of_a) - len(matched),
        len(of_b) - len(matched),
        len(pairs),
        sum(_is_finished(one) and _is_finished(other) for one, other in pairs),
        sum(len(one) for one, _ in pairs),
    )


def kappa(table: Mapping[tuple[Any, Any], int]) -> float | None:
    """Cohen's κ, the agreement beyond chance, from counts of decisions by A and B; None if chance explains all.

    >>> kappa({("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15})
    0.4
    """
    total = sum(table.values())
    of_a, of_b = Counter[Any](), Counter[Any]()
    for (one, other), times in table.items():
        of_a[one] += times
        of_b[other] += times
    chance = sum(of_a[value] * of_b[value] for value in of_a)  # in units of 1 / total²
    if chance == total * total:
        return None
    observed = total * sum(times for (one, other), times in table.items() if one == other)
    return (observed - chance) / (total * total - chance)


def _matched(a: Sequence[Document], b: Sequence[Document]) -> list[tuple[Document, Document]]:
    """Pairs of documents with the same text; repeated texts are matched in order."""
    waiting: dict[str, list[Document]] = defaultdict(list)
    for document in b:
        waiting[document.text].append(document)
    matched = [(one, waiting[one.text].pop(0)) for one in a if waiting.get(one.text)]
    taken = {id(document) for pair in matched for document in pair}
    by_id = {document.id: document for document in b if document.id and id(document) not in taken}
    for one in a:
        if id(one) not in taken and one.id in by_id:
            raise InputError(
                f"document {one.id!r} has another text in B than in A; compare annotations of the same texts"
            )
    if not matched:
        raise InputError("A and B have no text in common; compare annotations of the same texts")
    return matched


def _paired(a: Document, b: Document, problems: Problems) -> list[tuple[Sentence, Sentence]]:
    """The sentences of both annotators with the same words, each with its annotation scope."""
    a, b = with_words(a, problems), with_words(b, problems)
    ours, theirs = (with_sentences(document, problems).sentences for document in (a, b))
    if [sentence.tokens for sentence in ours] == [sentence.tokens for sentence in theirs]:
        return list(zip(ours, theirs, strict=True))
    if any(part.is_partial for part in (a, b, *ours, *theirs)):
        raise InputError(
            f"the text {a.text[:40]!r} is cut into other words in B than in A, and annotated in part; compare annotations of the "
            "same words"
        )
    aligned = align([a], [b], problems=problems)
    return list(zip(aligned.gold, aligned.systems[0], strict=True))


def _known_mentions(one: Sentence, other: Sentence) -> frozenset[Mention]:
    """The mentions of a sentence that the other annotator has judged."""
    return frozenset(mention for mention in one.mentions if other.knows(mention))


def _comparable_spans(one: Sentence, other: Sentence) -> frozenset[Span]:
    marked = {mention.span for mention in other.mentions}
    return frozenset(mention.span for mention in one.mentions if mention.span in marked or other.knows(mention))


def _of_label(mentions: Iterable[Mention], label: str) -> frozenset[Mention]:
    return frozenset(mention for mention in mentions if mention.label == label)


def _labels_of_spans(one: Sentence, other: Sentence) -> list[tuple[str, str]]:
    """Both labels on each span to which both annotators give exactly one."""
    ours, theirs = _by_span(one), _by_span(other)
    return [
        (ours[span][0], theirs[span][0])
        for span in sorted(ours.keys() & theirs.keys())
        if len(ours[span]) == len(theirs[span]) == 1
    ]


def _by_span(sentence: Sentence) -> dict[Span, list[str]]:
    found: dict[Span, list[str]] = defaultdict(list)
    for mention in sentence.mentions:
        found[mention.span].append(mention.label)
    return found


def _token_tables(
    pairs: Sequence[tuple[Sentence, Sentence]], labels: Sequence[str]
) -> dict[str, Counter[tuple[bool, bool]]]:
    """For each label, counts of tokens inside such a mention of A and of B, where both annotated it."""
    tables = {label: Counter[tuple[bool, bool]]() for label in labels}
    for one, other in pairs:
        scopes = [sentence.annotated for sentence in (one, other) if sentence.annotated is not None]
        for label in labels:
            ours, theirs = _tokens_of(one, label), _tokens_of(other, label)
            tables[label].update(
                (place in ours, place in theirs)
                for place in range(len(one))
                if all(scope.covers(place, place + 1, label) for scope in scopes)
            )
    return tables


def _tokens_of(sentence: Sentence, label: str) -> set[int]:
    """The tokens in mentions of a label, without those between fragments."""
    spans = [span for m in sentence.mentions if m.label == label for span in m.parts]
    return {place for start, end in spans for place in range(start, end)}


def _is_finished(sentence: Sentence) -> bool:
    scope = sentence.annotated
    return scope is None or (scope.regions is None and not scope.is_empty)
