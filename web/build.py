"""Build the browser package into ``web/dist``: ``make web``.

The kernels become WebAssembly, twice: with relaxed SIMD, which multiplies and adds at once, and without, for browsers
that lack it. The compiler is that of ziglang, from PyPI. What Python says of characters goes with them as a table, so
that a browser with another version of Unicode cuts text in the same way.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import regex

from hyperspan.kernels.text import KNOWN_CLASS, MARK_CLASS, UNIT_CLASS
from hyperspan.text.tokens import EXTENDING, SPACE, UNSPACED

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "src/hyperspan"
NATIVE = PACKAGE / "kernels/native"
DIST = HERE / "dist"
CODE_POINTS = 0x110000
SOURCES = (*(HERE / "native").glob("*.c"), *(NATIVE / f"{name}.c" for name in ("structures", "tokens", "words")))
FLAGS = ["-target", "wasm32-wasi", "-mexec-model=reactor", "-O3", "-std=gnu11", "-fno-math-errno", "-fno-trapping-math"]
FLAGS += ["-msimd128", "-Wl,--strip-all", f"-I{NATIVE}", f"-I{DIST}"]
VARIANTS = {"hyperspan": [], "hyperspan-relaxed": ["-mrelaxed-simd"]}
SHARED = ("dom.js", "examples.js", "files.js", "picture/layout.js", "picture/mentions.js", "picture/text.js")
TOKEN_CLASSES = (r"\p{L}", r"\p{M}", r"\p{N}", r"\d", r"\w", f"[{SPACE}]", r"\s")
"""The bits of tokens.c, lowest first."""


def token_classes() -> np.ndarray:
    """(code points,): the bits that tokens.c reads, as the regular expressions of text/tokens.py have them."""
    every = "".join(map(chr, range(CODE_POINTS)))
    found = np.full(CODE_POINTS, KNOWN_CLASS, dtype=np.uint8)
    for bit, pattern in enumerate(TOKEN_CLASSES):
        for match in regex.finditer(f"(?:{pattern})+", every):
            found[slice(*match.span())] |= 1 << bit
    for first, end in UNSPACED:
        found[first:end] = UNIT_CLASS
    found[[ord(mark) for mark in EXTENDING]] = MARK_CLASS
    return found


def sentence_kinds() -> np.ndarray:
    """(code points,): the bits that sentences.c reads, as Python has them."""
    kinds = (str.islower, str.isupper, _is_title, str.isdecimal, str.isdigit, str.isalnum)
    found = np.zeros(CODE_POINTS, dtype=np.uint8)
    for bit, kind in enumerate(kinds):
        found |= np.fromiter((kind(chr(code)) << bit for code in range(CODE_POINTS)), np.uint8, CODE_POINTS)
    for first, end in UNSPACED:
        found[first:end] |= 1 << len(kinds)
    return found


def _is_title(character: str) -> bool:
    return unicodedata.category(character) == "Lt"


def unicode_header() -> str:
    """Both tables as runs: where each ends, and which pair of bits it has."""
    pairs = np.stack([token_classes(), sentence_kinds()], axis=1)
    palette, numbers = np.unique(pairs, axis=0, return_inverse=True)
    assert len(palette) < 256
    numbers = numbers.ravel()
    ends = np.append(np.nonzero(np.diff(numbers))[0] + 1, CODE_POINTS)
    runs = ",".join(
        f"{end << 8 | number}" for end, number in zip(ends.tolist(), numbers[ends - 1].tolist(), strict=True)
    )
    bits = ",".join(f"{{{one},{other}}}" for one, other in palette.tolist())
    return (
        f"#define CODE_POINTS {CODE_POINTS}\nstatic const uint8_t unicode_bits[][2] = {{{bits}}};\n"
        f"static const uint32_t unicode_runs[] = {{{runs}}};\n"
    )


def copy_shared() -> None:
    """Copy what the pages share with the one that `hyperspan serve` serves, and the licence."""
    (DIST / "shared/picture").mkdir(parents=True, exist_ok=True)
    for name in SHARED:
        shutil.copy(PACKAGE / "serve/static" / name, DIST / "shared" / name)
    shutil.copy(PACKAGE / "render/styles/text.css", DIST / "shared")
    shutil.copy(HERE.parent / "LICENSE", DIST)


def compile_kernels(name: str) -> None:
    compiler = [sys.executable, "-m", "ziglang", "cc"]
    target = DIST / f"{name}.wasm"
    command = [*compiler, *FLAGS, *VARIANTS[name], *map(str, SOURCES), "-o", str(target)]
    subprocess.run(command, check=True)


def main() -> None:
    DIST.mkdir(exist_ok=True)
    copy_shared()
    (DIST / "unicode.h").write_text(unicode_header())
    with ThreadPoolExecutor() as pool:
        list(pool.map(compile_kernels, VARIANTS))
    (DIST / "unicode.h").unlink()


if __name__ == "__main__":
    main()
