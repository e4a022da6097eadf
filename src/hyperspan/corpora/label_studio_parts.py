"""Discontinuous mentions in Label Studio, whose regions are contiguous: a region for each part, joined by relations.

See :mod:`hyperspan.corpora.label_studio`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from attrs import evolve

from hyperspan.corpora.json_records import Record, WrongValueError, shown
from hyperspan.corpora.trimming import joined
from hyperspan.types import Mention

CONTINUES = "CONTINUES"
"""The label of relations from a part of a mention to its next part."""


def is_continuation(result: Mapping[str, Any], label: str) -> bool:
    """Whether a result is a relation that joins two parts.

    >>> is_continuation({"type": "relation", "from_id": "a", "to_id": "b", "labels": ["CONTINUES"]}, CONTINUES)
    True
    """
    labels = result.get("labels")
    return bool(label) and result.get("type") == "relation" and isinstance(labels, list) and label in labels


def continuations(regions: Sequence[str], label: str) -> list[Record]:
    """The relations between consecutive regions, given by id, of one mention."""
    return [
        {"type": "relation", "from_id": one, "to_id": other, "direction": "right", "labels": [label]}
        for one, other in pairwise(regions)
    ]


def join_parts(mentions: Iterable[Mention], relations: Iterable[Record]) -> list[Mention]:
    """Join mentions whose regions are linked by relations; the joined mention has the id of the first.

    >>> parts = [Mention(0, 3, "cell", id="a"), Mention(4, 7, "X"), Mention(8, 13, "cell", id="b")]
    >>> join_parts(parts, continuations(["a", "b"], CONTINUES))
    [Mention(0, 13, 'cell', fragments=((0, 3), (8, 13))), Mention(4, 7, 'X')]
    """
    given = list(mentions)
    groups = _groups({mention.id for mention in given if mention.id}, relations)
    whole: list[Mention] = []
    done: set[tuple[frozenset[str], str]] = set()
    for mention in given:
        regions = groups.get(mention.id)
        if regions is None:
            whole.append(mention)
        elif (regions, mention.label) not in done:
            done.add((regions, mention.label))
            whole.append(_whole([one for one in given if one.id in regions], mention.label))
    return whole


def _groups(regions: set[str], relations: Iterable[Record]) -> dict[str, frozenset[str]]:
    """For each region joined with others, the ids of its whole group."""
    groups: dict[str, frozenset[str]] = {}
    for relation in relations:
        ends = [str(relation.get(end)) for end in ("from_id", "to_id")]
        for end in ends:
            if end not in regions:
                raise WrongValueError(
                    f"a relation joins the region {shown(end)}, but no mention has a region of this id"
                )
        together = frozenset().union(*(groups.get(end, {end}) for end in ends))
        groups |= dict.fromkeys(together, together)
    return groups


def _whole(parts: Sequence[Mention], label: str) -> Mention:
    times = Counter(part.label for part in parts)
    if len(set(times.values())) > 1 or times[label] != len({part.id for part in parts}):
        labels = ", ".join(sorted(times))
        raise WrongValueError(f"regions that are joined have the labels {labels}, but each needs the same")
    own = sorted(part for part in parts if part.label == label)
    spans = joined(part.span for part in own)
    return evolve(own[0], start=spans[0][0], end=spans[-1][1], fragments=spans)
