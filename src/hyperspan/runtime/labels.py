"""Which labels of a model are found, and under which labels their mentions are reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hyperspan.errors import InputError

NO_NAMES = (
    "this model does not mark names, so that it cannot find names alone; leave the option names out, or use a model whose "
    "configuration has model.names"
)


def shown_labels(labels: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """The labels that are found by default: all but those that mark names.

    >>> shown_labels(["person", "person-name", "place"], {"person-name": "person"})
    ('person', 'place')
    """
    return tuple(label for label in labels if label not in names)


def name_labels(labels: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """The labels under which names are reported.

    >>> name_labels(["person", "person-name", "place"], {"person-name": "person"})
    ('person',)
    """
    return tuple(names[label] for label in labels if label in names)


def check_marks_names(names: Mapping[str, str]) -> None:
    """Raise an InputError if a model marks no names."""
    if not names:
        raise InputError(NO_NAMES)
