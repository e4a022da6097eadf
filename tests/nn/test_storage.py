"""Folders of models may come from anywhere: whatever is in them, one sentence says so before memory is taken."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from hyperspan import kernels
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.nn import load_model, new_model, save_model
from hyperspan.nn.folders import compact
from hyperspan.types import Mention, Sentence

SMALL = ["encoder.hidden=4", "encoder.span_hidden=4", "words.dimension=4", "characters.encoder=cnn"]
ZOO = [Sentence(["the", "Seattle", "zoo"], [Mention(0, 3, "FAC"), Mention(1, 2, "GPE")], tags=["DT", "NNP", "NN"])] * 2


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    save_model(new_model(Config().override(SMALL), ZOO), folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    for file in saved.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def refusal(folder: Path, file: str) -> str:
    """The sentence with which a folder is refused, which names the file."""
    with pytest.raises(InputError) as caught:
        load_model(folder)
    message = str(caught.value)
    assert file in message
    assert "\n" not in message
    assert len(message) < 600
    return message


def change_vocabulary(folder: Path, **values: Any) -> None:
    path = folder / "vocabulary.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **values}), encoding="utf-8")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 3e38])
@pytest.mark.parametrize("name", ["encoder.words.trained", "scorer.parts.bias"])
def test_load_model_refuses_weights_that_are_not_finite(folder: Path, name: str, value: float) -> None:
    tensors = load_file(folder / "model.safetensors")
    tensors[name].flatten()[-1] = value
    save_file(tensors, folder / "model.safetensors")
    assert f"holds numbers in {name} that are not finite" in refusal(folder, "model.safetensors")


def test_load_model_refuses_scales_that_make_vectors_infinite(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("the 1 2 3 4\nlion 1 2 3 4\n", encoding="utf-8")
    config = Config().override([*SMALL, f"words.vectors={tmp_path / 'vectors.txt'}"])
    save_model(compact(new_model(config, ZOO)), tmp_path, half=True)
    assert load_model(tmp_path).vocabulary.words[-1] == "lion"
    tensors = load_file(tmp_path / "model.safetensors")
    tensors["encoder.words.fixed_scale"].fill_(3e38)
    save_file(tensors, tmp_path / "model.safetensors")
    assert "encoder.words.fixed_scale that are not finite" in refusal(tmp_path, "model.safetensors")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"trained": -5}, "trained is -5"),
        ({"trained": 10**30}, "trained is 1000"),
        ({"trained": 2.5}, "trained is 2.5"),
        ({"trained": True}, "trained is True"),
        ({"trained": None}, "trained is None"),
        ({"clusters": ["0"]}, "clusters is"),
        ({"clusters": {"the": 1}}, "the cluster of 'the' is 1"),
        ({"clusters": {"the": "012"}}, "must be a string of 0 and 1"),
        ({"words": ["the"]}, "the key 'words' is unknown"),
        ({"characters": "the"}, "characters is 'the'"),
        ({"characters": [1, 2, 3]}, "characters must be strings"),
        ({"labels": []}, "labels must be"),
        ({"labels": ["A", "A"]}, "labels must be"),
        ({"labels": ["A", ""]}, "the label '' is empty or has control characters"),
        ({"labels": ["A", " "]}, "the label ' ' is empty or has control characters"),
        ({"labels": ["A", "B\nC"]}, r"the label 'B\nC' is empty or has control characters"),
        ({"labels": ["A", "B\x1b[31m"]}, "is empty or has control characters"),
        ({"labels": [["A"], "B"]}, "labels must be strings"),
        ({"labels": ["\ud800", "B"]}, "surrogates not allowed"),
        ({"labels": [f"L{number}" for number in range(100_000)]}, "labels must be"),
        ({"lowercase": 1}, "lowercase is 1"),
        ({"transformer": []}, "transformer is"),
        ({"more": 1}, "the key 'more' is unknown"),
    ],
)
def test_load_model_refuses_a_vocabulary_with_wrong_values(folder: Path, values: dict[str, Any], message: str) -> None:
    change_vocabulary(folder, **values)
    assert message in refusal(folder, "vocabulary.json")


def header(entry: dict[str, Any], length: int | None = None) -> bytes:
    """Weights of 16 bytes, whose header describes one tensor and says how long it is itself."""
    text = json.dumps({"encoder.words.trained": entry}).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + bytes(16)


FLOATS = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}
NESTED = ("[" * 100_000, '{"words": ' * 5_000, '{"trained": ' + "9" * 5_000 + "}")
WRONG: list[tuple[str, str, list[bytes]]] = [
    ("config.toml", "model.kind is 'oracle'", [b'[model]\nkind = "oracle"\n']),
    ("vocabulary.json", "is not a vocabulary", [b"", b"[]", b"3", b"{}", b"null", b"\xff", *map(str.encode, NESTED)]),
    ("words.txt", "its last line is cut off", [b"the\nzoo"]),
    ("words.txt", "the word 'the' is there twice", [b"the\nthe\n"]),
    ("words.txt", "carriage returns", [b"the\r\nzoo\r\n"]),
    ("words.txt", "a backslash that escapes nothing", [b"a\\qb\n", b"\\u0041\n"]),
    ("words.txt", "can't decode byte", [b"\xff\n"]),
    (
        "model.safetensors",
        "cannot be read as safetensors",
        [
            *(header(FLOATS | wrong) for wrong in ({"shape": [10**9, 10**9]}, {"shape": [-4]}, {"shape": [2**62, 4]})),
            *(header(FLOATS | {"data_offsets": wrong}) for wrong in ([0, 10**12], [16, 0])),
            header(FLOATS | {"dtype": "X99"}),
            *(header(FLOATS, length) for length in (2**60, 3)),
        ],
    ),
]


@pytest.mark.parametrize(
    ("file", "message", "contents"), WRONG, ids=[f"{file}: {message}" for file, message, _ in WRONG]
)
def test_load_model_refuses_a_file_with_other_content(
    folder: Path, file: str, message: str, contents: list[bytes]
) -> None:
    for content in contents:
        (folder / file).write_bytes(content)
        assert message in refusal(folder, file)
        with kernels.reference():
            assert message in refusal(folder, file)


def test_load_model_refuses_truncated_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    for size in (1000, 100, 9, 8, 7, 2, 1, 0):
        path.write_bytes(path.read_bytes()[:size])
        assert "cannot be read as safetensors" in refusal(folder, "model.safetensors")


@pytest.mark.parametrize("name", ["config.toml", "vocabulary.json", "words.txt", "model.safetensors"])
def test_load_model_names_files_that_are_missing_or_folders(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert ("holds no model" if name == "config.toml" else "is not there") in refusal(folder, name)
    (folder / name).mkdir()
    assert ("no file config.toml" if name == "config.toml" else "cannot be read") in refusal(folder, name)


@pytest.mark.parametrize("words", ["", "the\nseattle\nzoo\nlion\n"])
def test_load_model_refuses_another_number_of_words(folder: Path, words: str) -> None:
    (folder / "words.txt").write_text(words, encoding="utf-8")
    refusal(folder, str(folder))


def changed(*overrides: str) -> Callable[[Path], None]:
    """What writes another configuration into a folder, past the checks of one that is written by us."""

    def write(folder: Path) -> None:
        lines = (folder / "config.toml").read_text(encoding="utf-8").splitlines()
        for override in overrides:
            name, _, value = override.partition("=")
            section, key = name.split(".")
            first = lines.index(f"[{section}]")
            place = next(i for i in range(first, len(lines)) if lines[i].startswith(f"{key} ="))
            lines[place] = f"{key} = {value}"
        (folder / "config.toml").write_text("\n".join(lines), encoding="utf-8")

    return write


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["encoder.layers=100000000"], "from 0 to 100"),
        (["encoder.layers=100"], "does not fit"),
        (["encoder.hidden=100000"], "does not fit"),
        (["words.dimension=100000", "encoder.hidden=100000", "encoder.span_hidden=100000"], "does not fit"),
        (["encoder.hidden=9223372036854775807"], "from 1 to 100000"),
        (["encoder.hidden=1" + "0" * 5000], "thousands of digits"),
        (["encoder.hidden=0x1" + "0" * 5000], "thousands of digits"),
        (["model.temperature=0x1" + "0" * 5000], "thousands of digits"),
        (["model.mention_bias=1e300"], "from -1000 to 1000"),
        (["model.mention_bias=nan"], "model.mention_bias is nan"),
        (["characters.dimension=100000"], "does not fit"),
        (['model.kind="layered"'], "does not fit"),
        (['model.kind="katiyar-cardie"'], "does not fit"),
        (['model.kind="fofe"'], "does not fit"),
        (['transformer.name="some/encoder"'], "does not describe that encoder"),
        (["words.dimension=0", "words.tag_dimension=0"], "does not fit"),
    ],
)
def test_load_model_refuses_a_configuration_that_does_not_fit(folder: Path, overrides: list[str], message: str) -> None:
    changed(*overrides)(folder)
    assert message in refusal(folder, str(folder))


def test_load_model_stops_building_encoders_with_more_layers_than_weights(folder: Path) -> None:
    pytest.importorskip("transformers")
    changed('transformer.name="some/encoder"')(folder)
    tokenizer = {"version": "1.0", "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"}}
    config = {"model_type": "bert", "num_hidden_layers": 10**8, "hidden_size": 8, "num_attention_heads": 2}
    description = {"config": config, "tokenizer": tokenizer, "limit": 512, "nothing": 0}
    change_vocabulary(folder, transformer=description)
    assert "many more parameters" in refusal(folder, "model.safetensors")


@pytest.mark.parametrize(
    "description",
    [
        {"config": {}},
        {"config": 3, "tokenizer": 4, "limit": "x", "nothing": []},
        {"config": {"model_type": "bert", "hidden_size": -3}, "tokenizer": {}, "limit": 512, "nothing": 0},
    ],
)
def test_load_model_refuses_wrong_descriptions_of_encoders(folder: Path, description: dict[str, Any]) -> None:
    pytest.importorskip("transformers")
    changed('transformer.name="some/encoder"')(folder)
    change_vocabulary(folder, transformer=description)
    assert "holds no model that can be built" in refusal(folder, str(folder))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensors: tensors.pop("scorer.parts.bias"), "it lacks scorer.parts.bias"),
        (lambda tensors: tensors.update(more=torch.zeros(3)), "it has more"),
        (
            lambda tensors: tensors.update({"scorer.parts.bias": torch.zeros(99)}),
            "scorer.parts.bias has the shape [99]",
        ),
        (lambda tensors: tensors.update({"scorer.parts.bias": torch.zeros(6, dtype=torch.int64)}), "type I64"),
        (lambda tensors: tensors.update({"encoder.words.fixed_scale": torch.zeros(3, 1)}), "fixed_scale"),
        (lambda tensors: tensors.clear(), "it lacks"),
        (
            lambda tensors: tensors.update(old=tensors.pop("scorer.parts.bias")),
            "an earlier version of hyperspan wrote it",
        ),
    ],
)
def test_load_model_refuses_other_tensors(folder: Path, change: Callable[[Any], Any], message: str) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")
    assert message in refusal(folder, "does not fit config.toml and vocabulary.json")
