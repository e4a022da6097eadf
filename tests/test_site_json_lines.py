"""The page about JSON Lines says what the JSON Schema says, and its examples can be read."""

from __future__ import annotations

import json
import re
from pathlib import Path

from hyperspan import read_corpus, write_corpus
from hyperspan.corpora import jsonl
from scripts.site.json_lines import OBJECTS, json_lines_page, schema


def test_json_lines_page_lists_every_field_of_every_object_with_a_meaning() -> None:
    parts = re.split(r"^## (.+)\n", json_lines_page(), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    objects = {"Document": schema(), **{name.capitalize(): schema()["$defs"][name] for name in OBJECTS}}
    assert sections.keys() == objects.keys()
    for name, one in objects.items():
        rows = re.findall(r"^\| `(\w+)` \| .+? \| (\*\*Required\.\*\* )?(.+) \|$", sections[name], re.MULTILINE)
        assert [field for field, _, _ in rows] == list(one["properties"])
        assert {field for field, required, _ in rows if required} == set(one.get("required", ()))
        assert all(meaning == one["properties"][field]["description"] for field, _, meaning in rows)


def test_json_schema_has_the_keys_that_are_read() -> None:
    known = schema()["$defs"]
    assert set(schema()["properties"]) == set(jsonl.DOCUMENT_KEYS)
    assert set(known["sentence"]["properties"]) == set(jsonl.SENTENCE_KEYS)
    assert set(known["mention"]["properties"]) == set(jsonl.MENTION_KEYS)
    assert set(known["scope"]["properties"]) == set(jsonl.SCOPE_KEYS)


def test_json_lines_page_examples_are_read_and_written_as_they_are(tmp_path: Path) -> None:
    examples = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", json_lines_page(), re.DOTALL)]
    assert examples == schema()["examples"]
    (tmp_path / "given.jsonl").write_text("".join(json.dumps(one) + "\n" for one in examples), encoding="utf-8")
    write_corpus(read_corpus(tmp_path / "given.jsonl"), tmp_path / "written.jsonl")
    _, full = (json.loads(line) for line in (tmp_path / "written.jsonl").read_text(encoding="utf-8").splitlines())
    assert full == examples[1]


def test_json_lines_page_links_lead_to_headings() -> None:
    page = json_lines_page()
    headings = {heading.lower() for heading in re.findall(r"^## (.+)$", page, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) == headings - {"document"}
