"""Offsets are exact, every character that is no white space is in one token, and the same text gives the same
tokens."""

from __future__ import annotations

import subprocess
import sys

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from hyperspan import kernels
from hyperspan.errors import InputError
from hyperspan.kernels import text as compiled_text
from hyperspan.text import TOKENIZERS, Tokenizer, split_text, tokenize
from hyperspan.text.tokens import EXTENDING, SPACE, UNSPACED, units

ODD = st.sampled_from(
    [
        *"💩 é שלום U.S. 5.50 n't don't 🇩🇪 http://a.b/c. a@b.cd -- ... CD4(+) [3H]x cannot it’s “ 日本 カー".split(),
        *"ｶﾞ น้ำ ក្ក င်္ဂ ꦏ꧀ꦏ 𠮷 。 （ １２ ๒ [日 ]x 3(日)".split(),
        *("\r\n", "\t", "\u200b", "\u200d", "\u0600 a", "\ufeff", "\x1c", "\x85", "\u2028", "👩\u200d👩\u200d👧"),
        *("B\xa0.", "\u2009. ", "\u202f?", "\u3000.", "[12] ", "Fig. ", "\ud800", "\n\n", "\n    ", "\n> ", ">a\tL"),
        *("a    b", "- ", ". ", "?” A", "\ufdd0", "\u17d2ក"),
    ]
)
SIGNS = st.text("ab1(['s]);-+.,/&*\u0301 \nn", max_size=40)
TEXTS = st.one_of(st.text(), SIGNS, st.lists(st.one_of(ODD, st.text(max_size=5)), max_size=12).map("".join))
tokenizers = pytest.mark.parametrize("tokenizer", [*map(Tokenizer, TOKENIZERS)], ids=lambda tokenizer: tokenizer.name)


@tokenizers
@given(text=TEXTS)
def test_every_character_is_in_exactly_one_token(tokenizer: Tokenizer, text: str) -> None:
    spans = tokenize(text, tokenizer)
    covered = [position for start, end in spans for position in range(start, end)]
    assert covered == [position for position, sign in enumerate(text) if not sign.isspace()]
    assert all(start < end for start, end in spans)
    assert spans == tokenize(text, tokenizer)


SNIPPETS = st.sampled_from(
    "n't ’t can cannot not www. http:// https:// @ . , : ; - -- ... .. ' ’ s re ll Mr. Mrs. etc. Fig. U.S. a b x B 1 23 (OH) ( [ ] ) + / * & _ "
    'é α \u0301 ‐ ‑ “ ² o n t S OH 12;3 t(8;21) (q22;q12) < > " ! Ⅳ ‿ \u200d 😀 \x1c 日 น ้ ำ ្ ក ။ ﾞ （ ） 。 ０ Ａ ๒ \ufdd0'.split(
        " "
    )
)


@tokenizers
@given(text=st.one_of(TEXTS, st.lists(st.one_of(SNIPPETS, st.just(" ")), max_size=16).map("".join)))
@example("2\u0e33 Cln3\uff9e")  # letters to Unicode, but parts of what is before them
def test_tokenize_cuts_in_c_as_its_regular_expressions_do(tokenizer: Tokenizer, text: str) -> None:
    with kernels.reference():
        expected = tokenize(text, tokenizer), split_text(text, tokenizer)
    assert (tokenize(text, tokenizer), split_text(text, tokenizer)) == expected


def test_characters_have_the_classes_that_regular_expressions_know() -> None:
    bits = {r"\p{L}": 1, r"\p{M}": 2, r"\p{N}": 4, r"\d": 8, r"\w": 16, f"[{SPACE}]": 32, r"[\s\ufdd0]": 64}
    table = compiled_text.classes(UNSPACED, EXTENDING)
    known = [code for code, classes in enumerate(table) if classes]
    assert len(known) > 2_000
    read = [units(chr(code)) for code in known]
    for pattern, bit in bits.items():
        matches = regex.compile(pattern).match
        pairs = zip(known, read, strict=True)
        wrong = [hex(code) for code, sign in pairs if (matches(sign) is not None) != bool(table[code] & bit)]
        assert not wrong, pattern
    assert [chr(code) for code in range(0x110000) if chr(code).isspace()] == regex.findall(
        f"[{SPACE}]", "".join(map(chr, range(0x110000)))
    )


