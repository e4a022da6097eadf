"""The application: its routes, which are thin, and what is wrapped around them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from hyperspan.errors import InputError
from hyperspan.inference.annotator import Annotator
from hyperspan.serve import openapi
from hyperspan.serve.bodies import LINES_TYPES, check_type, read
from hyperspan.serve.engine import Engine, answer_size
from hyperspan.serve.frame import Frame
from hyperspan.serve.problems import CODES, JSON, Problem, overloaded
from hyperspan.serve.schema import (
    AnnotateRequest,
    AnnotateResponse,
    HypergraphRequest,
    HypergraphResponse,
    ModelsResponse,
    Options,
    Unit,
    check,
    sentence,
)
from hyperspan.serve.settings import Settings
from hyperspan.serve.stream import Lines

STATIC = Path(__file__).parent / "static"


def create_app(settings: Settings | None = None, annotators: Mapping[str, Annotator] | None = None) -> FastAPI:
    """The application for any ASGI server; with `annotators`, by name, in the place of the models that the settings name.

    >>> app = create_app(Settings(models=("genia",)))
    >>> sorted(app.openapi()["paths"])[:3]
    ['/healthz', '/metrics', '/readyz']
    """
    settings = settings or Settings()
    engine = Engine(settings, annotators)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        engine.start()
        yield
        engine.close()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.engine = engine
    app.add_middleware(Frame, engine=engine)
    app.openapi = lambda: openapi.describe(app, settings.api_key is not None)  # type: ignore[method-assign]
    _add_handlers(app)
    _add_annotation(app, engine)
    _add_stream(app, engine)
    _add_state(app, engine)
    _add_page(app)
    return app


def _add_handlers(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def problem(_: Request, error: Problem) -> Response:
        return error.response()

    @app.exception_handler(InputError)
    async def mistake(_: Request, error: InputError) -> Response:
        return Problem(422, str(error)).response()

    @app.exception_handler(RequestValidationError)
    async def parameter(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = tuple(first["loc"])[1:]  # without "query"
        return Problem(422, sentence(place, first["type"], first["msg"], first.get("input"), [])).response()

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        said = {
            404: "there is nothing at this address; /openapi.json lists what there is",
            405: f"{request.method[:20]} is not a method of this address; the header Allow lists those that are",
        }.get(error.status_code, "the request cannot be answered")
        code = CODES.get(error.status_code, "bad_request")
        return Problem(error.status_code, said, code, dict(error.headers or {})).response()


def _add_annotation(app: FastAPI, engine: Engine) -> None:
    failures = openapi.errors(400, 401, 404, 408, 413, 415, 421, 422, 500, 503, 504)

    @app.post(
        "/v1/annotate",
        summary="The mentions of one text or several",
        response_model=AnnotateResponse,
        responses=failures,
        openapi_extra=openapi.body(AnnotateRequest, "annotate"),
    )
    async def annotate(request: Request) -> Response:
        call = request.state.call
        asked = await read(request, engine, call, AnnotateRequest)
        found = await engine.annotate(asked.all_texts, asked, call)
        content = {"model": engine.model(asked.model).name, "offset_unit": asked.offset_unit, "documents": found}
        return await engine.elsewhere(answer_size(asked.all_texts, asked), call, JSON, content)

    @app.post(
        "/v1/hypergraph",
        summary="The segmental hypergraph of a short sentence, with the hyperpath of its most probable mentions",
        response_model=HypergraphResponse,
        responses=failures,
        openapi_extra=openapi.body(HypergraphRequest, "hypergraph"),
    )
    async def hypergraph(request: Request) -> Response:
        call = request.state.call
        asked = await read(request, engine, call, HypergraphRequest)
        content = await engine.hypergraph(asked, call)
        return await engine.elsewhere(len(content["svg"]), call, JSON, content)


def _add_stream(app: FastAPI, engine: Engine) -> None:
    @app.post(
        "/v1/annotate/stream",
        summary="The mentions of any number of texts, a line of JSON each",
        response_class=Response,
        responses=openapi.lines_answered() | openapi.errors(400, 401, 404, 415, 421, 422, 500, 503),
        openapi_extra=openapi.lines(),
    )
    async def stream(
        request: Request,
        model: str | None = None,
        threshold: Annotated[list[str], Query(description="P for all labels, or LABEL=P for one.")] = [],  # noqa: B006
        types: Annotated[list[str] | None, Query()] = None,
        top_k: int = 0,
        candidates: float | None = None,
        probabilities: bool = True,
        offset_unit: Unit = "codepoint",
    ) -> Response:
        check_type(request, LINES_TYPES)
        given = {"model": model, "types": types, "top_k": top_k, "candidates": candidates}
        given |= {"probabilities": probabilities, "offset_unit": offset_unit, "threshold": _thresholds(threshold)}
        for name in request.query_params:
            if name not in given:
                raise Problem(422, f"the parameter {name[:60]!r} is not known; known are {', '.join(given)}")
        engine.check_options(check(Options, given))
        engine.take_place("streams", request.state.call)
        return Lines(engine, request.state.call, given)


def _thresholds(given: list[str]) -> float | dict[str, float] | None:
    thresholds: dict[str, float] = {}
    for written in given:
        label, _, number = written.rpartition("=")
        try:
            thresholds[label or "*"] = float(number)
        except ValueError:
            raise Problem(422, f"the threshold {written[:60]!r} is no probability; write 0.5, or protein=0.3") from None
    return thresholds or None


def _add_state(app: FastAPI, engine: Engine) -> None:
    @app.get(
        "/v1/models", response_model=ModelsResponse, responses=openapi.errors(401, 421, 503), summary="What is served"
    )
    async def models() -> Response:
        engine.check_loaded()
        listed: list[dict[str, Any]] = [served.info(index == 0) for index, served in enumerate(engine.models.values())]
        return JSON({"models": listed, "limits": engine.settings.limits})

    @app.get("/healthz", response_class=PlainTextResponse, summary="Whether the server runs")
    async def healthz() -> str:
        return "ok\n"

    @app.get(
        "/readyz",
        response_class=PlainTextResponse,
        responses=openapi.errors(503),
        summary="Whether the models are loaded and requests are taken",
    )
    async def readyz() -> str:
        engine.check_loaded()
        if engine.draining:
            raise overloaded("the server is shutting down", 5, "shutting_down")
        return "ready\n"

    @app.get("/metrics", response_class=PlainTextResponse, responses=openapi.errors(401, 421), summary="For Prometheus")
    async def metrics() -> Response:
        return PlainTextResponse(engine.metrics.render(), media_type="text/plain; version=0.0.4")

    @app.get("/openapi.json", include_in_schema=False)
    async def description() -> Response:
        return JSON(app.openapi())


def _add_page(app: FastAPI) -> None:
    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page() -> Response:
        if not (STATIC / "index.html").is_file():
            raise HTTPException(404)
        return FileResponse(STATIC / "index.html", media_type="text/html")

    app.mount("/static", StaticFiles(directory=STATIC, check_dir=False))
