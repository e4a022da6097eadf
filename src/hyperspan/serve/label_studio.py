"""Label Studio's protocol of ML backends: mentions as regions of a project's labelling configuration.

The configuration comes with every request, and nothing is kept between requests. Label Studio does not show the
sentence of an error, and refers to the log of the server: so the log has it.
"""

from __future__ import annotations

import uuid
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Annotated, Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hyperspan.corpora.label_studio import CONTINUES, regions_of
from hyperspan.corpora.labelling_config import LabellingConfig, listed, read_labelling_config
from hyperspan.errors import InputError, counted, quoted
from hyperspan.serve.errors import JSON, packed_json
from hyperspan.serve.requests import MOST_VALUES, read, skip
from hyperspan.serve.schema import OpenBody, options_in
from hyperspan.serve.service import Service, answer_size
from hyperspan.types import Mention

MOST_TASK_VALUES = 20 * MOST_VALUES
"""The maximum number of values in the JSON of tasks: each has 20 fields, and its annotations and predictions."""
NOT_TRAINED = "models are served here, not trained; export the annotations, run hyperspan train, and serve its model"


class PredictRequest(OpenBody):
    """Tasks to annotate. Other fields of Label Studio are ignored."""

    tasks: Annotated[list[dict[str, Any]], Field(fail_fast=True)] = Field(description="The tasks, each with `data`.")
    label_config: str = Field(description="The labelling configuration of the project, in XML.")
    params: dict[str, Any] | None = Field(
        default=None, description="`context.result`: regions drawn by an annotator, in which mentions are wanted."
    )


class SetupRequest(OpenBody):
    """A project that connects. Other fields of Label Studio are ignored."""

    label_config: str | None = Field(
        default=None, alias="schema", description="The labelling configuration of the project, in XML."
    )


async def not_trained(request: Request) -> Response:
    """The answer to whoever asks for training."""
    await skip(request, request.app.state.service, request.state.call)
    return JSON({"job": None, "message": NOT_TRAINED})


class LabelStudioRoutes:
    """The routes that Label Studio calls, one method each; also with options in the address."""

    def __init__(self, service: Service):
        self.service = service
        self.listed = [
            Route(f"{address}/{name}", function, methods=[method], name=f"{name}{address}")
            for address in ("", "/label-studio/{options}")
            for method, name, function in (
                ("GET", "health", self.health),
                ("POST", "setup", self.setup),
                ("POST", "predict", self.predict),
                ("GET", "versions", self.versions),
                ("POST", "train", not_trained),
                ("POST", "webhook", not_trained),
            )
        ]

    async def health(self, _: Request) -> Response:
        self.service.check_loaded()
        return JSON({"status": "UP", "model_class": "hyperspan"})

    async def setup(self, request: Request) -> Response:
        asked = await read(request, self.service, request.state.call, SetupRequest)
        if asked.label_config:
            await self._config(request, asked.label_config)
        note: str | None = request.state.call.record.get("note")
        return JSON({"model_version": self._version(request)} | ({"note": note} if note else {}))

    async def versions(self, request: Request) -> Response:
        return JSON({"versions": [self._version(request)]})

    async def predict(self, request: Request) -> Response:
        call, service = request.state.call, self.service
        asked = await read(request, service, call, PredictRequest, MOST_TASK_VALUES)
        config = await self._config(request, asked.label_config)
        options = options_in(request, types=list(config.labels), probabilities=True, offset_unit="codepoint")
        texts = [_text_of(task, config.key) for task in asked.tasks]
        no_text = f"no string under {quoted(config.key)} in the data of the task; correct it, or the value of <Text>"
        if missing := texts.count(None):
            call.record["error"] = f"{counted(missing, 'task')} of {len(texts):,}: {no_text}"
        if missing and missing == len(texts):
            raise InputError(no_text)
        found = await service.annotate([text or "" for text in texts], options, call)

        def answer() -> Response:
            drawn, version = (
                _drawn(asked.params, {label for _, label in config.labels.values()}),
                self._version(request),
            )
            results = [_prediction(record["mentions"], config, drawn, version) for record in found]
            for text, result in zip(texts, results, strict=True):
                result |= {} if text is not None else {"error": no_text}
            return packed_json({"results": results, "model_version": version}, request.headers)

        return await service.offload(answer_size([text or "" for text in texts], options), call, answer)

    def _version(self, request: Request) -> str:
        """What predictions depend on: Label Studio renews those of other versions."""
        written: str = request.path_params.get("options", "")
        options = [part for part in written.split("&") if "=" in part and not part.startswith("model=")]
        return " ".join([self.service.model(options_in(request).model).version, *options])

    async def _config(self, request: Request, xml: str) -> LabellingConfig:
        """The labelling configuration for the labels of the model; labels that it lacks are noted in the log."""
        call, options = request.state.call, options_in(request)
        annotator = self.service.model(options.model).annotator
        known = annotator.name_labels if options.names else annotator.model.labels
        shown = options.types or (annotator.name_labels if options.names else annotator.labels)
        known = [label for label in known if label in (options.types or known)]
        try:
            config = await self.service.offload(len(xml), call, read_labelling_config, xml, known)
        except InputError as error:
            call.record["error"] = str(error)
            raise
        if missing := [label for label in shown if label not in config.labels]:
            call.record["note"] = (
                f"the labelling configuration lacks, so that such mentions are left out: {listed(missing)}"
            )
        return config


