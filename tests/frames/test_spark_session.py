from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from noutput import InvalidArgumentError, frames
from noutput.frames.engines import spark as engine
from noutput.frames.engines import spark_session as sessions


def test_workers_run_the_drivers_python(spark: Any) -> None:
    assert spark.sparkContext.pythonExec == sys.executable
    assert frames.spark_session() is spark


def test_a_running_session_is_lent_and_not_stopped(spark: Any) -> None:
    with sessions.borrow_session(None) as lent:
        assert lent is spark
    assert spark.range(3).count() == 3


def test_a_session_of_another_thread_is_not_stopped(spark: Any) -> None:
    def borrow() -> bool:
        with sessions.borrow_session(None) as lent:
            return lent is spark

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(borrow).result()
    assert spark.range(3).count() == 3


def test_another_master_than_the_running_one_is_refused(spark: Any) -> None:
    assert frames.spark_session("local[2,2]") is spark
    with pytest.raises(InvalidArgumentError, match=r"master must be local\[2,2\].*'local\[1\]'"):
        frames.spark_session("local[1]")


def test_missing_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InvalidArgumentError, match="JAVA_HOME must name a Java 17"):
        frames.spark_session("local[1]")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidArgumentError, match=r"JAVA_HOME must .* found None"):
        frames.spark_session("local[1]")


def test_another_python_is_refused() -> None:
    """Local workers with another Python would lack noutput, or worse, have another one."""
    for master, refused in (("local[2]", True), ("yarn", False)):
        context = SimpleNamespace(master=master, pythonExec="/usr/bin/false")
        frame: Any = SimpleNamespace(sparkSession=SimpleNamespace(_sc=context))
        if refused:
            with pytest.raises(InvalidArgumentError, match="PYSPARK_PYTHON must be the driver's"):
                engine._check_python(frame)
        else:
            engine._check_python(frame)
