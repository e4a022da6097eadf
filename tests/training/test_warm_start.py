"""A model that starts from another: it has all that the other has learnt, and learns other words and labels."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from attrs import evolve
from torch import Tensor

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.nn import Recognizer, load_model, new_model, save_model
from hyperspan.nn.folders import compact
from hyperspan.nn.neural import NeuralEncoder
from hyperspan.nn.validation import validate
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.training.data import read_sentences
from hyperspan.training.events import DataNote, TrainingEvent
from hyperspan.training.loop import Run, Trainer, dev_scores
from hyperspan.training.loss import TrainingLoss
from hyperspan.training.settings import following
from hyperspan.training.start import WarmStart, learnt_parameters, new_warm_model, resemblance
from hyperspan.types import AnnotationScope, Mention, Sentence
from tests.support.models import HARBOUR
from tests.support.runs import same_result, train, train_command

PLAIN = [
    *("training.schedule=constant", "training.warmup_epochs=0", "training.ema_decay=0", "training.lm_loss_weight=0"),
    *("encoder.input_dropout=0", "encoder.output_dropout=0"),
]
SMALL = ["words.dimension=10", "encoder.hidden=8", "encoder.span_hidden=6", *PLAIN]
CHARACTERS = ["characters.encoder=cnn", "characters.hidden=4", "characters.dimension=6"]
OTHERS = [
    Sentence(
        ["Zoë", "paid", "the", "crew", "of", "Port", "Amsel", "42", "€"], [Mention(0, 1, "PER"), Mention(7, 9, "money")]
    ),
    Sentence(["The", "AMSEL", "left", "Lindau"], [Mention(0, 2, "VEH"), Mention(3, 4, "Place")]),
]
"""New words and characters; PER and VEH are labels of the trained model too, the others are not."""


def trained(*changes: str, sentences: Sequence[Sentence] = ()) -> Recognizer:
    """A model whose parameters are all different, as if it had been trained."""
    config = Config().override([*SMALL, *changes])
    model = new_model(config, sentences or read_sentences(HARBOUR))
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape), alpha=0.1)
    assert isinstance(model, Recognizer)
    return model.eval()


def started(start: Recognizer, *changes: str, sentences: Sequence[Sentence] = OTHERS) -> Recognizer:
    theirs = start.config if start.reads_tags else start.config.with_values({"words.tag_dimension": 0})
    config = following(Config().override(["training.start=start", *changes]), theirs)
    validate(config)
    return new_warm_model(config, start, sentences).eval()


def encoded(model: Recognizer, sentences: Sequence[Sentence]) -> list[Tensor]:
    batch = model.collate(sentences)
    words = model.encoder(batch)
    spans = model.encoder.spans_of(words[-1], batch)
    return words if spans is None else [*words, spans.states]


@pytest.mark.parametrize(
    "changes", [[], CHARACTERS, ["characters.encoder=lstm", "encoder.layers=2", "words.lowercase=false"]]
)
def test_new_warm_model_encodes_any_text_as_its_start_does(changes: list[str]) -> None:
    start = trained(*changes)
    model = started(start)
    sentences = [*read_sentences(HARBOUR), *OTHERS, Sentence(["Ωmega", "the", "keeper"])]
    for ours, theirs in zip(encoded(model, sentences), encoded(start, sentences), strict=True):
        assert torch.equal(ours, theirs)
    assert model.vocabulary.trained == len({token.lower() for s in OTHERS for token in s.tokens}) or changes[-1:] == [
        "words.lowercase=false"
    ]
    assert set(start.vocabulary.words) < set(model.vocabulary.words) and "zoë" in [
        w.lower() for w in model.vocabulary.words
    ]
    assert model.vocabulary.characters[: len(start.vocabulary.characters)] == start.vocabulary.characters
    assert "€" in model.vocabulary.characters


def test_a_key_that_is_given_its_default_is_given() -> None:
    start = Config().override(["model.kind=discontinuous", "training.start="])
    with pytest.raises(InputError, match=r"model\.kind is segmental, but start, which training\.start names, has disc"):
        following(Config().override(["training.start=start", "model.kind=segmental"]), start)


def test_new_warm_model_keeps_labels_that_sentences_are_annotated_with() -> None:
    start = trained(sentences=OTHERS)
    assert [*started(start, sentences=OTHERS[:1]).labels] == ["PER", "money"]
    without = evolve(OTHERS[0], annotated=AnnotationScope(["PER", "money", "VEH", "unheard"]))
    assert [*started(start, sentences=[without]).labels] == ["PER", "VEH", "money"]


def test_new_warm_model_copies_a_transformer_and_the_tags_of_its_start(tiny_encoder: Path) -> None:
    tagged = [evolve(sentence, tags=["N"] * len(sentence)) for sentence in read_sentences(HARBOUR)]
    start = trained(
        f"transformer.name={tiny_encoder}", "transformer.pooling=mean", "words.tag_dimension=3", sentences=tagged
    )
    model = started(start, sentences=[evolve(sentence, tags=["V"] * len(sentence)) for sentence in OTHERS])
    assert model.vocabulary.tags == ["N", "V"] and model.config.transformer.pooling == "mean"
    sentences = [*tagged, *OTHERS]
    for ours, theirs in zip(encoded(model, sentences), encoded(start, sentences), strict=True):
        assert torch.equal(ours, theirs)
    # A start that reads no tags makes a model that reads none.
    untagged = started(trained(), sentences=[evolve(sentence, tags=["V"] * len(sentence)) for sentence in OTHERS])
    assert not untagged.reads_tags and untagged.config.words.tag_dimension == 0


BY_TYPE: dict[str, Callable[[Any, int], list[Tensor]]] = {
    "segmental": lambda scores, kind: [
        part[..., kind] for part in (scores.absent, scores.present, scores.extend, scores.close)
    ],
    "mention-hypergraph": lambda scores, kind: [
        part[..., kind] for part in (scores.present, scores.extend, scores.close)
    ],
    "mention-separators": lambda scores, kind: [scores[..., kind]],
    "semi-markov": lambda scores, kind: [scores.outside, scores.segment[..., kind]],
    "tree": lambda scores, kind: [scores.outside, scores.segment[..., kind]],
    "linear-chain": lambda scores, kind: [
        scores.emit[..., [0, *_tags(kind)]],
        scores.step[_tags(kind)][:, [0, *_tags(kind)]],
        scores.first[[0, *_tags(kind)]],
        scores.last[_tags(kind)],
    ],
    "cascaded": lambda scores, kind: [
        scores.emit[..., kind, :],
        scores.step[kind],
        scores.first[kind],
        scores.last[kind],
        scores.earlier[kind, kind],
    ],
}
"""What the scores of each structure say of a type."""


def _tags(kind: int) -> list[int]:
    return [4 * kind + 1 + role for role in range(4)]


@pytest.mark.parametrize("changes", [[], ["model.tied=false"], ["segmental.interactions=false"]])
@pytest.mark.parametrize("kind", list(BY_TYPE))
def test_scorer_copy_from_keeps_the_scores_of_labels_of_the_same_name(kind: str, changes: list[str]) -> None:
    start = trained(f"model.kind={kind}", *changes)
    model = started(start)
    sentences = read_sentences(HARBOUR)[:3] + OTHERS
    ours, theirs = (one(one.collate(sentences)) for one in (model, start))
    assert model.labels == ("PER", "Place", "VEH", "money") and start.labels == (
        "FAC",
        "GPE",
        "LOC",
        "ORG",
        "PER",
        "VEH",
    )
    for label in ("PER", "VEH"):
        pairs = zip(
            BY_TYPE[kind](ours, model.labels.index(label)),
            BY_TYPE[kind](theirs, start.labels.index(label)),
            strict=True,
        )
        assert all(torch.allclose(one, other, atol=1e-5) for one, other in pairs)
    weights = resemblance(start, model.vocabulary, OTHERS)[1]  # of "Place"
    if kind in (
        "segmental",
        "mention-hypergraph",
        "mention-separators",
        "semi-markov",
        "tree",
    ):  # each score is an output
        learnt = [BY_TYPE[kind](theirs, index) for index in range(len(start.labels))]
        for place, tensor in enumerate(BY_TYPE[kind](ours, 1)):
            mean = sum(weight * parts[place] for weight, parts in zip(weights, learnt, strict=True))
            assert torch.allclose(tensor, torch.as_tensor(mean), atol=1e-5)


def test_new_warm_model_takes_vectors_of_words_that_its_start_does_not_know(tmp_path: Path) -> None:
    start = trained()
    file = tmp_path / "vectors.txt"
    rows = {"zoë": 1, "keeper": 2, "paid": 3, "elsewhere": 4}
    file.write_text(
        "".join(f"{word} {' '.join([str(number)] * 10)}\n" for word, number in rows.items()), encoding="utf-8"
    )
    model = started(start, f"words.vectors={file}")

    def vector(of: Recognizer, word: str) -> Tensor:
        assert isinstance(of.encoder, NeuralEncoder) and of.encoder.words is not None
        return of.encoder.words(torch.from_numpy(of.vocabulary.look_up([word])[1].words))[0]

    assert torch.equal(vector(model, "keeper"), vector(start, "keeper"))
    assert [vector(model, word).unique().tolist() for word in ("zoë", "elsewhere")] == [[1.0], [4.0]]
    assert torch.equal(vector(model, "€"), vector(start, "never seen"))
    file.write_text("zoë 1 2 3\n", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"has vectors of dimension 3, but words.dimension is 10; leave words.vectors out"
    ):
        started(start, f"words.vectors={file}")


def test_the_tokenizer_follows_the_start_unless_one_is_set() -> None:
    start = Config().override(["model.tokenizer=split", "model.temperature=2", "model.mention_bias=1"])
    assert following(Config(), start).model == replace(Config().model, tokenizer="split")
    assert following(Config().override(["model.tokenizer=words"]), start).model.tokenizer == "words"
    assert following(start, Config()).model.tokenizer == "split"


def test_learnt_parameters_have_a_learning_rate_of_their_own(tmp_path: Path) -> None:
    start = WarmStart("start", trained())
    rates = ["training.learning_rate=0.01", "training.start_learning_rate=0.002", "training.weight_decay=0.1"]
    for sentences, of_labels in ((OTHERS, 0.01), (read_sentences(HARBOUR), 0.002)):
        model = started(start.model, *rates, sentences=sentences)
        learnt = learnt_parameters(model, start)
        groups = Trainer(Run(TrainingLoss(model), sentences, learnt=learnt), tmp_path).optimiser.groups
        found = {name: options for options, group in groups.items() for name in group}
        assert found["model.encoder.words.trained"] == (0.002, 0.0)
        assert found["model.encoder.spans.inputs"] == (0.002, 0.1)
        assert found["model.scorer.start.weight"] == found["model.scorer.parts.from_spans"] == (of_labels, 0.1)


# -- runs ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trained model and a corpus of other labels."""
    folder = tmp_path_factory.mktemp("warm")
    config = Config().override(
        [*SMALL, *CHARACTERS, f"data.train={HARBOUR}", "training.epochs=25", "training.batch_size=4"]
    )
    train(config.override(["training.learning_rate=0.02", "segmental.skip_margin=3"]), folder / "start", device="cpu")
    text = Path(HARBOUR).read_text(encoding="utf-8")
    (folder / "other.data").write_text(text.replace(" PER", " person").replace(" GPE", " town"), encoding="utf-8")
    return folder


