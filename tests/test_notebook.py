"""The notebook of examples/ runs in a real kernel, and prints what is stored in it."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "examples" / "tour.ipynb"


def printed(notebook: nbformat.NotebookNode) -> list[tuple[str, list[str]]]:
    """Of each cell, all the text that it printed, and the kinds of what it shows."""
    return [
        (
            "".join(output.text for output in cell.get("outputs", []) if output.output_type == "stream"),
            [kind for output in cell.get("outputs", []) if "data" in output for kind in sorted(output.data)],
        )
        for cell in notebook.cells
    ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_notebook_runs_and_prints_what_is_stored(tmp_path: Path) -> None:
    """After a change of a model, ``jupyter execute --inplace examples/tour.ipynb`` stores the output."""
    stored = nbformat.read(NOTEBOOK, as_version=4)
    fresh = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(fresh, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert printed(fresh) == printed(stored)
    assert {"text/html", "image/png", "image/svg+xml"} <= {kind for _, kinds in printed(stored) for kind in kinds}
