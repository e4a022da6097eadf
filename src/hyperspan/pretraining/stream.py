"""Text as one stream of an encoder's subwords, cut by several processes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hyperspan.config import TransformerConfig
from hyperspan.encoders.subwords import SubwordTokenizer
from hyperspan.errors import InputError
from hyperspan.pretraining.texts import Lines, parts_of, token_lines
from hyperspan.text.tokenize import Tokenizer

_FOR_EACH = 2 * 2**20
"""Bytes of files for which a process is worth its start."""


class SubwordStream(NamedTuple):
    """The subwords of words that follow one another."""

    ids: np.ndarray
    """(N,) int32."""
    begins: np.ndarray
    """(N,) bool: whether a subword is the first of a word."""


class SubwordEncoder:
    """Lines of tokens to subwords. Words are cut one by one, as models do that read them with the encoder.

    Between documents stands what the encoder puts at the end of a text.
    """

    def __init__(self, name: str, description: dict[str, Any], length: int, tokenizer: Tokenizer):
        self.subwords = SubwordTokenizer(TransformerConfig(name, window=length), description)
        self.tokenizer = tokenizer
        self.arguments = (name, description, length, tokenizer)
        """Other processes make their own encoder of these."""

    @property
    def separator(self) -> int | None:
        """The subword between documents, if the encoder knows one."""
        return self.subwords.suffix[0] if self.subwords.suffix else None

    def encode(self, part: str | Lines) -> SubwordStream:
        """The subwords of a part of a text."""
        words: list[list[int]] = []
        between = [] if self.separator is None else [[self.separator]]
        for line in token_lines(part, self.tokenizer) if isinstance(part, str) else part:
            words += map(self.subwords.encode, line) if line else between
        sizes = np.fromiter(map(len, words), np.int64, len(words))
        ids = np.fromiter(chain.from_iterable(words), np.int32, int(sizes.sum()))
        begins = np.zeros(len(ids), dtype=np.bool_)
        begins[sizes.cumsum() - sizes] = True
        return SubwordStream(ids, begins)


def useful_processes(files: Iterable[Path], most: int) -> int:
    """How many processes to read files with, where there are `most` cores."""
    return max(min(sum(file.stat().st_size for file in files) // _FOR_EACH, most), 1)


def read_stream(encoder: SubwordEncoder, files: Iterable[Path], processes: int) -> SubwordStream:
    """The subwords of files one after the other; no two separators in a row."""
    parts = (part for file in files for part in parts_of(file, encoder.tokenizer))
    encoded = map(encoder.encode, parts) if processes < 2 else _in_processes(encoder, parts, processes)
    streams = list(encoded)
    if not streams or not sum(len(stream.ids) for stream in streams):
        raise InputError("there are no words in the texts; name files with text")
    ids, begins = (np.concatenate(arrays) for arrays in zip(*streams, strict=True))
    if encoder.separator is not None:
        separators = ids == encoder.separator
        keep = ~(separators & np.concatenate([[True], separators[:-1]]))  # none at the beginning
        ids, begins = ids[keep], begins[keep]
    return SubwordStream(ids, begins)


_process_encoder: SubwordEncoder
"""Of a process that encodes parts for another one."""


def _set_up(*arguments: Any) -> None:
    global _process_encoder
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    _process_encoder = SubwordEncoder(*arguments)


def _encode(part: str | Lines) -> SubwordStream:
    return _process_encoder.encode(part)


def _in_processes(encoder: SubwordEncoder, parts: Iterable[str | Lines], processes: int) -> Iterator[SubwordStream]:
    """In order, with a few parts for each process in memory."""
    waiting: deque[Future[SubwordStream]] = deque()
    with ProcessPoolExecutor(processes, get_context("spawn"), _set_up, encoder.arguments) as pool:
        try:
            for part in parts:
                waiting.append(pool.submit(_encode, part))
                if len(waiting) > 4 * processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