def settings(place: Path, *changes: str) -> Config:
    given = [
        f"data.train={place / 'other.data'}",
        f"data.dev={place / 'other.data'}",
        f"training.start={place / 'start'}",
    ]
    return Config().override([*given, "training.epochs=3", "training.batch_size=4", *PLAIN, *changes])


def test_train_from_a_start_learns_new_labels_sooner(place: Path, tmp_path: Path) -> None:
    notes: list[TrainingEvent] = []
    sizes = [*SMALL, *CHARACTERS, "training.start="]
    rates = ["training.learning_rate=0.02"]
    warm = train(settings(place), tmp_path / "warm", overrides=rates, listeners=[notes.append], device="cpu")
    cold = train(settings(place), tmp_path / "cold", overrides=[*rates, *sizes], device="cpu")
    assert warm.dev_f1 is not None and cold.dev_f1 is not None and warm.dev_f1 > cold.dev_f1 + 0.2
    words = len(load_model(place / "start").vocabulary.words)
    assert (
        DataNote(
            f"starts from start: encoders and vectors of {words} words; labels kept: FAC, LOC, ORG, VEH; new: person, town; "
            "left out, as the training data has none: GPE, PER"
        )
        in notes
    )
    model = load_model(warm.folder)
    assert model.config.encoder.hidden == 8 and model.config.characters.encoder == "cnn"
    assert (
        model.config.segmental.skip_margin == 0
        and model.config.model.temperature != load_model(place / "start").config.model.temperature
    )
    assert "| started from | `start` |" in (warm.folder / "README.md").read_text(encoding="utf-8")
    assert compact(model).config.training.start == "start"


