"""An annotator that was used before its process forks works in the forks, too."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

POOL = """
import multiprocessing, hyperspan
annotator = hyperspan.load("genia")
text = "Mutant Rel proteins bind the IL-2 promoter in Jurkat T cells. " * 40
def count(text):
    return len(annotator(text).mentions)
expected = count(text)  # now OpenMP has its threads
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map_async(count, [text] * 2).get(timeout=60) == [expected] * 2 and expected > 40
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_annotator_in_a_forked_pool_answers() -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", POOL], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
