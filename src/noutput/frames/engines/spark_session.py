"""Spark sessions whose workers run the driver's Python."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from noutput._extras import need
from noutput.errors import InvalidArgumentError
from noutput.frames.packages import pyspark, spark_sql

__all__ = ["borrow_session", "spark_session"]


def spark_session(
    master: str | None = None, settings: Mapping[str, str] | None = None
) -> spark_sql.SparkSession:
    """Return the running Spark session, or start one.

    Parameters
    ----------
    master : str, optional
        Where to run, such as ``local[2]``, ``yarn`` or ``spark://host:7077``; Spark's own
        configuration decides if not given, and all local processors if that is silent too.
    settings : mapping of str to str, optional
        Further settings of Spark, such as ``{"spark.driver.memory": "2g"}``.

    Raises
    ------
    MissingExtraError
        If pyspark is not installed.
    InvalidArgumentError
        If there is no Java on this machine, or a session runs with another master.

    Notes
    -----
    Unless the variable is set already, PYSPARK_PYTHON becomes the driver's own Python for local
    masters: Spark would start whatever ``python3`` is first on the path. On a cluster it must
    name a Python with noutput that exists on every worker.

    Examples
    --------
    .. code-block:: python

        session = frames.spark_session("local[2]", {"spark.driver.memory": "2g"})
        people = session.read.parquet("people.parquet")
        reports = frames.privatize(people, "age", mechanism=m, bounds={"age": (0, 120)})
    """
    for package in ("pyspark.sql", "pandas", "pyarrow"):
        need(package, "spark")
    _check_java()
    context = _running()
    if context is not None and master not in (None, context.master):
        rule = f"be {context.master}, where a session runs already, or None"
        raise InvalidArgumentError("master", rule, master)
    if master is None or master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = spark_sql.SparkSession.builder.appName("noutput")
    if master is not None:
        builder = builder.master(master)
    for name, value in (settings or {}).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@contextmanager
def borrow_session(master: str | None) -> Iterator[spark_sql.SparkSession]:
    """Lend the running session, or one that is stopped afterwards."""
    active = spark_sql.SparkSession.getActiveSession()
    running = _running() or active
    session = spark_session(master)
    try:
        yield session
    finally:
        if running is None:
            session.stop()


def _running() -> pyspark.SparkContext | None:
    """Return the process's Spark context, whichever thread made it, or None."""
    # sessions are active in one thread; there is no public way to ask for the context
    return pyspark.SparkContext._active_spark_context  # noqa: SLF001


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=f"{home}/bin" if home else None) is None:
        rule = "name a Java 17 or newer, or java must be on the PATH: Spark runs on it"
        raise InvalidArgumentError("JAVA_HOME", rule, home)
