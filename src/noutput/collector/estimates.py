"""Estimates of a campaign, computed once for every state of its counts."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from noutput._numbers import round_bins
from noutput.collector.computed import LONGEST_REST_SECONDS, rest_seconds
from noutput.collector.documents import (
    estimates_document,
    privacy_document,
    strata_document,
    waves_document,
)
from noutput.collector.estimable import check_question
from noutput.collector.guarantees import (
    Readers,
    by_table,
    campaign_readers,
    readers_of,
    selected,
    together,
    weakest_of,
)
from noutput.collector.lanes import BusyError, Lane, Once
from noutput.collector.pooled import Part, estimated, pooled
from noutput.collector.strata import Selection
from noutput.collector.whole import whole_counts
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.estimate.summary import AnswerSummary, Summary, summaries
from noutput.questions import Answers, Number, Question

if TYPE_CHECKING:
    from datetime import datetime

    from noutput.campaign.campaign import Campaign
    from noutput.collector.clock import Clock
    from noutput.collector.metrics import Metrics
    from noutput.collector.steps import Steps
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import Published, Release, Store
    from noutput.estimate.evidence import Evidence
    from noutput.mechanisms.answers import AnswerMechanism
    from noutput.tally import Tally

__all__ = [
    "ASSUMPTIONS", "BINS", "CONTRADICTED", "LEVELS", "NOTHING", "PAGE_LEVEL",
    "CampaignEstimates", "Contents", "Estimates", "QuestionEstimates", "allowed_bins", "page_bins",
]  # fmt: skip

# What may be asked for is a small set, so that all of it is computed before the first answer ends
# to be used: nobody keeps the collector busy by asking for something else every time.
LEVELS: Final = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
BINS: Final = (4, 8, 16, 32, 64, 128, 256)
PAGE_LEVEL: Final = 0.95
NOTHING: Final = ""
ASSUMPTIONS: Final = (NOTHING, "smooth")  # of the distribution of a number
CONTRADICTED: Final = "The reports contradict that the answers are smooth."

_OTHER_BINS = 64
_FEWEST = 2  # reports that say anything
_KEPT_BINS = 1 << 16  # of all answers together; a bin takes about half a kilobyte
_LONGEST_ASSUMING_SECONDS = 600.0  # intervals under an assumption take seconds
_KEPT_ANSWERS = 64  # questions whose answers are known, whatever the bins of others

Name: TypeAlias = tuple[int, str, int, int | None, str, int, Selection]
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

    Without a summary, `reason` says why. `readers` is the guarantee of everybody whose report on
    this question was published, and `last_readers` that of those in the last step; None where
    nothing below the epsilon of a report is proven. Where a person answers all questions, it is
    about this one alone.

    A note says that the intervals do not assume what was asked for. The parts are the reports of
    all waves: one where the question was asked in one way.
    """

    question: Question
    parts: tuple[Part, ...]
    summary: Summary | AnswerSummary | None
    reason: str | None = None
    release: Release | None = None
    readers: Readers | None = None
    last_readers: Readers | None = None
    note: str = ""

    @property
    def reports(self) -> int:
        """The number of published reports on the question."""
        return sum(part.tally.total for part in self.parts)


class Contents:
    """Estimates as JSON, by level: each is made when it is first asked for.

    Parameters
    ----------
    campaign : Campaign
    questions : mapping of float to sequence of QuestionEstimates
        By level.
    more : mapping
        What else is said.
    """

    def __init__(
        self,
        campaign: Campaign,
        questions: Mapping[float, Sequence[QuestionEstimates]],
        more: Mapping[str, object],
    ) -> None:
        self._campaign = campaign
        self._questions = questions
        self._more = more
        self._made: dict[float, bytes] = {}

    def __contains__(self, level: float) -> bool:
        return level in self._made

    def __getitem__(self, level: float) -> bytes:
        made = self._made.get(level)
        if made is None:
            document = estimates_document(self._campaign, self._questions[level], level)
            made = json.dumps({**document, **self._more}, allow_nan=False).encode()
            self._made[level] = made
        return made


