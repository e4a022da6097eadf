"""Cross-fitting: models of halves of a small corpus, each with the other half, which it has not seen.

Dev is a fifth of a small corpus, and has chosen the epoch, so that its few mentions say little about how often the
model is wrong. These models learn as long as the model of the whole did. Calibrated on what they find in the sentences
that they have not seen (:func:`hyperspan.training.tuning.tune_calibration`), the model is no surer than they should be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy

from hyperspan.nn import Recognizer
from hyperspan.runtime.batches import shuffled_batches, split_evenly
from hyperspan.training.data import teaches
from hyperspan.training.loop import Run
from hyperspan.training.loss import TrainingLoss
from hyperspan.training.optimiser import Optimiser, mixed_seed
from hyperspan.training.start import begin
from hyperspan.types import Sentence

BLOCKS = 10
"""The blocks of consecutive sentences that go to the halves in turn. Blocks keep documents together: errors repeat
within one. Several of them give both halves some of each of several corpora."""


def models_of_halves(given: Run, epochs: int) -> list[tuple[Recognizer, list[Sentence]]]:
    """Models of halves of the sentences of a run, trained for so many epochs, and the sentences of the other halves."""
    known = set(given.model.labels)
    dev = [one.with_mentions(mention for mention in one.mentions if mention.label in known) for one in given.dev]
    halves: tuple[list[Sentence], list[Sentence]] = ([], [])
    for part in ({id(one): one for one in given.train}.values(), dev):  # no sentence is in both
        for place, sentence in enumerate(part):
            halves[place * BLOCKS // len(part) % 2].append(sentence)
    found: list[tuple[Recognizer, list[Sentence]]] = []
    for own, other in (halves, halves[::-1]):
        if (model := _model_of(list(filter(teaches, own)), given, epochs)) is not None:
            found.append((model, other))
    return found


def _model_of(sentences: Sequence[Sentence], given: Run, epochs: int) -> Recognizer | None:
    """A model like that of a run, of fewer sentences; None if there is nothing to learn, or it cannot be learnt."""
    if not any(sentence.mentions for sentence in sentences):
        return None
    new = begin(given.model.config, sentences, given.model.device, labels=given.model.labels)
    assert isinstance(new.model, Recognizer), "only such models are calibrated"
    loss = TrainingLoss(new.model, new.teachers, given.loss.rates)
    config, lengths = new.model.config.training, [len(sentence) for sentence in new.train]
    optimiser = Optimiser(loss, math.ceil(len(lengths) / config.batch_size), new.learnt)
    new.model.train()
    for epoch in range(epochs):
        for batch in shuffled_batches(lengths, config.batch_size, mixed_seed(config.seed, epoch)):
            parts = split_evenly([new.train[place] for place in batch], config.micro_batch_size or len(batch))
            optimiser.take_step([loss.collate(part) for part in parts], len(batch))
    if not optimiser.is_finite():
        return None
    with optimiser.averaged():
        return deepcopy(new.model)
