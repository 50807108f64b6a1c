"""Comparison of segments: groups of people by their labels, from published counts alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from noutput.collector.measured import measure, measure_one, statistics
from noutput.collector.pooled import pooled
from noutput.collector.strata import NOT_TOLD, Selection
from noutput.errors import InvalidArgumentError
from noutput.estimate.groups import compare_groups, standardize

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from noutput.campaign.segments import Segments
    from noutput.collector.measured import Measured
    from noutput.collector.pooled import Part
    from noutput.collector.steps import Steps
    from noutput.collector.store.directory import KnownCampaign
    from noutput.questions import Question

__all__ = ["BETWEEN", "MOST_GROUPS", "Compared", "comparison", "read_names", "read_weights"]

MOST_GROUPS: Final = 64  # of which each is compared with all others
BETWEEN: Final = " / "  # labels of one group
_SMALLEST_TOTAL = 1e-12  # of weights, as `standardize` wants it


@dataclass(frozen=True, slots=True)
class Compared:
    """What is compared.

    Parameters
    ----------
    names : tuple of str
        The segments by whose labels people are grouped.
    question : int
        Its place in the campaign.
    rounds : (int, int), optional
    level : float
    weights : tuple of (str, float)
        The shares of the groups in a known population; a group that is not named has none.
    labels : tuple of (str, str)
        Whom it is about: people with these labels, of other segments.
    statistic : str
        What is compared alone, such as "below 45" or "quantile 0.5" of numbers; if empty, all means
        and shares of answers that there are.
    """

    names: tuple[str, ...]
    question: int
    rounds: tuple[int, int] | None
    level: float
    weights: tuple[tuple[str, float], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    statistic: str = ""

    def names_of(self, question: Question) -> tuple[str, ...]:
        """Return the names of the statistics that are compared."""
        return (self.statistic,) if self.statistic else statistics(question)


def read_names(segments: Segments | None, names: Iterable[str]) -> tuple[str, ...]:
    """Read by which segments people are grouped; the first, if none is given.

    Raises
    ------
    InvalidArgumentError
        If the campaign has no such segments, or they make too many groups.
    """
    if segments is None:
        raise InvalidArgumentError("by", "be absent: the campaign has no segments", list(names))
    known = dict(segments.names)
    wanted = tuple(dict.fromkeys(names)) or (segments.names[0][0],)
    groups = 1
    for name in wanted:
        if name not in known:
            raise InvalidArgumentError("by", f"be one of {', '.join(known)}", name[:100])
        groups *= len(known[name]) + 1
    if groups > MOST_GROUPS:
        rule = f"name segments with at most {MOST_GROUPS} combinations of labels"
        raise InvalidArgumentError("by", rule, groups)
    texts = [text for text, _ in _groups(segments, wanted)]
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        rule = f"name segments whose labels differ with {BETWEEN!r} between them"
        raise InvalidArgumentError("by", rule, twice)
    return wanted


def read_weights(
    segments: Segments, names: tuple[str, ...], weights: Iterable[str]
) -> tuple[tuple[str, float], ...]:
    """Read shares of a known population, such as "ios:0.3"; labels of several names have " / "."""
    known = {group for group, _ in _groups(segments, names)}
    found: dict[str, float] = {}
    for each in weights:
        group, _, number = each.rpartition(":")
        if group not in known:
            first, *_ = sorted(known)
            rule = f"be a group such as {first!r}, a colon and a number"
            raise InvalidArgumentError("weight", rule, each[:100])
        try:
            found[group] = float(number)
        except ValueError:
            raise InvalidArgumentError("weight", "end with a number", each[:100]) from None
    if found:
        standardize_shares(found)
    return tuple(sorted(found.items()))


def standardize_shares(weights: Mapping[str, float]) -> None:
    """Refuse numbers that are no shares."""
    for group, weight in weights.items():
        if not 0.0 <= weight < 1e12:
            raise InvalidArgumentError("weight", "be at least 0, and finite", f"{group}:{weight}")
    if not sum(weights.values()) > _SMALLEST_TOTAL:
        rule = f"add up to more than 0, and than {_SMALLEST_TOTAL:g}"
        raise InvalidArgumentError("weight", rule, sum(weights.values()))


def comparison(
    entry: KnownCampaign, counts: Mapping[int, int], asked: Compared, steps: Steps
) -> dict[str, Any]:
    """Return what `noutput.collector.http.strata_models.ComparisonModel` describes.

    Parameters
    ----------
    entry : KnownCampaign
    counts : mapping
        What is published.
    asked : Compared
    steps : Steps
        In which it was published.
    """
    segments = entry.campaign.segments
    if segments is None:  # pragma: no cover (refused before)
        raise InvalidArgumentError("campaign", "have segments", entry.campaign.id)
    question = entry.campaign.questions[asked.question]
    rows: list[dict[str, Any]] = []
    measured: dict[str, Mapping[str, Measured]] = {}
    for group, labels in _groups(segments, asked.names):
        parts = pooled(
            entry, asked.question, counts, Selection((*asked.labels, *labels), asked.rounds)
        )
        found = _measured(question, parts, asked)
        if found:
            measured[group] = found
        reports = sum(part.tally.total for part in parts)
        rows.append({"group": group, "labels": dict(labels), "reports": reports})
    hidden, least = sum(not row["reports"] for row in rows), steps.at_least(segments)
    return {
        "campaign": entry.campaign.id,
        "question": question.name,
        "by": list(asked.names),
        "within": dict(asked.labels),
        "rounds": asked.rounds,
        "level": asked.level,
        "minimum": least,
        "groups": rows,
        "hidden": hidden,
        "text": _told(len(rows), hidden, least, _where(entry, asked)),
        "statistics": [_statistic(name, measured, asked) for name in asked.names_of(question)],
    }


def _measured(question: Question, parts: Sequence[Part], asked: Compared) -> Mapping[str, Measured]:
    """Return what is compared, of one group; nothing where it has too few reports."""
    if not asked.statistic:
        return measure(question, parts, asked.level)
    found = measure_one(question, parts, asked.level, asked.statistic)
    return {} if found is None else {asked.statistic: found}


def _groups(
    segments: Segments, names: Sequence[str]
) -> Iterable[tuple[str, tuple[tuple[str, str], ...]]]:
    """Return every group: its name, and its labels."""
    known = dict(segments.names)
    taken = {label for name in names for label in known[name]}
    nothing = "not told" if "not told" not in taken else "(not told)"
    for labels in product(*((*known[name], NOT_TOLD) for name in names)):
        text = BETWEEN.join(label or nothing for label in labels)
        yield text, tuple(zip(names, labels, strict=True))


def _where(entry: KnownCampaign, asked: Compared) -> str:
    """Return where a combination has enough reports to be shown."""
    if asked.rounds is not None:
        return " in one of these rounds"
    if entry.campaign.schedule is not None:
        return " in a round, or in the rounds together whose reports keep their labels"
    return ""


def _told(groups: int, hidden: int, least: int, where: str) -> str:
    """Return how many groups are shown, in words."""
    shown = f"{groups - hidden} of {groups} groups are shown."
    if not hidden:
        return shown
    return (
        f"{shown} The others have no combination of labels with {least:,} reports or more{where}: "
        "their reports are published without labels, if at all."
    )


def _statistic(
    name: str, measured: Mapping[str, Mapping[str, Measured]], asked: Compared
) -> dict[str, Any]:
    groups = {group: found[name] for group, found in measured.items() if name in found}
    estimates = {group: each.estimate for group, each in groups.items()}
    pairs = compare_groups(estimates, level=asked.level) if len(estimates) > 1 else []
    return {
        "name": name,
        "estimates": [
            {
                "group": group,
                "value": each.estimate.value,
                "standard_error": each.estimate.standard_error,
                "interval": [each.low, each.high],
            }
            for group, each in groups.items()
        ],
        "differences": [{**asdict(pair), "is_clear": pair.is_clear} for pair in pairs],
        "standardized": _standardized(groups, asked) if asked.weights else None,
    }


def _standardized(groups: Mapping[str, Measured], asked: Compared) -> dict[str, Any]:
    """Return the mean of the known population, or why there is none."""
    weights = dict(asked.weights)
    missing = [group for group, weight in weights.items() if weight and group not in groups]
    if missing:
        return {"value": None, "standard_error": None, "interval": None,
                "reason": f"too few reports of {', '.join(missing)}"}  # fmt: skip
    estimates = {group: each.estimate for group, each in groups.items()}
    found = standardize(estimates, {group: weights.get(group, 0.0) for group in estimates})
    return {
        "value": found.value,
        "standard_error": found.standard_error,
        "interval": list(found.interval(asked.level)),
        "reason": None,
    }
