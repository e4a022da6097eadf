"""The application: thin routes, and the middleware around them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from hyperspan import __version__
from hyperspan.errors import InputError
from hyperspan.labelling.views import LabellingDesk
from hyperspan.runtime.annotator import Annotator
from hyperspan.serve.errors import CODES, JSON, PACKED, Problem, packed_json, shutting_down
from hyperspan.serve.inception import InceptionRoutes
from hyperspan.serve.label_studio import LabelStudioRoutes
from hyperspan.serve.labelling import LabelRoutes
from hyperspan.serve.middleware import RequestMiddleware
from hyperspan.serve.openapi import describe
from hyperspan.serve.reference import reference_page
from hyperspan.serve.requests import LINES_TYPES, check_type, read
from hyperspan.serve.schema import AnnotateRequest, HypergraphRequest, Options, check, query_options
from hyperspan.serve.service import Service, answer_size
from hyperspan.serve.settings import Settings
from hyperspan.serve.stream import LineStream

STATIC = Path(__file__).parent / "static"


def create_app(
    settings: Settings | None = None,
    annotators: Mapping[str, Annotator] | None = None,
    desk: LabellingDesk | None = None,
) -> Starlette:
    """Create the application for any ASGI server.

    `annotators`, by name, replace the models in the settings. A `desk` adds the routes for labelling.

    >>> app = create_app(Settings(models=("genia",)))
    >>> [route.path for route in app.routes][:2]
    ['/v1/annotate', '/v1/hypergraph']
    """
    service = Service(settings or Settings(), annotators)
    labelling: tuple[Route, ...] = ()
    if desk is not None:
        desk.on_model(service.use)
        labelling = (*LabelRoutes(service, desk).listed, Route("/label", page("label.html"), middleware=PACKED))
    routes = Routes(service, labelling)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.start()
        yield
        service.close()

    app = Starlette(
        routes=[*routes.listed, Mount("/static", static_files(), middleware=PACKED)],
        middleware=[Middleware(RequestMiddleware, service=service, paths={route.path for route in routes.listed})],
        exception_handlers={Problem: _answer_problem, InputError: _answer_mistake, HTTPException: _answer_http},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.service = service
    return app


class Routes:
    """The routes of the server, one method each."""

    def __init__(self, service: Service, more: Iterable[Route] = ()):
        self.service = service
        self.listed = [
            Route("/v1/annotate", self.annotate, methods=["POST"]),
            Route("/v1/hypergraph", self.hypergraph, methods=["POST"]),
            Route("/v1/annotate/stream", self.stream, methods=["POST"]),
            Route("/v1/models", self.models, middleware=PACKED),
            Route("/healthz", self.healthz),
            Route("/readyz", self.readyz),
            Route("/metrics", self.metrics),
            Route("/openapi.json", self.openapi, middleware=PACKED),
            Route("/docs", self.docs, middleware=PACKED),
            Route("/", page("index.html"), middleware=PACKED),
            *LabelStudioRoutes(service).listed,
            *InceptionRoutes(service).listed,
            *more,
        ]
        self.description = describe(self.listed, with_key=service.settings.api_key is not None)
        self.reference = reference_page(self.description)

    async def annotate(self, request: Request) -> Response:
        call, service = request.state.call, self.service
        asked = await read(request, service, call, AnnotateRequest)
        found = await service.annotate(asked.all_texts, asked, call)
        content = {"model": service.model(asked.model).name, "offset_unit": asked.offset_unit, "documents": found}
        return await service.offload(answer_size(asked.all_texts, asked), call, packed_json, content, request.headers)

    async def hypergraph(self, request: Request) -> Response:
        call = request.state.call
        asked = await read(request, self.service, call, HypergraphRequest)
        content = await self.service.hypergraph(asked, call)
        return await self.service.offload(len(content["svg"]), call, packed_json, content, request.headers)

    async def stream(self, request: Request) -> Response:
        check_type(request, LINES_TYPES)
        options = query_options(request.query_params)
        self.service.check_options(check(Options, options))
        self.service.acquire_slot("streams", request.state.call)
        return LineStream(self.service, request.state.call, options)

    async def models(self, _: Request) -> Response:
        self.service.check_loaded()
        listed: list[dict[str, Any]] = [
            served.info(index == 0) for index, served in enumerate(self.service.models.values())
        ]
        return JSON({"models": listed, "limits": self.service.settings.limits, "version": __version__})

    async def healthz(self, _: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(self, _: Request) -> Response:
        self.service.check_loaded()
        if self.service.draining:
            raise shutting_down()
        return PlainTextResponse("ready\n")

    async def metrics(self, _: Request) -> Response:
        return PlainTextResponse(self.service.metrics.render(), media_type="text/plain; version=0.0.4")

    async def openapi(self, _: Request) -> Response:
        return JSON(self.description)

    async def docs(self, _: Request) -> Response:
        return HTMLResponse(self.reference)


def static_files() -> StaticFiles:
    """The files of the pages, and the style sheets that they share with pages that are written."""
    return StaticFiles(directory=STATIC, packages=[("hyperspan.render", "styles")], check_dir=False)


def page(name: str) -> Callable[[Request], Awaitable[Response]]:
    """The route of one of the pages; a package may come without them."""

    async def answer(_: Request) -> Response:
        if not (STATIC / name).is_file():
            raise HTTPException(404)
        return FileResponse(STATIC / name, media_type="text/html")

    return answer


async def _answer_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response()


async def _answer_mistake(_: Request, error: Exception) -> Response:
    return Problem(422, str(error)).response()


async def _answer_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = {
        404: "there is nothing at this address; /openapi.json lists what there is",
        405: f"{request.method[:20]} is not a method of this address; the header Allow lists those that are",
    }.get(error.status_code, "the request cannot be answered")
    code = CODES.get(error.status_code, "bad_request")
    return Problem(error.status_code, said, code, dict(error.headers or {})).response()
