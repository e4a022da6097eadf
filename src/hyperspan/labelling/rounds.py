"""Train in the background of a labelling session: a round begins after every so many finished sentences.

A round runs ``hyperspan train`` in a separate low-priority process, on everything labelled, starting from the current
drafting model. Its files, and the state of all rounds, are in a folder next to the output. After a successful round the
session continues with its model; after a failure, with a message.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from attrs import asdict, evolve, frozen

from hyperspan.config import Config
from hyperspan.corpora.jsonl import document_line
from hyperspan.errors import HyperspanError, InputError, counted, require_torch
from hyperspan.files import Target
from hyperspan.kernels.threads import cpu_count
from hyperspan.labelling.decisions import DONE
from hyperspan.labelling.output import labelled_document
from hyperspan.labelling.session import LabellingSession
from hyperspan.plugins import imported
from hyperspan.runtime.folders import folder_of
from hyperspan.toml import to_toml
from hyperspan.types import Document

FEWEST_TO_HOLD_OUT = 20
"""The number of complete sentences from which on some are held out as dev."""
HELD_OUT = 5
"""One in this many complete sentences is dev; the same ones in all rounds."""
STATE = "rounds.json"
"""The file of the state of all rounds, beside their models."""
ENDING_SECONDS = 5.0
NICENESS = 10


@frozen
class RoundSettings:
    """When a round begins, and its training data in addition to what is labelled."""

    every: int
    folder: Path
    """The folder of the rounds, with a subfolder for each."""
    corpora: tuple[str, ...] = ()
    dev: str = ""
    overrides: tuple[str, ...] = ()
    """Values of the configuration, as ``section.key=value``."""

    def check(self) -> None:
        """Raise errors now that would make every round fail."""
        require_torch("training in the background")
        Config().override(self.overrides)
        for name in (*self.corpora, *filter(None, [self.dev])):
            if not Path(name).exists():
                raise InputError(f"{name} does not exist; check the name of --corpus or --dev")

    def model(self, round_: int) -> Path:
        """The folder of a round's model."""
        return self.folder / f"round-{round_}"


@frozen
class RoundState:
    """What is kept of the rounds of a session, in their folder."""

    session: str
    """When the session began."""
    start: str = ""
    """The model that drafted before the first of these rounds."""
    ended: int = 0
    """The number of the last round that ended, with a model or without."""
    finished: int = 0
    """The number of finished sentences when it began."""
    round: int = 0
    """The number of the last round that ended with a model."""
    failure: str = ""
    """Why the last round failed, if it did."""

    @classmethod
    def read(cls, folder: Path, session: LabellingSession) -> RoundState:
        """The state in a folder; the first one if there is none, or that of another session."""
        began = str(session.log.header["time"])
        try:
            state = cls(**json.loads((folder / STATE).read_text("utf-8")))
        except FileNotFoundError:
            return cls(began)
        except (ValueError, TypeError):
            raise InputError(f"{folder / STATE} is damaged; remove it to train from the first model again") from None
        return state if state.session == began else cls(began)

    def write(self, folder: Path) -> None:
        with Target(str(folder / STATE), force=True).open() as file:
            json.dump(asdict(self), file, indent=1)


