"""Nested subsets of a corpus: for one seed, a smaller part is contained in every larger one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from hyperspan.errors import InputError, counted
from hyperspan.types import Sentence

FEW_DOCUMENTS = 10
"""With fewer documents than this, parts are samples of sentences: one document out of three is not representative."""
SMALLEST, LARGEST_RATIO = 15, 10**0.5
"""For default sizes: the smallest size, and the largest ratio of consecutive sizes."""


class Parts(Protocol):
    """The parts of a corpus."""

    unit: str
    """The unit of sizes."""
    option: str
    """The option of the command that asks for sizes."""
    largest: int
    """The largest possible size."""

    def limit(self) -> str:
        """A clause on why there is no larger size."""
        ...

    def notes(self, sizes: Sequence[int]) -> list[str]:
        """Notes on surprises in parts of these sizes."""
        ...

    def part(self, size: int, seed: int) -> list[int]:
        """The sentence indices of a part, in corpus order."""
        ...


class SentenceParts:
    """Parts with a given number of sentences: the first sentences of the documents in random order.

    So a part is what an annotator would produce who takes one document after the other. If documents are single
    sentences, or few, a part is a random sample of sentences.

    >>> zoo = [[Sentence(["Ada", "left"])], [Sentence(["Bo", "stayed"])], [Sentence(["Why", "?"])]]
    >>> parts = SentenceParts(zoo)
    >>> set(parts.part(1, seed=1)) < set(parts.part(2, seed=1)), parts.part(3, seed=1)
    (True, [0, 1, 2])
    """

    unit, option = "sentences", "--sizes"

    def __init__(self, documents: Sequence[Sequence[Sentence]]):
        self.largest = sum(map(len, documents))
        numbers = iter(range(self.largest))
        self._units = [[next(numbers) for _ in document] for document in documents]
        if len(documents) < FEW_DOCUMENTS:
            self._units = [[number] for number in range(self.largest)]

    def limit(self) -> str:
        return f"data.train has {counted(self.largest, 'sentence')}"

    def notes(self, sizes: Sequence[int]) -> list[str]:
        return []

    def part(self, size: int, seed: int) -> list[int]:
        units = list(self._units)
        random.Random(seed).shuffle(units)
        return sorted([number for unit in units for number in unit][:size])


class LabelParts:
    """Parts with about the same number of sentences for every label, as in few-shot work.

    Sentences are drawn for one label after the other, the rarest first, until each has one; then until each has two,
    and so on. A sentence counts for all labels that it holds, so frequent labels may have more than they need; rare
    ones have all there are.
    """

    unit, option = "sentences a label", "--per-label"

    def __init__(self, sentences: Sequence[Sentence]):
        self._labels = [{mention.label for mention in sentence.mentions} for sentence in sentences]
        self.counts = Counter(label for labels in self._labels for label in sorted(labels))
        """The number of sentences with each label."""
        if not self.counts:
            raise InputError("the training corpus has no mentions, so no labels to choose sentences by; annotate some")
        self.largest = max(self.counts.values())

    def limit(self) -> str:
        label, count = self.counts.most_common(1)[0]
        return f"its most frequent label, {label}, is in {counted(count, 'sentence')}"

    def notes(self, sizes: Sequence[int]) -> list[str]:
        few = sorted((count, label) for label, count in self.counts.items() if count < max(sizes))
        rare = ", ".join(f"{label} ({count:,})" for count, label in few)
        return (
            [f"fewer than {max(sizes):,} sentences hold these labels, so parts have all there are: {rare}"]
            if few
            else []
        )

    def part(self, size: int, seed: int) -> list[int]:
        order = list(range(len(self._labels)))
        random.Random(seed).shuffle(order)
        rarest_first = sorted(self.counts, key=lambda label: (self.counts[label], label))
        holding = {label: iter([n for n in order if label in self._labels[n]]) for label in rarest_first}
        chosen: set[int] = set()
        have: Counter[str] = Counter()
        for wanted in range(1, size + 1):
            for label in rarest_first:
                while have[label] < min(wanted, self.counts[label]):
                    number = next(holding[label])
                    if number not in chosen:
                        chosen.add(number)
                        have.update(self._labels[number])
        return sorted(chosen)


def default_sizes(largest: int) -> list[int]:
    """About five sizes up to the largest, each a multiple of the one before.

    >>> [default_sizes(largest) for largest in (60, 300, 15_022)]
    [[15, 30, 60], [15, 32, 67, 140, 300], [150, 480, 1500, 4800, 15022]]
    """
    smallest = min(SMALLEST, max(1, largest // 4))
    steps = max(1, min(4, (-(-largest // smallest) - 1).bit_length()))  # at most doublings
    ratio = min(LARGEST_RATIO, (largest / smallest) ** (1 / steps))
    sizes = (largest / ratio**step for step in range(steps, 0, -1))
    return sorted({*(max(1, _rounded(size)) for size in sizes), largest})


def check_sizes(given: Sequence[int], parts: Parts) -> list[int]:
    """Return the sizes in order, without duplicates; raise an error for impossible sizes."""
    sizes = sorted(set(given))
    if parts.largest < 2:
        raise InputError(f"{parts.limit()}, but a curve needs parts of at least two sizes; annotate more")
    if len(sizes) < 2:
        raise InputError(
            f"{parts.option} {','.join(map(str, sizes))} is fewer than two sizes, but a curve needs at least two, and three to be "
            f"fitted; write for example {parts.option} 30,100,300"
        )
    if sizes[0] < 1:
        raise InputError(f"{parts.option} {sizes[0]} is no size; the smallest is 1")
    if sizes[-1] > parts.largest:
        raise InputError(
            f"{parts.option} {sizes[-1]} is larger than the corpus: {parts.limit()}; ask for at most {parts.largest}"
        )
    return sizes


def _rounded(size: float) -> int:
    """Round to two significant digits, which are easier to read."""
    return int(float(f"{size:.1e}"))
