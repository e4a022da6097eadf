"""Offsets are exact, every character that is no white space is in one token, and the same text gives the same tokens."""

from __future__ import annotations

from itertools import chain

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from hyperspan import kernels
from hyperspan.errors import InputError
from hyperspan.kernels import tokens_c
from hyperspan.text import TOKENIZERS, split_text, tokenize
from hyperspan.text.genia import SPACE

ODD = st.sampled_from(
    [
        "\r\n",
        "\t",
        "💩",
        "é",
        "\u200b",
        "\u200d",
        "שלום",
        "\u0600 a",
        "\ufeff",
        "U.S.",
        "5.50",
        "n't",
        "don't",
        "\x1c",
        "\x85",
        "\u2028",
        "👩\u200d👩\u200d👧",
        "🇩🇪",
        "http://a.b/c.",
        "a@b.cd",
        "--",
        "...",
        "CD4(+)",
        "[3H]x",
        "cannot",
        "it’s",
        "B\u00a0.",
        "\u2009. ",
        "\u202f?",
        "\u3000.",
        "[12] ",
        "Fig. ",
        "\ud800",
        "\n\n",
        "\n    ",
        "\n> ",
        ">a\tL",
        "a    b",
        "- ",
        ". ",
        "“",
        "?” A",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(st.one_of(ODD, st.text(max_size=5)), max_size=12).map("".join))
tokenizers = pytest.mark.parametrize("tokenizer", TOKENIZERS)


@tokenizers
@given(text=TEXTS)
def test_every_character_is_in_exactly_one_token(tokenizer: str, text: str) -> None:
    spans = tokenize(text, tokenizer)
    covered = [position for start, end in spans for position in range(start, end)]
    assert covered == [position for position, sign in enumerate(text) if not sign.isspace()]
    assert all(start < end for start, end in spans)
    assert spans == tokenize(text, tokenizer)


SNIPPETS = st.sampled_from(
    "n't ’t can cannot not www. http:// https:// @ . , : ; - -- ... .. ' ’ s re ll Mr. Mrs. etc. Fig. U.S. a b x B 1 23 (OH) ( [ ] ) + / * & _ "
    'é α \u0301 ‐ ‑ “ ² o n t S OH 12;3 t(8;21) (q22;q12) < > " ! Ⅳ ‿ \u200d 😀 \x1c'.split(" ")
)


@tokenizers
@given(text=st.one_of(TEXTS, st.lists(st.one_of(SNIPPETS, st.just(" ")), max_size=16).map("".join)))
def test_tokenize_cuts_in_c_as_its_regular_expressions_do(tokenizer: str, text: str) -> None:
    with kernels.reference():
        expected = tokenize(text, tokenizer), split_text(text, tokenizer)
    assert (tokenize(text, tokenizer), split_text(text, tokenizer)) == expected


def test_characters_have_the_classes_that_regular_expressions_know() -> None:
    bits = {r"\p{L}": 1, r"\p{M}": 2, r"\p{N}": 4, r"\d": 8, r"\w": 16, f"[{SPACE}]": 32, r"\s": 64}
    known = [code for code in chain.from_iterable(tokens_c.KNOWN) if tokens_c.classes()[code]]
    assert len(known) > 2_000
    for pattern, bit in bits.items():
        matches = regex.compile(pattern).match
        wrong = [
            hex(code) for code in known if (matches(chr(code)) is not None) != bool(tokens_c.classes()[code] & bit)
        ]
        assert not wrong, pattern
    assert [chr(code) for code in range(0x110000) if chr(code).isspace()] == regex.findall(
        f"[{SPACE}]", "".join(map(chr, range(0x110000)))
    )


@tokenizers
@given(text=TEXTS)
def test_sentences_hold_all_tokens_in_order(tokenizer: str, text: str) -> None:
    sentences = split_text(text, tokenizer)
    places = [place for sentence in sentences for span in sentence.offsets for place in span]
    assert places == sorted(places) and all(sentence.tokens for sentence in sentences)
    assert all(
        text[start:end] == word for one in sentences for word, (start, end) in zip(one.tokens, one.offsets, strict=True)
    )
    covered = "".join(token for sentence in sentences for token in sentence.tokens)
    assert covered == "".join(sign for sign in text if not sign.isspace())


@tokenizers
@given(tokens=st.lists(st.text(st.characters(categories=["L"]), min_size=1, max_size=8).filter(lambda t: "n" not in t)))
def test_plain_words_stay_whole(tokenizer: str, tokens: list[str]) -> None:
    text = " ".join(tokens)
    assert [text[start:end] for start, end in tokenize(text, tokenizer)] == tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The U.S. pays $5.50.", ["The", "U.S.", "pays", "$", "5.50", "."]),
        ("I don't, you won’t, it's", ["I", "do", "n't", ",", "you", "wo", "n’t", ",", "it", "'s"]),
        ("well-known 1,000 at 10:30", ["well-known", "1,000", "at", "10:30"]),
        ("see www.a.org/b, or a.b@c.de!", ["see", "www.a.org/b", ",", "or", "a.b@c.de", "!"]),
        ("a\r\nb\tc", ["a", "b", "c"]),
        ("e\u0301te\u0301 👩‍👩‍👧‍👦 ok", ["e\u0301te\u0301", "👩‍👩‍👧‍👦", "ok"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in tokenize(text, "words")] == words


def test_split() -> None:
    text = "NF-kappa B/Rel p50, IL-2."
    expected = ["NF", "-", "kappa", "B", "/", "Rel", "p50", ",", "IL", "-", "2", "."]
    assert [text[start:end] for start, end in tokenize(text, "split")] == expected


def test_sentences() -> None:
    text = "Dr. Grey paid 5.50 in the U.S. to Lee. Why?\n\nNobody knew 😀. Not J. R. Lee."
    assert [text[one.offsets[0][0] : one.offsets[-1][1]] for one in split_text(text)] == [
        "Dr. Grey paid 5.50 in the U.S. to Lee.",
        "Why?",
        "Nobody knew 😀.",
        "Not J. R. Lee.",
    ]


def test_an_unknown_tokenizer_is_named() -> None:
    with pytest.raises(InputError, match="no tokenizer 'spaces'; choose one of words, split"):
        tokenize("a", "spaces")
