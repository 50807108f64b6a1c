r"""Summary of a number with edges: mean, shares of cells, quantiles and spread.

Notes
-----
*Values* are those of one population: the likeliest shares of the places
(`noutput.estimate.statistics`). No share is negative, all add up to 1, and the mean, the shares and
the quantiles fit together. *Intervals* are those of unbiased scores
(`noutput.estimate.answers.scores`) and assume nothing about the people. In the rare case that a
value lies outside, its interval is extended to it.

*Spread.* Numbers inside a cell of width w act as mixtures of its ends, which have a larger mean
square: by :math:`(x - l)(u - x) \le w^2 / 4`, and by :math:`w^2 / 6` on average where numbers are
evenly spread there. The value takes the latter, and the interval allows for all between 0 and
:math:`w^2 / 4`. With the mean :math:`\mu` and any center m, the variance is
:math:`E (x - m)^2 - (\mu - m)^2`. The center is the value of the mean; for guaranteed intervals,
which need one that no report moves, the middle of the bounds, and half of the error probability
is for the interval of :math:`\mu`.

*Quantiles.* The interval is the range of the cells that may hold the quantile: a cell is left out
if surely fewer people are below its upper edge, or enough below its lower one. The true cell has
two ends to be looked at, each wrong with half the error probability.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput import _checks
from noutput._numbers import exactly, tick_labels
from noutput.errors import InvalidArgumentError
from noutput.estimate.answers.as_mean import linear_mean
from noutput.estimate.answers.linear import KINDS, Linear, Observed, quantile_range
from noutput.estimate.answers.normal import kind_used
from noutput.estimate.answers.scores import likeliest
from noutput.estimate.choices import QUARTILES
from noutput.estimate.counts import check_tally
from noutput.estimate.goodness import check_possible, known_goodness_of_fit
from noutput.estimate.statistics import Places, Statistic
from noutput.estimate.summary.figure import Bar, Estimate
from noutput.estimate.summary.shown import Shown, forged_words, kind_notes, without_intervals
from noutput.interval import UNIT, Interval
from noutput.questions import Number
from noutput.tally import Tally

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.estimate.mean_estimate import MeanEstimate
    from noutput.mechanisms.table import TableMechanism
    from noutput.questions import Question

__all__ = ["CellSummary", "cell_summaries"]

_ASSUMPTION = "Nothing is assumed about the numbers."
_FITTING = (
    "Values fit together: they are those of the likeliest numbers. Intervals hold whatever the "
    "numbers are."
)
_NEARLY_ALL = 0.9  # of all that is possible: an interval as wide tells nothing
_FEW_CELLS = 2  # that may hold a quantile for which a single value is shown
_FORGED_PART = 1e-4  # of the reports: fewer are told from rounding only in part
_REFIT_GAP = 1e-9
_CANDIDATES = 6  # outputs on each side of an exchange


@dataclass(frozen=True, eq=False, repr=False)
class CellSummary(Shown):
    """Everything that is shown about the numbers of one group of people.

    Parameters
    ----------
    question : Number
    mechanism : TableMechanism
    tally : Tally
    level : float
        The level of every interval on its own.
    kind : {"normal", "guaranteed"}
        Guaranteed intervals cover with at least this level for every population and any number of
        reports; below 100 reports all are.

    Examples
    --------
    >>> import noutput as no
    >>> rows = [[4, 2, 1, 1], [2, 4, 1, 1], [1, 1, 4, 2], [1, 1, 2, 4]]
    >>> weights = [[part << 29 for part in row] for row in rows]
    >>> m = no.TableMechanism(1.4, None, weights, [0, 45, 45, 180])
    >>> way = no.Number(0, 180, "minutes", edges=(45,), label="Way to work")
    >>> found = no.summarize(m, no.Tally(m.fingerprint, (30_000, 25_000, 25_000, 20_000)), way)
    >>> print(found)
    Way to work: 100,000 reports, epsilon = 1.4
    <BLANKLINE>
    0 to 45    ████████████████████████  60.0%  (59.4% to 60.6%)
    45 to 180  ████████████████          40.0%  (39.4% to 40.6%)
    <BLANKLINE>
    Mean                40.5  (39.2 to 41.8 minutes)
    Standard deviation    35  (18 to 53 minutes)
    Lower quartile        19  (0 to 45 minutes)
    Median                37  (0 to 45 minutes)
    Upper quartile        96  (45 to 180 minutes)
    <BLANKLINE>
    In brackets: 95% intervals.
    Forged reports: no sign of them (p = 1)
    Values fit together: they are those of the likeliest numbers. Intervals hold whatever the \
