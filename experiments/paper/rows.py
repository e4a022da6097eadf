"""The rows of the paper's tables, with the paper's figures."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from experiments import preparations
from experiments.rows import Figures, Row
from hyperspan.errors import InputError

IGNORES_WIDE_STARTS = "segmental-ignoring-wide-starts"
"""The kind of a model whose loss ignores words and types where only mentions wider than c start."""

GROUPS = {
    "non-neural": "Non-neural",
    "neural": "Neural",
    "clusters": "Non-neural, with clusters of in-domain vectors",
    "wider": "Non-neural, with up to seven words",
    "structure": "One neural encoder under each structure",
    "ours": "Our own",
    "ablation": "Ablations",
    "paper": "The paper's own settings",
    "beta": "The paper's own settings: β, scored on dev",
    "limit": "The paper's own settings: readings of c=6",
}
"""The parts of the tables, in their order, with their titles."""
APART = ("clusters", "wider")
"""The groups of the main table that are not rows of the paper."""


def _on(ace2004: Figures | None, ace2005: Figures | None, genia: Figures) -> dict[str, Figures]:
    """The columns of the paper's main table."""
    figures = {"ace2004": ace2004, "ace2005": ace2005, "genia": genia}
    return {data: found for data, found in figures.items() if found is not None}


_MAXIMUM_LIKELIHOOD = ("training.softmax_margin=false", "training.beta=1.5")
_SMALLER = "encoder.span_hidden=128"
_MINILM = (
    *("transformer.name=data/minilm", "transformer.context=100", "words.word_dropout=0.15", "training.epochs=14"),
    *("training.batch_size=auto", "training.ema_decay=0.9995"),
)
_DISTILLED_ON_GUM = (
    'data.train=[{path = "data/gum/train.jsonl.gz"}, {path = "data/litbank/train.data.gz"}]',
    *("encoder.hidden=200", "encoder.span_hidden=200", "training.epochs=8", "training.learning_rate=0.003"),
    *('distillation.teacher=["runs/gum-lstm-1", "runs/gum-lstm-2", "runs/gum-lstm-3"]', "distillation.sentences=10000"),
)
_OF_WORDS = "handcrafted.words=near lower types shapes flags clusters cluster_pairs affixes near_affixes"
_OF_SPANS = "handcrafted.spans=text types outlines cluster_path ends cluster_ends context cluster_context width"


def _kind(kind: str, *others: str) -> tuple[str, ...]:
    """The overrides of another structure."""
    return (f"model.kind={kind}", *others)


