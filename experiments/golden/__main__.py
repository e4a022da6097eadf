"""The golden record: what hyperspan answers, written down, and compared after a change of its code."""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before anything that counts threads is imported

import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from experiments.cli import DATA_DIR, DataDir, Output, new_app
from experiments.golden.comparison import CHANGES, RECORD, Record, read_changes
from experiments.golden.comparison import compare as compare_records

app = new_app(no_args_is_help=True, help=__doc__)
Quick = Annotated[bool, typer.Option(help="Only two bundled models and three kinds: seconds instead of a minute.")]
Changes = Annotated[Path, typer.Option(help="The intended changes.")]


@app.command()
def write(
    output: Output = RECORD,
    quick: Quick = False,
    corpora: Annotated[bool, typer.Option("--corpora", help="Also record 200 sentences of four corpora.")] = False,
    data_dir: DataDir = DATA_DIR,
) -> None:
    """Write a record of this checkout; without --output, the one in the repository."""
    from experiments.golden.record import write as write_record

    if output == RECORD and (quick or corpora):
        raise typer.BadParameter("the record in the repository is whole and has no corpora; name another file")
    started = time.perf_counter()
    record = write_record(output, quick=quick, corpora=data_dir if corpora else None)
    seconds = time.perf_counter() - started
    size = output.stat().st_size
    print(
        f"golden: wrote {len(record.entries):,} entries to {output}, {size:,} bytes, in {seconds:.1f} s",
        file=sys.stderr,
    )
    if output == RECORD and read_changes(CHANGES):
        print(f"golden: now empty {CHANGES.name}; its changes are in the record", file=sys.stderr)


@app.command()
def compare(a: Path, b: Path, changes: Changes = CHANGES) -> None:
    """Compare two records. Every difference must be a line of changes.toml, and every line must be used."""
    found = list(compare_records(Record.read(a), Record.read(b), read_changes(changes)))
    for line in found[:100]:
        print(line)
    print(f"golden: {len(found):,} differences" if found else "golden: the records agree", file=sys.stderr)
    if found:
        raise typer.Exit(1)


@app.command()
def check(quick: Quick = False) -> None:
    """Write a record to a temporary file and compare the one in the repository with it."""
    with tempfile.TemporaryDirectory() as place:
        new = Path(place, RECORD.name)
        write(new, quick=quick)
        compare(RECORD, new, changes=CHANGES)


@app.command()
def models(only: Annotated[list[str] | None, typer.Argument(help="Only these. Default: all.")] = None) -> None:
    """Train the small models anew and write them into the archive."""
    from experiments.golden.models import ARCHIVE, train_models

    for name, f1 in train_models(only or ()).items():
        print(f"{name:<20} F1 {100 * f1:.1f}")
    print(f"golden: wrote {ARCHIVE}, {ARCHIVE.stat().st_size:,} bytes", file=sys.stderr)


@app.command()
def convert(
    drop: Annotated[list[str], typer.Option(help="A section, or section.key, that no longer exists.")] = [],  # noqa: B006
    rename: Annotated[list[str], typer.Option(metavar="OLD=NEW", help="A key that is called otherwise now.")] = [],  # noqa: B006
) -> None:
    """Rewrite config.toml of every model in the archive, whose weights stay."""
    from experiments.golden import models as archive

    archive.convert(archive.changing_keys(drop, dict(pair.split("=", 1) for pair in rename)))


if __name__ == "__main__":
    app()
