"""The paper's claims about estimated distributions and their variances.

A design outperforms the baselines in a setting if it is better than each of them, and does not if
it is worse than one of them. Errors of variances are taken against the variance of the true
histogram. The paper does not say which truth it takes. Its estimate puts every bin at its center,
so that against the variance of the numbers even the true histogram is wrong, and one bias can hide
another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from noutput.evaluation.comparison import Comparison, compare
from noutput.evaluation.datasets import LABELS
from noutput.evaluation.figures import paper_rows
from noutput.evaluation.results import BINNED, RAW, Results
from noutput.evaluation.scenarios import CONTENDERS
from noutput.evaluation.verdicts import (
    HIGH_PRIVACY,
    HOLDS,
    NEARLY,
    NO_ROWS,
    PART,
    UNDECIDED,
    UNTESTED,
    Finding,
    Score,
    untested,
)

__all__ = [
    "average_is_better_for_distributions",
    "better_distributions",
    "better_variances",
    "better_variances_at_high_privacy",
    "five_times_better_distributions",
    "four_times_better_variances",
    "square_wave_wins_on_credit",
]

_WORST, _AVERAGE = "numerical-worst", "numerical-average"
_BASELINES = ("pm", "pm-sub", "square-wave", "direct-encoding", "oue")


def _label(name: str) -> str:
    return CONTENDERS[name].label


def _histogram_pairs(found: Results, figure: str, *designs: str) -> list[Comparison]:
    """Compare designs with every baseline, each with the estimator of the paper's panel."""
    truth = BINNED if figure == "variance" else ""
    rows = [row for row in paper_rows(found.of(figure, truth=truth)) if row.estimator != "ems"]
    return [pair for name in designs for pair in compare(rows, name, _BASELINES)]


def _by_setting(pairs: Iterable[Comparison]) -> list[list[Comparison]]:
    """Group the comparisons of one design at one dataset and epsilon."""
    groups: dict[tuple[str, str, float], list[Comparison]] = {}
    for pair in pairs:
        place = pair.first.mechanism, pair.first.dataset, pair.first.epsilon
        groups.setdefault(place, []).append(pair)
    return list(groups.values())


def _against_all(pairs: Iterable[Comparison]) -> Score:
    """Count settings: for a design that beats all baselines, against one that loses to any."""
    return Score.of(min(pair.exceeds() for pair in group) for group in _by_setting(pairs))


def _ratio_numbers(pairs: list[Comparison]) -> tuple[str, ...]:
    largest = max(pairs, key=lambda pair: pair.ratio)
    closest = [min(group, key=lambda pair: pair.ratio) for group in _by_setting(pairs)]
    top = max(closest, key=lambda pair: pair.ratio)
    return (
        f"against each baseline: {Score.of(pair.exceeds() for pair in pairs)}",
        f"against all baselines of a setting: {_against_all(pairs)}",
        f"the largest advantage over any baseline: {largest} times ({_where(largest)})",
        f"the largest over the best baseline of a setting: {top} times ({_where(top)})",
    )


def _where(pair: Comparison) -> str:
    names = f"{_label(pair.first.mechanism)} against {_label(pair.second.mechanism)}"
    return f"{names}, {LABELS[pair.first.dataset]}, epsilon {pair.first.epsilon:g}"


def better_distributions(found: Results) -> Finding:
    """Both designs are better than every baseline in most settings."""
    pairs = _histogram_pairs(found, "distribution", _WORST, _AVERAGE)
    if not pairs:
        return NO_ROWS
    return Finding(_against_all(pairs).mostly(), _ratio_numbers(pairs))


def five_times_better_distributions(found: Results) -> Finding:
    """Five times better than some baseline somewhere, within 5%."""
    return _up_to(_histogram_pairs(found, "distribution", _WORST, _AVERAGE), 5.0)


def _up_to(pairs: list[Comparison], factor: float) -> Finding:
    if not pairs:
        return NO_ROWS
    largest = max(pairs, key=lambda pair: pair.ratio)
    reached = factor * (1.0 - NEARLY)
    number = (
        f"the largest advantage over any baseline: {largest} times ({_where(largest)}); beyond "
        f"{reached:g} counts as {factor:g}"
    )
    return Finding(Score.of(pair.exceeds(reached) for pair in pairs).somewhere(), (number,))


