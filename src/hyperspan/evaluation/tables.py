"""Reports as tables for the terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hyperspan.errors import counted
from hyperspan.evaluation.agreement import AnnotatorAgreement, PairCounts
from hyperspan.evaluation.calibration import Calibration
from hyperspan.evaluation.comparison import Comparison, SubsetComparison
from hyperspan.evaluation.counts import MEASURES, Score
from hyperspan.evaluation.intervals import Confidence
from hyperspan.evaluation.scores import Report, Slice

NO_VALUE = "–"
"""The cell of a fraction without a denominator."""
MAX_CONFUSIONS = 10
"""The number of most frequent confusions shown."""
MAX_TYPES = 10
"""The number of types in a summary."""
SCORE_HEADER = ("P", "R", "F1", "right", "predicted", "gold")
SLICE_HEADER = ("P", "right", "predicted", "R", "found", "gold")
KIND_NAMES = {
    "none": "no overlap",
    "any": "overlapping",
    "inside": "… inside another",
    "contains": "… contains another",
    "crossing": "… crosses another",
    "same_span": "… same span, other type",
    "same_type": "… another of the same type",
    "same_type_and_start": "… and the same first word",
}


@dataclass(frozen=True)
class Section:
    """A table with its title and a note."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def summary_sections(report: Report, advice: str) -> Iterator[Section]:
    """An evaluation on one screen: the scores, those of the most frequent types, and what to do next."""
    yield _overview(report)
    frequent = sorted(report.per_type, key=lambda name: -report.per_type[name].gold)[:MAX_TYPES]
    shown = {name: score for name, score in report.per_type.items() if name in frequent}
    more = len(report.per_type) - len(shown)
    note = f"and {counted(more, 'rarer type')}\n{advice}" if more else advice
    yield replace(_scores("By type", "type", shown.items()), note=note)


def report_sections(report: Report) -> Iterator[Section]:
    """All tables of an evaluation."""
    yield _overview(report)
    if found := report.calibration.get("predicted"):
        yield calibration_section(f"Calibration of predicted mentions: ECE {found.ece:.3f}", found)
    yield _scores("By type", "type", report.per_type.items())
    yield _scores("By width", "words", report.by_width.items())
    if _has_discontinuous(report):
        yield _scores("By number of parts", "parts", report.by_parts.items())
        yield _scores("Discontinuous, by widest gap", "words", report.by_gap.items())
    yield _slices("By depth", "depth", report.by_depth.items())
    yield _slices("By overlap", "kind", ((KIND_NAMES[kind], part) for kind, part in report.by_overlap.items()))
    if report.confusions:
        rows = [(gold, wrong, f"{times:,}") for (gold, wrong), times in report.confusions.items()]
        note = f"and {len(rows) - MAX_CONFUSIONS} more pairs" if len(rows) > MAX_CONFUSIONS else ""
        yield Section("Right span, wrong type", ("gold", "predicted", "times"), rows[:MAX_CONFUSIONS], note)
    for name, found in report.calibration.items():
        if name != "predicted":
            yield calibration_section(f"Calibration of {name}: ECE {found.ece:.3f}", found)


def comparison_sections(comparison: Comparison, name_a: str, name_b: str) -> Iterator[Section]:
    """The tables of a comparison."""
    notes = [
        f"A: {name_a}, B: {name_b}",
        f"{comparison.sentences:,} sentences, {comparison.rounds:,} rounds, seed {comparison.seed}",
        *filter(None, [comparison.note]),
    ]
    yield _differences("B − A", comparison, comparison.level, "; ".join(notes))
    if part := comparison.discontinuous:
        note = f"{part.gold:,} in gold"
        yield _differences("B − A on discontinuous mentions", part, comparison.level, note)
    if part := comparison.with_discontinuous:
        note = f"{part.sentences:,} sentences with {part.gold:,} mentions of any kind"
        yield _differences("B − A on sentences with discontinuous mentions", part, comparison.level, note)
    found, spurious = comparison.found, comparison.spurious
    yield Section(
        "Who finds what",
        ("mentions", "both", "only A", "only B", "neither"),
        [
            ("gold, found", *_numbers(found.both, found.only_a, found.only_b, found.neither)),
            ("wrong, predicted", *_numbers(spurious.both, spurious.only_a, spurious.only_b), NO_VALUE),
        ],
    )


