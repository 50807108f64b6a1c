"""Summary of a question with answers: shares, and where there is an order, CDF and quantiles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from noutput import _checks
from noutput.estimate.answers import AnswerEstimate, estimate_answers
from noutput.estimate.answers.scores import closest_within
from noutput.estimate.choices import QUARTILES
from noutput.estimate.evidence import Evidence
from noutput.estimate.goodness import check_possible
from noutput.estimate.summary.figure import Bar, Estimate
from noutput.estimate.summary.shown import Shown, forged_words, kind_notes, without_intervals
from noutput.questions import Answer, Answers, Scale, YesNo

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noutput.mechanisms.answers import AnswerMechanism
    from noutput.tally import Tally

__all__ = ["AnswerSummary", "answer_summaries"]

_ASSUMPTION = "Nothing is assumed about the answers."
_VISIBLE = 0.0005  # of a share, which is printed with one decimal of a percent


@dataclass(frozen=True, eq=False, repr=False)
class AnswerSummary(Shown):
    """Everything that is shown about the answers of one group of people.

    Parameters
    ----------
    question : Scale, Choice or YesNo
    epsilon : float
    estimate : AnswerEstimate
    level : float
        The level of every interval on its own.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> question = no.Choice("train", "car", label="Way to work")
    >>> print(no.summarize(m, no.Tally(m.fingerprint, (4_000, 6_000)), question))
    Way to work: 10,000 reports, epsilon = 1.1
    <BLANKLINE>
    train  ██████████▎               30.0%  (28.1% to 31.9%)
    car    ████████████████████████  70.0%  (68.1% to 71.9%)
    <BLANKLINE>
    In brackets: 95% intervals.
    Forged reports: no sign of them (p = 1); the table has no spare outputs, so only impossible \
