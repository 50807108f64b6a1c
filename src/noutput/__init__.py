"""Statistics of numbers that nobody may see.

The names below are all that is public; each is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noutput.amplification.composition import (
        PublishedParts,
        PublishedRounds,
        planned_questions,
        published_parts,
        published_rounds,
    )
    from noutput.amplification.inverse import largest_report_epsilon, reports_needed
    from noutput.amplification.published import published_delta, published_privacy
    from noutput.amplification.result import PublishedPrivacy
    from noutput.designs.answers.result import AnswerDesign
    from noutput.designs.design import design
    from noutput.designs.result import Design
    from noutput.errors import (
        DeliveryError,
        DesignError,
        DocumentError,
        InvalidArgumentError,
        MissingExtraError,
        NotDueError,
        NoutputError,
        PolicyError,
        PrivacyError,
    )
    from noutput.estimate.answers import AnswerEstimate, estimate_answers
    from noutput.estimate.attributes import AttributeMeans, choose_attributes, estimate_means
    from noutput.estimate.audit import Audit, audit
    from noutput.estimate.differences import cdf_difference
    from noutput.estimate.distance import wasserstein
    from noutput.estimate.distribution import DistributionEstimate, estimate_distribution
    from noutput.estimate.evidence import Evidence
    from noutput.estimate.goodness import GoodnessOfFit, goodness_of_fit
    from noutput.estimate.groups import (
        GroupDifference,
        StandardizedMean,
        compare_groups,
        standardize,
    )
    from noutput.estimate.mean import MeanEstimate, estimate_mean
    from noutput.estimate.resolution import Resolution, resolution
    from noutput.estimate.share import estimate_share
    from noutput.estimate.shifts import Shift, find_shifts
    from noutput.estimate.summary import AnswerSummary, Summary, summarize
    from noutput.estimate.trend import Trend, trend
    from noutput.estimate.variance import VarianceEstimate, estimate_variance
    from noutput.interval import Interval
    from noutput.mechanisms.answers import AnswerMechanism
    from noutput.mechanisms.base import Channel, Mechanism
    from noutput.mechanisms.quantize import quantize
    from noutput.mechanisms.table import TableMechanism
    from noutput.planner import AnswerPlan, Plan, plan
    from noutput.planner.adaptive import NextRange, choose_range
    from noutput.questions import Choice, Number, Question, Scale, YesNo
    from noutput.registry import MECHANISMS, mechanism
    from noutput.tally import Tally

__all__ = [
    "MECHANISMS",
    "AnswerDesign",
    "AnswerEstimate",
    "AnswerMechanism",
    "AnswerPlan",
    "AnswerSummary",
    "AttributeMeans",
    "Audit",
    "Channel",
    "Choice",
    "DeliveryError",
    "Design",
    "DesignError",
    "DistributionEstimate",
    "DocumentError",
    "Evidence",
    "GoodnessOfFit",
    "GroupDifference",
    "Interval",
    "InvalidArgumentError",
    "MeanEstimate",
    "Mechanism",
    "MissingExtraError",
    "NextRange",
    "NotDueError",
    "NoutputError",
    "Number",
    "Plan",
    "PolicyError",
    "PrivacyError",
    "PublishedParts",
    "PublishedPrivacy",
    "PublishedRounds",
    "Question",
    "Resolution",
    "Scale",
    "Shift",
    "StandardizedMean",
    "Summary",
    "TableMechanism",
    "Tally",
    "Trend",
    "VarianceEstimate",
    "YesNo",
    "audit",
    "cdf_difference",
    "choose_attributes",
    "choose_range",
    "compare_groups",
    "design",
    "estimate_answers",
    "estimate_distribution",
    "estimate_mean",
    "estimate_means",
    "estimate_share",
    "estimate_variance",
    "find_shifts",
    "goodness_of_fit",
    "largest_report_epsilon",
    "mechanism",
    "plan",
    "planned_questions",
    "published_delta",
    "published_parts",
    "published_privacy",
    "published_rounds",
    "quantize",
    "reports_needed",
    "resolution",
    "standardize",
    "summarize",
    "trend",
    "wasserstein",
]

__version__ = "0.1.0"

_HOMES = {
    "trend": "noutput.estimate.trend",
    "standardize": "noutput.estimate.groups",
    "find_shifts": "noutput.estimate.shifts",
    "cdf_difference": "noutput.estimate.differences",
    "compare_groups": "noutput.estimate.groups",
    "Trend": "noutput.estimate.trend",
    "StandardizedMean": "noutput.estimate.groups",
    "Shift": "noutput.estimate.shifts",
    "GroupDifference": "noutput.estimate.groups",
    "PublishedParts": "noutput.amplification.composition",
    "PublishedPrivacy": "noutput.amplification.result",
    "PublishedRounds": "noutput.amplification.composition",
    "largest_report_epsilon": "noutput.amplification.inverse",
    "planned_questions": "noutput.amplification.composition",
    "published_delta": "noutput.amplification.published",
    "published_parts": "noutput.amplification.composition",
    "published_privacy": "noutput.amplification.published",
    "published_rounds": "noutput.amplification.composition",
    "reports_needed": "noutput.amplification.inverse",
    "YesNo": "noutput.questions",
    "Scale": "noutput.questions",
    "Question": "noutput.questions",
    "Number": "noutput.questions",
    "Choice": "noutput.questions",
    "AnswerEstimate": "noutput.estimate.answers",
    "AnswerDesign": "noutput.designs.answers.result",
    "AnswerMechanism": "noutput.mechanisms.answers",
    "Channel": "noutput.mechanisms.base",
    "Mechanism": "noutput.mechanisms.base",
    "quantize": "noutput.mechanisms.quantize",
    "AnswerPlan": "noutput.planner",
    "AnswerSummary": "noutput.estimate.summary",
    "AttributeMeans": "noutput.estimate.attributes",
    "Audit": "noutput.estimate.audit",
    "Design": "noutput.designs.result",
    "DeliveryError": "noutput.errors",
    "DesignError": "noutput.errors",
    "NotDueError": "noutput.errors",
    "PolicyError": "noutput.errors",
    "DistributionEstimate": "noutput.estimate.distribution",
    "DocumentError": "noutput.errors",
    "Evidence": "noutput.estimate.evidence",
    "GoodnessOfFit": "noutput.estimate.goodness",
    "Interval": "noutput.interval",
    "InvalidArgumentError": "noutput.errors",
    "MECHANISMS": "noutput.registry",
    "MeanEstimate": "noutput.estimate.mean",
    "MissingExtraError": "noutput.errors",
    "NoutputError": "noutput.errors",
    "Plan": "noutput.planner",
    "PrivacyError": "noutput.errors",
    "Summary": "noutput.estimate.summary",
    "TableMechanism": "noutput.mechanisms.table",
    "Tally": "noutput.tally",
    "VarianceEstimate": "noutput.estimate.variance",
    "Resolution": "noutput.estimate.resolution",
    "resolution": "noutput.estimate.resolution",
    "audit": "noutput.estimate.audit",
    "choose_attributes": "noutput.estimate.attributes",
    "design": "noutput.designs.design",
    "estimate_answers": "noutput.estimate.answers",
    "estimate_distribution": "noutput.estimate.distribution",
    "estimate_mean": "noutput.estimate.mean",
    "estimate_means": "noutput.estimate.attributes",
    "estimate_share": "noutput.estimate.share",
    "estimate_variance": "noutput.estimate.variance",
    "goodness_of_fit": "noutput.estimate.goodness",
    "mechanism": "noutput.registry",
    "plan": "noutput.planner",
    "NextRange": "noutput.planner.adaptive",
    "choose_range": "noutput.planner.adaptive",
    "summarize": "noutput.estimate.summary",
    "wasserstein": "noutput.estimate.distance",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'noutput' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
