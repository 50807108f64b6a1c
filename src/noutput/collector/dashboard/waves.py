"""Waves of an adaptive campaign on its page: the range that each asked for, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from noutput.collector.dashboard import words
from noutput.questions import Number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from noutput.campaign.campaign import Campaign

__all__ = ["WaveView", "Waves", "newest_reports", "wave_views"]

_FIRST = "The range that was declared. The first people tell where the answers lie."


@dataclass(frozen=True, slots=True)
class WaveView:
    """One wave as texts: its number, its range, its published reports, and why it is so."""

    name: str
    range: str
    reports: str
    reason: str


@dataclass(frozen=True, slots=True)
class Waves:
    """All waves of a question, and what is said about them.

    Parameters
    ----------
    rows : sequence of WaveView
    note : str
        When the next wave begins, or what the waves mean for those who answer.
    """

    rows: Sequence[WaveView]
    note: str


def wave_views(campaign: Campaign, place: int, waves: Sequence[Mapping[str, Any]]) -> Waves | None:
    """Return the waves of a number; None where the campaign is not adaptive.

    Parameters
    ----------
    campaign : Campaign
    place : int
        Of the question.
    waves : sequence of dict
        As `noutput.collector.documents.waves_document` returns them.
    """
    question, following = campaign.questions[place], campaign.next_wave
    if following is None or not isinstance(question, Number):
        return None
    rows = []
    for number, wave in enumerate(waves, start=1):
        asked = wave["questions"][place]
        range_ = f"{asked['lower']:,.6g} to {asked['upper']:,.6g}"
        rows.append(
            WaveView(
                f"Wave {number}",
                words.with_unit(range_, question.unit),
                words.count(asked["reports"]),
                asked["reason"] or _FIRST,
            )
        )
    return Waves(rows, _note(campaign, len(rows)))


def newest_reports(place: int, waves: Sequence[Mapping[str, Any]], reports: int) -> int:
    """Return how many reports of the newest wave are published; of all where there is no wave."""
    return int(waves[-1]["questions"][place]["reports"]) if waves else reports


def _note(campaign: Campaign, count: int) -> str:
    following = campaign.next_wave
    if count > 1 or following is None:
        return (
            "A device moves a number beyond the range of its wave to the nearer end before it "
            "draws the report. Every table is certified for the same epsilon, and a person answers "
            "one wave. Estimates use the reports of all waves."
        )
    return (
        f"The second wave begins {following.beginning}: its range is chosen from published results "
        "only, and the campaign's document says by which rule."
    )
