"""What `npm pack` makes of web/: a package of the same version as hyperspan, small, that works where it is unpacked."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

import hyperspan
from hyperspan.runtime.folders import PRETRAINED
from hyperspan.serve.app import STATIC
from tests.web.node import NEEDS, WEB, node

LINES = 1_230
"""The most lines of JavaScript: what needs more belongs into C."""


def test_package_has_the_version_of_hyperspan_and_no_dependencies() -> None:
    about = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
    assert about["version"] == hyperspan.__version__
    assert not {"dependencies", "peerDependencies", "scripts"} & about.keys()


def test_modules_are_few_lines() -> None:
    modules = [*(WEB / "src").glob("*.js"), *(WEB / "pages").glob("*.js")]
    assert sum(len(module.read_text(encoding="utf-8").splitlines()) for module in modules) <= LINES


def test_what_is_shared_with_the_served_page_is_there_and_imports_nothing_else() -> None:
    shared = set(re.findall(r'"([a-z/]+\.js)"', (WEB / "build.py").read_text(encoding="utf-8")))
    assert shared >= {path.relative_to(STATIC).as_posix() for path in (STATIC / "picture").iterdir()}
    for name in shared:
        imported = re.findall(r'^import .* from "\./([\w.-]+)";$', (STATIC / name).read_text("utf-8"), re.MULTILINE)
        assert {(Path(name).parent / one).as_posix() for one in imported} <= shared, name
    pages = "".join(page.read_text(encoding="utf-8") for page in (WEB / "pages").glob("*.js"))
    assert set(re.findall(r'"\.\./dist/shared/([\w./]+)"', pages)) <= shared


@pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm")
@NEEDS[0]
@NEEDS[1]
def test_packed_package_annotates(tmp_path: Path) -> None:
    subprocess.run(["npm", "pack", str(WEB), "--silent"], cwd=tmp_path, check=True, capture_output=True)
    [packed] = tmp_path.glob("*.tgz")
    assert packed.stat().st_size < 200_000
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path / "node_modules", filter="data")
    (tmp_path / "node_modules/package").rename(tmp_path / "node_modules/hyperspan")
    script = tmp_path / "try.mjs"
    script.write_text(
        """
        import { readFileSync } from "node:fs";
        import { load } from "hyperspan";
        const names = ["config.toml", "vocabulary.json", "words.txt", "model.safetensors"];
        const annotate = await load(Object.fromEntries(names.map((name) => [name, readFileSync(`${process.argv[2]}/${name}`)])));
        const { mentions } = await annotate("IL-2 binds.");
        console.log(mentions.map(({ text, label }) => `${text} ${label}`).join());
        """
    )
    command = [str(node()), str(script), str(PRETRAINED / "genia")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    expected = ",".join(f"{one.text} {one.label}" for one in sorted(hyperspan.load("genia")("IL-2 binds.").mentions))
    assert (done.stdout.strip(), done.stderr) == (expected, "")
