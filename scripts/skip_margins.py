"""What skipping words that are unlikely to begin a mention saves and costs: ``python scripts/skip_margins.py FILE``.

A word is skipped where absent - present is above a margin for all types. The margin costs nothing if no chain can score
as much. Two such bounds are tried: one from the weights, which holds for every sentence; and the best score of any
chain in the given sentences, below which no sound bound of one number for each type can be. Then come margins without a
guarantee, each with F1, the number of sentences that change, the most probable mention that is lost, the steps of the
span LSTM that are saved, and the speed, measured in turns.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from experiments.speed.measure import in_turns, machine, median_ratio
from experiments.speed.paper_model import batches_for, decoder
from hyperspan.corpora import read_corpus
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.evaluation import evaluate
from hyperspan.kernels.chain_dense import best as best_chains
from hyperspan.nn import Recognizer, load_model
from hyperspan.nn.spans import SpanLinear
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.folders import folder_of
from hyperspan.structures import SegmentalHypergraph
from hyperspan.types import Sentence

MARGINS = (math.inf, 5.0, 4.5, 4.0, 3.0, 2.5, 2.0, 1.5, 1.0, 0.0)


@dataclass
class Starts:
    """The starts of one sentence."""

    margin: Tensor  # (n, m): absent - present
    best: Tensor  # (n, m): what the best chain scores from there on
    room: Tensor  # (n, 1): how many spans begin there
    probable: Tensor  # (n,): the probability of the most probable mention that begins there


def starts_of(model: Recognizer, sentences: Sequence[Sentence]) -> list[Starts]:
    """All starts of the sentences."""
    made = []
    with torch.inference_mode():
        for batch in batches_for(model, sentences):
            scores, lengths = model(batch), torch.tensor(batch.lengths)
            best = best_chains(scores, lengths) - scores.present  # (B, n, m)
            margin = scores.absent - scores.present
            calibrated = SegmentalHypergraph(scores / model.config.model.temperature, batch.lengths)
            probable = calibrated.marginals.amax((2, 3))  # (B, n)
            for index, n in enumerate(batch.lengths):
                room = torch.arange(n, 0, -1).clamp(max=scores.max_width)[:, None]
                made.append(Starts(margin[index, :n], best[index, :n], room, probable[index, :n]))
    return made


def bound_from_weights(model: Recognizer, room: Tensor) -> Tensor:
    """(n, m): more than any chain can score that has so much room, since no state of an LSTM leaves -1 … 1."""
    parts, m = model.scorer.parts, len(model.labels)
    assert isinstance(parts, SpanLinear)
    most = (parts.from_spans.abs().sum((0, 1)) + parts.bias).detach()  # (3 m,): to close, to leave, to arrive
    close, step = most[:m], most[m : 2 * m] + most[2 * m :]
    return close + (room - 1) * (step + close.clamp(min=0)).clamp(min=0)


def steps(opens: Sequence[bool], width: int) -> int:
    """Steps of the span LSTM: forward from every start not skipped, backward from every end to the first of them.

    >>> steps([True, True, True], 3), steps([False, True, False], 3), steps([False, False, False], 3)
    (12, 5, 0)
    """
    taken, left = 0, 0
    for at, here in enumerate(opens):
        taken += here * min(width, len(opens) - at)
        while left <= at and (left <= at - width or not opens[left]):
            left += 1
        taken += at + 1 - left
    return taken


def saved(starts: Sequence[Starts], margin: float, max_width: int | None) -> dict[str, float]:
    """The shares of words skipped and of the span LSTM's steps saved; the most probable mention lost."""
    opens = [(one.margin <= margin).any(1).tolist() for one in starts]
    words = sum(map(len, opens))
    taken = sum(steps(each, max_width or len(each)) for each in opens)
    whole = sum(steps([True] * len(each), max_width or len(each)) for each in opens)
    lost = [p for one, each in zip(starts, opens, strict=True) for p in one.probable[~torch.tensor(each)].tolist()]
    return {
        "words": 1 - sum(map(sum, opens)) / words,
        "span_lstm": 1 - taken / whole,
        "most_probable": max(lost, default=0.0),
    }


