"""A mistake in a command line: status 2, one sentence that says what to do, nothing else, and no file touched."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from hyperspan.corpora import write_corpus
from hyperspan.corpora.examples import example_path
from hyperspan.nn import save_model
from hyperspan.types import Document, Mention
from tests.support.coordination import TEXT as COORDINATED
from tests.support.coordination import coordination_model
from tests.support.models import small_model
from tests.support.process import call

ADA = Mention(0, 3, "PER")
CORPORA = {
    "one.jsonl": [Document("Ada left Oz. Ben stayed.", [ADA])],
    "none.jsonl": [Document("Ada left Oz. Ben stayed.")],
    "gold.jsonl": [Document("Ada left.", [ADA]), Document("Ben met Oz.", [ADA, Mention(8, 10, "ORG")])],
    "predicted.jsonl": [Document("Ada left.", [ADA]), Document("Ben met Oz.", [ADA])],
}
FILES = {
    "a.txt": b"Ada",
    "texts/one.txt": b"Ada left.",
    "table.csv": b"note\nAda\n",
    "latin.txt": b"Zo\xeb left",
    "paper.txt": b"%PDF-1.7\n",
    "paper.pdf": b"%PDF-1.7\n",
    "letter.docx": b"PK\x03\x04",
    "images/scan.txt": b"\x89PNG\r\n",
    "nul.md": b"a\0b",
    "page.html": b"<p>Ada left.</p>",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with texts, corpora and models, in which commands are called."""
    folder = tmp_path_factory.mktemp("place")
    for name in ("texts", "images", "folder.jsonl"):
        (folder / name).mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "b.txt").symlink_to("a.txt")
    for name, documents in CORPORA.items():
        write_corpus(documents, folder / name)
    (folder / "mine.data").write_bytes(example_path("harbour").read_bytes())
    save_model(small_model(), folder / "small")
    save_model(coordination_model(), folder / "parted")
    return folder