@tokenizers
@given(text=TEXTS)
def test_sentences_hold_all_tokens_in_order(tokenizer: Tokenizer, text: str) -> None:
    sentences = split_text(text, tokenizer)
    places = [place for sentence in sentences for span in sentence.offsets for place in span]
    assert places == sorted(places) and all(sentence.tokens for sentence in sentences)
    assert all(
        text[start:end] == word for one in sentences for word, (start, end) in zip(one.tokens, one.offsets, strict=True)
    )
    covered = "".join(token for sentence in sentences for token in sentence.tokens)
    assert covered == "".join(sign for sign in text if not sign.isspace())


UNSPACED_CODES = {code for first, end in UNSPACED for code in range(first, end)} | set(map(ord, EXTENDING))


@pytest.mark.parametrize("tokenizer", [Tokenizer("words"), Tokenizer("split")], ids=lambda tokenizer: tokenizer.name)
@given(tokens=st.lists(st.text(st.characters(categories=["L"]), min_size=1, max_size=8).filter(lambda t: "n" not in t)))
def test_plain_words_stay_whole(tokenizer: Tokenizer, tokens: list[str]) -> None:
    tokens = [token for token in tokens if UNSPACED_CODES.isdisjoint(map(ord, token))]
    text = " ".join(tokens)
    assert [text[start:end] for start, end in tokenize(text, tokenizer)] == tokens


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize(
    "cut",
    [
        "小|王|在|北|京|大|学|读|了|30|天|，|很|好|。",
        "東|京|タ|ワ|ー|は|々|ｶﾞ|ﾊﾟ|ｰ|か\u3099",
        "ㄅ|ㄆ|ㄇ|ꀀ|ꀁ|𠮷|葛\U000e0100|見",
        "ก็|ที่|เ|ด็|ก|กำ|น้ำ|ป|ร|ะ|เ|ท|ศ|ไ|ท|ย |๒๕๖๗|ๆ",
        "ປ|ະ|ເ|ທ|ດ|ນ້ຳ|ລ|າ|ວ",
        "ក|ម្ពុ|ជា|ស្ត្រី|ខ្មែ|រ|។",
        "မြ|န်|မာ|အ|င်္ဂ|လိ|ပ်|မ|န္တ|လေး|။",
        "ꦲ|ꦏ꧀ꦱ|ꦫ|ᬅ|ᬓ᭄ᬱ|ᬭ|ᨠ᩠ᨾ|ᥖ|ᥭ|ᥰ",
        "대한민국 |서울에서 |བོད|་|ཡིག|། |naïve|中|do|n't|中|it|'s|中|cells|中",
        "IL2|基|因|abc|カ|０１２Ａｂｃ|（|OK|）",
        "2020|(|令|和|2|年|)|は|[|中|国|]|x |3|(|中|)",
    ],
)
def test_scripts_without_spaces_are_cut_into_characters_with_their_marks(name: str, cut: str) -> None:
    text = cut.replace("|", "")
    expected = [token.strip() for token in cut.split("|")]
    assert [text[start:end] for start, end in tokenize(text, Tokenizer(name))] == expected


def test_addresses_end_where_a_script_without_spaces_begins() -> None:
    text = "见http://a.org/b?c=1。或a@b.cd吧"
    expected = ["见", "http://a.org/b?c=1", "。", "或", "a@b.cd", "吧"]
    assert [text[start:end] for start, end in tokenize(text)] == expected


