"""In a pipeline of spaCy: the same mentions on its tokens, in batches, processes, files, and beside what else spaCy
does."""

from __future__ import annotations

import os
import pickle
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.corpora import read_corpus
from hyperspan.errors import DomainWarning, InputError, LabelError, MissingExtraError
from hyperspan.integrations.spacy_docs import align, as_document, span_group
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.folders import PRETRAINED
from hyperspan.text import Tokenizer
from hyperspan.types import Mention
from tests.support.coordination import TEXT as COORDINATED
from tests.support.marked_names import DEFAULT, FOUND_NAMES, PRONOUNS
from tests.support.marked_names import TEXT as NAMED_TEXT

spacy = pytest.importorskip("spacy")

from spacy import displacy  # noqa: E402
from spacy.tokens import Doc, DocBin  # noqa: E402
from spacy.training import Example  # noqa: E402
from spacy.vocab import Vocab  # noqa: E402

TEXT = "Mutant Rel proteins bind the IL-2 promoter in Jurkat T cells."
STORY = "The old woman who kept the inn saw Captain Morrow's wife leave for Halifax."


def pipeline(**config: Any) -> Any:
    nlp = spacy.blank("en")
    nlp.add_pipe("hyperspan", config={"model": "genia", **config})
    return nlp


@pytest.fixture(scope="module")
def genia() -> Any:
    return pipeline()


def found(doc: Any, key: str = "sc") -> list[tuple[int, int, str, float]]:
    group = doc.spans[key]
    scores = group.attrs["scores"]
    assert len(scores) == len(group)
    return [(s.start_char, s.end_char, s.label_, round(float(p), 4)) for s, p in zip(group, scores, strict=True)]


def mentions(nlp: Any, text: str, **wanted: Any) -> list[tuple[int, int, str, float]]:
    document = nlp.get_pipe("hyperspan").annotator(text, **wanted)
    return [(m.start, m.end, m.label, round(m.probability or 0.0, 4)) for m in sorted(document.mentions)]


# -- adding it ---------------------------------------------------------------------------------------------------------


