"""Predict sentences in batches of similar length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hyperspan.runtime.assembly import SentencePrediction
from hyperspan.runtime.batching import batches_by_length
from hyperspan.runtime.constraints import NO_CONSTRAINTS, Constraints
from hyperspan.runtime.decoding import decode
from hyperspan.runtime.interface import InferenceModel
from hyperspan.runtime.options import DecodingOptions
from hyperspan.runtime.pronouns import leave_out_pronouns
from hyperspan.types import Sentence


def predict(
    model: InferenceModel,
    sentences: Sequence[Sentence],
    options: DecodingOptions,
    constraints: Mapping[int, Constraints],
) -> list[SentencePrediction]:
    """Predict each sentence, in order; `constraints` are by sentence index."""
    same = first_alike(sentences, constraints)
    lengths = [len(sentence) if same[index] == index else 0 for index, sentence in enumerate(sentences)]
    predictions: dict[int, SentencePrediction] = {}
    for batch in batches_by_length(lengths, model.max_width, model.batch_entries):
        known = [constraints.get(index, NO_CONSTRAINTS) for index in batch]
        compute = model.quick_distribution if options.probable_alone and not any(known) else model.distribution
        with model.inference():
            distribution = compute([sentences[index] for index in batch])
            decoded = decode(distribution, model.labels, options, known if any(known) else None)
        predictions |= zip(batch, decoded, strict=True)
    if not options.pronouns:
        required = {index: one.require for index, one in constraints.items()}
        predictions = leave_out_pronouns(predictions, sentences, required)
    nothing = SentencePrediction()
    return [predictions.get(index, nothing) for index in same]


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
