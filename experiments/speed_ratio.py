"""How fast this checkout is beside another one: ``python -m experiments.speed_ratio OTHER_CHECKOUT``.

Both checkouts take turns in processes of their own, several times, so a slow phase of the machine strikes both. A ratio
above 1 says that this checkout is faster. Its spread over the turns says how far to trust it: measure a checkout beside
itself first.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Annotated, Any

import typer

# Nothing here imports hyperspan: the processes do, each from its own checkout.
from experiments.golden.texts import all_texts
from experiments.processor import processor
from experiments.speed.invented import invented_sentences

ROOT = Path(__file__).parents[1]
CHILD = Path(__file__).with_name("speed_child.py")
MODELS = ("english", "genia")
SENTENCES_PER_TEXT = 10
WHAT = {
    **{f"annotate with {model}": ("annotate", model) for model in MODELS},
    "one sentence": ("sentence", MODELS[0]),
    "bulk": ("bulk", MODELS[1]),
    "training, c = 6": ("train", "6"),
    "training, c = n": ("train", "n"),
    "start of annotate": ("start", MODELS[0]),
}
"""What is measured, and the arguments of the child process that does it."""
UNITS = {"annotate": "words/s", "bulk": "words/s", "train": "words/s", "sentence": "ms", "start": "ms"}


def texts(words: int) -> list[str]:
    """Texts of about so many words: sentences as long as those of GENIA, of the words of the golden record's texts, the
    rarest of them invented. A sentence is a paragraph, since its end cannot be seen."""
    known = dict.fromkeys(word for text in all_texts().values() for word in text.split() if word.isascii())
    real = {f"word{rank}": word for rank, word in enumerate(known, start=1)}
    sentences = cycle(invented_sentences())
    found, held = [], 0
    while held < words:
        lines = [[real.get(word, word) for word in next(sentences).tokens] for _ in range(SENTENCES_PER_TEXT)]
        found.append("\n\n".join(map(" ".join, lines)))
        held += sum(map(len, lines))
    return found


def material(folder: Path, words: int, training_sentences: int) -> None:
    """Write what both checkouts read, so that it is the same: texts, and sentences with mentions in four lines."""
    given = texts(words)
    (folder / "texts.json").write_text(json.dumps(given), "utf-8")
    records = (json.dumps({"id": str(number), "text": text}) for number, text in enumerate(given))
    (folder / "texts.jsonl").write_text("".join(f"{record}\n" for record in records), "utf-8")
    lines: list[str] = []
    for sentence in invented_sentences()[:training_sentences]:
        mentions = "|".join(f"{one.start},{one.end} {one.label}" for one in sorted(sentence.mentions))
        tags = " ".join("_" for _ in sentence.tokens)
        lines += [" ".join(sentence.tokens), tags, mentions, ""]
    (folder / "train.data").write_text("\n".join(lines), "utf-8")


def measure(checkout: Path, arguments: Sequence[str], folder: Path) -> dict[str, float]:
    """What one process of a checkout measured: `wall` and `cpu` seconds, and the `units` of work done in them."""
    source = checkout / "src"
    environment = {**os.environ, "PYTHONPATH": str(source), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, str(CHILD), str(source), *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{checkout} could not measure {' '.join(arguments)}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def in_turns(checkouts: Sequence[Path], rounds: int, chosen: Sequence[str], folder: Path) -> dict[str, list[Any]]:
    """For each measure, a pair for each round; who begins changes from round to round."""
    found: dict[str, list[Any]] = {name: [] for name in chosen}
    for turn in range(rounds):
        for name in chosen:
            order = (0, 1) if turn % 2 == 0 else (1, 0)
            pair = {which: measure(checkouts[which], WHAT[name], folder) for which in order}
            found[name].append((pair[0], pair[1]))
        print(f"speed ratio: round {turn + 1} of {rounds} is done", file=sys.stderr)
    return found


def ratios(pairs: Sequence[tuple[dict[str, float], dict[str, float]]], clock: str) -> dict[str, float]:
    """How many times as fast the first of each pair is: the median over the rounds, the least and the most.

    >>> one, other = {"wall": 1.0, "units": 10}, {"wall": 2.0, "units": 10}
    >>> ratios([(one, other), (one, one), (one, other)], "wall")
    {'median': 2.0, 'least': 1.0, 'most': 2.0}
    """
    found = [(one["units"] / one[clock]) / (other["units"] / other[clock]) for one, other in pairs]
    return {"median": statistics.median(found), "least": min(found), "most": max(found)}


def figures(found: dict[str, list[Any]]) -> dict[str, Any]:
    """The ratios of every measure, by both clocks, and the rates of both checkouts."""
    result: dict[str, Any] = {}
    for name, pairs in found.items():
        unit = UNITS[WHAT[name][0]]
        rates = [[pair[which]["units"] / pair[which]["wall"] for pair in pairs] for which in (0, 1)]
        middle = [statistics.median(values) for values in rates]
        result[name] = {
            "unit": unit,
            "this": middle[0] if unit == "words/s" else 1e3 / middle[0],
            "other": middle[1] if unit == "words/s" else 1e3 / middle[1],
            **{clock: ratios(pairs, clock) for clock in ("wall", "cpu")},
        }
    return result


def table(measured: dict[str, Any]) -> str:
    """The figures as text; the ratios of wall time and of processor time, each with its least and most."""
    lines = [f"{'':<22}{'this':>10}{'other':>10}  {'':<9}{'ratio':<24}{'by processor time':<24}"]
    for name, one in measured.items():
        shown = [f"{r['median']:.3f} ({r['least']:.2f}–{r['most']:.2f})" for r in (one["wall"], one["cpu"])]
        rates = "".join(
            f"{value:>10,.0f}" if value >= 100 else f"{value:>10.2f}" for value in (one["this"], one["other"])
        )
        lines.append(f"{name:<22}{rates}  {one['unit']:<9}{shown[0]:<24}{shown[1]:<24}".rstrip())
    return "\n".join(lines)


def main(
    other: Annotated[Path, typer.Argument(help="Another checkout, with its kernels compiled in place.", exists=True)],
    rounds: Annotated[int, typer.Option(min=1, help="How often each checkout measures everything.")] = 5,
    only: Annotated[list[str] | None, typer.Option(help="A measure by the beginning of its name.")] = None,
    words: Annotated[int, typer.Option(min=100, help="The words that are annotated in a turn.")] = 20_000,
    sentences: Annotated[int, typer.Option(min=1, help="The sentences of a training epoch.")] = 200,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    chosen = [name for name in WHAT if not only or name.startswith(tuple(only))]
    if not chosen:
        raise typer.BadParameter(f"there is no measure {', '.join(only or ())}; choose from {', '.join(WHAT)}")
    if not (other / "src" / "hyperspan").is_dir():
        raise typer.BadParameter(f"{other} has no src/hyperspan; name the root of a checkout")
    with tempfile.TemporaryDirectory() as place:
        material(Path(place), words, sentences)
        measured = figures(in_turns([ROOT, other.resolve()], rounds, chosen, Path(place)))
    print(json.dumps({"machine": processor(), "rounds": rounds, "ratios": measured}) if as_json else table(measured))


if __name__ == "__main__":
    typer.run(main)
