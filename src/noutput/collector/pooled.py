"""Reports on one question over all waves of a campaign: what estimates are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from noutput.estimate.evidence import Evidence
from noutput.interval import Interval
from noutput.planner.adaptive import range_choices
from noutput.questions import Number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.strata import Selection
    from noutput.mechanisms.answers import AnswerMechanism
    from noutput.mechanisms.table import TableMechanism
    from noutput.tally import Tally

__all__ = ["Part", "estimated", "pooled"]

Mechanism: TypeAlias = "TableMechanism | AnswerMechanism"


@dataclass(frozen=True, slots=True)
class Part:
    """Reports that were drawn from one table, of numbers that were moved into the same bounds.

    Parameters
    ----------
    mechanism : TableMechanism or AnswerMechanism
    tally : Tally
    bounds : (float, float) or None
        In people's units; None for questions with answers.
    """

    mechanism: Mechanism
    tally: Tally
    bounds: tuple[float, float] | None


def pooled(
    entry: KnownCampaign, place: int, counts: Mapping[int, int], selection: Selection | None = None
) -> tuple[Part, ...]:
    """Return the parts of a question's reports, those of the first wave first.

    Waves with the same table and the same bounds are one part, so that a campaign which was not
    narrowed is estimated like one that is not adaptive. Waves without a report are left out, but
    for the first. Reports of all labels and rounds are put together, or of those selected.
    """
    found: dict[tuple[str, tuple[float, float] | None], Part] = {}
    tallies = entry.layout.tallies(counts, selection)
    for index, block in enumerate(entry.layout.blocks):
        if block.question != place:
            continue
        asked = entry.campaign.waves[block.wave].asked[place]
        bounds = (asked.lower, asked.upper) if isinstance(asked, Number) else None
        name, tally = (block.fingerprint, bounds), tallies[index]
        if name in found:
            found[name] = replace(found[name], tally=found[name].tally + tally)
        elif tally.total or not block.wave:
            found[name] = Part(entry.mechanisms[index], tally, bounds)
    return tuple(found.values())


def estimated(parts: Sequence[Part]) -> tuple[Any, Any]:
    """Return what estimators take first: a mechanism and a tally, or the evidence of all parts.

    The bounds of the first part are those declared, which the others' were chosen within.
    """
    first, *others = parts
    if not others:
        return first.mechanism, first.tally
    given = [(part.mechanism, part.tally, part.bounds) for part in parts]
    choices = 1 if first.bounds is None else range_choices(Interval(*first.bounds))
    return Evidence(given, choices=choices), None
