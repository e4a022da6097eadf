"""Convert predictions to the records of a response, with offsets in the unit of the client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hyperspan.corpora.json_records import PLACE_KEYS, PROMISE, alternatives_records, mention_record
from hyperspan.errors import InputError
from hyperspan.render.hypergraph import draw_hypergraph
from hyperspan.runtime.documents import assemble
from hyperspan.runtime.notes import NOT_THERE
from hyperspan.text.offsets import Offsets
from hyperspan.types import Document, Mention, longest_first

if TYPE_CHECKING:
    from hyperspan.runtime.documents import SentencePrediction
    from hyperspan.runtime.domain import DomainFit
    from hyperspan.serve.models import Served
    from hyperspan.serve.requests import Call
    from hyperspan.serve.schema import HypergraphRequest, Options
    from hyperspan.serve.service import Prepared
    from hyperspan.serve.settings import Settings


def documents(
    prepared: Prepared, found: Sequence[SentencePrediction], asked: Options, call: Call
) -> list[dict[str, Any]]:
    """One record per text."""
    results, options = iter(found), prepared.job.options
    records: list[dict[str, Any]] = []
    for document, offsets, fit in zip(prepared.documents, prepared.offsets, prepared.domains, strict=True):
        call.check()
        annotated = assemble(document, [next(results) for _ in document.sentences], options)
        domain = fit and _domain(fit, options.promise)
        records.append({**_document(annotated, offsets, asked.probabilities), "domain": domain})
    return records


def hypergraph(
    prepared: Prepared, found: Sequence[SentencePrediction], asked: HypergraphRequest, served: Served, limits: Settings
) -> dict[str, Any]:
    """The drawn hypergraph of one sentence, and its content."""
    [document] = prepared.documents
    [sentence], [here] = document.sentences, found
    labels = list(dict.fromkeys(asked.types or [mention.label for mention in sorted(here.mentions)]))
    if len(labels) > limits.max_hypergraph_types:
        raise InputError(
            f"mentions of {len(labels)} types were found, and up to {limits.max_hypergraph_types} are drawn; choose some in `types`"
        )
    structure = "discontinuous" if served.annotator.discontinuous else "segmental"
    picture = draw_hypergraph(
        sentence.tokens,
        here.mentions,
        types=labels or (served.annotator.name_labels if asked.names else served.annotator.labels)[:1],
        max_width=served.annotator.model.max_width,
        structure=structure,
        most_edges=limits.max_hypergraph_edges,
    )
    offsets = Offsets(document.text, asked.offset_unit)
    record = _document(assemble(document, found, prepared.job.options), offsets, True)
    tokens = record["sentences"][0]["tokens"]
    return {"svg": picture, "structure": structure, "tokens": tokens, "mentions": record["mentions"]}


def _document(document: Document, offsets: Offsets, probabilities: bool) -> dict[str, Any]:
    given = offsets.given
    record: dict[str, Any] = {
        "mentions": [
            _mention(mention, offsets, probabilities) for mention in sorted(document.mentions, key=longest_first)
        ],
        "sentences": [
            {
                "start": given(sentence.offsets[0][0]),
                "end": given(sentence.offsets[-1][1]),
                "tokens": [[given(start), given(end)] for start, end in sentence.offsets],
            }
            for sentence in document.sentences
            if sentence.offsets
        ],
    }
    if document.alternatives is not None:
        record["alternatives"] = alternatives_records(document.alternatives, given)
    if document.candidates is not None:
        record["candidates"] = [_mention(mention, offsets, probabilities) for mention in document.candidates]
    if PROMISE in document.metadata:
        record[PROMISE] = document.metadata[PROMISE]
    return record


def _domain(fit: DomainFit, promise: str) -> dict[str, Any]:
    return {
        "foreign": fit.foreign,
        "score": fit.score,
        "unknown": round(fit.unknown, 4),
        "usual_unknown": fit.usual_unknown,
        "better_model": fit.better_model or None,
        "language": fit.language or None,
        "note": fit.note + (NOT_THERE if promise else "") if fit.foreign else None,
    }


_KEYS = (*PLACE_KEYS, "text")


def _mention(mention: Mention, offsets: Offsets, probabilities: bool) -> dict[str, Any]:
    record = mention_record(mention, _KEYS, offsets.given)
    return record | {"probability": mention.probability} if probabilities else record
