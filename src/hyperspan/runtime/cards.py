"""The model card ``card.toml``: title, description, domain, meanings of labels, and scores.

Needs neither torch nor NumPy.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hyperspan.errors import CONTROL_CHARACTERS, CardWarning, InputError
from hyperspan.files import Target
from hyperspan.toml import free_table, read_text, read_toml, shown, to_key, to_toml

CARD = "card.toml"
"""The file name of a model card."""
README = "README.md"
HEADINGS = (
    *("Model details", "Intended use", "Out-of-scope use", "Training data and licences", "Evaluation"),
    *("Limits and biases", "Calibration", "Environmental cost", "How to reproduce", "Citation"),
)
"""The headings of a model's README.md, after Mitchell et al. (2019) and others."""
TEXTS = {"title": 200, "description": 1000, "domain": 200, "language": 100, "licence": 500}
"""The text keys, with the maximal number of characters of each."""
LONGEST_MEANING = 300
LABELS_WRITTEN = 10_000
"""The maximal bytes of the label table that :meth:`ModelCard.for_labels` writes, to keep the card small."""


@dataclass(frozen=True)
class Figures:
    """The F1 of a model, in percent; None if not measured."""

    corpus: str = ""
    dev: float | None = None
    test: float | None = None


@dataclass(frozen=True)
class ModelCard:
    """The facts about a model; unknown ones are empty.

    >>> card = ModelCard("zoo", "Finds animals.", labels={"FAC": "buildings"}, figures=Figures("Zoo", dev=81.5))
    >>> print(card.to_toml(), end="")
    title = "zoo"
    description = "Finds animals."
    <BLANKLINE>
    [labels]
    FAC = "buildings"
    <BLANKLINE>
    [figures]
    corpus = "Zoo"
    dev = 81.5
    >>> ModelCard.from_toml(card.to_toml()) == card
    True
    """

    title: str = ""
    description: str = ""
    """One sentence: what the model is for."""
    domain: str = ""
    language: str = ""
    licence: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The meaning of each label."""
    figures: Figures = field(default_factory=Figures)
    profile: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The profile of the training text, by which texts of other domains are detected."""
    guarantees: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The data for promises of recall and precision."""

    @classmethod
    def read(cls, folder: Path) -> ModelCard:
        """Read the card of a model's folder, which is untrusted; return an empty card if there is none."""
        path = folder / CARD
        if not path.exists():
            return cls()
        if not path.is_file():
            raise InputError(f"{path} is no regular file; remove it, or put a model card there")
        return cls.from_toml(read_text(path), str(path))

    @classmethod
    def read_or_warn(cls, folder: Path) -> ModelCard:
        """Read the card; warn and return an empty one if it is invalid, as a model works without it."""
        try:
            return cls.read(folder)
        except (InputError, OSError) as error:
            warnings.warn(f"{error}; the model is used without its card", CardWarning, stacklevel=3)
            return UNKNOWN

    @classmethod
    def from_toml(cls, text: str, name: str = "the model card") -> ModelCard:
        """Parse a card from TOML; raise an InputError if it is invalid.

        >>> ModelCard.from_toml("title = 3")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        hyperspan.errors.InputError: the model card: title is 3, but must be a text of at most 200 characters; ...
        """
        tables = read_toml(text, name, f"correct or remove {CARD}")
        try:
            return cls._from_tables(tables)
        except InputError as error:
            raise InputError(f"{name}: {error}; correct or remove it") from None

    @classmethod
    def _from_tables(cls, given: dict[str, Any]) -> ModelCard:
        _check_keys(given, (*TEXTS, "labels", "figures", "profile", "guarantees"), "")
        texts = {key: _text(given.get(key, ""), key, longest) for key, longest in TEXTS.items()}
        labels = {
            _text(label, "a label", LONGEST_MEANING): _text(meaning, f"labels.{label}", LONGEST_MEANING)
            for label, meaning in _table(given, "labels").items()
        }
        figures = _table(given, "figures")
        _check_keys(figures, ("corpus", "dev", "test"), "figures.")
        scores = {key: _percent(figures[key], f"figures.{key}") for key in ("dev", "test") if key in figures}
        known = Figures(_text(figures.get("corpus", ""), "figures.corpus", TEXTS["title"]), **scores)
        profile, guarantees = (free_table(given.get(name, {}), name) for name in ("profile", "guarantees"))
        return cls(**texts, labels=labels, figures=known, profile=profile, guarantees=guarantees)

    @classmethod
    def for_labels(cls, title: str, labels: tuple[str, ...], figures: Figures) -> ModelCard:
        """Make the card of a newly trained model; its author fills in the rest, such as the meanings of labels."""
        meanings = dict.fromkeys(map(_cleaned, labels), "")
        if len(to_toml(meanings).encode()) > LABELS_WRITTEN:
            meanings = {}
        return cls(_cleaned(title), labels=meanings, figures=Figures(_cleaned(figures.corpus), figures.dev))

    def to_toml(self) -> str:
        """Return the card as TOML, without unknown facts; :meth:`from_toml` reads it."""
        lines = [f"{key} = {to_toml(getattr(self, key))}" for key in TEXTS if getattr(self, key)]
        tables = {
            "labels": self.labels,
            "figures": {key: value for key, value in vars(self.figures).items() if value not in ("", None)},
            "profile": self.profile,
            "guarantees": self.guarantees,
        }
        for name, table in tables.items():
            if table:
                lines += ["", f"[{name}]", *(f"{to_key(key)} = {to_toml(value)}" for key, value in table.items())]
        return "\n".join(lines).lstrip("\n") + "\n"

    def write(self, folder: Path) -> None:
        """Write the card to a model's folder, replacing an existing one."""
        with Target(str(folder / CARD), force=True).open() as file:
            file.write(self.to_toml())

    def to_json(self) -> dict[str, Any]:
        """Return the card as JSON values, without profile and guarantees."""
        texts = {key: getattr(self, key) for key in TEXTS}
        return {**texts, "labels": dict(self.labels), "figures": dict(vars(self.figures))}