# fmt: off
SH_NN = Row("sh-nn-n", "SH (-NN, c=n)", "non-neural", paper=_on((71.1, 60.6, 65.4), (69.5, 60.7, 64.8), (76.2, 67.5, 71.6)), on={"litbank": ("genia/sh-nn-n", ("training.epochs=6", _OF_WORDS, _OF_SPANS))})
SH_NN_6 = Row("sh-nn-6", "SH (-NN, c=6)", "non-neural", SH_NN, ("model.max_width=6",), _on((69.4, 57.0, 62.0), (70.3, 55.8, 62.2), (77.0, 66.1, 71.1)))
FOFE = Row("fofe-n", "FOFE (c=n)", "neural", paper=_on((57.3, 46.8, 51.5), (56.3, 44.6, 49.8), (63.2, 59.3, 61.2)), on={"litbank": ("genia/fofe-n", ("training.epochs=20",))})
SH = Row("sh-n", "SH (c=n)", "neural", paper=_on((77.7, 72.1, 74.5), (76.6, 71.9, 74.2), (76.1, 72.9, 74.5)))
SH_CHAR = Row("sh-n-char", "SH (c=n) + char", "neural", SH, ("characters.encoder=lstm",), _on((78.0, 72.4, 75.1), (76.8, 72.3, 74.5), (77.0, 73.3, 75.1)))
RAW = Row("raw", "SH, raw text (bundled)", "ours", data=("genia",))
BEST = Row("best", "SH, best (bundled)", "ours", data=("litbank",))
MAIN = (
    Row("crf", "CRF (linear)", "non-neural", config=SH_NN, overrides=_kind("linear-chain", *_MAXIMUM_LIKELIHOOD), paper=_on((71.8, 40.8, 52.1), (69.5, 44.5, 54.2), (77.1, 63.3, 69.5))),
    Row("cascaded", "CRF (cascaded)", "non-neural", config=SH_NN, overrides=_kind("cascaded", *_MAXIMUM_LIKELIHOOD), paper=_on((78.4, 46.4, 58.3), (74.8, 49.1, 59.3), (75.9, 66.1, 70.6)), on={"genia": (SH_NN, _kind("cascaded", *_MAXIMUM_LIKELIHOOD, "cascaded.order=RNA,cell_line,cell_type,DNA,protein"))}),
    Row("semi-6", "Semi-CRF (c=6)", "non-neural", config=SH_NN_6, overrides=_kind("semi-markov", *_MAXIMUM_LIKELIHOOD), paper=_on((76.1, 41.4, 53.6), (72.8, 45.0, 55.6), (74.5, 66.0, 70.0))),
    Row("semi-n", "Semi-CRF (c=n)", "non-neural", config=SH_NN, overrides=_kind("semi-markov", *_MAXIMUM_LIKELIHOOD), paper=_on((66.7, 42.0, 51.5), (67.5, 46.1, 54.8), (74.2, 65.8, 69.7))),
    Row("tree", "Finkel & Manning 2009", "non-neural", config=SH_NN, overrides=_kind("tree", *_MAXIMUM_LIKELIHOOD), paper=_on(None, None, (75.4, 65.9, 70.3))),
    Row("mention-hypergraph", "Lu & Roth 2015", "non-neural", config=SH_NN, overrides=_kind("mention-hypergraph", *_MAXIMUM_LIKELIHOOD), paper=_on((70.0, 56.9, 62.8), (66.3, 59.2, 62.5), (74.2, 66.7, 70.3))),
    Row("mention-separators", "Muis & Lu 2017", "non-neural", config=SH_NN, overrides=_kind("mention-separators", *_MAXIMUM_LIKELIHOOD), paper=_on((72.7, 58.0, 64.5), (69.1, 58.1, 63.1), (75.4, 66.8, 70.8)), on={"genia": (SH_NN, _kind("mention-separators", *_MAXIMUM_LIKELIHOOD, "training.batch_size=128", "training.learning_rate=0.004"))}),
    SH_NN_6,
    SH_NN,
    Row("fofe-6", "FOFE (c=6)", "neural", config=FOFE, overrides=("model.max_width=6",), paper=_on((68.2, 54.3, 60.5), (67.4, 55.1, 60.6), (71.2, 64.3, 67.6))),
    FOFE,
    Row("katiyar-cardie", "Katiyar & Cardie 2018", "neural", config=SH, overrides=_kind("katiyar-cardie", _SMALLER, "encoder.output_dropout=0.3", "katiyar-cardie.label_hidden=200", "katiyar-cardie.dropout=0.5"), paper=_on((73.6, 71.8, 72.7), (70.6, 70.4, 70.5), (79.8, 68.2, 73.6)), on={"litbank": (BEST, _kind("katiyar-cardie", _SMALLER, "encoder.output_dropout=0.3", "katiyar-cardie.label_hidden=200", "katiyar-cardie.dropout=0.5"))}),
    Row("layered", "Ju et al. 2018", "neural", config=SH, overrides=_kind("layered", _SMALLER, "encoder.output_dropout=0.3"), paper=_on(None, (74.2, 70.3, 72.2), (78.5, 71.3, 74.7)), on={"litbank": (BEST, _kind("layered", _SMALLER, "encoder.output_dropout=0.3"))}),
    Row("transition", "Wang et al. 2018", "neural", config=SH, overrides=_kind("transition", _SMALLER), paper=_on((74.9, 71.8, 73.3), (74.5, 71.5, 73.0), (78.0, 70.2, 73.9)), on={"litbank": (BEST, _kind("transition", _SMALLER))}),
    Row("sh-6", "SH (c=6)", "neural", config=SH, overrides=("model.max_width=6",), paper=_on((79.1, 67.3, 72.7), (75.7, 69.6, 72.5), (76.6, 71.0, 73.7))),
    Row("sh-6-char", "SH (c=6) + char", "neural", config=SH_CHAR, overrides=("model.max_width=6",), paper=_on((80.1, 67.5, 73.3), (75.9, 70.0, 72.8), (76.8, 71.8, 74.2))),
    SH,
    SH_CHAR,
    Row("crf-neural", "CRF (linear)", "structure", config=SH, overrides=_kind("linear-chain")),
    Row("semi-n-neural", "Semi-CRF (c=n)", "structure", config=SH, overrides=_kind("semi-markov")),
    Row("tree-neural", "Finkel & Manning", "structure", config=SH, overrides=_kind("tree", "training.epochs=8")),
    Row("mention-hypergraph-neural", "Lu & Roth", "structure", config=SH, overrides=_kind("mention-hypergraph")),
    Row("mention-separators-neural", "Muis & Lu", "structure", config=SH, overrides=_kind("mention-separators")),
    Row("transformer", "SH, MiniLM", "ours", on={"litbank": ("genia/transformer", _MINILM)}),
    RAW,
    BEST,
)
"""The paper's main table, followed by rows that the paper lacks. Adding a system takes one line."""
# fmt: on
OTHERS = (
    Row(
        "vectors",
        "SH, vectors of the field",
        "ours",
        RAW,
        ("training.eval_epochs=3", "words.vectors=data/biomed200.npz"),
        data=("genia",),
    ),
    Row(
        "flat",
        "SH, flat mentions",
        "ours",
        "genia/raw",
        ("characters.encoder=lstm", "training.epochs=10", "training.lm_loss_weight=0"),
        data=("jnlpba",),
    ),
    Row(
        "distilled",
        "SH, three models distilled into one",
        "ours",
        data=("genia", "gum"),
        on={"gum": ("gum/student", _DISTILLED_ON_GUM)},
    ),
    Row("defaults", "SH, nothing tuned", "ours", "defaults", data=("germeval",)),
)
"""Rows of the results that are in no table of the paper."""