numbers are.
    >>> found.below(45).texts, found.share(45, 180).texts
    (('0.6000', '0.5938', '0.6062'), ('0.4000', '0.3938', '0.4062'))
    >>> found.estimate("below 45") == found.below(45), found.quantile(0.5).high
    (True, 45.0)
    >>> f"{found.influence('below 45'):.2g}"  # of one report
    '2e-05'
    """

    question: Number
    mechanism: TableMechanism
    tally: Tally
    level: float
    kind: str = "normal"

    @cached_property
    def places(self) -> Places:
        """Where numbers act."""
        return Places(tuple(self.mechanism.knots.tolist()))

    @cached_property
    def observed(self) -> Observed:
        """The counts with the rows of the table."""
        return Observed(self.mechanism.table(), np.array(self.tally.counts, np.float64))

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        """The privacy loss of a report."""
        return self.mechanism.epsilon

    @property
    def reports(self) -> int:
        """How many reports were counted."""
        return self.tally.total

    @property
    def interval_kind(self) -> str:
        """The kind of all intervals: "normal", or "guaranteed" as below 100 reports."""
        return kind_used(self.kind, self.reports)

    @property
    def spare_outputs(self) -> int:
        """How many more outputs there are than the table can tell people apart by."""
        return self.mechanism.n_outputs - int(self.observed.space.shape[1])

    @cached_property
    def goodness(self) -> float:
        """How plausible the counts are if nobody forged a report: a p-value."""
        return known_goodness_of_fit(self.mechanism, self.tally).p_value

    @property
    def _units(self) -> Interval:
        return Interval(self.question.lower, self.question.upper)

    def _linear(self, statistic: Statistic | str) -> Linear:
        """The estimate of a linear statistic; of the mean in [-1, 1], where nothing overflows."""
        parsed = Statistic.parse(statistic, self.question)
        vector = parsed.vector(self.places)
        if parsed.kind == "mean":
            vector = self._units.to_unit(vector)
        weights = self.places.by_row(vector)
        if weights is None or not self.observed.identified(weights[:, None])[0]:
            rule = "be told by the table: its rows are alike where the statistic differs"
            raise InvalidArgumentError("statistic", rule, parsed.name)
        return Linear(self.observed, weights[:, None])

    def _ends(
        self, found: Linear, level: float | None = None, *, simultaneous: bool = False
    ) -> tuple[Array, Array]:
        return found.interval(level or self.level, self.kind, simultaneous=simultaneous)

    def _figures(self, found: Linear, *, simultaneous: bool = False) -> tuple[Estimate, ...]:
        """The likeliest values with intervals that hold them."""
        values, (low, high) = found.likeliest, self._ends(found, simultaneous=simultaneous)
        rows = zip(values, np.minimum(low, values), np.maximum(high, values), strict=True)
        return tuple(Estimate(*map(float, row)) for row in rows)

    def estimate(self, statistic: str) -> Estimate:
        """Return any statistic by its name, such as "below 45".

        Raises
        ------
        InvalidArgumentError
            If the question has no such statistic, or its table does not tell it: the message says
            which edges to ask with.
        """
        parsed = Statistic.parse(statistic, self.question)
        if parsed.kind == "quantile":
            return self.quantile(parsed.at[0])
        (found,) = self._figures(self._linear(parsed))
        if parsed.kind != "mean":
            return found
        return Estimate(*map(self._units.from_unit, (found.value, found.low, found.high)))

    @cached_property
    def mean(self) -> Estimate:
        """The mean."""
        return self.estimate("mean")

    def below(self, number: float) -> Estimate:
        """Return the share of people strictly below an edge."""
        return self.estimate(f"below {_checks.finite('number', number)!r}")

    def share(self, low: float, high: float) -> Estimate:
        """Return the share of people from one edge up to another, without the latter.

        Numbers at the upper bound belong to the last cell.
        """
        ends = _checks.finite("low", low), _checks.finite("high", high)
        return self.estimate("share {!r} to {!r}".format(*ends))

    def as_mean(self, statistic: str = "mean") -> MeanEstimate:
        """Return a statistic as groups are compared by it: unbiased, so it may be impossible."""
        parsed = Statistic.parse(statistic, self.question)
        return linear_mean(self._linear(parsed), self._units if parsed.kind == "mean" else UNIT)

    def influence(self, statistic: str = "mean", forged: int = 1) -> float:
        """Return how far the value of a mean or share would be if so many reports were others.

        Notes
        -----
        The value is computed anew with reports of every output removed, or added, and then with
        some exchanged for others, for the outputs that move it most by this or by their scores.
        """
        weights, counts = self._linear(statistic).weights[:, 0], self.observed.counts
        more = _checks.whole("forged", forged, 1, self.reports - 1)
        some = max(float(more), _FORGED_PART * self.reports)
        outputs = some * np.eye(len(counts))
        left = np.flatnonzero(counts >= some)
        kept = [*(counts - outputs)[left], counts * (1.0 - some / self.reports)]

        def refitted(others: list[Array]) -> Array:
            result: Array = likeliest(self.observed.table, np.array(others), _REFIT_GAP) @ weights
            return result

        value, *alone = refitted([counts, *kept, *(counts + outputs)])
        scores = self.observed.scores @ weights
        falling = [np.argsort(alone[: len(kept)]), np.argsort(-scores[left])]
        rising = [np.argsort(alone[len(kept) :]), np.argsort(scores)]
        exchanged = [
            kept[one] + outputs[other]
            for ends in (slice(_CANDIDATES), slice(-_CANDIDATES, None))
            for one in {len(left), *np.concatenate([order[ends] for order in falling]).tolist()}
            for other in set(np.concatenate([order[ends] for order in rising]).tolist())
        ]
        scale = self._units.half_width if statistic == "mean" else 1.0
        return float(np.abs(refitted(exchanged) - value).max()) * scale * more / some

    @cached_property
    def moved(self) -> float:
        """How far one false report moves the mean."""
        return self.influence()

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """The edges that the table tells shares below of."""
        edges, start = self.places.edges, self.places.knots[0]
        if not edges:
            return ()
        told = self.observed.identified(self._vectors([(start, edge) for edge in edges]))
        return tuple(edge for edge, is_told in zip(edges, told, strict=True) if is_told)

    @property
    def cells(self) -> list[tuple[float, float]]:
        """Both ends of every cell; there is one alone where there are no edges."""
        return list(pairwise((self.places.knots[0], *self.edges, self.places.knots[-1])))

    def _vectors(self, ends: list[tuple[float, float]]) -> Array:
        """Shares of numbers between edges, one per column."""
        rows = [self.places.by_row(self.places.between(*pair)) for pair in ends]
        return np.array([row for row in rows if row is not None]).T

    @cached_property
    def _cells(self) -> Linear:
        return Linear(self.observed, self._vectors(self.cells))

    @cached_property
    def _cdf(self) -> Linear:
        weights = np.cumsum(self._cells.weights, axis=1)[:, :-1]
        return Linear(self.observed, weights)

    @cached_property
    def shares(self) -> tuple[Estimate, ...]:
        """The share of every cell; the only one is everybody where there are no edges."""
        return self._figures(self._cells)

    @cached_property
    def joint_shares(self) -> tuple[Estimate, ...]:
        """The same with wider intervals, which hold for all cells together."""
        return self._figures(self._cells, simultaneous=True)

    @cached_property
    def cdf(self) -> tuple[Estimate, ...]:
        """The share of people strictly below every edge."""
        return self._figures(self._cdf) if self.edges else ()

    def quantile(self, share: float) -> Estimate:
        """Return the range of the cells that may hold a quantile, with a value if they are few.

        The value, for which numbers are taken as evenly spread inside cells, is NaN where more
        than two cells may hold the quantile.
        """
        wanted = _checks.inner_share("share", share)
        if not self.edges:
            raise InvalidArgumentError("question", "have edges, for quantiles", self.question)
        values, low, high = np.array([(each.value, each.low, each.high) for each in self.cdf]).T
        first, last = quantile_range(np.append(low, 1.0), np.append(high, 1.0), wanted)
        value = math.nan
        if last - first < _FEW_CELLS:
            rising = np.maximum.accumulate(np.clip([0.0, *values, 1.0], 0.0, 1.0))
            value = float(
                np.interp(wanted, rising, [self._units.lower, *self.edges, self._units.upper])
            )
        return Estimate(value, self.cells[first][0], self.cells[last][1])

    @cached_property
    def quantiles(self) -> dict[float, Estimate]:
        """Quartiles by the share of people below."""
        return {share: self.quantile(share) for share in QUARTILES.values()}

    @cached_property
    def spread(self) -> Estimate | None:
        """The standard deviation; None where the table does not tell it."""
        scale = self._units.half_width
        knots, widths = self._units.to_unit(self.places.knots), self.places.widths / scale
        proven = self.interval_kind == "guaranteed"
        likely = self.observed.population
        mean = float(likely @ knots)
        center = 0.0 if proven else mean
        squares = (knots - center) ** 2
        weights = np.column_stack([squares - widths**2 / 4.0, squares])
        if not self.observed.identified(weights).all():
            return None
        level = (1.0 + self.level) / 2.0 if proven else self.level
        low, high = self._ends(Linear(self.observed, weights), level)
        (least,), (most,) = self._ends(self._linear("mean"), level)
        nearest = min(max(center, least), most) - center
        farthest = max(center - least, most - center)
        ends = low[0] - farthest**2, high[1] - nearest**2
        value = float(likely @ ((knots - mean) ** 2 - widths**2 / 6.0))
        value, start, end = (math.sqrt(min(max(x, 0.0), 1.0)) * scale for x in (value, *ends))
        return Estimate(value, min(start, value), max(end, value))

    @property
    def figures(self) -> dict[str, Estimate]:
        """Mean, standard deviation and quartiles, as far as the reports tell anything of them."""
        found = {"Mean": self.mean}
        if self.edges and self.spread is not None:
            found["Standard deviation"] = self.spread
        if self.edges:
            found |= {name: self.quantiles[share] for name, share in QUARTILES.items()}
        most = dict.fromkeys(QUARTILES, 2.0) | {"Standard deviation": 1.0, "Mean": math.inf}
        half = self._units.half_width
        return {
            name: each
            for name, each in found.items()
            if each.high - each.low < _NEARLY_ALL * most[name] * half
        }

    @property
    def lines(self) -> dict[str, tuple[str, str, str]]:
        """The figures as texts in the unit of the question; a range of edges has no value."""
        unit = f" {self.question.unit}" if self.question.unit else ""
        lines = {}
        for name, figure in self.figures.items():
            value, low, high = figure.texts
            if name in QUARTILES:  # the ends are edges, which have all of their digits
                value = "" if math.isnan(figure.value) else value
                low, high = tick_labels([figure.low, figure.high])
            if not self.warning:
                lines[name] = (value, low, high + unit)
            elif value:
                lines[name] = (value + unit, "", "")
        return lines

    @property
    def bars(self) -> list[Bar]:
        """One per cell; none where there are no edges, or the reports tell nothing of cells."""
        if not self.edges or not self._is_told:
            return []
        texts = tick_labels([self.places.knots[0], *self.edges, self.places.knots[-1]])
        labels = [f"{low} to {high}" for low, high in pairwise(texts)]
        return [
            Bar(label, each.value, each.low, each.high)
            for label, each in zip(labels, self.shares, strict=True)
        ]

    @property
    def _is_told(self) -> bool:
        return float(np.mean([2.0 * each.half for each in self.shares])) < _NEARLY_ALL

    @property
    def notes(self) -> list[str]:
        """What to know about forged reports, what nobody can tell, and the intervals."""
        notes = [f"Forged reports: {forged_words(self.goodness)}"]
        if not self.edges:
            notes.append("Shares and quantiles are not told: ask with edges to learn them.")
        else:
            names = ["Standard deviation", *QUARTILES]
            unknown = [name.lower() for name in names if name not in self.figures]
            unknown += [] if self._is_told else ["shares of cells"]
            if unknown:
                notes.append(f"These reports tell nothing about: {', '.join(unknown)}.")
            notes.append(_FITTING)
        return notes + kind_notes(self.interval_kind, self.reports)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON."""
        unbiased = self.as_mean()
        found: dict[str, Any] = {
            "question": self.question.to_document(),
            "epsilon": self.epsilon,
            "reports": self.reports,
            "warning": self.warning or None,
            "level": self.level,
            "intervals": {"kind": self.interval_kind, "assumption": _ASSUMPTION},
            "mean": {
                **self.mean.to_dict(),
                "unbiased": unbiased.value,
                "standard_error": unbiased.standard_error,
            },
            "standard_deviation": None if self.spread is None else self.spread.to_dict(),
            "quartiles": [
                {"share": share, **each.to_dict()}
                | {"value": None if math.isnan(each.value) else each.value}
                for share, each in (self.quantiles.items() if self.edges else ())
            ],
            "below": [
                {"number": edge, **each.to_dict()}
                for edge, each in zip(self.edges, self.cdf, strict=True)
            ],
            "cells": [
                {"from": low, "to": high, **each.to_dict()}
                for (low, high), each in zip(self.cells, self.shares, strict=True)
                if self.edges
            ],
            "forged_reports": {"p_value": self.goodness},
        }
        return without_intervals(found) if self.warning else found

    def records(self) -> list[dict[str, Any]]:
        """Return one row per statistic."""
        found = {name.lower(): each for name, each in self.figures.items()}
        for edge, each in zip(self.edges, self.cdf, strict=True):
            found[f"below {exactly(edge)}"] = each
        if self.edges:
            for (low, high), each in zip(self.cells, self.shares, strict=True):
                found[f"share {exactly(low)} to {exactly(high)}"] = each
        rows = [
            {"statistic": name, "value": each.value, "low": each.low, "high": each.high}
            for name, each in found.items()
        ]
        return without_intervals(rows) if self.warning else rows


def cell_summaries(
    mechanism: TableMechanism,
    data: Any,
    question: Question | None,
    levels: Iterable[float],
    kind: str = "normal",
) -> dict[float, CellSummary]:
    """Return what `noutput.summarize` returns, for several levels of one estimate."""
    _checks.choice("kind", kind, KINDS)
    wanted = [_checks.inner_share("level", level) for level in levels]
    lower, upper = mechanism.bounds
    if question is None:
        question = Number(lower, upper, edges=mechanism.plain.jumps)
    if not isinstance(question, Number) or (question.lower, question.upper) != (lower, upper):
        rule = f"be a Number with the bounds of the table, {lower:g} to {upper:g}"
        raise InvalidArgumentError("question", rule, question)
    tally = data if isinstance(data, Tally) else Tally.of(mechanism, data)
    check_tally(mechanism, tally, mechanism.n_outputs)
    if tally.total < 2:
        raise InvalidArgumentError("tally", "have at least two reports", tally.total)
    check_possible(mechanism, tally)
    found = {level: CellSummary(question, mechanism, tally, level, kind) for level in wanted}
    shared = found[wanted[0]].observed
    for summary in found.values():
        vars(summary)["observed"] = shared  # scores and population do not depend on the level
    return found
