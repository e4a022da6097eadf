"""``python -m experiments.pretraining``: adapt an encoder to a domain with unlabelled text."""

from __future__ import annotations

import math
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from experiments.cli import Force, Output, Resume, TokenizerName, run_command
from hyperspan.cli.options import Seed, Threads, TrainingDevice
from hyperspan.errors import require_torch
from hyperspan.kernels.threads import cpu_count

if TYPE_CHECKING:
    from experiments.pretraining.run import PretrainingRun


def pretrain(
    encoder: Annotated[str, typer.Argument(help="A Hugging Face encoder: a folder, or a name on the hub.")],
    texts: Annotated[
        list[str],
        typer.Argument(help="Text files (.txt, .txt.gz, .txt.xz), folders of them, or corpora (labels are ignored)."),
    ],
    output: Output,
    epochs: Annotated[
        float | None, typer.Option(help="Number of epochs. Default: 10, or as many as fit into --seconds.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Training time in seconds, without reading the texts.")] = None,
    learning_rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 6e-4,
    batch: Annotated[int, typer.Option(min=1, help="Windows per batch.")] = 1024,
    length: Annotated[int, typer.Option(min=8, help="Subwords per window.")] = 128,
    masked: Annotated[float, typer.Option(help="Fraction of words to mask.")] = 0.15,
    dropout: Annotated[float | None, typer.Option(min=0, max=0.9, help="Dropout. Default: the encoder's.")] = None,
    tokenizer: TokenizerName = "words",
    seed: Seed = 1,
    device: TrainingDevice = "auto",
    threads: Threads = None,
    compile_: Annotated[bool, typer.Option("--compile", help="Speed up training on GPUs with torch.compile.")] = False,
    half: Annotated[bool, typer.Option("--half", help="Write 16-bit weights.")] = False,
    resume: Resume = False,
    force: Force = False,
) -> None:
    """Continue pretraining an encoder on unlabelled text, by masked language modelling, and write it into a folder.

    Blank lines in text files separate documents. To train with the encoder, set transformer.name to the output folder.

    Example: python -m experiments.pretraining data/minilm text/ -o data/minilm-mine --seconds 600
    """
    require_torch("pretraining")
    from hyperspan.nn.hub import require_transformers

    require_transformers()
    from experiments.pretraining.display import RunDisplay
    from experiments.pretraining.run import PretrainingRun
    from experiments.pretraining.settings import PretrainingSettings

    if epochs is None:
        epochs = 10.0 if seconds is None else math.inf
    settings = PretrainingSettings(
        epochs=epochs,
        seconds=math.inf if seconds is None else seconds,
        learning_rate=learning_rate,
        batch=batch,
        length=length,
        masked=masked,
        dropout=dropout,
        tokenizer=tokenizer,
        seed=seed,
    )
    run = None
    try:
        with RunDisplay(Console(stderr=True)) as display:
            run = PretrainingRun(
                encoder,
                texts,
                output,
                settings,
                device=device,
                processes=threads or cpu_count(),
                resume=resume,
                force=force,
                compiled=compile_,
            )
            display.print(str(run))
            display.update("taking the first steps", 0.0)
            run.train(lambda progress: display.update(str(progress), progress.share), half=half)
    except KeyboardInterrupt:
        print(f"hyperspan: {_stopped(run)}", file=sys.stderr)
        raise
    first, last = run.losses[0][1], run.losses[-1][1]
    print(
        f"hyperspan: loss {first:.3f} at first, {last:.3f} at last; the encoder is in {output}{os.sep}", file=sys.stderr
    )


def _stopped(run: PretrainingRun | None) -> str:
    """Say how to resume after Ctrl-C; `run` is None while the texts are being read."""
    if run is None:
        return "stopped while reading; nothing is lost, give the same command again"
    return f"stopped; go on after step {run.saved_step:,} with --resume, the run is in {run.folder}{os.sep}"


if __name__ == "__main__":
    run_command(pretrain, "experiments.pretraining")
