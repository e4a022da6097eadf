"""Brown clusters, read from the files in which they are published."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hyperspan.errors import CorpusError
from hyperspan.nn.resources import decoded, head_of, numbered_lines, opened

_DEEPEST = 1_000
"""The longest path to a cluster; real trees have a few dozen steps."""


def read_clusters(path: str | Path) -> dict[str, str]:
    """Read Brown clusters: map each word to the path of its cluster from the root of the tree, a string of 0 and 1.

    Lines are `bits<TAB>word<TAB>count`, as the clustering program writes them (a count may be missing), or
    `word<TAB>id`, as spaCy publishes them: the id is the path read as a number *from its end*, so that `id & 15` are
    the first four steps. Such an id has lost the trailing zeros of the path; they are restored as far as the other
    paths require, since no path is a prefix of another. Words with the id 0 have no cluster and are left out.

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
    head_of(path)
    rows: list[tuple[int, list[str]]] = []
    with opened(path) as stream:
        for number, raw in numbered_lines(path, stream):
            line = raw.rstrip(b"\r\n")
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if line:
                rows.append((number, decoded(line, f"{path}:{number}").split("\t")))
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
