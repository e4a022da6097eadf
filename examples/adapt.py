"""Goes on pretraining an encoder on text of your own kind, before any labels: words are hidden, and it learns to guess them.

    python examples/adapt.py data/minilm data/genia/train.data -o data/minilm-genia --device cuda

The result is a folder for `transformer.name`. Texts may be of any format that hyperspan reads; labels are not looked at. Take training
text, or other text of the kind: what a figure is measured on must not be in it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import torch
from rich.progress import track
from torch import Tensor
from transformers import AutoModelForMaskedLM, AutoTokenizer

from hyperspan.training.run import read_sentences

HIDDEN = 0.15
"""So many words are hidden at a time."""
NOTHING = -100
"""In the place of a piece that is not to be guessed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("encoder", help="an encoder of Hugging Face: a folder, or its name on the hub")
    parser.add_argument("texts", nargs="+", help="files or folders")
    parser.add_argument("-o", "--output", type=Path, required=True, help="a folder that is not there yet")
    parser.add_argument("--epochs", type=int, default=160)
    parser.add_argument("--rate", type=float, default=5e-4, help="the highest learning rate")
    parser.add_argument("--length", type=int, default=256, help="pieces that are read at once")
    parser.add_argument("--batch", type=int, default=64, help="how many such at a time")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.output.exists():
        sys.exit(f"{given.output} exists already; name another folder")
    torch.manual_seed(given.seed)
    tokenizer = AutoTokenizer.from_pretrained(given.encoder)
    if tokenizer.mask_token_id is None:
        sys.exit(f"{given.encoder} has no mask to hide words with; name an encoder such as bert-base-cased")
    sentences = [sentence for path in given.texts for sentence in read_sentences(path, gold_known=False)]
    stream, begins = pieces_of([token for sentence in sentences for token in sentence.tokens], tokenizer)
    inner = given.length - 2  # a piece before and a piece after them
    steps = given.epochs * (len(stream) // inner // given.batch)
    if steps == 0:
        sys.exit(f"the texts have {len(stream):,} pieces, less than one batch; give more text, or a smaller --batch")
    model = AutoModelForMaskedLM.from_pretrained(given.encoder, dtype=torch.float32).to(given.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=given.rate, weight_decay=0.01, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, given.rate, steps, pct_start=0.06, anneal_strategy="linear"
    )
    losses: list[Tensor] = []
    blocks = iter(())
    for _ in track(range(steps), f"{len(stream):,} pieces, {steps:,} steps"):
        places = next(blocks, None)
        if places is None:
            blocks = iter(shuffled(len(stream), inner, given.batch))
            places = next(blocks)
        read, hidden = hide(stream[places], begins[places], tokenizer)
        with torch.autocast("cuda", torch.bfloat16, enabled=given.device.startswith("cuda")):
            loss = model(input_ids=read.to(given.device), labels=hidden.to(given.device)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    tenth = max(steps // 10, 1)
    first, last = (torch.stack(part).mean().item() for part in (losses[:tenth], losses[-tenth:]))
    beside = given.output.with_name(given.output.name + ".partial")
    model.base_model.save_pretrained(beside)
    tokenizer.save_pretrained(beside)
    beside.rename(given.output)
    print(f"wrote {given.output}; loss {first:.2f} in the first tenth of the steps, {last:.2f} in the last")


def pieces_of(words: list[str], tokenizer: Any) -> tuple[Tensor, Tensor]:
    """The pieces of all words in a row, and which of them begin a word."""
    cut = tokenizer(words, add_special_tokens=False)["input_ids"]
    pieces = [piece for word in cut for piece in word]
    begins = [number == 0 for word in cut for number in range(len(word))]
    return torch.tensor(pieces), torch.tensor(begins)


def shuffled(pieces: int, size: int, batch: int) -> list[Tensor]:
    """Batches of the places of so many pieces in a row, cut anew each time."""
    shift = int(torch.randint(min(size, pieces - batch * size + 1), ()))
    order = torch.randperm((pieces - shift) // size)
    starts = shift + order[: len(order) // batch * batch].view(-1, batch) * size
    return list(starts[:, :, None] + torch.arange(size))


def hide(pieces: Tensor, begins: Tensor, tokenizer: Any) -> tuple[Tensor, Tensor]:
    """(B, L), (B, L) -> (B, L + 2) twice: what is read, with whole words hidden, and what was there, NOTHING elsewhere."""
    word = begins.long().cumsum(1)  # what a word before the first one left is its word 0
    chance = torch.rand(2, len(pieces), int(word.max()) + 1).gather(2, word.expand(2, -1, -1))
    hidden = chance[0] < HIDDEN
    others = torch.randint(len(tokenizer), pieces.shape)  # one in ten is another piece, one in ten is left as it is
    read = torch.where(hidden & (chance[1] < 0.8), tokenizer.mask_token_id, pieces)
    read = torch.where(hidden & (chance[1] >= 0.9), others, read)
    edges = [torch.full((len(pieces), 1), piece) for piece in (tokenizer.cls_token_id, tokenizer.sep_token_id, NOTHING)]
    first, last, nothing = edges
    guessed = torch.where(hidden, pieces, NOTHING)
    return torch.cat([first, read, last], 1), torch.cat([nothing, guessed, nothing], 1)


if __name__ == "__main__":
    main()
