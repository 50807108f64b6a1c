"""A summary as the verbs `estimate` and `demo` print it, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput._numbers import show

if TYPE_CHECKING:
    from noutput.estimate.summary import Figure, Summary

__all__ = ["QUARTILES", "bias_text", "document", "forged_text", "named_figures"]

QUARTILES = {"Lower quartile": 0.25, "Median": 0.5, "Upper quartile": 0.75}


def named_figures(found: Summary) -> dict[str, Figure]:
    """Return all figures by the names that people know."""
    return {
        "Mean": found.mean,
        "Variance": found.variance,
        "Standard deviation": found.standard_deviation,
        **{name: found.quantiles[share] for name, share in QUARTILES.items()},
    }


def forged_text(found: Summary) -> str:
    """Return what the test for forged reports says."""
    from noutput.estimate.summary import SUSPICIOUS

    p = found.goodness
    if p < SUSPICIOUS:
        return f"LIKELY: no honest people would send these counts (p = {p:.2g})"
    some = "1%" if found.forged > 1 else "one forged report"
    return f"no sign of them (p = {p:.2g}); {some} could move the mean by {show(found.forgery)}"


def bias_text(found: Summary) -> str:
    """Return a note on the bias of the mean; empty where its estimate is unbiased."""
    bias = found.mean_estimate.bias_bound
    if not bias:
        return ""
    return (
        "Note: the mean's estimate is nearly unbiased: on average it is off by at most "
        f"{show(bias)}, whatever the values are. Its interval allows for that."
    )


def document(found: Summary) -> dict[str, object]:
    """Return everything as plain JSON."""
    mean, distribution = found.mean_estimate, found.distribution
    return {
        "reports": mean.n_reports,
        "lower": distribution.bounds.lower,
        "upper": distribution.bounds.upper,
        "level": found.level,
        "mean": {
            **found.mean.to_dict(),
            "standard_error": mean.standard_error,
            "method": mean.method,
            "bias_bound": mean.bias_bound,
            "guaranteed_interval": mean.interval(found.level, kind="guaranteed"),
            "respondents_interval": mean.interval(found.level, of="respondents"),
        },
        "variance": found.variance.to_dict(),
        "standard_deviation": found.standard_deviation.to_dict(),
        "quartiles": [
            {"share": share, **found.quantiles[share].to_dict()} for share in QUARTILES.values()
        ],
        "distribution": {
            "method": distribution.method,
            "converged": distribution.converged,
            "edges": found.fine.edges,
            "probabilities": found.fine.probabilities,
        },
        "forged_reports": {
            "p_value": found.goodness,
            "one_percent_moves_mean": found.forgery,
        },
    }
