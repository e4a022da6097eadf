"""INCEpTION's requests to an external recommender, and what it reads from the answers."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.corpora.cas import CAS, XMI, CasXmi
from hyperspan.runtime.annotator import Annotator
from tests.serve.running import TEXT, Running, running
from tests.serve.test_description import STATUSES, SUPPRESSED, json_values
from tests.serve.test_refusals import message_of
from tests.support import coordination

LAYER = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
NAMESPACE = "http:///de/tudarmstadt/ukp/dkpro/core/api/ner/type.ecore"
ABOVE = "my.Span"


def type_description(name: str, above: str, **features: str) -> str:
    listed = "".join(
        f"<featureDescription><name>{feature}</name><description>It <b>is</b>.</description>"
        f"<rangeTypeName>{kind}</rangeTypeName></featureDescription>"
        for feature, kind in features.items()
    )
    return (
        f"<typeDescription>\n <name>{name}</name><description/><supertypeName>{above}</supertypeName>"
        f"<features>{listed}</features></typeDescription>"
    )


STRING, FLAG = "uima.cas.String", "uima.cas.Boolean"
TYPES = type_description(
    LAYER, ABOVE, inception_internal_predicted=FLAG, value_score="uima.cas.Double"
) + type_description(ABOVE, "uima.tcas.Annotation", value=STRING, identifier=STRING, note="uima.cas.StringArray")
SYSTEM = (
    '<?xml version="1.0" encoding="UTF-8"?><typeSystemDescription xmlns="http://uima.apache.org/resourceSpecifier">'
    f"<types>{TYPES}</types></typeSystemDescription>"
)


def xmi(text: str, view: str = '<cas:View sofa="12" members="17"/>') -> str:
    """A document with an annotation and a second view, as UIMA and cassis write them."""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- > --><xmi:XMI xmlns:cas="{CAS}" xmlns:xmi="{XMI}" '
        f'xmlns:type="{NAMESPACE}" xmi:version="2.0"><cas:NULL xmi:id="0"/>'
        f'<type:NamedEntity xmi:id="17" sofa="12" begin="0" end="1" value="&gt;" identifier=\'"\'/>'
        f'<cas:Sofa xmi:id="23" sofaNum="2" sofaID="other" mimeType="text" sofaString="Nobody."/>'
        f'<cas:Sofa xmi:id="12" sofaNum="1" sofaID="_InitialView" mimeType="text" sofaString={quoteattr(text)}/>'
        f'{view}<cas:View members="" sofa="23"/></xmi:XMI>'
    )


def body(document: str, system: str = SYSTEM, **metadata: str) -> dict[str, Any]:
    more = {"projectId": 1, "anchoringMode": "tokens", "crossSentence": False, "range": {"begin": 0, "end": 9}}
    return {
        "metadata": {"layer": LAYER, "feature": "value", **more, **metadata},
        "document": {"xmi": document, "documentId": 4, "userId": "someone"},
        "typeSystem": system,
    }


def annotated(server: Running, document: str, path: str = "/inception/predict", **given: str) -> str:
    answer = server.post(path, **body(document, **given))
    assert answer.status_code == 200, answer.text
    assert list(answer.json()) == ["document"]
    return answer.json()["document"]


def predictions(document: str) -> list[dict[str, str]]:
    """The predicted annotations that are members of the view."""
    root = ElementTree.fromstring(document)
    [view] = (one for one in root.iter(f"{{{CAS}}}View") if one.get("sofa") == "12")
    members = view.get("members", "").split()
    ids = [one.get(f"{{{XMI}}}id") for one in root if one.get(f"{{{XMI}}}id")]
    assert len(ids) == len(set(ids))
    found = [one for one in root.iter(f"{{{NAMESPACE}}}NamedEntity") if one.get("inception_internal_predicted")]
    assert all(one.get(f"{{{XMI}}}id") in members and one.get("sofa") == "12" for one in found)
    assert all(list(root).index(one) < list(root).index(view) for one in found)  # or UIMA does not know the members
    return [dict(one.attrib) for one in found]


VIEWS = [
    '<cas:View sofa="12" members="17"/>',
    "<cas:View\n members = '17 0'\nsofa='12'></cas:View>",
    '<cas:View sofa="12"/>',
    "",
]


@pytest.mark.parametrize("view", VIEWS)
def test_mentions_are_predicted_annotations(server: Running, annotator: Annotator, view: str) -> None:
    text = f'🦁 "{TEXT}" <&>\r\nÄ'
    found = predictions(annotated(server, xmi(text, view)))
    utf16 = text.encode("utf-16-le")
    places = [(int(one["begin"]), int(one["end"]), one["value"], float(one["value_score"])) for one in found]
    assert {(utf16[2 * start : 2 * end].decode("utf-16-le"), label, score) for start, end, label, score in places} == {
        (one.text, one.label, one.probability) for one in annotator(text).mentions
    }
    assert all(one["inception_internal_predicted"] == "true" for one in found)
    assert any(a < c < b for a, b, _, _ in places for c, _, _, _ in places)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("Ada Oz.🦁\n\t"), max_size=40))
@settings(max_examples=40)
def test_the_document_stays_as_it_is(text: str) -> None:
    document = xmi(text)
    cas = CasXmi(document)
    assert cas.text == text
    written = cas.with_annotations(LAYER, [{"begin": 0, "end": 1, "value": '<"&'}])
    added = (
        f'<hyperspan:NamedEntity xmi:id="24" sofa="12" begin="0" end="1" value={quoteattr(chr(60) + chr(34) + "&")}/>'
    )
    assert added in written
    without = written.replace(added, "").replace(f' xmlns:hyperspan="{NAMESPACE}"', "").replace('"24 17"', '"17"')
    assert without == document
    assert CasXmi(written).text == text


def test_a_document_may_have_the_prefix_of_annotations() -> None:
    others = ' xmlns:hyperspan="http:///my/hyperspan.ecore" xmlns:hyperspan1="http:///hyperspan1.ecore"'
    document = xmi(TEXT).replace("<xmi:XMI", f"<xmi:XMI{others}", 1)
    root = ElementTree.fromstring(CasXmi(document).with_annotations(LAYER, [{"begin": 0, "end": 1, "value": "x"}]))
    assert [one.get("value") for one in root.findall(f"{{{NAMESPACE}}}NamedEntity")] == [">", "x"]


def test_a_layer_without_a_score_or_a_package(server: Running) -> None:
    system = f"<typeSystemDescription>{type_description('Span', '', label=STRING)}</typeSystemDescription>"
    document = annotated(server, xmi(TEXT), system=system, layer="Span", feature="label")
    root = ElementTree.fromstring(document)
    found = root.findall("{http:///uima/noNamespace.ecore}Span")
    assert found and {one.get("label") for one in found} == {"person", "place"}
    assert not any("score" in name for one in found for name in one.attrib)


def test_options_are_in_the_address(server: Running) -> None:
    options = "other&threshold=0.001&types=person&probabilities=false&offset_unit=codepoint"
    found = predictions(annotated(server, xmi(TEXT), f"/inception/{options}/predict"))
    wanted = server.annotate(text=TEXT, threshold=0.001, types=["person"])[0]["mentions"]
    assert [(int(one["begin"]), int(one["end"])) for one in found] == [(one["start"], one["end"]) for one in wanted]


def test_discontinuous_mentions_are_left_out_and_noted() -> None:
    annotator = coordination.coordination_annotator()
    with running(annotators={"coordination": annotator}) as server:
        answer = server.post("/inception/predict", **body(xmi(coordination.TEXT)))
        mentions = annotator(coordination.TEXT).mentions
        whole = {(one.start, one.end) for one in mentions if not one.fragments}
        assert {(int(one["begin"]), int(one["end"])) for one in predictions(answer.json()["document"])} == whole
        left_out = sum(bool(one.fragments) for one in mentions)
        assert server.entry(answer)["note"].startswith(f"{left_out} discontinuous mention") and left_out


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>'
DEFAULTS = xmi(TEXT).replace("<xmi:XMI", "<!DOCTYPE x [<!ATTLIST cas:View members CDATA ''>]><xmi:XMI", 1)


@pytest.mark.parametrize(
    ("given_body", "sentence"),
    [
        (body(BOMB), "the document has a <!DOCTYPE x>"),
        (body(xmi(TEXT), BOMB), "the type system has a <!DOCTYPE x>"),
        (body(DEFAULTS), "the document has a <!DOCTYPE x>"),
        (body("<x/>"), "the document has no text"),
        (body(xmi(TEXT).replace("sofaString", "sofaURI")), "the document has no text"),
        (body(xmi(TEXT)[:-1]), "the document is not well-formed XML"),
        (body(xmi(TEXT), ""), "the type system is not well-formed XML"),
        (body(xmi(TEXT), layer="my.Other"), "the type system has no type 'my.Other'"),
        (body(xmi(TEXT), SYSTEM.replace(LAYER, "a b"), layer="a b"), "the type system has no type 'a b'"),
        (body(xmi(TEXT), feature="other"), "no feature 'other' of type uima.cas.String"),
        (body(xmi(TEXT), feature="note"), "no feature 'note' of type uima.cas.String"),
        (body(xmi(TEXT)) | {"document": {}}, "the field document.xmi is missing"),
        (body(xmi(TEXT)) | {"metadata": None}, "the field metadata is None"),
        ({}, "the field metadata is missing"),
    ],
    ids=range(14),
)
def test_what_is_no_document_is_refused(server: Running, given_body: dict[str, Any], sentence: str) -> None:
    answer = server.post("/inception/predict", **given_body)
    assert answer.status_code == 422 and sentence in message_of(answer)


xml = st.text(st.sampled_from('<>/="x :&;'), max_size=20) | st.integers(0, 900).map(lambda end: xmi(TEXT)[:end])
systems = st.integers(0, len(SYSTEM)).map(lambda end: SYSTEM[:end]) | st.just(SYSTEM)


@given(
    json_values | st.builds(body, xml | st.just(xmi(TEXT)), systems, feature=st.sampled_from(["value", "a", "begin"]))
)
@settings(max_examples=60, suppress_health_check=SUPPRESSED)
def test_no_body_breaks_predictions(server: Running, given_body: Any) -> None:
    answer = server.client.post(
        "/inception/predict", content=json.dumps(given_body), headers={"content-type": "application/json"}
    )
    assert answer.status_code in STATUSES, answer.text
    assert ("error" in answer.json()) == (answer.status_code != 200)
