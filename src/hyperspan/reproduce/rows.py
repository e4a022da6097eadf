"""The rows of the paper's tables as data: a system is a configuration, what it overrides, and the figures of the paper."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hyperspan.errors import InputError

Figures = tuple[float | None, float | None, float]
"""Precision, recall and F1 on test in percent, as the paper prints them; None where it has F1 alone."""

GROUPS = {
    "non-neural": "Non-neural",
    "neural": "Neural",
    "structure": "One neural encoder under each structure",
    "ours": "Our own",
    "ablation": "Ablations",
}
"""The parts of the tables, in their order, with their titles."""


@dataclass(frozen=True)
class Corpus:
    """Where the parts of a corpus are, below the folder of data."""

    train: str
    dev: str
    test: str


CORPORA = {
    "genia": Corpus("genia/train.data", "genia/dev.data", "genia/test.data"),
    "litbank": Corpus("litbank/train.data.gz", "litbank/dev.data.gz", "litbank/test.data.gz"),
}


@dataclass(frozen=True)
class Row:
    """One system of a table."""

    name: str
    """How it is called on the command line, and its folder."""
    title: str
    """How it is called in tables."""
    group: str
    config: str = ""
    """The configuration DATA/CONFIG.toml; the name of the row if not given."""
    overrides: tuple[str, ...] = ()
    """``section.key=value``, as for ``hyperspan train --set``."""
    paper: Mapping[str, Figures] = field(default_factory=dict, hash=False)
    """What the paper reports, by corpus."""
    base: str = ""
    """Of an ablation: the row that it takes something away from."""
    data: tuple[str, ...] = tuple(CORPORA)
    """The corpora that it is meant for."""

    @property
    def file(self) -> str:
        """The name of its configuration file."""
        return f"{self.config or self.name}.toml"

    @property
    def label(self) -> str:
        """Its title where rows of all groups stand together."""
        if self.base:
            return f"{ROWS[self.base].title} {self.title}"
        return f"{self.title}, neural" if self.group == "structure" else self.title


def _on(ace2004: Figures | None, ace2005: Figures | None, genia: Figures) -> dict[str, Figures]:
    """The columns of the paper's main table."""
    figures = {"ace2004": ace2004, "ace2005": ace2005, "genia": genia}
    return {data: found for data, found in figures.items() if found is not None}


# fmt: off
MAIN = (
    Row("crf", "CRF (linear)", "non-neural", paper=_on((71.8, 40.8, 52.1), (69.5, 44.5, 54.2), (77.1, 63.3, 69.5))),
    Row("cascaded", "CRF (cascaded)", "non-neural", paper=_on((78.4, 46.4, 58.3), (74.8, 49.1, 59.3), (75.9, 66.1, 70.6))),
    Row("semi-6", "Semi-CRF (c=6)", "non-neural", paper=_on((76.1, 41.4, 53.6), (72.8, 45.0, 55.6), (74.5, 66.0, 70.0))),
    Row("semi-n", "Semi-CRF (c=n)", "non-neural", paper=_on((66.7, 42.0, 51.5), (67.5, 46.1, 54.8), (74.2, 65.8, 69.7))),
    Row("tree", "Finkel & Manning 2009", "non-neural", paper=_on(None, None, (75.4, 65.9, 70.3))),
    Row("mention-hypergraph", "Lu & Roth 2015", "non-neural", paper=_on((70.0, 56.9, 62.8), (66.3, 59.2, 62.5), (74.2, 66.7, 70.3))),
    Row("mention-separators", "Muis & Lu 2017", "non-neural", paper=_on((72.7, 58.0, 64.5), (69.1, 58.1, 63.1), (75.4, 66.8, 70.8))),
    Row("sh-nn-6", "SH (-NN, c=6)", "non-neural", paper=_on((69.4, 57.0, 62.0), (70.3, 55.8, 62.2), (77.0, 66.1, 71.1))),
    Row("sh-nn-n", "SH (-NN, c=n)", "non-neural", paper=_on((71.1, 60.6, 65.4), (69.5, 60.7, 64.8), (76.2, 67.5, 71.6))),
    Row("fofe-6", "FOFE (c=6)", "neural", paper=_on((68.2, 54.3, 60.5), (67.4, 55.1, 60.6), (71.2, 64.3, 67.6))),
    Row("fofe-n", "FOFE (c=n)", "neural", paper=_on((57.3, 46.8, 51.5), (56.3, 44.6, 49.8), (63.2, 59.3, 61.2))),
    Row("katiyar-cardie", "Katiyar & Cardie 2018", "neural", paper=_on((73.6, 71.8, 72.7), (70.6, 70.4, 70.5), (79.8, 68.2, 73.6))),
    Row("layered", "Ju et al. 2018", "neural", paper=_on(None, (74.2, 70.3, 72.2), (78.5, 71.3, 74.7))),
    Row("transition", "Wang et al. 2018", "neural", paper=_on((74.9, 71.8, 73.3), (74.5, 71.5, 73.0), (78.0, 70.2, 73.9))),
    Row("sh-6", "SH (c=6)", "neural", paper=_on((79.1, 67.3, 72.7), (75.7, 69.6, 72.5), (76.6, 71.0, 73.7))),
    Row("sh-6-char", "SH (c=6) + char", "neural", paper=_on((80.1, 67.5, 73.3), (75.9, 70.0, 72.8), (76.8, 71.8, 74.2))),
    Row("sh-n", "SH (c=n)", "neural", paper=_on((77.7, 72.1, 74.5), (76.6, 71.9, 74.2), (76.1, 72.9, 74.5))),
    Row("sh-n-char", "SH (c=n) + char", "neural", paper=_on((78.0, 72.4, 75.1), (76.8, 72.3, 74.5), (77.0, 73.3, 75.1))),
    Row("crf-neural", "CRF (linear)", "structure"),
    Row("semi-n-neural", "Semi-CRF (c=n)", "structure"),
    Row("tree-neural", "Finkel & Manning", "structure"),
    Row("mention-hypergraph-neural", "Lu & Roth", "structure"),
    Row("mention-separators-neural", "Muis & Lu", "structure"),
    Row("transformer", "SH, MiniLM", "ours"),
    Row("raw", "SH, raw text (bundled)", "ours", data=("genia",)),
    Row("best", "SH, best (bundled)", "ours", data=("litbank",)),
)
"""The paper's main table, and below it rows that the paper lacks. A later system is one line."""
# fmt: on

