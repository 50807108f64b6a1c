r"""Two passes over a frame: a pilot finds the range, the others use it.

Every row is in one of the passes, drawn by a coin of its own whatever its value is, and gives one
report. The reports of a pass have a column of their own, whose name says the bounds they were
drawn with.

Notes
-----
**No value is reported twice.** Both things are drawn once and then held:

1. *The coins.* The split is a frame in memory (pandas, Polars, PyArrow; a lazy Polars frame is
   collected first), a temporary table (DuckDB) or a local checkpoint (Spark). Both passes read
   that, never the source. The pilot is where the coin is true, and the others are where it is
   false, so a row is in exactly one of them.
2. *The reports.* Those of a pass are held as those of any frame (`noutput.frames.privatize`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.frames.counting import tally
from noutput.frames.drawing import draw_pilot
from noutput.frames.engines import duckdb, spark
from noutput.frames.packages import nw, pa, pc
from noutput.frames.privatizing import (
    check_columns,
    check_seed,
    hold,
    label,
    open_frame,
    run_recipe,
)
from noutput.frames.reports import split_name
from noutput.frames.values import Place
from noutput.interval import Interval
from noutput.mechanisms.table import TableMechanism
from noutput.questions import Number

if TYPE_CHECKING:
    from noutput.estimate.evidence import Evidence
    from noutput.frames.privatizing import Opened
    from noutput.frames.recipe import Recipe
    from noutput.questions import Question
    from noutput.tally import Tally

__all__ = [
    "both_recipes",
    "check_pilot",
    "choose_bounds",
    "evidence",
    "evidence_of",
    "pass_bounds",
    "pass_name",
    "pass_recipe",
    "run_passes",
    "tally_evidence",
]

_PASS = re.compile(r"(.+) in (\S+) to (\S+)", re.DOTALL)


def check_pilot(recipe: Recipe, pilot: float) -> tuple[float, Interval]:
    """Return the share of the pilot and the declared bounds, or refuse what has no two passes."""
    share = _checks.inner_share("pilot", pilot)
    question = recipe.questions[0]
    if len(recipe.columns) > 1 or recipe.layout != "wide":
        rule = "be given for one column in the wide layout"
        raise InvalidArgumentError("pilot", rule, list(recipe.columns))
    if not isinstance(question, Number) or not isinstance(recipe.mechanism, TableMechanism):
        rule = "be left out: answers have no range to find"
        raise InvalidArgumentError("pilot", rule, pilot)
    if recipe.mechanism.bounds != (-1.0, 1.0):
        rule = "be left out: the table is for the bounds of its question alone"
        raise InvalidArgumentError("pilot", rule, pilot)
    return share, Interval(question.lower, question.upper)


def run_passes(
    frame: Any,
    recipe: Recipe,
    *,
    pilot: float,
    keep: Sequence[str],
    seed: int | None,
    connection: Any,
) -> Any:
    """Do what a recipe says in two passes: see `noutput.frames.privatize`."""
    share, wide = check_pilot(recipe, pilot)
    seed, opened = check_seed(seed), open_frame(frame)
    check_columns(opened, recipe, keep)
    first, second, drop = _split(opened, recipe, keep, share, seed, connection)
    try:
        parts = _both_passes(first, second, recipe, wide, keep, seed, connection)
    finally:
        drop()
    how: Any = "vertical" if parts[0].columns == parts[1].columns else "diagonal"
    result = nw.concat(parts, how=how)
    return label(result, both_recipes(recipe, result.collect_schema().names()))


def _both_passes(
    pilot: Any,
    others: Any,
    recipe: Recipe,
    wide: Interval,
    keep: Sequence[str],
    seed: int | None,
    connection: Any,
) -> list[Any]:
    """Report the pilot, choose the bounds of the others, and report them."""
    first = _one_pass(pilot, recipe, wide, keep, seed, connection)
    counted = tally(first, pass_name(recipe, wide), recipe.mechanism)
    narrow = choose_bounds(recipe, counted, wide, _rows(others))
    later = None if seed is None else seed + 1
    second = _one_pass(others, recipe, narrow, keep, later, connection)
    return [nw.from_native(each) for each in (first, second)]


def _split(
    opened: Opened,
    recipe: Recipe,
    keep: Sequence[str],
    share: float,
    seed: int | None,
    connection: Any,
) -> tuple[Any, Any, Callable[[], object]]:
    """Draw once who is in the pilot; return both parts, and what removes them."""
    native = opened.to_native()
    if opened.implementation.is_spark_like():
        if seed is not None:
            rule = "be None: the rows of a Spark frame have no lasting order"
            raise InvalidArgumentError("seed", rule, seed)
        return *spark.split(native, recipe, keep, share), lambda: None
    if opened.implementation.is_duckdb():
        return duckdb.split(native, recipe, keep, share, seed, connection)
    rows = opened.select(*keep, *recipe.columns)
    eager = rows.collect() if isinstance(rows, nw.LazyFrame) else rows
    coins = _coins(eager, recipe, share, seed)
    parts: list[Opened] = [eager.filter(side.to_pylist()) for side in (coins, pc.invert(coins))]
    if isinstance(rows, nw.LazyFrame):
        parts = [part.lazy() for part in parts]
    return parts[0].to_native(), parts[1].to_native(), lambda: None


def _coins(eager: nw.DataFrame[Any], recipe: Recipe, share: float, seed: int | None) -> Any:
    column = eager.get_column(recipe.columns[0]).to_arrow()
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return draw_pilot(recipe, array, Place(0), share, seed)


def choose_bounds(recipe: Recipe, counted: Any, wide: Interval, others: int) -> Interval:
    """Return the bounds of the second pass, by the reports of the first alone."""
    from noutput.planner.adaptive import choose_range  # needs scipy, which workers do without

    mechanism: Any = recipe.mechanism
    return choose_range(mechanism, counted, wide, expected=others).bounds or wide


def _rows(frame: Any) -> int:
    size = nw.from_native(frame).select(nw.len().alias("rows"))
    return int((size.collect() if isinstance(size, nw.LazyFrame) else size).item())


def _one_pass(
    rows: Any,
    recipe: Recipe,
    bounds: Interval,
    keep: Sequence[str],
    seed: int | None,
    connection: Any,
) -> Any:
    """Privatize the rows of a part with its bounds, once."""
    changed = pass_recipe(recipe, bounds)
    named = nw.from_native(rows).rename({recipe.columns[0]: changed.columns[0]}).to_native()
    return hold(run_recipe(named, changed, keep=keep, seed=seed, connection=connection), connection)


def pass_recipe(recipe: Recipe, bounds: Interval) -> Recipe:
    """Return the recipe of a pass: values that were checked are moved into its bounds."""
    asked = (Number(bounds.lower, bounds.upper),)
    return replace(recipe, columns=(pass_name(recipe, bounds),), questions=asked, clip=True)


def both_recipes(recipe: Recipe, names: Sequence[str]) -> Recipe:
    """Return the recipe of a result with these columns: its columns are the passes."""
    found = {}
    for name in names:
        parsed = split_name(name)
        known = None if parsed is None else pass_bounds(parsed[0])
        if parsed is not None and known is not None and known[0] == recipe.columns[0]:
            found[parsed[0]] = Number(known[1].lower, known[1].upper)
    gaps = recipe.skip_missing or len(found) > 1
    asked = tuple(found.values())
    return replace(recipe, columns=tuple(found), questions=asked, clip=True, skip_missing=gaps)


def pass_name(recipe: Recipe, bounds: Interval) -> str:
    """Return the name of a pass, with commas for decimal points: Spark has a use for points."""
    ends = [f"{end!r}".removesuffix(".0").replace(".", ",") for end in (bounds.lower, bounds.upper)]
    return f"{recipe.columns[0]} in {ends[0]} to {ends[1]}"


def pass_bounds(name: str) -> tuple[str, Interval] | None:
    """Return the column and the bounds that a pass has in its name; None for other names.

    Examples
    --------
    >>> pass_bounds("minutes in 0 to 110,5"), pass_bounds("minutes")
    (('minutes', Interval(lower=0.0, upper=110.5)), None)
    """
    match = _PASS.fullmatch(name)
    if match is None:
        return None
    try:
        ends = [float(match[place].replace(",", ".")) for place in (2, 3)]
        return match[1], Interval(*ends)
    except ValueError:  # words
        return None


def tally_evidence(frame: Any, column: str, mechanism: TableMechanism) -> Evidence:
    """Count the reports of both passes about a column: what `privatize` makes with a pilot.

    Parameters
    ----------
    frame : pandas, Polars, PyArrow, DuckDB or PySpark frame
        What `privatize` returned, or the same columns read back from storage.
    column : str
        The column that was privatized, by its original name.
    mechanism : TableMechanism or Design

    Returns
    -------
    Evidence
        Its `choices` are all bounds that the pilot could have found: guaranteed intervals allow
        for them.

    Raises
    ------
    InvalidArgumentError
        If the frame has no such reports.

    Examples
    --------
    >>> import noutput as no, pyarrow as pa
    >>> from noutput import frames
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> people = pa.table({"age": [20, 50, 80, 110]})
    >>> reports = frames.privatize(people, "age", mechanism=m, bounds=(0, 120), pilot=0.5)
    >>> tally_evidence(reports, "age", m).total
    4
    """
    found = {}
    for name in open_frame(frame).collect_schema():
        parsed = split_name(name)
        known = None if parsed is None else pass_bounds(parsed[0])
        if parsed is not None and known is not None and known[0] == column:
            found[parsed[0]] = known[1]
    if not found:
        rule = "name a column that was privatized with a pilot"
        raise InvalidArgumentError("column", rule, column)
    return evidence(tally(frame, list(found), mechanism), found, mechanism)


def evidence_of(
    recipe: Recipe, tallies: Mapping[str, Tally]
) -> dict[str, tuple[Question, Evidence]]:
    """Return what was asked and what the reports tell about each column, by its original name."""
    from noutput.estimate.evidence import Evidence  # needs scipy, as above

    found: dict[str, dict[str, Interval]] = {}
    answers: dict[str, tuple[Question, Evidence]] = {}
    for name, question in recipe.by_column.items():
        if isinstance(question, Number):
            known = pass_bounds(name)
            units = Interval(question.lower, question.upper)
            found.setdefault(known[0] if known else name, {})[name] = units
        else:
            answers[name] = question, Evidence([(recipe.mechanism, tallies[name], None)])
    asked = {name: recipe.by_column[next(iter(passes))] for name, passes in found.items()}
    return answers | {
        name: (asked[name], evidence(tallies, passes, recipe.mechanism))
        for name, passes in found.items()
    }


def evidence(
    tallies: Mapping[str, Tally], bounds: Mapping[str, Interval], mechanism: Any
) -> Evidence:
    """Return the evidence of tallies with their bounds; where these are two, a pilot chose."""
    from noutput.estimate.evidence import Evidence  # needs scipy, as above
    from noutput.planner.adaptive import range_choices

    parts = [(mechanism, tallies[name], units) for name, units in bounds.items()]
    if all(pass_bounds(name) is None for name in bounds):
        return Evidence(parts)
    lower = min(units.lower for units in bounds.values())
    upper = max(units.upper for units in bounds.values())
    return Evidence(parts, choices=range_choices(Interval(lower, upper)))
