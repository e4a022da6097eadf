"""Pretrained word vectors, read from the files in which they are published.

The format is detected from the content, never the name, and a file may be compressed with gzip or zip. Text and binary
vectors are streamed.
"""

from __future__ import annotations

import math
import re
import zipfile
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np

from hyperspan.errors import CorpusError
from hyperspan.nn.bundled import BUNDLED, DIMENSION, bundled_vectors
from hyperspan.nn.resources import ZIP, decoded, head_of, numbered_lines, opened

_LONGEST_WORD = 10_000
"""The maximum number of bytes of a word; a binary file with a longer one is damaged."""
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""Control bytes that do not occur in text."""
_LARGEST = 100_000
"""The maximum dimension; a header with a larger one is damaged."""
_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?([0-9]{1,18}) ([0-9]{1,18})[ \r]*\n")
_FASTTEXT_MODEL = b"\xba\x16\x4f\x2f"
_KNOWN = "GloVe text (word v1 … vd), word2vec or fastText text or binary (a first line `n d`), or npz with `words` and `vectors`"


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words, each once, and their vectors."""

    words: list[str]
    vectors: np.ndarray
    """float32, a row for every word."""


def read_vectors(
    path: str | Path, *, limit: int = 0, needed: Collection[str] = (), lowercase: bool = False
) -> WordVectors:
    """Read vectors from a file in GloVe text, word2vec or fastText text (.vec), word2vec binary or npz; the first
    vector of each word counts.

    The name "bundled" means the English vectors that come with hyperspan; write `./bundled` for a file of that name.
    Beyond the first `limit` words (0: all), only words in `needed` are read. With `lowercase`, all words are
    lower-cased.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "vectors.vec"
    >>> _ = file.write_text("3 2\\nthe 0.5 1\\nof 1 2\\nIL-2 0.25 -2\\n", encoding="utf-8")
    >>> read_vectors(file).words
    ['the', 'of', 'IL-2']
    >>> read_vectors(file, limit=1, needed={"il-2"}, lowercase=True)
    WordVectors(words=['the', 'il-2'], vectors=array([[ 0.5 ,  1.  ],
           [ 0.25, -2.  ]], dtype=float32))
    """
    chosen = _WordChoice(limit, frozenset(needed), lowercase)
    if path == BUNDLED:
        return _chosen_rows(path, chosen, *bundled_vectors())
    path = Path(path)
    layout = _layout(path)
    if layout is None:
        return _chosen_rows(path, chosen, *_read_npz(path))
    numbers = array("f")  # one array, so that no vector is in memory twice
    with opened(path) as stream:
        if layout.count is not None:
            stream.readline()
        read = _read_text if layout.text else _read_binary
        for vector in read(path, stream, layout, chosen):
            numbers.extend(vector)
    chosen.check(path)
    return WordVectors(list(chosen.words), np.asarray(numbers, dtype=np.float32).reshape(-1, layout.dimension))


def vectors_dimension(path: str | Path) -> int:
    """The dimension of the vectors of a file; only the beginning of the file is read.

    >>> vectors_dimension("bundled")
    100
    """
    if path == BUNDLED:
        return DIMENSION
    layout = _layout(Path(path))
    return _npz_dimension(Path(path)) if layout is None else layout.dimension


class _VectorLayout(NamedTuple):
    """How the vectors of a file are laid out."""

    dimension: int
    count: int | None
    """The number of vectors according to the header, if there is one."""
    text: bool


