"""The command ``hyperspan reproduce``: train missing rows, tabulate finished ones, write and print the tables."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain
from multiprocessing import active_children, get_context
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from typing import TYPE_CHECKING, Any

from rich.console import Console

from hyperspan.corpora.registry import read_corpus
from hyperspan.errors import InputError, MissingExtraError, TrainingError, require_torch
from hyperspan.evaluation.tables import Section, as_markdown, print_sections
from hyperspan.files import Target
from hyperspan.reproduce.configs import changed_key, config_of, finished_result
from hyperspan.reproduce.plots import draw_scores, draw_speed
from hyperspan.reproduce.readings import beta_sections, readings_sections
from hyperspan.reproduce.results import Result, folder_of, read_results, record
from hyperspan.reproduce.rows import ROWS, Row, corpus_named, rows_for, rows_named
from hyperspan.reproduce.statistics import count, sections
from hyperspan.reproduce.summaries import Results, RowSummary, summaries
from hyperspan.reproduce.tables import ablation_sections, main_sections, overlap_sections, state_lines

if TYPE_CHECKING:
    from hyperspan.training.events import Listener


@dataclass(frozen=True)
class Request:
    """The options of the command."""

    data: str
    data_dir: Path
    rows: tuple[str, ...]
    """The requested rows; empty for all."""
    seeds: tuple[int, ...]
    """The requested seeds; empty for the usual ones of each row."""
    output: Path
    configs: Path
    overrides: tuple[str, ...]
    against: str
    train: bool
    force: bool
    device: str
    threads: int | None
    jobs: int = 1
    """How many rows are trained at once."""
    record: bool = False
    """Whether the finished rows are added to those that the repository holds."""
    recorded: Path | None = None
    """The file of results that the repository holds, to be tabulated with those in the output folder."""

    @property
    def folder(self) -> Path:
        """The folder of the tables."""
        return self.output / self.data

    def chosen(self, table: str = "main") -> list[Row]:
        """The requested rows of a table."""
        corpus_named(self.data)
        return rows_named(self.rows) if self.rows else rows_for(self.data, table)


def list_rows(request: Request) -> None:
    """Print a header and one line per row to standard output."""
    rows = rows_named(request.rows) if request.rows else [row for row in ROWS.values() if request.data in row.data]
    corpus_named(request.data)
    width = max(len(row.name) for row in rows)
    print(f"{'row':{width}}  paper's F1  progress")
    for row, state in state_lines(rows, request.data, request.seeds, request.output, request.configs):
        paper = row.paper.get(request.data)
        print(f"{row.name:{width}}  {f'{paper[2]:.1f}' if paper else '':>10}  {state}")


def make_table(table: str, request: Request, format_: str) -> None:
    """Make one of the tables, print it, and write it to the folder of results."""
    makers: dict[str, Callable[[Request], Made]] = {
        "main": _main,
        "ablation": _ablation,
        "paper": _paper,
        "overlap": _overlap,
        "speed": _speed,
        "statistics": _statistics,
        "ambiguity": _ambiguity,
    }
    if request.record and not request.recorded:
        raise InputError("--record writes to experiments/results of a clone of the repository, and this is none")
    made = makers[table](request)
    if request.record:
        _record(request)
    values = json.dumps(made.values, indent=2, ensure_ascii=False)
    request.folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for ending, text in (("md", as_markdown(made.sections)), ("json", values)):
        written.append(request.folder / f"{table}.{ending}")
        with Target(str(written[-1]), force=True).open() as file:  # made from results that stay
            file.write(text + "\n")
    for name, draw in made.plots.items():
        path = request.folder / name
        try:
            draw(path)
            written.append(path)
        except MissingExtraError as error:
            _say(f"no picture, as {error}")
    if format_ == "json":
        print(values)
    else:
        print_sections(made.sections, markdown=format_ == "markdown")
    _say(f"wrote {', '.join(str(path) for path in written)}")
    if made.failed:
        raise TrainingError(f"not all rows could be trained: {'; '.join(made.failed)}")


def _record(request: Request) -> None:
    """Add all finished rows of the output folder to the recorded results."""
    assert request.recorded is not None
    found = read_results(request.output, request.data, [*ROWS.values()], request.seeds or range(1, 100))
    number = record((result for results in found.values() for result in results), request.recorded)
    _say(f"{request.recorded} holds {number} runs")


@dataclass(frozen=True)
class Made:
    """A table: its printed sections, its JSON, its plots, and the failures."""

    sections: Sequence[Section]
    values: dict[str, Any]
    plots: dict[str, Callable[[Path], None]]
    failed: Sequence[str] = ()


def _main(request: Request) -> Made:
    rows = request.chosen()
    rows_named([request.against])
    failed = _train(request, rows)
    found = _finished(request, rows, request.against, failed)
    sections = main_sections(rows, found, request.data, request.seeds, request.against)
    plots = {"main.png": lambda path: draw_scores(found, request.data, path)} if found else {}
    return Made(sections, _values(request, rows, found) | {"against": request.against}, plots, failed)


def _ablation(request: Request) -> Made:
    rows = _with_bases([row for row in request.chosen("ablation") if row.base])
    if not rows:
        raise InputError("none of these rows is an ablation; name one, for example --rows sh-n-no-dropout")
    failed = _train(request, rows)
    found = _finished(request, rows, None, failed)
    return Made(ablation_sections(rows, found, request.data, request.seeds), _values(request, rows, found), {}, failed)


def _paper(request: Request) -> Made:
    """The paper's own settings: with the best β, with every β on dev, and the steps from the paper's settings to
    ours."""
    rows = _with_bases(request.chosen("paper"))
    if not rows:
        raise InputError(f"the paper's own settings are there for genia alone, not for {request.data}")
    rows_named([request.against])
    failed = _train(request, rows)
    results = _results(request, rows, request.against)
    groups = {group: [row for row in rows if row.group == group] for group in ("paper", "beta", "ablation", "limit")}
    found = summaries(groups["paper"], results, request.against)
    compared = summaries([*_with_bases(groups["ablation"]), *groups["limit"], *groups["beta"]], results, None)
    _check_finished(request, [*found, *compared], failed)
    sections = [
        *main_sections(groups["paper"], found, request.data, request.seeds, request.against),
        *beta_sections(results),
        *ablation_sections(groups["ablation"], compared, request.data, request.seeds),
        *readings_sections(results, request.data),
    ]
    unique = {summary.row.name: summary for summary in (*compared, *found)}
    return Made(sections, _values(request, rows, list(unique.values())) | {"against": request.against}, {}, failed)


def _with_bases(rows: Sequence[Row]) -> list[Row]:
    """The rows, each preceded by the row it is compared with."""
    bases = [ROWS[row.base] for row in rows if row.base]
    return list(dict.fromkeys([*bases, *rows]))


def _finished(
    request: Request, rows: Sequence[Row], against: str | None, failed: Sequence[str] = ()
) -> list[RowSummary]:
    """The finished rows, compared with the row `against` or, without it, each with its base; raise an error if there
    are none."""
    found = _summaries(request, rows, against)
    _check_finished(request, found, failed)
    return found


def _summaries(request: Request, rows: Sequence[Row], against: str | None) -> list[RowSummary]:
    return summaries(rows, _results(request, rows, against), against)


def _results(request: Request, rows: Sequence[Row], against: str | None) -> Results:
    """The finished seeds of the rows and of the one that they are compared with."""
    others = [ROWS[against]] if against else []
    results = read_results(request.output, request.data, [*rows, *others], request.seeds, request.recorded)
    _report_changed(request, results)
    return results


def _check_finished(request: Request, found: Sequence[RowSummary], failed: Sequence[str]) -> None:
    if not found and not failed:
        raise InputError(
            f"no row is finished in {request.folder}; train some with hyperspan reproduce main --data {request.data}"
        )


def _overlap(request: Request) -> Made:
    rows = request.chosen()
    found = _finished(request, rows, request.against)
    return Made(overlap_sections(rows, found, request.data), _values(request, rows, found), {})


def _speed(request: Request) -> Made:
    require_torch("the table of speeds")
    from hyperspan.reproduce import speed

    found = _finished(request, request.chosen(), request.against)
    measured = speed.measure(found, request.data, request.data_dir, request.output, request.device, request.threads)
    plots = {"speed.png": lambda path: draw_speed(measured, request.data, path)}
    return Made(speed.sections(measured, request.data), _values(request, request.chosen(), measured), plots)


def _statistics(request: Request) -> Made:
    found = count(request.data, request.data_dir)
    return Made(sections(request.data, found), {part: vars(counts) for part, counts in found.items()}, {})


def _ambiguity(request: Request) -> Made:
    require_torch("the table of ambiguity")
    from hyperspan.reproduce import properties

    found = properties.compute()
    sections = [*properties.sections(found), properties.overlaps_section()]
    values: dict[str, Any] = {name: vars(counted) | vars(growth) for name, (counted, growth) in found.items()}
    for part, name in vars(corpus_named(request.data)).items():
        if (file := request.data_dir / name).exists():
            held = properties.held_in(
                sentence for document in read_corpus(str(file)) for sentence in document.sentences
            )
            sections.append(properties.corpus_section(held, f"{request.data} {part}"))
            values[part] = held
    return Made(sections, values, {})


def _report_changed(request: Request, results: Results) -> None:
    """Report the finished rows that were trained with a different configuration."""
    for name, found in results.items():
        if (request.configs / request.data / ROWS[name].file).is_file():
            config = config_of(ROWS[name], request.data, request.configs, request.data_dir, request.overrides)
            keys = {key for result in found if (key := changed_key(result, config)) is not None}
            if keys:
                _say(f"{name} was trained with another {', '.join(sorted(keys))} than its configuration has now")


def _values(request: Request, rows: Sequence[Row], found: Sequence[RowSummary]) -> dict[str, Any]:
    """The JSON values; scores are fractions, but the paper's are in percent, as printed."""
    papers = {row.name: row.paper[request.data] for row in rows if request.data in row.paper}
    return {
        "data": request.data,
        "seeds": request.seeds,
        "paper": papers,
        "rows": [summary.to_dict() for summary in found],
    }


