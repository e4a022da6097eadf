"""How fast a model of the paper's sizes decodes on the CPU, as a share of the machine's matrix products.

From a batch of ids to sets of mentions, in float32 and in bfloat16; the same in PyTorch alone; and from raw text to
documents with mentions, offsets and probabilities; and, where asked for, spaCy's spancat. All take turns with the
products of large matrices that are the ceiling, and only operations that are necessary count.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Annotated, Any, Literal

import torch
import typer

from hyperspan import kernels
from hyperspan.batch import Batch, batches_by_length
from hyperspan.benchmarks import gpu
from hyperspan.benchmarks.invented import MAX_WIDTHS, TYPES, invented_sentences, necessary_operations, paper_model
from hyperspan.benchmarks.measure import (
    Ceiling,
    Data,
    Rounds,
    Threads,
    exponent,
    in_turns,
    machine,
    median_ratio,
    peak_memory,
    sentences_in,
)
from hyperspan.benchmarks.spancat import Spancat
from hyperspan.benchmarks.spancat import spancat as started
from hyperspan.inference.annotator import Annotator
from hyperspan.kernels.choice import precisions
from hyperspan.models import Recognizer
from hyperspan.structures import SegmentalHypergraph
from hyperspan.types import Sentence

REFERENCE_SHARE = 8
"""PyTorch alone decodes one sentence in so many; it takes long enough."""


def batches_for(model: Recognizer, sentences: Sequence[Sentence]) -> list[Batch]:
    lengths = [len(sentence) for sentence in sentences]
    batches = batches_by_length(lengths, model.max_width, model.batch_entries)
    return [model.collate([sentences[i] for i in batch]) for batch in batches]


def decoder(model: Recognizer, batches: Sequence[Batch], precision: str = "float32") -> Callable[[], object]:
    """From ids to the best set of mentions of every sentence."""

    def decode() -> None:
        model.for_inference(precision, model.options.skip)
        with torch.inference_mode():
            for batch in batches:
                SegmentalHypergraph(model(batch), batch.lengths).argmax()

    return decode


def measure_width(
    max_width: str, sentences: Sequence[Sentence], rounds: int, beside: Spancat | None = None
) -> dict[str, Any]:
    """All figures for one maximal width, and those of spaCy's spancat beside them."""
    model = paper_model(max_width, sentences)
    batches = batches_for(model, sentences)
    with kernels.reference():  # in batches of the size that it takes
        some = batches_for(model, sentences[::REFERENCE_SHARE])
    # A paragraph each: invented sentences have no end that could be seen.
    texts = ["\n\n".join(" ".join(s.tokens) for s in sentences[i : i + 10]) for i in range(0, len(sentences), 10)]
    annotator, ceiling, reference = Annotator(model), Ceiling(), decoder(model, some)

    def annotate() -> None:
        model.for_inference()
        for _ in annotator.pipe(texts):
            pass

    def alone() -> None:
        with kernels.reference():
            reference()

    raw = sum(len(sentence) for document in annotator.pipe(texts) for sentence in document.sentences)
    half = "bfloat16" in precisions("cpu")
    calls = {"ceiling": ceiling, "float32": decoder(model, batches), "raw text": annotate, "PyTorch alone": alone}
    calls |= {"bfloat16": decoder(model, batches, "bfloat16")} if half else {}
    calls |= {"spancat": beside} if beside else {}
    times = dict(zip(calls, in_turns(list(calls.values()), rounds), strict=True))

    def figures(name: str, lengths: Sequence[int], words: int) -> dict[str, float]:
        share = necessary_operations(model, lengths) / ceiling.operations
        return {
            "words_per_second": words / statistics.median(times[name]),
            "fraction_of_ceiling": share * median_ratio(times["ceiling"], times[name]),
        }

    lengths = [len(sentence) for sentence in sentences]
    words = sum(lengths)
    here = figures("float32", lengths, words)
    return {
        "c": max_width,
        **here,
        "operations_per_word": necessary_operations(model, lengths) / words,
        "ceiling_operations_per_second": ceiling.operations / statistics.median(times["ceiling"]),
        **({"bfloat16": figures("bfloat16", lengths, words)} if half else {}),
        "pytorch_alone": figures(
            "PyTorch alone", [n for b in some for n in b.lengths], sum(sum(b.lengths) for b in some)
        ),
        "raw_text": {
            "words_per_second": raw / statistics.median(times["raw text"]),
            "share_of_decoding": raw / words * median_ratio(times["float32"], times["raw text"]),
        },
        **({"spancat": spancat_figures(beside, words, times)} if beside else {}),
    }


def spancat_figures(beside: Spancat, words: int, times: dict[str, list[float]]) -> dict[str, Any]:
    """How fast spaCy's spancat was, and how many times as fast float32 is."""
    return {
        "spacy": beside.version,
        "words_per_second": words / statistics.median(times["spancat"]),
        "float32_times_as_fast": median_ratio(times["spancat"], times["float32"]),
    }


