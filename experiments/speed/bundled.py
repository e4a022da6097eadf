"""Speed and accuracy of the bundled models on raw text, compared with spaCy's spancat.

Words per second of raw text, in turns with an untrained spancat that proposes spans of 1 to 6 words, if spaCy is
installed. F1 and the texts come from the corpora, if available: DATA/NAME/dev.* and test.* for the model NAME, DATA/gum
for `english`. Then the latency of one sentence, the time of each stage, and the start of ``hyperspan annotate``. Needs
no torch.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.cli import DATA_DIR, DataDir, MeasuredThreads, Rounds, SpacyPython
from experiments.processor import processor
from experiments.spancat import Spancat, spancat_workers
from experiments.speed.invented import invented_sentences
from experiments.speed.measure import in_turns, median_ratio, sentence_latency
from experiments.speed.texts import running_texts
from hyperspan.corpora import Problems, read_corpus
from hyperspan.corpora.documents import with_sentences
from hyperspan.errors import InputError
from hyperspan.evaluation import evaluate_model
from hyperspan.kernels.threads import use_threads
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.decoding import predict
from hyperspan.runtime.documents import assemble
from hyperspan.runtime.folders import bundled_models
from hyperspan.runtime.loading import load
from hyperspan.types import Sentence

CORPORA = {"english": "gum"}
"""The corpus folders whose names differ from their models'."""
PARTS = ("dev", "test")
SUFFIXES = (".data", ".jsonl", ".data.gz", ".jsonl.gz")
WORDS = 50_000
"""The approximate number of words annotated per round."""
TOGETHER = 200
"""The number of sentences per vocabulary lookup."""
LATENCY_SENTENCES, LATENCY_WORDS = 300, 60
"""The number of sentences to annotate one by one, and their maximum length."""
STARTS = 10
SNIPPET = "IL-2 promoter"
"""The text annotated when measuring the command's start-up."""
_PEAK = """
import sys
from hyperspan.cli import main
try:
    main()
finally:
    status = open("/proc/self/status").read()
    print(status.partition("VmHWM:")[2].split()[0], file=sys.stderr)
"""
"""A command whose last line on standard error is its own peak memory in kB, not that of its parent."""


# -- texts ---------------------------------------------------------------------------------------------------------


def corpus_files(folder: Path, model: str) -> dict[str, Path]:
    """The dev and test files of a model's corpus that exist."""
    place = folder / CORPORA.get(model, model)
    candidates = {part: [place / f"{part}{suffix}" for suffix in SUFFIXES] for part in PARTS}
    found = {part: next((path for path in paths if path.is_file()), None) for part, paths in candidates.items()}
    return {part: path for part, path in found.items() if path is not None}


def sample(files: dict[str, Path], words: int) -> tuple[list[Sentence], list[str]]:
    """Sentences and running texts to measure with, about equally many words of each: from a corpus, or synthetic."""
    if files:
        path = files.get("test") or files["dev"]
        whole = (with_sentences(document, Problems("skip")) for document in read_corpus(path))
        sentences = [sentence for document in whole for sentence in document.sentences]
        texts = [document.text for document in running_texts(path)]
    else:
        sentences = invented_sentences()
        # One paragraph each: synthetic sentences have no visible end.
        texts = ["\n\n".join(" ".join(s.tokens) for s in sentences[i : i + 10]) for i in range(0, len(sentences), 10)]
    return sentences, list(_up_to(texts, words))


def _up_to(texts: Sequence[str], words: int) -> Iterator[str]:
    held = 0
    for text in texts:
        if held >= words:
            return
        held += len(text.split())
        yield text


# -- figures -------------------------------------------------------------------------------------------------------


def throughput(model: str, texts: Sequence[str], rounds: int, beside: Spancat | None) -> dict[str, Any]:
    """Words per second from raw text to documents, and the ratio to spancat.

    Each round uses a freshly loaded model: nothing is cached from previous rounds.
    """

    fresh = [load(model) for _ in range(rounds + 2)]  # one to count words, one to warm up

    def annotate() -> int:
        return sum(len(sentence) for document in fresh.pop().pipe(texts) for sentence in document.sentences)

    words = annotate()
    times = in_turns([annotate, *([beside] if beside else [])], rounds)
    return {
        "words": words,
        "words_per_second": words / statistics.median(times[0]),
        "spancat_words_per_second": words / statistics.median(times[1]) if beside else None,
        "ratio_to_spancat": median_ratio(times[1], times[0]) if beside else None,
        "spacy": beside.version if beside else None,
    }


def stages(annotator: Annotator, texts: Sequence[str], rounds: int) -> dict[str, float]:
    """Microseconds per word for tokenization, vocabulary lookup, finding mentions (which includes lookup), and building
    documents."""
    options = annotator.options()
    documents = [annotator.split(text) for text in texts]
    sentences = [sentence for document in documents for sentence in document.sentences]
    predictions = predict(annotator.model, sentences, options)
    batches = [sentences[first : first + TOGETHER] for first in range(0, len(sentences), TOGETHER)]

    def cut() -> None:
        for text in texts:
            annotator.split(text)

    def look_up() -> None:
        for batch in batches:
            annotator.model.vocabulary.look_up([token for sentence in batch for token in sentence.tokens])

    def build() -> None:
        found = iter(predictions)
        for document in documents:
            assemble(document, [next(found) for _ in document.sentences], options)

    times = in_turns([cut, look_up, partial(predict, annotator.model, sentences, options), build], rounds)
    words = sum(map(len, sentences))
    names = ("cut_text", "look_up_words", "find_mentions", "build_documents")
    return {name: 1e6 * statistics.median(taken) / words for name, taken in zip(names, times, strict=True)}


