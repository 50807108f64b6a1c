"""Peak memory grows with the reports that a frame holds, and not with the rows of the source."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.peak import ENGINES, measure, write_people

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="peak sizes are read from /proc"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("people")


def people(folder: Path, rows: int) -> Path:
    path = folder / f"{rows}.parquet"
    return path if path.exists() else write_people(path, rows)


@pytest.mark.parametrize("engine", ENGINES)
def test_memory_is_flat(engine: str, folder: Path) -> None:
    """A column of 10^7 numbers is 80 MB; holding it and its temporaries would show.

    Reports are 40 MB, where a frame holds them. The engines' own buffers fill up between 10^6 and
    10^7 rows, and not beyond. (Java's heap is resident from the start: how far it grows into what
    it was given depends on its collector.)
    """
    sizes = {rows: measure(engine, people(folder, rows)) for rows in (10**6, 10**7)}
    growth = sizes[10**7]["megabytes"] - sizes[10**6]["megabytes"]
    assert sizes[10**7]["rows"] == 10**7
    assert growth < 150


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hundred_million_rows_stay_below_two_gigabytes(engine: str, folder: Path) -> None:
    """Polars and DuckDB hold 4 bytes per report; Spark has disks for them."""
    found = measure(engine, people(folder, 10**8))
    assert found["rows"] == 10**8
    assert found["megabytes"] < {"arrow": 500, "spark": 2000}.get(engine, 500 + 400)
