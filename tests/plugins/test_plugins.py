"""What other distributions add by entry points, used as their users would: by command line and public names."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from experiments import CONFIGS
from hyperspan import Document, HyperspanError, Mention, read_corpus, train, write_corpus
from hyperspan.corpora import FORMATS
from hyperspan.corpora.outputs import choose_output
from hyperspan.nn import ENCODERS, MODELS, load_model
from tests.support.models import HARBOUR
from tests.support.process import called, hyperspan

pytestmark = pytest.mark.xdist_group("forked")  # one worker imports what such processes need
HERE = Path(__file__).parent
ZOO = (HERE / "zoo",)
BROKEN = (HERE / "broken", *ZOO)
CLASS = "is <class 'hyperspan.corpora.formats.Format'>, but must be an instance of Format"


def convert_in_python(folder: Path) -> None:
    [document] = read_corpus(folder / "given.zoo", shout=True)
    print(document)
    write_corpus(read_corpus(folder / "read.jsonl"), folder / "again.zoo")
    nested = [Document("a b", [Mention(0, 3, "X"), Mention(2, 3, "Y")])]
    try:
        write_corpus(nested, folder / "nested.zoo")
    except HyperspanError as error:
        print(error)


def test_plugin_format_is_read_written_and_recognised(tmp_path: Path) -> None:
    given = tmp_path / "given.zoo"
    given.write_text("the [[Seattle zoo|FAC]] sleeps\n")
    done = hyperspan("convert", str(given), str(tmp_path / "read.jsonl"), path=ZOO)
    assert done.returncode == 0, done.stderr
    shown, refused = called(convert_in_python, tmp_path, path=ZOO).stdout.splitlines()
    assert shown == "Document('THE SEATTLE ZOO SLEEPS', 1 mention, 0 sentences)"
    assert refused.startswith("zoo cannot hold 1 of 2 mentions (1 overlapping another)")
    assert (tmp_path / "again.zoo").read_text() == given.read_text() and not (tmp_path / "nested.zoo").exists()


def choose_outputs() -> None:
    print(choose_output("x.zoo", "zoo"), choose_output("x.zoo"))
    try:
        choose_output("x.json", "zoo")
    except HyperspanError as error:
        print(error)


PLAIN = {"schedule": "constant", "warmup_epochs": 0.0, "lm_loss_weight": 0.0, "ema_decay": 0.0}


def train_in_python(folder: str, kind: str, encoder: str) -> None:
    config = {
        "data": {"train": HARBOUR, "dev": HARBOUR},
        "model": {"kind": kind},
        "words": {"dimension": 8, "tag_dimension": 8},
        "characters": {"encoder": "none"},
        "encoder": {"kind": encoder, "hidden": 8, "output_dropout": 0.0},
        "training": {"epochs": 15, "learning_rate": 0.1, "batch_size": 4, **PLAIN},
    }
    if encoder == "hashes":
        config["hashes"] = {"vectors": 2003}
    print(train(config, folder, device="cpu").dev_f1)
    if encoder == "hashes":
        print(load_model(folder).encoder.known, vars(ENCODERS[encoder])["times_checked"])


@pytest.mark.parametrize(("kind", "encoder"), [("lexicon", "hashes"), ("not-inside", "neural")])
def test_plugin_model_encoder_and_structure_are_trained_and_used(tmp_path: Path, kind: str, encoder: str) -> None:
    model = str(tmp_path / "model")
    trained = called(train_in_python, model, kind, encoder, path=ZOO)
    score, *seen = trained.stdout.split() or ["0"]
    assert float(score) > 0.15, trained.stderr  # most of its mentions have several words
    # Checked before and after data is read, for the small copy that is kept, and by both loads.
    assert seen == (["2003", "5"] if encoder == "hashes" else [])
    stored = tomllib.loads((tmp_path / "model" / "config.toml").read_text())
    assert stored.get("hashes") == ({"vectors": 2003, "notes": []} if encoder == "hashes" else None)
    used = hyperspan("annotate", "Nobody in Lindau waved .", "--model", model, "--format", "zoo", "-o", "-", path=ZOO)
    assert "[[Lindau|GPE]]" in used.stdout, used.stderr
    missing = hyperspan("annotate", "Nobody waved .", "--model", model)
    reason = "no section hashes" if encoder == "hashes" else f"model.kind is '{kind}', but must be one of segmental"
    assert missing.returncode == 2 and reason in missing.stderr


def test_plugin_formats_and_encoders_are_refused_where_they_do_not_fit(tmp_path: Path) -> None:
    named = called(choose_outputs, path=ZOO).stdout.splitlines()
    assert named[0] == "zoo zoo" and named[1].startswith(
        "x.json ends in .json, but zoo would be written there; let it end in .zoo"
    )
    changes = ["--set", "model.kind=fofe", "--set", "encoder.kind=hashes", "--set", "training.lm_loss_weight=0"]
    refused = hyperspan("train", str(CONFIGS / "genia/sh-n.toml"), *changes, "-o", str(tmp_path / "model"), path=ZOO)
    assert refused.returncode == 2, refused.stderr
    assert "encoder.kind is hashes, but model.kind fofe reads the vectors and characters of neural" in refused.stderr


def test_broken_plugin_breaks_nothing_else(tmp_path: Path) -> None:
    given, converted = tmp_path / "given.zoo", tmp_path / "out.jsonl"
    given.write_text("the [[zoo|FAC]]\n")
    done = hyperspan("convert", str(given), str(converted), path=BROKEN)
    assert done.returncode == 0 and converted.exists(), done.stderr
    assert "the package hyperspan-broken 0.1 adds the name 'jsonl', which is built in and stays" in done.stderr
    for name, reason in (("gone", "cannot be loaded (ModuleNotFoundError"), ("number", "is 3.14"), ("class", CLASS)):
        sentence = f"hyperspan: '{name}' of the group hyperspan.formats {reason}"
        done = hyperspan("convert", "--from", name, str(given), str(tmp_path / "no.jsonl"), path=BROKEN)
        assert done.returncode == 2 and sentence in done.stderr and "Traceback" not in done.stderr
        assert "update or uninstall the package hyperspan-broken 0.1" in done.stderr


def load_wrong_encoders() -> None:
    for name in ("instance", "object"):
        try:
            ENCODERS[name]
        except HyperspanError as error:
            print(error)


def test_an_encoder_must_be_a_class_of_encoders() -> None:
    done = called(load_wrong_encoders, path=BROKEN)
    lines = done.stdout.splitlines()
    assert len(lines) == 2 and all("but must be a subclass of Encoder; update or" in line for line in lines), (
        done.stderr
    )


def test_options_of_plugins_are_set_and_checked_like_others(tmp_path: Path) -> None:
    config = tmp_path / "zoo.toml"
    config.write_text(f'[data]\ntrain = "{HARBOUR}"\n[model]\nkind = "lexicon"\n[encoder]\nkind = "hashes"\n')
    done = hyperspan("train", str(config), "-o", str(tmp_path / "m"), "--set", "hashes.vectors=many", path=ZOO)
    assert done.returncode == 2 and "hashes.vectors is 'many', but must be a whole number of at least 1" in done.stderr


def plugin(folder: Path, module: str, *entries: str) -> tuple[Path, ...]:
    """The paths of a package of this module, whose entry points are given as they are written."""
    about = folder / "hyperspan_own-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: hyperspan-own\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("\n".join(entries))
    (folder / "hyperspan_own.py").write_text(module)
    return (folder, *ZOO)


SECTION = """from dataclasses import dataclass
from hyperspan.config import KindOptions, key
from hyperspan_zoo import HashEncoder

