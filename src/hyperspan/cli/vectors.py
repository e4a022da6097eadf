"""``hyperspan vectors``: train word vectors on unlabelled text."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from hyperspan.bulk.pool import cpu_count
from hyperspan.cli.options import Force, Threads
from hyperspan.errors import InputError, counted


def vectors(
    texts: Annotated[
        list[str],
        typer.Argument(help="Text files (.txt, .txt.gz, .txt.xz), folders of them, or corpora (labels are ignored)."),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The file to write: .npz (16-bit), .txt or .vec, optionally with .gz."),
    ],
    dimension: Annotated[int, typer.Option(min=1, max=10_000, help="Dimension of the vectors.")] = 200,
    window: Annotated[int, typer.Option(min=1, help="Context size: words to predict on each side.")] = 5,
    negative: Annotated[int, typer.Option(min=1, help="Negative samples per predicted word.")] = 8,
    epochs: Annotated[int, typer.Option(min=1, help="Number of epochs.")] = 5,
    min_count: Annotated[int, typer.Option(min=1, help="Ignore words that occur less often.")] = 3,
    sample: Annotated[
        float, typer.Option(min=0, help="Subsample words whose relative frequency is higher than this.")
    ] = 1e-4,
    tokenizer: Annotated[
        Literal["split", "words"],
        typer.Option(help="The word tokenizer; use the value of model.tokenizer that you will train with."),
    ] = "words",
    cased: Annotated[bool, typer.Option("--cased", help="Do not lowercase words.")] = False,
    most: Annotated[int | None, typer.Option(min=0, help="Write only this many of the most frequent words.")] = None,
    words: Annotated[
        list[str] | None,
        typer.Option("--words", help="With --most: also write the words of this corpus; repeat for more."),
    ] = None,
    components: Annotated[
        int | None,
        typer.Option(min=1, help="Reduce the vectors to this many principal components, for a smaller file."),
    ] = None,
    scale: Annotated[
        float,
        typer.Option(
            min=0,
            help="Rescale the vectors to this standard deviation (the default is that of GloVe); 0 does not rescale.",
        ),
    ] = 0.45,
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed; with --threads 1 the same seed gives the same vectors.")
    ] = 1,
    threads: Threads = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume a stopped run after its last finished epoch.")
    ] = False,
    force: Force = False,
) -> None:
    """Train word vectors on unlabelled text with skip-gram (word2vec).

    To train with them, set words.vectors to the file. Needs the extra vectors.

    Example: hyperspan vectors text/ -o vectors.npz --most 50000 --words train.jsonl
    """
    from hyperspan.pretraining.display import RunDisplay
    from hyperspan.pretraining.skipgram import (
        SkipgramRun,
        SkipgramSettings,
        chosen_words,
        principal_components,
        scaled,
    )

    if components is not None and components > dimension:
        raise InputError(f"--components {components} is more than --dimension {dimension}; give fewer components")
    settings = SkipgramSettings(
        dimension, window, negative, epochs, min_count, sample, tokenizer, lowercase=not cased, seed=seed
    )
    run = SkipgramRun(texts, output, settings, threads=threads or cpu_count(), resume=resume, force=force)
    try:
        with RunDisplay(Console(stderr=True)) as display:
            found, numbers = run.train(display.update)
            kept = chosen_words(found, len(found) if most is None else most, run.words_of(words or []))
            chosen = numbers[kept] if components is None else principal_components(numbers[kept], components)
            run.write([found[place] for place in kept], scaled(chosen, scale) if scale else chosen)
    except KeyboardInterrupt:
        print(f"hyperspan: stopped; go on with --resume, the run is in {run.folder}{os.sep}", file=sys.stderr)
        raise
    print(
        f"hyperspan: {counted(len(kept), 'vector')} of {components or dimension} numbers in {output}", file=sys.stderr
    )
