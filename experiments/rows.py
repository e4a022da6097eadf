"""Rows as data: a system is a configuration with overrides, what it learns from, and the part that it is scored on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.types import Sentence

Figures = tuple[float | None, float | None, float]
"""Precision, recall and F1 on test in percent, as the paper prints them; None where it reports only F1."""
Sentences = Sequence[Sentence]
Prepare = Callable[[Sentences, Sentences, Config], tuple[Sentences, Sentences]]
"""(train, dev, config) -> the sentences of train and dev that a row learns from."""


@dataclass(frozen=True)
class Corpus:
    """The paths of the parts of a corpus, relative to the data folder, and what configurations override on it."""

    train: str
    dev: str
    test: str
    overrides: tuple[str, ...] = ()
    """The overrides where a configuration is of another corpus, or of none; its paths are overridden in any case."""

    def file(self, part: Literal["dev", "test"]) -> str:
        """The file that rows are scored on."""
        return self.test if part == "test" else self.dev

    @property
    def parts(self) -> dict[str, str]:
        """The paths by part."""
        return {"train": self.train, "dev": self.dev, "test": self.test}

    @property
    def all_overrides(self) -> tuple[str, ...]:
        """The overrides, with its paths."""
        return (f"data.train=data/{self.train}", f"data.dev=data/{self.dev}", *self.overrides)


FOLDS = tuple(f"genia-{fold}" for fold in range(1, 6))
"""The articles of GENIA's XML, one fold of five as test each."""
_OF_A_FOLD = ("training.epochs=20", "training.batch_size=32", "training.ema_decay=0.99")
"""A fold has 1,169 training sentences; CRAFT has 17,220."""


def _fold(folder: str) -> Corpus:
    return Corpus(f"{folder}/train.jsonl", f"{folder}/dev.jsonl", f"{folder}/test.jsonl", _OF_A_FOLD)


CORPORA = {
    "genia": Corpus("genia/train.data", "genia/dev.data", "genia/test.data"),
    "litbank": Corpus(
        "litbank/train.data.gz", "litbank/dev.data.gz", "litbank/test.data.gz", ("model.tokenizer=words",)
    ),
    "gum": Corpus("gum/train.jsonl.gz", "gum/dev.jsonl.gz", "gum/test.jsonl.gz"),
    "craft": Corpus("craft/train.jsonl.gz", "craft/dev.jsonl.gz", "craft/test.jsonl.gz"),
    "jnlpba": Corpus("jnlpba/train.tsv.gz", "jnlpba/valid.tsv.gz", "jnlpba/test.tsv.gz"),
    "germeval": Corpus("germeval2014/germ.train.iob2", "germeval2014/germ.dev.iob2", "germeval2014/germ.test.iob2"),
    **{name: _fold(f"genia/folds/{name}") for name in FOLDS},
}


@dataclass(frozen=True)
class Row:
    """One system of a table."""

    name: str
    """The name on the command line and of the folder."""
    title: str
    """The title in tables."""
    group: str = ""
    config: Row | str = ""
    """What it overrides: the configuration of another row on the same corpus, or the file CONFIGS/NAME.toml, on any
    corpus. A row with a file CORPUS/ROW.toml of its own has that one instead."""
    overrides: tuple[str, ...] = ()
    """``section.key=value``, as for ``hyperspan train --set``."""
    paper: Mapping[str, Figures] = field(default_factory=dict, hash=False)
    """The paper's figures, by corpus."""
    base: Row | None = None
    """The row that an ablation or addition modifies."""
    data: tuple[str, ...] = ("genia", "litbank")
    """The corpora of the row."""
    part: Literal["dev", "test"] = "test"
    """The part it is scored on: dev for settings that are being selected."""
    runs: int = 3
    """How many seeds it is trained with, unless the user names seeds."""
    prepare: Prepare | None = None
    """What it learns from, if these are not simply the sentences of its corpora."""
    spancat: Literal["", "plain", "vectors", "wide"] = ""
    """Whether spaCy's spancat is trained instead: as it is, with word vectors, or with spans of any width."""
    decodes: bool = False
    """Whether it is not trained: the trained models of `base` decode with its overrides."""
    on: Mapping[str, tuple[Row | str, tuple[str, ...]]] = field(default_factory=dict, hash=False)
    """By corpus: another `config` and other `overrides`."""

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that it is trained with, unless the user names others."""
        return tuple(range(1, self.runs + 1))

    @property
    def label(self) -> str:
        """The title in tables that mix groups."""
        if self.base:
            return f"{self.base.title} {self.title}"
        own = ", paper's settings"
        after = {"structure": ", neural", "paper": own, "beta": own, "limit": own}
        return self.title + after.get(self.group, "")


def corpus_named(data: str) -> Corpus:
    """The corpus of this name."""
    if data not in CORPORA:
        raise InputError(f"there is no corpus {data!r}; choose one of {', '.join(CORPORA)}")
    return CORPORA[data]
