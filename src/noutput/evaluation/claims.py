"""The paper's claims, each decided by code from the result rows.

Every function of `claims_mean` and `claims_histogram` looks at the rows that its claim is about and
returns a verdict with the numbers behind it, by the rules of `verdicts`. What the paper says about
real data is decided on its datasets only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from noutput.evaluation import claims_histogram, claims_mean
from noutput.evaluation.datasets import DATASETS, LABELS
from noutput.evaluation.results import Results
from noutput.evaluation.scenarios import FIGURES
from noutput.evaluation.verdicts import UNTESTED, Finding, untested

__all__ = ["CLAIMS", "Claim", "check"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper.

    Parameters
    ----------
    text : str
        What the paper says.
    place : str
        Where it says so.
    figure : str
        Whose rows decide.
    decide : callable
        Returns the finding.
    """

    text: str
    place: str
    figure: str
    decide: Callable[[Results], Finding]

    @property
    def about_data(self) -> bool:
        """Whether the claim is about the paper's datasets."""
        return FIGURES[self.figure].task == "collection"

    def check(self, found: Results) -> Finding:
        """Decide the claim; what is said about real data, on real data only."""
        if not self.about_data:
            return self.decide(found)
        real = tuple(name for name in found.scenario.datasets if name in DATASETS)
        if not real:
            names = ", ".join(LABELS.get(name, name) for name in found.scenario.datasets)
            return untested(f"it is about the paper's datasets, and only {names} took part")
        rows = tuple(row for row in found.rows if row.dataset in real)
        finding = self.decide(Results(replace(found.scenario, datasets=real), rows))
        if len(real) == len(DATASETS) or finding.verdict == UNTESTED:
            return finding
        names = ", ".join(LABELS[name] for name in real)
        missing = f"on {len(real)} of the paper's {len(DATASETS)} datasets only: {names}"
        return Finding(finding.verdict, (*finding.numbers, missing))


def check(found: Results) -> list[tuple[Claim, Finding]]:
    """Decide every claim about the figures of a scenario."""
    return [(c, c.check(found)) for c in CLAIMS if c.figure in found.scenario.figures]


CLAIMS = (
    Claim(
        "The numerical N-output mechanism has the lowest worst-case variance at every epsilon.",
        "Section 4.4, Figure 2",
        "worst-case-variance",
        claims_mean.lowest_variance,
    ),
    Claim(
        "N <= 16 suffices: more outputs bring marginal improvements.",
        "Section 4.4",
        "worst-case-variance",
        claims_mean.sixteen_outputs_suffice,
    ),
    Claim(
        "The analytical design beats PM-sub at high privacy and is similar at low privacy.",
        "Section 6.1",
        "worst-case-variance",
        claims_mean.analytical_beats_pm_sub,
    ),
    Claim(
        "The numerical design consistently achieves the lowest worst-case error of the mean.",
        "Section 6.1, Figure 3",
        "worst-case-rmse",
        claims_mean.lowest_campaign_error,
    ),
    Claim(
        "On real data the worst-case design consistently outperforms all other mechanisms at the "
        "mean.",
        "Section 6.1, Figure 4",
        "mean",
        claims_mean.lowest_mean_error,
    ),
    Claim(
        "The average-case design is nearly identical to the worst-case design for the mean.",
        "Section 6.1, Figure 4",
        "mean",
        claims_mean.average_is_nearly_identical,
    ),
    Claim(
        "The N-output mechanism needs 16 times fewer bits than the PMs at superior accuracy.",
        "Section 6.1",
        "mean",
        claims_mean.sixteen_times_fewer_bits,
    ),
    Claim(
        "Distributions: better than the baselines in most cases.",
        "Section 6.2, Figure 5",
        "distribution",
        claims_histogram.better_distributions,
    ),
    Claim(
        "Distributions: up to five times more accurate.",
        "Section 6.2, Figure 5",
        "distribution",
        claims_histogram.five_times_better_distributions,
    ),
    Claim(
        "Distributions: the average-case design is generally slightly better than the worst-case "
        "design.",
        "Section 6.2",
        "distribution",
        claims_histogram.average_is_better_for_distributions,
    ),
    Claim(
        "Variances: better than the baselines in nearly all settings.",
        "Section 6.3, Figure 6",
        "variance",
        claims_histogram.better_variances,
    ),
    Claim(
        "Variances: at least 1.5 times better at high privacy.",
        "Section 6.3, Figure 6",
        "variance",
        claims_histogram.better_variances_at_high_privacy,
    ),
    Claim(
        "Variances: up to 4 times better at high privacy.",
        "Section 6.3, Figure 6",
        "variance",
        claims_histogram.four_times_better_variances,
    ),
    Claim(
        "Variances: the minor exception is Square Wave on Credit at epsilon >= 3.",
        "Section 6.3, Figure 6",
        "variance",
        claims_histogram.square_wave_wins_on_credit,
    ),
    Claim(
        "A report of the analytical design takes 1, 2, 3, 4 bits up to epsilon 0.69, 2.54, 5.41, "
        "7.8.",
        "Table 1",
        "bits",
        claims_mean.bits_table,
    ),
)
"""Every claim, in the order of the paper."""
