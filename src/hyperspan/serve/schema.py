"""Requests and responses, for validation and OpenAPI; and validation errors as sentences."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from starlette.datastructures import QueryParams
from starlette.requests import Request

from hyperspan.runtime.options import parse_thresholds
from hyperspan.serve.errors import Problem

_Checked = TypeVar("_Checked", bound=BaseModel)
PROBABILITY = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}
LARGEST = 2**53 - 1
"""The maximum integer, so that JavaScript can represent it."""
MOST_FRAGMENTS = 100
"""The maximum number of fragments of a mention in a request."""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value  # unchanged: pydantic would refuse unpaired surrogates, which a browser may send


def _probability(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
        raise ValueError("must be a number above 0 and at most 1")
    return value


def _threshold(value: Any) -> float | dict[str, float] | None:
    if value is None:
        return None
    if isinstance(value, dict):
        return {str(label): _threshold_of(str(label), number) for label, number in value.items()}
    return _probability(value)


def _threshold_of(label: str, number: Any) -> float:
    try:
        return _probability(number)
    except ValueError as error:
        raise ValueError(f"{label[:60]!r} is {_shown(number)}, but {error}") from None


def is_id(value: Any) -> bool:
    """Whether a value can be returned unchanged: JSON has no infinity, but 1e999 is parsed as one."""
    return not isinstance(value, (dict, list)) and not (isinstance(value, float) and math.isinf(value))


def _id(value: Any) -> str | float | None:
    if not is_id(value):
        raise ValueError("must be a string, a number or null")
    return value


Id = Annotated[Any, PlainValidator(_id), WithJsonSchema({"type": ["string", "number", "boolean", "null"]})]
Text = Annotated[str, PlainValidator(_text), WithJsonSchema({"type": "string"})]
Threshold = Annotated[
    Any,
    PlainValidator(_threshold),
    WithJsonSchema(
        {"anyOf": [PROBABILITY, {"type": "object", "additionalProperties": PROBABILITY}, {"type": "null"}]},
    ),
]
Probability = Annotated[float, Field(gt=0, le=1)]
Place = Annotated[int, Field(ge=0, le=LARGEST)]
Unit = Literal["codepoint", "utf16"]

Part = Annotated[list[Place], Field(min_length=2, max_length=2)]
GivenFragments = Annotated[list[Part], Field(fail_fast=True, max_length=MOST_FRAGMENTS)] | None
ASKED_FRAGMENTS: Any = Field(
    default=None,
    description="The parts of a discontinuous mention, in the order of the text, as `[start, end]`. "
    "Parts must not touch or be empty. Null for a contiguous mention.",
)
FRAGMENTS: Any = Field(
    default=None,
    description="The parts of a discontinuous mention, as `[start, end]`. Contiguous mentions have no such field.",
)
START: Any = Field(description="The offset of the first character.")
END: Any = Field(description="The offset after the last character.")
UNIT = "What offsets count, in the request and in the answer: code points or UTF-16 units (JavaScript, Java)."
NAMES = (
    "Whether to find names alone, under the types that they are names of: the `name_labels` of the model. "
    "An error for models that have none."
)
PRONOUNS = "Whether to return mentions that are one English pronoun."
MODEL = "The name of a model; `GET /v1/models` lists them. Null: the first one."


class StrictBody(BaseModel):
    """Types as they are in JSON, and no field that is not known."""

    model_config = ConfigDict(extra="forbid", strict=True)


class OpenBody(BaseModel):
    """A body of another program's protocol, whose further fields are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True)


class KnownMention(StrictBody):
    """A mention to require or to forbid. Its ends must not cut words."""

    start: Place = START
    end: Place = END
    label: str = Field(description="A label of the model.")
    fragments: GivenFragments = ASKED_FRAGMENTS
    document: Place = Field(default=0, description="Which of `texts` it is in, counted from 0.")


KnownMentions = Annotated[list[KnownMention], Field(fail_fast=True)]
Labels = Annotated[list[str], Field(fail_fast=True)]
"""Lists stop at the first error: listing all of them would take far longer than the request."""


