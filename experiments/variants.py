"""What a row does that no setting does: another loss, or a trained model that decodes in another way."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from experiments.paper.rows import IGNORES_WIDE_STARTS
from experiments.rows import Row
from hyperspan.nn import Recognizer, load_model
from hyperspan.nn.folders import save_model
from hyperspan.nn.segmental import SegmentalScorer
from hyperspan.plugins import MODELS
from hyperspan.structures import EdgeScores, negative_log_likelihood
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.losses import Loss
from hyperspan.structures.mentions import Mention
from hyperspan.training.events import LOG

# -- another loss ---------------------------------------------------------------------------------------------------


class IgnoringWideStarts(SegmentalScorer):
    """The segmental hypergraph, whose loss says nothing about a word and type where only wide mentions start."""

    def loss(
        self,
        scores: EdgeScores,
        gold: Sequence[set[Mention]],
        lengths: Sequence[int],
        marks: PartialMarks | None = None,
    ) -> Loss:
        assert marks is None, "the corpus of this experiment is annotated in full"
        ignored = _wide_starts(scores, gold)
        # What is left out has one possibility, so its probability is 1 whatever the model says.
        absent = scores.absent.masked_fill(ignored, 0.0)
        present = scores.present.masked_fill(ignored, -torch.inf)
        beta = self.config.training.beta if self.config.training.softmax_margin else None
        return negative_log_likelihood(replace(scores, absent=absent, present=present), gold, lengths, beta)


def _wide_starts(scores: EdgeScores, gold: Sequence[set[Mention]]) -> torch.Tensor:
    """(B, n, m): whether gold mentions of a type start at a word, and all of them are wider than c."""
    c = scores.close.shape[2]
    starts = torch.zeros(scores.absent.shape, dtype=torch.bool)
    for b, mentions in enumerate(gold):
        narrow = {(start, kind) for start, end, kind, *_ in mentions if end - start <= c}
        for start, _, kind, *_ in mentions:
            starts[b, start, kind] |= (start, kind) not in narrow
    return starts.to(scores.absent.device)


def register() -> None:
    """Make the kinds of models of this file known, as a plug-in does by its entry points."""
    MODELS.built_in = {**MODELS.built_in, IGNORES_WIDE_STARTS: IgnoringWideStarts}


# -- another way to decode ------------------------------------------------------------------------------------------


def decode_otherwise(row: Row, trained: Path, folder: Path) -> None:
    """Write a copy of a trained model that decodes as a row says."""
    model = load_model(trained)
    assert isinstance(model, Recognizer)
    for override in row.overrides:
        _CHANGES[override](model)
    save_model(model, folder)
    shutil.copy(trained / LOG, folder / LOG)


def _zero_interactions(model: Recognizer) -> None:
    """Set the scores of I → I to zero, which come after those of I → X."""
    scorer = model.scorer
    assert isinstance(scorer, SegmentalScorer) and scorer.interactions and scorer.tied
    parameters = dict(scorer.parts.named_parameters())
    with torch.no_grad():
        for name, axis in scorer.parts.output_axes.items():
            outputs = parameters[name].shape[axis]
            parameters[name].narrow(axis, scorer.types, outputs - scorer.types).zero_()


def _limit_width(model: Recognizer) -> None:
    model.config = replace(model.config, model=replace(model.config.model, max_width=6))


_CHANGES: dict[str, Callable[[Recognizer], None]] = {
    "segmental.interactions=false": _zero_interactions,
    "model.max_width=6": _limit_width,
}
"""What each override of a row that only decodes does to a trained model."""
