"""Cutting text takes time in proportion to its length, whatever the text is."""

from __future__ import annotations

from collections.abc import Callable, Sized

import pytest

from hyperspan.text import TOKENIZERS, Tokenizer, tokenize
from hyperspan.text.sentences import sentence_spans
from tests.support.growth import grows_linearly

PATTERNS = """aa. a+ a-- 1.a ...a a n't a. - ( x( “ « ' ?" [1a [1 1 1, 1: www. http:// www.) @ a@ a@a a@a. a- -- … . 。 ! _ * — [12] can cann n
nn' it’s (OH) 1(a a(1;2) \ud800 a\u0301 \u200d 👩\u200d 🇩🇪 Mr. A. ?” " ) ] } > ¿ • 5% < 日 น้ำ ក្ 日。 日www. １（""".split()
SPACED = "aa. |A. |[12] |[a ]|a\n|\n|\r\n|\t|a\t|    a|a    b\n|> a\n|- a\n|? A|?” Lee said |\u00a0.|a\u2028|Fig. 1. |\x85 ".split(
    "|"
)
CUTTERS: dict[str, Callable[[str], Sized]] = {
    **{name: lambda text, name=name: tokenize(text, Tokenizer(name)) for name in TOKENIZERS},
    "sentences": lambda text: list(sentence_spans(text)),
}


@pytest.mark.parametrize("cutter", CUTTERS)
def test_twice_the_text_takes_about_twice_the_time(cutter: str) -> None:
    check(cutter, 3_000)


@pytest.mark.slow
@pytest.mark.parametrize("cutter", CUTTERS)
def test_twice_the_text_takes_about_twice_the_time_up_to_a_million_characters(cutter: str) -> None:
    check(cutter, 500_000, most=3.0)  # memory that no cache holds is slower; what is quadratic takes four times as long


def check(cutter: str, size: int, most: float = 2.6) -> None:
    assert len(PATTERNS) + len(SPACED) >= 40
    for pattern in (*PATTERNS, *SPACED):
        assert grows_linearly(lambda size, part=pattern: CUTTERS[cutter](part * (size // len(part))), size, most), (
            pattern
        )