class Options(StrictBody):
    """How to annotate."""

    model: str | None = Field(default=None, description=MODEL)
    threshold: Threshold = Field(
        default=None,
        description="Null: the most probable set of mentions. A number: every mention at least that probable. "
        "Or one number per label, with `*` for the other labels.",
    )
    recall: Threshold = Field(
        default=None,
        description="In place of `threshold`: find at least this share of the mentions, expected over texts like those "
        "that the model was calibrated on. Or one share per label. The answer has the `promise` in words.",
    )
    precision: Threshold = Field(
        default=None,
        description="In place of `threshold`: find as much as possible of which at least this share is right, with 90% "
        "confidence. Or one share per label.",
    )
    types: Labels | None = Field(default=None, description="The only labels to look for. Null: all labels.")
    top_k: int = Field(
        default=0,
        ge=0,
        le=LARGEST,
        description="Also return this many most probable sets of each sentence, in `alternatives`. "
        "50 sets take about as long as the mentions.",
    )
    candidates: Probability | None = Field(
        default=None,
        description="Also return every mention at least this probable, in `candidates`, to apply thresholds later.",
    )
    names: bool = Field(default=False, description=NAMES)
    pronouns: bool = Field(default=True, description=PRONOUNS)
    probabilities: bool = Field(default=True, description="Whether to return the probability of each mention.")
    offset_unit: Unit = Field(default="codepoint", description=UNIT)
    require: KnownMentions = Field(
        default=[], description="Mentions that the answer must contain. The rest is decoded under this constraint."
    )
    forbid: KnownMentions = Field(default=[], description="Mentions that the answer must not contain.")


class AnnotateRequest(Options):
    """One text or several: give `text` or `texts`. An unknown field is an error."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["text"], "properties": {"text": {"type": "string"}, "texts": {"type": "null"}}},
                {"required": ["texts"], "properties": {"texts": {"type": "array"}, "text": {"type": "null"}}},
            ]
        }
    )
    text: Text | None = Field(default=None, description="The text.")
    texts: Annotated[list[Text], Field(fail_fast=True)] | None = Field(
        default=None, description="Several texts, in place of `text`."
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> AnnotateRequest:
        if (self.text is None) == (self.texts is None):
            raise ValueError('the body has both "text" and "texts" or neither; give one of them')
        return self

    @property
    def all_texts(self) -> list[str]:
        return self.texts if self.texts is not None else [self.text or ""]


class StreamLine(Options):
    """A line of a stream: a text, and options that differ from those of the query."""

    text: Text = Field(description="The text.")
    id: Id = Field(default=None, description="Returned with the answer to this line.")


class StreamQuery(BaseModel):
    """The query of a stream: options for all of its lines. A line may override them."""

    REPEATED: ClassVar = ("threshold", "recall", "precision", "types")
    model: str | None = Field(default=None, description=MODEL)
    threshold: list[str] = Field(
        default=[], description="`P` for all labels, or `LABEL=P` for one. Repeat it for more labels."
    )
    recall: list[str] = Field(default=[], description="As in the body, written like `threshold`.")
    precision: list[str] = Field(default=[], description="As in the body, written like `threshold`.")
    types: list[str] | None = Field(default=None, description="A label to look for. Repeat it for more.")
    top_k: int = Field(default=0, description="Also return this many most probable sets of each sentence.")
    candidates: float | None = Field(default=None, description="Also return every mention at least this probable.")
    names: bool = Field(default=False, description=NAMES)
    pronouns: bool = Field(default=True, description=PRONOUNS)
    probabilities: bool = Field(default=True, description="Whether to return the probability of each mention.")
    offset_unit: Unit = Field(default="codepoint", description=UNIT)


class HypergraphRequest(StrictBody):
    """A short sentence to draw."""

    text: Text = Field(description="The sentence.")
    model: str | None = Field(default=None, description=MODEL)
    types: Labels | None = Field(default=None, description="The labels to draw. Null: those of the mentions found.")
    names: bool = Field(default=False, description=NAMES)
    pronouns: bool = Field(default=True, description=PRONOUNS)
    offset_unit: Unit = Field(default="codepoint", description=UNIT)


class Span(BaseModel):
    """A mention without its text."""

    start: int = START
    end: int = END
    label: str = Field(description="Its label.")
    fragments: list[tuple[int, int]] | None = FRAGMENTS


class FoundMention(Span):
    """A mention."""

    text: str = Field(description="The characters from `start` to `end`.")
    probability: float | None = Field(
        default=None, ge=0, le=1, description="Its marginal probability. Left out if `probabilities` is false."
    )


class SplitSentence(BaseModel):
    """A sentence of the text."""

    start: int = START
    end: int = END
    tokens: list[tuple[int, int]] = Field(description="Its tokens, as `[start, end]` in the text.")


class RankedSet(BaseModel):
    """A set of mentions of a sentence."""

    probability: float = Field(description="The probability of the whole set.")
    mentions: list[Span] = Field(description="Its mentions.")


class AlternativesRecord(BaseModel):
    """The most probable sets of a sentence."""

    start: int = START
    end: int = END
    sets: list[RankedSet] = Field(description="The sets, the most probable first.")


class DomainRecord(BaseModel):
    """How well a text fits the model's training text."""

    foreign: bool = Field(description="Whether the text is unlike the training text.")
    score: float = Field(
        description="The higher, the less usual. Some texts with a score of 1 or more are not foreign."
    )
    unknown: float = Field(ge=0, le=1, description="The share of the words that are unknown to the model.")
    usual_unknown: float = Field(ge=0, le=1, description="The same share in text like the training text.")
    better_model: str | None = Field(description="A bundled model that fits a foreign text clearly better.")
    language: str | None = Field(description="The language of a text in another one than the model was trained on.")
    note: str | None = Field(description="A sentence about a foreign text, to show to people.")


