"""Pretrained Hugging Face encoders: located by folder or name, checked, and described, so that saved models do not need
the original.

A *description* is what a model needs besides its weights: the encoder's architecture and its tokenizer. It is plain
data in a model's vocabulary.json, so that loading a model does not need the hub.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyperspan.errors import InputError, require

if TYPE_CHECKING:
    from torch import nn

PATIENCE = 5.0
"""The timeout for the hub, in seconds."""
UNLIMITED = 10**6
"""Tokenizers without a limit report a number far above this."""
TOKENIZER_FILES = (
    *("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model"),
    *("spiece.model", "sentencepiece.bpe.model", "spm.model", "bpe.codes"),
)
_EXAMPLE = "name an encoder such as bert-base-cased"


def require_transformers() -> None:
    """Raise an error unless the extra is installed."""
    require("transformers", "reading words with a pretrained encoder (transformer.name)")


def check_pretrained(name: str) -> None:
    """Raise an error for an encoder that does not exist or cannot be used, before its weights are read."""
    _read_description(name)


def read_pretrained(name: str) -> tuple[dict[str, Any], nn.Module]:
    """The description of an encoder, and the encoder itself with its weights."""
    config, tokenizer, offline = _read_description(name)
    import torch
    from transformers.models.auto.modeling_auto import AutoModel

    with _reading(name, "weights", "it must hold model.safetensors that fit its config.json"):
        encoder, found = AutoModel.from_pretrained(
            name, config=config, dtype=torch.float32, local_files_only=offline, output_loading_info=True
        )
    lacking = [key for key in found["missing_keys"] if "pooler" not in key and "position_ids" not in key]
    if lacking:
        raise InputError(
            f"the encoder is {name}, whose weights lack {lacking[0]} and {len(lacking) - 1} others of its config.json; "
            "name an encoder with all of its weights"
        )
    if (subwords := len(tokenizer)) > (known := encoder.get_input_embeddings().num_embeddings):
        raise InputError(
            f"the encoder is {name}, whose tokenizer has {subwords:,} subwords, but whose weights know {known:,}; "
            "use the tokenizer that the encoder was trained with"
        )
    description = {
        "config": _plain(config),
        "tokenizer": json.loads(tokenizer.backend_tokenizer.to_str()),
        "limit": _limit(encoder, tokenizer),
        "nothing": _stand_in(tokenizer),
    }
    return description, encoder


def _read_description(name: str) -> tuple[Any, Any, bool]:
    """The configuration of an encoder, its tokenizer, and whether both are on this machine."""
    require_transformers()
    from transformers.models.auto.configuration_auto import AutoConfig
    from transformers.models.auto.tokenization_auto import AutoTokenizer

    offline = _located(name)
    with _reading(name, "config.json", _EXAMPLE):
        config = AutoConfig.from_pretrained(name, local_files_only=offline)
    _check_kind(name, config)
    advice = "put the tokenizer.json of the same encoder beside its config.json"
    with _reading(name, "tokenizer", advice):
        tokenizer = AutoTokenizer.from_pretrained(name, local_files_only=offline)
    if not tokenizer.is_fast:
        raise InputError(
            f"the encoder is {name}, whose tokenizer ({type(tokenizer).__name__}) is not one of the library tokenizers and does "
            "not say which subwords are of which word; name an encoder with a tokenizer.json"
        )
    if len(tokenizer) <= len(tokenizer.all_special_ids):  # empty if none of its files were found
        raise InputError(f"the encoder is {name}, which comes without a tokenizer; {advice}")
    return config, tokenizer, offline


def _located(name: str) -> bool:
    """Whether an encoder is available locally, without the hub; raise an error if it is not found anywhere."""
    folder = Path(name)
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise InputError(
                f"the encoder is {name}, a folder without config.json; name one that save_pretrained of Hugging Face wrote"
            )
        if not any((folder / file).is_file() for file in TOKENIZER_FILES):
            raise InputError(
                f"the encoder is {name}, a folder without a tokenizer; put the tokenizer.json of the same encoder into it"
            )
        return True
    if folder.is_absolute() or name.startswith(".") or name.count("/") > 1:
        raise InputError(f"the encoder is {name}, but there is no such folder; correct it, or give a name on the hub")
    import huggingface_hub
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    known = False
    try:
        known = isinstance(huggingface_hub.try_to_load_from_cache(name, "config.json"), str)
        huggingface_hub.HfApi().model_info(name, timeout=PATIENCE)
    except (HFValidationError, RepositoryNotFoundError):
        reason = "the hub has no model of that name that may be read without logging in"
    except Exception:  # each HTTP library raises its own error for an unreachable hub
        reason = "the hub cannot be asked for a model of that name (no network, or HF_HUB_OFFLINE is set)"
    else:
        return False
    if not known:
        raise InputError(
            f"the encoder is {name}, but there is no such folder, and {reason}; give the folder of an encoder"
        )
    return True


def _check_kind(name: str, config: Any) -> None:
    """Raise an error unless this is a text encoder."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    kind = config.model_type
    if getattr(config, "is_encoder_decoder", False):
        raise InputError(f"the encoder is {name}, an encoder with a decoder ({kind}); {_EXAMPLE}")
    one_way = kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES
    if getattr(config, "is_decoder", False) or one_way:
        raise InputError(
            f"the encoder is {name}, a causal model ({kind}), which does not read the words after each word; {_EXAMPLE}"
        )
    if not hasattr(config, "hidden_size") or not hasattr(config, "vocab_size"):
        raise InputError(f"the encoder is {name}, which does not read text ({kind}); {_EXAMPLE}")


def _limit(encoder: nn.Module, tokenizer: Any) -> int:
    """The maximum number of subwords that an encoder can read at once."""
    from torch import nn

    limits = [getattr(encoder.config, "max_position_embeddings", UNLIMITED), tokenizer.model_max_length, UNLIMITED]
    for name, module in encoder.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            # RoBERTa-like encoders count positions from the one after the padding index.
            limits.append(module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1))
    return int(min(limit for limit in limits if isinstance(limit, (int, float)) and limit > 0))


def _stand_in(tokenizer: Any) -> int:
    """The id for a word without subwords, such as one of control characters."""
    known = (tokenizer.unk_token_id, tokenizer.mask_token_id, tokenizer.pad_token_id)
    return next((number for number in known if number is not None), 0)


def _plain(config: Any) -> dict[str, Any]:
    """The configuration as plain JSON: including defaults, which may change, and without local paths."""
    content = json.loads(config.to_json_string(use_diff=False))
    return {key: value for key, value in content.items() if not key.startswith("_") and key != "transformers_version"}


@contextmanager
def without_messages() -> Iterator[None]:
    """Silence the progress bars and warnings of transformers."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def _reading(name: str, what: str, advice: str) -> Iterator[None]:
    """Read without messages; turn any error into an InputError."""
    try:
        with without_messages():
            yield
    except Exception as error:  # the type differs by file format and kind of damage
        reason = str(error).strip().partition("\n")[0].rstrip(".")[:200] or type(error).__name__
        raise InputError(f"the encoder is {name}, whose {what} cannot be read ({reason}); {advice}") from None