@dataclass(frozen=True, slots=True, eq=False)
class CampaignEstimates:
    """What the reports of a campaign say, for the dashboard and as JSON.

    Parameters
    ----------
    questions : sequence of QuestionEstimates
        In the campaign's order, with intervals of the dashboard's level.
    contents : Contents or None
        The same as ``GET /campaigns/{id}/estimates`` answers it, by level; None where only one
        question was asked for.
    readers : Readers or None
        The guarantee of everybody whose reports were published, about all that they sent.
    waves : sequence of dict
        What each wave asked, as `waves_document` says it.
    """

    questions: Sequence[QuestionEstimates]
    contents: Contents | None = None
    readers: Readers | None = None
    waves: Sequence[Mapping[str, Any]] = ()

    @property
    def reports(self) -> int:
        """The number of published reports on all questions."""
        return sum(each.reports for each in self.questions)


@dataclass(slots=True)
class _Answer:
    """One answer, and until when it is used without a look at the counts."""

    found: CampaignEstimates | None = None
    state: tuple[int, int] = (-1, 0)  # how many reports were published, and rounds over
    until: float = 0.0


class Estimates:
    """Cache of estimates, by campaign and number of published reports.

    Parameters
    ----------
    store : Store
    clock : Clock
    metrics : Metrics
    lane : Lane
        Where they are computed.
    steps : Steps
        In which reports are published.

    Notes
    -----
    An answer is used for a second, or ten times as long as it took to compute (30 seconds at
    most, and ten minutes under an assumption, where it takes seconds), before the counts are read
    again, and ever after where they are the same. All levels share the fit to the counts; intervals
    of other levels than the dashboard's are computed when they are asked for. All who wait for the
    same answer wait for one computation; those who have an answer from before get that meanwhile.
    Whoever asks, and however often, sees what was published last, and nothing else; `as_of` says
    when that was. What depends on neither bins nor page, such as the test for forgery, is computed
    once per question and counts.
    Called in one event loop.
    """

    def __init__(
        self, store: Store, clock: Clock, metrics: Metrics, lane: Lane, steps: Steps
    ) -> None:
        self._store = store
        self._steps = steps
        self._clock = clock
        self._metrics = metrics
        self._lane = lane
        self._answers: OrderedDict[Name, _Answer] = OrderedDict()
        self._bins: dict[Name, int] = {}
        self._once: Once[CampaignEstimates] = Once()
        self._contents: Once[bytes] = Once()

    async def get(
        self, entry: KnownCampaign, bins: int, place: int | None = None, assume: str = NOTHING,
        selection: Selection = _ALL,
    ) -> CampaignEstimates:  # fmt: skip
        """Return the estimates of a campaign, or of one of its questions only.

        What intervals of numbers may assume is one of `ASSUMPTIONS`. With a selection, they are
        those of the published reports with its labels, in its rounds.

        Raises
        ------
        BusyError
            If too many others are computed, and there is no answer from before.
        """
        state, waves = entry.state(self._clock()), len(entry.campaign.waves)
        name = (entry.key, state, bins, place, assume, waves, selection)
        answer = self._answer(name, bins * (len(entry.campaign.questions) if place is None else 1))
        found = answer.found
        if found is not None and (time.monotonic() < answer.until or name in self._once):
            return found
        try:
            return await self._once.get(
                name,
                lambda: self._lane.run(
                    self._refresh, answer, entry, bins, place, assume, selection
                ),
            )
        except BusyError:
            if found is None:
                raise
            return found

    async def content(
        self, entry: KnownCampaign, bins: int, level: float, assume: str,
        selection: Selection = _ALL,
    ) -> bytes:  # fmt: skip
        """Return the estimates of a campaign as JSON.

        Raises
        ------
        BusyError
            If too many others are computed.
        """
        found = await self.get(entry, bins, None, assume, selection)
        contents = found.contents
        if contents is None:  # pragma: no cover (all questions were asked for)
            raise TypeError(type(contents).__name__)
        if level in contents:
            return contents[level]
        return await self._contents.get(
            (id(contents), level), lambda: self._lane.run(contents.__getitem__, level)
        )

    def _answer(self, name: Name, bins: int) -> _Answer:
        answer = self._answers.setdefault(name, _Answer())
        self._answers.move_to_end(name)
        self._bins[name] = bins
        while sum(self._bins.values()) > _KEPT_BINS and len(self._answers) > 1:
            oldest, _ = self._answers.popitem(last=False)
            del self._bins[oldest]
        return answer

    def _refresh(
        self,
        answer: _Answer,
        entry: KnownCampaign,
        bins: int,
        place: int | None,
        assume: str,
        selection: Selection,
    ) -> CampaignEstimates:
        start = time.monotonic()
        found = answer.found
        if found is not None and start < answer.until:
            return found
        now = self._clock()
        shown = self._store.published(entry.key)
        published = sum(shown.counts.values())
        over = entry.rounds_over(now) if selection.rounds else 0
        if found is None or (published, over) != answer.state:
            found = answer.found = _compute(
                entry, shown, bins, place, assume, selection, self._steps, now
            )
            answer.state = published, over
            self._metrics.estimates += 1
        end = time.monotonic()
        longest = _LONGEST_ASSUMING_SECONDS if assume else LONGEST_REST_SECONDS
        answer.until = end + rest_seconds(end - start, longest)
        return found