class AnnotatedText(BaseModel):
    """A text's mentions and its sentences."""

    mentions: list[FoundMention] = Field(description="The mentions, sorted by start, longest first, then by label.")
    sentences: list[SplitSentence] = Field(description="The sentences with their tokens.")
    alternatives: list[AlternativesRecord] | None = Field(
        default=None, description="The most probable sets of each sentence. Only if `top_k` is above 0."
    )
    candidates: list[FoundMention] | None = Field(
        default=None, description="Every mention that is probable enough. Only if the request has `candidates`."
    )
    promise: str | None = Field(
        default=None,
        description="What the mentions promise, in words. Only if the request has `recall` or `precision`.",
    )
    domain: DomainRecord | None = Field(
        description="How well the text fits the model. Null for texts of few words, and for models without a profile "
        "of their training text."
    )


class AnnotateResponse(BaseModel):
    """The annotated texts."""

    model: str = Field(description="The name of the model that was used.")
    offset_unit: Unit = Field(description="What offsets count.")
    documents: list[AnnotatedText] = Field(description="One entry per text, in the order of the request.")


class HypergraphResponse(BaseModel):
    """A drawn hypergraph."""

    svg: str = Field(description="The picture, as SVG.")
    structure: Literal["segmental", "discontinuous"] = Field(description="The kind of hypergraph that the model has.")
    tokens: list[tuple[int, int]] = Field(description="The tokens, as `[start, end]` in the text.")
    mentions: list[FoundMention] = Field(description="The most probable mentions, whose hyperpath is drawn.")


class FiguresInfo(BaseModel):
    """F1 in percent; null where it was not measured."""

    corpus: str = Field(description="The corpus it was measured on.")
    dev: float | None = Field(description="F1 on dev.")
    test: float | None = Field(description="F1 on test.")


class CardInfo(BaseModel):
    """The model card. Unknown fields are empty."""

    title: str = Field(description="A short name.")
    description: str = Field(description="What the model is for.")
    domain: str = Field(description="The kind of text it was trained on.")
    language: str = Field(description="The language of that text.")
    licence: str = Field(description="The licence of the model.")
    labels: dict[str, str] = Field(description="What each label means.")
    figures: FiguresInfo = Field(description="Its accuracy.")


