"""From raw text to mentions with exact probabilities, whatever the batches and however long the stream."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan import kernels
from hyperspan.config import Config
from hyperspan.corpora import read_corpus, write_corpus
from hyperspan.errors import InputError, LabelError
from hyperspan.nn import new_model
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.batches import batches_by_length
from hyperspan.runtime.constraints import Constraints
from hyperspan.runtime.documents import Failure
from hyperspan.runtime.folders import PRETRAINED
from hyperspan.runtime.loading import load
from hyperspan.runtime.model import ArrayModel
from hyperspan.structures import SegmentalHypergraph
from hyperspan.types import Document, Mention, Sentence
from tests.support.models import TEXT, TRAINING, small_model, watched_model


@pytest.fixture(scope="module", params=["torch", "arrays"])
def annotator(request: pytest.FixtureRequest, small_folder: Path) -> Annotator:
    if request.param == "torch":
        return Annotator(small_model())
    loaded = load(small_folder)
    assert isinstance(loaded.model, ArrayModel)
    return loaded


def found(document: Document) -> set[tuple[str, str]]:
    return {(mention.text, mention.label) for mention in document.mentions}


def test_finds_overlapping_mentions_with_their_places_in_the_text(annotator: Annotator) -> None:
    document = annotator(TEXT)
    assert document.text == TEXT and len(document.sentences) == 3
    expected = {("Ada", "person"), ("the zoo", "place"), ("the zoo of Oz", "place"), ("Oz", "place")}
    assert expected <= found(document) and ("The keeper of the zoo", "person") in found(document)
    for part in document.sentences:
        assert [TEXT[start:end] for start, end in part.offsets] == list(part.tokens)
        for mention in part.mentions:
            start, end = part.offsets[mention.start][0], part.offsets[mention.end - 1][1]
            assert Mention(start, end, mention.label) in document.mentions


def test_labels_card_and_domain_are_there(annotator: Annotator) -> None:
    assert annotator.labels == annotator.model.labels == ("person", "place") and annotator.name_labels == ()
    assert annotator.card.title == "" and annotator.domain_fit(TEXT) is None
    assert not annotator.reads_tags and not annotator.joins_documents and annotator.context == 0
    assert annotator.discontinuous is None


def test_a_torch_model_answers_the_same_with_and_without_kernels() -> None:
    model = small_model()
    with kernels.reference():
        expected = Annotator(model)(TEXT)
    found = Annotator(model)(TEXT)
    assert found.mentions == expected.mentions
    for one, other in zip(sorted(found.mentions), sorted(expected.mentions), strict=True):
        assert one.probability == pytest.approx(other.probability, abs=1e-5)


def test_mentions_carry_the_marginals_of_the_distribution(annotator: Annotator) -> None:
    [given] = annotator("Ada left the zoo of Oz .").sentences
    with torch.inference_mode():
        distribution = annotator.model.distribution([given])
        marginals, [best] = distribution.marginals, distribution.argmax()
    assert {(m.start, m.end, annotator.labels.index(m.label)) for m in given.mentions} == best
    for mention in given.mentions:
        kind = annotator.labels.index(mention.label)
        assert mention.probability == pytest.approx(
            marginals[0, mention.start, mention.end - mention.start - 1, kind].item(), abs=1e-6
        )


@pytest.mark.parametrize("threshold", [0.001, 0.2, 0.5, 1.0])
def test_a_threshold_keeps_every_mention_that_is_as_probable(annotator: Annotator, threshold: float) -> None:
    document = annotator(TEXT, threshold=threshold)
    with torch.inference_mode():
        for part in document.sentences:
            distribution = annotator.model.distribution([part])
            assert isinstance(distribution, SegmentalHypergraph)
            [expected] = distribution.above(threshold)
            assert {(m.start, m.end, annotator.labels.index(m.label)) for m in part.mentions} == expected
    assert all((m.probability or 0) >= threshold for m in document.mentions)


def test_thresholds_by_label(annotator: Annotator) -> None:
    low, half = annotator(TEXT, threshold=0.01).mentions, annotator(TEXT, threshold=0.5).mentions
    mixed = {m for m in low if m.label == "person"} | {m for m in half if m.label == "place"}
    assert len(mixed) > len(half)
    for threshold in ({"person": 0.01, "*": 0.5}, {"person": 0.01, None: 0.5}, {"person": 0.01}):
        assert annotator(TEXT, threshold=threshold).mentions == mixed


def test_only_some_types(annotator: Annotator) -> None:
    everything = annotator(TEXT, top_k=4)
    places = annotator(TEXT, types=["place"], top_k=4)
    assert places.mentions == {mention for mention in everything.mentions if mention.label == "place"}
    assert annotator(TEXT, types="place").mentions == places.mentions
    labels = {mention.label for part in places.alternatives or () for one in part.sets for mention in one.mentions}
    assert labels == {"place"}
    assert not annotator(TEXT, types=[], threshold=0.1).mentions


def test_the_best_sets_of_each_sentence(annotator: Annotator, tmp_path: Path) -> None:
    document = annotator(TEXT, top_k=5)
    assert document.alternatives is not None and document.candidates is None
    for part, listed in zip(document.sentences, document.alternatives, strict=True):
        assert (listed.start, listed.end) == (part.offsets[0][0], part.offsets[-1][1])
        probabilities = [ranked.probability for ranked in listed.sets]
        assert len(probabilities) == 5 and probabilities == sorted(probabilities, reverse=True)
        assert 0 < sum(probabilities) <= 1 + 1e-9
        best = set(listed.sets[0].mentions)
        assert best == {m for m in document.mentions if listed.start <= m.start < listed.end}
        assert all(TEXT[mention.start : mention.end] == mention.text for mention in best)
    write_corpus([document], tmp_path / "found.jsonl", "jsonl")
    [read] = read_corpus(tmp_path / "found.jsonl")
    assert read == document and read.metadata == {}
    written = json.loads((tmp_path / "found.jsonl").read_bytes())["metadata"]["alternatives"][0]
    first = document.alternatives[0]
    assert (written["start"], written["end"]) == (first.start, first.end) and written.keys() == {"start", "end", "sets"}
    assert [one["probability"] for one in written["sets"]] == [one.probability for one in first.sets]
    assert written["sets"][0]["mentions"][0] == {"start": 0, "end": 3, "label": "person"}
    assert annotator(read).alternatives is None


def test_results_do_not_depend_on_what_else_is_in_the_stream(annotator: Annotator) -> None:
    texts = [" ".join(itertools.islice(itertools.cycle(TEXT.split()), size)) for size in (1, 30, 7, 0, 90, 3, 3)] * 4
    together = list(annotator.pipe(texts, threshold=0.3))
    assert [document.text for document in together] == texts
    for text, document in zip(texts, together, strict=True):
        alone = annotator(text, threshold=0.3)
        assert alone == document
        for one, other in zip(sorted(alone.mentions), sorted(document.mentions), strict=True):
            assert one.probability == pytest.approx(other.probability, abs=1e-5)


def test_texts_are_taken_as_they_are_needed() -> None:
    annotator = Annotator(small_model(), window=100)
    taken = 0

    def texts() -> Iterator[str]:
        nonlocal taken
        for taken in itertools.count(1):
            yield "" if taken % 2 else TEXT

    results = annotator.pipe(texts())
    assert taken == 0
    for number, document in enumerate(itertools.islice(results, 200)):
        assert document.text == ("" if number % 2 == 0 else TEXT)
        assert taken <= number + 100


def test_sentences_keep_their_tokens_tags_and_offsets(annotator: Annotator) -> None:
    given = [
        Sentence(
            ["Ada", "saw", "Oz"],
            [Mention(1, 2, "wrong")],
            tags=["NNP", "VBD", "NNP"],
            offsets=[(0, 3), (4, 7), (8, 10)],
        ),
        Sentence([]),
        *TRAINING,
    ]
    results = list(annotator.recognize(given, threshold=0.5))
    for before, after in zip(given, results, strict=True):
        assert (after.tokens, after.tags, after.offsets) == (before.tokens, before.tags, before.offsets)
        assert all(mention.label in annotator.labels and mention.probability for mention in after.mentions)
    assert results[3].mentions == TRAINING[1].mentions


def test_documents_keep_everything_but_their_mentions(annotator: Annotator) -> None:
    split = Sentence(["Ada", "left"], tags=["A", "B"], offsets=[(0, 3), (4, 8)])
    metadata = {
        "year": 1818,
        "alternatives": [],
        "about_mentions": {"brat_lines": ["R1\tNear Arg1:T1 Arg2:T2"]},
    }
    given = Document("Ada left, alone", [Mention(4, 8, "wrong")], [split], "novel", metadata)
    document = annotator(given)
    assert (document.id, document.metadata) == ("novel", {"year": 1818})
    assert [part.tokens for part in document.sentences] == [("Ada", "left")] and document.sentences[0].tags == (
        "A",
        "B",
    )
    assert found(document) == {("Ada", "person")}
    with pytest.raises(InputError, match="'x' has sentences that do not say where"):
        annotator(Document("Ada", sentences=[Sentence(["Ada"])], id="x"))


@given(st.text(max_size=40) | st.text(st.sampled_from("Ada Oz.\n\r\t\u0301\u200d👩🏽🔬שלום\ud800\x00"), max_size=40))
@settings(max_examples=25)
def test_any_text_at_all(text: str) -> None:
    document = Annotator(small_model())(text, threshold=0.05, top_k=1)
    assert document.text == text
    assert all(text[mention.start : mention.end] == mention.text != "" for mention in document.mentions)
    assert "".join(token for part in document.sentences for token in part.tokens) == "".join(text.split())


class PanicError(BaseException):
    """What native code raises need not be an Exception."""


def fail_at_bombs(sentences: Sequence[Sentence]) -> None:
    if any("bomb" in part.tokens for part in sentences):
        raise MemoryError


class Failing(Annotator):
    """Fails to split "panic", and to find anything where there is a bomb."""

    def __init__(self, **given: Any) -> None:
        super().__init__(watched_model(fail_at_bombs), **given)

    def split(self, given: str | Document) -> Document:
        if given == "panic":
            raise PanicError("not a char boundary")
        if given == "stop":
            raise KeyboardInterrupt
        return super().split(given)


def test_pipe_leaves_out_what_fails_and_goes_on() -> None:
    annotator = Failing(long_text=50)
    texts = [TEXT[:20], "panic", TEXT[:30], "a bomb", TEXT, "a bomb " * 20, TEXT[:40]]
    failed: list[tuple[str, str]] = []

    def hear(given: str | Document, error: BaseException) -> None:
        failed.append((given if isinstance(given, str) else given.text, type(error).__name__))

    words: list[int] = []
    done = list(annotator.pipe(texts, keep_sentences=False, on_error=hear, on_words=words.append))
    assert [document.text for document in done] == [TEXT[:20], TEXT[:30], TEXT, TEXT[:40]]
    assert sum(words) == sum(len(part) for document in done for part in annotator.split(document.text).sentences)
    assert failed == [("panic", "PanicError"), ("a bomb", "MemoryError"), ("a bomb " * 20, "MemoryError")]
    with pytest.raises(PanicError):
        list(annotator.pipe(texts))
    with pytest.raises(KeyboardInterrupt):
        list(annotator.pipe(["stop"], on_error=hear))


def test_results_are_one_for_each_text_in_order() -> None:
    annotator = Failing()
    texts = ["Ada left.", "panic", "a bomb", ("Oz", Constraints(require=[Mention(0, 1, "place")])), "Oz"]
    results = list(annotator.results(texts, annotator.options()))
    assert [type(one).__name__ for one in results] == ["Document", "Failure", "Failure", "Failure", "Document"]
    assert [one.given for one in results if isinstance(one, Failure)] == ["panic", "a bomb", "Oz"]


def test_a_given_sentence_that_is_too_long_is_refused_and_not_cut(annotator: Annotator) -> None:
    words = ("Ada", "saw") * 600
    offsets = [(3 * place, 3 * place + 3) for place in range(1200)]
    given = Document("Ada" * 1200, sentences=[Sentence(words, offsets=offsets)], id="novel")
    with pytest.raises(
        InputError,
        match=r"of document 'novel' that begins 'Ada saw Ada saw Ada saw' has 1,200 words, more than the 1,000",
    ):
        annotator(given)
    with pytest.raises(InputError, match="break it up"):
        list(annotator.recognize([Sentence(words)]))
    limited = Annotator(small_model(3))
    assert len(next(limited.recognize([Sentence(words * 3)], threshold=0.5))) == 3600


def test_raw_text_without_stops_is_cut(annotator: Annotator) -> None:
    document = annotator("Ada saw " * 600)
    assert [len(sentence) for sentence in document.sentences] == [500, 500, 200]


def test_a_long_list_without_stops_is_taken_line_by_line(annotator: Annotator) -> None:
    document = annotator("Ada saw Oz\n" * 700)
    assert [part.tokens for part in document.sentences] == [("Ada", "saw", "Oz")] * 700


def test_loading_by_folder_and_by_name(small_folder: Path) -> None:
    expected = Annotator(small_model())(TEXT)
    assert load(small_folder)(TEXT) == expected
    assert load("genia").labels == load(PRETRAINED / "genia").labels
    with pytest.raises(InputError, match=r"there is no model 'smal': the bundled models are .*genia"):
        load("smal")
    assert repr(load(small_folder)) == "Annotator(segmental, labels: person, place)"
    with pytest.raises(InputError, match=r"the device 'cuda:99' cannot be used .*; choose cpu$"):
        load(small_folder, device="cuda:99")
    with pytest.raises(InputError, match="there is no device 'abacus'; choose cpu, cuda, cuda:1"):
        load(small_folder, device="abacus")
    with pytest.raises(InputError, match="skip is nan for a model of kind 'segmental'; it must be a number"):
        load(small_folder, skip=float("nan"))


def test_words_that_begin_no_mention_are_skipped_on_request(small_folder: Path) -> None:
    expected = load(small_folder)(TEXT)
    assert load(small_folder, skip=1e9)(TEXT) == expected
    assert expected.mentions and not load(small_folder, skip=-1e9)(TEXT).mentions


@given(st.lists(st.integers(0, 60)), st.none() | st.integers(1, 9), st.integers(1, 2000))
def test_batches_hold_every_sentence_once_within_the_limit(lengths: list[int], width: int | None, limit: int) -> None:
    made = list(batches_by_length(lengths, width, limit))
    assert sorted(itertools.chain(*made)) == [index for index, length in enumerate(lengths) if length]
    for batch in made:
        longest = max(lengths[index] for index in batch)
        assert len(batch) == 1 or len(batch) * longest * min(width or longest, longest) <= limit


def test_a_long_text_is_annotated_part_by_part(annotator: Annotator) -> None:
    text = (TEXT + "\n\n") * 20
    whole = annotator(text, top_k=1)
    done: list[int] = []
    in_parts = Annotator(annotator.model, window=30, long_text=100)
    mixed = ["Ada left.", text, Document(text, id="two"), "Oz"]
    short, long, again, last = in_parts.pipe(mixed, top_k=1, keep_sentences=False, on_words=done.append)
    assert long.mentions == again.mentions == whole.mentions and not long.sentences
    assert again.id == "two" and long.alternatives is not None and whole.alternatives is not None
    for one, other in zip(long.alternatives, whole.alternatives, strict=True):  # batches differ, and so does rounding
        assert (one.start, one.end, one.sets[0].mentions) == (other.start, other.end, other.sets[0].mentions)
        assert one.sets[0].probability == pytest.approx(other.sets[0].probability)
    assert short.sentences and last.text == "Oz"
    assert sum(done) == 2 * sum(map(len, whole.sentences)) + 4


def test_no_threshold_finds_what_is_not_there(annotator: Annotator) -> None:
    document = annotator("Ada left.\n\nOz.", threshold=1e-50)
    assert all(mention.probability for mention in document.mentions)


@pytest.mark.parametrize("wrong", [None, b"text", 3, ("Oz", {}), ("Oz", "Ada"), ("Oz",), ("Oz", Constraints(), 1)])
def test_what_is_no_text_is_refused(annotator: Annotator, wrong: Any) -> None:
    expected = re.escape(f"a text to annotate is {wrong!r:.50}, but must be a str or a Document, or for pipe a pair")
    with pytest.raises(InputError, match=expected):
        annotator(wrong)
    refused: list[str] = []
    [oz] = annotator.pipe([wrong, "Oz"], on_error=lambda _, error: refused.append(str(error)), keep_sentences=False)
    assert oz.text == "Oz" and re.match(expected, refused[0])


@pytest.mark.parametrize("window", [1, 20_000])
def test_words_of_a_text_count_once_where_others_fail_after_some_batches(window: int) -> None:
    words: list[int] = []
    given = Failing(window=window).pipe(
        ["Ada left Oz", "a bomb", "", "Oz"], on_words=words.append, on_error=lambda *_: None
    )
    assert [document.text for document in given] == ["Ada left Oz", "", "Oz"] and words == [3, 0, 1]


# -- what is known already ---------------------------------------------------------------------------------------------


def place(text: str, part: str, label: str) -> Mention:
    start = text.index(part)
    return Mention(start, start + len(part), label)


def test_required_and_forbidden_mentions_are_given(annotator: Annotator) -> None:
    text = "Ada left the zoo of Oz."
    oz, odd, zoo = place(text, "Oz", "place"), place(text, "left the", "person"), place(text, "the zoo of Oz", "place")
    plain = annotator(text, threshold=0.001)
    document = annotator(text, threshold=0.001, require=[odd], forbid=(mention for mention in [oz]))
    assert odd in document.mentions and oz not in document.mentions and oz in plain.mentions
    assert {m.probability for m in document.mentions if m == odd} == {1.0}
    assert odd in annotator(text, threshold=1.0, require=[odd]).mentions
    assert odd in annotator(text, require=[odd]).mentions and zoo not in annotator(text, forbid=[zoo]).mentions
    assert odd in annotator(text, require=[odd], types=["person"], threshold=1.0).mentions
    assert odd not in annotator(text, require=[odd], types=["place"]).mentions
    there = place(text, "left the", "place")
    for known, certain in ((there, True), (odd, False)):
        assert (there in annotator(text, require=[known], types=["place"], threshold=1.0).mentions) == certain
    assert not annotator(text, require=[odd], types=[]).mentions
    (listed,) = annotator(text, require=[odd], forbid=[oz], top_k=5).alternatives or [None]
    assert listed is not None
    assert listed.sets and all(odd in one.mentions and oz not in one.mentions for one in listed.sets)


def test_pipe_takes_constraints_with_each_text(annotator: Annotator) -> None:
    text = "Ada left the zoo of Oz."
    oz, odd = place(text, "Oz", "place"), place(text, "left the", "person")
    texts = [text, (text, Constraints(require=[odd])), (Document(text, id="x"), Constraints(forbid=[oz])), text]
    plain, with_odd, without_oz, again = annotator.pipe(texts, threshold=0.001, keep_sentences=False)
    assert plain.mentions == again.mentions and odd in with_odd.mentions and oz not in without_oz.mentions
    assert oz in plain.mentions and without_oz.id == "x"
    assert with_odd.mentions == annotator(text, threshold=0.001, require=[odd]).mentions


def test_probabilities_are_those_of_the_conditioned_distribution(annotator: Annotator) -> None:
    text = TEXT
    keeper = place(text, "keeper", "person")
    document = annotator(text, threshold=0.0001, require=[keeper])
    with torch.inference_mode():
        for index, part in enumerate(document.sentences):
            distribution = annotator.model.distribution([part])
            assert isinstance(distribution, SegmentalHypergraph)
            required = {(1, 2, annotator.labels.index("person"))} if index == 1 else set()
            marginals = distribution.condition(require=[required]).marginals
            for mention in part.mentions:
                expected = marginals[
                    0, mention.start, mention.end - mention.start - 1, annotator.labels.index(mention.label)
                ]
                assert mention.probability == pytest.approx(expected.item(), abs=1e-6)
    assert [len(part.mentions) > 3 for part in document.sentences][1]


def known(part: str, start: int, end: int, label: str = "person") -> dict[str, Any]:
    return {part: [Mention(start, end, label)]}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"types": ["gene"]}, "'gene' is not among those of the model; it knows person, place"),
    ({"threshold": {"gene": 0.5}}, "'gene'"),
    *(
        ({"threshold": wrong}, "must be a probability above 0 and at most 1")
        for wrong in (0.0, 1.5, -1, {"place": 2.0}, float("nan"))
    ),
    ({"threshold": "0.5"}, r"the threshold is '0\.5'"),
    ({"top_k": -1}, "number of alternatives is -1"),
    *(({"top_k": wrong}, "top_k is .*, but must be a whole number") for wrong in (None, "3", 1.5, [], True)),
    *(({"types": wrong}, "types is .*, but must be a list or None") for wrong in (3, 1.5, True)),
    *(({"pronouns": wrong}, "pronouns is .*, but must be True or False") for wrong in (None, "false", 0)),
    ({"names": "false"}, "names is 'false', but must be True or False"),
    ({"threshold": True}, "the threshold is True"),
    ({"top_k": 100_000_000}, "must be from 0 to 10,000"),
    ({"candidates": 0}, "the least probability of candidates is 0; it must be a probability above 0"),
    (known("require", 1, 3), "at 1:3 to require does not begin and end with words; whole words .* 0:3"),
    (known("forbid", 23, 25), "at 23:25 to forbid does not begin .* there are only spaces"),
    (known("require", 20, 28, "place"), "begins in one sentence and ends in another"),
    (known("forbid", 0, 3, "gene"), "'gene' at 0:3 to forbid has a label .* it knows person, place"),
    (known("require", 0, 999), f"reaches beyond the text, which has {len(TEXT)} characters"),
    ({"require": [(0, 3, "place")]}, r"\(0, 3, 'place'\) is given as a mention"),
    ({"require": [Mention(0, 8, "place", ((0, 3), (4, 8)))]}, "is discontinuous"),
    (known("require", 0, 3) | known("forbid", 0, 3), "0:3 is both required and forbidden"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_wrong_arguments_are_explained(annotator: Annotator, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        annotator(TEXT, **arguments)
    assert isinstance(refused.value, LabelError) == ("'gene'" in message)
    if not arguments.keys() & {"require", "forbid"}:  # said before anything is asked of what the others give
        with pytest.raises(InputError, match=message):
            annotator.pipe([], **arguments)
    if arguments.keys() <= {"types", "threshold"}:
        with pytest.raises(InputError, match=message):
            annotator.recognize([], **arguments)


@pytest.mark.parametrize("sentences", [["a"], [None]])
def test_recognize_takes_sentences_alone(annotator: Annotator, sentences: Any) -> None:
    with pytest.raises(InputError, match=r"a sentence to annotate is .*, but must be a Sentence"):
        list(annotator.recognize(sentences))
    with pytest.raises(InputError, match="sentences is None, but must be a list"):
        annotator.recognize(None)  # type: ignore[arg-type]


def test_pipe_takes_no_single_text(annotator: Annotator) -> None:
    with pytest.raises(InputError, match="pipe takes a list of texts"):
        annotator.pipe("one text")
    for wrong in (None, 1.5):
        with pytest.raises(InputError, match=r"texts is .*, but must be a list"):
            annotator.pipe(wrong)  # type: ignore[arg-type]
    for option, value in {"on_error": "skip", "on_words": 3, "keep_sentences": None}.items():
        with pytest.raises(InputError, match=f"{option} is {value!r}, but must be"):
            annotator.pipe([], **{option: value})  # type: ignore[arg-type]


def test_a_required_mention_may_be_too_wide_or_skipped(small_folder: Path) -> None:
    limited = Annotator(small_model(3))
    wide = place(TEXT, "the zoo of Oz", "place")
    with pytest.raises(InputError, match="has 4 words, and this model finds mentions of up to 3"):
        limited(TEXT, require=[wide])
    assert wide not in limited(TEXT, forbid=[wide]).mentions
    with pytest.raises(InputError, match=r"begins at a word that the model passes over, .* load it with skip=math.inf"):
        load(small_folder, skip=-1e9)(TEXT, require=[wide])


def of_kind(kind: str) -> Annotator:
    """A small model of another structure, untrained."""
    config = replace(Config(), model=replace(Config().model, kind=kind))
    return Annotator(new_model(replace(config, words=replace(config.words, tag_dimension=0, dimension=4)), TRAINING))


def test_models_without_conditioning_say_so() -> None:
    with pytest.raises(
        InputError, match=r"cannot require or forbid mentions: LinearChain has no condition: .* 'segmental'"
    ):
        of_kind("linear-chain")(TEXT, require=[Mention(0, 3, "person")])


def test_semi_markov_models_take_constraints_that_do_not_overlap() -> None:
    annotator, first, word = of_kind("semi-markov"), Mention(0, 3, "person"), Mention(0, 3, "place")
    found = annotator(TEXT, require=[first])
    assert first in found.mentions and all(mention.start >= 3 for mention in found.mentions if mention != first)
    assert first not in annotator(TEXT, forbid=[first]).mentions
    with pytest.raises(InputError, match=r"or two overlap and it finds no such mentions; .* leave one out"):
        annotator(TEXT, require=[first, word])


def test_candidates_let_any_threshold_be_applied_later(annotator: Annotator, tmp_path: Path) -> None:
    document = annotator(TEXT, candidates=0.01)
    assert document.mentions == annotator(TEXT).mentions
    listed = document.candidates or ()
    assert list(listed) == sorted(listed, key=lambda mention: (mention.start, -mention.end, mention.label))
    for threshold in (0.01, 0.3, 0.7):
        kept = {mention for mention in listed if (mention.probability or 0) >= threshold}
        assert kept == annotator(TEXT, threshold=threshold).mentions
    places = annotator(TEXT, candidates=0.01, types=["place"]).candidates or ()
    assert [mention.span for mention in places] == [mention.span for mention in listed if mention.label == "place"]
    assert annotator(document).candidates is None
    write_corpus([document], tmp_path / "found.jsonl", "jsonl")
    [read] = read_corpus(tmp_path / "found.jsonl")
    assert read == document
    assert [one.probability for one in read.candidates or ()] == [one.probability for one in listed]
    [long] = annotator.pipe([TEXT], candidates=0.01, keep_sentences=False)
    assert long.candidates == listed


@pytest.mark.parametrize("error", [MemoryError, torch.OutOfMemoryError])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_batch_that_does_not_fit_into_memory_is_halved(error: type[Exception], most: int) -> None:
    model, asked = small_model(), list[int]()
    distribution = model.quick_distribution

    def limited(sentences: Sequence[Sentence]) -> Any:
        asked.append(len(sentences))
        if len(sentences) > most:
            raise error("no room")
        return distribution(sentences)

    texts = [
        "Ada left the zoo.",
        "The keeper of Oz slept there.",
        "Nobody saw the zoo of Ada.",
        "Ada slept in Oz.",
        "Oz.",
    ]
    expected = list(Annotator(model).pipe(texts))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(model, "quick_distribution", limited)
        assert list(Annotator(model).pipe(texts)) == expected
        assert max(asked) == 5 and sum(size for size in asked if size <= most) == 5
        most = 0
        with pytest.raises(MemoryError, match="there is not enough memory for one of its sentences"):
            Annotator(model)(texts[0])
