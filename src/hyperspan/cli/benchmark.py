"""``hyperspan benchmark``: how fast hyperspan is on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from hyperspan.errors import InputError


def benchmark(
    what: Annotated[
        Literal["decode", "latency", "train"],
        typer.Argument(help="Decoding many sentences at once, or one at a time; or training."),
    ],
    data: Annotated[
        Path | None,
        typer.Option(help="Annotated sentences to measure with. Default: invented ones, as long as those of GENIA."),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="How many threads are used.")] = 2,
    rounds: Annotated[int, typer.Option(min=1, help="How often each thing is measured.")] = 5,
    stream: Annotated[
        int, typer.Option(min=0, help="decode: also watch memory over a stream of documents of so many words.")
    ] = 0,
    spancat: Annotated[
        str | None,
        typer.Option(
            metavar="PYTHON", help="decode: also measure spaCy's spancat, with an interpreter that has spaCy installed."
        ),
    ] = None,
    device: Annotated[
        Literal["cpu", "cuda"], typer.Option(help="decode and train: the CPU, or an NVIDIA GPU that PyTorch sees.")
    ] = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Measure the speed of decoding or training, as a share of what this machine's matrix products allow."""
    import torch

    from hyperspan.benchmarking import decode, gpu, latency, train
    from hyperspan.corpora import read_corpus

    torch.set_num_threads(threads)
    sentences = [s for document in read_corpus(str(data)) for s in document.sentences] if data else None
    if sentences == []:
        raise InputError(f"{data} holds no sentences; name a file of sentences, or leave --data out for invented ones")
    if device == "cuda":
        if what == "latency":
            raise InputError("latency is measured on the CPU alone; leave --device out")
        figures = gpu.run(what, sentences, rounds)
        lines = gpu.report(figures)
    elif what == "decode":
        figures = decode.run(sentences, rounds, stream, spancat)
        lines = decode.report(figures)
    elif what == "latency":
        figures = latency.run(sentences, rounds)
        lines = latency.report(figures)
    else:
        figures = train.run(sentences, rounds)
        lines = train.report(figures)
    print(json.dumps(figures, indent=2) if as_json else "\n".join(lines))
