"""The decoding speed of a model of the paper's sizes on the CPU, as a share of torch's products and of the peak.

From a batch of ids to sets of mentions, in float32 and in bfloat16; the same in plain PyTorch; from raw text to
documents with mentions, offsets and probabilities; and, with --spancat, spaCy's. All take turns with torch's products
of large matrices, the ceiling, and with fused multiply-adds in the widest vectors, the peak; only necessary operations
count.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Annotated, Any

import torch
import typer

from experiments.cli import MeasuredThreads, OneDevice, Rounds, Sentences, SpacyPython
from experiments.spancat import Spancat, spancat_workers
from experiments.speed import gpu
from experiments.speed.invented import MAX_WIDTHS, TYPES, BenchmarkCorpus, invented_sentences
from experiments.speed.measure import (
    Call,
    Ceiling,
    clock_for,
    in_turns,
    machine,
    median_ratio,
    peak_memory,
)
from experiments.speed.paper_model import batches_for, decoder, necessary_operations, paper_model
from experiments.speed.peak import Peak
from hyperspan import kernels
from hyperspan.runtime.annotator import Annotator
from hyperspan.types import Sentence

REFERENCE_SHARE = 8
"""Plain PyTorch decodes only every eighth sentence, as it is slow."""


def measure_width(
    max_width: str, sentences: Sequence[Sentence], rounds: int, beside: Spancat | None = None
) -> dict[str, Any]:
    """All figures for one maximum width, together with those of spaCy's spancat."""
    model = paper_model(max_width, sentences)
    batches = batches_for(model, sentences)
    with kernels.reference():  # in batches of the size that it takes
        some = batches_for(model, sentences[::REFERENCE_SHARE])
    # One paragraph each: synthetic sentences have no visible end.
    texts = ["\n\n".join(" ".join(s.tokens) for s in sentences[i : i + 10]) for i in range(0, len(sentences), 10)]
    annotator, reference = Annotator(model), decoder(model, some)
    ceiling, peak = Ceiling(), Peak(torch.get_num_threads())

    def annotate() -> int:
        model.for_inference()
        return sum(len(sentence) for document in annotator.pipe(texts) for sentence in document.sentences)

    def alone() -> None:
        with kernels.reference():
            reference()

    raw = annotate()
    calls: dict[str, Call] = {
        "ceiling": ceiling,
        "peak": peak,
        "float32": decoder(model, batches),
        "raw_text": annotate,
    }
    calls |= {"bfloat16": decoder(model, batches, "bfloat16")} if "bfloat16" in kernels.dtypes("cpu") else {}
    calls |= {"pytorch_alone": alone} | ({"spancat": beside} if beside else {})
    taken = in_turns(list(calls.values()), rounds, clock_for(torch.get_num_threads()))
    times = dict(zip(calls, taken, strict=True))
    lengths = [len(sentence) for sentence in sentences]
    words = sum(lengths)

    def figures(name: str, lengths: Sequence[int]) -> dict[str, float]:
        operations = necessary_operations(model, lengths)
        return {
            "words_per_second": sum(lengths) / statistics.median(times[name]),
            "fraction_of_ceiling": operations / ceiling.operations * median_ratio(times["ceiling"], times[name]),
            "fraction_of_peak": operations / peak.operations * median_ratio(times["peak"], times[name]),
        }

    found: dict[str, Any] = {
        "c": max_width,
        **figures("float32", lengths),
        "operations_per_word": necessary_operations(model, lengths) / words,
        "ceiling_operations_per_second": ceiling.operations / statistics.median(times["ceiling"]),
        "peak_operations_per_second": peak.operations / statistics.median(times["peak"]),
        "pytorch_alone": figures("pytorch_alone", [n for batch in some for n in batch.lengths]),
        "raw_text": {
            "words_per_second": raw / statistics.median(times["raw_text"]),
            "share_of_decoding": raw / words * median_ratio(times["float32"], times["raw_text"]),
        },
    }
    if "bfloat16" in calls:
        found["bfloat16"] = figures("bfloat16", lengths)
    if beside:
        found["spancat"] = {
            "spacy": beside.version,
            "words_per_second": words / statistics.median(times["spancat"]),
            "float32_times_as_fast": median_ratio(times["spancat"], times["float32"]),
        }
    return found


def memory_of_a_stream(words: int) -> dict[str, int]:
    """Peak memory after a fifth of a stream of documents, and after all of it."""
    sentences = invented_sentences(1_000)
    annotator = Annotator(paper_model("6", sentences))
    text = " ".join(" ".join(sentence.tokens) for sentence in sentences)
    size = sum(map(len, sentences))
    documents, early = -(-words // size), 0
    for index, _ in enumerate(annotator.pipe(f"{index} {text}" for index in range(documents))):
        if not early and (index + 1) * size >= words / 5:
            early = peak_memory()
    return {"words": documents * size, "after a fifth, MB": early, "at the end, MB": peak_memory()}


def run(
    data: Sentences = None,
    threads: MeasuredThreads = 2,
    rounds: Rounds = 5,
    stream: Annotated[
        int, typer.Option(min=0, metavar="WORDS", help="Also watch memory over a stream of documents of this size.")
    ] = 0,
    spancat: SpacyPython = None,
    device: OneDevice = "cpu",
) -> dict[str, Any]:
    torch.set_num_threads(threads)
    corpus = BenchmarkCorpus.read(data)
    if device == "cuda":
        return gpu.measure("decode", corpus, rounds)
    streamed = {"stream": memory_of_a_stream(stream)} if stream else {}  # first: peak memory only ever grows
    tokens = [sentence.tokens for sentence in corpus.sentences]
    with spancat_workers(spancat, tokens, TYPES, threads) if spancat else nullcontext() as beside:
        widths = [measure_width(max_width, corpus.sentences, rounds, beside) for max_width in MAX_WIDTHS]
    return {
        "machine": machine(),
        **corpus.figures,
        "widths": widths,
        **streamed,
        "peak memory, MB": peak_memory(),
    }
