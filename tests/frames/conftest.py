"""One set of frames for all engines: tests are written once, against Arrow tables."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from noutput import frames

ENGINES = ("pandas", "polars", "polars-lazy", "pyarrow", "duckdb", "spark")
# PySpark 4 works with pandas 3 and warns that it may not
SPARK_WARNING = "ignore:PySpark does not yet fully support pandas:FutureWarning"


@dataclass(frozen=True)
class Backend:
    name: str
    make: Callable[[Any], Any]
    rows: Callable[[Any], Any]
    options: dict[str, Any]

    def privatize(self, table: Any, columns: Any, **options: Any) -> Any:
        given = {"bounds": (-1, 1)} | self.options | options
        return frames.privatize(self.make(table), columns, **given)


def pytest_itemcollected(item: pytest.Item) -> None:
    if "spark" in item.name or "spark" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.filterwarnings(SPARK_WARNING))
        item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is none on the path")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.ui.showConsoleProgress": "false",
        # tests have few rows: compiling queries would take longer than running them
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    session = frames.spark_session("local[2,2]", settings)
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(params=ENGINES)
def backend(request: pytest.FixtureRequest) -> Backend:
    if request.param == "spark":
        session = request.getfixturevalue("spark")

        return Backend("spark", session.createDataFrame, lambda frame: frame.toArrow(), {})
    return _local(request.param)


@pytest.fixture(params=[name for name in ENGINES if name != "spark"])
def ordered(request: pytest.FixtureRequest) -> Backend:
    """Every engine whose rows have an order."""
    return _local(request.param)


def _local(name: str) -> Backend:
    if name == "duckdb":
        connection = duckdb.connect()
        return Backend(
            name, connection.from_arrow, lambda r: r.to_arrow_table(), {"connection": connection}
        )
    make, rows = {
        "pandas": (
            lambda table: table.to_pandas(),
            lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
        ),
        "polars": (pl.from_arrow, lambda frame: frame.to_arrow()),
        "polars-lazy": (
            lambda table: pl.DataFrame(table).lazy(),
            lambda frame: frame.collect().to_arrow(),
        ),
        "pyarrow": (lambda table: table, lambda table: table),
    }[name]
    return Backend(name, make, rows, {})


@pytest.fixture(scope="session")
def people() -> Any:
    """Minutes and ratings of a thousand people, in their own units."""
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "minutes": rng.uniform(0.0, 180.0, 1000),
            "rating": rng.integers(1, 6, 1000),
            "id": np.arange(1000),
        }
    )


BOUNDS = {"minutes": (0, 180), "rating": (1, 5)}
