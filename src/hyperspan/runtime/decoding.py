"""Predict sentences in batches of similar length: the interface of models, with torch or without, and the decoding of
their distributions over mention sets into mentions, with or without pronouns."""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import repeat
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.runtime.batches import batches_by_length
from hyperspan.runtime.constraints import NO_CONSTRAINTS, Constraints
from hyperspan.runtime.documents import SentencePrediction
from hyperspan.runtime.options import DecodingOptions
from hyperspan.structures.distribution import Distribution
from hyperspan.structures.mentions import (
    AnyMention,
    NotSupportedError,
    TooManyMentionsError,
    fragments_of,
    with_parts,
)
from hyperspan.structures.places import Places, rows_of_sets
from hyperspan.text.tokens import Tokenizer
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import MENTION_ORDER, Mention, Sentence, trusted_mention


class InferenceModel(Protocol):
    """A trained model. What follows from its configuration and its vocabulary is said here, for all."""

    config: Config
    vocabulary: Vocabulary
    tokenizer: Tokenizer

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of the types of its distributions."""
        return tuple(self.vocabulary.labels)

    @property
    def max_width(self) -> int | None:
        """c, or None for no limit."""
        width = self.config.model.max_width
        return None if width == "n" else width

    @property
    def names(self) -> Mapping[str, str]:
        """The labels that mark names, and the types that they are names of."""
        return self.config.model.names

    @property
    def context(self) -> int:
        """How many words of document context it reads before and after a sentence, if there are any."""
        return 0

    @property
    def joins_documents(self) -> bool:
        """Whether consecutive one-sentence documents form one text for it."""
        return self.config.data.joined

    @property
    def reads_tags(self) -> bool:
        """Whether it was trained with part-of-speech tags; it finds less without them."""
        return bool(self.vocabulary.tags)

    @property
    def discontinuous(self) -> bool:
        """Whether it finds discontinuous mentions."""
        ...

    @property
    def batch_entries(self) -> int:
        """The size of an inference batch: sentences × words × widths."""
        ...

    @property
    def parameter_count(self) -> int: ...
    def inference(self) -> AbstractContextManager[Any]:
        """Return a context in which nothing is kept for gradients."""
        return nullcontext()

    def distribution(self, sentences: Sequence[Sentence]) -> Any:
        """Return a :class:`~hyperspan.structures.Distribution`; types are indices into `labels`."""
        ...

    def quick_distribution(self, sentences: Sequence[Sentence]) -> Any:
        """The same for callers that need only the best sets or probable mentions; it may be faster."""
        return self.distribution(sentences)

    def save(self, folder: Path) -> None: ...


def decode(
    distribution: Distribution[Any],
    labels: Sequence[str],
    options: DecodingOptions,
    constraints: Sequence[Constraints] | None = None,
) -> list[SentencePrediction]:
    """Decode each sentence of a batch as the options say. Types are indices into `labels`.

    The labels of constraints are those of the model; found mentions have the labels under which they are reported.

    >>> from hyperspan.structures import EdgeScores, SegmentalHypergraph
    >>> zeros = np.zeros((1, 1, 1))
    >>> scores = EdgeScores(zeros, zeros + 1, np.zeros((1, 1, 0, 1)), np.zeros((1, 1, 1, 1)))
    >>> [found] = decode(SegmentalHypergraph(scores, [1]), ["name"], DecodingOptions(types=(0,), top_k=2))
    >>> [(mention.label, round(mention.probability, 3)) for mention in found.mentions]
    [('name', 0.731)]
    >>> [(round(probability, 3), len(mentions)) for probability, mentions in found.sets]
    [(0.731, 1), (0.269, 0)]
    """
    predictions = [SentencePrediction() for _ in distribution.lengths]
    if constraints is not None:
        distribution = _conditioned(distribution, labels, constraints)
    if not options.types:
        return predictions
    if len(options.types) < distribution.types:
        distribution = distribution.restrict(options.types)
    own: list[str] = [labels[kind] for kind in options.types]
    names = [options.reported_as.get(label, label) for label in own]
    wanted: list[Sequence[float] | None] = [options.thresholds]
    if options.candidates is not None:
        wanted.append([options.candidates] * len(names))
    try:
        best, *candidates = distribution.places(wanted, _required(constraints or (), own))
    except TooManyMentionsError as error:
        raise InputError(str(error)) from None
    _add_mentions(best, names, [one.mentions for one in predictions])
    for places in candidates:
        _add_mentions(places, names, [one.candidates for one in predictions])
    if options.top_k:
        for prediction, ranked in zip(predictions, distribution.topk(options.top_k), strict=True):
            for mentions, log_probability in ranked:
                named = [trusted_mention(*one[:2], names[one[2]], fragments=fragments_of(one)) for one in mentions]
                prediction.sets.append((math.exp(log_probability), sorted(named, key=MENTION_ORDER)))
    return predictions


def _add_mentions(places: Places, names: Sequence[str], to: Sequence[list[Mention]]) -> None:
    """Add the mentions at these places to the lists of their sentences."""
    labels: dict[int, str] = dict(enumerate(names))
    parts = places.parts or repeat(())
    for (sentence, start, end, kind), probability, fragments in zip(
        places.rows.tolist(), places.probabilities.tolist(), parts, strict=False
    ):
        to[sentence].append(trusted_mention(start, end, labels[kind], probability=probability, fragments=fragments))


def _by_type(mentions: Iterable[Mention], labels: Sequence[str]) -> list[AnyMention]:
    """Return the mentions with these labels in the form that a distribution takes."""
    return [with_parts(one.parts, labels.index(one.label)) for one in mentions if one.label in labels]


def _required(constraints: Sequence[Constraints], names: Sequence[str]) -> np.ndarray:
    """(mentions, 4): the required contiguous mentions of these types."""
    contiguous = ([one for one in given.require if not one.fragments] for given in constraints)
    return rows_of_sets(
        [[(*one.span, names.index(one.label)) for one in some if one.label in names] for some in contiguous]
    )


def _conditioned(
    distribution: Distribution[Any], labels: Sequence[str], constraints: Sequence[Constraints]
) -> Distribution[Any]:
    """Condition the distribution on the constraints of each sentence."""
    try:
        given = distribution.condition(
            require=[_by_type(one.require, labels) for one in constraints],
            forbid=[_by_type(one.forbid, labels) for one in constraints],
        )
    except NotSupportedError as error:
        raise InputError(f"this model cannot require or forbid mentions: {error}") from None
    if bool((given.log_partition == -math.inf).any()):
        raise InputError(
            "the required mentions are impossible together: one begins at a word that the model passes over, or two overlap and "
            "it finds no such mentions; load it with skip=math.inf, or leave one out"
        )
    return given


def predict(
    model: InferenceModel,
    sentences: Sequence[Sentence],
    options: DecodingOptions,
    constraints: Mapping[int, Constraints] | None = None,
) -> list[SentencePrediction]:
    """Predict each sentence, in order, whatever the batches; `constraints` are by sentence index."""
    constraints = constraints or {}
    same = first_alike(sentences, constraints)
    lengths = [len(sentence) if same[index] == index else 0 for index, sentence in enumerate(sentences)]
    predictions: dict[int, SentencePrediction] = {}
    batches = deque(batches_by_length(lengths, model.max_width, model.batch_entries))
    while batches:
        batch = batches.popleft()
        known = [constraints.get(index, NO_CONSTRAINTS) for index in batch]
        try:
            found = _predict_batch(model, [sentences[index] for index in batch], options, known)
        except _memory_errors() as error:
            if len(batch) == 1:
                raise MemoryError("there is not enough memory for one of its sentences") from error
            half = len(batch) // 2
            batches.extendleft([batch[half:], batch[:half]])
        else:
            predictions |= zip(batch, found, strict=True)
    if not options.pronouns:
        required = {index: one.require for index, one in constraints.items()}
        predictions = leave_out_pronouns(predictions, sentences, required)
    nothing = SentencePrediction()
    return [predictions.get(index, nothing) for index in same]


def _predict_batch(
    model: InferenceModel, sentences: Sequence[Sentence], options: DecodingOptions, known: Sequence[Constraints]
) -> list[SentencePrediction]:
    compute = model.quick_distribution if options.probable_alone and not any(known) else model.distribution
    with model.inference():
        return decode(compute(sentences), model.labels, options, known if any(known) else None)


def _memory_errors() -> tuple[type[BaseException], ...]:
    """The errors after which half a batch may succeed."""
    torch = sys.modules.get("torch")
    return (MemoryError,) if torch is None else (MemoryError, torch.OutOfMemoryError)


def first_alike(sentences: Sequence[Sentence], constraints: Mapping[int, Constraints]) -> list[int]:
    """Return for each sentence the index of the first one that is equal for a model, so that each is computed once.

    >>> first_alike([Sentence(["a"]), Sentence(["b"]), Sentence(["a"])], {})
    [0, 1, 0]
    """
    first: dict[object, int] = {}
    return [
        first.setdefault((one.tokens, one.tags, one.before, one.after, constraints.get(index)), index)
        for index, one in enumerate(sentences)
    ]


PRONOUNS = frozenset(
    """
    i me mine my myself we us our ours ourself ourselves you your yours yourself yourselves thou thee thy thine thyself ye
    he him his himself she her hers herself it its itself they them 'em ’em their theirs themself themselves
    oneself who whom whose which what whoever whomever whosoever whomsoever whatever whatsoever whichever
    this that these those
    anybody anyone anything everybody everyone everything nobody none nothing somebody someone something
    all another any both each either enough few many most neither one ones other others several some such
    """.split()
)
"""Personal, possessive, reflexive, relative, interrogative, demonstrative and indefinite pronouns, in lower case."""
_ABBREVIATIONS = frozenset({"ALL", "IT", "ME", "US", "WHO"})
"""In capitals these are names more often than pronouns: the United States, the World Health Organization."""
_POSSESSIVE = frozenset({"'s", "’s", "'", "’"})


def is_pronoun(tokens: Sequence[str]) -> bool:
    """Whether these tokens are one English pronoun, alone or with a possessive ending; capitals make no difference.

    >>> is_pronoun(["She"]), is_pronoun(["everyone", "'s"]), is_pronoun(["she", "who"]), is_pronoun(["the", "zoo"])
    (True, True, False, False)

    Abbreviations in capitals are none:

    >>> is_pronoun(["us"]), is_pronoun(["US"]), is_pronoun(["WHO", "'s"])
    (True, False, False)
    """
    if not tokens or len(tokens) > 2 or (len(tokens) == 2 and tokens[1].lower() not in _POSSESSIVE):
        return False
    return tokens[0] not in _ABBREVIATIONS and tokens[0].lower() in PRONOUNS


def leave_out_pronouns(
    predictions: Mapping[int, SentencePrediction],
    sentences: Sequence[Sentence],
    required: Mapping[int, Iterable[Mention]],
) -> dict[int, SentencePrediction]:
    """Return the predictions, by sentence index, without pronouns; required mentions stay.

    >>> she, zoo = Mention(0, 1, "person"), Mention(2, 3, "place")
    >>> found = SentencePrediction([she, zoo], [(0.5, [she, zoo]), (0.25, [zoo])])
    >>> left = leave_out_pronouns({0: found}, [Sentence(["She", "left", "Oz"])], {})[0]
    >>> left.mentions == [zoo], left.sets == [(0.75, [zoo])]
    (True, True)
    """
    return {
        index: _without_pronouns(found, sentences[index].tokens, {one.span for one in required.get(index, ())})
        for index, found in predictions.items()
    }


def _without_pronouns(
    found: SentencePrediction, tokens: Sequence[str], kept: set[tuple[int, int]]
) -> SentencePrediction:
    def others(mentions: Iterable[Mention]) -> list[Mention]:
        return [one for one in mentions if one.span in kept or not is_pronoun(tokens[one.start : one.end])]

    return SentencePrediction(
        others(found.mentions),
        _merged((probability, others(mentions)) for probability, mentions in found.sets),
        others(found.candidates),
    )


def _merged(sets: Iterable[tuple[float, list[Mention]]]) -> list[tuple[float, list[Mention]]]:
    """Sets that differ in pronouns alone become one, whose probability is their sum; the most probable comes first."""
    totals: dict[tuple[Mention, ...], float] = {}
    for probability, mentions in sets:
        totals[tuple(mentions)] = totals.get(tuple(mentions), 0.0) + probability
    merged = [(min(total, 1.0), list(mentions)) for mentions, total in totals.items()]
    return sorted(merged, key=lambda one: -one[0])
