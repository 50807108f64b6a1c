"""What is done to which columns: everything a worker or a later reader must know."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from noutput import _checks
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.frames.reports import ATTRIBUTE, REPORT, report_name
from noutput.interval import Interval, IntervalLike, as_interval
from noutput.mechanisms import document
from noutput.mechanisms.table import TableMechanism

__all__ = ["LAYOUTS", "METADATA_KEY", "Bounds", "Recipe", "column_names", "make_recipe"]

Bounds: TypeAlias = IntervalLike | Mapping[str, IntervalLike]

FORMAT = "noutput-reports"
VERSION = 1
METADATA_KEY = "noutput"  # of Arrow schemas and Spark columns
LAYOUTS = ("wide", "long")
_FLAGS = ("clip", "skip_missing", "one_per_row", "secure")
_KEYS = ("mechanism", "columns", "layout", *_FLAGS)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How reports are made from columns, stored with them.

    Parameters
    ----------
    mechanism : TableMechanism
        What draws the reports.
    columns : tuple of str
        The columns that hold the values.
    intervals : tuple of Interval
        The bounds of each column, in the user's units.
    clip, skip_missing, one_per_row : bool
        See `noutput.frames.privatize`.
    layout : str
        "wide" or "long".
    secure : bool
        False where a seed was given: such reports are a simulation and protect nobody. The seed
        itself is never stored.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> recipe = Recipe(m, ("age",), (no.Interval(0, 120),), skip_missing=True)
    >>> recipe.bounds["age"].upper, recipe.has_gaps
    (120.0, True)
    >>> recipe.report_names == recipe.result_names == ("age__" + m.fingerprint[:12],)
    True
    >>> Recipe.from_json(recipe.to_json()) == recipe
    True
    """

    mechanism: TableMechanism
    columns: tuple[str, ...]
    intervals: tuple[Interval, ...]
    clip: bool = False
    skip_missing: bool = False
    one_per_row: bool = False
    layout: str = "wide"
    secure: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, TableMechanism):
            raise InvalidArgumentError("mechanism", "be a TableMechanism", self.mechanism)
        for name in _FLAGS:
            if not isinstance(getattr(self, name), bool):
                raise InvalidArgumentError(name, "be True or False", getattr(self, name))
        _checks.choice("layout", self.layout, LAYOUTS)

    @property
    def bounds(self) -> dict[str, Interval]:
        """The bounds of every column."""
        return dict(zip(self.columns, self.intervals, strict=True))

    @property
    def has_gaps(self) -> bool:
        """Whether a row may have a column without a report."""
        return self.skip_missing or self.one_per_row

    @property
    def report_names(self) -> tuple[str, ...]:
        """The report columns of the result."""
        if self.layout == "long":
            return (report_name(REPORT, self.mechanism),)
        return tuple(report_name(column, self.mechanism) for column in self.columns)

    @property
    def result_names(self) -> tuple[str, ...]:
        """All columns of the result but those that were kept."""
        return (ATTRIBUTE, *self.report_names) if self.layout == "long" else self.report_names

    def to_json(self) -> str:
        """Return a JSON document with the mechanism in it."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "columns": [
                {"name": name, "lower": interval.lower, "upper": interval.upper}
                for name, interval in self.bounds.items()
            ],
            "layout": self.layout,
            **{name: getattr(self, name) for name in _FLAGS},
            "mechanism": json.loads(self.mechanism.to_json()),
        }
        return json.dumps(content)

    @classmethod
    def from_json(cls, text: str | bytes) -> Recipe:
        """Read a recipe; its mechanism is certified before anything is returned."""
        found = document.read(text, FORMAT, VERSION, _KEYS)
        mechanism = TableMechanism.from_document(found["mechanism"])
        bounds = _read_columns(found["columns"])
        flags = {name: found[name] for name in _FLAGS}
        columns, intervals = tuple(bounds), tuple(bounds.values())
        return cls(mechanism, columns, intervals, layout=found["layout"], **flags)


def _read_columns(found: object) -> dict[str, Interval]:
    rule = "be objects with a name, a lower and an upper bound, none twice"
    if not isinstance(found, list) or not found:
        raise DocumentError("columns", rule, found)
    bounds: dict[str, Interval] = {}
    for entry in found:
        if not isinstance(entry, dict) or set(entry) != {"name", "lower", "upper"}:
            raise DocumentError("columns", rule, entry)
        if not isinstance(entry["name"], str) or entry["name"] in bounds:
            raise DocumentError("columns", rule, entry["name"])
        bounds[entry["name"]] = Interval(entry["lower"], entry["upper"])
    return bounds


def column_names(name: str, value: str | Sequence[str], *, least: int = 1) -> tuple[str, ...]:
    """Return one or several distinct column names as a tuple."""
    names = (value,) if isinstance(value, str) else tuple(value)
    if any(not isinstance(entry, str) for entry in names) or len(set(names)) < len(names):
        raise InvalidArgumentError(name, "be distinct names of columns", value)
    if len(names) < least:
        raise InvalidArgumentError(name, "name at least one column", value)
    return names


def make_recipe(
    columns: str | Sequence[str],
    mechanism: TableMechanism,
    bounds: Bounds,
    **options: Any,
) -> Recipe:
    """Check the arguments of `noutput.frames.privatize` and bring them together."""
    names = column_names("columns", columns)
    return Recipe(mechanism, names, _intervals(names, bounds), **options)


def _intervals(names: Sequence[str], bounds: object) -> tuple[Interval, ...]:
    """Return the bounds of each column; one pair or Interval serves all of them."""
    if not isinstance(bounds, Mapping):
        return (as_interval(bounds),) * len(names)
    for name in bounds:
        if name not in names:
            raise InvalidArgumentError("bounds", f"name columns of {list(names)}", name)
    for name in names:
        if name not in bounds:
            rule = f"have an entry for every column, {name!r} too"
            raise InvalidArgumentError("bounds", rule, dict(bounds))
    return tuple(as_interval(bounds[name], f"bounds[{name!r}]") for name in names)
