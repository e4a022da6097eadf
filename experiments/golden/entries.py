"""The entries of a record, and how two of them are compared.

An entry is a small JSON object. The first key says what it holds, and so how near two must be:

- `exact`: anything, which must be equal.
- `tree`: nested lists and tables; their numbers may differ by 1e-5.
- `probabilities`: by mention, to within 1e-5. `cut` is the least probability, for all labels or by label. `unsure` are
  regions of characters in which two sets are best.
- `logs`: logarithms, to within 1e-5, relative above 1.
- `losses`: those of training, to within 1e-4, relative.
- `best`: the best set of each sentence, with `lead`, how much more probable it is than the next, in nats.
- `ranked`: the k best sets of each sentence with their log-probabilities; sets may change places with a tie.
- `counts`: how often sets were drawn where random numbers are no contract, to within 5 standard deviations.

A mention may come or go only within 1e-5 of its cut, or where the two best sets are as near to each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Entry = dict[str, Any]
NEAR = 1e-5
"""The largest difference of two probabilities, and of two logarithms, relative above 1."""
NEAR_LOSS = 1e-4
"""The largest relative difference of two losses."""
DEVIATIONS = 5
"""The standard deviations that counts of samples may differ by."""


def differences(a: Entry, b: Entry) -> Iterator[str]:
    """What differs between two entries, in words; nothing if they agree."""
    kind = next(iter(a), "")
    if kind != next(iter(b), "") or kind not in _COMPARE:
        yield f"{_short(a)} became {_short(b)}"
        return
    yield from _COMPARE[kind](a, b)


def near(a: float, b: float, most: float = NEAR) -> bool:
    """Whether two numbers agree; minus infinity agrees with itself alone.

    >>> near(0.25, 0.250009), near(0.25, 0.25002), near(-math.inf, -math.inf), near(-math.inf, -1e9)
    (True, False, True, False)
    """
    if not (math.isfinite(a) and math.isfinite(b)):
        return a == b or (math.isnan(a) and math.isnan(b))
    return abs(a - b) <= most * max(1.0, abs(a), abs(b))


def _short(value: Any, most: int = 70) -> str:
    text = str(value)
    return text if len(text) <= most else f"{text[:most]}…"


def _exact(a: Entry, b: Entry) -> Iterator[str]:
    if a != b:
        yield f"{_short(a['exact'])} became {_short(b['exact'])}"


def _tree(a: Entry, b: Entry) -> Iterator[str]:
    yield from _nested(a["tree"], b["tree"], "")


def _nested(a: Any, b: Any, place: str) -> Iterator[str]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in a.keys() | b.keys():
            if key in a and key in b:
                yield from _nested(a[key], b[key], f"{place}.{key}")
            else:
                yield f"{place}.{key} {'came' if key in b else 'is missing'}"
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for number, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from _nested(one, other, f"{place}[{number}]")
    elif isinstance(a, float) and isinstance(b, int | float):
        if not near(a, b):
            yield f"{place} {a} became {b}"
    elif a != b:
        yield f"{place} {_short(a)} became {_short(b)}"


def _probabilities(a: Entry, b: Entry) -> Iterator[str]:
    one, other = a["probabilities"], b["probabilities"]
    for mention in sorted(one.keys() & other.keys()):
        if not near(one[mention], other[mention]):
            yield f"{mention}: {one[mention]} became {other[mention]}"
    for here, there, what in ((one, other, "is missing, it had"), (other, one, "came, with")):
        for mention in sorted(here.keys() - there.keys()):
            if not any(_may_go(mention, here[mention], entry) for entry in (a, b)):
                yield f"{mention} {what} {here[mention]}"


def _may_go(mention: str, probability: float, entry: Entry) -> bool:
    """Whether rounding may decide if this mention is there."""
    cut = entry.get("cut")
    if isinstance(cut, dict):
        cut = cut.get(mention.partition(" ")[2], cut["*"])
    if cut is not None:
        return near(probability, cut)
    spans = mention.partition(" ")[0].replace(",", "-").split("-")
    return any(start <= int(spans[0]) and int(spans[-1]) <= end for start, end in entry.get("unsure", ()))


def _logs(a: Entry, b: Entry) -> Iterator[str]:
    yield from _numbers(a["logs"], b["logs"], NEAR)


def _losses(a: Entry, b: Entry) -> Iterator[str]:
    yield from _numbers(a["losses"], b["losses"], NEAR_LOSS)


def _numbers(a: Sequence[float], b: Sequence[float], most: float) -> Iterator[str]:
    if len(a) != len(b):
        yield f"{len(a)} numbers became {len(b)}"
        return
    for number, (one, other) in enumerate(zip(a, b, strict=True)):
        if not near(one, other, most):
            yield f"[{number}] {one} became {other}"


def _best(a: Entry, b: Entry) -> Iterator[str]:
    if len(a["best"]) != len(b["best"]):
        yield f"{len(a['best'])} sentences became {len(b['best'])}"
        return
    for number, (one, other) in enumerate(zip(a["best"], b["best"], strict=True)):
        if one != other and min(a["lead"][number], b["lead"][number]) > NEAR:
            yield f"[{number}] {_short(one)} became {_short(other)}"


def _ranked(a: Entry, b: Entry) -> Iterator[str]:
    if len(a["ranked"]) != len(b["ranked"]):
        yield f"{len(a['ranked'])} sentences became {len(b['ranked'])}"
        return
    for number, (one, other) in enumerate(zip(a["ranked"], b["ranked"], strict=True)):
        if len(one) != len(other):
            yield f"[{number}] {len(one)} sets became {len(other)}"
            continue
        for (p, _), (q, _) in zip(one, other, strict=True):
            if not near(p, q):
                yield f"[{number}] the log-probability {p} became {q}"
        for ranked, others in ((one, other), (other, one)):
            known = {tuple(found): p for p, found in others}
            for p, found in ranked:
                at_the_end = near(p, ranked[-1][0])  # a tie with the first set that is left out
                if not near(p, known.get(tuple(found), p if at_the_end else math.nan)):
                    yield f"[{number}] the set {_short(found)} with {p} is in one record alone"


def _counts(a: Entry, b: Entry) -> Iterator[str]:
    if len(a["counts"]) != len(b["counts"]):
        yield f"{len(a['counts'])} sentences became {len(b['counts'])}"
        return
    for number, (one, other) in enumerate(zip(a["counts"], b["counts"], strict=True)):
        for found in sorted(one.keys() | other.keys()):
            # a set outside the ten most frequent was drawn at most as often as the last of them
            counts = [here.get(found, min(here.values(), default=0)) for here in (one, other)]
            if abs(counts[0] - counts[1]) > DEVIATIONS * math.sqrt(sum(counts) + 1):
                yield f"[{number}] {_short(found)} was drawn {counts[0]} times, then {counts[1]} times"


_COMPARE: Mapping[str, Callable[[Entry, Entry], Iterator[str]]] = {
    "exact": _exact,
    "tree": _tree,
    "probabilities": _probabilities,
    "logs": _logs,
    "losses": _losses,
    "best": _best,
    "ranked": _ranked,
    "counts": _counts,
}
