"""The REST reference of the site holds everything that the server's OpenAPI document describes."""

from __future__ import annotations

import re

import pytest

from scripts.site.rest import description, rest_page


@pytest.fixture(scope="module")
def page() -> str:
    return rest_page()


def sections(page: str) -> dict[str, str]:
    """The text under each heading, by heading."""
    parts = re.split(r"^###? (.+)\n", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def anchors(page: str) -> set[str]:
    """The anchors of headings, as Python-Markdown makes them."""
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def test_rest_page_has_a_heading_per_operation_with_summary_and_statuses(page: str) -> None:
    found = sections(page)
    for path, operations in description()["paths"].items():
        for method, operation in operations.items():
            section = found[f"{method.upper()} {path}"]
            assert operation["summary"] in section
            assert all(re.search(rf"\b{status}\b", section) for status in operation["responses"])


def test_rest_page_lists_fields_of_annotate_with_default_and_meaning(page: str) -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+) \|$", sections(page)["POST /v1/annotate"], re.MULTILINE)
    fields = description()["components"]["schemas"]["AnnotateRequest"]["properties"]
    assert sorted(row[0] for row in rows) == sorted(fields)
    assert {name: default for name, _, default, _ in rows}["top_k"] == "`0`"
    for name, _, _, meaning in rows:
        assert meaning == fields[name]["description"]


def test_rest_page_shows_every_schema_and_each_field_has_a_meaning(page: str) -> None:
    found = sections(page)
    for name, schema in description()["components"]["schemas"].items():
        assert name in found
        for field, about in schema.get("properties", {}).items():
            assert about.get("description"), f"{name}.{field}"
            assert f"| `{field}` |" in found[name] or "Its fields:" in found[name], f"{name}.{field}"


def test_rest_page_links_lead_to_headings(page: str) -> None:
    targets = set(re.findall(r"\]\(#([^)]+)\)", page))
    assert len(targets) > 30 and targets <= anchors(page)


def test_rest_page_explains_every_error_status_once(page: str) -> None:
    rows = re.findall(r"^\| (\d+) \| `", sections(page)["Errors"], re.MULTILINE)
    responses = [one["responses"] for by in description()["paths"].values() for one in by.values()]
    assert rows == sorted({status for some in responses for status in some} - {"200"})
