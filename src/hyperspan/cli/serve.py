"""``hyperspan serve``: models behind HTTP, and a page to try them."""

from __future__ import annotations

from typing import Annotated

import typer

from hyperspan.errors import require
from hyperspan.serve.settings import Settings

_DEFAULT = Settings()


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME|FOLDER|NAME=FOLDER",
            help="A bundled model or the folder of one; repeat for more. The first is the default. Without: all bundled ones.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen at; 0.0.0.0 is all of them.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 is any free one.", min=0, max=65535)] = 8000,
    api_key: Annotated[
        str | None, typer.Option(envvar="HYPERSPAN_API_KEY", help="What callers must show.", show_default=False)
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A name that callers use for this server, beside localhost and addresses; repeat for more. * is all.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="Where the models run: cpu, cuda, cuda:1 …")] = "cpu",
    precision: Annotated[str, typer.Option(help="float32, or bfloat16 where the processor has it.")] = "float32",
    max_body_bytes: Annotated[
        int, typer.Option(help="Of a request, or of a line of a stream.")
    ] = _DEFAULT.max_body_bytes,
    max_held_bytes: Annotated[int, typer.Option(help="Of all requests and lines at work.")] = _DEFAULT.max_held_bytes,
    max_texts: Annotated[int, typer.Option(help="Of a request.")] = _DEFAULT.max_texts,
    max_characters: Annotated[int, typer.Option(help="Of all texts of a request.")] = _DEFAULT.max_characters,
    max_requests: Annotated[int, typer.Option(help="At work at the same time.")] = _DEFAULT.max_requests,
    max_queued_words: Annotated[
        int, typer.Option(help="While more wait, requests are turned away.")
    ] = _DEFAULT.max_queued_words,
    max_alternatives: Annotated[int, typer.Option(help="The largest top_k.")] = _DEFAULT.max_alternatives,
    least_probability: Annotated[
        float, typer.Option(help="The lowest threshold that may be asked for.")
    ] = _DEFAULT.least_probability,
    seconds: Annotated[float, typer.Option(help="That a request may take.")] = _DEFAULT.seconds,
    shutdown_seconds: Annotated[
        float, typer.Option(help="For finishing what was accepted, after a signal to stop.")
    ] = _DEFAULT.shutdown_seconds,
) -> None:
    """Serve models over HTTP, with a page to try them at /.

    Example: hyperspan serve --model genia --model mine=runs/mine --port 8080
    """
    require("starlette", "serving", "serve")
    require("uvicorn", "serving", "serve")
    from hyperspan.serve.run import serve as run

    settings = Settings(
        models=tuple(model or ()),
        device=device,
        precision=precision,
        api_key=api_key,
        allow_hosts=tuple(allow_host or ()),
        max_body_bytes=max_body_bytes,
        max_held_bytes=max_held_bytes,
        max_texts=max_texts,
        max_characters=max_characters,
        max_requests=max_requests,
        max_queued_words=max_queued_words,
        max_alternatives=max_alternatives,
        least_probability=least_probability,
        seconds=seconds,
        shutdown_seconds=shutdown_seconds,
    )
    run(settings, host, port)
