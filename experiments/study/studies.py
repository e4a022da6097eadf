"""The studies behind the docs, as data: their rows, and the figures that their tables show."""

from __future__ import annotations

from dataclasses import dataclass

from experiments import preparations
from experiments.rows import FOLDS, Row

F1, PRECISION, RECALL = "f1", "precision", "recall"


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

STUDIES = {"partial": PARTIAL, "discontinuous": DISCONTINUOUS, "joint": JOINT}
