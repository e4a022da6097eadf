"""Training on languages that are not English, as raw text."""

from __future__ import annotations

from pathlib import Path

from hyperspan.config import Config
from hyperspan.inference.loading import load
from hyperspan.training.run import read_sentences, train

CHINESE = Path(__file__).parents[2] / "examples" / "chinese.jsonl"
SETTINGS = """training.epochs=15 training.batch_size=8 training.learning_rate=0.01 words.dimension=16 words.vectors= encoder.hidden=24
encoder.span_hidden=24""".split()


def test_mentions_inside_chinese_text_are_learnt(tmp_path: Path) -> None:
    config = Config().override([f"data.train={CHINESE}", f"data.dev={CHINESE}", *SETTINGS])
    assert all(len(token) == 1 for sentence in read_sentences(str(CHINESE), config) for token in sentence.tokens)
    result = train(config, tmp_path / "run", device="cpu")
    assert result.dev_f1 is not None and result.dev_f1 > 0.8
    found = load(tmp_path / "run")("北京大学的学生从上海来。")
    assert {(mention.text, mention.label) for mention in found.mentions} >= {("北京大学", "ORG"), ("北京", "GPE")}
