"""The tables of finished rows: the main table next to the paper's figures, by overlap, and ablations; and the progress
of each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from experiments.paper.rows import GROUPS, ROWS
from experiments.result import folder_of, state_of
from experiments.rows import Row
from experiments.settings import source_of
from experiments.summaries import ROUNDS, RowSummary
from hyperspan.evaluation.tables import NO_VALUE, Section

PAPER_OVERLAP = {
    "mention-hypergraph": (68.1, 52.6, 59.4, 64.1, 65.1, 64.6, 503),
    "mention-separators": (70.4, 55.0, 61.8, 67.2, 63.4, 65.2, 253),
    "transition": (77.4, 70.5, 73.8, 76.1, 69.6, 72.7, 1445),
    "sh-6": (80.2, 68.3, 73.8, 74.8, 70.0, 72.3, 248),
    "sh-n": (80.6, 73.6, 76.9, 75.5, 71.5, 73.4, 157),
}
"""The paper's Table 5, on ACE-2005: P, R, F1 in sentences with overlapping mentions, the same without, words/s."""


def main_sections(
    rows: Sequence[Row], found: Sequence[RowSummary], data: str, seeds: Sequence[int], against: str
) -> list[Section]:
    """The main table, a section per group of rows; unfinished rows show only the paper's figures."""
    ours = (
        "dev F1",
        "P",
        "R",
        "F1",
        "±",
        "95% interval",
        f"{ROWS[against].title} −",
        "p",
        "words/s",
        "parameters",
        "seeds",
    )
    by_name = {summary.row.name: summary for summary in found}
    lines = {row.name: _main_line(row, by_name.get(row.name), data, seeds) for row in rows}
    test = (
        f"F1 of {ROWS[against].title} minus that of the row, seeds taken together, p by paired approximate randomisation over "
        f"sentences ({ROUNDS:,} rounds)"
    )
    return _by_group(rows, ("", "paper P", "R", "F1", *ours), lines, f"{_about(found, data)}; {test}")


def _main_line(row: Row, found: RowSummary | None, data: str, seeds: Sequence[int]) -> list[str]:
    paper = [NO_VALUE if value is None else f"{value:.1f}" for value in row.paper.get(data, (None,) * 3)]
    if found is None:
        return [row.label, *paper, *[NO_VALUE] * 10, f"0 of {len(seeds or row.seeds)}"]
    return [
        row.label,
        *paper,
        _dev_f1(found),
        *map(_percent, (found.precision, found.recall, found.f1)),
        *_deviation_and_interval(found),
        *_difference(found),
        f"{found.words_per_second:,.0f}",
        f"{found.parameters:,}",
        f"{len(found.seeds)} of {len(seeds or row.seeds)}",
    ]


def overlap_sections(rows: Sequence[Row], found: Sequence[RowSummary], data: str) -> list[Section]:
    """Scores in sentences with and without overlapping mentions, next to the paper's on ACE-2005."""
    header = ("", "overlapping P", "R", "F1", "not overlapping P", "R", "F1", "words/s")
    lines = {summary.row.name: _overlap_line(summary) for summary in found}
    sections = _by_group([row for row in rows if row.name in lines], header, lines, _about(found, data))
    paper = [
        [ROWS[name].title, *(f"{value:.1f}" for value in figures[:6]), f"{figures[6]:,}"]
        for name, figures in PAPER_OVERLAP.items()
    ]
    return [*sections, Section("The paper, ACE-2005", header, paper)]


def _overlap_line(found: RowSummary) -> list[str]:
    parts = (found.overlapping, found.non_overlapping)
    scores = [_percent(part[measure]) for part in parts for measure in ("precision", "recall", "f1")]
    return [found.row.label, *scores, f"{found.words_per_second:,.0f}"]


