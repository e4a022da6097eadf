"""The configuration that ``hyperspan init`` writes: short, with the defaults for the corpus as comments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hyperspan.config import Config
from hyperspan.corpora.summary import CorpusSummary, printable
from hyperspan.errors import counted
from hyperspan.toml import to_toml
from hyperspan.training.defaults import CorpusFacts, fitted

ENOUGH_DISCONTINUOUS = 0.02
"""The share of discontinuous mentions above which the first model finds them. Below it, the model may start from a
bundled one."""
SHOWN = {
    "training": ("start", "epochs", "batch_size", "learning_rate"),
    "words": ("vectors",),
    "characters": ("encoder",),
    "encoder": ("layers", "hidden", "span_hidden", "input_dropout"),
}
"""The keys to show; training prints all that it chooses."""
HINTS = {
    "training.start": "  # a model to start from: a bundled one, or a folder",
    "words.vectors": "  # a file of word vectors of the language, such as fastText's .vec",
}
"""Example values for keys that are empty."""
ALL_KEYS = "https://hyperspan-nlp.github.io/hyperspan/reference/configuration.html"


def first_config(
    about: Sequence[str], train: CorpusSummary, dev: CorpusSummary, test: CorpusSummary | None, format_name: str = ""
) -> str:
    """The text of a configuration that trains with the defaults. It names the corpus format if that was not
    recognised."""
    facts = CorpusFacts.of(train.sentences)
    language = "in English" if facts.english else "not in English"
    lines = [
        *(f"# {line}" for line in about),
        "",
        "[data]  # paths are relative to the folder in which you run hyperspan",
        f"train = {to_toml(train.path)}  # {counted(len(train.sentences), 'sentence')}",
        f"dev = {to_toml(dev.path)}  # {counted(len(dev.sentences), 'sentence')} that choose the best epoch",
        *([f"format = {to_toml(format_name)}"] if format_name else []),
        *(
            [printable(f"# test: {test.path}, {counted(len(test.sentences), 'sentence')} for hyperspan evaluate")]
            if test
            else []
        ),
        *_model(train),
        "",
        f"# All else follows from the corpus. For {counted(facts.sentences, 'training sentence')} {language}, hyperspan train",
        "# chooses these values, and more that it prints. Remove a # to set one yourself. All keys:",
        f"# {ALL_KEYS}",
        *_sections(fitted(Config().override([f"model.kind={_kind(train)}"]), facts).choices),
    ]
    return "\n".join(lines) + "\n"


def _kind(train: CorpusSummary) -> str:
    counts = train.statistics
    enough = counts.discontinuous and counts.discontinuous >= ENOUGH_DISCONTINUOUS * counts.mentions
    return "discontinuous" if enough else "segmental"


def _model(train: CorpusSummary) -> list[str]:
    """The kind of model for a corpus with discontinuous mentions; as a comment if these are few."""
    some, every = train.statistics.discontinuous, train.statistics.mentions
    if not some:
        return []
    line = f'kind = "discontinuous"  # {some:,} of {every:,} mentions have words between their parts'
    few = _kind(train) == "segmental"
    return ["", "[model]", f"# {line}; the default kind leaves them out" if few else line]


def _sections(choices: Mapping[str, Any]) -> list[str]:
    """The choices that matter most as comments, under the headings of their sections."""
    lines: list[str] = []
    for section, names in SHOWN.items():
        lines.append(f"[{section}]")
        for name in names:
            value = choices[f"{section}.{name}"]
            hint = HINTS.get(f"{section}.{name}", "") if value == "" else ""
            lines.append(f"# {name} = {to_toml(value)}{hint}")
    return lines
