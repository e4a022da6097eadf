"""The whole flow on raw text: sentences, tokens, a model's distribution, and mentions with their probabilities.

Every front end wraps :class:`Annotator`. Nothing is cut off quietly: a text of any length is split into sentences, a
sentence keeps all its words, and one that no memory could hold is an error that says so.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from attrs import evolve

from hyperspan.cards import UNKNOWN, ModelCard
from hyperspan.config import DiscontinuousConfig
from hyperspan.corpora.documents import with_context
from hyperspan.corpora.results import without_mention_metadata
from hyperspan.errors import EXIT_EXCEPTIONS, InputError
from hyperspan.inference.assembly import SentencePrediction, assemble
from hyperspan.inference.constraints import NO_CONSTRAINTS, Constraints, constraints_by_sentence
from hyperspan.inference.domain import DomainCheck, DomainFit
from hyperspan.inference.options import DecodingOptions, Threshold, decoding_options
from hyperspan.inference.streams import Failure, attempt, windows
from hyperspan.text.sentences import iter_sentences
from hyperspan.types import Document, Mention, Sentence, trusted_document

if TYPE_CHECKING:
    from hyperspan.inference.model import InferenceModel

WINDOW = 20_000
"""How many words are read ahead, to put sentences of similar length together."""
LONG_TEXT = 1_000_000
"""A text of more characters than this can be annotated part by part."""
MAX_SPANS = 1_000 * 1_000
"""Words × widths of the longest sentence that is tried."""

Text = str | Document | tuple[str | Document, Constraints]
"""A text to annotate; in a pair with the mentions that it has and has not."""
OnWords = Callable[[int], None]
"""Called with a number of words that are done, to show progress."""
OnError = Callable[[str | Document, BaseException], None]
"""Called with a text that cannot be annotated, and with what it has raised."""


class _Prepared(NamedTuple):
    """A text that is cut into sentences, and the constraints of some of them."""

    given: str | Document
    document: Document
    constraints: Mapping[int, Constraints]


class Annotator:
    """Finds mentions in texts with a model.

    All methods take `threshold`: None for the most probable set of mentions of each sentence, or a number above 0 and
    up to 1 for every mention at least that probable; at 0.5 the fewest errors are expected. It may differ by label,
    ``{"protein": 0.3, "*": 0.5}``; labels that are not named take that of "*" or None, and 0.5 where there is neither.
    `types` are the only labels to look for. Each mention carries its marginal probability. It is exact, but for
    cascaded chains and models that decide step by step (`exact_marginals` of their distribution is false).

    A text may come with mentions that it has (`require`) and has not (`forbid`), in characters of the text. The rest,
    and all probabilities, are then given that.

    >>> from hyperspan import load
    >>> document = load("genia")("c-Rel binds the IL-2 promoter in Jurkat T cells.", types=["DNA", "protein"])
    >>> [(mention.text, mention.label) for mention in sorted(document.mentions)]
    [('c-Rel', 'protein'), ('IL-2', 'protein'), ('IL-2 promoter', 'DNA')]
    >>> known = {"require": [Mention(33, 39, "cell_line")], "types": ["cell_line"]}
    >>> [mention.text for mention in load("genia")(document.text, **known).mentions]  # and not 'Jurkat T cells', as without it
    ['Jurkat']

    `card` says what the model is for; `window` is how many words are read ahead, `long_text` the characters from which
    on `keep_sentences` matters, and `max_spans` the words × widths of the longest sentence.
    """

    def __init__(
        self,
        model: InferenceModel,
        *,
        card: ModelCard = UNKNOWN,
        window: int = WINDOW,
        long_text: int = LONG_TEXT,
        max_spans: int = MAX_SPANS,
    ) -> None:
        self.model, self.card = model, card
        self._domain_check = DomainCheck.of_or_warn(card)
        self.window, self.long_text, self.max_spans = window, long_text, max_spans

    def __repr__(self) -> str:
        return f"Annotator({self.model.config.model.kind}, labels: {', '.join(self.labels)})"

    @property
    def labels(self) -> tuple[str, ...]:
        return self.model.labels

    @property
    def discontinuous(self) -> DiscontinuousConfig | None:
        """What mentions of several parts the model finds; None if it finds contiguous ones alone."""
        return self.model.config.discontinuous if self.model.discontinuous else None

    @property
    def context(self) -> int:
        """How many words of a text the model reads before and after each sentence."""
        return self.model.context

    @property
    def joins_documents(self) -> bool:
        """Whether the model was trained on documents of one sentence that follow each other in one text."""
        return self.model.joins_documents

    @property
    def reads_tags(self) -> bool:
        """Whether the model was trained with part-of-speech tags, without which it finds less."""
        return self.model.reads_tags

    def domain_fit(self, text: str | Document) -> DomainFit | None:
        """How well a text fits what the model was trained on; None where the text is too short or the model does not
        know.

        >>> from hyperspan import load
        >>> fit = load("genia").domain_fit("Die alte Brücke über den Fluss wurde im Frühjahr nach langer Arbeit wieder geöffnet.")
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
        require: Iterable[Mention] = (),
        forbid: Iterable[Mention] = (),
    ) -> Document:
        """The text with its mentions; see `pipe`."""
        options = self.options(threshold, types, top_k, candidates)
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
        keep_sentences: bool = True,
        on_error: OnError | None = None,
        on_words: OnWords | None = None,
    ) -> Iterator[Document]:
        """The texts with their mentions, in order; they are taken as needed, some thousand words ahead.

        A text may come in a pair with :class:`Constraints`. A text that cannot be annotated ends the stream with an
        error. With `on_error` it is left out, the others go on, and `on_error` is called with it and the error,
        whatever that is. `on_words` is called with the number of words of each text that is done, or of each part of a
        long one.

        Without `keep_sentences`, a long text comes back with its mentions but without sentences and tokens, which take
        far more memory than the text; it is then annotated part by part.

        A document keeps its id, metadata, sentences, tokens and tags; its mentions are replaced. With `top_k` it has
        `alternatives`: for each sentence the k most probable sets, best first. With `candidates` it has `candidates`:
        every mention at least that probable, so that any higher threshold can be applied later.
        """
        if isinstance(texts, (str, Document)):
            raise InputError("pipe takes a list of texts, and was given one; call the annotator itself with it")
        options = self.options(threshold, types, top_k, candidates)
        results = self.results(texts, options, keep_sentences=keep_sentences, on_words=on_words)
        return _documents(results, on_error)

    def recognize(
        self,
        sentences: Iterable[Sentence],
        *,
        threshold: Threshold = None,
        types: Iterable[str] | None = None,
    ) -> Iterator[Sentence]:
        """The same for sentences that are tokenised already: tokens, tags and offsets as given, mentions as found."""
        options = self.options(threshold, types)
        return (
            evolve(sentence, mentions=found.mentions, duplicates=(), annotated=None, forbidden=())
            for window in windows(map(self._check_length, sentences), len, self.window)
            for sentence, found in zip(window, self.find(window, options), strict=True)
        )

    # -- the steps of it, for front ends that compute the texts of many people together
    # ------------------------------------

    def options(
        self,
        threshold: Threshold = None,
        types: Iterable[str] | None = None,
        top_k: int = 0,
        candidates: float | None = None,
    ) -> DecodingOptions:
        """What is asked for, or an error that says what cannot be."""
        return decoding_options(self.labels, threshold, types, top_k, candidates)

    def split(self, given: str | Document) -> Document:
        """A text with its sentences and tokens, those that it came with where it has any."""
        if not isinstance(given, (str, Document)):
            raise InputError(
                f"a text to annotate is {given!r:.50}, but must be a str or a Document, or for pipe a pair of one and Constraints"
            )
        if isinstance(given, str):
            document = trusted_document(given, (), tuple(iter_sentences(given, self.model.tokenizer)))
        elif not given.sentences:
            cut = tuple(iter_sentences(given.text, self.model.tokenizer))
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
        """The sentences that :meth:`split` gives a document, one after the other, for texts whose tokens would fill the
        memory."""
        if document.sentences:
            return iter(self.split(document).sentences)
        cut = iter_sentences(document.text, self.model.tokenizer)
        return with_context((self._check_length(sentence, document.id) for sentence in cut), self.context)

    def constraints(self, document: Document, constraints: Constraints) -> dict[int, Constraints]:
        """The constraints of some sentences of a document, by their index, or an error that says what cannot be."""
        if not constraints:
            return {}
        return constraints_by_sentence(document, constraints, self.labels, self.model.max_width, self.discontinuous)

    def find(
        self,
        sentences: Sequence[Sentence],
        options: DecodingOptions,
        constraints: Mapping[int, Constraints] | None = None,
    ) -> list[SentencePrediction]:
        """The prediction for each sentence, in their order, whatever the batches in which it was computed."""
        from hyperspan.inference.prediction import predict

        return predict(self.model, sentences, options, constraints or {})

    def results(
        self,
        texts: Iterable[Text],
        options: DecodingOptions,
        *,
        keep_sentences: bool = True,
        on_words: OnWords | None = None,
    ) -> Iterator[Document | Failure]:
        """One result for each text, in order: the document with its mentions, or why there is none."""
        pairs = map(_with_constraints, texts)
        for long, group in itertools.groupby(pairs, lambda pair: not keep_sentences and self._is_long(*pair)):
            if long:
                for given, _ in group:
                    yield attempt(given, functools.partial(self._annotate_long, given, options, on_words))
                continue
            prepared = (attempt(pair[0], functools.partial(self._prepare, *pair)) for pair in group)
            for window in windows(prepared, _words_in, self.window):
                yield from self._annotate_window(window, options, on_words)

    def _is_long(self, given: str | Document, constraints: Constraints) -> bool:
        """Whether a text is annotated part by part: not if all its sentences are there already, or are needed."""
        if constraints or not isinstance(given, (str, Document)):
            return False
        if isinstance(given, Document):
            return not given.sentences and len(given.text) > self.long_text
        return len(given) > self.long_text

    def _prepare(self, given: str | Document, constraints: Constraints) -> _Prepared:
        document = self.split(given)
        return _Prepared(given, document, self.constraints(document, constraints))

    def _annotate_window(
        self, window: Sequence[_Prepared | Failure], options: DecodingOptions, on_words: OnWords | None
    ) -> Iterator[Document | Failure]:
        """The results of a window; if it fails as a whole, each text alone, so that none fails because of others."""
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
        found = iter(self.find(sentences, options, constraints))
        return [assemble(one.document, [next(found) for _ in one.document.sentences], options) for one in prepared]

    def _annotate_long(self, given: str | Document, options: DecodingOptions, on_words: OnWords | None) -> Document:
        """A text with its mentions, and nothing kept of its sentences but what was found in them."""
        document = Document(given) if isinstance(given, str) else given
        parts: list[Document] = []
        for window in windows(self.iter_sentences(document), len, self.window):
            part = assemble(trusted_document(document.text, (), tuple(window)), self.find(window, options), options)
            parts.append(trusted_document("", part.mentions, (), "", None, part.alternatives, part.candidates))
            if on_words is not None:
                on_words(sum(map(len, window)))
        return evolve(
            document,
            mentions=[mention for part in parts for mention in part.mentions],
            metadata=without_mention_metadata(document.metadata),
            alternatives=[one for part in parts for one in part.alternatives or ()] if options.top_k else None,
            candidates=(
                [one for part in parts for one in part.candidates or ()] if options.candidates is not None else None
            ),
        )

    def can_take(self, sentence: Sentence) -> bool:
        """Whether a sentence is not too long for the model."""
        length = len(sentence.tokens)
        return length * min(self.model.max_width or length, length) <= self.max_spans

    def _check_length(self, sentence: Sentence, document_id: str = "") -> Sentence:
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
    """A text and its constraints. What is no such pair is taken for a text, and refused as one."""
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