counts are noticed

    The parts of what is shown, for a scale:

    >>> stars = no.summarize(m, no.Tally(m.fingerprint, (4_000, 6_000)), no.Scale(1, 2))
    >>> stars.reports, stars.goodness, stars.mean.texts, stars.shares[1].texts
    (10000, 1.0, ('1.700', '1.681', '1.719'), ('0.700', '0.681', '0.719'))
    >>> stars.cdf[0].texts, stars.joint_shares[0].texts  # alone, and for all answers together
    (('0.300', '0.281', '0.319'), ('0.300', '0.281', '0.319'))
    >>> stars.unbiased_mean.texts[0], stars.unbiased_cdf[0].texts[0]  # may lie outside
    ('1.700', '0.300')
    >>> [round(share, 2) for share in stars.shown], stars.full_scale, stars.bars[0].label
    ([0.3, 0.7], None, '1')
    >>> stars.lines["Median"], stars.quantiles[0.5], len(stars.notes)
    (('2', '2', '2'), (2.0, 2.0, 2.0), 1)
    >>> stars.records()[1]["label"], stars.to_dict()["reports"]
    ('2', 10000)
    """

    question: Answers
    epsilon: float
    estimate: AnswerEstimate
    level: float

    @property
    def reports(self) -> int:
        """How many reports were counted."""
        return self.estimate.n_reports

    @property
    def goodness(self) -> float:
        """How plausible the counts are if nobody forged a report: a p-value."""
        return self.estimate.goodness.p_value

    @cached_property
    def shares(self) -> tuple[Estimate, ...]:
        """The share of every answer, unbiased, with its interval."""
        ends = self.estimate.interval("shares", self.level)
        return _figures(self.estimate.shares, *ends)

    @cached_property
    def joint_shares(self) -> tuple[Estimate, ...]:
        """The same with wider intervals, which hold for all answers together."""
        ends = self.estimate.interval("shares", self.level, simultaneous=True)
        return _figures(self.estimate.shares, *ends)

    @cached_property
    def unbiased_cdf(self) -> tuple[Estimate, ...] | None:
        """The share of every answer and those before it; None where there is no order."""
        if not isinstance(self.question, Scale):
            return None
        return _figures(self.estimate.cdf, *self.estimate.interval("cdf", self.level))

    @property
    def cdf(self) -> tuple[Estimate, ...] | None:
        """The same as it is shown: every value is moved into its interval."""
        found = self.unbiased_cdf
        return None if found is None else tuple(each.inside for each in found)

    @cached_property
    def shown(self) -> tuple[float, ...]:
        """The shares as they are drawn: each lies in its interval, and they add up to 1.

        Where no such shares exist, as reports were forged, they lie in their intervals.
        """
        ends = self.estimate.interval("shares", self.level)
        return tuple(closest_within(self.estimate.shares, *ends).tolist())

    @cached_property
    def unbiased_mean(self) -> Estimate | None:
        """The mean score; None where the answers have no scores."""
        if self.estimate.mean is None:
            return None
        return Estimate(self.estimate.mean, *self.estimate.mean_interval(self.level))

    @property
    def mean(self) -> Estimate | None:
        """The same as it is shown: moved into its interval."""
        found = self.unbiased_mean
        return None if found is None else found.inside

    @cached_property
    def quantiles(self) -> dict[float, tuple[Answer, Answer, Answer]]:
        """Quartiles by the share of people: the answer and its interval; empty without order."""
        if not isinstance(self.question, Scale):
            return {}
        found = self.estimate
        return {
            share: (found.quantile(share, self.level), *found.quantile_interval(share, self.level))
            for share in QUARTILES.values()
        }

    @property
    def lines(self) -> dict[str, tuple[str, str, str]]:
        """The mean score and the quartiles, where there are any."""
        found = {}
        if self.mean is not None and not isinstance(self.question, YesNo):
            found["Mean score"] = self.mean.texts
        names = dict(zip(self.question.answers, self.question.labels, strict=True))
        for name, share in QUARTILES.items():
            if share in self.quantiles:
                value, low, high = (names[answer] for answer in self.quantiles[share])
                found[name] = (value, low, high)
        if self.warning:
            return {name: (value, "", "") for name, (value, *_) in found.items()}
        return found

    @property
    def bars(self) -> list[Bar]:
        """One per answer; of yes and no the share of yes alone."""
        rows = zip(self.question.labels, self.shown, self.shares, strict=True)
        bars = [Bar(label, share, each.low, each.high) for label, share, each in rows]
        return bars[1:] if isinstance(self.question, YesNo) else bars

    @property
    def full_scale(self) -> float | None:
        """A single bar is drawn on a scale to 100%."""
        return 1.0 if isinstance(self.question, YesNo) else None

    @property
    def notes(self) -> list[str]:
        """What to know about forged reports, adjusted shares and mean, and the intervals."""
        told = forged_words(self.goodness)
        if not self.estimate.spare_outputs:
            told += "; the table has no spare outputs, so only impossible counts are noticed"
        notes = [f"Forged reports: {told}", *self._adjustments]
        return notes + kind_notes(self.estimate.interval_kind, self.reports)

    @property
    def _adjustments(self) -> list[str]:
        """What is shown otherwise than the unbiased estimates say."""
        notes, rows = [], zip(self.shown, self.shares, strict=True)
        if max(abs(shown - each.value) for shown, each in rows) >= _VISIBLE:
            if isinstance(self.question, YesNo):
                notes.append("The share is adjusted so that it lies in its interval.")
            elif abs(sum(self.shown) - 1.0) < _VISIBLE:
                notes.append("Shares are adjusted so that none is negative and all add up to 100%.")
            else:
                notes.append("Shares are adjusted so that each lies in its interval.")
        if "Mean score" in self.lines and self.mean != self.unbiased_mean:
            notes.append("The mean score is adjusted so that it lies in its interval.")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON."""
        mean = self.mean
        found = {
            "question": self.question.to_document(),
            "epsilon": self.epsilon,
            "reports": self.reports,
            "warning": self.warning or None,
            "level": self.level,
            "intervals": {"kind": self.estimate.interval_kind, "assumption": _ASSUMPTION},
            "answers": self.records(),
            "mean": None if mean is None else {**mean.to_dict(), "unbiased": self.estimate.mean},
            "quartiles": [
                {"share": share, "value": value, "interval": [low, high]}
                for share, (value, low, high) in self.quantiles.items()
            ],
            "forged_reports": {
                "p_value": self.goodness,
                "spare_outputs": self.estimate.spare_outputs,
            },
        }
        return without_intervals(found) if self.warning else found

    def records(self) -> list[dict[str, Any]]:
        """Return one row per answer: unbiased share, interval, and the share that is drawn.

        Where there is an order, also the CDF as it is shown, its interval, and its unbiased value.
        """
        asked = self.question
        rows: list[dict[str, Any]] = [
            {"answer": answer, "label": label, "share": each.value}
            | {"low": each.low, "high": each.high, "shown": shown}
            for answer, label, each, shown in zip(
                asked.answers, asked.labels, self.shares, self.shown, strict=True
            )
        ]
        if self.cdf is not None:
            unbiased = self.estimate.cdf.tolist()
            for row, each, value in zip(rows, self.cdf, unbiased, strict=True):
                row |= {"cdf": each.value, "cdf_low": each.low, "cdf_high": each.high}
                row["cdf_unbiased"] = value
        return without_intervals(rows) if self.warning else rows


def answer_summaries(
    mechanism: AnswerMechanism | Evidence,
    data: Tally | ArrayLike | None,
    question: Answers,
    levels: Iterable[float],
    kind: str = "normal",
) -> dict[float, AnswerSummary]:
    """Return what `noutput.summarize` returns, for several levels of one estimate."""
    wanted = [_checks.inner_share("level", level) for level in levels]
    found = estimate_answers(mechanism, data, question, level=wanted[0], kind=kind)
    if isinstance(mechanism, Evidence):
        for part in mechanism.parts:
            check_possible(part.mechanism, part.tally)
    else:
        check_possible(mechanism, found.tally)
    epsilon = found.mechanism.epsilon
    return {level: AnswerSummary(question, epsilon, found, level) for level in wanted}


def _figures(values: Any, low: Any, high: Any) -> tuple[Estimate, ...]:
    rows = zip(values.tolist(), low.tolist(), high.tolist(), strict=True)
    return tuple(Estimate(*row) for row in rows)
