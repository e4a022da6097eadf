"""Context-free word vectors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from hyperspan.nn.vectors import WordVectors
from hyperspan.text.vocabulary import UNKNOWN, Vocabulary


class WordEmbedding(nn.Module):
    """Word vectors: trainable for the words of the training data, frozen for the other pretrained words."""

    def __init__(self, vocabulary: Vocabulary, dimension: int):
        super().__init__()
        self.trained = nn.Parameter(torch.empty(vocabulary.trained + 1, dimension))
        self.fixed: Tensor
        self.register_buffer("fixed", torch.zeros(len(vocabulary.words) - vocabulary.trained, dimension))
        bound = (3.0 / dimension) ** 0.5
        nn.init.uniform_(self.trained, -bound, bound)

    @torch.no_grad()
    def initialise(self, vocabulary: Vocabulary, pretrained: WordVectors) -> None:
        """Copy pretrained vectors into the tables."""
        row = {word: index for index, word in enumerate(pretrained.words)}
        found = [row.get(word, row.get(word.lower(), -1)) for word in vocabulary.words]
        # (words, dimension): a word missing from the file keeps its vector
        all_rows = torch.cat((self.trained[1:], self.fixed))
        known = [index for index, place in enumerate(found) if place >= 0]
        all_rows[known] = torch.from_numpy(pretrained.vectors[[found[index] for index in known]])
        self.trained[1:], self.fixed[:] = all_rows[: vocabulary.trained], all_rows[vocabulary.trained :]

    @torch.no_grad()
    def copy_from(
        self, vocabulary: Vocabulary, known: Sequence[str], vectors: Tensor, pretrained: WordVectors | None
    ) -> None:
        """Copy the vectors of known words, (1 + words, dimension); row 0 is the unknown word.

        Other words get their pretrained vector, or else that of the unknown word.
        """
        self.trained.copy_(vectors[UNKNOWN])
        self.fixed.copy_(vectors[UNKNOWN])
        if pretrained is not None:
            self.initialise(vocabulary, pretrained)
        ids = {word: index for index, word in enumerate(known, 1)}
        rows = torch.tensor([UNKNOWN, *(ids.get(word, ids.get(word.lower(), UNKNOWN)) for word in vocabulary.words)])
        for place, row in zip((self.trained, self.fixed), rows.tensor_split([len(self.trained)]), strict=True):
            place[row != UNKNOWN] = vectors[row[row != UNKNOWN]]

    def forward(self, ids: Tensor) -> Tensor:
        """(N,) -> (N, dimension)."""
        found = embedding(ids.clamp(max=len(self.trained) - 1), self.trained)
        if not len(self.fixed):
            return found
        fixed = embedding((ids - len(self.trained)).clamp(min=0), self.fixed)
        return torch.where((ids < len(self.trained))[:, None], found, fixed)
