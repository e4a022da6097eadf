"""Align gold and predictions: by sentence if the tokens agree, otherwise by characters of the same text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from attrs import evolve

from hyperspan.corpora.documents import by_characters, by_tokens, with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.types import Document, Mention, Sentence, Span

Scorable = Iterable[Sentence] | Iterable[Document]
"""One side of a comparison: all sentences, or all documents."""
QUOTED_CHARACTERS = 20
"""The number of characters quoted in an error from where two texts begin to differ."""


@dataclass(frozen=True)
class PlaceInCorpus:
    """The place of a sentence in a corpus: index and id of its document, and its number there, from 1."""

    document: int = 0
    id: str = ""
    number: int = 1
    partial: bool = False
    """Whether its document is partially annotated, but none of its sentences here has the scope."""


@dataclass(frozen=True)
class Aligned:
    """The same sentences with gold mentions and with those of each system."""

    gold: list[Sentence]
    systems: tuple[list[Sentence], ...] = field(default=())
    places: list[PlaceInCorpus] = field(default_factory=list)
    """The place of each sentence in gold's documents."""

    def with_labels(self, labels: Iterable[str]) -> Aligned:
        """Keep only the mentions of these labels, on all sides.

        >>> zoo = Sentence(["the", "Seattle", "zoo"], [Mention(0, 3, "FAC"), Mention(1, 2, "GPE")])
        >>> Aligned([zoo], ([zoo],)).with_labels(["GPE"]).systems[0][0].mentions
        frozenset({Mention(1, 2, 'GPE')})
        """
        if isinstance(labels, str):
            raise InputError(f"labels are given as {labels!r:.80}, but need a list; write [{labels!r:.80}]")
        kept = frozenset(labels)

        def chosen(sentences: list[Sentence]) -> list[Sentence]:
            return [s.with_mentions(mention for mention in s.listed if mention.label in kept) for s in sentences]

        return Aligned(chosen(self.gold), tuple(map(chosen, self.systems)), self.places)

    def where_known(self) -> Aligned:
        """Drop mentions of systems that gold neither confirms nor rules out.

        >>> from hyperspan import AnnotationScope
        >>> zoo = ["the", "Seattle", "zoo"]
        >>> gold = Sentence(zoo, [Mention(1, 2, "GPE")], annotated=AnnotationScope(types=["GPE"]))
        >>> found = Sentence(zoo, [Mention(0, 3, "FAC"), Mention(2, 3, "GPE")])
        >>> Aligned([gold], ([found],)).where_known().systems[0][0].mentions
        frozenset({Mention(2, 3, 'GPE')})
        """
        if not any(sentence.is_partial for sentence in self.gold):
            return self
        return Aligned(
            self.gold,
            tuple(
                [_kept(found, filter(truth.knows, found.listed)) for truth, found in zip(self.gold, side, strict=True)]
                for side in self.systems
            ),
            self.places,
        )


def _kept(sentence: Sentence, mentions: Iterable[Mention]) -> Sentence:
    """The words with these mentions of a system, without an annotation scope."""
    return evolve(sentence, annotated=None, forbidden=()).with_mentions(mentions)


def align(gold: Iterable[Document], *systems: Iterable[Document], problems: Problems | None = None) -> Aligned:
    """Return the sentences of gold and of one or more systems, in the same order and with the same tokens.

    Documents are matched by id if the ids are unique and the same on both sides, otherwise by order. If all tokens
    agree, the sentences are used unchanged. Otherwise the texts must agree, and mentions are compared by characters. If
    all mentions begin and end at gold's tokens, gold's sentences are kept. If not, the text is split again, with tokens
    cut at the ends of mentions.

    >>> text = "the Seattle zoo"
    >>> found = align([Document(text, [Mention(4, 11, "GPE")])], [Document(text, [Mention(4, 7, "GPE")])])
    >>> found.gold[0].tokens, found.systems[0][0].mentions == {Mention(1, 2, "GPE")}
    (('the', 'Sea', 'ttle', 'zoo'), True)
    """
    problems = problems if problems is not None else Problems()
    truth = [with_words(document, problems) for document in gold]
    others = [_match_by_id(truth, [with_words(one, problems) for one in documents]) for documents in systems]
    by_sentence = [_sentences(documents, problems) for documents in (truth, *others)]
    words = [None if sentences is None else [s.tokens for s in sentences] for sentences in by_sentence]
    if words[0] is not None and all(other == words[0] for other in words[1:]):
        first, *rest = (sentences or [] for sentences in by_sentence)
        remaining = iter(first)
        by_document = [list(islice(remaining, len(document.sentences))) for document in truth]
        return Aligned(first, tuple(rest), _places(truth, by_document)).where_known()
    for documents in others:
        _check_same_texts(truth, documents)
    cut = [_by_words(versions, problems) for versions in zip(truth, *others, strict=True)]
    sides = [[one for versions in cut for one in versions[side]] for side in range(1 + len(others))]
    return Aligned(sides[0], tuple(sides[1:]), _places(truth, [versions[0] for versions in cut]))