def _differences(title: str, part: Comparison | SubsetComparison, level: float, note: str) -> Section:
    rows = [
        (
            name,
            _percent(found.a),
            _percent(found.b),
            f"{100 * found.difference:+.2f}",
            f"{100 * found.interval[0]:+.2f} to {100 * found.interval[1]:+.2f}",
            f"{found.p_randomization:.4f}",
            f"{found.p_bootstrap:.4f}",
        )
        for name, found in (("P", part.precision), ("R", part.recall), ("F1", part.f1))
    ]
    header = ("", "A", "B", "B − A", f"{level:.0%} interval", "p (randomisation)", "p (bootstrap)")
    return Section(title, header, rows, note)


def agreement_sections(found: AnnotatorAgreement, name_a: str, name_b: str) -> Iterator[Section]:
    """The tables of inter-annotator agreement."""
    notes = [f"A: {name_a}, B: {name_b}"]
    notes.append(f"{found.sentences:,} sentences of {found.documents:,} documents, {found.finished:,} finished by both")
    alone = (("A", found.only_a_documents), ("B", found.only_b_documents))
    notes += [f"{count:,} documents only in {side} left out" for side, count in alone if count]
    header = ("", "F1", "both", "only A", "only B")
    rows = [("mentions", *_pair(found.mentions)), ("spans alone", *_pair(found.spans))]
    yield Section("Agreement", header, rows, "; ".join(notes))
    typed = [
        (label, *_pair(one.mentions), _kappa(one.token_kappa), f"{one.tokens:,}")
        for label, one in found.per_type.items()
    ]
    about = f"κ of the type on {found.labelled_spans:,} spans that both marked: {_kappa(found.type_kappa)}"
    yield Section("By type", ("type", *header[1:], "κ of tokens", "tokens"), typed, about)
    if found.confusions:
        rows = [(of_a, of_b, f"{times:,}") for (of_a, of_b), times in found.confusions.items()]
        note = f"and {len(rows) - MAX_CONFUSIONS} more pairs" if len(rows) > MAX_CONFUSIONS else ""
        yield Section("Same span, another type", ("A", "B", "times"), rows[:MAX_CONFUSIONS], note)


def _pair(counts: PairCounts) -> tuple[str, ...]:
    f1 = NO_VALUE if counts.f1 is None else _percent(counts.f1)
    return f1, *_numbers(counts.both, counts.only_a, counts.only_b)


def _kappa(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:.3f}"


def print_sections(sections: Iterable[Section], *, markdown: bool = False, on_stderr: bool = False) -> None:
    """Print all tables. Tables with the same header share column widths; wide ones are not cut."""
    sections = list(sections)
    if markdown:
        print(as_markdown(sections))
        return
    widths: dict[tuple[str, ...], list[int]] = {}
    for section in sections:
        known = widths.setdefault(tuple(section.header), [0] * len(section.header))
        for line in (section.header, *section.rows):
            known[:] = map(max, known, map(len, line))
    console = Console(highlight=False, stderr=on_stderr)
    console.width = max([console.width if console.is_terminal else 80, *(sum(w) + 2 * len(w) for w in widths.values())])
    for number, section in enumerate(sections):
        title = Text(section.title, style="bold") if section.title else None
        table = Table(box=None, pad_edge=False, title=title, title_justify="left")
        for index, (name, width) in enumerate(zip(section.header, widths[tuple(section.header)], strict=True)):
            table.add_column(Text(name), justify="right" if index else "left", no_wrap=True, min_width=width)
        for row in section.rows:
            table.add_row(*map(Text, row))  # as Text, because labels are not markup
        if number:
            console.print()
        console.print(table)
        if section.note:
            console.print(Text(section.note, style="dim"), soft_wrap=True)


def as_markdown(sections: Iterable[Section]) -> str:
    """Each section as a heading, a table and a note.

    >>> print(as_markdown([Section("By type", ("type", "F1"), [("PER", "71.20")])]))
    ### By type
    <BLANKLINE>
    | type | F1 |
    | --- | ---: |
    | PER | 71.20 |
    """
    parts: list[str] = []
    for section in sections:
        lines = [section.header, ["---", *("---:" for _ in section.header[1:])], *section.rows]
        cells = ([cell.strip().replace("|", "\\|") for cell in line] for line in lines)
        parts += [f"### {section.title}", "\n".join(f"| {' | '.join(line)} |" for line in cells), section.note]
    return "\n\n".join(filter(None, parts))


