"""The wheel that users install: what it claims, and what runs with it where there is neither PyTorch nor a compiler."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from scripts.smoke import CHECKS, NEEDS, TEXT
from tests.serve.running import until
from tests.support.process import PATIENCE
from tests.wheel.pages import steps

ROOT = Path(__file__).parents[2]
SMOKE = ROOT / "scripts" / "smoke.py"
MEGABYTES = 160
EPOCHS = ["--set", "training.epochs=2"]
SHORT = {"train": EPOCHS, "curve": [*EPOCHS, "--sizes", "20,40"]}
"""What makes commands of a page end sooner; the last of an option counts."""
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


def uv(*arguments: str) -> bool:
    """Whether uv is there and succeeds. As in the Makefile, since it takes a fifth to a third of pip's time."""
    program = Path(sys.executable).with_name("uv")
    return program.exists() and not subprocess.run([program, *arguments], capture_output=True, check=False).returncode


def build_wheel(folder: Path, **environment: str) -> Path:
    """From a copy of the sources, since other tests use the library that lies among them. It is compiled again only
    where it is not that of the sources."""
    copy = folder / "sources"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "[0-9]*.so"))
    shutil.copytree(ROOT / "experiments" / "golden", copy / "experiments", ignore=shutil.ignore_patterns("*.?z"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    if environment or not uv("build", "--wheel", "--out-dir", str(folder), str(copy)):
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
        options = ["--quiet", "--constraint", str(ROOT / "constraints.txt")]
        if not uv("pip", "install", "--python", python, *options, *requirements):
            pip("--python", python, "install", "--no-compile", *options, *requirements)

    def megabytes(self) -> float:
        return sum(file.lstat().st_size for file in self.folder.rglob("*")) / 1e6

    def run(
        self, *command: str, expected: int = 0, folder: Path | None = None, timeout: float = 120, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """What a program of the environment prints."""
        done = subprocess.run(
            [str(self.folder / "bin" / command[0]), *command[1:]],
            cwd=folder or self.folder,
            env=self.variables | variables,
            capture_output=True,
            text=True,
            timeout=timeout,
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
    assert {Path(name).parts[0].partition("-")[0] for name in names} == {"hyperspan"}, "and not experiments"
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


@pytest.mark.parametrize("check", [check for check in CHECKS if check not in NEEDS])
def test_smoke_check_passes_without_extras(environment: Environment, check: str) -> None:
    environment.run("python", str(SMOKE), check)


def test_smoke_check_of_serve_passes_with_its_extra(environment: Environment) -> None:
    environment.install("hyperspan[serve]")
    environment.run("python", str(SMOKE), "serve")


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_page_runs_in_an_empty_folder(environment: Environment, page: str, tmp_path: Path) -> None:
    """Every command and all Python code, in order, with few epochs. Only hyperspan is the wheel's; extras are those of
    the tests."""
    packages = sysconfig.get_path("purelib")
    code, address = "", ""
    found = environment.run("python", "-c", "import hyperspan; print(hyperspan.__file__)", PYTHONPATH=packages).stdout
    assert str(environment.folder) in found, "not the checkout"
    with ExitStack() as stack:
        for kind, step in steps(ROOT / page):
            program, *arguments = shlex.split(step) if kind == "console" else ("python", "")
            if kind == "python":
                code += step  # the snippets of a page share their names
                environment.run("python", "-c", code, folder=tmp_path, PYTHONPATH=packages)
            elif program == "curl":
                (body,) = re.findall(r"-d '([^']*)'", step)
                (path,) = re.findall(r"http://127.0.0.1:8000(\S*)", step)
                with httpx2.Client(base_url=address, timeout=PATIENCE) as client:
                    until(lambda client=client: client.get("/readyz").status_code == 200)
                    assert client.post(path, content=body, headers={"content-type": "application/json"}).is_success
            elif arguments[0] == "serve":
                address = stack.enter_context(serving(environment, arguments, tmp_path, packages))
            else:
                short = SHORT.get(arguments[0], [])
                environment.run(program, *arguments, *short, folder=tmp_path, timeout=600, PYTHONPATH=packages)


@contextmanager
def serving(environment: Environment, arguments: list[str], folder: Path, packages: str) -> Iterator[str]:
    """The address of a server, at a port that is free."""
    command = [str(environment.folder / "bin" / "hyperspan"), *arguments, "--port", "0"]
    settings: dict[str, Any] = {"cwd": folder, "env": environment.variables | {"PYTHONPATH": packages}}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **settings) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().partition(" at ")[2].partition(" ")[0]
        finally:
            process.terminate()
        assert process.wait(timeout=PATIENCE) == 0


def test_without_kernels_and_torch_both_remedies_are_named(environment: Environment) -> None:
    library = next(environment.folder.rglob("libkernels.so"))
    aside = library.rename(environment.folder / "aside.so")
    try:
        said = environment.run("hyperspan", "annotate", TEXT, expected=2).stderr
    finally:
        aside.rename(library)
    assert "Traceback" not in said
    assert "wheel" in said and "C compiler" in said and 'pip install "hyperspan[train]"' in said
