"""``hyperspan label``: correct a model's predictions in the browser."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Literal

import typer

from hyperspan.cli.guesses import check_no_model, check_not_one_word
from hyperspan.cli.options import ModelGroup, Overrides, TextsGroup, output_option, split_names
from hyperspan.cli.output import counting, say
from hyperspan.errors import InputError, counted, require


def label(
    given: Annotated[
        list[str],
        typer.Argument(metavar="[TEXT|FILE|-]...", help="The texts to label: any input of hyperspan annotate."),
    ],
    output: Annotated[
        Path,
        output_option("The corpus to write (.jsonl); the log FILE.log is written next to it.", "FILE"),
    ],
    annotator: Annotated[str, typer.Option(metavar="NAME", help="Your name, recorded with each decision.")] = "",
    by: Annotated[
        Literal["uncertainty", "order"] | None,
        typer.Option(help="How to order the sentences: by uncertainty (default), or as in the texts (order)."),
    ] = None,
    draft: Annotated[
        Literal["model", "given"],
        typer.Option(help="The mentions to correct: those of the model, or those in the input (given)."),
    ] = "model",
    labels: Annotated[
        list[str] | None,
        typer.Option(
            "--labels", metavar="A,B", help="The labels to annotate. Default: those of the model and of the input."
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            "--count",
            "-n",
            min=1,
            help="How many sentences to label. Default: all; near duplicates are left out unless --by is order.",
        ),
    ] = None,
    train_every: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Train a new model in the background after every N labelled sentences."),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="Another corpus to train on, such as the training corpus of MODEL; repeat for more."
        ),
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The dev corpus for training. Default: a fifth of the labelled sentences."),
    ] = None,
    overrides: Overrides = None,
    port: Annotated[int, typer.Option(help="The port to listen on; 0 means any free port.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    *,
    model: ModelGroup,
    texts: TextsGroup,
) -> None:
    """Correct a model's mentions in the browser, sentence by sentence, and write a corpus.

    Every decision is saved at once. To resume, run the same command again.

    Example: hyperspan label abstracts.jsonl -m genia -o corrected.jsonl --annotator ann
    """
    require("serve", "labelling")
    check_no_model("label {data} --model {model}", given, "texts.jsonl --output labelled.jsonl", least=2)
    check_not_one_word(given)
    if output.suffix != ".jsonl":
        raise InputError(
            f"{output} does not end in .jsonl, but JSON Lines are written there; name it {output.stem}.jsonl"
        )
    documents = texts.inputs(given)
    model.use_threads()
    from hyperspan.labelling.rounds import RoundSettings
    from hyperspan.labelling.views import LabellingSettings, open_desk
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
        desk = open_desk(
            model.model, documents, settings, texts.problems, on_words=add, device=model.device, dtype=model.dtype
        )
    texts.report()

    def show(link: str) -> None:
        progress = desk.session.progress()
        done = progress["done"] + progress["partial"] + progress["skipped"]
        resumed = f", {done:,} of them dealt with already" if done else ""
        say(f"labelling {counted(progress['items'], 'sentence')}{resumed} into {output}")
        left_out = desk.session.sentences - progress["items"]
        if left_out and (count is None or progress["items"] < count):
            what = counted(left_out, "near duplicate")
            say(f"left out {what} of these sentences; --by order shows all")
        print(f"hyperspan: labelling at {link} (stop with Ctrl-C)", flush=True)
        if browser and sys.stdout.isatty():
            webbrowser.open(link)

    serve(desk, port, show)