def test_registering_it_loads_neither_torch_nor_a_model() -> None:
    code = """
import sys
sys.modules["torch"] = None  # whoever imports it fails; spaCy does without
import spacy
nlp = spacy.blank("en")
assert nlp.has_factory("hyperspan")
import hyperspan.integrations.spacy
heavy = [name for name in sys.modules if name.startswith(("hyperspan.nn", "hyperspan.structures", "hyperspan.corpora"))]
assert not heavy, heavy
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_spacy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy.language", None)
    with pytest.raises(MissingExtraError, match=r'the component of spaCy needs the extra `spacy`: pip install "hyper'):
        runpy.run_path(str(PRETRAINED.parent / "integrations" / "spacy.py"))


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        (
            {"model": "nope"},
            InputError,
            "there is no model 'nope': the bundled models are craft, english, genia, litbank, and no such",
        ),
        ({"threshold": 2.0}, InputError, "the threshold is 2.0; it must be a probability"),
        ({"threshold": {"x": 0.5}}, LabelError, "'x' is not among those of the model"),
        ({"threshold": {"a:b": 0.5}}, InputError, r"labels that a config file of spaCy cannot hold; .*\.cfg\[\"thresh"),
        ({"alignment": "near"}, InputError, "alignment is 'near', but must be one of expand, contract, strict"),
        ({"sentences": "x"}, InputError, "sentences is 'x', but must be one of hyperspan, spacy"),
        ({"tokens": "x"}, InputError, "tokens is 'x', but must be one of hyperspan, spacy"),
        ({"model": "genia", "names": True}, InputError, "this model does not mark names"),
        ({"modle": "genia"}, ValueError, "modle"),
    ],
)
def test_wrong_settings_are_refused_when_it_is_added(config: dict[str, Any], error: type, message: str) -> None:
    nlp = spacy.blank("en")
    with pytest.raises(error, match=message):
        nlp.add_pipe("hyperspan", config=config)
    assert nlp.pipe_names == []


# -- what it finds -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wanted", [{}, {"threshold": 0.2}, {"threshold": {"protein": 0.9, "*": 0.1}}, {"types": ["DNA"], "threshold": 0.5}]
)
def test_mentions_and_probabilities_are_those_of_the_annotator(wanted: dict[str, Any]) -> None:
    nlp = pipeline(spans_key="mentions", **wanted)
    doc = nlp(TEXT)
    assert found(doc, "mentions") == mentions(nlp, TEXT, **wanted) and found(doc, "mentions")
    assert nlp.pipe_labels["hyperspan"] == wanted.get("types", ["DNA", "RNA", "cell_line", "cell_type", "protein"])


def test_scores_are_exactly_the_probabilities_as_in_files(tmp_path: Path) -> None:
    doc = spacy.blank("en").make_doc("a b")
    doc.spans["sc"] = span_group(doc, "sc", {Mention(0, 1, "X"): 0.1, Mention(1, 2, "X"): 1 / 3})
    DocBin(docs=[doc]).to_disk(tmp_path / "x.spacy")
    [document] = read_corpus(tmp_path / "x.spacy")
    assert [mention.probability for mention in sorted(document.mentions)] == [0.1, 1 / 3]


def test_alternatives_are_kept_with_the_group() -> None:
    nlp = pipeline(top_k=2)
    [sentence] = nlp(TEXT).spans["sc"].attrs["alternatives"]
    assert [ranked["probability"] > 0 for ranked in sentence["sets"]] == [True, True]
    assert nlp("").spans["sc"].attrs["alternatives"] == []


@pytest.mark.parametrize("text", ["", " ", "\n\n\t ", "👩🏽‍🔬 IL-2 👍🏽 binds NF-κB 🧬.", "x" * 5000, "  IL-2  \n "])
@pytest.mark.parametrize("tokens", ["hyperspan", "spacy"])
def test_odd_texts(genia: Any, text: str, tokens: str) -> None:
    component = genia.get_pipe("hyperspan")
    component.cfg["tokens"] = tokens
    try:
        doc = genia(text)
    finally:
        component.cfg["tokens"] = "hyperspan"
    assert doc.text == text and list(doc.spans) == ["sc"]
    assert all(
        not span.text.isspace() and span.text == text[span.start_char : span.end_char] for span in doc.spans["sc"]
    )
    if tokens == "hyperspan":
        expected = ["IL-2", "NF-κB 🧬"] if "🧬" in text else ["IL-2"] * ("IL" in text)
        assert [span.text for span in doc.spans["sc"]] == expected


def made(words: list[str], spaces: list[bool] | None = None) -> Any:
    return Doc(Vocab(), words=words, spaces=spaces)


def test_mentions_that_are_not_on_tokens_are_moved_or_dropped_and_counted() -> None:
    doc = made(["The", "IL-2;IL-4", "genes"])
    given = [Mention(4, 8, "P", probability=0.9), Mention(9, 13, "P", probability=0.5), Mention(9, 19, "D")]
    placed, counts = align(doc, given, "expand")
    assert placed == {Mention(1, 2, "P"): 0.9, Mention(1, 3, "D"): 0.0}
    assert counts == {"mentions": 3, "unaligned": 3, "dropped": 0, "merged": 1}
    placed, counts = align(doc, given, "contract")
    assert placed == {Mention(2, 3, "D"): 0.0} and counts == {"mentions": 3, "unaligned": 3, "dropped": 2, "merged": 0}
    placed, counts = align(doc, given, "strict")
    assert placed == {} and counts == {"mentions": 3, "unaligned": 3, "dropped": 3, "merged": 0}


@given(
    words=st.lists(st.tuples(st.text(st.sampled_from("ab🦁"), min_size=1, max_size=3), st.booleans()), min_size=1),
    data=st.data(),
    mode=st.sampled_from(["expand", "contract", "strict"]),
)
@settings(max_examples=60)
def test_alignment_is_as_it_says(words: list[tuple[str, bool]], data: st.DataObject, mode: str) -> None:
    doc = made([word for word, _ in words], [space for _, space in words])
    inside = [
        place for token in doc for place in range(token.idx, token.idx + len(token))
    ]  # no model begins at a blank
    start, last = sorted((data.draw(st.sampled_from(inside)), data.draw(st.sampled_from(inside))))
    placed, counts = align(doc, [Mention(start, last + 1, "X", probability=0.5)], mode)
    touched = [token.i for token in doc if token.idx <= last and start < token.idx + len(token)]
    whole = [token.i for token in doc if start <= token.idx and token.idx + len(token) <= last + 1]
    chosen = touched if mode == "expand" else whole if mode == "contract" or whole == touched else []
    assert list(placed) == ([Mention(chosen[0], chosen[-1] + 1, "X")] if chosen else [])
    assert counts == {"mentions": 1, "unaligned": whole != touched, "dropped": not chosen, "merged": 0}


def test_counts_are_on_the_group_and_add_up_on_the_component() -> None:
    nlp = pipeline(alignment="strict")
    groups = [nlp(text).spans["sc"] for text in ("It binds IL-2.NF-kappaB.", TEXT, "It binds IL-2.NF-kappaB too.")]
    assert groups[0].attrs["unaligned"] == groups[0].attrs["dropped"] > 0 == groups[1].attrs["unaligned"]
    counts = nlp.get_pipe("hyperspan").counts
    assert all(
        counts[name] == sum(group.attrs[name] for group in groups) for name in ("unaligned", "dropped", "merged")
    )
    assert counts["mentions"] == sum(len(group) + group.attrs["dropped"] for group in groups)


@pytest.mark.parametrize("sentences", ["hyperspan", "spacy"])
@pytest.mark.parametrize("tokens", ["hyperspan", "spacy"])
def test_the_model_reads_the_sentences_and_tokens_that_it_is_told_to(sentences: str, tokens: str) -> None:
    text = "IL-2  binds.\n\nNot so! The IL-4 gene"
    doc = Doc(Vocab(), words=["IL-2", " ", "binds", ".", "\n\n", "Not", "so", "!", "The", "IL-4", "gene"], spaces=[True, False, False, False, False, True, False, True, True, True, False])  # fmt: skip
    for token in doc:
        token.is_sent_start, token.tag_ = token.i in (0, 8), "NN"
    assert doc.text == text
    document = as_document(doc, Tokenizer("split"), sentences, tokens)
    assert document.text == text
    if sentences == tokens == "hyperspan":
        assert document.sentences == ()  # the annotator makes them
        return
    starts = [sentence.offsets[0][0] for sentence in document.sentences]
    assert starts == ([0, 14, 22] if sentences == "hyperspan" else [0, 22])
    words = [token for sentence in document.sentences for token in sentence.tokens]
    assert words[:3] == (["IL", "-", "2"] if tokens == "hyperspan" else ["IL-2", "binds", "."])
    assert all(bool(sentence.tags) == (tokens == "spacy") for sentence in document.sentences)
    assert "".join(words) == "".join(text.split())


def test_spacys_sentences_must_be_there() -> None:
    nlp = pipeline(sentences="spacy", tokens="spacy")
    assert found(nlp("")) == [] and found(nlp("one")) == []
    with pytest.raises(
        InputError, match=r"'IL-2 binds\.' has no sentence boundaries, but the setting sentences is 'spacy'"
    ):
        nlp("IL-2 binds.")
    nlp.add_pipe("sentencizer", first=True)
    doc = nlp("The IL-2 promoter. NF-kappa B binds.")
    assert [span.text for span in doc.spans["sc"]] == ["IL-2 promoter", "NF-kappa B"]


# -- many documents ----------------------------------------------------------------------------------------------------


def test_batches_do_not_matter(genia: Any) -> None:
    texts = [TEXT, "", "NF-kappa B binds.", " ", TEXT * 8, STORY] * 2
    alone = [found(genia(text)) for text in texts]
    for size in (1, 4, 1000):
        assert [found(doc) for doc in genia.pipe(texts, batch_size=size)] == alone
    assert [context for _, context in genia.pipe([(TEXT, 1), ("", 2)], as_tuples=True)] == [1, 2]


def test_a_document_that_fails_does_not_take_others_along() -> None:
    nlp = pipeline(sentences="spacy")
    nlp.add_pipe("sentencizer", first=True)
    too_long = "word " * 1_100
    with pytest.raises(InputError, match="has 1,100 words, more than the 1,000"):
        list(nlp.pipe([TEXT, too_long]))
    failed: list[tuple[str, int]] = []
    nlp.set_error_handler(lambda name, component, docs, error: failed.append((name, len(docs))))
    docs = list(nlp.pipe([TEXT, too_long, "IL-2"]))
    assert [doc.text for doc in docs] == [TEXT, "IL-2"] and failed == [("hyperspan", 1)]


def test_counts_of_a_batch_whose_document_fails_are_added_once(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = pipeline()

    def align_but_one(doc: Any, *rest: Any) -> Any:
        if doc.text == "IL-4 binds.":
            raise ValueError("no alignment")
        return align(doc, *rest)

    monkeypatch.setattr("hyperspan.integrations.spacy.align", align_but_one)
    nlp.set_error_handler(lambda *_: None)
    docs = list(nlp.pipe([TEXT, "IL-2 binds.", "IL-4 binds."]))
    component: Any = nlp.get_pipe("hyperspan")
    assert component.counts["mentions"] == sum(len(doc.spans["sc"]) for doc in docs) > 0


def test_what_native_code_raises_goes_to_the_error_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = pipeline()

    class PanicError(BaseException): ...

    split = Annotator.split

    def panic(self: Annotator, given: Any) -> Any:
        if "panic" in given.text:
            raise PanicError("not a char boundary")
        return split(self, given)

    monkeypatch.setattr(Annotator, "split", panic)
    failed: list[str] = []
    nlp.set_error_handler(lambda name, component, docs, error: failed.append(str(error)))
    docs = list(nlp.pipe([TEXT, "panic", "IL-2"]))
    assert [doc.text for doc in docs] == [TEXT, "IL-2"] and failed == ["PanicError('not a char boundary')"]


@pytest.mark.slow
def test_several_processes() -> None:
    """In processes that are forked once the threads of the first one have worked, which forks do not inherit."""
    code = """
