"""The paper's table of model properties, computed: no cell is typed in.

On a short sentence, all sets of mentions and all hyperpaths are enumerated. A hyperpath is *spurious* if no set is
encoded as it; sets with the same encoding are *ambiguous*. Whether mentions may cross, and whether those of one type
may overlap, is read off the sets that a system can represent; a *pipeline* decodes several hypergraphs one after the
other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product
from typing import Any

from experiments.paper.growth import counted_order
from experiments.paper.systems import HOLDS, SYSTEMS, System, overlapping_pairs
from hyperspan.evaluation.tables import NO_VALUE, Section
from hyperspan.structures.graphs.hypergraph import hyperpaths
from hyperspan.structures.mentions import MentionSet
from hyperspan.types import Sentence

WORDS, TYPES = 3, 2
"""The shortest sentence in which mentions can be nested, crossing, of the same type or of different ones."""


@dataclass(frozen=True)
class Properties:
    """The counts of a system on a sentence of `words` words and `types` types."""

    words: int
    types: int
    sets: int
    """The number of all sets of mentions."""
    held: int
    """The number of sets that the system can learn from."""
    hyperpaths: int
    spurious: int
    """Hyperpaths that encode no set."""
    ambiguous: int
    """Sets with the same encoding as another set."""
    overlapping: int
    """Sets it can learn from in which mentions overlap."""
    crossing: int
    """Those with overlap in which neither mention contains the other."""
    same_type: int
    """Those with overlap between mentions of the same type."""
    stages: int
    """Hypergraphs that are decoded one after the other."""

    @property
    def cells(self) -> tuple[str, ...]:
        """The paper's columns but the last; "flat" if nothing may overlap, so that the question does not apply."""
        return (
            _yes(self.spurious > 0),
            _yes(self.ambiguous > 0),
            _yes(not self.crossing) if self.overlapping else "flat",
            _yes(self.stages > 1),
            _yes(not self.same_type) if self.overlapping else "flat",
        )


def _yes(truth: bool) -> str:
    return "yes" if truth else "no"


def all_sets(n: int, m: int, *, gaps: bool = False) -> Iterator[MentionSet]:
    """All sets of mentions in a sentence of n words and m types; with `gaps`, mentions may also skip a word before
    their last.

    >>> len(list(all_sets(3, 1))), len(list(all_sets(3, 1, gaps=True)))
    (64, 128)
    """
    spans = list(combinations(range(n + 1), 2))
    mentions: list[Any] = [(start, end, kind) for (start, end), kind in product(spans, range(m))]
    if gaps:
        mentions += [
            (start, end + 2, kind, ((start, end), (end + 1, end + 2)))
            for (start, end), kind in product(spans, range(m))
            if end + 2 <= n
        ]
    sizes = range(len(mentions) + 1)
    return map(frozenset, chain.from_iterable(combinations(mentions, size) for size in sizes))


def count(system: System, n: int = WORDS, m: int = TYPES) -> Properties:
    """Count the properties of a system by enumeration.

    >>> separators = next(system for system in SYSTEMS if system.name.startswith("Muis"))
    >>> found = count(separators, n=3, m=1)
    >>> found.sets, found.hyperpaths, found.spurious, found.ambiguous
    (64, 40, 0, 28)
    """
    graphs = system.graphs(n, m, None)
    codes = [system.code_of_paths(paths) for paths in product(*(list(hyperpaths(graph)) for graph in graphs))]
    learnt = {mentions: system.code_of_set(mentions, n, m) for mentions in all_sets(n, m, gaps=system.gaps)}
    possible = set(codes)
    held = {mentions: code for mentions, code in learnt.items() if code in possible}
    times = Counter(held.values())
    pairs = {mentions: overlapping_pairs(mentions) for mentions in held}
    return Properties(
        words=n,
        types=m,
        sets=len(learnt),
        held=len(held),
        hyperpaths=len(codes),
        spurious=len(codes) - len(times),
        ambiguous=sum(times[code] > 1 for code in held.values()),
        overlapping=sum(bool(found) for found in pairs.values()),
        crossing=sum(any(a[0] < b[0] and a[1] < b[1] for a, b in found) for found in pairs.values()),
        same_type=sum(any(a[2] == b[2] for a, b in found) for found in pairs.values()),
        stages=len(graphs),
    )


