"""Corpus formats for overlapping mentions: readers, writers, format detection and statistics.

Each format is one file and an entry in FORMATS (:mod:`hyperspan.corpora.formats`). A reader takes a :class:`Source`
and :class:`Problems` and yields documents one by one; a writer takes documents, a :class:`Target`, :class:`Losses` and
:class:`Problems`. Format options are keyword arguments with defaults.
"""

from hyperspan.corpora.documents import document_of, with_sentences
from hyperspan.corpora.formats import FORMATS, READERS, WRITERS, Format, LabelRule, detect, read_corpus, write_corpus
from hyperspan.corpora.source import Losses, Problems, Source, WrongRecordError
from hyperspan.corpora.splits import Split, split_corpus
from hyperspan.corpora.statistics import Statistics, statistics
from hyperspan.files import Target

__all__ = [
    "FORMATS",
    "READERS",
    "WRITERS",
    "Format",
    "LabelRule",
    "Losses",
    "Problems",
    "Source",
    "Split",
    "Statistics",
    "Target",
    "WrongRecordError",
    "detect",
    "document_of",
    "read_corpus",
    "split_corpus",
    "statistics",
    "with_sentences",
    "write_corpus",
]
