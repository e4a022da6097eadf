"""Training on batches in parts is training: the same steps, the same model. A full disk loses nothing of a run."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
import torch

from hyperspan.baselines import fofe
from hyperspan.config import Config
from hyperspan.errors import InputError, TrainingError
from hyperspan.nn import MODELS, new_model
from hyperspan.training.curve import learning_curve
from hyperspan.training.data import read_sentences
from hyperspan.training.events import read_log
from hyperspan.training.loop import CHECKPOINT, Run, Trainer
from hyperspan.training.loss import TrainingLoss
from tests.support.models import HARBOUR
from tests.support.runs import train

PLAIN = [
    *("words.word_dropout=0", "encoder.input_dropout=0", "encoder.output_dropout=0"),
    *("training.patience=0", "training.batch_size=5", "training.learning_rate=0.03", "training.ema_decay=0.5"),
    *("training.schedule=constant", "training.warmup_epochs=0"),
]


@pytest.mark.parametrize("kind", [*MODELS, "handcrafted segmental", "handcrafted tree"])
def test_the_gradient_of_a_batch_is_that_of_its_parts(
    kind: str, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OVERLAPPING_RATE", "DISJOINT_RATE"):
        monkeypatch.setattr(fofe, name, 1.0)  # all spans: nothing is left to chance
    sentences = read_sentences(HARBOUR)
    *handcrafted, kind = kind.split()
    changes = [*PLAIN, f"model.kind={kind}", "training.max_grad_norm=0.5"]
    if handcrafted:
        changes += ["encoder.kind=handcrafted", "characters.encoder=none"]
    if handcrafted or kind == "fofe":
        changes.append("training.lm_loss_weight=0")
    found = []
    for size in (0, 1, 3):
        chosen = Config.read(config, [*changes, f"training.micro_batch_size={size}"])
        trainer = Trainer(Run(TrainingLoss(new_model(chosen, sentences).train()), sentences), tmp_path)
        sums = trainer.take_step(sentences[:7])
        gradients = {
            n: p.grad
            for n, p in zip(trainer.optimiser.names, trainer.optimiser.parameters, strict=True)
            if p.grad is not None
        }
        places = {gradient.data_ptr() for gradient in gradients.values()}
        assert len(places) == len(gradients), "two gradients share their memory, and would be clipped twice"
        found.append((sums, gradients))
    (sums, gradients), *parts = found
    largest = max(float(gradient.abs().max()) for gradient in gradients.values())
    for other_sums, others in parts:
        torch.testing.assert_close(other_sums, sums)
        assert others.keys() == gradients.keys()
        for name, gradient in gradients.items():
            torch.testing.assert_close(others[name], gradient, rtol=1e-4, atol=1e-6 * largest, msg=name)


def test_a_full_disk_loses_nothing(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def run(epochs: int, *, resume: bool) -> None:
        changes = [*PLAIN, f"training.epochs={epochs}"]
        train(Config.read(config, changes), folder, device="cpu", resume=resume)

    run(1, resume=False)
    before = (folder / CHECKPOINT).read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limits[1]))
    try:
        with pytest.raises(TrainingError, match=r"has no room for what training writes \(File too large\).*--resume"):
            run(2, resume=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (folder / CHECKPOINT).read_bytes() == before
    assert not [file.name for file in folder.iterdir() if file.name.startswith(".")]
    run(2, resume=True)
    assert [event["epoch"] for event in read_log(folder / "log.jsonl") if event["event"] == "epoch"] == [1, 2]


@pytest.mark.parametrize("name", ["train", "curve"])
def test_one_of_several_processes_is_refused(
    name: str, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = Config.read(config)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match=r"WORLD_SIZE is 2, so this process is one of several, .*without torchrun"):
        train(given, tmp_path / "run") if name == "train" else learning_curve(given, tmp_path / "run")
    assert not (tmp_path / "run").exists()
