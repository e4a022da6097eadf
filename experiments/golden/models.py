"""The archive of small trained models: one of every kind, and variants. Two commits answer with the same weights.

A commit that changes the form of model folders rewrites the archive in the same commit, so that the weights stay::

    python -m experiments.golden convert --drop segmental.interactions --drop coupling --rename training.beta=loss.beta

For more than keys, call :func:`convert` with a function that changes one folder in place. Train anew only where the old
weights cannot be kept: ``python -m experiments.golden models``; then the answers of these models in the record change.
"""

from __future__ import annotations

import io
import re
import shutil
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from experiments.golden.names import KINDS, example_path, make_tiny_encoder, one_thread, train

ARCHIVE = Path(__file__).parent / "models.tar.xz"
LARGEST = 1_500_000
"""The most bytes of the archive."""
FILES = ("config.toml", "vocabulary.json", "words.txt", "model.safetensors")
"""The files of a model that are kept; a model that lacks one does without."""
PARTED = ("discontinuous", "joined")
"""The kinds that find discontinuous mentions, which learn from coordination."""

SMALL = (
    *("words.vectors=", "words.dimension=8", "characters.encoder=none", "encoder.layers=1", "encoder.hidden=8"),
    *("encoder.span_hidden=6", "encoder.input_dropout=0.1", "encoder.output_dropout=0", "training.start="),
    *("training.batch_size=4", "training.epochs=25", "training.patience=0", "training.learning_rate=0.03"),
    *("training.schedule=cosine", "training.warmup_epochs=0", "training.lm_loss_weight=0", "training.ema_decay=0"),
    *("training.eval_epochs=1", "training.cross_fit=false"),
)
"""Settings of a small model, all that would otherwise follow from the corpus among them."""
HANDCRAFTED = ("encoder.kind=handcrafted", "handcrafted.min_count=2", "training.learning_rate=0.05")
OF_KIND = {
    "fofe": ("fofe.hidden=16",),
    "katiyar-cardie": ("katiyar-cardie.label_hidden=8", "katiyar-cardie.reading=all"),
    "tree": ("model.max_width=12",),
}
"""What a kind needs besides, or is better tried with."""
VARIANTS: Mapping[str, tuple[str, ...]] = {
    "untied": ("model.tied=false",),
    "no-interactions": ("segmental.interactions=false",),
    "six-words": ("model.max_width=6",),
    "two-layers": ("encoder.layers=2",),
    "character-lstm": ("characters.encoder=lstm", "characters.dimension=6", "characters.hidden=5"),
    "character-cnn": ("characters.encoder=cnn", "characters.dimension=6", "characters.hidden=5"),
    "transformer": (
        *("transformer.name=TINY", "transformer.pooling=mean", "transformer.layers=2", "transformer.context=6"),
        *("transformer.learning_rate=0.01", "words.dimension=0", "encoder.layers=0"),
    ),
    "tags": ("words.tag_dimension=4",),
    "handcrafted": HANDCRAFTED,
    "handcrafted-chain": ("model.kind=linear-chain", *HANDCRAFTED),
    "names": ('model.names={VEH = "FAC"}',),
    "skips": ("segmental.skip_margin=3.0",),
    "joint-spans": ("model.kind=joint", "joint.together=spans", "joint.within=spans"),
    "three-parts": ("model.kind=discontinuous", "discontinuous.parts=3", "discontinuous.gap=5"),
    "separators-all": ("model.kind=mention-separators", "mention-separators.reading=all"),
    "calibrated": (),
}
"""Variants of the kind segmental, unless they name another."""
CALIBRATION = """
[calibration]
temperatures = {"PER" = 1.5, "GPE" = 0.8}
biases = {"PER" = -0.25, "FAC" = -0.5}
"""
"""What the variant `calibrated` has in place of its section, which training leaves empty."""


def recipes() -> dict[str, tuple[str, tuple[str, ...]]]:
    """The corpus and the settings of every model, by name."""
    kinds = {kind: (f"model.kind={kind}", *OF_KIND.get(kind, ())) for kind in KINDS}
    return {name: (_corpus(changes), changes) for name, changes in {**kinds, **VARIANTS}.items()}


def _corpus(changes: Iterable[str]) -> str:
    return "coordination" if {f"model.kind={kind}" for kind in PARTED}.intersection(changes) else "harbour"


