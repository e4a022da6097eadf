"""A BERT, or one of its kin, with two small layers, random weights and a tokenizer of characters and some words, as
Hugging Face keeps them."""

from __future__ import annotations

from pathlib import Path
from string import ascii_letters, digits, punctuation
from typing import Any

import torch

LAYERS = 2
POSITIONS = 48
"""Subwords that it reads at once, special ones included."""
SOME = ["the", "of", "old", "harbour", "Lindau", "##ing", "##er", "##our", "##ther", "##master", "##s"]
EXAMPLES = Path(__file__).parents[2] / "src/hyperspan/corpora/examples/harbour.data"


def make_tiny(folder: Path, kind: str = "bert", **changes: Any) -> Path:
    """Writes such an encoder into a folder; with other settings than usual where they are given."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers.models.auto.configuration_auto import AutoConfig
    from transformers.models.auto.modeling_auto import AutoModel
    from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

    characters = [*ascii_letters, *digits, *punctuation]
    subwords = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *characters,
        *(f"##{character}" for character in characters),
    ]
    words = sorted({word for line in EXAMPLES.read_text("utf-8").split("\n")[::4] for word in line.split()})
    subwords += [*SOME, *(word for word in words[::2] if word not in {*characters, *SOME})]
    tokenizer = Tokenizer(
        models.WordPiece({subword: place for place, subword in enumerate(subwords)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **{f"{name}_token": subword for name, subword in names.items()}
    ).save_pretrained(folder)
    usual = {
        "vocab_size": len(subwords),
        "hidden_size": 16,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": POSITIONS,
        "initializer_range": 0.3,  # so that subwords differ enough to be told apart
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
    torch.manual_seed(0)
    AutoModel.from_config(AutoConfig.for_model(kind, **usual | changes)).save_pretrained(folder)
    return folder
