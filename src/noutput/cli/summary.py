"""All that a tally tells, as the verbs `estimate` and `demo` print it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from noutput.cli.numbers import show

if TYPE_CHECKING:
    from noutput.estimate.distribution import DistributionEstimate
    from noutput.estimate.mean import MeanEstimate
    from noutput.interval import Interval
    from noutput.mechanisms.table import TableMechanism
    from noutput.tally import Tally

__all__ = ["QUARTILES", "Figure", "Summary", "summarize"]

QUARTILES = {"Lower quartile": 0.25, "Median": 0.5, "Upper quartile": 0.75}
_SUSPICIOUS = 0.05


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its interval."""

    value: float
    low: float
    high: float

    def text(self) -> str:
        """Return the number and its interval, with two digits of its uncertainty."""
        half = (self.high - self.low) / 2.0
        return f"{show(self.value, half)}  ({show(self.low, half)} to {show(self.high, half)})"


@dataclass(frozen=True, slots=True)
class Summary:
    """What is known about one column."""

    mean_estimate: MeanEstimate
    distribution: DistributionEstimate
    level: float
    mean: Figure
    variance: Figure
    quartiles: dict[str, Figure]

    @property
    def standard_deviation(self) -> Figure:
        """The square root of the variance and of the ends of its interval."""
        found = self.variance
        return Figure(found.value**0.5, found.low**0.5, found.high**0.5)

    @property
    def figures(self) -> dict[str, Figure]:
        """All numbers by the names that people know."""
        deviation = {"Standard deviation": self.standard_deviation}
        return {"Mean": self.mean, "Variance": self.variance, **deviation, **self.quartiles}

    @property
    def forgery(self) -> float:
        """How far the mean can have been moved if one in a hundred reports, or one, is forged."""
        return self.mean_estimate.poisoning_bound(self._forged)

    @property
    def _forged(self) -> int:
        return max(1, self.mean_estimate.n_reports // 100)

    @property
    def honesty(self) -> str:
        """What the test for forged reports says."""
        p = self.distribution.p_value
        if p < _SUSPICIOUS:
            return f"LIKELY: no honest people would send these counts (p = {p:.2g})"
        some = "1%" if self._forged > 1 else "one forged report"
        return f"no sign of them (p = {p:.2g}); {some} could move the mean by {show(self.forgery)}"

    def document(self) -> dict[str, object]:
        """Return everything as plain JSON."""
        mean, found = self.mean_estimate, self.distribution
        quartiles = zip(QUARTILES.values(), self.quartiles.values(), strict=True)
        return {
            "reports": mean.n_reports,
            "lower": found.bounds.lower,
            "upper": found.bounds.upper,
            "level": self.level,
            "mean": {
                **_document(self.mean),
                "standard_error": mean.standard_error,
                "guaranteed_interval": mean.interval(self.level, kind="guaranteed"),
                "respondents_interval": mean.interval(self.level, of="respondents"),
            },
            "variance": _document(self.variance),
            "standard_deviation": _document(self.standard_deviation),
            "quartiles": [{"share": q, **_document(figure)} for q, figure in quartiles],
            "distribution": {
                "method": found.method,
                "converged": found.converged,
                "edges": found.edges.tolist(),
                "probabilities": found.probabilities.tolist(),
            },
            "forged_reports": {"p_value": found.p_value, "one_percent_moves_mean": self.forgery},
        }


def _document(figure: Figure) -> dict[str, object]:
    return {"value": figure.value, "interval": [figure.low, figure.high]}


def summarize(
    mechanism: TableMechanism,
    tally: Tally,
    bounds: Interval,
    *,
    people: int | None = None,
    bins: int = 64,
    method: str = "gp",
    level: float = 0.95,
) -> Summary:
    """Estimate all that there is to know; the same counts give the same numbers."""
    import numpy as np

    import noutput as no

    mean = no.estimate_mean(mechanism, tally, bounds, people=people)
    found = no.estimate_distribution(mechanism, tally, bins, method, bounds=bounds)
    shares = list(QUARTILES.values())
    low, high = found.interval("variance", level, rng=np.random.default_rng(0))
    ends = found.interval("quartiles", level, rng=np.random.default_rng(0))
    values = np.asarray(found.quantile(shares)).tolist()
    rows = zip(values, *(np.asarray(end).tolist() for end in ends), strict=True)
    return Summary(
        mean,
        found,
        level,
        Figure(mean.value, *mean.interval(level)),
        Figure(found.variance, float(low), float(high)),
        {name: Figure(*row) for name, row in zip(QUARTILES, rows, strict=True)},
    )
