"""Map a function over parts of texts in several processes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")

_FOR_EACH = 2 * 2**20
"""The number of bytes per process that makes starting it worthwhile."""


def useful_processes(files: Iterable[Path], most: int) -> int:
    """The number of processes for reading files, given `most` cores."""
    return max(min(sum(file.stat().st_size for file in files) // _FOR_EACH, most), 1)


def map_parts(
    make: Callable[..., Callable[[Part], Result]], arguments: tuple[Any, ...], parts: Iterable[Part], processes: int
) -> Iterator[Result]:
    """Yield the results of the function `make(*arguments)` for each part, in order. Every process creates its function
    once.

    >>> from functools import partial
    >>> list(map_parts(partial, (max, 2), [1, 3], processes=1))
    [2, 3]
    """
    if processes < 2:
        yield from map(make(*arguments), parts)
        return
    waiting: deque[Future[Result]] = deque()
    with ProcessPoolExecutor(processes, get_context("spawn"), _set_up, (make, arguments)) as pool:
        try:
            for part in parts:
                waiting.append(pool.submit(_call, part))
                if len(waiting) > 4 * processes:  # a few for each process are in memory
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_function: Callable[[Any], Any]
"""The function of a worker process."""


def _set_up(make: Callable[..., Callable[[Any], Any]], arguments: tuple[Any, ...]) -> None:
    global _function
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    _function = make(*arguments)


def _call(part: Any) -> Any:
    return _function(part)