def scores(annotator: Annotator, files: dict[str, Path]) -> dict[str, float] | None:
    """F1 on each part of the corpus, as in ``hyperspan evaluate``; None if the corpus is not available."""
    found = {
        part: evaluate_model(
            annotator, read_corpus(path), samples=0, tokenizer=annotator.model.tokenizer
        ).report.micro.f1
        for part, path in files.items()
    }
    return found or None


def start(model: str, starts: int) -> dict[str, Any]:
    """Seconds of ``hyperspan annotate`` from start to end, as a multiple of ``hyperspan --version``, and its memory."""
    arguments = ["annotate", SNIPPET, "--model", model]

    def command(*given: str) -> partial[Any]:
        return partial(subprocess.run, [sys.executable, "-m", "hyperspan", *given], check=True, capture_output=True)

    annotating, version = in_turns([command(*arguments), command("--version")], starts)
    return {
        "start_seconds": statistics.median(annotating),
        "version_seconds": statistics.median(version),
        "start_over_version": median_ratio(annotating, version),
        "peak_mb": _peak_mb(arguments),
    }


def _peak_mb(arguments: Sequence[str]) -> float | None:
    if not Path("/proc/self/status").exists():
        return None
    command = [sys.executable, "-c", _PEAK, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stderr.split()[-1]) * 1024 / 1e6


# -- the command ---------------------------------------------------------------------------------------------------


def measure(name: str, data: Path, rounds: int, starts: int, threads: int, python: str | None) -> dict[str, Any]:
    """All figures of one model."""
    files = corpus_files(data, name)
    sentences, texts = sample(files, WORDS)
    annotator = load(name)
    short = [sentence for sentence in sentences if len(sentence) <= LATENCY_WORDS][:LATENCY_SENTENCES]
    with spancat_workers(python, texts, annotator.labels, threads) if python else nullcontext() as beside:
        speed = throughput(name, texts, rounds, beside)
    return {
        "texts": f"{next(reversed(files.values())).name} of {CORPORA.get(name, name)}" if files else "invented",
        **speed,
        "f1": scores(annotator, files),
        **start(name, starts),
        **sentence_latency(annotator, [" ".join(sentence.tokens) for sentence in short], rounds),
        "microseconds_per_word": stages(annotator, texts, rounds),
    }


def run(
    models: Annotated[
        list[str] | None, typer.Option("--models", "-m", help="Only these; repeat for more. Default: all bundled ones.")
    ] = None,
    data_dir: DataDir = DATA_DIR,
    threads: MeasuredThreads = 2,
    rounds: Rounds = 5,
    starts: Annotated[int, typer.Option(min=1, help="How often the command is started.")] = STARTS,
    spancat: SpacyPython = None,
) -> dict[str, Any]:
    known = bundled_models()
    for name in models or ():
        if name not in known:
            raise InputError(f"there is no bundled model {name!r}; choose from {', '.join(known)}")
    used = min(threads, os.cpu_count() or 1)
    python = spancat or (sys.executable if find_spec("spacy") else None)
    use_threads(used)
    measured = {name: measure(name, data_dir, rounds, starts, used, python) for name in models or known}
    return {"machine": processor(), "threads": used, "models": measured}


ROWS = {
    "words a second": ("words_per_second",),
    "times spancat": ("ratio_to_spancat",),
    "F1 on dev": ("f1", "dev"),
    "F1 on test": ("f1", "test"),
    "one sentence, p50, ms": ("p50_ms",),
    "one sentence, p99, ms": ("p99_ms",),
    "start, s": ("start_seconds",),
    "times --version": ("start_over_version",),
    "peak memory, MB": ("peak_mb",),
    "µs a word: cut text": ("microseconds_per_word", "cut_text"),
    "… look up words": ("microseconds_per_word", "look_up_words"),
    "… find mentions": ("microseconds_per_word", "find_mentions"),
    "… build documents": ("microseconds_per_word", "build_documents"),
}
"""The keys of the figures in each row."""
MISSING = {"f1": "no corpus (--data-dir)", "ratio_to_spancat": "no spaCy", "peak_mb": "memory unknown on this system"}
"""The reasons for missing figures."""


def table(figures: dict[str, Any]) -> Iterator[str]:
    """The figures as a table, a column for each model.

    >>> found = {"words_per_second": 41234.5, "f1": {"dev": 0.77623}, "ratio_to_spancat": None}
    >>> print(*table({"machine": "a CPU", "threads": 2, "models": {"genia": found}}), sep="\\n")
    a CPU, 2 threads
                            genia
    words a second          41,234
    times spancat           –
    F1 on dev               77.62
    F1 on test              –
    –: no corpus (--data-dir), no spaCy
    """
    models = figures["models"].values()
    yield f"{figures['machine']}, {figures['threads']} threads"
    yield (" " * 24 + "".join(f"{name:<12}" for name in figures["models"])).rstrip()
    missing: set[str] = set()
    for title, (key, *part) in ROWS.items():
        if not any(key in found for found in models):
            continue
        values = [(found.get(key) or {}).get(part[0]) if part else found.get(key) for found in models]
        missing |= {key} if None in values else set()
        yield f"{title:<23} " + "".join(f"{_cell(value, percent=key == 'f1'):<12}" for value in values).rstrip()
    if reasons := [reason for key, reason in MISSING.items() if key in missing]:
        yield f"–: {', '.join(reasons)}"


def _cell(value: float | None, *, percent: bool) -> str:
    if value is None:
        return "–"
    return f"{100 * value:.2f}" if percent else f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"