def test_resemblance_says_which_labels_are_found_at_the_mentions_of_a_new_one(place: Path) -> None:
    start = load_model(place / "start")
    assert isinstance(start, Recognizer)
    sentences = read_sentences(str(place / "other.data"))
    unheard = Sentence(["Zzz"], [Mention(0, 1, "unheard")])
    vocabulary = Vocabulary.of([*sentences, unheard, OTHERS[0]], Config())
    weights = resemblance(start, vocabulary, sentences)
    assert torch.allclose(weights.sum(1), torch.ones(len(vocabulary.labels)))
    rows = dict(zip(vocabulary.labels, weights, strict=True))
    likest = {label: (start.labels[int(row.argmax())], float(row.max())) for label, row in rows.items()}
    assert likest["person"][0] == "PER" and likest["person"][1] > 0.7
    assert likest["town"][0] == "GPE" and likest["town"][1] > 0.7
    assert likest["VEH"] == ("VEH", 1.0)
    assert torch.allclose(rows["unheard"], torch.full_like(rows["unheard"], 1 / len(start.labels)))


def test_train_goes_on_with_a_model_of_the_same_labels(place: Path, tmp_path: Path) -> None:
    before = dev_scores(load_model(place / "start"), read_sentences(HARBOUR))["f1"]
    gentle = [
        "training.epochs=1",
        "training.start_learning_rate=0.0001",
        f"data.train={HARBOUR}",
        f"data.dev={HARBOUR}",
    ]
    after = train(settings(place, *gentle), tmp_path / "more", device="cpu").dev_f1
    assert after is not None and before > 0.8 and after > before - 0.05


