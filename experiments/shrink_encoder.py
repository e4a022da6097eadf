"""Makes a smaller encoder: without the subwords that texts do not need, and with weights in 16 bits.

Words with subwords that are not kept are cut into smaller ones. For encoders with a WordPiece tokenizer, such as BERT
and MiniLM.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from safetensors.numpy import load_file, save_file

from experiments.cli import Force, Output, run_command
from experiments.pretraining.processes import useful_processes
from experiments.pretraining.stream import SubwordEncoder, read_stream
from experiments.pretraining.texts import find_texts
from hyperspan.errors import InputError
from hyperspan.files import Target
from hyperspan.nn.hub import read_pretrained
from hyperspan.text.tokens import TOKENIZERS, Tokenizer

EUROPEAN = 0x500
"""Characters below are Latin, Greek and Cyrillic letters, digits and signs."""


def shrink(
    encoder: Annotated[Path, typer.Argument(help="A folder with config.json, model.safetensors and tokenizer.json.")],
    output: Output,
    keep: Annotated[list[str], typer.Option(metavar="COUNT=TEXT", help="Repeat for other texts.")],
    force: Force = False,
) -> None:
    """Make a smaller encoder: without the subwords that texts do not need, and with weights in 16 bits.

    Kept are special subwords, the characters of European scripts, and the subwords that occur at least as often as a
    --keep says in its text.

    Example: python -m experiments.shrink_encoder data/minilm -o data/minilm-small --keep 1=data/genia/train.data
    --keep 40=text/
    """
    config = json.loads((encoder / "config.json").read_text("utf-8"))
    tokenizer = json.loads((encoder / "tokenizer.json").read_text("utf-8"))
    if tokenizer["model"]["type"] != "WordPiece":
        raise InputError(f"{encoder} has a tokenizer of type {tokenizer['model']['type']}; name one with WordPiece")
    size, vocabulary = config["vocab_size"], tokenizer["model"]["vocab"]
    description, _ = read_pretrained(str(encoder))
    texts: dict[int, list[str]] = defaultdict(list)
    for least, _, text in (one.partition("=") for one in keep):
        texts[int(least)].append(text)
    counts = [(least, subword_counts(encoder, description, some)) for least, some in texts.items()]
    kept = chosen(tokenizer, counts)
    with Target(str(output), force).open_folder() as folder:
        write_tokenizer(encoder, folder, tokenizer, kept)
        new = {old: number for number, old in enumerate(kept)}
        config |= {"vocab_size": len(kept), "pad_token_id": new.get(config.get("pad_token_id")), "dtype": "float16"}
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")
        weights = {
            name: (tensor[kept] if tensor.shape[:1] == (size,) else tensor).astype(np.float16)
            for name, tensor in load_file(encoder / "model.safetensors").items()
            if "pooler" not in name and "position_ids" not in name
        }
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        (folder / "model.safetensors").chmod(0o644)
    total = np.sum([count for _, count in counts], axis=0)
    lost = 1 - total[kept].sum() / total.sum()
    print(
        f"kept {len(kept):,} of {len(vocabulary):,} subwords; {lost:.2%} of those in the texts are cut into smaller ones"
    )


def subword_counts(encoder: Path, description: dict[str, Any], texts: list[str]) -> np.ndarray:
    """How often each subword occurs in texts, whose words are cut both ways."""
    counts = np.zeros(description["config"]["vocab_size"], dtype=np.int64)
    for name in TOKENIZERS:
        encode = SubwordEncoder(str(encoder), description, 0, Tokenizer(name))
        files = find_texts(texts)
        stream = read_stream(encode, files, useful_processes(files, os.cpu_count() or 1))
        counts += np.bincount(stream.ids, minlength=len(counts))
    return counts


def chosen(tokenizer: dict[str, Any], counts: list[tuple[int, np.ndarray]]) -> list[int]:
    """The old numbers of the subwords to keep, in their old order."""
    prefix = tokenizer["model"]["continuing_subword_prefix"]
    kept = {token["id"] for token in tokenizer["added_tokens"]}
    for word, number in tokenizer["model"]["vocab"].items():
        character = word.removeprefix(prefix)
        used = any(count[number] for _, count in counts)
        if len(character) == 1 and (used or ord(character) < EUROPEAN):
            kept.add(number)
    for least, count in counts:
        kept.update(np.flatnonzero(count >= least).tolist())
    return sorted(kept)


def write_tokenizer(source: Path, folder: Path, tokenizer: dict[str, Any], kept: list[int]) -> None:
    """tokenizer.json, vocab.txt and their settings, with new numbers."""
    new = {old: number for number, old in enumerate(kept)}
    words = {word: new[old] for word, old in tokenizer["model"]["vocab"].items() if old in new}
    tokenizer["model"]["vocab"] = words
    for token in tokenizer["added_tokens"]:
        token["id"] = new[token["id"]]
    for special in (tokenizer.get("post_processor") or {}).get("special_tokens", {}).values():
        special["ids"] = [words[token] for token in special["tokens"]]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), "utf-8")
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in sorted(words, key=words.__getitem__)), "utf-8")
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        if (source / name).is_file():
            (folder / name).write_bytes((source / name).read_bytes())


if __name__ == "__main__":
    run_command(shrink, "experiments.shrink_encoder")
