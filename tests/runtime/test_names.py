"""Names on request and pronouns on request: what is shown, under which labels, with which probabilities."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hyperspan.config import Config
from hyperspan.errors import InputError, LabelError
from hyperspan.nn import load_model, new_model, save_model
from hyperspan.nn.folders import compact
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.folders import CatalogEntry
from hyperspan.runtime.loading import load
from hyperspan.runtime.model import ArrayModel
from hyperspan.types import Document, Mention, Sentence
from tests.support.marked_names import DEFAULT, FOUND_NAMES, NAMES, PRONOUNS, TEXT, TRAINING, named_model
from tests.support.models import small_model


@pytest.fixture(scope="module", params=["torch", "runtime"])
def annotator(request: pytest.FixtureRequest, named_folder: Path) -> Annotator:
    if request.param == "torch":
        return Annotator(load_model(named_folder))
    annotator = load(named_folder)
    assert isinstance(annotator.model, ArrayModel)
    return annotator


def found(document: Document) -> set[tuple[str, str]]:
    return {(mention.text, mention.label) for mention in document.mentions}


def test_labels_are_those_of_the_default(annotator: Annotator) -> None:
    assert annotator.labels == annotator.name_labels == ("person", "place")
    assert Annotator(small_model()).name_labels == ()


def test_mentions_of_name_labels_are_shown_on_request_alone(annotator: Annotator) -> None:
    assert found(annotator(TEXT)) == DEFAULT
    assert found(annotator(TEXT, names=True)) == FOUND_NAMES
    assert found(annotator(TEXT, types=["person", "person-name"])) == {
        *(one for one in DEFAULT if one[1] == "person"),
        ("Ada", "person-name"),
    }


def test_names_have_the_probabilities_of_their_labels(annotator: Annotator) -> None:
    own = annotator(TEXT, types=list(NAMES), candidates=0.01, top_k=2)
    names = annotator(TEXT, names=True, candidates=0.01, top_k=2)

    def renamed(mentions: Any) -> list[Any]:
        return sorted((one.start, one.end, NAMES.get(one.label, one.label), one.probability) for one in mentions)

    assert renamed(own.mentions) == renamed(names.mentions)
    assert renamed(own.candidates) == renamed(names.candidates)
    assert own.alternatives is not None and names.alternatives is not None
    for left, right in zip(own.alternatives, names.alternatives, strict=True):
        assert [one.probability for one in left.sets] == [one.probability for one in right.sets]
        pairs = zip(left.sets, right.sets, strict=True)
        assert all(
            {(m.span, NAMES[m.label]) for m in a.mentions} == {(m.span, m.label) for m in b.mentions} for a, b in pairs
        )


def test_types_and_thresholds_refer_to_reported_labels(annotator: Annotator) -> None:
    assert found(annotator(TEXT, names=True, types="place")) == {("Oz", "place")}
    assert found(annotator(TEXT, names=True, threshold={"person": 1.0, "*": 0.5})) == {("Oz", "place")}
    with pytest.raises(LabelError, match="'person-name' is not among those of the model; it knows person, place"):
        annotator(TEXT, names=True, types=["person-name"])


def test_constraints_refer_to_reported_labels(annotator: Annotator) -> None:
    oz, zoo = Mention(20, 22, "place"), Mention(9, 22, "place")
    known = annotator(TEXT, names=True, require=[zoo], forbid=[oz])
    assert {("Ada", "person"), ("the zoo of Oz", "place")} <= found(known) and ("Oz", "place") not in found(known)
    assert {one.text: one.probability for one in known.mentions}["the zoo of Oz"] == 1.0
    assert ("the zoo of Oz", "place") not in found(annotator(TEXT, forbid=[zoo]))
    with pytest.raises(LabelError, match="it knows person, place"):
        annotator(TEXT, names=True, require=[Mention(0, 3, "person-name")])


def test_all_entrances_take_both_options(annotator: Annotator) -> None:
    [document] = annotator.pipe([TEXT], names=True)
    assert found(document) == FOUND_NAMES
    [sentence] = annotator.recognize([Sentence("Ada left the zoo of Oz .".split())], names=True)
    assert {(mention.span, mention.label) for mention in sentence.mentions} == {((0, 1), "person"), ((5, 6), "place")}
    [sentence] = annotator.recognize([Sentence("nobody slept .".split())], pronouns=False)
    assert not sentence.mentions
    [document] = Annotator(annotator.model, long_text=10).pipe([TEXT], keep_sentences=False, names=True, pronouns=False)
    assert found(document) == FOUND_NAMES and not document.sentences


def test_pronouns_are_left_out_of_everything(annotator: Annotator) -> None:
    whole = annotator(TEXT, candidates=0.01, top_k=3)
    rest = annotator(TEXT, candidates=0.01, top_k=3, pronouns=False)
    assert found(rest) == DEFAULT - PRONOUNS
    before = {(one, one.probability) for one in whole.mentions}
    assert {(one, one.probability) for one in rest.mentions} <= before
    assert rest.candidates is not None and whole.candidates is not None and rest.alternatives is not None
    assert set(rest.candidates) == {
        one for one in whole.candidates if one.text not in ("She", "everyone", "everyone's")
    }
    for sentence in rest.alternatives:
        sets = [frozenset(ranked.mentions) for ranked in sentence.sets]
        assert len(set(sets)) == len(sets)
        assert not any(
            TEXT[one.start : one.end] in ("She", "everyone", "everyone's") for ranked in sets for one in ranked
        )
        probabilities = [ranked.probability for ranked in sentence.sets]
        assert probabilities == sorted(probabilities, reverse=True) and sum(probabilities) <= 1.0


def test_a_required_pronoun_stays(annotator: Annotator) -> None:
    she = Mention(24, 27, "person")
    assert found(annotator(TEXT, pronouns=False, require=[she])) == DEFAULT - {("everyone's", "person")}


def test_a_model_without_names_refuses_them() -> None:
    annotator = Annotator(small_model())
    calls = (lambda: annotator("Ada", names=True), lambda: annotator.pipe([], names=True))
    for call in (*calls, lambda: annotator.recognize([], names=True)):
        with pytest.raises(InputError, match=r"this model does not mark names.*leave the option names out"):
            call()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {"name": "person"},
            "model.names has the key 'name', but the labels are person, person-name, place, place-name",
        ),
        ({"person-name": ""}, "model.names.person-name is '', which is empty"),
        ({"person-name": "person", "place-name": "person"}, "several labels for names of 'person'"),
        ({one: f"{one}s" for one in ("person", "place", "person-name", "place-name")}, "leaves no label to show"),
    ],
)
def test_names_that_do_not_fit_the_labels_are_refused(names: dict[str, str], message: str, tmp_path: Path) -> None:
    config = named_model().config
    wrong = replace(config, model=replace(config.model, names=names))
    with pytest.raises(InputError, match=message):
        new_model(wrong, TRAINING)
    save_model(named_model(), tmp_path)
    (tmp_path / "config.toml").write_text(wrong.to_toml())
    for loaded in (load, load_model):
        with pytest.raises(InputError, match=f"config.toml does not fit the model: .*{message}"):
            loaded(tmp_path)


def test_names_are_set_as_a_table() -> None:
    config = Config().override(['model.names={person-name = "person"}'])
    assert config.model.names == {"person-name": "person"}
    assert Config.from_toml(config.to_toml()) == config
    with pytest.raises(InputError, match=r"model.names.person-name is 3, but must be a text"):
        Config().override(["model.names={person-name = 3}"])
    with pytest.raises(InputError, match=r"model.names is 'person', but must be a table"):
        Config().override(["model.names=person"])


def test_a_compact_copy_keeps_the_names_of_its_labels() -> None:
    model = named_model()
    assert compact(model, labels=["person", "person-name"]).names == {"person-name": "person"}
    assert compact(model, labels=["person-name"]).names == {}
    assert Annotator(compact(model, labels=["person-name"])).labels == ("person-name",)


def test_the_catalog_lists_the_labels_of_the_default(named_folder: Path) -> None:
    entry = CatalogEntry.of(str(named_folder))
    assert entry.labels == entry.name_labels == ("person", "place")
    assert entry.to_json()["name_labels"] == ["person", "place"]
