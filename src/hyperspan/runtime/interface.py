"""The interface that annotation needs of a model, with torch or in the runtime without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from hyperspan.config import Config
from hyperspan.text.tokenize import Tokenizer
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence


class InferenceModel(Protocol):
    """A trained model."""

    config: Config
    vocabulary: Vocabulary
    labels: tuple[str, ...]
    tokenizer: Tokenizer
    max_width: int | None
    """c, or None for no limit."""

    @property
    def context(self) -> int: ...
    @property
    def names(self) -> Mapping[str, str]:
        """The labels that mark names, and the types that they are names of."""
        ...

    @property
    def joins_documents(self) -> bool: ...
    @property
    def reads_tags(self) -> bool: ...
    @property
    def discontinuous(self) -> bool:
        """Whether mentions may be discontinuous."""
        ...

    @property
    def batch_entries(self) -> int: ...
    @property
    def parameter_count(self) -> int: ...
    def inference(self) -> AbstractContextManager[Any]:
        """Return a context in which nothing is kept for gradients."""
        ...

    def distribution(self, sentences: Sequence[Sentence]) -> Any:
        """Return a MentionDistribution (:mod:`hyperspan.runtime.decoding`); types are indices into `labels`."""
        ...

    def quick_distribution(self, sentences: Sequence[Sentence]) -> Any:
        """The same for callers that need only the best sets or probable mentions; it may be faster."""
        ...

    def save(self, folder: Path) -> None: ...
