"""Discontinuous mentions in Label Studio, whose regions are contiguous: a region for each part, joined by relations.

See :mod:`hyperspan.corpora.label_studio`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from attrs import evolve

from hyperspan.corpora.documents import joined
from hyperspan.corpora.json_records import Record, shown
from hyperspan.corpora.source import WrongRecordError
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
    parts: dict[str, list[Mention]] = {}
    for mention in given:
        if mention.id in groups:
            parts.setdefault(groups[mention.id], []).append(mention)
    whole: list[Mention] = []
    joined_parts: dict[str, dict[str, Mention]] = {}
    for mention in given:
        group = groups.get(mention.id)
        if group is None:
            whole.append(mention)
            continue
        if group not in joined_parts:
            joined_parts[group] = _by_label(parts[group])
        if (found := joined_parts[group].pop(mention.label, None)) is not None:
            whole.append(found)
    return whole


def _groups(regions: set[str], relations: Iterable[Record]) -> dict[str, str]:
    """For each region joined with others, the region that stands for its whole group."""
    above: dict[str, str] = {}

    def top(region: str) -> str:
        while above.setdefault(region, region) != region:
            above[region] = region = above[above[region]]  # shorter for the next one that asks
        return region

    for relation in relations:
        ends = [str(relation.get(end)) for end in ("from_id", "to_id")]
        for end in ends:
            if end not in regions:
                raise WrongRecordError(
                    f"a relation joins the region {shown(end)}, but no mention has a region of this id"
                )
        above[top(ends[0])] = top(ends[1])
    return {region: top(region) for region in above}


def _by_label(parts: Sequence[Mention]) -> dict[str, Mention]:
    """The mention of each label that these regions form; every region must have all the labels."""
    by_label: dict[str, list[Mention]] = {}
    for part in parts:
        by_label.setdefault(part.label, []).append(part)
    regions = len({part.id for part in parts})
    if any(len(own) != regions for own in by_label.values()):
        labels = ", ".join(sorted(by_label))
        raise WrongRecordError(f"regions that are joined have the labels {labels}, but each needs the same")
    return {label: _whole(sorted(own)) for label, own in by_label.items()}


def _whole(own: Sequence[Mention]) -> Mention:
    spans = joined(part.span for part in own)
    return evolve(own[0], start=spans[0][0], end=spans[-1][1], fragments=spans)
