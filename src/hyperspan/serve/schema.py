"""What callers send and get, for checking requests and for OpenAPI; and what was wrong with a request, in a sentence."""

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

from hyperspan.serve.problems import Problem

_Checked = TypeVar("_Checked", bound=BaseModel)
PROBABILITY = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}
LARGEST = 2**53 - 1
"""Of whole numbers, so that JavaScript can hold them."""
MOST_FRAGMENTS = 100
"""Of a mention in a request."""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value  # as it is: pydantic would refuse halves of surrogate pairs, which a browser may send


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
    """Whether it can come back in an answer as it is: JSON has no infinity, and yet 1e999 is read as one."""
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
    default=None, description="The parts of a discontinuous mention, from its start to its end; null for one part."
)
FRAGMENTS: Any = Field(default=None, description="The parts of a discontinuous mention; others have no such field.")


class StrictBody(BaseModel):
    """Types as they are in JSON, and no field that is not known."""

    model_config = ConfigDict(extra="forbid", strict=True)


class KnownMention(StrictBody):
    """A mention to require or to forbid."""

    start: Place
    end: Place
    label: str
    fragments: GivenFragments = ASKED_FRAGMENTS
    document: Place = Field(default=0, description="Which of the texts it is in, counted from 0.")


KnownMentions = Annotated[list[KnownMention], Field(fail_fast=True)]
Labels = Annotated[list[str], Field(fail_fast=True)]
"""Lists end at their first mistake: a list of all of them would take far longer than the request."""


class Options(StrictBody):
    """What is wanted of texts."""

    model: str | None = Field(default=None, description="The name of a model; without it, the first one served.")
    threshold: Threshold = Field(
        default=None,
        description="Null: the most probable set. A number, or one by label: every mention at least that probable.",
    )
    types: Labels | None = Field(default=None, description="The only labels to look for.")
    top_k: int = Field(
        default=0, ge=0, le=LARGEST, description="Also this number of most probable sets of each sentence."
    )
    candidates: Probability | None = Field(default=None, description="Also list every mention at least this probable.")
    probabilities: bool = Field(default=True, description="Whether mentions come with their probabilities.")
    offset_unit: Unit = Field(default="codepoint", description="What offsets count, in requests and answers.")
    require: KnownMentions = Field(default=[], description="Mentions that the texts have.")
    forbid: KnownMentions = Field(default=[], description="Mentions that they have not.")


class AnnotateRequest(Options):
    """One text or several."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["text"], "properties": {"text": {"type": "string"}, "texts": {"type": "null"}}},
                {"required": ["texts"], "properties": {"texts": {"type": "array"}, "text": {"type": "null"}}},
            ]
        }
    )
    text: Text | None = Field(default=None, description="The text, if it is one.")
    texts: Annotated[list[Text], Field(fail_fast=True)] | None = Field(
        default=None, description="The texts, if they are several."
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
    """A line of a stream."""

    text: Text
    id: Id = Field(default=None, description="What tells the caller which answer this is; it comes back with it.")


class StreamQuery(BaseModel):
    """The query of a stream: options for all of its lines, each of which may have its own."""

    REPEATED: ClassVar = ("threshold", "types")
    model: str | None = None
    threshold: list[str] = Field(default=[], description="P for all labels, or LABEL=P for one.")
    types: list[str] | None = None
    top_k: int = 0
    candidates: float | None = None
    probabilities: bool = True
    offset_unit: Unit = "codepoint"


class HypergraphRequest(StrictBody):
    """A short sentence."""

    text: Text
    model: str | None = None
    types: Labels | None = Field(default=None, description="The labels to draw; without it, those that were found.")
    offset_unit: Unit = "codepoint"


class Span(BaseModel):
    start: int
    end: int
    label: str
    fragments: list[tuple[int, int]] | None = FRAGMENTS


class FoundMention(Span):
    text: str
    probability: float | None = Field(default=None, ge=0, le=1)


class SplitSentence(BaseModel):
    start: int
    end: int
    tokens: list[tuple[int, int]]


class RankedSet(BaseModel):
    probability: float
    mentions: list[Span]


class AlternativesRecord(BaseModel):
    start: int
    end: int
    sets: list[RankedSet]


class DomainRecord(BaseModel):
    """How well a text fits what the model was trained on."""

    foreign: bool = Field(description="Whether it is unlike that.")
    score: float = Field(description="The higher, the less usual; some texts of 1 or more are not foreign.")
    unknown: float = Field(ge=0, le=1, description="The share of its words that are new to the model.")
    usual_unknown: float = Field(ge=0, le=1, description="The same of text of the model's own kind.")
    better_model: str | None = Field(description="A bundled model that fits a foreign text clearly better.")
    note: str | None = Field(description="A sentence for people about a foreign text.")


class AnnotatedText(BaseModel):
    """A text's mentions, sorted by start, longest first, then label; and its sentences with their tokens."""

    mentions: list[FoundMention]
    sentences: list[SplitSentence]
    alternatives: list[AlternativesRecord] | None = Field(default=None, description="With top_k alone.")
    candidates: list[FoundMention] | None = Field(default=None, description="If asked for.")
    domain: DomainRecord | None = Field(
        description="Null for a text of few words, and for a model that does not know its training text."
    )


