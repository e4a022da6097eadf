"""Vectors and clusters come back from every format they are published in, and files that are wrong say where."""

from __future__ import annotations

import gzip
import io
import struct
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.errors import CorpusError, InputError
from hyperspan.nn.resources import read_clusters
from hyperspan.nn.vectors import read_vectors, vectors_dimension
from tests.support.data import data_path

Rows = list[tuple[str, list[float]]]


def glove(rows: Rows, gap: str = " ", end: str = "\n") -> bytes:
    return "".join(word + gap + gap.join(f"{x:.9g}" for x in values) + end for word, values in rows).encode()


def word2vec_text(rows: Rows) -> bytes:
    return f"{len(rows)} {len(rows[0][1])}\n".encode() + glove(rows, end=" \n")  # fastText ends lines so


def word2vec_binary(rows: Rows, end: bytes = b"\n") -> bytes:
    body = b"".join(word.encode() + b" " + np.array(values, dtype="<f4").tobytes() + end for word, values in rows)
    return f"{len(rows)} {len(rows[0][1])}\n".encode() + body


def npz(words: np.ndarray, vectors: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, words=words, vectors=vectors)
    return stream.getvalue()


def npz_joined(rows: Rows) -> bytes:
    joined = "\n".join(word for word, _ in rows).encode()
    return npz(np.frombuffer(joined, dtype=np.uint8), np.array([values for _, values in rows], dtype=np.float32))


def npz_scalar(rows: Rows) -> bytes:
    joined = "\n".join(word for word, _ in rows).encode()
    return npz(np.array(joined), np.array([values for _, values in rows], dtype=np.float32))


def npz_elements(rows: Rows) -> bytes:
    return npz(np.array([word for word, _ in rows]), np.array([values for _, values in rows], dtype=np.float32))


WRITERS: list[Callable[[Rows], bytes]] = [
    glove,
    lambda rows: glove(rows, end="\r\n"),
    lambda rows: b"\xef\xbb\xbf" + glove(rows),
    word2vec_text,
    word2vec_binary,
    lambda rows: word2vec_binary(rows, end=b""),
    npz_joined,
    npz_scalar,
    npz_elements,
]
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters=" \n\r\0\ufeff")  # spaces of other kinds are text
NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    size = draw(st.integers(2, 5))
    row = st.tuples(st.text(LETTERS, min_size=1), st.lists(NUMBERS, min_size=size, max_size=size))
    return draw(st.lists(row, min_size=1, max_size=8))


@pytest.mark.parametrize("writer", WRITERS)
@given(rows=tables(), packed=st.booleans())
def test_read_vectors_reads_what_is_written(writer: Callable[[Rows], bytes], rows: Rows, packed: bool) -> None:
    content = writer(rows)
    expected: dict[str, list[float]] = {}
    for word, values in rows:
        expected.setdefault(word, values)  # the first of a word counts
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vectors"
        file.write_bytes(gzip.compress(content, mtime=0) if packed and not content.startswith(b"PK") else content)
        read = read_vectors(file)
        assert vectors_dimension(file) == len(rows[0][1])
    assert read.words == list(expected)
    assert read.vectors.dtype == np.float32 and read.vectors.shape == (len(expected), len(rows[0][1]))
    np.testing.assert_array_equal(read.vectors, np.array(list(expected.values())))


def test_words_with_spaces_and_blank_lines(tmp_path: Path) -> None:
    file = tmp_path / "840B.txt"
    file.write_bytes(b"a 1 2\n. . . 3 4\n\nat name@domain.com 5 6\n")
    assert read_vectors(str(file)).words == ["a", ". . .", "at name@domain.com"]


def test_binary_vectors_whose_bytes_are_letters(tmp_path: Path) -> None:
    values = np.frombuffer(b"ABCDEFGH", dtype="<f4").tolist()
    (tmp_path / "characters.bin").write_bytes(word2vec_binary([("0", values)]))
    assert read_vectors(tmp_path / "characters.bin").vectors.tolist() == [values]


