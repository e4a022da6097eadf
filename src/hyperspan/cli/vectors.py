"""``hyperspan vectors``: text without labels to word vectors."""

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
        typer.Argument(help="Text files (.txt, .txt.gz, .txt.xz), folders of them, and corpora; labels are ignored."),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The file for the vectors: .npz (16 bits), .txt or .vec, also with .gz."),
    ],
    dimension: Annotated[int, typer.Option(min=1, max=10_000, help="Numbers of a vector.")] = 200,
    window: Annotated[int, typer.Option(min=1, help="How many words on each side are predicted.")] = 5,
    negative: Annotated[int, typer.Option(min=1, help="Random words for each word that is predicted.")] = 8,
    epochs: Annotated[int, typer.Option(min=1, help="How often to read the texts.")] = 5,
    min_count: Annotated[int, typer.Option(min=1, help="How often a word must occur.")] = 3,
    sample: Annotated[float, typer.Option(min=0, help="Words with a larger share are left out at random.")] = 1e-4,
    tokenizer: Annotated[
        Literal["split", "words"],
        typer.Option(help="How words are cut; the same as model.tokenizer of the models that are to use the vectors."),
    ] = "words",
    cased: Annotated[bool, typer.Option("--cased", help="Keep upper case.")] = False,
    most: Annotated[int | None, typer.Option(min=0, help="Write only so many of the most frequent words.")] = None,
    words: Annotated[
        list[str] | None, typer.Option("--words", help="With --most: also the words of this corpus; repeat for more.")
    ] = None,
    components: Annotated[
        int | None, typer.Option(min=1, help="Write only so many principal components, for a smaller file.")
    ] = None,
    scale: Annotated[
        float, typer.Option(min=0, help="The standard deviation of what is written, that of GloVe; 0: as trained.")
    ] = 0.45,
    seed: Annotated[int, typer.Option(min=0, help="With --threads 1 the same seed gives the same vectors.")] = 1,
    threads: Threads = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on after the last epoch of a run that was stopped.")
    ] = False,
    force: Force = False,
) -> None:
    """Train word vectors on text without labels, by skip-gram (word2vec).

    Example: hyperspan vectors text/ -o vectors.npz --most 50000 --words train.jsonl

    Name the file as words.vectors. Needs the extra vectors.
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
