"""Write down what teachers say of every sentence that a student reads, so that several students learn from it quickly.

The target of a sentence is the normalised geometric mean of the teachers' distributions, whose scores are the mean of
theirs. Its scores are stored in 16 bits, without what reaches beyond the sentence: 20 kB for 25 words and 13 types.

The sentences are those of the training corpora, each once, then those of a file of `experiments.distil.text`. They come
in shards, files of `SHARD` sentences; several processes share them (`--part 0/4`), and students read those that are
complete.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from torch import Tensor

from experiments.cli import Output, run_command
from experiments.distil.text import read_split
from hyperspan import Sentence
from hyperspan.cli.options import TrainingDevice
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.nn import Recognizer
from hyperspan.nn.batch import Batch
from hyperspan.runtime.batches import batches_by_length
from hyperspan.structures.distribution import Distribution
from hyperspan.structures.scores import DiscontinuousScores, EdgeScores, Scores
from hyperspan.training.data import context_of, read_train
from hyperspan.training.loss import MicroBatch, Teachers
from hyperspan.training.run import as_config, choose_device
from hyperspan.training.start import read_teachers

SHARD = 8192
"""Sentences in a file."""
AT_ONCE = 192
"""Sentences that teachers read at once, at most."""
UNLIMITED = 10**6


# -- the sentences ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pool:
    """All sentences that a student reads, in an order that depends on the configuration alone."""

    labelled: Sequence[Sequence[Sentence]]
    """The sentences of each training corpus."""
    unlabelled: Sequence[Sentence]

    @classmethod
    def read(cls, config: Config, text: Path | None, most: int, context: int) -> Pool:
        found = []
        for corpus in config.data.train_corpora:
            own = config.data.train if isinstance(config.data.train, str) else (replace(corpus, repeat=1),)
            one = replace(config, data=replace(config.data, train=own))
            found.append([s for document in read_train(one) for s in document if len(s)])
        return cls(found, list(islice(read_split(text, context), most)) if text else [])

    @property
    def sentences(self) -> list[Sentence]:
        return [*(sentence for corpus in self.labelled for sentence in corpus), *self.unlabelled]

    def training(self, config: Config) -> list[Sentence]:
        """The labelled sentences, as often as their corpora are repeated."""
        pairs = zip(config.data.train_corpora, self.labelled, strict=True)
        return [sentence for corpus, own in pairs for sentence in [*own] * corpus.repeat]

    def shards(self) -> list[tuple[int, int]]:
        """The first and the last sentence of each shard."""
        count = len(self.sentences)
        return [(first, min(first + SHARD, count)) for first in range(0, count, SHARD)]


# -- what is stored ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Field:
    """Scores of one name: for each first word, of so many widths."""

    widths: int
    """The widest that is stored, however long a sentence is."""
    beyond: int = 0
    """How many more words an entry reaches than its width says."""
    shrink: int = 0
    """By how many words the widest is narrower than its sentence."""

    def count(self, words: int) -> int:
        """The entries of a sentence.

        >>> Field(3).count(5), Field(1).count(5), Field(9).count(3)
        (12, 5, 6)
        """
        n, width = max(words - self.beyond, 0), self.width(words)
        return width * n - width * (width - 1) // 2

    def width(self, words: int) -> int:
        return max(min(self.widths, words - self.shrink), 0)

    def places(self, lengths: Tensor, n: int, widths: int, total: int) -> Tensor:
        """(total,): the place of each stored entry in a padded batch (B, n, widths), sentence by sentence."""
        room = lengths[:, None] - self.beyond - torch.arange(n, device=lengths.device)  # (B, n)
        most = (lengths - self.shrink).clamp(0, self.widths)
        counts = torch.minimum(room.clamp(min=0), most[:, None]).flatten()
        row = torch.repeat_interleave(counts, output_size=total)
        first = counts.cumsum(0) - counts
        return row * widths + torch.arange(total, device=lengths.device) - first[row]


def fields_of(config: Config) -> dict[str, Field]:
    """The stored scores of models of a configuration."""
    c = UNLIMITED if config.model.max_width == "n" else config.model.max_width
    found = {"absent": Field(1), "present": Field(1), "extend": Field(c - 1, 1, 1), "close": Field(c)}
    if config.model.kind == "discontinuous":
        given = config.discontinuous
        found |= {"open": Field(c), "gap": Field(given.gap, 1, 2), "last": Field(min(given.later_width, c))}
    return found


def entries_of(scores: Scores, fields: dict[str, Field], lengths: Sequence[int]) -> dict[str, np.ndarray]:
    """(entries, m) of each field in 16 bits, sentence by sentence."""
    found = {}
    for name, given in scores.tensors().items():
        values = torch.as_tensor(given)  # on CPUs models score over arrays
        known = values if values.ndim == 4 else values[:, :, None]
        total = sum(map(fields[name].count, lengths))
        at = fields[name].places(torch.tensor(lengths, device=known.device), known.shape[1], known.shape[2], total)
        flat = known.reshape(-1, known.shape[3])[at].clamp(-60, 60)
        found[name] = flat.half().cpu().numpy()
    return found


class Store:
    """A folder of shards."""

    def __init__(self, folder: Path, config: Config, labels: Sequence[str]):
        self.folder, self.labels, self.fields = folder, list(labels), fields_of(config)

    def path(self, shard: int, name: str) -> Path:
        return self.folder / f"{shard:05}.{name}.npy"

    def has(self, shard: int) -> bool:
        return self.path(shard, "lengths").exists()

    def write(self, shard: int, lengths: Sequence[int], batches: Iterator[tuple[Sequence[int], Scores]]) -> None:
        """Write the scores of a shard, given by batches of its sentences."""
        ends = {name: [0, *accumulate(map(one.count, lengths))] for name, one in self.fields.items()}
        arrays = {name: np.zeros((end[-1], len(self.labels)), np.float16) for name, end in ends.items()}
        for places, scores in batches:
            own = [lengths[place] for place in places]
            for name, flat in entries_of(scores, self.fields, own).items():
                first = 0
                for place in places:
                    start, end = ends[name][place : place + 2]
                    arrays[name][start:end] = flat[first : first + end - start]
                    first += end - start
        for name, array in arrays.items():
            np.save(self.path(shard, name), array)
        np.save(self.path(shard, "lengths.part"), np.array(lengths))
        self.path(shard, "lengths.part").rename(self.path(shard, "lengths"))  # last: now it is complete


# -- teachers that have written all down ------------------------------------------------------------------------------


@dataclass
class Stored:
    """The targets of a batch, as they are stored."""

    lengths: Tensor
    flat: dict[str, Tensor]


@dataclass
class StoredTeachers(Teachers):
    """Stands where teachers do, and reads what they have written."""

    student: Recognizer
    store: Store
    numbers: dict[int, int]
    """The number of each sentence in the pool, by identity."""
    starts: Sequence[int]
    """The first sentence of each shard."""
    opened: dict[int, dict[str, tuple[np.ndarray, list[int]]]] = field(default_factory=dict)

    def _shard(self, shard: int) -> dict[str, tuple[np.ndarray, list[int]]]:
        """The scores of a shard by name, and where each sentence begins in them."""
        if shard not in self.opened:
            lengths = np.load(self.store.path(shard, "lengths")).tolist()
            self.opened[shard] = {
                name: (np.load(self.store.path(shard, name), mmap_mode="r"), [0, *accumulate(map(one.count, lengths))])
                for name, one in self.store.fields.items()
            }
        return self.opened[shard]

    def collate(self, sentences: Sequence[Sentence], batch: Batch) -> tuple[Any, ...]:
        places = []
        for sentence in sentences:
            number = self.numbers[id(sentence)]
            shard = bisect_right(self.starts, number) - 1
            places.append((self._shard(shard), number - self.starts[shard]))
        flat = {}
        for name in self.store.fields:
            parts = [shard[name][0][shard[name][1][at] : shard[name][1][at + 1]] for shard, at in places]
            tensor = torch.from_numpy(np.concatenate(parts))
            if self.student.device.type == "cuda":
                tensor = tensor.pin_memory().to(self.student.device, non_blocking=True)
            flat[name] = tensor
        lengths = torch.tensor(batch.lengths).to(self.student.device, non_blocking=True)
        return (Stored(lengths, flat),)

    @torch.no_grad()
    def distribution(self, part: MicroBatch) -> Distribution:
        given: Any = part.teacher_batches[0]
        lengths, n = part.batch.lengths, part.batch.longest
        scores = {}
        for name, one in self.store.fields.items():
            widths = one.width(n)
            flat = given.flat[name].float()
            padded = flat.new_zeros(len(lengths) * n * widths, flat.shape[1])
            padded[one.places(given.lengths, n, widths, len(flat))] = flat
            shape = (len(lengths), n) if name in ("absent", "present") else (len(lengths), n, widths)
            scores[name] = padded.view(*shape, flat.shape[1])
        kind = self.student.scorer.distribution
        return kind(scores_type(self.student)(**scores), lengths)

    def fingerprint(self) -> str:
        return "stored"


def scores_type(model: Recognizer) -> Any:
    return DiscontinuousScores if model.config.model.kind == "discontinuous" else EdgeScores


# -- the command ------------------------------------------------------------------------------------------------------


def labels_of(pool: Pool) -> list[str]:
    """The labels of a student of these sentences."""
    return sorted({mention.label for corpus in pool.labelled for sentence in corpus for mention in sentence.mentions})


class Written:
    """Teachers, and a student's labels in the place of a student."""

    def __init__(self, config: Config, labels: Sequence[str], device: torch.device):
        self.models = read_teachers(config, device)
        for model in self.models:
            model.eval()
            if missing := set(labels) - set(model.labels):
                raise InputError(f"a teacher lacks the labels {', '.join(sorted(missing))}; train it on them")
        self.orders = [[model.labels.index(label) for label in labels] for model in self.models]

    @torch.inference_mode()
    def scores(self, sentences: Sequence[Sentence]) -> Scores:
        """The mean of the teachers' scores."""
        found = []
        for model, order in zip(self.models, self.orders, strict=True):
            batch = model.collate(sentences)
            found.append(model.scorer.distribution(model(batch), batch.lengths).restrict(order))
        return found[0].geometric_mean(found[1:]).scores


