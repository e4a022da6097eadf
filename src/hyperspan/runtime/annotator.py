"""Annotate raw text: split it into sentences and tokens, compute a model's distribution, and decode mentions.

Every front end wraps :class:`Annotator`. Nothing is truncated silently: a text of any length is split into sentences, a
sentence keeps all its words, and a sentence too long for memory raises an error.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import NamedTuple

from attrs import evolve

from hyperspan.config import DiscontinuousConfig
from hyperspan.errors import EXIT_EXCEPTIONS, InputError, check_kind
from hyperspan.runtime.cards import UNKNOWN, ModelCard
from hyperspan.runtime.constraints import NO_CONSTRAINTS, Constraints, constraints_by_sentence, constraints_on
from hyperspan.runtime.decoding import InferenceModel, predict
from hyperspan.runtime.documents import Failure, SentencePrediction, assemble, attempt, found_metadata, windows
from hyperspan.runtime.domain import DomainCheck, DomainFit
from hyperspan.runtime.guarantees import Asked, Guarantees, Promise
from hyperspan.runtime.options import (
    DecodingOptions,
    Threshold,
    decoding_options,
    name_labels,
    shown_labels,
)
from hyperspan.text.sentences import iter_sentences, with_context
from hyperspan.text.tokens import Tokenizer
from hyperspan.types import Document, Mention, Sentence, trusted_document

WINDOW = 20_000
"""How many words are read ahead, to batch sentences of similar length."""
LONG_TEXT = 1_000_000
"""A text with more characters than this can be annotated part by part."""
MAX_SPANS = 1_000 * 1_000
"""The maximal words × widths of a sentence."""

Text = str | Document | tuple[str | Document, Constraints]
"""A text to annotate, alone or in a pair with constraints."""
OnWords = Callable[[int], None]
"""Called with the number of words just annotated, to show progress."""
OnError = Callable[[str | Document, BaseException], None]
"""Called with a text that cannot be annotated and the exception it raised."""


class _Prepared(NamedTuple):
    """A text split into sentences, with the constraints of some of them."""

    given: str | Document
    document: Document
    constraints: Mapping[int, Constraints]


class Annotator:
    """Finds the mentions of texts with a model. Make one with :func:`hyperspan.load`.

    Call it with one text, use :meth:`pipe` for many texts, and :meth:`recognize` for tokenized sentences. All three
    take these options:

    - `threshold`: the default None finds the most probable set of mentions of each sentence. A probability above 0 and
      up to 1 finds every mention with at least that marginal probability; 0.5 minimises the expected number of errors.
      A dict sets thresholds by label, ``{"protein": 0.3, "*": 0.5}``; "*" (or None) stands for all other labels, whose
      default is 0.5.
    - `types`: find only mentions with these labels. Default: all of `labels`.
    - `names`: find only names, under the types that they are names of: `types` and `threshold` then refer to
      `name_labels`. Only some models mark names.
    - `pronouns`: if false, leave out mentions that are one English pronoun ("she", "nobody's"). The probabilities of
      the others stay the same.
    - `recall`, in place of `threshold`: find every mention down to the probability that keeps a promise, such as 0.95:
      of texts like those that the model was calibrated on, an expected 5% of the mentions at most are missed. A dict
      makes a promise for each label, ``{"protein": 0.98, "*": 0.9}``.
    - `precision`, in place of `threshold`: find as much as keeps the promise that this share of it is right, with 90%
      confidence. Both need a model with guarantees (``hyperspan model calibrate``); the promise is in
      ``document.metadata["promise"]``.

    Each mention has its marginal probability. It is exact, except for cascaded chains and models that decide step by
    step.

    >>> from hyperspan import load
    >>> document = load("genia")("c-Rel binds the IL-2 promoter in Jurkat T cells.", types=["DNA", "protein"])
    >>> [(mention.text, mention.label) for mention in sorted(document.mentions)]
    [('c-Rel', 'protein'), ('IL-2', 'protein'), ('IL-2 promoter', 'DNA')]
    >>> [round(mention.probability, 1) for mention in sorted(document.mentions)]
    [0.9, 0.7, 0.9]

    The constructor takes a loaded model and its `card`. `window` is the number of words that are read ahead,
    `long_text` the number of characters above which `keep_sentences` has an effect, and `max_spans` the maximal
    words × widths of a sentence. `skips` says that the model was loaded to skip words, so that it makes no promises.
    """

    def __init__(
        self,
        model: InferenceModel,
        *,
        card: ModelCard = UNKNOWN,
        window: int = WINDOW,
        long_text: int = LONG_TEXT,
        max_spans: int = MAX_SPANS,
        skips: bool = False,
    ) -> None:
        self.model, self.card = model, card
        self._domain_check = DomainCheck.of_or_warn(card)
        self.window, self.long_text, self.max_spans, self.skips = window, long_text, max_spans, skips

    def __repr__(self) -> str:
        return f"Annotator({self.model.config.model.kind}, labels: {', '.join(self.labels)})"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that are found by default: those of the model but for its labels of names."""
        return shown_labels(self.model.labels, self.model.names)

    @property
    def name_labels(self) -> tuple[str, ...]:
        """The labels that are found with `names`; empty for a model that marks no names."""
        return name_labels(self.model.labels, self.model.names)

    @property
    def discontinuous(self) -> DiscontinuousConfig | None:
        """The limits of discontinuous mentions; None if the model finds only contiguous ones."""
        return self.model.config.discontinuous if self.model.discontinuous else None

    @property
    def context(self) -> int:
        """How many words the model reads before and after each sentence."""
        return self.model.context

    @property
    def joins_documents(self) -> bool:
        """Whether the model was trained on single-sentence documents that follow each other in one text."""
        return self.model.joins_documents

    @property
    def reads_tags(self) -> bool:
        """Whether the model was trained with part-of-speech tags; without tags it finds less."""
        return self.model.reads_tags

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the text that the model was trained on; it splits the texts to annotate."""
        return self.model.tokenizer

    def domain_fit(self, text: str | Document) -> DomainFit | None:
        """Measure how well a text fits the model's training text.

        The result has a `score` (1 and more is unusual), the share of `unknown` words, and `foreign` with a `reason` if
        the text is unlike the training text. It is None if the text is too short or the model has no profile.

        >>> from hyperspan import load
        >>> fit = load("genia").domain_fit("Die alte Brücke über den Fluss wurde im Frühjahr wieder geöffnet.")
        >>> fit.foreign, fit.unknown > 0.5, fit.usual_unknown < 0.1
        (True, True, True)
        """
        if self._domain_check is None:
            return None
        return self._domain_check(text if isinstance(text, str) else text.text)

    def __call__(
        self,
        text: str | Document,
        *,
        threshold: Threshold = None,
        types: Iterable[str] | None = None,
        top_k: int = 0,
        candidates: float | None = None,
        names: bool = False,
        pronouns: bool = True,
        recall: Asked = None,
        precision: Asked = None,
        require: Iterable[Mention] = (),
        forbid: Iterable[Mention] = (),
    ) -> Document:
        """Annotate one text and return it as a document with mentions.

        `threshold`, `types`, `names`, `pronouns`, `recall` and `precision` are explained above, `top_k` and
        `candidates` at :meth:`pipe`. `require` and `forbid` are mentions, in characters of the text, that must and must
        not be found. The other mentions and all probabilities are then conditional on them.

        >>> from hyperspan import Mention, load
        >>> annotate, text = load("genia"), "c-Rel binds the IL-2 promoter in Jurkat T cells."
        >>> [mention.text for mention in annotate(text, types=["cell_line"]).mentions]
        ['Jurkat T cells']
        >>> known = [Mention(33, 39, "cell_line")]
        >>> [mention.text for mention in annotate(text, types=["cell_line"], require=known).mentions]
        ['Jurkat']
        """
        options = self.options(threshold, types, top_k, candidates, names, pronouns, recall, precision)
        [result] = self.results([(text, Constraints(require, forbid))], options)
        return _document_or_raise(result)

    def pipe(
        self,
        texts: Iterable[Text],
        *,
        threshold: Threshold = None,
        types: Iterable[str] | None = None,
        top_k: int = 0,
        candidates: float | None = None,
        names: bool = False,
        pronouns: bool = True,
        recall: Asked = None,
        precision: Asked = None,
        keep_sentences: bool = True,
        on_error: OnError | None = None,
        on_words: OnWords | None = None,
    ) -> Iterator[Document]:
        """Annotate many texts: yield a document with mentions for each, in order.

        Texts are strings, documents, or pairs of one and :class:`Constraints`. They are read lazily, some thousand
        words ahead. A document keeps its id, metadata, sentences, tokens and tags; its mentions are replaced.

        `threshold`, `types`, `names`, `pronouns`, `recall` and `precision` are explained above. The other options:

        - `top_k`: also set `alternatives` to the k most probable mention sets of each sentence, best first. Without
          pronouns there may be fewer: sets that differ in pronouns alone become one.
        - `candidates`: also set `candidates` to every mention with at least this probability, so that you can apply any
          higher threshold later.
        - `keep_sentences`: if false, long texts are annotated part by part and returned without sentences and tokens,
          which take far more memory than the text.
        - `on_error`: called with a text that cannot be annotated and its exception; the text is left out. Without it,
          such a text raises the exception and ends the stream.
        - `on_words`: called with the number of words of each finished text, or of each part of a long one.

        >>> from hyperspan import load
        >>> for document in load("genia").pipe(["IL-2 binds.", "We used Jurkat cells."]):
        ...     print([(mention.text, mention.label) for mention in document.mentions])
        [('IL-2', 'protein')]
        [('Jurkat cells', 'cell_line')]
        """
        if isinstance(texts, (str, Document)):
            raise InputError("pipe takes a list of texts, and was given one; call the annotator itself with it")
        check_kind("texts", texts, Iterable)
        check_kind("keep_sentences", keep_sentences, bool)
        check_kind("on_error", on_error, Callable, NoneType)
        check_kind("on_words", on_words, Callable, NoneType)
        options = self.options(threshold, types, top_k, candidates, names, pronouns, recall, precision)
        results = self.results(texts, options, keep_sentences=keep_sentences, on_words=on_words)
        return _documents(results, on_error)

    def recognize(
        self,
        sentences: Iterable[Sentence],
        *,
        threshold: Threshold = None,
        types: Iterable[str] | None = None,
        names: bool = False,
        pronouns: bool = True,
        recall: Asked = None,
        precision: Asked = None,
    ) -> Iterator[Sentence]:
        """Annotate tokenized sentences: yield each with its mentions, in token positions.

        >>> from hyperspan import Sentence, load
        >>> [sentence] = load("genia").recognize([Sentence(["Jurkat", "cells"])])
        >>> [(mention.span, mention.label) for mention in sentence.mentions]
        [((0, 2), 'cell_line')]
        """
        check_kind("sentences", sentences, Iterable)
        options = self.options(threshold, types, 0, None, names, pronouns, recall, precision)
        return (
            evolve(sentence, mentions=found.mentions, duplicates=(), annotated=None, forbidden=())
            for sentence, found in self._predicted(sentences, options)
        )

    def predictions(
        self,
        sentences: Iterable[Sentence],
        *,
        threshold: Threshold = None,
        candidates: float | None = None,
        names: bool = False,
        pronouns: bool = True,
    ) -> Iterator[SentencePrediction]:
        """Yield what is found in each tokenized sentence: its mentions and, from the same pass of the model, all
        mentions of at least the probability `candidates`."""
        options = self.options(threshold, candidates=candidates, names=names, pronouns=pronouns)
        return (found for _, found in self._predicted(sentences, options))

    def _predicted(
        self, sentences: Iterable[Sentence], options: DecodingOptions
    ) -> Iterator[tuple[Sentence, SentencePrediction]]:
        for window in windows(map(self._check_length, sentences), len, self.window):
            yield from zip(window, predict(self.model, window, options), strict=True)

    # -- the single steps, for front ends that batch the texts of several users ------------------------------------

    def options(
        self,
        threshold: Threshold = None,
        types: Iterable[str] | None = None,
        top_k: int = 0,
        candidates: float | None = None,
        names: bool = False,
        pronouns: bool = True,
        recall: Asked = None,
        precision: Asked = None,
    ) -> DecodingOptions:
        """Check the options against the labels of the model, and choose the thresholds that keep a promise."""
        check_kind("names", names, bool)
        promise = self.promise(recall, precision, types, names, pronouns)
        if promise is not None:
            if threshold is not None:
                raise InputError("a threshold and a promise are given, which chooses its own; leave one of them out")
            threshold = promise.thresholds
        if names and not self.model.names:
            raise InputError(
                "this model does not mark names, so that it cannot find names alone; leave the option names out, or use a "
                "model whose configuration has model.names"
            )
        reported_as = self.model.names if names else None
        types = self.labels if types is None and not names else types
        found = decoding_options(self.model.labels, threshold, types, top_k, candidates, pronouns, reported_as)
        return found if promise is None else replace(found, promise=promise.words)

    def promise(
        self,
        recall: Asked = None,
        precision: Asked = None,
        types: Iterable[str] | None = None,
        names: bool = False,
        pronouns: bool = True,
    ) -> Promise | None:
        """The thresholds that keep a promise of recall or precision, with its words; None if neither is asked for.

        An InputError says why if nothing keeps it, and what can be promised.
        """
        if recall is None and precision is None:
            return None
        if recall is not None and precision is not None:
            raise InputError(
                "recall and precision are both asked for, but each has its own threshold; leave one of them out"
            )
        if names or not pronouns:
            what = "names alone" if names else "mentions without pronouns"
            raise InputError(f"promises are for all mentions, and {what} are asked for; leave one of both out")
        if self.skips:
            raise InputError("words are skipped, which promises do not allow for; load the model without skip")
        asked = {types} if isinstance(types, str) else self.labels if types is None else set(types)
        labels = [label for label in self.model.labels if label in asked]
        measure = "precision" if recall is None else "recall"
        every = labels == list(self.labels)
        return self._guarantees.promise(measure, precision if recall is None else recall, labels, every)

    @functools.cached_property
    def _guarantees(self) -> Guarantees:
        return Guarantees.from_table(self.card.guarantees)

    def split(self, given: str | Document) -> Document:
        """Split a text into sentences and tokens; a document with sentences keeps them."""
        if not isinstance(given, (str, Document)):
            raise InputError(
                f"a text to annotate is {given!r:.50}, but must be a str or a Document, or for pipe a pair of one and Constraints"
            )
        if isinstance(given, str):
            document = trusted_document(given, (), tuple(iter_sentences(given, self.tokenizer)))
        elif not given.sentences:
            cut = tuple(iter_sentences(given.text, self.tokenizer))
            about = (given.id, given.metadata, given.alternatives, given.candidates)
            document = trusted_document(given.text, given.mentions, cut, *about)
        else:
            document = given
        if any(sentence.tokens and not sentence.offsets for sentence in document.sentences):
            raise InputError(
                f"document {document.id!r} has sentences that do not say where in the text their tokens are; "
                "give their offsets, or leave the sentences out"
            )
        for sentence in document.sentences:
            self._check_length(sentence, document.id)
        return evolve(document, sentences=with_context(document.sentences, self.context)) if self.context else document

    def iter_sentences(self, document: Document) -> Iterator[Sentence]:
        """Yield the sentences that :meth:`split` makes one by one, for texts whose tokens would fill the memory."""
        if document.sentences:
            return iter(self.split(document).sentences)
        cut = iter_sentences(document.text, self.tokenizer)
        return with_context((self._check_length(sentence, document.id) for sentence in cut), self.context)

    def constraints(
        self, document: Document, constraints: Constraints, reported_as: Mapping[str, str] | None = None
    ) -> dict[int, Constraints]:
        """Return the constraints of a document by sentence index; raise an error for invalid ones.

        `reported_as` is that of the options.
        """
        if not constraints:
            return {}
        labels = tuple(reported_as.values()) if reported_as else self.model.labels
        limits = (self.model.max_width, self.discontinuous)
        found = constraints_by_sentence(document, constraints, labels, *limits)
        return constraints_on(found, reported_as) if reported_as else found

    def results(
        self,
        texts: Iterable[Text],
        options: DecodingOptions,
        *,
        keep_sentences: bool = True,
        on_words: OnWords | None = None,
    ) -> Iterator[Document | Failure]:
        """Yield one result for each text, in order: the annotated document, or a failure."""
        pairs = map(_with_constraints, texts)
        for long, group in itertools.groupby(pairs, lambda pair: not keep_sentences and self._is_long(*pair)):
            if long:
                for given, _ in group:
                    yield attempt(given, functools.partial(self._annotate_long, given, options, on_words))
                continue
            prepared = (attempt(pair[0], functools.partial(self._prepare, *pair, options)) for pair in group)
            for window in windows(prepared, _words_in, self.window):
                yield from self._annotate_window(window, options, on_words)

    def _is_long(self, given: str | Document, constraints: Constraints) -> bool:
        """Whether a text is annotated part by part: not if it has sentences or constraints."""
        if constraints or not isinstance(given, (str, Document)):
            return False
        if isinstance(given, Document):
            return not given.sentences and len(given.text) > self.long_text
        return len(given) > self.long_text

    def _prepare(self, given: str | Document, constraints: Constraints, options: DecodingOptions) -> _Prepared:
        document = self.split(given)
        if constraints and options.promise:
            raise InputError("mentions are required or forbidden, of which nothing is promised; leave the promise out")
        return _Prepared(given, document, self.constraints(document, constraints, options.reported_as))

    def _annotate_window(
        self, window: Sequence[_Prepared | Failure], options: DecodingOptions, on_words: OnWords | None
    ) -> Iterator[Document | Failure]:
        """Annotate a window; if it fails as a whole, annotate each text alone, so that none fails because of others."""
        prepared = [one for one in window if isinstance(one, _Prepared)]
        try:
            results = iter(self._annotate_together(prepared, options))
        except EXIT_EXCEPTIONS:
            raise
        except BaseException:
            results = (
                attempt(one.given, lambda one=one: self._annotate_together([one], options)[0]) for one in prepared
            )
        for one in window:
            result = one if isinstance(one, Failure) else next(results)
            if on_words is not None and isinstance(result, Document):
                on_words(_words_in(one))
            yield result

    def _annotate_together(self, prepared: Sequence[_Prepared], options: DecodingOptions) -> list[Document]:
        sentences: list[Sentence] = []
        constraints: dict[int, Constraints] = {}
        for one in prepared:
            if one.constraints:
                constraints |= {len(sentences) + index: known for index, known in one.constraints.items()}
            sentences += one.document.sentences
        found = iter(predict(self.model, sentences, options, constraints))
        return [assemble(one.document, [next(found) for _ in one.document.sentences], options) for one in prepared]

    def _annotate_long(self, given: str | Document, options: DecodingOptions, on_words: OnWords | None) -> Document:
        """Annotate a long text part by part and keep only the mentions of its sentences."""
        document = Document(given) if isinstance(given, str) else given
        parts: list[Document] = []
        for window in windows(self.iter_sentences(document), len, self.window):
            part = assemble(
                trusted_document(document.text, (), tuple(window)), predict(self.model, window, options), options
            )
            parts.append(trusted_document("", part.mentions, (), "", None, part.alternatives, part.candidates))
            if on_words is not None:
                on_words(sum(map(len, window)))
        return evolve(
            document,
            mentions=[mention for part in parts for mention in part.mentions],
            metadata=found_metadata(document, options),
            alternatives=[one for part in parts for one in part.alternatives or ()] if options.top_k else None,
            candidates=(
                [one for part in parts for one in part.candidates or ()] if options.candidates is not None else None
            ),
        )

    def can_take(self, sentence: Sentence) -> bool:
        """Whether a sentence is short enough for the model."""
        length = len(sentence.tokens)
        return length * min(self.model.max_width or length, length) <= self.max_spans

    def _check_length(self, sentence: Sentence, document_id: str = "") -> Sentence:
        if not isinstance(sentence, Sentence):
            raise InputError(f"a sentence to annotate is {sentence!r:.50}, but must be a Sentence")
        if not self.can_take(sentence):
            length = len(sentence.tokens)
            most = max(math.isqrt(self.max_spans), self.max_spans // (self.model.max_width or self.max_spans))
            where = f" of document {document_id!r}" if document_id else ""
            raise InputError(
                f"the sentence{where} that begins {' '.join(sentence.tokens[:6])[:60]!r} has {length:,} words, more than the "
                f"{most:,} that this model takes at once; break it up, or use a model with a maximal width of mentions"
            )
        return sentence


def _with_constraints(text: Text) -> tuple[str | Document, Constraints]:
    """Return a text and its constraints; anything but such a pair is treated as a text, and rejected there."""
    match text:
        case (given, Constraints() as constraints):
            return given, constraints
    return text, NO_CONSTRAINTS  # type: ignore[return-value]


def _words_in(one: _Prepared | Failure) -> int:
    return 0 if isinstance(one, Failure) else sum(map(len, one.document.sentences))


def _document_or_raise(result: Document | Failure) -> Document:
    if isinstance(result, Failure):
        raise result.error
    return result


def _documents(results: Iterable[Document | Failure], on_error: OnError | None) -> Iterator[Document]:
    for result in results:
        if isinstance(result, Failure) and on_error is not None:
            on_error(result.given, result.error)
        else:
            yield _document_or_raise(result)
