"""What bundled models can promise: measured on dev, and stored in their cards.

Dev has chosen the temperatures and biases of a model. So each half of the sentences of dev is measured with what the
other half chooses. Dev has chosen the epoch, too: that cannot be undone, and is said in the
README of a model.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.cli import DATA_DIR, DataDir
from experiments.guarantees import CORPORA
from hyperspan.config import CorpusConfig
from hyperspan.corpora import read_corpus
from hyperspan.errors import InputError
from hyperspan.evaluation.guarantees import measure_guarantees, summary
from hyperspan.evaluation.models import gold_asked_for
from hyperspan.files import Target
from hyperspan.nn import load_model
from hyperspan.nn.recognizer import Recognizer
from hyperspan.runtime.cards import README, ModelCard
from hyperspan.runtime.folders import folder_of
from hyperspan.runtime.guarantees import Guarantees
from hyperspan.training.data import read_as_annotated
from hyperspan.training.guarantees import CrossFitted
from hyperspan.training.tuning import tune_calibration

PARAGRAPH = re.compile(r"\n\n\*Guarantees\.\* .*?(?=\n\n|\n*\Z)", re.DOTALL)
"""What the README of a model says of its guarantees, in the section on calibration."""


def run(
    models: Annotated[list[str] | None, typer.Argument(help="Names of bundled models. Default: all.")] = None,
    data_dir: DataDir = DATA_DIR,
) -> dict[str, Any]:
    return {name: [asdict(row) for row in summary(store(name, data_dir))] for name in models or CORPORA}


def store(name: str, data_dir: Path) -> Guarantees:
    """Measure a bundled model and write its card and README."""
    if name not in CORPORA:
        raise InputError(f"there is no bundled model {name!r}; name one of {', '.join(CORPORA)}")
    corpus, pattern = CORPORA[name]
    folder, path = folder_of(name), data_dir / pattern.format("dev")
    model = load_model(folder)
    if not isinstance(model, Recognizer):
        raise InputError(f"{name} is of kind {model.config.model.kind}, which is not calibrated")
    annotated = read_as_annotated(CorpusConfig(str(path)), model.config)
    annotator = CrossFitted(model, annotated, tune_calibration, model.config)
    gold = gold_asked_for(list(read_corpus(path)), annotator.model.names)
    given = measure_guarantees(annotator, gold, f"{corpus} dev", annotator.labels)
    replace(ModelCard.read(folder), guarantees=given.to_table()).write(folder)
    readme = (folder / README).read_text(encoding="utf-8")
    with Target(str(folder / README), force=True).open() as file:
        file.write(with_paragraph(readme, given))
    return given


def with_paragraph(readme: str, given: Guarantees) -> str:
    """A README whose section on calibration says how guarantees were measured.

    >>> from hyperspan.structures.guarantees import RiskCurve
    >>> zoo = Guarantees("sentence", "Zoo dev", {"*": RiskCurve.of([0, 1], [0.5, 0.7], [True, True])})
    >>> once = with_paragraph("# Zoo\\n\\n## Calibration\\n\\nGood.\\n\\n## Citation\\n\\nUs.\\n", zoo)
    >>> once == with_paragraph(once, zoo), once.splitlines()[6][:64]
    (True, '*Guarantees.* What `--recall` and `--precision` promise was meas')
    """
    said = (
        f"*Guarantees.* What `--recall` and `--precision` promise was measured on the {given.curves['*'].units:,} "
        f"{given.unit}s of {given.data} that have mentions, each with the temperatures and biases that the other half of "
        "dev chose. Dev also chose the epoch, so the promises may be a little too good; test took no part "
        "([figures](https://hyperspan-nlp.github.io/hyperspan/concepts/guarantees.html))."
    )
    said = textwrap.fill(said, 120, break_long_words=False, break_on_hyphens=False)
    head, section, rest = PARAGRAPH.sub("", readme).partition("\n## Calibration\n")
    body, following, after = rest.partition("\n\n## ")
    return f"{head}{section}{body.rstrip()}\n\n{said}{following}{after}" if section else readme
