"""Configurations survive a round trip through TOML, and what is wrong with one is said in a sentence."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import CONFIGS
from hyperspan.baselines.fofe import FofeOptions
from hyperspan.config import (
    Config,
    DataConfig,
    first_difference,
)
from hyperspan.errors import InputError
from hyperspan.toml import LARGEST_FILE
from hyperspan.training.checks import check_files
from tests.support.growth import grows_linearly

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
        ("modl.tied=true", "no section modl; did you mean model?"),
        ("training.xyzzy=1", "no key training.xyzzy; it has training.seed, "),
        ("training.max_grad_norm=inf", "training.max_grad_norm is inf, but must be a number of at least 0"),
        ("training.seed=-1", "training.seed is -1, but must be a whole number from 0 to"),
        ("training.seed=99999999999", "training.seed is 99999999999"),
        ("seed=3", "is not SECTION.KEY=VALUE"),
        ("zoo.size=3", "the configuration has no section zoo; it has data, "),
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
        ("x" * 60_000 + " = 1", "no section xxx"),
        ("# " + "a" * 70_000, "has more than 65,536 bytes"),
        ("[data]\ntrain = 2020-02-30", "is not TOML"),
        ("[data]\ntrain = 2020-02-03", "data.train is datetime.date"),
        ("model = [" + "1, " * 5_000 + "]", "model is [1, 1,"),
        ('[fofe]\nthreshold = "a"', "fofe.threshold is 'a', but must be a number from 0 to 1"),
        ("[fofe]\nlayer = 3", "the configuration has no key fofe.layer; did you mean fofe.layers?"),
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


def test_options_of_kinds_are_checked_and_completed() -> None:
    text = """[fofe]
    layers = 2
    [katiyar-cardie]
    threshold = 1
    """
    config = Config.from_toml(text).override(["fofe.layers=3", "cascaded.order=B,A", "encoder.kind=handcrafted"])
    assert config.kinds == {"fofe": {"layers": 3}, "katiyar-cardie": {"threshold": 1}, "cascaded": {"order": "B,A"}}
    assert config.options("fofe", FofeOptions) == FofeOptions(layers=3)
    complete = config.completed()
    assert set(complete.kinds) == {"handcrafted", *config.kinds} and complete.kinds["fofe"]["hidden"] == 128
    again = Config.from_toml(complete.to_toml())
    assert again == complete and hash(again) == hash(complete) and again.completed() == again
    assert first_difference(complete, again) is None
    assert first_difference(Config(), Config().override(["fofe.layers=3"])) == "fofe.layers"
    assert complete.with_values({"fofe.threshold": 0.5}).options("fofe", FofeOptions).threshold == 0.5


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"fofe": 3}, "fofe is 3, but must be a table"),
        ({"fofe": {"layers": None}}, "fofe holds None, but must hold what TOML can"),
        ({"fofe": {"layers": [float("nan")]}}, "fofe holds nan"),
        ({"fofe": {"layers": {3: 4}}}, "fofe holds {3: 4}"),
        ({"fofe": {"layers": 1 << 20_000}}, "fofe holds a number of thousands of digits"),
        ({"fofe": tomllib.loads("a = " + "[" * 60 + "]" * 60)}, "fofe is nested too deeply"),
        ({"fofe": {"layer": 3}}, "the configuration has no key fofe.layer; did you mean fofe.layers?"),
        ({"fofe": {"layers": 0}}, "fofe.layers is 0, but must be a whole number from 1 to 100"),
        ({"foef": {"layers": 1}}, "the configuration has no section foef; did you mean fofe?"),
        ({"zoo": {}}, "the configuration has no section zoo; it has data, model, "),
        ({"count": {}}, "no section count; did you mean joint? Other kinds are plug-ins to install"),
        (
            {"count": {}, "encoder": {"kind": "count"}},
            "no section count; count is a kind of a plug-in that is not inst",
        ),
        ({"count": {}, "model": {"kind": "count"}}, "no section count; count is a kind of a plug-in that is not inst"),
        ({"count": {}, "encoder": 3}, "no section count; did you mean joint?"),
        ({"neural": {}, "encoder": {"kind": "neural"}}, "the configuration has no section neural; it has data, "),
        ({"kinds": {"fofe": {}}}, "the configuration has no section kinds; it has data, model, "),
    ],
)
def test_options_that_no_kind_has_are_refused(kinds: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        Config.from_mapping(kinds).completed()


def test_a_configuration_with_a_section_of_a_kind_is_read_without_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name="torch")

    (tmp_path / "fofe.toml").write_text("[fofe]\nlayers = 2")
    monkeypatch.setattr("hyperspan.plugins.import_module", missing)
    assert Config.read(tmp_path / "fofe.toml").kinds == {"fofe": {"layers": 2}}


def test_a_folder_or_nothing_is_no_configuration(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "genia"):
        with pytest.raises(InputError, match="is not a file; name a TOML file"):
            Config.read(path)


def test_what_was_given_is_remembered() -> None:
    """Also a default; "auto" is as good as nothing."""
    config = Config.from_mapping({"training": {"epochs": 50, "patience": "auto", "seed": 1}})
    assert [config.is_given(f"training.{name}") for name in ("epochs", "patience", "seed", "beta")] == [1, 0, 1, 0]
    assert [config.is_auto(f"training.{name}") for name in ("epochs", "patience", "seed", "beta")] == [0, 1, 0, 0]
    assert config == Config() and 'epochs = 50\npatience = "auto"' in config.to_toml()
    again = config.override(["training.epochs=auto", "training.patience=10"])
    assert again.is_auto("training.epochs") and not again.is_auto("training.patience")
    assert replace(config, model=replace(config.model, kind="joint")).is_given("model.kind")


def test_paths_are_those_of_files_and_folders() -> None:
    corpora = [{"path": "a/b.jsonl", "labels": {"x": "y"}}, "c/d.jsonl"]
    tables = {
        "data": {"train": corpora, "dev": "e/f"},
        "distillation": {"teacher": ["g/h"]},
        "handcrafted": {"clusters": "i"},
    }
    config = Config.from_mapping(tables)
    assert config.paths() == {
        "data.train[0].path": "a/b.jsonl",
        "data.train[1].path": "c/d.jsonl",
        "data.dev": "e/f",
        "distillation.teacher[0]": "g/h",
        "handcrafted.clusters": "i",
    }
    moved = config.with_paths(lambda key, path: path.upper())
    assert [*moved.paths().values()] == ["A/B.JSONL", "C/D.JSONL", "E/F", "G/H", "I"]
    assert moved.data.train_corpora[0].labels == {"x": "y"} and moved.is_auto("words.vectors")


def test_a_section_that_is_none_names_the_way_from_a_dict() -> None:
    with pytest.raises(InputError, match=r"the section data is .* must be a DataConfig; use Config\.from_mapping"):
        Config({"training": {"epochs": 3}})  # type: ignore[arg-type]