def average_is_better_for_distributions(found: Results) -> Finding:
    """Compare the two designs of the paper."""
    pairs = compare(paper_rows(found.of("distribution")), _AVERAGE, [_WORST])
    if not pairs:
        return NO_ROWS
    score = Score.of(pair.exceeds() for pair in pairs)
    return Finding(score.everywhere(), (f"the average design is {score}",))


def better_variances(found: Results) -> Finding:
    """Both designs are better than every baseline in all settings."""
    return _of_both_truths(found, _better_variances)


def _better_variances(found: Results) -> Finding:
    pairs = _histogram_pairs(found, "variance", _WORST, _AVERAGE)
    if not pairs:
        return NO_ROWS
    return Finding(_against_all(pairs).everywhere(), _ratio_numbers(pairs))


def better_variances_at_high_privacy(found: Results) -> Finding:
    """At least 1.5 times better than every baseline at high privacy, within 5%."""
    return _of_both_truths(found, _better_variances_at_high_privacy)


def _better_variances_at_high_privacy(found: Results) -> Finding:
    pairs = _at_high_privacy(found)
    if not pairs:
        return NO_ROWS
    score = Score.of(pair.exceeds(1.5 * (1.0 - NEARLY)) for pair in pairs)
    least = min(pairs, key=lambda pair: pair.ratio)
    numbers = (
        f"1.5 times better in {score.better} of {len(pairs)} comparisons, not so in {score.worse}",
        f"the smallest ratio: {least} ({_where(least)})",
        *_ratio_numbers(pairs),
    )
    return Finding(score.everywhere(), numbers)


def four_times_better_variances(found: Results) -> Finding:
    """Four times better than some baseline at high privacy, within 5%."""
    return _of_both_truths(found, lambda some: _up_to(_at_high_privacy(some), 4.0))


def _at_high_privacy(found: Results) -> list[Comparison]:
    pairs = _histogram_pairs(found, "variance", _WORST, _AVERAGE)
    return [pair for pair in pairs if pair.first.epsilon <= HIGH_PRIVACY]


def square_wave_wins_on_credit(found: Results) -> Finding:
    """Square Wave is better on Credit from epsilon 3 on, and nowhere else."""
    return _of_both_truths(found, _square_wave_wins_on_credit)


def _square_wave_wins_on_credit(found: Results) -> Finding:
    pairs = [
        pair
        for pair in _histogram_pairs(found, "variance", _WORST, _AVERAGE)
        if pair.second.mechanism == "square-wave"
    ]
    named = [p for p in pairs if p.first.dataset == "credit" and p.first.epsilon >= 3.0]
    others = [p for p in pairs if p not in named]
    exception = Score.of(-pair.exceeds() for pair in named)
    rule = Score.of(pair.exceeds() for pair in others)
    numbers = (
        f"Credit, epsilon >= 3: Square Wave is {exception}",
        f"elsewhere it is {Score(rule.worse, rule.open, rule.better)}",
    )
    verdict = exception.everywhere()
    if verdict == UNTESTED or not others:
        return untested("it takes Credit at an epsilon of at least 3, and others to compare with")
    if verdict == HOLDS:
        verdict = {HOLDS: HOLDS, UNDECIDED: UNDECIDED}.get(rule.everywhere(), PART)
    return Finding(verdict, numbers)


def _of_both_truths(found: Results, decide: Callable[[Results], Finding]) -> Finding:
    """Decide by the variance of the true histogram, and add what that of the numbers would say."""
    finding = decide(found)
    if finding.verdict == UNTESTED:
        return finding
    rows = [
        replace(row, truth=BINNED if row.truth == RAW else RAW) if row.figure == "variance" else row
        for row in found.rows
    ]
    other = decide(Results(found.scenario, tuple(rows)))
    number = f"against the variance of the numbers it would be: {other.verdict}"
    return Finding(finding.verdict, (*finding.numbers, number))