def test_train_from_a_start_resumes_to_the_same_bits(place: Path, tmp_path: Path) -> None:
    start = tmp_path / "start"
    shutil.copytree(place / "start", start)
    config = settings(place, f"training.start={start}", "training.ema_decay=0.9", "encoder.input_dropout=0.2")
    train(config, tmp_path / "whole", device="cpu")
    train(config, tmp_path / "parts", overrides=["training.epochs=2"], device="cpu")
    start.rename(tmp_path / "moved")
    moved = [f"training.start={tmp_path / 'moved'}"]
    train(config, tmp_path / "parts", overrides=moved, device="cpu", resume=True)
    parts, whole = (load_model(tmp_path / name).state_dict() for name in ("parts", "whole"))
    assert all(torch.equal(parts[name], whole[name]) for name in whole)
    train(config, tmp_path / "again", overrides=["training.epochs=2", *moved], device="cpu")
    train(config, tmp_path / "again", overrides=moved, device="cpu", resume=True)
    assert same_result(tmp_path / "parts", tmp_path / "again")

    other = load_model(tmp_path / "moved")
    with torch.no_grad():
        next(other.encoder.parameters()).add_(1e-3)
    save_model(other, tmp_path / "moved")
    more = [*moved, "training.epochs=4"]
    with pytest.raises(
        InputError, match=r"was begun from another model than training.start names, or that has changed"
    ):
        train(config, tmp_path / "again", overrides=more, device="cpu", resume=True)
    with pytest.raises(InputError, match="was begun from another model"):
        train(config, tmp_path / "again", overrides=[*SMALL, *CHARACTERS, "training.start="], device="cpu", resume=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["training.start=nowhere"], "there is no model 'nowhere'"),
        (["training.start=examples"], "examples holds no model"),
        (
            ["encoder.hidden=9"],
            "encoder.hidden is 9, but .*start, which training.start names, has 8; leave encoder.hidden out",
        ),
        (
            ["model.kind=tree"],
            "model.kind is tree, but .* has segmental; leave model.kind out, or start from another model",
        ),
        (["model.kind=layered"], r"training.start is .*, but model.kind is layered, .*; set training.start = \"\""),
        (["encoder.kind=handcrafted"], "encoder.kind is handcrafted, but only neural encoders can be taken over"),
        (
            ["distillation.teacher=genia"],
            "distillation.teacher is genia, but a student begins with what its teacher knows",
        ),
    ],
)
def test_train_says_why_it_cannot_start_from_a_model(
    place: Path, tmp_path: Path, changes: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        train(settings(place, *changes), tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


def test_train_does_not_start_from_a_model_of_another_kind_nor_overwrite_its_start(place: Path, tmp_path: Path) -> None:
    save_model(new_model(Config().override(["model.kind=layered", *SMALL]), OTHERS), tmp_path / "layered")
    with pytest.raises(
        InputError, match=r"training.start is .*layered, which no model can start from: model.kind is layered"
    ):
        train(settings(place, f"training.start={tmp_path / 'layered'}"), tmp_path / "run", device="cpu")
    with pytest.raises(
        InputError, match=r"is the model that training.start names; write to another folder with --output"
    ):
        train(settings(place), place / "start", device="cpu", force=True)


def test_train_command_starts_from_a_model(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    text = f'[data]\ntrain = "{place / "other.data"}"\n[training]\nstart = "nowhere"\nepochs = 1\n'
    file.write_text(text, encoding="utf-8")
    warm = train_command(file, "--start", place / "start", "--output", tmp_path / "warm")
    assert warm.returncode == 0 and "starts from start: encoders and vectors of" in warm.stderr
    assert "start_learning_rate=0.004" in warm.stderr
    assert load_model(tmp_path / "warm").config.encoder.hidden == 8
    cold = train_command(file, "--start", "none", "--set", "encoder.hidden=4", "--output", tmp_path / "cold")
    assert cold.returncode == 0 and "starts from" not in cold.stderr and "start_learning_rate" not in cold.stderr
    lost = train_command(file, "--output", tmp_path / "lost")
    assert lost.returncode == 2 and "there is no model 'nowhere'" in lost.stderr
