"""`hyperspan annotate` as a user drives it, in a process of its own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from hyperspan.corpora import read_corpus
from hyperspan.models import save_model
from tests.cli.process import hyperspan
from tests.test_annotate import TEXT, small_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("model") / "small"
    save_model(small_model(), folder)
    return str(folder)


def test_a_text_is_shown_with_bars_and_probabilities(model: str) -> None:
    result = hyperspan("annotate", "Ada left the zoo of Oz.", "--model", model)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.rstrip("\n").split("\n")
    assert lines[0] == "Ada left the zoo of Oz." and lines[1].startswith("╰─╯person ")
    assert sum("place " in line for line in lines) == 3


def test_alternatives_are_listed_below(model: str) -> None:
    shown = hyperspan("annotate", "Nobody slept.", "--model", model, "--top-k", "3").stdout.split("\n")
    assert shown[0] == "Nobody slept." and shown[1].endswith("no mentions")
    assert len(shown) == 6 and 0 < float(shown[2].split()[0]) < float(shown[1].split()[0])


def test_a_text_file_is_one_document_with_offsets_of_the_whole_file(model: str, tmp_path: Path) -> None:
    (tmp_path / "tale.txt").write_text(TEXT * 3, encoding="utf-8")
    packed = gzip.compress((TEXT * 3).encode())
    (tmp_path / "packed.txt.gz").write_bytes(packed)
    for name, identifier in (("tale.txt", "tale"), ("packed.txt.gz", "packed")):
        result = hyperspan("annotate", name, "-m", model, "-f", "jsonl", "--type", "person", cwd=tmp_path)
        assert (result.returncode, result.stderr) == (0, "")
        [record] = map(json.loads, result.stdout.splitlines())
        assert (record["id"], record["text"]) == (identifier, TEXT * 3)
        assert {mention["label"] for mention in record["mentions"]} == {"person"}
        assert all(record["text"][m["start"] : m["end"]] == m["text"] for m in record["mentions"])


def test_standard_input_is_text_or_documents(model: str) -> None:
    named, unnamed = (hyperspan("annotate", *dash, "-m", model, "-f", "jsonl", stdin=TEXT) for dash in (["-"], []))
    assert named.stdout == unnamed.stdout and json.loads(named.stdout)["text"] == TEXT
    again = hyperspan("annotate", "-m", model, "-f", "jsonl", stdin=named.stdout)
    assert json.loads(again.stdout) == json.loads(named.stdout)


def test_a_corpus_keeps_its_sentences_and_words(model: str, tmp_path: Path) -> None:
    (tmp_path / "gold.data").write_text("the zoo 's keeper\nDT NN POS NN\n0,2 wrong\n\nAda\nNNP\n\n", encoding="utf-8")
    for arguments in (["gold.data"], ["gold.data", "--from", "four-lines"]):
        result = hyperspan("annotate", *arguments, "-m", model, "-o", "new.jsonl", "--force", cwd=tmp_path)
        assert result.returncode == 0 and "as jsonl to new.jsonl" in result.stderr and result.stdout == ""
        first, second = (part for document in read_corpus(tmp_path / "new.jsonl") for part in document.sentences)
        assert (first.tokens, second.tokens) == (("the", "zoo", "'s", "keeper"), ("Ada",))
        assert first.tags == ("DT", "NN", "POS", "NN")
        assert {mention.label for mention in first.mentions | second.mentions} <= {"person", "place"}
        assert [(mention.label, mention.probability is None) for mention in second.mentions] == [("person", False)]


def test_a_folder_of_texts_becomes_a_folder_of_brat(model: str, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for name in ("one", "two"):
        (tmp_path / "texts" / f"{name}.txt").write_text(f"Ada left {name}.", encoding="utf-8")
    result = hyperspan("annotate", "texts", "-m", model, "-f", "brat", "-o", "found", cwd=tmp_path)
    assert result.returncode == 0
    assert sorted(file.name for file in (tmp_path / "found").iterdir()) == ["one.ann", "one.txt", "two.ann", "two.txt"]
    assert "T1\tperson 0 3\tAda\n" in (tmp_path / "found" / "one.ann").read_text(encoding="utf-8")


def test_pages_and_what_the_name_of_the_output_says(model: str, tmp_path: Path) -> None:
    first = hyperspan("annotate", TEXT, "-m", model, "-o", "page.html", "--threshold", "0.1", cwd=tmp_path)
    assert first.returncode == 0 and "mentions as html to page.html" in first.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and page.endswith("</html>\n") and "person" in page
    assert hyperspan("annotate", TEXT, "-m", model, "-f", "html", "--threshold", "0.1").stdout == page
    again = hyperspan("annotate", "Ada", "-m", model, "-o", "page.html", cwd=tmp_path)
    assert again.returncode == 2 and "--force" in again.stderr
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert hyperspan("annotate", "Ada", "-m", model, "-o", "bars.txt", cwd=tmp_path).returncode == 0
    assert (tmp_path / "bars.txt").read_text(encoding="utf-8").startswith("Ada\n╰─╯person")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bars.txt", "page.html"]


def test_thresholds_for_all_and_for_one_label(model: str) -> None:
    def found(*thresholds: str) -> list[str]:
        given = [part for threshold in thresholds for part in ("--threshold", threshold)]
        result = hyperspan("annotate", TEXT, "-m", model, "-f", "jsonl", *given)
        return [mention["label"] for mention in json.loads(result.stdout)["mentions"]]

    assert found("0.5", "person=0.001").count("person") > found("0.5").count("person")
    assert found("0.5", "person=0.001").count("place") == found("0.5").count("place")


@pytest.mark.parametrize("text", ["", "\n 👩🏽‍🔬 שלום e\u0301", "-x y", "x" * 5000])
def test_odd_texts(model: str, text: str) -> None:
    result = hyperspan("annotate", "-m", model, "-f", "jsonl", "--", text)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["text"] == text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.txt"], "missing.txt does not exist"),
        (["missing.jsonl.gz"], "does not exist"),
        (["Ada", "--from", "brat"], "does not exist"),
        (["Ada", "-t", "gene"], "'gene' is not among those of the model; it knows person, place"),
        (["Ada", "--threshold", "2"], "must be a probability"),
        (["Ada", "--threshold", "gene=0.5"], "'gene' is not among"),
        (["Ada", "--threshold", "high"], "--threshold 'high' is no probability"),
        (["Ada", "-f", "brat"], "name one with --output"),
        (["Ada", "-f", "nonsense"], "there is no format 'nonsense'"),
        (["Ada", "-o", "nonsense"], "does not say its format; name it with --format"),
        (["Ada", "--device", "abacus"], "the device 'abacus' cannot be used"),
        (["Ada", "-m", "nonsense"], "there is no model 'nonsense'"),
        (["Ada", "-m", "."], "holds no model"),
        (["Ada saw " * 600], "has 1,200 words"),
        (["Ada", "--top-k", "-1"], "--top-k"),
    ],
)
def test_mistakes_get_one_sentence(model: str, tmp_path: Path, arguments: list[str], message: str) -> None:
    result = hyperspan("annotate", "-m", model, *arguments, cwd=tmp_path)
    assert result.returncode == 2 and result.stdout == ""
    assert message in result.stderr and len(result.stderr.splitlines()) == 1


def test_text_that_is_not_utf_8_is_refused(model: str, tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("Zoë left".encode("latin-1"))
    result = hyperspan("annotate", "latin.txt", "-m", model, cwd=tmp_path)
    assert result.returncode == 2 and "latin.txt: is not UTF-8 text" in result.stderr


def test_what_is_known_of_a_text_can_be_told(model: str, tmp_path: Path) -> None:
    told = hyperspan(
        "annotate", "Ada left Oz.", "-m", model, "--require", "4:8:place", "--forbid", "9:11:place", "-f", "jsonl"
    )
    assert (told.returncode, told.stderr) == (0, "")
    found = {(mention["text"], mention["label"]) for mention in json.loads(told.stdout)["mentions"]}
    assert ("left", "place") in found and ("Oz", "place") not in found
    wrong = hyperspan("annotate", "Ada left Oz.", "-m", model, "--forbid", "Oz")
    assert wrong.returncode == 2 and "--forbid 'Oz' is not START:END:LABEL" in wrong.stderr
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("Ada", encoding="utf-8")
    several = hyperspan("annotate", str(tmp_path), "-m", model, "--require", "0:3:person")
    assert several.returncode == 2 and "so give one text, not several or none" in several.stderr