class AnnotateResponse(BaseModel):
    model: str
    offset_unit: Unit
    documents: list[AnnotatedText]


class HypergraphResponse(BaseModel):
    svg: str
    structure: Literal["segmental", "discontinuous"] = Field(description="Which hypergraph it is: that of the model.")
    tokens: list[tuple[int, int]]
    mentions: list[FoundMention]


class FiguresInfo(BaseModel):
    corpus: str
    dev: float | None = Field(description="F1 in percent; null where it was not measured.")
    test: float | None


class CardInfo(BaseModel):
    """What a model is for; what is not known is empty."""

    title: str
    description: str
    domain: str
    language: str
    licence: str
    labels: dict[str, str] = Field(description="What each label means, in words.")
    figures: FiguresInfo


class ModelInfo(BaseModel):
    name: str
    default: bool
    labels: list[str]
    max_width: int | None = Field(description="The most words in a mention; null for no limit.")
    tokenizer: str
    kind: str
    parameters: int
    constraints: bool = Field(description="Whether mentions can be required and forbidden.")
    discontinuous: bool = Field(description="Whether it finds mentions of several parts.")
    card: CardInfo
    readme: str = Field(description="All that its makers say of the model, in Markdown.")


class ModelsResponse(BaseModel):
    models: list[ModelInfo]
    limits: dict[str, float]
    version: str


class ErrorContent(BaseModel):
    code: str
    message: str


class ErrorResponse(BaseModel):
    error: ErrorContent


def check(kind: type[_Checked], value: Any) -> _Checked:
    """What was sent, checked, or a problem that says what is wrong with it first of all."""
    if not isinstance(value, dict):
        raise Problem(422, f"what was sent is {_kind_of(value)}, but must be an object with fields; see /openapi.json")
    known = list(kind.model_fields)
    for name in value:
        if name not in known:
            raise Problem(422, sentence((name,), "extra_forbidden", "", None, known))
    return _validated(kind, value)


def check_query(query: QueryParams) -> StreamQuery:
    """The parameters after the ? of an address, checked."""
    known = list(StreamQuery.model_fields)
    for name in query:
        if name not in known:
            raise Problem(422, f"the parameter {name[:60]!r} is not known; known are {', '.join(known)}")
    lists = StreamQuery.REPEATED
    return _validated(StreamQuery, {name: query.getlist(name) if name in lists else query[name] for name in query})


def _validated(kind: type[_Checked], value: dict[str, Any]) -> _Checked:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        known = list(kind.model_fields)
        raise Problem(422, sentence(first["loc"], first["type"], first["msg"], first["input"], known)) from None


def sentence(path: tuple[Any, ...], kind: str, message: str, given: Any, known: list[str]) -> str:
    """What one check of pydantic says, as a sentence: what was given, what was expected.

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
