"""The hyperedges that sets of mentions use, and their scores. Needs no torch for arrays."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from hyperspan.kernels.numbers import gathered, index_sum, is_array, namespace, placed
from hyperspan.structures.mentions import AnyMention, Mention, Parts, parts_of
from hyperspan.structures.scores import DiscontinuousScores, EdgeScores

Place = tuple[int, int]
"""The word at which a span begins, and its number of words minus one: the place of its score."""


class Hyperpaths(NamedTuple):
    """The scored hyperedges that mention sets use, as index columns (sentence, start[, width], type).

    T → X is used wherever no mention starts, so only the other four are listed.
    """

    present: Any  # (3, number of edges)
    extend: Any  # (4, ...)
    close: Any
    branch: Any


def hyperpaths_of(mention_sets: Sequence[set[Mention]], max_width: int, like: Any) -> Hyperpaths:
    """The hyperedges of the given sets, placed as scores `like` these are; mentions wider than `max_width` are left
    out."""
    given = [(b, start, kind, end - start - 1) for b, some in enumerate(mention_sets) for start, end, kind in some]
    mentions = np.array(sorted(given), dtype=np.int64).reshape(-1, 4)
    mentions = mentions[mentions[:, 3] < max_width]
    chain, width = mentions[:, :3], mentions[:, 3]
    longest = np.ones(len(mentions), dtype=bool)  # the last mention of its (sentence, start, type)
    longest[:-1] = (chain[1:] != chain[:-1]).any(1)
    reach = width[longest]  # (chains,): there is an edge at every smaller width
    first = reach.cumsum() - reach  # (chains,)
    steps = np.repeat(chain[longest], reach, axis=0)
    at = np.arange(len(steps)) - np.repeat(first, reach)
    ending = np.zeros(len(steps), dtype=bool)
    ending[(np.repeat(first, np.diff(longest.nonzero()[0], prepend=-1)) + width)[~longest]] = True
    rows = np.column_stack([steps[:, :2], at, steps[:, 2]])
    close = np.column_stack([chain[longest, :2], reach, chain[longest, 2]])
    return Hyperpaths(*_columns_on([chain[longest].T, rows[~ending].T, close.T, rows[ending].T], like))


def _columns_on(columns: Sequence[np.ndarray], like: Any) -> Sequence[Any]:
    if is_array(like):
        return columns
    from hyperspan.kernels.transfer import to_device

    return to_device(columns, like.device)


def path_scores(scores: EdgeScores[Any], paths: Hyperpaths) -> Any:
    """(B, n, m): the score of what hyperpaths choose in each chain; arbitrary in padding."""
    xp = namespace(scores.close)
    if scores.branch is None:
        used = [
            (scores.extend, xp.concatenate([paths.extend, paths.branch], 1)),
            (scores.close, xp.concatenate([paths.close, paths.branch], 1)),
        ]
    else:
        used = [(scores.extend, paths.extend), (scores.close, paths.close), (scores.branch, paths.branch)]
    total = _begun(scores, paths)
    for values, edges in used:
        sentence, start, _, kind = edges
        total = _added(total, (sentence, start, kind), gathered(values, edges))
    return total


def _begun(scores: EdgeScores[Any] | DiscontinuousScores[Any], paths: Hyperpaths) -> Any:
    """(B, n, m): the score of T → X or of T → I of each chain."""
    xp = namespace(scores.absent)
    active = xp.zeros_like(scores.absent, dtype=xp.bool_ if is_array(scores.absent) else xp.bool)
    active[tuple(paths.present)] = True
    return xp.where(active, scores.present, scores.absent)


def _added(total: Any, chains: tuple[Any, Any, Any], values: Any) -> Any:
    """(B, n, m): a total with values added to chains, (sentence, start, type), which may be there several times."""
    _, n, m = total.shape
    sentence, start, kind = chains
    return index_sum(total.reshape(-1), (sentence * n + start) * m + kind, values).reshape(total.shape)


def edges_of(parts: Parts) -> Iterator[tuple[str, object, Place]]:
    """The edges of a mention: the name of the scores, the key that identifies a shared edge, and the place of the
    score.

    >>> [(name, place) for name, _, place in edges_of(((0, 2), (3, 4)))]
    [('open', (0, 1)), ('gap', (2, 0)), ('last', (3, 0))]
    """
    start, end = parts[0]
    if len(parts) == 1:
        yield "close", parts, (start, end - start - 1)
        return
    for index, ((start, end), (following, _)) in enumerate(itertools.pairwise(parts), 1):
        yield "open", parts[:index], (start, end - start - 1)
        yield "gap", (parts[:index], following), (end, following - end - 1)
    start, end = parts[-1]
    yield "last", parts, (start, end - start - 1)


def first_parts(mentions: Iterable[AnyMention]) -> set[Mention]:
    """The first parts of mentions, as mentions."""
    return {(*parts_of(mention)[0], mention[2]) for mention in mentions}


def discontinuous_path_scores(scores: DiscontinuousScores[Any], sets: Sequence[Iterable[AnyMention]]) -> Any:
    """(B, n, m): the score of what sets of mentions, which may be discontinuous, choose in each chain; arbitrary in
    padding."""
    paths = hyperpaths_of([first_parts(some) for some in sets], scores.close.shape[2], scores.close)
    total = _begun(scores, paths)
    steps = namespace(scores.close).concatenate([paths.extend, paths.branch], 1)
    total = _added(total, (steps[0], steps[1], steps[3]), gathered(scores.extend, steps))
    for name, rows in _part_rows(sets).items():
        sentence, at, width, kind, start = (placed(column, total) for column in rows)
        total = _added(total, (sentence, start, kind), scores.tensors()[name][sentence, at, width, kind])
    return total


def _part_rows(sets: Sequence[Iterable[AnyMention]]) -> dict[str, np.ndarray]:
    """The edges of parts and gaps, each once, since mentions share their common prefixes of parts: (5, edges) by the
    name of their scores, as sentence, word, width, type and the start of the mention."""
    found: dict[str, dict[object, tuple[int, ...]]] = {name: {} for name in ("close", "open", "gap", "last")}
    for sentence, mentions in enumerate(sets):
        for mention in mentions:
            for name, prefix, (at, width) in edges_of(parts_of(mention)):
                found[name][sentence, mention[2], prefix] = (sentence, at, width, mention[2], mention[0])
    return {name: np.array(list(rows.values()), dtype=np.int64).reshape(-1, 5).T.copy() for name, rows in found.items()}


def pair_uses(
    mention_sets: Sequence[Iterable[Mention]], group_of: Sequence[int], max_width: int
) -> dict[str, np.ndarray]:
    """The pair scores that sets use, as index columns (sentence, start, width, k, l), by the name of the scores."""
    together: list[tuple[int, ...]] = []
    within: list[tuple[int, ...]] = []
    for sentence, mentions in enumerate(mention_sets):
        starts: dict[int, dict[int, set[int]]] = {}
        for start, end, kind in mentions:
            if end - start <= max_width:
                starts.setdefault(start, {}).setdefault(kind, set()).add(end - start - 1)
        for start, by_type in starts.items():
            for k, widths in by_type.items():
                for l, others in by_type.items():  # noqa: E741
                    if k == l or group_of[k] != group_of[l]:
                        continue
                    together += [(sentence, start, width, k, l) for width in widths & others if k < l]
                    within += [(sentence, start, width, k, l) for width in widths if width < max(others)]
    used = {"together": together, "within": within}
    return {name: np.array(sorted(rows), dtype=np.int64).reshape(-1, 5).T.copy() for name, rows in used.items()}