class _WordChoice:
    """Selects the words to read from a file, one after the other."""

    def __init__(self, limit: int, needed: frozenset[str], lowercase: bool):
        self.words: dict[str, None] = {}
        self.limit, self.needed, self.lowercase = limit, needed, lowercase
        self._unreadable: list[CorpusError] = []
        self._seen = 0

    @property
    def is_full(self) -> bool:
        return 0 < self.limit <= len(self.words)

    def might_take(self, word: bytes) -> bool:
        return not self.is_full or self._key(word.decode("utf-8", errors="replace")) in self.needed

    def _key(self, word: str) -> str:
        return word.lower() if self.lowercase else word

    def take(self, word: str) -> bool:
        key = self._key(word)
        self._seen += 1
        if key in self.words or (self.is_full and key not in self.needed):
            return False
        self.words[key] = None
        return True

    def take_bytes(self, word: bytes, where: str, advice: str = "convert the file to UTF-8") -> bool:
        """Take a word unless it is not valid UTF-8: programs truncate long words at a byte, so a few words are not."""
        try:
            return self.take(decoded(word, where, advice))
        except CorpusError as error:
            self._unreadable.append(error)
            return False

    def check(self, path: Path) -> None:
        """Raise an error if more than one word in a hundred is not valid UTF-8."""
        if len(self._unreadable) * 100 > self._seen:
            raise self._unreadable[0]


def _chosen_rows(path: str | Path, chosen: _WordChoice, words: Sequence[str], vectors: np.ndarray) -> WordVectors:
    """Select rows of vectors that are already in memory."""
    rows = [row for row, word in enumerate(words) if chosen.take(word)]
    with np.errstate(over="ignore"):
        kept = (vectors if len(rows) == len(vectors) else vectors[rows]).astype(np.float32, copy=False)
    if not (finite := np.isfinite(kept).all(axis=1)).all():
        word = words[rows[int(np.argmin(finite))]]
        raise CorpusError(f"{path}: the vector of {word!r} is not finite; remove the word or mend its vector")
    return WordVectors(list(chosen.words), kept)


def _layout(path: Path) -> _VectorLayout | None:
    """Detect the layout of text or binary vectors from the beginning of the file; None for npz."""
    head = head_of(path)
    if head.startswith(ZIP):
        return None
    if head.startswith(_FASTTEXT_MODEL):
        raise CorpusError(f"{path}: is a fastText model; name the file of its vectors, which ends in .vec or .vec.gz")
    if (header := _HEADER.match(head)) is None:
        return _VectorLayout(_glove_dimension(path, head), None, True)
    count, dimension = int(header[1]), int(header[2])
    if not 0 < dimension <= _LARGEST:
        raise CorpusError(
            f"{path}:1: the header says vectors of {dimension} numbers; expected `n d` with d from 1 to {_LARGEST:,}"
        )
    return _VectorLayout(dimension, count, _is_text(head[header.end() :], dimension))


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _glove_dimension(path: Path, head: bytes) -> int:
    """The count of numbers in the first line after its word."""
    fields = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].rstrip(b" \r").split(b" ")
    if len(fields) < 2 or not all(map(_is_number, fields[1:])):
        raise CorpusError(f"{path}:1: no known format of word vectors; expected {_KNOWN}")
    return len(fields) - 1


def _is_text(body: bytes, dimension: int) -> bool:
    """Whether the data after a word2vec header is text: a line of a word and numbers, or an attempt at one.

    Malformed text still has a number in its first line and no control bytes; treating it as binary would give a
    misleading message.
    """
    fields = body.partition(b"\n")[0].rstrip(b" \r").split(b" ")
    numbers = sum(map(_is_number, fields[1:]))
    return numbers == len(fields) - 1 == dimension or (numbers > 0 and not _CONTROL.search(body)) or not body.strip()


