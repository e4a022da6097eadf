"""spaCy's spancat on the same sentences or texts: what users of spaCy would have instead.

spaCy multiplies with one thread, so a process of its own for each thread decodes a share of them. They run this
file with an interpreter that has spaCy and need not have hyperspan, so that nothing of ours is imported at the top.
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
"""The most words of a span that the suggester proposes."""
BATCH_WORDS = 800
"""Words of a batch; as many as 32 sentences have, which is the quickest of 16, 32, 64, 128 and 1,000 sentences."""
Item = str | Sequence[str]
"""A raw text, or the words of a sentence."""
MENTIONS = 0.1
"""Mentions for each word, as in GENIA. Untrained and with its usual threshold, half of all spans would be mentions."""


class Spancat:
    """Processes that wait to decode their share. Calling it has all of them do so once."""

    def __init__(self, workers: Sequence[subprocess.Popen[str]]):
        self.workers = workers
        self.version = self.answers()[0]
        """Of spaCy, or nothing where it could not be imported."""

    def answers(self) -> list[str]:
        """A line of each process."""
        lines = [worker.stdout.readline() for worker in self.workers if worker.stdout]
        if not all(lines):
            raise RuntimeError("a process with spaCy ended early; what it wrote above says why")
        return [line.strip() for line in lines]

    def send(self, lines: Sequence[str]) -> None:
        """Gives each process a line."""
        for worker, line in zip(self.workers, lines, strict=True):
            print(line, file=worker.stdin, flush=True)

    def __call__(self) -> None:
        self.send(["decode"] * len(self.workers))
        self.answers()


@contextmanager
def spancat_workers(python: str, items: Sequence[Item], labels: Sequence[str], threads: int) -> Iterator[Spancat]:
    """spaCy's spancat, ready to decode sentences or raw texts with the interpreter `python`; its processes end with the
    ``with``."""
    from hyperspan.errors import InputError

    command = [python, "-I", __file__]  # isolated: files beside this one are not modules
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
    """An untrained spancat with all that ``spacy init config --optimize efficiency`` gives it, what it decodes, by how
    many.

    Sentences are given as Docs. Raw texts stay what they are: spaCy's tokenizer cuts them into words.
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
    """Answers each line once it has done what it says: first come the items, and then the wish to decode them."""
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