class TrainingRounds:
    """The training thread. It calls `on_trained` with the folder of a new model."""

    def __init__(self, session: LabellingSession, settings: RoundSettings, on_trained: Callable[[Path], None]):
        self.session, self.settings, self._on_trained = session, settings, on_trained
        self.state = RoundState.read(settings.folder, session)
        self._training = 0
        """The number of the round that is being trained; 0 if none is."""
        self._wake, self._closing = threading.Event(), threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._starting = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="hyperspan-rounds", daemon=True)
        self._wake.set()  # a round may have been interrupted
        self._thread.start()

    def status(self) -> dict[str, Any]:
        """The training status in /v1/label/session."""
        state = self.state
        now = "training" if self._training else "failed" if state.failure else "waiting"
        left = max(self.settings.every - (self.session.finished - state.finished), 0)
        waiting = f"the next round begins after {counted(left, 'more finished sentence')}"
        said = {
            "training": f"round {self._training} is being trained",
            "failed": f"round {state.ended} failed: {state.failure}; {waiting}",
        }
        return {"state": now, "message": said.get(now, waiting)}

    def request(self) -> None:
        """Ask the thread to check whether a round is due, without waiting."""
        self._wake.set()

    def close(self) -> None:
        """Stop; a running round begins anew when the session is opened again."""
        with self._starting:
            self._closing.set()
            if self._process is not None:
                self._process.terminate()
        self._wake.set()
        self._thread.join(ENDING_SECONDS)
        if self._thread.is_alive() and self._process is not None:
            self._process.kill()

    # -- in the thread -----------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._closing.is_set():
                return
            if self.session.finished - self.state.finished >= self.settings.every:
                self._run()

    def _run(self) -> None:
        """Run one round. Nothing is kept of one that is interrupted, so that it is due when the session is reopened."""
        state, session, self._training = self.state, self.session, self._new_number()
        config, folder = self._config_file(self._training), self.settings.model(self._training)
        start = state.start if session.model == str(self.settings.model(state.round)) else session.model
        begun = evolve(state, start=start, ended=self._training, finished=session.finished, failure="")
        try:
            self.settings.folder.mkdir(exist_ok=True)
            self._write(config)
            said = self._train(config, folder)
            if said is None:
                self._on_trained(folder)
        except (HyperspanError, OSError) as error:
            said = str(error)
        except Exception as error:  # labelling continues after any error
            said = f"{type(error).__name__}: {error}"
        self._training = 0
        if said is None:
            self._keep(evolve(begun, round=begun.ended))
        elif not self._closing.is_set():
            self._keep(evolve(begun, failure=said or "its log says why"))

    def _new_number(self) -> int:
        """The number of a new round; the files of earlier ones stay, also those of another session."""
        number = self.state.ended + 1
        while self._config_file(number).exists():
            number += 1
        return number

    def _keep(self, state: RoundState) -> None:
        self.state = state
        with suppress(OSError):  # disk full: what is not kept is done again when the session is opened again
            self.state.write(self.settings.folder)

    def _config_file(self, number: int) -> Path:
        return self.settings.folder / f"round-{number}.toml"

    def _write(self, config: Path) -> None:
        """Write the sentences of a round, and last its configuration."""
        documents, held_out = split_labelled(self.session, hold_out=not self.settings.dev)
        names = [config.with_suffix(f".{part}.jsonl") for part in ("train", "dev")]
        for name, part in zip(names, (documents, held_out) if held_out else (documents,), strict=False):
            with Target(str(name), force=True).open_binary() as file:
                file.writelines(map(document_line, part))
        dev = [self.settings.dev] if self.settings.dev else [str(names[1])] if held_out else []
        with Target(str(config), force=True).open() as file:
            file.write(_config([str(names[0]), *self.settings.corpora], dev, *self._start(documents)))

    def _start(self, documents: Sequence[Document]) -> tuple[str, int | str]:
        """The model that a round starts from, which is the current drafting model, and the maximum mention width."""
        folder = folder_of(self.session.model)
        width = Config.of_model(folder).model.max_width
        widths = (m.end - m.start for document in documents for words in document.sentences for m in words.mentions)
        return str(folder), width if width == "n" else max(width, *widths, 1)

    def _train(self, config: Path, folder: Path) -> str | None:
        """Train; return None on success, else an error message."""
        command = [sys.executable, "-m", "hyperspan.labelling.rounds", "train", str(config), "--output", str(folder)]
        command += ["--device", "cpu", "--threads", str(max(1, cpu_count() - 1))]
        command += [part for given in self.settings.overrides for part in ("--set", given)]
        log = config.with_suffix(".log")
        with log.open("wb") as stream:
            with self._starting:
                if self._closing.is_set():
                    return "it was interrupted"
                self._process = _started(command, stream)
            status = self._process.wait()
        if status == 0:
            return None
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1].removeprefix("hyperspan: ")[:500] if lines else f"training ended with status {status}"


def _started(command: Sequence[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a process that ends with this one: it watches its standard input."""
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
    )


def _main() -> None:
    """Run a command at low priority, in the process of a round."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    imported("hyperspan.cli:main")()


def _end_with_parent() -> None:
    """Exit when standard input closes, which is a pipe from the parent: when it has ended, for any reason."""
    while os.read(0, 1):
        pass
    os._exit(1)


def split_labelled(session: LabellingSession, *, hold_out: bool) -> tuple[list[Document], list[Document]]:
    """The labelled documents for training and for dev; held-out sentences are unannotated in the training part."""
    with session.lock:
        complete = [item for item in session.touched if session.state(item).status == DONE]
        dev: set[str] = set()
        if hold_out and len(complete) >= FEWEST_TO_HOLD_OUT:
            dev = {item for item in complete if zlib.crc32(item.encode()) % HELD_OUT == 0}
        parts: list[list[Document]] = []
        for kept in (lambda item: item not in dev, lambda item: item in dev):
            found = (labelled_document(session, index, kept) for index in range(len(session.texts.documents)))
            parts.append([document for document in found if document is not None])
    return parts[0], parts[1]


def _config(train: Sequence[str], dev: Sequence[str], start: str, max_width: int | str) -> str:
    """A configuration with the given corpora and start; everything else has defaults that follow from them."""
    listed = {"train": train, **({"dev": dev} if dev else {})}
    lines = ["[data]"]
    for key, names in listed.items():
        lines.append(f"{key} = [{', '.join(f'{{path = {to_toml(name)}}}' for name in names)}]")
    lines += ["", "[model]", f"max_width = {to_toml(max_width)}", "", "[training]", f"start = {to_toml(start)}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    _main()