import multiprocessing, sys, torch, spacy
multiprocessing.set_start_method("fork")
torch.set_num_threads(2)
nlp = spacy.blank("en")
nlp.add_pipe("hyperspan")
texts = [sys.argv[1] * times for times in (1, 0, 40, 2)]
key = lambda span: (span.start, span.end, span.label_)
alone = list(nlp.pipe(texts))
together = list(nlp.pipe(texts, n_process=2, batch_size=1))
for one, other in zip(alone, together):
    assert list(map(key, one.spans["sc"])) == list(map(key, other.spans["sc"]))
    assert abs(one.spans["sc"].attrs["scores"] - other.spans["sc"].attrs["scores"]).sum() < 1e-3
"""
    command = [sys.executable, "-W", "ignore", "-c", code, TEXT]
    environment = os.environ | {"OMP_NUM_THREADS": "2"}
    assert subprocess.run(command, check=False, timeout=120, env=environment).returncode == 0


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_bundled_model_is_saved_by_its_name(tmp_path: Path) -> None:
    nlp = pipeline(model="litbank", threshold={"PER": 0.9, "*": 0.2}, spans_key="people")
    nlp.to_disk(tmp_path / "saved")
    assert [file.name for file in (tmp_path / "saved" / "hyperspan").rglob("*")] == ["hyperspan.json"]
    again = spacy.load(tmp_path / "saved")
    assert found(again(STORY), "people") == found(nlp(STORY), "people")
    assert again.pipe_labels == nlp.pipe_labels and again.config == nlp.config
    other = spacy.load(tmp_path / "saved", config={"components.hyperspan.threshold": 0.99})
    assert other.get_pipe("hyperspan").cfg["threshold"] == 0.99
    other.get_pipe("hyperspan").cfg["threshold"] = {"a:b": 0.5}  # which its config could not hold
    other.get_pipe("hyperspan").cfg["threshold"] = None
    other.to_disk(tmp_path / "changed")
    assert spacy.load(tmp_path / "changed").get_pipe("hyperspan").cfg["threshold"] is None
    nlp.to_disk(tmp_path / "without", exclude=["hyperspan"])
    assert found(spacy.load(tmp_path / "without")(STORY), "people") == found(nlp(STORY), "people")


def test_another_model_is_saved_with_its_files(tmp_path: Path) -> None:
    shutil.copytree(PRETRAINED / "litbank", tmp_path / "mine")
    (tmp_path / "mine" / "log.jsonl").touch()
    nlp = pipeline(model=str(tmp_path / "mine"))
    expected = found(nlp(STORY))
    nlp.to_disk(tmp_path / "saved")
    there = tmp_path / "saved" / "hyperspan" / "model"
    assert sorted(file.name for file in there.iterdir()) == [
        *("card.toml", "config.toml", "model.safetensors", "vocabulary.json", "words.txt")
    ]
    assert (there / "model.safetensors").read_bytes() == (PRETRAINED / "litbank" / "model.safetensors").read_bytes()
    shutil.rmtree(tmp_path / "mine")
    again = spacy.load(tmp_path / "saved")
    again.to_disk(tmp_path / "saved")  # onto the files that it was read from
    assert found(spacy.load(tmp_path / "saved")(STORY)) == expected
    shutil.rmtree(tmp_path / "saved")
    data = again.to_bytes()  # from memory
    revived = type(nlp).from_config(nlp.config).from_bytes(data)
    assert found(revived(STORY)) == expected
    assert revived.get_pipe("hyperspan").annotator.card == nlp.get_pipe("hyperspan").annotator.card
    with pytest.raises(InputError, match="there is no model"):
        type(nlp).from_config(nlp.config)(STORY)
    with pytest.raises(InputError, match="there is no model"):
        pipeline(model=str(tmp_path / "mine"))


def test_it_can_be_pickled_for_processes_that_are_not_forked(genia: Any) -> None:
    component = pickle.loads(pickle.dumps(genia.get_pipe("hyperspan")))
    assert found(component(genia.make_doc(TEXT))) == found(genia(TEXT))


def test_nothing_is_written_outside_when_bytes_are_read(tmp_path: Path, genia: Any) -> None:
    component = genia.get_pipe("hyperspan")
    srsly: Any = pytest.importorskip("srsly")
    held = srsly.msgpack_loads(component.to_bytes()) | {f"../../..{tmp_path}/evil": b"x", "model/../../evil": b"x"}
    component.from_bytes(srsly.msgpack_dumps(held))
    assert list(tmp_path.iterdir()) == []


def test_docbin_and_displacy(genia: Any) -> None:
    docs = list(genia.pipe([TEXT, ""]))
    again = list(DocBin().from_bytes(DocBin(docs=docs).to_bytes()).get_docs(Vocab()))
    assert [found(doc) for doc in again] == [found(doc) for doc in docs]
    assert again[0].spans["sc"].attrs["unaligned"] == 0
    page = displacy.render(again[0], style="span", jupyter=False)
    assert all(label in page for label in ("protein", "DNA", "cell_line"))


# -- discontinuous mentions
# ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def coordinated(parted_folder: Path) -> Any:
    return pipeline(model=str(parted_folder))


def test_discontinuous_mentions_are_spans_with_parts(coordinated: Any, tmp_path: Path) -> None:
    doc = coordinated(COORDINATED)
    group = doc.spans["sc"]
    shown = {span.text: [part.text for part in span._.hyperspan_parts] for span in group}
    assert shown["left and right ventricle"] == ["left", "ventricle"] and shown["right ventricle"] == [
        "right ventricle"
    ]
    [[left, ventricle]] = [span._.hyperspan_parts for span in group if span.text == "left and right ventricle"]
    assert left.label_ == ventricle.label_ == "ORGAN"
    assert doc[0:2]._.hyperspan_parts == [doc[0:2]]

    path = tmp_path / "found.spacy"
    DocBin(docs=[doc]).to_disk(path)
    [again] = DocBin().from_disk(path).get_docs(coordinated.vocab)
    assert [[part.text for part in span._.hyperspan_parts] for span in again.spans["sc"]] == list(shown.values())
    [read] = read_corpus(path)  # and hyperspan finds the parts where the component left them
    assert read.mentions == coordinated.get_pipe("hyperspan").annotator(COORDINATED).mentions


def test_mentions_that_differ_in_their_parts_alone_have_their_own(tmp_path: Path) -> None:
    doc = made(["Rod", "and", "cone", "cells"])
    parts = [[(0, 3), (8, 18)], [(0, 3), (13, 18)], []]
    given = [Mention(0, 18, "CL", listed, probability=0.5) for listed in parts]
    doc.spans["sc"] = span_group(doc, "sc", align(doc, [*given, Mention(8, 18, "CL")], "strict")[0])
    DocBin(docs=[doc]).to_disk(tmp_path / "found.spacy")
    [stored] = DocBin().from_disk(tmp_path / "found.spacy").get_docs(Vocab())
    for each in (doc, Doc(Vocab()).from_bytes(doc.to_bytes()), stored):
        shown = [[part.text for part in span._.hyperspan_parts] for span in each.spans["sc"]]
        assert shown == [["Rod and cone cells"], ["Rod", "cone cells"], ["Rod", "cells"], ["cone cells"]]
    assert [span.id_ for span in doc.spans["sc"]] == ["", "0:1,2:4", "0:1,3:4", ""]
    [read] = read_corpus(tmp_path / "found.spacy")
    assert read.mentions == {*given, Mention(8, 18, "CL")} and {mention.id for mention in read.mentions} == {""}


def test_each_part_is_aligned_by_itself() -> None:
    doc = made(["left;", "and", "right", "lungs"])  # the first token is longer than the part
    given = [Mention(0, 21, "X", [(0, 4), (16, 21)], probability=0.9), Mention(0, 21, "X", probability=0.5)]
    placed, counts = align(doc, given, "expand")
    assert placed == {Mention(0, 4, "X"): 0.5, Mention(0, 4, "X", [(0, 1), (3, 4)]): 0.9}
    assert counts == {"mentions": 2, "unaligned": 1, "dropped": 0, "merged": 0}
    for mode in ("contract", "strict"):  # a mention that loses a part is another one
        placed, counts = align(doc, given, mode)
        assert list(placed) == [Mention(0, 4, "X")] and counts["dropped"] == 1
    both = [Mention(0, 15, "X", [(0, 2), (3, 15)]), Mention(0, 15, "X")]
    assert align(doc, both, "expand")[0] == {Mention(0, 3, "X"): 0.0}  # no token is between the parts


# -- beside what else spaCy does ---------------------------------------------------------------------------------------


def test_evaluation_counts_overlapping_spans(genia: Any) -> None:
    gold = genia.make_doc(TEXT)
    gold.spans["sc"] = [gold.char_span(0, 19, "protein"), gold.char_span(29, 33, "DNA"), gold.char_span(29, 42, "DNA")]
    scores = genia.evaluate([Example(genia.make_doc(TEXT), gold)])
    assert (scores["spans_sc_p"], scores["spans_sc_r"]) == (2 / 4, 2 / 3)
    assert scores["spans_sc_per_type"]["DNA"]["r"] == 0.5


def test_training_others_leaves_it_alone() -> None:
    nlp = pipeline()
    before = found(nlp(TEXT))
    nlp.add_pipe("textcat_multilabel").add_label("X")
    gold = nlp.make_doc(TEXT)
    gold.cats = {"X": 1.0}
    examples = [Example(nlp.make_doc(TEXT), gold)]
    nlp.initialize(lambda: examples)
    assert set(nlp.update(examples)) == {"textcat_multilabel"}
    assert found(nlp(TEXT)) == before and not nlp.get_pipe("hyperspan").is_trainable


def test_foreign_documents_are_warned_of_once() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("hyperspan", config={"model": "genia"})
    german = "Die alte Brücke über den Fluss wurde im Frühjahr nach langer Arbeit wieder geöffnet."
    with pytest.warns(
        DomainWarning, match="2 of 2 texts look foreign; .*, text 1, looks like German, but genia .* English"
    ) as warned:
        docs = list(nlp.pipe([german, german]))
    assert len(docs) == 2 and len(warned) == 1
    nlp(german)
    list(nlp.pipe([german]))


def test_names_and_pronouns_on_request(named_folder: Path, tmp_path: Path) -> None:
    def found(doc: Any) -> set[tuple[str, str]]:
        return {(span.text, span.label_) for span in doc.spans["sc"]}

    nlp = pipeline(model=str(named_folder), names=True)
    assert found(nlp(NAMED_TEXT)) == FOUND_NAMES
    component = nlp.get_pipe("hyperspan")
    assert component.labels == ("person", "place")
    nlp.to_disk(tmp_path / "pipeline")
    assert found(spacy.load(tmp_path / "pipeline")(NAMED_TEXT)) == FOUND_NAMES
    component.cfg.update(names=False, pronouns=False)
    assert found(nlp(NAMED_TEXT)) == DEFAULT - PRONOUNS
    component.cfg.update(types=["person-name"], pronouns=True)
    assert component.labels == ("person-name",) and found(nlp(NAMED_TEXT)) == {("Ada", "person-name")}


def test_a_promise_chooses_the_threshold_and_comes_with_the_spans() -> None:
    nlp = pipeline(recall=0.9)
    doc = nlp(TEXT)
    group = doc.spans["sc"]
    assert group.attrs["promise"].startswith("at least 90% of mentions are found, expected; calibrated on ")
    given = nlp.get_pipe("hyperspan").annotator(TEXT, recall=0.9)
    assert {(one.start_char, one.end_char, one.label_) for one in group} == {(*m.span, m.label) for m in given.mentions}
    with pytest.raises(InputError, match="recall and precision are both asked for"):
        pipeline(recall=0.9, precision=0.9)
    news = "The company said on Tuesday that it will open three new offices in Seattle next year. Its managers expect more "
    with pytest.warns(DomainWarning, match="the promise of recall or precision does not hold there"):
        pipeline(recall=0.9)(f"{news} than 400 jobs, and the mayor of the city welcomed the decision.")
