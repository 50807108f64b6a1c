"""Peak memory does not grow with the number of rows."""

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
    """A column of 10^7 numbers is 80 MB; holding it or its temporaries would show.

    The engines' own buffers fill up between 10^6 and 10^7 rows, and not beyond. (Java's heap is
    resident from the start: how far it grows into what it was given depends on its collector.)
    """
    sizes = {rows: measure(engine, people(folder, rows)) for rows in (10**6, 10**7)}
    growth = sizes[10**7]["megabytes"] - sizes[10**6]["megabytes"]
    assert sizes[10**7]["rows"] == 10**7
    assert growth < 150


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hundred_million_rows_stay_below_two_gigabytes(engine: str, folder: Path) -> None:
    found = measure(engine, people(folder, 10**8))
    assert found["rows"] == 10**8
    assert found["megabytes"] < (2000 if engine == "spark" else 500)
