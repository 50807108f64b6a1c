"""Comparison of segments: groups of people by their labels, from published counts alone."""

from __future__ import annotations

import math
import pickle
from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from noutput.collector.cache import Answer
from noutput.collector.measured import FEWEST, bracketed, is_possible, measure, statistics
from noutput.collector.pooled import pooled
from noutput.collector.strata import NOT_TOLD, Selection
from noutput.errors import InvalidArgumentError
from noutput.estimate.groups import compare_groups, standardize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from noutput.campaign.segments import Segments
    from noutput.collector.measured import Measured
    from noutput.collector.publishing import ReleasePolicy
    from noutput.collector.services import Services
    from noutput.collector.store.directory import KnownCampaign
    from noutput.estimate.mean_estimate import MeanEstimate

__all__ = [
    "BETWEEN", "MAX_PAIRED_GROUPS", "MOST_GROUPS", "Compared", "Groups", "compare", "comparison",
    "has_pairs", "measure_groups", "read_names", "read_weights",
]  # fmt: skip

MOST_GROUPS: Final = 64
MAX_PAIRED_GROUPS: Final = 20  # of which each is compared with all others: 190 pairs
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
    labels : tuple of (str, str)
        Whom it is about: people with these labels, of other segments.
    statistic : str
        What is compared alone, such as "below 45" of numbers; if empty, all that
        `noutput.collector.measured.statistics` names.
    """

    names: tuple[str, ...]
    question: int
    rounds: tuple[int, int] | None
    level: float
    labels: tuple[tuple[str, str], ...] = ()
    statistic: str = ""


@dataclass(frozen=True, slots=True)
class Groups:
    """What is known about every group: weights and differences are made of it.

    Parameters
    ----------
    rows : tuple of dict
        The name, labels and reports of every group.
    measured : mapping of str to mapping
        The statistics of every group with enough reports.
    """

    rows: tuple[dict[str, Any], ...]
    measured: Mapping[str, Mapping[str, Measured]]


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
    for name in wanted:
        if name not in known:
            raise InvalidArgumentError("by", f"be one of {', '.join(known)}", name[:100])
    groups = _count_groups(segments, wanted)
    if groups > MOST_GROUPS:
        rule = f"name segments with at most {MOST_GROUPS} combinations of labels"
        raise InvalidArgumentError("by", rule, groups)
    texts = [text for text, _ in _groups(segments, wanted)]
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        rule = f"name segments whose labels differ with {BETWEEN!r} between them"
        raise InvalidArgumentError("by", rule, twice)
    return wanted


def _count_groups(segments: Segments, names: Iterable[str]) -> int:
    """Return how many groups some segments make; who does not tell a label is in one, too."""
    return math.prod(len(dict(segments.names)[name]) + 1 for name in names)


def has_pairs(segments: Segments | None, names: Iterable[str]) -> bool:
    """Say whether there are few enough groups to compare all pairs."""
    return segments is not None and _count_groups(segments, names) <= MAX_PAIRED_GROUPS


def read_weights(
    segments: Segments, names: tuple[str, ...], weights: Iterable[str]
) -> dict[str, float]:
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
        if not 0.0 <= found[group] < 1e12:
            raise InvalidArgumentError("weight", "be at least 0, and finite", each[:100])
    if found and not sum(found.values()) > _SMALLEST_TOTAL:
        rule = f"add up to more than 0, and than {_SMALLEST_TOTAL:g}"
        raise InvalidArgumentError("weight", rule, sum(found.values()))
    return found


async def compare(
    services: Services, entry: KnownCampaign, asked: Compared,
    write: Callable[[Mapping[str, Any]], bytes], *, weights: Mapping[str, float] | None = None,
    differences: bool = False,
) -> Answer:  # fmt: skip
    """Return a comparison as a function writes it; the parameters are those of `comparison`.

    The groups are estimated once for all weights. With weights, nothing else is kept: there is no
    end to them.
    """
    lane = services.lanes.estimates
    if bracketed(entry.campaign.questions[asked.question], asked.statistic) is not None:
        lane = services.lanes.slow
    kept = await services.cache.published(
        entry, asked, lane, lambda shown: pickle.dumps(measure_groups(entry, shown.counts, asked))
    )

    def make(_: Answer | None) -> Answer:
        groups: Groups = pickle.loads(kept.content)  # noqa: S301 (made in this process)
        found = comparison(
            entry, groups, asked, services.policy, weights=weights, differences=differences
        )
        return Answer(write(found), kept.version)

    if weights:
        return await lane.run(make, None)
    name = (entry.key, entry.campaign.fingerprint, asked, write, differences)
    return await services.cache.get(name, lane, make, kept.version)


def measure_groups(entry: KnownCampaign, counts: Mapping[int, int], asked: Compared) -> Groups:
    """Estimate what is compared of every group, from published counts."""
    question = entry.campaign.questions[asked.question]
    rows: list[dict[str, Any]] = []
    measured: dict[str, Mapping[str, Measured]] = {}
    for group, labels in _groups(_segments(entry), asked.names):
        parts = pooled(
            entry, asked.question, counts, Selection((*asked.labels, *labels), asked.rounds)
        )
        found = measure(question, parts, asked.level, asked.statistic) if is_possible(parts) else {}
        if found:
            measured[group] = found
        reports = sum(part.tally.total for part in parts)
        rows.append({"group": group, "labels": dict(labels), "reports": reports})
    return Groups(tuple(rows), measured)


def comparison(
    entry: KnownCampaign,
    groups: Groups,
    asked: Compared,
    policy: ReleasePolicy,
    *,
    weights: Mapping[str, float] | None = None,
    differences: bool = False,
) -> dict[str, Any]:
    """Return what `noutput.collector.http.strata_models.ComparisonModel` describes.

    Parameters
    ----------
    entry : KnownCampaign
    groups : Groups
    asked : Compared
    policy : ReleasePolicy
        In which their reports were published.
    weights : mapping of str to float, optional
        The shares of the groups in a known population; a group that is not named has none.
    differences : bool
        Whether all pairs are compared.
    """
    question, rows = entry.campaign.questions[asked.question], groups.rows
    names = (asked.statistic,) if asked.statistic else statistics(question)
    hidden = sum(not row["reports"] for row in rows)
    impossible = sum(
        row["reports"] >= FEWEST and row["group"] not in groups.measured for row in rows
    )
    least = policy.minimum_of(entry.campaign.segments)
    return {
        "campaign": entry.campaign.id,
        "question": question.name,
        "by": list(asked.names),
        "within": dict(asked.labels),
        "rounds": asked.rounds,
        "level": asked.level,
        "minimum": least,
        "groups": list(rows),
        "hidden": hidden,
        "text": _told(len(rows), hidden, least, _where(entry, asked)) + _untold(impossible),
        "statistics": [
            _statistic(name, groups.measured, asked.level, weights, differences=differences)
            for name in names
        ],
    }


def _segments(entry: KnownCampaign) -> Segments:
    if entry.campaign.segments is None:  # pragma: no cover (refused before)
        raise InvalidArgumentError("campaign", "have segments", entry.campaign.id)
    return entry.campaign.segments


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
        return " in a round"
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


def _untold(impossible: int) -> str:
    if not impossible:
        return ""
    which = "one group" if impossible == 1 else f"{impossible} groups"
    return (
        f" Of {which} nothing is shown: the reports cannot have been made by this campaign's "
        "table; clients probably sent raw answers, without randomization."
    )


def _statistic(
    name: str,
    measured: Mapping[str, Mapping[str, Measured]],
    level: float,
    weights: Mapping[str, float] | None,
    *,
    differences: bool,
) -> dict[str, Any]:
    groups = {group: found[name] for group, found in measured.items() if name in found}
    estimates = {group: each.estimate for group, each in groups.items()}
    pairs = compare_groups(estimates, level=level) if differences and len(estimates) > 1 else []
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
        "differences": [{**asdict(pair), "is_clear": pair.is_clear} for pair in pairs]
        if differences
        else None,
        "standardized": _standardized(estimates, level, weights) if weights else None,
    }


def _standardized(
    estimates: Mapping[str, MeanEstimate], level: float, weights: Mapping[str, float]
) -> dict[str, Any]:
    """Return the mean of the known population, or why there is none."""
    missing = [group for group, weight in weights.items() if weight and group not in estimates]
    if missing:
        return {"value": None, "standard_error": None, "interval": None,
                "reason": f"too few reports of {', '.join(missing)}"}  # fmt: skip
    found = standardize(estimates, {group: weights.get(group, 0.0) for group in estimates})
    return {
        "value": found.value,
        "standard_error": found.standard_error,
        "interval": list(found.interval(level)),
        "reason": None,
    }
