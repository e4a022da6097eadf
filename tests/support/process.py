"""`hyperspan …` as a user drives it, in a process of its own; what such processes import is imported once for all.

`call` does the same in this one, ten times faster: each command is also tried in a process of its own.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, Self

from hyperspan.corpora import FORMATS
from hyperspan.plugins import ENCODERS, MODELS

PATIENCE = 120
"""Seconds after which what was to come has not come, also on a machine that has a lot to do."""
_PRELOADED = multiprocessing.get_context("forkserver")
_PRELOADED.set_forkserver_preload(["tests.support.preloaded"])


def hyperspan(
    *arguments: object, stdin: str = "", cwd: Path | None = None, path: Sequence[Path] = ()
) -> CompletedProcess[str]:
    """What the command answers; its streams are files, so not a terminal. `path` comes first on Python's path."""
    return called(_main, tuple(map(str, arguments)), stdin=stdin, cwd=cwd, path=path)


def call(
    *arguments: object,
    stdin: str = "",
    cwd: Path | None = None,
    main: Callable[[tuple[str, ...]], object] | None = None,
) -> CompletedProcess[str]:
    """What the command, or another one, answers in this process."""
    before, streams = (sys.argv, sys.stdin), [TextIOWrapper(BytesIO(), encoding="utf-8") for _ in range(2)]
    status, sys.stdin = 0, TextIOWrapper(BytesIO(stdin.encode()), encoding="utf-8", newline="")
    try:
        with chdir(cwd or Path.cwd()), redirect_stdout(streams[0]), redirect_stderr(streams[1]):
            (main or _main)(tuple(map(str, arguments)))
    except SystemExit as ended:
        status = int(ended.code or 0)
    finally:
        sys.argv, sys.stdin = before
    for stream in streams:
        stream.seek(0)
    return CompletedProcess(list(map(str, arguments)), status, *(stream.read() for stream in streams))


def called(
    function: Callable[..., object],
    *arguments: Any,
    stdin: str = "",
    cwd: Path | None = None,
    path: Sequence[Path] = (),
) -> CompletedProcess[str]:
    """What a function of a module prints when a new process calls it."""
    with TemporaryDirectory() as folder:
        streams = [Path(folder) / name for name in ("stdin", "stdout", "stderr")]
        streams[0].write_text(stdin, encoding="utf-8", newline="")
        settings = (streams, cwd or Path.cwd(), dict(os.environ), [str(entry) for entry in path])
        process = _PRELOADED.Process(target=_run, args=(function, arguments, *settings))
        process.start()
        process.join()
        assert process.exitcode is not None
        said = (stream.read_text(encoding="utf-8") if stream.exists() else "" for stream in streams[1:])
        return CompletedProcess(arguments, process.exitcode, *said)


def _run(
    function: Callable[..., object],
    arguments: tuple[Any, ...],
    streams: list[Path],
    cwd: Path,
    environment: dict[str, str],
    path: list[str],
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.path[:0] = path
    if path:
        _forget_plugins()
    for number, stream in enumerate(streams):
        os.dup2(os.open(stream, os.O_RDWR | os.O_CREAT), number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    function(*arguments)


def _forget_plugins() -> None:
    """What is preloaded may have looked for plug-ins already: another test's server is this one's too."""
    for table in (FORMATS, MODELS, ENCODERS):
        vars(table).pop("_entry_points", None)


def _main(arguments: tuple[str, ...]) -> None:
    sys.argv = ["hyperspan", *arguments]
    from hyperspan.cli import main

    main()


class Served:
    """A command that serves in a process of its own, and the address that it printed; killed when the block is left."""

    def __init__(self, *arguments: object, cwd: Path | None = None, **environment: str):
        command = [sys.executable, "-m", "hyperspan", *map(str, arguments)]
        self.said = TemporaryFile("w+")  # noqa: SIM115
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": self.said, "text": True}
        variables = os.environ | {"OMP_NUM_THREADS": "1"} | environment
        self.popen = subprocess.Popen(command, cwd=cwd, env=variables, **streams)
        assert self.popen.stdout is not None
        self.line = self.popen.stdout.readline()
        self.link = self.line.partition(" at ")[2].partition(" ")[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end(signal.SIGKILL)

    def end(self, sent: signal.Signals | None = None) -> tuple[int, str]:
        """Its status and what it said when it has ended, as a signal may ask for."""
        if sent is not None and self.popen.poll() is None:
            self.popen.send_signal(sent)
        if not self.said.closed:
            self.popen.communicate(timeout=PATIENCE)
            with self.said:
                self.said.seek(0)
                self.heard = self.said.read()
        return self.popen.returncode, self.heard
