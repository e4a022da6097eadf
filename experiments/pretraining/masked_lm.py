"""An encoder with a head that predicts masked subwords."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from experiments.pretraining.masking import IGNORED, MaskedBatch
from hyperspan.errors import InputError
from hyperspan.nn.hub import read_pretrained, without_messages


class MaskedLanguageModel:
    """The Hugging Face masked language model of the encoder `name`. A missing head is new; embeddings are tied."""

    def __init__(self, name: str, device: torch.device, dropout: float | None = None):
        self.description, _ = read_pretrained(name)  # raises an error if the encoder is unusable
        from transformers.models.auto.configuration_auto import AutoConfig
        from transformers.models.auto.modeling_auto import AutoModelForMaskedLM
        from transformers.models.auto.tokenization_auto import AutoTokenizer

        with without_messages():
            config = AutoConfig.from_pretrained(name)
            self._rates = {key: value for key, value in config.to_dict().items() if _is_dropout(key, value)}
            config.update({} if dropout is None else dict.fromkeys(self._rates, dropout))
            self.tokenizer: Any = AutoTokenizer.from_pretrained(name)
            try:
                self.model: Any = AutoModelForMaskedLM.from_pretrained(name, config=config, dtype=torch.float32)
            except ValueError:
                raise InputError(
                    f"{name} is of a kind ({config.model_type}) without masked words; name an encoder such as bert-base-cased"
                ) from None
        if self.tokenizer.mask_token_id is None:
            raise InputError(f"{name} has no mask subword; name an encoder such as bert-base-cased")
        self.device = device
        self.model.to(device).train()
        self._positions: Tensor | None = None
        self.model.base_model.register_forward_hook(self._select)

    def compile(self) -> None:
        """Compile the encoder with torch.compile."""
        encoder = self.model.base_model
        encoder.forward = torch.compile(encoder.forward)

    def _select(self, module: nn.Module, given: Any, output: Any) -> Any:
        """Pass only the positions to predict to the head, since its logits are large."""
        if self._positions is not None:
            vectors = output.last_hidden_state.flatten(0, 1)  # (B * L, H)
            output.last_hidden_state = vectors.index_select(0, self._positions)[None]  # (1, K, H)
        return output

    def loss(self, batch: MaskedBatch) -> Tensor:
        """The mean negative log-probability of the masked subwords."""
        self._positions = batch.positions
        with torch.autocast("cuda", torch.bfloat16) if self.device.type == "cuda" else nullcontext():
            # No window is padded, so attention needs no mask and uses its fastest path.
            logits = self.model(input_ids=batch.inputs).logits[0]  # (K, V)
        self._positions = None
        return cross_entropy(logits.float(), batch.labels, ignore_index=IGNORED)

    def parameters(self) -> dict[str, nn.Parameter]:
        """The parameters by name; tied ones occur once."""
        return dict(self.model.named_parameters())

    def write(self, folder: Path, half: bool) -> None:
        """Write the encoder, its head and its tokenizer in the Hugging Face format; with `half`, in 16-bit weights."""
        if half:
            self.model.half()
        self.model.config.update(self._rates)
        with without_messages():
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
        for file in folder.iterdir():
            file.chmod(0o644)


def _is_dropout(key: str, value: object) -> bool:
    return "dropout" in key and isinstance(value, float)
