"""The invented corpora in examples/ can be learnt."""

from __future__ import annotations

from pathlib import Path

from hyperspan.corpora import split_corpus
from hyperspan.corpora.source import Problems
from hyperspan.corpora.split_files import PartFiles
from hyperspan.corpora.splits import open_corpus
from hyperspan.evaluation import evaluate
from hyperspan.inference.loading import load
from hyperspan.training.run import train

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_chinese_without_spaces_is_learnt_from_few_sentences(tmp_path: Path) -> None:
    corpus = EXAMPLES / "chinese.jsonl"
    parts = split_corpus(corpus, {"train": 0.8, "test": 0.2}).parts
    files = PartFiles.of(open_corpus(corpus, None, Problems()), tmp_path / "parts")
    files.write(parts, problems=Problems())
    config = {
        "data": {"train": str(files.path("train"))},
        "words": {"vectors": "", "dimension": 32, "word_dropout": 0.1},
        "characters": {"encoder": "none"},
        "encoder": {"hidden": 32, "span_hidden": 32, "input_dropout": 0.3},
        "training": {"epochs": 15, "batch_size": 4, "learning_rate": 0.01},
    }
    annotator = load(train(config, tmp_path / "model", device="cpu").folder)
    gold = parts["test"].documents
    found = list(annotator.pipe([document.text for document in gold]))
    assert evaluate(gold, found).micro.f1 > 0.85
    [university] = annotator.pipe(["武汉大学很大。"])
    assert {(mention.text, mention.label) for mention in university.mentions} == {("武汉大学", "ORG"), ("武汉", "GPE")}
