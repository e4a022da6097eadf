"""`hyperspan …` as a user drives it, in a process of its own; what such processes import is imported once for all."""

from __future__ import annotations

import multiprocessing
import os
import sys
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory

_AT_HAND = multiprocessing.get_context("forkserver")
_AT_HAND.set_forkserver_preload(["hyperspan.cli", "hyperspan.inference.loading", "hyperspan.training.run"])


def hyperspan(*arguments: str, stdin: str = "", cwd: Path | None = None) -> CompletedProcess[str]:
    """What the command answers; its streams are files, so not a terminal."""
    with TemporaryDirectory() as folder:
        streams = [Path(folder) / name for name in ("stdin", "stdout", "stderr")]
        streams[0].write_text(stdin, encoding="utf-8", newline="")
        process = _AT_HAND.Process(target=_run, args=(arguments, streams, cwd or Path.cwd(), dict(os.environ)))
        process.start()
        process.join()
        assert process.exitcode is not None
        said = (stream.read_text(encoding="utf-8") if stream.exists() else "" for stream in streams[1:])
        return CompletedProcess(arguments, process.exitcode, *said)


def _run(arguments: tuple[str, ...], streams: list[Path], cwd: Path, environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    for number, stream in enumerate(streams):
        os.dup2(os.open(stream, os.O_RDWR | os.O_CREAT), number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    sys.argv = ["hyperspan", *arguments]
    from hyperspan.cli import main

    main()
