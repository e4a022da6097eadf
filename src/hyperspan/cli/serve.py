"""``hyperspan serve``: serve models over HTTP, with a page to try them."""

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
            help="A bundled model or the folder of a model; repeat for more. The first one is the default model of "
            "requests. Default: all bundled models.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 means all interfaces.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 means any free port.", min=0, max=65535)] = 8000,
    api_key: Annotated[
        str | None,
        typer.Option(
            envvar="HYPERSPAN_API_KEY",
            help="The key that clients must send. Default: $HYPERSPAN_API_KEY, or none.",
            show_default=False,
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A host name that clients may use for this server, besides localhost and IP addresses; repeat for "
            "more. * allows all.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="Where the models run: cpu, cuda, cuda:1, …")] = "cpu",
    dtype: Annotated[str, typer.Option(help="float32, or bfloat16 if the processor supports it.")] = "float32",
    max_body_bytes: Annotated[
        int, typer.Option(help="Maximum bytes of a request body, or of a line of a stream.")
    ] = _DEFAULT.max_body_bytes,
    max_held_bytes: Annotated[
        int, typer.Option(help="Maximum bytes of all requests and lines in progress.")
    ] = _DEFAULT.max_held_bytes,
    max_texts: Annotated[int, typer.Option(help="Maximum number of texts per request.")] = _DEFAULT.max_texts,
    max_characters: Annotated[
        int, typer.Option(help="Maximum characters of all texts of a request.")
    ] = _DEFAULT.max_characters,
    max_requests: Annotated[int, typer.Option(help="Maximum number of concurrent requests.")] = _DEFAULT.max_requests,
    max_queued_words: Annotated[
        int, typer.Option(help="New requests are rejected while more words than this wait for a model.")
    ] = _DEFAULT.max_queued_words,
    max_alternatives: Annotated[int, typer.Option(help="Maximum top_k of a request.")] = _DEFAULT.max_alternatives,
    least_probability: Annotated[
        float, typer.Option(help="Minimum threshold of a request.")
    ] = _DEFAULT.least_probability,
    seconds: Annotated[float, typer.Option(help="Time limit of a request.")] = _DEFAULT.seconds,
    shutdown_seconds: Annotated[
        float, typer.Option(help="Time to finish accepted requests after a signal to stop.")
    ] = _DEFAULT.shutdown_seconds,
) -> None:
    """Serve models over HTTP: a REST API, and a page at / to try them.

    Example: hyperspan serve --model genia --model mine=runs/mine --port 8080
    """
    require("prometheus_client", "serving", "serve")
    require("starlette", "serving", "serve")
    require("uvicorn", "serving", "serve")
    from hyperspan.serve.run import serve as run

    settings = Settings(
        models=tuple(model or ()),
        device=device,
        dtype=dtype,
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
