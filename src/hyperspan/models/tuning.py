"""Probabilities that mean what they say: one number that makes a trained model as sure as it should be.

A network trained until it is right about its training data is too sure of itself elsewhere. Dividing all scores by a
temperature leaves the order of mention sets as it is, so the most probable set stays, and makes the distribution flatter. The
temperature is the one under which the dev sentences are most probable.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from hyperspan.batching import by_length
from hyperspan.models.recognizer import Recognizer
from hyperspan.structures import SegmentalHypergraph
from hyperspan.structures.scores import hyperpaths_of
from hyperspan.types import Sentence

CHOICES = [round(0.5 * 1.04**step, 4) for step in range(60)]
"""From 0.5 to 5, four percent apart."""


def _known_gold(model: Recognizer, sentence: Sentence) -> set[tuple[int, int, int]]:
    """The mentions of a sentence whose labels the model has; dev may hold others."""
    known = [mention for mention in sentence.mentions if mention.label in model.labels]
    return model.vocabulary.gold(Sentence(sentence.tokens, known))


@torch.inference_mode()
def best_temperature(model: Recognizer, sentences: Sequence[Sentence]) -> float:
    """The temperature under which the sentences' mentions (no wider than the model's c) are most probable."""
    surprise = torch.zeros(len(CHOICES), dtype=torch.float64)
    for indices in by_length([len(sentence) for sentence in sentences], model.max_width):
        given = [sentences[index] for index in indices]
        scores, lengths = model(model.collate(given)), [len(sentence) for sentence in given]
        types, width, device = scores.close.shape[3], scores.max_width, scores.close.device
        gold = [{m for m in _known_gold(model, s) if m[1] - m[0] <= width} for s in given]
        paths = hyperpaths_of(gold, lengths, width, types, device)
        for index, temperature in enumerate(CHOICES):
            surprise[index] -= SegmentalHypergraph(scores / temperature, lengths).log_prob_of(paths).sum().cpu()
    return CHOICES[int(surprise.argmin())]