@dataclass(frozen=True)
class Options(KindOptions):
    depth: int = key(2, "fixed", low=1)

class Encoder(HashEncoder):
    pass
"""


def test_a_section_of_every_configuration_is_not_replaced(tmp_path: Path) -> None:
    names = ("[hyperspan.encoders]", "transformer = hyperspan_own:Encoder")
    path = plugin(tmp_path, SECTION, *names, "[hyperspan.options]", "transformer = hyperspan_own:Options")
    config, model = tmp_path / "own.toml", str(tmp_path / "model")
    config.write_text(
        f'[data]\ntrain = "{HARBOUR}"\n[model]\nkind = "lexicon"\n[encoder]\nkind = "transformer"\n'
        '[words]\nvectors = ""\n[training]\nepochs = 1\n'
    )
    done = hyperspan("train", str(config), "-o", model, "--device", "cpu", path=path)
    said = "the package hyperspan-own 1.0 adds the name 'transformer', which is a section of every configuration; its"
    assert done.returncode == 0 and said in done.stderr, done.stderr
    stored = tomllib.loads((tmp_path / "model" / "config.toml").read_text())
    assert "depth" not in stored["transformer"] and "pooling" in stored["transformer"]
    used = hyperspan("annotate", "Nobody in Lindau waved .", "--model", model, path=path)
    assert used.returncode == 0, used.stderr


UNREADABLE = """from dataclasses import dataclass
from pathlib import Path
from hyperspan.config import KindOptions
from hyperspan_zoo import HashEncoder

@dataclass(frozen=True)
class Options(KindOptions):
    folder: Path = Path("data")

class Encoder(HashEncoder):
    pass
"""


def test_options_that_toml_cannot_hold_are_refused_in_a_sentence(tmp_path: Path) -> None:
    names = (
        "[hyperspan.encoders]",
        "own = hyperspan_own:Encoder",
        "[hyperspan.options]",
        "own = hyperspan_own:Options",
    )
    config = tmp_path / "own.toml"
    config.write_text(f'[data]\ntrain = "{HARBOUR}"\n[model]\nkind = "lexicon"\n[encoder]\nkind = "own"\n')
    path = plugin(tmp_path, UNREADABLE, *names)
    done = hyperspan("train", str(config), "-o", str(tmp_path / "m"), "--set", "own.folder=3", path=path)
    reason = (
        "'own' of the group hyperspan.options cannot be used (TypeError: the type of folder is Path, but must be int"
    )
    assert done.returncode == 2 and reason in done.stderr and "Traceback" not in done.stderr, done.stderr


def look_up_names() -> None:
    _ = FORMATS["jsonl"], MODELS["segmental"], MODELS["fofe"]
    print("hyperspan_zoo" in sys.modules, "_entry_points" in vars(FORMATS), "_entry_points" in vars(MODELS))
    print("zoo" in FORMATS, "hyperspan_zoo" in sys.modules, "lexicon" in list(MODELS))


def test_built_in_names_are_found_without_looking_for_plugins() -> None:
    done = called(look_up_names, path=ZOO)
    assert done.stdout == "False False False\nTrue False True\n", done.stderr
