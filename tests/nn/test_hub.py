"""What is no encoder that words can be read with is refused in one sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import huggingface_hub
import pytest

from hyperspan.config import Config
from hyperspan.errors import InputError, MissingExtraError
from hyperspan.nn import new_model
from hyperspan.nn.hub import check_pretrained, read_pretrained
from hyperspan.training.checks import check_files
from hyperspan.training.data import read_sentences
from tests.support.models import HARBOUR

pytestmark = pytest.mark.xdist_group("transformers")  # the library takes seconds to import: in one worker, not in each


@pytest.fixture
def folder(tiny_encoder: Path, tmp_path: Path) -> Path:
    """A copy of the tiny encoder, to break."""
    return shutil.copytree(tiny_encoder, tmp_path / "encoder")


def rewritten(file: Path, **changes: object) -> None:
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | changes), encoding="utf-8")


def without_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def with_a_tokenizer_that_knows_no_words(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    rewritten(folder / "config.json", model_type="canine")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "CanineTokenizer"}', encoding="utf-8")
    (folder / "vocab.txt").write_text("", encoding="utf-8")


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda folder: (folder / "config.json").unlink(), "a folder without config.json"),
        (lambda folder: (folder / "config.json").write_text("{"), "whose config.json cannot be read"),
        (lambda folder: rewritten(folder / "config.json", model_type="oracle"), "whose config.json cannot be read"),
        (
            lambda folder: (folder / "config.json").write_text('{"model_type": "t5"}'),
            r"an encoder with a decoder \(t5\)",
        ),
        (lambda folder: rewritten(folder / "config.json", model_type="gpt2"), r"a causal model \(gpt2\)"),
        (lambda folder: rewritten(folder / "config.json", is_decoder=True), r"a causal model \(bert\)"),
        (lambda folder: (folder / "config.json").write_text('{"model_type": "vit"}'), r"does not read text \(vit\)"),
        (without_tokenizer, "a folder without a tokenizer"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "whose tokenizer cannot be read"),
        (with_a_tokenizer_that_knows_no_words, r"tokenizer \(CanineTokenizer\) is not one of the library tokenizers"),
        (lambda folder: (folder / "model.safetensors").unlink(), "whose weights cannot be read"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"xx"), "whose weights cannot be read"),
        (lambda folder: rewritten(folder / "config.json", model_type="t5"), "whose config.json cannot be read"),
        (lambda folder: rewritten(folder / "config.json", num_hidden_layers=3), "whose weights lack encoder.layer.2"),
        (lambda folder: rewritten(folder / "config.json", hidden_size=4), "whose weights cannot be read"),
    ],
)
def test_read_pretrained_refuses_a_folder_that_cannot_be_used(
    break_it: Callable[[Path], object], message: str, folder: Path
) -> None:
    break_it(folder)
    with pytest.raises(InputError, match=message) as error:
        read_pretrained(str(folder))
    assert "\n" not in str(error.value)


def test_read_pretrained_refuses_a_tokenizer_with_more_subwords_than_weights(folder: Path) -> None:
    known = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    known["model"]["vocab"] |= {f"more{number}": 900 + number for number in range(900)}
    rewritten(folder / "tokenizer.json", **known)
    with pytest.raises(InputError, match=r"tokenizer has 1,\d+ subwords, but whose weights know \d+"):
        read_pretrained(str(folder))


@pytest.mark.parametrize("name", ["/no/such/folder", "./nowhere", "a/b/c", "no-such-model", "nobody/nothing", "a b?"])
def test_check_pretrained_refuses_a_name_that_is_nowhere(name: str) -> None:
    with pytest.raises(InputError, match="there is no such folder"):
        check_pretrained(name)


def test_check_pretrained_repeats_the_answer_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub.errors import RepositoryNotFoundError

    def unknown(*_: object, **__: object) -> None:
        raise RepositoryNotFoundError.__new__(RepositoryNotFoundError)

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", unknown)
    with pytest.raises(InputError, match="the hub has no model of that name"):
        check_pretrained("nobody/nothing")


def test_check_files_names_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hyperspan.errors.find_spec", lambda name: None)
    config = Config().override([f"data.train={HARBOUR}", "transformer.name=bert-base-cased"])
    with pytest.raises(MissingExtraError, match=r'pip install "hyperspan\[transformers\]"'):
        check_files(config)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("transformer.window=49", "reads from 4 to 48 subwords at once"),
        ("transformer.window=3", "reads from 4 to 48 subwords at once"),
        ("transformer.layers=4", "has 2 layers and embeddings"),
        ("transformer.freeze=3", "has 2 layers; choose a smaller number"),
    ],
)
def test_new_model_refuses_what_an_encoder_cannot_do(change: str, message: str, tiny_encoder: Path) -> None:
    config = Config().override([f"transformer.name={tiny_encoder}", change])
    with pytest.raises(InputError, match=message):
        new_model(config, read_sentences(HARBOUR))


def test_new_model_refuses_words_without_any_vector() -> None:
    with pytest.raises(InputError, match=r"words\.dimension is 0, and words have no tags"):
        new_model(Config().override(["words.dimension=0", "words.tag_dimension=0"]), read_sentences(HARBOUR))
