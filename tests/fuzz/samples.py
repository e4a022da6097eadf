"""Invented texts and corpora: a small valid sample in every format."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from hyperspan.corpora import FORMATS, READERS, WRITERS, document_of, write_corpus
from hyperspan.types import Document, Mention, Sentence

TEXTS = (
    "Ada left the zoo of Oz.  The keeper of the zoo saw Ada!\n\nNobody slept.",
    "It is P < 0.05. We have it. These are here (Fig. 1). c-Rel binds the IL-2 promoter in Jurkat T cells.",
    "“Who goes?” asked Dr. Grey. (A) He didn't say. (B) She did, e.g. at 10:30 a.m., for $5.50 … www.example.org!",
    "From: a@b.example\nTo: c@d.example\n\nJohn Smith\tBoston\nJane Roe\tParis\n- one\n- two\n",
    "Das Gebäude der Universität Łódź; 東京タワーは高い。 هذا نص. Ελλάδα! İstanbul’da 👩‍🚀 e\u0301.",
)


def _documents() -> list[Document]:
    zoo = Sentence(
        ["The", "keeper", "of", "the", "Seattle", "zoo", "left", "."],
        [Mention(0, 6, "PER"), Mention(3, 6, "FAC"), Mention(4, 5, "GPE"), Mention(4, 5, "LOC")],
        tags=["DT", "NN", "IN", "DT", "NNP", "NN", "VBD", "."],
    )
    cells = Sentence(
        ["T", "and", "B", "cells", "of", "Łódź"],
        [Mention(2, 4, "cell_type"), Mention(5, 6, "GPE"), Mention(0, 4, "cell_type")],
        tags=["NN", "CC", "NN", "NNS", "IN", "NNP"],
    )
    return [document_of([zoo, cells], id="zoo"), document_of([Sentence(["Why", "?"], (), tags=["WRB", "."])], id="why")]


def _flat() -> list[Document]:
    sentence = Sentence(["Ada", "met", "Bob"], [Mention(0, 1, "PER"), Mention(2, 3, "PER")], tags=["NNP", "VBD", "NNP"])
    return [document_of([sentence], id="flat")]


GENIA_XML = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE set SYSTEM "gpml.dtd">
<set><import resource="x.daml" prefix="G"></import>
<article><articleinfo><bibliomisc>MEDLINE:1</bibliomisc></articleinfo>
<title><sentence>A title of <cons lex="x" sem="G#protein_molecule">FOO</cons>.</sentence></title>
<abstract><sentence>The <cons lex="g" sem="G#DNA_domain_or_region"><cons lex="f" sem="G#protein_N/A">FOO</cons> gene</cons> &amp; more.</sentence>
<sentence><cons lex="(AND a b)" sem="(AND G#cell_type G#cell_type)"><cons lex="t*">T</cons> and <cons lex="b*">B</cons> <cons lex="*c">cells</cons></cons> rest.</sentence>
</abstract></article></set>
"""
SGM = """<DOC>
<DOCID> zoo </DOCID>
<BODY><TEXT>
Ada of Oz &amp; Bob slept.
</TEXT></BODY>
</DOC>
"""
APF = """<?xml version="1.0"?>
<!DOCTYPE source_file SYSTEM "apf.v5.1.1.dtd">
<source_file URI="zoo.sgm" SOURCE="newswire" TYPE="text">
<document DOCID="zoo">
<entity ID="E1" TYPE="PER" SUBTYPE="Individual" CLASS="SPC"><entity_mention ID="E1-1" TYPE="NAM">
<extent><charseq START="8" END="16">Ada of Oz</charseq></extent><head><charseq START="8" END="10">Ada</charseq></head>
</entity_mention></entity>
<entity ID="E2" TYPE="GPE"><entity_mention ID="E2-1" TYPE="NAM">
<extent><charseq START="15" END="16">Oz</charseq></extent></entity_mention></entity>
</document>
</source_file>
"""
BRAT = {
    "zoo.txt": b"T and B cells of Oz",
    "zoo.ann": b"T1\tCell 0 1;8 13\tT cells\nT2\tPlace 17 19\tOz\n#1\tNote T1 x\n",
}
JSON = {
    "jsonl": '{"format": "hyperspan", "version": 1, "id": "zoo", "text": "the 🦁 zoo", "mentions": [{"start": 0, "end": 9, '
    '"label": "FAC", "text": "the 🦁 zoo", "probability": 0.5, "fragments": [[0, 3], [6, 9]], "head": [6, 9], "id": "m"}], '
    '"sentences": [{"tokens": [[0, 3], [4, 5, "lion"], [6, 9]], "tags": ["DT", "X", "NN"], "mentions": [{"start": 0, '
    '"end": 3, "label": "FAC"}], "duplicates": [{"start": 0, "end": 3, "label": "FAC"}]}], "metadata": {"a": [1, null]}}\n',
    "w2ner": '[{"sentence": ["sore", "arms", "and", "legs"], "word": [[0, 1]], "ner": [{"index": [0, 3], "type": "S"}, '
    '{"index": [0, 1], "type": "S"}]}, {"sentence": [], "ner": []}]\n',
    "cnn-ner": '{"tokens": ["the", "zoo"], "doc_id": "d", "sent_id": "d-0", "entity_mentions": [{"start": 0, "end": 2, '
    '"entity_type": "FAC", "text": "the zoo"}]}\n{"tokens": ["Why", "?"], "doc_id": "d", "sent_id": "d-1", '
    '"entity_mentions": []}\n',
    "gliner": '[{"tokenized_text": ["the", "Seattle", "zoo"], "ner": [[1, 1, "place"], [0, 2, "facility"]]}]\n',
    "doccano": '{"id": 1, "text": "the 🦁 zoo", "label": [[4, 5, "ANIMAL"], [0, 9, "FAC"]], "Comments": ["why?"]}\n',
    "label-studio": '[{"id": 3, "data": {"title": "zoo", "text": "the 🦁 zoo"}, "annotations": [{"result": [{"id": "r1", '
    '"from_name": "label", "to_name": "text", "type": "labels", "value": {"start": 6, "end": 9, "text": "zoo", "labels": '
    '["FAC", "ORG"]}}, {"from_id": "r1", "to_id": "r1", "type": "relation", "direction": "right"}]}]}]\n',
}
"""Samples with whatever a record can hold, laid out as their writers lay them out."""
MORE: dict[str, list[dict[str, bytes]]] = {
    "genia-xml": [{"corpus.xml": GENIA_XML.encode()}],
    "ace": [{"zoo.sgm": SGM.encode(), "zoo.apf.xml": APF.encode()}],
    "brat": [BRAT],
    "columns": [{"corpus.tsv": b"# source\n1\tAda\tB-PER\tO\n2\tof\tI-PER\tO\n3\tOz\tI-PER\tB-LOC\n\n1\tSo\tO\tO\n"}],
    "prodigy": [
        {
            "corpus.jsonl": b'{"text": "the Seattle zoo", "_input_hash": 7, "tokens": [{"text": "the", "start": 0, "end": 3, "id": 0, '
            b'"ws": true}], "spans": [{"start": 4, "end": 11, "token_start": 1, "token_end": 1, "label": "GPE"}, {"start": 0, '
            b'"end": 15, "label": "FAC"}], "_view_id": "spans_manual", "answer": "accept", "meta": {"source": "news"}}\n'
            b'{"text": "Why?", "spans": [{"start": 0, "end": 3, "label": "GPE"}], "_view_id": "ner", "answer": "reject"}\n'
            b'{"text": "Why?", "answer": "ignore"}\n'
        }
    ],
    "strings": [
        {
            "corpus.json": b'[{"text": "Ada saw Oz. Ada left.", "entities": {"PER": ["Ada"], "GPE": ["oz", "Rome"]}, "model": "x"}]'
        },
        {
            "corpus.jsonl": b'{"id": 3, "sentence": "Ada saw Oz. Ada left.", "mentions": [{"entity": "Ada", "type": "PER", '
            b'"occurrence": 2}, {"start": 8, "end": 10, "label": "GPE", "score": 0.5}]}\n{"text": "Why?", "entities": []}\n'
        },
    ],
    "table": [
        {
            "corpus.csv": b'\xef\xbb\xbfid,text,start,end,label\r\n7,"Ada, of Oz.",0,3,PER\r\n7,"Ada, of Oz.",8,10,GPE\r\n8,Why?,,,\r\n'
        },
        {"corpus.tsv": b"sentence\tmention\ttype\nAda left Oz.\tAda\tPER\n\tOz\tGPE\n"},
        {"corpus.csv": b'text;entities\nAda left Oz.;"[(0, 3, \'PER\')]"\n"Oz\n";"{""GPE"": [""Oz""]}"\n'},
    ],
    "cnn-ner": [  # as SpERT has it
        {"corpus.json": b'[{"tokens": ["Ada", "slept"], "entities": [{"type": "PER", "start": 0, "end": 1}]}]'}
    ],
}