def write_targets(
    config: Annotated[str, typer.Argument(help="The configuration of the student, with its teachers.")],
    output: Output,
    text: Annotated[Path | None, typer.Option(help="A file of experiments.distil.text.")] = None,
    most: Annotated[int, typer.Option(help="At most so many sentences of it.")] = UNLIMITED,
    part: Annotated[str, typer.Option(help="Which shards: 0/4 is the first of four processes.")] = "0/1",
    overrides: Annotated[list[str] | None, typer.Option("--set", help="Change values of the configuration.")] = None,
    device: TrainingDevice = "auto",
) -> None:
    """Write down what teachers say of every sentence that a student reads.

    Example: python -m experiments.distil.targets experiments/configs/gum/english.toml -o data/english-targets
    --text data/english.txt.xz
    """
    given = as_config(config).override(overrides or ()).completed()
    place = choose_device(device)
    torch.set_float32_matmul_precision("high")
    output.mkdir(parents=True, exist_ok=True)
    pool = Pool.read(given, text, most, context_of(given))
    labels = labels_of(pool)
    teachers, store, sentences = Written(given, labels, place), Store(output, given, labels), pool.sentences
    mine, processes = (int(one) for one in part.split("/"))
    for shard, (first, last) in enumerate(pool.shards()):
        if shard % processes != mine or store.has(shard):
            continue
        own = sentences[first:last]
        lengths = [len(sentence) for sentence in own]
        batches = [
            some[begin : begin + AT_ONCE]
            for some in batches_by_length(lengths, teachers.models[0].max_width, 600_000)
            for begin in range(0, len(some), AT_ONCE)
        ]
        store.write(shard, lengths, ((some, teachers.scores([own[i] for i in some])) for some in batches))
        print(f"shard {shard} of {len(pool.shards())}", flush=True)
    if all(map(store.has, range(len(pool.shards())))):
        (output / "done").touch()


if __name__ == "__main__":
    run_command(write_targets, "experiments.distil.targets")
