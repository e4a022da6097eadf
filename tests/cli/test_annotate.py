"""`hyperspan annotate` as a user drives it."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hyperspan.config import Config
from hyperspan.corpora import Problems, read_corpus
from hyperspan.corpora.examples import example_path
from hyperspan.corpora.inputs import read_inputs
from hyperspan.corpora.outputs import choose_output
from hyperspan.nn import new_model, save_model
from hyperspan.runtime.cards import ModelCard
from hyperspan.runtime.folders import folder_of
from hyperspan.types import Document, Mention, Sentence
from tests.support.coordination import LEFT, ROD
from tests.support.coordination import TEXT as COORDINATED
from tests.support.models import TEXT, small_model
from tests.support.process import call as hyperspan

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_discontinuous_mentions_are_shown_and_written_with_their_parts(parted_folder: Path) -> None:
    shown = hyperspan("annotate", COORDINATED, "--model", parted_folder).stdout
    assert any(line.startswith("    ╰──╯┄┄┄┄┄┄┄┄┄┄┄╰───────╯ORGAN ") for line in shown.split("\n"))
    written = json.loads(hyperspan("annotate", COORDINATED, "--model", parted_folder, "--format", "jsonl").stdout)
    assert [m["fragments"] for m in written["mentions"] if "fragments" in m] == [LEFT["fragments"], ROD["fragments"]]
    table = hyperspan("annotate", COORDINATED, "--model", parted_folder, "--format", "tsv", "--threshold", "0.5").stdout
    assert "\tfragments\n" in table and "\t4:8 19:28\n" in table
    forbidden = hyperspan(
        "annotate", COORDINATED, "--model", parted_folder, "--forbid", "4:8,19:28:ORGAN", "--format", "tsv"
    )
    assert "\t4:8 19:28\n" not in forbidden.stdout and "\t72:75 85:90\n" in forbidden.stdout
    ranked = hyperspan("annotate", COORDINATED, "--model", parted_folder, "--top-k", "2").stdout
    assert "left … ventricle [ORGAN]" in ranked


def test_a_text_is_shown_with_bars_and_probabilities(small_folder: Path) -> None:
    result = hyperspan("annotate", "Ada left the zoo of Oz.", "--model", small_folder)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.rstrip("\n").split("\n")
    assert lines[0] == "Ada left the zoo of Oz." and lines[1].startswith("╰─╯person ")
    assert sum("place " in line for line in lines) == 3


def test_alternatives_are_listed_below(small_folder: Path) -> None:
    shown = hyperspan("annotate", "Nobody slept.", "--model", small_folder, "--top-k", "3").stdout.split("\n")
    assert shown[0] == "Nobody slept." and shown[1].endswith("no mentions")
    assert shown[2].endswith("]")  # Nobody [person]
    assert len(shown) == 6 and 0 < float(shown[2].split()[0]) < float(shown[1].split()[0])


def test_a_text_file_is_one_document_with_offsets_of_the_whole_file(small_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "tale.txt").write_text(TEXT * 3, encoding="utf-8")
    packed = gzip.compress((TEXT * 3).encode())
    (tmp_path / "packed.txt.gz").write_bytes(packed)
    for name, identifier in (("tale.txt", "tale"), ("packed.txt.gz", "packed")):
        result = hyperspan("annotate", name, "-m", small_folder, "-f", "jsonl", "--labels", "person", cwd=tmp_path)
        assert (result.returncode, result.stderr) == (0, "")
        [record] = map(json.loads, result.stdout.splitlines())
        assert (record["id"], record["text"]) == (identifier, TEXT * 3)
        assert {mention["label"] for mention in record["mentions"]} == {"person"}
        assert all(record["text"][m["start"] : m["end"]] == m["text"] for m in record["mentions"])


def test_standard_input_is_text_or_documents(small_folder: Path) -> None:
    named, unnamed = (
        hyperspan("annotate", *dash, "-m", small_folder, "-f", "jsonl", stdin=TEXT) for dash in (["-"], [])
    )
    assert named.stdout == unnamed.stdout and json.loads(named.stdout)["text"] == TEXT
    again = hyperspan("annotate", "-m", small_folder, "-f", "jsonl", stdin=named.stdout)
    assert json.loads(again.stdout) == json.loads(named.stdout)


def test_a_corpus_keeps_its_sentences_and_words(small_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "gold.data").write_text("the zoo 's keeper\nDT NN POS NN\n0,2 wrong\n\nAda\nNNP\n\n", encoding="utf-8")
    for arguments in (["gold.data"], ["gold.data", "--from", "four-lines"]):
        result = hyperspan("annotate", *arguments, "-m", small_folder, "-o", "new.jsonl", "--force", cwd=tmp_path)
        assert result.returncode == 0 and "as jsonl to new.jsonl" in result.stderr and result.stdout == ""
        first, second = (part for document in read_corpus(tmp_path / "new.jsonl") for part in document.sentences)
        assert (first.tokens, second.tokens) == (("the", "zoo", "'s", "keeper"), ("Ada",))
        assert first.tags == ("DT", "NN", "POS", "NN")
        assert {mention.label for mention in first.mentions | second.mentions} <= {"person", "place"}
        assert [(mention.label, mention.probability is None) for mention in second.mentions] == [("person", False)]


def test_missing_tags_are_told_of_where_they_are_missing(tmp_path: Path) -> None:
    tagged = "Ada left Oz\nNNP VBD NNP\n0,1 person\n\n"
    (tmp_path / "gold.data").write_text(tagged, encoding="utf-8")
    (tmp_path / "bare.jsonl").write_text('{"text": "Ada left Oz", "mentions": []}\n', encoding="utf-8")
    sentence = Sentence(["Ada", "left", "Oz"], [Mention(0, 1, "person")], tags=["NNP", "VBD", "NNP"])
    config = Config.from_mapping(
        {"encoder": {"hidden": 4, "span_hidden": 4}, "words": {"dimension": 4, "tag_dimension": 2}}
    )
    save_model(new_model(config, [sentence]), tmp_path / "model")
    told = "trained with part-of-speech tags, which {}; expect it to find less"
    for given, lack in (
        (["gold.data", "bare.jsonl", "bare.jsonl"], "2 documents lack"),
        (["Ada left."], "1 document lacks"),
    ):
        result = hyperspan("annotate", *given, "-m", "model", "-f", "jsonl", cwd=tmp_path)
        assert result.returncode == 0 and result.stderr.count(told.format(lack)) == 1, result.stderr
    tagged_alone = hyperspan("annotate", "gold.data", "-m", "model", "-f", "jsonl", cwd=tmp_path)
    assert tagged_alone.returncode == 0 and "tags" not in tagged_alone.stderr
    bulk = hyperspan("bulk", "bare.jsonl", "-m", "model", "-o", "found/", cwd=tmp_path)
    assert told.format("1 document lacks") in bulk.stderr
    for given, told in (("gold.data", ""), ("bare.jsonl", "hyperspan: 1 × sentence without the part-of-speech tags")):
        scored = hyperspan("evaluate", given, "-m", "model", cwd=tmp_path)
        assert scored.returncode == 0 and scored.stderr.startswith(told) and bool(scored.stderr) == bool(told)


def test_a_folder_of_texts_becomes_a_folder_of_brat(small_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for name in ("one", "two"):
        (tmp_path / "texts" / f"{name}.txt").write_text(f"Ada left {name}.", encoding="utf-8")
    result = hyperspan("annotate", "texts", "-m", small_folder, "-f", "brat", "-o", "found", cwd=tmp_path)
    assert result.returncode == 0
    assert sorted(file.name for file in (tmp_path / "found").iterdir()) == ["one.ann", "one.txt", "two.ann", "two.txt"]
    assert "T1\tperson 0 3\tAda\n" in (tmp_path / "found" / "one.ann").read_text(encoding="utf-8")


def test_pages_and_what_the_name_of_the_output_says(small_folder: Path, tmp_path: Path) -> None:
    first = hyperspan("annotate", TEXT, "-m", small_folder, "-o", "page.html", "--threshold", "0.1", cwd=tmp_path)
    assert first.returncode == 0 and "mentions as html to page.html" in first.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and page.endswith("</html>\n") and "person" in page
    assert "every mention at least this probable: 0.1; hyperspan " in page
    assert hyperspan("annotate", TEXT, "-m", small_folder, "-f", "html", "--threshold", "0.1").stdout == page
    again = hyperspan("annotate", "Ada", "-m", small_folder, "-o", "page.html", cwd=tmp_path)
    assert again.returncode == 2 and "--force" in again.stderr
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert hyperspan("annotate", "Ada", "-m", small_folder, "-o", "bars.txt", cwd=tmp_path).returncode == 0
    assert (tmp_path / "bars.txt").read_text(encoding="utf-8").startswith("Ada\n╰─╯person")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bars.txt", "page.html"]


def test_several_texts_become_one_page_or_one_file(small_folder: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.txt").write_text(f"Ada left {name}.", encoding="utf-8")
    (tmp_path / "three.jsonl").write_text('{"text": "Ada left Oz."}\n', encoding="utf-8")
    page = hyperspan(
        "annotate", "one.txt", "two.txt", "three.jsonl", "-m", small_folder, "-o", "all.html", cwd=tmp_path
    )
    assert page.returncode == 0 and "as html to all.html" in page.stderr
    written = (tmp_path / "all.html").read_text(encoding="utf-8")
    assert written.startswith("<!doctype html>") and written.count("</html>") == 1
    assert all(word in written for word in (">one<", ">two<"))
    lines = hyperspan("annotate", "one.txt", "two.txt", "-m", small_folder, "-f", "jsonl", cwd=tmp_path)
    assert [json.loads(line)["id"] for line in lines.stdout.splitlines()] == ["one", "two"]
    shown = hyperspan("annotate", "one.txt", "two.txt", "-m", small_folder, cwd=tmp_path)
    assert shown.returncode == 0 and "Ada left one." in shown.stdout and "Ada left two." in shown.stdout


@pytest.mark.parametrize(
    ("output", "format_name"),
    [
        ("a.json", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.jsonl.gz", "gliner"),
        ("a.txt", "columns"),
        ("a.out", "html"),
        ("v1.2", "jsonl"),
        ("a.md", "terminal"),
        ("a.spacy", "docbin"),
    ],
)
def test_an_output_may_have_a_suffix_of_its_format_or_of_none(output: str, format_name: str) -> None:
    assert choose_output(output, format_name) == format_name


def test_tables_of_texts(small_folder: Path, tmp_path: Path) -> None:
    table = 'id,note,ward\n7,"Ada left,\nthe keeper saw Ada.",B\n8,Nobody slept.,C\n'
    (tmp_path / "notes.csv").write_text(table, encoding="utf-8")
    (tmp_path / "notes.tsv").write_text("id\ttext\tward\n7\tAda left Oz.\tB\n", encoding="utf-8")
    (tmp_path / "corpus.tsv").write_text("Ada\tB-person\nleft\tO\n\n", encoding="utf-8")

    def records(*arguments: str, stdin: str = "") -> list[dict[str, Any]]:
        result = hyperspan("annotate", *arguments, "-m", small_folder, "-f", "jsonl", cwd=tmp_path, stdin=stdin)
        assert (result.returncode, result.stderr) == (0, ""), result.stderr
        return [json.loads(line) for line in result.stdout.splitlines()]

    first, second = records("notes.csv", "--column", "note")
    assert (first["id"], first["text"], first["metadata"]) == ("7", "Ada left,\nthe keeper saw Ada.", {"ward": "B"})
    assert {mention["text"] for mention in first["mentions"]} >= {"Ada"} and second["text"] == "Nobody slept."
    assert records("--from", "csv", "--column", "note", stdin=table) == [first, second]
    assert records("-", "--column", "note", "--id-column", "ward", stdin=table)[1]["id"] == "C"
    assert [record["text"] for record in records("notes.tsv")] == ["Ada left Oz."]
    assert records("corpus.tsv")[0]["sentences"][0]["tokens"] == [[0, 3], [4, 8]]  # by its name and what it holds
    (tmp_path / "torn.csv").write_text("text,ward\nAda left.,B\nAda\nOz.,C\n", encoding="utf-8")
    torn = hyperspan("annotate", "torn.csv", "-m", small_folder, cwd=tmp_path)
    assert torn.returncode == 2 and "torn.csv:3: the row has 1 fields, but the table 2 columns; correct" in torn.stderr
    rest = hyperspan("annotate", "torn.csv", "-m", small_folder, "-f", "jsonl", "--on-error", "skip", cwd=tmp_path)
    assert rest.returncode == 0 and len(rest.stdout.splitlines()) == 2 and "left out 1 record that" in rest.stderr


def too_long(words: int = 1_200) -> dict[str, Any]:
    """A document with a sentence that no model without a limit takes."""
    tokens = [[4 * word, 4 * word + 3] for word in range(words)]
    return {
        "format": "hyperspan",
        "version": 1,
        "id": "long",
        "text": "Ada " * words,
        "mentions": [],
        "sentences": [{"tokens": tokens, "mentions": []}],
        "metadata": {},
    }


def test_a_document_that_fails_does_not_take_later_ones_along(small_folder: Path, tmp_path: Path) -> None:
    lines = [
        json.dumps({"format": "hyperspan", "version": 1, "id": "a", "text": "Ada left."}),
        json.dumps(too_long()),
        json.dumps({"format": "hyperspan", "version": 1, "id": "b", "text": "Ada left Oz."}),
    ]
    given = "".join(f"{line}\n" for line in lines)
    result = hyperspan("annotate", "-m", small_folder, "-f", "jsonl", stdin=given)
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ["a", "b"]
    assert result.returncode == 2 and len(result.stderr.splitlines()) == 1
    assert "1 of 3 documents are left out, as they cannot be annotated, the first because the sentence" in result.stderr
    skipped = hyperspan("annotate", "-m", small_folder, "-f", "jsonl", "--on-error", "skip", stdin=given)
    assert skipped.returncode == 0 and skipped.stdout == result.stdout
    assert "left out 1 record that" in skipped.stderr and "has 1,200 words" in skipped.stderr
    (tmp_path / "long.jsonl").write_text(f"{lines[1]}\n", encoding="utf-8")
    alone = hyperspan("annotate", "long.jsonl", "-m", small_folder, "-o", "page.html", cwd=tmp_path)
    assert alone.returncode == 2 and "has 1,200 words, more than the 1,000" in alone.stderr
    assert not (tmp_path / "page.html").exists()


def test_thresholds_for_all_and_for_one_label(small_folder: Path) -> None:
    def found(*thresholds: str) -> list[str]:
        given = [part for threshold in thresholds for part in ("--threshold", threshold)]
        result = hyperspan("annotate", TEXT, "-m", small_folder, "-f", "jsonl", *given)
        return [mention["label"] for mention in json.loads(result.stdout)["mentions"]]

    assert found("0.5", "person=0.001").count("person") > found("0.5").count("person")
    assert found("0.5", "person=0.001").count("place") == found("0.5").count("place")


@pytest.mark.parametrize("text", ["", "\n 👩🏽‍🔬 שלום e\u0301", "-x y", "x" * 5000])
def test_odd_texts(small_folder: Path, text: str) -> None:
    result = hyperspan("annotate", "-m", small_folder, "-f", "jsonl", "--", text)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["text"] == text


def test_a_flat_format_keeps_some_mentions_where_lossy_says_which(small_folder: Path, tmp_path: Path) -> None:
    arguments = ("annotate", "Ada left Oz.", "-m", small_folder, "--threshold", "0.001", "-f", "conll2003")
    kept = hyperspan(*arguments, "--lossy", "outermost")
    assert kept.returncode == 0 and "B-" in kept.stdout and "hyperspan: left out " in kept.stderr
    told = hyperspan(*arguments, "--lossy", "outermost", "-o", str(tmp_path / "kept.conll")).stderr
    assert f"wrote {kept.stdout.count('B-')} mention" in told


def test_what_is_known_of_a_text_can_be_told(small_folder: Path) -> None:
    told = hyperspan(
        "annotate",
        "Ada left Oz.",
        "-m",
        small_folder,
        "--require",
        "4:8:place",
        "--forbid",
        "9:11:place",
        "-f",
        "jsonl",
    )
    assert (told.returncode, told.stderr) == (0, "")
    found = {(mention["text"], mention["label"]) for mention in json.loads(told.stdout)["mentions"]}
    assert ("left", "place") in found and ("Oz", "place") not in found


def test_files_that_are_no_text_are_skipped_alike(tmp_path: Path) -> None:
    contents = {"a.pdf": b"%PDF-1.7\n", "b.txt": b"\x89PNG\r\n", "c.txt": b"Zo\xeb left.", "d.txt": b"Ada left."}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    problems = Problems("skip")
    documents = list(read_inputs([str(tmp_path / name) for name in contents], problems=problems))
    assert documents == [Document("Ada left.", id="d")]
    assert [Path(line.split()[0]).name for line in problems.skipped] == ["a.pdf", "b.txt", "c.txt"]


def test_table_of_mentions_is_read_by_its_texts_unless_a_column_is_named(tmp_path: Path) -> None:
    rows = ("text,start,end,label", "Ada left Oz.,0,3,person", "Ada left Oz.,9,11,place", "Bo slept.,0,2,person")
    (tmp_path / "mentions.csv").write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "texts.csv").write_text("text,label\nAda left Oz.,good\nAda left Oz.,bad\n", encoding="utf-8")
    texts = [
        document.text for document in read_inputs([str(tmp_path / "mentions.csv")]) if isinstance(document, Document)
    ]
    assert texts == ["Ada left Oz.", "Bo slept."]
    for given in (("mentions.csv", "--column", "text"), ("mentions.csv", "--from", "csv"), ("texts.csv",)):
        found = hyperspan("annotate", *given, "-f", "jsonl", cwd=tmp_path).stdout
        assert found.count('"text": "Ada left Oz."') == 2
    (tmp_path / "mentions.csv").write_text("\n".join([*rows, "Bo slept.,3,40,person"]), encoding="utf-8")
    failed = hyperspan("annotate", "mentions.csv", cwd=tmp_path)
    assert failed.returncode == 2 and "mentions.csv:5: a mention is at 3:40" in failed.stderr


def test_foreign_text_is_noted_once() -> None:
    examples = [f"{EXAMPLES}/{name}.txt" for name in ("literary", "biomedical")]
    noted = hyperspan("annotate", *examples, examples[0], "-m", "genia", "-f", "jsonl").stderr
    start = "2 of 3 texts look foreign; the most foreign one, literary, looks unlike what genia"
    assert noted.startswith(f"hyperspan: note: {start}")
    assert noted.count("\n") == 1
    for few in (examples, examples[1:]):  # one of two may be so by chance
        assert hyperspan("annotate", *few, "-m", "genia", "-f", "jsonl").stderr == ""


def test_text_in_another_language_is_noted_by_its_name(tmp_path: Path) -> None:
    german = "Der Bürgermeister dankte gestern den Handwerkern, die das Dach der alten Schule erneuert haben."
    note = "this text looks like German, but english (English of many genres) was trained on English"
    assert hyperspan("annotate", german).stderr == f"hyperspan: note: {note}; expect more errors\n"
    mine = tmp_path / "mine"
    shutil.copytree(folder_of("english"), mine)
    card = (mine / "card.toml").read_text(encoding="utf-8")
    for language, said in (("German", "unlike what"), ("French", "like German, but"), ("", "as in another language")):
        (mine / "card.toml").write_text(card.replace('"English"', f'"{language}"'), encoding="utf-8")
        assert said in hyperspan("annotate", f"{german} {german}", "-m", str(mine)).stderr


def test_profile_is_added_to_a_finished_model(tmp_path: Path) -> None:
    save_model(small_model(), tmp_path / "small")
    command = ("model", "profile", str(example_path("harbour")), "-m", "small")
    added = hyperspan(*command, "--output", "copy", cwd=tmp_path)
    assert added.returncode == 0 and "[profile]" in (tmp_path / "copy/card.toml").read_text(encoding="utf-8")
    assert not ModelCard.read(tmp_path / "small").profile
    added = hyperspan(*command, "--force", cwd=tmp_path)
    assert (added.returncode, added.stdout) == (0, "")
    german = "Der alte Hafen war im Winter ganz leer, und niemand wollte dort noch ein Schiff sehen. " * 3
    assert (
        "looks unlike what this model was trained on"
        in hyperspan("annotate", german, "-m", "small", cwd=tmp_path).stderr
    )


def test_profile_reports_repairs_of_its_corpora(tmp_path: Path) -> None:
    save_model(small_model(), tmp_path / "small")
    (tmp_path / "brat").mkdir()
    (tmp_path / "brat" / "a.txt").write_text("Ada left.", encoding="utf-8")
    (tmp_path / "brat" / "a.ann").write_text("T1\tPER 0 3\tAda\nT2\tPER 0 3\tAda\n", encoding="utf-8")
    noted = hyperspan("view", "brat", "--stats", cwd=tmp_path).stderr
    assert noted == "hyperspan: 1 × mention annotated twice, kept once\n"
    corpora = ("brat", str(example_path("harbour")))
    profiled = hyperspan("model", "profile", *corpora, "-m", "small", "--force", cwd=tmp_path)
    assert profiled.returncode == 0 and profiled.stderr.endswith(noted)


@pytest.mark.parametrize("command", [["profile", "-m", "small", "--force"], ["calibrate", "-m", "genia", "-o", "made"]])
def test_commands_of_models_read_corpora_as_others_do(command: list[str], tmp_path: Path) -> None:
    """With --from, and with --on-error for damaged ones."""
    save_model(small_model(), tmp_path / "small")
    mention = {"start": 0, "end": 3, "label": "protein"}
    lines = [json.dumps({"text": f"Rel binds text {number} .", "mentions": [mention]}) for number in range(60)]
    (tmp_path / "texts.dat").write_text("\n".join([*lines, "nonsense", ""]), encoding="utf-8")
    answer = hyperspan("model", *command, "texts.dat", "--from", "jsonl", "--on-error", "skip", cwd=tmp_path)
    assert answer.returncode == 0 and "left out 1 record that cannot be read" in answer.stderr, answer.stderr
