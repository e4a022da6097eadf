"""The whole flow on raw text: sentences, tokens, a model's distribution, and mentions with their exact probabilities.

Every front end wraps :class:`Annotator`. Nothing is cut off quietly: a text of any length is split into sentences, a sentence
keeps all its words, and one that no memory could hold is an error that says so.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from attrs import evolve

from hyperspan.corpora.documents import with_context
from hyperspan.errors import EXIT_EXCEPTIONS, InputError, LabelError
from hyperspan.inference.assembly import assemble, other_metadata
from hyperspan.inference.constraints import Constraints, constraints_of
from hyperspan.text.sentences import Piece, iter_pieces
from hyperspan.types import Document, Mention, Sentence

if TYPE_CHECKING:
    from hyperspan.inference.decoding import DecodingOptions, SentencePrediction
    from hyperspan.structures import Distribution

PRETRAINED = Path(__file__).parents[1] / "pretrained"

MOST_SETS = 10_000
"""The most alternatives of a sentence that are looked for."""
LONG_TEXT = 1_000_000
"""A text of more characters than this can be annotated part by part."""
WINDOW = 20_000
"""So many words are read ahead, to put sentences of similar length together."""
LONGEST = 1_000 * 1_000
"""Words × widths of the longest sentence that is tried."""

Threshold = float | Mapping[str | None, float] | Mapping[str, float] | None
"""None for the most probable set; or the least probability, for all labels or by label (None or "*": the others)."""
OnError = Callable[[str | Document, BaseException], None] | None
"""Called with a text that cannot be annotated, and with what it has raised; None to raise that."""
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Model(Protocol):
    """What an annotator needs of a model, as :func:`hyperspan.models.load_model` returns it."""

    labels: tuple[str, ...]
    tokenizer: str
    max_width: int | None
    """The most words in a mention; None for no limit."""

    @property
    def batch_entries(self) -> int:
        """Sentences × words × widths of a batch."""
        ...

    def distribution(self, sentences: Sequence[Sentence]) -> Distribution:
        """The distribution over mention sets of each sentence; types are indices into `labels`."""
        ...


def load(
    name_or_path: str | Path = "genia", device: str = "cpu", precision: str = "float32", skip: float = math.inf
) -> Annotator:
    """An annotator with a bundled model, by its name, or with the model in a folder.

    With the precision "bfloat16" it is almost twice as fast on CPUs that can multiply such numbers, and its scores have two
    to three digits. With `skip`, words that are unlikely to begin a mention are passed over: those where, for all types, the
    score of beginning none is above that of beginning one by more than this. docs/speed.md has what that saves and costs.
    """
    folder = folder_of(name_or_path)
    from hyperspan.models import load_model

    _check_device(device)
    return Annotator(load_model(folder, device, precision=precision, skip=skip))


def folder_of(name_or_path: str | Path) -> Path:
    """The folder of a model: of a bundled one, by its name, or the folder itself."""
    folder, bundled = Path(name_or_path), bundled_models()
    if str(name_or_path) in bundled:
        return PRETRAINED / str(name_or_path)
    if not folder.is_dir():
        known = f"the bundled models are {', '.join(bundled)}" if bundled else "no models are bundled"
        raise InputError(
            f"there is no model {str(name_or_path)!r}: {known}, and no such folder is there; name one of them or a model's folder"
        )
    return folder


def _check_device(device: str) -> None:
    import torch

    try:
        torch.empty(1, device=device).item()  # which a device that holds no numbers, such as meta, cannot
    except (
        RuntimeError,
        AssertionError,
        NotImplementedError,
    ) as error:  # what torch raises differs by how it was built
        reason = str(error).partition("\n")[0].removesuffix(".")
        raise InputError(
            f"the device {device!r} cannot be used ({reason}); choose cpu, or cuda where there is a GPU"
        ) from None


@functools.cache
def _use_one_thread_in_forks() -> None:
    """Lets an annotator work in processes that are forked from this one, as those of a `multiprocessing.Pool` may be.

    A fork has none of OpenMP's threads, but OpenMP does not know, and waits for them for ever.
    """

    def use_one_thread() -> None:
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=use_one_thread)


def bundled_models() -> list[str]:
    """The names of the models that come with hyperspan."""
    return sorted(file.parent.name for file in PRETRAINED.glob("*/config.toml"))


class Annotator:
    """Finds mentions in texts with a model.

    All methods take `threshold`: None for the most probable set of mentions of each sentence, or a number above 0 and up to 1
    for every mention at least that probable; at 0.5 the fewest errors are expected. It may differ by label,
    ``{"protein": 0.3, "*": 0.5}``; labels that are not named take what stands under "*" or None, and 0.5 where there is
    neither. `types` are the only labels to look for. Each mention carries its exact marginal probability.

    What is known of a text can be told: mentions that it has (`require`) and has not (`forbid`), in characters of the text. The rest,
    and all probabilities, are then given that.

    >>> document = load("genia")("c-Rel binds the IL-2 promoter in Jurkat T cells.", types=["DNA", "protein"])
    >>> [(mention.text, mention.label) for mention in sorted(document.mentions)]
    [('c-Rel', 'protein'), ('IL-2', 'protein'), ('IL-2 promoter', 'DNA')]
    >>> known = {"require": [Mention(33, 39, "cell_line")], "types": ["cell_line"]}
    >>> [mention.text for mention in load("genia")(document.text, **known).mentions]  # and not 'Jurkat T cells', as without it
    ['Jurkat']
    """

    def __init__(self, model: Model):
        _use_one_thread_in_forks()
        self.model = model
        self.on_words: Callable[[int], None] | None = None
        """Called with the number of words that were done since the last call, to show progress."""

    @property
    def labels(self) -> tuple[str, ...]:
        return self.model.labels

    @property
    def context(self) -> int:
        """How many words of a text the model reads before and after each sentence."""
        return getattr(self.model, "context", 0)

    @property
    def joined(self) -> bool:
        """Whether the model was trained on documents of one sentence that follow each other in one text."""
        return getattr(self.model, "joined", False)

    @property
    def reads_tags(self) -> bool:
        """Whether the model was trained with part-of-speech tags, without which it finds less."""
        vocabulary = getattr(self.model, "vocabulary", None)
        return vocabulary is not None and bool(vocabulary.tags)

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
        """The text with its mentions, of which some may be known already; see `pipe` for the rest."""
        wanted = self.wanted(threshold, types, top_k, candidates)
        document = self.split(text)
        pins = self.pins(document, require, forbid)
        return assemble(document, self.find(document.sentences, wanted, pins), wanted)

    def pipe(
        self,
        texts: Iterable[str | Document],
        *,
        threshold: Threshold = None,
        types: Iterable[str] | None = None,
        top_k: int = 0,
        candidates: float | None = None,
        keep_sentences: bool = True,
        on_error: OnError = None,
    ) -> Iterator[Document]:
        """The texts with their mentions, in order; they are taken as needed, some thousand words ahead.

        A text that cannot be annotated ends the stream with an error. With `on_error` it is left out, the others go on, and
        `on_error` is called with it and the error, whatever that is.

        Without `keep_sentences`, a long text (more than :data:`LONG_TEXT` characters) comes back with its mentions but without
        sentences and tokens, which take far more memory than the text; it is then annotated part by part.

        A document keeps its id, metadata, sentences, tokens and tags; its mentions are replaced. With `top_k`, its metadata
        hold under "alternatives" for each sentence the k most probable sets, best first, in characters of the text::

            {"start": 0, "end": 42, "sets": [{"probability": 0.81, "mentions": [{"start": 4, "end": 8, "label": "DNA"}]}]}

        With `candidates`, they hold under "candidates" every mention at least that probable, so that any higher threshold can be
        applied later: ``{"start": 4, "end": 8, "label": "DNA", "probability": 0.97}``.
        """
        if isinstance(texts, (str, Document)):
            raise InputError("pipe takes a list of texts, and was given one; call the annotator itself with it")
        return self._in_order(texts, self.wanted(threshold, types, top_k, candidates), keep_sentences, on_error)

    def _in_order(
        self, texts: Iterable[str | Document], wanted: DecodingOptions, keep_sentences: bool, on_error: OnError
    ) -> Iterator[Document]:
        def is_long(given: str | Document) -> bool:
            if keep_sentences or (isinstance(given, Document) and given.sentences):
                return False
            return len(given.text if isinstance(given, Document) else given) > LONG_TEXT

        for long, group in itertools.groupby(texts, is_long):
            if long:
                yield from _each(functools.partial(self._annotate_long, wanted=wanted), group, on_error)
            else:
                yield from self._pipe(group, wanted, on_error)

    def recognize(
        self, sentences: Iterable[Sentence], *, threshold: Threshold = None, types: Iterable[str] | None = None
    ) -> Iterator[Sentence]:
        """The same for sentences that are tokenised already: tokens, tags and offsets as given, mentions as found."""
        wanted = self.wanted(threshold, types)
        return (
            sentence.with_mentions(found.mentions)
            for window in _windows(map(self._check_length, sentences), len)
            for sentence, found in zip(window, self.find(window, wanted), strict=True)
        )

    # -- the steps of it, for front ends that compute the texts of many people together ------------------------------------

    def wanted(
        self, threshold: Threshold, types: Iterable[str] | None, top_k: int = 0, candidates: float | None = None
    ) -> DecodingOptions:
        """What is asked for, or an error that says what cannot be."""
        from hyperspan.inference.decoding import DecodingOptions

        asked = [types] if isinstance(types, str) else list(types) if types is not None else list(self.labels)
        thresholds = {label or "*": value for label, value in _by_label(threshold).items()}
        for label in (*asked, *(label for label in thresholds if label != "*")):
            if label not in self.labels:
                raise LabelError(
                    f"the label {label!r} is not among those of the model; it knows {', '.join(self.labels)}"
                )
        for value in thresholds.values():
            _check_probability("the threshold", value)
        if candidates is not None:
            _check_probability("the least probability of candidates", candidates)
        if not 0 <= top_k <= MOST_SETS:
            raise InputError(f"the number of alternatives is {top_k}; it must be from 0 to {MOST_SETS:,}")
        chosen = tuple(index for index, label in enumerate(self.labels) if label in asked)
        if threshold is None:
            return DecodingOptions(chosen, None, top_k, candidates)
        others = thresholds.get("*", 0.5)
        least = tuple(thresholds.get(self.labels[index], others) for index in chosen)
        return DecodingOptions(chosen, least, top_k, candidates)

    def split(self, given: str | Document) -> Document:
        """A text with its sentences and tokens, those that it came with where it has any."""
        if not isinstance(given, (str, Document)):
            raise InputError(f"a text to annotate is {given!r:.50}, but must be a str or a Document")
        document = Document(given) if isinstance(given, str) else given
        if not document.sentences:
            pieces = iter_pieces(document.text, self.model.tokenizer)
            sentences = [_sentence(piece, document.text) for piece in pieces]
            document = evolve(document, sentences=sentences)
        if any(sentence.tokens and not sentence.offsets for sentence in document.sentences):
            raise InputError(
                f"document {document.id!r} has sentences that do not say where in the text their tokens are; "
                "give their offsets, or leave the sentences out"
            )
        for sentence in document.sentences:
            self._check_length(sentence, f" of document {document.id!r}" if document.id else "")
        if self.context:
            around = with_context(document.sentences, self.context)
            document = evolve(document, sentences=around)
        return document

    def pins(self, document: Document, require: Iterable[Mention], forbid: Iterable[Mention]) -> dict[int, Constraints]:
        """What is known of some of the sentences of a document, by their index, or an error that says what cannot be."""
        require, forbid = tuple(require), tuple(forbid)
        return constraints_of(document, require, forbid, self.labels, self.model.max_width) if require or forbid else {}

    def find(
        self, sentences: Sequence[Sentence], wanted: DecodingOptions, pins: Mapping[int, Constraints] | None = None
    ) -> list[SentencePrediction]:
        """What is found in each sentence, in their order, whatever the batches in which it was computed."""
        import torch

        from hyperspan.batch import by_length
        from hyperspan.inference.decoding import SentencePrediction, decode

        # Sentences that are the same have the same mentions, unless something is known of one: lists and tables repeat them.
        alike: dict[object, int] = {}
        same = [index if pins else alike.setdefault(_read_as(one), index) for index, one in enumerate(sentences)]
        words = Counter[int]()
        for sentence, index in zip(sentences, same, strict=True):
            words[index] += len(sentence)
        lengths = [len(sentence) if same[index] == index else 0 for index, sentence in enumerate(sentences)]
        found: dict[int, SentencePrediction] = {}
        for batch in by_length(lengths, self.model.max_width, self.model.batch_entries):
            known = (
                [pins.get(index, Constraints()) for index in batch]
                if pins and not pins.keys().isdisjoint(batch)
                else None
            )
            with torch.inference_mode():
                distribution = self.model.distribution([sentences[index] for index in batch])
                found |= zip(batch, decode(distribution, self.labels, wanted, known), strict=True)
            if self.on_words is not None:
                self.on_words(sum(words[index] for index in batch))
        nothing = SentencePrediction()
        return [found.get(index, nothing) for index in same]

    def _pipe(self, texts: Iterable[str | Document], wanted: DecodingOptions, on_error: OnError) -> Iterator[Document]:
        documents = _each(self.split, texts, on_error)
        for window in _windows(documents, lambda document: sum(map(len, document.sentences))):
            try:
                done = self._annotate_window(window, wanted)
            except EXIT_EXCEPTIONS:
                raise
            except BaseException:
                if on_error is None:
                    raise
                done = (
                    one
                    for alone in _each(lambda d: self._annotate_window([d], wanted), window, on_error)
                    for one in alone
                )
            yield from done

    def _annotate_window(self, documents: Sequence[Document], wanted: DecodingOptions) -> list[Document]:
        found = iter(self.find([sentence for document in documents for sentence in document.sentences], wanted))
        return [assemble(document, [next(found) for _ in document.sentences], wanted) for document in documents]

    def _annotate_long(self, given: str | Document, wanted: DecodingOptions) -> Document:
        """A text with its mentions, and nothing kept of its sentences but what was found in them."""
        document = Document(given) if isinstance(given, str) else given
        where = f" of document {document.id!r}" if document.id else ""
        pieces = iter_pieces(document.text, self.model.tokenizer)
        sentences = (self._check_length(_sentence(piece, document.text), where) for piece in pieces)
        mentions: list[Mention] = []
        more: dict[str, list[dict[str, Any]]] = {}
        for window in _windows(with_context(sentences, self.context), len):
            done = assemble(Document(document.text, (), window), self.find(window, wanted), wanted)
            mentions += done.mentions
            for key, records in done.metadata.items():
                more.setdefault(key, []).extend(records)
        return evolve(document, mentions=mentions, sentences=(), metadata=other_metadata(document.metadata) | more)

    def _check_length(self, sentence: Sentence, where: str = "") -> Sentence:
        width = min(self.model.max_width or len(sentence), len(sentence))
        if len(sentence) * width > LONGEST:
            most = max(math.isqrt(LONGEST), LONGEST // (self.model.max_width or LONGEST))
            raise InputError(
                f"the sentence{where} that begins {' '.join(sentence.tokens[:6])[:60]!r} has {len(sentence):,} words, more than the "
                f"{most:,} that this model takes at once; break it up, or use a model with a maximal width of mentions"
            )
        return sentence


def _by_label(threshold: Threshold) -> Mapping[str | None, float]:
    if threshold is None:
        return {}
    return dict(threshold.items()) if isinstance(threshold, Mapping) else {None: threshold}


def _check_probability(what: str, value: object) -> None:
    if not isinstance(value, (int, float)) or not 0.0 < value <= 1.0:
        raise InputError(f"{what} is {value!r}; it must be a probability above 0 and at most 1")


def _each(
    function: Callable[[_Item], _Result],
    items: Iterable[_Item],
    on_error: Callable[[_Item, BaseException], None] | None,
) -> Iterator[_Result]:
    """The results of a function, but for items on which it fails, where somebody wants to hear of those."""
    for item in items:
        try:
            result = function(item)
        except EXIT_EXCEPTIONS:
            raise
        except BaseException as error:
            if on_error is None:
                raise
            on_error(item, error)
        else:
            yield result


def _windows(items: Iterable[_Item], words_in: Callable[[_Item], int]) -> Iterator[list[_Item]]:
    """The items in groups of about WINDOW words."""
    window: list[_Item] = []
    words = 0
    for item in items:
        window.append(item)
        words += words_in(item) + 1  # so that items without words fill a window, too
        if words >= WINDOW:
            yield window
            window, words = [], 0
    if window:
        yield window


def _read_as(sentence: Sentence) -> tuple[object, ...]:
    """All that a model sees of a sentence."""
    return sentence.tokens, sentence.tags, sentence.before, sentence.after


def _sentence(piece: Piece, text: str) -> Sentence:
    return Sentence([text[start:end] for start, end in piece.tokens], offsets=piece.tokens)