_PRINTED = {row.name: row for row in MAIN}
CLUSTERS = tuple(
    Row(
        f"{name}-biomed",
        f"{_PRINTED[name].title}, in-domain clusters",
        "clusters",
        config=_PRINTED[name],
        overrides=("handcrafted.clusters=data/biomed_clusters.tsv.gz",),
        paper=_PRINTED[name].paper,
        data=("genia",),
    )
    for name in ("semi-6", "mention-hypergraph", "mention-separators", "sh-nn-6", "sh-nn-n")
)
"""The rows with handcrafted features below print, with clusters of biomedical word vectors in place of Brown's."""


def _one_wider(base: Row, group: str) -> Row:
    """c as the number of steps from the first word, so that mentions may have one word more."""
    return Row(
        f"{base.name}-wider",
        "up to seven words",
        group,
        config=base,
        overrides=("model.max_width=7",),
        paper=base.paper,
        base=base,
        data=("genia",),
    )


WIDER = tuple(_one_wider(_PRINTED[name], "wider") for name in ("semi-6", "sh-nn-6"))
"""The rows with c=6 and handcrafted features that are below print, with another reading of c."""


def _as_in_paper(name: str, config: Row | str = "", overrides: tuple[str, ...] = ()) -> Row:
    """A row of SH with the paper's settings instead of ours."""
    ours = _PRINTED[f"sh-{name}"]
    return Row(f"paper-{name}", ours.title, "paper", config, overrides, paper=ours.paper, data=("genia",), runs=5)


