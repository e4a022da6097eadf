"""Compares our linear chain with CRFsuite's on the same sentences, tags and features, by L-BFGS with weight decay.

    pip install python-crfsuite
    python scripts/compare_crfsuite.py --train data/genia/train.data --test data/genia/dev.data --sentences 3000

F1 is over all gold mentions; a chain cannot find inner ones. CRFsuite gives weights only to pairs of a feature and a
tag that occur together, and none to the first and last tag of a sentence.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.models import Model, new_model
from hyperspan.structures import mentions_of_tags, tags_of
from hyperspan.training.data import read_sentences
from hyperspan.training.loop import Trainer, dev_scores
from hyperspan.types import Sentence


def items(model: Model, sentences: Sequence[Sentence]) -> list[list[list[str]]]:
    """The features that our model knows of each word of each sentence, by number."""
    result = []
    for sentence in sentences:
        batch = model.collate([sentence])
        assert batch.features is not None
        result.append([[str(number) for number in sorted(set(row) - {0})] for row in batch.features.tolist()])
    return result


def ours(model: Model, train: Sequence[Sentence], test: Sequence[Sentence]) -> dict[str, float]:
    """Trains our chain to the end, without looking at the test sentences."""
    with tempfile.TemporaryDirectory() as folder:
        Trainer(model, train, [], Path(folder)).run()
    return dev_scores(model.eval(), test)


def theirs(model: Model, train: Sequence[Sentence], test: Sequence[Sentence], iterations: int) -> dict[str, float]:
    """Trains theirs on the features that our model knows."""
    weight_decay, types = model.config.training.weight_decay, len(model.labels)
    pycrfsuite: Any = import_module("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    for sentence, features in zip(train, items(model, train), strict=True):
        kept = model.representable(model.vocabulary.gold(sentence), len(sentence))
        trainer.append(features, [str(tag) for tag in tags_of(kept, len(sentence), types)])
    trainer.select("lbfgs")
    trainer.set_params({"c1": 0, "c2": weight_decay * len(train) / 2, "max_iterations": iterations})
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(f"{folder}/model")
        tagger = pycrfsuite.Tagger()
        tagger.open(f"{folder}/model")
        found = [mentions_of_tags([int(tag) for tag in tagger.tag(given)]) for given in items(model, test)]
    gold = [model.vocabulary.gold(sentence) for sentence in test]
    right = sum(len(one & other) for one, other in zip(found, gold, strict=True))
    predicted, expected = sum(map(len, found)), sum(map(len, gold))
    return {"precision": right / predicted, "recall": right / expected, "f1": 2 * right / (predicted + expected)}


def settings(config: Config, iterations: int, weight_decay: float) -> Config:
    """A configuration that does as CRFsuite does: L-BFGS on all sentences, and nothing random."""
    training = replace(
        config.training,
        optimizer="lbfgs",
        weight_decay=weight_decay,
        epochs=iterations // 10,
        ema_decay=0.0,
        tune_mention_bias=False,
    )
    return replace(config, training=training, encoder=replace(config.encoder, input_dropout=0.0))


CRF = ("model.kind=linear-chain", "training.softmax_margin=false", "training.beta=1.5")
"""What makes a CRF of the configuration, as in the row `crf` of the paper's table."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="experiments/configs/genia/sh-nn-n.toml")
    parser.add_argument("--train", default="data/genia/train.data")
    parser.add_argument("--test", default="data/genia/dev.data")
    parser.add_argument("--sentences", type=int, default=3000, help="of the training file, from its beginning")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--l2", type=float, default=1e-4)
    given = parser.parse_args()
    if find_spec("pycrfsuite") is None:
        parser.error("python-crfsuite, which is compared with, is not installed; pip install python-crfsuite")
    torch.set_num_threads(1)  # as CRFsuite has one
    try:
        config = settings(Config.read(given.config, CRF), given.iterations, given.l2)
        train = [sentence for sentence in read_sentences(given.train) if len(sentence)][: given.sentences]
        test = read_sentences(given.test)
        model = new_model(config, train)
    except InputError as error:
        parser.error(str(error))
    print(f"{len(train):,} sentences, {len(model.vocabulary.features):,} features, {given.iterations} iterations")
    for name, scores in (
        ("CRFsuite", lambda: theirs(model.eval(), train, test, given.iterations)),
        ("hyperspan", lambda: ours(model, train, test)),
    ):
        begun = time.perf_counter()
        result = scores()
        figures = "  ".join(f"{key} {100 * value:.2f}" for key, value in result.items())
        print(f"{name:10} {figures}  {time.perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
