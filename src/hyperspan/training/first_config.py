"""The configuration that ``hyperspan init`` writes: short, with what the defaults choose for the corpus as comments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hyperspan.config import Config
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.corpora.statistics import Statistics
from hyperspan.errors import counted
from hyperspan.toml import to_toml
from hyperspan.training.defaults import CorpusFacts, fitted
from hyperspan.types import Document, Sentence

MOST_LABELS = 8
"""The labels that are listed with their counts; the rest is counted."""
SHOWN = {
    "training": ("start", "epochs", "batch_size", "learning_rate"),
    "words": ("vectors",),
    "characters": ("encoder",),
    "encoder": ("layers", "hidden", "span_hidden", "input_dropout"),
}
"""The keys that are shown; training prints all that it chooses."""
HINTS = {
    "training.start": "  # a model to start from: a bundled one, or a folder",
    "words.vectors": "  # a file of word vectors of the language, such as fastText's .vec",
}
"""What a key could have that has nothing."""


@dataclass
class CorpusSummary:
    """What a corpus holds, as far as it matters to someone who trains on it."""

    path: str
    statistics: Statistics = field(default_factory=Statistics)
    raw: bool = False
    """Whether some of it is text without tokens."""
    sentences: list[Sentence] = field(default_factory=list)
    """Those with tokens."""

    @classmethod
    def of(cls, path: str, documents: Iterable[Document]) -> CorpusSummary:
        """Counts documents. What is to be said about how they are tokenised, is said in training."""
        summary = cls(path)
        for document in documents:
            whole = with_sentences(document, Problems("skip"))
            summary.statistics.add(whole)
            summary.raw = summary.raw or not document.sentences
            summary.sentences += [sentence for sentence in whole.sentences if len(sentence)]
        return summary

    def described(self, format_name: str) -> list[str]:
        """Two lines on what it holds."""
        counts = self.statistics
        common = [f"{label} {count:,}" for label, count in counts.types.most_common(MOST_LABELS)]
        more = f" and {len(counts.types) - MOST_LABELS} more" if len(counts.types) > MOST_LABELS else ""
        discontinuous = f", {counts.discontinuous:,} discontinuous, not learnt" if counts.discontinuous else ""
        lines = [
            f"{self.path}: {format_name}, {'raw text' if self.raw else 'tokens'}, "
            f"{counted(counts.documents, 'document')}, {counted(counts.sentences, 'sentence')}",
            f"{counted(counts.mentions, 'mention')} ({counts.overlapping:,} overlapping{discontinuous}), "
            f"of up to {counted(counts.longest, 'word')}: {', '.join(common)}{more}",
        ]
        return list(map(_printable, lines))


def first_config(
    about: Sequence[str], train: CorpusSummary, dev: CorpusSummary, test: CorpusSummary | None, format_name: str = ""
) -> str:
    """The text of a configuration that trains with the defaults. The format is named where it was not recognised."""
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
            [_printable(f"# test: {test.path}, {counted(len(test.sentences), 'sentence')} for hyperspan evaluate")]
            if test
            else []
        ),
        "",
        f"# All else follows from the corpus. For {counted(facts.sentences, 'training sentence')} {language}, hyperspan train",
        "# chooses these values, and more that it prints. Remove a # to set one yourself (all keys: docs/training.md).",
        *_sections(fitted(Config(), facts).choices),
    ]
    return "\n".join(lines) + "\n"


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


def _printable(line: str) -> str:
    """A line as a comment can have it, whatever the names and labels in it are."""
    return "".join(character if character.isprintable() else "?" for character in line)
