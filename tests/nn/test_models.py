"""One test body for every model that can be trained: it learns, it is kept whole, it takes any sentence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from hyperspan import kernels
from hyperspan.baselines.katiyar_cardie import label_sets, mentions_of
from hyperspan.baselines.readings import read, structure_of
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.kernels.numbers import to_numpy
from hyperspan.nn import ENCODERS, MODELS, Model, Scorer, load_model, new_model, save_model
from hyperspan.nn.features import SPAN_TEMPLATES, TEMPLATES
from hyperspan.nn.folders import compact
from hyperspan.nn.neural import NeuralEncoder
from hyperspan.training.events import EpochFinished, TrainingEvent
from hyperspan.training.loop import Run, Trainer, dev_scores
from hyperspan.training.loss import TrainingLoss
from hyperspan.types import Mention, Sentence
from tests.support.models import HANDCRAFTED, OWN, SMALL, corpus, loss_of

ENCODER_VARIANTS = {"neural": [], "handcrafted": HANDCRAFTED}
"""Every encoder, which runs with every structure."""
SEGMENTAL_VARIANTS = {
    "c = 13": ["model.max_width=13"],
    "character LSTM": ["characters.encoder=lstm", "characters.hidden=6"],
    "character CNN": ["characters.encoder=cnn", "characters.hidden=6"],
    "untied": ["model.tied=false"],
    "no interactions": ["segmental.interactions=false"],
    "two layers, dropout": [
        "encoder.input_dropout=0.05",
        "encoder.output_dropout=0.05",
        "encoder.hidden=32",
        "encoder.layers=2",
    ],
    "transformer in place of words and LSTM": (
        "transformer.name=TINY transformer.pooling=mean transformer.learning_rate=0.01 "
        "transformer.layers=3 words.dimension=0 encoder.layers=0 training.warmup_epochs=1 "
        "training.epochs=40 training.optimizer=adamw"
    ).split(),
    "likelihood alone, cased words, average": (
        "training.softmax_margin=false words.lowercase=false training.ema_decay=0.9 "
        "training.optimizer=adamw training.weight_decay=0.001"
    ).split(),
}
HANDCRAFTED_VARIANTS = {
    "handcrafted, every feature, dropout": [
        *HANDCRAFTED,
        f"handcrafted.words={' '.join(name for name in TEMPLATES if 'cluster' not in name)}",
        f"handcrafted.spans={' '.join(name for name in SPAN_TEMPLATES if 'cluster' not in name)}",
        "encoder.input_dropout=0.2",
    ],
}
VARIANTS = {
    **{kind: ENCODER_VARIANTS if issubclass(entry, Scorer) else {"neural": []} for kind, entry in MODELS.items()},
    "discontinuous": {"neural": []},  # gaps are spans, which only dense encoders have vectors of
    "segmental": ENCODER_VARIANTS | SEGMENTAL_VARIANTS | HANDCRAFTED_VARIANTS,
    "linear-chain": ENCODER_VARIANTS | HANDCRAFTED_VARIANTS,
}
CASES = [
    pytest.param([f"model.kind={kind}", *OWN.get(kind, []), *changes], id=f"{kind}: {name}")
    for kind, variants in VARIANTS.items()
    for name, changes in variants.items()
]
LEARNT_SELDOM = (
    *("c = 13", "character LSTM", "character CNN", "untied", "no interactions", "two layers, dropout"),
    *("joint: handcrafted", "mention-hypergraph: handcrafted", "mention-separators: handcrafted"),
)
"""Variants that other tests run too, and that make test-slow trains until they have learnt the corpus."""
LEARNING_CASES = [
    pytest.param(*case.values, id=case.id, marks=pytest.mark.slow if str(case.id).endswith(LEARNT_SELDOM) else ())
    for case in CASES
]


DISCONTINUOUS = [
    Sentence(
        ["The", "North", "and", "the", "South", "Lindau", "Harbour", "sleep"],
        [Mention(1, 7, "FAC", ((1, 2), (5, 7))), Mention(4, 7, "FAC")],
        tags=["UP", "UP", "LOW", "LOW", "UP", "UP", "UP", "LOW"],
    ),
    Sentence(
        ["Captain", "of", "the", "old", "Amsel", "Wren"],
        [Mention(0, 6, "PER", ((0, 1), (5, 6))), Mention(2, 5, "VEH")],
        tags=["UP", "LOW", "LOW", "LOW", "UP", "UP"],
    ),
]


def corpus_for(config: Config) -> list[Sentence]:
    """The corpus, with discontinuous mentions for models that find them."""
    finds_parts = MODELS[config.model.kind].abilities.gaps
    return [*corpus(), *(DISCONTINUOUS if finds_parts else ())]


@pytest.fixture(params=CASES)
def config(request: pytest.FixtureRequest) -> Config:
    changes = [*SMALL, *request.param]
    if "transformer.name=TINY" in changes:
        changes.append(f"transformer.name={request.getfixturevalue('tiny_encoder')}")
    return Config().override(changes)


def predictions(model: Model, sentences: list[Sentence]) -> list[frozenset[tuple[int, int, int]]]:
    with torch.inference_mode():
        return model.distribution(sentences).argmax()


class LearntError(Exception):
    """Nothing is left to learn."""


def best_possible(model: Model, sentences: list[Sentence]) -> float:
    """The F1 of a model that has learnt all that its structure can hold, as far as that can be told apart."""
    found = expected = right = 0
    for sentence in sentences:
        gold = model.gold(sentence)
        held = model.representable(gold, len(sentence))
        if model.config.model.kind.startswith("mention-"):
            held = read(structure_of(held), "nested")
        elif model.config.model.kind == "katiyar-cardie":
            held = mentions_of(label_sets(held, len(sentence), len(model.labels)), "nested")
        found, expected, right = found + len(held), expected + len(gold), right + len(held & gold)
    return 2 * right / (found + expected)


@pytest.mark.parametrize("config", LEARNING_CASES, indirect=True)
def test_a_model_learns_a_small_corpus_and_is_kept_whole(config: Config, tmp_path: Path) -> None:
    every = corpus_for(config)
    # A few are learnt sooner: mentions in others of their type, crossing and discontinuous ones are among them.
    sentences = [every[6], *every[:25:4], *every[25:]]
    model = new_model(config.override(["training.batch_size=2", "training.patience=60"]), sentences)
    best = best_possible(model, sentences)

    def stop_when_learnt(event: TrainingEvent) -> None:
        if isinstance(event, EpochFinished) and event.dev and event.dev["f1"] > best - 0.017:
            raise LearntError

    with pytest.raises(LearntError):
        Trainer(Run(TrainingLoss(model), sentences, sentences), tmp_path, [stop_when_learnt]).run()

    kept = load_model(tmp_path)
    assert dev_scores(kept, sentences)["f1"] == pytest.approx(best, abs=0.017)
    save_model(kept, tmp_path / "again")
    again = load_model(tmp_path / "again")
    assert again.config == kept.config and again.labels == kept.labels == ("FAC", "GPE", "LOC", "ORG", "PER", "VEH")
    for name, tensor in kept.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name]), name
    assert predictions(kept, sentences) == predictions(again, sentences)

    save_model(kept, tmp_path / "half", half=True)
    assert predictions(load_model(tmp_path / "half"), sentences) == predictions(kept, sentences)


def test_every_parameter_gets_a_gradient(config: Config) -> None:
    sentences = corpus_for(config)
    model = new_model(config, sentences).train()
    torch.manual_seed(0)
    loss_of(model, sentences).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all() and parameter.grad.any(), name


def test_every_encoder_runs_with_every_structure() -> None:
    assert {Config().override(changes).encoder.kind for changes in ENCODER_VARIANTS.values()} == set(ENCODERS)


def test_any_sentence_is_taken(config: Config) -> None:
    model = new_model(config, corpus()).eval()
    odd = [
        Sentence([]),
        Sentence(["Amsel"]),
        Sentence(["слово", "字", "\N{GRINNING FACE}", "ا", "", "x" * 5000], tags=["?"] * 6),
        Sentence(["the", "harbour"] * (12 if config.model.kind == "tree" else 40)),  # a tree's time is cubic
        Sentence([]),
    ]
    with torch.inference_mode():
        together = model.distribution(odd)
        assert np.isfinite(to_numpy(together.marginals)).all()
        for index, sentence in enumerate(odd):
            alone = model.distribution([sentence])
            n, c = min(len(sentence), together.marginals.shape[1]), alone.marginals.shape[2]
            close = to_numpy(together.marginals)[index, :n, :c]
            np.testing.assert_allclose(to_numpy(alone.marginals)[0, :n], close, rtol=1e-3, atol=1e-4)
            assert alone.argmax() == [together.argmax()[index]]
        assert together.exact_marginals or "not implemented" not in together.limits
        assert model.distribution([Sentence([])]).argmax() == [frozenset()]
        assert model.distribution([]).argmax() == []


def test_the_same_seed_gives_the_same_parameters(config: Config) -> None:
    one, other = (new_model(config, corpus()) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def word_vectors(model: Model, ids: Tensor) -> Tensor:
    assert isinstance(model.encoder, NeuralEncoder) and model.encoder.words is not None
    return model.encoder.words(ids)


def test_words_of_the_vectors_are_known_and_stay_as_they_are(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("lindau 1 2 3\nzebra 4 5 6\n", encoding="utf-8")
    config = Config().override([*SMALL, "words.dimension=3", f"words.vectors={vectors}", "training.epochs=1"])
    sentences = corpus()
    model = new_model(config, sentences)
    assert "zebra" in model.vocabulary.words[model.vocabulary.trained :]
    Trainer(Run(TrainingLoss(model), sentences), tmp_path).run()
    model.eval()
    ids = model.collate([Sentence(["Zebra", "Lindau", "Quagga", "Flibbertigibbet"])]).words
    zebra, lindau, unknown, other = word_vectors(model, ids)
    assert zebra.tolist() == [4, 5, 6]
    assert lindau.tolist() != [1, 2, 3], "words of the training data are trained"
    assert torch.equal(unknown, other)
    with pytest.raises(InputError, match=r"dimension 3, but words\.dimension is 12"):
        new_model(config.override(["words.dimension=12"]), sentences)


def test_vectors_beyond_the_limit_are_those_of_training_words(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.vec"
    vectors.write_text("4 3\n</s> 9 9 9\nQuagga 1 2 3\nzebra 4 5 6\nLindau 7 8 9\n", encoding="utf-8")
    config = Config().override([*SMALL, "words.dimension=3", f"words.vectors={vectors}", "words.max_vectors=2"])
    model = new_model(config, corpus()).eval()
    assert model.vocabulary.words[model.vocabulary.trained :] == ["</s>", "quagga"]
    ids = model.collate([Sentence(["Lindau", "quagga", "Zebra", "Flibbertigibbet"])]).words
    lindau, quagga, beyond, unknown = word_vectors(model, ids)
    assert lindau.tolist() == [7, 8, 9] and quagga.tolist() == [1, 2, 3] and torch.equal(beyond, unknown)


def test_a_rare_word_is_read_by_its_fixed_vector_in_training_too(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("tea 4 5 6\n", encoding="utf-8")
    changes = [f"words.vectors={vectors}", "words.dimension=3", "words.lowercase=false", "words.min_count=9"]
    model = new_model(Config().override([*SMALL, *changes]), corpus())
    batch = model.collate([Sentence(["Tea"])])
    for mode in (model.train(), model.eval()):
        assert word_vectors(mode, batch.words).tolist() == [[4, 5, 6]]


@pytest.mark.parametrize("characters", ["lstm", "cnn"])
def test_unknown_words_tags_and_characters_get_gradients_by_word_dropout(characters: str) -> None:
    config = (
        Config()
        .override(
            [f"characters.encoder={characters}", "words.word_dropout=0.5", "words.tag_dimension=4", "encoder.hidden=8"]
        )
        .settled()
    )
    sentences = [Sentence([f"keeper{number}" for number in range(80)], tags=["NN", "NNP"] * 40)]
    vocabulary, resources = NeuralEncoder.prepare(config, sentences)
    torch.manual_seed(0)
    encoder = NeuralEncoder(config, vocabulary).train()
    encoder.initialise(resources)
    encoder(encoder.collate(sentences, torch.device("cpu")))[-1].square().sum().backward()
    assert encoder.words is not None and encoder.tags is not None and encoder.characters is not None
    for name, table, row in (
        ("word", encoder.words.trained, 0),
        ("tag", encoder.tags.weight, 0),
        ("character", encoder.characters.embedding.weight, 1),
    ):
        assert table.grad is not None and table.grad[row].any(), f"the unknown {name}"


def test_a_label_that_could_not_be_loaded_again_is_not_learnt() -> None:
    with pytest.raises(InputError, match=r"the label 'A\\nB' is empty or has control characters; rename the labels"):
        new_model(Config().override(SMALL), [Sentence(["Oz"], [Mention(0, 1, "A\nB")])])


def test_a_compact_model_finds_the_same_among_words_it_still_knows(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    words = ["zebra", "quagga", "okapi"]
    vectors.write_text("".join(f"{word} {i} 1 2\n" for i, word in enumerate(words)), encoding="utf-8")
    changes = ["words.dimension=3", f"words.vectors={vectors}"]
    model = new_model(Config().override([*SMALL, *changes]), corpus()).eval()
    small = compact(model, pretrained_words=1)
    assert small.vocabulary.words[small.vocabulary.trained :] == ["zebra"]
    assert small.config.words.vectors == "vectors.txt"
    known = [Sentence(["Zebra", "of", "Lindau"])]
    with torch.inference_mode():
        for one, other in zip(model.distribution(known).marginals, small.distribution(known).marginals, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert "okapi" not in small.vocabulary.words and "okapi" in model.vocabulary.words


@pytest.mark.parametrize(
    "changes",
    [
        ["calibration.temperatures={PER = 1.4, LOC = 2}", "calibration.biases={FAC = -0.5, LOC = -1}"],
        ["model.tied=false"],
        ["model.kind=mention-hypergraph"],
        ["model.kind=mention-separators"],
    ],
)
def test_a_compact_model_with_fewer_labels_finds_the_others_as_before(changes: list[str], tmp_path: Path) -> None:
    sentences = corpus()
    model = new_model(Config().override([*SMALL, *changes]), sentences).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(len(parameter)))
    save_model(compact(model, labels={"PER", "FAC", "GPE"}), tmp_path)
    small = load_model(tmp_path)
    assert small.labels == ("FAC", "GPE", "PER") and "LOC" not in small.config.calibration.temperatures
    kinds = [model.labels.index(label) for label in small.labels]
    with torch.inference_mode():
        both = [to_numpy(one.distribution(sentences).marginals) for one in (model, small)]
    np.testing.assert_allclose(both[0][..., kinds], both[1], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(
    ("kind", "labels", "message"),
    [
        ("segmental", {"ZOO"}, "the model has no label ZOO; it has FAC, GPE"),
        ("segmental", set[str](), "no label would be left; keep at least one of FAC"),
        ("linear-chain", {"PER"}, "a model of model.kind linear-chain and encoder.kind neural cannot leave labels out"),
    ],
)
def test_a_compact_model_says_which_labels_it_cannot_leave_out(kind: str, labels: set[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compact(new_model(Config().override([*SMALL, f"model.kind={kind}"]), corpus()), labels=labels)


class GruEncoder(NeuralEncoder):
    """The neural encoder with other layers over words."""

    def new_layer(self, size: int, hidden: int) -> nn.Module:
        return nn.GRU(size, hidden, bidirectional=True)

    def states(self, layer: nn.Module, rows: Tensor, lengths: Sequence[int]) -> Tensor:
        sizes = torch.tensor([sum(length > at for length in lengths) for at in range(lengths[0])])
        return layer(PackedSequence(rows, sizes))[0].data


def test_an_encoder_with_other_layers_than_lstms_is_not_computed_by_their_kernels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ENCODERS, "built_in", {"gru": GruEncoder})
    model = new_model(Config().override([*SMALL, "encoder.kind=gru"]), corpus()).eval()
    with torch.inference_mode(), kernels.reference():
        expected = to_numpy(model.distribution(corpus()).marginals)
    with torch.inference_mode():
        np.testing.assert_allclose(to_numpy(model.distribution(corpus()).marginals), expected, atol=1e-5, rtol=1e-5)
