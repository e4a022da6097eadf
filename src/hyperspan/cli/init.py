"""``hyperspan init``: write a training configuration for a corpus, short, with the defaults for it as comments."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from hyperspan.cli.convert import print_split
from hyperspan.cli.guesses import check_no_model
from hyperspan.cli.options import Force, ReadingGroup
from hyperspan.cli.output import say
from hyperspan.config import Config
from hyperspan.corpora.examples import DEFAULT, EXAMPLES, copy_example, example_path
from hyperspan.corpora.source import Problems
from hyperspan.corpora.splits import (
    USUAL_FRACTIONS,
    Fractions,
    OpenCorpus,
    PartFiles,
    open_corpus,
    split_files,
)
from hyperspan.corpora.statistics import CorpusSummary, printable
from hyperspan.errors import InputError, counted
from hyperspan.files import Target
from hyperspan.toml import to_toml
from hyperspan.training.advice import check_data, offset_notes
from hyperspan.training.settings import CorpusFacts, complete
from hyperspan.types import Document

SMALL = 300
"""Below this many sentences, dev and test are a fifth each: a tenth would be too small to measure anything."""
SMALL_FRACTIONS: Fractions = {"train": 0.6, "dev": 0.2, "test": 0.2}


def init(
    corpus: Annotated[
        str | None,
        typer.Argument(
            metavar="[CORPUS]",
            help="Annotated text in any format: a file or a folder, or the folder of parts of hyperspan convert.",
        ),
    ] = None,
    example: Annotated[
        bool,
        typer.Option(
            "--example",
            help=f"Copy a small invented corpus into the current folder and use it. CORPUS is then one of "
            f"{', '.join(EXAMPLES)} (default: {DEFAULT}).",
        ),
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The configuration to write. Default: CORPUS.toml in the current folder.",
        ),
    ] = None,
    dev: Annotated[str | None, typer.Option(metavar="FILE", help="Your dev corpus. Default: split CORPUS.")] = None,
    test: Annotated[str | None, typer.Option(metavar="FILE", help="Your test corpus; needs --dev.")] = None,
    force: Force = False,
    *,
    reading: ReadingGroup,
) -> None:
    """Check a corpus, split it into train, dev and test, and write a short training configuration.

    Train, dev and test get 80, 10 and 10 percent of the documents, below 300 sentences 60, 20 and 20. To split
    otherwise, write the parts with hyperspan convert --fractions, and name their folder here.

    Example: hyperspan init mine.jsonl
    """
    if example:
        wanted = example_path(corpus or DEFAULT)
        Target(output or f"{wanted.stem}.toml", force).check()
        corpus = str(copy_example(corpus or DEFAULT, force=force))
        say(f"wrote {corpus}, an invented corpus to try hyperspan with")
    if corpus is None:
        raise InputError(
            "init needs a corpus, but none is given; name a file or a folder of annotated text, or try --example"
        )
    check_no_model("train mine.toml --start {model}", [corpus])
    if corpus == "-":
        raise InputError("a configuration names its corpus, which standard input cannot be; name a file")
    name = output or f"{_stem(corpus)}.toml"
    split_already = _given_parts(corpus) if dev is None else None
    _check_options(dev, test, reading.option, split_already)
    if split_already:
        corpus, dev, test = split_already["train"], split_already["dev"], split_already.get("test")
    problems = reading.problems
    opened = open_corpus(corpus, reading.from_, problems)
    with Target(name, force).open() as file:
        read = opened.read(problems, **reading.options)
        whole = CorpusSummary.of(corpus, [document for documents in read for document in documents])
        check_data(Config.from_mapping({"data": {"train": corpus}}), whole.sentences, finds_parts=True)
        written_as = opened.format
        if dev is not None:
            found = [
                whole,
                *(CorpusSummary.of(path, reading.documents(path)) for path in (dev, test) if path),
            ]
        else:
            fractions = SMALL_FRACTIONS if len(whole.sentences) < SMALL else USUAL_FRACTIONS
            found, written_as = _split(opened, read, fractions, problems, force=force)
        named = reading.from_ if reading.from_ == written_as else None
        file.write(first_config(whole.described(opened.format), found, named or ""))
    reading.report()
    for note in offset_notes(whole.problems, whole.sentences, ()):
        say(f"note: {note}")
    _print_next(name, whole.described(opened.format), found)


def _check_options(
    dev: str | None, test: str | None, of_format: Sequence[str] | None, split_already: Mapping[str, str] | None
) -> None:
    """Raise an error for options that contradict each other, or the corpus."""
    if dev is None and test is not None:
        raise InputError("--test is given without --dev; name both, or none of them to split the corpus")
    if dev is None and split_already is None:
        return
    if of_format:
        raise InputError(
            "--option says how the corpus is read, which a configuration cannot; leave it out, or write the corpus anew "
            "with hyperspan convert --option"
        )


def _stem(corpus: str) -> str:
    """data/mine.jsonl.gz → mine, data/mine-split → mine"""
    name = Path(corpus).resolve().name
    return (name.partition(".")[0] or name).removesuffix("-split")


def _given_parts(corpus: str) -> dict[str, str] | None:
    """Return the parts of a folder that hyperspan convert --fractions wrote; None for any other corpus.

    Files with other endings, such as a README, are ignored. In a brat folder every name has two endings.
    """
    folder = Path(corpus)
    by_ending: dict[str, dict[str, str]] = {}
    for file in sorted(folder.iterdir()) if folder.is_dir() else []:
        name, _, ending = file.name.partition(".")
        by_ending.setdefault(ending, {})[name] = str(file)
    found = [files for files in by_ending.values() if {"train", "dev"} <= files.keys() <= USUAL_FRACTIONS.keys()]
    return found[0] if len(found) == 1 else None


def _split(
    corpus: OpenCorpus, read: Sequence[list[Document]], fractions: Fractions, problems: Problems, *, force: bool
) -> tuple[list[CorpusSummary], str]:
    """Write and print the parts of a corpus; return their summaries and format."""
    files = PartFiles.of(corpus)
    files.check_free(list(fractions), force=force)
    split = split_files(corpus, read, fractions, problems)
    files.write(split.parts, force=force, problems=problems)
    print_split(split, files)
    found = [CorpusSummary.of(str(files.path(name)), part.documents) for name, part in split.parts.items()]
    return found, files.format


def _print_next(name: str, about: Sequence[str], found: Sequence[CorpusSummary]) -> None:
    """Print the corpus summary and the next commands on standard error."""
    model = Path("runs") / Path(name).stem
    commands = [
        ["hyperspan", "train", name],
        *(["hyperspan", "evaluate", part.path, "--model", str(model)] for part in found[2:]),
        ["hyperspan", "annotate", "text.txt", "--model", str(model)],
    ]
    for line in (*about, f"wrote {name}; next:"):
        say(line)
    print(*(f"  {shlex.join(command)}" for command in commands), sep="\n", file=sys.stderr)


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


def first_config(about: Sequence[str], parts: Sequence[CorpusSummary], format_name: str = "") -> str:
    """The text of a configuration that trains with the defaults, on train and dev; there may be a test part. It names
    the corpus format if that was not recognised."""
    train, dev, *tests = parts
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
            printable(f"# test: {test.path}, {counted(len(test.sentences), 'sentence')} for hyperspan evaluate")
            for test in tests
        ),
        *_model(train),
        "",
        f"# All else follows from the corpus. For {counted(facts.sentences, 'training sentence')} {language}, hyperspan train",
        "# chooses these values, and more that it prints. Remove a # to set one yourself. All keys:",
        f"# {ALL_KEYS}",
        *_sections(complete(Config().override([f"model.kind={_kind(train)}"]), facts)),
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


def _sections(config: Config) -> list[str]:
    """The values that matter most as comments, under the headings of their sections."""
    lines: list[str] = []
    for section, names in SHOWN.items():
        lines.append(f"[{section}]")
        for name in names:
            value = config.value(f"{section}.{name}")
            hint = HINTS.get(f"{section}.{name}", "") if value == "" else ""
            lines.append(f"# {name} = {to_toml(value)}{hint}")
    return lines
