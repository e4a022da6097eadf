"""One training of hyperspan for the learning curves: ``python -m experiments.study.train_hyperspan JOB``.

JOB is a JSON file; its keys are those of :func:`run`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import hyperspan
from hyperspan.corpora import read_corpus


def run(train: str, dev: str, folder: str, seed: int, overrides: list[str], device: str) -> dict[str, Any]:
    """Train with the defaults and `overrides`; write the mentions found in dev to `folder`. Return seconds and the
    version."""
    place = Path(folder)
    data = [f"data.train={train}", f"data.dev={dev}", "data.format=cnn-ner", f"training.seed={seed}"]
    wall, cpu = time.perf_counter(), time.process_time()
    hyperspan.train({}, place / "model", overrides=[*data, *overrides], device=device, threads=1, force=True)
    taken = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    sentences = [sentence for document in read_corpus(dev, "cnn-ner") for sentence in document.sentences]
    annotator = hyperspan.load(place / "model", device="cpu")
    with (place / "predictions.jsonl").open("w", encoding="utf-8") as file:
        for sentence in annotator.recognize(sentences):
            found = sorted(sentence.mentions)
            print(json.dumps([[mention.start, mention.end, mention.label] for mention in found]), file=file)
    return {**taken, "device": device, "version": f"hyperspan {hyperspan.__version__}"}


if __name__ == "__main__":
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    result = run(**job)
    (Path(job["folder"]) / "result.json").write_text(json.dumps(result), encoding="utf-8")
