"""Who stands where: lanes for overlapping spans, and colours for labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

PALETTE = ("#1b6ac9", "#c4421a", "#23834a", "#8a3fb0", "#a86b00", "#0f7d86", "#b02a6b", "#5b6b1f", "#5a5a5a", "#6c4ad1")
"""Dark enough for text on white, apart in hue and lightness; labels are always written out as well."""


def lanes(spans: Sequence[tuple[int, int]]) -> list[int]:
    """For each half-open span the first lane in which it meets none of the spans before it.

    >>> lanes([(0, 3), (1, 2), (3, 4), (0, 4)])
    [0, 1, 0, 2]
    """
    taken: list[list[tuple[int, int]]] = []
    chosen: list[int] = []
    for start, end in spans:
        free = next((i for i, others in enumerate(taken) if all(end <= s or e <= start for s, e in others)), len(taken))
        if free == len(taken):
            taken.append([])
        taken[free].append((start, end))
        chosen.append(free)
    return chosen


def colours(labels: Iterable[str]) -> dict[str, str]:
    """A colour for each label, the same whatever order they come in.

    >>> colours(["PER", "ORG"])
    {'ORG': '#1b6ac9', 'PER': '#c4421a'}
    """
    return {label: PALETTE[index % len(PALETTE)] for index, label in enumerate(sorted(set(labels)))}
