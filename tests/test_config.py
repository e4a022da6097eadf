"""Configurations survive a round trip through TOML, and what is wrong with one is said in a sentence."""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import fields
from itertools import zip_longest
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hyperspan.config as config_module
from experiments import CONFIGS
from hyperspan.config import Config, DataConfig
from hyperspan.errors import InputError
from hyperspan.toml import LARGEST_FILE
from hyperspan.training.checkpoint import difference
from hyperspan.training.run import check_files
from tests.growth import grows_linearly

corpora = st.lists(
    st.text()
    | st.fixed_dictionaries(
        {"path": st.text()},
        optional={
            "labels": st.dictionaries(st.text(), st.text(), max_size=2),
            "annotated": st.lists(st.text(), max_size=2),
        },
    ),
    max_size=3,
)
changes = st.fixed_dictionaries(
    {},
    optional={
        "data": st.fixed_dictionaries({}, optional={"train": st.text() | corpora}),
        "distillation": st.fixed_dictionaries({}, optional={"teacher": st.text() | st.lists(st.text(), max_size=3)}),
        "model": st.fixed_dictionaries(
            {}, optional={"max_width": st.just("n") | st.integers(1), "tied": st.booleans()}
        ),
        "words": st.fixed_dictionaries({}, optional={"word_dropout": st.floats(0, 1), "vectors": st.text()}),
        "training": st.fixed_dictionaries(
            {},
            optional={
                "seed": st.integers(0, 2**31 - 1),
                "schedule": st.sampled_from(["constant", "cosine", "plateau"]),
            },
        ),
    },
)


