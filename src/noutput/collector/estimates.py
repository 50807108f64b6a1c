"""Estimates of a campaign, computed once for every state of its counts."""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, cast

from noutput.campaign.text import format_instant
from noutput.estimate.summary import Summary, summarize
from noutput.mechanisms.table import TableMechanism
from noutput.questions import Answers, Number, Question

if TYPE_CHECKING:
    from datetime import datetime

    from noutput.campaign.campaign import Campaign
    from noutput.collector.clock import Clock
    from noutput.collector.metrics import Metrics
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import Store
    from noutput.tally import Tally

__all__ = ["CampaignEstimates", "Estimates", "QuestionEstimates"]

_FEWEST = 2  # reports that say anything
_KEPT = 256
_FRESH_SECONDS = 1.0
_REST = 10.0  # how much longer an answer is used than it took


@dataclass(frozen=True, slots=True)
class QuestionEstimates:
    """What the reports on one question say; no summary where there are fewer than two."""

    question: Question
    tally: Tally
    summary: Summary | None

    @property
    def reports(self) -> int:
        """The number of reports on the question."""
        return self.tally.total


@dataclass(frozen=True, slots=True)
class CampaignEstimates:
    """What the reports of a campaign say, for the dashboard and as JSON.

    Parameters
    ----------
    questions : sequence of QuestionEstimates
        In the campaign's order.
    content : bytes
        The same as ``GET /campaigns/{id}/estimates`` answers it.
    """

    questions: Sequence[QuestionEstimates]
    content: bytes

    @property
    def reports(self) -> int:
        """The number of reports on all questions."""
        return sum(each.reports for each in self.questions)


@dataclass(slots=True)
class _Answer:
    """One answer, and the lock of whoever computes the next."""

    found: CampaignEstimates | None = None
    until: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)


class Estimates:
    """Cache of estimates, by campaign and number of reports.

    Notes
    -----
    An answer is used for a second, or ten times as long as it took to compute, before the counts
    are read again, and ever after where they are the same. While one thread computes, others
    get the answer before; `as_of` says of when it is.
    """

    def __init__(self, store: Store, clock: Clock, metrics: Metrics) -> None:
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._answers: OrderedDict[tuple[int, str, int, float], _Answer] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, entry: KnownCampaign, bins: int, level: float) -> CampaignEstimates:
        """Return the estimates of a campaign."""
        name = (entry.key, entry.state(self._clock()), bins, level)
        with self._lock:
            answer = self._answers.setdefault(name, _Answer())
            self._answers.move_to_end(name)
            if len(self._answers) > _KEPT:
                self._answers.popitem(last=False)
        found = answer.found
        if found is not None and time.monotonic() < answer.until:
            return found
        if not answer.lock.acquire(blocking=found is None):
            return cast(CampaignEstimates, found)
        try:
            return self._refresh(answer, entry, bins, level)
        finally:
            answer.lock.release()

    def _refresh(
        self, answer: _Answer, entry: KnownCampaign, bins: int, level: float
    ) -> CampaignEstimates:
        start = time.monotonic()
        found = answer.found
        if found is not None and start < answer.until:
            return found
        now = self._clock()
        counts = self._store.counts(entry.key)
        if found is None or sum(counts.values()) != found.reports:
            found = answer.found = _compute(entry, counts, bins, level, now)
            self._metrics.estimates += 1
        end = time.monotonic()
        answer.until = end + max(_FRESH_SECONDS, _REST * (end - start))
        return found


def _compute(
    entry: KnownCampaign, counts: dict[int, int], bins: int, level: float, now: datetime
) -> CampaignEstimates:
    questions = []
    tallies = entry.layout.tallies(counts)
    for each, mechanism, tally in zip(
        entry.campaign.questions, entry.mechanisms, tallies, strict=True
    ):
        summary = None
        enough = tally.total >= _FEWEST
        if enough and isinstance(each, Number) and isinstance(mechanism, TableMechanism):
            summary = summarize(mechanism, tally, each, bins=bins, level=level)
        questions.append(QuestionEstimates(each, tally, summary))
    content = {
        **_document(entry.campaign, questions, level),
        "as_of": format_instant(now),
        "state": entry.state(now),
    }
    return CampaignEstimates(questions, json.dumps(content, allow_nan=False).encode())


def _document(
    campaign: Campaign, questions: Sequence[QuestionEstimates], level: float
) -> dict[str, Any]:
    """Return what `noutput.collector.http.models.EstimatesModel` describes, but for the time."""
    return {
        "campaign": campaign.id,
        "fingerprint": campaign.fingerprint,
        "epsilon": campaign.epsilon,
        "reports": sum(each.reports for each in questions),
        "level": level,
        "questions": [_question_document(each) for each in questions],
    }


def _question_document(found: QuestionEstimates) -> dict[str, Any]:
    question = found.question
    head = {"name": question.name, "kind": question.kind, "label": question.label}
    if isinstance(question, Number):
        bounds = {"unit": question.unit, "lower": question.lower, "upper": question.upper}
        return {**head, **bounds, "reports": found.reports, **_summary_document(found.summary)}
    answers = list(question.labels) if isinstance(question, Answers) else []
    return {**head, "answers": answers, "reports": found.reports}


def _summary_document(found: Summary | None) -> dict[str, Any]:
    if found is None:
        names = ("mean", "variance", "quantiles", "distribution", "histogram", "goodness_of_fit")
        return dict.fromkeys(names)
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
        "goodness_of_fit": found.goodness,
    }
