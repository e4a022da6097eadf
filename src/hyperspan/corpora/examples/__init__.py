"""Small invented corpora, to try hyperspan with: ``hyperspan init --example``. Imports only errors and files."""

from __future__ import annotations

import difflib
import filecmp
import shutil
from pathlib import Path

from hyperspan.errors import InputError
from hyperspan.files import Target

EXAMPLES = {
    "lost-property": "lost-property.jsonl",  # 92 English sentences, with items, people, places and vehicles
    "chinese": "chinese.jsonl",  # 50 Chinese sentences, without spaces between words
    "coordination": "coordination.jsonl",  # discontinuous mentions: "the upper and lower jaw"
    "harbour": "harbour.data",  # 24 tokenized sentences in GENIA's four-line format, with crossing mentions
}
"""Names of the corpora, and of their files. The first is the default."""
DEFAULT = "lost-property"


def example_path(name: str = DEFAULT) -> Path:
    """The file of an example corpus.

    >>> example_path("harbour").name
    'harbour.data'
    >>> example_path("harbor")
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: there is no example harbor; did you mean harbour?
    """
    if name not in EXAMPLES:
        close = difflib.get_close_matches(name[:100], EXAMPLES, 1)
        hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(EXAMPLES)}"
        raise InputError(f"there is no example {name}; {hint}")
    return Path(__file__).parent / EXAMPLES[name]


def copy_example(name: str = DEFAULT, folder: str | Path = ".", *, force: bool = False) -> Path:
    """Copy an example corpus to a folder and return its path.

    `name` is one of lost-property, chinese, coordination and harbour. A different file of the same name is an error
    unless `force` overwrites it.

    >>> import tempfile
    >>> from hyperspan.corpora.examples import copy_example
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     copy_example("chinese", folder).name
    'chinese.jsonl'
    """
    source = example_path(name)
    target = Path(folder) / source.name
    if target.is_file() and filecmp.cmp(source, target, shallow=False):
        return target
    with source.open("rb") as read, Target(str(target), force).open_binary() as written:
        shutil.copyfileobj(read, written)
    return target