def growth(rounds: int) -> dict[str, float]:
    """The exponents with which time grows in the words of a text, the words of a sentence, c and the number of types."""

    def calls(cases: Sequence[tuple[str, int, int, int]]) -> list[Callable[[], object]]:
        made = []
        for max_width, count, length, types in cases:
            names = [f"type {index}" for index in range(types)]
            tokens = invented_sentences(types, names)
            model = paper_model(max_width, tokens)
            sentences = [Sentence([f"word{i % 997}" for i in range(length)])] * count
            made.append(decoder(model, batches_for(model, sentences)))
        return made

    cases: dict[str, tuple[list[int], Callable[[int], tuple[str, int, int, int]]]] = {
        "words of a text": ([250, 500, 1000, 2000], lambda size: ("6", size, 25, 5)),
        "words of a sentence": ([100, 200, 400, 800], lambda size: ("10", 8, size, 5)),
        "c": ([4, 8, 16, 32], lambda size: (str(size), 12, 200, 5)),
        "types": ([4, 8, 16, 32], lambda size: ("10", 48, 30, size)),
    }
    return {
        name: exponent(sizes, calls([case(size) for size in sizes]), rounds) for name, (sizes, case) in cases.items()
    }


def memory_of_a_stream(words: int) -> dict[str, int]:
    """Peak memory after a fifth of a stream of documents, and after all of it."""
    sentences = invented_sentences(1_000)
    annotator = Annotator(paper_model("6", sentences))
    text = " ".join(" ".join(sentence.tokens) for sentence in sentences)
    size, done = sum(map(len, sentences)), 0
    annotator_texts = (f"{index} {text}" for index in range(-(-words // size)))
    early = 0
    for _ in annotator.pipe(annotator_texts):
        done += size
        if not early and done >= words / 5:
            early = peak_memory()
    return {"words": done, "after a fifth, MB": early, "at the end, MB": peak_memory()}


def run(
    data: Data = None,
    threads: Threads = 2,
    rounds: Rounds = 5,
    stream: Annotated[
        int, typer.Option(min=0, help="Also watch memory over a stream of documents of so many words.")
    ] = 0,
    spancat: Annotated[
        str | None,
        typer.Option(metavar="PYTHON", help="Also measure spaCy's spancat, with an interpreter that has spaCy."),
    ] = None,
    device: Annotated[Literal["cpu", "cuda"], typer.Option(help="The CPU, or an NVIDIA GPU.")] = "cpu",
) -> dict[str, Any]:
    torch.set_num_threads(threads)
    sentences = sentences_in(data)
    if device == "cuda":
        return gpu.measure("decode", sentences, rounds)
    return measure(sentences, rounds, stream, spancat)


def measure(
    sentences: Sequence[Sentence] | None, rounds: int, stream: int = 0, spancat_python: str | None = None
) -> dict[str, Any]:
    """Everything, on the given sentences or on invented ones; with the interpreter of a place with spaCy, also spancat."""
    used = sentences or invented_sentences()
    streamed = {"stream": memory_of_a_stream(stream)} if stream else {}  # first: peak memory only ever grows
    tokens, threads = [sentence.tokens for sentence in used], torch.get_num_threads()
    with started(spancat_python, tokens, TYPES, threads) if spancat_python else nullcontext() as beside:
        widths = [measure_width(max_width, used, rounds, beside) for max_width in MAX_WIDTHS]
    return {
        "machine": machine(),
        "sentences": "given" if sentences else "invented, as long as GENIA's",
        "words": sum(map(len, used)),
        "widths": widths,
        "exponents": growth(rounds),
        **streamed,
        "peak memory, MB": peak_memory(),
    }


def report(figures: dict[str, Any]) -> Iterator[str]:
    """The lines to print."""
    if "memory_bytes_per_second" in figures:
        yield from gpu.report(figures)
        return
    yield f"{figures['machine']}; {figures['words']:,} words ({figures['sentences']})"
    for entry in figures["widths"]:
        ceiling, operations = entry["ceiling_operations_per_second"] / 1e9, entry["operations_per_word"] / 1e6
        yield f"\nc = {entry['c']}: {operations:.2f} million operations a word; the ceiling is {ceiling:.0f} billion a second"
        for name, part in {"float32": entry, **{key: entry.get(key) for key in ("bfloat16", "pytorch_alone")}}.items():
            if part:
                speed, share = part["words_per_second"], part["fraction_of_ceiling"]
                yield f"  {name:<14} {speed:>9,.0f} words/s, {share:.2f} of the ceiling"
        raw = entry["raw_text"]
        yield f"  {'raw text':<14} {raw['words_per_second']:>9,.0f} words/s, {raw['share_of_decoding']:.2f} of decoding"
        if beside := entry.get("spancat"):
            speed, ratio = beside["words_per_second"], beside["float32_times_as_fast"]
            yield f"  {'spancat':<14} {speed:>9,.0f} words/s (spaCy {beside['spacy']}, up to 6 words); float32 is {ratio:.1f} times as fast"
    yield "\ntime grows with " + ", ".join(f"({name})^{value:.2f}" for name, value in figures["exponents"].items())
    if "stream" in figures:
        yield "a stream of documents: " + ", ".join(f"{name} {value:,}" for name, value in figures["stream"].items())
    yield f"peak memory {figures['peak memory, MB']:,} MB"