def contents(folder: Path) -> dict[Path, bytes]:
    return {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def parts(written: str) -> str:
    """A line that requires a mention of these parts."""
    return f"annotate '{COORDINATED}' -m parted --require {written}:ORGAN"


IN_ORDER = "but they must be in order, apart from each other, and begin"
DRAW = "draw 'Israeli UN Ambassador Danny'"
SCORE = "evaluate gold.jsonl -p predicted.jsonl"
FEW = "'Ada left Oz.' -m small"
REFUSED = {
    "nonsense": "No such command 'nonsense'; see hyperspan --help",
    # as other tools have it
    "predict a.txt --model_name_or_path small": "No such command 'predict'; write: hyperspan annotate a.txt --model small",
    "ner 'Ada left.'": "write: hyperspan annotate 'Ada left.'",
    "test gold.jsonl": "write: hyperspan evaluate gold.jsonl",
    "split gold.jsonl parts": "write: hyperspan convert --fractions 80/10/10 gold.jsonl parts",
    "download en_core_web_sm": "write: hyperspan info en_core_web_sm",
    "annotate a.txt --model-path small --overwrite": "No such option: --model-path; write: hyperspan annotate a.txt --model small --force",
    "annotate --text a.txt --types A,B": "write: hyperspan annotate a.txt --labels A,B",
    "train a.toml --batch-size 8 --gpu-id=0": "write: hyperspan train a.toml --set training.batch_size=8 --device 0",
    "train a.toml --lr=0.1": "write: hyperspan train a.toml --set training.learning_rate=0.1",
    "annotate a.txt --batch-size 8": "No such option: --batch-size; see hyperspan annotate --help",
    "view gold.jsonl --colour": "see hyperspan view --help",
    "train genia": "genia is a model; write: hyperspan train mine.toml --start genia",
    "curve genia": "genia is a model; write: hyperspan curve mine.toml --start genia",
    "init genia": "genia is a model; write: hyperspan train mine.toml --start genia",
    "view genia": "genia is a model; write: hyperspan info genia",
    "convert genia new.jsonl": "genia is a model; write: hyperspan info genia",
    "models": "No such command 'models'; write: hyperspan info",
    "bulk genia a.txt -o new": "genia is a model; write: hyperspan bulk a.txt --model genia",
    "suggest genia a.txt": "genia is a model; write: hyperspan suggest a.txt --model genia",
    "model calibrate genia -m x": "genia is a model; write: hyperspan model calibrate test.data --model genia",
    # what is annotated, and how
    "annotate missing.txt -m small": "missing.txt does not exist",
    "annotate missing.jsonl.gz -m small": "does not exist",
    "annotate nosuchdir/ -m small": "nosuchdir/ does not exist",
    "annotate no/such/place -m small": "no/such/place does not exist",
    "annotate Ada -m small --from brat": "does not exist",
    "annotate Ada -m small --labels gene": "'gene' is not among those of the model; it knows person, place",
    "annotate Ada -m small --threshold 2": "must be a probability",
    "annotate Ada -m small --threshold gene=0.5": "'gene' is not among",
    "annotate Ada -m small --threshold high": "the threshold 'high' is not a probability",
    "annotate Ada -m small --threshold 0.5 --threshold 0.3": "two thresholds for the labels that are not named; give",
    "annotate Ada -m small --threshold place=0.5 --threshold place=0.3": "two thresholds for the label 'place'; give",
    "annotate Ada -m small --option lossy=outermost": "--option lossy is for formats of corpora that have options",
    f"annotate {FEW} --threshold 0.001 -f conll2003": "which to keep with --lossy outermost or",
    f"annotate {FEW} --forbid Oz": "--forbid 'Oz' is not START:END:LABEL",
    "annotate texts a.txt -m small --require 0:3:person": "so give one text, not several or none",
    "annotate Ada -m small -f brat": "name one with --output",
    "annotate Ada -m small -f nonsense": "there is no format 'nonsense'",
    "annotate Ada -m small -o nonsense": "(.html for a page), or name its format with --format",
    "annotate Ada -m small --device abacus": "there is no device 'abacus'; choose cpu, cuda, cuda:1",
    "annotate Ada -m nonsense": "there is no model 'nonsense'",
    "annotate Ada -m .": "holds no model",
    "annotate Ada -m small --top-k -1": "--top-k",
    "annotate Ada left Oz -m small": "several arguments must be files, folders or -",
    "annotate small": "small is a model; write: hyperspan annotate report.txt --model small",
    "suggest small": "small is a model; write: hyperspan suggest texts.jsonl --model small",
    "label small -o new.jsonl": "small is a model; write: hyperspan label texts.jsonl --output labelled.jsonl --model small",
    "annotate small a.txt": "small is a model; write: hyperspan annotate a.txt --model small",
    "annotate table.csv -m small": "table.csv has no column 'text'; name the one with the texts with --column; its columns are, by its first row, note",
    "annotate latin.txt -m small": "latin.txt is not UTF-8 text",
    "annotate paper.txt -m small": "paper.txt is no text but a PDF; save its text as UTF-8 first, for example with pdf",
    "annotate letter.docx -m small": "letter.docx is no text but an office document; save its text as",
    "annotate images -m small -f jsonl": "scan.txt is no text but an image; save its text",
    "annotate nul.md -m small": "nul.md is no text but binary (it has NUL bytes); give a file of text",
    "annotate page.html -m small": "page.html is no text but HTML",
    "annotate Ada -m small --json -f html": "--json is short for --format jsonl, but --format html is given; leave one",
    # parts of discontinuous mentions
    parts("19:28,4:8"): f"has fragments ((19, 28), (4, 8)), {IN_ORDER}",
    parts("4:8,900:910"): "to require reaches beyond the text, which has 105 characters",
    parts("4:8,20:28"): "does not begin and end with words in its part 20:28; whole words there are at 19:28",
    parts("4:8,49:54"): "has a gap of 7 words, and this model finds gaps of up to 3; choose parts with a narrower gap",
    parts("4:8,72:75"): "begins in one sentence and ends in another",
    parts("4:8,"): "is not START:END:LABEL; write for example 0:3:PER for the first three characters, or 0:1,3:4:PER",
    # an output is what its name says, and never an input
    "annotate texts -m small -o out/ -f html": "out/ is a folder, but html is written to one file; name a file",
    "annotate texts -m small -o texts -f conll2003": "texts is a folder, but conll2003 is written to one file; name a",
    "annotate texts -m small -o out/": "annotate many files into one with --format brat, or with: hyperspan bulk INPUT",
    "annotate texts -m small -o texts -f jsonl": "texts is a folder; annotate many files into one with --format brat, or with: hyperspan bulk",
    "annotate texts -m small -o out -f parquet": "Parquet is written by hyperspan bulk, into a folder of shards; choose",
    "annotate texts -m small -o out.parquet": "Parquet is written by hyperspan bulk, into a folder of shards; choose another",
    "annotate texts -m small --column note": "--column and --id-column are for tables (CSV, TSV), and texts is none; leave them out",
    "annotate texts -m small -o a.ann": "a.ann is the name of a file, but brat is a folder of .txt and .ann files; let it end in /",
    "annotate texts -m small -o a.html -f brat": "a.html is the name of a file, but brat is a folder",
    "annotate texts -m small -o all.html -f jsonl": "all.html ends in .html, but jsonl would be written there; let it end in .jsonl",
    "annotate texts -m small -o o1.jsonl -f html": "o1.jsonl ends in .jsonl, but html would be written there; let it end in .html",
    "annotate texts -m small -o out.docx -f jsonl": "out.docx ends in .docx, but jsonl would be written there",
    "annotate texts -m small -o out.csv -f jsonl": "out.csv ends in .csv, but jsonl would be written there",
    "annotate texts -m small -o OUT.CSV.gz -f jsonl": "OUT.CSV.gz ends in .csv, but jsonl would be written there",
    "annotate texts -m small -o a.xml -f terminal": "a.xml ends in .xml, but terminal would be written there; let it end in .txt",
    "annotate texts -m small -o texts/one.txt --force": "texts/one.txt is also read, as texts, and is not overwritten; name another",
    "annotate texts -m small -o texts/ -f brat --force": "texts/ is also read, as texts, and is not overwritten; name another",
    "annotate a.txt -o a.txt --force": "a.txt is also read, as a.txt, and is not overwritten; name another --output",
    "annotate a.txt -o b.txt --force": "b.txt is also read, as a.txt, and is not overwritten; name another --output",
    "annotate a.txt -f brat -o ./ --force": "./ is also read, as a.txt, and is not overwritten; name another",
    # bulk
    "bulk -m small a.txt": "Missing option '--output' / '-o'; see hyperspan bulk --help",
    "bulk -m small a.txt -o -": "a bulk job writes a folder of shards, which standard output cannot be; name one",
    "bulk -m small a.txt b.txt -o a.html": "a.html is the name of a file, but a bulk job writes a folder of shards",
    "bulk -m small a.txt -o a.parquet -f parquet": "a.parquet is the name of a file, but a bulk job writes",
    "bulk -m small -o found/": "Missing argument 'INPUT...'; see hyperspan bulk --help",
    "bulk -m small - -o found/": "which standard input cannot be; name files or folders",
    "bulk -m small a.txt -o found/ --ray-address auto": "an address is for the engine ray",
    "bulk -m small a.txt -o found/ --engine abacus": "--engine is 'abacus', but must be one of plain, ray",
    "bulk -m small a.txt -o found/ --from brat": "--from is 'brat', but must be one of jsonl, parquet, csv",
    "bulk -m small a.txt b.txt -o found/ -f html": "--format is 'html', but must be one of jsonl, parquet",
    "bulk -m small a.txt -o found/ --labels gene": "the label 'gene' is not among those of the model",
    "bulk -m small a.txt paper.pdf -o found/": "paper.pdf is no text but a PDF; save its text as UTF-8 first",
    "bulk -m small missing.txt -o found/": "missing.txt does not exist",
    "bulk -m small a.txt -o found/ --shard-megabytes 0": "--shard-megabytes is 0; give a number above 0",
    "bulk -m small a.txt -o found/ --shard-megabytes nan": "--shard-megabytes is nan; give a number above 0",
    "bulk -m small table.csv -o found/": "table.csv has no column 'text'",  # seen while planning, in a folder that is new
    "bulk -m small nonsense:// -o found/": "nonsense:/// cannot be opened",
    "bulk -m small a.txt -o a.txt/": "a.txt/ is also read, as a.txt, and is not overwritten; name another --output",
    "bulk -m small a.txt -o c.txt/": "c.txt/ ends in .txt, but a folder with jsonl would be written; name a folder",
    "bulk -m small a.txt -o f.conll/": "f.conll/ ends in .conll, but a folder with jsonl would be written; name a",
    # corpora
    "convert mine.data flat.conll": "conll2003 cannot hold",
    "convert mine.data one.jsonl": "one.jsonl exists; choose another name or overwrite it with --force",
    "view mine.data --json": "add --stats",
    "convert mine.data x.ann": "x.ann is the name of a file, but brat is a folder of .txt and .ann files; let it end in /",
    "convert mine.data x.jsonl -f brat": "x.jsonl is the name of a file, but brat is a folder",
    "convert mine.data x.unknown": "the name x.unknown does not say",
    "convert mine.data - --format jsonl --option repair": "not NAME=VALUE",
    "convert mine.data x --fractions 80/10/20": "80/10/20 add up to 110 percent",
    "convert mine.data x --fractions 80-20": "is not TRAIN/DEV/TEST",
    "convert mine.data x --fractions 0/50/50": "nothing to train on",
    "convert mine.data x --fractions 80/10/10 -f ace": "cannot be written; choose one of",
    "convert mine.data x --fractions 80/10/10 --group-by novel": "no record has the metadata 'novel'",
    "convert mine.data x --fractions 80/10/10 --by file": "--by sentence",
    "convert mine.data x --fractions 80/10/10 -f conll2003": "--lossy",
    "convert mine.data - --fractions 80/10/10": "name a folder",
    "convert mine.data x.jsonl --by sentence": "add --fractions 80/10/10",
    "init": "init needs a corpus, but none is given; name a file or a folder of annotated text, or try --example",
    "init --example lost": "there is no example lost; choose one of lost-property, chinese, coordination, harbour",
    "init missing.jsonl": "does not exist",
    "init -": "name a file",
    "init none.jsonl": "no mentions",
    "init one.jsonl": "--by sentence",
    "init one.jsonl --test one.jsonl": "without --dev",
    # scores
    "evaluate": "Missing argument 'DATA...'; see hyperspan evaluate --help",
    "evaluate gold.jsonl": "it is not clear what to score; give either a model with --model, or --predictions FILE",
    "evaluate gold.jsonl -m small -p predicted.jsonl": "it is not clear what to score",
    "evaluate - -p -": "standard input is given more than once",
    "evaluate genia gold.jsonl": "genia is a model; write: hyperspan evaluate gold.jsonl --model genia",
    "evaluate gold.jsonl -p small": "small is a model; write: hyperspan evaluate gold.jsonl --model small",
    "evaluate small": "small is a model; write: hyperspan evaluate test.data --model small",
    f"{SCORE} --threshold 0.5": "--threshold is for a model",
    f"{SCORE} --names": "--names is for a model",
    f"{SCORE} --no-pronouns": "--no-pronouns is for a model",
    f"{SCORE} -o x.jsonl": "--output is for a model",
    f"{SCORE} --samples many": "must be a whole number",
    f"{SCORE} --labels PRE,ORG": "--labels names PRE, but the labels of",
    f"{SCORE} --plot none.png": "carry no probabilities",
    "evaluate gold.jsonl -p nowhere.data": "nowhere.data does not exist",
    "evaluate gold.jsonl -p one.jsonl": "gold and predictions differ at character 8 of document 1: '.' in gold",
    "evaluate gold.jsonl -m no-such-model": "there is no model 'no-such-model'",
    "evaluate gold.jsonl -m predicted.jsonl": "to score what a file predicts, use --predictions predicted.jsonl",
    "evaluate gold.jsonl -m no-such-model -o x.unknown": "x.unknown does not say its format",
    "evaluate gold.jsonl -m no-such-model -o predicted.jsonl": "predicted.jsonl exists",
    "evaluate gold.jsonl -m no-such-model --errors x.pdf": "--errors x.pdf is neither a page nor JSON Lines",
    "evaluate gold.jsonl -m small --output folder.jsonl --force": "folder.jsonl is a directory; name a file to write",
    f"{SCORE} --plot texts --force": "texts is a directory; name a file to write",
    "compare predicted.jsonl gold.jsonl --errors e.html": "--errors are those of systems, which a gold corpus shows; name",
    "compare - - --gold gold.jsonl": "standard input is given more than once",
    "compare predicted.jsonl genia --gold gold.jsonl": "genia is a model, but files of predictions are compared",
    "compare predicted.jsonl nowhere.data --gold gold.jsonl": "nowhere.data does not exist",
    # models
    "train nonsense": "nonsense is not a file; name a TOML file",
    "model weights -m genia": "the model is neural",
    "model weights -m nowhere": "there is no model 'nowhere'",
    "info x": "no model 'x'",
    "info texts": "no vocabulary.json",
    "model calibrate mine.data -m genia": "genia is a bundled model",
    "model profile mine.data -m small": "--output",
    "model profile mine.data -m litbank --force": "--output",
    "label a.txt -m small -o d.jsonl --by luck": "--by is 'luck', but must be one of uncertainty, order",
    "suggest nowhere.txt -m genia": "nowhere.txt does not exist",
    "suggest 'Ada left.' -m nowhere": "nowhere",
    "suggest 'Ada left.' -m genia -n 0": "--count is 0, but must be at least 1",
    "annotate Ada -m small --top-k x": "--top-k is 'x', but must be a whole number",
    "bulk a -o b --shard-megabytes x": "--shard-megabytes is 'x', but must be a number",
    "annotate Ada --dtype float64": "--dtype is 'float64', but must be one of float32, bfloat16",
    "serve --model gena": "there is no model 'gena'",
    "serve --limit words=5": "there is no limit 'words'; choose one of body_bytes",
    "serve --limit texts=many": "the limit 'texts=many' is not a number; write for example texts=1000",
    "serve --limit texts=0": "the limit max_texts is 0; it must be at least 1",
    "serve --port x": "--port",
    "serve --allow-host Models.example.org:80": "give it in lower case and without a port",
    "label a.txt -m small -o d.jsonl --dev x.jsonl": "add --train-every",
    "label a.txt -m small -o d.html": "d.html does not end in .jsonl, but JSON Lines are written there; name it d.jsonl",
    # names on request, of a model that does not mark them
    "annotate Ada -m small --names": "this model does not mark names",
    "bulk a.txt -m small -o out --names": "this model does not mark names",
    "evaluate gold.jsonl -m small --names": "this model does not mark names",
    # pictures
    f"{DRAW} --mention 0:9:PER": "mention 0:9:PER ends after the sentence, which has 4 words",
    f"{DRAW} --mention 0:3:PER --labels ORG,LOC": "'PER', which is not among the types ORG, LOC",
    f"{DRAW} --mention 0:PER": "'0:PER' is not START:END:LABEL",
    f"{DRAW} --mention 0:{'1' * 5000}:PER": "is not START:END:LABEL",
    f"{DRAW} --mention 3:1:PER": "0 <= start < end is needed",
    f"{DRAW} --mention 0:4:PER -c 3": "more than the maximal width 3",
    f"{DRAW} --labels PER -c 0": "must be at least 1 word",
    f"{DRAW} --labels PER -c many": "--max-width is 'many', but must be a whole number",
    f"{DRAW} --labels PER,PER": "contain a duplicate",
    DRAW: "there are no mention types",
    "draw '' --labels PER": "the sentence is empty",
    f"{DRAW} --labels PER -o nowhere/at/all.svg": "is not a directory",
    f"{DRAW} --labels PER -o .": "is a directory",
    f"{DRAW} --labels PER -o a.jpg": "a.jpg cannot be drawn; let its name end in .svg, .png or .pdf",
    f"{DRAW} --labels PER -o {'x' * 300}.svg": "File name too long",
    "draw": "Missing argument 'SENTENCE'",
}


@pytest.mark.parametrize("command", sorted({line.partition(" ")[0] for line in REFUSED}))
def test_a_mistake_gets_one_sentence(command: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hyperspan.serve.run.log_to_standard_error", lambda: None)  # which would outlive the command
    before = contents(place)
    for line, sentence in REFUSED.items():
        if line.partition(" ")[0] == command:
            result = call(*shlex.split(line), cwd=place)
            assert (result.returncode, result.stdout) == (2, ""), line
            assert sentence in result.stderr and result.stderr.count("\n") == 1, f"{line}: {result.stderr}"
            assert result.stderr.startswith("hyperspan: ") and contents(place) == before, line