_WITHOUT = {
    "dropout": ("− dropout", ("encoder.input_dropout=0", "encoder.output_dropout=0")),
    "margin": ("− softmax-margin", ("training.softmax_margin=false",)),
    "pretrained": ("− pretrained vectors", ("words.vectors=",)),
    "interactions": ("− interactions (I → I zeroed)", ("segmental.interactions=false",)),
}
_ABLATED = {
    ("sh-6", "dropout"): {"ace2004": 71.5, "ace2005": 71.3, "genia": 72.1},
    ("sh-6", "margin"): {"ace2004": 72.0, "ace2005": 71.8, "genia": 72.4},
    ("sh-6", "pretrained"): {"ace2004": 71.5, "ace2005": 71.2, "genia": 72.0},
    ("sh-n", "dropout"): {"ace2004": 73.1, "ace2005": 72.9, "genia": 72.8},
    ("sh-n", "margin"): {"ace2004": 73.3, "ace2005": 73.5, "genia": 73.3},
    ("sh-n", "pretrained"): {"ace2004": 72.7, "ace2005": 73.0, "genia": 73.2},
    # The paper's text, which does not say for which c, and says "around 70.0" of both ACE corpora.
    ("sh-n", "interactions"): {"ace2004": 70.0, "ace2005": 70.0, "genia": 71.4},
}
"""F1 of the paper's table of ablations."""

ABLATIONS = tuple(
    Row(
        f"{base}-no-{what}",
        title,
        "ablation",
        config=base,
        overrides=overrides,
        paper={data: (None, None, f1) for data, f1 in _ABLATED.get((base, what), {}).items()},
        base=base,
    )
    for base in ("sh-n", "sh-6")
    for what, (title, overrides) in _WITHOUT.items()
)
ROWS = {row.name: row for row in (*MAIN, *ABLATIONS)}
"""Every row, by its name."""


def corpus_named(data: str) -> Corpus:
    """The corpus of this name."""
    if data not in CORPORA:
        raise InputError(f"there is no corpus {data!r}; choose one of {', '.join(CORPORA)}")
    return CORPORA[data]


def rows_named(names: Sequence[str]) -> list[Row]:
    """The rows of these names, in the order of the tables.

    >>> rows_named(["sh-n-cahr"])
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: there is no row 'sh-n-cahr'; did you mean sh-n-char, sh-6-char? hyperspan reproduce --list shows all
    """
    for name in names:
        if name not in ROWS:
            close = difflib.get_close_matches(name, ROWS, 2)
            hint = f"did you mean {', '.join(close)}? " if close else ""
            raise InputError(f"there is no row {name!r}; {hint}hyperspan reproduce --list shows all")
    return [row for row in ROWS.values() if row.name in names]


def rows_for(data: str, *, ablations: bool = False) -> list[Row]:
    """The rows of the main table for a corpus, or those of the ablations with the rows they are compared with."""
    bases = {row.base for row in ABLATIONS}
    wanted = [row for row in MAIN if row.name in bases] + list(ABLATIONS) if ablations else MAIN
    return [row for row in wanted if data in row.data]