class ModelInfo(BaseModel):
    """A model."""

    name: str = Field(description="The name to use in requests.")
    default: bool = Field(description="Whether requests without `model` use it.")
    labels: list[str] = Field(description="The labels that it finds by default.")
    name_labels: list[str] = Field(description="The labels that it finds with `names`. Empty: it marks no names.")
    promises: bool = Field(description="Whether it can promise `recall` and `precision`.")
    max_width: int | None = Field(description="The most words in a mention. Null: no limit.")
    tokenizer: str = Field(description="The tokenizer that splits text into words.")
    kind: str = Field(description="The kind of model, such as `segmental`.")
    parameters: int = Field(description="The number of parameters.")
    constraints: bool = Field(description="Whether `require` and `forbid` work with it.")
    discontinuous: bool = Field(description="Whether it finds discontinuous mentions.")
    card: CardInfo = Field(description="The model card in short.")
    readme: str = Field(description="The model card in full, in Markdown.")


class ModelsResponse(BaseModel):
    """The models and limits of a server."""

    models: list[ModelInfo] = Field(description="The models, the default first.")
    limits: dict[str, float] = Field(
        description="The limits of the server, such as `texts` and `characters` of a request."
    )
    version: str = Field(description="The version of hyperspan.")


class ErrorContent(BaseModel):
    """An error, for programs and for people."""

    code: str = Field(description="A stable name of the error, for programs.")
    message: str = Field(description="One sentence for people. It may change between versions.")


class ErrorResponse(BaseModel):
    """An error."""

    error: ErrorContent = Field(description="What went wrong.")


def check(kind: type[_Checked], value: Any) -> _Checked:
    """Validate a value; raise a Problem for the first error."""
    if not isinstance(value, dict):
        raise Problem(422, f"what was sent is {_kind_of(value)}, but must be an object with fields; see /openapi.json")
    known = list(kind.model_fields)
    for name in value:
        if name not in known and kind.model_config.get("extra") == "forbid":
            raise Problem(422, sentence((name,), "extra_forbidden", "", None, known))
    return _validated(kind, value)


def check_query(query: QueryParams) -> StreamQuery:
    """Validate the query parameters of a URL."""
    known = list(StreamQuery.model_fields)
    for name in query:
        if name not in known:
            raise Problem(422, f"the parameter {name[:60]!r} is not known; known are {', '.join(known)}")
    lists = StreamQuery.REPEATED
    return _validated(StreamQuery, {name: query.getlist(name) if name in lists else query[name] for name in query})


def query_options(query: QueryParams) -> dict[str, Any]:
    """The options in a query, by the names that a body has for them."""
    asked = check_query(query)
    shares = {name: parse_thresholds(getattr(asked, name), name) for name in ("threshold", "recall", "precision")}
    return asked.model_dump() | shares


def options_in(request: Request, **changes: Any) -> Options:
    """The options in a part of the address: a query, which may begin with the model alone, as `genia&threshold=0.3`."""
    segment: str = request.path_params.get("options", "")
    is_query = not segment or "=" in segment.partition("&")[0]
    return check(Options, query_options(QueryParams(segment if is_query else f"model={segment}")) | changes)


def _validated(kind: type[_Checked], value: dict[str, Any]) -> _Checked:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        known = list(kind.model_fields)
        raise Problem(422, sentence(first["loc"], first["type"], first["msg"], first["input"], known)) from None


def sentence(path: tuple[Any, ...], kind: str, message: str, given: Any, known: list[str]) -> str:
    """One pydantic error as a sentence: the given value, and what was expected.

    >>> sentence(("require", 0, "start"), "int_type", "Input should be a valid integer", "x", [])
    "the field require[0].start is 'x': input should be a valid integer"
    """
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")[:80]
    if kind == "extra_forbidden":
        return f"the field {name!r} is not known; " + (
            f"known are {', '.join(known)}" if len(path) == 1 else "leave it out"
        )
    if kind == "string_unicode":
        return f"{name} has the name {_shown(given)}, in which half of a character is missing; leave it out"
    if kind == "missing":
        return f"the field {name} is missing; give it"
    said = message.removeprefix("Value error, ")
    if not path:
        return said
    return f"the field {name} is {_shown(given)}: {said[:1].lower()}{said[1:]}"


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return _kind_of(value)
    written = repr(value) if not isinstance(value, str) else repr(value[:60])
    return written if len(written) <= 60 else written[:59] + "…"


def _kind_of(value: Any) -> str:
    names: list[tuple[type, str]] = [(dict, "an object"), (list, "a list"), (str, "a string"), (bool, "a boolean")]
    return next((name for kind, name in names if isinstance(value, kind)), "null" if value is None else "a number")
