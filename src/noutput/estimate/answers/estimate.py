"""The estimator of what people answered: shares, CDF, mean score, quantiles and differences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.estimate.answers import normal
from noutput.estimate.answers.as_mean import linear_mean
from noutput.estimate.answers.linear import KINDS, Linear, Observed, quantile_range
from noutput.estimate.answers.scores import closest_distributions, fixed_scores
from noutput.estimate.counts import check_tally
from noutput.estimate.evidence import Evidence, unpacked
from noutput.estimate.goodness import GoodnessOfFit, goodness_of_fit
from noutput.estimate.possible import possible_ends
from noutput.estimate.stacked_answers import StackedAnswers
from noutput.mechanisms.answers import AnswerMechanism
from noutput.questions import Answer, Answers, Choice, Question
from noutput.tally import Tally

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noutput.estimate.counts import Array
    from noutput.estimate.mean_estimate import MeanEstimate

__all__ = ["AnswerEstimate", "Difference", "estimate_answers"]

_STATISTICS = ("shares", "cdf")


@dataclass(frozen=True, slots=True)
class Difference:
    """Estimated difference of two shares.

    Parameters
    ----------
    value : float
        Unbiased.
    standard_error : float
    low, high : float
        The ends of its interval, within -1 and 1.
    """

    value: float
    standard_error: float
    low: float
    high: float

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high


@dataclass(frozen=True, eq=False)
class AnswerEstimate:
    r"""What people answered, estimated from their reports.

    Parameters
    ----------
    mechanism : AnswerMechanism or StackedAnswers
        What made the reports; a stack of tables where there are several.
    tally : Tally
    question : Scale, Choice or YesNo, optional
    level, kind
        The level and the kind of intervals where none are given.

    Notes
    -----
    All estimates but quantiles and `projected` are exactly unbiased for every population and every
    number of reports from two on, and as the number of reports grows they reach the smallest
    variance possible: `noutput.estimate.answers.scores` has the derivation. Nothing is assumed
    about the population, and nothing is smoothed. Shares may be negative: that is what makes them
    right on average. `projected` is for pictures.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> found = no.estimate_answers(m, no.Tally(m.fingerprint, (4_000, 6_000)), no.YesNo())
    >>> found.shares, found.n_reports, found.labels
    (array([0.3, 0.7]), 10000, ('no', 'yes'))
    >>> low, high = found.interval("shares")
    >>> low.round(3), high.round(3), found.interval_kind
    (array([0.281, 0.681]), array([0.319, 0.719]), 'normal')
    >>> [round(end, 3) for end in found.mean_interval(kind="guaranteed")]
    [0.681, 0.719]
    >>> round(found.difference("yes", "no").value, 3)
    0.4
    >>> found.n_answers, found.standard_errors.round(4), float(found.covariance[0, 1].round(5))
    (2, array([0.0098, 0.0098]), -0.0001)
    >>> found.cdf.round(3), round(found.mean, 3), round(found.mean_error, 4)
    (array([0.3, 1. ]), 0.7, 0.0098)
    >>> found.projected.round(3), found.quantile(0.5), found.quantile_interval(0.5)
    (array([0.3, 0.7]), True, (True, True))
    >>> found.goodness.p_value, found.spare_outputs  # this table can tell nothing about forgery
    (1.0, 0)

    Two groups of people:

    >>> others = no.estimate_answers(m, no.Tally(m.fingerprint, (5_000, 5_000)), no.YesNo())
    >>> [round(each.value, 3) for each in found.compare(others)]
    [-0.2, 0.2]
    """

    mechanism: AnswerMechanism | StackedAnswers
    tally: Tally
    question: Answers | None = None
    level: float = 0.95
    kind: str = "normal"

    @property
    def n_reports(self) -> int:
        """How many reports were counted."""
        return self.tally.total

    @property
    def interval_kind(self) -> str:
        """The kind of intervals where none is asked for; below 100 reports it is "guaranteed"."""
        return normal.kind_used(self.kind, self.n_reports)

    @property
    def n_answers(self) -> int:
        """How many answers there are."""
        return self.mechanism.n_answers

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers as people read them; places from 0 where there is no question."""
        if self.question is None:
            return tuple(map(str, range(self.n_answers)))
        return self.question.labels

    @cached_property
    def _observed(self) -> Observed:
        return Observed(self.mechanism.table(), np.array(self.tally.counts, np.float64))

    def _linear(self, weights: Array) -> Linear:
        return Linear(self._observed, weights)

    @cached_property
    def _shares(self) -> Linear:
        return self._linear(np.eye(self.n_answers))

    @cached_property
    def _cdf(self) -> Linear:
        return self._linear(np.triu(np.ones((self.n_answers, self.n_answers))))

    @property
    def shares(self) -> Array:
        """The share of people with each answer; they add up to 1, and some may be negative."""
        return self._shares.values.copy()

    @property
    def standard_errors(self) -> Array:
        """The standard errors of the shares."""
        return self._shares.standard_errors

    @property
    def covariance(self) -> Array:
        """The estimated covariance of the shares."""
        return self._shares.covariance

    @property
    def projected(self) -> Array:
        """The closest distribution to the shares: for pictures, never for intervals."""
        result: Array = closest_distributions(self._shares.values[None, :])[0]
        return result

    def poisoning_bound(self, forged: int) -> Array:
        """Return how far this many forged reports can have moved each share, at most.

        Notes
        -----
        The bound is that of the average of *fixed* scores, on which exact intervals rest: each
        report moves it by at most the range of an answer's scores divided by the number of
        reports. Where a table has as many outputs as answers, as that of yes/no, these are the
        shares. With more outputs, what the other reports say moves the scores a little, too, and
        the shares may move farther.

        Examples
        --------
        >>> import noutput as no
        >>> m = no.AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
        >>> no.estimate_answers(m, no.Tally(m.fingerprint, (400, 600))).poisoning_bound(10)
        array([0.02, 0.02])
        """
        count = _checks.whole("forged", forged, 0, self.n_reports)
        result: Array = np.ptp(self._observed.fixed, axis=0) * (count / self.n_reports)
        return result

    @property
    def cdf(self) -> Array:
        """The share of people with each answer or one before it; the last is 1."""
        self._check_ordered("cdf")
        return self._cdf.values.copy()

    @property
    def mean(self) -> float | None:
        """The mean score; None where the answers have no scores."""
        return None if self._scores is None else float(self._mean.values[0])

    @property
    def mean_error(self) -> float | None:
        """The standard error of the mean score."""
        return None if self._scores is None else float(self._mean.standard_errors[0])

    @property
    def _scores(self) -> tuple[float, ...] | None:
        return None if self.question is None else self.question.scores

    @cached_property
    def _mean(self) -> Linear:
        if self._scores is None:
            found = "no question" if self.question is None else type(self.question).__name__
            raise InvalidArgumentError("question", "have scores, for a mean", found)
        return self._linear(np.array(self._scores)[:, None])

    def interval(
        self,
        statistic: str = "shares",
        level: float | None = None,
        *,
        kind: str | None = None,
        simultaneous: bool = False,
    ) -> tuple[Array, Array]:
        """Return the lower and the upper ends of confidence intervals.

        Parameters
        ----------
        statistic : {"shares", "cdf"}
        level : float, optional
            The level of the estimate if not given.
        kind : {"normal", "guaranteed"}, optional
            The kind of the estimate if not given. Normal intervals cover with a probability close
            to `level` from some hundred reports on, whatever the population is: see
            `noutput.estimate.answers.normal`. With fewer than 100 reports they are guaranteed
            ones. Those cover with at least this probability for every population and every number
            of reports, and are up to 1.4 times as wide: see `noutput.estimate.answers.exact`.
        simultaneous : bool
            Whether all intervals together shall cover with the probability `level`, and not each
            on its own.

        Returns
        -------
        low, high : arrays of shape (k,)
        """
        _checks.choice("statistic", statistic, _STATISTICS)
        wanted = self.level if level is None else level
        if statistic == "cdf":
            self._check_ordered(statistic)
        which = self._cdf if statistic == "cdf" else self._shares
        return which.interval(wanted, kind or self.kind, simultaneous=simultaneous)

    def mean_interval(
        self, level: float | None = None, *, kind: str | None = None
    ) -> tuple[float, float]:
        """Return the confidence interval of the mean score; `level` and `kind` as in `interval`."""
        wanted = self.level if level is None else level
        low, high = self._mean.interval(wanted, kind or self.kind, simultaneous=False)
        return float(low[0]), float(high[0])

    def as_mean(self, answer: object = None) -> MeanEstimate:
        """Return the mean score, or the share of one answer, as groups are compared by it.

        Parameters
        ----------
        answer : answer, optional
            By itself or by its label; by its place where there is no question.

        Examples
        --------
        >>> import noutput as no
        >>> m = no.AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
        >>> found = no.estimate_answers(m, no.Tally(m.fingerprint, (4_000, 6_000)), no.YesNo())
        >>> round(found.as_mean("no").value, 3), round(found.as_mean().value, 3)
        (0.3, 0.7)
        """
        if answer is None:
            return linear_mean(self._mean)
        weights = np.zeros((self.n_answers, 1))
        weights[self._place("answer", answer), 0] = 1.0
        return linear_mean(self._linear(weights))

    def quantile(self, share: float, level: float | None = None) -> Answer:
        """Return the smallest answer with this share of people at or below it.

        Notes
        -----
        The CDF of `projected` says which, within the interval of `quantile_interval` of the same
        level.
        """
        wanted = _checks.inner_share("share", share)
        low, high = self._quantile_places(wanted, self.level if level is None else level, self.kind)
        sums = np.cumsum(self.projected)
        place = int(np.searchsorted(sums, wanted - 1e-12))
        return self._answer(min(max(place, low), high))

    def quantile_interval(
        self, share: float, level: float | None = None, *, kind: str | None = None
    ) -> tuple[Answer, Answer]:
        r"""Return the smallest and the largest answer that may be the quantile.

        Notes
        -----
        The quantile Q is the answer with :math:`F(Q - 1) < \text{share} \le F(Q)`. An answer is
        left out if the CDF's interval there ends below the share, or if that of the answer before
        starts at or above it. Two ends are looked at for the true Q, each wrong with half the
        error probability, so the interval covers at least as often as those of the CDF. Since
        quantiles are answers, it covers more often than `level` mostly.
        """
        wanted = _checks.inner_share("share", share)
        kind = _checks.choice("kind", kind or self.kind, KINDS)
        low, high = self._quantile_places(wanted, self.level if level is None else level, kind)
        return self._answer(low), self._answer(high)

    def _quantile_places(self, share: float, level: float, kind: str) -> tuple[int, int]:
        self._check_ordered("quantile")
        return quantile_range(*self._cdf.interval(level, kind, simultaneous=False), share)

    def _answer(self, place: int) -> Answer:
        return place if self.question is None else self.question.answers[place]

    def difference(
        self,
        answer: object,
        other: object,
        level: float | None = None,
        *,
        kind: str | None = None,
    ) -> Difference:
        """Return by how much the share of one answer exceeds that of another.

        Parameters
        ----------
        answer, other : answers
            Each by itself or by its label; by its place where there is no question.
        level, kind
            As in `interval`.
        """
        places = self._place("answer", answer), self._place("other", other)
        if places[0] == places[1]:
            raise InvalidArgumentError("other", "be another answer than `answer`", other)
        weights = np.zeros((self.n_answers, 1))
        weights[places, 0] = 1.0, -1.0
        found = self._linear(weights)
        wanted = self.level if level is None else level
        low, high = found.interval(wanted, kind or self.kind, simultaneous=False)
        parts = (found.values, found.standard_errors, low, high)
        return Difference(*(float(part[0]) for part in parts))

    def compare(
        self,
        other: AnswerEstimate,
        level: float | None = None,
        *,
        kind: str | None = None,
        simultaneous: bool = False,
    ) -> tuple[Difference, ...]:
        """Return by how much the shares of one group exceed those of another, one per answer.

        Parameters
        ----------
        other : AnswerEstimate
            Of other people, asked a question with as many answers; the tables may differ.
        level, kind, simultaneous
            As in `interval`; of simultaneous intervals, all differences together are covered
            (by Bonferroni's inequality).
        """
        labels = getattr(other, "labels", None)
        if labels != self.labels:
            rule = f"be an AnswerEstimate with the answers {list(self.labels)}"
            raise InvalidArgumentError("other", rule, labels or type(other).__name__)
        wanted = _checks.inner_share("level", self.level if level is None else level)
        if simultaneous and self.n_answers > 2:
            wanted = 1.0 - (1.0 - wanted) / self.n_answers
        kind = _checks.choice("kind", kind or self.kind, KINDS)
        kind = normal.kind_used(kind, min(self.n_reports, other.n_reports))
        each = wanted if kind == "normal" else (1.0 + wanted) / 2.0
        first, second = self._shares, other._shares
        mine = first.uncut(each, kind, simultaneous=False)
        theirs = second.uncut(each, kind, simultaneous=False)
        values = first.values - second.values
        if kind == "normal":
            low, high = normal.newcombe((first.values, *mine), (second.values, *theirs))
            low, high = possible_ends(values, low, high, -1.0, 1.0)
        else:  # of ends that are possible
            low, high = mine[0] - theirs[1], mine[1] - theirs[0]
        errors = np.hypot(first.standard_errors, second.standard_errors)
        rows = np.stack([values, errors, low, high], axis=1).tolist()
        return tuple(Difference(*row) for row in rows)

    @cached_property
    def goodness(self) -> GoodnessOfFit:
        """The test for forged reports, from a fixed seed: equal counts give equal numbers.

        Where a table has as many outputs as answers, it notices only what no shares explain.
        """
        return goodness_of_fit(self.mechanism, self.tally, rng=np.random.default_rng(0))

    @property
    def spare_outputs(self) -> int:
        """How many degrees of freedom the counts have beyond the shares: 0 if none is left."""
        if isinstance(self.mechanism, StackedAnswers):
            return self.mechanism.spare_outputs
        return self.mechanism.n_outputs - self.n_answers

    def _check_ordered(self, statistic: str) -> None:
        if isinstance(self.question, Choice):
            rule = "be 'shares': the answers of a choice have no order"
            raise InvalidArgumentError("statistic", rule, statistic)

    def _place(self, name: str, answer: object) -> int:
        if self.question is None:
            return _checks.whole(name, answer, 0, self.n_answers - 1)
        place = self.question.find(answer)
        if place is None:
            raise InvalidArgumentError(name, f"be one of {list(self.labels)}", answer)
        return place


