"""Run the notebook of flights anew, without the times of its cells: ``make notebook``."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent / "start" / "flights.ipynb"

if __name__ == "__main__":
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, record_timing=False, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    nbformat.write(notebook, NOTEBOOK)
