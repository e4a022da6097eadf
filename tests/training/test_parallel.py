"""Training on several processes, and on batches in parts, is training: the same steps, the same model.

Two real processes, started by torchrun, train one thing after the other (several.py); what they leave behind is
compared with what this process trains by itself.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from hyperspan.config import Config
from hyperspan.errors import InputError, TrainingError
from hyperspan.models import MODELS, new_model
from hyperspan.models.tensors import read_tensors
from hyperspan.training.data import read_sentences
from hyperspan.training.log import read_log
from hyperspan.training.loop import CHECKPOINT, Trainer
from hyperspan.training.parallel import Processes, joined
from hyperspan.training.run import train

HARBOUR = "src/hyperspan/examples/harbour.data"
CONFIG = f"""
[data]
train = "{HARBOUR}"
dev = "{HARBOUR}"

[words]
dimension = 10
word_dropout = 0

[characters]
encoder = "cnn"
hidden = 5

[encoder]
hidden = 12
span_hidden = 12
input_dropout = 0
output_dropout = 0

[fofe] # all spans: nothing is left to chance
overlapping_rate = 1
disjoint_rate = 1

[training]
lm_loss_weight = 0.05
epochs = 4
patience = 0
batch_size = 5
learning_rate = 0.03
ema_decay = 0.5
schedule = "decay"
warmup_epochs = 0
weight_decay = 0.001
"""
HALF = ["training.epochs=2"]
LAYERED = [
    "model.kind=layered",
    "training.lm_loss_weight=0",
    "training.ema_decay=0",
    "training.batch_size=1",
    "training.epochs=1",
]
LBFGS = [
    *("encoder.kind=handcrafted", "characters.encoder=none", "training.lm_loss_weight=0", "training.ema_decay=0"),
    *("model.max_width=3", "training.optimizer=lbfgs", "training.softmax_margin=false", "training.epochs=2"),
]
PARTS = ["training.micro_batch_size=1"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


together = pytest.mark.xdist_group("several-processes")  # which are started once for all


class Job(NamedTuple):
    """What torchrun left behind."""

    folder: Path
    config: Path
    output: str
    errors: str
    status: int

    def alone(self, name: str, changes: list[str], *, resume: bool = False) -> Path:
        """The folder of a run of this process."""
        folder = self.folder / name
        if resume or not folder.exists():
            train(Config.read(self.config, changes), folder, device="cpu", resume=resume)
        return folder


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    folder = tmp_path_factory.mktemp("several")
    config = folder / "harbour.toml"
    config.write_text(CONFIG, encoding="utf-8")
    alone = Job(folder, config, "", "", 0)
    alone.alone("one, then two", HALF)
    plan = folder / "plan.json"
    trained = [
        ([], "two", False),
        (warm(folder), "warm", False),
        (PARTS, "one, then two", True),
        (LAYERED, "layered", False),
        (LBFGS, "lbfgs", False),
    ]
    plan.write_text(json.dumps([(str(config), c, str(folder / name), r) for c, name, r in trained]), encoding="utf-8")
    command = [*TORCHRUN, "tests/training/several.py", str(plan)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False, env=quiet())
    return Job(folder, config, done.stdout, done.stderr, done.returncode)


def warm(folder: Path) -> list[str]:
    return [f"training.start={folder / 'two'}", "training.epochs=2"]


def quiet() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def curve(folder: Path) -> list[float]:
    return [event["loss"] for event in read_log(folder / "log.jsonl") if event["event"] == "epoch"]


def assert_same(one: Path, other: Path, *, tolerance: float = 1e-4) -> None:
    """Two runs took the same steps, but for rounding."""
    events = [
        [event for event in read_log(folder / "log.jsonl") if event["event"] in ("epoch", "end")]
        for folder in (one, other)
    ]
    assert curve(other) == pytest.approx(curve(one), rel=tolerance)
    for first, second in zip(*events, strict=True):
        for name in (
            "event",
            "epoch",
            "step",
            "dev",
            "best",
            "best_epoch",
            "best_f1",
            "learning_rate",
            "too_wide",
            "stopped",
        ):
            assert first.get(name) == second.get(name), name
    tensors, state = read_tensors(one / CHECKPOINT)
    others, other_state = read_tensors(other / CHECKPOINT)
    assert tensors.keys() == others.keys()
    for name in tensors:
        if not name.startswith("optimizer"):
            torch.testing.assert_close(others[name], tensors[name], rtol=10 * tolerance, atol=10 * tolerance)
    for name in ("step", "epoch", "best_f1", "best_epoch", "data"):
        assert state[name] == other_state[name]
    assert read_tensors(one / "model.safetensors")[0].keys() == read_tensors(other / "model.safetensors")[0].keys()


@together
def test_two_processes_take_the_steps_of_one(job: Job) -> None:
    one = job.alone("one", [])
    assert_same(one, job.folder / "two")
    assert curve(one)[-1] < 0.8 * curve(one)[0], "there is something to be the same"
    assert (one / "config.toml").read_text("utf-8") == (job.folder / "two" / "config.toml").read_text("utf-8")
    assert sorted(file.name for file in one.iterdir()) == sorted(f.name for f in (job.folder / "two").iterdir())


@together
def test_two_processes_start_from_a_model_as_one_does(job: Job) -> None:
    assert_same(job.alone("warm, alone", warm(job.folder)), job.folder / "warm")
    assert curve(job.folder / "warm")[0] < 0.8 * curve(job.folder / "two")[0]


@together
def test_a_run_goes_on_with_two_processes_and_batches_in_parts(job: Job) -> None:
    assert_same(job.alone("one", []), job.folder / "one, then two")


@together
def test_fewer_sentences_than_processes_and_parameters_without_gradients(job: Job) -> None:
    """Batches of one sentence; where it has no mention, only the first layer has gradients."""
    assert_same(job.alone("layered, alone", LAYERED), job.folder / "layered", tolerance=1e-3)


@together
def test_lbfgs_minimises_the_same_function(job: Job) -> None:
    assert_same(job.alone("lbfgs, alone", LBFGS), job.folder / "lbfgs", tolerance=1e-3)
    log = [event for event in read_log(job.folder / "lbfgs" / "log.jsonl") if event["event"] != "hint"]
    assert log[1]["too_wide"] > 0 and log[-1]["best_f1"] > 0.2


@together
def test_other_configurations_are_refused_in_one_sentence(job: Job) -> None:
    sentence = "process 1 of 2 has another configuration than process 0; start all of them with the same"
    assert job.output.count("refused: ") == 1 and sentence in job.output, job.output + job.errors
    assert sentence in job.errors, "torchrun repeats it at the end"
    assert job.status != 0 and not (job.folder / "different").exists()


@together
@pytest.mark.slow
def test_a_killed_process_ends_the_run_and_one_process_goes_on(job: Job) -> None:
    folder = job.folder / "killed"
    command = [*TORCHRUN, "-m", "hyperspan", "train", str(job.config), "-o", str(folder), "--device", "cpu"]
    # A session of its own, so that nothing is left of it whatever happens.
    with subprocess.Popen(
        [*command, "--set", "training.epochs=100000"],
        stderr=subprocess.PIPE,
        text=True,
        env=quiet(),
        start_new_session=True,
    ) as process:
        try:
            while not (folder / "log.jsonl").exists() or len(read_log(folder / "log.jsonl")) < 3:
                assert process.poll() is None, "it ended before it could be killed"
                time.sleep(0.02)
            os.kill(process_of(process.pid, rank=1), signal.SIGKILL)
            _, errors = process.communicate(timeout=120)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode != 0
    said = [line for line in errors.splitlines() if line.startswith("hyperspan: ")]
    assert len(said) == 1 and "go on from the last checkpoint with --resume" in said[0], errors
    _, state = read_tensors(folder / CHECKPOINT)
    assert state["epoch"] >= 1
    one = curve(job.alone("one", []))
    epochs = max(len(one), state["epoch"] + 1)
    job.alone("killed", [f"training.epochs={epochs}"], resume=True)
    assert len(curve(folder)) == epochs and curve(folder)[: len(one)] == pytest.approx(one, rel=1e-4)


def process_of(parent: int, rank: int) -> int:
    """The process of this rank among those that torchrun started."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            own = int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent
            if own and f"\0RANK={rank}\0" in (entry / "environ").read_text():
                return int(entry.name)
        except OSError:  # it has just ended
            continue
    raise AssertionError("there is no such process")


