"""Train missing rows of the paper's tables, tabulate finished ones, write and print the tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments import CONFIGS
from experiments.jobs import say_changed, train_missing
from experiments.paper.readings import beta_sections, readings_sections
from experiments.paper.rows import APART, ROWS, TABLES, rows_for, rows_named
from experiments.paper.statistics import count, sections
from experiments.plots import draw_scores, draw_speed
from experiments.request import Request, say
from experiments.result import Result, read_recorded, read_results, record
from experiments.rows import Row, corpus_named
from experiments.settings import changed_key, config_of
from experiments.summaries import Results, RowSummary, summaries
from experiments.tables import ablation_sections, main_sections, overlap_sections, state_lines
from hyperspan.corpora.formats import read_corpus
from hyperspan.errors import InputError, MissingExtraError, TrainingError, require_torch
from hyperspan.evaluation.tables import Section, as_markdown, print_sections
from hyperspan.files import Target


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
            say(f"no picture, as {error}")
    if format_ == "json":
        print(values)
    else:
        print_sections(made.sections, markdown=format_ == "markdown")
    say(f"wrote {', '.join(str(path) for path in written)}")
    if made.failed:
        raise TrainingError(f"not all rows could be trained: {'; '.join(made.failed)}")


def _record(request: Request) -> None:
    """Add the finished rows of the output folder, or those that are named, to the recorded results."""
    assert request.recorded is not None
    rows = rows_named(request.rows) if request.rows else list(ROWS.values())
    found = read_results(request.output, request.data, rows, request.seeds or range(1, 100))
    finished = [result for results in found.values() for result in results]
    known = read_recorded(request.recorded).values()
    for result in finished:
        _check_recordable(result, known, CONFIGS)
    record(finished, request.recorded, ROWS)
    say(f"recorded {len(finished)} runs in {request.recorded}")


def _check_recordable(result: Result, known: Iterable[Result], configs: Path) -> None:
    """Raise an error for a run that is not of its configuration, or not of the corpus that is recorded."""
    what = f"{result.row}, seed {result.seed}, cannot be recorded: it was"
    if (key := changed_key(result, config_of(ROWS[result.row], result.data, configs))) is not None:
        raise InputError(
            f"{what} trained with another {key} than its configuration has; train it again with --force, without "
            "--set and --configs"
        )
    for other in known:
        if (other.test is None) == (result.test is None) and not np.array_equal(
            other.known_counts[:, 2], result.known_counts[:, 2]
        ):
            raise InputError(
                f"{what} scored on other sentences than the recorded runs; score it on {result.data}'s own"
            )


@dataclass(frozen=True)
class Made:
    """A table: its printed sections, its JSON, its plots, and the failures."""

    sections: Sequence[Section]
    values: dict[str, Any]
    plots: dict[str, Callable[[Path], None]]
    failed: Sequence[str] = ()


def _main(request: Request) -> Made:
    rows = _chosen(request)
    rows_named([request.against])
    # What is not the paper's own row is tabulated, but trained only where it is named.
    failed = train_missing(request, [row for row in rows if request.rows or row.group not in APART])
    found = _finished(request, rows, request.against, failed)
    sections = main_sections(rows, found, request.data, request.seeds, request.against)
    drawn = [summary for summary in found if summary.row.group not in APART]
    plots = {"main.png": lambda path: draw_scores(drawn, request.data, path)} if drawn else {}
    return Made(sections, _values(request, rows, found) | {"against": request.against}, plots, failed)


def _ablation(request: Request) -> Made:
    rows = _with_bases([row for row in _chosen(request, "ablation") if row.base])
    if not rows:
        raise InputError("none of these rows is an ablation; name one, for example --rows sh-n-no-dropout")
    failed = train_missing(request, rows)
    found = _finished(request, rows, None, failed)
    return Made(ablation_sections(rows, found, request.data, request.seeds), _values(request, rows, found), {}, failed)


def _paper(request: Request) -> Made:
    """The paper's own settings: with the best β, with every β on dev, and the steps from the paper's settings to
    ours."""
    rows = _with_bases(_chosen(request, "paper"))
    if not rows:
        raise InputError(f"the paper's own settings are there for genia alone, not for {request.data}")
    rows_named([request.against])
    if others := [row.name for row in rows if row not in TABLES["paper"]]:
        raise InputError(
            f"{others[0]} is no row of the table paper; python -m experiments.paper main --rows {others[0]} has it"
        )
    failed = train_missing(request, rows)
    results = _results(request, rows, request.against)
    groups = {group: [row for row in rows if row.group == group] for group in ("paper", "beta", "ablation", "limit")}
    found = summaries(groups["paper"], results, request.against)
    compared = summaries([*_with_bases(groups["ablation"]), *groups["limit"], *groups["beta"]], results, None)
    _check_finished(request, [*found, *compared], failed, "paper")
    sections = [
        *main_sections(groups["paper"], found, request.data, request.seeds, request.against),
        *beta_sections(results),
        *ablation_sections(groups["ablation"], compared, request.data, request.seeds),
        *readings_sections(results, request.data),
    ]
    unique = {summary.row.name: summary for summary in (*compared, *found)}
    return Made(sections, _values(request, rows, list(unique.values())) | {"against": request.against}, {}, failed)


def _chosen(request: Request, table: str = "main") -> list[Row]:
    """The requested rows of a table."""
    corpus_named(request.data)
    return rows_named(request.rows) if request.rows else rows_for(request.data, table)


def _with_bases(rows: Sequence[Row]) -> list[Row]:
    """The rows, each preceded by the row it is compared with."""
    bases = [row.base for row in rows if row.base]
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
    """The finished seeds of the rows and of the one that they are compared with; recorded ones if nothing is to be
    trained."""
    others = [ROWS[against]] if against else []
    recorded = None if request.train else request.recorded
    results = read_results(request.output, request.data, [*rows, *others], request.seeds, recorded)
    say_changed(request, [*rows, *others], results)
    return results


def _check_finished(request: Request, found: Sequence[RowSummary], failed: Sequence[str], table: str = "main") -> None:
    if not found and not failed:
        raise InputError(
            f"no row is finished in {request.folder}; train some with python -m experiments.paper {table} --data "
            f"{request.data}; --no-train also tabulates recorded runs"
        )
    names = {summary.row.name for summary in found}
    if missing := [name for name in request.rows if name not in names]:
        say(f"without a finished run: {', '.join(missing)}")


def _overlap(request: Request) -> Made:
    rows = _chosen(request)
    found = _finished(request, rows, request.against)
    return Made(overlap_sections(rows, found, request.data), _values(request, rows, found), {})


def _speed(request: Request) -> Made:
    require_torch("the table of speeds")
    from experiments.paper import speed

    found = _finished(request, _chosen(request), request.against)
    measured = speed.measure(found, request.data, request.data_dir, request.output, request.device, request.threads)
    plots = {"speed.png": lambda path: draw_speed(measured, request.data, path)}
    return Made(speed.sections(measured, request.data), _values(request, _chosen(request), measured), plots)


def _statistics(request: Request) -> Made:
    found = count(request.data, request.data_dir)
    return Made(sections(request.data, found), {part: vars(counts) for part, counts in found.items()}, {})


def _ambiguity(request: Request) -> Made:
    require_torch("the table of ambiguity")
    from experiments.paper import properties

    found = properties.compute()
    sections = [*properties.sections(found), properties.overlaps_section()]
    values: dict[str, Any] = {name: vars(counted) | {"order": growth} for name, (counted, growth) in found.items()}
    for part, name in corpus_named(request.data).parts.items():
        if (file := request.data_dir / name).exists():
            held = properties.held_in(
                sentence for document in read_corpus(str(file)) for sentence in document.sentences
            )
            sections.append(properties.corpus_section(held, f"{request.data} {part}"))
            values[part] = held
    return Made(sections, values, {})


def _values(request: Request, rows: Sequence[Row], found: Sequence[RowSummary]) -> dict[str, Any]:
    """The JSON values; scores are fractions, but the paper's are in percent, as printed."""
    papers = {row.name: row.paper[request.data] for row in rows if request.data in row.paper}
    return {
        "data": request.data,
        "seeds": request.seeds,
        "paper": papers,
        "rows": [summary.to_dict() for summary in found],
    }
