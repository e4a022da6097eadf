"""spaCy's spancat beside ours, in processes of an interpreter that need not be this one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from experiments.spancat import spancat_workers
from hyperspan.errors import InputError

SENTENCES = [["the", "IL-2", "gene"], ["T", "cells"], ["NF-kappa", "B", "binds"]]


@pytest.mark.slow
def test_spancat_workers_decode_their_share_and_end() -> None:
    pytest.importorskip("spacy")
    with spancat_workers(sys.executable, SENTENCES, ["DNA", "protein"], threads=2) as beside:
        assert beside.version[0].isdigit()
        beside()
        beside()
        assert [worker.poll() for worker in beside.workers] == [None, None]
    assert [worker.poll() for worker in beside.workers] == [0, 0]


def test_spancat_workers_name_an_interpreter_that_cannot_be_used(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=r"nowhere cannot be run .*; name an interpreter that has spaCy"),
        spancat_workers(str(tmp_path / "nowhere"), SENTENCES, ["DNA"], threads=1),
    ):
        pass
    without = tmp_path / "python"
    without.write_text("#!/bin/sh\necho\n")
    without.chmod(0o755)
    with (
        pytest.raises(InputError, match="has no spaCy; install it there"),
        spancat_workers(str(without), SENTENCES, ["DNA"], threads=1),
    ):
        pass
