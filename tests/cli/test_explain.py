"""`hyperspan train` and `model weights` with handcrafted features, as a user drives them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.nn.validation import validate
from tests.support.process import call
from tests.support.runs import train

CONFIG = """\
[data]
train = "src/hyperspan/corpora/examples/harbour.data"
dev = "src/hyperspan/corpora/examples/harbour.data"

[model]
kind = "linear-chain"

[encoder]
kind = "handcrafted"
input_dropout = 0.0

[handcrafted]
min_count = 1

[training]
epochs = 3
batch_size = 4
learning_rate = 0.05
tune_mention_bias = true
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("explain")
    (folder / "crf.toml").write_text(CONFIG, encoding="utf-8")
    trained = call("train", str(folder / "crf.toml"), "-o", str(folder / "model"))
    assert trained.returncode == 0, trained.stderr
    assert "mentions are ignored in training" in trained.stderr
    return str(folder / "model")


def test_explain_lists_the_features_with_the_largest_weights(model: str) -> None:
    shown = call("model", "weights", "-m", model, "--labels", "PER", "--top", "3")
    assert shown.returncode == 0, shown.stderr
    assert "PER" in shown.stdout and "is alone" in shown.stdout and "GPE" not in shown.stdout
    rows = json.loads(call("model", "weights", "-m", model, "--top", "2", "--json").stdout)
    assert {row["label"] for row in rows} == {"FAC", "GPE", "LOC", "ORG", "PER", "VEH"}
    assert {row["role"] for row in rows} == {"begins", "is inside", "ends", "is alone"}
    by_role = [row for row in rows if (row["label"], row["role"]) == ("PER", "begins")]
    weights = [row["weight"] for row in by_role]
    assert weights == sorted(weights, reverse=True) and len(weights) == 4
    refused = call("model", "weights", "-m", model, "--labels", "CITY")
    assert "the label 'CITY' is not among those of the model; it knows FAC, GPE" in refused.stderr


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    data = "[/red] [bold] met Anna .\nX X X X X\n0,2 PER|3,4 PER\n\n" * 3
    (tmp_path / "brackets.data").write_text(data, encoding="utf-8")
    config = CONFIG.replace("src/hyperspan/corpora/examples/harbour.data", str(tmp_path / "brackets.data"))
    config = config.replace("[handcrafted]", '[handcrafted]\nwords = "words bag"')
    (tmp_path / "crf.toml").write_text(config, encoding="utf-8")
    train(tmp_path / "crf.toml", tmp_path / "model", device="cpu")
    shown = call("model", "weights", "-m", str(tmp_path / "model"), "--top", "40")
    assert shown.returncode == 0 and "word[near] [/red]" in shown.stdout and "word[0] [bold]" in shown.stdout
    assert "none overlapping" in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")


def test_a_bad_configuration_is_refused_before_data_are_read(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    for changed, message in (
        (CONFIG.replace("[handcrafted]", '[handcrafted]\nwords = "prefixes"'), "handcrafted.words names 'prefixes'"),
        (
            CONFIG.replace('"linear-chain"', '"chain"'),
            "model.kind is 'chain', but must be one of segmental, discontinuous, linear-chain",
        ),
        (CONFIG + "lm_loss_weight = 0.1\n", "the handcrafted encoder has no LSTM"),
        (CONFIG + 'optimizer = "lbfgs"\n', 'training.optimizer is \'lbfgs\', but must be "adam" or "adamw"'),
        (CONFIG.replace("[handcrafted]", '[handcrafted]\nwords = ""'), "handcrafted.words is empty"),
        (CONFIG.replace("[handcrafted]", '[handcrafted]\nwords = "words clusters"'), "handcrafted.clusters"),
    ):
        path.write_text(changed, encoding="utf-8")
        with pytest.raises(InputError, match=re.escape(message)):
            validate(Config.read(path))
    refused = call("train", str(path), "-o", str(tmp_path / "model"))
    assert refused.returncode == 2 and "handcrafted.clusters" in refused.stderr
    path.write_text(
        CONFIG.replace('"linear-chain"', '"cascaded"') + '[cascaded]\norder = "PER GPE"\n', encoding="utf-8"
    )
    result = call("train", str(path), "-o", str(tmp_path / "model"))
    assert result.returncode == 2 and "cascaded.order" in result.stderr, result.stderr
