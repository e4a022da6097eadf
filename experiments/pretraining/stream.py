"""Text as one stream of an encoder's subwords, tokenized by several processes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.pretraining.processes import map_parts
from experiments.pretraining.texts import Lines, parts_of, token_lines
from hyperspan.config import TransformerConfig
from hyperspan.errors import InputError
from hyperspan.nn.subwords import SubwordTokenizer
from hyperspan.text.tokens import Tokenizer


class SubwordStream(NamedTuple):
    """The subwords of consecutive words."""

    ids: np.ndarray
    """(N,) int32."""
    begins: np.ndarray
    """(N,) bool: whether a subword is the first of a word."""


class SubwordEncoder:
    """Turns lines of tokens into subwords. Words are split one by one, as in models that use the encoder.

    Documents are separated by the encoder's end-of-text subword.
    """

    def __init__(self, name: str, description: dict[str, Any], length: int, tokenizer: Tokenizer):
        self.subwords = SubwordTokenizer(TransformerConfig(name, window=length), description)
        self.tokenizer = tokenizer
        self.arguments = (name, description, length, tokenizer)
        """The arguments from which worker processes create their own encoder."""

    @property
    def separator(self) -> int | None:
        """The subword between documents, if the encoder has one."""
        return self.subwords.suffix[0] if self.subwords.suffix else None

    def __call__(self, part: str | Lines) -> SubwordStream:
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


def read_stream(encoder: SubwordEncoder, files: Iterable[Path], processes: int) -> SubwordStream:
    """The subwords of all files in order, without repeated separators."""
    parts = (part for file in files for part in parts_of(file, encoder.tokenizer))
    streams = list(map_parts(SubwordEncoder, encoder.arguments, parts, processes))
    if not streams or not sum(len(stream.ids) for stream in streams):
        raise InputError("there are no words in the texts; name files with text")
    ids, begins = (np.concatenate(arrays) for arrays in zip(*streams, strict=True))
    if encoder.separator is not None:
        separators = ids == encoder.separator
        keep = ~(separators & np.concatenate([[True], separators[:-1]]))  # none at the beginning
        ids, begins = ids[keep], begins[keep]
    return SubwordStream(ids, begins)
