"""`hyperspan init` as a user drives it: what it writes can be trained, and its comments are true."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from hyperspan.config import Config
from hyperspan.corpora import read_corpus, write_corpus
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.toml import read_toml
from hyperspan.training.settings import CorpusFacts, complete
from hyperspan.types import Document
from tests.support.process import call as hyperspan

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "src/hyperspan/corpora/examples"


def annotated(path: Path) -> list[Document]:
    return [with_sentences(document, Problems()) for document in read_corpus(path)]


def uncommented(text: str) -> dict[str, dict[str, Any]]:
    """The configuration when every # before a setting is removed, as the file says one may."""
    tables = read_toml(re.sub(r"^# (?=\w+ = )", "", text, flags=re.MULTILINE))
    Config.from_mapping(tables)
    return tables


@pytest.mark.parametrize("name", ["lost-property", "chinese"])
def test_init_writes_what_training_will_choose(name: str, tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / f"{name}.jsonl", tmp_path)
    result = hyperspan("init", f"{name}.jsonl", cwd=tmp_path)
    assert result.returncode == 0 and result.stdout == "", result.stderr
    assert f"hyperspan train {name}.toml" in result.stderr
    assert f"hyperspan evaluate {name}-split/test.jsonl --model runs/{name}" in result.stderr
    text = (tmp_path / f"{name}.toml").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 25 and max(map(len, text.splitlines())) <= 120
    config = Config.read(tmp_path / f"{name}.toml")
    assert config == Config.from_mapping({"data": config.tables()["data"]})  # all else is left to the corpus
    train = annotated(tmp_path / config.data.train_names)
    chosen = complete(config, CorpusFacts.of([sentence for document in train for sentence in document.sentences]))
    shown, values = uncommented(text), chosen.tables()
    assert {section: {key: values[section][key] for key in keys} for section, keys in shown.items()} == shown
    assert sum(len(keys) for section, keys in shown.items() if section != "data") == 10
    assert ("sentences not in English," in text) == (name == "chinese")
    sizes = [len(annotated(tmp_path / f"{name}-split" / f"{part}.jsonl")) for part in ("train", "dev", "test")]
    assert sizes == ([56, 18, 18] if name == "lost-property" else [30, 10, 10])


