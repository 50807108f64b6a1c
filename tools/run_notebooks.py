"""Run the notebooks of the documentation and store their outputs: `python -m tools.run_notebooks`.

The pages show the stored outputs, so that `make docs` runs nothing. `tests/docs/test_notebooks.py`
runs every notebook again and compares what it prints.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import click
import nbformat
from nbclient import NotebookClient

__all__ = ["FOLDER", "printed", "run"]

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
_SECONDS = 600
_SETUP = """
%config InlineBackend.figure_formats = ["svg"]
import matplotlib as mpl
mpl.rcParams.update({"svg.hashsalt": "noutput", "figure.dpi": 100})
mpl.rcParams["axes.spines.right"] = mpl.rcParams["axes.spines.top"] = False
del mpl
"""
_DATE = re.compile(r"<dc:date>[^<]*</dc:date>|<metadata>.*?</metadata>", re.DOTALL)


def run(path: Path, folder: Path) -> Any:
    """Run a notebook in a folder and return it with its outputs."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(_SETUP.strip()))
    client = NotebookClient(
        notebook,
        timeout=_SECONDS,
        coalesce_streams=True,
        resources={"metadata": {"path": folder}},
    )
    client.execute(env={**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1"})
    del notebook.cells[0]
    for number, cell in enumerate((c for c in notebook.cells if c.cell_type == "code"), 1):
        cell.execution_count = number
        cell.metadata.pop("execution", None)
        cell.outputs = [_plain(each) for each in cell.outputs if not _is_empty(each)]
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def printed(notebook: Any) -> list[str]:
    """Return the texts that the cells print, one per cell with code."""
    return [
        "".join(
            each.get("text", each.get("data", {}).get("text/plain", "")) for each in cell.outputs
        )
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _is_empty(output: Any) -> bool:
    """Say whether an output shows nothing: a progress bar that is over."""
    return output.output_type == "display_data" and not any(output.data.values())


def _plain(output: Any) -> Any:
    """Return an output without what differs between equal runs."""
    output.pop("execution_count", None)
    if output.output_type == "execute_result":
        output.execution_count = None
    data = output.get("data", {})
    if "image/svg+xml" in data:
        data["image/svg+xml"] = _DATE.sub("", data["image/svg+xml"])
        data["text/plain"] = "<Figure>"
    return output


@click.command()
@click.argument("names", nargs=-1)
def main(names: tuple[str, ...]) -> None:
    """Run the notebooks of these NAMES, or all."""
    import tempfile

    for path in sorted(FOLDER.glob("*.ipynb")):
        if not names or path.stem in names:
            with tempfile.TemporaryDirectory() as folder:
                nbformat.write(run(path, Path(folder)), path)
            click.echo(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
