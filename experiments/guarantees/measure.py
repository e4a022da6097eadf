"""How bundled models keep their promises on test, which took no part: figures, and a picture.

For each model: the thresholds of its card, and what they achieve on test. Then test is split at random, 100 times: one
half calibrates, the other half shows what is achieved, for promises from 0.7 to 0.99. The plain rule is drawn for
comparison: the threshold that has the promised recall under the model's own probabilities, which needs no annotation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer

from experiments.cli import DATA_DIR, DataDir
from experiments.guarantees import CORPORA
from hyperspan.corpora import read_corpus
from hyperspan.errors import InputError
from hyperspan.evaluation.alignment import Aligned
from hyperspan.evaluation.guarantees import judged_mentions, kept_promises
from hyperspan.evaluation.models import candidates_of, gold_asked_for
from hyperspan.files import Target
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.guarantees import Measure
from hyperspan.runtime.loading import load
from hyperspan.structures.guarantees import (
    LEAST,
    THRESHOLDS,
    RiskCurve,
    precision_threshold,
    recall_threshold,
)
from hyperspan.types import Sentence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOT = Path(__file__).parents[2]
RECORD = Path("experiments/results/guarantees.json")
PICTURE, PAGE = Path("docs/images/guarantees.png"), Path("docs/concepts/guarantees.md")
MARKS = "<!-- python -m experiments.guarantees measure -->", "<!-- end -->"
"""The figures of the page are between these lines."""
PROMISED: dict[Measure, tuple[float, ...]] = {"recall": (0.8, 0.9, 0.95, 0.99), "precision": (0.8, 0.9)}
DRAWN = tuple(round(0.7 + step / 100, 2) for step in range(30))
SPLITS = 100


def run(
    models: Annotated[list[str] | None, typer.Argument(help="Names of bundled models. Default: all.")] = None,
    data_dir: DataDir = DATA_DIR,
    record: Annotated[
        bool, typer.Option("--record", help="Also write the record, the table of the docs, and the picture.")
    ] = False,
) -> dict[str, Any]:
    found = {name: measured(name, data_dir) for name in models or CORPORA}
    if record:
        found = (json.loads((ROOT / RECORD).read_text("utf-8")) if models else {}) | found
        with Target(str(ROOT / RECORD), force=True).open() as file:
            file.write(json.dumps(found, indent=1) + "\n")
        write_page(ROOT / PAGE, table(found, markdown=True))
        draw(found, ROOT / PICTURE)
    return found


def measured(name: str, data_dir: Path) -> dict[str, Any]:
    """The figures of one model."""
    corpus, pattern = CORPORA[name]
    annotator, path = load(name), data_dir / pattern.format("test")
    gold = gold_asked_for(list(read_corpus(path)), annotator.model.names)
    aligned = candidates_of(annotator, gold, LEAST)
    halves = list(random_halves(Losses(aligned)))
    return {
        "corpus": corpus,
        "kept": [kept(annotator, aligned, measure, share) for measure, shares in PROMISED.items() for share in shares],
        "splits": {
            "recall": [recall_achieved(halves, share) for share in DRAWN],
            "precision": [precision_achieved(halves, share) for share in (0.7, 0.8, 0.9)],
        },
    }


def kept(annotator: Annotator, aligned: Aligned, measure: Measure, share: float) -> dict[str, Any]:
    """What the promise of a card achieves on test; without what it achieves if there is no such promise."""
    about: dict[str, Any] = {"measure": measure, "promised": share}
    try:
        promise = annotator.promise(share) if measure == "recall" else annotator.promise(None, share)
    except InputError as error:
        return {**about, "refused": str(error)}
    assert promise is not None
    least = promise.thresholds["*"]
    found = [_above(sentence, least) for sentence in aligned.systems[0]]
    [result] = kept_promises(Aligned(aligned.gold, (found,), aligned.places), promise)
    right = sum(len(gold.mentions & one.mentions) for gold, one in zip(aligned.gold, found, strict=True))
    predicted, gold = (sum(len(one.mentions) for one in side) for side in (found, aligned.gold))
    return {
        **about,
        "words": promise.words,
        "threshold": least,
        "achieved": result.achieved,
        "interval": result.interval,
        "precision": right / predicted,
        "recall": right / gold,
        "per_sentence": predicted / len(found),
    }


def _above(sentence: Sentence, least: float) -> Sentence:
    return sentence.with_mentions(one for one in sentence.mentions if (one.probability or 0) >= least)


# -- random halves -----------------------------------------------------------------------------------------------------


class Losses:
    """The losses of each sentence of test at each threshold."""

    def __init__(self, aligned: Aligned):
        rows = list(judged_mentions(aligned))
        sentence = np.array([row.sentence for row in rows])
        is_gold = np.array([row.is_gold for row in rows])
        probability = np.array([row.probability for row in rows])
        count = len(aligned.gold)
        right, wrong = (_at_least(sentence[one], probability[one], count) for one in (is_gold, ~is_gold))
        gold, self.right, self.wrong = right[:, :1], right[:, 1:], wrong[:, 1:]
        self.has_gold = gold[:, 0] > 0
        self.missed = 1 - self.right / np.maximum(gold, 1)
        self.found = self.right + self.wrong
        # (sentences, T): the expected number of mentions found at each threshold, under the model's own probabilities
        self.expected = _at_least(sentence, probability, count, probability)[:, 1:]

    def curve(self, part: np.ndarray) -> RiskCurve:
        """The curve of some sentences."""
        gold, found = part & self.has_gold, (self.found[part] > 0).sum(0)
        share = (self.wrong[part] / np.maximum(self.found[part], 1)).sum(0) / np.maximum(found, 1)
        return RiskCurve(int(gold.sum()), self.missed[gold].mean(0), found, share)


def _at_least(unit: np.ndarray, probability: np.ndarray, count: int, weight: np.ndarray | float = 1.0) -> np.ndarray:
    """(units, T + 1): how many mentions reach at least so many thresholds."""
    table = np.zeros((count, len(THRESHOLDS) + 1))
    np.add.at(table, (unit, THRESHOLDS.searchsorted(probability, side="right")), weight)
    return table[:, ::-1].cumsum(1)[:, ::-1]


class Half(NamedTuple):
    """A half of test that calibrates, and what the other half loses at each threshold."""

    curve: RiskCurve
    missed: np.ndarray  # (T,)
    wrong: np.ndarray  # (T,)
    expected: np.ndarray  # (T,): the mentions of the other half that the model expects to find


def random_halves(losses: Losses) -> Iterator[Half]:
    """One half of each of the splits."""
    rng, count = np.random.default_rng(0), len(losses.has_gold)
    for _ in range(SPLITS):
        part = np.zeros(count, dtype=bool)
        part[rng.permutation(count)[: count // 2]] = True
        other = losses.curve(~part)
        yield Half(losses.curve(part), other.missed, other.wrong, losses.expected[~part].sum(0))


def recall_achieved(halves: Sequence[Half], share: float) -> dict[str, Any]:
    """Recall where nothing calibrated, as far as there is a threshold; and that of the plain rule."""
    thresholds = [recall_threshold(half.curve, share) for half in halves]
    achieved = [1 - _at(half.missed, least) for half, least in zip(halves, thresholds, strict=True) if least]
    plain = [1 - half.missed[np.flatnonzero(half.expected >= share * half.expected[0])[-1]] for half in halves]
    return {"promised": share, **_spread(achieved), "plain": float(np.mean(plain))}


def precision_achieved(halves: Sequence[Half], share: float) -> dict[str, Any]:
    """Precision where nothing calibrated, and in how many splits it is below what was promised."""
    thresholds = [precision_threshold(half.curve, share) for half in halves]
    achieved = [1 - _at(half.wrong, least) for half, least in zip(halves, thresholds, strict=True) if least]
    return {"promised": share, **_spread(achieved), "broken": sum(one < share for one in achieved) / SPLITS}


def _at(losses: np.ndarray, threshold: float) -> float:
    return float(losses[THRESHOLDS.searchsorted(threshold)])


def _spread(values: Sequence[float]) -> dict[str, Any]:
    """The mean and the range of 80% of the splits; and the number of splits in which nothing can be promised."""
    low, high = np.quantile(values, [0.1, 0.9]) if values else (0.0, 0.0)
    mean = float(np.mean(values)) if values else None
    return {"mean": mean, "low": float(low), "high": float(high), "without": SPLITS - len(values)}


# -- for people --------------------------------------------------------------------------------------------------------


def table(figures: dict[str, Any], markdown: bool = False) -> Iterator[str]:
    """The figures of cards as a table in Markdown, a line for each model and promise; then the random halves."""
    yield "| on test | promise | threshold | achieved (95% interval) | precision | recall | found a sentence |"
    yield "|---|---|---:|---|---:|---:|---:|"
    for name, found in figures.items():
        for one in found["kept"]:
            cells = [f"`{name}`", f"{one['measure']} {one['promised']:.2f}"]
            if "refused" in one:
                best = re.search(r"can promise (.*?);", one["refused"])
                cells += ["none", f"can promise {best[1]}" if best else "–", "–", "–", "–"]
            else:
                low, high = one["interval"]
                cells += [f"{one['threshold']:.2g}", f"**{one['achieved']:.3f}** ({low:.3f}–{high:.3f})"]
                cells += [f"{one['precision']:.2f}", f"{one['recall']:.3f}", f"{one['per_sentence']:.1f}"]
            yield f"| {' | '.join(cells)} |"
    if markdown:
        yield ""
    yield from _of_halves(figures)


def _of_halves(figures: dict[str, Any]) -> Iterator[str]:
    shown = (0.8, 0.9, 0.95, 0.99)
    yield f"| halves of test | {' | '.join(f'recall {share:.2f}' for share in shown)} | plain rule, 0.90 | broken, precision 0.80 |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name, found in figures.items():
        at = {one["promised"]: one for one in found["splits"]["recall"]}
        cells = [
            "–" if at[share]["without"] else f"{at[share]['mean']:.3f} ({at[share]['low']:.3f}–{at[share]['high']:.3f})"
            for share in shown
        ]
        [precision] = [one for one in found["splits"]["precision"] if one["promised"] == 0.8]
        yield f"| `{name}` | {' | '.join(cells)} | {at[0.9]['plain']:.3f} | {precision['broken']:.0%} |"


def write_page(page: Path, lines: Iterator[str]) -> None:
    """Replace the figures of a page."""
    text = page.read_text("utf-8")
    (before, rest), end = text.split(MARKS[0]), MARKS[1]
    new = "\n".join(lines)
    with Target(str(page), force=True).open() as file:
        file.write(f"{before}{MARKS[0]}\n\n{new}\n\n{end}{rest.partition(end)[2]}")


def draw(figures: dict[str, Any], target: Path) -> None:
    """Draw promised against achieved recall, a panel for each model."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 2.7), layout="constrained")
    panels = figure.subplots(1, len(figures), sharex=True, sharey=True, squeeze=False)[0]
    for panel, (name, found) in zip(panels, figures.items(), strict=True):
        _draw_model(panel, found["splits"]["recall"])
        panel.set_title(f"{name}, {found['corpus']} test", fontsize=10)
        panel.set_xlabel("promised recall")
    panels[0].set_ylabel("achieved recall")
    panels[-1].legend(fontsize=7, frameon=False, loc="lower right")
    with Target(str(target), force=True).open_binary() as file:
        figure.savefig(file, format="png", dpi=160, metadata={"Software": None})


def _draw_model(panel: Axes, rows: Sequence[dict[str, Any]]) -> None:
    held = [row for row in rows if not row["without"]]
    promised = [row["promised"] for row in held]
    panel.plot([0.7, 1], [0.7, 1], color="#888888", linewidth=0.8, label="as promised")
    panel.fill_between(
        promised, [r["low"] for r in held], [r["high"] for r in held], color="#0072b2", alpha=0.25, linewidth=0
    )
    panel.plot(promised, [row["mean"] for row in held], color="#0072b2", linewidth=1.5, label="mean and 80% of splits")
    every = [row["promised"] for row in rows]
    panel.plot(every, [r["plain"] for r in rows], "--", color="#d55e00", linewidth=1.2, label="plain rule")
    panel.set_xlim(0.7, 1)
    panel.set_ylim(0.6, 1)
    panel.set_aspect("equal")
    panel.tick_params(labelsize=8)