def with_words(document: Document, problems: Problems) -> Document:
    """The document without mentions of white space alone, which no sentence of it would have."""
    kept = [mention for mention in document.mentions if document.sentences or not mention.text.isspace()]
    if len(kept) == len(document.mentions):
        return document
    problems.note("mention of white space alone left out of the scores", len(document.mentions) - len(kept))
    return evolve(document, mentions=kept)


def _places(documents: Iterable[Document], gold: Iterable[Sequence[Sentence]]) -> list[PlaceInCorpus]:
    """The places of gold's sentences, given by document."""
    found: list[PlaceInCorpus] = []
    for index, (document, sentences) in enumerate(zip(documents, gold, strict=True)):
        partial = _is_partial(document) and not any(sentence.is_partial for sentence in sentences)
        found += [PlaceInCorpus(index, document.id, number + 1, partial) for number in range(len(sentences))]
    return found


def _is_partial(document: Document) -> bool:
    return any(part.is_partial for part in (document, *document.sentences))


def sentences_to_score(gold: Scorable, *systems: Scorable) -> Aligned:
    """Return sentences unchanged if all sides have the same words; align documents with :func:`align`."""
    sides = [_listed(side) for side in (gold, *systems)]
    every = [one for side in sides for one in side]
    documents = [[one for one in side if isinstance(one, Document)] for side in sides]
    if every and sum(map(len, documents)) == len(every):
        return align(*documents)
    for one in every:
        if not isinstance(one, Sentence):
            raise InputError(
                f"{one!r:.80} cannot be scored here; give lists of Sentences on all sides, or lists of Documents"
            )
    first, *rest = [[one for one in side if isinstance(one, Sentence)] for side in sides]
    for predicted in rest:
        check_same_words(first, predicted)
    places = [PlaceInCorpus(number=index + 1) for index in range(len(first))]
    return Aligned(first, tuple(rest), places).where_known()


def _listed(side: Scorable) -> list[Sentence | Document]:
    if not isinstance(side, Iterable):
        raise InputError(f"{side!r:.80} cannot be scored alone; put it into a list")
    return list(side)


