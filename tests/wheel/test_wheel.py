"""The wheel that users install: what it claims, and what runs with it where there is neither PyTorch nor a compiler."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from tests.serve.running import until

ROOT = Path(__file__).parents[2]
TEXT = "Mutant Rel proteins bind the IL-2 promoter in Jurkat T cells ."
STORY = "The mayor of Oslo planted a tree in May."
MEGABYTES = 160
pytestmark = [
    pytest.mark.xdist_group("wheel"),
    pytest.mark.skipif(
        not any(map(shutil.which, ("cc", "gcc", "clang"))) or sys.platform != "linux",
        reason="needs Linux and a C compiler",
    ),
]


def pip(*arguments: str, **environment: str) -> None:
    """Without a package index it gets nothing, which is said in one sentence before its own words."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | environment)
    if done.returncode:
        pytest.fail(
            "pip could not build or install hyperspan, for which it must reach a package index; set PIP_INDEX_URL to one, or leave "
            f"these tests out with --ignore=tests/wheel\n{done.stderr}",
            pytrace=False,
        )


def build_wheel(folder: Path, **environment: str) -> Path:
    """From a copy of the sources, since other tests use the library that lies among them."""
    copy = folder / "sources"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    pip("wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(copy), **environment)
    shutil.rmtree(copy)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


class Environment(NamedTuple):
    """A virtual environment with nothing but hyperspan and what it depends on."""

    folder: Path

    @property
    def variables(self) -> dict[str, str]:
        """Nothing of this process but what Python needs; the only programs are those of the environment."""
        return {"PATH": str(self.folder / "bin"), "HOME": str(self.folder), "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}

    def install(self, *requirements: str) -> None:
        python = str(self.folder / "bin" / "python")
        pip("--python", python, "install", "--quiet", "--constraint", str(ROOT / "constraints.txt"), *requirements)

    def megabytes(self) -> float:
        return sum(file.lstat().st_size for file in self.folder.rglob("*")) / 1e6

    def run(self, *command: str, expected: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        """What a program of the environment prints."""
        done = subprocess.run(
            [str(self.folder / "bin" / command[0]), *command[1:]],
            cwd=self.folder,
            env=self.variables | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == expected, done.stderr
        return done

    def hyperspan(self, *arguments: str, **options: Any) -> str:
        return self.run("hyperspan", *arguments, **options).stdout


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    made = Environment(folder)
    made.install(str(wheel))
    return made


def test_wheel_is_for_every_python_and_an_old_glibc(wheel: Path) -> None:
    assert wheel.name.endswith(f"-py3-none-manylinux_2_17_{os.uname().machine}.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert [Path(name).name for name in names if name.endswith(".so")] == ["libkernels.so"]
    files = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/hyperspan/pretrained").rglob("*.*")}
    assert files < set(names)
    auditwheel = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
    shown = subprocess.run(auditwheel, capture_output=True, text=True, check=True).stdout
    assert f'platform tag: "manylinux_2_17_{os.uname().machine}"' in " ".join(shown.split())


@pytest.mark.slow
def test_wheel_built_without_a_compiler_is_for_any_platform(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, CC="none")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")]


def test_plain_environment_is_small_and_has_no_torch(environment: Environment) -> None:
    assert environment.megabytes() < MEGABYTES, f"{environment.megabytes():.0f} MB"
    found = json.loads(environment.hyperspan("info", "--json"))
    assert found["torch"] is None
    assert found["kernels"]["devices"]["cpu"]["encoder"]["runs"] == "c"
    assert [model["name"] for model in found["models"]] == ["craft", "english", "genia", "litbank"]
    assert all(model["figures"]["test"] for model in json.loads(environment.hyperspan("models", "--json")))


def test_annotate_prints_mentions(environment: Environment) -> None:
    found = [json.loads(line) for line in environment.hyperspan("annotate", STORY, "--format", "jsonl").splitlines()]
    assert "Oslo" in {mention["text"] for mention in found[0]["mentions"]}


LOAD = """
import sys, hyperspan
document = hyperspan.load("genia")(sys.argv[1])
print(*(f"{mention.text}:{mention.label}" for mention in document.mentions), sep="\\n")
print("torch" in sys.modules)
"""


def test_load_and_annotate_in_python(environment: Environment) -> None:
    *mentions, torch = environment.run("python", "-W", "error", "-c", LOAD, TEXT).stdout.splitlines()
    assert "IL-2 promoter:DNA" in mentions and torch == "False"


def test_evaluate_scores_a_model(environment: Environment, tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text(environment.hyperspan("annotate", TEXT, "--model", "genia", "--format", "jsonl"))
    found = json.loads(environment.hyperspan("evaluate", "genia", str(gold), "--format", "json"))
    assert found["micro"]["f1"] == 1.0


def test_bulk_annotates_files(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"id": str(i), "text": TEXT}) + "\n" for i in range(50)))
    job = [str(tmp_path / "texts.jsonl"), "--model", "genia", "--output", str(tmp_path / "out"), "--workers", "2"]
    environment.hyperspan("bulk", *job)
    lines = [
        line for shard in (tmp_path / "out" / "documents").glob("*.jsonl") for line in shard.read_text().splitlines()
    ]
    assert len(lines) == 50 and all("IL-2 promoter" in line for line in lines)


@pytest.fixture
def server(environment: Environment) -> Iterator[str]:
    environment.install("hyperspan[serve]")
    command = [str(environment.folder / "bin" / "hyperspan"), "serve", "--model", "genia", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment.variables) as process:
        assert process.stdout is not None
        yield process.stdout.readline().partition(" at ")[2].partition(" ")[0]
        process.terminate()
        assert process.wait(timeout=20) == 0


def test_serve_answers_a_request(server: str) -> None:
    with httpx2.Client(base_url=server, timeout=30) as client:
        until(lambda: client.get("/readyz").status_code == 200)
        answer = client.post("/v1/annotate", json={"text": TEXT}).json()
    assert "IL-2 promoter" in json.dumps(answer)


def test_without_kernels_and_torch_both_remedies_are_named(environment: Environment) -> None:
    library = next(environment.folder.rglob("libkernels.so"))
    aside = library.rename(environment.folder / "aside.so")
    try:
        said = environment.run("hyperspan", "annotate", TEXT, expected=2).stderr
    finally:
        aside.rename(library)
    assert "Traceback" not in said
    assert "wheel" in said and "C compiler" in said and 'pip install "hyperspan[train]"' in said
