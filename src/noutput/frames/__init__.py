r"""Privatize and tally columns where the data already is.

>>> import noutput as no, pyarrow as pa
>>> from noutput import frames
>>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
>>> people = pa.table({"minutes": [5.0, 30.0, 90.0]})
>>> reports = frames.privatize(people, "minutes", mechanism=m, bounds=(0, 180))
>>> reports.column_names == [frames.report_name("minutes", m)]
True
>>> frames.tally(reports, "minutes", m).total
3

pandas, Polars (eager and lazy), PyArrow, DuckDB and PySpark frames all work alike. None of these
libraries is imported before a frame of its kind is used.
"""

from __future__ import annotations

from noutput.frames.archived import is_archive
from noutput.frames.counted_files import read_counts, read_evidence, read_recipe, tally_files
from noutput.frames.counting import tally
from noutput.frames.engines.spark_session import spark_session
from noutput.frames.files import privatize_files
from noutput.frames.groups import GroupedTally
from noutput.frames.piloted import tally_evidence
from noutput.frames.privatizing import privatize
from noutput.frames.recipe import Recipe
from noutput.frames.reported import ReportCounts, tally_reports
from noutput.frames.reports import report_name

__all__ = [
    "GroupedTally",
    "Recipe",
    "ReportCounts",
    "is_archive",
    "privatize",
    "privatize_files",
    "read_counts",
    "read_evidence",
    "read_recipe",
    "report_name",
    "spark_session",
    "tally",
    "tally_evidence",
    "tally_files",
    "tally_reports",
]