def _overview(report: Report) -> Section:
    counts = report.counts
    rows = [("micro", *_score(report.micro))]
    intervals = report.confidence
    if intervals:
        bounds = [
            f"{100 * low:.2f}–{100 * high:.2f}" for low, high in (intervals.precision, intervals.recall, intervals.f1)
        ]
        rows.append((f"  {intervals.level:.0%} interval", *bounds, "", "", ""))
    macro = report.macro
    rows += [
        (f"macro, {len(report.per_type)} types", *map(_percent, (macro.precision, macro.recall, macro.f1)), "", "", ""),
        ("boundaries only", *_score(report.boundaries)),
        (f"{counts['sentences_with_overlap']:,} with overlap", *_score(report.overlapping)),
        (f"{counts['sentences_without_overlap']:,} without", *_score(report.non_overlapping)),
    ]
    if _has_discontinuous(report):
        rows.append(("discontinuous mentions", *_score(report.discontinuous)))
        several = f"{counts['sentences_with_discontinuous']:,} sentences with one"
        rows.append((several, *_score(report.with_discontinuous)))
    notes = [f"{counts['sentences']:,} sentences", f"{counts['words']:,} words"]
    removed = {side: counts[f"{side}_duplicates_removed"] for side in ("gold", "predicted")}
    notes += [f"{times:,} duplicates removed from {side}" for side, times in removed.items() if times]
    if intervals:
        notes.append(_about_intervals(intervals))
    if report.words_per_second is not None:
        notes.append(f"{report.words_per_second:,.0f} words a second")
    if intervals and intervals.note:
        notes.append(intervals.note)
    return Section("Scores", ("", *SCORE_HEADER), rows, "; ".join(notes))


def _has_discontinuous(report: Report) -> bool:
    return report.discontinuous != Score()


def _about_intervals(intervals: Confidence) -> str:
    """How the intervals were computed."""
    exact = [SCORE_HEADER[MEASURES.index(name)] for name, method in intervals.methods.items() if method == "exact"]
    if len(exact) == len(MEASURES):
        return "exact intervals"
    drawn = f"intervals from {intervals.samples:,} bootstrap samples, seed {intervals.seed}"
    return f"{drawn}, exact for {' and '.join(exact)}" if exact else drawn


def _scores(title: str, what: str, scores: Iterable[tuple[str, Score]]) -> Section:
    return Section(title, (what, *SCORE_HEADER), [(name, *_score(score)) for name, score in scores])


def _slices(title: str, what: str, slices: Iterable[tuple[str, Slice]]) -> Section:
    rows = [
        (
            name,
            _percent(part.precision) if part.predicted else NO_VALUE,
            *_numbers(part.correct, part.predicted),
            _percent(part.recall) if part.gold else NO_VALUE,
            *_numbers(part.found, part.gold),
        )
        for name, part in slices
    ]
    return Section(title, (what, *SLICE_HEADER), rows)


def calibration_section(title: str, found: Calibration) -> Section:
    """The mean probability and precision of mentions by bin."""
    rows = [
        (
            f"{part.low:.1f}–{part.high:.1f}",
            f"{part.count:,}",
            _percent(part.probability) if part.count else NO_VALUE,
            _percent(part.correct) if part.count else NO_VALUE,
        )
        for part in found.bins
    ]
    missed = f"; {counted(found.missed, 'gold mention')} not among these" if found.missed else ""
    note = f"ECE {found.ece:.4f}, Brier {found.brier:.4f}{missed}"
    return Section(title, ("probability", "mentions", "mean probability", "right"), rows, note)


def _score(score: Score) -> tuple[str, ...]:
    return (
        _percent(score.precision) if score.predicted else NO_VALUE,
        _percent(score.recall) if score.gold else NO_VALUE,
        _percent(score.f1) if score.predicted + score.gold else NO_VALUE,
        *_numbers(score.correct, score.predicted, score.gold),
    )


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2f}"


def _numbers(*counts: int) -> tuple[str, ...]:
    return tuple(f"{count:,}" for count in counts)
