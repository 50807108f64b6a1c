"""Counts of reports per group of people, by public labels that the rows carry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from noutput.errors import InvalidArgumentError
from noutput.questions import Answers, Number
from noutput.tally import Tally

if TYPE_CHECKING:
    from noutput.estimate.mean_estimate import MeanEstimate
    from noutput.frames.reports import Certified
    from noutput.interval import IntervalLike
    from noutput.questions import Question

__all__ = ["GroupedTally", "Labels", "group_names", "grouped_tally", "label_text", "plain_label"]

Labels: TypeAlias = tuple[Any, ...]
_MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class GroupedTally(Mapping[Labels, Tally]):
    """Tallies of groups of people, by their labels.

    Parameters
    ----------
    by : tuple of str
        The columns with the labels.
    mechanism : TableMechanism or AnswerMechanism
        What made the reports.
    groups : mapping of tuples of labels to Tally
        In the order of the labels. A missing label is None.
    minimum : int
        How many reports a group has at least; all other groups are hidden.
    rest : Tally, optional
        The reports of all hidden groups together; None where they are fewer than the minimum, too,
        or where fewer than half of the minimum are of others than the largest of these groups.
    hidden : int
        How many groups have fewer reports.

    Notes
    -----
    A mapping of tuples of labels to tallies. Where there is one label, it may stand alone:
    ``groups["DE"]``.

    Labels are public. They are not protected by the mechanism, and whoever sees the counts of a
    group of three people learns more about them than epsilon says, if the labels tell who they
    are. `minimum` hides such groups, and everything that would tell them by subtraction: the
    sum of all reports is `total`, that of the groups shown and of the rest where it is shown, and
    `margin` adds up the same. A rest that is nearly all of one group would be this group under
    another name, and is not shown. Count once by all labels and take margins of that: a second
    count by fewer labels hides other groups, and the difference of both tells about those that are
    hidden.

    Examples
    --------
    >>> import noutput as no, pyarrow as pa
    >>> from noutput import frames
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> towns = ["A"] * 600 + ["B"] * 500 + ["C"] * 60 + [None] * 40
    >>> people = pa.table({"age": [30, 50] * 600, "town": towns})
    >>> reports = frames.privatize(people, "age", mechanism=m, bounds=(0, 120), keep="town")
    >>> groups = frames.tally(reports, "age", m, by="town", minimum=80)
    >>> {labels: tally.total for labels, tally in groups.items()}
    {('A',): 600, ('B',): 500}
    >>> groups["A"].total, groups.hidden, groups.rest.total, groups.total
    (600, 2, 100, 1200)

    >>> groups.names, groups.rest_mean((0, 120)).n_reports
    ({('A',): 'A', ('B',): 'B'}, 100)

    Two lines compare them:

    >>> means = groups.means((0, 120))
    >>> [(each.first, each.second) for each in no.compare_groups(means)]
    [('A', 'B')]
    >>> bool(0 < no.standardize(means, {"A": 0.9, "B": 0.1}).standard_error < 20)
    True
    """

    by: tuple[str, ...]
    mechanism: Certified
    groups: Mapping[Labels, Tally]
    minimum: int = 1
    rest: Tally | None = None
    hidden: int = 0

    def __getitem__(self, labels: Any) -> Tally:
        return self.groups[labels if isinstance(labels, tuple) else (labels,)]

    def __iter__(self) -> Iterator[Labels]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupedTally):
            return NotImplemented
        return self._content == other._content

    __hash__ = None  # type: ignore[assignment]  # as that of other mappings

    @property
    def _content(self) -> tuple[object, ...]:
        groups = dict(self.groups)
        return self.by, self.mechanism.fingerprint, groups, self.minimum, self.rest, self.hidden

    @property
    def total(self) -> int:
        """How many reports the groups have that are shown, and the rest if it is shown."""
        rest = 0 if self.rest is None else self.rest.total
        return sum(tally.total for tally in self.groups.values()) + rest

    @property
    def names(self) -> dict[Labels, str]:
        """The groups' labels as one text each, all different."""
        return group_names(self.groups)

    def margin(self, *by: str) -> GroupedTally:
        """Return the groups by some of the labels: sums of what is shown, and of nothing else.

        Examples
        --------
        >>> import noutput as no
        >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
        >>> tally = no.Tally(m.fingerprint, (400, 600))
        >>> both = {("DE", 1): tally, ("DE", 2): tally, ("FR", 1): tally}
        >>> groups = GroupedTally(("country", "version"), m, both)
        >>> {labels: tally.total for labels, tally in groups.margin("country").items()}
        {('DE',): 2000, ('FR',): 1000}
        """
        for name in by:
            if name not in self.by:
                raise InvalidArgumentError("by", f"name labels of {list(self.by)}", name)
        places = [self.by.index(name) for name in by]
        sums: dict[Labels, Tally] = {}
        for labels, tally in self.groups.items():
            key = tuple(labels[place] for place in places)
            sums[key] = sums[key] + tally if key in sums else tally
        return GroupedTally(by, self.mechanism, sums, self.minimum, self.rest, self.hidden)

    def means(
        self,
        bounds: IntervalLike | None = None,
        *,
        question: Question | None = None,
        answer: object = None,
        below: float | None = None,
        level: float = 0.95,
    ) -> dict[str, MeanEstimate]:
        """Return the estimate of every group, for `compare_groups` and `standardize`: of its mean.

        Parameters
        ----------
        bounds : Interval or pair of numbers
            Of numbers: the units of the reports.
        question : Number, Scale, Choice or YesNo
            The same for all kinds of questions.
        answer : answer, optional
            Of answers: the share of this one, in place of the mean score.
        below : float, optional
            Of numbers: the share of people below this one, in place of the mean.
        level : float
            Of shares below a number: that of the interval whose middle is the value.

        Raises
        ------
        InvalidArgumentError
            If a group has fewer than two reports, or reports that no people explain, such as raw
            answers.
        """
        estimate = self._estimator(bounds, question, answer, below, level)
        names = self.names
        return {names[labels]: estimate(self._possible(tally)) for labels, tally in self._told()}

    def rest_mean(
        self,
        bounds: IntervalLike | None = None,
        *,
        question: Question | None = None,
        answer: object = None,
        below: float | None = None,
        level: float = 0.95,
    ) -> MeanEstimate | None:
        """Return the mean of all hidden groups together, as `means` does; None if it is hidden."""
        if self.rest is None or self.rest.total < 2:
            return None
        return self._estimator(bounds, question, answer, below, level)(self._possible(self.rest))

    def _possible(self, tally: Tally) -> Tally:
        from noutput.estimate.goodness import check_possible  # needs scipy

        check_possible(self.mechanism, tally)
        return tally

    def _told(self) -> Iterator[tuple[Labels, Tally]]:
        for labels, tally in self.groups.items():
            if tally.total < 2:
                rule = "be at least two (minimum=... hides small groups)"
                name = f"reports of the group {self.names[labels]!r}"
                raise InvalidArgumentError(name, rule, tally.total)
            yield labels, tally

    def _estimator(
        self,
        bounds: IntervalLike | None,
        question: Question | None,
        answer: object,
        below: float | None,
        level: float,
    ) -> Callable[[Tally], MeanEstimate]:
        """Return what estimates the mean of a tally, or refuse what does not fit the mechanism."""
        from noutput.estimate.answers import estimate_answers  # needs scipy, as the next
        from noutput.estimate.mean import estimate_mean
        from noutput.estimate.share import estimate_share
        from noutput.mechanisms.answers import AnswerMechanism

        made = self.mechanism
        if (bounds is None) == (question is None):
            found = "neither" if bounds is None else "both"
            raise InvalidArgumentError("bounds and question", "be given one at a time", found)
        if isinstance(made, AnswerMechanism):
            if not isinstance(question, Answers):
                rule = "be the Scale, Choice or YesNo that the reports answer"
                raise InvalidArgumentError("question", rule, question)
            if below is not None:
                raise InvalidArgumentError("below", "be given for reports of numbers alone", below)
            asked = question
            return lambda tally: estimate_answers(made, tally, asked).as_mean(answer)
        if answer is not None:
            raise InvalidArgumentError("answer", "be given for reports of answers alone", answer)
        units: Any = bounds
        if question is not None:
            if not isinstance(question, Number):
                raise InvalidArgumentError("question", "be a Number", question)
            units = question.lower, question.upper
        if below is not None:
            return lambda tally: estimate_share(made, tally, units, below=below, level=level)
        return lambda tally: estimate_mean(made, tally, units)


