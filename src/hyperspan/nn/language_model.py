"""A language model as an auxiliary training loss."""

from __future__ import annotations

from torch import Tensor, nn

from hyperspan.config import Config
from hyperspan.nn.batch import Batch
from hyperspan.text.vocabulary import UNKNOWN, Vocabulary


class LanguageModelLoss(nn.Module):
    """The cross-entropy of the next and the previous word, predicted from LSTM states (Rei 2017).

    Only training uses it, as an auxiliary loss against overfitting.
    """

    MOST_WORDS = 7_500
    """The number of most frequent words to predict; all others count as one."""

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__()
        self.words = min(vocabulary.trained, self.MOST_WORDS) + 1
        self.directions = nn.ModuleList(
            nn.Sequential(nn.Linear(config.encoder.hidden, 100), nn.Tanh(), nn.Linear(100, self.words))
            for _ in range(2)
        )

    def forward(self, states: Tensor, batch: Batch) -> Tensor:
        """(N, 2 * hidden), of the first layer, whose states have not seen the words to predict -> (B,): summed
        cross-entropy."""
        words = batch.words.masked_fill(batch.words >= self.words, UNKNOWN)
        later = len(words) - len(batch.before)
        forward, backward = states.chunk(2, dim=1)
        following, preceding = self.directions
        wrong = nn.functional.cross_entropy(following(forward[batch.before]), words[later:], reduction="none")
        wrong = wrong + nn.functional.cross_entropy(preceding(backward[later:]), words[batch.before], reduction="none")
        return wrong.new_zeros(len(batch.lengths)).index_add(0, batch.sentence[later:], wrong)
