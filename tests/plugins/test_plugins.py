"""What other distributions add by entry points, used as their users would: by command line and public names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HARBOUR = "examples/harbour.data"


def run(*arguments: str, plugins: tuple[str, ...] = ("zoo",)) -> subprocess.CompletedProcess[str]:
    """Python with these distributions on its path."""
    path = os.pathsep.join([*(str(HERE / name) for name in plugins), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment)


def hyperspan(*arguments: object, plugins: tuple[str, ...] = ("zoo",)) -> subprocess.CompletedProcess[str]:
    return run("-m", "hyperspan", *map(str, arguments), plugins=plugins)


def test_a_format_is_read_written_and_recognised(tmp_path: Path) -> None:
    given = tmp_path / "given.zoo"
    given.write_text("the [[Seattle zoo|FAC]] sleeps\n")
    done = hyperspan("convert", given, tmp_path / "read.jsonl")
    assert done.returncode == 0, done.stderr
    code = f"""import hyperspan
[document] = hyperspan.read_corpus({str(given)!r}, shout=True)
print(document)
hyperspan.write_corpus(hyperspan.read_corpus({str(tmp_path / "read.jsonl")!r}), {str(tmp_path / "again.zoo")!r})
nested = [hyperspan.Document("a b", [hyperspan.Mention(0, 3, "X"), hyperspan.Mention(2, 3, "Y")])]
try:
    hyperspan.write_corpus(nested, {str(tmp_path / "nested.zoo")!r})
except hyperspan.HyperspanError as error:
    print(error)
"""
    shown, refused = run("-c", code).stdout.splitlines()
    assert shown == "Document('THE SEATTLE ZOO SLEEPS', 1 mention, 0 sentences)"
    assert refused.startswith("zoo cannot hold 1 of 2 mentions (1 overlap another)")
    assert (tmp_path / "again.zoo").read_text() == given.read_text() and not (tmp_path / "nested.zoo").exists()


@pytest.mark.parametrize(("kind", "encoder"), [("lexicon", "hashes"), ("single-words", "neural")])
def test_a_model_an_encoder_and_a_structure_are_trained_and_used(tmp_path: Path, kind: str, encoder: str) -> None:
    code = f"""import hyperspan
config = {{"data": {{"train": {HARBOUR!r}, "dev": {HARBOUR!r}}}, "model": {{"kind": {kind!r}}},
          "words": {{"dimension": 8}}, "encoder": {{"kind": {encoder!r}, "hidden": 8}}, "training": {{"epochs": 15, "learning_rate": 0.1, "batch_size": 4}}}}
result = hyperspan.train(config, {str(tmp_path / "model")!r}, device="cpu")
print(result.dev_f1)
"""
    trained = run("-c", code)
    assert float(trained.stdout or 0) > 0.15, trained.stderr  # most of its mentions have several words
    used = hyperspan(
        "annotate", "Nobody in Lindau waved .", "--model", tmp_path / "model", "--format", "zoo", "-o", "-"
    )
    assert "[[Lindau|GPE]]" in used.stdout, used.stderr
    missing = hyperspan("annotate", "Nobody waved .", "--model", tmp_path / "model", plugins=())
    assert missing.returncode == 2 and f"model.kind is '{kind}', but must be one of segmental" in missing.stderr


def test_a_broken_plugin_breaks_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "given.zoo").write_text("the [[zoo|FAC]]\n")
    both = ("broken", "zoo")
    done = hyperspan("convert", tmp_path / "given.zoo", tmp_path / "out.jsonl", plugins=both)
    assert done.returncode == 0 and (tmp_path / "out.jsonl").exists(), done.stderr
    assert "the package hyperspan-broken 0.1 adds the name 'jsonl', which is built in and stays" in done.stderr
    for name, reason in (("gone", "cannot be loaded (ModuleNotFoundError"), ("number", "is 3.14")):
        sentence = f"hyperspan: '{name}' of the group hyperspan.formats {reason}"
        done = hyperspan("convert", "--from", name, tmp_path / "given.zoo", tmp_path / "no.jsonl", plugins=both)
        assert done.returncode == 2 and sentence in done.stderr and "Traceback" not in done.stderr
        assert "update or uninstall the package hyperspan-broken 0.1" in done.stderr


def test_built_in_names_are_found_without_looking_for_plugins() -> None:
    code = """import sys
from hyperspan.corpora import FORMATS
from hyperspan.models import MODELS
FORMATS["jsonl"], MODELS["segmental"], MODELS["fofe"]
print("hyperspan_zoo" in sys.modules, "_entry_points" in vars(FORMATS), "_entry_points" in vars(MODELS))
print("zoo" in FORMATS, "hyperspan_zoo" in sys.modules, "lexicon" in list(MODELS))"""
    done = run("-c", code)
    assert done.stdout == "False False False\nTrue False True\n", done.stderr
