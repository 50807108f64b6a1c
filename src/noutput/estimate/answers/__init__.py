"""Estimates for questions with answers: shares, CDF, mean score, quantiles, differences."""

from __future__ import annotations

from noutput.estimate.answers.estimate import AnswerEstimate, Difference, estimate_answers

__all__ = ["AnswerEstimate", "Difference", "estimate_answers"]
