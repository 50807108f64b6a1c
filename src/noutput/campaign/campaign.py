"""A campaign: what is asked, how privately, and when, as one immutable document."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property

from noutput import _checks
from noutput._text import check_pattern, check_text
from noutput.campaign import document
from noutput.campaign.admission import Admission
from noutput.campaign.schedule import Round, Schedule, check_schedule
from noutput.campaign.segments import Labels, Segments, check_segments, read_labels
from noutput.campaign.text import check_instant, format_instant
from noutput.campaign.waves import Bounds, Inputs, NextWave, check_chain, check_wave, narrowed
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.mechanisms.certified import Table
from noutput.questions import Answers, Number, Question

__all__ = ["MAX_QUESTIONS", "OBJECTIVES", "Campaign", "fit_table"]

MAX_QUESTIONS = 64
OBJECTIVES = {  # by kind of question; the first is the default
    "number": ("balanced", "mean", "distribution"),
    "scale": ("cdf", "shares", "mean", "balanced"),
    "choice": ("shares", "cdf", "mean", "balanced"),
    "yes/no": ("shares", "cdf", "mean", "balanced"),
}
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)


@dataclass(frozen=True)
class Campaign:
    r"""What is asked, how privately, and when.

    Parameters
    ----------
    id : str
        Its name in addresses: from 1 to 64 of the characters a-z, 0-9 and -.
    title, text : str
        What people read; up to 200 and 1,000 bytes of UTF-8.
    questions : tuple of Number, Scale, Choice and YesNo
        What is asked, from 1 to 64 questions with different names.
    tables : tuple of Table
        One per question, of which its reports are drawn: that of a number has knots from the
        question's lower bound to its upper one, with jumps at its edges and nowhere else; that
        of answers has one row per answer. Its epsilon is that of the question, where the question
        has one of its own. Equal tables become one object.
    opens, closes : datetime
        When reports are counted, from `opens` until just before `closes`; whole seconds.
    public : bool
        Whether anyone may read the estimates.
    ask : "one" or "all"
        Whether a person reports on one question, drawn at random, or on all of them.
    objectives : tuple of str, optional
        What each table was designed for, one per question: "balanced" (the mean and the
        distribution), "mean" or "distribution" for numbers; "cdf" (the default of scales),
        "shares" (the default of choices and yes/no), "mean" or "balanced" for answers.
    admission : Admission
        Whose reports are counted: everybody's, if not given.
    segments : Segments, optional
        Public labels that reports may carry, and that are not protected.
    schedule : Schedule, optional
        Rounds, of which a device answers a few per period. The time from `opens` to `closes` is a
        whole number of periods. Neither adaptive campaigns nor those with tokens have one.
    next_wave : NextWave, optional
        For an adaptive campaign: when the people who follow get other bounds and tables.
    predecessor : Campaign, optional
        The campaign up to the wave before, of which `successor` makes this one.
    bounds : tuple of (float, float) or None
        The bounds of a later wave, one pair per number and None for other questions. Numbers
        outside are moved to the nearer bound on the device, before anything is drawn.
    inputs, reasons : tuples
        For later waves, one entry per question: the published counts of every earlier wave, of
        which the rule has chosen bounds and tables, and why it has chosen these.

    Notes
    -----
    An adaptive campaign is a chain of waves. Every wave is a campaign of its own, whose `tables`,
    `objectives`, `bounds` and `fingerprint` are those of the wave; its `predecessor` is the one
    before. All waves of a chain have one `root`, which is what ledgers, databases and tokens know
    the chain by: a person answers one wave.

    Guarantees
    ----------
    What one person sends satisfies :math:`\epsilon`-local differential privacy with the
    campaign's `epsilon`, which the tables have proven in whole numbers. For ``ask="one"`` it is
    the largest epsilon of all tables, and holds for the report as a whole: which question it is
    about does not depend on any value. For ``ask="all"`` it is the sum over all questions. It is
    the same in every wave: whoever chooses bounds and tables of later waves learns no more about
    those who answer them. With a schedule, it is the loss by one round, and `epsilon_per_period`
    that of all rounds of a period in which a device answers. Labels are not protected.

    Examples
    --------
    >>> from datetime import UTC
    >>> from noutput.questions import YesNo
    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", text="How was your way to work?",
    ...     questions=(Number(0, 180, "minutes", name="time"), YesNo(name="late")),
    ...     tables=(Table(1.1, ((0, 180),), rows), Table(1.2, (2,), rows)),
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2026, 4, 1, tzinfo=UTC),
    ... )
    >>> Campaign.from_json(campaign.to_json()) == campaign
    True
    >>> campaign.epsilon, campaign.is_open(datetime(2026, 3, 31, tzinfo=UTC))
    (1.2, True)
    >>> campaign.question_indexes, campaign.objectives, len(campaign.fingerprint)
    ({'time': 0, 'late': 1}, ('balanced', 'shares'), 64)

    The second wave of an adaptive campaign asks for a narrower range:

    >>> from dataclasses import replace
    >>> first = replace(campaign, next_wave=NextWave(reports=2_000, expected=10_000))
    >>> second = first.successor(
    ...     (first.tables[0].rescaled(0, 90), first.tables[1]), ((0, 90), None),
    ...     (((900, 100),), ((600, 400),)), ("few are above 90", ""))
    >>> second.root == first.fingerprint != second.fingerprint, second.asked[0].encode(120)
    (True, 90.0)
    >>> second.wave(first.fingerprint) == first
    True
    >>> Campaign.from_json(second.to_json()).waves == (first, second)
    True

    A campaign of four weeks that asks everybody once per week:

    >>> weekly = replace(campaign, closes=datetime(2026, 3, 29, tzinfo=UTC),
    ...     segments=Segments({"platform": ("ios", "android")}), schedule=Schedule("day", 7))
    >>> weekly.n_rounds, weekly.n_combinations, weekly.stratum({"platform": "android"}, 4)
    (28, 3, 14)
    >>> weekly.round_at(datetime(2026, 3, 3, 12, tzinfo=UTC)).number, weekly.epsilon_per_period
    (2, 1.2)
    >>> weekly.total_within(days=30), weekly.total_within(days=7)  # of the policy of a person
    (4.8, 2.4)
    >>> weekly.round(27).end == weekly.closes, len(campaign.notice), len(weekly.notice.split("."))
    (True, 0, 5)
    """

    id: str
    title: str
    text: str
    questions: tuple[Question, ...]
    tables: tuple[Table, ...]
    opens: datetime
    closes: datetime
    public: bool = False
    ask: str = "one"
    objectives: tuple[str, ...] = ()
    admission: Admission = Admission()  # noqa: RUF009 (frozen)
    segments: Segments | None = None
    schedule: Schedule | None = None
    next_wave: NextWave | None = None
    predecessor: Campaign | None = field(default=None, repr=False)
    bounds: tuple[Bounds, ...] = ()
    inputs: Inputs = field(default=(), repr=False)
    reasons: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rule = "be a letter a-z or a digit and at most 63 more of a-z, 0-9 and -"
        check_pattern("id", self.id, _ID, rule)
        check_text("title", self.title, 1, 200)
        check_text("text", self.text, 1, 1000)
        if not isinstance(self.public, bool):
            raise InvalidArgumentError("public", "be true or false", self.public)
        _checks.choice("ask", self.ask, ("one", "all"))
        for name in ("opens", "closes"):
            object.__setattr__(self, name, check_instant(name, getattr(self, name)))
        if not self.opens < self.closes:
            rule = f"be later than opens ({format_instant(self.opens)})"
            raise InvalidArgumentError("closes", rule, format_instant(self.closes))
        object.__setattr__(self, "questions", _questions(self.questions))
        object.__setattr__(self, "tables", _tables(self.tables, self.questions))
        objectives = _objectives(self.objectives, self.questions)
        object.__setattr__(self, "objectives", objectives)
        _check_admission(self.admission)
        check_segments(self)
        check_schedule(self)
        check_chain(self)
        for name, value in zip(("bounds", "inputs", "reasons"), check_wave(self), strict=True):
            object.__setattr__(self, name, value)
        for index, (table, question) in enumerate(zip(self.tables, self.asked, strict=True)):
            _check_fit(f"tables[{index}]", table, question)

    @property
    def epsilon(self) -> float:
        """The privacy loss of what one person sends, or sends per round, proven by the tables."""
        losses = [table.epsilon for table in self.tables]
        return max(losses) if self.ask == "one" else math.fsum(losses)

    @property
    def notice(self) -> str:
        """What clients show people before they answer: about labels and rounds; may be empty."""
        parts = (self.segments, self.schedule)
        return " ".join(each.notice for each in parts if each is not None)

    @property
    def epsilon_per_period(self) -> float:
        """The privacy loss of what one person sends in one period of the schedule."""
        return self.epsilon * (1 if self.schedule is None else self.schedule.answers)

    def total_within(self, days: float) -> float:
        """Return the total that a policy needs for the campaign, and for nothing else.

        Parameters
        ----------
        days : float
            Those of the policy.

        Returns
        -------
        float
            The largest loss of one person in any so many days: of the answers that they can hold
            (`Schedule.most_answers`) or, without a schedule, of the one answer. With this total or
            more, and with an epsilon that allows the campaign, no answer is refused.
        """
        if self.schedule is None:
            return self.epsilon
        return self.epsilon * self.schedule.most_answers(days, self.n_rounds)

    @cached_property
    def n_rounds(self) -> int:
        """How many rounds the schedule has; 1 without one."""
        if self.schedule is None:
            return 1
        return (self.closes - self.opens) // timedelta(seconds=self.schedule.seconds)

    @cached_property
    def n_combinations(self) -> int:
        """How many combinations of labels there are; 1 without segments."""
        return 1 if self.segments is None else self.segments.n_combinations

    def stratum(self, labels: Labels, number: int | None) -> int:
        """Return the number of a stratum: all combinations of round 0, then those of round 1.

        Without segments there are no labels, and without a schedule the round is None.
        """
        if not labels and number is None and self.schedule is None:
            return 0
        if self.segments is None and (found := read_labels(labels)):
            rule = "be absent: the campaign has no segments"
            raise InvalidArgumentError("labels", rule, found)
        if self.schedule is None:
            if number is not None:
                rule = "be absent: the campaign has no schedule"
                raise InvalidArgumentError("round", rule, number)
            number = 0
        place = _checks.whole("round", number, 0, self.n_rounds - 1)
        combination = 0 if self.segments is None else self.segments.combination(labels)
        return place * self.n_combinations + combination

    def round(self, number: int) -> Round:
        """Return a round of the schedule by its number, from 0."""
        schedule = self._scheduled()
        _checks.whole("number", number, 0, self.n_rounds - 1)
        length = timedelta(seconds=schedule.seconds)
        return Round(number, self.opens + number * length, self.opens + (number + 1) * length)

    def round_at(self, now: datetime) -> Round | None:
        """Return the round of an instant; None where the campaign is not open then."""
        schedule = self._scheduled()
        if not self.is_open(now):
            return None
        return self.round((now - self.opens) // timedelta(seconds=schedule.seconds))

    def _scheduled(self) -> Schedule:
        if self.schedule is None:
            raise InvalidArgumentError("campaign", "have a schedule", self.id)
        return self.schedule

    @cached_property
    def question_indexes(self) -> dict[str, int]:
        """The place of every question's name."""
        return {question.name: index for index, question in enumerate(self.questions)}

    @cached_property
    def waves(self) -> tuple[Campaign, ...]:
        """All waves up to this one, each as the campaign that it was."""
        return (self,) if self.predecessor is None else (*self.predecessor.waves, self)

    @cached_property
    def root(self) -> str:
        """The fingerprint of the first wave: what all waves of a chain have in common."""
        return self.waves[0].fingerprint

    def wave(self, fingerprint: str) -> Campaign | None:
        """Return the wave with this fingerprint; None where the chain has none."""
        return next((each for each in self.waves if each.fingerprint == fingerprint), None)

    @cached_property
    def asked(self) -> tuple[Question, ...]:
        """The questions as this wave asks them: a number has the bounds of the wave."""
        return tuple(map(narrowed, self.questions, self.bounds)) or self.questions

    def successor(
        self,
        tables: tuple[Table, ...],
        bounds: tuple[Bounds, ...],
        inputs: Inputs,
        reasons: tuple[str, ...],
    ) -> Campaign:
        """Return the campaign with one more wave; the objectives stay those of this one."""
        return replace(
            self, tables=tables, bounds=bounds, inputs=inputs, reasons=reasons, predecessor=self
        )

    def is_open(self, now: datetime) -> bool:
        """Say whether reports are counted at this instant."""
        return self.opens <= now < self.closes

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical form of the document, as 64 hexadecimal digits."""
        return document.fingerprint(self)

    def to_json(self) -> str:
        """Return the campaign as a JSON document with a format version and its fingerprint."""
        return document.write(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Campaign:
        """Read a campaign from JSON, and certify its tables.

        Raises
        ------
        DocumentError
            If the text is no campaign, or needs a newer version of noutput; a part that breaks
            a rule is an InvalidArgumentError.
        PrivacyError
            If a table is not as private as it claims.
        """
        found, (first, *later) = document.read(text, MAX_QUESTIONS)
        campaign = cls(**first)
        for index, parts in enumerate(later, start=1):
            document.check_predecessor(found, index, campaign.fingerprint)
            campaign = cls(**parts, predecessor=campaign)
        if found["fingerprint"] != campaign.fingerprint:
            rule = f"be {campaign.fingerprint}"
            raise DocumentError("fingerprint", rule, found["fingerprint"])
        return campaign


def fit_table(table: Table, question: Question) -> Table:
    """Return a table that was designed on other bounds with its knots on those of a question.

    Examples
    --------
    >>> table = Table(1.1, ((-1, 1),), ((3 << 30, 1 << 30), (1 << 30, 3 << 30)))
    >>> fit_table(table, Number(0, 180)).axes
    ((0.0, 180.0),)
    """
    if not isinstance(question, Number):
        return table
    return table.rescaled(question.lower, question.upper)


def _questions(value: tuple[Question, ...]) -> tuple[Question, ...]:
    questions = tuple(value)
    for index, question in enumerate(questions):
        if not isinstance(question, Number | Answers):
            rule = "be a Number, a Scale, a Choice or a YesNo"
            raise InvalidArgumentError(f"questions[{index}]", rule, type(question).__name__)
        if not question.name:
            raise InvalidArgumentError(f"questions[{index}].name", "be given", question.name)
    names = [question.name for question in questions]
    if not 1 <= len(names) <= MAX_QUESTIONS:
        rule = f"have from 1 to {MAX_QUESTIONS} entries"
        raise InvalidArgumentError("questions", rule, len(names))
    if len(set(names)) < len(names):
        raise InvalidArgumentError("questions", "have different names", names)
    return questions


def _tables(value: tuple[Table, ...], questions: tuple[Question, ...]) -> tuple[Table, ...]:
    """Return one table per question; equal ones become one object."""
    tables = tuple(value)
    if len(tables) != len(questions):
        rule = f"have {len(questions)} entries, one per question"
        raise InvalidArgumentError("tables", rule, len(tables))
    for index, table in enumerate(tables):
        if not isinstance(table, Table):
            raise InvalidArgumentError(f"tables[{index}]", "be a Table", type(table).__name__)
    different = {table: table for table in reversed(tables)}
    return tuple(different[table] for table in tables)


def _check_fit(name: str, table: Table, question: Question) -> None:
    """Refuse a table that is none of its question, as its wave asks it."""
    if question.epsilon not in (None, table.epsilon):
        rule = f"have the epsilon of its question, {question.epsilon!r}"
        raise InvalidArgumentError(name, rule, table.epsilon)
    if isinstance(question, Answers):
        if table.axes != (question.n_answers,):
            rule = f"be a table of {question.n_answers} answers"
            raise InvalidArgumentError(name, rule, table.described)
        return
    if len(table.axes) != 1 or isinstance(table.axes[0], int):
        raise InvalidArgumentError(name, "be a table of a number", table.described)
    if isinstance(question, Number):
        bounds, edges = (question.lower, question.upper), tuple(question.edges or ())
        if (table.knots[0], table.knots[-1]) != bounds:
            rule = f"have knots from {bounds[0]} to {bounds[1]}, as its question has"
            raise InvalidArgumentError(name, rule, (table.knots[0], table.knots[-1]))
        if table.jumps != edges:
            rule = f"have jumps at the edges of its question, {list(edges)}"
            raise InvalidArgumentError(name, rule, list(table.jumps))


def _check_admission(value: object) -> None:
    if not isinstance(value, Admission):
        raise InvalidArgumentError("admission", "be an Admission", type(value).__name__)


def _objectives(value: tuple[str, ...], questions: tuple[Question, ...]) -> tuple[str, ...]:
    objectives = tuple(value or ()) or tuple(OBJECTIVES[each.kind][0] for each in questions)
    if len(objectives) != len(questions):
        rule = f"have {len(questions)} entries, one per question"
        raise InvalidArgumentError("objectives", rule, len(objectives))
    for index, (objective, question) in enumerate(zip(objectives, questions, strict=True)):
        _checks.choice(f"objectives[{index}]", objective, OBJECTIVES[question.kind])
    return objectives
