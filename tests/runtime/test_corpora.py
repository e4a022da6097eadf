"""The runtime and the reference on whole corpora: the same mentions, probabilities to 1e-5."""

from __future__ import annotations

import pytest

from hyperspan import kernels, load
from hyperspan.corpora import read_corpus
from tests.support.data import data_path

pytestmark = pytest.mark.corpora


@pytest.mark.parametrize("part", ["dev", "test"])
@pytest.mark.parametrize(
    ("name", "files"),
    [("english", "gum/{}.jsonl.gz"), ("genia", "genia/{}.data"), ("litbank", "litbank/{}.data.gz")],
)
def test_runtime_equals_the_reference_on_corpora(name: str, files: str, part: str) -> None:
    sentences = [one for document in read_corpus(data_path(files.format(part))) for one in document.sentences]
    runtime = load(name)
    with kernels.reference():
        wanted = list(load(name).recognize(sentences))
    for ours, theirs in zip(runtime.recognize(sentences), wanted, strict=True):
        assert ours.mentions == theirs.mentions
        for found, expected in zip(sorted(ours.mentions), sorted(theirs.mentions), strict=True):
            assert found.probability == pytest.approx(expected.probability, abs=1e-5)
