"""How sure small models are, and how right they are, without and with cross-fitting.

Models of five invented corpora of 60 to 300 sentences, divided as hyperspan init does, find mentions in
500 other sentences. Names are made of syllables, so that most of them are new there.

Example: python -m experiments.small --seeds 1,2,3
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

from experiments.cli import Rows, Seeds, run_module, seeds_of
from hyperspan.config import Config
from hyperspan.evaluation.calibration import calibration_of
from hyperspan.nn import Recognizer, load_model
from hyperspan.runtime.annotator import Annotator
from hyperspan.training.data import TrainingData
from hyperspan.training.halves import models_of_halves
from hyperspan.training.loop import Trainer, dev_scores
from hyperspan.training.run import prepare
from hyperspan.training.tuning import tune
from hyperspan.types import Mention, Sentence

TEST = 500
"""The number of other sentences."""
GRAMMARS: Mapping[str, tuple[int, float, Mapping[str, str]]] = {
    "library": (
        60,
        0.05,
        {
            "sentence": "{PERSON} {gave} {BOOK} to {PERSON} . | {BOOK} is missing from {ROOM} . | {PERSON} reads {BOOK} in {ROOM} ."
            " | who left {BOOK} in {ROOM} ? | {ROOM} is closed until {PERSON} returns . | ask {PERSON} about {BOOK} ."
            " | {TOWN} ordered {BOOK} . | {BOOK} by {PERSON} came from {TOWN} .",
            "PERSON": "{title} {name} | {name} | {name} {name} | the {role} of {ROOM} | {PERSON} 's {kin}",
            "BOOK": "the {adjective} {book} | {PERSON} 's {book} | a {book} about {topic} | the {book} of {ROOM} | {name}",
            "ROOM": "the {place} | the {topic} {place} | the {place} of {TOWN}",
            "TOWN": "{name} | Port {name} | {name} on Sea",
            "gave": "gave | returned | showed | sent | lent | sold",
            "title": "Mr | Mrs | Dr | Miss | Professor",
            "role": "keeper | porter | head | reader | patron | guard",
            "kin": "sister | uncle | neighbour | student | clerk",
            "adjective": "red | torn | heavy | oldest | second | rare | borrowed | blue",
            "book": "atlas | novel | diary | catalogue | hymnal | letter | map | dictionary | play",
            "topic": "music | birds | law | tides | bridges | physics | local history | poetry",
            "place": "reading room | archive | hall | cellar | gallery | map room | annex",
        },
    ),
    "clinic": (
        100,
        0.05,
        {
            "sentence": "{FINDING} was seen in {PART} . | {DRUG} reduced {FINDING} . | {PART} showed {FINDING} and {FINDING} ."
            " | no {FINDING} after {DRUG} . | {PART} was normal , but {FINDING} persisted . | we gave {DRUG} for {FINDING} .",
            "FINDING": "{degree} {sign} | {sign} of {PART} | {sign} | {PART} {sign} | {DRUG} induced {sign}",
            "PART": "the {side} {organ} | the {organ} | the wall of {PART} | {organ} tissue",
            "DRUG": "{stem} | {stem} {dose} | low dose {stem} | {stem} and {stem}",
            "stem": "{name}ol | {name}ine | {name}mab | aspirin | insulin",
            "dose": "tablets | drops | 5 mg | injections",
            "degree": "mild | severe | acute | chronic | diffuse | marked",
            "sign": "swelling | pain | oedema | necrosis | lesion | fibrosis | bleeding | stenosis | rash",
            "side": "left | right | upper | lower | distal",
            "organ": "lung | liver | kidney | jaw | heart | bowel | retina | skin | spleen",
        },
    ),
    "port": (
        150,
        0.05,
        {
            "sentence": "{SHIP} left {PLACE} with {CARGO} . | {name} was loading {CARGO} . | {OWNER} sold {SHIP} to {OWNER} ."
            " | {CARGO} from {PLACE} was late . | {OWNER} of {PLACE} waits for {SHIP} . | {SHIP} and {SHIP} met off {PLACE} ."
            " | {OWNER} paid {OWNER} for {CARGO} .",
            "SHIP": "the {name} | the {kind} {name} | the {kind} of {OWNER} | {name}",
            "PLACE": "{name} | the {spot} of {name} | {name} {spot} | the {spot} | {OWNER} 's {spot}",
            "OWNER": "{name} | {name} & {name} | the {name} {firm} | captain {name} | the captain of {SHIP}",
            "CARGO": "{stuff} | {number} {pack} of {stuff} | {stuff} for {OWNER} | {PLACE} {stuff}",
            "kind": "ferry | tug | barge | schooner | tanker",
            "spot": "harbour | quay | docks | lighthouse | bay",
            "firm": "company | line | brothers | trust",
            "stuff": "timber | grain | salt | coal | wool | fish | oranges | tea | iron",
            "pack": "crates | tons | barrels | sacks",
            "number": "ten | forty | 200 | six | a few",
        },
    ),
    "tongue": (
        200,
        0.05,
        {
            "sentence": "{WHO} {name}ak {WHAT} . | {WHAT} {name}ak {WHERE} so {WHO} . | {WHO} to {WHERE} {name}ak ."
            " | {name}ak {WHO} {WHAT} {WHERE} ? | {WHERE} {name}ak , {name}ak so {WHAT} .",
            "WHO": "{name}i | {name}i {name} | lo {name}i | {WHAT} lo {name}i | {name}i na {WHERE}",
            "WHAT": "{name}um | {name} {name}um | ti {name}um | {name}um na {WHO} | {name}um {name}um",
            "WHERE": "{name}os | vel {name} | {name}os na {WHAT} | vel {WHO}",
        },
    ),
    "council": (
        300,
        0.03,
        {
            "sentence": "{BODY} {act} {PLAN} . | {PERSON} told {BODY} that {PLAN} was late . | {PLAN} needs {PERSON} ."
            " | {PERSON} and {PERSON} {act} {PLAN} on {day} . | critics of {PLAN} wrote to {PERSON} . | {BODY} met in {PLACE} ."
            " | {PERSON} , {PERSON} , left {BODY} . | nobody in {PLACE} saw {PLAN} .",
            "BODY": "the {adjective} {body} | the {body} of {PLACE} | {PLACE} {body} | the {body} on {PLAN} | {name} {body}",
            "PLAN": "the {adjective} {plan} | the {plan} for {PLACE} | {BODY} 's {plan} | {plan} {number} | the {PLACE} {plan}",
            "PERSON": "{name} {name} | {name} | the {role} of {BODY} | the {role} | {role} {name} | the {role} for {PLAN}",
            "PLACE": "{name} | {name} {spot} | the {spot} of {name} | the {adjective} {spot} | {PERSON} 's {spot}",
            "act": "approved | delayed | rejected | discussed | revised",
            "day": "Monday | Friday | Sunday",
            "number": "7 | 12 | 30 | 404",
            "adjective": "new | northern | joint | local | public | old | second",
            "body": "council | committee | board | party | union | office",
            "plan": "budget | bridge plan | inquiry | levy | school reform | bill | survey",
            "role": "chair | treasurer | mayor | clerk | secretary | judge | engineer",
            "spot": "bridge | market | street | school | park | station | valley",
        },
    ),
}
"""Of each corpus: its sentences, the share of mentions that its annotators missed, and what each symbol becomes.
Symbols in capitals are mentions."""
SYLLABLES = ("ar bel cor dun el fen gar hol is jo kel lin mor nav or pel quin ros sel tam ul ver wick yar zan").split()
SYMBOL = re.compile(r"\{(\w+)\}")
DEEPEST = 3
"""Symbols deeper than this become no others with mentions, where they can."""


class Maker:
    """Makes the sentences of a corpus."""

    def __init__(self, name: str, seed: int):
        self.size, self.missing, rules = GRAMMARS[name]
        self.rules = {symbol: text.split(" | ") for symbol, text in rules.items()}
        self.chance = Random(seed)

    def sentences(self, count: int) -> list[Sentence]:
        return [self.sentence() for _ in range(count)]

    def sentence(self) -> Sentence:
        mentions: list[Mention] = []
        words = self._words("sentence", 0, 0, mentions)
        return Sentence(words, [one for one in dict.fromkeys(mentions) if self.chance.random() >= self.missing])

    def _words(self, symbol: str, start: int, depth: int, mentions: list[Mention]) -> list[str]:
        """The words that a symbol becomes, from the word `start` on; its mentions are added."""
        if symbol == "name":
            return ["".join(self.chance.choices(SYLLABLES, k=2)).capitalize()]
        options = self.rules[symbol]
        flat = [one for one in options if not any(each.isupper() for each in SYMBOL.findall(one))]
        words: list[str] = []
        for part in self.chance.choice(flat if flat and depth > DEEPEST else options).split():
            found = SYMBOL.match(part)
            inner = self._words(found[1], start + len(words), depth + 1, mentions) if found else [""]
            words += [*inner[:-1], inner[-1] + (part[found.end() :] if found else part)]
        if symbol.isupper():
            mentions.append(Mention(start, start + len(words), symbol))
        return words


@dataclass(frozen=True)
class Scored:
    """A model on other sentences."""

    ece: float
    brier: float
    sure: float
    """The mean probability of the mentions that it finds."""
    right: float
    """The share of them that are correct."""
    f1: float


def trained(name: str, seed: int) -> tuple[Scored, Scored]:
    """A model of a corpus, calibrated without and with models of halves."""
    maker = Maker(name, seed)
    sentences, test = maker.sentences(maker.size), maker.sentences(TEST)
    train, dev = sentences[: maker.size * 3 // 5], sentences[maker.size * 3 // 5 : maker.size * 4 // 5]
    with tempfile.TemporaryDirectory() as folder:
        given = prepare(Config().override([f"training.seed={seed}"]), TrainingData(train, dev))
        trainer = Trainer(given, Path(folder))
        trainer.run()
        model = load_model(Path(folder))
    assert isinstance(model, Recognizer)
    tune(model, dev)
    without = scored(model, test)
    tune(model, dev, models_of_halves(given, trainer.best_epoch))
    return without, scored(model, test)


def scored(model: Recognizer, test: Sequence[Sentence]) -> Scored:
    found = Annotator(model).predictions(test)
    own = calibration_of(test, [one.with_mentions(each.mentions) for one, each in zip(test, found, strict=True)])
    assert own is not None
    sure = sum(part.count * part.probability for part in own.bins) / own.count
    return Scored(own.ece, own.brier, sure, own.correct / own.count, dev_scores(model, test)["f1"])


def run(rows: Rows = None, seeds: Seeds = "1,2,3") -> dict[str, Any]:
    """Train models of invented corpora, and score their probabilities."""
    found: dict[str, list[Any]] = {}
    for name in [name for given in rows or GRAMMARS for name in given.split(",")]:
        for seed in seeds_of(seeds):
            pair = trained(name, seed)
            found.setdefault(name, []).append([asdict(one) for one in pair])
            print(name, seed, *pair, file=sys.stderr, flush=True)
    return found


def table(figures: dict[str, Any]) -> Iterator[str]:
    """The means over seeds as Markdown: without cross-fitting → with it."""
    names = [field.name for field in fields(Scored)]
    yield f"| corpus | sentences | {' | '.join(names)} |"
    yield f"|---|---:|{'---:|' * len(names)}"
    for corpus, pairs in figures.items():
        means = [[mean(pair[side][name] for pair in pairs) for side in (0, 1)] for name in names]
        cells = " | ".join(f"{before:.3f} → {after:.3f}" for before, after in means)
        yield f"| {corpus} | {GRAMMARS[corpus][0]} | {cells} |"


if __name__ == "__main__":
    run_module(sys.modules[__name__], "experiments.small")
