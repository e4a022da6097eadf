"""Sentences of every kind of text, each with its reason; what they are worth on a corpus is measured by test_gum.py."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.text import Tokenizer, split_text, tokenize
from hyperspan.text.paragraphs import paragraph_spans
from hyperspan.text.sentences import MOST_TOKENS


def sentences(text: str) -> list[str]:
    return [" ".join(text[one.offsets[0][0] : one.offsets[-1][1]].split()) for one in split_text(text)]


@pytest.mark.parametrize("space", ["\u00a0", "\u2009", "\u202f", "\u2028", "\u3000"])
@pytest.mark.parametrize("text", ["B{}.", "So do I{0}.{0}.{0}.", "It is 5{}%. We know."])
def test_split_text_takes_every_kind_of_space(text: str, space: str) -> None:
    text = text.format(space)
    covered = "".join(token for sentence in split_text(text) for token in sentence.tokens)
    assert covered == "".join(text.split())


@pytest.mark.parametrize(
    "expected",
    [
        # less-than signs, figures and chromosomes
        ["It is P < 0.05.", "We have it.", "These are here (Fig. 1)."],
        ["a < b.", "We have it."],
        ["The gene lies on Chr. 10.", "It is long."],
        ["See Fig. 3.", "Table 2 shows it.", "No. 5 is missing.", "No.", "It is not."],
        ["The gene (approx. 5 kb) vs. the control was cut (0.5 mg i.v. daily).", "Cells were fixed."],
        # species, genes and groups
        ["E. coli and S. aureus grew.", "B. subtilis did not.", "S. Typhimurium was lost."],
        ["The locus is silent.", "p53 binds it.", "mRNA levels rose.", "c-Rel does not bind."],
        ["They had hepatitis B.", "Controls had none."],
        ["Smith et al. (2004) saw it.", "So did Lee et al.", "The rest did not."],
        ["The dose was 5 mg.", "Patients took it at 8 a.m. and 10 p.m. Eastern time."],
        ["The cells were lysed in buffer A.", "Buffer B was used.", "The dose was 5 mg/kg i.p.", "Mice died."],
        ["We met at 5 p.m.", "John left.", "It was 6 p.m. EDT then."],
        # people and institutions
        ["He lives in St. Louis.", "She is on Main St.", "Then he went 5 ft.", "It was a ref.", "The ref. saw it."],
        ["Dr. Grey paid J. R. Lee of Grey & Co. in the U.S. Army.", "He left."],
        ["She met writer L. Ron Grey in Washington, D.C. in Feb. 1999.", "Nobody saw it."],
        # quotations
        ["“Come here,” he said.", "“I will not.”", "“Why?” Mrs. Lee asked.", "Nobody knew."],
        ['"Stop!" he said.', '"Who?"', "Then it was over."],
        # lists inside a line
        ["(A) It is one.", "(B) It is two.", "(C) It is three."],
        ["1. Mix the flour.", "2. Bake it.", "2.1. Wait."],
        # references after the stop
        ["She won in 2012. [3] [4]", "He left. [citation needed]", "They stayed."],
        # dots that end nothing
        ["See www.a.org. or ask a.b@c.de. about version 1.2.3 of it."],
        ["Well ... that is so.", "And yet … I do not know.", "Really?!", "(?) means unknown."],
        ["i am here.", "you are there, dr. lee.", "why?", "no capitals."],
        # other scripts and languages
        ["今日は。", "明日は！", "そうか？"],
        ["Am 3. Oktober kam z.B. Herr Dr. Lee.", "Er blieb."],
    ],
)
def test_sentences_in_a_line(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["今日は。", "「そうか？」と言った。", "『はい。』", "３．５点だ．", "よし！"],
        [
            "他说：“你好。”",
            "（真的！）",
            "然后，李教授走了……走了？！",
            "为什么?",
            "不知道!",
            "好。”、“不好。”",
            "都行。",
            "完",
        ],
        ["ព្រះមហាក្សត្រ។", "ភ្នំពេញ៕"],
        ["ရန်ကုန်။", "မန္တလေး။"],
        ["བོད་ཡིག།", "དབུས་ཅན༎"],
        ["यह घर है।", "वह घर है॥"],
        ["ሰላም።", "እንዴት ነህ፧"],
    ],
)
def test_stops_of_other_scripts_end_sentences_without_a_space(expected: list[str]) -> None:
    assert sentences("".join(expected)) == expected


def test_a_long_text_without_stops_is_cut_at_its_spaces() -> None:
    text = "กรุงเทพมหานครเป็นเมือง " * 60
    parts = sentences(text)
    assert len(parts) > 1 and {part.split()[-1] for part in parts} == {"กรุงเทพมหานครเป็นเมือง"}
    assert {part.split()[0] for part in parts} == {"กรุงเทพมหานครเป็นเมือง"}
    assert max(len(sentence) for sentence in split_text("ไทย" * 1_000)) == MOST_TOKENS


@pytest.mark.parametrize("text", ["p < 0.05 .", "It is P\u00a0<\u00a00.05. ", "", " \n\t", "...", "?!", "\u00a0"])
def test_one_sentence_at_most(text: str) -> None:
    assert len(sentences(text)) == bool(text.strip())


def test_lines_of_lists_tables_and_headers_are_not_joined() -> None:
    assert sentences("John Smith\tBoston\nMary Lee\tOz") == ["John Smith", "Boston", "Mary Lee", "Oz"]
    assert sentences("John Smith     Boston\nMary Lee       Oz") == ["John Smith", "Boston", "Mary Lee", "Oz"]
    header = ["From: John Smith", "To: Mary Lee", "Subject: The zoo in Oz", "Dear Mary"]
    assert sentences("\n".join(header)) == header
    assert sentences("apples\nbananas\ncream") == ["apples", "bananas", "cream"]
    listed = "- milk\n- two eggs, beaten until\n  they are stiff\n- bread"
    assert sentences(listed) == ["-", "milk", "-", "two eggs, beaten until they are stiff", "-", "bread"]


def test_paragraphs_end_at_line_breaks() -> None:
    heading = "The history of the zoo in the large city of Oz and of its keepers"
    text = f"{heading}\nThe zoo is old. It was built in the\nyear 1900.\n\nIt is open"
    assert sentences(text) == [heading, "The zoo is old.", "It was built in the year 1900.", "It is open"]


def test_a_long_line_goes_on_in_lower_case_unless_it_ends_in_a_stop() -> None:
    line = "It is known that nobody slept in the old zoo"
    assert list(paragraph_spans(f"{line}\npH was neutral")) == [(0, 59)]
    assert list(paragraph_spans(f"{line}.\npH was neutral")) == [(0, 46), (46, 60)]


PARAGRAPHS = [
    "The protein binds the promoter of the gene in resting cells. It does so only when the Greek letters of its name are spelled out, "
    "which Dr. Lee and Prof. Grey of the Institute of Zoology in the city of Lindau had long suspected before anybody asked them.",
    "Nobody else did. In the second experiment, Jurkat cells were treated with 5 mg of a compound that J. R. Lee had synthesised, and "
    "levels of the messenger fell. That was in March. The authors of the report did not say whether it happened again.",
]


@pytest.mark.parametrize("width", [30, 40, 50, 60, 72, 80, 100])
@pytest.mark.parametrize("between", ["\n", "\n\n", "\r\n", "\n   "])
def test_wrapped_text_has_the_sentences_of_its_paragraphs(width: int, between: str) -> None:
    wrapped = between.join(textwrap.fill(paragraph, width) for paragraph in PARAGRAPHS)
    assert sentences(wrapped) == sentences("\n".join(PARAGRAPHS))


def test_quoted_mail_is_joined_too() -> None:
    wrapped = textwrap.fill(PARAGRAPHS[0], 60, initial_indent="> ", subsequent_indent="> ")
    assert len(sentences(wrapped)) == 2


@given(count=st.integers(MOST_TOKENS - 2, 3 * MOST_TOKENS), mark=st.sampled_from([" ", ", ", "; ", "-"]))
def test_a_sentence_of_too_many_words_is_cut(count: int, mark: str) -> None:
    text = f"word{mark}" * count
    found = split_text(text, Tokenizer("split"))
    assert all(len(sentence) <= MOST_TOKENS for sentence in found)
    assert [span for sentence in found for span in sentence.offsets] == tokenize(text, Tokenizer("split"))


def test_a_long_sentence_is_cut_at_semicolons_rather_than_commas() -> None:
    text = "one, " * 200 + "two; " + "three, " * 300
    first, _ = split_text(text)[:2]
    assert first.tokens[-2:] == ("two", ";")
