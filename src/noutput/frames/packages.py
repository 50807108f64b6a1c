"""Packages of the engines: typed where they ship types, imported when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput._extras import LazyModule

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq
    import pyspark
    from pyspark import sql as spark_sql
    from pyspark.sql import functions as spark_functions
    from pyspark.sql import types as spark_types
else:
    duckdb = LazyModule("duckdb", "duckdb")
    nw = LazyModule("narwhals", "frames")
    pd = LazyModule("pandas", "pandas")
    pl = LazyModule("polars", "polars")
    pa = LazyModule("pyarrow", "frames")
    pc = LazyModule("pyarrow.compute", "frames")
    pa_csv = LazyModule("pyarrow.csv", "frames")
    pq = LazyModule("pyarrow.parquet", "frames")
    pyspark = LazyModule("pyspark", "spark")
    spark_sql = LazyModule("pyspark.sql", "spark")
    spark_functions = LazyModule("pyspark.sql.functions", "spark")
    spark_types = LazyModule("pyspark.sql.types", "spark")

__all__ = [
    "duckdb", "nw", "pa", "pa_csv", "pc", "pd", "pl", "pq", "pyspark", "spark_functions",
    "spark_sql", "spark_types",
]  # fmt: skip
