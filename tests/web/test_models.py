"""Models of one's own in the module of web/, in Node: all shapes that the runtime without torch has; and files that are
damaged, or are none, which must be refused with a sentence."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from attrs import evolve

from hyperspan import load
from hyperspan.config import Config
from hyperspan.nn.folders import save_model
from hyperspan.runtime.folders import PRETRAINED
from tests.support.models import TRAINING, learn, new_model
from tests.web.node import NEEDS, answers, node
from tests.web.test_answers import OPTIONS, SAMPLES, check_answer
from tests.web.texts import generated

pytestmark = NEEDS
SMALL = ["words.dimension=10", "encoder.hidden=10", "encoder.span_hidden=6", "encoder.input_dropout=0"]
SHAPES = {
    "cnn": ["characters.encoder=cnn", "characters.hidden=7", "model.max_width=5"],
    "untied": ["model.tied=false", "characters.encoder=lstm", "characters.hidden=5", "encoder.layers=1"],
    "plain": ["characters.encoder=none", "segmental.interactions=false", "model.tokenizer=split"],
    "tags": ["words.tag_dimension=3", "characters.encoder=lstm", "words.lowercase=false", "model.mention_bias=0.7"],
    "calibrated": [
        *("words.dimension=0", "characters.encoder=lstm", "encoder.layers=3", "model.temperature=1.7"),
        *("calibration.biases={place=-0.5}", "calibration.temperatures={person=0.8}"),
    ],
    "gaps": ["model.kind=discontinuous", "discontinuous.bias=0.4", "calibration.discontinuous=-0.5"],
    "three parts": [
        *("model.kind=discontinuous", "discontinuous.parts=3", "discontinuous.bias=1", "discontinuous.gap=3"),
        *("calibration.discontinuous=-0.6", "calibration.biases={place=-0.5}", "characters.encoder=lstm"),
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_models_of_all_shapes_answer_as_in_python(shape: str, tmp_path: Path) -> None:
    tagged = [evolve(one, tags=["NN"] * len(one)) for one in TRAINING]
    config = Config().override([*SMALL, *SHAPES[shape]])
    save_model(learn(new_model(config, tagged), tagged, 15), tmp_path)
    words = " ".join(token for one in TRAINING for token in one.tokens)
    texts = [words, *SAMPLES, *generated(seed=5, count=40)]
    annotate = load(tmp_path)
    given = [(text, OPTIONS[number % len(OPTIONS)]) for number, text in enumerate(texts)]
    for (text, some), found in zip(given, answers(tmp_path, given), strict=True):
        check_answer(annotate, text, some, found)


@pytest.mark.parametrize(
    ("kept", "instead", "remedy"),
    [
        ('kind = "segmental"', 'kind = "joint"', "use Python for it"),
        ('name = ""', 'name = "a/bert"', "use Python for it"),
        ("[model]", "[model]\nnewer = 1", "the hyperspan that trained the model"),
    ],
)
def test_models_that_need_another_program_are_refused(kept: str, instead: str, remedy: str, tmp_path: Path) -> None:
    shutil.copytree(PRETRAINED / "genia", tmp_path / "other")
    config = tmp_path / "other/config.toml"
    config.write_text(config.read_text().replace(kept, instead, 1))
    [refusal] = answers(tmp_path / "other", [("a", {})])
    assert refusal["error"].startswith("HyperspanError: ")
    assert refusal["error"].endswith(remedy)


DAMAGES = {
    "config.toml": [
        b"",
        b"[model",
        b"[model]\nkind = 3",
        b"[encoder]\nlayers = 1e9",
        b"\xff\xfe",
        b"a = " + b"[" * 10**5,
    ],
    "vocabulary.json": [b"", b"{}", b"null", b'{"labels": ["a", "a"]}', b"[" * 10**5, b'{"trained": 1e9}'],
    "words.txt": [b"", b"a\na\n", b"cut off", b"\xff\n"],
    "model.safetensors": [
        b"",
        b"\0" * 8,
        b"\xff" * 100,
        (2).to_bytes(8, "little") + b"{}",
        (10**6).to_bytes(8, "little"),
    ],
}


def test_damaged_models_are_refused_with_a_sentence(tmp_path: Path) -> None:
    """Other files, and random bytes changed in real ones, never end in anything but a sentence or an answer."""
    executable = node()
    assert executable is not None
    whole = PRETRAINED / "genia"
    folders: list[Path] = []
    for name, contents in DAMAGES.items():
        for content in contents:
            folders.append(tmp_path / str(len(folders)))
            shutil.copytree(whole, folders[-1])
            (folders[-1] / name).write_bytes(content)
    script = str(Path(__file__).with_name("damaged.mjs"))
    done = subprocess.run(
        [executable, script, str(whole), str(random.Random(1).randrange(2**31)), *map(str, folders)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    said = done.stdout.splitlines()
    assert len(said) > len(folders)
    assert all(line.startswith(("HyperspanError: ", "answered")) for line in said), said
    assert all(line.startswith("HyperspanError: ") for line in said[: len(folders)]), said
