"""What others learnt from large text: word vectors and Brown clusters, read from the files they are published in.

The content shows the format, never the name, and a file may be gzipped. Text and binary vectors are streamed.
"""

from __future__ import annotations

import gzip
import io
import math
import re
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np

from hyperspan.archives import unpacking
from hyperspan.encoders.bundled import BUNDLED, bundled_vectors
from hyperspan.errors import CorpusError, InputError

_HEAD = 65_536
"""How many bytes of a file are looked at to recognise its format."""
_LONGEST_WORD = 10_000
"""No word has more bytes; a binary file that says otherwise is damaged."""
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""Bytes that no text has."""
_LARGEST = 100_000
"""No vector has more numbers; a header that says otherwise is damaged."""
_LONGEST_LINE = 16 * 2**20
"""Bytes of a line."""
_DEEPEST = 1_000
"""Steps to a cluster; real trees have a few dozen."""
_KNOWN = "GloVe text (word v1 … vd), word2vec text or binary (a first line `n d`), or npz with `words` and `vectors`"


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words, each once, and their vectors."""

    words: list[str]
    vectors: np.ndarray
    """float32, a row for every word."""


def read_vectors(path: str | Path) -> WordVectors:
    """The vectors of a file in GloVe text, word2vec text, word2vec binary or npz; the first of each word counts.

    The name "bundled" stands for the English vectors that come with hyperspan; a file of that name is `./bundled`.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "vectors.txt"
    >>> _ = file.write_text("the 0.5 1\\nIL-2 0.25 -2\\n", encoding="utf-8")
    >>> read_vectors(file).words
    ['the', 'IL-2']
    >>> read_vectors(file).vectors
    array([[ 0.5 ,  1.  ],
           [ 0.25, -2.  ]], dtype=float32)
    """
    if path == BUNDLED:
        return WordVectors(*bundled_vectors())
    path = Path(path)
    head = _head(path)
    if head.startswith(b"PK\x03\x04"):
        return _npz(path)
    with _opened(path) as stream:
        header = re.match(rb"(?:\xef\xbb\xbf)?([0-9]{1,18}) ([0-9]{1,18})[ \r]*\n", head)
        if header is None:
            size = _glove_size(path, head)
            return _collected(_read_text(path, stream, size), size)
        stream.readline()
        count, size = int(header[1]), int(header[2])
        if not 0 < size <= _LARGEST:
            raise CorpusError(
                f"{path}:1: the header says vectors of {size} numbers; expected `n d` with d from 1 to {_LARGEST:,}"
            )
        read = _read_text if _is_text(head[header.end() :], size) else _read_binary
        return _collected(read(path, stream, size, count), size)


def _collected(rows: Iterable[tuple[str, array[float]]], size: int) -> WordVectors:
    """The first vector of each word; all numbers are in one array, so that none is in memory twice."""
    words: dict[str, None] = {}
    numbers = array("f")
    for word, vector in rows:
        if word not in words:
            words[word] = None
            numbers.extend(vector)
    return WordVectors(list(words), np.asarray(numbers, dtype=np.float32).reshape(-1, size))


def read_clusters(path: str | Path) -> dict[str, str]:
    """Brown clusters: every word with the path of its cluster from the root of the tree, a string of 0 and 1.

    Lines are `bits<TAB>word<TAB>count`, as the clustering program writes them (a count may be missing), or `word<TAB>id`, as
    spaCy publishes them: the id is the path read as a number *from its end*, so that `id & 15` are the first four steps. Such
    an id has lost the zeros at the path's end; they come back as far as the other paths demand, since no path begins
    another. Words with the id 0 have no cluster and are left out.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "clusters.tsv"
    >>> _ = file.write_text("0010\\tLondon\\t52\\n0011\\tMonday\\t17\\n", encoding="utf-8")
    >>> read_clusters(file)
    {'London': '0010', 'Monday': '0011'}
    >>> _ = file.write_text("London\\t4\\nMonday\\t12\\nxyzzy\\t0\\n", encoding="utf-8")
    >>> read_clusters(file)
    {'London': '0010', 'Monday': '0011'}
    """
    path = Path(path)
    _head(path)
    rows: list[tuple[int, list[str]]] = []
    with _opened(path) as stream:
        for number, raw in _numbered(path, stream):
            line = raw.rstrip(b"\r\n")
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if line:
                rows.append((number, _decoded(line, f"{path}:{number}").split("\t")))
    for number, row in rows:
        if len(row) not in (2, 3):
            raise CorpusError(
                f"{path}:{number}: {len(row)} columns between tabs; expected bits, word, count or word, id of a Brown cluster"
            )
    if all(_is_bits(row[0]) for _, row in rows):
        clusters = ((row[1], row[0]) for _, row in rows)
    elif all(_is_bits(row[1]) for _, row in rows):  # the columns exchanged: real ids have other digits too
        clusters = ((row[0], row[1]) for _, row in rows)
    else:
        clusters = _paths_of_ids(path, rows)
    first: dict[str, str] = {}
    for word, bits in clusters:
        first.setdefault(word, bits)
    return first


