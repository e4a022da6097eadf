"""Train the missing runs of a study, and print the tables of those that are finished."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.jobs import say_changed, train_missing
from experiments.request import Request, say
from experiments.result import read_results, record, recorded_file
from experiments.rows import FOLDS, Row
from experiments.study.folds import write_folds
from experiments.study.plot import draw_curves
from experiments.study.studies import STUDIES, Study
from experiments.study.tables import comparison_sections, sections
from experiments.tables import state_lines
from hyperspan.errors import InputError, TrainingError
from hyperspan.evaluation.tables import print_sections


def rows_of(study: Study, names: Sequence[str]) -> list[Row]:
    """The rows of these names, or all."""
    known = [row.name for row in study.rows]
    if wrong := [name for name in names if name not in known]:
        raise InputError(f"there is no row {wrong[0]!r}; choose from {', '.join(known)}")
    return [row for row in study.rows if not names or row.name in names]


def requests(name: str, request: Request, corpora: Sequence[str]) -> list[Request]:
    """A request for each corpus, with the folder, the overrides and the recorded results of the study."""
    study = STUDIES[name]
    if wrong := [corpus for corpus in corpora if corpus not in study.corpora]:
        raise InputError(f"{wrong[0]} is no corpus of the study; choose from {', '.join(study.corpora)}")
    overrides = (*study.overrides, *request.overrides)
    whole = replace(request, output=request.output / name, overrides=overrides)
    return [replace(whole, data=data, recorded=recorded_file(name, data)) for data in corpora or study.corpora]


def list_runs(name: str, request: Request, corpora: Sequence[str]) -> None:
    """Print the progress of each row on each corpus."""
    rows = rows_of(STUDIES[name], request.rows)
    for one in requests(name, request, corpora):
        for row, state in state_lines(_on(one.data, rows), one.data, one.seeds, one.output, one.configs):
            print(f"{one.data:9} {row.name:16} {state}")


def run_study(name: str, request: Request, corpora: Sequence[str], format_: str, plot: Path | None = None) -> None:
    """Train what is missing, unless told otherwise, and print the tables of a study."""
    study, rows = STUDIES[name], rows_of(STUDIES[name], request.rows)
    against = rows_of(study, [request.against])[0] if request.against else None
    failed: list[str] = []
    found: dict[str, Any] = {}
    for one in requests(name, request, corpora):
        wanted = _on(one.data, rows)
        if one.train and one.data in FOLDS:
            write_folds(one.data_dir)
        failed += train_missing(one, wanted)
        found[one.data] = read_results(one.output, one.data, wanted, one.seeds, None if one.train else one.recorded)
        say_changed(one, wanted, found[one.data])
        if one.record and one.recorded is not None:
            finished = [result for results in found[one.data].values() for result in results]
            say(f"recorded {record(finished, one.recorded, [row.name for row in study.rows])} runs in {one.recorded}")
    if not any(found.values()) and not failed:
        raise InputError(f"no row is finished in {request.output / name}; --no-train also tabulates recorded runs")
    if plot is not None:
        draw_curves(found, plot)
    tables = sections(study, found)
    if against is not None:
        tables += comparison_sections(study, found, against)
    if format_ == "json":
        runs = [result.to_dict() for results in found.values() for runs in results.values() for result in runs]
        print(json.dumps({"study": name, "runs": runs}, indent=2, ensure_ascii=False))
    else:
        print_sections(tables, markdown=format_ == "markdown")
    if failed:
        raise TrainingError(f"not all rows could be trained: {'; '.join(failed)}")


def _on(data: str, rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if data in row.data]
