"""Which language texts are in."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.text import split_text
from hyperspan.text.function_words import LANGUAGES, Language
from hyperspan.text.language import looks_english, other_language
from hyperspan.training.data import read_sentences
from hyperspan.types import Sentence
from tests.support.data import data_path
from tests.support.everyday import EVERYDAY, SHORT_ENGLISH

ENGLISH = {
    "news": "The mayor of Leeds said on Monday that the new bridge would open in May. She thanked those who built it.",
    "chat": "lol i don't think so, what did you tell them? it's not like they were there",
    "queries": "show me flights from boston to denver\nwhat is the cheapest ticket\nlist all trains that leave after noon",
    "notes": "Pt seen with wife. Denies chest pain or nausea. Wound on left leg, not red. To return if fever.",
    "curly": "It’s late. We don’t know. They can’t say what’s wrong. I’m sure you’ll see.",
}
OTHERS = {
    "Afrikaans": "Die man is in die huis en sy vrou was by die see. Dit is nie my boek nie, maar hy het dit gelees.",
    "Arabic": "ذهب الرجل إلى السوق في الصباح. كان الجو بارداً جداً هناك.",
    "Chinese": "王先生昨天去了北京大学。他在那里见到了他的老师。",
    "Czech": "To je dům, ve kterém by chtěl bydlet. My jsme to nevěděli, ale byl to on.",
    "Danish": "Han sagde at de ikke var i byen, for de havde ikke tid. Under krigen var der ingen mad.",
    "Dutch": "Hij is in de stad of bij zijn moeder, want het was te laat. Wat doet zij met het geld? Dat weet ik niet.",
    "Finnish": "Mies meni kauppaan ja osti leipää. Se oli hänen mielestään liian kallista.",
    "French": "Le maire a dit que le pont serait ouvert en mai. On a vu son but, or il est parti avec elle.",
    "German": "Also war er in der Not bei ihr. Was hat sie gesagt? Das Haus ist alt, man sieht es am Dach.",
    "Hindi": "वह आदमी कल बाज़ार गया था। उसने वहाँ बहुत सी किताबें खरीदीं।",
    "Hungarian": "A férfi elment a boltba, és vett egy kenyeret. Ez nem volt olcsó, de jó.",
    "Indonesian": "Orang itu pergi ke pasar dan membeli roti. Dia tidak tahu bahwa toko itu tutup.",
    "Italian": "Il sindaco ha detto che il ponte sarà aperto in maggio. Non è per me, ma per te.",
    "Japanese": "田中さんは昨日東京へ行きました。そこで友達に会いました。",
    "Korean": "그 남자는 어제 시장에 갔다. 거기서 빵을 샀다.",
    "Polish": "To jest dom, w którym by mieszkał. My to wiemy, a on i tak to kupił, bo to było tanie.",
    "Portuguese": "O homem foi ao mercado e comprou pão. Ele não sabia que a loja estava fechada.",
    "Russian": "Мужчина пошёл в магазин и купил хлеб. Он не знал, что там дорого.",
    "Spanish": "El hombre fue al mercado y compró pan. No sé si he visto a su hermano en la casa.",
    "Swedish": "Han sade att de inte var i staden, för det var för sent. Man får se hur det går under året.",
    "Thai": "เขาไปตลาดเมื่อวานนี้ และซื้อขนมปัง",
    "Turkish": "Adam dün pazara gitti ve ekmek aldı. Orada bir arkadaşını gördü.",
    "Vietnamese": "Ông ấy đi chợ hôm qua và mua bánh mì. Cái nhà to này là của chị tôi.",
    "West Frisian": "It hûs is âld en it stiet by it wetter. Hy wist net wat er sizze moast, want it wie let.",
}


@pytest.mark.parametrize("text", ENGLISH.values(), ids=list(ENGLISH))
def test_looks_english_recognises_english_of_all_kinds(text: str) -> None:
    assert looks_english(split_text(text))


@pytest.mark.parametrize("text", OTHERS.values(), ids=list(OTHERS))
def test_looks_english_refuses_other_languages(text: str) -> None:
    assert not looks_english(split_text(text))


@pytest.mark.parametrize("tokens", [[], ["."], ["12", "%"], ["NF-kappa", "B"]])
def test_looks_english_is_false_without_frequent_words(tokens: list[str]) -> None:
    assert not looks_english([Sentence(tokens)] * 3)
    assert not looks_english([])


def test_looks_english_reads_large_corpora_evenly() -> None:
    english, german = Sentence(["the", "house", "of", "Ada"]), Sentence(["das", "Haus", "von", "Ada"])
    assert looks_english([german] * 9_000 + [english] * 9_000)
    assert not looks_english([english] * 100 + [german] * 20_000)


NAMED = {name: name for name in OTHERS} | {"Hindi": "a language in Devanagari script", "West Frisian": "Frisian"}
HARD_ENGLISH = {
    "names": "Vincent van Gogh, Charles de Gaulle, Ursula von der Leyen, Leonardo da Vinci, Oscar de la Renta, Sofía del Río",
    "lower-case names": "ursula von der leyen charles de gaulle vincent van gogh leonardo da vinci oscar de la renta",
    "places": "Los Angeles, San José, La Paz, El Paso, Las Vegas, São Paulo, Le Havre, Den Haag, Köln, Île de la Cité",
    "capitals": "THE COMPANY SAID ON TUESDAY THAT IT WILL OPEN THREE NEW OFFICES IN LOS ANGELES AND EL PASO",
    "lower case": "i dont know what u want me to do about it its not like i can fix it lol",
    "code": "def main(args): for i in range(10): print(i, x.y, de, la) if self.done else None; int und = 0; return al",
    "script": "const el = find('#la'); if (el) { el.text = de + en + es; } // languages: de, en, es, fr, it, la",
    "table": "id name type en de fr es it\n1 Ada person a b c d e\n2 Bob person x y z u v w o\n3 Leeds place a e i o u",
    "codes": "Available in en, de, fr, es, it, pt, nl, sv, da, no, fi, pl, cs, hu, tr, el, he and id",
    "Latin": "IL-2 in vitro vs. in vivo, et al., de novo synthesis per se; cf. ad hoc a priori pro rata",
    "Greek letters": "TNF-α, IFN-γ, IL-1β, NF-κB and μ-opioid receptors α, β, γ, δ, κ, λ",
    "notes": "pt c/o sob, n/v, s/p cabg, a&o x3, f/u w/ pcp, hx of htn dm cad, no etoh",
    "an admission": "pt c/o sob, no hx of mi, dx dm ii, rx metformin po bid, f/u in 2 wks, bp 120/80, hr 70, o2 sat 98 ra",
    "a prescription": "take 1 tab po tid prn pain; se: n/v; no ca, no tb; na 140 k 4.0 cl 100 bun 12 cr 0.9",
    "a laboratory": "labs: na 138 k 4.1 cl 101 co2 25 bun 14 cr 0.8 glu 101 ca 9.1 mg 2.0 po4 3.1 se ok",
    "single letters": "a e o y i u w z s k v a e o y i u w z s k v",
    "a quotation": 'He only said "Das ist nicht wahr" and left the room before anyone could ask him what he meant by it.',
    "a Chinese name": "The tower of 北京大学 stands beside a small lake, and students meet there in the evening.",
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_language_names_it(name: str) -> None:
    text = OTHERS[name]
    assert other_language(text, "English") == other_language(text, "en-GB") == NAMED[name]
    assert other_language(text.upper(), "English") == NAMED[name]
    assert other_language(unicodedata.normalize("NFD", text), "English") == NAMED[name]


@pytest.mark.parametrize("text", [*HARD_ENGLISH.values(), *EVERYDAY.values(), *SHORT_ENGLISH, *ENGLISH.values()])
def test_other_language_is_none_for_english_of_all_kinds(text: str) -> None:
    assert other_language(text, "English") == ""


@pytest.mark.parametrize("name", OTHERS)
def test_other_language_is_that_of_the_card(name: str) -> None:
    text = OTHERS[name]
    assert other_language(text, NAMED[name].replace("a language in Devanagari script", name)) == ""
    assert other_language(text, f"English and {name.removeprefix('West ')}") == ""


@pytest.mark.parametrize("card", ["Serbian", "Bosnian", "Croatian"])
def test_other_language_knows_that_serbian_has_two_scripts(card: str) -> None:
    latin = "Čovjek je otišao u grad jer nije znao da se most ove godine neće otvoriti, ali je bio sretan."
    assert (other_language(latin, card), other_language(latin, "English")) == ("", "Croatian")
    assert other_language("Човек је отишао у град јер није знао да се мост неће отворити.", "Serbian") == ""


@pytest.mark.parametrize("card", ["German", "Chinese (simplified)", "ru", "Hindi", "German, French"])
def test_other_language_finds_english_in_text_for_another_model(card: str) -> None:
    assert other_language(EVERYDAY["review"], card) == "English"


@pytest.mark.parametrize("card", ["", "Klingon", "multilingual", "Deutsch", "?"])
def test_other_language_is_unknown_where_the_card_names_none(card: str) -> None:
    assert {other_language(text, card) for text in [*OTHERS.values(), *ENGLISH.values()]} == {""}


def test_other_language_needs_eight_words_of_the_same_script() -> None:
    text = "Das ist nicht die Stadt in der wir wohnen."
    assert other_language(text, "English") == "German"
    assert other_language("Das ist nicht die Stadt.", "English") == ""
    assert other_language("我使用 Microsoft Visual Studio Code 编写代码", "Chinese") == ""


@given(st.text(), st.text(), st.sampled_from(LANGUAGES))
def test_other_language_of_any_text_is_none_of_the_card(text: str, more: str, language: Language) -> None:
    assert other_language(text, f"{language.name} {more}") != language.name
    other_language(text, more)


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("corpus", "english"),
    [("genia/dev.data", 1), ("litbank/dev.data.gz", 1), ("gum/dev.jsonl.gz", 1), ("germeval2014/NER-de-dev.tsv.gz", 0)],
)
def test_looks_english_is_right_of_corpora_and_of_each_thirty_sentences(corpus: str, english: int) -> None:
    sentences = read_sentences(str(data_path(corpus)))
    parts = [sentences[start : start + 30] for start in range(0, len(sentences) - 29, 30)]
    assert {looks_english(part) for part in (sentences, *parts)} == {bool(english)}