_N = _as_in_paper("n")
_N_CHAR = _as_in_paper("n-char", _N, ("characters.encoder=lstm", "characters.dimension=32", "characters.hidden=32"))
_SIX = _as_in_paper("6", _N, ("model.max_width=6",))
_SIX_CHAR = _as_in_paper("6-char", _N_CHAR, ("model.max_width=6", "training.beta=1.5"))
PAPER = (_SIX, _SIX_CHAR, _N, _N_CHAR)
"""SH with the paper's settings instead of ours."""
BETAS = tuple(
    Row(
        f"{row.name}-beta-{beta:g}",
        f"{row.title}, β = {beta:g}",
        "beta",
        config=row,
        overrides=(f"training.beta={beta:g}",),
        data=row.data,
        part="dev",
        runs=3 if beta <= 3 else 1,
    )
    for row in PAPER
    for beta in (1.0, 1.5, 2.0, 2.5, 3.0, *((4.0, 5.0) if row.name == "paper-6" else ()))
)
"""Rows for choosing β on dev; the best value goes into the configuration, or the overrides of the row."""

_WITHOUT = {
    "dropout": ("− dropout", ("encoder.input_dropout=0", "encoder.output_dropout=0")),
    "margin": ("− softmax-margin", ("training.softmax_margin=false",)),
    "pretrained": ("− pretrained vectors", ("words.vectors=",)),
    "interactions": ("− interactions (I → I left out in training)", ("segmental.interactions=false",)),
}
_ABLATED = {
    ("6", "dropout"): {"ace2004": 71.5, "ace2005": 71.3, "genia": 72.1},
    ("6", "margin"): {"ace2004": 72.0, "ace2005": 71.8, "genia": 72.4},
    ("6", "pretrained"): {"ace2004": 71.5, "ace2005": 71.2, "genia": 72.0},
    ("n", "dropout"): {"ace2004": 73.1, "ace2005": 72.9, "genia": 72.8},
    ("n", "margin"): {"ace2004": 73.3, "ace2005": 73.5, "genia": 73.3},
    ("n", "pretrained"): {"ace2004": 72.7, "ace2005": 73.0, "genia": 73.2},
    # The paper's text, which does not say for which c, and says "around 70.0" of both ACE corpora.
    ("n", "interactions"): {"ace2004": 70.0, "ace2005": 70.0, "genia": 71.4},
}
"""F1 of the paper's table of ablations, by c."""


def _ablations(base: Row, c: str) -> tuple[Row, ...]:
    """One row for each part that the paper ablates."""
    return tuple(
        Row(
            f"{base.name}-no-{what}",
            title,
            "ablation",
            config=base,
            overrides=overrides,
            paper={data: (None, None, f1) for data, f1 in _ABLATED.get((c, what), {}).items()},
            base=base,
            data=base.data,
        )
        for what, (title, overrides) in _WITHOUT.items()
    )


ABLATIONS = tuple(row for c in ("n", "6") for row in _ablations(_PRINTED[f"sh-{c}"], c))

_ADDITIONS = {
    "word-dropout": ("+ 5% of words read as unknown", ("words.word_dropout=0.05",)),
    "size": (
        "… + two layers, 200 units, characters 30 and 50",
        ("encoder.layers=2", "encoder.hidden=200", "encoder.span_hidden=200", "characters.dimension=30", "characters.hidden=50"),
    ),
    "output-dropout": ("… + output dropout", ("encoder.output_dropout=0.5",)),
    "schedule": (
        "… + AdamW without L2, warm-up and cosine, 12 epochs, β = 1.5",
        (
            *("training.optimizer=adamw", "training.learning_rate=3e-3", "training.weight_decay=0", "training.beta=1.5"),
            *("training.schedule=cosine", "training.warmup_epochs=1", "training.epochs=12", "training.patience=0"),
        ),
    ),
    "average": ("… + moving average of the weights", ("training.ema_decay=0.9995",)),
    "lm": ("… + language-model loss: sh-n-char", ("training.lm_loss_weight=0.02",)),
}  # fmt: skip
"""The steps from the paper's settings to ours; each includes those before it."""


