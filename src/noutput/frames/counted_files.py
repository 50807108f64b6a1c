"""Count the reports in files: CSV, Parquet and folders of Parquet, without loading them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from noutput._progress import Progress, shown_progress
from noutput.errors import InvalidArgumentError
from noutput.frames import storage
from noutput.frames.counting import check_minimum, count_groups, empty_tally
from noutput.frames.engines import arrow, spark
from noutput.frames.engines import duckdb as duckdb_engine
from noutput.frames.engines.errors import plain_errors
from noutput.frames.engines.spark_session import borrow_session
from noutput.frames.files import check_engine
from noutput.frames.groups import GroupedTally, Labels, grouped_tally
from noutput.frames.packages import duckdb, pa
from noutput.frames.piloted import evidence_of
from noutput.frames.recipe import Recipe, Source, column_names, mechanism_of
from noutput.frames.storage import is_csv, is_local, parquet_files
from noutput.questions import Number
from noutput.tally import Tally

if TYPE_CHECKING:
    from noutput.estimate.evidence import Evidence
    from noutput.frames.reports import Certified
    from noutput.questions import Question

__all__ = ["read_counts", "read_evidence", "read_files", "read_recipe", "tally_files"]

_Groups: TypeAlias = dict[str, dict[Labels, Tally]]


@overload
def tally_files(
    source: str | Path,
    columns: str | Sequence[str] | None = None,
    mechanism: Certified | Source | None = None,
    *,
    by: None = None,
    minimum: int = 1,
    engine: str = "arrow",
    master: str | None = None,
) -> dict[str, Tally]: ...
@overload
def tally_files(
    source: str | Path,
    columns: str | Sequence[str] | None = None,
    mechanism: Certified | Source | None = None,
    *,
    by: str | Sequence[str],
    minimum: int = 1,
    engine: str = "arrow",
    master: str | None = None,
) -> dict[str, GroupedTally]: ...
def tally_files(
    source: str | Path,
    columns: str | Sequence[str] | None = None,
    mechanism: Certified | Source | None = None,
    *,
    by: str | Sequence[str] | None = None,
    minimum: int = 1,
    engine: str = "arrow",
    master: str | None = None,
) -> dict[str, Tally] | dict[str, GroupedTally]:
    r"""Count the reports in files that `privatize_files` wrote.

    Parameters
    ----------
    source : path
        What was the target.
    columns : str or sequence of str, optional
        The columns to count; all that were privatized if not given.
    mechanism : TableMechanism, AnswerMechanism or design, optional
        What must have made the reports; whatever made them if not given.
    by, minimum
        As in `noutput.frames.tally`: kept columns with labels. In CSV an empty field is a missing
        label.
    engine : {"arrow", "duckdb", "spark"}
        Who counts.
    master : str, optional
        Spark's master.

    Examples
    --------
    >>> import io, tempfile, noutput as no
    >>> from noutput import frames
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> source = io.BytesIO(b"age,town\n20,A\n50,B\n80,A")
    >>> target = Path(tempfile.mkdtemp()) / "reports.csv"
    >>> recipe = frames.privatize_files(
    ...     source, target, "age", mechanism=m, bounds=(0, 120), keep="town")
    >>> tally_files(target)["age"].total
    3
    >>> tally_files(target, by="town")["age"]["A"].total
    2
    """
    if by is None:
        return read_counts(source, columns, mechanism, engine=engine, master=master)[1]
    return read_counts(
        source, columns, mechanism, by=by, minimum=minimum, engine=engine, master=master
    )[1]


@overload
def read_counts(
    source: str | Path,
    columns: str | Sequence[str] | None = None,
    mechanism: Certified | Source | None = None,
    *,
    by: None = None,
    minimum: int = 1,
    engine: str = "arrow",
    master: str | None = None,
) -> tuple[Recipe, dict[str, Tally]]: ...
@overload
def read_counts(
    source: str | Path,
    columns: str | Sequence[str] | None = None,
    mechanism: Certified | Source | None = None,
    *,
    by: str | Sequence[str],
    minimum: int = 1,
    engine: str = "arrow",
    master: str | None = None,
) -> tuple[Recipe, dict[str, GroupedTally]]: ...
def read_counts(
    source: str | Path,
    columns: str | Sequence[str] | None = None,
    mechanism: Certified | Source | None = None,
    *,
    by: str | Sequence[str] | None = None,
    minimum: int = 1,
    engine: str = "arrow",
    master: str | None = None,
) -> tuple[Recipe, dict[str, Tally] | dict[str, GroupedTally]]:
    r"""Return what `tally_files` returns, and how the reports were made.

    Examples
    --------
    >>> import io, tempfile, noutput as no
    >>> from noutput import frames
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> source, target = io.BytesIO(b"age\n20\n50\n80"), Path(tempfile.mkdtemp()) / "reports.csv"
    >>> recipe = frames.privatize_files(source, target, "age", mechanism=m, bounds=(0, 120))
    >>> found, tallies = read_counts(target)
    >>> found == recipe, tallies["age"].total
    (True, 3)
    """
    labels = () if by is None else column_names("by", by)
    least = check_minimum(minimum)
    with shown_progress("Counting") as progress:
        wanted = _Wanted(columns, mechanism, labels, engine, master)
        recipe, found = _read_groups(source, wanted, progress)
    if by is None:
        return recipe, _everybody(recipe, found, mechanism)
    maker = mechanism_of(mechanism or recipe.mechanism)
    return recipe, {
        name: grouped_tally(labels, maker, groups, least) for name, groups in found.items()
    }


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is counted, and who counts."""

    columns: str | Sequence[str] | None
    mechanism: Certified | Source | None
    by: Sequence[str]
    engine: str
    master: str | None


