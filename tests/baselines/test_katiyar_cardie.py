"""Sets of labels: what they say of mentions, what they leave open, and that they are found as they are learnt."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, combinations
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.baselines.katiyar_cardie import KatiyarCardie, label_sets, links, mentions_of
from hyperspan.baselines.linear_chain import BEGIN, LAST
from hyperspan.baselines.readings import Reading, is_ambiguous
from hyperspan.baselines.tree import is_nested
from hyperspan.config import Config
from hyperspan.nn import new_model
from hyperspan.runtime.annotator import Annotator
from hyperspan.structures.mentions import Mention, MentionSet
from hyperspan.training.loop import Run, Trainer
from hyperspan.training.loss import TrainingLoss
from tests.baselines.test_fofe import check_best_threshold
from tests.support.models import OWN, SMALL, corpus

READINGS: tuple[Reading, ...] = get_args(Reading)
N, M = 7, 3
mention = st.tuples(st.integers(0, N - 1), st.integers(1, N), st.integers(0, M - 1)).filter(lambda m: m[0] < m[1])
mention_sets = st.frozensets(mention, max_size=9)


def paths_of(labels: np.ndarray) -> set[Mention]:
    """The mentions of all paths, word by word."""
    found: set[Mention] = set()
    for kind in range(labels.shape[1] // 4):
        begin, inside, last, unit = labels[:, 4 * kind + 1 : 4 * kind + 5].T
        begun: list[int] = []
        for word in range(len(labels)):
            found |= {(word, word + 1, kind)} if unit[word] else set()
            found |= {(start, word + 1, kind) for start in begun if last[word]}
            begun = (begun if inside[word] else []) + ([word] if begin[word] else [])
    return found


@given(mention_sets)
def test_labels_and_back(mentions: MentionSet) -> None:
    labels = label_sets(mentions, N, M)
    everything = mentions_of(labels, "all")
    assert everything == paths_of(labels)
    assert mentions <= everything
    for reading in READINGS:
        read = mentions_of(labels, reading)
        assert read <= everything
        assert np.array_equal(label_sets(read, N, M), labels), "a reading explains all labels"
    for kind in range(M):
        own = {m for m in mentions_of(labels, "nested") if m[2] == kind and m[1] - m[0] > 1}
        ends_and_begins = labels[:, 4 * kind + BEGIN] & labels[:, 4 * kind + LAST]
        assert is_nested(own) or ends_and_begins.any(), "mentions cross in a single word at most"


@given(mention_sets)
def test_every_label_has_a_link(mentions: MentionSet) -> None:
    labels, linked = label_sets(mentions, N, M), links(M)
    assert labels.any(1).all() and not (labels[:, 0] & labels[:, 1:].any(1)).any()
    before = np.concatenate([label_sets(set(), 1, M), labels[:-1]])
    assert not (labels & ~((before.astype(int) @ linked) > 0)).any()


@given(st.lists(st.lists(st.booleans(), min_size=4 * M + 1, max_size=4 * M + 1), max_size=N))
def test_any_labels_are_read(rows: list[list[bool]]) -> None:
    """Those on no path, which a model may well choose, are passed over."""
    labels = np.array(rows, dtype=bool).reshape(-1, 4 * M + 1)
    everything = mentions_of(labels, "all")
    assert everything == paths_of(labels)
    assert mentions_of(labels, "nested") <= everything


def test_what_cannot_be_told_apart() -> None:
    """All sets of mentions of one type in four words, by the labels that they leave."""
    spans = [(i, j, 0) for i, j in combinations(range(5), 2)]
    sets = [frozenset(s) for s in chain.from_iterable(combinations(spans, k) for k in range(len(spans) + 1))]
    alike: dict[bytes, list[MentionSet]] = defaultdict(list)
    for mentions in sets:
        alike[label_sets(mentions, 4, 1).tobytes()].append(mentions)
    ambiguous = [group for group in alike.values() if len(group) > 1]
    largest = {(0, 3, 0), (0, 4, 0), (1, 3, 0), (1, 4, 0)}
    for group in ambiguous:
        assert largest in [frozenset(m for m in mentions if m in largest) for mentions in group]
        assert any({(0, 4, 0), (1, 3, 0)} <= mentions and not {(0, 3, 0), (1, 4, 0)} & mentions for mentions in group)
        for reading in READINGS:
            assert mentions_of(label_sets(group[0], 4, 1), reading) in group
        assert all(map(is_ambiguous, group)), "starts and ends alone say even less"
    # 7 sets of those four mentions leave the same labels, whatever other mentions there are.
    assert {len(group) for group in ambiguous} == {7}
    assert sum(map(len, ambiguous)) < sum(map(is_ambiguous, sets))


def test_crossing_in_one_word_single_words_and_several_types_are_told_apart() -> None:
    for mentions in (
        {(0, 2, 0), (1, 3, 0)},
        {(0, 3, 0), (1, 2, 0)},
        {(0, 3, 0), (0, 2, 0), (1, 3, 0)},
        {(0, 3, 0), (0, 3, 1), (1, 4, 2)},
    ):
        for reading in READINGS:
            assert mentions_of(label_sets(mentions, 4, 3), reading) == mentions


def model_with(*changes: str) -> KatiyarCardie:
    kind = "katiyar-cardie"
    model = new_model(Config().override([*SMALL, f"model.kind={kind}", *OWN[kind], *changes]), corpus())
    assert isinstance(model, KatiyarCardie)
    return model


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> KatiyarCardie:
    model = model_with("training.epochs=30")
    Trainer(Run(TrainingLoss(model), corpus()[::2]), tmp_path_factory.mktemp("run")).run()
    return model.eval()


@torch.inference_mode()
def test_steps_in_use_are_those_of_training(trained: KatiyarCardie) -> None:
    """The surprise about the labels that are chosen is the loss with the mentions that they are, where all are on
    paths."""
    sentences = corpus()[::2]
    batch = trained.collate(sentences)
    words = trained.encoder(batch)[-1]
    chosen, probabilities = trained.label(words, batch, threshold=0.5)
    by_word = chosen.index_select(0, batch.row_of).view(len(sentences), batch.longest, -1).numpy()
    gold = [set(mentions_of(labels[:n], "all")) for labels, n in zip(by_word, batch.lengths, strict=True)]
    surprise = -(probabilities.log() * chosen / chosen.sum(1, keepdim=True)).nan_to_num(0.0).sum(1)
    expected = torch.zeros(len(sentences)).index_add(0, batch.sentence, surprise)
    losses = trained.loss_of(words, gold, batch).values
    explained = [
        b
        for b, n in enumerate(batch.lengths)
        if np.array_equal(label_sets(gold[b], n, len(trained.labels)), by_word[b, :n])
    ]
    assert len(explained) > len(sentences) / 2
    torch.testing.assert_close(losses[explained], expected[explained], rtol=1e-4, atol=1e-4)


def test_the_best_threshold_is_chosen(trained: KatiyarCardie) -> None:
    check_best_threshold(trained, corpus()[1::2])


@torch.inference_mode()
def test_a_lower_threshold_gives_words_more_labels(trained: KatiyarCardie) -> None:
    batch = trained.collate(corpus())
    words = trained.encoder(batch)[-1]
    counts = [int(trained.label(words, batch, threshold)[0].sum()) for threshold in (0.0, 0.05, 0.3, 1.0)]
    assert counts == sorted(counts, reverse=True) and counts[0] > counts[-1] == len(batch.words)


def test_annotating(trained: KatiyarCardie, tmp_path: Path) -> None:
    document = Annotator(trained)("The harbour master of Lindau met Captain Amsel .", top_k=3)
    assert all(0 < (mention.probability or 0) <= 1 for mention in document.mentions)
    assert document.alternatives is not None
    alternatives = document.alternatives[0]
    assert len(alternatives.sets) == 1, "a greedy model knows of one set alone"
    assert len(alternatives.sets[0].mentions) == len(document.mentions)
