"""Why a model needs torch, where torch is not installed, and which devices there are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hyperspan import load
from hyperspan.errors import InputError
from hyperspan.nn import load_model

WITHOUT_TORCH = """import json, sys
sys.modules["torch"] = None
from hyperspan import HyperspanError, load
for given in json.loads(sys.argv[1]):
    try:
        load(*given)
    except HyperspanError as error:
        print(error)"""


def refusals(*given: Sequence[object], **environment: str) -> list[str]:
    """What `load` answers to each of these without torch."""
    command = [sys.executable, "-c", WITHOUT_TORCH, json.dumps([[*map(str, one)] for one in given])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | environment)
    return done.stdout.splitlines()


def folders_of(lines: Iterable[str], folder: Path) -> list[Path]:
    """For each line a folder whose configuration it is."""
    made = [folder / str(number) for number, _ in enumerate(lines)]
    for one, line in zip(made, lines, strict=True):
        one.mkdir()
        (one / "config.toml").write_text(f"{line}\n")
    return made


NEED_TORCH = {
    'model.kind = "segmental-crf"': "model.kind is 'segmental-crf', but must be one of segmental, discontinuous, ",
    'model.kind = "tree"': "a model with model.kind = 'tree' ({}) needs the extra `train`: ",
    'encoder.kind = "handcrafted"': "a model with encoder.kind = 'handcrafted' ({}) needs the extra `train`: ",
    "encoder.layers = 0": "a model with encoder.layers = 0 ({}) needs the extra `train`: ",
    'transformer.name = "x"': "a model with transformer.name = 'x' ({}) needs the extra `transformers`: ",
}


def test_the_setting_that_needs_torch_is_named(tmp_path: Path) -> None:
    folders = folders_of(NEED_TORCH, tmp_path)
    said = refusals(*((folder,) for folder in folders))
    for sentence, folder, expected in zip(said, folders, NEED_TORCH.values(), strict=True):
        assert sentence.startswith(expected.format(folder))


OTHER_VERSIONS = {
    "model.scorer_hidden = 200": "the configuration has no key model.scorer_hidden; ",
    "words.cluster_dimension = 24": "the configuration has no key words.cluster_dimension; ",
    "[dependence]": "the configuration has no section dependence; ",
    'training.optimizer = "sgd"': "training.optimizer is 'sgd', but must be ",
}


def test_a_model_of_another_version_is_refused_by_name(tmp_path: Path) -> None:
    """With torch and without."""
    folders = folders_of(OTHER_VERSIONS, tmp_path)
    without = refusals(*((folder,) for folder in folders))
    for said, folder, reason in zip(without, folders, OTHER_VERSIONS.values(), strict=True):
        with pytest.raises(InputError) as error:
            load_model(folder)
        for sentence in (said, str(error.value)):
            start = f"{folder / 'config.toml'} does not fit this version of hyperspan, so train the model"
            assert sentence.startswith(start) and f": {reason}" in sentence and "\n" not in sentence


def test_the_variable_that_leaves_out_the_kernels_is_named() -> None:
    assert refusals(["genia"], HYPERSPAN_KERNELS="reference") == [
        "HYPERSPAN_KERNELS=reference leaves the C kernels out, and PyTorch, which then does their work, is not installed; "
        'unset the variable, or pip install "hyperspan[train]"'
    ]


def test_devices_that_are_none_are_refused_with_and_without_torch() -> None:
    sentence = "there is no device 'gpu'; choose cpu, cuda, cuda:1"
    assert refusals(["genia", "gpu"]) == [sentence]
    with pytest.raises(InputError, match=sentence):
        load("genia", device="gpu")


@pytest.mark.parametrize("skip", ["3", [], True])
def test_load_refuses_a_skip_that_is_no_number(skip: Any) -> None:
    with pytest.raises(InputError, match=r"skip is .*, but must be a number or None"):
        load("genia", skip=skip)
