"""Continues the pretraining of an encoder on your own text, without labels, by masked language modelling.

    python examples/adapt.py data/minilm data/genia/train.data -o data/minilm-genia --device cuda

The result is a folder for `transformer.name`. Texts are .txt files, or corpora of any format that hyperspan reads; their labels are
ignored. Use training text or similar text, but never the text on which you evaluate.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from rich.progress import track
from torch import Tensor

from hyperspan.config import TransformerConfig
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.encoders.hub import read_pretrained, without_messages
from hyperspan.encoders.subwords import SubwordTokenizer
from hyperspan.errors import HyperspanError, InputError
from hyperspan.training.run import choose_device, read_sentences
from hyperspan.types import Document

MASKED = 0.15
"""The fraction of words that is masked at a time."""
IGNORED = -100
"""The label of a subword that is not to be predicted."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("encoder", help="an encoder of Hugging Face: a folder, or its name on the hub")
    parser.add_argument("texts", nargs="+", help="files of text (.txt) and corpora")
    parser.add_argument("-o", "--output", type=Path, required=True, help="a folder that is not there yet")
    parser.add_argument("--epochs", type=int, default=160)
    parser.add_argument("--learning-rate", type=float, default=5e-4, help="the highest learning rate")
    parser.add_argument("--length", type=int, default=256, help="subwords of a sequence")
    parser.add_argument("--batch", type=int, default=64, help="sequences of a batch")
    parser.add_argument("--device", default="auto", help="cpu, cuda, cuda:1 …")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for name, least in (("epochs", 1), ("batch", 1), ("length", 8)):
        if getattr(given, name) < least:
            raise InputError(f"--{name} is {getattr(given, name)}; give at least {least}")
    if given.output.exists():
        raise InputError(f"{given.output} exists already; name another folder")
    if not given.output.absolute().parent.is_dir():
        raise InputError(f"{given.output.parent} is not a folder; create it first to write {given.output.name} there")
    return given


def main(given: argparse.Namespace) -> str:
    """Writes the adapted encoder; returns a summary."""
    device = choose_device(given.device)
    torch.manual_seed(given.seed)
    description, _ = read_pretrained(given.encoder)  # or an error that says what is wrong with it
    subwords = SubwordTokenizer(TransformerConfig(given.encoder, window=given.length), description)
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    with without_messages():
        tokenizer = AutoTokenizer.from_pretrained(given.encoder)
        model = AutoModelForMaskedLM.from_pretrained(given.encoder, dtype=torch.float32).to(device).train()
    if tokenizer.mask_token_id is None:
        raise InputError(f"{given.encoder} has no mask token; name an encoder such as bert-base-cased")
    cut = [subwords.encode(word) for path in given.texts for word in words_of(path)]
    stream = torch.tensor([subword for word in cut for subword in word])
    begins = torch.tensor([number == 0 for word in cut for number in range(len(word))])
    steps = given.epochs * (len(stream) // subwords.capacity // given.batch)
    if steps == 0:
        raise InputError(
            f"the texts have {len(stream):,} subwords, but a batch has {given.batch * subwords.capacity:,}; "
            "give more text, or a smaller --batch"
        )
    optimizer = torch.optim.AdamW(model.parameters(), lr=given.learning_rate, weight_decay=0.01, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, given.learning_rate, steps, pct_start=0.06, anneal_strategy="linear"
    )
    losses: list[Tensor] = []
    batches = endless(len(stream), subwords.capacity, given.batch)
    with TemporaryDirectory(prefix=".adapt-", dir=given.output.absolute().parent) as temporary:
        for _ in track(range(steps), f"{len(stream):,} subwords, {steps:,} steps"):
            index = next(batches)
            inputs, labels = mask_words(stream[index], begins[index], tokenizer.mask_token_id, len(tokenizer))
            ends = (subwords.prefix, subwords.suffix)
            before, after = (torch.tensor(end, dtype=torch.long).expand(len(inputs), -1) for end in ends)
            inputs = torch.cat([before, inputs, after], 1)
            labels = torch.nn.functional.pad(labels, tuple(map(len, ends)), value=IGNORED)
            with torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
                loss = model(input_ids=inputs.to(device), labels=labels.to(device)).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            losses.append(loss.detach())
        made = Path(temporary) / "encoder"
        with without_messages():
            model.base_model.save_pretrained(made)
            tokenizer.save_pretrained(made)
        for file in made.iterdir():
            file.chmod(0o644)
        made.rename(given.output)
    tenth = max(steps // 10, 1)
    first, last = (torch.stack(part).nanmean().item() for part in (losses[:tenth], losses[-tenth:]))
    return f"wrote {given.output}; loss {first:.2f} in the first tenth of the steps, {last:.2f} in the last"


def words_of(path: str) -> Iterator[str]:
    if path.endswith(".txt"):
        try:
            document = Document(Path(path).read_text("utf-8"))
        except (OSError, UnicodeError) as error:
            raise InputError(f"{path} cannot be read as text ({error}); check its name and that it is UTF-8") from None
        sentences = with_sentences(document, Problems()).sentences
    else:
        sentences = read_sentences(path, gold_known=False)
    return (token for sentence in sentences for token in sentence.tokens)


def endless(subwords: int, size: int, batch: int) -> Iterator[Tensor]:
    """Batches of the indices of `size` consecutive subwords, with other cuts and in another order in each epoch."""
    while True:
        shift = int(torch.randint(min(size, subwords - batch * size + 1), ()))
        order = torch.randperm((subwords - shift) // size)
        starts = shift + order[: len(order) // batch * batch].view(-1, batch) * size
        yield from starts[:, :, None] + torch.arange(size)


def mask_words(subwords: Tensor, begins: Tensor, mask: int, size: int) -> tuple[Tensor, Tensor]:
    """(B, L), (B, L) -> (B, L) twice: the inputs, with whole words masked, and the labels, IGNORED where not masked."""
    word = begins.long().cumsum(1)  # word 0 is the rest of a word that began before the sequence
    chance = torch.rand(2, len(subwords), int(word.max()) + 1).gather(2, word.expand(2, -1, -1))
    masked = chance[0] < MASKED
    others = torch.randint(size, subwords.shape)  # one in ten is a random subword, one in ten stays
    inputs: Any = torch.where(masked & (chance[1] < 0.8), mask, subwords)
    inputs = torch.where(masked & (chance[1] >= 0.9), others, inputs)
    return inputs, torch.where(masked, subwords, IGNORED)


if __name__ == "__main__":
    try:
        print(main(arguments()))
    except HyperspanError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped; nothing was written")