@pytest.mark.parametrize("name", TOKENIZERS)
def test_children_tokenize_that_are_forked_while_a_thread_imports_regular_expressions(name: str) -> None:
    program = """
import os, signal, sys, threading, time
from hyperspan.text import Tokenizer, tokenize
tokenizer, begun = Tokenizer(sys.argv[1]), threading.Event()
class Slowly:
    def find_spec(self, name, path=None, target=None):
        if name == "regex":
            begun.set()
            time.sleep(0.2)
sys.meta_path.insert(0, Slowly())
thread = threading.Thread(target=tokenize, args=("\u1210", tokenizer))  # Ethiopic, which the C kernel leaves out
thread.start()
assert begun.wait(60)
child = os.fork()
if not child:
    signal.alarm(30)  # ends the child if it waits forever for the import
    os._exit(0 if tokenize("\u1210", tokenizer) == [(0, 1)] else 1)
assert os.waitpid(child, 0)[1] == 0
thread.join()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program, name], check=True, timeout=120)


def test_unspaced_has_the_letters_of_its_scripts() -> None:
    scripts = """Thai Lao Myanmar Khmer Tai_Le New_Tai_Lue Tai_Tham Tai_Viet Balinese Javanese Yi Hiragana Katakana Bopomofo
    Han""".split()
    letters = regex.compile("|".join(rf"(?:(?=\p{{L}})\p{{{script}}})" for script in scripts))
    found = {code for code in range(0x10000) if letters.match(chr(code))}
    assert found <= UNSPACED_CODES
    others = regex.compile(rf"\p{{M}}|\p{{Nd}}|[{SPACE}]|(?=\p{{L}})[\p{{Latin}}\p{{Hangul}}]")
    assert not [code for code in UNSPACED_CODES if others.match(chr(code))]


CUT = {
    "words": {
        "The U.S. pays $5.50.": "The U.S. pays $ 5.50 .",
        "I don't, you won’t, it's": "I do n't , you wo n’t , it 's",
        "well-known 1,000 at 10:30": "well-known 1,000 at 10:30",
        "see www.a.org/b, or a.b@c.de!": "see www.a.org/b , or a.b@c.de !",
        "a\r\nb\tc": "a b c",
        "e\u0301te\u0301 👩‍👩‍👧‍👦 ok": "e\u0301te\u0301 👩‍👩‍👧‍👦 ok",
    },
    "split": {  # as the corpus GENIA is cut in the paper
        "NF-kappa B/Rel p50, IL-2.": "NF - kappa B / Rel p50 , IL - 2 .",
        "NF-kappa B/Rel, 3.5+": "NF - kappa B / Rel , 3 . 5 +",
        "the factor(s) (IL-2) cannot": "the factor ( s ) ( IL - 2 ) can not",
        "CD4(+) and [3H]foo, 10(-7) M(r)": "CD4( + ) and [3H]foo , 10( - 7) M(r)",
        "t(8;21)(q22;q22) and 25(OH)2D3 [Ca2+]i": "t(8;21)(q22;q22) and 25(OH)2D3 [Ca2 + ]i",
        "5'-end of cells' ends, Foo's, don't, chan'su": "5' - end of cells ' ends , Foo 's , do n't , chan'su",
        "'aged' (60%) -->x: A*02": "' aged ' ( 60 % ) - - > x : A*02",
    },
}


@pytest.mark.parametrize("name", CUT)
def test_tokens_are_cut_as_expected(name: str) -> None:
    for text, expected in CUT[name].items():
        assert [text[start:end] for start, end in tokenize(text, Tokenizer(name))] == expected.split()


def test_sentences() -> None:
    text = "Dr. Grey paid 5.50 in the U.S. to Lee. Why?\n\nNobody knew 😀. Not J. R. Lee."
    assert [text[one.offsets[0][0] : one.offsets[-1][1]] for one in split_text(text)] == [
        "Dr. Grey paid 5.50 in the U.S. to Lee.",
        "Why?",
        "Nobody knew 😀.",
        "Not J. R. Lee.",
    ]


def test_an_unknown_tokenizer_is_named() -> None:
    with pytest.raises(InputError, match="no tokenizer 'spaces'; choose one of words, split, fine"):
        Tokenizer("spaces")