def compute(systems: Sequence[System] = SYSTEMS) -> dict[str, tuple[Properties, str]]:
    """The properties and the order of growth of each system, by its name."""
    return {system.name: (count(system), counted_order(system)) for system in systems}


def sections(found: dict[str, tuple[Properties, str]]) -> list[Section]:
    """The paper's table, and what was counted for it."""
    return [_cells_section(found), _counts_section(found)]


def _cells_section(found: dict[str, tuple[Properties, str]]) -> Section:
    papers = {system.name: system.paper for system in SYSTEMS}
    rows = []
    for name, (counted, growth) in found.items():
        *cells, time = papers[name] or [NO_VALUE]
        agrees = _yes(tuple(cells) == counted.cells) if cells else NO_VALUE
        rows.append([name, *counted.cells, growth, time, agrees])
    header = ("", "spurious", "ambiguous", "only nested", "pipeline", "different types only", "time", "paper's time")
    note = "flat: no two mentions may overlap; time: the operations of one pass, counted; last: whether the paper says the same"
    return Section("Model properties", (*header, "as the paper"), rows, note)


def _counts_section(found: dict[str, tuple[Properties, str]]) -> Section:
    names = ("hyperpaths", "spurious", "held", "ambiguous", "overlapping", "crossing", "same_type", "stages")
    rows = [[name, *(f"{getattr(counted, key):,}" for key in names)] for name, (counted, _) in found.items()]
    one = next(iter(found.values()))[0]
    title = f"Counted in {one.words} words with {one.types} types, which have {one.sets:,} sets of mentions"
    note = (
        "held: sets it can learn from, then how many of them are ambiguous, have overlapping mentions, and so on; "
        "SH with gaps: of all sets of mentions of one part or two"
    )
    return Section(title, ("", *(name.replace("_", " ") for name in names)), rows, note)


EXAMPLES: dict[str, MentionSet] = {
    "nested": frozenset({(0, 3, 0), (0, 2, 1)}),
    "nested, one type": frozenset({(0, 3, 0), (0, 2, 0)}),
    "… inside": frozenset({(0, 4, 0), (1, 3, 0)}),
    "crossing": frozenset({(0, 2, 0), (1, 3, 1)}),
    "crossing, one type": frozenset({(0, 2, 0), (1, 3, 0)}),
    "two types on a span": frozenset({(0, 2, 0), (0, 2, 1)}),
}
"""The kinds of overlap in the paper, each as its smallest set."""


def overlaps_section() -> Section:
    """The kinds of overlap that each system distinguishes from all other sets."""
    rows = [[name, *(_yes(holds(mentions)) for mentions in EXAMPLES.values())] for name, holds in HOLDS.items()]
    return Section("Overlap that each system distinguishes from all other sets", ("", *EXAMPLES), rows)


def held_in(sentences: Iterable[Sentence]) -> dict[str, tuple[int, int, int, int]]:
    """By system: the sentences with mentions, those it distinguishes from all other sets, and both for overlapping
    mentions."""
    sets: list[MentionSet] = []
    for sentence in sentences:
        kinds = {label: kind for kind, label in enumerate(sorted({m.label for m in sentence.mentions}))}
        sets.append(frozenset((m.start, m.end, kinds[m.label]) for m in sentence.mentions if not m.fragments))
    sets = [mentions for mentions in sets if mentions]
    overlapping = [mentions for mentions in sets if overlapping_pairs(mentions)]
    return {
        name: (len(sets), sum(map(holds, sets)), len(overlapping), sum(map(holds, overlapping)))
        for name, holds in HOLDS.items()
    }


def corpus_section(held: dict[str, tuple[int, int, int, int]], name: str) -> Section:
    """How many sentences of a corpus each system can represent."""
    all_, _, overlapping, _ = next(iter(held.values()))
    title = f"{name}: {all_:,} sentences with mentions, {overlapping:,} with overlapping ones"
    rows = [
        [system, f"{ours:,}", _share(ours, all_), f"{ours_overlapping:,}", _share(ours_overlapping, overlapping)]
        for system, (_, ours, _, ours_overlapping) in held.items()
    ]
    note = (
        "held: sentences whose mentions a system distinguishes from all other sets; then those whose mentions overlap"
    )
    return Section(title, ("", "held", "share", "overlapping", "share"), rows, note)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f}%"