def test_half_precision_and_a_newline_at_the_end(tmp_path: Path) -> None:
    file = tmp_path / "vectors.npz"
    file.write_bytes(npz(np.array(b"a\nb\n"), np.array([[1, 2], [3, 4]], dtype=np.float16)))
    read = read_vectors(file)
    assert read.words == ["a", "b"] and read.vectors.tolist() == [[1, 2], [3, 4]] and read.vectors.dtype == np.float32


FASTTEXT = (
    "7 3\n</s> 0.1 -0.2 0.3 \n, 1 2 3 \n1\u00a0000 4 5 6 \nHaus 7 8 9 \nhaus 1 1 1 \n\u3000\u2028\x85 2 2 2 \n北京 3 3 3 \n"
).encode()
"""As fastText writes .vec: a header, spaces at the ends of lines, and words with characters that others split at."""


def zipped(**files: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)  # whose date is always the same
    return content.getvalue()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda content: zipped(vec=content)], ids=["", "gzip", "zip"])
def test_read_vectors_reads_what_fasttext_writes(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "cc.de.vec"
    file.write_bytes(pack(FASTTEXT))
    read = read_vectors(file)
    assert vectors_dimension(file) == 3
    assert read.words == ["</s>", ",", "1\u00a0000", "Haus", "haus", "\u3000\u2028\x85", "北京"]
    assert read.vectors[[0, 2, 6]].tolist() == np.array([[0.1, -0.2, 0.3], [4, 5, 6], [3, 3, 3]], np.float32).tolist()


@pytest.mark.parametrize("writer", [glove, word2vec_text, word2vec_binary, npz_joined])
def test_read_vectors_keeps_the_first_words_and_those_needed(tmp_path: Path, writer: Callable[[Rows], bytes]) -> None:
    rows: Rows = [("The", [1, 1]), ("the", [2, 2]), ("zoo", [3, 3]), ("Lindau", [4, 4]), ("lindau", [5, 5])]
    file = tmp_path / "vectors"
    file.write_bytes(writer(rows))

    def read(**options: Any) -> dict[str, float]:
        vectors = read_vectors(file, **options)
        return dict(zip(vectors.words, vectors.vectors[:, 0].tolist(), strict=True))

    assert read(limit=2) == {"The": 1, "the": 2}
    assert read(limit=2, needed={"lindau", "ulm"}) == {"The": 1, "the": 2, "lindau": 5}
    assert read(limit=2, lowercase=True) == {"the": 1, "zoo": 3}
    assert read(limit=1, needed={"lindau"}, lowercase=True) == {"the": 1, "lindau": 4}
    assert read(needed={"ulm"}, lowercase=True) == {"the": 1, "zoo": 3, "lindau": 4}


def test_read_vectors_leaves_out_few_words_that_were_cut(tmp_path: Path) -> None:
    rows = [b"w%d %d 1\n" % (number, number) for number in range(200)]
    rows[50:50] = ["Größe".encode()[:3] + b" 1 2\n"]
    (tmp_path / "vectors").write_bytes(b"201 2\n" + b"".join(rows))
    assert len(read_vectors(tmp_path / "vectors").words) == 200
    (tmp_path / "latin").write_bytes("größe 1 2\nzoo 1 2\n".encode("latin-1"))
    with pytest.raises(CorpusError, match=r"latin:1: b'gr\\xf6\\xdfe' is not UTF-8 text .*; convert the file to UTF-8"):
        read_vectors(tmp_path / "latin")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "vectors: the file is empty; check"),
        (b"\xba\x16\x4f\x2f\x0c\0\0\0", "vectors: is a fastText model; name the file of its vectors"),
        (zipped(a=b"a 1 2\n", b=b"a 1 2\n"), "vectors: holds 2 files (a, b); unpack it and name one of them"),
        (b"3 1\na 1\nb 2\n", "or if it was cut on purpose, write `2 1` into its first line"),
        (b"\n \n", "vectors: the file is empty; check"),
        (b"just some words\nin lines\n", "vectors:1: no known format of word vectors; expected GloVe text"),
        (b"word\n", "vectors:1: no known format"),
        (b"a 1 2\nb 1\n", "vectors:2: 1 numbers after the word; expected 2"),
        (b"a 1 2\nb 1 2 3\n", "vectors:2: 3 numbers after the word; expected 2"),
        (b"a 1 2\nb 1 x\n", "vectors:2: 'x' is not a number"),
        (b"a 1 2\nb 1 nan\n", "vectors:2: the vector has a number that is not finite"),
        (b"a 1 2\nb 1 1e39\n", "vectors:2: the vector has a number that is not finite"),
        (b"a 1 2\n\xe4 1 2\n", r"vectors:2: b'\xe4' is not UTF-8 text"),
        (b"1 0\na\n", "vectors:1: the header says vectors of 0 numbers"),
        (b"2 2\na 1 2\n", "vectors: 1 vectors, but the header promises 2"),
        (b"2 2\n", "vectors: 0 vectors, but the header promises 2"),
        (b"1 2\na 1\n", "vectors:2: 1 numbers after the word; expected 2"),
        (word2vec_binary([("a", [0, 0]), ("b", [0, 0])])[:-5], "vectors: word 2 of 2 is cut off"),
        (word2vec_binary([("a", [0, 0])]) + b"more", "vectors: more follows the 1 vectors"),
        (word2vec_binary([("a", [0, float("inf")])]), "vectors: the vector of word 1, 'a', is not finite"),
        (b"1 1\n\xe4 \0\0\0\0", r"vectors: word 1: b'\xe4' is not UTF-8 text"),
        (b"1 1\n" + b"\1" * 20_000, "vectors: word 1 of 1 is cut off"),
        (gzip.compress(b"a 1 2\n" * 1000, mtime=0)[:-9], "vectors: cannot be read"),
        (npz_scalar([("a", [1, 2])])[:-30], "vectors: cannot be read as npz"),
        (npz(np.array(["a", "b"]), np.zeros((3, 2), dtype=np.float32)), "vectors: 2 words but 3 vectors"),
        (npz(np.array([1, 2]), np.zeros((2, 2), dtype=np.float32)), "vectors: `words` are int64"),
        (npz(np.array(b"\xe4"), np.zeros((1, 2), dtype=np.float32)), "vectors: `words` are not UTF-8"),
        (npz(np.array(["a"]), np.zeros((1, 2), dtype=np.int32)), "vectors: `vectors` are int32 of shape (1, 2)"),
        (npz(np.array(["a", "b"], dtype=object), np.zeros((2, 2))), "vectors: cannot be read as npz"),
        (npz(np.array(["a", "b"]), np.array([[0.0], [np.nan]])), "vectors: the vector of 'b' is not finite"),
        (b"9" * 5_000 + b" 3\nthe 1 2 3\n", "2: 3 numbers after the word; expected 1"),
        (b"1 999999999999999\nthe \x00\x01\x02\x03", "the header says vectors of 999999999999999 numbers"),
        (b"999999999999999999 2\nthe \x00\x01\x02\x03", "word 1 of 999999999999999999 is cut off"),
        (b"the 1 2\n" + b"x" * (17 * 2**20), "2: a line of more than 16 MiB"),
        (gzip.compress(b"the 1 2\n" * 99, mtime=0)[:-9], "cannot be read (Compressed file ended"),
        (gzip.compress(b"the 1 2\n" * 99, mtime=0)[:-6] + bytes(6), "cannot be read (CRC check failed"),
    ],
    ids=lambda given: str(given[:40]),
)
def test_files_that_are_wrong(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "vectors"
    file.write_bytes(content)
    with pytest.raises(CorpusError) as raised:
        read_vectors(file)
    assert message in str(raised.value) and "\n" not in str(raised.value)
    with suppress(CorpusError):
        assert 0 < vectors_dimension(file) < 10


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 1000)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 'x'}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': " + "(" * 3_000,
        "x" * 100,
        "",
    ],
    ids=["size", "negative", "text", "objects", "deep", "words", "empty"],
)
def test_npz_headers_that_lie_are_one_sentence(tmp_path: Path, header: str) -> None:
    text = header.encode() + b"\n"
    with zipfile.ZipFile(tmp_path / "vectors.npz", "w") as archive:
        archive.writestr("words.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(64))
        archive.writestr("vectors.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(64))
    with pytest.raises(CorpusError, match=r"vectors.npz: ") as caught:
        read_vectors(tmp_path / "vectors.npz")
    assert "\n" not in str(caught.value)


def test_an_npz_of_other_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", tokens=np.array(["a"]))
    with pytest.raises(CorpusError, match="no arrays `words` and `vectors`"):
        read_vectors(tmp_path / "other.npz")


@pytest.mark.parametrize("read", [read_vectors, read_clusters])
def test_no_file(tmp_path: Path, read: Callable[[Path], object]) -> None:
    with pytest.raises(InputError, match="does not exist; name a file"):
        read(tmp_path / "missing.txt")
    with pytest.raises(InputError, match="is not a file; name a file"):
        read(tmp_path)


@pytest.mark.parametrize("content", ["010\ta\t7\n011\tb\t3\n010\tb\t1\n", "010\ta\n011\tb\n", "a\t010\nb\t011\n"])
def test_clusters_as_bits(tmp_path: Path, content: str) -> None:
    (tmp_path / "paths").write_bytes(gzip.compress(content.encode(), mtime=0))
    assert read_clusters(tmp_path / "paths") == {"a": "010", "b": "011"}


def test_words_of_zeros_and_ones_are_words(tmp_path: Path) -> None:
    (tmp_path / "paths").write_text("010\t1\t7\n011\t0\t3\n")
    assert read_clusters(tmp_path / "paths") == {"1": "010", "0": "011"}


@st.composite
def trees(draw: st.DrawFn) -> list[str]:
    """The leaves of a full binary tree."""
    leaves = [""]
    for _ in range(draw(st.integers(2, 20))):
        split = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        leaves += [split + "0", split + "1"]
    return leaves


@given(leaves=trees())
def test_paths_come_back_from_ids(leaves: list[str]) -> None:
    """The leaf of zeros alone has the id 0, which means no cluster."""
    words = {f"w{bits}": bits for bits in leaves}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ids.tsv"
        lines = [f"{word}\t{int(bits[::-1], 2)}\n" for word, bits in words.items()]
        file.write_text("x\t0\n" + "".join(lines) + "y\t2\n", encoding="utf-8")
        read = read_clusters(file)
    del read["y"]  # there so that some id has another digit than 0 and 1
    assert read == {word: bits for word, bits in words.items() if "1" in bits}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "clusters: the file is empty"),
        (b"a b\n", "clusters:1: 1 columns between tabs; expected bits, word, count"),
        (b"a\t2\nb\tc\n", "clusters:2: ['b', 'c'] is neither bits, word, count nor word, id"),
        (b"01\ta\t2\n02\tb\t3\n", "clusters:2: ['02', 'b', '3'] is neither"),
        (b"01\ta\t2\nb\t3\n", "clusters:2: ['b', '3'] is neither"),
        (b"\xe4\t2\n", "clusters:1: b'\\xe4\\t2' is not UTF-8"),
        (b"the\t" + b"9" * 5_000, "is neither bits, word, count nor word, id"),
        (b"01" * 5_000 + b"\tthe\t3", "is neither bits, word, count nor word, id"),
        (b"the\t" + b"01" * 2_000, "is neither bits, word, count nor word, id"),
    ],
)
def test_clusters_that_are_wrong(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "clusters"
    file.write_bytes(content)
    with pytest.raises(CorpusError) as raised:
        read_clusters(file)
    assert message in str(raised.value) and len(str(raised.value)) < 500


def test_real_files() -> None:
    vectors = read_vectors(data_path("../vectors/glove6B_100d_subset_f16.npz"))
    assert {"the", "protein"} < set(vectors.words) and "Protein" not in vectors.words
    assert vectors.vectors.shape == (len(vectors.words), 100)
    clusters = read_clusters(data_path("../vectors/brown_clusters_subset.tsv.gz"))
    assert clusters["Monday"] == clusters["Tuesday"] == "010101101100" and '"' not in clusters
    leaves = set(clusters.values())
    assert sum(2.0 ** -len(bits) for bits in leaves | {"0000"}) == 1  # a full tree, but for the leaf that reads as 0
