"""What every engine of bulk jobs promises: the shards that this process writes, resumed by any other, and all but what
cannot be read. Another engine is a line in ENGINES."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hyperspan.bulk import Progress, annotate_files
from hyperspan.errors import JobError
from tests.bulk.engines import ENGINES, OPTIONS
from tests.bulk.fakes import contents, lines_in

RAY = [
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),
]


@pytest.fixture(params=[pytest.param(name, marks=RAY if name == "ray" else ()) for name in ENGINES])
def engine(request: pytest.FixtureRequest) -> dict[str, Any]:
    if request.param == "ray":
        request.getfixturevalue("cluster")
    return ENGINES[request.param]


def test_engine_writes_the_same_shards_and_goes_on_with_those_of_another(
    engine: dict[str, Any], genes: Path, whole: Path, tmp_path: Path
) -> None:
    seen: list[Progress] = []
    summary = annotate_files(genes, tmp_path / "out", on_progress=seen.append, **OPTIONS, **engine)
    assert (summary.documents, summary.rejected, summary.shards, summary.resumed) == (12, 1, 7, 0)
    assert seen[-1] == Progress(7, 7, summary.words) and summary.mentions > 10
    assert contents(tmp_path / "out") == contents(whole)
    (tmp_path / "out/documents/part-00001.jsonl").unlink()
    assert annotate_files(genes, tmp_path / "out", workers=0, **OPTIONS).resumed == 6
    assert contents(tmp_path / "out") == contents(whole)


def test_engine_does_all_but_an_input_that_disappears(engine: dict[str, Any], tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text("IL-2 binds.")

    def take_away(_: Progress) -> None:
        (tmp_path / "c.txt").unlink(missing_ok=True)

    inputs = [tmp_path / f"{name}.txt" for name in "abc"]
    one: dict[str, Any] = OPTIONS | engine | {"shard_records": 1, "workers": min(engine.get("workers", 1), 1)}
    with pytest.raises(JobError, match=r"c\.txt cannot be read .*; 2 of 3 shards are finished and kept"):
        annotate_files(inputs, tmp_path / "out", on_progress=take_away, **one)
    assert len(lines_in(tmp_path / "out/documents")) == 2
