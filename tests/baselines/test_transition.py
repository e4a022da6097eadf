"""The transition-based model: its actions build every nested set and nothing else, and a batch is read as its sentences
are alone."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.baselines.greedy import GreedySets
from hyperspan.baselines.transition import NOTHING, SHIFT, Transition, derivations, mentions_of, oracle, valid_actions
from hyperspan.baselines.tree import is_nested
from hyperspan.config import Config
from hyperspan.nn import new_model
from hyperspan.structures import MentionSet, NotSupportedError
from hyperspan.types import Mention, Sentence

TYPES = 2
WORDS = ["Amsel", "the", "mayor", "of", "Lindau", "waved"]


@st.composite
def mention_sets(draw: st.DrawFn, longest: int = 8) -> tuple[set[tuple[int, int, int]], int]:
    """Any mentions, crossing ones and several types on a span among them, and the length of their sentence."""
    length = draw(st.integers(0, longest))
    if not length:
        return set(), 0
    spans = st.tuples(st.integers(0, length - 1), st.integers(1, length)).filter(lambda span: span[0] < span[1])
    mentions = draw(st.sets(st.tuples(spans, st.integers(0, TYPES - 1)), max_size=10))
    return {(start, end, kind) for (start, end), kind in mentions}, length


@cache
def model_of(seed: int) -> Transition:
    """An untrained model of two labels that takes all kinds of actions."""
    changes = ["model.kind=transition", "words.dimension=6", "encoder.hidden=8", "encoder.input_dropout=0"]
    given = Sentence(WORDS, [Mention(0, 1, "PER"), Mention(4, 5, "GPE")])
    model = new_model(Config().override([*changes, f"training.seed={seed}"]), [given]).eval()
    assert isinstance(model, Transition)
    last = model.decide[2]
    assert isinstance(last, torch.nn.Linear)
    with torch.no_grad():
        last.weight.mul_(20)
    return model


def check_valid(actions: list[int], length: int, types: int = TYPES) -> None:
    """Goes through actions by hand, with a list for a stack, and says which of them may not be taken."""
    stack: list[int] = []  # labels
    left = length + 1
    for action in actions:
        assert left > 0, "the end symbol is the last one to be shifted"
        parts = [label - 2 * types for label in stack if label > 2 * types]
        if action == SHIFT:
            assert left > 1 or not parts
            stack.append(SHIFT)
            left -= 1
        elif action <= types:
            assert stack[-1] == SHIFT, "only a bare word becomes a mention"
            stack[-1] = action
        else:
            kind = (action - 1) % types + 1
            top, second = stack.pop(), stack.pop()
            asked = [label - 2 * types for label in (top, second) if label > 2 * types]
            assert not asked or asked[0] == kind
            assert action <= 2 * types or left > 1
            stack.append(action)
    assert left == 0 and not any(label > 2 * types for label in stack)


@given(mention_sets())
def test_the_oracle_builds_exactly_what_can_be_held(given: tuple[set[tuple[int, int, int]], int]) -> None:
    mentions, length = given
    held = model_representable(mentions)
    assert held <= mentions and is_nested(held)
    assert (held == mentions) == is_nested(mentions), "crossing mentions and second types go, and nothing else"
    actions = oracle(held, length, TYPES)
    assert mentions_of(actions, TYPES) == held
    check_valid(actions, length)


def model_representable(mentions: set[tuple[int, int, int]]) -> set[tuple[int, int, int]]:
    return Transition.representable(None, mentions, 8)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mentions", "held"),
    [
        ({(0, 4, 0), (1, 3, 1), (1, 2, 0)}, 3),  # nested
        ({(0, 4, 0), (0, 3, 0), (0, 2, 0), (0, 1, 0)}, 4),  # of the same type, with one start
        ({(0, 4, 0), (1, 4, 0), (2, 4, 0), (3, 4, 0)}, 4),  # … with one end, that of the sentence
        ({(0, 2, 0), (1, 3, 0)}, 1),  # crossing
        ({(0, 2, 0), (0, 2, 1)}, 1),  # two types on a span
    ],
)
def test_what_can_be_held(mentions: set[tuple[int, int, int]], held: int) -> None:
    kept = model_representable(mentions)
    assert len(kept) == held and mentions_of(oracle(kept, 4, TYPES), TYPES) == kept


@given(mention_sets())
def test_the_tables_of_the_oracle_find_all_its_actions_valid(given: tuple[set[tuple[int, int, int]], int]) -> None:
    mentions, length = given
    actions = oracle(model_representable(mentions), length, TYPES)
    known = derivations([actions, [SHIFT, SHIFT], actions], TYPES)
    label = [[NOTHING if tree < 0 else known.action[tree] for tree in trees] for trees in known.stack]
    left = [
        {0: length, 1: 1, 2: length}[sentence] + 1 - word
        for sentence, word in zip(known.sentence, known.word, strict=True)
    ]
    top, second, _ = torch.tensor(label).T
    valid = valid_actions(top, second, torch.tensor(left), torch.from_numpy(known.partial), TYPES)
    assert valid[range(len(valid)), known.action].all()
    assert (valid.shape[1], len(valid)) == (3 * TYPES + 1, 2 * len(actions) + 2)


sentences = st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(Sentence), min_size=1, max_size=4)


@settings(max_examples=40)
@given(sentences, st.integers(0, 7))
def test_only_valid_actions_are_taken_and_a_batch_is_read_as_its_sentences_alone(
    given: list[Sentence], seed: int
) -> None:
    model = model_of(seed)
    with torch.inference_mode():
        together = model.distribution(given)
        for index, sentence in enumerate(given):
            actions = together.actions[index]
            check_valid(actions, len(sentence))
            found: MentionSet = together.argmax()[index]
            assert mentions_of(actions, TYPES) == found and is_nested(found)
            assert model.distribution([sentence]).actions == [actions]
            [(best, log_probability)] = together.topk(3)[index]
            assert best == found and log_probability <= 0
        places = {(b, i, i + w + 1, k) for b, i, w, k in together.marginals.nonzero().tolist()}
        assert places == {(b, *mention) for b, mentions in enumerate(together.argmax()) for mention in mentions}
        assert together.topk(0) == [[] for _ in given]


@settings(max_examples=40)
@given(sentences, st.integers(0, 7))
def test_training_scores_actions_as_reading_does(given: list[Sentence], seed: int) -> None:
    model = model_of(seed)
    with torch.inference_mode():
        read = model.distribution(given)
        batch = model.collate(given)
        scored = model.log_prob(model.encoder(batch)[-1], read.actions, batch)
    torch.testing.assert_close(scored, torch.tensor(read.log_probabilities), rtol=1e-3, atol=1e-3)


def test_the_probabilities_of_all_derivations_add_up_to_one() -> None:
    model = model_of(3)
    given = [Sentence(WORDS[:2])]
    finished: list[list[int]] = []

    def grow(actions: list[int]) -> None:
        for action in range(3 * TYPES + 1):
            try:
                check_valid([*actions, action], 2)
                finished.append([*actions, action])
            except (AssertionError, IndexError):
                if len(actions) < 5:  # two words take at most six actions
                    grow([*actions, action])

    grow([])
    batch = model.collate(given * len(finished))
    with torch.inference_mode():
        total = model.log_prob(model.encoder(batch)[-1], finished, batch).logsumexp(0)
    assert float(total) == pytest.approx(0.0, abs=1e-4)


def test_greedy_models_say_why_they_cannot_condition() -> None:
    with pytest.raises(NotSupportedError, match="GreedySets has no condition: it decides step by step"):
        GreedySets([{}], [0.0], [2], TYPES, torch.device("cpu")).condition()


@pytest.mark.parametrize(
    ("asked", "kind"),
    [((0, 3, 0), "segmental"), ((0, 3, 0, ((0, 1), (2, 3))), "discontinuous")],
)
def test_greedy_models_name_one_that_conditions_on_what_was_asked(asked: Any, kind: str) -> None:
    found = GreedySets([{}], [0.0], [3], TYPES, torch.device("cpu"))
    for constraint in ("require", "forbid"):
        with pytest.raises(NotSupportedError, match=rf"; use a \w+ \(model\.kind = '{kind}'\), which has it"):
            found.condition(**{constraint: [[asked]]})