def test_init_prints_what_the_docs_show(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    result = hyperspan("init", "--example", cwd=tmp_path)
    [printed] = re.findall(r"^\$ hyperspan init --example\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert [line.rstrip() for line in result.stderr.splitlines()] == printed.splitlines()


def test_init_example_copies_a_corpus_once_and_overwrites_no_other(tmp_path: Path) -> None:
    copied = hyperspan("init", "--example", "chinese", cwd=tmp_path)
    assert copied.returncode == 0, copied.stderr
    corpus = tmp_path / "chinese.jsonl"
    assert corpus.read_bytes() == (EXAMPLES / "chinese.jsonl").read_bytes()
    assert (tmp_path / "chinese.toml").is_file() and (tmp_path / "chinese-split" / "train.jsonl").is_file()
    again = hyperspan("init", "--example", "chinese", "--force", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    once = hyperspan("init", "--example", "chinese", cwd=tmp_path)
    assert once.returncode == 2 and once.stderr.startswith("hyperspan: chinese.toml exists"), once.stderr
    (tmp_path / "chinese.toml").unlink()
    corpus.write_text("mine")
    refused = hyperspan("init", "--example", "chinese", cwd=tmp_path)
    assert refused.returncode == 2 and "chinese.jsonl exists; choose another name" in refused.stderr
    assert corpus.read_text() == "mine"


def test_init_notes_offsets_that_are_off_by_one(tmp_path: Path) -> None:
    lines = (EXAMPLES / "lost-property.jsonl").read_text("utf-8")
    shifted = re.sub(r'"(start|end)": (\d+)', lambda found: f'"{found[1]}": {int(found[2]) + 1}', lines)
    (tmp_path / "mine.jsonl").write_text(shifted, encoding="utf-8")
    result = hyperspan("init", "mine.jsonl", cwd=tmp_path)
    assert result.returncode == 0
    assert "mentions begin or end inside a word; check that offsets count characters from 0" in result.stderr


def test_init_config_can_be_trained(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "harbour.data", tmp_path)
    assert hyperspan("init", "harbour.data", "-o", "mine.toml", cwd=tmp_path).returncode == 0
    small = ("training.epochs=1", "training.start=", "words.vectors=", "encoder.hidden=8", "encoder.span_hidden=8")
    trained = hyperspan(
        "train", "mine.toml", "--device", "cpu", *(part for value in small for part in ("--set", value)), cwd=tmp_path
    )
    assert trained.returncode == 0, trained.stderr
    scored = hyperspan("evaluate", "harbour-split/test.data", "-m", "runs/mine", cwd=tmp_path)
    assert scored.returncode == 0, scored.stderr


@pytest.mark.parametrize("format_name", ["brat", "columns", "w2ner", "doccano"])
def test_init_takes_any_format(format_name: str, tmp_path: Path) -> None:
    corpus = tmp_path / ("my corpus" if format_name == "brat" else "my corpus.any")
    write_corpus(read_corpus(EXAMPLES / "lost-property.jsonl"), corpus, format_name)
    result = hyperspan("init", corpus.name, "--from", format_name, cwd=tmp_path)
    assert result.returncode == 0 and "hyperspan train 'my corpus.toml'" in result.stderr, result.stderr
    config = Config.read(tmp_path / "my corpus.toml")
    assert config.data.format == format_name and config.data.train_names.startswith("my corpus-split/train")
    assert len(list(read_corpus(tmp_path / config.data.train_names, format_name))) == 56


def test_init_with_dev_splits_nothing(tmp_path: Path) -> None:
    for name in ("train", "dev", "test"):
        shutil.copy(EXAMPLES / "harbour.data", tmp_path / f"{name}.data")
    result = hyperspan("init", "train.data", "--dev", "dev.data", "--test", "test.data", "-o", "a.toml", cwd=tmp_path)
    assert result.returncode == 0 and "hyperspan evaluate test.data --model runs/a" in result.stderr, result.stderr
    config = Config.read(tmp_path / "a.toml")
    assert (config.data.train, config.data.dev, config.data.format) == ("train.data", "dev.data", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.toml", "dev.data", "test.data", "train.data"]


def test_init_takes_a_folder_that_is_split_already(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "harbour.data", tmp_path / "mine.data")
    assert (
        hyperspan("convert", "mine.data", "mine-split", "--fractions", "50/50", "-f", "brat", cwd=tmp_path).returncode
        == 0
    )
    result = hyperspan("init", "mine-split", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    config = Config.read(tmp_path / "mine.toml")
    assert (config.data.train, config.data.dev) == ("mine-split/train", "mine-split/dev")
    (tmp_path / "mine-split" / "README.md").write_text("Mine.\n", encoding="utf-8")
    again = hyperspan("init", "mine-split", "--force", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert Config.read(tmp_path / "mine.toml") == config, "other files than the parts are no reason to split again"


def test_init_takes_train_and_dev_of_brat_for_documents(tmp_path: Path) -> None:
    for name in ("train", "dev", "test"):
        (tmp_path / "mine").mkdir(exist_ok=True)
        (tmp_path / "mine" / f"{name}.txt").write_text("Ada left.", encoding="utf-8")
        (tmp_path / "mine" / f"{name}.ann").write_text("T1\tPER 0 3\tAda\n", encoding="utf-8")
    result = hyperspan("init", "mine", cwd=tmp_path)
    assert result.returncode == 0 and "mine: brat, raw text, 3 documents" in result.stderr, result.stderr


def test_init_stays_one_comment_whatever_labels_are(tmp_path: Path) -> None:
    words = [f"Ada {number} left." for number in range(6)]
    label = '[red]"x"\n[data]\ntrain = 1 :smile:'
    records = [{"text": text, "mentions": [{"start": 0, "end": 3, "label": label}]} for text in words]
    (tmp_path / "odd\nname.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    result = hyperspan("init", "odd\nname.jsonl", "-o", "odd.toml", cwd=tmp_path)
    assert result.returncode == 0 and "[red]" in result.stderr and ":smile:" in result.stderr, result.stderr
    assert '  [red]"x"?[data]?train = 1 :smile:  ' in result.stderr, "a row of the table, too, is one line"
    config = Config.read(tmp_path / "odd.toml")
    assert config.data.train == "odd\nname-split/train.jsonl"


def test_init_overwrites_nothing(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "harbour.data", tmp_path / "mine.data")
    (tmp_path / "mine.toml").write_text("# mine\n", encoding="utf-8")
    refused = hyperspan("init", "mine.data", cwd=tmp_path)
    assert refused.returncode == 2 and "mine.toml exists" in refused.stderr and not (tmp_path / "mine-split").exists()
    assert hyperspan("init", "mine.data", "-o", "new.toml", cwd=tmp_path).returncode == 0
    again = hyperspan("init", "mine.data", "-o", "other.toml", cwd=tmp_path)
    assert (
        again.returncode == 2
        and "train.data exists; overwrite it with --force, or write the parts into" in again.stderr
    )
    assert not (tmp_path / "other.toml").exists()
    assert hyperspan("init", "mine.data", "--force", cwd=tmp_path).returncode == 0


def test_init_chooses_a_model_of_discontinuous_mentions_for_a_corpus_with_many(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "coordination.jsonl", tmp_path)
    assert hyperspan("init", "coordination.jsonl", cwd=tmp_path).returncode == 0
    config = Config.read(tmp_path / "coordination.toml")
    assert config.model.kind == "discontinuous"
    assert config == Config.from_mapping({"data": config.tables()["data"], "model": {"kind": "discontinuous"}})


def test_init_refuses_options_of_reading_for_parts(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "harbour.data", tmp_path / "mine.data")
    assert hyperspan("convert", "mine.data", "mine-split", "--fractions", "80/20", cwd=tmp_path).returncode == 0
    result = hyperspan("init", "mine-split", "--option", "layers=2", cwd=tmp_path)
    assert (
        result.returncode == 2 and "--option says how the corpus is read, which a configuration cannot" in result.stderr
    )
    assert not (tmp_path / "mine.toml").exists()
