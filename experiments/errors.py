"""Which mentions inside another a model finds, and why not the others.

Prints the tables of experiments/results/errors.md. An inner mention is one that another gold mention of its sentence
contains, with more words. What the annotators of the training corpus did with the same strings bounds what can be
learnt.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, NamedTuple

import typer

from experiments.cli import run_command
from hyperspan import load
from hyperspan.corpora.formats import read_corpus
from hyperspan.types import Mention, Sentence

Key = tuple[int, int, str]
"""Start, end and label of a mention."""
LOWEST = 0.001
"""Mentions below this probability count as this."""
THRESHOLDS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8)


class Answer(NamedTuple):
    """A gold sentence, and what the model says of it."""

    sentence: Sentence
    gold: set[Key]
    predicted: set[Key]
    """The most probable set."""
    probability: dict[Key, float]


class Inner(NamedTuple):
    """A gold mention inside another, which is the smallest one around it."""

    text: str
    mention: Key
    outer: Key
    answer: Answer

    @property
    def found(self) -> bool:
        return self.mention in self.answer.predicted

    @property
    def probability(self) -> float:
        return self.answer.probability.get(self.mention, LOWEST)

    @property
    def pair(self) -> str:
        return f"{self.mention[2]} in {self.outer[2]}"

    @property
    def place(self) -> str:
        start, end = self.mention[0] == self.outer[0], self.mention[1] == self.outer[1]
        same = "same type" if self.mention[2] == self.outer[2] else "another type"
        return f"{'same start' if start else 'same end' if end else 'neither'}, {same}"

    @property
    def instead(self) -> str:
        """What the model has on its words."""
        predicted = self.answer.predicted
        if any(self.mention[:2] == other[:2] for other in predicted):
            return "another type"
        if any(is_inside(other, self.mention) for other in predicted):
            return "a smaller mention"
        return "only a larger mention" if any(is_inside(self.mention, other) for other in predicted) else "nothing"


def key(mention: Mention) -> Key:
    return mention.start, mention.end, mention.label


def text_of(sentence: Sentence, mention: Key) -> str:
    return " ".join(sentence.tokens[mention[0] : mention[1]]).lower()


def is_inside(one: Key, other: Key) -> bool:
    return other[0] <= one[0] and one[1] <= other[1] and other[1] - other[0] > one[1] - one[0]


def sentences_of(path: str) -> list[Sentence]:
    return [sentence for document in read_corpus(path) for sentence in document.sentences]


def answers_of(model: str, gold: Sequence[Sentence]) -> list[Answer]:
    """What a model says of gold sentences, whose mentions it does not see."""
    annotator, blank = load(model), [sentence.with_mentions(()) for sentence in gold]
    return [
        Answer(
            sentence,
            set(map(key, sentence.mentions)),
            set(map(key, found.mentions)),
            {key(mention): mention.probability or 0.0 for mention in found.candidates},
        )
        for sentence, found in zip(gold, annotator.predictions(blank, candidates=LOWEST), strict=True)
    ]


def inner_mentions(answers: Iterable[Answer]) -> Iterator[Inner]:
    for answer in answers:
        for mention in sorted(answer.gold):
            around = [other for other in answer.gold if is_inside(mention, other)]
            if around:
                outer = min(around, key=lambda other: (other[1] - other[0], other))
                yield Inner(text_of(answer.sentence, mention), mention, outer, answer)


# -- what the annotators of the training corpus did -------------------------------------------------------------------


def annotated_inside(train: Sequence[Sentence], longest: int = 10) -> dict[str, tuple[int, int]]:
    """Of strings that are a mention somewhere: how often they occur inside a mention's words, and are annotated
    there."""
    known = {text_of(sentence, key(mention)) for sentence in train for mention in sentence.mentions}
    occurs: Counter[str] = Counter()
    annotated: Counter[str] = Counter()
    for sentence in train:
        spans = {(mention.start, mention.end) for mention in sentence.mentions}
        inside = {
            (start, end)
            for first, last in spans
            for start in range(first, last)
            for end in range(start + 1, min(start + longest, last) + 1)
            if end - start < last - first
        }
        for span in inside:
            if (text := text_of(sentence, (*span, ""))) in known:
                occurs[text] += 1
                annotated[text] += span in spans
    return {text: (occurs[text], annotated[text]) for text in known}


class Agreement(NamedTuple):
    """How often a string that is a mention occurs, and how often each mention within it is annotated."""

    occurs: Counter[tuple[str, str]]
    inner: Counter[tuple[tuple[str, str], Key]]

    @classmethod
    def of(cls, sentences: Iterable[Sentence]) -> Agreement:
        found = cls(Counter(), Counter())
        for sentence in sentences:
            gold = set(map(key, sentence.mentions))
            for outer in gold:
                name = (text_of(sentence, outer), outer[2])
                found.occurs[name] += 1
                for start, end, label in (one for one in gold if is_inside(one, outer)):
                    found.inner[name, (start - outer[0], end - outer[0], label)] += 1
        return found

    def rows(self) -> list[Sequence[object]]:
        repeated = {one: count for one, count in self.inner.items() if self.occurs[one[0]] > 1}
        annotated, occurs = sum(repeated.values()), sum(self.occurs[name] for name, _ in repeated)
        usual = {one: count for one, count in repeated.items() if 2 * count >= self.occurs[one[0]]}
        right, guessed = sum(usual.values()), sum(self.occurs[name] for name, _ in usual)
        return [
            ["inner mentions of strings that occur once", sum(self.inner.values()) - annotated],
            ["inner mentions of strings that occur more often", annotated],
            ["… occurrences of these strings in which that mention could be annotated", occurs],
            ["… % of them in which it is", f"{100 * annotated / occurs:.0f}"],
            ["annotating what is annotated in half or more of the occurrences: recall, %", f"{100 * right / annotated:.0f}"],
            ["… precision, %", f"{100 * right / guessed:.0f}"],
        ]  # fmt: skip


# -- a threshold for mentions inside probable ones --------------------------------------------------------------------


class Candidates(NamedTuple):
    """Of a sentence: the probability of each candidate, whether it is inside a probable one, and whether it is
    right."""

    mentions: list[tuple[float, bool, bool]]
    gold: int

    @classmethod
    def of(cls, answer: Answer) -> Candidates:
        probable = [mention for mention, p in answer.probability.items() if p >= 0.5]
        likely = [(mention, p) for mention, p in answer.probability.items() if p >= min(THRESHOLDS)]
        found = [(p, any(is_inside(one, other) for other in probable), one in answer.gold) for one, p in likely]
        return cls(found, len(answer.gold))


def counts_by(sentences: Sequence[Candidates], thresholds: Mapping[bool, float]) -> tuple[int, int]:
    """Twice the right mentions, and the found and gold ones together: F1 is their quotient."""
    found = [right for one in sentences for p, inside, right in one.mentions if p >= thresholds[inside]]
    return 2 * sum(found), len(found) + sum(one.gold for one in sentences)


def best_thresholds(sentences: Sequence[Candidates], *, same: bool) -> dict[bool, float]:
    pairs = [{False: a, True: b} for a in THRESHOLDS for b in THRESHOLDS if a == b or not same]

    def f1(given: dict[bool, float]) -> float:
        twice, all_ = counts_by(sentences, given)
        return twice / all_

    return max(pairs, key=f1)


def threshold_rows(answers: Sequence[Answer]) -> Iterator[Sequence[object]]:
    """F1 of thresholds that were chosen on the other half of the sentences."""
    twice = 2 * sum(len(answer.predicted & answer.gold) for answer in answers)
    all_ = sum(len(answer.predicted) + len(answer.gold) for answer in answers)
    yield "the most probable set", f"{100 * twice / all_:.2f}"
    sentences = [Candidates.of(answer) for answer in answers]
    shuffled = random.Random(1).sample(sentences, len(sentences))
    halves = shuffled[::2], shuffled[1::2]
    for name, same in (("one threshold", True), ("one for mentions inside a probable one, one for the others", False)):
        parts = [counts_by(halves[1 - side], best_thresholds(halves[side], same=same)) for side in (0, 1)]
        chosen = best_thresholds(sentences, same=same)
        f1 = 100 * sum(twice for twice, _ in parts) / sum(all_ for _, all_ in parts)
        yield f"{name} (all of dev: {chosen[False]:g}, {chosen[True]:g})", f"{f1:.2f}"


# -- tables -----------------------------------------------------------------------------------------------------------

HEADER = ("", "gold", "found", "%", "mean probability", "missed at ≥ 0.3", "0.1 to 0.3", "below 0.1")


def rows_by(inner: Sequence[Inner], group: Callable[[Inner], str]) -> list[Sequence[object]]:
    """A line for each group, the largest first."""
    groups: dict[str, list[Inner]] = defaultdict(list)
    for one in inner:
        groups[group(one)].append(one)
    return [[name, *_cells(some)] for name, some in sorted(groups.items(), key=lambda item: -len(item[1]))]


def _cells(some: Sequence[Inner]) -> list[object]:
    missed = [one.probability for one in some if not one.found]
    found, mean = len(some) - len(missed), sum(one.probability for one in some) / len(some)
    by_probability = [sum(low <= p < high for p in missed) for low, high in ((0.3, 1.1), (0.1, 0.3), (0.0, 0.1))]
    return [len(some), found, f"{100 * found / len(some):.0f}", f"{mean:.2f}", *by_probability]


def print_table(title: str, rows: Iterable[Sequence[object]], header: Sequence[str] = HEADER) -> None:
    print(f"\n**{title}**\n\n| {' | '.join(header)} |\n|---{'|---:' * (len(header) - 1)}|")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


def seen(inside: Mapping[str, tuple[int, int]]) -> Callable[[Inner], str]:
    """What train does with the string of an inner mention."""

    def name(one: Inner) -> str:
        occurs, annotated = inside.get(one.text, (-1, 0))
        if occurs <= 0:
            return "is no mention in train" if occurs < 0 else "is a mention, but not inside another's words"
        part = "half or more" if 2 * annotated >= occurs else "less than half" if annotated else "none"
        return f"annotated in {part} of its places inside a mention"

    return name


def report(
    model: Annotated[str, typer.Argument(help="A bundled model, or the folder of a model.")],
    dev: Annotated[str, typer.Argument(help="The corpus in which mentions are found.")],
    train: Annotated[str, typer.Argument(help="The corpus of which the model learned.")],
) -> None:
    """Say which mentions inside others a model finds, and why not the others.

    Example: python -m experiments.errors genia data/genia/dev.data data/genia/train.data
    """
    trained = sentences_of(train)
    answers = answers_of(model, sentences_of(dev))
    inner = list(inner_mentions(answers))
    inside = annotated_inside(trained)
    print_table("Inner mentions", rows_by(inner, lambda one: "all"))
    print_table("By types", rows_by(inner, lambda one: one.pair))
    print_table("By place in the mention around it", rows_by(inner, lambda one: one.place))
    print_table("By words", rows_by(inner, lambda one: str(min(one.mention[1] - one.mention[0], 5))))
    print_table("By what train does with the string", rows_by(inner, seen(inside)))
    around = {True: "found", False: "missed"}
    print_table("By the mention around it", rows_by(inner, lambda one: around[one.outer in one.answer.predicted]))
    missed = Counter(one.instead for one in inner if not one.found)
    print_table("Found instead of a missed one", missed.most_common(), ("", "missed"))
    places, annotated = (sum(counts[index] for counts in inside.values()) for index in (0, 1))
    print_table(
        "Train: strings that are a mention somewhere, inside of mentions",
        [(places, annotated)],
        ("places", "annotated"),
    )
    print_table("Train: the same string, with and without its inner mention", Agreement.of(trained).rows(), ("", ""))
    print_table("F1 on dev by thresholds chosen on its other half", threshold_rows(answers), ("", "F1"))


if __name__ == "__main__":
    run_command(report, "experiments.errors")
