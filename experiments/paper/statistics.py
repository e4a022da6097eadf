"""The paper's table of corpus statistics, recounted."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from experiments.rows import corpus_named
from hyperspan.corpora.formats import read_corpus
from hyperspan.corpora.statistics import Statistics, statistics
from hyperspan.errors import InputError
from hyperspan.evaluation.tables import NO_VALUE, Section

COUNTED = {
    "sentences": "sentences",
    "sentences_with_overlap": "… with overlapping mentions",
    "mentions": "mentions",
    "overlapping": "… overlapping (o.l.)",
    "same_type": "… o.l., same type",
    "same_type_and_start": "… o.l., same type and left boundary",
    "longer_than_6": "… longer than 6 words",
    "longest": "longest mention, words",
    "tokens": "words",
    "crossing_pairs": "crossing pairs",
    "same_span_pairs": "pairs of types on one span",
    "duplicates": "mentions listed twice",
    "depth": "depth of nesting",
}
"""The statistics; the first eight are the paper's."""
SHARE_OF = {
    "sentences_with_overlap": "sentences",
    "overlapping": "mentions",
    "same_type": "mentions",
    "same_type_and_start": "mentions",
    "longer_than_6": "mentions",
}
"""The statistics that are also given as a share, and of what."""
PAPER = {
    ("genia", "train"): (14836, 3199, 46473, 8337, 4613, 2133, 2449, 28),
    ("genia", "test"): (1855, 448, 5600, 1217, 634, 287, 301, 19),
    ("ace2004", "train"): (6799, 2683, 22207, 10170, 5431, 2188, 1439, 57),
    ("ace2004", "test"): (879, 272, 3031, 1418, 780, 307, 199, 43),
}
"""The columns of the paper's table of statistics, in the order of COUNTED."""


def count(data: str, data_dir: Path) -> dict[str, Statistics]:
    """The statistics of train, dev and test; missing parts are left out, and it is an error if all are missing."""
    parts = {part: data_dir / path for part, path in corpus_named(data).parts.items()}
    there = {part: path for part, path in parts.items() if path.exists()}
    if not there:
        raise InputError(f"{parts['train']} is not there, nor dev or test; put {data} there, or give --data-dir")
    return {part: statistics(read_corpus(str(path))) for part, path in there.items()}


def sections(data: str, found: dict[str, Statistics]) -> list[Section]:
    """One table: the paper's column next to ours for each part."""
    columns: dict[str, list[str]] = {}
    for part, counts in found.items():
        if (data, part) in PAPER:
            figures = dict(zip(COUNTED, PAPER[data, part], strict=False))
            columns[f"paper {part}"] = [_cell(figures, name) for name in COUNTED]
        columns[part] = [_cell(asdict(counts), name) for name in COUNTED]
    rows = [[title, *cells] for title, *cells in zip(COUNTED.values(), *columns.values(), strict=True)]
    return [Section(f"Statistics of {data}", ("", *columns), rows)]


def _cell(counts: dict[str, int], name: str) -> str:
    if name not in counts:
        return NO_VALUE
    share = f" ({100 * counts[name] / max(counts[SHARE_OF[name]], 1):.0f}%)" if name in SHARE_OF else ""
    return f"{counts[name]:,}{share}"
