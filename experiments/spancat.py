"""spaCy's spancat on the same sentences or texts, for comparison.

spaCy uses one thread, so one process per thread decodes a share. They run this file with an interpreter that has spaCy
but need not have hyperspan, so this module does not import hyperspan at the top.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

WIDEST = 6
"""The maximum span width of the suggester."""
BATCH_WORDS = 800
"""The number of words per batch: about 32 sentences, the fastest of 16, 32, 64, 128 and 1,000 sentences."""
Item = str | Sequence[str]
"""A raw text, or the words of a sentence."""
MENTIONS = 0.1
"""Mentions per word, as in GENIA. With the default threshold, an untrained model would predict half of all spans."""


class Spancat:
    """Processes that wait to decode their share. A call makes all of them decode once."""

    def __init__(self, workers: Sequence[subprocess.Popen[str]]):
        self.workers = workers
        self.version = self.answers()[0]
        """The version of spaCy; empty if it could not be imported."""

    def answers(self) -> list[str]:
        """Read a line from each process."""
        lines = [worker.stdout.readline() for worker in self.workers if worker.stdout]
        if not all(lines):
            raise RuntimeError("a process with spaCy ended early; what it wrote above says why")
        return [line.strip() for line in lines]

    def send(self, lines: Sequence[str]) -> None:
        """Send each process a line."""
        for worker, line in zip(self.workers, lines, strict=True):
            print(line, file=worker.stdin, flush=True)

    def __call__(self) -> None:
        self.send(["decode"] * len(self.workers))
        self.answers()


@contextmanager
def spancat_workers(python: str, items: Sequence[Item], labels: Sequence[str], threads: int) -> Iterator[Spancat]:
    """spaCy's spancat, ready to decode sentences or raw texts with the interpreter `python`; its processes end with the
    ``with`` block."""
    from hyperspan.errors import InputError

    command = [python, "-I", __file__]  # isolated: files next to this one are not modules
    environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with ExitStack() as stack:
        options: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8", "env": environment}
        try:
            workers = [stack.enter_context(subprocess.Popen(command, **options)) for _ in range(threads)]
        except OSError as error:
            raise InputError(f"{python} cannot be run ({error.strerror}); name an interpreter that has spaCy") from None
        beside = Spancat(workers)
        if not beside.version:
            raise InputError(f"{python} has no spaCy; install it there, or name an interpreter that has it")
        shares = [items[index::threads] for index in range(threads)]
        beside.send([json.dumps({"items": share, "labels": list(labels)}) for share in shares])
        beside.answers()
        yield beside


def pipeline(items: Sequence[Item], labels: Sequence[str]) -> tuple[Any, list[Any], int]:
    """An untrained spancat as configured by ``spacy init config --optimize efficiency``, its inputs, and the batch
    size.

    Sentences are given as Docs. Raw texts stay unchanged: spaCy's tokenizer splits them into words.
    """
    import numpy as np
    from spacy.cli.init_config import init_config
    from spacy.tokens import Doc, Span
    from spacy.training import Example
    from spacy.util import load_model_from_config

    config = init_config(lang="en", pipeline=["spancat"], optimize="efficiency", gpu=False)
    config["components"]["spancat"]["suggester"]["sizes"] = list(range(1, WIDEST + 1))
    nlp = load_model_from_config(config, auto_fill=True)
    inputs = [item if isinstance(item, str) else Doc(nlp.vocab, words=list(item)) for item in items]
    gold = Doc(nlp.vocab, words=["word"])
    gold.spans["sc"] = [Span(gold, 0, 1, label) for label in labels]
    nlp.initialize(lambda: [Example(Doc(nlp.vocab, words=["word"]), gold)])
    categorizer: Any = nlp.get_pipe("spancat")
    some = [nlp.get_pipe("tok2vec")(nlp.make_doc(one) if isinstance(one, str) else one) for one in inputs[:32]]
    _, scores = categorizer.predict(some)  # (spans, labels)
    found = MENTIONS * sum(map(len, some)) / scores.size
    categorizer.cfg["threshold"] = float(np.quantile(scores, 1 - found))
    return nlp, inputs, max(round(BATCH_WORDS * len(some) / sum(map(len, some))), 1)


def main() -> None:
    """Answer each input line when done: the first holds the items, each further one asks to decode them."""
    try:
        from spacy.about import __version__
    except ImportError:
        print()
        return
    print(__version__, flush=True)
    nlp, inputs, batch_size = pipeline(**json.loads(sys.stdin.readline()))
    print("ready", flush=True)
    for _ in sys.stdin:
        for _ in nlp.pipe(inputs, batch_size=batch_size):
            pass
        print("done", flush=True)


if __name__ == "__main__":
    main()
