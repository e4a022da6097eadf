"""web/native/sentences.c cuts texts where hyperspan.text does. It is compiled here as it is for browsers, but for this
machine."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.text.sentences import MOST_TOKENS, cut_long, sentence_spans
from hyperspan.text.tokens import tokenize
from tests.web.texts import generated

WEB = Path(__file__).parents[2] / "web"
Cut = Callable[[str], list[tuple[int, int]]]

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(scope="module")
def kinds() -> bytes:
    spec = importlib.util.spec_from_file_location("web_build", WEB / "build.py")
    assert spec is not None and spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    return build.sentence_kinds().tobytes()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    made = tmp_path_factory.mktemp("sentences") / "sentences.so"
    strict = ["-Wall", "-Wextra", "-Werror", "-O1"]
    subprocess.run(["cc", *strict, "-shared", "-fPIC", str(WEB / "native/sentences.c"), "-o", str(made)], check=True)
    found = ctypes.CDLL(str(made))
    address, integer = ctypes.c_void_p, ctypes.c_int64
    found.sentences_of.restype = found.first_part.restype = integer
    found.sentences_of.argtypes = (ctypes.c_char_p, integer, ctypes.c_char_p, integer, address)
    found.first_part.argtypes = (ctypes.c_char_p, ctypes.c_char_p, integer, address, integer)
    return found


@pytest.fixture(scope="module")
def cut(library: ctypes.CDLL, kinds: bytes) -> Cut:
    def of(text: str) -> list[tuple[int, int]]:
        spans = np.empty((len(text) + 1, 2), dtype=np.int64)
        encoded = text.encode("utf-32-le", "surrogatepass")
        count = library.sentences_of(encoded, len(text), kinds, len(kinds), spans.ctypes.data)
        return [(start, end) for start, end in spans[:count].tolist()]

    return of


def test_sentences_are_those_of_python(cut: Cut) -> None:
    for text in generated(seed=1, count=4000):
        assert cut(text) == list(sentence_spans(text)), text


@given(st.text())
def test_sentences_of_any_text_are_those_of_python(cut: Cut, text: str) -> None:
    assert cut(text) == list(sentence_spans(text))


def test_long_sentences_are_cut_as_in_python(library: ctypes.CDLL, kinds: bytes) -> None:
    for number, text in enumerate(generated(seed=2, count=60)):
        long = (text + " ") * (3 * MOST_TOKENS // max(len(tokenize(text)), 1) + 1)
        tokens = tokenize(long)[: MOST_TOKENS + 30 * (number % 20)]
        part = next(cut_long(long, tokens))
        encoded, places = long.encode("utf-32-le", "surrogatepass"), np.array(tokens, dtype=np.int64)
        assert library.first_part(encoded, kinds, len(kinds), places.ctypes.data, len(tokens)) == len(part), text
