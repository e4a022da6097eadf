"""Pretraining: masked words of unlabelled text; and an encoder without the subwords that texts do not need."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import re
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from experiments.cli import make_single
from experiments.pretraining.__main__ import pretrain as pretraining
from experiments.pretraining.masking import IGNORED, MaskedBatches, SpecialSubwords
from experiments.pretraining.run import PretrainingProgress, PretrainingRun
from experiments.pretraining.settings import PretrainingSettings
from experiments.pretraining.stream import SubwordEncoder, SubwordStream, read_stream
from experiments.pretraining.texts import find_texts, parts_of, token_lines
from experiments.shrink_encoder import shrink
from hyperspan.cli import run_app
from hyperspan.config import TransformerConfig
from hyperspan.errors import HyperspanError
from hyperspan.nn.hub import read_pretrained
from hyperspan.nn.subwords import SubwordTokenizer
from hyperspan.text.tokens import Tokenizer
from tests.support.growth import grows_linearly
from tests.support.process import called

HARBOUR = "src/hyperspan/corpora/examples/harbour.data"
FEW = PretrainingSettings(epochs=3, batch=4, length=24, learning_rate=0.01, dropout=0.1)


def pretrain(*arguments: object) -> None:
    make_single(pretraining)([*map(str, arguments), "--device", "cpu"], standalone_mode=False)


def test_pretrain_lowers_the_loss_and_writes_an_encoder_that_can_be_pretrained_further(
    tiny_encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["--length", 24, "--batch", 4, "--learning-rate", 0.01]
    pretrain(tiny_encoder, HARBOUR, "-o", tmp_path / "first", "--epochs", 10, *few)
    assert "the encoder is in" in capsys.readouterr().err
    weights = load_file(tmp_path / "first" / "model.safetensors")
    before, after = (
        dict(read_pretrained(str(folder))[1].named_parameters()) for folder in (tiny_encoder, tmp_path / "first")
    )
    changed = [name for name in before if name in after and not after[name].equal(before[name])]
    assert any("layer.0" in name for name in changed) and any("word_embeddings" in name for name in changed)
    assert (tmp_path / "first" / "model.safetensors").stat().st_mode & 0o444 == 0o444
    assert not list((tmp_path / "first").glob("*checkpoint*")) and not list((tmp_path / "first").glob("subwords*"))

    untrained, trained = (first_loss(folder, tmp_path / "tried") for folder in (tiny_encoder, tmp_path / "first"))
    assert trained < 0.8 * untrained

    pretrain(tmp_path / "first", HARBOUR, "-o", tmp_path / "second", "--seconds", 0.01, "--half", *few)
    again = load_file(tmp_path / "second" / "model.safetensors")
    assert again.keys() == weights.keys() and any("predictions" in name for name in again)
    assert {tensor.dtype for tensor in again.values()} == {torch.float16}
    report = json.loads((tmp_path / "second" / "pretraining.json").read_text("utf-8"))
    assert report["steps"] >= 1 and report["settings"]["seconds"] == 0.01


def first_loss(encoder: Path, folder: Path) -> float:
    run = PretrainingRun(str(encoder), [HARBOUR], folder, FEW, device="cpu", force=True)
    return run.language_model.loss(run.batches[0]).item()


class StoppedError(Exception):
    """A run is stopped by its listener."""


def test_pretraining_resumes_to_the_same_bits(tiny_encoder: Path, tmp_path: Path) -> None:
    def stop(progress: PretrainingProgress) -> None:
        if progress.step == 5:
            raise StoppedError

    def run(folder: str, resume: bool = False) -> PretrainingRun:
        return PretrainingRun(str(tiny_encoder), [HARBOUR], tmp_path / folder, FEW, device="cpu", resume=resume)

    run("whole").train()
    with pytest.raises(StoppedError):
        run("parts").train(stop, report_seconds=0.0, checkpoint_seconds=0.0)
    resumed = run("parts", resume=True)
    assert resumed.step == 4
    resumed.train(report_seconds=0.0)
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "parts"))
    assert one.keys() == other.keys() and all(one[name].equal(other[name]) for name in one)
    assert [step for step, _ in resumed.losses] == list(range(1, resumed.step + 1))


@pytest.mark.xdist_group("forked")
def test_pretrain_saves_on_ctrl_c_and_goes_on_from_there(
    tiny_encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["--length", "24", "--batch", "4", "--device", "cpu", "--threads", "1"]
    given = [str(tiny_encoder), HARBOUR, "-o", str(tmp_path / "run"), *few]
    stopped = called(interrupted, [*given, "--epochs", "100000"])
    [step] = re.findall(r"go on after step ([\d,]+) with --resume", stopped.stderr)
    [an_epoch] = re.findall(r"([\d,]+) steps an epoch", stopped.stderr)
    done, steps = (int(number.replace(",", "")) for number in (step, an_epoch))
    assert stopped.returncode == 130 and done > 0
    pretrain(*given, "--resume", "--epochs", done // steps + 2)
    assert f"from step {step}\n" in capsys.readouterr().err
    report = json.loads((tmp_path / "run" / "pretraining.json").read_text("utf-8"))
    assert report["steps"] == (done // steps + 2) * steps and report["losses"][0][0] <= done


def interrupted(arguments: list[str]) -> None:
    """Runs a command, and presses Ctrl-C soon after it has begun to take steps."""

    def press() -> None:
        while signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            time.sleep(0.02)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    sys.argv = ["experiments.pretraining", *arguments]
    run_app(lambda: make_single(pretraining), "python -m experiments.pretraining")


def test_pretrain_reports_mistakes_in_one_sentence(tiny_encoder: Path, tmp_path: Path) -> None:
    texts = tmp_path / "made.txt"
    texts.write_text("The old harbour of Lindau sleeps. " * 50, encoding="utf-8")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "cut.txt.xz").write_bytes(lzma.compress(b"old harbour" * 99)[:-20])
    broken = shutil.copytree(tiny_encoder, tmp_path / "broken")
    (broken / "tokenizer.json").unlink()
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "checkpoint.safetensors").touch()
    for arguments, sentence in (
        ([broken, texts], "a folder without a tokenizer"),
        ([tmp_path / "nowhere", texts], "there is no such folder"),
        ([tiny_encoder, "nowhere.txt"], "nowhere.txt does not exist"),
        ([tiny_encoder, tmp_path / "bytes.txt"], "cannot be read as text"),
        ([tiny_encoder, tmp_path / "cut.txt.xz"], "cannot be read as text"),
        ([tiny_encoder, texts], "but a batch has"),
        ([tiny_encoder, texts, "--length", 100], "reads from 4 to 48 subwords at once"),
        ([tiny_encoder, texts, "--epochs", 0], "--epochs is 0; give a number above 0"),
        ([tiny_encoder, texts, "--masked", 1], "--masked is 1; give a share below 1"),
        ([tiny_encoder, texts, "--resume"], "has no run to go on with"),
        ([tiny_encoder, texts, "-o", tmp_path / "begun"], "go on with --resume"),
        ([tiny_encoder, texts, "-o", tmp_path / "nowhere/out"], "is not a folder; create it first"),
        ([tiny_encoder, texts, "-o", texts], "is a file; name a folder"),
        ([tiny_encoder, texts, "-o", tiny_encoder], "exists and is not empty"),
    ):
        length = [] if "--length" in arguments else ["--length", 20]
        output = [] if "-o" in arguments else ["-o", tmp_path / "out"]
        with pytest.raises(HyperspanError) as raised:
            pretrain(*arguments, *length, *output)
        assert sentence in str(raised.value) and "\n" not in str(raised.value)
        shutil.rmtree(tmp_path / "out", ignore_errors=True)


def test_read_stream_joins_packed_files_and_folders(tiny_encoder: Path, tmp_path: Path) -> None:
    text = "The old harbour.\nIt sleeps.\n\n\nThe harbourmaster of Lindau"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "c.txt.xz").write_bytes(lzma.compress(text.encode()))
    description, _ = read_pretrained(str(tiny_encoder))
    encoder = SubwordEncoder(str(tiny_encoder), description, 0, Tokenizer("split"))
    one, all_ = (read_stream(encoder, find_texts([str(tmp_path / name)]), 1) for name in ("a.txt", ""))
    assert np.array_equal(all_.ids, np.tile(one.ids, 3)) and np.array_equal(all_.begins, np.tile(one.begins, 3))
    assert (one.ids == encoder.separator).sum() == 2 and one.ids[-1] == encoder.separator
    words = ["The", "old", "harbour", ".", "It", "sleeps", "."]
    assert one.ids[: np.flatnonzero(one.ids == encoder.separator)[0]].tolist() == [
        subword for word in words for subword in encoder.subwords.encode(word)
    ]
    assert one.begins.sum() == len(words) + 4 + 2
    corpus = read_stream(encoder, find_texts([HARBOUR]), 1)
    assert (corpus.ids == encoder.separator).sum() == 1  # whose documents are single sentences


def test_read_stream_is_the_same_in_several_processes(tiny_encoder: Path, tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"{number}.txt").write_text("The old harbour sleeps.\n\n" * number, encoding="utf-8")
    description, _ = read_pretrained(str(tiny_encoder))
    encoder = SubwordEncoder(str(tiny_encoder), description, 0, Tokenizer("split"))
    one, two = (read_stream(encoder, find_texts([str(tmp_path)]), processes) for processes in (1, 2))
    assert np.array_equal(one.ids, two.ids) and np.array_equal(one.begins, two.begins)


@pytest.mark.slow
def test_time_of_reading_text_grows_with_its_length_alone(tmp_path: Path) -> None:
    tokenizer = Tokenizer("split")

    def read_lines(size: int) -> None:
        assert token_lines("a\n\n" * size, tokenizer) == [["a"], []] * size

    def read_parts(size: int) -> None:
        (tmp_path / "a.txt").write_text("word " * size + "\n\nword\nword")
        parts = [part for part in parts_of(tmp_path / "a.txt", tokenizer) if isinstance(part, str)]
        assert [len(part) for part in parts] == [5 * size + 2, 9, 1]

    assert grows_linearly(read_lines, 100_000) and grows_linearly(read_parts, 1_000_000)


def test_masked_batches_mask_whole_words_and_name_what_was_there() -> None:
    random = np.random.default_rng(1)
    begins = random.random(5_000) < 0.6
    stream = SubwordStream(random.integers(10, 90, 5_000).astype(np.int32), begins)
    stream.ids[::97] = 3
    special = SpecialSubwords([2], [3], mask=4, size=90)
    batches = MaskedBatches(stream, special, length=34, batch=16, masked=0.3, seed=1, device=torch.device("cpu"))
    assert batches.steps_an_epoch == 5_000 // 32 // 16
    batch, again, other = batches[1], batches[1], batches[2]
    assert batch.inputs.equal(again.inputs) and not batch.inputs.equal(other.inputs)
    assert batch.inputs.shape == (16, 34) and set(batch.inputs[:, 0].tolist()) == {2}
    used = batch.labels != IGNORED
    assert 0.2 < used.sum() / (16 * 32) < 0.4
    original = batch.inputs.clone().view(-1)
    original[batch.positions[used]] = batch.labels[used]
    windows = original.view(16, 34)[:, 1:-1]
    starts = batches._starts[1]
    assert windows.equal(batches.ids[starts[:, None] + torch.arange(32)].long())
    predicted = torch.zeros(16 * 34, dtype=torch.bool)
    predicted[batch.positions[used]] = True
    inside = predicted.view(16, 34)[:, 1:-1]
    continues = (
        ~batches.begins[starts[:, None] + torch.arange(32)][:, 1:] & (windows[:, 1:] != 3) & (windows[:, :-1] != 3)
    )
    assert (inside[:, 1:] == inside[:, :-1])[continues].all()
    assert not inside[windows == 3].any()
    masks = (batch.inputs.view(-1)[batch.positions[used]] == 4).float().mean()
    assert 0.65 < masks < 0.95


def test_shrink_encoder_keeps_the_subwords_of_texts_and_their_vectors(tiny_encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "often.txt").write_text("harbour of of the", encoding="utf-8")
    keep = [f"1={HARBOUR}", f"2={tmp_path / 'often.txt'}"]
    words = Path(HARBOUR).read_text("utf-8").split("\n")[12].split()
    shrink(tiny_encoder, tmp_path / "small", keep)
    sizes, vectors = [], []
    for folder in (str(tiny_encoder), str(tmp_path / "small")):
        description, encoder = read_pretrained(folder)
        subwords = SubwordTokenizer(TransformerConfig(folder), description)
        ids = [*subwords.prefix, *(subword for word in words for subword in subwords.encode(word)), *subwords.suffix]
        with torch.no_grad():
            vectors.append(encoder.eval()(input_ids=torch.tensor([ids])).last_hidden_state)
        sizes.append(description["config"]["vocab_size"])
    assert sizes[1] < sizes[0] and torch.allclose(*vectors, atol=0.02)
