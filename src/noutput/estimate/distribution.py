"""The estimator of the distribution of people's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from noutput import _checks
from noutput._progress import shown_progress
from noutput.errors import InvalidArgumentError
from noutput.estimate import gaussian, histograms, methods
from noutput.estimate.choices import DEFAULT_METHOD, METHODS
from noutput.estimate.counts import (
    Array,
    CellModel,
    Counts,
    check_tally,
    supported,
    transition_matrix,
)
from noutput.estimate.evidence import Evidence, unpacked
from noutput.estimate.fine_bins import default_bins, fine_bins
from noutput.estimate.fit import mean_log_likelihood
from noutput.estimate.goodness import GoodnessOfFit, known_goodness_of_fit
from noutput.estimate.intervals import QUANTILES, Function, Intervals
from noutput.estimate.resample import generator
from noutput.estimate.stacked import StackedChannel
from noutput.interval import UNIT, Interval, IntervalLike

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noutput.tally import Tally

__all__ = ["DistributionEstimate", "estimate_distribution"]

MAX_BINS = 4096
_STATISTICS = ("bins", "share", "cdf", "quantile", "mean", "variance")
_FEW_BINS = 128  # whose edges are named in one fit


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
    >>> [round(end, 2) for end in found.interval("mean")]
    [6.78, 7.22]
    >>> found.intervals().mean() == found.interval("mean")  # others come from the same fit
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
    _channel: CellModel = field(repr=False)
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

    @overload
    def interval(
        self,
        statistic: Literal["mean", "variance"] | Function,
        at: None = None,
        *,
        level: float = 0.95,
        kind: str = "slack",
    ) -> tuple[float, float]: ...
    @overload
    def interval(
        self,
        statistic: str | Function = "bins",
        at: ArrayLike | None = None,
        *,
        level: float = 0.95,
        kind: str = "slack",
    ) -> tuple[Array | float, Array | float]: ...
    @shown_progress("Estimating")
    def interval(
        self,
        statistic: str | Function = "bins",
        at: ArrayLike | None = None,
        *,
        level: float = 0.95,
        kind: str = "slack",
    ) -> tuple[Array | float, Array | float]:
        """Return the ends of an interval for a statistic of the people's numbers.

        Parameters
        ----------
        statistic : {"bins", "share", "cdf", "quantile", "mean", "variance"} or callable
            - "bins": the shares of all bins.
            - "share": the shares between pairs of numbers.
            - "cdf": the shares below numbers.
            - "quantile": the quantiles at shares.
            - a callable gets an array of numbers and returns one of the same shape, such as
              ``lambda x: x**2``: the mean of this function of the people's numbers.
        at : array of floats, optional
            For "cdf" the numbers, by default the edges of the bins; for "quantile" the shares, by
            default .05, .25, .5, .75 and .95; for "share" a pair of numbers, or several.
        level : float
        kind : {"slack", "guaranteed"}
            Slack intervals hold for every population, as far as large samples tell. Guaranteed
            ones have a proof for every number of reports and are wider. Below 100 reports all
            are guaranteed ones.

        Returns
        -------
        two floats, or two arrays

        Notes
        -----
        The smallest and the largest value of the statistic over all distributions that fit the
        counts: nothing else is assumed about the people's numbers, not that they are smooth, and
        not where in a bin they lie. So the interval does not depend on the method, whose own value
        can lie outside. See `noutput.estimate.slack`.

        Numbers that are equal to an end of a share belong to what follows where a cell of the
        table starts there. Elsewhere the interval holds whether they belong or not. Nobody is
        below the lower bound, and nobody beyond the upper one.

        Examples
        --------
        >>> import noutput as no
        >>> m = no.design(2.0, 64, objective="distribution").mechanism
        >>> minutes = np.random.default_rng(7).gamma(4.0, 10.0, 50_000).clip(0, 180)
        >>> x = no.Interval(0, 180).to_unit(minutes)
        >>> tally = no.Tally.of(m, m.privatize(x, np.random.default_rng(8)))
        >>> found = no.estimate_distribution(m, tally, bounds=(0, 180))
        >>> low, high = found.interval("cdf", 45.0)
        >>> bool(low < np.mean(minutes < 45.0) < high)
        True
        >>> low, high = found.interval("quantile", [0.25, 0.5, 0.75])
        >>> bool(np.all(low < np.quantile(minutes, [0.25, 0.5, 0.75])))
        True
        >>> low, high = found.interval("share", (30, 60), kind="guaranteed")
        >>> bool(low < np.mean((minutes >= 30) & (minutes < 60)) < high)
        True
        """

        def fit(named: ArrayLike = ()) -> Intervals:
            return self.intervals(named, level=level, kind=kind)

        if callable(statistic):
            _nothing(at)
            return fit().function(statistic)
        _checks.choice("statistic", statistic, _STATISTICS)
        if statistic in ("mean", "variance", "bins"):
            _nothing(at)
        if statistic == "bins":
            parts = [fit(edges).shares(edges[:-1], edges[1:]) for edges in self._parts()]
            low, high = (np.concatenate(each) for each in zip(*parts, strict=True))
            return low, high
        if statistic == "share":
            pairs = _pairs(at)
            low, high = fit(pairs).shares(pairs[..., 0].ravel(), pairs[..., 1].ravel())
            return _shaped(low, high, pairs.shape[:-1])
        if statistic == "cdf":
            values = self.edges if at is None else _floats("at", at)
            return _shaped(*fit(values).cdf(values.ravel()), values.shape)
        if statistic == "quantile":
            shares = _shares(at)
            return _shaped(*fit().quantiles(shares.ravel()), shares.shape)
        return fit().mean() if statistic == "mean" else fit().variance()

    def intervals(
        self,
        named: ArrayLike = (),
        *,
        level: float = 0.95,
        kind: str = "slack",
    ) -> Intervals:
        """Return what gives the intervals of all statistics from one fit.

        `named` has all numbers that shares will be asked for; edges of few bins always are.
        """
        values = np.ravel(np.asarray(named, np.float64))
        if self.bins <= _FEW_BINS:
            values = np.concatenate([values, self.edges])
        channel, tally, bounds = self._channel, self._tally, self.bounds
        return Intervals(channel, tally, bounds, level=level, kind=kind, named=values)

    def _parts(self) -> list[Array]:
        """Return the edges of all bins, of few bins at once."""
        return [
            self.edges[start : start + _FEW_BINS + 1] for start in range(0, self.bins, _FEW_BINS)
        ]

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

    def draws(self, size: int, rng: np.random.Generator | None = None) -> Array:
        """Draw histograms from the posterior of gp, of shape (size, bins): no interval.

        They show which smooth histograms are plausible if the answers are as smooth as gp takes
        them. What no report can tell they take from that assumption, so their spread is no
        measure of what is known.

        Examples
        --------
        >>> import noutput as no
        >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
        >>> found = no.estimate_distribution(m, no.Tally(m.fingerprint, (400, 600)), bins=4)
        >>> found.draws(3, np.random.default_rng(7)).shape
        (3, 4)
        """
        if self.method != "gp":
            raise InvalidArgumentError("method", "be 'gp': others have no posterior", self.method)
        count = _checks.whole("size", size, 0, 1 << 20)
        counts = Counts.of([self._tally])
        fine = fine_bins(self._channel) if isinstance(self._channel, StackedChannel) else None
        model = transition_matrix(self._channel, self.bins) if fine is None else fine.theta
        shares, theta = supported(counts.shares, model)
        step = None if fine is None else fine.step
        found = gaussian.draw(shares[0], counts.totals[0], theta, count, generator(rng), step)
        return found if fine is None else fine.spread(found, self.bins)


def _nothing(at: object) -> None:
    if at is not None:
        raise InvalidArgumentError("at", "be left out: this statistic has no places", at)


def _shaped(low: Array, high: Array, shape: tuple[int, ...]) -> tuple[Array | float, Array | float]:
    if not shape:
        return float(low[0]), float(high[0])
    return low.reshape(shape), high.reshape(shape)


def _shares(at: ArrayLike | None) -> Array:
    """Return shares of the people."""
    shares = np.array(QUANTILES) if at is None else _floats("at", at)
    if not np.all((shares >= 0.0) & (shares <= 1.0)):
        raise InvalidArgumentError("at", "lie between 0 and 1", at)
    return shares


def _pairs(at: ArrayLike | None) -> Array:
    """Return pairs of numbers in order, of shape (2,) or (B, 2)."""
    rule = "be a pair of numbers in increasing order, or several: the ends of what is counted"
    if at is None:
        raise InvalidArgumentError("at", rule, at)
    pairs: Array = _checks.numbers("at", rule, at).astype(np.float64)
    shaped = pairs.ndim in (1, 2) and pairs.shape[-1] == 2
    if not shaped or not np.all(pairs[..., 0] <= pairs[..., 1]):
        raise InvalidArgumentError("at", rule, at)
    return pairs


def _floats(name: str, values: ArrayLike) -> Array:
    return _checks.numbers(name, "be numbers", values).astype(np.float64)


@overload
def estimate_distribution(
    mechanism: CellModel | Evidence,
    tally: Tally | None = None,
    bins: int | None = None,
    method: str = DEFAULT_METHOD,
    *,
    tolerance: methods.Tolerance = "auto",
    bounds: IntervalLike = UNIT,
) -> DistributionEstimate: ...
@overload
def estimate_distribution(
    mechanism: CellModel,
    tally: Sequence[Tally],
    bins: int | None = None,
    method: str = DEFAULT_METHOD,
    *,
    tolerance: methods.Tolerance = "auto",
    bounds: IntervalLike = UNIT,
) -> list[DistributionEstimate]: ...
def estimate_distribution(
    mechanism: CellModel | Evidence,
    tally: Tally | Sequence[Tally] | None = None,
    bins: int | None = None,
    method: str = DEFAULT_METHOD,
    *,
    tolerance: methods.Tolerance = "auto",
    bounds: IntervalLike = UNIT,
) -> DistributionEstimate | list[DistributionEstimate]:
    r"""Estimate the distribution of the people's numbers from their reports.

    Parameters
    ----------
    mechanism : TableMechanism, or any mechanism with a transition matrix; or Evidence
        What made the reports. Evidence takes the place of the tally and the bounds, too.
    tally : Tally or sequence of tallies
        At least one report each. A sequence is fitted at once, much faster than one by one, with
        the same results.
    bins : int, optional
        How many equal bins divide the bounds; 64 if not given. Of evidence whose parts have
        different bounds, as many as put 64 into the narrowest ones, but at most 1024.
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
    channel, tally, units = unpacked(mechanism, tally, bounds)
    count = default_bins(channel) if bins is None else _checks.whole("bins", bins, 2, MAX_BINS)
    _checks.choice("method", method, METHODS)
    rule = methods.check_tolerance(method, tolerance)
    fine = fine_bins(channel) if method == "gp" and isinstance(channel, StackedChannel) else None
    theta = transition_matrix(channel, count)
    stack: list[Tally] = list(tally) if isinstance(tally, Sequence) else [tally]
    for one in stack:
        check_tally(channel, one, theta.shape[1])
    if not stack:
        return []
    counts = Counts.of(stack)
    if fine is not None:
        shares, model = supported(counts.shares, fine.theta)
        found = gaussian.average(shares, counts.totals, model, fine.step)
        found = replace(found, probabilities=fine.spread(found.probabilities, count))
    shares, theta = supported(counts.shares, theta)
    counts = Counts(shares, counts.totals)
    if fine is None:
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
            channel,
            one,
        )
        for row, one in enumerate(stack)
    ]
    return estimates if isinstance(tally, Sequence) else estimates[0]
