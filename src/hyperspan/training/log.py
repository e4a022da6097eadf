"""The logs of a training run: JSON lines, TensorBoard files, a plot of loss and dev scores.

The logs are listeners: they are called with every :class:`hyperspan.training.events.TrainingEvent`.
"""

from __future__ import annotations

import json
import math
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyperspan.errors import CorpusError, InputError, require, require_plots
from hyperspan.files import Target
from hyperspan.training.events import EpochFinished, RunEnded, RunStarted, StepsTaken, TrainingEvent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from torch.utils.tensorboard import SummaryWriter

Record = dict[str, Any]
"""A line of a log, from :meth:`TrainingEvent.record`."""


class JsonLinesLog:
    """Writes one JSON line for the start, every epoch, the end and every hint of a run; complete lines survive a kill.

    A run resumed after an epoch continues the log: lines after that epoch and partial lines are removed, and the
    original start line stays. So the log of an interrupted run reads like that of an uninterrupted one.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> log = JsonLinesLog(file, resume_from_epoch=0)
    >>> log(RunStarted(2, 4, 1_000, "segmental", 20, 300, "cpu", epoch=0, step=0))
    >>> for epoch in (1, 2):
    ...     log(EpochFinished(epoch, 2 * epoch, 1 / epoch, None, True, 0.1, 1.0, 300.0, 0))
    >>> resumed = JsonLinesLog(file, resume_from_epoch=1)
    >>> [event["event"] for event in read_log(file)]
    ['start', 'epoch']
    """

    def __init__(self, path: str | Path, resume_from_epoch: int):
        self._path = Path(path)
        self._kept: list[Record] = []
        if resume_from_epoch > 0 and self._path.exists():
            so_far = takewhile(lambda event: event["event"] != "end", read_log(self._path))
            self._kept = [event for event in so_far if _belongs_before(event, resume_from_epoch)]
        self._rewrite()

    def __call__(self, event: TrainingEvent) -> None:
        if isinstance(event, RunStarted) and self._kept and self._kept[0]["event"] == "start":
            first = self._kept[0]  # keep the original start
            self._kept[0] = {**event.record(), "epoch": first["epoch"], "step": first["step"]}
            self._rewrite()
        elif not isinstance(event, StepsTaken):
            with self._path.open("ab") as stream:
                stream.write(_line(event.record()).encode("utf-8"))

    def _rewrite(self) -> None:
        with Target(str(self._path), force=True).open() as stream:
            stream.writelines(map(_line, self._kept))


def read_log(path: str | Path) -> list[Record]:
    """Read the events of a log; a truncated last line, as a killed run leaves it, is ignored.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = file.write_text('{"event": "epoch", "epoch": 1}\\n{"event": "ep')
    >>> read_log(file)
    [{'event': 'epoch', 'epoch': 1}]
    """
    path = Path(path)
    try:
        *lines, _cut_off = path.read_bytes().split(b"\n")  # nothing follows the end of the last whole line
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); name the log of a training run") from None
    events: list[Record] = []
    for number, line in enumerate(lines, start=1):
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict) or "event" not in event:
            raise CorpusError(
                f"{path}:{number}: not an event of a training run; expected the JSON that training writes"
            )
        events.append(event)
    return events


def _belongs_before(event: Record, resumed_epoch: int) -> bool:
    """Whether an event belongs to the epochs before the one that a run resumes after."""
    return event["event"] == "start" or (event["event"] in ("epoch", "hint") and event["epoch"] <= resumed_epoch)