# -- training what is missing ---------------------------------------------------------------------------------------


def _train(request: Request, rows: Sequence[Row]) -> list[str]:
    """Train unfinished rows; return the failures. Rows that decode trained models come after those."""
    if not request.train:
        return []
    todo = _unfinished(request, _configured(request, rows))
    failed: list[str] = []
    for decodes in (False, True):
        part = [(seed, row) for seed, row in todo if row.decodes == decodes]
        at_once = request.jobs > 1 and not decodes  # several that decode could train the same missing model
        failed += _train_side_by_side(request, part) if at_once else _train_in_turn(request, part)
    return failed


def _train_in_turn(request: Request, todo: Sequence[tuple[int, Row]]) -> list[str]:
    failed = []
    for number, (seed, row) in enumerate(todo, start=1):
        try:
            _train_one(request, row, seed, f"{number} of {len(todo)}")
        except TrainingError as error:  # the other rows may still do well
            failed.append(f"{row.name}, seed {seed}: {error}")
            _say(failed[-1])
        except KeyboardInterrupt:
            _say(f"stopped; the same command goes on with {row.name}, seed {seed}, in {request.output}{os.sep}")
            raise
    return failed


def _train_side_by_side(request: Request, todo: Sequence[tuple[int, Row]]) -> list[str]:
    """Train several rows at once, each in a process of its own."""
    failed = []
    others = active_children()
    with ProcessPoolExecutor(request.jobs, get_context("spawn"), signal, (SIGINT, SIG_IGN)) as pool:
        runs = {pool.submit(_run, request, row, seed): (row, seed) for seed, row in todo}
        try:
            for number, run in enumerate(as_completed(runs), start=1):
                row, seed = runs[run]
                try:
                    _say(f"{row.name}, seed {seed} ({number} of {len(todo)}): finished, F1 {100 * run.result().f1:.2f}")
                except TrainingError as error:
                    failed.append(f"{row.name}, seed {seed}: {error}")
                    _say(failed[-1])
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
                _say(f"stopped; the same command goes on in {request.output}{os.sep}")
            raise
    return failed


