"""Every name of hyperspan that the record uses. Where one moves, this file alone changes.

It also hides what may change form: how a distribution names a mention, how a run logs its epochs, where samples are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import torch

import hyperspan
from hyperspan import (
    Annotator,
    Document,
    Mention,
    Sentence,
    annotate_files,
    draw_hypergraph,
    evaluate,
    load,
    read_corpus,
    render_html,
    train,
    write_corpus,
)
from hyperspan.corpora import READERS, WRITERS, Problems, split_corpus, with_sentences
from hyperspan.corpora.examples import example_path
from hyperspan.errors import HyperspanError
from hyperspan.evaluation import compare
from hyperspan.kernels import reference
from hyperspan.labelling.suggestions import rank
from hyperspan.plugins import MODELS
from hyperspan.render.terminal import render_sentence
from hyperspan.runtime.folders import bundled_models
from hyperspan.structures import NotSupportedError
from hyperspan.training.forecast import forecast
from hyperspan.types import AnnotationScope

__all__ = [
    "KINDS",
    "READERS",
    "ROOT",
    "WRITERS",
    "AnnotationScope",
    "Annotator",
    "Document",
    "HyperspanError",
    "Mention",
    "NotSupportedError",
    "Problems",
    "Sentence",
    "annotate_files",
    "bundled_models",
    "compare",
    "draw_hypergraph",
    "draws_with_numpy",
    "epochs_of",
    "evaluate",
    "everyday",
    "example_path",
    "forecast",
    "gapped_marginals",
    "generator_for",
    "load",
    "log_partition_given",
    "make_tiny_encoder",
    "mention_of",
    "numbers",
    "one_thread",
    "rank",
    "read_corpus",
    "render_html",
    "render_sentence",
    "sentences_of",
    "split_corpus",
    "train",
    "versions",
    "with_sentences",
    "with_torch",
    "write_corpus",
]

KINDS = tuple(MODELS.built_in)

ROOT = Path(__file__).parents[2]
"""The root of the repository."""


def everyday() -> dict[str, str]:
    """Texts of everyday English by name."""
    from tests.support.everyday import EVERYDAY

    return EVERYDAY


def make_tiny_encoder(folder: Path) -> Path:
    """Write a small pretrained encoder with random weights into a folder."""
    from tests.support.tiny import make_tiny

    return make_tiny(folder)


def with_torch() -> AbstractContextManager[None]:
    """A context in which models of the CPU are computed by plain PyTorch instead of C."""
    return reference()


def one_thread() -> None:
    """Compute in one thread, so that sums have one order."""
    torch.set_num_threads(1)


def versions() -> dict[str, str]:
    """What computed a record, for people who look at one."""
    return {"hyperspan": hyperspan.__version__, "torch": torch.__version__, "numpy": np.__version__}


def epochs_of(folder: Path) -> list[dict[str, Any]]:
    """The loss and the F1 on dev of each epoch of a finished run."""
    lines = (folder / "log.jsonl").read_text("utf-8").splitlines()
    events = [event for event in map(json.loads, lines) if event["event"] == "epoch"]
    return [{"loss": event["loss"], "f1": (event["dev"] or {}).get("f1")} for event in events]


# -- distributions -------------------------------------------------------------------------------------------------


def mention_of(given: Any, labels: Iterable[str]) -> str:
    """A mention of a distribution, in tokens, as text: "2-5 protein", or "0-1,3-4 cell" with two parts."""
    start, end, kind, *more = given
    parts = more[0] if more and more[0] else ((start, end),)
    return f"{','.join(f'{a}-{b}' for a, b in parts)} {list(labels)[kind]}"


def numbers(values: Any) -> np.ndarray:
    """An array of what may be a tensor."""
    return np.asarray(values.detach().cpu() if isinstance(values, torch.Tensor) else values, dtype=np.float64)


def generator_for(distribution: Any, seed: int) -> Any:
    """The random numbers that this distribution draws with, and whether they are those of NumPy."""
    if isinstance(distribution.log_partition, np.ndarray):
        return np.random.default_rng(seed)
    return torch.Generator().manual_seed(seed)


def draws_with_numpy(distribution: Any) -> bool:
    """Whether samples are drawn with NumPy's random numbers, whose stream is a contract; PyTorch's is none."""
    return isinstance(distribution.log_partition, np.ndarray)


def gapped_marginals(distribution: Any, least: float) -> list[dict[Any, float]] | None:
    """The probable discontinuous mentions of each sentence; None for a distribution without any."""
    found = getattr(distribution, "discontinuous_marginals", None)
    return None if found is None else found(least)


def log_partition_given(distribution: Any, **constraints: Any) -> np.ndarray:
    """log Z of the sets that fulfil constraints on every sentence."""
    return numbers(distribution.condition(**constraints).log_partition)


def sentences_of(annotator: Annotator, texts: Iterable[str], most: int, longest: int) -> Iterator[Sentence]:
    """The first sentences of texts, as the model cuts them; those without words or with too many are left out."""
    every = (sentence for text in texts for sentence in annotator.split(text).sentences)
    for _, sentence in zip(range(most), (each for each in every if 0 < len(each) <= longest), strict=False):
        yield sentence