def _line(event: Record) -> str:
    return json.dumps(_finite(event), ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """Replace infinity and NaN, which JSON lacks, by null."""
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def require_tensorboard() -> None:
    """Raise an error unless :class:`TensorBoardLog` can write."""
    require("tensorboard", "writing TensorBoard logs", "plots")


class TensorBoardLog:
    """Writes losses, learning rates, speed and scores by step for TensorBoard; a resumed run hides what it repeats."""

    def __init__(self, folder: str | Path):
        require_tensorboard()
        from torch.utils.tensorboard import SummaryWriter

        self._writer_class = SummaryWriter
        self._folder = Path(folder)
        self._writer: SummaryWriter | None = None

    def __call__(self, event: TrainingEvent) -> None:
        if isinstance(event, RunStarted):
            self._writer = self._writer_class(str(self._folder), purge_step=event.step + 1 if event.step else None)
        if self._writer is None:
            raise InputError(f"the event {event.name!r} came before 'start'; TensorBoard logs begin with 'start'")
        if isinstance(event, StepsTaken):
            self._writer.add_scalar("loss/step", event.loss, event.step)
            self._writer.add_scalar("training/learning_rate", event.learning_rate, event.step)
            self._writer.add_scalar("training/words_per_second", event.words_per_second, event.step)
        elif isinstance(event, EpochFinished):
            self._writer.add_scalar("loss/epoch", event.loss, event.step)
            self._writer.add_scalar("training/seconds", event.seconds, event.step)
            for name, score in (event.dev or {}).items():
                self._writer.add_scalar(f"dev/{name}", score, event.step)
            self._writer.flush()
        elif isinstance(event, RunEnded):
            self._writer.close()


def draw_learning_curve(log: str | Path, target: str | Path) -> None:
    """Draw a PNG of the training loss and, if available, the dev scores by epoch; the best epoch is marked."""
    require_plots("drawing learning curves")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    epochs = [event for event in read_log(log) if event["event"] == "epoch"]
    if not epochs:
        raise InputError(f"{log} has no finished epoch yet; draw the curve after the first one")
    scored = [event for event in epochs if event["dev"] is not None]
    figure = Figure(figsize=(8, 6 if scored else 3.2), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)  # type: ignore[union-attr]
    panels = figure.subplots(2 if scored else 1, sharex=True, squeeze=False)[:, 0]
    _draw_loss(panels[0], epochs)
    if scored:
        _draw_scores(panels[1], scored)
        best = max((event for event in scored if event["best"]), key=lambda event: event["epoch"], default=None)
        if best is not None:
            _mark_best(list(panels), best)
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", color="#dddddd", linewidth=0.8)
    panels[-1].set_xlabel("epoch")
    panels[-1].xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    with Target(str(target), force=True).open_binary() as stream:
        figure.savefig(stream, format="png")


# Okabe and Ito's palette, safe for colour-blind readers.
_SCORES = {"precision": ("#e69f00", 1.4), "recall": ("#56b4e9", 1.4), "f1": ("#0072b2", 2.4)}
_LOSS = "#444444"
_BEST = "#009e73"


def _draw_loss(panel: Axes, epochs: list[Record]) -> None:
    losses = [math.nan if event["loss"] is None else event["loss"] for event in epochs]
    panel.plot([event["epoch"] for event in epochs], losses, color=_LOSS, marker=".", linewidth=2)
    panel.set_title("training loss a sentence", loc="left", fontsize=11)


def _draw_scores(panel: Axes, scored: list[Record]) -> None:
    for name, (colour, width) in _SCORES.items():
        label = "F1" if name == "f1" else name
        values = [100 * event["dev"][name] for event in scored]
        panel.plot([event["epoch"] for event in scored], values, color=colour, marker=".", linewidth=width, label=label)
    panel.set_title("scores on dev, %", loc="left", fontsize=11)
    panel.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False, borderaxespad=0)  # above the curves


def _mark_best(panels: list[Axes], best: Record) -> None:
    for panel in panels:
        panel.axvline(best["epoch"], color=_BEST, linestyle="--", linewidth=1.2, zorder=1)
    panels[-1].plot([best["epoch"]], [100 * best["dev"]["f1"]], "o", color=_BEST, markersize=8, zorder=3)
    text = f"best: F1 {100 * best['dev']['f1']:.1f} in epoch {best['epoch']}"
    panels[0].set_title(text, loc="right", fontsize=11, color=_BEST)
