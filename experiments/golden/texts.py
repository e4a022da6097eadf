"""The texts of the record. All are invented; no text of a corpus is among them."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.golden.names import ROOT, everyday

LONG_SENTENCE = 1_200
"""The words of a text without a full stop."""

INVENTED = {
    "empty": "",
    "spaces": " \n\t \u00a0 ",
    "one word": "Jurkat",
    "one letter": "a",
    "punctuation": "?!… -- ;; (()) [] {} '' \"\" /\\ %% #",
    "emoji": "Dr. Okoye 👩🏽‍🔬 grew 🧫 T cells in Boston 🇺🇸, and everyone 🎉🎉 cheered!",
    "right to left": "قال الدكتور سامي إن خلايا T في بيروت سليمة. המורה של דנה גרה בחיפה.",
    "mixed directions": "Professor סמי Levi of חיפה University met الدكتور Hanna in Paris.",
    "chinese": "李华在北京大学学习历史。王芳的老师住在上海。",
    "thai": "ดร.สมชายทำงานที่โรงพยาบาลในกรุงเทพ",
    "german": "Die Leiterin der alten Werft in Hamburg verkaufte dem Sohn ihres Nachbarn ein Boot.",
    "accents": "Mme Élodie Lefèvre, née à Besançon, dirige le musée de Łódź; naïve cells ne l'intéressent pas.",
    "combining": "Jose\u0301 Nu\u0301n\u0303ez met Bjo\u0308rn at the cafe\u0301 in Ma\u0301laga.",
    "upper case": "THE IL-2 PROMOTER OF HUMAN T CELLS BINDS NF-KAPPA B, SAID THE MAYOR OF NEW LONDON.",
    "lower case": "the il-2 promoter of human t cells binds nf-kappa b, said the mayor of new london.",
    "no space after stops": "The ferry left.The captain stayed.Her sister,who lives in Oslo,waited.",
    "lines": "Minutes of the council\n\nPresent:\n- the mayor of Arden\n- Mrs Okoye\n\n1. The new bridge\nIt opens in May.",
    "table": "Gene\tTissue\tLevel\nIL-2\tspleen\t3.4\nTNF-alpha\tliver\t0.2\n",
    "digits": "On 2024-03-05 at 10:45, 1,204 of 3.5e6 cells (0.03%) in 12 mice had 2-fold more p53, p21 and CD4+.",
    "hyphens": "c-Rel/p65-dependent, IL-2R-alpha-positive CD4+CD8- T-cell-derived clones were NF-kappa-B-negative.",
    "coordination": "We stained the upper and lower jaw, the left or right kidney, and nerve, muscle and liver cells of mice.",
    "more coordination": (
        "The alpha, beta and gamma subunits of the human and murine IL-2 and IL-4 receptors were found in T and B cells."
    ),
    "nested": (
        "The sister of the captain of the ferry of the mayor of the harbour of Port Amsel knew the widow of the owner of the inn."
    ),
    "nested biomedical": (
        "Expression of the human interleukin-2 receptor alpha chain gene promoter NF-kappa B binding site mutant was low."
    ),
    "names": "Margaret Ellen Hughes, her husband Tom and Judge Okafor of the High Court met at St Mary's Hospital in Leeds.",
    "pronouns": "She told him that they had lost theirs, but nobody believed her, and I gave it to them myself.",
    "law": (
        "The Court of Appeal held that the tenant's brother, who had signed for her, owed the Northern Water Company nothing."
    ),
    "crossing": "The president of the bank of the river and the town council of Lindau and its harbour company sued each other.",
    "repeated": "the old man and the sea and the old man and the sea and the old man and the sea and the old man.",
    "long word": "The " + "anti" * 60 + "body bound " + "x" * 500 + " in Jurkat cells.",
    "controls": "The keeper\x00 of\u200b the\ufeff light\u2028house \x1b[31mleft\x1b[0m \ud7ff Port Amsel.",
}


def long_sentence(words: int = LONG_SENTENCE) -> str:
    """A text without a full stop."""
    parts = "the captain of the old ferry and the mayor of Port Amsel saw that IL-2 in human T cells".split()
    return " ".join(parts[place % len(parts)] for place in range(words))


def all_texts() -> dict[str, str]:
    """Every text by name: those of the folder examples, everyday English, the invented ones and a long one."""
    shown = {f"examples/{file.name}": file.read_text("utf-8") for file in sorted((ROOT / "examples").glob("*.txt"))}
    written = {f"everyday/{name}": text for name, text in everyday().items()}
    return {**shown, **written, **INVENTED, "long sentence": long_sentence()}


FEW = (
    *("coordination", "more coordination", "nested", "nested biomedical", "names", "pronouns", "crossing", "hyphens"),
    *("emoji", "accents", "lines", "empty", "everyday/news", "everyday/clinical note"),
)
"""The texts on which rarer ways of asking are recorded."""


def some_texts() -> dict[str, str]:
    """The texts of :data:`FEW`."""
    texts = all_texts()
    return {name: texts[name] for name in FEW}


def one_long_text() -> str:
    """Everything but the sentence without end in one text, which is annotated in windows."""
    return "\n\n".join(text for name, text in all_texts().items() if name != "long sentence")


def harbour_texts() -> Iterator[tuple[str, str]]:
    """Names and texts near to what the models of the archive have learnt."""
    yield from (
        ("keeper", "The keeper of Port Amsel's lighthouse waved at the crew of the Marigold."),
        ("harbour", "Ilse Varga of Lindau sold the ferry to the Port Amsel Harbour Authority, and its captain left."),
        ("jaw", "No signal was seen in the upper and lower jaw. The nerve or muscle cells of mice were stained."),
        ("crossing", INVENTED["crossing"]),
        ("nested", INVENTED["nested"]),
        ("more coordination", INVENTED["more coordination"]),
        ("emoji", INVENTED["emoji"]),
        ("empty", ""),
    )
