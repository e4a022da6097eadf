"""Cutting text takes time in proportion to its length, whatever the text is.

Instructions would be the better measure; CPU time of one thread, the best of a few, is close enough for a bound on a
ratio.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sized

import pytest

from hyperspan.text import TOKENIZERS, Tokenizer, tokenize
from hyperspan.text.sentences import sentence_spans

PATTERNS = """aa. a+ a-- 1.a ...a a n't a. - ( x( “ « ' ?" [1a [1 1 1, 1: www. http:// www.) @ a@ a@a a@a. a- -- … . 。 ! _ * — [12] can cann n
nn' it’s (OH) 1(a a(1;2) \ud800 a\u0301 \u200d 👩\u200d 🇩🇪 Mr. A. ?” " ) ] } > ¿ • 5% < 日 น้ำ ក្ 日。 日www. １（""".split()
SPACED = [
    "aa. ",
    "A. ",
    "[12] ",
    "[a ]",
    "a\n",
    "\n",
    "\r\n",
    "\t",
    "a\t",
    "    a",
    "a    b\n",
    "> a\n",
    "- a\n",
    "? A",
    "?” Lee said ",
    "\u00a0.",
    "a\u2028",
    "Fig. 1. ",
    "\x85 ",
]
CUTTERS: dict[str, Callable[[str], Sized]] = {
    **{name: lambda text, name=name: tokenize(text, Tokenizer(name)) for name in TOKENIZERS},
    "sentences": lambda text: list(sentence_spans(text)),
}


def seconds(call: Callable[[str], Sized], text: str) -> float:
    start = time.thread_time()
    call(text)
    return time.thread_time() - start


@pytest.mark.parametrize("cutter", CUTTERS)
def test_twice_the_text_takes_about_twice_the_time(cutter: str) -> None:
    check(cutter, 3_000)


@pytest.mark.slow
@pytest.mark.parametrize("cutter", CUTTERS)
def test_twice_the_text_takes_about_twice_the_time_up_to_a_million_characters(cutter: str) -> None:
    check(cutter, 500_000)


def check(cutter: str, size: int) -> None:
    """Other work on the machine makes single measurements wrong, so that one good ratio of several is enough."""
    assert len(PATTERNS) + len(SPACED) >= 40
    cut = CUTTERS[cutter]
    gc.disable()
    try:
        for pattern in (*PATTERNS, *SPACED):
            text = pattern * (size // len(pattern))
            ratios = (seconds(cut, text * 2) / max(seconds(cut, text), 1e-9) for _ in range(20))
            assert any(ratio <= 2.6 for ratio in ratios), pattern
    finally:
        gc.enable()
