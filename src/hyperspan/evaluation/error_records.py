"""Errors as JSON Lines: one record per sentence with differences, worst first.

docs/how-to/evaluate.md describes the keys.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hyperspan.evaluation.error_kinds import MentionDifference
from hyperspan.evaluation.errors import SentenceErrors
from hyperspan.types import Mention, Sentence

Record = dict[str, Any]
SYSTEMS = ("a", "b")
"""The names of two compared systems in records."""


def error_lines(errors: Iterable[SentenceErrors]) -> Iterator[str]:
    """One line of JSON per sentence."""
    return (json.dumps(error_record(one), ensure_ascii=False, allow_nan=False) + "\n" for one in errors)


def error_record(errors: SentenceErrors) -> Record:
    """The record of a sentence, with positions in tokens.

    >>> from hyperspan.evaluation.errors import find_errors
    >>> gold, predicted = [Sentence(["Oz"], [Mention(0, 1, "GPE")])], [Sentence(["Oz"])]
    >>> [found] = find_errors(gold, predicted).errors
    >>> error_record(found)["differences"]  # doctest: +NORMALIZE_WHITESPACE
    [{'kind': 'missed', 'gold': {'start': 0, 'end': 1, 'label': 'GPE', 'text': 'Oz', 'probability': None},
      'predicted': None, 'width': 1, 'depth': 1}]
    """
    sentence = errors.gold
    record: Record = {
        "document": errors.place.id or str(errors.place.document + 1),
        "sentence": errors.place.number,
        "tokens": list(sentence.tokens),
        "cost": round(errors.cost, 6),
        "gold": _mentions(sentence, sentence.mentions),
    }
    if len(errors.systems) == 1:
        record["predicted"] = _mentions(sentence, errors.systems[0])
        for side, value in (("gold", errors.gold_log_probability), ("predicted", errors.predicted_log_probability)):
            record[f"{side}_probability"] = None if value is None else math.exp(value)
            record[f"{side}_log_probability"] = None if value is None or math.isinf(value) else value
    else:
        record |= {name: _mentions(sentence, found) for name, found in zip(SYSTEMS, errors.systems, strict=True)}
    record["differences"] = [_difference(sentence, one, len(errors.systems)) for one in errors.differences]
    return record


def _difference(sentence: Sentence, one: MentionDifference, systems: int) -> Record:
    record: Record = {
        "kind": one.kind,
        "gold": one.gold and _mention(sentence, one.gold),
        "predicted": one.predicted and _mention(sentence, one.predicted),
        "width": one.width,
        "depth": one.depth,
    }
    if systems > 1:
        wrong = [SYSTEMS[index] for index in one.systems]
        right = [name for name in SYSTEMS if name not in wrong] if one.others_right else []
        record |= {"wrong": wrong, "right": right}
    return record


def _mentions(sentence: Sentence, mentions: Iterable[Mention]) -> list[Record]:
    order: Sequence[Mention] = sorted(mentions, key=lambda one: (one.start, -one.end, one))
    return [_mention(sentence, one) for one in order]


def _mention(sentence: Sentence, mention: Mention) -> Record:
    record: Record = {"start": mention.start, "end": mention.end, "label": mention.label}
    if mention.fragments:
        record["fragments"] = [list(span) for span in mention.fragments]
    return record | {"text": sentence.text_of(mention), "probability": mention.probability}
