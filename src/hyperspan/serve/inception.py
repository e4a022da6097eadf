"""INCEpTION's external recommenders: a document comes as UIMA CAS XMI, and returns with predicted annotations."""

from __future__ import annotations

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hyperspan.corpora.cas import CasXmi, features_of
from hyperspan.errors import counted
from hyperspan.serve.errors import packed_json
from hyperspan.serve.label_studio import not_trained
from hyperspan.serve.requests import read
from hyperspan.serve.schema import OpenBody, Text, options_in
from hyperspan.serve.service import Service, answer_size


class RecommenderMetadata(OpenBody):
    """What to predict."""

    layer: str = Field(description="The type of the annotations.")
    feature: str = Field(description="The feature that gets the label.")


class CasDocument(OpenBody):
    """A document."""

    xmi: Text = Field(description="The document as UIMA CAS XMI.")


class InceptionRequest(OpenBody):
    """A document to annotate. Other fields of INCEpTION are ignored."""

    metadata: RecommenderMetadata = Field(description="The layer and the feature of the recommender.")
    document: CasDocument = Field(description="The document.")
    type_system: Text = Field(alias="typeSystem", description="The type system of the document, in XML.")


class InceptionRoutes:
    """The routes that INCEpTION calls, one method each; options are in the address, as for Label Studio."""

    def __init__(self, service: Service):
        self.service = service
        self.listed = [
            Route(f"{address}/{name}", function, methods=["POST"], name=f"{address}/{name}")
            for address in ("/inception", "/inception/{options}")
            for name, function in (("predict", self.predict), ("train", not_trained))
        ]

    async def predict(self, request: Request) -> Response:
        call, service = request.state.call, self.service
        asked = await read(request, service, call, InceptionRequest)
        options = options_in(request, probabilities=True, offset_unit="utf16")  # as in Java
        layer, feature, xmi = asked.metadata.layer, asked.metadata.feature, asked.document.xmi
        features = await service.offload(len(asked.type_system), call, features_of, asked.type_system, layer, feature)
        cas = await service.offload(len(xmi), call, CasXmi, xmi)
        [found] = await service.annotate([cas.text], options, call)
        mentions = [mention for mention in found["mentions"] if "fragments" not in mention]
        if left_out := len(found["mentions"]) - len(mentions):
            call.record["note"] = f"{counted(left_out, 'discontinuous mention')} left out: an annotation is one span"

        def answer() -> Response:
            annotations = [
                {"begin": mention["start"], "end": mention["end"], feature: mention["label"]}
                | {"inception_internal_predicted": "true"}
                | ({f"{feature}_score": mention["probability"]} if f"{feature}_score" in features else {})
                for mention in mentions
            ]
            return packed_json({"document": cas.with_annotations(layer, annotations)}, request.headers)

        return await service.offload(len(xmi) + answer_size([cas.text], options), call, answer)
