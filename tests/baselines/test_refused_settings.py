"""Settings that other systems have no use for are refused before anything is trained."""

from __future__ import annotations

import pytest

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.nn.validation import validate


@pytest.mark.parametrize("kind", ["layered", "transition", "katiyar-cardie", "fofe"])
def test_validate_refuses_an_encoder_without_vectors(kind: str) -> None:
    with pytest.raises(InputError, match=f"{kind} reads vectors of words, but encoder.kind is handcrafted; set it to"):
        validate(Config().override([f"model.kind={kind}", "encoder.kind=handcrafted"]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            ["model.kind=fofe", "training.lm_loss_weight=0.1"],
            r"training\.lm_loss_weight is 0\.1, but model\.kind fofe has no LSTM",
        ),
        (
            ["model.kind=biohd", "discontinuous.parts=1"],
            r"discontinuous\.parts is 1, but model\.kind biohd joins two",
        ),
        (
            ["model.kind=joined", "discontinuous.parts=1"],
            r"discontinuous\.parts is 1, but model\.kind joined joins two",
        ),
        (
            ["model.kind=joined", "discontinuous.parts=3", "model.max_width=3"],
            r"discontinuous\.later_width is 4, but model\.max_width is 3",
        ),
    ],
)
def test_validate_refuses_settings_without_a_use(changes: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        validate(Config().override(changes))
