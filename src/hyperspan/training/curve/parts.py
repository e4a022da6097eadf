"""Nested subsets of a corpus: for one seed, a smaller part is contained in every larger one."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hyperspan.errors import InputError, counted
from hyperspan.types import Sentence

FEW_DOCUMENTS = 10
"""With fewer documents than this, parts are samples of sentences: one document out of three is not representative."""
SMALLEST, LARGEST_RATIO = 15, 10**0.5
"""For default sizes: the smallest size, and the largest ratio of consecutive sizes."""


class Parts:
    """Parts of a corpus with a given number of sentences: the first sentences of the documents in random order.

    So a part is what an annotator would produce who takes one document after the other. If documents are single
    sentences, or few, a part is a random sample of sentences.

    >>> zoo = [[Sentence(["Ada", "left"])], [Sentence(["Bo", "stayed"])], [Sentence(["Why", "?"])]]
    >>> parts = Parts(zoo)
    >>> set(parts.part(1, seed=1)) < set(parts.part(2, seed=1)), parts.part(3, seed=1)
    (True, [0, 1, 2])
    """

    def __init__(self, documents: Sequence[Sequence[Sentence]]):
        self.largest = sum(map(len, documents))
        """The largest possible size."""
        numbers = iter(range(self.largest))
        self._units = [[next(numbers) for _ in document] for document in documents]
        if len(documents) < FEW_DOCUMENTS:
            self._units = [[number] for number in range(self.largest)]

    def limit(self) -> str:
        """A clause on why there is no larger size."""
        return f"data.train has {counted(self.largest, 'sentence')}"

    def part(self, size: int, seed: int) -> list[int]:
        """The sentence indices of a part, in corpus order."""
        units = list(self._units)
        random.Random(seed).shuffle(units)
        return sorted([number for unit in units for number in unit][:size])


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
            f"--sizes {','.join(map(str, sizes))} is fewer than two sizes, but a curve needs at least two, and three to be "
            f"fitted; write for example --sizes 30,100,300"
        )
    if sizes[0] < 1:
        raise InputError(f"--sizes {sizes[0]} is no size; the smallest is 1")
    if sizes[-1] > parts.largest:
        raise InputError(
            f"--sizes {sizes[-1]} is larger than the corpus: {parts.limit()}; ask for at most {parts.largest}"
        )
    return sizes


def _rounded(size: float) -> int:
    """Round to two significant digits, which are easier to read."""
    return int(float(f"{size:.1e}"))