def _configured(request: Request, rows: Sequence[Row]) -> list[Row]:
    """The rows that have a configuration; rows named by the user must have one."""
    if request.rows:
        return list(rows)
    missing = [row for row in rows if not (request.configs / request.data / row.file).is_file()]
    if len(missing) == len(rows):
        raise InputError(
            f"{request.configs / request.data} holds no configuration of these rows; leave --configs out for those "
            "that hyperspan ships, or tabulate finished rows with --no-train"
        )
    if missing:
        _say(f"left out, as their configurations are missing: {', '.join(row.name for row in missing)}")
    return [row for row in rows if row not in missing]


def _unfinished(request: Request, rows: Sequence[Row]) -> list[tuple[int, Row]]:
    """The seeds and rows that need training, in this order; mistakes raise errors now, not after hours."""
    seeds = {row: (request.seeds or row.seeds)[: row.runs if row.part == "dev" else None] for row in rows}
    wanted = [(seed, row) for seed in sorted(set(chain(*seeds.values()))) for row in rows if seed in seeds[row]]
    configs = {row: config_of(row, request.data, request.configs, request.data_dir, request.overrides) for row in rows}
    todo = [
        (seed, row)
        for seed, row in wanted
        if request.force or finished_result(folder_of(request.output, request.data, row, seed), configs[row]) is None
    ]
    if len(todo) < len(wanted):
        _say(f"{len(wanted) - len(todo)} of {len(wanted)} runs are finished already")
    if todo:
        require_torch("training")
        from hyperspan.reproduce.run import check_run

        for row in dict.fromkeys(row for _, row in todo):
            check_run(configs[row], request.data_dir / corpus_named(request.data).file(row.part))
    return todo


def _train_one(request: Request, row: Row, seed: int, place: str) -> None:
    from hyperspan.training.display import TrainingDisplay

    _say(f"{row.name}, seed {seed} ({place})")
    with TrainingDisplay(Console(stderr=True)) as display:
        result = _run(request, row, seed, display)
    _say(f"{row.name}, seed {seed}: finished, {row.part} F1 {100 * result.f1:.2f}")


def _run(request: Request, row: Row, seed: int, *listeners: Listener) -> Result:
    from hyperspan.reproduce.run import run_row

    return run_row(
        row,
        request.data,
        seed,
        request.output,
        request.device,
        configs=request.configs,
        data_dir=request.data_dir,
        overrides=request.overrides,
        threads=request.threads,
        force=request.force,
        listeners=listeners,
    )


def _say(text: str) -> None:
    print(f"hyperspan: {text}", file=sys.stderr, flush=True)
