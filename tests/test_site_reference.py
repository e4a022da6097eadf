"""The reference that the site generates holds all that code describes, and its examples can be read."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

from hyperspan import read_corpus, write_corpus
from hyperspan.cli import COMMANDS
from hyperspan.config import Config
from hyperspan.corpora import json_records, jsonl
from hyperspan.plugins import OPTIONS
from hyperspan.toml import values_of
from scripts.site.cli import VARIABLES, cli_page
from scripts.site.configuration import configuration_page
from scripts.site.json_lines import OBJECTS, json_lines_page, schema
from scripts.site.rest import description, rest_page

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def page() -> str:
    return rest_page()


def sections(page: str) -> dict[str, str]:
    """The text under each heading, by heading."""
    parts = re.split(r"^###? (.+?)(?: \{#\S+\})?\n", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(section: str) -> list[list[str]]:
    """The cells of its tables, without tags."""
    lines = re.findall(r"^<tr>(.*)$", section, re.MULTILINE)
    return [[unescape(re.sub("<[^>]*>", "", cell)) for cell in line.split("<td>")[1:]] for line in lines]


def test_reference_links_lead_to_headings(page: str) -> None:
    for text, least in ((page, 24), (json_lines_page(), 3)):
        headings = re.findall(r"^#+ (?:.+ \{#(\S+)\}|(.+))$", text, re.MULTILINE)
        anchors = {given or title.lower() for given, title in headings}
        targets = set(re.findall(r'href="#([^"]+)"', text))
        assert len(targets) >= least and targets <= anchors
    assert targets == {name.lower() for name in sections(json_lines_page())} - {"document"}


def test_cli_page_has_every_command() -> None:
    page = cli_page()
    assert re.findall(r"^## hyperspan (\S+)$", page, re.MULTILINE).__len__() == len(COMMANDS)
    assert all(f"## hyperspan {name}\n" in page for name in COMMANDS)
    assert "| `--threshold` `P|LABEL=P` |" in page


def test_cli_page_has_every_environment_variable_that_is_read() -> None:
    read: set[str] = set()
    for file in (ROOT / "src").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        constants = re.findall(r'^(VARIABLE) = "(\w+)"$', text, re.MULTILINE)
        named = re.findall(r'environ(?:\.\w+\(|\[)"(\w+)"', text) + re.findall(r'envvar="(\w+)"', text)
        read |= {*named, *dict(constants).values()}
    assert read - {"RAY_IGNORE_UNHANDLED_ERRORS"} == VARIABLES.keys()
    assert all(f"| `{name}` | " in cli_page() for name in VARIABLES)


def test_configuration_page_has_every_key() -> None:
    page = configuration_page()
    tables = Config().tables()
    tables |= {name: values_of(OPTIONS[name]()) for name in OPTIONS.built_in}
    keys = {f"{section}.{key}" for section, table in tables.items() for key in table}
    rows = dict(re.findall(r"^\| `([\w.-]+)` \| .+ \| `(.*?)` \| .+ \|$", page, re.MULTILINE))
    assert keys <= rows.keys()
    assert rows["training.seed"] == "1" and rows["training.epochs"] == "auto" and rows["model.max_width"] == '"n"'


def test_rest_page_has_a_heading_per_operation_with_summary_and_statuses(page: str) -> None:
    found = sections(page)
    for path, operations in description()["paths"].items():
        for method, operation in operations.items():
            section = found[f"{method.upper()} {path}"]
            assert operation["summary"] in section
            assert all(re.search(rf"\b{status}\b", section) for status in operation["responses"])


def test_rest_page_lists_fields_of_annotate_with_default_and_meaning(page: str) -> None:
    found = [row for row in rows(sections(page)["POST /v1/annotate"]) if len(row) == 4]
    fields = description()["components"]["schemas"]["AnnotateRequest"]["properties"]
    assert sorted(row[0] for row in found) == sorted(fields)
    assert {name: default for name, _, default, _ in found}["top_k"] == "0"
    for name, _, _, meaning in found:
        assert meaning == fields[name]["description"].replace("`", "")


def test_rest_page_shows_every_schema_and_each_field_has_a_meaning(page: str) -> None:
    found = sections(page)
    for name, one in description()["components"]["schemas"].items():
        assert name in found
        for field, about in one.get("properties", {}).items():
            assert about.get("description"), f"{name}.{field}"
            assert f"<code>{field}</code>" in found[name] or "Its fields:" in found[name], f"{name}.{field}"


def test_rest_page_explains_every_error_status_once(page: str) -> None:
    explained = [status for status, _ in rows(sections(page)["Errors"])]
    responses = [one["responses"] for by in description()["paths"].values() for one in by.values()]
    assert explained == sorted({status for some in responses for status in some} - {"200"})


def test_json_lines_page_lists_every_field_of_every_object_with_a_meaning() -> None:
    found = sections(json_lines_page())
    objects = {"Document": schema(), **{name.capitalize(): schema()["$defs"][name] for name in OBJECTS}}
    assert found.keys() == objects.keys()
    for name, one in objects.items():
        fields = rows(found[name])
        assert [field for field, *_ in fields] == list(one["properties"])
        assert {field for field, _, default, _ in fields if default == "required"} == set(one.get("required", ()))
        for field, _, _, meaning in fields:
            assert meaning == one["properties"][field]["description"].replace("`", "")


def test_json_schema_has_the_keys_that_are_read() -> None:
    known = schema()["$defs"]
    assert set(schema()["properties"]) == set(jsonl.DOCUMENT_KEYS)
    assert set(known["sentence"]["properties"]) == set(jsonl.SENTENCE_KEYS)
    assert set(known["mention"]["properties"]) == set(json_records.MENTION_KEYS)
    assert set(known["scope"]["properties"]) == set(jsonl.SCOPE_KEYS)


def test_json_lines_page_examples_are_read_and_written_as_they_are(tmp_path: Path) -> None:
    examples = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", json_lines_page(), re.DOTALL)]
    assert examples == schema()["examples"]
    (tmp_path / "given.jsonl").write_text("".join(json.dumps(one) + "\n" for one in examples), encoding="utf-8")
    write_corpus(read_corpus(tmp_path / "given.jsonl"), tmp_path / "written.jsonl")
    _, full = (json.loads(line) for line in (tmp_path / "written.jsonl").read_text(encoding="utf-8").splitlines())
    assert full == examples[1]
