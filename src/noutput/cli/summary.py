"""A summary as the verbs `estimate` and `demo` print it, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput.estimate.choices import QUARTILES

if TYPE_CHECKING:
    from noutput.estimate.summary import Figure, Summary

__all__ = ["QUARTILES", "bias_text", "document", "forged_text", "named_figures"]


def named_figures(found: Summary) -> dict[str, Figure]:
    """Return all figures by the names that people know."""
    return found.figures


def forged_text(found: Summary) -> str:
    """Return what the test for forged reports says."""
    return found.forged_text


def bias_text(found: Summary) -> str:
    """Return a note on the bias of the mean; empty where its estimate is unbiased."""
    return found.bias_text


def document(found: Summary) -> dict[str, object]:
    """Return everything as plain JSON."""
    return found.to_dict()
