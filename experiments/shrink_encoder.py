"""Makes a smaller encoder: without the subwords that texts do not need, and with weights in 16 bits.

    python -m experiments.shrink_encoder data/minilm data/minilm-small --keep 1 data/genia/*.data --keep 40 text/

Kept are special subwords, the characters of European scripts, and the subwords that occur at least as often as a
`--keep` says in its texts. Words that have others are cut into smaller ones. For encoders with a WordPiece tokenizer,
such as BERT and MiniLM.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from experiments.pretraining.processes import useful_processes
from experiments.pretraining.stream import SubwordEncoder, read_stream
from experiments.pretraining.texts import find_texts
from hyperspan.errors import HyperspanError, InputError
from hyperspan.files import Target
from hyperspan.nn.hub import read_pretrained
from hyperspan.text.tokens import TOKENIZERS, Tokenizer

EUROPEAN = 0x500
"""Characters below are Latin, Greek and Cyrillic letters, digits and signs."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("encoder", type=Path, help="a folder with config.json, model.safetensors and tokenizer.json")
    parser.add_argument("output", help="a folder that is not there yet")
    parser.add_argument(
        "--keep", nargs="+", action="append", required=True, metavar=("COUNT", "TEXT"), help="repeat for other texts"
    )
    return parser.parse_args()


def main(given: argparse.Namespace) -> str:
    """Writes the smaller encoder; returns a summary."""
    config = json.loads((given.encoder / "config.json").read_text("utf-8"))
    tokenizer = json.loads((given.encoder / "tokenizer.json").read_text("utf-8"))
    if tokenizer["model"]["type"] != "WordPiece":
        raise InputError(
            f"{given.encoder} has a tokenizer of type {tokenizer['model']['type']}; name one with WordPiece"
        )
    size, vocabulary = config["vocab_size"], tokenizer["model"]["vocab"]
    description, _ = read_pretrained(str(given.encoder))
    counts = [(int(least), subword_counts(given.encoder, description, texts)) for least, *texts in given.keep]
    kept = chosen(tokenizer, counts)
    with Target(given.output).open_folder() as folder:
        write_tokenizer(given.encoder, folder, tokenizer, kept)
        new = {old: number for number, old in enumerate(kept)}
        config |= {"vocab_size": len(kept), "pad_token_id": new.get(config.get("pad_token_id")), "dtype": "float16"}
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")
        weights = {
            name: (tensor[kept] if tensor.shape[:1] == (size,) else tensor).astype(np.float16)
            for name, tensor in load_file(given.encoder / "model.safetensors").items()
            if "pooler" not in name and "position_ids" not in name
        }
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        (folder / "model.safetensors").chmod(0o644)
    total = np.sum([count for _, count in counts], axis=0)
    lost = 1 - total[kept].sum() / total.sum()
    return f"kept {len(kept):,} of {len(vocabulary):,} subwords; {lost:.2%} of those in the texts are cut into smaller ones"


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
    try:
        print(main(arguments()))
    except HyperspanError as error:
        sys.exit(str(error))
