"""Estimates as JSON: what ``GET /campaigns/{id}/estimates`` answers."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from noutput.estimate.summary import AnswerSummary, Summary
from noutput.questions import Answers, Number, YesNo

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from noutput.campaign.campaign import Campaign
    from noutput.collector.estimates import QuestionEstimates
    from noutput.estimate.summary import Figure

__all__ = ["estimates_document"]

_NUMBER = ("mean", "variance", "quantiles", "distribution", "histogram", "intervals",
           "goodness_of_fit")  # fmt: skip


def estimates_document(
    campaign: Campaign, questions: Sequence[QuestionEstimates], level: float
) -> dict[str, Any]:
    """Return what `noutput.collector.http.models.EstimatesModel` describes, but for the time."""
    return {
        "campaign": campaign.id,
        "fingerprint": campaign.fingerprint,
        "epsilon": campaign.epsilon,
        "ask": campaign.ask,
        "reports": sum(each.reports for each in questions),
        "level": level,
        "questions": [
            _question(each, table.epsilon)
            for each, table in zip(questions, campaign.tables, strict=True)
        ],
    }


def _question(found: QuestionEstimates, epsilon: float) -> dict[str, Any]:
    question, summary = found.question, found.summary
    head = {
        "name": question.name, "kind": question.kind, "label": question.label,
        "text": question.text, "epsilon": epsilon, "reports": found.reports,
        "reason": found.reason,
    }  # fmt: skip
    if isinstance(question, Number):
        bounds = {"unit": question.unit, "lower": question.lower, "upper": question.upper}
        known = (
            _number(summary, found.note) if isinstance(summary, Summary) else dict.fromkeys(_NUMBER)
        )
        return head | bounds | known
    found_answers = summary if isinstance(summary, AnswerSummary) else None
    if isinstance(question, YesNo):
        return head | _yes(found_answers)
    if isinstance(question, Answers):
        return head | _answers(question, found_answers)
    raise NotImplementedError(question.kind)  # pragma: no cover (there are no other kinds)


def _number(found: Summary, note: str) -> dict[str, Any]:
    mean, method = found.mean, found.distribution.method
    return {
        "mean": {
            "value": mean.value,
            "standard_error": found.mean_estimate.standard_error,
            "interval": [mean.low, mean.high],
            "method": found.mean_estimate.method,
            "bias_bound": found.mean_estimate.bias_bound,
        },
        "variance": found.variance.to_dict(),
        "quantiles": [
            {"share": share, **figure.to_dict()} for share, figure in found.quantiles.items()
        ],
        "distribution": {**asdict(found.fine), "method": method},
        "histogram": {**asdict(found.coarse), "method": method},
        "intervals": {
            "kind": found.interval_kind,
            "assume": found.assumption or None,
            "assumption": f"{note} {found.assumption_text}".lstrip(),
        },
        "goodness_of_fit": found.goodness,
    }


def _yes(found: AnswerSummary | None) -> dict[str, Any]:
    if found is None:
        return {"yes": None, "goodness_of_fit": None}
    (*_, yes) = _shares(found.shares, found.estimate.standard_errors.tolist())
    return {"yes": yes, "goodness_of_fit": found.goodness}


def _answers(question: Answers, found: AnswerSummary | None) -> dict[str, Any]:
    rows: list[dict[str, Any]] = [
        {"answer": answer, "label": label}
        for answer, label in zip(question.answers, question.labels, strict=True)
    ]
    if found is None:
        for row in rows:
            row |= dict.fromkeys(("share", "joint_interval", "at_most"))
        return {"answers": rows, **dict.fromkeys(("mean", "quantiles", "goodness_of_fit"))}
    shares = _shares(found.shares, found.estimate.standard_errors.tolist())
    cdf: Iterable[Figure | None] = found.unbiased_cdf or [None] * len(rows)
    for row, share, joint, below in zip(rows, shares, found.joint_shares, cdf, strict=True):
        row["share"] = share
        row["joint_interval"] = [joint.low, joint.high]
        row["at_most"] = None if below is None else below.to_dict()
    mean, error = found.unbiased_mean, found.estimate.mean_error
    score = None if mean is None else {**mean.to_dict(), "standard_error": error}
    quantiles = [
        {"share": share, "value": value, "interval": [low, high]}
        for share, (value, low, high) in found.quantiles.items()
    ]
    ordered = quantiles if question.ordered else None
    return {
        "answers": rows, "mean": score, "quantiles": ordered, "goodness_of_fit": found.goodness,
    }  # fmt: skip


def _shares(found: Sequence[Figure], errors: Sequence[float]) -> list[dict[str, Any]]:
    return [
        {**each.to_dict(), "standard_error": error}
        for each, error in zip(found, errors, strict=True)
    ]
