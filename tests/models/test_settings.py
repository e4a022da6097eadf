"""Settings that a model has no use for are refused, not passed over."""

from __future__ import annotations

import pytest

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.models import new_model
from hyperspan.models.validation import validate
from tests.models.test_models import corpus


@pytest.mark.parametrize(
    "kind",
    ["linear-chain", "cascaded", "mention-hypergraph", "mention-separators", "katiyar-cardie", "layered", "transition"],
)
def test_new_model_refuses_a_width_without_spans(kind: str) -> None:
    with pytest.raises(InputError, match=f'model.max_width is 6, but model.kind {kind} .* set it to "n"'):
        new_model(Config().override([f"model.kind={kind}", "model.max_width=6"]), corpus())


@pytest.mark.parametrize("setting", ["words.vectors=glove.txt", "characters.encoder=lstm"])
def test_validate_refuses_vectors_for_handcrafted_features(setting: str) -> None:
    with pytest.raises(InputError, match=rf"{setting.replace('=', ' is ')}, but encoder.kind is handcrafted"):
        validate(Config().override(["encoder.kind=handcrafted", setting]))