def _known(
    parts: tuple[Part, ...], question: Question, bins: int, assume: str
) -> tuple[Mapping[float, Summary | AnswerSummary], str | None, str]:
    """Return the summaries of a question by level, or none and why, and a note."""
    note = ""
    total = sum(part.tally.total for part in parts)
    if total == 0:
        return {}, "no report is published", note
    if total < _FEWEST:
        return {}, "there are fewer than two reports", note
    try:
        for part in parts:
            check_question(question, part.mechanism)
    except DocumentError as error:  # of a campaign that would be refused now
        return {}, f"{error.name} must {error.rule}", note
    if isinstance(question, Answers):
        known = _answer_summaries(*estimated(parts), question)
    else:
        shown = partial(summaries, *estimated(parts), question, LEVELS, bins=bins)
        try:
            known = shown(assume=assume or None)
        except InvalidArgumentError as error:
            if error.name != "assume":
                raise
            known = shown()
            note = CONTRADICTED
    page = known[PAGE_LEVEL]
    _ = page.goodness, page.bars, page.lines  # what the page shows: computed here, once
    return known, None, note


@lru_cache(maxsize=_KEPT_ANSWERS)
def _answer_summaries(
    mechanism: AnswerMechanism | Evidence, tally: Tally | None, question: Question
) -> Mapping[float, Summary | AnswerSummary]:
    return summaries(mechanism, tally, question, LEVELS)


def _compute(
    entry: KnownCampaign,
    shown: Published,
    bins: int,
    place: int | None,
    assume: str,
    selection: Selection,
    steps: Steps,
    now: datetime,
) -> CampaignEstimates:
    campaign = entry.campaign
    releases = selected(entry.layout, shown.releases, selection)
    tables = by_table(entry.layout, releases)
    found: dict[float, list[QuestionEstimates]] = {level: [] for level in LEVELS}
    for index, each in enumerate(campaign.questions):
        counts = whole_counts(entry, shown, selection, index, now)
        parts = pooled(entry, index, counts, selection or None)
        known: Mapping[float, Summary | AnswerSummary] = {}
        reason: str | None = None
        note = ""
        blocks = [
            release for release in tables if entry.layout.blocks[release.question].question == index
        ]
        readers: tuple[Readers | None, Readers | None] = (None, None)
        if place in (None, index):
            known, reason, note = _known(parts, each, bins, assume)
            readers = _readers(entry, blocks)
        release = together(blocks) if blocks else None
        for level, questions in found.items():
            summary = known.get(level)
            questions.append(
                QuestionEstimates(each, parts, summary, reason, release, *readers, note=note)
            )
    everybody = campaign_readers(entry, shown.releases)
    waves = waves_document(entry, shown.counts, selection or None)
    if place is not None:
        return CampaignEstimates(found[PAGE_LEVEL], None, everybody, waves)
    more: dict[str, Any] = {
        "as_of": max((each.at for each in releases), default=None),
        "state": entry.state(now),
        "privacy": privacy_document(campaign, everybody),
        "waves": waves,
    }
    if entry.layout.strata.size > 1:
        more["strata"] = strata_document(entry, shown, selection, steps, now)
    contents = Contents(campaign, found, more)
    _ = contents[PAGE_LEVEL]
    return CampaignEstimates(found[PAGE_LEVEL], contents, everybody, waves)


def _readers(
    entry: KnownCampaign, releases: Sequence[Release]
) -> tuple[Readers | None, Readers | None]:
    """Return the guarantees of the smallest and of the last step, over all waves."""
    pairs = [(entry.mechanisms[each.question], each) for each in releases]
    smallest = [readers_of([table], [each.smallest]) for table, each in pairs]
    last = [readers_of([table], [each.last]) for table, each in pairs]
    return weakest_of(smallest), weakest_of(last)
