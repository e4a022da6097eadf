"""Windows hold every word, overlap, and give each word as much context as any of them does."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.nn.subwords import best_windows, windows_of


@given(st.data())
def test_windows(data: st.DataObject) -> None:
    capacity = data.draw(st.integers(2, 30))
    stride = data.draw(st.integers(1, capacity - 1))
    words = st.integers(1, max(capacity // 2, 1))
    sizes = np.array(data.draw(st.lists(words, min_size=1, max_size=80).filter(lambda drawn: sum(drawn) > capacity)))
    windows = windows_of(sizes, capacity, stride)
    assert windows[0][0] == 0 and windows[-1][1] == len(sizes)
    for first, last in windows:
        assert first < last and sizes[first:last].sum() <= capacity
    for (begin, end), (first, last) in pairwise(windows):
        assert begin < first <= end < last

    total = sizes.sum()
    for word, chosen in enumerate(best_windows(sizes, windows)):
        around = []
        for first, last in windows:
            before = sizes[first:word].sum() if first else total
            after = sizes[word + 1 : last].sum() if last < len(sizes) else total
            around.append(min(before, after) if first <= word < last else -1)
        assert around[chosen] == max(around) >= 0
