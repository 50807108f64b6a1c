"""Turn columns of private values into columns of reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.frames.engines import duckdb, eager, polars, spark
from noutput.frames.engines.errors import plain_errors
from noutput.frames.packages import nw
from noutput.frames.recipe import (
    METADATA_KEY,
    Asked,
    Bounds,
    Recipe,
    Source,
    column_names,
    make_recipe,
)
from noutput.frames.reports import ATTRIBUTE
from noutput.frames.values import wrong_kind

if TYPE_CHECKING:
    from noutput.frames.reports import Certified

__all__ = [
    "Opened",
    "check_columns",
    "check_seed",
    "hold",
    "label",
    "open_frame",
    "privatize",
    "run_recipe",
    "to_long",
    "unpivot",
]

FrameT = TypeVar("FrameT")
Opened: TypeAlias = "nw.DataFrame[Any] | nw.LazyFrame[Any]"
_EAGER = {"PANDAS", "POLARS", "PYARROW"}
_ANY_DICTIONARY = {"PANDAS", "PYARROW"}
_SPARK = {"PYSPARK", "PYSPARK_CONNECT"}
_MAX_SEED = (1 << 63) - 1


def privatize(
    frame: FrameT,
    columns: str | Sequence[str],
    *,
    design: Source | None = None,
    mechanism: Certified | None = None,
    question: Asked | None = None,
    answers: object = None,
    bounds: Bounds | None = None,
    other: str | None = None,
    keep: str | Sequence[str] = (),
    clip: bool = False,
    skip_missing: bool = False,
    one_per_row: bool = False,
    layout: str = "wide",
    pilot: float | None = None,
    seed: int | None = None,
    connection: Any = None,
) -> FrameT:
    r"""Turn columns of private values into columns of reports.

    Parameters
    ----------
    frame : pandas, Polars, PyArrow, DuckDB or PySpark frame
        A lazy frame is run once, in this call, and gives a lazy frame of its reports, which are
        held in memory (Polars), in a temporary table of the connection (DuckDB), or in a local
        checkpoint (Spark). `privatize_files` holds nothing.
    columns : str or sequence of str
        The columns with the private values: integers, floats or decimals where the question is a
        number; for other questions also truth values, texts and categories.
    design : Design or AnswerDesign, optional
        What draws the reports and, where it has a question, what is asked: then nothing else is
        needed.
    mechanism : TableMechanism or AnswerMechanism, optional
        What draws the reports, in place of a design.
    question : Question, or a mapping of column names to questions, optional
        What is asked: of all columns, or of each.
    answers : list of answers, or a mapping of column names to lists, optional
        The same in short: numbers stand for a `Scale`, texts for a `Choice`, False and True for a
        `YesNo`.
    bounds : Interval or pair of numbers, or a mapping of column names to them, optional
        The same for numbers: what values are possible, in the units of the columns.
    other : str, optional
        Of answers: the label of the answer that stands for every value that is none, instead of
        refusing it.
    keep : str or sequence of str
        Columns that are passed on as they are. **All others are left out**, and so are the index
        and the ``attrs`` of a pandas frame: the rows of the result are numbered from 0.
    clip : bool
        Move values outside the bounds to the nearer end instead of refusing them.
    skip_missing : bool
        Make no report of a missing value (null or NaN) instead of refusing it. Whoever sees the
        result then learns which values were missing.
    one_per_row : bool
        Draw one of the columns at random for every row and report that one alone.
    layout : {"wide", "long"}
        Wide: one column of reports for each column, named by `report_name`. Long: the columns
        ``attribute`` and ``report__...``, one row per report.
    pilot : float, optional
        Of one column of numbers: the share of rows, drawn by lot, that find the range. They are
        reported with the given bounds, and all others with those that
        `noutput.choose_range` makes of these reports. The result has one column of reports
        per pass, and a gap in the other; the rows of the pilot come first, and `tally_evidence`
        counts both.
    seed : int, optional
        For reproducible simulation: the same seed gives the same reports in every engine whose
        rows have an order. Spark refuses it.
    connection : duckdb connection, optional
        The connection of a DuckDB relation, where it is not DuckDB's default one.

    Returns
    -------
    frame of the same kind
        Its report columns carry the mechanism's fingerprint in their names.

    Raises
    ------
    InvalidArgumentError
        If a column is missing, is of a type that holds no such values, or a value breaks a rule;
        or if Spark may run two copies of a task (``spark.speculation``).

    Guarantees
    ----------
    With `one_per_row`, or with a single column, everything that the result reveals about a row's
    columns is one :math:`\epsilon`-locally differentially private report (and, with
    `skip_missing`, which values are missing). With d columns and without `one_per_row` a row
    gives d reports, and the loss of all of them together is :math:`d \epsilon`.

    Every row is drawn once, and the result is the same at every execution: counting, filtering
    and joining it, and tasks of Spark that are tried again, read the reports that are held. Where
    Spark loses them, using the result raises an error; nothing is drawn again. A task that fails
    during the call draws again when it is retried. No one reads what the failed attempt drew.

    Every batch of rows takes fresh keys from the operating system in the process that draws it.
    Workers read the mechanism from its JSON form and certify it before they draw. None of this
    holds where a `seed` is given.

    With a `pilot` a row gives one report all the same. Which pass it is in does not depend on its
    value, the bounds of the second pass are computed from reports alone, and what was drawn is
    held before it is read: see `noutput.frames.piloted` for why nothing is drawn twice.

    Notes
    -----
    Two calls draw twice, and two draws about one person cost twice the loss.

    Examples
    --------
    >>> import noutput as no, pyarrow as pa
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> people = pa.table({"age": [20, 50], "town": ["A", "B"]})
    >>> privatize(people, "age", mechanism=m, bounds=(0, 120), keep="town").shape
    (2, 2)
    >>> coin = no.AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> crashes = pa.table({"crashed": [True, False, True]})
    >>> privatize(crashes, "crashed", mechanism=coin, question=no.YesNo()).num_rows
    3

    Nobody knew that few exceed two hours:

    >>> import numpy as np
    >>> from noutput import frames
    >>> rng, d = np.random.default_rng(7), no.design(1.0, 16)
    >>> people = pa.table({"minutes": rng.gamma(4.0, 10.0, 20_000)})
    >>> reports = privatize(
    ...     people, "minutes", mechanism=d.mechanism, bounds=(0, 600), clip=True, pilot=0.1, seed=1)
    >>> found = frames.tally_evidence(reports, "minutes", d.mechanism)
    >>> found.total, found.parts[1].bounds.upper < 200
    (20000, True)
    """
    recipe = make_recipe(
        columns,
        mechanism,
        bounds,
        design=design,
        question=question,
        answers=answers,
        other=other,
        clip=clip,
        skip_missing=skip_missing,
        one_per_row=one_per_row,
        layout=layout,
        secure=seed is None,
    )
    kept = column_names("keep", keep, least=0)
    options: dict[str, Any] = {"keep": kept, "seed": seed, "connection": connection}
    with plain_errors():
        if pilot is None:
            result: FrameT = hold(run_recipe(frame, recipe, **options), connection)
        else:
            from noutput.frames.piloted import run_passes  # which imports this module

            result = run_passes(frame, recipe, pilot=pilot, **options)
    return result


def run_recipe(
    frame: FrameT,
    recipe: Recipe,
    *,
    keep: str | Sequence[str] = (),
    seed: int | None = None,
    connection: Any = None,
) -> FrameT:
    """Do what a recipe says to a frame of any engine.

    A lazy result draws whenever it is run: `hold` it, or run it once.
    """
    seed = check_seed(seed)
    opened = open_frame(frame)
    kept = column_names("keep", keep, least=0)
    check_columns(opened, recipe, kept)
    names = recipe.columns if recipe.layout == "long" else recipe.report_names
    wide = _privatize_wide(opened, recipe, names, kept, seed, connection)
    reports = open_frame(wide)
    if recipe.layout == "long":
        reports = to_long(reports, recipe, kept)
    result: FrameT = label(reports, recipe)
    return result


def hold(frame: Any, connection: Any = None) -> Any:
    """Run a lazy frame once, and return a frame of the same kind that reads its rows."""
    opened = open_frame(frame)
    if isinstance(opened, nw.DataFrame):
        return frame
    if opened.implementation.is_duckdb():
        return duckdb.hold(frame, connection)
    return frame.collect().lazy() if opened.implementation.is_polars() else spark.hold(frame)


def check_seed(seed: int | None) -> int | None:
    """Return a seed that any engine can use, or None."""
    return None if seed is None else _checks.whole("seed", seed, 0, _MAX_SEED)


def open_frame(frame: object) -> Opened:
    """Return the narwhals form of a frame of a known engine."""
    opened = nw.from_native(frame, pass_through=True)
    if isinstance(opened, nw.DataFrame | nw.LazyFrame):
        engine = opened.implementation.name
        if engine in _EAGER | _SPARK | {"DUCKDB"}:
            return opened
    rule = "be a pandas, Polars, PyArrow, DuckDB or PySpark frame"
    raise InvalidArgumentError("frame", rule, type(frame).__name__)


def _privatize_wide(
    opened: Opened,
    recipe: Recipe,
    names: Sequence[str],
    keep: Sequence[str],
    seed: int | None,
    connection: Any,
) -> Any:
    frame, engine = opened.to_native(), opened.implementation.name
    if engine in _SPARK:
        if seed is not None:
            rule = "be None: the rows of a Spark frame have no lasting order"
            raise InvalidArgumentError("seed", rule, seed)
        return spark.privatize(frame, recipe, names, keep)
    if engine == "DUCKDB":
        return duckdb.privatize(frame, recipe, names, keep, seed, connection)
    if isinstance(opened, nw.LazyFrame):
        return polars.privatize(frame, recipe, names, keep, seed)
    return eager.privatize(frame, recipe, names, keep, seed)


def to_long(opened: Opened, recipe: Recipe, keep: Sequence[str]) -> Opened:
    """Return the long form of wide reports whose columns have their original names."""
    return unpivot(opened, recipe.columns, keep, recipe.report_names[0])


def unpivot(opened: Opened, on: Sequence[str], keep: Sequence[str], value: str) -> Opened:
    """Turn columns into rows of `ATTRIBUTE` and a value; rows without a value are left out."""
    if opened.implementation.is_duckdb():
        return open_frame(duckdb.unpivot(opened.to_native(), on, keep, ATTRIBUTE, value))
    long = opened.unpivot(on=list(on), index=list(keep), variable_name=ATTRIBUTE, value_name=value)
    return long.filter(~nw.col(value).is_null()).select(*keep, ATTRIBUTE, value)


def label(opened: Opened, recipe: Recipe) -> Any:
    """Return the native frame, with the recipe in its metadata where there is a place for it."""
    frame = opened.to_native()
    if opened.implementation.is_pyarrow():
        return frame.replace_schema_metadata({METADATA_KEY: recipe.to_json()})
    if opened.implementation.is_spark_like():
        for name in recipe.report_names:
            frame = frame.withMetadata(name, {METADATA_KEY: recipe.to_json()})
    return frame


def check_columns(opened: Opened, recipe: Recipe, keep: Sequence[str]) -> None:
    """Refuse missing columns, wrong types, and names that would meet in the result."""
    schema = opened.collect_schema()
    for argument, names in (("columns", recipe.columns), ("keep", keep)):
        for name in names:
            if name not in schema:
                raise InvalidArgumentError(argument, f"name columns of {list(schema)}", name)
    _check_clashes(recipe, keep)
    # decided by the values: decimals of pandas, columns of nulls, and dictionaries, which hold
    # texts in Polars and DuckDB and anything in the others
    open_kinds: tuple[type, ...] = (nw.Object, nw.Unknown)
    if opened.implementation.name in _ANY_DICTIONARY:
        open_kinds += (nw.Categorical,)
    of_answers = (*open_kinds, nw.Boolean, nw.String, nw.Categorical, nw.Enum)
    for name, question in recipe.by_column.items():
        kind = schema[name]
        kinds = of_answers if name in recipe.answers else open_kinds
        if not (kind.is_numeric() or isinstance(kind, kinds)):
            raise wrong_kind(name, kind, question)


def _check_clashes(recipe: Recipe, keep: Sequence[str]) -> None:
    for name in keep:
        if name in recipe.columns:
            raise InvalidArgumentError("keep", "leave out the private columns", name)
    # before reports are brought into the long form they have the names of their columns
    inner = recipe.columns if recipe.layout == "long" else ()
    for argument, names in (("columns", inner), ("keep", keep)):
        for name in names:
            if name in recipe.result_names:
                raise InvalidArgumentError(argument, "leave out names that the result needs", name)
