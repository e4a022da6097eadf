"""The layered model: gold layers are flat, from inner to outer, and merging keeps what is needed to find the next
one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.baselines.layered import MOST_LAYERS, Layered, Sequences, layers_of
from hyperspan.baselines.linear_chain import outermost
from hyperspan.baselines.tree import is_nested
from hyperspan.config import Config
from hyperspan.nn import new_model
from hyperspan.nn.model import gold_of
from hyperspan.types import Mention, Sentence
from tests.baselines.test_transition import TYPES, WORDS, mention_sets, sentences
from tests.support.models import learn

Mentions = set[tuple[int, int, int]]


def representable(mentions: Mentions) -> Mentions:
    return Layered.representable(None, mentions, 8)  # type: ignore[arg-type]


def model_of(seed: int) -> Layered:
    """An untrained model of two labels that finds something in most layers."""
    changes = ["model.kind=layered", "words.dimension=6", "encoder.hidden=8", "encoder.input_dropout=0"]
    given = Sentence(WORDS, [Mention(0, 1, "PER"), Mention(4, 5, "GPE")])
    model = new_model(Config().override([*changes, f"training.seed={seed}"]), [given]).eval()
    assert isinstance(model, Layered)
    with torch.no_grad():
        model.emit.weight.mul_(10)
    return model


@given(mention_sets())
def test_layers_are_flat_from_inner_to_outer_and_hold_what_can_be_held(given: tuple[Mentions, int]) -> None:
    mentions, _ = given
    held = representable(mentions)
    layers = layers_of(held)
    assert set().union(*layers) == held and sum(map(len, layers)) == len(held)
    for level, layer in enumerate(layers):
        assert layer and not outermost(layer)[1], "flat"
        for start, end, _ in layer:
            inside = [other for other in layers[level - 1] if start <= other[0] and other[1] <= end]
            assert level == 0 or inside, "as far in as can be"
            outside = {other for later in layers[level:] for other in later if start <= other[0] and other[1] <= end}
            assert all(other[:2] == (start, end) for other in outside), "nothing further out is inside"


@given(mention_sets())
def test_only_crossing_mentions_are_left_out(given: tuple[Mentions, int]) -> None:
    mentions, _ = given
    one_type = {(start, end, 0) for start, end, _ in mentions}
    held = representable(mentions)
    assert held <= mentions and is_nested({(start, end, 0) for start, end, _ in held})
    assert (held == mentions) == is_nested(one_type)


@pytest.mark.parametrize(
    ("mentions", "depth", "held"),
    [
        ({(0, 4, 0), (1, 3, 1), (1, 2, 0)}, 3, 3),  # nested
        ({(0, 4, 0), (0, 3, 0), (5, 6, 0)}, 2, 3),  # of the same type
        ({(0, 2, 0), (0, 2, 1)}, 2, 2),  # two types on a span
        ({(0, 2, 0), (1, 3, 0)}, 1, 1),  # crossing
        ({(0, end, 0) for end in range(1, 30)}, MOST_LAYERS, MOST_LAYERS),  # deeper than is looked
    ],
)
def test_what_can_be_held(mentions: Mentions, depth: int, held: int) -> None:
    kept = representable(mentions)
    assert (len(layers_of(kept)), len(kept)) == (depth, held)


@given(st.lists(mention_sets(), max_size=4))
def test_merging_layer_by_layer_leads_through_all_mentions(given: list[tuple[Mentions, int]]) -> None:
    layers = [layers_of(representable(mentions)) for mentions, _ in given]
    sequences = Sequences.of([length for _, length in given])
    rows = np.ones(len(sequences.start), dtype=np.int64)  # how many words each row stands for
    depth = 0
    while len(sequences):
        assert (np.diff(sequences.lengths) <= 0).all()
        assert sorted(sequences.row) == list(range(len(sequences.start)))
        assert (rows[sequences.row] == sequences.end - sequences.start).all()
        wanted = [layers[b][depth] if depth < len(layers[b]) else frozenset() for b in sequences.sentence]
        places = [sequences.in_positions(place, mentions) for place, mentions in enumerate(wanted)]
        assert [sequences.in_words(place, mentions) for place, mentions in enumerate(places)] == wanted
        sequences, merge = sequences.merged(places)
        rows = np.bincount(merge.target, rows[merge.source], minlength=len(sequences.start)).astype(np.int64)
        depth += 1
        assert {int(b) for b in sequences.sentence} == {b for b, own in enumerate(layers) if len(own) >= depth}


@given(sentences, st.integers(0, 20))
def test_a_batch_is_read_as_its_sentences_alone(given: list[Sentence], seed: int) -> None:
    model = model_of(seed)
    with torch.inference_mode():
        together = model.distribution(given)
        found = together.argmax()
        assert together.topk(0) == [[] for _ in given]
        for index, sentence in enumerate(given):
            alone = model.distribution([sentence])
            assert alone.argmax() == [found[index]]
            assert is_nested({(start, end, 0) for start, end, _ in found[index]})
            n = len(sentence)
            torch.testing.assert_close(alone.marginals[0], together.marginals[index, :n, :n], rtol=1e-3, atol=1e-4)
            assert not together.marginals[index, n:].any()
            for start, end, kind in found[index]:
                assert together.marginals[index, start, end - start - 1, kind] > 0
            [(best, log_probability)] = together.topk(2)[index]
            assert best == found[index] and log_probability <= 0


@given(sentences, st.integers(0, 20))
def test_training_scores_what_was_found_as_use_does(given: list[Sentence], seed: int) -> None:
    model = model_of(seed)
    with torch.inference_mode():
        answers = model.distribution(given)
        batch = model.collate(given)
        loss = model.loss_of(model.encoder(batch)[-1], [set(found) for found in answers.argmax()], batch)
        for index, [(found, log_probability)] in enumerate(answers.topk(1)):
            layers = [
                sequences.in_words(list(sequences.sentence).index(index), best[list(sequences.sentence).index(index)])
                for sequences, _, best in answers.layers
                if index in sequences.sentence
            ]
            if layers == [*layers_of(found), frozenset()]:  # what was found from inner to outer, as gold mentions are
                assert float(loss.values[index]) == pytest.approx(-log_probability, rel=1e-3, abs=1e-3)


def test_two_types_on_a_span_and_mentions_of_one_type_in_each_other_are_learnt() -> None:
    mentions = [
        Mention(0, 1, "PER"),
        Mention(0, 6, "PER"),
        Mention(4, 5, "GPE"),
        Mention(4, 5, "PER"),
        Mention(2, 5, "PER"),
    ]
    given = [Sentence(WORDS, mentions), Sentence(["the", "mayor", "waved"], [Mention(0, 2, "PER")])]
    changes = [
        "model.kind=layered",
        "words.dimension=8",
        "encoder.hidden=16",
        "encoder.input_dropout=0",
        "words.word_dropout=0",
    ]
    model = learn(new_model(Config().override(changes), given), given, 60)
    with torch.inference_mode():
        assert model.eval().distribution(given).argmax() == [
            gold_of(sentence, model.vocabulary.labels) for sentence in given
        ]
    assert len(model.labels) == TYPES