def _text_of(task: Mapping[str, Any], key: str) -> str | None:
    data = task.get("data")
    text = data.get(key) if isinstance(data, dict) else None
    return text if isinstance(text, str) else None


class _Drawn:
    """The spans that an annotator has drawn for a label."""

    def __init__(self, spans: Iterable[tuple[int, int]]):
        ordered = sorted(spans)
        self._starts = [start for start, _ in ordered]
        self._reach = list(accumulate((end for _, end in ordered), max))
        """Up to where the spans reach that start no later than each."""

    def overlap(self, start: int, end: int) -> bool:
        before = bisect_left(self._starts, end)
        return before > 0 and start < self._reach[before - 1]


def _drawn(params: Mapping[str, Any] | None, labels: Iterable[str]) -> dict[str, _Drawn]:
    """What an annotator has drawn, by label; a span without a label is for all. Empty if nothing was drawn."""
    context = (params or {}).get("context")
    result = context.get("result") if isinstance(context, dict) else None
    drawn: list[tuple[int, int, list[Any]]] = []
    for region in result if isinstance(result, list) else ():
        value = region.get("value") if isinstance(region, dict) else None
        if isinstance(value, dict) and isinstance(value.get("start"), int) and isinstance(value.get("end"), int):
            own = value.get("labels")
            drawn.append((value["start"], value["end"], own if isinstance(own, list) else []))
    if not drawn:
        return {}
    return {label: _Drawn((start, end) for start, end, own in drawn if not own or label in own) for label in labels}


def _prediction(
    mentions: Sequence[Mapping[str, Any]],
    config: LabellingConfig,
    drawn: Mapping[str, _Drawn],
    version: str,
) -> dict[str, Any]:
    """The prediction for a task; with drawn spans, of the mentions that overlap with one and have its label."""
    regions: list[dict[str, Any]] = []
    scores: list[float] = []
    for mention in mentions:
        from_name, label = config.labels[mention["label"]]
        start, end, score = mention["start"], mention["end"], mention["probability"]
        if not drawn or drawn[label].overlap(start, end):
            parts, name = mention.get("fragments", ()), uuid.uuid4().hex[:10]
            found = Mention(start, end, label, parts, mention["text"], score, id=name)
            regions += regions_of([found], {"from_name": from_name, "to_name": config.to_name}, CONTINUES)
            scores.append(score)
    mean = sum(scores) / len(scores) if scores else 0.0
    return {"result": regions, "score": mean, "model_version": version}