def train_models(only: Iterable[str] = ()) -> dict[str, float]:
    """Train the models, or some of them anew, and write the archive; return the F1 of each on what it learnt."""
    one_thread()
    scores: dict[str, float] = {}
    chosen = set(only)
    with tempfile.TemporaryDirectory() as place:
        folders = Path(place, "models")
        folders.mkdir()
        if chosen:
            with models() as kept:
                shutil.copytree(kept, folders, dirs_exist_ok=True)
        encoder = make_tiny_encoder(Path(place, "encoder"))
        for name, (corpus, changes) in recipes().items():
            if not chosen or name in chosen:
                run = Path(place, "runs", name)
                scores[name] = _train(run, corpus, [*SMALL, *changes], encoder)
                _keep(run, folders / name, {str(example_path(corpus)): corpus, str(encoder): "tiny"})
        _calibrate(folders / "calibrated" / "config.toml")
        write_archive(folders)
    return scores


def _train(folder: Path, corpus: str, changes: Iterable[str], encoder: Path) -> float:
    data = [f"data.{part}={example_path(corpus)}" for part in ("train", "dev")]
    settings = [change.replace("TINY", str(encoder)) for change in changes]
    result = train({}, folder, overrides=[*data, *settings], device="cpu", threads=1, small=False, set_aside=False)
    return result.dev_f1 or 0.0


def _keep(run: Path, target: Path, names: Mapping[str, str]) -> None:
    """Copy what answers need, without the places of this machine."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for file in FILES:
        if (run / file).is_file():
            shutil.copyfile(run / file, target / file)
    text = (target / "config.toml").read_text("utf-8")
    for path, name in names.items():
        text = text.replace(path, name)
    (target / "config.toml").write_text(text, "utf-8")


def _calibrate(path: Path) -> None:
    text = path.read_text("utf-8")
    path.write_text(re.sub(r"\n\[calibration\]\n[^\[]*", CALIBRATION + "\n", text), "utf-8")


# -- the archive ---------------------------------------------------------------------------------------------------


def write_archive(folders: Path) -> None:
    """Write the folders of models into the archive; the same files give the same bytes."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:xz", preset=9, format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(path for path in folders.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(path.relative_to(folders).as_posix())
            entry.size, entry.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                archive.addfile(entry, file)
    if len(held.getvalue()) > LARGEST:
        raise SystemExit(
            f"the archive would have {len(held.getvalue()):,} bytes, more than {LARGEST:,}: make models smaller"
        )
    ARCHIVE.write_bytes(held.getvalue())


@contextmanager
def models() -> Iterator[Path]:
    """A temporary folder with a folder for each model of the archive."""
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(place, filter="data")
        yield Path(place)


def convert(change: Callable[[Path], None]) -> None:
    """Rewrite the archive: `change` gets the folder of each model, and changes its files."""
    with models() as folders:
        for folder in sorted(folders.iterdir()):
            change(folder)
            tomllib.loads((folder / "config.toml").read_text("utf-8"))  # it must still be TOML
        write_archive(folders)


def changing_keys(drop: Iterable[str], rename: Mapping[str, str]) -> Callable[[Path], None]:
    """A change for :func:`convert`: drop sections or keys of config.toml, and rename keys, also to another section."""
    dropped = set(drop)

    def change(folder: Path) -> None:
        path = folder / "config.toml"
        path.write_text(without_keys(path.read_text("utf-8"), dropped, rename), "utf-8")

    return change


def without_keys(text: str, drop: Iterable[str], rename: Mapping[str, str]) -> str:
    """A configuration without some sections and keys, and with others renamed. It has one line a key.

    >>> print(without_keys("[a]\\nx = 1\\ny = 2\\n\\n[b]\\nz = 3\\n", ["a.x", "b"], {"a.y": "c.w"}))
    [c]
    w = 2
    <BLANKLINE>
    """
    dropped, section = set(drop), ""
    sections: dict[str, list[str]] = {}
    for line in text.splitlines():
        if header := re.fullmatch(r"\[(.+)\]", line):
            section = header[1]
            sections.setdefault(section, [])
        elif line:
            key, _, value = line.partition(" = ")
            name = f"{section}.{key}"
            if name in dropped or section in dropped:
                continue
            target, _, new_key = rename.get(name, name).rpartition(".")
            sections.setdefault(target, []).append(f"{new_key} = {value}")
    return "\n".join(
        f"[{name}]\n" + "".join(f"{line}\n" for line in lines) for name, lines in sections.items() if lines
    )
