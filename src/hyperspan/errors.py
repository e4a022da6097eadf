"""Everything that hyperspan raises on purpose, each with one sentence: what was given, what was expected, what to do.

::

    HyperspanError
    ├── InputError              a user's mistake; the command line prints it and exits with 2
    │   ├── SpanError           a span that does not fit its text
    │   ├── LabelError          a label that is not among those allowed
    │   ├── OutputExistsError   a file is there already and may not be overwritten
    │   ├── CorpusError         a corpus holds something that its format does not allow
    │   └── LossError           a format cannot hold what is to be written
    ├── TrainingError           training cannot go on
    ├── JobError                a bulk job cannot go on
    └── MissingExtraError       an optional dependency is not installed

Wrong tensors and indices passed to :mod:`hyperspan.structures` raise :class:`ValueError`, as in torch.
"""

import re
from importlib.util import find_spec

STOPS = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""What is to end a program. All else that one text raises, also what native code raises besides `Exception`, is no reason to
lose the others."""


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class HyperspanError(Exception):
    """The root of the tree: catch this to catch all of them.

    A message is one line and safe to print, whatever of a user's input it quotes: control characters are escaped.

    >>> print(HyperspanError("no key 'a\\nb'"))
    no key 'a\\nb'
    """

    def __init__(self, sentence: str = "") -> None:
        super().__init__(_CONTROL.sub(lambda match: ascii(match[0])[1:-1], sentence))


class InputError(HyperspanError):
    """Something that a user gave cannot be used."""


class SpanError(InputError):
    """A span does not fit the text it belongs to."""


class LabelError(InputError):
    """A label is not among those allowed."""


class OutputExistsError(InputError):
    """An output file exists and was not to be overwritten."""


class CorpusError(InputError):
    """A file does not hold what its format says; the message begins with file and line."""


class LossError(InputError):
    """A format cannot hold some of the mentions that are to be written."""


class TrainingError(HyperspanError):
    """Training cannot go on; what was learnt until then is kept."""


class JobError(HyperspanError):
    """A bulk job cannot go on; the shards that it finished are kept, and another run goes on from there."""


class MissingExtraError(HyperspanError):
    """An optional dependency is missing.

    >>> raise MissingExtraError("drawing learning curves", "plots")
    Traceback (most recent call last):
    ...
    hyperspan.errors.MissingExtraError: drawing learning curves needs the extra `plots`: pip install "hyperspan[plots]"
    """

    def __init__(self, purpose: str, extra: str):
        super().__init__(f'{purpose} needs the extra `{extra}`: pip install "hyperspan[{extra}]"')


def require(module: str, purpose: str, extra: str) -> None:
    """Raises :class:`MissingExtraError` unless the module of an extra can be imported: before work that would be lost."""
    if find_spec(module) is None:
        raise MissingExtraError(purpose, extra)
