"""Estimates of a campaign, for its page and as JSON."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from noutput._numbers import round_bins
from noutput.collector.documents import (
    estimates_document,
    privacy_document,
    strata_document,
    waves_document,
)
from noutput.collector.estimable import check_question
from noutput.collector.guarantees import Readers, campaign_readers, releases_of, together
from noutput.collector.measured import FEWEST, has_cells
from noutput.collector.pooled import Part, estimated, pooled
from noutput.collector.strata import Selection
from noutput.collector.whole import whole_counts
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.estimate.summary import AnswerSummary, CellSummary, Summary, summaries
from noutput.questions import Answers, Number, Question

if TYPE_CHECKING:
    from datetime import datetime

    from noutput.campaign.campaign import Campaign
    from noutput.collector.cache import Answer, Cache
    from noutput.collector.clock import Clock
    from noutput.collector.lanes import Lane, Lanes
    from noutput.collector.publishing import ReleasePolicy
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import Published, Release
    from noutput.tally import Tally

__all__ = [
    "BINS", "LEVELS", "PAGE_LEVEL",
    "CampaignEstimates", "Estimates", "QuestionEstimates", "allowed_bins", "page_bins",
]  # fmt: skip

# What may be asked for is a small set, so that all of it is computed before the first answer ends
# to be used: nobody keeps the collector busy by asking for something else every time.
LEVELS: Final = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
BINS: Final = (4, 8, 16, 32, 64, 128, 256)
PAGE_LEVEL: Final = 0.95

_IMPOSSIBLE = (
    "the reports cannot have been made by this campaign's table; clients probably sent raw "
    "answers, without randomization"
)
_OTHER_BINS = 64
_KEPT_SUMMARIES = 16  # of questions whose estimates have no bins

_ALL = Selection()


def page_bins(question: Question) -> int:
    """Return the bins of a number on the dashboard: four together have a round width."""
    if isinstance(question, Number):
        return 4 * round_bins(question.lower, question.upper)
    return _OTHER_BINS


def allowed_bins(campaign: Campaign) -> list[int]:
    """Return which numbers of bins may be asked for: a few, and those of the dashboard."""
    return sorted({*BINS, *map(page_bins, campaign.questions)})


@dataclass(frozen=True, slots=True, eq=False)
class QuestionEstimates:
    """What the published reports on one question say.

    Without a summary, `reason` says why. The parts are the reports of all waves: one where the
    question was asked in one way.
    """

    question: Question
    parts: tuple[Part, ...]
    summary: Summary | AnswerSummary | CellSummary | None
    reason: str | None = None
    release: Release | None = None

    @property
    def reports(self) -> int:
        """The number of published reports on the question."""
        return sum(part.tally.total for part in self.parts)


@dataclass(frozen=True, slots=True, eq=False)
class CampaignEstimates:
    """What the reports of a campaign say about one of its questions, for the dashboard.

    Parameters
    ----------
    questions : sequence of QuestionEstimates
        In the campaign's order; only that question has a summary.
    readers : Readers or None
        What holds against everybody who sees only what is published, if nobody invents reports.
    waves : sequence of dict
        What each wave asked, as `waves_document` says it.
    """

    questions: Sequence[QuestionEstimates]
    readers: Readers | None = None
    waves: Sequence[Mapping[str, Any]] = ()

    @property
    def reports(self) -> int:
        """The number of published reports on all questions."""
        return sum(each.reports for each in self.questions)

    @classmethod
    def of(cls, answer: Answer) -> CampaignEstimates:
        """Read what `Estimates.question` answered."""
        result: CampaignEstimates = pickle.loads(answer.content)  # noqa: S301 (made in this process)
        return result


Write: TypeAlias = Callable[[Iterable[QuestionEstimates]], bytes]


class Estimates:
    """Estimates of campaigns, kept in a cache.

    Parameters
    ----------
    cache : Cache
    clock : Clock
    lanes : Lanes
    policy : ReleasePolicy
        In which reports are published.

    Notes
    -----
    Whoever asks, and however often, sees what was published last, and nothing else; `as_of` says
    when that was. Of all questions of a campaign, one at a time is in memory. What depends on
    neither bins nor page, such as the test for forgery, is computed once per question and counts.
    """

    def __init__(self, cache: Cache, clock: Clock, lanes: Lanes, policy: ReleasePolicy) -> None:
        self._cache = cache
        self._clock = clock
        self._lanes = lanes
        self._policy = policy

    async def question(
        self, entry: KnownCampaign, bins: int, index: int, selection: Selection = _ALL
    ) -> Answer:
        """Return the estimates of one question, which `CampaignEstimates.of` reads.

        With a selection, they are those of the published reports with its labels, in its rounds.
        """

        def make(counts: _Counts) -> bytes:
            questions = list(counts.questions(bins, index, PAGE_LEVEL))
            page = questions[index].summary
            if page is not None:
                _ = page.goodness, page.bars, page.lines  # what the page shows: computed here, once
            if isinstance(page, CellSummary):
                _ = page.moved
            return pickle.dumps(CampaignEstimates(questions, counts.readers, counts.waves))

        return await self._get(entry, (bins, index), selection, self._lanes.estimates, make)

    async def content(
        self, entry: KnownCampaign, bins: int, level: float, selection: Selection = _ALL,
        write: Write | None = None,
    ) -> Answer:  # fmt: skip
        """Return the estimates of all questions as JSON, or as a function writes them."""

        def make(counts: _Counts) -> bytes:
            questions = counts.questions(bins, None, level)
            if write is not None:
                return write(questions)
            document = estimates_document(entry.campaign, questions, level)
            return json.dumps({**document, **counts.about(self._policy)}, allow_nan=False).encode()

        several = len(entry.campaign.questions) > 1
        lane = self._lanes.slow if several else self._lanes.estimates
        return await self._get(entry, (bins, level, write), selection, lane, make)

    async def _get(
        self, entry: KnownCampaign, asked: tuple[Hashable, ...], selection: Selection,
        lane: Lane, make: Callable[[_Counts], bytes],
    ) -> Answer:  # fmt: skip
        now = self._clock()
        return await self._cache.published(
            entry,
            (*asked, selection, entry.state(now)),
            lane,
            lambda shown: make(_Counts(entry, shown, selection, now)),
            state=entry.rounds_over(now) if selection.rounds else 0,
        )


def _summary(
    parts: tuple[Part, ...], question: Question, bins: int, level: float
) -> tuple[Summary | AnswerSummary | CellSummary | None, str | None]:
    """Return the summary of a question, or None and why."""
    total = sum(part.tally.total for part in parts)
    if total == 0:
        return None, "no report is published"
    if total < FEWEST:
        return None, "there are fewer than two reports"
    try:
        for part in parts:
            check_question(question, part.mechanism)
    except DocumentError as error:  # of a campaign that would be refused now
        return None, f"{error.name} must {error.rule}"
    try:
        if isinstance(question, Answers) or has_cells(question):
            return _linear_summaries(*estimated(parts), question)[level], None
        return summaries(*estimated(parts), question, [level], bins=bins)[level], None
    except InvalidArgumentError as error:
        if error.name != "reports":
            raise
        return None, _IMPOSSIBLE


@lru_cache(maxsize=_KEPT_SUMMARIES)
def _linear_summaries(
    mechanism: Any, tally: Tally | None, question: Question
) -> Mapping[float, AnswerSummary | CellSummary]:
    return summaries(mechanism, tally, question, LEVELS)


class _Counts:
    """The published counts of a campaign, of which estimates are made."""

    def __init__(
        self, entry: KnownCampaign, shown: Published, selection: Selection, now: datetime
    ) -> None:
        self._entry = entry
        self._shown = shown
        self._selection = selection
        self._now = now
        self._releases = releases_of(entry.layout, shown.releases, selection)
        self.readers = campaign_readers(entry, shown.releases)
        self.waves = waves_document(entry, shown.counts, selection or None)

    def questions(self, bins: int, only: int | None, level: float) -> Iterator[QuestionEstimates]:
        """Estimate every question, or one only; the others have no summary."""
        entry, selection = self._entry, self._selection
        for index, question in enumerate(entry.campaign.questions):
            counts = whole_counts(entry, self._shown, selection, index, self._now)
            parts = pooled(entry, index, counts, selection or None)
            mine = [
                release
                for release in self._releases
                if entry.layout.block(release.question).question == index
            ]
            release = together(mine) if mine else None
            if only in (None, index):
                summary, reason = _summary(parts, question, bins, level)
                yield QuestionEstimates(question, parts, summary, reason, release)
            else:
                yield QuestionEstimates(question, parts, None, release=release)

    def about(self, policy: ReleasePolicy) -> dict[str, Any]:
        """Return what else than estimates is said."""
        entry = self._entry
        more: dict[str, Any] = {
            "as_of": max((each.at for each in self._releases), default=None),
            "state": entry.state(self._now),
            "privacy": privacy_document(entry.campaign, self.readers),
            "waves": self.waves,
        }
        if entry.layout.strata.size > 1:
            more["strata"] = strata_document(entry, self._shown, self._selection, policy, self._now)
        return more
