"""Tries an installed hyperspan: the main commands, in an empty folder, with the program beside this Python. Needs no
other package.

python scripts/smoke.py               # all checks; those of extras that are not installed are left out, by name
python scripts/smoke.py annotate bulk # these alone; of an extra that is not installed, a failure
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

TEXT = "Mutant Rel proteins bind the IL-2 promoter in Jurkat T cells ."
STORY = "The mayor of Oslo planted a tree in May."
CRAFT = "We stained rod and cone cells of the mouse retina."
BUNDLED = ["craft", "english", "genia", "litbank"]
PROGRAM = Path(sys.executable).parent / ("hyperspan.exe" if os.name == "nt" else "hyperspan")
TIMEOUT = 120
NEEDS = {"parquet": "pyarrow", "serve": "uvicorn", "spacy": "spacy", "torch": "torch"}
"""The module without which a check is left out."""


def run(*arguments: str, stdin: str | None = None) -> str:
    """What ``hyperspan`` prints; a check fails where the command does."""
    command = [str(PROGRAM), *arguments]
    done = subprocess.run(
        command, input=stdin, capture_output=True, encoding="utf-8", timeout=TIMEOUT, env=_variables(), check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def _variables() -> dict[str, str]:
    """No setting leads Python to a checkout."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PYTHONUTF8": "1"}


def annotated(model: str = "genia", text: str = TEXT) -> str:
    """A file of JSON Lines with what a model finds in a text."""
    path = f"{model}.jsonl"
    Path(path).write_text(run("annotate", text, "--model", model, "--format", "jsonl"), encoding="utf-8")
    return path


def check_version() -> None:
    assert run("--version").split() == ["hyperspan", importlib.metadata.version("hyperspan")]


def check_help() -> None:
    assert "annotate" in run("--help") and "--threshold" in run("annotate", "--help")


def check_info() -> None:
    found = json.loads(run("info", "--json"))
    runs = found["kernels"]["devices"]["cpu"]["encoder"]["runs"]
    assert runs == "c" or found["torch"], f"without torch the C kernels must run, and it is {runs!r}"
    assert sorted(model["name"] for model in found["models"]) == BUNDLED
    assert all(model["figures"]["test"] for model in found["models"])
    assert "cell_line" in run("info", *BUNDLED)


def check_annotate() -> None:
    assert run("annotate", STORY).startswith(STORY)
    (found,) = run("annotate", "-", "--format", "jsonl", stdin=STORY).splitlines()
    assert "Oslo" in {mention["text"] for mention in json.loads(found)["mentions"]}
    for name in BUNDLED:
        assert json.loads(run("annotate", CRAFT, "--model", name, "--threshold", "0.1", "--format", "jsonl"))


def check_python() -> None:
    """The library, where every warning is an error but the one that kernels are missing."""
    code = """
import sys, hyperspan
document = hyperspan.load("genia")(sys.argv[1])
print(*(f"{mention.text}:{mention.label}" for mention in document.mentions), sep="\\n")
print("<svg" in hyperspan.draw_hypergraph(["IL-2"], [hyperspan.Mention(0, 1, "X")]), "torch" in sys.modules)
"""
    command = [sys.executable, "-W", "error", "-W", "ignore:the C kernels were not compiled", "-c", code, TEXT]
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", timeout=TIMEOUT, env=_variables(), check=False
    )
    assert done.returncode == 0, done.stderr
    *mentions, last = done.stdout.splitlines()
    assert "IL-2 promoter:DNA" in mentions
    assert last.startswith("True") and (importlib.util.find_spec("torch") or last.endswith("False"))


def check_evaluate() -> None:
    assert json.loads(run("evaluate", annotated(), "--model", "genia", "--json"))["micro"]["f1"] == 1.0


def _spans(path: str) -> list[tuple[int, int, str]]:
    mentions = json.loads(Path(path).read_text(encoding="utf-8"))["mentions"]
    return sorted((mention["start"], mention["end"], mention["label"]) for mention in mentions)


