"""Every target by name. To add one, write a class with the methods of :class:`tests.fuzz.target.Target` and add it
here."""

from __future__ import annotations

from hyperspan.corpora.formats import READERS, WRITERS
from hyperspan.text import Tokenizer
from tests.fuzz.target import Target
from tests.fuzz.targets.command_lines import BulkJobs, CommandLines
from tests.fuzz.targets.configurations import Configurations, Overrides
from tests.fuzz.targets.corpora import Archives, Detection, Reader, Writer
from tests.fuzz.targets.models import ModelFolders
from tests.fuzz.targets.requests import Bodies, RawRequests, Streams
from tests.fuzz.targets.texts import Annotation, Splitting

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        *map(Reader, READERS),
        *(Writer(name) for name in WRITERS if name in READERS),
        Detection(),
        Archives(),
        ModelFolders("tiny", 5_000),
        ModelFolders("genia", 150),
        ModelFolders("litbank", 150),
        Configurations(),
        Overrides(),
        Splitting(Tokenizer("words")),
        Splitting(Tokenizer("split")),
        Annotation(),
        CommandLines(),
        BulkJobs(),
        Bodies("annotate", 4_000),
        Bodies("hypergraph", 1_500),
        Streams(),
        RawRequests(),
    )
}
