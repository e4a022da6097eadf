"""The errors of one or two systems as a web page: gold above the words, predictions below, every difference named.

The page is self-contained, needs no script, and is readable without its style sheet.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from hyperspan.corpora.documents import by_characters
from hyperspan.evaluation.error_kinds import DIFFERENCES, MentionDifference
from hyperspan.evaluation.errors import ErrorReport, SentenceErrors
from hyperspan.evaluation.scores import WIDTHS, width_group
from hyperspan.render.bars import BarWish, clean, excerpt, lay_out, left_out, padding, running_text
from hyperspan.render.html import page_head
from hyperspan.render.layout import Colours, spaced_text
from hyperspan.render.style import errors_style
from hyperspan.types import Mention

SYSTEM_NAMES = ("A", "B")
"""The names of two systems on the page."""
RIGHT = 0.1
"""The strength of correct bars: visible, but less prominent than differences."""
VERDICTS = ("A right, B wrong", "B right, A wrong", "both wrong")
LOG_10 = math.log(10)


def iter_errors_page(
    found: ErrorReport, title: str, about: Mapping[str, str] | None = None, systems: Sequence[str] = ("predicted",)
) -> Iterator[str]:
    """Yield the page in parts; `about` describes what was evaluated, `systems` are the names of the systems.

    >>> from hyperspan.evaluation import find_errors
    >>> from hyperspan.types import Sentence
    >>> gold, predicted = [Sentence(["Oz"], [Mention(0, 1, "GPE")])], [Sentence(["Oz"])]
    >>> page = "".join(iter_errors_page(find_errors(gold, predicted), "Errors", {"model": "mine"}))
    >>> "<strong>missed</strong>" in page and "<script" not in page
    True
    """
    filters, colours = ErrorFilters(found), BarImages(_labels(found))
    yield page_head(title, errors_style(filters.classes, colours.variables))
    yield '<dl class="facts">' + "".join(
        f"<dt>{escape(clean(key))}<dd><bdi>{escape(clean(value))}</bdi>" for key, value in (about or {}).items()
    )
    yield '</dl>\n<form class="report" method="dialog">\n'
    yield from _summary(found, systems)
    yield from _counts(found)
    yield from filters.choices()
    yield "<main>\n"
    for errors in found.errors:
        yield from _article(errors, filters, colours)
    yield "</main>\n"
    yield f'<p class="shown"><span>{len(found.errors)} sentences with differences</span></p></form>\n</body>\n</html>\n'


def _labels(found: ErrorReport) -> list[str]:
    """All labels, in the order in which other pages and the terminal number them."""
    sides = (side for errors in found.errors for side in (errors.gold.mentions, *errors.systems))
    return sorted({mention.label for side in sides for mention in side})


class BarImages(Colours):
    """The images of bars under short names, since a page of thousands of sentences has many."""

    def image(self, label: str, strength: float = 1.0) -> str:
        return f"var(--{'g' if strength == 1 else 'p'}{self.numbers[label]})"

    @property
    def variables(self) -> dict[str, str]:
        """The CSS variables: the images of a difference and of a correct mention, by short name."""
        return {
            f"--{name}{number}": Colours.image(self, label, strength)
            for label, number in self.numbers.items()
            for name, strength in (("g", 1.0), ("p", RIGHT))
        }


class ErrorFilters:
    """The choices for filtering differences, and the CSS class of each."""

    def __init__(self, found: ErrorReport):
        every = [(one, len(errors.systems)) for errors in found.errors for one in errors.differences]
        self.kinds = Counter(one.kind for one, _ in every)
        self.types = Counter(one.mention.label for one, _ in every)
        self.widths = Counter(width_group(one.mention) for one, _ in every)
        self.depths = Counter(str(one.depth) for one, _ in every)
        self.verdicts = Counter(_verdict(one) for one, systems in every if systems > 1)
        order = {
            "v": ("Who is wrong", self.verdicts, VERDICTS),
            "k": ("Kind", self.kinds, DIFFERENCES),
            "t": ("Type", self.types, [label for label, _ in self.types.most_common()]),
            "w": ("Words", self.widths, WIDTHS),
            "d": ("Depth", self.depths, sorted(self.depths, key=int)),
        }
        self._groups = {
            group: (title, counts, {value: f"{group}{index}" for index, value in enumerate(values) if counts[value]})
            for group, (title, counts, values) in order.items()
        }

    @property
    def classes(self) -> dict[str, list[str]]:
        """The classes of each group."""
        return {group: list(names.values()) for group, (_, _, names) in self._groups.items()}

    def of(self, one: MentionDifference, systems: int) -> str:
        """The classes of a difference."""
        values = {"k": one.kind, "t": one.mention.label, "w": width_group(one.mention), "d": str(one.depth)}
        if systems > 1:
            values["v"] = _verdict(one)
        return " ".join(["difference", *(self._groups[group][2][value] for group, value in values.items())])

    def choices(self) -> Iterator[str]:
        """Checkboxes, right before the list, as the style sheet requires; folded into a row, but for chosen ones."""
        yield '<input type="checkbox" class="choice" id="fold"><label for="fold">Filters</label>\n'
        yield '<p class="filters">Choose any number; where nothing is chosen, all are shown.</p>\n'
        for group, (title, counts, names) in self._groups.items():
            if names:
                yield f"<h3>{title}</h3>\n"
            for value, name in names.items():
                box = f'<input type="checkbox" class="choice {group}" id="{name}">'
                what = escape(DIFFERENCES.get(value, "") if group == "k" else "")
                title_ = f' title="{what}"' if what else ""
                yield f'{box}<label for="{name}"{title_}>{escape(clean(value))} <small>{counts[value]:,}</small></label>\n'
        yield '<button type="reset">Show all</button>\n'


def _verdict(one: MentionDifference) -> str:
    """Which of two systems is right about a difference."""
    if not one.others_right:
        return VERDICTS[2]
    return VERDICTS[1] if one.systems == (0,) else VERDICTS[0]


def _summary(found: ErrorReport, systems: Sequence[str]) -> Iterator[str]:
    yield f"<p>{found.sentences:,} sentences, {len(found.errors):,} with differences.</p>\n"
    for index, (name, score) in enumerate(zip(systems, found.scores, strict=True)):
        letter = f"{SYSTEM_NAMES[index]}: " if len(systems) > 1 else ""
        yield f"<p>{letter}<bdi>{escape(clean(name))}</bdi>: F1 {100 * score.f1:.1f}, precision {100 * score.precision:.1f}, "
        yield f"recall {100 * score.recall:.1f}; {score.correct:,} right of {score.predicted:,} predicted and {score.gold:,} gold.</p>\n"
    below = "those of A and B below" if len(systems) > 1 else "predicted ones below"
    yield f"<p>Gold mentions are above the words, {below}. A difference has a number, which the list names; what is right is pale. "
    worst = (
        "Sentences in which one is worse than the other come first, by how much"
        if len(systems) > 1
        else "The worst sentences come first"
    )
    yield f"{worst}: a missed or wrong mention counts 1 if the system was sure, and a half if it was half sure.</p>\n"


def _counts(found: ErrorReport) -> Iterator[str]:
    """The table of kinds and types."""
    counts = found.counts
    types = [label for label, _ in Counter(label for (_, label), n in counts.items() for _ in range(n)).most_common()]
    yield '<h2>Differences</h2>\n<div class="wide"><table class="counts"><thead><tr><th scope="col">Kind'
    yield "".join(f'<th scope="col">{escape(clean(label))}' for label in types) + '<th scope="col">all</thead><tbody>\n'
    for kind, what in DIFFERENCES.items():
        row = [counts[kind, label] for label in types]
        if sum(row):
            yield f'<tr><th scope="row" title="{escape(what)}">{kind}{_cells([*row, sum(row)])}\n'
    columns = [sum(counts[kind, label] for kind in DIFFERENCES) for label in types]
    yield f'<tr><th scope="row">all{_cells([*columns, sum(columns)])}\n</tbody></table></div>\n'


def _cells(numbers: Iterable[int]) -> str:
    return "".join(f"<td>{number:,}" if number else "<td>–" for number in numbers)


def _article(errors: SentenceErrors, filters: ErrorFilters, colours: Colours) -> Iterator[str]:
    sentence, place = errors.gold, errors.place
    written, offsets = spaced_text(sentence)
    text = clean(written)
    name = f"<bdi>{escape(clean(place.id))}</bdi>" if place.id else f"document {place.document + 1}"
    yield f'<article class="hyperspan"><h2>{name}, sentence {place.number} <small>how wrong: {errors.cost:.2f}</small></h2>'
    above, below = _wishes(errors, offsets)
    bars = [*lay_out(text, above, above=True), *lay_out(text, below)]
    yield f'<div class="drawn"><div class="text" lang=""{padding(text, bars)}>'
    yield from running_text(text, bars, colours)
    yield "</div>"
    yield left_out(len(above) + len(below) - len(bars))
    yield _sets(errors)
    yield '<ol class="differences">'
    for number, one in enumerate(errors.differences, start=1):
        kind = filters.of(one, len(errors.systems))
        yield f'<li class="{kind}" value="{number}">{_difference(one, errors, offsets, text)}'
    yield "</ol></div></article>\n"


def _wishes(errors: SentenceErrors, offsets: Sequence[tuple[int, int]]) -> tuple[list[BarWish], list[BarWish]]:
    """The mentions to draw above and below the words; those without characters cannot be drawn."""
    numbers: dict[tuple[bool, Mention], list[str]] = {}
    for number, one in enumerate(errors.differences, start=1):
        for is_gold, mention in ((True, one.gold), (False, one.predicted)):
            if mention is not None:
                numbers.setdefault((is_gold, mention), []).append(str(number))

    def wish(mention: Mention, is_gold: bool, letters: str) -> BarWish:
        marks = numbers.get((is_gold, mention), [])
        label = " ".join(filter(None, [letters, *marks, clean(mention.label)]))
        return BarWish(by_characters(mention, offsets), label, 1.0 if marks else RIGHT, not marks)

    every = set().union(*errors.systems)
    below: list[BarWish] = []
    for mention in every:
        who = [letter for letter, system in zip(SYSTEM_NAMES, errors.systems, strict=False) if mention in system]
        below.append(wish(mention, False, "".join(who) if len(errors.systems) > 1 else ""))
    return [wish(mention, True, "") for mention in errors.gold.mentions], below


def _sets(errors: SentenceErrors) -> str:
    """The probabilities of both sets."""
    gold, predicted, ratio = errors.gold_log_probability, errors.predicted_log_probability, errors.probability_ratio
    if gold is None or predicted is None or ratio is None:
        return ""
    truth, found = "of the gold set", "of the predicted set"
    if errors.gold.is_partial:
        truth, found = (
            "of all sets that agree with gold where it is known",
            "of those that agree with the prediction there",
        )
    shown = f"Probability {truth} {_of_log(gold)}, {found} {_of_log(predicted)}"
    times = f": {_of_log(predicted - gold)} times as probable" if 1.05 < ratio < math.inf else ""
    return f'<p class="sets">{shown}{times}</p>'


def _difference(one: MentionDifference, errors: SentenceErrors, offsets: Sequence[tuple[int, int]], text: str) -> str:
    """A difference in words."""
    parts = [f"<strong>{escape(one.kind)}</strong>"]
    for name, mention in (("gold", one.gold), ("predicted", one.predicted)):
        if mention is not None:
            quoted = escape(excerpt(by_characters(mention, offsets), text))
            sure = "" if mention.probability is None else f" {_of(mention.probability)}"
            parts.append(f"<i>{name}</i> {escape(clean(mention.label))} <q><bdi>{quoted}</bdi></q>{sure}")
    words = f"{one.width} word{'s' if one.width > 1 else ''}, depth {one.depth}"
    if len(errors.systems) > 1:
        who = " and ".join(SYSTEM_NAMES[index] for index in one.systems)
        parts.insert(0, f"{who}{' (both wrong)' if not one.others_right and len(one.systems) == 1 else ''}:")
    return f"{' '.join(parts)} <small>· {words}</small>"


def _of(probability: float) -> str:
    return _of_log(math.log(probability) if probability > 0 else -math.inf)


def _of_log(value: float) -> str:
    """Format a number given by its logarithm, however small or large.

    >>> [_of_log(math.log(number)) for number in (0.25, 0.0031, 7, 12345)], _of_log(-1000.0), _of_log(-math.inf)
    (['0.25', '0.003', '7.0', '12,345'], '5e-435', '0')
    """
    if value == -math.inf:
        return "0"
    if math.log(0.01) <= value < math.log(1e6):
        return f"{math.exp(value):.2f}" if value < 0.01 else f"{math.exp(value):,.{1 if value < LOG_10 else 0}f}"
    if math.log(0.001) <= value < 0:
        return f"{math.exp(value):.3f}"
    exponent = math.floor(value / LOG_10)
    digit = round(math.exp(value - exponent * LOG_10))
    return f"{digit}e{exponent}" if digit < 10 else f"1e{exponent + 1}"
