"""Which corpora are English."""

from __future__ import annotations

import pytest

from hyperspan.text import split_text
from hyperspan.text.language import looks_english
from hyperspan.training.data import read_sentences
from hyperspan.types import Sentence
from tests.support.data import data_path

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


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("corpus", "english"),
    [("genia/dev.data", 1), ("litbank/dev.data.gz", 1), ("gum/dev.jsonl.gz", 1), ("germeval2014/NER-de-dev.tsv.gz", 0)],
)
def test_looks_english_is_right_of_corpora_and_of_each_thirty_sentences(corpus: str, english: int) -> None:
    sentences = read_sentences(str(data_path(corpus)))
    parts = [sentences[start : start + 30] for start in range(0, len(sentences) - 29, 30)]
    assert {looks_english(part) for part in (sentences, *parts)} == {bool(english)}