@given(changes)
def test_toml_and_back(given: dict) -> None:
    config = Config.from_mapping(given)
    assert Config.from_mapping(tomllib.loads(config.to_toml())) == config


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*/*.toml")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_configurations_of_experiments_are_good(path: Path) -> None:
    config = Config.read(path)
    assert all(corpus.path.startswith("data/") for corpus in (*config.data.train_corpora, *config.data.dev_corpora))
    with pytest.raises(InputError, match="no such file"):
        check_files(config.override(["data.train=data/nowhere"]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("model.max_width=0", 'model.max_width is 0, but must be a whole number of at least 1 or "n"'),
        ("model.tied=1", "model.tied is 1, but must be true or false"),
        ("encoder.input_dropout=1.5", "encoder.input_dropout is 1.5, but must be a number from 0 to 0.95"),
        ("characters.encoder=gru", 'characters.encoder is \'gru\', but must be "none" or "lstm" or "cnn"'),
        ("training.epochs=2.5", "training.epochs is 2.5, but must be a whole number of at least 1"),
        ("modl.tied=true", "no key modl; did you mean model?"),
        ("training.xyzzy=1", "no key training.xyzzy; it has training.seed, "),
        ("training.max_grad_norm=inf", "training.max_grad_norm is inf, but must be a number of at least 0"),
        ("training.seed=-1", "training.seed is -1, but must be a whole number from 0 to"),
        ("training.seed=99999999999", "training.seed is 99999999999"),
        ("seed=3", "is not SECTION.KEY=VALUE"),
        ("plugins.zoo=3", "is not plugins.NAME.KEY=VALUE"),
        ("training.seed=" + "9" * 5_000, "training.seed is '999"),
        ("training.seed=" + "[" * 2_000, "training.seed is '[[["),
        ("encoder.layers=100000000", "encoder.layers is 100000000, but must be a whole number from 0 to 100"),
    ],
)
def test_what_is_wrong_is_said(given: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        Config().override([given])
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model", "is not TOML"),
        ("model = 3", "model is 3, but must be a table"),
        ('[model]\nkind = "segmental"\nwidth = 3', "no key model.width"),
        ("[training]\nseed = " + "9" * 5_000, "it holds a number of thousands of digits"),
        ("[training]\nseed = 0x" + "9" * 5_000, "training.seed is a number of thousands of digits"),
        ("[training]\nlearning_rate = 0x" + "9" * 5_000, "training.learning_rate is a number of thousands of digits"),
        ("[training]\nseed = " + "[" * 2_000, "it is nested too deeply"),
        ("[training]\nseed = " + "{a = " * 2_000, "it is nested too deeply"),
        ("a" + ".a" * 30_000 + " = 1", "it is nested too deeply"),
        ("[" + "a . 'b' . " * 6_000 + "a]", "it is nested too deeply"),
        ('"a b".' * 10_000 + "c = 1", "it is nested too deeply"),
        ('x = {k = """a"""", ' + '\'#\'."\\"".' * 7_000 + "c = 1}", "it is nested too deeply"),
        ("a" * 60_000, "is not TOML"),
        ("x" * 60_000 + " = 1", "no key xxx"),
        ("# " + "a" * 70_000, "has more than 65,536 bytes"),
        ("[data]\ntrain = 2020-02-30", "is not TOML"),
        ("[data]\ntrain = 2020-02-03", "data.train is datetime.date"),
        ("model = [" + "1, " * 5_000 + "]", "model is [1, 1,"),
    ],
)
def test_a_bad_file_is_named(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        Config.read(file)
    assert str(file) in str(error.value) and message in str(error.value)
    assert "\n" not in str(error.value) and len(str(error.value)) < 1_000


def test_dots_in_texts_and_comments_are_no_deep_keys() -> None:
    dots = "a." * 200
    lines = ("[data]", f'train = "it\\"s {dots}"', f"dev = '{dots}' # it's {dots}", f'format = """\n{dots}"""')
    config = Config.from_toml("\n".join(lines))
    assert config.data == DataConfig(train=f'it"s {dots}', dev=dots, format=dots)


@pytest.mark.parametrize("part", ['"\\"', '\\"', "'", '"', "a.", "a ", '"""', '""" "', "#'\n\"", '"".', "a" * 50 + "."])
def test_reading_any_configuration_takes_time_in_proportion_to_its_size(part: str) -> None:
    def read(size: int) -> None:
        with pytest.raises(InputError):
            Config.from_toml(part * (size // len(part)))

    assert grows_linearly(read, LARGEST_FILE // 2)


def test_tables_of_plugins_are_kept_as_they_are() -> None:
    text = """[plugins.zoo]
    size = 3
    "odd key" = [1.5, inf, {a.b = 2026-11-16T07:32:00Z, c = 07:32:00}, [], {}, "\\u007f"]
    [plugins."two words".inner]
    on = true
    """
    config = Config.from_toml(text).override(["plugins.zoo.size=4", "plugins.new.name=x"])
    assert config.plugins["zoo"]["size"] == 4 and config.plugins["new"] == {"name": "x"}
    again = Config.from_toml(config.to_toml())
    assert again == config and again.plugins["two words"] == {"inner": {"on": True}} and hash(again) == hash(config)
    assert difference(config, again) is None and difference(config, Config()) == "plugins.zoo"


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        (3, "plugins is 3, but must be a table"),
        ({"zoo": 3}, "plugins.zoo is 3, but must be a table"),
        ({"zoo": {"a": None}}, "plugins.zoo holds None, but must hold what TOML can"),
        ({"zoo": {"a": [float("nan")]}}, "plugins.zoo holds nan"),
        ({"zoo": {"a": {3: 4}}}, "plugins.zoo holds {3: 4}"),
        ({"zoo": {"a": 1 << 20_000}}, "plugins.zoo holds a number of thousands of digits"),
        ({"zoo": tomllib.loads("a = " + "[" * 60 + "]" * 60)}, "plugins.zoo is nested too deeply"),
    ],
)
def test_tables_of_plugins_hold_what_toml_can(plugins: object, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        Config.from_mapping({"plugins": plugins})


def test_a_folder_or_nothing_is_no_configuration(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "genia"):
        with pytest.raises(InputError, match="is not a file; name a TOML file"):
            Config.read(path)


def test_config_fields_have_docstrings() -> None:
    """From which the reference of all keys is generated."""
    tree = ast.parse(Path(config_module.__file__).read_text("utf-8"))
    classes = {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}
    sections = [type(entry.default).__name__ for entry in fields(Config) if entry.name != "plugins"]
    bare = [
        f"{name}.{ast.unparse(entry.target)}"
        for name in (*sections, "CorpusConfig")
        for entry, after in zip_longest(classes[name], classes[name][1:])
        if isinstance(entry, ast.AnnAssign) and not _is_text(after)
    ]
    assert bare == [] and all(_is_text(classes[name][0]) for name in sections)


def _is_text(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def test_a_section_that_is_none_names_the_way_from_a_dict() -> None:
    with pytest.raises(InputError, match=r"the section data is .* must be a DataConfig; use Config\.from_mapping"):
        Config({"training": {"epochs": 3}})  # type: ignore[arg-type]