def _read_groups(source: str | Path, wanted: _Wanted, progress: Progress) -> tuple[Recipe, _Groups]:
    """Count every group. Only what is read here knows how much of it is done."""
    check_engine(wanted.engine, wanted.master)
    with plain_errors():
        if wanted.engine == "spark":
            recipe, found = _count_spark(str(source), wanted)
        else:
            recipe = _folder_recipe(source)
            _check_labels(Path(source), wanted.by)
            count = _count_arrow if wanted.engine == "arrow" else _count_duckdb
            found = count(Path(source), recipe, wanted, progress)
    if is_csv(source):
        found = {name: _with_missing(groups) for name, groups in found.items()}
    return recipe, found


def _everybody(
    recipe: Recipe, found: _Groups, mechanism: Certified | Source | None = None
) -> dict[str, Tally]:
    """Return the only group of each column, where nobody has labels."""
    empty = empty_tally(mechanism_of(mechanism or recipe.mechanism))
    return {name: groups.get((), empty) for name, groups in found.items()}


def read_evidence(
    *sources: str | Path,
    columns: str | Sequence[str] | None = None,
    engine: str = "arrow",
    master: str | None = None,
) -> dict[str, Evidence]:
    r"""Count the reports of several files about one population, or of the passes of one.

    Parameters
    ----------
    sources : paths
        What `privatize_files` wrote: about the same columns, of other people each, with tables
        and bounds that may differ.
    columns : str or sequence of str, optional
        The columns to count, by their original names; all if not given.
    engine, master
        As in `tally_files`.

    Returns
    -------
    dict of str to Evidence
        For every estimator, as `no.estimate_mean(found["minutes"])`. Where a pilot found bounds,
        `choices` are all that it could have found.

    Raises
    ------
    InvalidArgumentError
        If a file lacks a column that another has.

    Examples
    --------
    >>> import io, tempfile, noutput as no
    >>> from noutput import frames
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> targets = [Path(tempfile.mkdtemp()) / "reports.csv" for _ in range(2)]
    >>> for target, upper in zip(targets, (120, 90)):
    ...     ages = io.BytesIO(b"age\n20\n50\n80")
    ...     _ = frames.privatize_files(ages, target, "age", mechanism=m, bounds=(0, upper))
    >>> found = read_evidence(*targets)["age"]
    >>> found.total, [part.bounds.upper for part in found.parts]
    (6, [120.0, 90.0])
    """
    wanted = None if columns is None else column_names("columns", columns)
    found, _ = read_files(sources, wanted, engine=engine, master=master)
    return {name: evidence for name, (_, evidence) in found.items()}


def read_files(
    sources: Sequence[str | Path],
    columns: Sequence[str] | None,
    *,
    engine: str = "arrow",
    master: str | None = None,
) -> tuple[dict[str, tuple[Question, Evidence]], bool]:
    """Return what was asked and the evidence by column, and whether all reports are secure."""
    if not sources:
        raise InvalidArgumentError("sources", "be at least one", 0)
    found, secure = [], True
    wanted = _Wanted(None, None, (), engine, master)
    with shown_progress("Counting") as progress:
        for place, source in enumerate(sources):
            share = _part(progress, place, len(sources))
            recipe, groups = _read_groups(source, wanted, share)
            share(1.0)
            found.append(evidence_of(recipe, _everybody(recipe, groups)))
            secure = secure and recipe.secure
    names = columns or tuple(found[0])
    for source, each in zip(sources, found, strict=True):
        for name in (*names, *(() if columns else each)):
            if name not in each or name not in names:
                rule = f"have reports of the same columns, {list(names)}"
                raise InvalidArgumentError(f"file {str(source)!r}", rule, list(each))
    return {name: _together(name, [each[name] for each in found]) for name in names}, secure


