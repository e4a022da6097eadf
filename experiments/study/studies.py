"""The studies behind the docs, as data: their rows, and the figures that their tables show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from experiments import preparations
from experiments.rows import FOLDS, Row

F1, PRECISION, RECALL, SECONDS = "f1", "precision", "recall", "seconds"


@dataclass(frozen=True)
class Study:
    """Rows that are compared with each other."""

    about: str
    rows: tuple[Row, ...]
    columns: tuple[tuple[str, str, str], ...]
    """The columns of its table: the title, the part of the report, and the measure."""
    overrides: tuple[str, ...] = ()
    """Overrides of all rows."""
    note: str = ""

    @property
    def corpora(self) -> tuple[str, ...]:
        """The corpora of its rows, in their order."""
        return tuple(dict.fromkeys(corpus for row in self.rows for corpus in row.data))


PARTIAL = Study(
    "F1 from partial annotation, compared with full annotation and with unknown mentions taken as absent",
    rows=(
        Row("full", "everything annotated", config="defaults"),
        *(
            Row(name, title, config="defaults", prepare=prepare)
            for name, title, prepare in (
                ("absent-50", "50% of the mentions, the rest taken as absent", preparations.kept_half),
                ("absent-20", "20% of the mentions, the rest taken as absent", preparations.kept_fifth),
                ("sure-50", "50% of the mentions, the rest unknown", preparations.sure_half),
                ("sure-20", "20% of the mentions, the rest unknown", preparations.sure_fifth),
                ("halves", "halves, other types unknown", preparations.halves),
                ("halves-absent", "halves, other types taken as absent", preparations.halves_absent),
            )
        ),
    ),
    columns=(("F1", "micro", F1), ("P", "micro", PRECISION), ("R", "micro", RECALL)),
    overrides=("training.start=", "training.epochs=10", "training.batch_size=32"),
)

_WITH_GAPS = ("craft", *FOLDS)
DISCONTINUOUS = Study(
    "F1 on discontinuous mentions, compared with other ways to treat them",
    rows=tuple(
        Row(name, title, config="craft/discontinuous", overrides=overrides, data=_WITH_GAPS)
        for name, title, overrides in (
            ("segmental", "segmental, which leaves them out", ("model.kind=segmental",)),
            ("hull", "hull: one contiguous mention", ("model.kind=segmental", "model.discontinuous=hull")),
            ("joined", "joined: parts, then a classifier", ("model.kind=joined", "discontinuous.parts=3")),
            (
                "biohd",
                "a linear chain of BIOHD tags",
                ("model.kind=biohd", "model.max_width=n", "discontinuous.parts=3"),
            ),
            ("discontinuous", "discontinuous, at most two parts", ()),
            ("discontinuous-3", "discontinuous, at most three parts", ("discontinuous.parts=3",)),
        )
    ),
    columns=(
        ("F1", "micro", F1),
        ("F1 of discontinuous ones", "discontinuous", F1),
        ("P", "discontinuous", PRECISION),
        ("R", "discontinuous", RECALL),
        ("F1 in sentences that have one", "with_discontinuous", F1),
    ),
    overrides=("training.start=",),
    note="genia: the folds of each seed together",
)

JOINT = Study(
    "mentions of several types that depend on each other, compared with types apart",
    rows=(
        Row(
            "segmental", "types apart", config="joint", overrides=("model.kind=segmental", "joint.together=parameters")
        ),
        Row("together", "types of one start together", config="joint"),
        Row("both", "… and of one span", config="joint", overrides=("joint.within=spans",)),
    ),
    columns=PARTIAL.columns,
)

SIZES = {"genia": {30: 3, 100: 3, 300: 3, 1000: 3, 3000: 1}, "litbank gum": {100: 2, 300: 2, 1000: 2}}
"""By corpora: the numbers of training sentences, and of seeds for each."""
STARTS = {"genia": "english", "litbank": "english", "gum": "litbank"}
"""What a warm start begins from: never a model of the corpus itself; `english` was trained on GUM."""
SYSTEMS: dict[str, Literal["", "plain", "vectors", "wide"]] = {
    "hyperspan": "",
    "hyperspan-warm": "",
    "spancat": "plain",
    "spancat-vectors": "vectors",
    "spancat-wide": "wide",
}
VARIANTS = ("spancat-vectors", "spancat-wide")
"""Variants that are run only on 300 sentences of GENIA."""


def _curve(system: str, size: int, corpora: tuple[str, ...], runs: int) -> Row:
    """A system on so many sentences."""
    warm = {corpus: ("defaults", (f"training.start={STARTS[corpus]}",)) for corpus in corpora}
    return Row(
        f"{system}-{size}",
        f"{system}, {size:,} sentences",
        config="defaults",
        overrides=("training.start=",),
        data=corpora,
        part="dev",
        runs=runs,
        prepare=partial(preparations.first, size),
        spancat=SYSTEMS[system],
        on=warm if system == "hyperspan-warm" else {},
    )


CURVES = Study(
    "F1 and training time by corpus size, compared with spaCy's spancat",
    rows=tuple(
        _curve(system, size, tuple(corpora.split()), runs)
        for system in SYSTEMS
        for corpora, sizes in SIZES.items()
        for size, runs in sizes.items()
        if system not in VARIANTS or (corpora, size) == ("genia", 300)
    ),
    columns=(("F1", "micro", F1), ("seconds", "", SECONDS)),
    note="seconds of training: wall clock / processor",
)

STUDIES = {"partial": PARTIAL, "discontinuous": DISCONTINUOUS, "joint": JOINT, "curves": CURVES}
