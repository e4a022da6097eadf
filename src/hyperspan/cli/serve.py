"""``hyperspan serve``: serve models over HTTP, with a page to try them."""

from __future__ import annotations

from typing import Annotated

import typer

from hyperspan.cli.options import InferenceGroup
from hyperspan.errors import require
from hyperspan.serve.settings import LIMITS, Settings, parse_limits


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
    limit: Annotated[
        list[str] | None,
        typer.Option(
            "--limit",
            metavar="NAME=VALUE",
            help=f"A limit of requests, such as texts=100; repeat for more. NAME is one of {', '.join(LIMITS)}.",
            show_default=False,
        ),
    ] = None,
    *,
    compute: InferenceGroup,
) -> None:
    """Serve models over HTTP: a REST API, and a page at / to try them.

    Example: hyperspan serve --model genia --model mine=runs/mine --port 8080
    """
    require("serve", "serving")
    from hyperspan.serve.run import serve as run

    compute.use_threads()
    settings = Settings(
        models=tuple(model or ()),
        device=compute.device,
        dtype=compute.dtype,
        api_key=api_key,
        allow_hosts=tuple(allow_host or ()),
        **parse_limits(limit or ()),
    )
    run(settings, host, port)