@pytest.mark.parametrize("kind", [*MODELS, "handcrafted segmental", "handcrafted tree"])
def test_the_gradient_of_a_batch_is_that_of_its_parts(kind: str, tmp_path: Path) -> None:
    sentences = read_sentences(HARBOUR)
    *handcrafted, kind = kind.split()
    changes = [f"model.kind={kind}", "training.max_grad_norm=0.5"]
    if handcrafted:
        changes += ["encoder.kind=handcrafted", "characters.encoder=none"]
    if handcrafted or kind == "fofe":
        changes.append("training.lm_loss_weight=0")
    (tmp_path / "harbour.toml").write_text(CONFIG, encoding="utf-8")
    found = []
    for size in (0, 1, 3):
        config = Config.read(tmp_path / "harbour.toml", [*changes, f"training.micro_batch_size={size}"])
        trainer = Trainer(new_model(config, sentences).train(), sentences, [], tmp_path)
        sums = trainer.take_step(sentences[:7])
        gradients = {
            n: p.grad
            for n, p in zip(trainer.optimisation.names, trainer.optimisation.parameters, strict=True)
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


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "harbour.toml").write_text(CONFIG, encoding="utf-8")
    folder = tmp_path / "run"

    def run(epochs: int, *, resume: bool) -> None:
        changes = [f"training.epochs={epochs}"]
        train(Config.read(tmp_path / "harbour.toml", changes), folder, device="cpu", resume=resume)

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
    assert len(curve(folder)) == 2


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"RANK": "1", "WORLD_SIZE": "2"}, "without LOCAL_RANK, MASTER_ADDR, MASTER_PORT it cannot find"),
        ({"WORLD_SIZE": "2"}, "but without RANK, LOCAL_RANK"),
        ({"RANK": "2", "WORLD_SIZE": "2", "LOCAL_RANK": "0"}, "RANK=2, WORLD_SIZE=2, LOCAL_RANK=0 is no process of"),
        ({"RANK": "x", "WORLD_SIZE": "2", "LOCAL_RANK": "0"}, "RANK=x, WORLD_SIZE=2"),
    ],
)
def test_an_environment_that_is_not_whole(
    variables: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "LOCAL_RANK" in variables:
        variables = variables | {"MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=message), joined():
        pass


def test_a_process_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for variables in ({}, {"RANK": "0", "WORLD_SIZE": "1"}):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with joined() as processes:
            assert processes.is_first and processes.count == 1 and not processes.restarted


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    second, third = Processes(1, 4, 1), Processes(2, 4, 2)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert [second.device(name) for name in ("auto", "cuda", "cpu")] == ["cpu", "cuda", "cpu"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda index: None)
    assert [second.device(name) for name in ("auto", "cuda", "cpu")] == ["cuda:1", "cuda:1", "cpu"]
    assert Processes().device("cuda:1") == "cuda:1"
    with pytest.raises(InputError, match="more processes than the 2 GPUs of this machine; start no more"):
        third.device("auto")
    with pytest.raises(InputError, match="the device 'cuda:1' is not for 4 processes; choose cpu, or cuda"):
        second.device("cuda:1")


def test_shares_are_balanced() -> None:
    work = [9, 8, 7, 3, 3, 2, 1, 1]
    shares = [Processes(rank, 3).share(work) for rank in range(3)]
    assert sorted(index for share in shares for index in share) == list(range(8))
    assert max(sum(work[i] for i in share) for share in shares) <= 12
