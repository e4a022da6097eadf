"""Contextual word vectors of a pretrained transformer: the vectors of a word's subwords are pooled into one.

The result is concatenated with word vector, tag and characters in :class:`hyperspan.nn.neural.NeuralEncoder`, so
that every model can use it, with or without LSTMs on top. Its weights are saved in the model's model.safetensors.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from hyperspan.config import TransformerConfig
from hyperspan.errors import InputError
from hyperspan.nn.batch import SubwordWindows
from hyperspan.nn.encoder import ParameterOptions
from hyperspan.nn.hub import require_transformers
from hyperspan.nn.subwords import SubwordTokenizer

MAX_BATCH_SUBWORDS = 2**16
"""The maximum number of subwords of an inference batch, including padding."""


class Transformer(nn.Module):
    """A pretrained encoder, built from its description; `initialise` loads its pretrained weights."""

    def __init__(self, config: TransformerConfig, description: dict[str, Any]):
        super().__init__()
        self.config = config
        self.tokenizer = SubwordTokenizer(config, description)
        self.encoder = _built(config.name, description["config"])
        self.dimension: int = self.encoder.config.hidden_size
        self.depth = _depths(self.encoder)
        """For each parameter of the encoder, the number of layers above it."""
        self.levels = max(self.depth.values())
        """The number of layers; the embeddings are below all of them."""
        if config.layers > self.levels + 1:
            raise InputError(
                f"transformer.layers is {config.layers}, but {config.name} has {self.levels} layers and embeddings; choose a smaller number"
            )
        self.mix = nn.Parameter(torch.zeros(config.layers)) if config.layers > 1 else None
        self._freeze()
        if config.gradient_checkpointing:
            if not self.encoder.supports_gradient_checkpointing:
                raise InputError(
                    f"transformer.gradient_checkpointing is true, but {config.name} ({self.encoder.config.model_type}) cannot do it; set it to false"
                )
            self.encoder.gradient_checkpointing_enable({"use_reentrant": False})

    def _freeze(self) -> None:
        freeze = self.config.freeze
        if freeze == "none":
            return
        if freeze != "all" and freeze > self.levels:
            raise InputError(
                f'transformer.freeze is {freeze}, but {self.config.name} has {self.levels} layers; choose a smaller number, or "all"'
            )
        highest = 0 if freeze == "all" else self.levels - freeze
        for name, parameter in self.encoder.named_parameters():
            if self.depth[name] >= highest:
                parameter.requires_grad_(False)

    def train(self, mode: bool = True) -> Transformer:
        """Keep a frozen encoder in evaluation mode, so that training adds no dropout."""
        super().train(mode)
        if self.config.freeze == "all":
            self.encoder.eval()
        return self

    def initialise(self, encoder: nn.Module) -> None:
        """Copy the weights of an encoder of the same architecture."""
        known = self.encoder.state_dict()
        self.encoder.load_state_dict({name: value for name, value in encoder.state_dict().items() if name in known})

    def parameter_options(self, weight_decay: float) -> dict[nn.Parameter, ParameterOptions]:
        """Lower layers learn more slowly; embeddings, biases and norms have no weight decay."""
        return {
            parameter: ParameterOptions(
                self.config.learning_rate * self.config.layer_decay ** self.depth[name],
                weight_decay if parameter.dim() > 1 and "embedding" not in name else 0.0,
            )
            for name, parameter in self.encoder.named_parameters()
        }

    def forward(self, subwords: SubwordWindows) -> Tensor:
        """(N, dimension): each word in its sentence."""
        rows = self._states(subwords).flatten(0, 1).index_select(0, subwords.place)  # (P, dimension)
        if self.config.pooling == "first":
            return rows
        words = rows.new_zeros(subwords.words, self.dimension)
        if self.config.pooling == "mean":
            sizes = rows.new_zeros(subwords.words).index_add(0, subwords.owner, rows.new_ones(len(rows)))
            return words.index_add(0, subwords.owner, rows) / sizes[:, None]
        owner = subwords.owner[:, None].expand_as(rows)
        return words.scatter_reduce(0, owner, rows, "amax", include_self=False)

    def _states(self, subwords: SubwordWindows) -> Tensor:
        """(W, L, dimension): each subword of each window."""
        learns = torch.is_grad_enabled() and self.config.freeze != "all"
        mixed = self.mix is not None and torch.is_grad_enabled()
        size = max(MAX_BATCH_SUBWORDS // subwords.ids.shape[1], 1) if not learns and not mixed else len(subwords.ids)
        parts = [
            self._read(subwords.ids[first : first + size], subwords.counts[first : first + size], learns)
            for first in range(0, len(subwords.ids), size)
        ]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _read(self, ids: Tensor, counts: Tensor, learns: bool) -> Tensor:
        """(W', L), (W',) -> (W', L, dimension)"""
        present = torch.arange(ids.shape[1], device=ids.device) < counts[:, None]
        with torch.set_grad_enabled(learns), self._in_half(ids):
            found = self.encoder(
                input_ids=ids, attention_mask=present.long(), output_hidden_states=self.mix is not None
            )
        if self.mix is None:
            return found.last_hidden_state.float()
        layers = torch.stack(found.hidden_states[-len(self.mix) :]).float()  # (layers, W', L, dimension)
        return torch.einsum("k,kwld->wld", self.mix.softmax(0), layers)

    def _in_half(self, ids: Tensor) -> AbstractContextManager[Any]:
        if self.config.precision == "bfloat16" and ids.is_cuda:
            return torch.autocast("cuda", torch.bfloat16)
        return nullcontext()


def _built(name: str, config: dict[str, Any]) -> Any:
    """An encoder of this architecture, with uninitialised weights."""
    require_transformers()
    from transformers.models.auto.configuration_auto import AutoConfig
    from transformers.models.auto.modeling_auto import AutoModel

    try:
        known = AutoConfig.for_model(**config)
    except (TypeError, ValueError):
        raise InputError(
            f"the pretrained encoder {name} is of the kind {config.get('model_type')!r}, which the installed transformers does not know; "
            "install a newer one"
        ) from None
    known.use_cache = False  # only for text generation, and incompatible with gradient checkpointing
    encoder = AutoModel.from_config(known, dtype=torch.float32)
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None  # it represents whole texts
    return encoder


def _depths(encoder: Any) -> dict[str, int]:
    """For each parameter, the number of layers above it; parameters before the layers are below them all."""
    count = getattr(encoder.config, "num_hidden_layers", 0)
    lists = (
        name for name, module in encoder.named_modules() if isinstance(module, nn.ModuleList) and len(module) == count
    )
    prefix = next(lists, None)
    depths: dict[str, int] = {}
    reached = False
    for name, _ in encoder.named_parameters():
        if prefix is None:  # layers that share weights count as one
            depths[name] = int(name.startswith("embeddings"))
        elif name.startswith(f"{prefix}."):
            reached = True
            depths[name] = count - 1 - int(name.removeprefix(f"{prefix}.").partition(".")[0])
        else:
            depths[name] = 0 if reached else count
    return depths