def found_by(model: Recognizer, margin: float, sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences with what is found in them at a margin."""
    return list(Annotator(model.for_inference(skip=margin)).recognize(sentences))


def timed(model: Recognizer, sentences: Sequence[Sentence], rounds: int) -> dict[float, list[float]]:
    """The seconds of decoding at each margin, in turns."""
    decode = decoder(model, batches_for(model, sentences))

    def at(margin: float) -> Callable[[], None]:
        def call() -> None:
            model.for_inference(skip=margin)
            decode()

        return call

    return dict(zip(MARGINS, in_turns([at(margin) for margin in MARGINS], rounds), strict=True))


def spans_of(sentence: Sentence) -> set[tuple[int, int, str]]:
    return {(mention.start, mention.end, mention.label) for mention in sentence.mentions}


def run(name: str, sentences: Sequence[Sentence], rounds: int) -> dict[str, Any]:
    """All figures."""
    model = load_model(folder_of(name))  # not the runtime's: margins are set again and again
    assert isinstance(model, Recognizer)
    starts = starts_of(model, sentences)
    margin, best = (torch.cat([getattr(one, field) for one in starts]) for field in ("margin", "best"))
    sound = torch.cat([bound_from_weights(model, one.room) for one in starts])
    found = {margin: found_by(model, margin, sentences) for margin in MARGINS}
    times = timed(model, sentences, rounds)
    words = sum(map(len, sentences))
    return {
        "machine": machine(),
        "model": name,
        "words": words,
        "bounds": {
            "from the weights": {"least": sound.min().item(), "skipped": share_above(margin, sound)},
            "least possible": {"least": best.amax(0).min().item(), "skipped": share_above(margin, best.amax(0))},
        },
        "margins": [
            {
                "margin": margin if margin < math.inf else None,
                "skipped": saved(starts, margin, model.max_width),
                "f1": 100 * evaluate(sentences, found[margin], samples=0).micro.f1,
                "sentences_changed": sum(
                    spans_of(one) != spans_of(other) for one, other in zip(found[margin], found[math.inf], strict=True)
                ),
                "words_per_second": words / statistics.median(times[margin]),
                "times_as_fast": median_ratio(times[math.inf], times[margin]),
            }
            for margin in MARGINS
        ],
    }


def share_above(margin: Tensor, bound: Tensor) -> float:
    """The share of words that a bound allows to skip."""
    return (margin > bound).all(1).float().mean().item()


def report(figures: dict[str, Any]) -> None:
    print(f"{figures['machine']}; model {figures['model']}, {figures['words']:,} words")
    for name, bound in figures["bounds"].items():
        print(f"bound {name}: at least {bound['least']:.1f}; {bound['skipped']:.1%} of the words can be skipped")
    for entry in figures["margins"]:
        margin = "none" if entry["margin"] is None else f"{entry['margin']:.1f}"
        skipped = entry["skipped"]
        print(
            f"margin {margin:>4}: F1 {entry['f1']:.2f}, {entry['sentences_changed']} sentences changed, "
            f"nothing above {skipped['most_probable']:.2f} lost; "
            f"{skipped['words']:.1%} of words and {skipped['span_lstm']:.1%} of the span LSTM's steps skipped; "
            f"{entry['words_per_second']:,.0f} words/s, {entry['times_as_fast']:.2f} times as fast"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="annotated sentences")
    parser.add_argument("--sentences", type=int, help="how many of them, from the first on; default: all")
    parser.add_argument("--model", default="genia", help="a bundled model, or the folder of one")
    parser.add_argument("--rounds", type=int, default=3, help="how often each margin is timed")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    if not Path(arguments.file).is_file():
        parser.error(f"{arguments.file} does not exist; give a file of annotated sentences")
    torch.set_num_threads(2)
    documents = [with_sentences(document, Problems()) for document in read_corpus(arguments.file)]
    sentences = [sentence for document in documents for sentence in document.sentences][: arguments.sentences]
    figures = run(arguments.model, sentences, arguments.rounds)
    if arguments.json:
        print(json.dumps(figures, indent=2))
    else:
        report(figures)


if __name__ == "__main__":
    main()
