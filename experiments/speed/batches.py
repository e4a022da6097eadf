"""How large the batches of ``hyperspan.ArrowAnnotator`` should be: `python -m experiments.speed batches`.

Words a second by the rows of a batch, with one thread: of rows that are sentences, and of rows that are abstracts of
ten. All sizes annotate the same invented text, in turns. And the seconds that a process needs to load the model.
"""

from __future__ import annotations

import statistics
from functools import partial
from typing import Annotated, Any

import pyarrow as pa
import typer

from experiments.cli import Rounds
from experiments.processor import processor
from experiments.speed.invented import invented_sentences
from experiments.speed.measure import clock_for, in_turns
from hyperspan import ArrowAnnotator
from hyperspan.bulk import arrow
from hyperspan.cli.options import ModelName

ROWS = (1, 4, 16, 64, 256, 1024, 4096)


def by_rows(annotate: ArrowAnnotator, texts: list[str], rounds: int) -> dict[str, float]:
    """Words a second for batches of so many rows."""
    table = pa.table({"text": texts})

    def annotated(rows: int) -> int:
        return sum(annotate(table.slice(first, rows)).num_rows for first in range(0, len(texts), rows))

    sizes = [rows for rows in ROWS if rows <= len(texts)]
    times = in_turns([partial(annotated, rows) for rows in sizes], rounds, clock_for(1))
    words = sum(len(text.split()) for text in texts)
    return {str(rows): words / statistics.median(taken) for rows, taken in zip(sizes, times, strict=True)}


def run(
    model: ModelName = "english",
    rounds: Rounds = 5,
    abstracts: Annotated[int, typer.Option(min=1, help="How many texts of ten sentences are annotated.")] = 410,
) -> dict[str, Any]:
    annotate = ArrowAnnotator(model)

    def load() -> None:
        arrow._loaded.cache_clear()
        ArrowAnnotator(model)

    sentences = [" ".join(sentence.tokens) for sentence in invented_sentences()]
    sentences = [sentences[number % len(sentences)] for number in range(10 * abstracts)]
    texts = ["\n\n".join(sentences[first : first + 10]) for first in range(0, len(sentences), 10)]
    return {
        "machine": processor(),
        "seconds to load": statistics.median(in_turns([load], rounds)[0]),
        "words in a sentence": statistics.mean(len(sentence.split()) for sentence in sentences),
        "words a second by rows of sentences": by_rows(annotate, sentences, rounds),
        "words a second by rows of abstracts": by_rows(annotate, texts, rounds),
    }
