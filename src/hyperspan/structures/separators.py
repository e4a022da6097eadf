"""The labels of gaps between words, after Muis & Lu (2017): which of S, E and C hold there; X is none of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hyperspan.structures.mentions import Mention
from hyperspan.structures.readings import Structure, structure_of
from hyperspan.structures.tags import Tags

LABELS = ("X", "S", "E", "C", "ES", "CS", "EC", "ECS")
"""The labels of a gap, in the order of their scores."""
FROM_INSIDE = tuple("E" in label or "C" in label for label in LABELS)
TO_INSIDE = tuple("S" in label or "C" in label for label in LABELS)


def labels_of(mentions: Iterable[Mention], length: int, types: int) -> list[Tags]:
    """For each type the labels, as indices into LABELS, of the gaps of a sentence with these mentions.

    >>> [[LABELS[label] for label in labels] for labels in labels_of({(0, 4, 0), (1, 3, 0)}, length=5, types=2)]
    [['S', 'CS', 'C', 'EC', 'E', 'X'], ['X', 'X', 'X', 'X', 'X', 'X']]
    """
    structure = structure_of(mentions)
    marks = {"E": structure.ends, "C": structure.continues, "S": structure.starts}
    return [
        tuple(
            LABELS.index("".join(mark for mark, places in marks.items() if (gap, kind) in places) or "X")
            for gap in range(length + 1)
        )
        for kind in range(types)
    ]


def structure_of_labels(labels: Sequence[Tags]) -> Structure:
    """The structure that some labels mark, given for each type."""

    def marked(mark: str) -> frozenset[tuple[int, int]]:
        return frozenset(
            (gap, kind) for kind, row in enumerate(labels) for gap, label in enumerate(row) if mark in LABELS[label]
        )

    return Structure(starts=marked("S"), ends=marked("E"), continues=marked("C"))
