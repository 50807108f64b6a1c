"""Two processes never share a random stream, however they were started."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, chisquare

from noutput import (
    InvalidArgumentError,
    MissingExtraError,
    Number,
    PrivacyError,
    TableMechanism,
    frames,
)
from noutput._extras import LazyModule, need
from noutput.frames.engines import spark as engine
from tests.frames.conftest import Backend
from tests.frames.zeros import SIZE, reports_of_zeros
from tests.tables import window_table


# Python 3.12 warns when a process with threads forks; that is what this test is about
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_streams_of_processes_differ(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    text = window_table(1.0, 16, 33, 0.4).to_json()
    mine = reports_of_zeros(text)  # before the fork: a stream that outlived it would repeat
    with multiprocessing.get_context(method).Pool(2) as pool:
        theirs = pool.map(reports_of_zeros, [text] * 6, chunksize=1)
    streams = [mine, *theirs, reports_of_zeros(text)]
    assert len({tuple(stream) for stream in streams}) == len(streams)


def test_streams_of_spark_tasks_differ(spark: Any) -> None:
    """Forked from one daemon, and the same worker serves several tasks."""
    mechanism = window_table(1.0, 16, 33, 0.4)
    people = spark.range(8 * SIZE, numPartitions=8).selectExpr("id", "0.0D AS x")
    rows = frames.privatize(people, "x", mechanism=mechanism, bounds=(-1, 1), keep="id").toArrow()
    order = np.argsort(rows["id"].to_numpy())
    drawn = rows.column(1).to_numpy()[order].reshape(8, SIZE)
    assert len({stream.tobytes() for stream in drawn}) == 8


def loss_bound(high: NDArray[np.int64], low: NDArray[np.int64], level: float) -> float:
    """Return a lower confidence bound of the loss, from counts of reports at two inputs."""
    n, m = high.sum(), low.sum()
    least = beta.ppf(level, high, n - high + 1)
    most = beta.ppf(1.0 - level, low + 1, m - low)
    return float(np.log(least / most).max())


def draw_in_spark(spark: Any, mechanism: TableMechanism, x: float, size: int) -> NDArray[np.int64]:
    people = spark.range(size, numPartitions=4).selectExpr(f"{x}D AS x")
    reports = frames.privatize(people, "x", mechanism=mechanism, bounds=(-1, 1))
    return np.array(frames.tally(reports, "x", mechanism).counts)


def test_what_spark_workers_draw_fits_and_is_private(spark: Any) -> None:
    """Unseeded on purpose: a right sampler fails once in ten million runs."""
    mechanism = window_table(1.0, 4, 9, 0.4)
    counts = {x: draw_in_spark(spark, mechanism, x, 200_000) for x in (-1.0, 1.0)}
    for x, found in counts.items():
        assert found.sum() == 200_000
        assert chisquare(found, mechanism.probabilities(x) * 200_000).pvalue > 1e-8
    assert 0.8 < loss_bound(counts[1.0], counts[-1.0], 1e-8) <= 1.0
    # the audit has teeth: a sampler for a larger epsilon does not pass as this one
    wrong = window_table(1.2, 4, 9, 0.4)
    pair = [
        np.bincount(wrong.privatize(np.full(200_000, x), np.random.default_rng(1)), minlength=4)
        for x in (1.0, -1.0)
    ]
    assert loss_bound(pair[0], pair[1], 1e-8) > 1.0
    assert chisquare(pair[0], mechanism.probabilities(1.0) * 200_000).pvalue < 1e-12


def test_workers_certify_the_mechanism(five_outputs: TableMechanism) -> None:
    recipe = frames.Recipe(five_outputs, ("x",), (Number(-1, 1),))
    text = recipe.to_json().replace('"epsilon": 4.0', '"epsilon": 3.0')
    with pytest.raises(PrivacyError):
        next(engine._task(text, ["x"], [])(iter([])), None)


def test_errors_of_workers_arrive_whole(backend: Backend, five_outputs: TableMechanism) -> None:
    """As data: neither the name of a column nor a value is taken from a sentence."""
    column = "it must not; found 'nothing'"
    table = pa.table({column: [0.0, 3.0]})
    with pytest.raises(InvalidArgumentError) as caught:
        backend.privatize(table, column, mechanism=five_outputs)
    error = caught.value
    assert type(error) is InvalidArgumentError
    assert error.name.startswith(f"column {column!r} ")
    assert error.rule.startswith("lie in [-1.0, 1.0]")
    assert error.found == 3.0


def test_importing_loads_no_dataframe_library() -> None:
    code = (
        "import sys, noutput.frames\n"
        "heavy = ('narwhals', 'pandas', 'polars', 'pyarrow', 'duckdb', 'pyspark', 'scipy')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["narwhals", "pyarrow", "polars", "duckdb", "pyspark"])
def test_a_missing_package_names_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=rf"{name} is not installed.*noutput\[frames\]"):
        need(name, "frames")
    with pytest.raises(MissingExtraError, match=rf"{name} is not installed"):
        _ = LazyModule(name, "frames").DataFrame


def test_looking_at_a_lazy_module_imports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    module = LazyModule("polars", "polars")
    assert inspect.unwrap(module) is module  # type: ignore[arg-type]  # as doctest does
    assert isinstance(copy.copy(module), LazyModule)  # and pickle, in tasks of Spark
