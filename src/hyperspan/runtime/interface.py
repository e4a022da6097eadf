"""The interface that annotation needs of a model, with torch or in the runtime without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from hyperspan.config import Config
from hyperspan.text.tokens import Tokenizer
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence


class InferenceModel(Protocol):
    """A trained model. What follows from its configuration and its vocabulary is said here, for all."""

    config: Config
    vocabulary: Vocabulary
    tokenizer: Tokenizer

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of the types of its distributions."""
        return tuple(self.vocabulary.labels)

    @property
    def max_width(self) -> int | None:
        """c, or None for no limit."""
        width = self.config.model.max_width
        return None if width == "n" else width

    @property
    def names(self) -> Mapping[str, str]:
        """The labels that mark names, and the types that they are names of."""
        return self.config.model.names

    @property
    def context(self) -> int:
        """How many words of document context it reads before and after a sentence, if there are any."""
        return 0

    @property
    def joins_documents(self) -> bool:
        """Whether consecutive one-sentence documents form one text for it."""
        return self.config.data.joined

    @property
    def reads_tags(self) -> bool:
        """Whether it was trained with part-of-speech tags; it finds less without them."""
        return bool(self.vocabulary.tags)

    @property
    def discontinuous(self) -> bool:
        """Whether it finds discontinuous mentions."""
        ...

    @property
    def batch_entries(self) -> int:
        """The size of an inference batch: sentences × words × widths."""
        ...

    @property
    def parameter_count(self) -> int: ...
    def inference(self) -> AbstractContextManager[Any]:
        """Return a context in which nothing is kept for gradients."""
        return nullcontext()

    def distribution(self, sentences: Sequence[Sentence]) -> Any:
        """Return a MentionDistribution (:mod:`hyperspan.runtime.decoding`); types are indices into `labels`."""
        ...

    def quick_distribution(self, sentences: Sequence[Sentence]) -> Any:
        """The same for callers that need only the best sets or probable mentions; it may be faster."""
        return self.distribution(sentences)

    def save(self, folder: Path) -> None: ...
