"""Skip-gram word vectors with negative sampling (word2vec), trained by gensim on text tokenized as models do.

``python -m experiments.word_vectors TEXTS -o FILE`` trains them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from experiments.cli import Force, Output, Resume, TokenizerName, run_command
from experiments.pretraining.display import RunDisplay
from experiments.pretraining.processes import map_parts, useful_processes
from experiments.pretraining.texts import Lines, find_texts, parts_of, token_lines
from hyperspan.cli.options import Seed, Threads
from hyperspan.errors import InputError, OutputExistsError, counted
from hyperspan.files import Target
from hyperspan.kernels.threads import cpu_count
from hyperspan.plugins import imported
from hyperspan.text.tokens import Tokenizer

SUFFIXES = (".npz", ".txt", ".txt.gz", ".vec", ".vec.gz")
"""The file suffixes of vectors; .vec has a header line with the size, .txt has none (GloVe)."""
SETTINGS, TOKENS, STATE = "settings.json", "tokens.txt", "state.npz"
"""The files of a run: its settings, the tokenized texts, and the state after the last epoch."""
_LONGEST = 10_000
"""The maximum number of tokens per line; gensim would drop the rest."""
_ALPHA, _LEAST_ALPHA = 0.025, 0.0001
"""The initial and the final learning rate."""


@dataclass(frozen=True)
class SkipgramSettings:
    """Settings of word-vector training."""

    dimension: int = 200
    window: int = 5
    negative: int = 8
    epochs: int = 5
    min_count: int = 3
    sample: float = 1e-4
    """Words with a larger share of the text are randomly subsampled."""
    tokenizer: str = "words"
    lowercase: bool = True
    seed: int = 1


class JoinedTokens:
    """Turn parts of texts into lines of space-separated tokens."""

    def __init__(self, tokenizer: Tokenizer, lowercase: bool):
        self.tokenizer, self.lowercase = tokenizer, lowercase

    def __call__(self, part: str | Lines) -> str:
        lines = token_lines(part, self.tokenizer) if isinstance(part, str) else part
        cut = (line[first : first + _LONGEST] for line in lines for first in range(0, len(line), _LONGEST))
        text = "".join(f"{' '.join(line)}\n" for line in cut)
        return text.lower() if self.lowercase else text


Listener = Callable[[str, float], None]
"""Called with the current activity and the finished share of the run."""


class SkipgramRun:
    """A run that keeps its files in a folder next to the output, which is removed at the end."""

    def __init__(
        self,
        texts: Sequence[str],
        output: Path,
        settings: SkipgramSettings,
        *,
        threads: int = 1,
        resume: bool = False,
        force: bool = False,
    ):
        if find_spec("gensim") is None:
            raise InputError("training word vectors needs gensim, which is not installed: pip install gensim")
        if not output.name.endswith(SUFFIXES):
            raise InputError(f"{output} does not end in {', '.join(SUFFIXES)}; the name says how vectors are written")
        self.output, self.settings, self.threads, self.force = output, settings, threads, force
        self.folder = output.with_name(f"{output.name}.run")
        self.files = self._find(texts)
        self._prepare(resume)
        self._join = (Tokenizer(settings.tokenizer), settings.lowercase)

    def train(self, listen: Listener = lambda state, share: None) -> tuple[list[str], np.ndarray]:
        """Train, and return the words by descending frequency, and their vectors."""
        if not (tokens := self.folder / TOKENS).is_file():
            beside = self.folder / f".{TOKENS}"
            with beside.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(self._lines(self.files))
            beside.replace(tokens)
        listen("counting the words", 0.0)
        model = self._model(tokens)
        for epoch in range(self._restore(model), self.settings.epochs):
            listen(f"epoch {epoch + 1} of {self.settings.epochs}", epoch / self.settings.epochs)
            self._train_epoch(model, tokens, epoch)
            self._save(model, epoch + 1)
        return model.wv.index_to_key, model.wv.vectors

    def words_of(self, corpora: Sequence[str]) -> set[str]:
        """All words of texts and corpora, in the form used by the vectors."""
        return {word for text in self._lines(self._find(corpora)) for word in text.split()}

    def write(self, words: Sequence[str], vectors: np.ndarray) -> None:
        """Write the vectors to the output, and remove the files of the run."""
        write_vectors(Target(str(self.output), self.force), words, vectors)
        shutil.rmtree(self.folder)

    def _find(self, texts: Iterable[str]) -> list[Path]:
        """The texts, without files that the run writes."""
        return find_texts(texts, [self.output, self.folder])

    def _prepare(self, resume: bool) -> None:
        """Check that the run may use its folder. A folder without a finished epoch is replaced: there is nothing to
        lose."""
        Target(str(self.output), self.force).check()
        kept = self.folder / SETTINGS
        if self.folder.exists() and not kept.is_file():
            raise OutputExistsError(
                f"{self.folder} is needed for the run, but has no run in it; move it away, or choose another name"
            )
        if (self.folder / STATE).is_file() and not resume and not self.force:
            raise OutputExistsError(f"{self.folder} has a run already; go on with --resume, or begin anew with --force")
        if resume and not kept.is_file():
            raise InputError(f"{self.folder} has no run to go on with; leave out --resume")
        files = [[file.name, file.stat().st_size] for file in self.files]
        state = json.dumps([asdict(self.settings), files])
        if not resume:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
            kept.write_text(state, encoding="utf-8")
        elif kept.read_text("utf-8") != state:
            raise InputError(
                f"{self.folder} has a run with other texts or settings; give the same to go on, or begin anew with --force"
            )

    def _lines(self, files: Iterable[Path]) -> Iterable[str]:
        files = list(files)
        parts = (part for file in files for part in parts_of(file, self._join[0]))
        return map_parts(JoinedTokens, self._join, parts, useful_processes(files, self.threads))

    def _model(self, tokens: Path) -> Any:
        """A model of the words of the texts, with new vectors."""
        settings = self.settings
        model = imported("gensim.models:Word2Vec")(
            sg=1,
            vector_size=settings.dimension,
            window=settings.window,
            negative=settings.negative,
            min_count=settings.min_count,
            sample=settings.sample,
            seed=settings.seed,
            workers=useful_processes([tokens], self.threads),
        )
        with suppress(RuntimeError):  # gensim raises it for texts without words
            model.build_vocab(corpus_file=str(tokens))
        if not len(model.wv):
            shutil.rmtree(self.folder)
            raise InputError(
                f"no word occurs {settings.min_count} times in the texts; give more text, or a smaller --min-count"
            )
        return model

    def _train_epoch(self, model: Any, tokens: Path, epoch: int) -> None:
        begin, end = (_ALPHA + (_LEAST_ALPHA - _ALPHA) * number / self.settings.epochs for number in (epoch, epoch + 1))
        model.random = np.random.RandomState([self.settings.seed, epoch])
        model.train(
            corpus_file=str(tokens),
            total_words=model.corpus_total_words,
            total_examples=model.corpus_count,
            epochs=1,
            start_alpha=begin,
            end_alpha=end,
        )

    def _save(self, model: Any, epoch: int) -> None:
        beside = self.folder / f".{STATE}"
        with beside.open("wb") as file:
            np.savez(file, epoch=epoch, vectors=model.wv.vectors, outputs=model.syn1neg)
        beside.replace(self.folder / STATE)

    def _restore(self, model: Any) -> int:
        """Restore the state after the last epoch, and return the number of finished epochs."""
        if not (kept := self.folder / STATE).is_file():
            return 0
        with np.load(kept, allow_pickle=False) as state:
            model.wv.vectors[:], model.syn1neg[:] = state["vectors"], state["outputs"]
            return int(state["epoch"])


def chosen_words(words: Sequence[str], most: int, needed: Iterable[str]) -> list[int]:
    """The indices of the first `most` words and of the needed ones.

    >>> chosen_words(["the", "of", "IL-2", "p53"], 1, {"p53"})
    [0, 3]
    """
    kept = set(needed)
    return [place for place, word in enumerate(words) if place < most or word in kept]


def scaled(vectors: np.ndarray, deviation: float) -> np.ndarray:
    """Scale the vectors so that their entries have this standard deviation.

    >>> scaled(np.array([[1.0, -1.0], [3.0, -3.0]]), 0.5).std().item()
    0.5
    """
    now = float(vectors.std()) if vectors.size else 0.0
    return vectors * (deviation / now) if now else vectors


def principal_components(vectors: np.ndarray, count: int) -> np.ndarray:
    """Project the vectors onto their first `count` principal components.

    >>> bool(np.allclose(abs(principal_components(np.array([[1.0, 1.0], [3.0, 3.0]]), 1)), 2**0.5))
    True
    """
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    return centred @ axes[:, ::-1][:, :count]


def write_vectors(target: Target, words: Sequence[str], vectors: np.ndarray) -> None:
    """Write vectors in a format that :func:`hyperspan.nn.vectors.read_vectors` reads: npz in 16 bits, or text."""
    with target.open_binary() as file:
        if target.name.endswith(".npz"):
            np.savez_compressed(file, words=np.array("\n".join(words).encode()), vectors=vectors.astype(np.float16))
            return
        if ".vec" in Path(target.name).suffixes:
            file.write(f"{len(words)} {vectors.shape[1]}\n".encode())
        for word, vector in zip(words, vectors, strict=True):
            file.write(f"{word} {' '.join(f'{number:.5g}' for number in vector.tolist())}\n".encode())


def train(
    texts: Annotated[
        list[str],
        typer.Argument(help="Text files (.txt, .txt.gz, .txt.xz), folders of them, or corpora (labels are ignored)."),
    ],
    output: Output,
    dimension: Annotated[int, typer.Option(min=1, max=10_000, help="Dimension of the vectors.")] = 200,
    window: Annotated[int, typer.Option(min=1, help="Context size: words to predict on each side.")] = 5,
    negative: Annotated[int, typer.Option(min=1, help="Negative samples per predicted word.")] = 8,
    epochs: Annotated[int, typer.Option(min=1, help="Number of epochs.")] = 5,
    min_count: Annotated[int, typer.Option(min=1, help="Ignore words that occur less often.")] = 3,
    sample: Annotated[
        float, typer.Option(min=0, help="Subsample words whose relative frequency is higher than this.")
    ] = 1e-4,
    tokenizer: TokenizerName = "words",
    cased: Annotated[bool, typer.Option("--cased", help="Do not lowercase words.")] = False,
    most: Annotated[int | None, typer.Option(min=0, help="Write only this many of the most frequent words.")] = None,
    words: Annotated[
        list[str] | None,
        typer.Option("--words", help="With --most: also write the words of this corpus; repeat for more."),
    ] = None,
    components: Annotated[
        int | None,
        typer.Option(min=1, help="Reduce the vectors to this many principal components, for a smaller file."),
    ] = None,
    scale: Annotated[
        float,
        typer.Option(
            min=0,
            help="Rescale the vectors to this standard deviation (the default is that of GloVe); 0 does not rescale.",
        ),
    ] = 0.45,
    seed: Seed = 1,
    threads: Threads = None,
    resume: Resume = False,
    force: Force = False,
) -> None:
    """Train word vectors on unlabelled text with skip-gram (word2vec).

    The file ends in .npz (16-bit), .txt or .vec, perhaps with .gz. To train with it, set words.vectors to it. The same
    seed gives the same vectors with --threads 1. A stopped run resumes after its last finished epoch. Needs gensim.

    Example: python -m experiments.word_vectors text/ -o vectors.npz --most 50000 --words train.jsonl
    """
    if components is not None and components > dimension:
        raise InputError(f"--components {components} is more than --dimension {dimension}; give fewer components")
    settings = SkipgramSettings(
        dimension, window, negative, epochs, min_count, sample, tokenizer, lowercase=not cased, seed=seed
    )
    run = SkipgramRun(texts, output, settings, threads=threads or cpu_count(), resume=resume, force=force)
    try:
        with RunDisplay(Console(stderr=True)) as display:
            found, numbers = run.train(display.update)
            kept = chosen_words(found, len(found) if most is None else most, run.words_of(words or []))
            chosen = numbers[kept] if components is None else principal_components(numbers[kept], components)
            run.write([found[place] for place in kept], scaled(chosen, scale) if scale else chosen)
    except KeyboardInterrupt:
        print(f"hyperspan: stopped; go on with --resume, the run is in {run.folder}{os.sep}", file=sys.stderr)
        raise
    print(
        f"hyperspan: {counted(len(kept), 'vector')} of {components or dimension} numbers in {output}", file=sys.stderr
    )


if __name__ == "__main__":
    run_command(train, "experiments.word_vectors")
