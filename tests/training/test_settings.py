"""What the corpus decides: every "auto" becomes a good value, what is set stays, and a run keeps what it was begun
with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.config import Config, keys
from hyperspan.nn import ENCODERS, MODELS
from hyperspan.nn.validation import validate
from hyperspan.runtime.folders import folder_of
from hyperspan.training.events import SettingsChosen, TrainingEvent, read_log
from hyperspan.training.settings import LARGE, MOST_TO_START, SAME_SCORES, SMALL, START, CorpusFacts, complete
from tests.support.models import HARBOUR
from tests.support.process import call as hyperspan
from tests.support.runs import train

NEED_VECTORS = {kind for kind, model in MODELS.built_in.items() if model.abilities.vectors}
kinds = [
    (model, encoder)
    for model in MODELS.built_in
    for encoder in ENCODERS.built_in
    if encoder == "neural" or model not in NEED_VECTORS
]
corpora = st.builds(CorpusFacts, st.integers(1, 100_000), st.booleans())
own_values: dict[str, st.SearchStrategy[Any]] = {
    "words.dimension": st.sampled_from([0, 50, 100]),
    "words.vectors": st.just(""),
    "characters.encoder": st.sampled_from(["none", "lstm", "cnn"]),
    "encoder.layers": st.integers(0, 3),
    "encoder.hidden": st.integers(1, 300),
    "encoder.span_hidden": st.integers(1, 300),
    "encoder.input_dropout": st.floats(0, 0.9),
    "encoder.output_dropout": st.floats(0, 0.9),
    "training.start": st.just(""),
    "training.start_learning_rate": st.floats(0, 1),
    "training.epochs": st.integers(1, 500),
    "training.patience": st.integers(0, 50),
    "training.eval_epochs": st.integers(1, 50),
    "training.batch_size": st.integers(1, 500),
    "training.learning_rate": st.floats(0, 1),
    "training.schedule": st.sampled_from(["constant", "cosine", "plateau"]),
    "training.warmup_epochs": st.floats(0, 5),
    "training.lm_loss_weight": st.floats(0, 1),
    "training.cross_fit": st.booleans(),
    "training.ema_decay": st.floats(0, 0.9999),
}


def a_config(kind: str, encoder: str, optimizer: str) -> Config:
    return Config().override([f"model.kind={kind}", f"encoder.kind={encoder}", f"training.optimizer={optimizer}"])


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
@given(st.sampled_from(kinds), corpora)
def test_every_model_gets_good_settings_for_every_corpus(
    optimizer: str, kind: tuple[str, str], corpus: CorpusFacts
) -> None:
    config = a_config(*kind, optimizer)
    chosen = complete(config, corpus)
    assert not any(map(chosen.is_auto, keys("auto")))
    assert Config.from_toml(chosen.to_toml()) == chosen  # which checks types and ranges
    validate(chosen)
    assert complete(chosen, CorpusFacts(1, english=not corpus.english)) == chosen


def test_all_kinds_are_among_them() -> None:
    assert own_values.keys() == set(keys("auto"))
    assert {kind for kind, _ in kinds} == MODELS.built_in.keys() and {encoder for _, encoder in kinds} == {
        "neural",
        "handcrafted",
    }


@given(st.sampled_from(kinds), corpora, st.fixed_dictionaries({}, optional=own_values))
def test_what_is_set_stays(kind: tuple[str, str], corpus: CorpusFacts, own: dict[str, Any]) -> None:
    assert complete(a_config(*kind, "adamw").with_values(own), corpus).values(own) == own


@given(st.sampled_from(kinds), st.booleans(), st.integers(1, 100_000), st.integers(1, 100_000))
def test_more_sentences_never_mean_more_epochs_or_smaller_batches(
    kind: tuple[str, str], english: bool, one: int, other: int
) -> None:
    few, many = (
        complete(a_config(*kind, "adamw"), CorpusFacts(size, english)).training for size in sorted((one, other))
    )
    assert few.epochs >= many.epochs and few.batch_size <= many.batch_size
    assert few.warmup_epochs < few.epochs and many.warmup_epochs < many.epochs


@pytest.mark.parametrize("setting", ["model.kind=linear-chain", "encoder.layers=3"])
def test_a_warm_start_is_only_chosen_where_it_is_possible(setting: str) -> None:
    assert not complete(Config().override([setting]), CorpusFacts(100, english=True)).training.start


def test_a_value_that_the_start_has_too_keeps_it() -> None:
    chosen = complete(Config(), CorpusFacts(100, english=True))
    for key in ("encoder.hidden", "characters.encoder", "words.vectors"):
        same = Config().override([f"{key}={chosen.value(key)}"])
        assert complete(same, CorpusFacts(100, english=True)) == chosen


def test_small_english_corpora_start_from_english() -> None:
    starts = [
        complete(Config(), CorpusFacts(n, english)).training.start
        for n in (30, 3_000, 3_001)
        for english in (True, False)
    ]
    assert starts == ["english", "", "english", "", "", ""]


def test_vectors_of_another_size_than_the_bundled_ones_are_none() -> None:
    assert complete(Config().override(["words.dimension=50"]), CorpusFacts(100, english=True)).words.vectors == ""
    vectors = Config().override(["words.vectors=bundled"])
    assert complete(vectors, CorpusFacts(100, english=False)).words.dimension == 100


def test_training_ends_early_on_a_small_corpus_unless_the_length_is_given() -> None:
    corpus = CorpusFacts(80, english=True)
    chosen = complete(Config(), corpus).training
    assert chosen.patience == SAME_SCORES * chosen.eval_epochs < chosen.epochs
    sparse = complete(Config().override(["training.eval_epochs=7"]), corpus).training
    assert sparse.patience == SAME_SCORES * 7
    for change in ("training.epochs=60", "training.schedule=plateau", "training.schedule=constant"):
        assert complete(Config().override([change]), corpus).training.patience == 0
    assert complete(Config(), CorpusFacts(SMALL, english=True)).training.patience == 0


def test_cross_fit_is_for_small_corpora_without_a_teacher_or_a_start_of_ones_own() -> None:
    small, large = (CorpusFacts(count, english=False) for count in (SMALL - 1, SMALL))
    assert complete(Config(), small).training.cross_fit and not complete(Config(), large).training.cross_fit
    assert complete(Config().override(["training.cross_fit=true"]), large).training.cross_fit
    assert not complete(Config().override(["distillation.teacher=genia"]), small).training.cross_fit
    assert complete(Config().override(["training.start=english"]), small).training.cross_fit
    of_ones_own = Config().override([f"training.start={folder_of('english')}"])  # may have read both halves
    assert not complete(of_ones_own, small).training.cross_fit


SIZES = (30, 100, 300, 1_000, 3_000, 10_000)
TABLE = {
    "neural": (
        "epochs eval_epochs warmup_epochs patience batch_size learning_rate schedule ema_decay "
        "lm_loss_weight characters.encoder encoder.layers encoder.hidden encoder.span_hidden "
        "encoder.input_dropout encoder.output_dropout"
    ).split(),
    "handcrafted": ("batch_size", "learning_rate"),
}
"""The rows of the documentation; those without a section are of training."""


def documented_table() -> str:
    """What docs/how-to/train.md must say of the defaults."""
    lines = [f"| training sentences | {' | '.join(f'{size:,}' for size in SIZES)} |", "|---" * (len(SIZES) + 1) + "|"]
    for encoder, names in TABLE.items():
        configs = [complete(a_config("segmental", encoder, "adam"), CorpusFacts(n, english=False)) for n in SIZES]
        for name in names:
            key = name if "." in name else f"training.{name}"
            values = [config.values([key])[key] for config in configs]
            cells = [f"{value:.4g}" if isinstance(value, float) else str(value).lower() for value in values]
            lines.append(f"| `{key}`{', handcrafted' * (encoder != 'neural')} | {' | '.join(cells)} |")
    return "\n".join(lines)


def test_the_documentation_has_the_values_of_the_code() -> None:
    section = (
        Path("docs/how-to/train.md").read_text(encoding="utf-8").partition("## Defaults\n")[2].partition("\n## ")[0]
    )
    table = "\n".join(line for line in section.splitlines() if line.startswith("|"))
    assert table == documented_table()
    assert f"at most {MOST_TO_START:,} English sentences starts from the bundled model `{START}`" in " ".join(
        section.split()
    )
    assert f"a larger model from {LARGE:,} sentences on" in " ".join(section.split())


def small(**training: object) -> Config:
    """A configuration that is trained in a moment, and leaves the rest to the corpus."""
    return Config.from_mapping(
        {
            "data": {"train": HARBOUR, "dev": HARBOUR},
            "words": {"dimension": 8, "vectors": ""},
            "encoder": {"hidden": 6, "span_hidden": 6},
            "training": training,
        }
    )


def test_the_settings_are_told_and_kept(tmp_path: Path) -> None:
    config = tmp_path / "small.toml"
    config.write_text(small(epochs=2).to_toml(), encoding="utf-8")
    done = hyperspan("train", str(config), "--output", str(tmp_path / "run"), "--device", "cpu")
    assert done.returncode == 0, done.stderr
    rows = done.stderr.partition("settings for ")[2].partition("training segmental")[0].splitlines()[1:]
    kept = Config.read(tmp_path / "run" / "config.toml")
    assert not any(map(kept.is_auto, keys("auto")))
    assert all(len(row) <= 80 for row in rows if row.startswith("  "))
    table = "\n".join(rows).replace("\n" + " " * 15, " ")  # values of a section that go on in the next line
    sections = [row.split(maxsplit=1) for row in table.splitlines() if row.startswith("  ")]
    shown = dict(f"{name}.{part}".split("=", 1) for name, parts in sections for part in parts.split(", "))
    assert shown["training.batch_size"] == str(kept.training.batch_size)
    assert float(shown["training.learning_rate"]) == pytest.approx(kept.training.learning_rate)
    assert "training.epochs" not in shown and shown.keys() <= set(keys("auto"))
    assert read_log(tmp_path / "run" / "log.jsonl")[0]["settings"] == kept.values(keys("auto"))


def test_a_resumed_run_keeps_the_settings_that_it_was_begun_with(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    train(small(epochs=2), folder, device="cpu")
    begun = Config.read(folder / "config.toml")
    events: list[TrainingEvent] = []
    train(small(epochs=4), folder, device="cpu", resume=True, listeners=[events.append])
    assert [event["epoch"] for event in read_log(folder / "log.jsonl") if event["event"] == "epoch"] == [1, 2, 3, 4]
    assert not any(isinstance(event, SettingsChosen) for event in events)
    chosen = complete(small(epochs=4), CorpusFacts(16, english=True))
    assert begun.training.warmup_epochs != chosen.training.warmup_epochs, "it would have been chosen differently"
    resumed = Config.read(folder / "config.toml")
    assert resumed.with_values({"training.epochs": 2, "model.temperature": begun.model.temperature}) == begun