def _part(progress: Progress, place: int, parts: int) -> Progress:
    """Return the progress of one part among equal ones."""
    return lambda share: progress((place + share) / parts)


def _together(column: str, parts: Sequence[tuple[Question, Evidence]]) -> tuple[Question, Evidence]:
    """Return the question and the evidence of all files; numbers have the bounds of all."""
    first = parts[0][0]
    whole = functools.reduce(operator.add, (evidence for _, evidence in parts))
    if isinstance(first, Number):
        bounds = whole.bounds
        return replace(first, lower=bounds.lower, upper=bounds.upper), whole
    for question, _ in parts:
        if question != first:
            raise InvalidArgumentError(f"column {column!r}", f"answer {first!r}", repr(question))
    return first, whole


def read_recipe(source: str | Path) -> Recipe:
    r"""Return how the reports of a file or folder were made; the mechanism is certified.

    Examples
    --------
    >>> import io, tempfile, noutput as no
    >>> from noutput import frames
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> source, target = io.BytesIO(b"age\n20\n50\n80"), Path(tempfile.mkdtemp()) / "reports.csv"
    >>> recipe = frames.privatize_files(source, target, "age", mechanism=m, bounds=(0, 120))
    >>> read_recipe(target).bounds["age"].upper
    120.0
    """
    return storage.read_recipe(Path(source))


def _folder_recipe(source: str | Path) -> Recipe:
    """Return the recipe that all parts of a source were made by."""
    recipe = read_recipe(source)
    storage.check_parts(Path(source), recipe)
    return recipe


def _check_labels(source: Path, by: Sequence[str]) -> None:
    known = storage.stored_columns(source) if by else ()
    for name in by:
        if name not in known:
            raise InvalidArgumentError("by", f"name columns of {list(known)}", name)


def _count_arrow(source: Path, recipe: Recipe, wanted: _Wanted, progress: Progress) -> _Groups:
    """Count batch by batch: one pass over the file, in constant memory."""
    total: _Groups = {}
    for batch in _batches(source, recipe, wanted.by, progress):
        for name, groups in _count(pa.table(batch), recipe, wanted).items():
            sums = total.setdefault(name, {})
            for key, tally in groups.items():
                sums[key] = sums[key] + tally if key in sums else tally
    return total


def _count_duckdb(source: Path, recipe: Recipe, wanted: _Wanted, progress: Progress) -> _Groups:
    with duckdb.connect() as connection:
        if is_csv(source):
            batches = _batches(source, recipe, wanted.by, progress)
            relation = duckdb_engine.read_batches(connection, batches)
        else:
            files = parquet_files(source, [*recipe.result_names, *wanted.by])
            relation = connection.read_parquet(files)
        return _count(relation, recipe, wanted)


def _batches(
    source: Path, recipe: Recipe, by: Sequence[str], progress: Progress
) -> Iterator[pa.RecordBatch]:
    return arrow.read_reports(source, [*recipe.result_names, *by], by, progress)


def _count(frame: Any, recipe: Recipe, wanted: _Wanted) -> _Groups:
    given = wanted.columns
    names = recipe.columns if given is None else column_names("columns", given)
    for name in names:
        if name not in recipe.columns:
            raise InvalidArgumentError("columns", f"be of {list(recipe.columns)}", name)
    maker = mechanism_of(wanted.mechanism or recipe.mechanism)
    return count_groups(frame, names, maker, wanted.by, layout=recipe.layout)


def _count_spark(source: str, wanted: _Wanted) -> tuple[Recipe, _Groups]:
    # a local folder is complete when its recipe is there; elsewhere Spark's own marks must do
    recipe = _folder_recipe(source) if is_local(source) else None
    if recipe:
        _check_labels(Path(source), wanted.by)
    names = recipe.report_names if recipe else ()
    texts = set(recipe.result_names) - set(names) if recipe else ()
    with borrow_session(wanted.master) as session:
        frame = spark.read(session, source, dict.fromkeys(names), (*texts, *wanted.by))
        found = recipe or storage.spark_recipe(frame)
        return found, _count(frame, found, wanted)


def _with_missing(groups: dict[Labels, Tally]) -> dict[Labels, Tally]:
    """Return groups of a CSV file: an empty field is a missing label."""
    found: dict[Labels, Tally] = {}
    for labels, tally in groups.items():
        key = tuple(None if label == "" else label for label in labels)
        found[key] = found[key] + tally if key in found else tally
    return found
