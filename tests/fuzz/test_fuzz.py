"""A slice of ``make fuzz``; and that it finds and repeats what is planted."""

from __future__ import annotations

from pathlib import Path

import pytest

from hyperspan.corpora import Problems, read_corpus
from tests.fuzz.__main__ import report
from tests.fuzz.planted import Planted
from tests.fuzz.runner import fuzz, orders, repeat, shares
from tests.fuzz.target import Workplace
from tests.fuzz.targets import TARGETS
from tests.fuzz.targets.command_lines import CommandLines
from tests.fuzz.targets.corpora import Reader
from tests.fuzz.worker import generator, use

pytestmark = pytest.mark.xdist_group("forked")  # one worker imports what such processes need
INPUTS = 100


def test_nothing_fails() -> None:
    counts = shares(INPUTS, list(TARGETS))
    result = fuzz(counts, seed=1, seconds=600, workers=1)
    found = [f"{name}: {kind}\n{failures[0].details}" for (name, kind), failures in result.failures.items()]
    assert not found, "\n\n".join(found)
    assert result.tried == counts


PLANTED = {"planted": Planted()}


@pytest.mark.slow
def test_what_is_planted_is_found_and_repeated(tmp_path: Path) -> None:
    result = fuzz({"planted": 8}, seed=0, seconds=60, workers=1, limit=0.5, targets=PLANTED)
    assert result.tried["planted"] == 8
    kinds = {kind.partition(" in ")[0]: kind for _, kind in result.failures}
    assert kinds.keys() == {"ValueError", "MemoryError", "left N bytes", "hangs", "the process died"}
    for short, word in {"ValueError": b"RAISE", "MemoryError": b"EAT", "left N bytes": b"FIND"}.items():
        place, (failure,) = repeat("planted", 0, result.failures["planted", kinds[short]][0].index, tmp_path, PLANTED)
        assert failure.kind == kinds[short]
        assert word in (place / "text").read_bytes() and (place / "other").read_bytes() == b"more"


def test_the_report_names_counts_and_the_command_that_repeats(capsys: pytest.CaptureFixture[str]) -> None:
    counts = shares(20, ["config", "config-set"])
    good = fuzz(counts, seed=1, seconds=60, workers=1)
    assert report(good) == 0 and "config-set" in capsys.readouterr().out
    planted = fuzz({"planted": 1}, seed=0, seconds=60, workers=1, limit=1.0, targets=PLANTED)
    assert report(planted) == 1
    assert "--target planted --seed 0 --index 0" in capsys.readouterr().out


def test_time_that_is_up_leaves_no_target_out() -> None:
    counts = {"planted": 400, "config": 100}
    first = [name for name, _ in orders(counts)]
    assert set(first[:5]) == {"planted", "config"} and len(first) == 10
    result = fuzz({"config": 1_000_000}, seed=1, seconds=0.5, workers=1)
    assert 0 < result.tried["config"] < 100_000 and result.missing == 1_000_000 - result.tried["config"]


@pytest.mark.parametrize("name", TARGETS)
def test_a_seed_decides_on_inputs(name: str) -> None:
    if name == "archives":  # of which some are large to make
        return
    drawn = [[TARGETS[name].mutated(generator(seed, name, index)) for index in range(3)] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    "target", [target for target in TARGETS.values() if isinstance(target, Reader)], ids=lambda target: target.name
)
def test_samples_of_formats_are_read(target: Reader, tmp_path: Path) -> None:
    """Mutations of what is no corpus would not reach far."""
    for index, sample in enumerate(target.seeds()):
        place = Workplace(tmp_path / str(index), tmp_path)
        place.write(sample)
        only = place.folder / next(iter(sample)) if len(sample) == 1 else place.folder
        documents = list(read_corpus(only, target.format_name, Problems("raise")))
        assert any(document.mentions for document in documents)


def test_command_lines_are_kept_in_their_folder(tmp_path: Path) -> None:
    target = CommandLines()
    given = {"arguments": b"convert\0../a.jsonl\0/etc/out.jsonl", "stdin": b"", "a.jsonl": b""}
    assert use(target, given, tmp_path) is None
    assert not list(tmp_path.glob("*.jsonl"))
