"""Why a model needs torch, where torch is not installed, and which devices there are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hyperspan import load
from hyperspan.errors import InputError
from hyperspan.nn import load_model

WITHOUT_TORCH = """import sys
sys.modules["torch"] = None
from hyperspan import HyperspanError, load
try:
    load(*sys.argv[1:])
except HyperspanError as error:
    print(error)"""


def refusal(*arguments: str, **environment: str) -> str:
    """What `load` answers without torch."""
    command = [sys.executable, "-c", WITHOUT_TORCH, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | environment)
    return done.stdout.strip()


def refusal_with_torch(folder: Path) -> str:
    """What `load_model` answers."""
    with pytest.raises(InputError) as error:
        load_model(folder)
    return str(error.value)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            'model.kind = "segmental-crf"',
            "model.kind is 'segmental-crf', but must be one of segmental, discontinuous, ",
        ),
        ('model.kind = "tree"', "a model with model.kind = 'tree' ({}) needs the extra `train`: "),
        ('encoder.kind = "handcrafted"', "a model with encoder.kind = 'handcrafted' ({}) needs the extra `train`: "),
        ("encoder.layers = 0", "a model with encoder.layers = 0 ({}) needs the extra `train`: "),
        ('transformer.name = "x"', "a model with transformer.name = 'x' ({}) needs the extra `transformers`: "),
    ],
)
def test_the_setting_that_needs_torch_is_named(config: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(config + "\n")
    assert refusal(str(tmp_path)).startswith(expected.format(tmp_path))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("model.scorer_hidden = 200", "the configuration has no key model.scorer_hidden; "),
        ("words.cluster_dimension = 24", "the configuration has no key words.cluster_dimension; "),
        ("[dependence]", "the configuration has no section dependence; "),
        ('training.optimizer = "sgd"', "training.optimizer is 'sgd', but must be "),
    ],
)
@pytest.mark.parametrize("has_torch", [True, False])
def test_a_model_of_another_version_is_refused_by_name(line: str, reason: str, has_torch: bool, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(line + "\n")
    sentence = refusal_with_torch(tmp_path) if has_torch else refusal(str(tmp_path))
    assert sentence.startswith(f"{tmp_path / 'config.toml'} does not fit this version of hyperspan, so train the model")
    assert f": {reason}" in sentence and "\n" not in sentence


def test_the_variable_that_leaves_out_the_kernels_is_named() -> None:
    assert refusal("genia", HYPERSPAN_KERNELS="reference") == (
        "HYPERSPAN_KERNELS=reference leaves the C kernels out, and PyTorch, which then does their work, is not installed; "
        'unset the variable, or pip install "hyperspan[train]"'
    )


def test_devices_that_are_none_are_refused_with_and_without_torch() -> None:
    sentence = "there is no device 'gpu'; choose cpu, cuda, cuda:1"
    assert refusal("genia", "gpu") == sentence
    with pytest.raises(InputError, match=sentence):
        load("genia", device="gpu")


def test_load_names_dtype_where_precision_is_given() -> None:
    said = "the number type is called dtype; write dtype='bfloat16' instead of precision='bfloat16'"
    with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
        load("genia", precision="bfloat16")
