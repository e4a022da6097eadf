"""Decoding speed of finished rows, measured one after the other on one machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from experiments.result import MODEL, folder_of
from experiments.rows import corpus_named
from experiments.summaries import RowSummary
from experiments.variants import register
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.formats import read_corpus
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.evaluation.tables import Section
from hyperspan.runtime.loading import load
from hyperspan.text.sentences import with_context
from hyperspan.training.run import choose_device
from hyperspan.types import Sentence

ROUNDS = 3
WARM_UP = 50
"""The number of sentences decoded before timing begins."""


def measure(
    found: Sequence[RowSummary], data: str, data_dir: Path, output: Path, device: str, threads: int | None
) -> list[RowSummary]:
    """The rows whose models are available, with the words per second of their first seed on test."""
    test = data_dir / corpus_named(data).test
    if not test.exists():
        raise InputError(f"{test} is not there, which speed is measured on; put it there, or give --data-dir")
    if threads is not None:
        torch.set_num_threads(threads)
    register()
    place = str(choose_device(device))
    documents = (with_sentences(document, Problems()) for document in read_corpus(str(test)))
    sentences = [sentence.with_mentions(()) for document in documents for sentence in document.sentences]
    measured: list[RowSummary] = []
    for summary in found:
        model = folder_of(output, data, summary.row, summary.seeds[0]) / MODEL
        if (model / "config.toml").is_file():
            speed = words_per_second(model, sentences, place)
            measured.append(replace(summary, words_per_second=speed, device=place))
    if not measured:
        raise InputError(
            f"no finished row in {output / data} has its model beside it; copy the folders of models there"
        )
    return measured


def words_per_second(model: Path, sentences: Sequence[Sentence], device: str) -> float:
    """The median of some rounds over all sentences, after a warm-up."""
    annotator = load(model, device)
    if annotator.joins_documents:
        sentences = list(with_context(sentences, annotator.context))
    list(annotator.recognize(sentences[:WARM_UP]))
    words = sum(map(len, sentences))
    speeds: list[float] = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        list(annotator.recognize(sentences))
        speeds.append(words / (time.perf_counter() - begun))
    return statistics.median(speeds)


def sections(measured: Sequence[RowSummary], data: str) -> list[Section]:
    """One table, the fastest first."""
    fastest = sorted(measured, key=lambda summary: -summary.words_per_second)
    rows = [
        [s.row.label, s.row.name, f"{s.words_per_second:,.0f}", f"{100 * s.f1:.2f}", f"{s.parameters:,}"]
        for s in fastest
    ]
    note = (
        f"{data} test on {measured[0].device}, {torch.get_num_threads()} CPU threads, one row after the other in one run; "
        f"median of {ROUNDS} rounds"
    )
    return [Section("Speed", ("", "row", "words/s", "F1", "parameters"), rows, note)]
