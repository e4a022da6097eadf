"""Training as a user drives it: stopped, killed, and resumed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hyperspan.config import Config
from hyperspan.corpora import split_corpus
from hyperspan.corpora.source import Problems
from hyperspan.corpora.splits import PartFiles, open_corpus
from hyperspan.errors import InputError, OutputExistsError, TrainingError
from hyperspan.evaluation import evaluate
from hyperspan.nn import load_model, new_model
from hyperspan.runtime.cards import HEADINGS, ModelCard
from hyperspan.runtime.domain import DomainCheck
from hyperspan.runtime.loading import load
from hyperspan.runtime.tensors import read_tensors, write_tensors
from hyperspan.training import loop, run
from hyperspan.training.data import TrainingData, read_sentences
from hyperspan.training.events import DataNote, EpochFinished, TrainingEvent, read_log
from hyperspan.training.loop import CHECKPOINT, Run, Trainer, dev_scores
from hyperspan.training.loss import TrainingLoss
from hyperspan.training.settings import CorpusFacts, complete
from tests.support.models import HARBOUR
from tests.support.process import PATIENCE, call
from tests.support.runs import CONFIG, same_result, train, train_command


@pytest.mark.parametrize("stop", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_stopped_run_resumes_to_the_same_bits(config: Path, tmp_path: Path, stop: signal.Signals) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert train_command(config, "--output", whole, "--threads", 1).returncode == 0
    given = ["train", config, "--output", stopped, "--device", "cpu", "--threads", 1]
    process = subprocess.Popen([sys.executable, "-m", "hyperspan", *map(str, given)], stderr=subprocess.DEVNULL)
    log = stopped / "log.jsonl"
    while not (log.exists() and '"epoch": 1' in log.read_text(encoding="utf-8")):
        assert process.poll() is None, "it ended before it could be stopped"
        time.sleep(0.01)
    os.kill(process.pid, stop)
    assert process.wait(PATIENCE) == (-signal.SIGKILL if stop == signal.SIGKILL else 130)
    assert len([event for event in read_log(log) if event["event"] == "epoch"]) < 4

    resumed = train_command(config, "--output", stopped, "--resume", "--threads", 1)
    assert resumed.returncode == 0, resumed.stderr
    assert re.search(r"best dev F1 \d+\.\d\d \(95% interval [\d.]+–[\d.]+\); the model is in", resumed.stderr)
    assert same_result(whole, stopped)
    epochs = [[e["loss"] for e in read_log(f / "log.jsonl") if e["event"] == "epoch"] for f in (whole, stopped)]
    assert epochs[0] == epochs[1] and len(epochs[0]) == 4
    readme = (stopped / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("# A hyperspan model\n\nFinds FAC, GPE")
    assert tuple(re.findall("^## (.*)", readme, re.MULTILINE)) == HEADINGS


@pytest.mark.parametrize("fails", [False, True])
def test_settings_of_torch_are_those_of_the_caller_again(config: Path, tmp_path: Path, fails: bool) -> None:
    """After a run and after one that fails."""
    kept = torch.get_num_threads(), torch.get_float32_matmul_precision()
    seen: list[int] = []

    def look(_: TrainingEvent) -> None:
        seen.append(torch.get_num_threads())
        torch.set_float32_matmul_precision("medium")  # as on a GPU
        if fails:
            raise TrainingError("the run failed")

    settings = Config.read(config, ["training.epochs=1"])
    with pytest.raises(TrainingError) if fails else nullcontext():
        train(settings, tmp_path, device="cpu", threads=kept[0] + 1, listeners=[look])
    assert seen[0] == kept[0] + 1
    assert (torch.get_num_threads(), torch.get_float32_matmul_precision()) == kept


def test_the_configuration_of_a_trained_model_gives_the_same_run_again(config: Path, tmp_path: Path) -> None:
    """As its model card says: dev scores of the epochs do not depend on what was chosen at the end of another run."""
    settings = Config.read(config, ["training.epochs=3", "training.tune_mention_bias=true"])
    logs = []
    for name, bias in (("first", 0), ("again", 4)):
        train(settings.override([f"model.mention_bias={bias}"]), tmp_path / name, device="cpu")
        logs.append([event["dev"] for event in read_log(tmp_path / name / "log.jsonl") if event["event"] == "epoch"])
    assert logs[0] == logs[1]


def test_seeds_decide(config: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(Config.read(config, [f"training.seed={seed}", "training.epochs=1"]), tmp_path / name, device="cpu")
    assert same_result(tmp_path / "a", tmp_path / "b")
    assert not same_result(tmp_path / "a", tmp_path / "c")


def test_a_loss_that_is_no_number_ends_the_run_and_keeps_the_last_checkpoint(config: Path, tmp_path: Path) -> None:
    settings = Config.read(config, ["training.epochs=3"])
    sentences = read_sentences(HARBOUR)
    model = new_model(settings, sentences)
    bias = dict(model.named_parameters())["scorer.parts.bias"]

    def poison(event: TrainingEvent) -> None:
        if isinstance(event, EpochFinished) and event.epoch == 2:
            with torch.no_grad():
                bias.fill_(float("nan"))

    trainer = Trainer(Run(TrainingLoss(model), sentences, sentences), tmp_path, [poison])
    save = trainer.save_checkpoint
    trainer.save_checkpoint = lambda: None if bool(bias.isnan().any()) else save()  # type: ignore[method-assign]
    with pytest.raises(TrainingError, match=r"the loss is nan near step .*lower training\.learning_rate"):
        trainer.run()
    kept, state = read_tensors(tmp_path / CHECKPOINT)
    assert state["epoch"] == 1 and all(tensor.isfinite().all() for tensor in kept.values())
    assert dev_scores(load_model(tmp_path), sentences)["f1"] >= 0


@pytest.mark.slow
def test_patience_ends_a_run(config: Path, tmp_path: Path) -> None:
    changes = ["training.patience=1", "training.learning_rate=0.03", "training.epochs=60", "training.schedule=constant"]
    settings = Config.read(config, changes)
    train(settings, tmp_path / "run", device="cpu")
    last = next(event for event in read_log(tmp_path / "run" / "log.jsonl") if event["event"] == "end")
    assert last["stopped"] == "patience" and last["epoch"] < 60


def test_patience_ends_no_run_before_dev_is_scored(config: Path, tmp_path: Path) -> None:
    few = read_sentences(HARBOUR)[:4]
    changes = ["training.patience=1", "training.eval_epochs=3", "training.epochs=60", "training.schedule=constant"]
    settings = Config.read(config, [*changes, "training.learning_rate=0.05", "training.lm_loss_weight=0"])
    train(settings, tmp_path / "run", device="cpu", data=TrainingData(few, few))
    log = read_log(tmp_path / "run" / "log.jsonl")
    scores = [event["dev"]["f1"] for event in log if event["event"] == "epoch" and event["dev"]]
    end = next(event for event in log if event["event"] == "end")
    assert end["stopped"] == "patience" and end["epoch"] == 3 * len(scores) < 60
    assert scores[-1] <= scores[-2], "it ended where the next scores were no better"


class ScriptedTrainer(Trainer):
    """Learns some sentences of the harbour. Dev has planned scores, and no patience ends the run."""

    def __init__(self, config: Path, folder: Path, changes: str, sentences: int = 4):
        given = read_sentences(HARBOUR)[:sentences]
        settings = Config.read(config, [f"training.{change}" for change in f"patience=0 {changes}".split()])
        folder.mkdir(exist_ok=True)
        self.rates: list[float] = []
        """The learning rate of each epoch."""
        model = new_model(complete(settings, CorpusFacts.of(given)), given)
        super().__init__(Run(TrainingLoss(model), given, given), folder, [self.note])

    def note(self, event: TrainingEvent) -> None:
        if isinstance(event, EpochFinished):
            self.rates.append(event.learning_rate)

    def run_with(self, scores: Sequence[float], stop: int | None = None) -> None:
        """Runs with these scores of dev, up to a step if one is given."""
        rest, take = iter(scores), self.optimiser.take_step

        def take_or_stop(*given: object) -> torch.Tensor:
            if self.step == stop:
                raise KeyboardInterrupt
            return take(*given)  # type: ignore[arg-type]

        self.optimiser.take_step = take_or_stop  # type: ignore[method-assign]
        with pytest.MonkeyPatch.context() as patch, nullcontext() if stop is None else pytest.raises(KeyboardInterrupt):
            patch.setattr(loop, "dev_scores", lambda *_: {"precision": 0.5, "recall": 0.5, "f1": next(rest)})
            self.run()


def test_plateau_lowers_the_learning_rate_as_torch_does_and_ends_the_run(config: Path, tmp_path: Path) -> None:
    """Compared with ReduceLROnPlateau, whose patience and factor mean the same."""
    dev = [0.1, 0.1, 0.3, 0.2, 0.3, 0.1, 0.4, 0.2, 0.1, 0.4, 0.5, 0.1, 0.2, 0.5, 0.6, 0.7]
    changes = "schedule=plateau plateau_patience=2 plateau_factor=0.5 plateau_reductions=2"
    trainer = ScriptedTrainer(config, tmp_path, f"{changes} epochs=16 learning_rate=0.01 warmup_epochs=0", 8)
    trainer.run_with(dev)
    reference = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.01)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(reference, "max", factor=0.5, patience=2, threshold=0)
    expected = []  # the learning rate of each epoch, which its own score does not change
    for score in dev:
        expected.append(reference.param_groups[0]["lr"])
        schedule.step(score)
    ended = next(place for place, rate in enumerate(expected) if rate == pytest.approx(0.01 * 0.5**3))
    assert len(trainer.rates) == ended == 14 and trainer.rates == pytest.approx(expected[:ended])
    assert trainer.best_f1 == 0.5 and trainer.best_epoch == 11


def test_plateau_waits_until_something_is_found_and_the_warm_up_is_over(config: Path, tmp_path: Path) -> None:
    changes = "schedule=plateau plateau_patience=0 plateau_reductions=5 epochs=8 warmup_epochs=6"
    trainer = ScriptedTrainer(config, tmp_path, changes)
    trainer.run_with([0, 0, 0, 0.2, 0.1, 0.1, 0.1, 0.1])
    assert trainer.reductions == 2, "only the last two scores are after the warm-up"


def test_plateau_counts_dev_scores_and_goes_on_with_more_reductions(config: Path, tmp_path: Path) -> None:
    changes = "schedule=plateau plateau_patience=1 warmup_epochs=0 eval_epochs=2"
    trainer = ScriptedTrainer(config, tmp_path, f"{changes} epochs=20 plateau_reductions=1")
    trainer.run_with([0.2, 0.1, 0.1, 0.3, 0.3, 0.3])
    assert trainer.epoch == 12 and trainer.best_epoch == 8
    assert [rate / trainer.rates[0] for rate in trainer.rates] == pytest.approx([1.0] * 6 + [0.1] * 6)
    # More epochs do not go on, more reductions do.
    for more, expected in (("epochs=40 plateau_reductions=1", 12), ("epochs=20 plateau_reductions=2", 16)):
        longer = ScriptedTrainer(config, tmp_path, f"{changes} {more}")
        longer.resume()
        longer.run_with([0.3, 0.3, 0.3])
        assert longer.epoch == expected


@pytest.mark.parametrize(
    ("steps", "changes"),
    [
        (3, "epochs=3"),
        (29, "schedule=plateau"),
        (26, "schedule=plateau ema_decay=0.9"),
    ],
)
def test_a_run_that_stopped_within_an_epoch_resumes_to_the_same_bits(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int, changes: str
) -> None:
    """With plateau after one reduction, with a stale score since then, or at its first step."""
    dev = [0.1, 0.3, 0.2, 0.2, 0.2, 0.2, 0.25, 0.5, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4]
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    if "plateau" in changes:
        changes += " plateau_patience=2 plateau_reductions=1 epochs=14 learning_rate=0.05 warmup_epochs=0"

    def trainer(name: str) -> ScriptedTrainer:
        return ScriptedTrainer(config, tmp_path / name, f"{changes} batch_size=2", 8)  # four steps an epoch

    trainer("whole").run_with(dev)
    trainer("stopped").run_with(dev, stop=steps)
    again = trainer("stopped")
    again.resume()
    if "plateau" in changes:
        assert again.reductions == 1 and again.stale_scores == steps // 4 - 5
    again.run_with(dev[steps // 4 :])
    assert same_result(tmp_path / "whole", tmp_path / "stopped") and again.epoch < 14


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant", [0.5, 1.0, 1.0, 1.0, 1.0]),
        ("cosine", [0.5, 1.0, 0.8536, 0.5, 0.1464]),
    ],
)
def test_schedules(schedule: str, expected: list[float], tmp_path: Path) -> None:
    sentences = read_sentences(HARBOUR)
    settings = Config().override(
        [
            f"training.schedule={schedule}",
            "training.learning_rate=1",
            "training.warmup_epochs=1",
            "training.epochs=5",
        ]
    )
    trainer = Trainer(Run(TrainingLoss(new_model(settings, sentences)), sentences), tmp_path)
    trainer.optimiser.steps_per_epoch = 2
    rates = []
    for step in (1, 2, 4, 6, 8):
        trainer.optimiser.step = step
        rates.append(trainer.optimiser.learning_rate())
    assert rates == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--set", "training.sed=1"], "no key training.sed; did you mean training.seed"),
        (
            ["--set", "training.learning_rate=fast"],
            "training.learning_rate is 'fast', but must be a number from 0 to 10",
        ),
        (["--set", "model.kind=crf"], "model.kind is 'crf'"),
        (["--set", "model.tokenizer=x"], "model.tokenizer is 'x'"),
        (["--set", "data.train=nowhere.data"], "data.train is nowhere.data, but there is no such file"),
        (["--set", "words.vectors=nowhere.npz"], "words.vectors is nowhere.npz"),
        (["--set", "training"], "is not SECTION.KEY=VALUE"),
        (["--device", "tpu9"], "the device 'tpu9' cannot be used"),
        (["somewhere"], "extra argument(s) (somewhere); see hyperspan train --help"),
    ],
)
def test_a_bad_configuration_is_refused(config: Path, tmp_path: Path, given: list[str], message: str) -> None:
    done = call("train", str(config), "-o", str(tmp_path / "run"), *given)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run of one epoch, a folder of other files, and corpora to name in its stead."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "notes").mkdir()
    (folder / "notes" / "README.md").write_text("mine", encoding="utf-8")
    harbour, words = Path(HARBOUR).read_text(encoding="utf-8"), " ".join(["tea"] * 800)
    (folder / "twice.data").write_text(harbour * 2, encoding="utf-8")
    (folder / "long.data").write_text(f"{words}\n{' '.join('_' * 800)}\n0,1 PER\n\n", encoding="utf-8")
    (folder / "bare.jsonl").write_text('{"text": "Tea was served.", "mentions": []}\n', encoding="utf-8")
    train(Config.from_toml(CONFIG).override(["training.epochs=1"]), folder / "run", device="cpu")
    return folder


@pytest.mark.parametrize(
    ("output", "changes", "message"),
    [
        ("run", "training.epochs=1", "go on with --resume"),
        ("run --resume", "training.beta=2", r"another training\.beta"),
        ("run --resume", "training.epochs=2 data.train=PLACE/twice.data", "was trained on other sentences"),
        ("notes", "training.epochs=1", r"holds README\.md already; overwrite it with --force"),
        ("mistyped --resume", "training.epochs=1", "holds no run to resume"),
        ("new", "data.train=PLACE/bare.jsonl", "holds no mentions"),
        ("new", "data.train=PLACE/long.data", "has 800 words, too many"),
        ("new", "training.schedule=plateau data.dev=", r"is plateau.* but there is no dev; set data\.dev, or"),
    ],
)
def test_train_says_why_it_does_not_begin(place: Path, output: str, changes: str, message: str) -> None:
    settings = Config.from_toml(CONFIG).override(changes.replace("PLACE", str(place)).split())
    name, *resume = output.split()
    with pytest.raises(InputError, match=message) as refused:
        train(settings, place / name, device="cpu", resume=bool(resume))
    assert isinstance(refused.value, OutputExistsError) == (not resume and name != "new")
    assert (place / name).exists() == (name in ("run", "notes"))


def test_a_finished_run_leaves_a_small_model_and_no_checkpoint(place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    result = run.train(Config.from_toml(CONFIG).override(["training.epochs=1"]), folder, device="cpu")
    assert not (folder / CHECKPOINT).exists()
    small, whole = ((one / "model.safetensors").stat().st_size for one in (folder, place / "run"))
    assert small < 0.6 * whole
    assert dev_scores(load_model(folder), read_sentences(HARBOUR))["f1"] == result.dev_f1
    with pytest.raises(InputError, match=r"small holds a finished run, .*begin anew with --force, or .*--start"):
        run.train(Config.from_toml(CONFIG), folder, device="cpu", resume=True)


def test_a_checkpoint_of_another_version_is_refused_by_name(place: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(place / "run", tmp_path / "run")
    tensors, state = read_tensors(folder / CHECKPOINT)
    state["config"] = state["config"].replace("[training]", "[training]\nclip = 3.0", 1)
    write_tensors(tensors, folder / CHECKPOINT, state)
    message = rf"{re.escape(str(folder / CHECKPOINT))} does not fit this version of hyperspan, .* no key training\.clip"
    with pytest.raises(InputError, match=message):
        train(Config.from_toml(CONFIG), folder, device="cpu", resume=True)


def test_files_of_vectors_may_move_but_not_change(config: Path, tmp_path: Path) -> None:
    words = ["the", "harbour", "zyzzyva"]  # the last only the vectors know
    before, moved = tmp_path / "before.txt", tmp_path / "moved.txt"
    before.write_text("".join(f"{word} {n} 0.5\n" for n, word in enumerate(words)), encoding="utf-8")
    changes = ["training.epochs=1", "words.dimension=2", "words.lowercase=true"]
    settings = Config.read(config, [*changes, f"words.vectors={before}"])
    train(settings, tmp_path / "whole", device="cpu")
    train(settings.override(["training.epochs=2"]), tmp_path / "whole", device="cpu", resume=True)
    train(settings, tmp_path / "run", device="cpu")
    before.rename(moved)
    longer = settings.override(["training.epochs=2"])
    with pytest.raises(InputError, match=r"before\.txt, but there is no such file.*use --set words\.vectors=FILE"):
        train(longer, tmp_path / "run", device="cpu", resume=True)
    longer = longer.override([f"words.vectors={moved}"])
    for changed in ("zyzzyva 3", "aardvark 2"):
        (tmp_path / "other.txt").write_text(moved.read_text(encoding="utf-8").replace("zyzzyva 2", changed))
        other = longer.override([f"words.vectors={tmp_path / 'other.txt'}"])
        with pytest.raises(InputError, match=r"as when the content of words\.vectors.* has changed meanwhile"):
            train(other, tmp_path / "run", device="cpu", resume=True)
    train(longer, tmp_path / "run", device="cpu", resume=True)  # as the advice says
    models = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "run")]
    assert models[0] == models[1]


def test_a_card_that_was_completed_by_hand_is_kept_by_a_resumed_run(place: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(place / "run", tmp_path / "run")
    (folder / "README.md").write_text("completed by hand", encoding="utf-8")
    written = ModelCard.read(folder)
    assert written.title == "run" and written.labels == dict.fromkeys(load_model(folder).labels, "")
    assert written.figures.corpus == Path(HARBOUR).name and written.figures.dev is not None
    assert DomainCheck.of(written) is not None
    replace(written, domain="harbours").write(folder)
    train(Config.from_toml(CONFIG).override(["training.epochs=1"]), folder, device="cpu", resume=True)
    assert (folder / "README.md").read_text(encoding="utf-8") == "completed by hand"
    assert ModelCard.read(folder) == replace(written, domain="harbours")


def test_a_label_that_only_dev_has_is_said_and_does_no_harm(config: Path, tmp_path: Path) -> None:
    dev = tmp_path / "dev.data"
    dev.write_text(Path(HARBOUR).read_text(encoding="utf-8").replace(" GPE", " NEW"), encoding="utf-8")
    told: list[str] = []
    settings = Config.read(config, ["training.epochs=1", f"data.dev={dev}"])
    train(
        settings,
        tmp_path / "run",
        device="cpu",
        listeners=[lambda event: told.append(event.text) if isinstance(event, DataNote) else None],
    )
    assert any(text.startswith("labels of dev that train has not, which the model cannot find: NEW (") for text in told)
    assert load_model(tmp_path / "run").labels == ("FAC", "GPE", "LOC", "ORG", "PER", "VEH")


def test_without_dev_the_last_epoch_is_kept(config: Path, tmp_path: Path) -> None:
    done = train_command(config, "--output", tmp_path / "run", "--set", "data.dev=", "--set", "training.epochs=1")
    assert done.returncode == 0 and "dev F1" not in done.stderr
    assert "not measured" in (tmp_path / "run" / "README.md").read_text(encoding="utf-8")


CHINESE = Path(__file__).parents[2] / "src/hyperspan/corpora/examples/chinese.jsonl"


def test_mentions_inside_chinese_text_are_learnt(tmp_path: Path) -> None:
    parts = split_corpus(CHINESE, {"train": 0.8, "test": 0.2}).parts
    files = PartFiles.of(open_corpus(CHINESE, None, Problems()), tmp_path / "parts")
    files.write(parts, problems=Problems())
    assert all(len(token) == 1 for sentence in read_sentences(str(CHINESE)) for token in sentence.tokens)
    config = {
        "data": {"train": str(files.path("train"))},
        "words": {"vectors": "", "dimension": 32, "word_dropout": 0.1},
        "characters": {"encoder": "none"},
        "encoder": {"hidden": 32, "span_hidden": 32, "input_dropout": 0.3},
        "training": {"epochs": 15, "batch_size": 4, "learning_rate": 0.01},
    }
    annotator = load(train(config, tmp_path / "model", device="cpu").folder)
    gold = parts["test"].documents
    found = list(annotator.pipe([document.text for document in gold]))
    assert evaluate(gold, found).micro.f1 > 0.85
    [university] = annotator.pipe(["武汉大学很大。"])
    assert {(mention.text, mention.label) for mention in university.mentions} == {("武汉大学", "ORG"), ("武汉", "GPE")}


def test_raw_documents_are_cut_as_the_model_will_cut_text(tmp_path: Path) -> None:
    file = tmp_path / "raw.jsonl"
    mention = '{"start": 3, "end": 7, "label": "protein"}'
    file.write_text(f'{{"text": "An IL-2-dependent line.", "mentions": [{mention}]}}\n', encoding="utf-8")
    split = Config().override(["model.tokenizer=split"])
    (known,) = read_sentences(str(file), split)
    assert known.tokens == ("An", "IL", "-", "2", "-", "dependent", "line", ".") and len(known.mentions) == 1
    (cut,) = read_sentences(str(file))
    assert cut.tokens == ("An", "IL-2", "-dependent", "line", ".") and len(cut.mentions) == 1
    (blind,) = read_sentences(str(file), gold_known=False)
    assert blind.tokens == ("An", "IL-2-dependent", "line", ".") and not blind.mentions
