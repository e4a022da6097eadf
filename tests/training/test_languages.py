"""Training on languages that are not English, as raw text."""

from __future__ import annotations

from pathlib import Path

from hyperspan.corpora import split_corpus
from hyperspan.corpora.source import Problems
from hyperspan.corpora.splits import PartFiles, open_corpus
from hyperspan.evaluation import evaluate
from hyperspan.runtime.loading import load
from hyperspan.training.data import read_sentences
from hyperspan.training.run import train

CHINESE = Path(__file__).parents[2] / "src/hyperspan/corpora/examples/chinese.jsonl"


def test_mentions_inside_chinese_text_are_learnt(tmp_path: Path) -> None:
    parts = split_corpus(CHINESE, {"train": 0.8, "test": 0.2}).parts
    files = PartFiles.of(open_corpus(CHINESE, None, Problems()), tmp_path / "parts")
    files.write(parts, problems=Problems())
    assert all(len(token) == 1 for sentence in read_sentences(str(CHINESE)) for token in sentence.tokens)
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