def check_convert() -> None:
    """To brat, to four lines a sentence, to a table, and back."""
    gold = annotated()
    run("convert", gold, "brat", "--format", "brat")
    run("convert", "brat", "back.jsonl")
    before, after = (_spans(path) for path in (gold, "back.jsonl"))
    assert before == after
    run("convert", gold, "mentions.csv")
    assert "IL-2 promoter" in Path("mentions.csv").read_text(encoding="utf-8")
    assert "IL - 2 promoter" in run("convert", gold, "-", "--format", "four-lines")


def check_view() -> None:
    assert "IL-2 promoter" in run("view", annotated())
    assert "mentions" in run("view", annotated(), "--stats").lower()
    run("draw", "Israeli UN Ambassador Danny", "--mention", "0:4:PER", "--mention", "1:2:ORG", "-o", "path.svg")
    assert "<svg" in Path("path.svg").read_text(encoding="utf-8")


def check_init() -> None:
    """The sample corpus comes with the package."""
    run("init", "--example")
    assert Path("lost-property.toml").is_file() and Path("lost-property.jsonl").is_file()


def _texts(count: int = 50) -> str:
    lines = "".join(json.dumps({"id": str(i), "text": TEXT}) + "\n" for i in range(count))
    Path("texts.jsonl").write_text(lines, encoding="utf-8")
    return "texts.jsonl"


def check_bulk() -> None:
    run("bulk", _texts(), "--model", "genia", "--output", "shards", "--workers", "2")
    shards = sorted(Path("shards/documents").glob("*.jsonl"))
    lines = [line for shard in shards for line in shard.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 50 and all("IL-2 promoter" in line for line in lines)


def check_parquet() -> None:
    import pyarrow.parquet  # type: ignore[import-untyped]

    run("bulk", _texts(), "--model", "genia", "--output", "tables", "--format", "parquet")
    rows = [row for table in Path("tables").rglob("*.parquet") for row in pyarrow.parquet.read_table(table).to_pylist()]
    assert any("IL-2 promoter" in str(row) for row in rows)


def _answer(url: str, body: dict[str, str] | None = None) -> str:
    """Asks again while the server is loading its model."""
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    end = time.monotonic() + TIMEOUT
    while True:
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            if error.code != 503 or time.monotonic() > end:
                raise
            time.sleep(0.1)


def check_serve() -> None:
    command = [str(PROGRAM), "serve", "--model", "genia", "--port", "0"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "encoding": "utf-8"}
    with subprocess.Popen(command, env=_variables(), **pipes) as process:
        try:
            assert process.stdout is not None
            base = process.stdout.readline().partition(" at ")[2].partition(" ")[0].rstrip("/")
            _answer(f"{base}/readyz")
            assert "IL-2 promoter" in _answer(f"{base}/v1/annotate", {"text": TEXT})
        finally:
            process.terminate()
        assert process.wait(timeout=20) == 0 or os.name == "nt"


def check_spacy() -> None:
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("hyperspan", config={"model": "genia"})
    document = pipeline(TEXT)
    (found,) = document.spans.values()
    assert "IL-2 promoter" in {span.text for span in found}


def check_torch() -> None:
    """One epoch, on the sample corpus."""
    run("init", "--example", "harbour", "--force")
    run("train", "harbour.toml", "--output", "model", "--set", "training.epochs=1")
    run("annotate", STORY, "--model", "model")


CHECKS: dict[str, Callable[[], None]] = {
    name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")
}


def main() -> int:
    unknown = set(sys.argv[1:]) - CHECKS.keys()
    if unknown:
        print(f"no check is called {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    failed = 0
    for name in sys.argv[1:] or CHECKS:
        module = NEEDS.get(name)
        if module and not sys.argv[1:] and importlib.util.find_spec(module) is None:
            print(f"{name}: left out, for {module} is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                CHECKS[name]()
                print(f"{name}: ok")
            except Exception:
                failed += 1
                print(f"{name}: FAILED\n{traceback.format_exc()}", file=sys.stderr)
            finally:
                os.chdir(Path(folder).parent)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
