"""The notebook of examples/ runs in a real kernel, and prints what is stored in it."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "examples" / "tour.ipynb"


def printed(notebook: nbformat.NotebookNode) -> list[list[tuple[str, object]]]:
    """Of each cell, the text that it printed and the kinds of what it shows."""
    return [
        [
            (output.output_type, output.text if output.output_type == "stream" else sorted(output.data))
            for output in cell.get("outputs", [])
        ]
        for cell in notebook.cells
    ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_notebook_runs_and_prints_what_is_stored(tmp_path: Path) -> None:
    """After a change of a model: ``jupyter nbconvert --execute --inplace examples/tour.ipynb`` stores what it
    prints."""
    stored = nbformat.read(NOTEBOOK, as_version=4)
    fresh = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(fresh, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert printed(fresh) == printed(stored)
    pictures = [kind for cell in printed(stored) for _, kinds in cell if isinstance(kinds, list) for kind in kinds]
    assert {"text/html", "image/png", "image/svg+xml"} <= set(pictures)
