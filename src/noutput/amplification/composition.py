r"""Composition: several questions, segments and rounds of published counts.

Notes
-----
**Parts that exclude each other** (`published_parts`): segments, or questions of which a person
answers one. The label of a report, its question or its segment, is public: the counts of each part
are published. Give the adversary the labels of all people. Then a change of one person's value
changes the counts of one part only, those of the others are independent of it, and what hides the
person are the reports of *that part*: n is the number of reports with the same label, not the
total. This needs labels that do not depend on the private values: a question drawn at random,
whatever the values are, or a segment that is public anyway. Each person has the guarantee of their
own part, everybody that of the worst one.

*Before the campaign* only the total is known. If each of n people draws one of d questions
uniformly, the number of reports beside a person's own is binomial, and step 3 of
`noutput.amplification.law` with :math:`\gamma/d` in place of :math:`\gamma` averages over it
exactly (`planned_questions`). Delta is then the average over the person's own draw, so it is at
most the largest of the d.

**Parts that everybody is in** (`published_rounds`): rounds over time, or all questions of a
campaign that asks all. Each part's noise is its own, so the parts compose:

- *adding up*: epsilons and deltas add up, also where a later part is designed after the earlier
  ones were seen;
- *optimal composition of (epsilon, delta)* (Kairouz, Oh and Viswanath, "The Composition Theorem
  for Differential Privacy", ICML 2015, theorem 3.3): k parts that are :math:`(\epsilon,
  \delta)`-private are together :math:`((k - 2i)\epsilon,\ 1 - (1 - \delta)^k (1 -
  \delta_i))`-private for :math:`i = 0, \dots, \lfloor k/2\rfloor` with

  .. math:: \delta_i = \sum_{l=0}^{i-1} \binom kl \frac{e^{(k-l)\epsilon} - e^{(k-2i+l)\epsilon}}
            {(1 + e^\epsilon)^k} ,

  and parts that differ are covered by the largest epsilon and the largest delta among them.

Both are theorems; the smaller epsilon is returned. Composing the laws of the losses numerically
would be tighter still, and is not done: the lattice bound here is one of the expectation
:math:`E[S_+]`, not of the law of the loss. All terms of :math:`\delta_i` are positive; they are
computed in logarithms, and the sum is taken :math:`10^{-9}` larger than computed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from noutput import _checks
from noutput.amplification.published import DELTA, Certified, Designed, Task, published_privacy
from noutput.amplification.result import PublishedPrivacy, round_up
from noutput.errors import InvalidArgumentError

__all__ = [
    "PublishedParts",
    "PublishedRounds",
    "planned_questions",
    "published_parts",
    "published_rounds",
]

_MOST_ROUNDS = 10_000


@dataclass(frozen=True)
class PublishedParts:
    """Guarantees of parts that exclude each other: one per segment or question.

    Attributes
    ----------
    parts : dict of PublishedPrivacy
        By name. A person has the guarantee of their own part.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.design(1.0, 16, "worst")
    >>> found = no.published_parts(m, reports={"ios": 100_000, "other": 12})
    >>> found.weakest, found.unprotected, round(found.epsilon, 3), found.delta
    ('other', ('other',), 1.0, 1e-08)
    """

    parts: dict[str, PublishedPrivacy]

    @property
    def epsilon(self) -> float:
        """What holds for everybody: the largest epsilon of a part."""
        return max(part.epsilon for part in self.parts.values())

    @property
    def delta(self) -> float:
        """The largest delta of a part."""
        return max(part.delta for part in self.parts.values())

    @property
    def weakest(self) -> str:
        """The part with the largest epsilon."""
        return max(self.parts, key=lambda name: self.parts[name].epsilon)

    @property
    def unprotected(self) -> tuple[str, ...]:
        """Parts too small for their counts to reveal less than a report does."""
        return tuple(name for name, part in self.parts.items() if not part.amplified)

    def __str__(self) -> str:
        lines = []
        for name, part in self.parts.items():
            gain = "" if part.amplified else ", no less than a report itself: too few reports"
            text = f"epsilon {round_up(part.epsilon)} with {part.reports:,} reports{gain}"
            lines.append(f"{name}: {text}")
        return "\n".join(lines)


@dataclass(frozen=True)
class PublishedRounds:
    """Guarantee of several published counts that one person is in.

    Attributes
    ----------
    epsilon, delta : float
        For all rounds together.
    rounds : tuple of PublishedPrivacy
    rule : str
        ``"sum"`` or ``"optimal"``: which theorem gave the smaller epsilon.

    Examples
    --------
    >>> import noutput as no
    >>> found = no.published_rounds(no.design(1.0, 16, "worst"), reports=[100_000, 50_000])
    >>> found.rule, found.epsilon < 0.05, found.delta
    ('sum', True, 1e-08)
    """

    epsilon: float
    delta: float
    rounds: tuple[PublishedPrivacy, ...]
    rule: str


def published_parts(
    mechanism: Certified | Designed | Mapping[str, Certified | Designed],
    *,
    reports: Mapping[str, int],
    delta: float = DELTA,
) -> PublishedParts:
    """Return what the counts of segments, or of questions of which a person answers one, reveal.

    Parameters
    ----------
    mechanism
        One table for all parts, or one per name.
    reports : dict of int
        How many honest reports each part has.
    delta : float
        As in `published_privacy`; a person is in one part, so it is not divided.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.design(1.0, 16, "worst")
    >>> found = no.published_parts(m, reports={"ios": 100_000, "android": 900_000, "other": 12})
    >>> found.weakest, found.unprotected
    ('other', ('other',))
    >>> print(found)
    ios: epsilon 0.0167 with 100,000 reports
    android: epsilon 0.00524 with 900,000 reports
    other: epsilon 1 with 12 reports, no less than a report itself: too few reports
    """
    if not reports:
        raise InvalidArgumentError("reports", "name at least one part", reports)
    if isinstance(mechanism, Mapping):
        if set(mechanism) != set(reports):
            rule = "have one table per part"
            raise InvalidArgumentError("mechanism", rule, sorted(mechanism))
        tables = dict(mechanism)
    else:
        tables = dict.fromkeys(reports, mechanism)
    return PublishedParts(
        {
            name: published_privacy(tables[name], reports=count, delta=delta)
            for name, count in reports.items()
        }
    )


def planned_questions(
    mechanisms: Mapping[str, Certified | Designed], *, reports: int, delta: float = DELTA
) -> PublishedParts:
    """Return what to expect where each person will answer one question, drawn uniformly.

    Parameters
    ----------
    mechanisms : dict of tables
        One per question.
    reports : int
        How many people will answer, each one question.
    delta : float
        As in `published_privacy`, over the draw of the questions as well.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.design(1.0, 16, "worst")
    >>> both = no.planned_questions({"age": m, "pay": m}, reports=200_000)
    >>> half = no.published_privacy(m, reports=100_000)
    >>> abs(both.epsilon / half.epsilon - 1.0) < 0.01
    True
    """
    if not mechanisms:
        raise InvalidArgumentError("mechanisms", "name at least one question", mechanisms)
    chance = _checks.inner_share("delta", delta)
    share = 1.0 / len(mechanisms)
    return PublishedParts(
        {name: Task.of(table, reports, share).privacy(chance) for name, table in mechanisms.items()}
    )


def published_rounds(
    mechanism: Certified | Designed | Sequence[Certified | Designed],
    *,
    reports: Sequence[int],
    delta: float = DELTA,
) -> PublishedRounds:
    """Return what the counts of several rounds reveal about a person who is in all of them.

    Rounds may be questions: where a campaign asks all, a person is in the counts of each.

    Parameters
    ----------
    mechanism
        The table of every round, or one per round.
    reports : sequence of int
        How many honest reports each round has; at most 10,000 rounds.
    delta : float
        For all rounds together. Half of it is divided among the rounds, and half is left for the
        composition; adding up uses all of it for the rounds.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.design(1.0, 16, "worst")
    >>> year = no.published_rounds(m, reports=[100_000] * 52)
    >>> year.rule, year.epsilon < 0.75, len(year.rounds)
    ('optimal', True, 52)
    >>> both = no.published_rounds([m, no.design(2.0, 16, "worst")], reports=[100_000, 100_000])
    >>> both.epsilon < 0.07
    True
    """
    counts = list(reports)
    if not 1 <= len(counts) <= _MOST_ROUNDS:
        rule = f"have from 1 to {_MOST_ROUNDS} entries"
        raise InvalidArgumentError("reports", rule, len(counts))
    tables = list(mechanism) if isinstance(mechanism, Sequence) else [mechanism] * len(counts)
    if len(tables) != len(counts):
        raise InvalidArgumentError("mechanism", "have one table per round", len(tables))
    chance = _checks.inner_share("delta", delta)
    summed = _rounds(tables, counts, chance / len(counts))
    total = math.fsum(part.epsilon for part in summed) * (1.0 + 1e-15)
    if len(counts) == 1:
        return PublishedRounds(total, chance, summed, "sum")
    halved = _rounds(tables, counts, 0.5 * chance / len(counts))
    worst = max(part.epsilon for part in halved)
    epsilon = _optimal(worst, 0.5 * chance / len(counts), len(counts), chance)
    if epsilon < total:
        return PublishedRounds(epsilon, chance, halved, "optimal")
    return PublishedRounds(total, chance, summed, "sum")


def _rounds(
    tables: list[Certified | Designed], counts: list[int], delta: float
) -> tuple[PublishedPrivacy, ...]:
    known: dict[tuple[int, int], PublishedPrivacy] = {}
    rounds = [(id(table), count) for table, count in zip(tables, counts, strict=True)]
    for name, table in zip(rounds, tables, strict=True):
        if name not in known:
            known[name] = published_privacy(table, reports=name[1], delta=delta)
    return tuple(known[name] for name in rounds)


def _optimal(epsilon: float, delta: float, count: int, allowed: float) -> float:
    """Return the smallest epsilon of k equal parts together that keeps to the allowed delta."""
    survives = count * math.log1p(-delta)
    low, high = 0, count // 2
    while low < high:  # the part delta_i grows with i
        middle = (low + high + 1) // 2
        together = -math.expm1(survives + math.log1p(-_extra(epsilon, count, middle)))
        if together * (1.0 + 1e-12) <= allowed:
            low = middle
        else:
            high = middle - 1
    return (count - 2 * low) * epsilon * (1.0 + 1e-15)


def _extra(epsilon: float, count: int, i: int) -> float:
    """Return delta_i of the theorem, slightly larger than computed, and below 1."""
    log_all = count * (epsilon + math.log1p(math.exp(-epsilon)))
    terms = []
    for chosen in range(i):
        ways = math.lgamma(count + 1) - math.lgamma(chosen + 1) - math.lgamma(count - chosen + 1)
        larger = (count - chosen) * epsilon
        gap = -math.expm1((2 * chosen - 2 * i) * epsilon)
        terms.append(math.exp(ways + larger - log_all) * gap)
    return min(math.fsum(terms) * (1.0 + 1e-9), 1.0 - 1e-16)
