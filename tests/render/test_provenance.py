"""The line that says how a page was made."""

from __future__ import annotations

import os
import subprocess
import sys


def test_the_day_is_that_of_source_date_epoch_where_it_is_set() -> None:
    code = (
        "from hyperspan.render.provenance import provenance; print(provenance('runs/mine', {'DNA': 0.25}, ['DNA'], 2))"
    )
    environment = os.environ | {"SOURCE_DATE_EPOCH": "86400"}
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert said.startswith(
        "Model mine; every mention at least this probable: 0.5, DNA 0.25; types DNA; 2 constraints; "
    )
    assert said.endswith("; 1970-01-02.\n")
