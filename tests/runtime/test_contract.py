"""What every front end relies on: the face of an annotator, with torch and without."""

from __future__ import annotations

import pytest

from hyperspan import kernels
from hyperspan.errors import InputError
from hyperspan.nn import Recognizer, save_model
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.constraints import Constraints
from hyperspan.runtime.folders import bundled_models
from hyperspan.runtime.loading import load
from hyperspan.runtime.model import ArrayModel
from hyperspan.types import Document, Mention, Sentence
from tests.support.models import TEXT, small_model

ADA, OZ = Mention(0, 3, "person"), Mention(20, 22, "place")


@pytest.fixture(scope="module", params=["arrays", "torch"])
def annotator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Annotator:
    if request.param == "torch":
        return Annotator(small_model())
    folder = tmp_path_factory.mktemp("model")
    save_model(small_model(), folder)
    loaded = load(folder)
    assert isinstance(loaded.model, ArrayModel)
    return loaded


def places(document: Document) -> set[tuple[int, int, str]]:
    return {(mention.start, mention.end, mention.label) for mention in document.mentions}


def test_labels_card_and_domain_are_there(annotator: Annotator) -> None:
    assert annotator.labels == annotator.model.labels == ("person", "place") and annotator.name_labels == ()
    assert annotator.card.title == "" and annotator.domain_fit(TEXT) is None
    assert not annotator.reads_tags and not annotator.joins_documents and annotator.context == 0
    assert annotator.discontinuous is None


@pytest.mark.parametrize("name", bundled_models())
def test_bundled_models_have_cards_and_profiles(name: str) -> None:
    bundled = load(name)
    fit = bundled.domain_fit("Wer reitet so spät durch Nacht und Wind? Es ist der Vater mit seinem Kind.")
    assert bundled.card.title and fit is not None and fit.foreign


def test_pipe_is_the_call_for_each_text(annotator: Annotator) -> None:
    texts = [TEXT, "", Document("Ada left.", id="two", metadata={"source": "zoo"})]
    found = list(annotator.pipe(iter(texts)))
    assert found == [annotator(text) for text in texts]
    assert (found[2].id, found[2].metadata) == ("two", {"source": "zoo"})
    assert places(found[0]) >= {(ADA.start, ADA.end, "person"), (OZ.start, OZ.end, "place")}


def test_pipe_counts_words_and_reports_failures(annotator: Annotator) -> None:
    words: list[int] = []
    failed: list[tuple[object, str]] = []
    wrong = (TEXT, Constraints(require=[Mention(0, 2, "person")]))

    def on_error(given: object, error: BaseException) -> None:
        failed.append((given, type(error).__name__))

    found = list(annotator.pipe(["Ada left.", wrong, "Oz"], on_words=words.append, on_error=on_error))
    assert [document.text for document in found] == ["Ada left.", "Oz"]
    assert sum(words) == 4 and failed == [(TEXT, "SpanError")]
    with pytest.raises(InputError, match="does not begin and end with words"):
        list(annotator.pipe([wrong]))


def test_constraints_stand_beside_a_text_or_are_arguments(annotator: Annotator) -> None:
    [given] = annotator.pipe([(TEXT, Constraints(require=[OZ], forbid=[ADA]))])
    assert places(given) == places(annotator(TEXT, require=[OZ], forbid=[ADA]))
    assert (20, 22, "place") in places(given) and (0, 3, "person") not in places(given)


def test_long_texts_come_without_sentences_on_request_alone(annotator: Annotator) -> None:
    text = f"{TEXT}\n\n" * 5
    in_parts = Annotator(annotator.model, window=20, long_text=100)
    [whole], [bare] = in_parts.pipe([text]), in_parts.pipe([text], keep_sentences=False)
    assert whole.sentences and not bare.sentences and bare.mentions == whole.mentions


def test_recognize_takes_tokens_and_gives_positions_of_tokens(annotator: Annotator) -> None:
    sentences = [Sentence(["Ada", "left", "Oz", "."]), Sentence([])]
    found = list(annotator.recognize(sentences, types=["person"]))
    assert [sentence.tokens for sentence in found] == [sentence.tokens for sentence in sentences]
    assert [(mention.span, mention.label) for mention in found[0].mentions] == [((0, 1), "person")]


def test_a_torch_model_answers_the_same_with_and_without_kernels() -> None:
    model = small_model()
    assert isinstance(model, Recognizer)
    with kernels.reference():
        expected = Annotator(model)(TEXT)
    found = Annotator(model)(TEXT)
    assert found.mentions == expected.mentions
    for one, other in zip(sorted(found.mentions), sorted(expected.mentions), strict=True):
        assert one.probability == pytest.approx(other.probability, abs=1e-5)
