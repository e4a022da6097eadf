"""``hyperspan label``: correct a model's drafts in the browser."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Literal

import typer

from hyperspan.cli.options import Device, From, IdKey, OnError, Options, Overrides, TextKey, parse_options, split_names
from hyperspan.cli.output import counting, report
from hyperspan.corpora.inputs import read_inputs
from hyperspan.corpora.source import Problems
from hyperspan.corpora.tables import Columns
from hyperspan.errors import InputError, counted, require


def label(
    model: Annotated[str, typer.Argument(help="The model that drafts: a bundled one, or a folder.")],
    given: Annotated[
        list[str], typer.Argument(metavar="[TEXT|FILE|-]...", help="What to label: all that hyperspan annotate takes.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The corpus to write (.jsonl); FILE.log is kept beside it."
        ),
    ],
    annotator: Annotated[str, typer.Option(metavar="NAME", help="Who labels; recorded with each decision.")] = "",
    by: Annotated[
        str | None,
        typer.Option(
            help="What comes first: mix (default), entropy, margin, best-set, expected-f1; or order, as in the texts."
        ),
    ] = None,
    draft: Annotated[
        Literal["model", "given"],
        typer.Option(help="Whose mentions are corrected: the model's, or those that the texts came with."),
    ] = "model",
    labels: Annotated[
        list[str] | None,
        typer.Option("--labels", metavar="A,B", help="The labels to annotate. Default: the model's, and those given."),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            "--count",
            "-n",
            min=1,
            help="How many sentences. Default: all, without near duplicates unless --by is order.",
        ),
    ] = None,
    train_every: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Train in the background whenever N more sentences are finished."),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="A corpus to train on as well, such as the model's own; repeat for more."),
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The dev corpus of training. Default: a fifth of what is labelled."),
    ] = None,
    overrides: Overrides = None,
    port: Annotated[int, typer.Option(help="The port; 0 is any free one.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
    device: Device = "cpu",
    from_: From = None,
    on_error: OnError = "raise",
    option: Options = None,
    text_column: TextKey = None,
    id_column: IdKey = None,
) -> None:
    """Correct a model's mentions in the browser, sentence by sentence, and write them as a corpus.

    Every decision is on disk before the next one is shown. The same command again goes on where it was.

    Example: hyperspan label genia abstracts.jsonl -o corrected.jsonl --annotator ann
    """
    require("starlette", "labelling", "serve")
    require("uvicorn", "labelling", "serve")
    columns = Columns(text_column or Columns.text, id_column or Columns.id) if text_column or id_column else None
    problems = Problems(on_error)
    documents = read_inputs(given, from_, columns, problems, parse_options(option))
    from hyperspan.labelling.opening import LabellingSettings, open_desk
    from hyperspan.labelling.rounds import RoundSettings
    from hyperspan.serve.run import label as serve

    rounds = None
    if train_every is not None:
        folder = output.with_name(f"{output.name.removesuffix('.jsonl')}.models")
        rounds = RoundSettings(train_every, folder, tuple(corpus or ()), dev or "", tuple(overrides or ()))
    elif corpus or dev or overrides:
        raise InputError(
            "--corpus, --dev and --set are for training in the background; add --train-every, or leave them out"
        )
    settings = LabellingSettings(
        output=output,
        annotator=annotator,
        by=by,
        offers_given=draft == "given",
        labels=tuple(split_names(labels)),
        count=count,
        rounds=rounds,
    )
    with counting("ranking", "words") as add:
        desk = open_desk(model, documents, settings, problems, on_words=add, device=device)
    report(problems)

    def show(link: str) -> None:
        progress = desk.session.progress()
        done = progress["done"] + progress["partial"] + progress["skipped"]
        resumed = f", {done:,} of them dealt with already" if done else ""
        print(f"hyperspan: labelling {counted(progress['items'], 'sentence')}{resumed} into {output}", file=sys.stderr)
        left_out = desk.session.sentences - progress["items"]
        if left_out and (count is None or progress["items"] < count):
            what = counted(left_out, "near duplicate")
            print(f"hyperspan: left out {what} of these sentences; --by order shows all", file=sys.stderr)
        print(f"hyperspan: labelling at {link} (stop with Ctrl-C)", flush=True)
        if browser and sys.stdout.isatty():
            webbrowser.open(link)

    serve(desk, port, show)
