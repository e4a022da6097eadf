"""The whole flow on raw text: sentences, tokens, a model's distribution, and mentions with their exact probabilities.

Every front end wraps :class:`Annotator`. Nothing is cut off quietly: a text of any length is split into sentences, a sentence
keeps all its words, and one that no memory could hold is an error that says so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hyperspan.corpora.brat import ORDER, OTHER_LINES
from hyperspan.corpora.documents import by_characters
from hyperspan.errors import InputError, LabelError
from hyperspan.text.sentences import Piece, iter_pieces
from hyperspan.types import Document, Mention, Sentence

if TYPE_CHECKING:
    from hyperspan.decoding import Found, Wanted
    from hyperspan.models.base import Answers

PRETRAINED = Path(__file__).parent / "pretrained"
ALTERNATIVES = "alternatives"
"""Under this name the metadata of a document hold the k best sets of each of its sentences."""
_ABOUT_MENTIONS = (ALTERNATIVES, OTHER_LINES, ORDER)
"""Metadata that speak of the mentions a document came with, and mean nothing once others are found."""

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
_Item = TypeVar("_Item")


class Model(Protocol):
    """What an annotator needs of a model, as :func:`hyperspan.models.load_model` returns it."""

    labels: tuple[str, ...]
    tokenizer: str
    max_width: int | None
    """The most words in a mention; None for no limit."""

    def distribution(self, sentences: Sequence[Sentence]) -> Answers:
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
    from hyperspan.encoders.fast import check_precision
    from hyperspan.models import load_model

    _check_device(device)
    check_precision(precision, device)
    model = load_model(folder, device)
    if skip != math.inf and (math.isnan(skip) or model.config.model.kind != "segmental"):
        raise InputError(
            f"skip is {skip} for a model of kind {model.config.model.kind!r}; it must be a number, and the kind 'segmental'"
        )
    model.precision, model.skip = precision, skip
    return Annotator(model)


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


def bundled_models() -> list[str]:
    """The names of the models that come with hyperspan."""
    return sorted(file.parent.name for file in PRETRAINED.glob("*/config.toml"))


class Annotator:
    """Finds mentions in texts with a model.

    All methods take `threshold`: None for the most probable set of mentions of each sentence, or a number above 0 and up to 1
    for every mention at least that probable; at 0.5 the fewest errors are expected. It may differ by label,
    ``{"protein": 0.3, "*": 0.5}``; labels that are not named take what stands under "*" or None, and 0.5 where there is
    neither. `types` are the only labels to look for. Each mention carries its exact marginal probability.

    >>> document = load("genia")("c-Rel binds the IL-2 promoter in Jurkat T cells.", types=["DNA", "protein"])
    >>> [(mention.text, mention.label) for mention in sorted(document.mentions)]
    [('c-Rel', 'protein'), ('IL-2', 'protein'), ('IL-2 promoter', 'DNA')]
    """

    def __init__(self, model: Model):
        self.model = model
        self.on_words: Callable[[int], None] | None = None
        """Called with the number of words that were done since the last call, to show progress."""

    @property
    def labels(self) -> tuple[str, ...]:
        return self.model.labels

    def __call__(
        self, text: str | Document, *, threshold: Threshold = None, types: Iterable[str] | None = None, top_k: int = 0
    ) -> Document:
        """The text with its mentions; see `pipe`."""
        return next(self.pipe([text], threshold=threshold, types=types, top_k=top_k))

    def pipe(
        self,
        texts: Iterable[str | Document],
        *,
        threshold: Threshold = None,
        types: Iterable[str] | None = None,
        top_k: int = 0,
        keep_sentences: bool = True,
    ) -> Iterator[Document]:
        """The texts with their mentions, in order; they are taken as needed, some thousand words ahead.

        Without `keep_sentences`, a long text (more than :data:`LONG_TEXT` characters) comes back with its mentions but without
        sentences and tokens, which take far more memory than the text; it is then annotated part by part.

        A document keeps its id, metadata, sentences, tokens and tags; its mentions are replaced. With `top_k`, its metadata
        hold under "alternatives" for each sentence the k most probable sets, best first, in characters of the text::

            {"start": 0, "end": 42, "sets": [{"probability": 0.81, "mentions": [{"start": 4, "end": 8, "label": "DNA"}]}]}
        """
        if isinstance(texts, (str, Document)):
            raise InputError("pipe takes a list of texts, and was given one; call the annotator itself with it")
        return self._in_order(texts, self._wanted(threshold, types, top_k), keep_sentences)

    def _in_order(self, texts: Iterable[str | Document], wanted: Wanted, keep_sentences: bool) -> Iterator[Document]:
        def is_long(given: str | Document) -> bool:
            if keep_sentences or (isinstance(given, Document) and given.sentences):
                return False
            return len(given.text if isinstance(given, Document) else given) > LONG_TEXT

        for long, group in itertools.groupby(texts, is_long):
            if long:
                yield from (self._annotate_long(text, wanted) for text in group)
            else:
                yield from self._pipe(group, wanted)

    def recognize(
        self, sentences: Iterable[Sentence], *, threshold: Threshold = None, types: Iterable[str] | None = None
    ) -> Iterator[Sentence]:
        """The same for sentences that are tokenised already: tokens, tags and offsets as given, mentions as found."""
        wanted = self._wanted(threshold, types, 0)
        return (
            Sentence(sentence.tokens, found.mentions, sentence.tags, sentence.offsets)
            for window in _windows(map(self._check_length, sentences), len)
            for sentence, found in zip(window, self._find(window, wanted), strict=True)
        )

    def _wanted(self, threshold: Threshold, types: Iterable[str] | None, top_k: int) -> Wanted:
        """What is asked for, or an error that says what cannot be."""
        from hyperspan.decoding import Wanted

        asked = [types] if isinstance(types, str) else list(types) if types is not None else list(self.labels)
        thresholds = {label or "*": value for label, value in _by_label(threshold).items()}
        for label in (*asked, *(label for label in thresholds if label != "*")):
            if label not in self.labels:
                raise LabelError(
                    f"the label {label!r} is not among those of the model; it knows {', '.join(self.labels)}"
                )
        for value in thresholds.values():
            if not isinstance(value, (int, float)) or not 0.0 < value <= 1.0:
                raise InputError(f"the threshold is {value!r}; it must be a probability above 0 and at most 1")
        if not 0 <= top_k <= MOST_SETS:
            raise InputError(f"the number of alternatives is {top_k}; it must be from 0 to {MOST_SETS:,}")
        chosen = [index for index, label in enumerate(self.labels) if label in asked]
        if threshold is None:
            return Wanted(chosen, None, top_k)
        others = thresholds.get("*", 0.5)
        return Wanted(chosen, [thresholds.get(self.labels[index], others) for index in chosen], top_k)

    def _pipe(self, texts: Iterable[str | Document], wanted: Wanted) -> Iterator[Document]:
        documents = (self._with_sentences(text) for text in texts)
        for window in _windows(documents, lambda document: sum(map(len, document.sentences))):
            found = iter(self._find([sentence for document in window for sentence in document.sentences], wanted))
            for document in window:
                yield _annotated(document, [next(found) for _ in document.sentences], wanted.top_k)

    def _annotate_long(self, given: str | Document, wanted: Wanted) -> Document:
        """A text with its mentions, and nothing kept of its sentences but what was found in them."""
        document = Document(given) if isinstance(given, str) else given
        where = f" of document {document.id!r}" if document.id else ""
        pieces = iter_pieces(document.text, self.model.tokenizer)
        sentences = (self._check_length(_sentence(piece, document.text), where) for piece in pieces)
        mentions: list[Mention] = []
        alternatives: list[dict[str, Any]] = []
        for window in _windows(sentences, len):
            part = Document(document.text, (), window)
            done = _annotated(part, self._find(window, wanted), wanted.top_k)
            mentions += done.mentions
            alternatives += done.metadata.get(ALTERNATIVES, [])
        metadata = {key: value for key, value in document.metadata.items() if key not in _ABOUT_MENTIONS}
        metadata |= {ALTERNATIVES: alternatives} if wanted.top_k else {}
        return Document(document.text, mentions, (), document.id, metadata)

    def _with_sentences(self, given: str | Document) -> Document:
        if not isinstance(given, (str, Document)):
            raise InputError(f"a text to annotate is {given!r:.50}, but must be a str or a Document")
        document = Document(given) if isinstance(given, str) else given
        if not document.sentences:
            pieces = iter_pieces(document.text, self.model.tokenizer)
            sentences = [_sentence(piece, document.text) for piece in pieces]
            document = Document(document.text, document.mentions, sentences, document.id, document.metadata)
        if any(sentence.tokens and not sentence.offsets for sentence in document.sentences):
            raise InputError(
                f"document {document.id!r} has sentences that do not say where in the text their tokens are; "
                "give their offsets, or leave the sentences out"
            )
        for sentence in document.sentences:
            self._check_length(sentence, f" of document {document.id!r}" if document.id else "")
        return document

    def _find(self, sentences: Sequence[Sentence], wanted: Wanted) -> list[Found]:
        """What is found in each sentence, in their order, whatever the batches in which it was computed."""
        import torch

        from hyperspan.batching import AT_ONCE, by_length
        from hyperspan.decoding import Found, decode

        found = [Found() for _ in sentences]
        limit = getattr(self.model, "at_once", AT_ONCE)
        for batch in by_length([len(sentence) for sentence in sentences], self.model.max_width, limit):
            with torch.inference_mode():
                distribution = self.model.distribution([sentences[index] for index in batch])
                for index, result in zip(batch, decode(distribution, self.labels, wanted), strict=True):
                    found[index] = result
            if self.on_words is not None:
                self.on_words(sum(len(sentences[index]) for index in batch))
        return found

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


def _sentence(piece: Piece, text: str) -> Sentence:
    return Sentence([text[start:end] for start, end in piece.tokens], offsets=piece.tokens)


def _annotated(document: Document, found: Sequence[Found], top_k: int) -> Document:
    sentences: list[Sentence] = []
    mentions: list[Mention] = []
    alternatives: list[dict[str, Any]] = []
    for sentence, here in zip(document.sentences, found, strict=True):
        sentences.append(Sentence(sentence.tokens, here.mentions, sentence.tags, sentence.offsets))
        mentions += [by_characters(mention, sentence.offsets) for mention in here.mentions]
        if top_k and sentence.tokens:
            sets = [
                {"probability": probability, "mentions": [_place(by_characters(m, sentence.offsets)) for m in ranked]}
                for probability, ranked in here.sets
            ]
            alternatives.append({"start": sentence.offsets[0][0], "end": sentence.offsets[-1][1], "sets": sets})
    metadata = {key: value for key, value in document.metadata.items() if key not in _ABOUT_MENTIONS}
    if top_k:
        metadata[ALTERNATIVES] = alternatives
    return Document(document.text, mentions, sentences, document.id, metadata)


def _place(mention: Mention) -> dict[str, Any]:
    return {"start": mention.start, "end": mention.end, "label": mention.label}