def _head(path: Path) -> bytes:
    """The first bytes of a file, decompressed; an error if there is no file or nothing in it."""
    if not path.exists():
        raise InputError(f"{path} does not exist; name a file of word vectors or clusters")
    if not path.is_file():
        raise InputError(f"{path} is not a file; name a file of word vectors or clusters")
    with _opened(path) as stream:
        head = stream.read(_HEAD)
    if not head.strip():
        raise CorpusError(f"{path}: the file is empty; check that it was downloaded completely")
    return head


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed if they are gzipped; damage met while reading is a CorpusError."""
    with unpacking(str(path)), path.open("rb") as raw:
        if raw.peek(2)[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield io.BufferedReader(unpacked)  # type: ignore[arg-type]
        else:
            yield raw


def _numbered(path: Path, stream: IO[bytes], start: int = 1) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers; a small archive can unpack to a line of any size."""
    number = start
    while line := stream.readline(_LONGEST_LINE + 1):
        if len(line) > _LONGEST_LINE:
            raise CorpusError(f"{path}:{number}: a line of more than {_LONGEST_LINE // 2**20} MiB; expected {_KNOWN}")
        yield number, line
        number += 1


def _decoded(text: bytes, where: str, advice: str = "convert the file to UTF-8") -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{where}: {text[:40]!r} is not UTF-8 text ({error.reason}); {advice}") from None


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _glove_size(path: Path, head: bytes) -> int:
    """How many numbers the first line has after its word."""
    fields = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].rstrip(b" \r").split(b" ")
    if len(fields) < 2 or not all(map(_is_number, fields[1:])):
        raise CorpusError(f"{path}:1: no known format of word vectors; expected {_KNOWN}")
    return len(fields) - 1


def _is_text(body: bytes, size: int) -> bool:
    """Whether what follows a word2vec header is text: a line of a word and numbers, or what was meant to be one.

    Text that is wrong in its first line still has a number there and no byte that text lacks; were it taken for binary, the
    message about it would mislead.
    """
    fields = body.partition(b"\n")[0].rstrip(b" \r").split(b" ")
    numbers = sum(map(_is_number, fields[1:]))
    return numbers == len(fields) - 1 == size or (numbers > 0 and _CONTROL.search(body) is None) or not body.strip()


def _read_text(
    path: Path, stream: IO[bytes], size: int, count: int | None = None
) -> Iterator[tuple[str, array[float]]]:
    """Lines of a word and its numbers; `count` is what a header, which was the first line, promises."""
    found = 0
    for number, raw in _numbered(path, stream, start=1 if count is None else 2):
        line = raw.rstrip(b" \r\n")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            continue
        found += 1
        fields = line.rsplit(b" ", size)
        # GloVe 840B has words such as ". . ." with spaces; a word that ends in a number is a line with too many numbers.
        if len(fields) != size + 1 or (b" " in fields[0] and _is_number(fields[0].rsplit(b" ", 1)[1])):
            given = len(line.split(b" ")) - 1
            message = f"{given} numbers after the word; expected {size}, as in the first line; mend or remove the line"
            raise CorpusError(f"{path}:{number}: {message}")
        yield _decoded(fields[0], f"{path}:{number}"), _numbers(path, number, fields[1:])
    if count is not None and found != count:
        raise CorpusError(
            f"{path}: {found} vectors, but the header promises {count}; the file is incomplete or its header wrong"
        )


def _numbers(path: Path, number: int, fields: list[bytes]) -> array[float]:
    try:
        numbers = array("f", map(float, fields))
    except ValueError:
        wrong = next(field for field in fields if not _is_number(field)).decode("utf-8", errors="replace")
        raise CorpusError(f"{path}:{number}: {wrong!r} is not a number; mend or remove the line") from None
    if not math.isfinite(sum(numbers)):  # sums of finite float32 do not overflow in Python's float64
        raise CorpusError(f"{path}:{number}: the vector has a number that is not finite; mend or remove the line")
    return numbers


