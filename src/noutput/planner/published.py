"""Plans for what is published: the report epsilon, or the people, that a central epsilon allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput import _checks
from noutput.amplification.inverse import largest_report_epsilon, reports_needed
from noutput.amplification.published import DELTA
from noutput.designs import catalog
from noutput.designs.design import check_own_epsilon, design
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.amplification.result import PublishedPrivacy
    from noutput.designs.answers.result import AnswerDesign
    from noutput.designs.result import Design
    from noutput.questions import Question

__all__ = ["plan_published"]


def plan_published(
    published_epsilon: float,
    *,
    epsilon: float | None = None,
    people: int | None = None,
    delta: float = DELTA,
    n_outputs: int | None = None,
    objective: str | None = None,
    question: Question | None = None,
) -> tuple[float, int, PublishedPrivacy]:
    """Return epsilon of a report, people and guarantee that keep to a published epsilon.

    Parameters
    ----------
    published_epsilon, delta : float
        What published counts may reveal about one person.
    epsilon : float, optional
        Of a report: then the number of people is found.
    people : int, optional
        Then the largest epsilon of a report is found, among those of the catalog.
    n_outputs, objective, question
        Which table is used; see `noutput.design`.

    Raises
    ------
    InvalidArgumentError
        If not exactly one of epsilon and people is given, or no table of the catalog keeps to it.

    Examples
    --------
    >>> epsilon, people, found = plan_published(0.05, people=1_000_000, objective="worst")
    >>> epsilon, people, found.epsilon <= 0.05
    (4.0, 1000000, True)
    """
    wanted = _checks.positive("published_epsilon", published_epsilon)
    check_own_epsilon(question, epsilon)

    def family(choice: float) -> Design | AnswerDesign:
        return design(choice, n_outputs, objective, question=question)

    if epsilon is not None and people is None:
        found = reports_needed(family(epsilon), epsilon=wanted, delta=delta)
        return epsilon, max(found.reports, 2), found
    if epsilon is None and people is not None:
        goal = objective or "balanced"
        ready = catalog.EPSILONS if goal in catalog.OBJECTIVES else catalog.TRAINED_EPSILONS
        best = largest_report_epsilon(
            family, ready, published_epsilon=wanted, reports=people, delta=delta
        )
        if best is None:
            rule = f"be larger: with {people} people no table of the catalog keeps to it"
            raise InvalidArgumentError("published_epsilon", rule, published_epsilon)
        return best[0], people, best[1]
    given = [
        name for name, value in (("epsilon", epsilon), ("people", people)) if value is not None
    ]
    rule = "be given one at a time with published_epsilon (the other is computed)"
    raise InvalidArgumentError("epsilon and people", rule, given)