def ablation_sections(
    rows: Sequence[Row], found: Sequence[RowSummary], data: str, seeds: Sequence[int]
) -> list[Section]:
    """The ablation tables: one for each model that is ablated.

    Each summary of an ablation holds its difference from the full model's row.
    """
    header = ("", "paper F1", "lost", "dev F1", "F1", "±", "95% interval", "lost", "p", "seeds")
    by_name = {summary.row.name: summary for summary in found}
    sections = []
    for base in dict.fromkeys(row.base for row in rows if row.base):
        family = [base, *(row for row in rows if row.base == base)]
        lines = [_ablation_line(row, by_name.get(row.name), data, seeds) for row in family]
        sections.append(Section(base.title, header, lines))
    return _with_note(sections, f"{_about(found, data)}; lost: F1 of the whole model minus that of the row")


def _ablation_line(row: Row, found: RowSummary | None, data: str, seeds: Sequence[int]) -> list[str]:
    paper, whole = (one.paper.get(data) if one else None for one in (row, row.base))
    cells = [
        f"{paper[2]:.1f}" if paper else NO_VALUE,
        f"{whole[2] - paper[2]:+.1f}" if paper and whole else NO_VALUE,
    ]
    if found is None:
        return [row.title, *cells, *[NO_VALUE] * 6, f"0 of {len(seeds or row.seeds)}"]
    return [
        row.title,
        *cells,
        _dev_f1(found),
        _percent(found.f1),
        *_deviation_and_interval(found),
        *_difference(found),
        f"{len(found.seeds)} of {len(seeds or row.seeds)}",
    ]


def state_lines(
    rows: Sequence[Row], data: str, seeds: Sequence[int], output: Path, configs: Path
) -> Iterator[tuple[Row, str]]:
    """Each row with its progress: one word for all seeds if they agree, or one per seed."""
    for row in rows:
        file, _ = source_of(row, data, configs)
        wanted = seeds or row.seeds
        states = [state_of(folder_of(output, data, row, seed)) for seed in wanted]
        finished = [state.f1 for state in states if state.f1 is not None]
        if not file.is_file() and not finished:
            yield row, f"config missing: {file}"
        elif len(finished) == len(states):
            each = " ".join(f"{100 * f1:.2f}" for f1 in finished)
            yield row, f"finished, F1 {100 * sum(finished) / len(finished):.2f} ({each})"
        elif len({str(state) for state in states}) == 1:
            yield row, str(states[0])
        else:
            yield row, "; ".join(f"seed {seed}: {state}" for seed, state in zip(wanted, states, strict=True))


def _by_group(rows: Sequence[Row], header: Sequence[str], lines: dict[str, list[str]], note: str) -> list[Section]:
    groups = {group: [lines[row.name] for row in rows if row.group == group] for group in GROUPS}
    return _with_note([Section(GROUPS[group], header, inside) for group, inside in groups.items() if inside], note)


def _with_note(sections: list[Section], note: str) -> list[Section]:
    """Add a note under the last section."""
    return [*sections[:-1], *(replace(last, note=note) for last in sections[-1:])]


def _about(found: Sequence[RowSummary], data: str) -> str:
    if not found:
        return f"no row is finished on {data}"
    devices = ", ".join(sorted({summary.device for summary in found}))
    return (
        f"{data} test, in percent; means over seeds, ± their standard deviation, 95% bootstrap intervals over sentences; "
        f"words/s on {devices}"
    )


def _dev_f1(found: RowSummary) -> str:
    return NO_VALUE if found.dev_f1 is None else _percent(found.dev_f1)


def _deviation_and_interval(found: RowSummary) -> list[str]:
    deviation = NO_VALUE if found.deviation is None else _percent(found.deviation)
    return [deviation, "–".join(map(_percent, found.interval))]


def _difference(found: RowSummary) -> list[str]:
    if found.difference is None:
        return [NO_VALUE, NO_VALUE]
    p = found.difference.p_randomization
    return [f"{100 * found.difference.difference:+.2f}", f"{p:.3f}" if p >= 0.001 else "<0.001"]


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2f}"
