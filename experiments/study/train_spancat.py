"""One training of spaCy's spancat for the learning curves: ``python train_spancat.py JOB``.

:mod:`experiments.study.spancat` runs this file with an interpreter that has spaCy but need not have
hyperspan, so this module does not import hyperspan. JOB is a JSON file; its keys are those of :func:`run`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def read(path: str) -> list[dict[str, Any]]:
    """Read sentences with their tokens and mentions, one per line."""
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def write_docs(sentences: Iterable[dict[str, Any]], path: Path) -> str:
    """Write one Doc per sentence, with its gold tokens; spaCy keeps these tokens if it does not know the spaces between
    them."""
    import spacy
    from spacy.tokens import Doc, DocBin, Span

    vocab = spacy.blank("en").vocab
    docs = []
    for sentence in sentences:
        doc = Doc(vocab, words=sentence["tokens"])
        doc.spans["sc"] = [Span(doc, m["start"], m["end"], m["entity_type"]) for m in sentence["entity_mentions"]]
        docs.append(doc)
    DocBin(docs=docs).to_disk(path)
    return str(path)


def write_vectors(npz: str, folder: Path) -> str:
    """Write a blank pipeline with the word vectors of a file, looked up in lower case, as in the file."""
    import numpy as np
    import spacy
    from spacy.vectors import Vectors

    with np.load(npz) as file:
        words = file["words"].item().decode().split("\n")
        values = file["vectors"].astype(np.float32)
    nlp = spacy.blank("en")
    keys = [nlp.vocab.strings.add(word) for word in words]
    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, data=values, keys=keys, attr="LOWER")
    nlp.to_disk(folder)
    return str(folder)


def run(train: str, dev: str, folder: str, seed: int, sizes: list[int], vectors: str = "") -> dict[str, Any]:
    """Train as configured by ``spacy init config --pipeline spancat --optimize efficiency``, except for span sizes and,
    if given, word vectors.

    `train` and `dev` are files of sentences; write the mentions found in dev to `folder`. Return seconds and spaCy's
    version.
    """
    from spacy.about import __version__
    from spacy.cli.init_config import init_config
    from spacy.training.initialize import init_nlp
    from spacy.training.loop import train as train_pipeline

    place = Path(folder)
    dev_sentences = read(dev)
    config = init_config(lang="en", pipeline=["spancat"], optimize="efficiency", gpu=False)
    config["paths"]["train"] = write_docs(read(train), place / "train.spacy")
    config["paths"]["dev"] = write_docs(dev_sentences, place / "dev.spacy")
    config["system"]["seed"] = seed
    config["components"]["spancat"]["suggester"]["sizes"] = sizes
    if vectors:
        config["paths"]["vectors"] = write_vectors(vectors, place / "vectors")
        config["components"]["tok2vec"]["model"]["embed"]["include_static_vectors"] = True
    wall, cpu = time.perf_counter(), time.process_time()
    (place / "model").mkdir(exist_ok=True)
    train_pipeline(init_nlp(config), place / "model")
    taken = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    write_mentions(place / "model" / "model-best", dev_sentences, place / "predictions.jsonl")
    return {**taken, "version": f"spaCy {__version__}"}


def write_mentions(model: Path, sentences: list[dict[str, Any]], path: Path) -> None:
    """Write the mentions that a trained pipeline finds, one line per sentence."""
    import spacy
    from spacy.tokens import Doc

    nlp = spacy.load(model)
    docs = nlp.pipe(Doc(nlp.vocab, words=sentence["tokens"]) for sentence in sentences)
    with path.open("w", encoding="utf-8") as file:
        for doc in docs:
            print(json.dumps([[span.start, span.end, span.label_] for span in doc.spans["sc"]]), file=file)


if __name__ == "__main__":
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    result = run(**job)
    (Path(job["folder"]) / "taken.json").write_text(json.dumps(result), encoding="utf-8")
