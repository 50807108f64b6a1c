"""Estimates as JSON: what ``GET /campaigns/{id}/estimates`` answers."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from noutput.collector.guarantees import operator_sentence
from noutput.collector.strata import Selection
from noutput.collector.whole import partial_rounds
from noutput.estimate.summary import AnswerSummary, CellSummary, Summary
from noutput.estimate.summary.shown import without_intervals
from noutput.questions import Answers, Number, YesNo

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from noutput.campaign.campaign import Campaign
    from noutput.collector.estimates import QuestionEstimates
    from noutput.collector.guarantees import Readers
    from noutput.collector.publishing import ReleasePolicy
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import Published
    from noutput.estimate.summary import Estimate

__all__ = ["estimates_document", "privacy_document", "strata_document", "waves_document"]

_NUMBER = ("mean", "variance", "quantiles", "distribution", "histogram", "intervals",
           "goodness_of_fit")  # fmt: skip
_CELLS = ("mean", "standard_deviation", "quantiles", "below", "cells", "intervals",
          "goodness_of_fit")  # fmt: skip
_MOST_LISTED = 20  # rounds


def estimates_document(
    campaign: Campaign, questions: Iterable[QuestionEstimates], level: float
) -> dict[str, Any]:
    """Return what `noutput.collector.http.models.EstimatesModel` describes, but for the time."""
    written = [
        _question(each, table.epsilon)
        for each, table in zip(questions, campaign.tables, strict=True)
    ]
    return {
        "campaign": campaign.id,
        "fingerprint": campaign.fingerprint,
        "epsilon": campaign.epsilon,
        "ask": campaign.ask,
        "reports": sum(each["reports"] for each in written),
        "level": level,
        "questions": [without_intervals(each) if each["warning"] else each for each in written],
    }


def _question(found: QuestionEstimates, epsilon: float) -> dict[str, Any]:
    question, summary = found.question, found.summary
    head = {
        "name": question.name, "kind": question.kind, "label": question.label,
        "text": question.text, "epsilon": epsilon, "reports": found.reports,
        "reason": found.reason, "warning": (summary and summary.warning) or None,
        "published": _published(found),
    }  # fmt: skip
    if isinstance(question, Number):
        head |= {"unit": question.unit, "lower": question.lower, "upper": question.upper}
        if question.edges:
            known = _cells(summary) if isinstance(summary, CellSummary) else dict.fromkeys(_CELLS)
            return head | {"edges": question.edges} | known
        return head | (_number(summary) if isinstance(summary, Summary) else dict.fromkeys(_NUMBER))
    found_answers = summary if isinstance(summary, AnswerSummary) else None
    if isinstance(question, YesNo):
        return head | _yes(found_answers)
    if isinstance(question, Answers):
        return head | _answers(question, found_answers)
    raise NotImplementedError(question.kind)  # pragma: no cover (there are no other kinds)


def privacy_document(campaign: Campaign, readers: Readers | None) -> dict[str, Any]:
    """Return what is promised to a person against the operator, and against everybody else.

    Where anybody can invent reports, a release can be filled around a person, and nothing is
    promised against readers beyond what a report itself promises.
    """
    operator = {"epsilon": campaign.epsilon_per_period, "text": operator_sentence(campaign)}
    shown = readers if campaign.admission.needs_token else None
    return {"operator": operator, "readers": None if shown is None else _readers(shown)}


def strata_document(
    entry: KnownCampaign, shown: Published, selection: Selection, policy: ReleasePolicy,
    now: datetime,
) -> dict[str, Any]:  # fmt: skip
    """Return which labels and rounds estimates are about, and how many combinations are hidden."""
    strata, segments = entry.layout.strata, entry.campaign.segments
    totals = entry.layout.stratum_totals(shown.counts, Selection(rounds=selection.rounds))
    labeled = {number % strata.each for number in totals} - {strata.combinations}
    without = sum(n for number, n in totals.items() if number % strata.each == strata.combinations)
    unplaced = sum(n for number, n in totals.items() if number // strata.each == strata.rounds)
    partial = _partial(entry, shown, selection, now)
    least = policy.minimum_of(segments)
    told = [] if segments is None else [_hidden(entry, len(labeled), without, least)]
    if unplaced:
        told.append(f"{unplaced:,} reports are published without their round.")
    if partial:
        told.append(_left_out(partial))
    return {
        "labels": dict(selection.labels),
        "rounds": selection.rounds,
        "minimum": None if segments is None else least,
        "combinations": strata.combinations,
        "shown": len(labeled),
        "without_labels": without,
        "without_round": unplaced,
        "partial": partial,
        "text": " ".join(told),
    }


def _hidden(entry: KnownCampaign, shown: int, without: int, least: int) -> str:
    """Say how many combinations of labels are too small to show."""
    combinations = entry.layout.strata.combinations
    if shown == combinations:
        return f"All {combinations} combinations of labels are shown."
    where = "" if entry.campaign.schedule is None else " in any round"
    return (
        f"{shown} of {combinations} combinations of labels are shown. The others have fewer than "
        f"{least:,} reports on a question{where}, or none: {without:,} reports are published "
        "without their labels, and count for the whole only."
    )


def _partial(
    entry: KnownCampaign, shown: Published, selection: Selection, now: datetime
) -> list[int]:
    """Return the rounds of a selection that estimates leave out, for any question.

    Of those that have not begun there is nothing to leave out.
    """
    if selection.rounds is None or selection.labels:
        return []
    begun = range(selection.rounds[0], min(selection.rounds[1] + 1, entry.rounds_begun(now)))
    questions = range(len(entry.campaign.questions))
    partial = [partial_rounds(entry, shown, question, now) for question in questions]
    return sorted(frozenset[int]().union(*partial).intersection(begun))


def _left_out(rounds: Sequence[int]) -> str:
    """Say which rounds are no part of estimates."""
    why = "reports of small groups are missing in"
    if len(rounds) == 1:
        return f"Round {rounds[0]} is left out: {why} it."
    listed = ", ".join(map(str, rounds[:_MOST_LISTED]))
    more = f" and {len(rounds) - _MOST_LISTED} more" if len(rounds) > _MOST_LISTED else ""
    return f"Rounds {listed}{more} are left out: {why} them."


def waves_document(
    entry: KnownCampaign, counts: Mapping[int, int], selection: Selection | None = None
) -> list[dict[str, Any]]:
    """Return what each wave asked, how many reports of it are published, and why it was so."""
    result = []
    tallies = iter(entry.layout.tallies(counts, selection))
    for wave in entry.layout.waves:
        campaign, questions = wave.campaign, []
        for block in wave.blocks:
            asked, place = campaign.asked[block.question], block.question
            bounds = (asked.lower, asked.upper) if isinstance(asked, Number) else (None, None)
            tally = next(tallies)
            questions.append(
                {
                    "name": asked.name,
                    "lower": bounds[0],
                    "upper": bounds[1],
                    "reports": tally.total,
                    "counts": list(tally.counts),
                    "reason": campaign.reasons[place] if campaign.reasons else "",
                }
            )
        result.append({"fingerprint": campaign.fingerprint, "questions": questions})
    return result


def _readers(found: Readers) -> dict[str, Any]:
    return {
        "epsilon": found.epsilon, "delta": found.delta, "release": found.release,
        "campaign_epsilon": found.campaign_epsilon, "text": found.sentence,
    }  # fmt: skip


def _published(found: QuestionEstimates) -> dict[str, Any] | None:
    release = found.release
    if release is None:
        return None
    return {
        "at": release.at, "releases": release.number, "smallest": release.smallest,
        "last": release.last,
    }  # fmt: skip


def _number(found: Summary) -> dict[str, Any]:
    mean, method = found.mean, found.distribution.method
    return {
        "mean": {
            "value": mean.value,
            "standard_error": found.mean_estimate.standard_error,
            "interval": [mean.low, mean.high],
            "method": found.mean_estimate.method,
            "bias_bound": found.mean_estimate.bias_bound,
            "influence": found.mean_estimate.poisoning_bound(1),
        },
        "variance": found.variance.to_dict(),
        "quantiles": [
            {"share": share, **figure.to_dict()} for share, figure in found.quantiles.items()
        ],
        "distribution": {**asdict(found.fine), "method": method},
        "histogram": {**asdict(found.coarse), "method": method},
        "intervals": {
            "kind": found.interval_kind,
            "assumption": found.assumption_text,
        },
        "goodness_of_fit": found.goodness,
    }


def _cells(found: CellSummary) -> dict[str, Any]:
    known = found.to_dict()
    for cell, joint in zip(known["cells"], found.joint_shares, strict=False):
        cell["joint_interval"] = [joint.low, joint.high]
    return {
        "mean": {**known["mean"], "influence": found.moved},
        "quantiles": known["quartiles"],
        **{name: known[name] for name in ("standard_deviation", "below", "cells", "intervals")},
        "goodness_of_fit": found.goodness,
    }


def _yes(found: AnswerSummary | None) -> dict[str, Any]:
    if found is None:
        return {"yes": None, "goodness_of_fit": None}
    (*_, yes) = _shares(found)
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
    shares = _shares(found)
    cdf: Iterable[Estimate | None] = found.unbiased_cdf or [None] * len(rows)
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


def _shares(found: AnswerSummary) -> list[dict[str, Any]]:
    errors, moved = found.estimate.standard_errors, found.estimate.poisoning_bound(1)
    return [
        {**each.to_dict(), "standard_error": error, "influence": influence}
        for each, error, influence in zip(
            found.shares, errors.tolist(), moved.tolist(), strict=True
        )
    ]