def _additions(base: Row) -> Iterator[Row]:
    """A row for each step."""
    overrides: tuple[str, ...] = ()
    for what, (title, added) in _ADDITIONS.items():
        overrides += added
        name = f"{base.name}-plus-{what}"
        yield Row(name, title, "ablation", base, overrides, base=base, data=base.data, runs=1)


def _widths(base: Row) -> Iterator[Row]:
    """A row for each c."""
    for c in (2, 4, 6, 8, 10, 15):
        title, overrides = f"c = {c}", (f"model.max_width={c}",)
        name = f"{base.name}-width-{c}"
        yield Row(name, title, "ablation", base, overrides, base=base, data=base.data, runs=1)


def _zeroed(base: Row) -> Row:
    """The trained model of a row without its scores of I → I."""
    title, overrides = "− interactions (I → I zeroed after training)", ("segmental.interactions=false",)
    paper = {data: (None, None, f1) for data, f1 in _ABLATED.get((base.name[-1], "interactions"), {}).items()}
    name = f"{base.name}-zeroed"
    return Row(name, title, "ablation", base, overrides, paper, base, base.data, decodes=True)


def _limits(base: Row, free: Row) -> Iterator[Row]:
    """Other readings of how the paper's c=6 may treat mentions wider than c; `free` is c=n."""
    common = {"group": "limit", "config": base, "paper": base.paper, "base": base, "data": base.data}
    ignoring = (f"model.kind={IGNORES_WIDE_STARTS}",)
    yield Row(
        f"{base.name}-narrow-train",
        "sentences with wide mentions left out of train",
        prepare=preparations.narrow_train,
        **common,
    )
    yield Row(f"{base.name}-narrow", "… and of dev", prepare=preparations.narrow, **common)
    yield Row(
        f"{base.name}-cut", "wide mentions cut to their first six words in train", prepare=preparations.cut, **common
    )
    yield Row(f"{base.name}-ignored", "starts of wide mentions left out of the loss", overrides=ignoring, **common)
    of_free = {**common, "config": free, "base": free}
    limit = ("model.max_width=6",)
    yield Row(f"{free.name}-decoded-6", "c=n trained, c=6 decoded", overrides=limit, decodes=True, **of_free)


LIMITS = (*_limits(_SIX, _N), _one_wider(_SIX, "limit"), _one_wider(_SIX_CHAR, "limit"))
"""Readings of c=6."""
PAPER_VARIANTS = (
    *(*_ablations(_N, "n"), _zeroed(_N), *_widths(_N)),
    *(*_ablations(_SIX, "6"), _zeroed(_SIX), *_additions(_N_CHAR)),
)
"""The paper's settings with ablations, with another c, and on the way to ours."""

TABLES = {
    "main": (*MAIN, *CLUSTERS, *WIDER),
    "ablation": (SH, _PRINTED["sh-6"], *ABLATIONS),
    "paper": (*PAPER, *BETAS, *PAPER_VARIANTS, *LIMITS),
}
"""The rows of each table that trains them."""
ROWS = {row.name: row for row in (*TABLES["main"], *ABLATIONS, *TABLES["paper"], *OTHERS)}
"""Every row, by its name."""


def rows_named(names: Sequence[str]) -> list[Row]:
    """The rows of these names, in the order of the tables.

    >>> rows_named(["sh-n-cahr"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: there is no row 'sh-n-cahr'; did you mean sh-n-char, sh-6-char? ...
    """
    for name in names:
        if name not in ROWS:
            close = difflib.get_close_matches(name, ROWS, 2)
            hint = f"did you mean {', '.join(close)}? " if close else ""
            raise InputError(f"there is no row {name!r}; {hint}python -m experiments.paper --list shows all")
    return [row for row in ROWS.values() if row.name in names]


def rows_for(data: str, table: str = "main") -> list[Row]:
    """The rows of a table for a corpus."""
    return [row for row in TABLES[table] if data in row.data]
