"""Learning curves: parts of a corpus, spaCy's spancat as a row, and what is drawn."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments import result as results
from experiments.preparations import first
from experiments.result import Result, read_recorded, recorded_file
from experiments.spancat import spancat_workers
from experiments.study.plot import draw_curves, points_of
from experiments.study.spancat import check_spacy
from experiments.study.studies import CURVES
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.types import Mention, Sentence
from tests.experiments.support import study

ZOO = Sentence(("the", "Seattle", "zoo"), [Mention(0, 3, "FAC"), Mention(1, 2, "GPE")], tags=("DT", "NNP", "NN"))
SENTENCES = [ZOO, Sentence(("it", "rains")), Sentence(("Ada", "left"), [Mention(0, 1, "PER")])] * 10


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a small corpus in the place and format of GENIA."""
    folder = tmp_path / "data" / "genia"
    folder.mkdir(parents=True)
    blocks = [
        f"{' '.join(s.tokens)}\n{' '.join(s.tags or ['X'] * len(s))}\n"
        f"{'|'.join(f'{m.start},{m.end} G#{m.label}' for m in sorted(s.mentions))}\n\n"
        for s in SENTENCES
    ]
    for part in ("train", "dev"):
        (folder / f"{part}.data").write_text("".join(blocks), encoding="utf-8")
    return folder.parent


def curves(data: Path, *given: str) -> list[str]:
    """The arguments of the command for GENIA, with its output beside the data."""
    where = ["--data", "genia", "--data-dir", str(data), "--output", str(data.parent / "out")]
    return ["curves", *where, "--device", "cpu", *given]


def executable(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_rows_of_curves_are_those_of_the_docs() -> None:
    runs = [(row.name, corpus) for row in CURVES.rows for corpus in row.data for _ in row.seeds]
    assert len(runs) == 3 * (13 + 6 + 6) + 2 * 3 and len({*runs}) == 3 * (5 + 3 + 3) + 2
    assert {corpus for name, corpus in runs if name.startswith("spancat-wide")} == {"genia"}


def test_first_takes_parts_within_larger_ones_without_tags() -> None:
    sentences = [Sentence((f"word{index}",), tags=("X",)) for index in range(50)]

    def part(size: int, seed: int) -> list[Sentence]:
        return list(first(size, sentences, [], Config().override([f"training.seed={seed}"]))[0])

    small, large, other = part(10, 1), part(20, 1), part(10, 2)
    assert large[:10] == small != other and len({*large}) == 20
    assert not any(sentence.tags for sentence in large)


def test_spancat_is_a_row_that_is_scored_on_all_of_dev_and_kept(tmp_path: Path, data: Path) -> None:
    """The interpreter is one that finds the mentions of the first sentence alone."""
    lines = [[[1, 2, "GPE"], [0, 3, "FAC"]], *([] for _ in SENTENCES[1:])]
    python = executable(
        tmp_path / "python",
        f"#!{sys.executable}\nimport json, pathlib, sys\nif '-c' in sys.argv: sys.exit()\n"
        "job = json.load(open(sys.argv[-1]))\n"
        "assert job['sizes'] == [1, 2, 3] and job['vectors'] == '' and 'NNP' not in open(job['train']).read()\n"
        "folder = pathlib.Path(job['folder'])\n"
        '(folder / \'taken.json\').write_text(\'{"seconds": 2, "cpu_seconds": 1, "version": "spaCy 0"}\')\n'
        f"(folder / 'predictions.jsonl').write_text({chr(10).join(map(json.dumps, lines))!r})\n",
    )
    given = curves(data, "--rows", "spancat-wide-300", "--seeds", "1,2", "--spancat", python, "--format", "markdown")
    done = study(*given)
    assert done.returncode == 0 and "| spancat-wide, 300 sentences | 12.50 ± 0.00 | 2 / 1 | 2 |" in done.stdout
    run = Result.read(tmp_path / "out" / "curves" / "genia" / "spancat-wide-300" / "seed-2" / "result.json")
    assert run.known_counts.sum(0).tolist() == [2, 2, 30] and (run.cpu_seconds, run.test) == (1, None)
    assert study(*given[:-4]).returncode == 0, "both are finished: nothing is started"


def test_a_failed_spancat_is_reported_and_the_others_go_on(tmp_path: Path, data: Path) -> None:
    python = executable(tmp_path / "python", '#!/bin/sh\ntest "$2" = -c && exit 0\necho no memory >&2\nexit 1\n')
    done = study(*curves(data, "--rows", "spancat-30", "--seeds", "1,2", "--spancat", python))
    assert done.returncode == 2 and "seed 2, failed: no memory" in done.stderr
    assert "not all rows could be trained: spancat-30, seed 1: " in done.stderr


@pytest.mark.slow
def test_spancat_workers_decode_their_share_and_end() -> None:
    pytest.importorskip("spacy")
    sentences = [["the", "IL-2", "gene"], ["T", "cells"], ["NF-kappa", "B", "binds"]]
    with spancat_workers(sys.executable, sentences, ["DNA", "protein"], threads=2) as beside:
        assert beside.version[0].isdigit()
        beside()
        beside()
        assert [worker.poll() for worker in beside.workers] == [None, None]
    assert [worker.poll() for worker in beside.workers] == [0, 0]


def test_an_interpreter_without_spacy_is_named_at_once(tmp_path: Path) -> None:
    without = executable(tmp_path / "python", "#!/bin/sh\necho\n")
    for check in (
        check_spacy,
        lambda python: spancat_workers(python, [["T", "cells"]], ["DNA"], threads=1).__enter__(),
    ):
        with pytest.raises(InputError, match=r"nowhere cannot be run .*; name an interpreter that has spaCy"):
            check(str(tmp_path / "nowhere"))
        with pytest.raises(InputError, match="has no spaCy"):
            check("/bin/false" if check is check_spacy else without)


def test_recorded_curves_are_tabulated_and_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    given = ["curves", "--no-train", "--output", str(tmp_path), "--format", "markdown"]
    done = study(*given, "--plot", str(tmp_path / "curves.png"))
    assert done.returncode == 0 and "| hyperspan-warm, 1,000 sentences | 65.14 ± 0.91 | 87 / 63 | 2 |" in done.stdout
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    runs = read_recorded(recorded_file("curves", "gum")).values()
    found = {row.name: [run for run in runs if run.row == row.name] for row in CURVES.rows}
    spancat = points_of({name: some for name, some in found.items() if some}, "spancat")
    assert [*spancat] == [100] and spancat[100][0] == pytest.approx(36.96, abs=0.01)
    with pytest.raises(InputError, match="there is no learning curve to draw"):
        draw_curves({"gum": {}}, tmp_path / "nothing.png")


@pytest.mark.slow
@pytest.mark.parametrize("row", ["hyperspan-30", "spancat-vectors-300"])
def test_both_systems_learn_a_small_corpus(
    row: str, tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("spacy")
    monkeypatch.setattr(results, "RECORDED", tmp_path / "recorded")
    words = sorted({token.lower() for sentence in SENTENCES for token in sentence.tokens})
    values = np.eye(len(words), 8, dtype=np.float16)
    np.savez(data / "vectors.npz", words=np.array("\n".join(words).encode()), vectors=values)
    assert study(*curves(data, "--rows", row, "--seeds", "1", "--threads", "1")).returncode == 0
    run = Result.read(tmp_path / "out" / "curves" / "genia" / row / "seed-1" / "result.json")
    assert run.f1 >= 0.5 and (run.cpu_seconds or 0) > 0