def with_section(readme: str, title: str, text: str) -> str:
    """Return a model's README.md with the text of one section replaced; a missing section is added.

    >>> readme = "# Zoo\\n\\n## Calibration\\n\\nOld.\\n\\n## Citation\\n\\nUs.\\n"
    >>> print(with_section(readme, "Calibration", "New."), end="")
    # Zoo
    <BLANKLINE>
    ## Calibration
    <BLANKLINE>
    New.
    <BLANKLINE>
    ## Citation
    <BLANKLINE>
    Us.
    """
    before, _, rest = f"\n{readme}".partition(f"\n## {title}\n")
    _, following, after = rest.partition("\n## ")
    section = f"## {title}\n\n{text}\n"
    return f"{before.rstrip()}\n\n{section}{following}{after}".lstrip("\n")


UNKNOWN = ModelCard()
"""The card of a model without a card."""


def _check_keys(given: Mapping[str, Any], known: tuple[str, ...], prefix: str) -> None:
    unknown = next((key for key in given if key not in known), None)
    if unknown is not None:
        raise InputError(f"it has no key {prefix}{unknown[:100]}, but {', '.join(prefix + key for key in known)}")


def _table(given: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = given.get(key, {})
    if not isinstance(value, Mapping):
        raise InputError(f"{key} is {shown(value)}, but must be a table")
    return value


def _text(value: Any, key: str, longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise InputError(f"{key[:100]} is {shown(value)}, but must be a text of at most {longest:,} characters")
    if CONTROL_CHARACTERS.search(value):
        raise InputError(f"{key[:100]} is {shown(value)}, but must be one line without control characters")
    return value


def _percent(value: Any, key: str) -> float:
    if type(value) not in (int, float) or not 0 <= value <= 100:
        raise InputError(f"{key} is {shown(value)}, but must be an F1 from 0 to 100")
    return float(value)


def _cleaned(name: str) -> str:
    """Shorten a name and replace its control characters, so that a card can hold it."""
    return CONTROL_CHARACTERS.sub("?", name)[: TEXTS["title"]]