def check_same_words(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> None:
    """Raise an error that shows the first difference, unless both have the same sentences and tokens."""
    for number, (truth, found) in enumerate(zip(gold, predicted, strict=False), start=1):
        if truth.tokens != found.tokens:
            pairs = zip((*truth.tokens, None), (*found.tokens, None), strict=False)
            place, (ours, theirs) = next((i, pair) for i, pair in enumerate(pairs, start=1) if pair[0] != pair[1])
            raise InputError(
                f"word {place} of sentence {number} is {_quoted(ours)} in gold but {_quoted(theirs)} in the predictions; "
                "score predictions that were made for the same words"
            )
    if len(gold) != len(predicted):
        raise InputError(
            f"gold has {len(gold):,} sentences, but the predictions have {len(predicted):,}; "
            "score predictions that were made for the same sentences"
        )


def _quoted(word: str | None) -> str:
    return "missing" if word is None else repr(word)


def _match_by_id(gold: list[Document], documents: list[Document]) -> list[Document]:
    """The documents in gold's order if the ids match one to one, otherwise in their original order."""
    by_id = {document.id: document for document in documents}
    wanted = [document.id for document in gold]
    if "" in by_id or len(by_id) != len(documents) or sorted(by_id) != sorted(wanted):
        return documents
    return [by_id[name] for name in wanted]


def _sentences(documents: Iterable[Document], problems: Problems) -> list[Sentence] | None:
    """The sentences of all documents; None if a document has no sentences, or mentions outside them."""
    found: list[Sentence] = []
    for document in documents:
        if document.text and not document.sentences:
            return None
        # Mentions outside all sentences are compared by characters later, so they are not reported here.
        sentences = with_sentences(document, Problems(problems.on_error)).sentences if document.sentences else ()
        if sum(len(sentence.mentions) for sentence in sentences) < len(document.mentions):
            return None
        found.extend(sentences)
    return found


def _check_same_texts(gold: list[Document], documents: list[Document]) -> None:
    for number, (truth, found) in enumerate(zip(gold, documents, strict=False), start=1):
        if truth.text == found.text:
            continue
        ends = zip(truth.text, found.text, strict=False)
        shorter = min(len(truth.text), len(found.text))
        place = next((i for i, (ours, theirs) in enumerate(ends) if ours != theirs), shorter)
        ours, theirs = (text[place : place + QUOTED_CHARACTERS] for text in (truth.text, found.text))
        name = f"document {number}" + (f" ({truth.id})" if truth.id not in ("", str(number)) else "")
        raise InputError(
            f"gold and predictions differ at character {place} of {name}: {ours!r} in gold, {theirs!r} in the predictions; "
            "score predictions that were made for the same text"
        )
    if len(gold) != len(documents):
        raise InputError(
            f"gold has {len(gold):,} documents, but the predictions have {len(documents):,}, and their sentences differ; "
            "score predictions that were made for the same documents"
        )


def _by_words(versions: Sequence[Document], problems: Problems) -> list[list[Sentence]]:
    """The sentences of one document, with the mentions of each version of it in turn."""
    gold, *others = (_by_characters(version) for version in versions)
    known = _knowledge(versions[0], problems)
    mentions = [gold, *(frozenset(filter(known, found)) for found in others)]
    every = set().union(*mentions)
    layout = versions[0].sentences
    if not _fit(every, layout):
        whole = evolve(versions[0], mentions=every, sentences=(), annotated=None, forbidden=())
        layout = with_sentences(whole, problems).sentences
    marked = [sentence for sentence in _marked(versions[0], layout) if sentence.offsets]
    layout = [sentence for sentence in layout if sentence.offsets]
    sides: list[list[Sentence]] = []
    for chosen in mentions:
        per_sentence: list[list[Mention]] = [[] for _ in layout]
        for mention in chosen:
            index = _sentence_index(mention, versions[0].text, layout)
            if index is not None:
                per_sentence[index].append(by_tokens(mention, layout[index].offsets))
        sides.append([_kept(words, here) for words, here in zip(layout, per_sentence, strict=True)])
    sides[0] = [words.with_mentions(own.listed) for words, own in zip(marked, sides[0], strict=True)]
    return sides


def _marked(gold: Document, layout: Sequence[Sentence]) -> Sequence[Sentence]:
    """The sentences of a layout with gold's annotation scopes, unless gold defines them for other sentences."""
    blank = [evolve(words, mentions=(), duplicates=()) for words in layout]
    own = any(sentence.annotated is not None or sentence.forbidden for sentence in gold.sentences)
    if not blank or not _is_partial(gold) or (own and layout is not gold.sentences):
        return [_kept(words, ()) for words in blank]
    return with_sentences(evolve(gold, mentions=(), sentences=blank), Problems()).sentences


def _knowledge(gold: Document, problems: Problems) -> Callable[[Mention], bool]:
    """A function that returns whether gold confirms or rules out a mention, by characters."""
    if not _is_partial(gold):
        return lambda mention: True
    layout = [sentence for sentence in with_sentences(gold, problems).sentences if sentence.offsets]

    def known(mention: Mention) -> bool:
        index = _sentence_index(mention, gold.text, layout)
        return gold.knows(mention) if index is None else layout[index].knows(by_tokens(mention, layout[index].offsets))

    return known


def _sentence_index(mention: Mention, text: str, sentences: Sequence[Sentence]) -> int | None:
    """The index of the sentence that contains a mention; None if no sentence does."""
    covered = text[mention.start : mention.end]
    first, last = mention.end - len(covered.lstrip()), mention.start + len(covered.rstrip())
    index = bisect_right(sentences, first, key=lambda sentence: sentence.offsets[0][0]) - 1
    return index if index >= 0 and first < last <= sentences[index].offsets[-1][1] else None


def _by_characters(document: Document) -> frozenset[Mention]:
    with_offsets = (sentence for sentence in document.sentences if sentence.offsets)
    return document.mentions | {by_characters(m, words.offsets) for words in with_offsets for m in words.mentions}


def _fit(mentions: Iterable[Mention], sentences: Sequence[Sentence]) -> bool:
    """Whether every mention, and every fragment of one, begins and ends at tokens of one sentence."""
    if not sentences or not all(sentence.offsets or not sentence.tokens for sentence in sentences):
        return False
    starts = {offset[0]: number for number, sentence in enumerate(sentences) for offset in sentence.offsets}
    ends = {offset[1]: number for number, sentence in enumerate(sentences) for offset in sentence.offsets}

    def fits(span: Span, index: int | None) -> bool:
        return index is not None and starts.get(span[0]) == ends.get(span[1]) == index

    return all(fits(span, starts.get(m.start)) for m in mentions for span in (m.span, *m.fragments))