def estimate_answers(
    mechanism: AnswerMechanism | Evidence,
    data: Tally | ArrayLike | None = None,
    question: Question | None = None,
    *,
    level: float = 0.95,
    kind: str = "normal",
) -> AnswerEstimate:
    """Estimate what people answered from their reports.

    Parameters
    ----------
    mechanism : AnswerMechanism or Evidence
        What made the reports. Evidence of several tables takes the place of the data, too: see
        `noutput.estimate.stacked_answers`.
    data : Tally or array
        At least two reports of this mechanism.
    question : Scale, Choice or YesNo, optional
        For labels, order and scores. Without it, answers are known by their places from 0.
    level, kind
        The level and the kind of intervals where none are given: see `AnswerEstimate.interval`.

    Examples
    --------
    >>> import noutput as no
    >>> third = (1 << 32) // 4
    >>> rows = [[2 * third if x == y else third for x in range(3)] for y in range(3)]
    >>> m = no.AnswerMechanism(0.7, rows)
    >>> found = estimate_answers(m, no.Tally(m.fingerprint, (300, 300, 400)), no.Scale(1, 2, 3))
    >>> found.shares.round(3), found.cdf.round(3), round(found.mean, 3)
    (array([0.2, 0.2, 0.6]), array([0.2, 0.4, 1. ]), 2.4)
    >>> found.quantile(0.5), found.quantile_interval(0.5)
    (3.0, (2.0, 3.0))
    """
    made, given, _ = unpacked(mechanism, data)
    _check_answer_table(made)
    if question is not None and not isinstance(question, Answers):
        rule = "be a Scale, a Choice or a YesNo"
        raise InvalidArgumentError("question", rule, type(question).__name__)
    if question is not None and question.n_answers != made.n_answers:
        rule = f"have as many answers as the table has rows, {made.n_answers}"
        raise InvalidArgumentError("question", rule, question.n_answers)
    tally = given if isinstance(given, Tally) else Tally.of(made, given)
    check_tally(made, tally, made.n_outputs)
    if tally.total < 2:
        raise InvalidArgumentError("tally", "have at least two reports", tally.total)
    _checks.inner_share("level", level)
    _checks.choice("kind", kind, KINDS)
    fixed_scores(made)  # refuses a table that does not tell all answers apart
    return AnswerEstimate(made, tally, question, float(level), kind)


def _check_answer_table(mechanism: object) -> None:
    if not isinstance(mechanism, AnswerMechanism | StackedAnswers):
        rule = "be an AnswerMechanism, which has one row per answer"
        raise InvalidArgumentError("mechanism", rule, type(mechanism).__name__)