def written(documents: list[Document], name: str) -> dict[str, bytes]:
    """The files of documents in a format, by name."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / ("corpus" if name == "brat" else f"corpus{FORMATS[name].suffixes[0]}")
        write_corpus(documents, target, name, lossy="outermost")
        files = sorted(target.iterdir()) if target.is_dir() else [target]
        return {file.name: file.read_bytes() for file in files}


@functools.cache
def corpora(name: str) -> list[dict[str, bytes]]:
    """Samples in a format, each as its files."""
    made = [written(documents, name) for documents in (_documents(), _flat())] if name in WRITERS else []
    rich = [{f"corpus{FORMATS[name].suffixes[0]}": JSON[name].encode()}] if name in JSON else []
    return made + rich + MORE.get(name, [])


@functools.cache
def every_corpus() -> list[dict[str, bytes]]:
    return [sample for name in READERS for sample in corpora(name)]


TOKENS: dict[str, tuple[bytes, ...]] = {
    "columns": (*b"B- I- E- S- L-PER U- O _".split(), b"\t", b"\n\n", b"-DOCSTART- -X- O O", b"# ", b" "),
    "json": (
        *rb'" { } [ ] , : \u \ud800 null true 1e999 NaN -1 "" "text" "label" "start" "end" "ner"'.split(),
        *(b"\n", b'"sentences"', b'"tokens"', b'{"a":1}'),
    ),
    "xml": (
        *b"< > </ /> & &amp; &#0; &#xD800; &x; <![CDATA[ ]]> <!-- --> <TEXT> </TEXT> <DOC>".split(),
        *b'<sentence> </sentence> <cons </cons> sem="G#DNA" START="0" END="-1" ""'.split(),
        *(b'lex="(AND x y)"', b"<?xml ", b"<charseq ", b"<entity ", b'<!ENTITY a "b">', b"<!DOCTYPE "),
    ),
    "brat": (b"\t", b"T1", b"R1", b";", b" ", b"\n", b"T9\tX 0 1\t", b"#", b"*", b"E1\t", b"A1\tNeg T1", b"-1", b"99"),
    "four-lines": (b"\n", b"\n\n", b"|", b",", b" ", b"0,1 X", b"0,1,0,1 X", b"_", b"-1", b"99", b"\t"),
    "table": (
        b",",
        b";",
        b"\t",
        b"\n",
        b'"',
        b'""',
        b"\r\n",
        b"text",
        b"label",
        b"start",
        b"-1",
        b"99",
        b"[(0, 1, 'X')]",
        b"{",
        b"\xff",
    ),
    "text": (b"\n", b"\n\n", b"\t", b" ", b"|", b"/", b"0 1 X", b"-1", b"99", b"\xff"),
    "docbin": (*b"\xff \x00 \x80 \x9f \xdf \xc0 \xa5spans \xa6tokens \xa7strings".split(b" "), b"x\x9c"),
}
_FAMILY = {
    **dict.fromkeys(("jsonl", "w2ner", "cnn-ner", "gliner", "doccano", "label-studio", "prodigy", "strings"), "json"),
    **dict.fromkeys(("genia-xml", "ace"), "xml"),
    **dict.fromkeys(("conll2003", "columns"), "columns"),
}


def family(name: str) -> str:
    """Which tokens a format is made of."""
    return _FAMILY.get(name, name if name in TOKENS else "text")
