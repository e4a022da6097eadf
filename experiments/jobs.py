"""Train the rows of a table that are not finished: in turn, or several at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from itertools import chain
from multiprocessing import active_children, get_context
from signal import SIG_IGN, SIGINT, signal
from typing import TYPE_CHECKING

from rich.console import Console

from experiments.request import Request, say
from experiments.result import Result, folder_of
from experiments.rows import Row, corpus_named
from experiments.settings import changed_key, config_of, finished_result, source_of
from experiments.summaries import Results
from hyperspan.errors import InputError, TrainingError, require_torch

if TYPE_CHECKING:
    from hyperspan.training.events import Listener


def train_missing(request: Request, rows: Sequence[Row]) -> list[str]:
    """Train unfinished rows; return the failures. Rows that decode trained models come after those."""
    if not request.train:
        return []
    todo = _unfinished(request, _configured(request, rows))
    failed: list[str] = []
    for decodes in (False, True):
        part = [(seed, row) for seed, row in todo if row.decodes == decodes]
        at_once = request.jobs > 1 and not decodes  # several that decode could train the same missing model
        failed += _side_by_side(request, part) if at_once else _in_turn(request, part)
    return failed


def say_changed(request: Request, rows: Sequence[Row], results: Results) -> None:
    """Say which finished rows were trained with another configuration."""
    for row in rows:
        if source_of(row, request.data, request.configs)[0].is_file():
            config = config_of(row, request.data, request.configs, request.data_dir, request.overrides)
            found = results.get(row.name, ())
            keys = {key for result in found if (key := changed_key(result, config)) is not None}
            if keys:
                say(f"{row.name} was trained with another {', '.join(sorted(keys))} than its configuration has now")


def _in_turn(request: Request, todo: Sequence[tuple[int, Row]]) -> list[str]:
    failed = []
    for number, (seed, row) in enumerate(todo, start=1):
        try:
            _train_one(request, row, seed, f"{number} of {len(todo)}")
        except TrainingError as error:  # the other rows may still do well
            failed.append(f"{row.name}, seed {seed}: {error}")
            say(failed[-1])
        except KeyboardInterrupt:
            say(f"stopped; the same command goes on with {row.name}, seed {seed}, in {request.output}{os.sep}")
            raise
    return failed


def _side_by_side(request: Request, todo: Sequence[tuple[int, Row]]) -> list[str]:
    """Train several rows at once, each in a process of its own."""
    failed = []
    others = active_children()
    with ProcessPoolExecutor(request.jobs, get_context("spawn"), signal, (SIGINT, SIG_IGN)) as pool:
        runs = {pool.submit(_run, request, row, seed): (row, seed) for seed, row in todo}
        try:
            for number, run in enumerate(as_completed(runs), start=1):
                row, seed = runs[run]
                try:
                    say(f"{row.name}, seed {seed} ({number} of {len(todo)}): finished, F1 {100 * run.result().f1:.2f}")
                except TrainingError as error:
                    failed.append(f"{row.name}, seed {seed}: {error}")
                    say(failed[-1])
        except BrokenProcessPool:
            raise TrainingError(
                "a process that trained a row was ended from outside, perhaps for want of memory; the same command goes on, "
                "perhaps with fewer --jobs"
            ) from None
        except BaseException as error:  # or the rows that wait would still be trained
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(active_children()).difference(others):
                process.terminate()
            if isinstance(error, KeyboardInterrupt):
                say(f"stopped; the same command goes on in {request.output}{os.sep}")
            raise
    return failed


def _configured(request: Request, rows: Sequence[Row]) -> list[Row]:
    """The rows that have a configuration; rows named by the user must have one."""
    if request.rows:
        return list(rows)
    missing = [row for row in rows if not source_of(row, request.data, request.configs)[0].is_file()]
    if len(missing) == len(rows):
        raise InputError(
            f"{request.configs / request.data} holds no configuration of these rows; leave --configs out for those "
            "of experiments/configs, or tabulate finished rows with --no-train"
        )
    if missing:
        say(f"left out, as their configurations are missing: {', '.join(row.name for row in missing)}")
    return [row for row in rows if row not in missing]


def _unfinished(request: Request, rows: Sequence[Row]) -> list[tuple[int, Row]]:
    """The seeds and rows that need training, in this order; mistakes raise errors now, not after hours."""
    seeds = {row: request.seeds or row.seeds for row in rows}
    wanted = [(seed, row) for seed in sorted(set(chain(*seeds.values()))) for row in rows if seed in seeds[row]]
    configs = {row: config_of(row, request.data, request.configs, request.data_dir, request.overrides) for row in rows}
    todo = [
        (seed, row)
        for seed, row in wanted
        if request.force or finished_result(folder_of(request.output, request.data, row, seed), configs[row]) is None
    ]
    if len(todo) < len(wanted):
        say(f"{len(wanted) - len(todo)} of {len(wanted)} runs are finished already")
    if todo:
        require_torch("training")
        from experiments.runs import check_run
        from experiments.study.spancat import check_spacy

        if any(row.spancat for _, row in todo):
            check_spacy(request.python)
        for row in dict.fromkeys(row for _, row in todo):
            check_run(configs[row], request.data_dir / corpus_named(request.data).file(row.part))
    return todo


def _train_one(request: Request, row: Row, seed: int, place: str) -> None:
    from hyperspan.cli.progress import TrainingDisplay

    say(f"{row.name}, seed {seed} ({place})")
    with TrainingDisplay(Console(stderr=True)) as display:
        result = _run(request, row, seed, display)
    say(f"{row.name}, seed {seed}: finished, {row.part} F1 {100 * result.f1:.2f}")


def _run(request: Request, row: Row, seed: int, *listeners: Listener) -> Result:
    from experiments.runs import run_row

    return run_row(
        row,
        request.data,
        seed,
        request.output,
        request.device,
        configs=request.configs,
        data_dir=request.data_dir,
        overrides=request.overrides,
        threads=1 if request.jobs > 1 and request.threads is None else request.threads,
        force=request.force,
        python=request.python,
        listeners=listeners,
    )