def _read_text(path: Path, stream: IO[bytes], layout: _VectorLayout, chosen: _WordChoice) -> Iterator[array[float]]:
    """Read the chosen vectors from lines of a word and its numbers; a header, if any, was the first line."""
    found = 0
    for number, raw in numbered_lines(path, stream, start=1 if layout.count is None else 2):
        line = raw.rstrip(b" \r\n")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            continue
        found += 1
        if not chosen.might_take(line.partition(b" ")[0]):
            continue
        fields = line.rsplit(b" ", layout.dimension)
        # GloVe 840B has words such as ". . ." with spaces; a word that ends in a number is a line with too many
        # numbers.
        if len(fields) != layout.dimension + 1 or (b" " in fields[0] and _is_number(fields[0].rsplit(b" ", 1)[1])):
            given = len(line.split(b" ")) - 1
            message = f"{given} numbers after the word; expected {layout.dimension}, as in the first line"
            raise CorpusError(f"{path}:{number}: {message}; mend or remove the line")
        if chosen.take_bytes(fields[0], f"{path}:{number}"):
            yield _numbers(path, number, fields[1:])
    if layout.count is not None and found != layout.count:
        raise CorpusError(
            f"{path}: {found} vectors, but the header promises {layout.count}; fetch the file again, or if it was cut on purpose, "
            f"write `{found} {layout.dimension}` into its first line"
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


def _read_binary(path: Path, stream: IO[bytes], layout: _VectorLayout, chosen: _WordChoice) -> Iterator[array[float]]:
    """Read the chosen vectors from `count` records of a word, a space and little-endian float32, optionally separated
    by newlines."""
    count = layout.count or 0
    for number in range(1, count + 1):
        word = bytearray()
        while (byte := stream.read(1)) not in (b" ", b""):
            if word or byte != b"\n":
                word += byte
            if len(word) > _LONGEST_WORD:
                break
        raw = stream.read(4 * layout.dimension)
        if byte != b" " or len(raw) != 4 * layout.dimension:
            message = f"word {number} of {count} is cut off or is not a word and {layout.dimension} float32"
            raise CorpusError(f"{path}: {message}; fetch the file again")
        if chosen.take_bytes(bytes(word), f"{path}: word {number}", "the file is damaged or no word2vec file"):
            numbers = np.frombuffer(raw, dtype="<f4")
            if not np.isfinite(numbers).all():
                text = word.decode("utf-8")
                raise CorpusError(f"{path}: the vector of word {number}, {text!r}, is not finite; the file is damaged")
            yield array("f", numbers.tolist())
    if stream.read(2).strip():
        raise CorpusError(
            f"{path}: more follows the {count} vectors that the header promises; the file is damaged or its header wrong"
        )


@contextmanager
def _reading_npz(path: Path) -> Iterator[None]:
    try:
        yield
    except KeyError:
        raise CorpusError(f"{path}: no arrays `words` and `vectors`; save them under these names") from None
    except Exception as error:  # numpy raises arbitrary exceptions for damaged headers
        reason = " ".join(str(error).split())[:200]
        raise CorpusError(f"{path}: cannot be read as npz ({reason}); expected arrays `words` and `vectors`") from None


def _npz_dimension(path: Path) -> int:
    """The dimension, from the header of the array `vectors` alone."""
    with _reading_npz(path), zipfile.ZipFile(path) as archive, archive.open("vectors.npy") as file:
        versions = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = versions[np.lib.format.read_magic(file)](file)
    _check_shape(path, dtype, shape)
    return shape[1]


def _check_shape(path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or dtype.kind != "f":
        raise CorpusError(
            f"{path}: `vectors` are {dtype} of shape {shape}; expected float16 or float32 of shape (words, size)"
        )


def _read_npz(path: Path) -> tuple[list[str], np.ndarray]:
    with _reading_npz(path), path.open("rb") as raw, np.load(raw, allow_pickle=False) as arrays:
        words, vectors = arrays["words"], arrays["vectors"]
    for name, values in (("words", words), ("vectors", vectors)):
        if not isinstance(values, np.ndarray):
            raise CorpusError(f"{path}: `{name}` is no numpy array; save it with numpy.savez")
    _check_shape(path, vectors.dtype, vectors.shape)
    texts = _npz_words(path, words)
    if len(texts) == len(vectors) + 1 and not texts[-1]:
        texts.pop()  # a newline after the last word
    if len(texts) != len(vectors):
        raise CorpusError(f"{path}: {len(texts)} words but {len(vectors)} vectors; expected one for each")
    return texts, vectors


def _npz_words(path: Path, words: np.ndarray) -> list[str]:
    """The words of an array: newline-joined in one element or in bytes, or one element per word."""
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
