"""Batches of windows of a subword stream, with whole words masked. Everything runs on the device, without
synchronisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from experiments.pretraining.stream import SubwordStream
from hyperspan.errors import InputError

IGNORED = -100
"""The label of a position that is not to be predicted."""
_EPOCHS, _MASKS, _DROPOUT = range(3)
"""The purposes of random numbers; each has its own stream."""


class MaskedBatch(NamedTuple):
    """Windows with masked words, and the original subwords."""

    inputs: Tensor
    """(B, L): subwords, with the special ones around them."""
    positions: Tensor
    """(K,): the positions to predict among the B * L inputs; unused ones are 0."""
    labels: Tensor
    """(K,): the subwords there; IGNORED at unused ones."""


@dataclass(frozen=True)
class SpecialSubwords:
    """The special subwords of an encoder."""

    prefix: list[int]
    suffix: list[int]
    mask: int
    size: int
    """The size of the vocabulary."""


class MaskedBatches:
    """The batches of every step. A batch depends only on the seed and the step number, so that a run can resume
    anywhere.

    Each epoch splits the stream at different places and shuffles its windows.
    """

    def __init__(
        self,
        stream: SubwordStream,
        special: SpecialSubwords,
        *,
        length: int,
        batch: int,
        masked: float,
        seed: int,
        device: torch.device,
    ):
        self.capacity = length - len(special.prefix) - len(special.suffix)
        self.steps_an_epoch = len(stream.ids) // self.capacity // batch
        if self.steps_an_epoch == 0:
            raise InputError(
                f"the texts have {len(stream.ids):,} subwords, but a batch has {batch * self.capacity:,}; "
                "give more text, or a smaller --batch"
            )
        self.ids = torch.from_numpy(stream.ids).to(device)
        self.begins = torch.from_numpy(stream.begins).to(device)
        self.special, self.batch, self.masked, self.seed, self.device = special, batch, masked, seed, device
        expected = masked * batch * self.capacity
        # More are hardly ever masked at once, as words are short. The excess is masked, but not predicted.
        self.most_predicted = min(int(expected + 8 * expected**0.5) + 8, batch * self.capacity)
        self._epoch, self._starts = -1, torch.empty(0)
        # Created once: a copy to the device would synchronise.
        self._offsets = torch.arange(self.capacity, device=device)
        self._places = torch.arange(batch, device=device)[:, None] * length + len(special.prefix) + self._offsets
        self._before, self._after = (
            torch.tensor(ends, device=device, dtype=torch.long).expand(batch, -1)
            for ends in (special.prefix, special.suffix)
        )

    def __getitem__(self, step: int) -> MaskedBatch:
        epoch, number = divmod(step, self.steps_an_epoch)
        if epoch != self._epoch:
            self._epoch, self._starts = epoch, self._shuffled(epoch)
        index = self._starts[number][:, None] + self._offsets  # (B, C)
        subwords = self.ids[index].long()
        special = self.special
        inputs, masked = mask_words(subwords, self.begins[index], special, self.masked, self._random(_MASKS, step))
        positions, labels = first_marked(masked, (self._places, subwords), (0, IGNORED), self.most_predicted)
        return MaskedBatch(torch.cat([self._before, inputs, self._after], 1), positions, labels)

    def seed_dropout(self, step: int) -> None:
        """Seed the dropout of a step by its number."""
        torch.manual_seed(self._seed(_DROPOUT, step))

    def _shuffled(self, epoch: int) -> Tensor:
        """(steps, B): the start positions of the windows of an epoch."""
        used = self.steps_an_epoch * self.batch
        chance = torch.rand((), generator=torch.Generator().manual_seed(self._seed(_EPOCHS, epoch))).item()
        shift = int(chance * min(self.capacity, len(self.ids) - used * self.capacity + 1))
        count = (len(self.ids) - shift) // self.capacity
        order = torch.randperm(count, generator=self._random(_EPOCHS, epoch), device=self.device)
        return shift + order[:used].view(-1, self.batch) * self.capacity

    def _random(self, purpose: int, number: int) -> torch.Generator:
        return torch.Generator(self.device).manual_seed(self._seed(purpose, number))

    def _seed(self, purpose: int, number: int) -> int:
        return (self.seed * 3 + purpose) * 1_000_003 + number


def mask_words(
    subwords: Tensor, begins: Tensor, special: SpecialSubwords, share: float, random: torch.Generator
) -> tuple[Tensor, Tensor]:
    """(B, L), (B, L) -> (B, L), (B, L): the subwords with whole words masked, and which are to be predicted.

    Of the chosen words, 80% become masks, 10% random subwords, and 10% stay. Document separators are never chosen.
    """
    device = subwords.device
    word = begins.long().cumsum(1)  # word 0 is the rest of a word that began before the window
    chance = torch.rand(2, len(word), word.shape[1] + 1, generator=random, device=device)
    chance = chance.gather(2, word.expand(2, -1, -1))
    masked = chance[0] < share
    for end in special.suffix[:1]:
        masked &= subwords != end
    others = torch.randint(special.size, subwords.shape, generator=random, device=device)
    inputs = torch.where(masked & (chance[1] < 0.8), special.mask, subwords)
    return torch.where(masked & (chance[1] >= 0.9), others, inputs), masked


def first_marked(marks: Tensor, values: tuple[Tensor, ...], unused: tuple[int, ...], most: int) -> tuple[Tensor, ...]:
    """The values at the first `most` marks, in a shape that does not depend on how many there are.

    >>> marks, values = torch.tensor([True, False, True, False]), torch.arange(4)
    >>> first_marked(marks, (values,), (-1,), 3), first_marked(marks, (values,), (-1,), 1)
    ((tensor([ 0,  2, -1]),), (tensor([0]),))
    """
    marks = marks.reshape(-1)
    target = torch.where(marks, marks.long().cumsum(0) - 1, most).clamp(max=most)  # the last position is discarded
    return tuple(
        torch.full((most + 1,), blank, device=marks.device).scatter_(0, target, value.reshape(-1))[:most]
        for value, blank in zip(values, unused, strict=True)
    )