def grouped_tally(
    by: tuple[str, ...], mechanism: Certified, groups: Mapping[Labels, Tally], minimum: int
) -> GroupedTally:
    """Return groups in the order of their labels, without those that are too small."""
    shown = {key: tally for key, tally in groups.items() if tally.total >= minimum}
    small = [tally for tally in groups.values() if tally.total < minimum]
    rest = Tally.sum(small) if small else None
    if rest is not None:
        others = rest.total - max(tally.total for tally in small)
        if rest.total < minimum or 2 * others < minimum:
            rest = None
    ordered = {key: shown[key] for key in _ordered(shown)}
    return GroupedTally(by, mechanism, ordered, minimum, rest, len(small))


def plain_label(found: Any) -> Any:
    """Return a label as Python has it; whatever stands for a missing one is None."""
    if found is None or type(found).__name__ in ("NAType", "NaTType") or found != found:
        return None
    return found.item() if hasattr(found, "item") else found


def _ordered(keys: Iterable[Labels]) -> list[Labels]:
    """Sort keys, missing labels last; labels of different kinds go by their texts."""
    found = list(keys)
    try:
        return sorted(found, key=lambda key: [_place(label) for label in key])
    except TypeError:
        return sorted(found, key=lambda key: [(label is None, str(label)) for label in key])


def _place(label: Any) -> tuple[bool, Any]:
    return label is None, 0 if label is None else label


def group_names(keys: Iterable[Labels]) -> dict[Labels, str]:
    """Return one text per key, all different.

    Examples
    --------
    >>> group_names([("DE", 4.0), (None, 4.5)])
    {('DE', 4.0): 'DE, 4', (None, 4.5): '(missing), 4.5'}
    >>> group_names([("(missing)",), (None,)])
    {('(missing)',): "'(missing)'", (None,): '(missing)'}
    """
    found = list(keys)
    names = {key: ", ".join(map(label_text, key)) for key in found}
    if len(set(names.values())) == len(found):
        return names
    return {key: ", ".join(map(_exact_text, key)) for key in found}


def label_text(label: Any) -> str:
    """Return a label as people read it."""
    if label is None:
        return _MISSING
    if isinstance(label, float) and math.isfinite(label) and label == int(label):
        return str(int(label))  # what pandas makes of whole numbers with gaps
    return str(label)


def _exact_text(label: Any) -> str:
    return _MISSING if label is None else repr(label)
