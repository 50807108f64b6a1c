"""Next wave of an adaptive campaign: the rule that its document names, and whether it was kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput.errors import InvalidArgumentError
from noutput.mechanisms.table import TableMechanism, unit_mechanism
from noutput.planner.adaptive import NextRange, choose_range
from noutput.questions import Number
from noutput.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.campaign.campaign import Campaign
    from noutput.campaign.waves import Bounds, Inputs
    from noutput.mechanisms.certified import Table

__all__ = ["RULE_WAVES", "check_successor", "next_campaign"]

_EDGES_STAY = "The bounds stay: the edges of the question are fixed."
RULE_WAVES = {"range 1": 2}  # how many waves a rule makes, the first included


def next_campaign(campaign: Campaign, counts: Sequence[Sequence[int]]) -> Campaign:
    """Return an adaptive campaign with its second wave, as its rule chooses it.

    Parameters
    ----------
    campaign : Campaign
        The first wave of an adaptive campaign.
    counts : sequence of sequences of int
        The published counts of every question's outputs.

    Notes
    -----
    Everything follows from the arguments, and the successor holds them: so everybody who has it
    can tell whether it is what the rule says, with `check_successor`.
    """
    if campaign.next_wave is None or campaign.predecessor is not None:
        rule = "be the first wave of an adaptive campaign"
        raise InvalidArgumentError("campaign", rule, campaign.id)
    tables: list[Table] = []
    bounds: list[Bounds] = []
    reasons: list[str] = []
    for place, (question, table) in enumerate(
        zip(campaign.questions, campaign.tables, strict=True)
    ):
        tables.append(table)
        bounds.append(None)
        reasons.append("")
        if isinstance(question, Number):
            bounds[-1] = (question.lower, question.upper)
            if question.edges:
                reasons[-1] = _EDGES_STAY
                continue
            found = _choose(campaign, place, question, table, tuple(counts[place]))
            if found.bounds is not None and isinstance(found.mechanism, TableMechanism):
                lower, upper = found.bounds.lower, found.bounds.upper
                designed = found.mechanism.plain if found.narrowed else table
                bounds[-1], tables[-1] = (lower, upper), designed.rescaled(lower, upper)
            reasons[-1] = found.reason
    inputs: Inputs = tuple((tuple(each),) for each in counts)
    return campaign.successor(tuple(tables), tuple(bounds), inputs, tuple(reasons))


def check_successor(campaign: Campaign) -> Campaign:
    """Return the wave that the rule gives for the inputs in a document with two waves.

    It is equal to the second wave where that is what the rule says.
    """
    second = campaign.waves[1] if len(campaign.waves) > 1 else None
    if second is None:
        raise InvalidArgumentError("campaign", "have a second wave", campaign.id)
    return next_campaign(campaign.waves[0], [parts[0] for parts in second.inputs])


def _choose(
    campaign: Campaign,
    place: int,
    question: Number,
    table: Table,
    counts: tuple[int, ...],
) -> NextRange:
    """Apply the rule to one number, for the people who have not answered it yet."""
    following = campaign.next_wave
    people = 0 if following is None else following.expected
    if campaign.ask == "one":  # each answers one of the questions
        people //= len(campaign.questions)
    return choose_range(
        unit_mechanism(table),
        Tally(table.fingerprint, counts),
        (question.lower, question.upper),
        expected=max(people - sum(counts), 0),
        objective=campaign.objectives[place],
    )