def _read_binary(path: Path, stream: IO[bytes], size: int, count: int) -> Iterator[tuple[str, array[float]]]:
    """`count` times a word, a space and `size` little-endian float32; a newline may be between."""
    for number in range(1, count + 1):
        word = bytearray()
        while (byte := stream.read(1)) not in (b" ", b""):
            if word or byte != b"\n":
                word += byte
            if len(word) > _LONGEST_WORD:
                break
        raw = stream.read(4 * size)
        if byte != b" " or len(raw) != 4 * size:
            message = f"word {number} of {count} is cut off or is not a word and {size} float32; fetch the file again"
            raise CorpusError(f"{path}: {message}")
        text = _decoded(bytes(word), f"{path}: word {number}", "the file is damaged or no word2vec file")
        numbers = np.frombuffer(raw, dtype="<f4")
        if not np.isfinite(numbers).all():
            raise CorpusError(f"{path}: the vector of word {number}, {text!r}, is not finite; the file is damaged")
        yield text, array("f", numbers.tolist())
    if stream.read(2).strip():
        raise CorpusError(
            f"{path}: more follows the {count} vectors that the header promises; the file is damaged or its header wrong"
        )


def _npz(path: Path) -> WordVectors:
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as arrays:
            words, vectors = arrays["words"], arrays["vectors"]
    except KeyError:
        raise CorpusError(f"{path}: no arrays `words` and `vectors`; save them under these names") from None
    except Exception as error:  # numpy raises whatever it meets in damaged headers
        reason = " ".join(str(error).split())[:200]
        raise CorpusError(f"{path}: cannot be read as npz ({reason}); expected arrays `words` and `vectors`") from None
    for name, values in (("words", words), ("vectors", vectors)):
        if not isinstance(values, np.ndarray):
            raise CorpusError(f"{path}: `{name}` is no numpy array; save it with numpy.savez")
    if vectors.ndim != 2 or vectors.dtype.kind != "f":
        given = f"{vectors.dtype} of shape {vectors.shape}"
        raise CorpusError(f"{path}: `vectors` are {given}; expected float16 or float32 of shape (words, size)")
    texts = _npz_words(path, words)
    if len(texts) == len(vectors) + 1 and not texts[-1]:
        texts.pop()  # a newline after the last word
    if len(texts) != len(vectors):
        raise CorpusError(f"{path}: {len(texts)} words but {len(vectors)} vectors; expected one for each")
    first: dict[str, int] = {}
    for row, word in enumerate(texts):
        first.setdefault(word, row)
    kept, known = vectors[list(first.values())].astype(np.float32), list(first)
    if not (finite := np.isfinite(kept).all(axis=1)).all():
        word = known[int(np.argmin(finite))]
        raise CorpusError(f"{path}: the vector of {word!r} is not finite; remove the word or mend its vector")
    return WordVectors(known, kept)


def _npz_words(path: Path, words: np.ndarray) -> list[str]:
    """The words of an array: newline-joined in one element or in bytes, or an element for every word."""
    try:
        if words.dtype == np.uint8:
            return words.tobytes().decode("utf-8").split("\n")
        if words.dtype.kind in "SU":
            elements = cast(Iterable[bytes | str], words.reshape(-1).tolist())
            texts = [element if isinstance(element, str) else element.decode("utf-8") for element in elements]
            return texts[0].split("\n") if len(texts) == 1 else texts
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: `words` are not UTF-8 text ({error.reason}); encode them as UTF-8") from None
    raise CorpusError(f"{path}: `words` are {words.dtype}; expected text, or UTF-8 bytes with a newline between words")


def _is_bits(text: str) -> bool:
    return 0 < len(text) <= _DEEPEST and not text.strip("01")


def _paths_of_ids(path: Path, rows: list[tuple[int, list[str]]]) -> Iterator[tuple[str, str]]:
    """Words and paths from words and ids."""
    for number, row in rows:
        fits = _is_bits(row[0]) if len(row) == 3 else row[1].isascii() and row[1].isdecimal() and len(row[1]) < 300
        if not fits or len(row) != len(rows[0][1]):
            message = (
                f"{str(row)[:200]} is neither bits, word, count nor word, id; expected Brown clusters, all lines alike"
            )
            raise CorpusError(f"{path}:{number}: {message}")
    stripped = [(row[0], format(int(row[1]), "b")[::-1]) for _, row in rows if int(row[1])]
    inner = {bits[:end] for bits in {bits for _, bits in stripped} for end in range(len(bits))}
    for word, bits in stripped:
        leaf = bits
        while leaf in inner:
            leaf += "0"
        yield word, leaf
