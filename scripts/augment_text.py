"""Variations of the sentences of a corpus, for distillation.text where no unlabelled text is at hand.

    python scripts/augment_text.py data/litbank/train.data.gz data/glove6B_100d_subset_f16.npz --copies 40 | xz >
    augmented.txt.xz

In every copy of a sentence some words are replaced by words with similar vectors, and capitals stay. Some copies are
cut to a stretch of the sentence. Mentions are not written: the teacher says what is in the new sentences.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from hyperspan.nn.vectors import read_vectors
from hyperspan.training.data import read_sentences

KEPT = 60
"""The most frequent words stay: they are function words and punctuation."""
RATES = (0.1, 0.25, 0.4)
"""The fractions of the other words that are replaced, one for each copy."""
CUT = 0.2
"""The fraction of copies that are cut."""
SHORTEST = 8
"""Words of the shortest sentence that is cut."""


def similar_words(words: Sequence[str], path: str, count: int, known: int) -> dict[str, list[str]]:
    """For each word that has a vector the `count` words with the most similar ones, of the first `known` in the
    file."""
    vectors = read_vectors(path)
    place = {word: index for index, word in enumerate(vectors.words)}
    rows = np.asarray(vectors.vectors, dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9
    candidates = rows[:known]
    asked = [word for word in words if word in place]
    found: dict[str, list[str]] = {}
    for first in range(0, len(asked), 1000):
        part = asked[first : first + 1000]
        likeness = rows[[place[word] for word in part]] @ candidates.T
        best = np.argpartition(-likeness, count, axis=1)[:, : count + 1].tolist()
        found |= {
            word: [vectors.words[i] for i in near if vectors.words[i] != word]
            for word, near in zip(part, best, strict=True)
        }
    return found


def with_case_of(word: str, model: str) -> str:
    """The word in the capitals of another.

    >>> with_case_of("london", "Paris"), with_case_of("a", "THE"), with_case_of("sea", "lake")
    ('London', 'A', 'sea')
    """
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def variations(
    sentences: Sequence[Sequence[str]],
    similar: dict[str, list[str]],
    fixed: set[str],
    copies: int,
    chance: random.Random,
) -> Iterator[list[str]]:
    """Copies of all sentences, each time in another order."""
    for _ in range(copies):
        for tokens in chance.sample(sentences, len(sentences)):
            rate = chance.choice(RATES)
            made = [
                with_case_of(chance.choice(near), token)
                if chance.random() < rate and token.lower() not in fixed and (near := similar.get(token.lower()))
                else token
                for token in tokens
            ]
            if len(made) >= SHORTEST and chance.random() < CUT:
                first = chance.randrange(len(made) // 2)
                made = made[first : chance.randrange(first + SHORTEST // 2, len(made)) + 1]
            yield made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="sentences in any format that hyperspan reads")
    parser.add_argument("vectors", help="pretrained word vectors, the most frequent words first")
    parser.add_argument("--copies", type=int, default=40)
    parser.add_argument("--similar", type=int, default=10, help="how many similar words a word may be replaced by")
    parser.add_argument("--known", type=int, default=30_000, help="how many words of the vectors may replace others")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sentences = [sentence.tokens for sentence in read_sentences(given.corpus)]
    counts = Counter(token.lower() for tokens in sentences for token in tokens)
    fixed = {word for word, _ in counts.most_common(KEPT)} | {
        word for word in counts if not any(map(str.isalpha, word))
    }
    similar = similar_words([word for word in counts if word not in fixed], given.vectors, given.similar, given.known)
    for tokens in variations(sentences, similar, fixed, given.copies, random.Random(given.seed)):
        sys.stdout.write(" ".join(tokens) + "\n")


if __name__ == "__main__":
    main()
