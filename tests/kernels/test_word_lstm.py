"""Every way of running an LSTM over packed rows give what torch gives sequence by sequence."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from hyperspan.kernels.choice import choose
from hyperspan.kernels.word_lstm import word_states

DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=pytest.mark.skipif(
            not (torch.cuda.is_available() and choose("word_lstm", "cuda") == "triton"), reason="needs a GPU and Triton"
        ),
    ),
]


def one_by_one(layer: nn.LSTM, sequences: list[Tensor]) -> Tensor:
    """The states of each sequence by itself, in packed order."""
    states = [layer(sequence)[0] for sequence in sequences]
    steps = range(max(len(sequence) for sequence in sequences))
    return torch.stack([own[step] for step in steps for own in states if step < len(own)])


@pytest.mark.parametrize("device", DEVICES)
@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=40), hidden=st.integers(1, 40), seed=st.integers(0, 99))
def test_states_and_gradients(device: str, lengths: list[int], hidden: int, seed: int) -> None:
    torch.manual_seed(seed)
    lengths.sort(reverse=True)
    layer = nn.LSTM(3, hidden, bidirectional=True).to(device)
    sequences = [torch.randn(length, 3, device=device, requires_grad=True) for length in lengths]
    rows = torch.stack([s[step] for step in range(lengths[0]) for s in sequences if step < len(s)])
    found, expected = word_states(layer, rows, lengths), one_by_one(layer, sequences)
    rtol, atol = (1e-4, 1e-5) if device == "cpu" else (1e-2, 3e-3)  # tensor cores round
    torch.testing.assert_close(found, expected, rtol=rtol, atol=atol)
    weights = torch.randn_like(found)
    inputs = (*sequences, *layer.parameters())
    for ours, theirs in zip(
        torch.autograd.grad((found * weights).sum(), inputs),
        torch.autograd.grad((expected * weights).sum(), inputs),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, rtol=10 * rtol, atol=10 * atol)
