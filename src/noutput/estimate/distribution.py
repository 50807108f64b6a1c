"""The estimator of the distribution of people's numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.estimate import gaussian, histograms, methods
from noutput.estimate.choices import DEFAULT_METHOD, METHODS
from noutput.estimate.counts import (
    Array,
    Channel,
    Counts,
    check_tally,
    supported,
    transition_matrix,
)
from noutput.estimate.fit import mean_log_likelihood
from noutput.estimate.goodness import GoodnessOfFit, known_goodness_of_fit
from noutput.estimate.resample import ends, generator, redraw
from noutput.interval import UNIT, Interval, IntervalLike, as_interval
from noutput.tally import Tally

__all__ = ["DistributionEstimate", "estimate_distribution"]

MAX_BINS = 4096
_QUARTILES = (0.25, 0.5, 0.75)

Statistic: TypeAlias = Callable[["DistributionEstimate"], ArrayLike]


@dataclass(frozen=True, eq=False)
class DistributionEstimate:
    """A histogram of equal bins, in the units of the bounds that it was made with.

    Parameters
    ----------
    probabilities : array of shape (bins,)
        They add up to 1 (read-only).
    bounds : Interval
        What the bins divide.
    method : str
        "em", "ems", "mle" or "gp".
    tolerance : float or "auto"
    iterations : int
        Steps of the method (for gp, of all kernels together).
    converged : bool
        Whether the method's rule was met before its limit of steps.
    log_likelihood : float
        Of all reports, without the multinomial coefficient.
    n_reports : int

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> tally = no.Tally(m.fingerprint, (4_000, 6_000))
    >>> found = no.estimate_distribution(m, tally, bins=4, bounds=no.Interval(0, 10))
    >>> found.bins, found.edges.tolist(), found.probabilities.round(2).tolist()
    (4, [0.0, 2.5, 5.0, 7.5, 10.0], [0.08, 0.11, 0.24, 0.57])
    >>> round(found.mean, 2), round(found.variance, 2)
    (7.0, 6.2)
    >>> round(found.cdf(5.0), 2), round(found.quantile(0.5), 2)
    (0.19, 7.8)
    >>> low, high = found.interval("mean", rng=np.random.default_rng(7))
    >>> bool(low < found.mean < high)
    True
    >>> found.p_value > 0.05, found.goodness_of_fit.degrees_of_freedom
    (True, 0)
    >>> found.draws(3, np.random.default_rng(7)).shape, found.sample(2).shape
    ((3, 4), (2,))
    """

    probabilities: Array
    bounds: Interval
    method: str
    tolerance: methods.Tolerance
    iterations: int
    converged: bool
    log_likelihood: float
    n_reports: int
    _channel: Channel = field(repr=False)
    _tally: Tally = field(repr=False)

    def __post_init__(self) -> None:
        self.probabilities.flags.writeable = False

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.probabilities)

    @cached_property
    def edges(self) -> Array:
        """The ends of the bins, from the lower to the upper bound."""
        return np.linspace(self.bounds.lower, self.bounds.upper, self.bins + 1)

    @property
    def mean(self) -> float:
        """The mean of the histogram, with every bin at its center.

        `estimate_mean` has a guaranteed interval and should be preferred for the mean alone.
        """
        return float(histograms.means(self.probabilities[None, :], self.edges)[0])

    @property
    def variance(self) -> float:
        """The variance of the histogram, with numbers uniform inside the bins."""
        return float(histograms.variances(self.probabilities[None, :], self.edges)[0])

    @overload
    def cdf(self, x: float) -> float: ...
    @overload
    def cdf(self, x: ArrayLike) -> NDArray[np.float64] | float: ...
    def cdf(self, x: ArrayLike) -> NDArray[np.float64] | float:
        """Return the share of numbers up to x; linear inside a bin."""
        result: Array = np.asarray(np.interp(_floats("x", x), self.edges, self._sums))
        return result if result.ndim else float(result)

    @overload
    def quantile(self, q: float) -> float: ...
    @overload
    def quantile(self, q: ArrayLike) -> NDArray[np.float64] | float: ...
    def quantile(self, q: ArrayLike) -> NDArray[np.float64] | float:
        """Return the smallest x with a share of q at or below it; linear inside a bin."""
        wanted = _floats("q", q)
        if not np.all((wanted >= 0.0) & (wanted <= 1.0)):
            raise InvalidArgumentError("q", "lie between 0 and 1", q)
        rows = histograms.quantiles(self.probabilities[None, :], self.edges, wanted.ravel())
        result: Array = rows[0].reshape(wanted.shape)
        return result if result.ndim else float(result)

    def sample(self, size: int, rng: np.random.Generator | None = None) -> Array:
        """Draw numbers from the histogram, uniform inside a bin (not for secrets)."""
        count = _checks.whole("size", size, 0, 1 << 40)
        source = generator(rng)
        place = source.choice(self.bins, count, p=self.probabilities)
        width = (self.bounds.upper - self.bounds.lower) / self.bins
        return np.asarray(self.edges[place] + width * source.random(count))

    def interval(
        self,
        statistic: str | Statistic = "probabilities",
        level: float = 0.95,
        *,
        replicates: int = 200,
        rng: np.random.Generator | None = None,
    ) -> tuple[Array, Array]:
        """Return the ends of an interval for a statistic of the distribution.

        Parameters
        ----------
        statistic : {"probabilities", "cdf", "mean", "variance", "quartiles"} or callable
            "cdf" is taken at the upper ends of the bins. A callable gets an estimate and returns
            a number or an array, such as ``lambda e: e.quantile([0.1, 0.9])``.
        level : float
        replicates : int
            How many histograms are drawn.
        rng : numpy Generator, optional
            For a reproducible result.

        Notes
        -----
        Under em, ems and mle this is the parametric bootstrap: counts are drawn again from the
        fitted histogram, the method is run on all of them at once, and the spread of the
        statistic around its fitted value is turned around it (the basic interval, which
        corrects for the bias of the method where the percentile interval would double it).
        Under gp the histograms are drawn from the posterior and the interval is credible. In
        both cases the ends for what has a name are kept within what is possible: probabilities
        and shares within [0, 1], mean and quartiles within the bounds, the variance between 0
        and the square of half their distance. The lower ends for the quartiles are sorted, and
        so are the upper ones: in the order of the quartiles they are closer to the truth
        (Chernozhukov et al., 2010, 10.3982/ECTA7880). Ends for a callable are left as they are.
        """
        _checks.inner_share("level", level)
        size = _checks.whole("replicates", replicates, 2, 1 << 20)
        compute = self._statistic(statistic)
        center = None if self.method == "gp" else compute(self.probabilities[None, :])[0]
        values = compute(self.draws(size, rng))
        low, high = ends(values, level, center, *self._possible(statistic))
        return (np.sort(low), np.sort(high)) if statistic == "quartiles" else (low, high)

    def _possible(self, statistic: str | Statistic) -> tuple[float, float]:
        """Return between which numbers a statistic lies."""
        if statistic in ("probabilities", "cdf"):
            return 0.0, 1.0
        if statistic in ("mean", "quartiles"):
            return self.bounds.lower, self.bounds.upper
        if statistic == "variance":
            return 0.0, self.bounds.half_width**2
        return -np.inf, np.inf

    @cached_property
    def goodness_of_fit(self) -> GoodnessOfFit:
        """Whether the counts are plausible under any distribution; computed at first use."""
        return known_goodness_of_fit(self._channel, self._tally)

    @property
    def p_value(self) -> float:
        """The p-value of `goodness_of_fit`: small where reports were forged."""
        return self.goodness_of_fit.p_value

    @cached_property
    def _sums(self) -> Array:
        """The shares below all edges, from 0 to 1."""
        result: Array = histograms.shares_below(self.probabilities[None, :])[0]
        return result

    def _with(self, probabilities: Array) -> DistributionEstimate:
        return replace(self, probabilities=probabilities)

    def draws(self, size: int, rng: np.random.Generator | None = None) -> Array:
        """Draw histograms: from the posterior under gp, else fits to counts drawn again.

        What `interval` looks at, for those who want several statistics of the same draws.
        """
        source = generator(rng)
        counts = Counts.of([self._tally])
        shares, theta = supported(counts.shares, transition_matrix(self._channel, self.bins))
        if self.method == "gp":
            return gaussian.draw(shares[0], counts.totals[0], theta, size, source)
        drawn = redraw(self.probabilities @ theta, self.n_reports, size, source)
        return methods.fit(drawn, theta, self.method, self.tolerance).probabilities

    def _statistic(self, statistic: str | Statistic) -> Callable[[Array], Array]:
        """Return what computes a statistic of every row of a stack of histograms."""
        if callable(statistic):
            compute = statistic
            return lambda rows: np.array([compute(self._with(row)) for row in rows], np.float64)
        edges, quartiles = self.edges, np.array(_QUARTILES)
        known: dict[str, Callable[[Array], Array]] = {
            "probabilities": lambda rows: rows,
            "cdf": lambda rows: np.cumsum(rows, axis=1),
            "mean": lambda rows: histograms.means(rows, edges),
            "variance": lambda rows: histograms.variances(rows, edges),
            "quartiles": lambda rows: histograms.quantiles(rows, edges, quartiles),
        }
        return known[_checks.choice("statistic", statistic, known)]


def _floats(name: str, values: ArrayLike) -> Array:
    return _checks.numbers(name, "be numbers", values).astype(np.float64)


@overload
def estimate_distribution(
    mechanism: Channel,
    tally: Tally,
    bins: int = 64,
    method: str = DEFAULT_METHOD,
    *,
    tolerance: methods.Tolerance = "auto",
    bounds: IntervalLike = UNIT,
) -> DistributionEstimate: ...
@overload
def estimate_distribution(
    mechanism: Channel,
    tally: Sequence[Tally],
    bins: int = 64,
    method: str = DEFAULT_METHOD,
    *,
    tolerance: methods.Tolerance = "auto",
    bounds: IntervalLike = UNIT,
) -> list[DistributionEstimate]: ...
def estimate_distribution(
    mechanism: Channel,
    tally: Tally | Sequence[Tally],
    bins: int = 64,
    method: str = DEFAULT_METHOD,
    *,
    tolerance: methods.Tolerance = "auto",
    bounds: IntervalLike = UNIT,
) -> DistributionEstimate | list[DistributionEstimate]:
    r"""Estimate the distribution of the people's numbers from their reports.

    Parameters
    ----------
    mechanism : TableMechanism, or any mechanism with a transition matrix
        What made the reports.
    tally : Tally or sequence of tallies
        At least one report each. A sequence is fitted at once, much faster than one by one, with
        the same results.
    bins : int
        How many equal bins divide the bounds.
    method : {"em", "ems", "mle", "gp"}
        EM from the uniform start; EM with smoothing; the maximum of the likelihood; the
        Gaussian-process estimator (the default, and the most accurate on real data).
    tolerance : float or "auto"
        For em and ems, stop when an iteration changes the log-likelihood per report by no
        more; 1e-5 is the paper's rule, "auto" is :math:`0.01 / m` for m reports. For mle, how
        far below the maximum the mean log-likelihood may end ("auto": 1e-9).
    bounds : Interval or pair of numbers
        The user's units; [-1, 1] by default.

    Returns
    -------
    DistributionEstimate, or a list of them for a sequence

    Notes
    -----
    Every method works on the counts and on :math:`\Theta_{ij} = P(\text{output } j \mid x
    \text{ uniform in bin } i)`. Stopping EM early keeps the histogram smooth. The noise in the
    mean log-likelihood shrinks as :math:`1/m`, so the right moment to stop does too: a fixed
    tolerance stops too early with many reports. See `noutput.estimate.em`,
    `noutput.estimate.maximum` and `noutput.estimate.gaussian` for the methods.

    References
    ----------
    Dempster, Laird and Rubin (1977), 10.1111/j.2517-6161.1977.tb01600.x; Li et al. (2020),
    10.1145/3318464.3389700.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> tally = no.Tally(m.fingerprint, (300, 700))
    >>> estimate = no.estimate_distribution(m, tally, bounds=(0, 10))
    >>> round(estimate.mean, 1)
    8.9
    >>> bool(estimate.quantile(0.25) < estimate.quantile(0.75))
    True
    """
    units = as_interval(bounds)
    count = _checks.whole("bins", bins, 2, MAX_BINS)
    _checks.choice("method", method, METHODS)
    rule = methods.check_tolerance(method, tolerance)
    theta = transition_matrix(mechanism, count)
    stack = list(tally) if isinstance(tally, Sequence) else [tally]
    for one in stack:
        check_tally(mechanism, one, theta.shape[1])
    if not stack:
        return []
    counts = Counts.of(stack)
    shares, theta = supported(counts.shares, theta)
    counts = Counts(shares, counts.totals)
    found = methods.fit(counts, theta, method, rule)
    likelihood = mean_log_likelihood(shares, found.probabilities, theta) * counts.totals
    estimates = [
        DistributionEstimate(
            found.probabilities[row].copy(),
            units,
            method,
            rule,
            int(found.iterations[row]),
            bool(found.converged[row]),
            float(likelihood[row]),
            one.total,
            mechanism,
            one,
        )
        for row, one in enumerate(stack)
    ]
    return estimates[0] if isinstance(tally, Tally) else estimates
